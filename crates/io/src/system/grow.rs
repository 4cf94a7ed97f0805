//! Changing a file's length.

use super::calls::retry;
use super::lanes::Lanes;
use super::transfer::{self, Failure};
use crate::{AlignedBuf, Fill};
use rustix::io::Errno;
use std::io::IoSlice;

/// Zeros written by one call.
const CHUNK_BYTES: usize = 4 << 20;

/// Sets the length from `old` to `new`, not yet durably. When it fails the old length is put back.
pub(crate) fn set_len(lanes: &Lanes, old: u64, new: u64, fill: Fill) -> Result<(), Failure> {
    if new <= old {
        return retry(|| rustix::fs::ftruncate(lanes.cached(), new)).map_err(Failure::Errno);
    }
    let outcome = grow(lanes, old, new, fill);
    if outcome.is_err() {
        // Best effort: the caller gets the error, and a disk that is full gets its space back.
        let _kept_longer = rustix::fs::ftruncate(lanes.cached(), old);
    }
    outcome
}

fn grow(lanes: &Lanes, old: u64, new: u64, fill: Fill) -> Result<(), Failure> {
    // Also before zeros are written: a full disk shows at once, and the extents come out contiguous.
    let allocated = allocate(lanes, old, new).map_err(Failure::Errno)?;
    if allocated && fill == Fill::Allocate {
        return Ok(());
    }
    let span = usize::try_from(new - old).unwrap_or(usize::MAX);
    let zeros = AlignedBuf::new(CHUNK_BYTES.min(span));
    let mut at = old;
    while at < new {
        // The first piece ends at a multiple of the chunk, so that all others are aligned.
        let end = (at / CHUNK_BYTES as u64 + 1) * CHUNK_BYTES as u64;
        let len = usize::try_from(end.min(new) - at)
            .unwrap_or(0)
            .min(zeros.len());
        transfer::write_rest(lanes, at, &[IoSlice::new(&zeros[..len])], 0, false)?;
        at += len as u64;
    }
    Ok(())
}

/// Whether the file system gave the space without zeros being written.
#[cfg(target_os = "linux")]
fn allocate(lanes: &Lanes, old: u64, new: u64) -> Result<bool, Errno> {
    use rustix::fs::{FallocateFlags, fallocate};
    match retry(|| fallocate(lanes.cached(), FallocateFlags::empty(), old, new - old)) {
        Ok(()) => Ok(true),
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(lanes: &Lanes, old: u64, new: u64) -> Result<bool, Errno> {
    let _not_used_here = (lanes, old, new);
    Ok(false)
}
