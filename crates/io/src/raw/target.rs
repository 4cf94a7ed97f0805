//! A file or device that is measured.

use crate::AlignedBuf;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// One request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawOp {
    /// Whether it writes.
    pub write: bool,
    /// Byte of the target.
    pub offset: u64,
}

/// Where requests come from and results go.
pub trait RawLoad: Send {
    /// The next request; none when there are no more.
    fn next(&mut self) -> Option<RawOp>;
    /// A request is done after so many nanoseconds.
    fn done(&mut self, op: RawOp, latency_ns: u64);
}

/// A file or block device that is measured.
#[derive(Debug)]
pub struct RawTarget {
    pub(super) fd: OwnedFd,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) writable: bool,
    /// What direct I/O takes: unit of offsets and lengths; none where the page cache is used.
    pub(super) direct_unit: Option<u64>,
}

/// A buffer whose content no device can compress.
pub(super) fn buffer(bytes: usize, seed: u64) -> AlignedBuf {
    use crate::random::RngCore;
    let mut buffer = AlignedBuf::new(bytes);
    crate::random::seeded(seed).fill_bytes(&mut buffer);
    buffer
}
