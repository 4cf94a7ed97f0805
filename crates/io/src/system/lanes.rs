//! The descriptors of one file, and which of them a transfer may take.

use super::calls::retry;
use crate::align::is_aligned;
use crate::mount::mount_of;
use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The way of one transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// By direct memory access from and to the caller's buffers.
    Direct,
    /// Direct, by way of an aligned copy: the place is aligned, the caller's memory is not.
    Bounce,
    /// Through the page cache, which the kernel keeps coherent with direct transfers of the same file.
    Cached,
}

/// A descriptor through the page cache, and a direct one where the file system has it.
#[derive(Debug)]
pub(crate) struct Lanes {
    cached: OwnedFd,
    direct: Option<Direct>,
}

#[derive(Debug)]
struct Direct {
    fd: OwnedFd,
    /// Buffers must start at a multiple of this.
    memory_unit: usize,
    /// Offsets and lengths must be multiples of this.
    offset_unit: u64,
}

impl Lanes {
    /// Takes the locked descriptor `cached` and adds a direct one for the same file where that is possible.
    pub(crate) fn open(
        cached: OwnedFd,
        path: &Path,
        writable: bool,
        want_direct: bool,
    ) -> Result<Lanes, Errno> {
        let direct = if want_direct {
            Direct::open(&cached, path, writable)?
        } else {
            None
        };
        Ok(Lanes { cached, direct })
    }

    pub(crate) fn cached(&self) -> &OwnedFd {
        &self.cached
    }

    pub(crate) fn is_direct(&self) -> bool {
        self.direct.is_some()
    }

    /// The lane of a transfer of `bufs` at `offset`.
    pub(crate) fn choose<'a>(&self, offset: u64, bufs: impl Iterator<Item = &'a [u8]>) -> Lane {
        let Some(direct) = &self.direct else {
            return Lane::Cached;
        };
        let unit = usize::try_from(direct.offset_unit).unwrap_or(usize::MAX);
        let mut len = 0;
        let mut fits = true;
        for buf in bufs {
            fits &= is_aligned(buf, direct.memory_unit) && buf.len().is_multiple_of(unit);
            len += buf.len() as u64;
        }
        if !(offset | len).is_multiple_of(direct.offset_unit) {
            Lane::Cached
        } else if fits {
            Lane::Direct
        } else {
            Lane::Bounce
        }
    }

    /// The descriptor of a lane.
    pub(crate) fn fd(&self, lane: Lane) -> BorrowedFd<'_> {
        match (&self.direct, lane) {
            (Some(direct), Lane::Direct | Lane::Bounce) => direct.fd.as_fd(),
            _ => self.cached.as_fd(),
        }
    }
}

impl Direct {
    /// `None` when the file system has no direct I/O that fits pages.
    #[cfg(target_os = "linux")]
    fn open(cached: &OwnedFd, path: &Path, writable: bool) -> Result<Option<Direct>, Errno> {
        let mode = if writable {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        let opened = retry(|| {
            rustix::fs::open(path, mode | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty())
        });
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                warn_once(path, "the file system refuses O_DIRECT");
                return Ok(None);
            }
            Err(errno) => return Err(errno),
        };
        let (ours, theirs) = (rustix::fs::fstat(cached)?, rustix::fs::fstat(&fd)?);
        if (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino) {
            // Another file was put in its place between the two opens.
            return Err(Errno::BUSY);
        }
        let Some((memory_unit, offset_unit)) = alignment(&fd) else {
            warn_once(path, "the file system takes O_DIRECT and does not do it");
            return Ok(None);
        };
        if memory_unit > crate::DIRECT_ALIGN || offset_unit > crate::DIRECT_ALIGN as u64 {
            warn_once(path, "the device wants blocks larger than 4096 bytes");
            return Ok(None);
        }
        Ok(Some(Direct {
            fd,
            memory_unit,
            offset_unit,
        }))
    }

    /// No direct descriptor elsewhere; Apple's systems get a request not to cache the data.
    #[cfg(not(target_os = "linux"))]
    fn open(cached: &OwnedFd, _path: &Path, _writable: bool) -> Result<Option<Direct>, Errno> {
        #[cfg(target_vendor = "apple")]
        rustix::fs::fcntl_nocache(cached, true)?;
        let _used_on_some_systems_only = (cached, OFlags::empty(), Mode::empty(), warn_once);
        Ok(None)
    }
}

/// The kernel's units of memory and offset alignment; 4096 for both where it reports none (before Linux 6.1),
/// `None` where it reports that direct I/O is not possible.
#[cfg(target_os = "linux")]
pub(crate) fn alignment(fd: &OwnedFd) -> Option<(usize, u64)> {
    use rustix::fs::{AtFlags, StatxFlags, statx};
    const UNKNOWN: (usize, u64) = (crate::DIRECT_ALIGN, crate::DIRECT_ALIGN as u64);
    let Ok(found) = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return Some(UNKNOWN);
    };
    if found.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Some(UNKNOWN);
    }
    if found.stx_dio_offset_align == 0 || found.stx_dio_mem_align == 0 {
        return None;
    }
    // `Lanes::choose` and the bounce buffers rely on a memory unit of at least a cache line.
    Some((
        found.stx_dio_mem_align.max(64) as usize,
        u64::from(found.stx_dio_offset_align),
    ))
}

/// Logs once per mount and reason that the page cache is used.
fn warn_once(path: &Path, reason: &'static str) {
    static SAID: Mutex<BTreeSet<(String, &'static str)>> = Mutex::new(BTreeSet::new());
    let mount = mount_of(path);
    let (kind, point) = match &mount {
        Some(mount) => (mount.filesystem.as_str(), mount.mount_point.as_str()),
        None => ("unknown", ""),
    };
    if SAID.lock().insert((point.to_owned(), reason)) {
        let file = path.display();
        tracing::warn!(%file, filesystem = kind, mount = point, "no direct I/O, using the cache: {reason}");
    }
}
