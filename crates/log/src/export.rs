//! The blocks of an open log, oldest first: what a backup copies.

use crate::layout::{BLOCK_MAX_BYTES, BlockHeader, SECTOR, u64_at};
use crate::log::Log;
use crate::reader::block_in;
use crate::{LogError, OwnedRecord, Record};
use furrow_format::Lsn;
use furrow_io::AlignedBuf;

/// Bytes of the log that are read at once.
const WINDOW_BYTES: usize = 1 << 20;

/// A block of a log, as it lies in the file, without its padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBlock {
    /// Its LSN, slot 0.
    pub lsn: Lsn,
    /// The size of its VLF; 0 of one that was copied.
    pub vlf_bytes: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl LogBlock {
    /// The block in these bytes, which a backup has copied; `None` if they are no block.
    pub fn copied(bytes: &[u8]) -> Option<LogBlock> {
        let block = block_in(bytes, u64_at(bytes, 32)?)?;
        (block.bytes.len() == bytes.len()).then_some(LogBlock {
            lsn: block.header.lsn,
            vlf_bytes: 0,
            bytes: block.bytes,
        })
    }

    /// Its records.
    pub fn records(&self) -> Vec<OwnedRecord> {
        let records = u16::from_le_bytes(self.bytes.get(12..14).map_or([0; 2], |b| [b[0], b[1]]));
        let mut at = crate::BLOCK_HEADER_BYTES;
        let next = |slot: u64| {
            let bytes = self.bytes.get(at..)?;
            let (_, len) = Record::read(bytes)?;
            at += len;
            OwnedRecord::copy(bytes, Lsn(self.lsn.0 + slot))
        };
        (1..=u64::from(records)).map_while(next).collect()
    }

    /// The LSN of its last record.
    pub fn last_lsn(&self) -> Lsn {
        let records = u16::from_le_bytes(self.bytes.get(12..14).map_or([0; 2], |b| [b[0], b[1]]));
        Lsn(self.lsn.0 + u64::from(records))
    }
}

/// A place in an open log from which blocks are copied. The caller must hold the log from there on
/// (`furrow_txn::LogHolds`).
#[derive(Debug)]
pub struct LogCursor {
    seq: u32,
    offset: u64,
    last: Option<Lsn>,
    window: AlignedBuf,
    /// Where the window begins in the file, and how many bytes of it are read.
    window_at: (u64, usize),
    /// Blocks from here on were not durable when the window was read.
    window_end: Lsn,
}

impl LogCursor {
    /// The beginning of a VLF.
    pub fn at_vlf(seq: u32) -> LogCursor {
        LogCursor {
            seq,
            offset: 0,
            last: None,
            window: AlignedBuf::new(WINDOW_BYTES),
            window_at: (0, 0),
            window_end: Lsn::ZERO,
        }
    }

    /// The next block that lies before `end`, up to which the log is durable.
    pub fn next_block(&mut self, log: &Log, end: Lsn) -> Result<Option<LogBlock>, LogError> {
        if let Some(block) = self.block_here(log, end)? {
            return Ok(Some(self.took(log, block)));
        }
        let next = Lsn::new(self.seq + 1, 0, 0).unwrap_or(Lsn::MAX);
        if next >= end || self.last.is_none() {
            let here = Lsn::new(self.seq, (self.offset / SECTOR as u64) as u32, 0);
            return match here {
                Some(here) if here < end && next < end => Err(LogError::Missing(here)),
                Some(here) if here < end && self.last.is_none() => Err(LogError::Missing(here)),
                _ => Ok(None),
            };
        }
        // The rest of this VLF is empty.
        (self.seq, self.offset) = (self.seq + 1, 0);
        match self.block_here(log, end)? {
            Some(block) => Ok(Some(self.took(log, block))),
            None => Err(LogError::Missing(next)),
        }
    }

    fn took(&mut self, log: &Log, block: LogBlock) -> LogBlock {
        let padded = BlockHeader::padded(block.bytes.len(), log.sector_bytes() as usize);
        self.offset += padded as u64;
        debug_assert!(
            self.last.is_none_or(|last| last < block.lsn),
            "blocks are copied in order"
        );
        self.last = Some(block.lsn);
        block
    }

    fn block_here(&mut self, log: &Log, end: Lsn) -> Result<Option<LogBlock>, LogError> {
        let Some(expected) = Lsn::new(self.seq, (self.offset / SECTOR as u64) as u32, 0) else {
            return Ok(None);
        };
        let place = log.roll.lock().vlfs.by_seq(self.seq);
        let Some(vlf) = place.filter(|v| expected < end && self.offset < v.size) else {
            return Ok(None);
        };
        let (at, room) = (vlf.start + self.offset, vlf.size - self.offset);
        let wanted = room.min(BLOCK_MAX_BYTES as u64) as usize;
        let inside =
            |(start, len): (u64, usize)| at >= start && at + wanted as u64 <= start + len as u64;
        if !inside(self.window_at) || expected >= self.window_end {
            let len = room.min(WINDOW_BYTES as u64) as usize;
            log.file
                .read_at(at, self.window.get_mut(..len).unwrap_or_default())?;
            (self.window_at, self.window_end) = ((at, len), end);
        }
        let from = (at - self.window_at.0) as usize;
        let bytes = self.window.get(from..from + wanted).unwrap_or_default();
        let block = block_in(bytes, log.log_id).filter(|b| {
            b.header.lsn == expected && self.last.is_none_or(|last| b.header.prev == last)
        });
        Ok(block.map(|b| LogBlock {
            lsn: expected,
            vlf_bytes: vlf.size,
            bytes: b.bytes,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogConfig, LogImage, LogScan, RecordKind};
    use furrow_io::{Access, MemoryVolume, Open, Volume};
    use std::sync::Arc;

    #[test]
    fn a_copied_log_of_another_binding_has_the_same_records_at_the_same_places() {
        let volume = MemoryVolume::new();
        let open = |name: &str| {
            let file = volume.open(name.as_ref(), Open::Create, Access::Log);
            file.unwrap()
        };
        let config = LogConfig::default();
        let log = Log::create(open("a.ldf"), 1 << 20, [7; 16], config).unwrap();
        let mut wrote = Vec::new();
        let mut cursor = LogCursor::at_vlf(log.tail().vlf());
        let mut blocks = Vec::new();
        for n in 0..60_u32 {
            let body = vec![n as u8; 9000];
            wrote.push(
                log.append(&Record::system(RecordKind::Change, &body))
                    .unwrap(),
            );
            if n % 7 == 0 {
                log.flush_all().unwrap();
                let end = log.durable();
                while let Some(block) = cursor.next_block(&log, end).unwrap() {
                    blocks.push(block);
                }
            }
        }
        log.flush_all().unwrap();
        while let Some(block) = cursor.next_block(&log, log.durable()).unwrap() {
            blocks.push(block);
        }
        let seen: Vec<Lsn> = blocks
            .iter()
            .flat_map(LogBlock::records)
            .map(|r| r.lsn)
            .collect();
        assert_eq!(seen, wrote);
        assert!(
            wrote.last().unwrap().vlf() > wrote[0].vlf(),
            "more than one VLF"
        );
        let mut vlfs: Vec<(u32, u64)> = blocks.iter().map(|b| (b.lsn.vlf(), b.vlf_bytes)).collect();
        vlfs.dedup();
        let image = LogImage::create(open("b.ldf"), [9; 16], 4096, &vlfs, 2 << 20).unwrap();
        // In any order: stripes are read side by side.
        blocks.reverse();
        for block in &blocks {
            image.write(&block.bytes).unwrap();
        }
        image.finish(wrote[0]).unwrap();
        let file = volume
            .open("b.ldf".as_ref(), Open::Existing, Access::Log)
            .unwrap();
        assert!(file.len_bytes().unwrap() >= 2 << 20);
        let mut scan = LogScan::from_checkpoint(Arc::clone(&file), [9; 16]).unwrap();
        for lsn in &wrote {
            assert_eq!(scan.next_record().unwrap().unwrap().lsn, *lsn);
        }
        assert_eq!(scan.next_record().unwrap(), None);
        let resumed = Log::resume(scan, wrote[0], config).unwrap();
        let next = resumed
            .append(&Record::system(RecordKind::Change, &[1]))
            .unwrap();
        assert!(next > *wrote.last().unwrap());
        resumed.flush_all().unwrap();
    }
}
