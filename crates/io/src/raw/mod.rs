//! Raw requests to a file or a block device, a fixed number of them under way.
//!
//! This is the way of an experiment that measures a device, not that of a database: there is no lock, no
//! promise of durability, and offsets need only be what direct I/O takes.
//!
//! # Invariants
//! 1. A target that was opened for reading is never written.
//! 2. A block device is opened for writing exclusively, so that the kernel refuses one that is mounted or
//!    used as swap or by a device mapper. What uses it is looked up before, for the message.
//! 3. [`RawTarget::run`] returns when no request is under way: buffers outlive the kernel's use of them.
//!
//! # What can fail
//! [`RawError`]: a target in use, an offset that direct I/O does not take, a failed request.

mod usage;

#[cfg(target_os = "linux")]
mod by_ring;
mod by_threads;

use crate::{IoError, IoErrorKind, IoOp, SystemVolume, Volume};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use thiserror::Error;

pub(crate) use usage::users_of;

/// Bytes of one request when a new file is laid out.
const LAY_OUT_BYTES: usize = 1 << 20;

/// Whether a target may be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawAccess {
    /// It is only read.
    ReadOnly,
    /// It is overwritten.
    Destroy,
}

/// Why a target cannot be used.
#[derive(Debug, Error)]
pub enum RawError {
    /// The device is in use.
    #[error("{} is in use: {users}; unmount it first, or name another device", path.display())]
    InUse {
        /// The device.
        path: PathBuf,
        /// What uses it.
        users: String,
    },
    /// It is neither a file nor a block device.
    #[error("{} is neither a regular file nor a block device", .0.display())]
    NotATarget(PathBuf),
    /// Offsets or lengths that direct I/O does not take.
    #[error(
        "direct I/O on {} takes multiples of {unit} bytes; {bytes} is none: choose another offset or block",
        path.display()
    )]
    Unaligned {
        /// The target.
        path: PathBuf,
        /// What it takes.
        unit: u64,
        /// The requested size.
        bytes: u64,
    },
    /// The system's error.
    #[error(transparent)]
    Io(#[from] IoError),
}

impl RawTarget {
    /// Opens an existing file or block device, by direct I/O where the system has it.
    pub fn open(path: &Path, access: RawAccess) -> Result<RawTarget, RawError> {
        let failed = |errno| IoError::of_errno(IoOp::Open, path, 0, errno);
        let stat = rustix::fs::stat(path).map_err(failed)?;
        let block_device = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => false,
            FileType::BlockDevice => true,
            _ => return Err(RawError::NotATarget(path.to_path_buf())),
        };
        let writable = access == RawAccess::Destroy;
        let mut flags = OFlags::CLOEXEC | OFlags::NOCTTY;
        flags |= if writable {
            OFlags::RDWR
        } else {
            OFlags::RDONLY
        };
        if writable && block_device {
            let users = users_of(
                rustix::fs::major(stat.st_rdev),
                rustix::fs::minor(stat.st_rdev),
            );
            if !users.is_empty() {
                return Err(in_use(path, &users));
            }
            flags |= OFlags::EXCL;
        }
        let (fd, direct_unit) = open_direct(path, flags).map_err(|errno| match errno {
            Errno::BUSY => in_use(path, &["the kernel refuses exclusive use".to_owned()]),
            errno => RawError::Io(failed(errno)),
        })?;
        let bytes = if block_device {
            rustix::fs::seek(&fd, rustix::fs::SeekFrom::End(0)).map_err(failed)?
        } else {
            u64::try_from(stat.st_size).unwrap_or(0)
        };
        Ok(RawTarget {
            fd,
            path: path.to_path_buf(),
            bytes,
            writable,
            direct_unit,
        })
    }

    /// Makes a new file of `bytes`, every block of it written, and opens it for overwriting. The caller
    /// removes it.
    pub fn create(path: &Path, bytes: u64) -> Result<RawTarget, RawError> {
        let volume = SystemVolume::new();
        drop(volume.open(path, crate::Open::Create, crate::Access::Data)?);
        let target = RawTarget::open(path, RawAccess::Destroy).and_then(|mut target| {
            target.bytes = bytes.next_multiple_of(LAY_OUT_BYTES as u64);
            let mut fill = Fill {
                next: 0,
                end: target.bytes,
            };
            target.run(LAY_OUT_BYTES, 4, &mut fill)?;
            rustix::fs::fsync(&target.fd)
                .map_err(|errno| IoError::of_errno(IoOp::Sync, path, 0, errno))?;
            Ok(target)
        });
        if target.is_err() {
            let _stays = volume.remove(path);
        }
        target
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How requests reach it, as text.
    pub fn engine(&self) -> &'static str {
        let ring = crate::system::io_uring_available();
        match (ring, self.direct_unit.is_some()) {
            (true, true) => "io_uring, direct",
            (true, false) => "io_uring, through the page cache",
            (false, true) => "threads, direct",
            (false, false) => "threads, through the page cache",
        }
    }

    /// Refuses offsets or lengths that direct I/O does not take.
    pub fn check_aligned(&self, bytes: u64) -> Result<(), RawError> {
        match self.direct_unit {
            Some(unit) if !bytes.is_multiple_of(unit) => Err(RawError::Unaligned {
                path: self.path.clone(),
                unit,
                bytes,
            }),
            _ => Ok(()),
        }
    }

    /// Keeps `depth` requests of `block_bytes` under way until the load has no more.
    pub fn run(
        &self,
        block_bytes: usize,
        depth: usize,
        load: &mut dyn RawLoad,
    ) -> Result<(), RawError> {
        self.check_aligned(block_bytes as u64)?;
        let depth = depth.clamp(1, 1024);
        let mut checked = Checked { target: self, load };
        #[cfg(target_os = "linux")]
        if crate::system::io_uring_available() {
            return Ok(by_ring::run(self, block_bytes, depth, &mut checked)?);
        }
        Ok(by_threads::run(self, block_bytes, depth, &mut checked)?)
    }

    fn failed(&self, op: RawOp, errno: Errno) -> IoError {
        let kind = if op.write { IoOp::Write } else { IoOp::Read };
        IoError::of_errno(kind, &self.path, op.offset, errno)
    }

    fn ended(&self, op: RawOp) -> IoError {
        let kind = if op.write { IoOp::Write } else { IoOp::Read };
        IoError::new(kind, &self.path, op.offset, IoErrorKind::PastEnd)
    }
}

fn in_use(path: &Path, users: &[String]) -> RawError {
    RawError::InUse {
        path: path.to_path_buf(),
        users: users.join(", "),
    }
}

/// A descriptor, direct where the file system has that, and the unit that direct I/O takes.
fn open_direct(path: &Path, flags: OFlags) -> Result<(OwnedFd, Option<u64>), Errno> {
    #[cfg(target_os = "linux")]
    match rustix::fs::open(path, flags | OFlags::DIRECT, Mode::empty()) {
        Ok(fd) => {
            if let Some((_, unit)) = crate::system::direct_alignment(&fd) {
                return Ok((fd, Some(unit)));
            }
        }
        Err(Errno::INVAL | Errno::OPNOTSUPP) => {}
        Err(errno) => return Err(errno),
    }
    Ok((rustix::fs::open(path, flags, Mode::empty())?, None))
}

/// Holds every request of a load against what the target allows.
struct Checked<'a> {
    target: &'a RawTarget,
    load: &'a mut dyn RawLoad,
}

impl RawLoad for Checked<'_> {
    fn next(&mut self) -> Option<RawOp> {
        let op = self.load.next()?;
        assert!(
            self.target.writable || !op.write,
            "a target that is open for reading is written"
        );
        Some(op)
    }

    fn done(&mut self, op: RawOp, latency_ns: u64) {
        self.load.done(op, latency_ns);
    }
}

/// Writes a file from front to back.
struct Fill {
    next: u64,
    end: u64,
}

impl RawLoad for Fill {
    fn next(&mut self) -> Option<RawOp> {
        let offset = self.next;
        self.next += LAY_OUT_BYTES as u64;
        (offset < self.end).then_some(RawOp {
            write: true,
            offset,
        })
    }

    fn done(&mut self, _: RawOp, _: u64) {}
}

mod target;
#[cfg(test)]
mod tests;

use target::buffer;
pub use target::{RawLoad, RawOp, RawTarget};
