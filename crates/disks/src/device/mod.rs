//! How long one operation of a drive takes.
//!
//! A [`Device`] keeps the state that the time depends on: the position of the arm and the angle of the
//! platter, the interface of a flash drive, the credits of a capped volume. The queue in front of it
//! belongs to the array.

mod capped;
mod disk;
mod flash;

pub use capped::Capped;
pub use disk::Disk;
pub use flash::Flash;

use crate::profile::Profile;

/// One operation on one drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// Whether it writes.
    pub write: bool,
    /// Byte of the drive.
    pub offset: u64,
    /// Length.
    pub bytes: u64,
}

/// A drive with its state.
#[derive(Debug, Clone)]
pub enum Device {
    /// It rotates.
    Disk(Disk),
    /// It is flash.
    Flash(Flash),
    /// It is limited by caps.
    Capped(Capped),
}

impl Device {
    /// A drive at rest; `phase` turns the platter of a disk, so that drives are not in step.
    pub fn new(profile: &Profile, phase: u64) -> Device {
        match profile {
            Profile::Disk(disk) => Device::Disk(Disk::new(disk, phase)),
            Profile::Flash(flash) => Device::Flash(Flash::new(flash)),
            Profile::Capped(cap) => Device::Capped(Capped::new(cap)),
        }
    }

    /// Operations that it works on at once.
    pub fn slots(&self) -> usize {
        match self {
            Device::Disk(_) => 1,
            Device::Flash(flash) => flash.slots(),
            Device::Capped(_) => usize::MAX,
        }
    }

    /// Whether the order of operations matters to it: it has an arm.
    pub fn has_arm(&self) -> bool {
        matches!(self, Device::Disk(_))
    }

    /// Cylinders between the arm and an offset; 0 where there is no arm.
    #[inline]
    pub fn distance(&self, offset: u64) -> u64 {
        match self {
            Device::Disk(disk) => disk.distance(offset),
            Device::Flash(_) | Device::Capped(_) => 0,
        }
    }

    /// Begins an operation at `now`; returns when it is done.
    #[inline]
    pub fn start(&mut self, now: u64, operation: Operation) -> u64 {
        let done = match self {
            Device::Disk(disk) => disk.start(now, operation),
            Device::Flash(flash) => flash.start(now, operation),
            Device::Capped(capped) => capped.start(now, operation),
        };
        debug_assert!(done >= now, "an operation ends before it begins");
        done
    }
}

/// The time of `bytes` at `rate` bytes per second.
#[inline]
pub(crate) fn transfer_ns(bytes: u64, rate: u64) -> u64 {
    if bytes < (1 << 33) {
        return bytes * 1_000_000_000 / rate.max(1);
    }
    (u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1))) as u64
}
