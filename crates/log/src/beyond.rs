//! Behind the last block that can be read: the end of the log, or damage.
//!
//! Where no valid block follows, either the power failed while one was being written, or one was damaged
//! later. Blocks behind the place distinguish the two: each names the newest block that was durable when it
//! was written. If one of them names a block behind the last that can be read, what lies between was durable,
//! and is lost.
//!
//! # Why it is never a false alarm
//! A log continues behind everything that was durable. So the statement of a block stays true, whether the
//! block was left over from before the last power loss, or from an earlier use of its VLF.
//!
//! # How far to look
//! A block can be sealed before an earlier one is durable only while both are in the ring of buffers. So if a
//! whole ring was written behind a lost block, it contains a block that names a later one as durable. A loss
//! among the last writes cannot be distinguished from what a power loss cut off.

#![deny(clippy::indexing_slicing)]

use crate::LogError;
use crate::layout::{BLOCK_MAX_BYTES, BlockHeader, LOG_BUFFERS, SECTOR};
use furrow_format::Lsn;
use furrow_io::{AlignedBuf, File, IoError, read_around};

/// How far a VLF is searched in which the log continues: two rings.
const REACH_BYTES: u64 = 2 * (LOG_BUFFERS * BLOCK_MAX_BYTES) as u64;
/// Blocks are looked for in so many bytes at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// A part of the file that blocks may lie in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Where it begins in the file, and where it ends.
    pub(crate) span: (u64, u64),
    /// Whether the log is known to continue here; if not, the search ends at a chunk without a later block.
    pub(crate) surely: bool,
}

/// The search for blocks behind `last`.
pub(crate) struct Beyond<'a> {
    pub(crate) file: &'a dyn File,
    pub(crate) log_id: u64,
    /// The last block that can be read.
    pub(crate) last: Lsn,
}

impl Beyond<'_> {
    /// An error if a block in these places proves that the log went on behind the last one. Else the device's
    /// error, if it could not read one of them.
    pub(crate) fn prove_end(
        &self,
        places: impl IntoIterator<Item = Place>,
    ) -> Result<Option<IoError>, LogError> {
        let mut unreadable = None;
        for place in places {
            if self.goes_on(place, &mut unreadable)? {
                return Err(LogError::Damaged(self.last));
            }
        }
        Ok(unreadable)
    }

    /// Whether a block in this place names a block behind the last one as durable.
    fn goes_on(&self, place: Place, unreadable: &mut Option<IoError>) -> Result<bool, LogError> {
        let (mut at, limit) = place.span;
        let end = limit.min(at.saturating_add(REACH_BYTES));
        let mut bytes = AlignedBuf::new(CHUNK_BYTES + BLOCK_MAX_BYTES);
        while at < end {
            let window = (limit - at).min(bytes.len() as u64) as usize / SECTOR * SECTOR;
            let Some(window) = bytes.get_mut(..window).filter(|w| !w.is_empty()) else {
                break;
            };
            let mut missing = read_around(self.file, at, window)?;
            if !missing.is_empty() {
                // The device may have failed for a moment.
                missing = read_around(self.file, at, window)?;
            }
            let error = missing.into_iter().next().map(|(_, error)| error);
            *unreadable = unreadable.take().or(error);
            let starts = (0..window.len().min(CHUNK_BYTES)).step_by(SECTOR);
            let mut later = false;
            for header in starts.filter_map(|start| self.later_block(window.get(start..)?)) {
                if header.durable > self.last {
                    return Ok(true);
                }
                later = true;
            }
            if !later && !place.surely {
                break;
            }
            at += CHUNK_BYTES as u64;
        }
        Ok(false)
    }

    /// The header of a sound block at the start of `bytes`, if it is a later one.
    fn later_block(&self, bytes: &[u8]) -> Option<BlockHeader> {
        let header = BlockHeader::read(bytes, self.log_id)?;
        (header.lsn > self.last && header.checksum_fits(bytes)).then_some(header)
    }
}
