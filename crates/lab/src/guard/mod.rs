//! Conditions under which the lab refuses to work.
//!
//! # Purpose
//! An experiment writes much and deletes much, unattended. It must not fill a disk that others need, run
//! twice in one directory, or delete what it did not create.
//!
//! # Invariants
//! 1. Before the first run every device has at least `space_factor` (1.2) times the predicted peak free;
//!    volumes on one device are counted together. The memory that a run needs is available.
//! 2. One process per output directory: the journal is opened with the volume's lock.
//! 3. A name is announced in the journal before the thing is created, and only if nothing of that name
//!    exists. Only announced names are ever removed, newest first, each one only once.
//! 4. A directory is removed only when it is empty. Files of others in it stay, and are reported. The one
//!    exception is claimed as such: a directory created for an instance alone, whose whole content belongs to
//!    the experiment.
//!
//! # What can fail
//! [`GuardError`].

mod ownership;
mod space;

pub use ownership::{Removal, claim, release, remove_file_or_directory};
pub use space::{SpaceCheck, check_memory, check_space};

use crate::journal::{JournalError, Thing};
use crate::report::words::bytes;
use furrow_io::IoError;
use std::path::PathBuf;
use thiserror::Error;

/// A refusal.
#[derive(Debug, Error)]
pub enum GuardError {
    /// The disks are too small.
    #[error("not enough space: {}", missing.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Space {
        /// Every device that is too small.
        missing: Vec<SpaceCheck>,
    },
    /// The machine is too small.
    #[error(
        "not enough memory: the buffer pool needs {} and {} are available",
        bytes(*needed_bytes),
        bytes(*free_bytes)
    )]
    Memory {
        /// The memory that a run needs.
        needed_bytes: u64,
        /// What could be had without swapping.
        free_bytes: u64,
    },
    /// Something of that name is there, and it is not ours.
    #[error("{thing} is there already and was not made by this experiment")]
    Taken {
        /// What.
        thing: Thing,
    },
    /// Not announced in the journal.
    #[error("{thing} was not made by this experiment; it is not removed")]
    NotOurs {
        /// What.
        thing: Thing,
    },
    /// Another process runs an experiment in this directory.
    #[error("{} is in use by another experiment", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The experiment cannot carry out the plan.
    #[error("{}", reasons.join("; "))]
    Unable {
        /// One sentence each.
        reasons: Vec<String>,
    },
    /// The file system refused an operation.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The journal refused an operation.
    #[error(transparent)]
    Journal(#[from] JournalError),
}
