//! The parts of an array.

use crate::profile::Profile;
use crate::raid::Raid;
use std::fmt;

/// In which order a drive takes what waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    /// First come, first served.
    Fifo,
    /// The shortest seek of the oldest `window` operations; one that waited for two seconds goes first.
    Sstf {
        /// Operations that it chooses from.
        window: u32,
    },
}

impl Default for Scheduler {
    fn default() -> Scheduler {
        Scheduler::Sstf { window: 32 }
    }
}

/// Which copy of a mirrored unit is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MirrorRead {
    /// The drive with fewer operations; of equal ones the nearer arm.
    #[default]
    ShorterQueue,
    /// The drive with the nearer arm.
    NearestArm,
    /// Drives take turns.
    RoundRobin,
}

/// What the controller does with writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WriteCache {
    /// A write is done when the drives have it.
    #[default]
    Through,
    /// A write is done when the cache has it; a battery protects the cache, so that a sync does not wait.
    Back {
        /// Size of the cache.
        bytes: u64,
    },
}

/// The controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// Time that every request takes before anything else.
    pub overhead_ns: u64,
    /// Time of a sync, beside the overhead.
    pub sync_ns: u64,
    /// Whether a durable write takes the time of a sync too: a device without forced unit access.
    pub durable_syncs: bool,
    /// Read cache; 0 for none.
    pub read_cache_bytes: u64,
    /// Writes.
    pub write_cache: WriteCache,
    /// Paths between host and controller: one or two.
    pub paths: u32,
    /// Bytes per second of one path; none for no limit.
    pub path_rate: Option<u64>,
}

impl Default for Controller {
    fn default() -> Controller {
        Controller {
            overhead_ns: 0,
            sync_ns: 0,
            durable_syncs: false,
            read_cache_bytes: 0,
            write_cache: WriteCache::Through,
            paths: 1,
            path_rate: None,
        }
    }
}

/// An array.
#[derive(Debug, Clone, PartialEq)]
pub struct ArraySpec {
    /// Level, drives, stripe unit.
    pub raid: Raid,
    /// Its drives.
    pub profile: Profile,
    /// Its controller.
    pub controller: Controller,
    /// The order of a drive's queue.
    pub scheduler: Scheduler,
    /// Which copy is read.
    pub mirror_read: MirrorRead,
}

impl ArraySpec {
    /// An array without caches, with everything else as usual.
    pub fn new(raid: Raid, profile: Profile) -> ArraySpec {
        ArraySpec {
            raid,
            profile,
            controller: Controller::default(),
            scheduler: Scheduler::default(),
            mirror_read: MirrorRead::default(),
        }
    }

    /// Whether it is a single volume that only caps limit: places on it do not matter.
    pub fn is_throttle(&self) -> bool {
        matches!(self.profile, Profile::Capped(_)) && self.raid.drives() == 1
    }

    /// Its size.
    pub fn capacity_bytes(&self) -> u64 {
        self.raid.capacity_bytes(self.profile.capacity_bytes())
    }
}

impl fmt::Display for ArraySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_throttle() {
            return write!(f, "model: {}", self.profile);
        }
        let raid = self.raid;
        write!(
            f,
            "model: {} of {} x {}, stripe unit {} bytes",
            raid.level(),
            raid.drives(),
            self.profile,
            raid.stripe_bytes()
        )?;
        if let WriteCache::Back { bytes } = self.controller.write_cache {
            write!(f, ", write-back cache {bytes} bytes")?;
        }
        if self.controller.read_cache_bytes > 0 {
            write!(f, ", read cache {} bytes", self.controller.read_cache_bytes)?;
        }
        match self.scheduler {
            Scheduler::Fifo => f.write_str(", FIFO queue"),
            Scheduler::Sstf { window } => write!(f, ", SSTF queue of {window}"),
        }
    }
}
