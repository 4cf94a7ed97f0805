//! Single records of an open log, newest first, as rollback reads them.

use crate::layout::LOG_BUFFERS;
use crate::layout::{BlockHeader, SECTOR};
use crate::log::Log;
use crate::reader::{ReadBlock, find_record, read_block};
use crate::sync::atomic::Ordering;
use crate::{LogError, OwnedRecord};
use furrow_format::Lsn;

/// Reads single records of an open log, newest first as rollback does; caches the last block it read.
#[derive(Debug, Default)]
pub struct RecordReader {
    cached: Option<ReadBlock>,
}

impl RecordReader {
    /// A reader with nothing cached.
    pub fn new() -> RecordReader {
        RecordReader::default()
    }

    /// The record at `lsn`. Writes the log up to it first.
    pub fn read(&mut self, log: &Log, lsn: Lsn) -> Result<OwnedRecord, LogError> {
        let base = Lsn(lsn.0 & !u64::from(Lsn::MAX_SLOT));
        if self.cached.as_ref().is_none_or(|b| b.header.lsn != base) {
            log.write_to(lsn)?;
            self.cached = Some(log.load_block(base)?);
        }
        let found = self
            .cached
            .as_ref()
            .and_then(|block| find_record(block, lsn));
        found.ok_or(LogError::Missing(lsn))
    }
}

impl Log {
    /// A written block: from its buffer while that still holds it, else from the file.
    fn load_block(&self, base: Lsn) -> Result<ReadBlock, LogError> {
        let (place, in_memory) = {
            let roll = self.roll.lock();
            let newest = self.current.load(Ordering::Acquire);
            let oldest = newest.saturating_sub(LOG_BUFFERS as u64 - 1);
            let number = (oldest..=newest)
                .find(|&n| self.block(n).base() == base && self.block(n).state().is_of(n));
            let bytes = number.map(|n| {
                let used = self.block(n).state().used();
                #[expect(unsafe_code, reason = "the protocol of `Block`")]
                // SAFETY: the block is written, so filled; it is reopened only under the lock held here.
                unsafe {
                    self.block(n).copy_out(0, used)
                }
            });
            (roll.vlfs.by_seq(base.vlf()), bytes)
        };
        let missing = || LogError::Missing(base);
        if let Some(bytes) = in_memory {
            let header = BlockHeader::read(&bytes, self.log_id).ok_or_else(missing)?;
            debug_assert!(
                header.checksum_fits(&bytes),
                "a block that was written is sealed"
            );
            return Ok(ReadBlock { header, bytes });
        }
        let vlf = place.ok_or_else(missing)?;
        let offset = u64::from(base.block()) * SECTOR as u64;
        let room = vlf.size.checked_sub(offset).ok_or_else(missing)?;
        let block = read_block(&*self.file, vlf.start + offset, room, self.log_id)?;
        block.filter(|b| b.header.lsn == base).ok_or_else(missing)
    }
}
