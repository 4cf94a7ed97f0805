//! Reading around what a device cannot read.

use crate::{File, IoError, IoErrorKind};
use std::ops::Range;

/// The smallest unit that a device may fail to read.
const SECTOR: usize = 512;

/// Reads `bytes.len()` bytes from `offset` (both multiples of 512), as far as the device can. Ranges that it
/// cannot read are zeroed, and returned by their place in `bytes`, with the device's error. Other errors end
/// the read.
///
/// A read that failed is tried again in halves: a few sectors cost few reads.
pub fn read_around(
    file: &dyn File,
    offset: u64,
    bytes: &mut [u8],
) -> Result<Vec<(Range<usize>, IoError)>, IoError> {
    let mut unreadable = Vec::new();
    read_part(file, offset, (0, bytes), &mut unreadable)?;
    Ok(unreadable)
}

fn read_part(
    file: &dyn File,
    offset: u64,
    (at, bytes): (usize, &mut [u8]),
    unreadable: &mut Vec<(Range<usize>, IoError)>,
) -> Result<(), IoError> {
    let error = match file.read_at(offset + at as u64, bytes) {
        Err(e) if matches!(e.kind, IoErrorKind::Os(..)) => e,
        done => return done,
    };
    let half = bytes.len() / 2 / SECTOR * SECTOR;
    if half == 0 {
        bytes.fill(0);
        let end = at + bytes.len();
        match unreadable.last_mut() {
            Some((last, _)) if last.end == at => last.end = end,
            _ => unreadable.push((at..end, error)),
        }
        return Ok(());
    }
    let (front, back) = bytes.split_at_mut(half);
    read_part(file, offset, (at, front), unreadable)?;
    read_part(file, offset, (at + half, back), unreadable)
}
