//! System calls that are tried again when a signal interrupts them.

use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Makes bytes, length and times durable, down to the medium.
pub(super) fn full_sync(fd: &OwnedFd) -> Result<(), Errno> {
    #[cfg(target_vendor = "apple")]
    if rustix::fs::fcntl_fullfsync(fd).is_ok() {
        return Ok(());
    }
    retry(|| rustix::fs::fsync(fd))
}

/// Makes bytes durable, and of the metadata what is needed to read them.
pub(super) fn data_sync(fd: &OwnedFd) -> Result<(), Errno> {
    #[cfg(target_vendor = "apple")]
    return full_sync(fd);
    #[cfg(not(target_vendor = "apple"))]
    retry(|| rustix::fs::fdatasync(fd))
}

pub(super) fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            outcome => return outcome,
        }
    }
}
