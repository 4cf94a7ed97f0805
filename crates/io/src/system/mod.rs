//! The system's directories: direct I/O where the file system takes it, io_uring where the kernel does.
//!
//! # How a batch travels
//! 1. Each run gets a *lane* (`lanes`): direct when its place and its memory are aligned as the device
//!    wants, by a bounce buffer when only the memory is not, through the page cache when the place is not.
//! 2. A batch of several runs is submitted to a ring (`ring`) at once and awaited, or, where io_uring is
//!    refused, shared out among helper threads (`helpers`). A single run goes by `preadv`/`pwritev`
//!    (`transfer`).
//! 3. What a ring did not finish (a short transfer, `EAGAIN`) is finished by `transfer`, so that all
//!    engines end in the same state and report the same errors.
//!
//! What that gains on the machine named below (8 KB pages at random, direct; time of the plain engine over
//! that of the other, medians; `examples/batches.rs` repeats it):
//!
//! | runs in a batch | 2 | 8 | 32 | 128 |
//! |---|---|---|---|---|
//! | reads, threads | 1.1 | 2.2 | 3.0 | 3.3 |
//! | reads, ring | 1.6 | 2.8 | 3.5 | 4.0 |
//! | writes, threads | 1.3 | 2.1 | 3.1 | 3.8 |
//! | writes, ring | 1.6 | 2.2 | 2.8 | 4.7 |
//!
//! # Durability
//! Data files are written without a flag and made durable by `fdatasync`, once per checkpoint batch. A log
//! block is one `pwritev2` with `RWF_DSYNC` on a direct descriptor. Measured here (2 cores, ext4 on a
//! virtio disk with a volatile write cache and no FUA; 4096-byte writes into an allocated, zero-written
//! file; medians of 15 interleaved rounds; `examples/log_flags.rs` repeats it):
//!
//! | time per write, ratio to the first line | 1 thread | 2 threads | 3 threads |
//! |---|---|---|---|
//! | buffered, pwrite + fdatasync | 1.00 | 1.00 | 1.00 |
//! | direct, pwrite + fdatasync | 0.98 | 0.96 | 1.02 |
//! | direct and O_DSYNC, pwrite | 0.99 | 0.96 | 1.00 |
//! | buffered, RWF_DSYNC | 1.03 | 0.99 | 0.93 |
//! | direct, RWF_DSYNC | 0.93 | 0.86 | 0.97 |
//!
//! The chosen way also lets a device with FUA skip the cache flush (so does O_DSYNC), leaves no stale page
//! in the system's cache after an error, and keeps plain writes of the same file cheap (O_DSYNC does not).
//!
//! # What can fail
//! Beside the device: a second opener (`InUse`), a file system without direct I/O (falls back to the page
//! cache and logs that once), a kernel without io_uring (threads take its place).

mod calls;
mod file;
mod grow;
mod helpers;
mod lanes;
mod options;
#[cfg(target_os = "linux")]
mod ring;
#[cfg(test)]
mod tests;
mod transfer;

pub use options::{Engine, SystemOptions, io_uring_available};

#[cfg(target_os = "linux")]
pub(crate) use lanes::alignment as direct_alignment;
#[cfg(target_os = "linux")]
pub(crate) use ring::is_passing as is_passing_error;

use crate::{Access, File, IoError, IoErrorKind, IoOp, Open, Space, Volume};
use calls::{full_sync, retry};
use file::SystemFile;
use lanes::Lanes;
use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of this machine.
#[derive(Debug, Clone, Copy)]
pub struct SystemVolume {
    options: SystemOptions,
}

impl SystemVolume {
    /// With the options of the environment.
    pub fn new() -> SystemVolume {
        SystemVolume {
            options: SystemOptions::from_env(),
        }
    }

    /// With given options.
    pub fn with_options(options: SystemOptions) -> SystemVolume {
        SystemVolume { options }
    }
}

impl Default for SystemVolume {
    fn default() -> SystemVolume {
        SystemVolume::new()
    }
}

impl Volume for SystemVolume {
    fn open(&self, path: &Path, how: Open, access: Access) -> Result<Arc<dyn File>, IoError> {
        let op = if how == Open::Create {
            IoOp::Create
        } else {
            IoOp::Open
        };
        let failed = |errno| IoError::of_errno(op, path, 0, errno);
        let flags = match how {
            Open::ReadOnly => OFlags::RDONLY,
            Open::Existing => OFlags::RDWR,
            Open::Create => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
        };
        if how != Open::Create {
            let stat = retry(|| rustix::fs::stat(path)).map_err(failed)?;
            must_be_regular(op, path, stat.st_mode)?;
        }
        // Something else may take the path's place before it is opened: then the open must not wait.
        let opening = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let plain = retry(|| rustix::fs::open(path, opening, Mode::from_raw_mode(0o640)))
            .map_err(failed)?;
        let stat = rustix::fs::fstat(&plain).map_err(failed)?;
        must_be_regular(op, path, stat.st_mode)?;
        // A ring gives up on a transfer that would wait on a descriptor with this flag.
        rustix::fs::fcntl_setfl(&plain, flags.difference(OFlags::CREATE | OFlags::EXCL))
            .map_err(failed)?;
        let writable = how != Open::ReadOnly;
        if writable {
            lock(&plain, path)?;
        }
        if how == Open::Create {
            sync_directory_of(op, path)?;
        }
        let lanes = Lanes::open(plain, path, writable, self.options.direct).map_err(failed)?;
        let file = SystemFile::new(path, lanes, self.options.engine, access, writable);
        if how == Open::Existing {
            file.settle()?;
        }
        Ok(Arc::new(file))
    }

    fn exists(&self, path: &Path) -> Result<bool, IoError> {
        match rustix::fs::statat(CWD, path, AtFlags::empty()) {
            Ok(_) => Ok(true),
            // What cannot be named is not there.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(false),
            Err(errno) => Err(IoError::of_errno(IoOp::Open, path, 0, errno)),
        }
    }

    fn list(&self, dir: &Path) -> Result<Vec<PathBuf>, IoError> {
        let failed = |error: std::io::Error| of_std(IoOp::List, dir, &error);
        let entries = std::fs::read_dir(here_if_empty(dir)).map_err(failed)?;
        let named = entries.map(|entry| entry.map(|found| dir.join(found.file_name())));
        let mut paths = named.collect::<Result<Vec<PathBuf>, _>>().map_err(failed)?;
        paths.sort();
        Ok(paths)
    }

    fn create_dir(&self, dir: &Path) -> Result<(), IoError> {
        let mut missing = Vec::new();
        for step in dir.ancestors() {
            if step.as_os_str().is_empty() || self.exists(step)? {
                break;
            }
            missing.push(step);
        }
        for step in missing.into_iter().rev() {
            match rustix::fs::mkdir(step, Mode::from_raw_mode(0o750)) {
                // Another process may have been faster; the directory must be durable for us all the same.
                Ok(()) | Err(Errno::EXIST) => sync_directory_of(IoOp::Create, step)?,
                Err(errno) => return Err(IoError::of_errno(IoOp::Create, step, 0, errno)),
            }
        }
        if here_if_empty(dir).is_dir() {
            return Ok(());
        }
        Err(IoError::new(
            IoOp::Create,
            dir,
            0,
            IoErrorKind::AlreadyExists,
        ))
    }

    fn remove(&self, path: &Path) -> Result<(), IoError> {
        let is_dir = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        let gone = if is_dir {
            rustix::fs::rmdir(path)
        } else {
            rustix::fs::unlink(path)
        };
        gone.map_err(|errno| IoError::of_errno(IoOp::Remove, path, 0, errno))?;
        sync_directory_of(IoOp::Remove, path)
    }

    fn remove_tree(&self, dir: &Path) -> Result<(), IoError> {
        let failed = |e: &std::io::Error| {
            let errno = Errno::from_io_error(e).unwrap_or(Errno::IO);
            IoError::of_errno(IoOp::Remove, dir, 0, errno)
        };
        // The standard library removes links and does not follow them.
        std::fs::remove_dir_all(dir).map_err(|e| failed(&e))?;
        sync_directory_of(IoOp::Remove, dir)
    }

    #[cfg(target_os = "linux")]
    fn share_blocks(&self, from: &Path, to: &Path) -> Result<bool, IoError> {
        use rustix::fs::{Mode, OFlags};
        let failed = |path: &Path, errno| IoError::of_errno(IoOp::Open, path, 0, errno);
        let source = rustix::fs::open(from, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| failed(from, errno))?;
        let how = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let copy = rustix::fs::open(to, how, Mode::from_raw_mode(0o640))
            .map_err(|errno| failed(to, errno))?;
        if rustix::fs::ioctl_ficlone(&copy, &source).is_ok() {
            sync_directory_of(IoOp::Create, to)?;
            return Ok(true);
        }
        // A copy byte by byte is tried next, and reports the error if there is one.
        drop(copy);
        self.remove(to)?;
        Ok(false)
    }

    fn space(&self, dir: &Path) -> Result<Space, IoError> {
        let found = rustix::fs::statvfs(here_if_empty(dir))
            .map_err(|errno| IoError::of_errno(IoOp::Space, dir, 0, errno))?;
        Ok(Space {
            free_bytes: found.f_bavail.saturating_mul(found.f_frsize),
            total_bytes: found.f_blocks.saturating_mul(found.f_frsize),
        })
    }
}

/// Refuses what is not a regular file. Opening a named pipe waits for its other end, reading a device may
/// never end, and opening some devices changes their state: all of them are refused before they are opened.
pub(crate) fn must_be_regular(
    op: IoOp,
    path: &Path,
    mode: rustix::fs::RawMode,
) -> Result<(), IoError> {
    let found = match FileType::from_raw_mode(mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(IoError::of_errno(op, path, 0, Errno::ISDIR)),
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        _ => "of an unknown kind",
    };
    Err(IoError::new(op, path, 0, IoErrorKind::NotRegular(found)))
}

/// The lock belongs to the open descriptor: it keeps out other processes and other handles of this one,
/// and goes when the descriptor is closed, however the process ends.
pub(crate) fn lock(fd: &OwnedFd, path: &Path) -> Result<(), IoError> {
    match retry(|| rustix::fs::flock(fd, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(()),
        Err(Errno::WOULDBLOCK) => Err(IoError::new(IoOp::Open, path, 0, IoErrorKind::InUse)),
        Err(errno) => Err(IoError::of_errno(IoOp::Open, path, 0, errno)),
    }
}

/// Makes the entry of `path` in its directory durable, whether it was created or removed.
pub(crate) fn sync_directory_of(op: IoOp, path: &Path) -> Result<(), IoError> {
    let dir = here_if_empty(path.parent().unwrap_or(path));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry(|| rustix::fs::open(dir, flags, Mode::empty()))
        .and_then(|fd| full_sync(&fd))
        .map_err(|errno| IoError::of_errno(op, path, 0, errno))
}

fn here_if_empty(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() {
        Path::new(".")
    } else {
        dir
    }
}

fn of_std(op: IoOp, path: &Path, error: &std::io::Error) -> IoError {
    IoError::new(op, path, 0, IoErrorKind::of_std(error))
}
