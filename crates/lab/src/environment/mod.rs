//! The machine, the system and the build an experiment ran on.
//!
//! # Invariants
//! 1. Everything here is a fact as found or `None`: an unknown is printed as "unknown", never guessed.
//! 2. No secret: no environment variables, no command line, no name of the machine or its user unless given.
//!
//! # How
//! [`Capture::start`] before the first run, [`Capture::finish`] after the last one; in between the machine's
//! tick counters show what the hypervisor gave to others.
//!
//! # What can fail
//! Nothing: a container without `/proc` or a system without these files yields unknowns.

mod capture;

pub use capture::Capture;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an experiment ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Name of the machine.
    #[serde(default)]
    pub host: Option<String>,
    /// Processor model.
    #[serde(default)]
    pub cpu_model: Option<String>,
    /// Logical processors this process may use.
    #[serde(default)]
    pub cpu_count: Option<u32>,
    /// Main memory.
    #[serde(default)]
    pub memory_bytes: Option<u64>,
    /// Memory that could be had without swapping when the experiment began.
    #[serde(default)]
    pub memory_free_bytes: Option<u64>,
    /// Operating system and kernel.
    #[serde(default)]
    pub os: Option<String>,
    /// Hypervisor, where one is seen.
    #[serde(default)]
    pub hypervisor: Option<String>,
    /// Frequency governor of the processor.
    #[serde(default)]
    pub governor: Option<String>,
    /// Processor time the hypervisor gave to others during the experiment, percent.
    #[serde(default)]
    pub steal_percent: Option<f64>,
    /// Whether batches of I/O go through io_uring, in words.
    #[serde(default)]
    pub io_engine: Option<String>,
    /// Volumes used, as the user gave them.
    #[serde(default)]
    pub volumes: Vec<VolumeFacts>,
    /// Version of the engine or server under test.
    #[serde(default)]
    pub engine_version: Option<String>,
    /// Source commit of the engine under test; `-dirty` and a digest behind it when files differed from it.
    #[serde(default)]
    pub engine_commit: Option<String>,
    /// Compiler of this program.
    #[serde(default)]
    pub compiler: Option<String>,
    /// Build profile of this program.
    #[serde(default)]
    pub build_profile: Option<String>,
    /// Settings of the target that differ from its defaults, name and value.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
}

/// One volume.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VolumeFacts {
    /// The directory.
    pub path: String,
    /// File system.
    #[serde(default)]
    pub file_system: Option<String>,
    /// Mount options.
    #[serde(default)]
    pub mount_options: Option<String>,
    /// Device name and model.
    #[serde(default)]
    pub device: Option<String>,
    /// Whether it turns.
    #[serde(default)]
    pub rotational: Option<bool>,
    /// I/O scheduler.
    #[serde(default)]
    pub scheduler: Option<String>,
    /// Whether the device has a volatile write cache: `write back`, `write through`.
    #[serde(default)]
    pub write_cache: Option<String>,
    /// Size of the file system.
    #[serde(default)]
    pub total_bytes: Option<u64>,
    /// Free at the start.
    #[serde(default)]
    pub free_bytes: Option<u64>,
    /// How files are opened: `direct`, `buffered`.
    #[serde(default)]
    pub io_mode: Option<String>,
    /// Where the partition begins, and the block sizes and stripe hints of its device.
    #[serde(default)]
    pub alignment: Option<String>,
    /// What of the alignment does not fit, with what to do.
    #[serde(default)]
    pub alignment_warnings: Vec<String>,
}
