//! Which process has a file open for writing, from the lock that an open file holds.

use rustix::fs::{CWD, FlockOperation, Mode, OFlags};
use std::fmt;
use std::path::Path;

/// The process that has a file open for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Its number; `None` where the system does not say.
    pub process: Option<u32>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.process {
            Some(process) => write!(f, "process {process}"),
            None => f.write_str("another process"),
        }
    }
}

/// The process that has this file open for writing; `None` if there is none, or the file cannot be opened.
/// It tries the lock for a moment, so it is for messages about an opening that failed already.
pub fn holder_of(path: &Path) -> Option<Holder> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let open = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    match rustix::fs::flock(&open, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => {}
        _ => return None,
    }
    let found = rustix::fs::fstat(&open).ok()?;
    let device = (
        rustix::fs::major(found.st_dev),
        rustix::fs::minor(found.st_dev),
    );
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    Some(Holder {
        process: process_of(&locks, device, found.st_ino),
    })
}

/// The process with a lock on a file, from lines such as `1: FLOCK ADVISORY WRITE 4711 fd:01:123 0 EOF`.
fn process_of(locks: &str, device: (u32, u32), inode: u64) -> Option<u32> {
    let all = locks.lines().filter_map(parse_lock);
    let of_inode: Vec<_> = all.filter(|lock| lock.inode == inode).collect();
    let exact = of_inode.iter().find(|lock| lock.device == device);
    // An overlay has another device than the file system below it, which is the one in the list.
    let only = || of_inode.first().filter(|_| of_inode.len() == 1);
    exact.or_else(only)?.process
}

struct Lock {
    process: Option<u32>,
    device: (u32, u32),
    inode: u64,
}

fn parse_lock(line: &str) -> Option<Lock> {
    let mut words = line.split_whitespace().skip(1);
    if words.next()? != "FLOCK" {
        return None;
    }
    let process = words.nth(2)?.parse::<u32>().ok();
    let mut place = words.next()?.split(':');
    let mut part = || u32::from_str_radix(place.next()?, 16).ok();
    let device = (part()?, part()?);
    Some(Lock {
        // The system gives 0 for a process that is in another container.
        process: process.filter(|&process| process > 0),
        device,
        inode: place.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Open, SystemVolume, Volume};

    #[test]
    fn the_process_is_that_of_the_device_and_inode() {
        let locks = "1: FLOCK  ADVISORY  WRITE 71 fd:01:500 0 EOF\n\
                     1: -> FLOCK  ADVISORY  WRITE 72 fd:01:500 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 73 08:10:500 0 EOF\n\
                     3: POSIX  ADVISORY  WRITE 74 fd:01:501 0 EOF\n\
                     4: FLOCK  ADVISORY  READ 0 fd:01:502 0 EOF\n\
                     5: FLOCK  ADVISORY  WRITE 75 fd:01:503 0 EOF\n";
        let of = |device, inode| process_of(locks, device, inode);
        assert_eq!(of((0xfd, 1), 500), Some(71));
        assert_eq!(of((8, 0x10), 500), Some(73));
        assert_eq!(of((0, 9), 500), None);
        assert_eq!(of((0xfd, 1), 501), None);
        assert_eq!(of((0xfd, 1), 502), None);
        assert_eq!(of((0, 9), 503), Some(75));
    }

    #[test]
    fn a_file_has_a_holder_while_it_is_open_for_writing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.mdf");
        let volume = SystemVolume::new();
        assert_eq!(holder_of(&path), None);
        let open = volume.open(&path, Open::Create, Access::Data).unwrap();
        let holder = holder_of(&path).unwrap();
        assert!(
            holder
                .process
                .is_none_or(|process| process == std::process::id())
        );
        drop(open);
        assert_eq!(holder_of(&path), None);
    }
}
