//! A flash drive: parallel channels behind one interface.
//!
//! Time of an operation = a fixed service time on one of the channels, or the interface's time where that
//! is longer: commands and bytes of all operations pass it one after the other. Seek and rotation do not
//! exist, so a request that is split costs a command and a slot, and nothing else.

use super::{Operation, transfer_ns};
use crate::profile::FlashProfile;

/// A flash drive with the state of its interface.
#[derive(Debug, Clone)]
pub struct Flash {
    profile: FlashProfile,
    interface_free: u64,
}

impl Flash {
    /// An idle drive.
    pub fn new(profile: &FlashProfile) -> Flash {
        Flash {
            profile: profile.clone(),
            interface_free: 0,
        }
    }

    pub(super) fn slots(&self) -> usize {
        self.profile.channels.max(1) as usize
    }

    #[inline]
    pub(super) fn start(&mut self, now: u64, operation: Operation) -> u64 {
        let profile = &self.profile;
        let unit = profile.unit_bytes.max(1);
        let first = operation.offset / unit;
        let end = (operation.offset + operation.bytes).div_ceil(unit);
        let covered = (end - first) * unit;
        let (service, rate, bytes) = if operation.write {
            let partial = covered != operation.bytes;
            let read_first = if partial { profile.read_ns } else { 0 };
            (profile.write_ns + read_first, profile.write_rate, covered)
        } else {
            (profile.read_ns, profile.read_rate, operation.bytes)
        };
        let begin = self.interface_free.max(now);
        self.interface_free = begin + profile.command_ns + transfer_ns(bytes, rate);
        self.interface_free.max(now + service)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    fn nvme() -> Flash {
        match Profile::named("nvme") {
            Some(Profile::Flash(profile)) => Flash::new(&profile),
            _ => panic!("nvme is no flash drive"),
        }
    }

    #[test]
    fn a_write_of_a_part_of_a_unit_reads_the_unit_first() {
        let write = |offset| {
            let operation = Operation {
                write: true,
                offset,
                bytes: 8192,
            };
            nvme().start(0, operation)
        };
        assert_eq!(write(4096), 20_000);
        assert_eq!(write(512), 100_000);
    }

    #[test]
    fn operations_that_run_side_by_side_share_the_interface() {
        let mut flash = nvme();
        let read = |k: u64| Operation {
            write: false,
            offset: k * 8192,
            bytes: 8192,
        };
        let ends: Vec<u64> = (0..128).map(|k| flash.start(0, read(k))).collect();
        assert_eq!(ends[0], 80_000);
        let expected = 128 * (1_000 + 8192 * 10 / 32);
        assert_eq!(*ends.last().unwrap(), expected);
    }
}
