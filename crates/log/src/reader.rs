//! Reading the log forward, from a checkpoint to its end, at restart.
//!
//! The end of the log is the first place where no valid block follows, unless blocks behind it prove that a
//! durable one did (`beyond`), or the directory does: of a log that was restored it has the last record.
//! Where the device could not read, it is read again before that counts as the end
//! ([`LogScan::unreadable`]). A
//! valid block is one with a right checksum, our log's identity, the expected LSN, the LSN of the block
//! before it, and an incarnation not below the last one's. The last two exclude blocks that were in flight
//! behind a lost one at a crash: the next start writes with a higher incarnation, so that such blocks can
//! never join a later log.

#![deny(clippy::indexing_slicing)]

use crate::LogError;
use crate::beyond::{Beyond, Place};
use crate::directory::{Directory, read_directory};
use crate::layout::{BLOCK_HEADER_BYTES, BLOCK_MAX_BYTES, BlockHeader, SECTOR};
use crate::record::{OwnedRecord, Record};
use furrow_format::Lsn;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::{AlignedBuf, File, IoError, read_around};
use std::sync::Arc;

/// Looks at a place that the device could not read, before it counts as the end of the log.
const LOOKS: u32 = 2;

/// Where the log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogEnd {
    /// The last valid block.
    pub(crate) base: Lsn,
    /// Offset in its VLF where the next block goes.
    pub(crate) offset: u64,
    /// Highest incarnation seen.
    pub(crate) incarnation: u32,
}

/// A valid block, copied out of the log.
#[derive(Debug, Clone)]
pub(crate) struct ReadBlock {
    pub(crate) header: BlockHeader,
    pub(crate) bytes: Vec<u8>,
}

impl ReadBlock {
    /// The LSN of its last record.
    pub(crate) fn last_lsn(&self) -> Lsn {
        Lsn(self.header.lsn.0 + u64::from(self.header.records))
    }

    /// Offset and record of each slot.
    fn records(&self) -> impl Iterator<Item = (usize, Record<'_>, Lsn)> {
        let used = self
            .bytes
            .get(..self.header.used as usize)
            .unwrap_or_default();
        let mut at = BLOCK_HEADER_BYTES;
        (1..=u64::from(self.header.records)).map_while(move |slot| {
            let (record, len) = Record::read(used.get(at..)?)?;
            let start = at;
            at += len;
            Some((start, record, Lsn(self.header.lsn.0 + slot)))
        })
    }
}

/// Reads the log of a database that is not open, from a checkpoint to its end.
#[derive(Debug)]
pub struct LogScan {
    file: Arc<dyn File>,
    directory: Directory,
    seqs: Vec<u32>,
    next: (u32, u64),
    last: Option<BlockHeader>,
    end_offset: u64,
    block: Option<ReadBlock>,
    at: usize,
    slot: u16,
    /// The device's error where it could not read. Such a place counts as no block, unless a block must be
    /// there.
    unreadable: Option<IoError>,
    /// The block that `read` has read last.
    looked_up: Option<ReadBlock>,
}

impl LogScan {
    /// Starts where the last completed checkpoint begins; `binding` must be the one in the file's header.
    pub fn from_checkpoint(file: Arc<dyn File>, binding: [u8; 16]) -> Result<LogScan, LogError> {
        let from = read_directory(&*file)?.checkpoint;
        LogScan::open(file, binding, from)
    }

    /// Where the last completed checkpoint begins.
    pub fn checkpoint(&self) -> Lsn {
        self.directory.checkpoint
    }

    /// The last record before blocks of a log backup that are being put in, if that is known.
    pub(crate) fn grows_behind(&self) -> Option<Lsn> {
        self.directory.growing.filter(|before| *before != Lsn::ZERO)
    }

    /// Whether the next record is the first one that this log ever had.
    pub fn is_at_its_beginning(&self) -> bool {
        let first = |block: &ReadBlock| block.header.prev == Lsn::ZERO;
        self.slot == 0 && self.block.as_ref().is_some_and(first)
    }

    /// Starts at the block of `from`; `binding` must be the one in the file's header.
    pub fn open(file: Arc<dyn File>, binding: [u8; 16], from: Lsn) -> Result<LogScan, LogError> {
        let directory = read_directory(&*file)?;
        if directory.binding != binding {
            return Err(LogError::WrongDatabase(file.path().display().to_string()));
        }
        let mut scan = LogScan {
            file,
            directory,
            seqs: Vec::new(),
            next: (from.vlf(), u64::from(from.block()) * SECTOR as u64),
            last: None,
            end_offset: 0,
            block: None,
            at: 0,
            slot: 0,
            unreadable: None,
            looked_up: None,
        };
        scan.seqs = scan.find_seqs()?;
        if !scan.load_next_block()? {
            return Err(scan.unreadable_or(LogError::Missing(from)));
        }
        Ok(scan)
    }

    /// At the end of the log: the device's error, if the log ends where the device could not read. Records
    /// may follow there. They do not if the power went while the place was being written.
    pub fn unreadable(&self) -> Option<&IoError> {
        self.unreadable.as_ref()
    }

    /// The device's error if there was any, because `error` follows from it; else `error`.
    pub fn unreadable_or(&mut self, error: LogError) -> LogError {
        self.unreadable.take().map_or(error, LogError::Io)
    }

    /// The block at an offset of the file, as [`read_block`]; a place that cannot be read counts as no block.
    fn block_at(&mut self, offset: u64, room: u64) -> Result<Option<ReadBlock>, LogError> {
        match read_block(&*self.file, offset, room, self.directory.log_id()) {
            Err(LogError::Io(e)) if e.kind.is_medium() => {
                self.unreadable = Some(e);
                Ok(None)
            }
            other => other,
        }
    }

    /// Sequence number of each VLF, from its first block. If two claim the same number, the one with the
    /// later incarnation has it.
    fn find_seqs(&mut self) -> Result<Vec<u32>, LogError> {
        let mut seen: Vec<Option<BlockHeader>> = Vec::new();
        for (start, size) in self.directory.vlfs() {
            seen.push(self.block_at(start, size)?.map(|b| b.header));
        }
        for i in 0..seen.len() {
            let Some(Some(mine)) = seen.get(i).copied() else {
                continue;
            };
            let outdone = seen.iter().flatten().any(|other| {
                other.lsn.vlf() == mine.lsn.vlf() && other.incarnation > mine.incarnation
            });
            if let (true, Some(place)) = (outdone, seen.get_mut(i)) {
                *place = None;
            }
        }
        Ok(seen
            .into_iter()
            .map(|h| h.map_or(0, |h| h.lsn.vlf()))
            .collect())
    }

    fn place(&self, seq: u32) -> Option<(u64, u64)> {
        let at = self.seqs.iter().position(|&s| s == seq && seq != 0)?;
        self.directory.vlfs().get(at).copied()
    }

    /// Loads the next valid block; `false` at the end of the log.
    fn load_next_block(&mut self) -> Result<bool, LogError> {
        let found = match self.find_next_block()? {
            None if self.unreadable.is_some() => self.look_again()?,
            found => found,
        };
        let Some(block) = found else {
            return match self.prove_end() {
                Err(e @ LogError::Damaged(_)) => Err(self.unreadable_or(e)),
                ends => {
                    self.unreadable = self.unreadable.take().or(ends?);
                    Ok(false)
                }
            };
        };
        let padded =
            BlockHeader::padded(block.header.used as usize, self.directory.sector as usize);
        let at = u64::from(block.header.lsn.block()) * SECTOR as u64;
        self.end_offset = at + padded as u64;
        debug_assert!(
            self.last.is_none_or(|last| last.lsn < block.header.lsn),
            "blocks follow each other"
        );
        self.next = (block.header.lsn.vlf(), self.end_offset);
        self.last = Some(block.header);
        self.block = Some(block);
        (self.at, self.slot) = (BLOCK_HEADER_BYTES, 0);
        Ok(true)
    }

    /// The block that follows, if a valid one does.
    fn find_next_block(&mut self) -> Result<Option<ReadBlock>, LogError> {
        let (seq, offset) = self.next;
        match (self.valid_block(seq, offset)?, self.last) {
            (Some(block), _) => Ok(Some(block)),
            // The rest of this VLF is empty: the log continues at the start of the next one.
            (None, Some(_)) => self.valid_block(seq + 1, 0),
            (None, None) => Ok(None),
        }
    }

    /// The block that follows, where no place could be found because the device could not read: it may have
    /// failed for a moment. The first block of a VLF is needed to find the VLF.
    fn look_again(&mut self) -> Result<Option<ReadBlock>, LogError> {
        for _ in 0..LOOKS {
            self.unreadable = None;
            let mut seqs = self.find_seqs()?;
            for (at, known) in self.seqs.iter().enumerate() {
                let is_free = !seqs.contains(known);
                if let Some(seq) = seqs.get_mut(at).filter(|seq| **seq == 0 && is_free) {
                    *seq = *known;
                }
            }
            self.seqs = seqs;
            let found = self.find_next_block()?;
            if found.is_some() || self.unreadable.is_none() {
                return Ok(found);
            }
        }
        debug_assert!(
            self.unreadable.is_some(),
            "else a look has ended the search"
        );
        Ok(None)
    }

    /// An error if the log does not end here: see `beyond`. The device's error, if it could not read a place
    /// that may prove it.
    fn prove_end(&self) -> Result<Option<IoError>, LogError> {
        let Some(last) = self.last.filter(|_| !mutated(Mutation::HoleIsTheEnd)) else {
            return Ok(None);
        };
        // A device that can no longer read anything proves nothing.
        let known_bytes = read_directory(&*self.file)?.file_bytes();
        let end = Lsn(last.lsn.0 + u64::from(last.records));
        if end < self.directory.reached {
            return Err(LogError::Damaged(last.lsn));
        }
        let vlfs = self.directory.vlfs().into_iter().zip(&self.seqs);
        let places = vlfs.filter_map(|((start, size), &seq)| {
            let from = if seq == last.lsn.vlf() {
                self.end_offset
            } else {
                0
            };
            let span = (start + from.min(size), start + size);
            // An older VLF that was not written since cannot contain a later block.
            (seq == 0 || seq >= last.lsn.vlf()).then_some(Place {
                span,
                surely: seq != 0,
            })
        });
        // The directory that records a growth may be lost.
        let unknown = Place {
            span: (known_bytes, self.file.len_bytes()?),
            surely: false,
        };
        let beyond = Beyond {
            file: &*self.file,
            log_id: self.directory.log_id(),
            last: last.lsn,
        };
        beyond.prove_end(places.chain([unknown]))
    }

    fn valid_block(&mut self, seq: u32, offset: u64) -> Result<Option<ReadBlock>, LogError> {
        let Some((start, size)) = self.place(seq) else {
            return Ok(None);
        };
        let Some(room) = size.checked_sub(offset).filter(|&r| r >= SECTOR as u64) else {
            return Ok(None);
        };
        let block = self.block_at(start + offset, room)?;
        let expected = Lsn::new(seq, (offset / SECTOR as u64) as u32, 0);
        Ok(block.filter(|b| {
            Some(b.header.lsn) == expected
                && self.last.is_none_or(|last| {
                    b.header.prev == last.lsn && b.header.incarnation >= last.incarnation
                })
        }))
    }

    /// The next record, or `None` at the end of the log.
    pub fn next_record(&mut self) -> Result<Option<OwnedRecord>, LogError> {
        loop {
            let Some(block) = &self.block else {
                return Ok(None);
            };
            if self.slot < block.header.records {
                let rest = block
                    .bytes
                    .get(self.at..block.header.used as usize)
                    .unwrap_or_default();
                let lsn = Lsn(block.header.lsn.0 + u64::from(self.slot) + 1);
                let record = OwnedRecord::copy(rest, lsn).ok_or(LogError::Missing(lsn))?;
                self.at += record.get().len_bytes();
                debug_assert!(
                    self.at <= block.header.used as usize,
                    "a record ends within its block"
                );
                self.slot += 1;
                return Ok(Some(record));
            }
            if !self.load_next_block()? {
                self.block = None;
            }
        }
    }

    /// Reads one record anywhere in the log that is still there. Its block stays in memory for the next call.
    pub fn read(&mut self, lsn: Lsn) -> Result<OwnedRecord, LogError> {
        let missing = || LogError::Missing(lsn);
        let base = Lsn(lsn.0 & !u64::from(Lsn::MAX_SLOT));
        let known = self.looked_up.as_ref();
        if known.is_none_or(|block| block.header.lsn != base) {
            let (start, size) = self.place(lsn.vlf()).ok_or_else(missing)?;
            let offset = u64::from(lsn.block()) * SECTOR as u64;
            let room = size.checked_sub(offset).ok_or_else(missing)?;
            let log_id = self.directory.log_id();
            self.looked_up = read_block(&*self.file, start + offset, room, log_id)?;
        }
        let block = self.looked_up.as_ref().ok_or_else(missing)?;
        let found = find_record(block, lsn).ok_or_else(missing)?;
        debug_assert_eq!(found.lsn, lsn, "a record lies at its LSN");
        Ok(found)
    }

    pub(crate) fn into_parts(self) -> (Arc<dyn File>, Directory, Vec<u32>, LogEnd) {
        let end = LogEnd {
            base: self.last.map_or(Lsn::ZERO, |h| h.lsn),
            offset: self.end_offset,
            incarnation: self.last.map_or(0, |h| h.incarnation),
        };
        (self.file, self.directory, self.seqs, end)
    }
}

pub(crate) fn find_record(block: &ReadBlock, lsn: Lsn) -> Option<OwnedRecord> {
    let (at, _, _) = block.records().find(|(_, _, here)| *here == lsn)?;
    OwnedRecord::copy(block.bytes.get(at..)?, lsn)
}

/// Reads the block at `offset`, if a whole valid one lies there; `room` bytes are left in its VLF. Returns
/// the device's error if there is no block in what it can read.
pub(crate) fn read_block(
    file: &dyn File,
    offset: u64,
    room: u64,
    log_id: u64,
) -> Result<Option<ReadBlock>, LogError> {
    let room = (room as usize).min(BLOCK_MAX_BYTES) / SECTOR * SECTOR;
    let mut bytes = AlignedBuf::new(room);
    let unreadable = read_around(file, offset, &mut bytes)?;
    let block = block_in(&bytes, log_id);
    match unreadable.into_iter().next() {
        Some((_, error)) if block.is_none() => Err(error.into()),
        _ => Ok(block),
    }
}

/// The block at the start of `bytes`, if a whole valid one lies there.
pub(crate) fn block_in(bytes: &[u8], log_id: u64) -> Option<ReadBlock> {
    let header = BlockHeader::read(bytes, log_id)?;
    if !header.checksum_fits(bytes) && !mutated(Mutation::TrustTornBlocks) {
        return None;
    }
    let used = bytes
        .get(..header.used as usize)
        .unwrap_or_default()
        .to_vec();
    let block = ReadBlock {
        header,
        bytes: used,
    };
    // A right checksum over records that do not parse cannot come from this engine.
    let whole = block.records().count() == usize::from(header.records);
    whole.then_some(block)
}
