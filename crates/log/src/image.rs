//! A log file put together from blocks of another one: what a restore writes.
//!
//! The VLFs of the new file have the sequence numbers and sizes of those that the blocks come from, so that
//! every LSN still names the place of its record. They lie in the file in the order of their numbers. Each
//! block is sealed again with the new log's identity.

mod erase;
#[cfg(test)]
mod tests;

use crate::directory::{Directory, is_unfinished, write_directory};
use crate::layout::{BLOCK_HEADER_BYTES, BlockHeader, SECTOR, u64_at};
use crate::reader::read_block;
use crate::{LogError, LogScan, OwnedRecord, Record};
use furrow_format::Lsn;
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::{AlignedBuf, File, Fill};
use std::sync::Arc;

/// VLFs that a log needs beside those that hold its blocks.
const SPARE_VLFS: u64 = 1;
/// Most VLFs that are added to make a file as long as it was.
const MOST_SPARE_VLFS: u64 = 256;
/// No log has a VLF as large as this: block offsets end at 8 GB.
const MOST_VLF_BYTES: u64 = 16 << 30;

/// A log file that is being put together. It is not a valid log before [`LogImage::finish`].
#[derive(Debug)]
pub struct LogImage {
    file: Arc<dyn File>,
    directory: Directory,
    /// The sequence number of each VLF in file order; 0 of one that nothing was written to.
    seqs: Vec<u32>,
    /// Records from here on are left out.
    stop: Lsn,
    /// The last record that was in place, or was written.
    last: AtomicU64,
    /// The last record that was in place.
    kept: Lsn,
    behind: Behind,
}

/// What may lie behind the last record of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Nothing,
    /// What an extension that was interrupted has left, in no order: it was never the log's.
    Strays,
    /// Records that were in place, behind a block that cannot be read any more.
    Lost,
}

impl LogImage {
    /// Whether a log can be created for these VLFs (number, size).
    pub fn check(sector: u32, vlfs: &[(u32, u64)]) -> Result<(), LogError> {
        let first = vlfs.first().ok_or(LogError::Missing(Lsn::ZERO))?;
        let follow = vlfs
            .windows(2)
            .all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
        let sane = follow && vlfs.iter().all(is_sane) && sector.is_power_of_two();
        match sane && (512..=4096).contains(&sector) && first.0 != 0 {
            true => Ok(()),
            false => Err(LogError::Missing(
                Lsn::new(first.0, 0, 0).unwrap_or(Lsn::ZERO),
            )),
        }
    }

    /// Creates the file in an empty one: for the VLFs `vlfs` (number, size), which follow one another, and at
    /// least `least_bytes` long.
    pub fn create(
        file: Arc<dyn File>,
        binding: [u8; 16],
        sector: u32,
        vlfs: &[(u32, u64)],
        least_bytes: u64,
    ) -> Result<LogImage, LogError> {
        LogImage::check(sector, vlfs)?;
        let mut directory = Directory {
            version: 1,
            binding,
            sector,
            growing: None,
            reached: Lsn::ZERO,
            checkpoint: Lsn::ZERO,
            runs: Vec::new(),
        };
        let own = vlfs
            .iter()
            .try_for_each(|&(_, size)| directory.push(size, 1));
        let largest = vlfs.iter().map(|v| v.1).max().unwrap_or(0);
        let no_spare = directory.runs.len() == Directory::MAX_RUNS;
        if own.is_err() || no_spare {
            // Only a block's place within its VLF matters: a larger VLF holds it as well.
            directory.runs = vec![(largest, vlfs.len() as u32)];
        }
        let missing = least_bytes.saturating_sub(directory.file_bytes());
        let size = missing
            .div_ceil(MOST_SPARE_VLFS)
            .next_multiple_of(SECTOR as u64);
        let size = largest.max(size);
        let spare = missing.div_ceil(size).max(SPARE_VLFS);
        debug_assert!(spare <= MOST_SPARE_VLFS, "{spare} spare VLFs");
        directory.push(size, spare as u32)?;
        file.resize(directory.file_bytes(), Fill::Allocate)?;
        // Without a checkpoint: a power loss in a later write leaves this copy, and there is no log.
        write_directory(&*file, &directory)?;
        let mut seqs: Vec<u32> = vlfs.iter().map(|v| v.0).collect();
        seqs.resize(directory.vlfs().len(), 0);
        Ok(LogImage {
            file,
            directory,
            seqs,
            stop: Lsn::MAX,
            last: AtomicU64::new(0),
            behind: Behind::Nothing,
            kept: Lsn::ZERO,
        })
    }

    /// Continues a log file that was put together before, or written by a database that was closed. Returns
    /// where its log ends. [`LogError::NotALog`] of one that was not finished.
    pub fn reopen(file: Arc<dyn File>, binding: [u8; 16]) -> Result<(LogImage, Lsn), LogError> {
        LogImage::reopen_and(file, binding, |_| {})
    }

    /// The same, and shows each record that is in place.
    pub fn reopen_and(
        file: Arc<dyn File>,
        binding: [u8; 16],
        mut see: impl FnMut(&OwnedRecord),
    ) -> Result<(LogImage, Lsn), LogError> {
        let mut scan = match LogScan::from_checkpoint(Arc::clone(&file), binding) {
            Ok(scan) if scan.checkpoint() != Lsn::ZERO => scan,
            // Its first directory may be unreadable, if the power failed while it was written.
            Ok(_) | Err(_) if is_unfinished(&*file, binding).unwrap_or(false) => {
                return Err(LogError::NotALog(file.path().display().to_string()));
            }
            opened => opened?,
        };
        let mut end = scan.checkpoint();
        let before = scan.grows_behind().unwrap_or(Lsn::MAX);
        let broken = loop {
            match scan.next_record() {
                // It came of an extension that did not come to its end, as what lies behind it.
                Ok(Some(record)) if record.lsn > before => break None,
                Ok(Some(record)) => {
                    see(&record);
                    end = record.lsn;
                }
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let (_, directory, mut seqs, _) = scan.into_parts();
        let behind = match (broken, directory.growing) {
            (None, None) => Behind::Nothing,
            (Some(LogError::Damaged(_)), None) => Behind::Lost,
            (None | Some(LogError::Damaged(_)), Some(before)) if end < before => Behind::Lost,
            (None | Some(LogError::Damaged(_)), Some(_)) => Behind::Strays,
            // A power loss may have made a sector of what was being put in unreadable.
            (Some(LogError::Io(e)), growing) if e.kind.is_medium() => {
                match growing.is_some_and(|before| end >= before) {
                    true => Behind::Strays,
                    false => Behind::Lost,
                }
            }
            (Some(error), _) => return Err(error),
        };
        let is_behind = |seq: &&mut u32| behind != Behind::Nothing && **seq > end.vlf();
        seqs.iter_mut().filter(is_behind).for_each(|seq| *seq = 0);
        if behind != Behind::Lost {
            number_damaged(&mut seqs);
        }
        let image = LogImage {
            file,
            directory,
            seqs,
            stop: Lsn::MAX,
            last: AtomicU64::new(end.0),
            behind,
            kept: end,
        };
        Ok((image, end))
    }

    /// Adds space for more VLFs (number, size); the first of them may be there already.
    pub fn extend(&mut self, vlfs: &[(u32, u64)]) -> Result<(), LogError> {
        let (directory, seqs) = self.extended(vlfs)?;
        let mut before = self.kept;
        if self.behind == Behind::Lost {
            // Until the log has come again it cannot be given up.
            before = Lsn::MAX;
            self.note_growing(before)?;
        }
        self.erase_behind()?;
        let bytes = directory.file_bytes().max(self.file.len_bytes()?);
        self.file.resize(bytes, Fill::Allocate)?;
        let version = self.directory.version;
        (self.directory, self.seqs) = (directory, seqs);
        self.directory.version = version;
        debug_assert_eq!(self.behind, Behind::Nothing, "it was erased");
        // Durable before any block: after a crash the blocks are looked for where they lie.
        self.note_growing(before)
    }

    fn note_growing(&mut self, before: Lsn) -> Result<(), LogError> {
        debug_assert!(
            before >= self.kept.max(self.directory.reached),
            "what is in place is not given up"
        );
        (self.directory.growing, self.directory.reached) = (Some(before), Lsn::ZERO);
        self.directory.version += 1;
        write_directory(&*self.file, &self.directory)
    }

    /// Whether [`LogImage::extend`] has place for these VLFs.
    pub fn may_extend(&self, vlfs: &[(u32, u64)]) -> Result<(), LogError> {
        self.extended(vlfs).map(drop)
    }

    fn extended(&self, vlfs: &[(u32, u64)]) -> Result<(Directory, Vec<u32>), LogError> {
        let (mut directory, mut seqs) = (self.directory.clone(), self.seqs.clone());
        // VLFs at the end of the file without a block, the spare ones, get their sizes now.
        let used = seqs
            .iter()
            .rposition(|seq| *seq != 0)
            .map_or(0, |last| last + 1);
        directory.pop((seqs.len() - used) as u32);
        seqs.truncate(used);
        let mut largest = directory.runs.iter().map(|run| run.0).max().unwrap_or(0);
        let mut last = seqs.iter().copied().max().unwrap_or(0);
        for &(seq, size) in vlfs.iter().filter(|v| v.0 > last).collect::<Vec<_>>() {
            let next = last.checked_add(1) == Some(seq);
            if !next || !is_sane(&(seq, size)) {
                return Err(LogError::Missing(Lsn::new(seq, 0, 0).unwrap_or(Lsn::ZERO)));
            }
            largest = largest.max(size);
            push_at_least(&mut directory, (size, largest))?;
            seqs.push(seq);
            last = seq;
        }
        for _ in 0..SPARE_VLFS {
            let spare = push_at_least(&mut directory, (largest, largest));
            spare.or_else(|_| push_at_least(&mut directory, (SECTOR as u64, largest)))?;
        }
        debug_assert!(
            seqs.len() <= directory.vlfs().len(),
            "every VLF with a number has space in the file"
        );
        debug_assert!(
            directory
                .vlfs()
                .iter()
                .zip(self.directory.vlfs())
                .take(used)
                .all(|(new, old)| *new == old),
            "VLFs with a number stay where they are"
        );
        seqs.resize(directory.vlfs().len(), 0);
        Ok((directory, seqs))
    }

    /// Start and size of the VLF with this number.
    fn place(&self, seq: u32) -> Option<(u64, u64)> {
        let at = self.seqs.iter().position(|s| *s == seq && seq != 0)?;
        self.directory.vlfs().get(at).copied()
    }

    /// Where recovery begins, according to the file.
    pub fn checkpoint(&self) -> Lsn {
        self.directory.checkpoint
    }

    /// The last record that is in place, once all blocks are written.
    pub fn last_lsn(&self) -> Lsn {
        Lsn(self.last.load(Ordering::Acquire))
    }

    /// Leaves records from `stop` on out of what is written from now on. [`LogImage::cut`] follows.
    pub fn stop_at(&mut self, stop: Lsn) {
        self.stop = stop;
    }

    /// Whether records that were in place cannot be read any more, and have not come again.
    pub fn is_lost(&self) -> bool {
        self.behind == Behind::Lost
    }

    /// Whether the loss of its last records would show. It would not in a log that an earlier version has
    /// restored, or that a database has written.
    pub fn has_known_end(&self) -> bool {
        self.puts_in() || self.directory.reached != Lsn::ZERO
    }

    /// Whether this restore, or one before that was interrupted, has put blocks in.
    fn puts_in(&self) -> bool {
        self.directory.growing.is_some() || self.kept == Lsn::ZERO
    }

    /// Whether records are left out.
    pub fn is_stopped(&self) -> bool {
        self.stop != Lsn::MAX
    }

    /// Writes a block at its place. Several threads may do this side by side.
    pub fn write(&self, block: &[u8]) -> Result<Lsn, LogError> {
        debug_assert!(
            self.behind == Behind::Nothing,
            "what lies behind the end goes first"
        );
        let bad = || LogError::Missing(Lsn(u64_at(block, 16).unwrap_or(0)));
        let stated = u64_at(block, 32).ok_or_else(bad)?;
        let header = BlockHeader::read(block, stated).ok_or_else(bad)?;
        if !header.checksum_fits(block) || header.used as usize != block.len() {
            return Err(bad());
        }
        let oldest = self.seqs.iter().copied().filter(|seq| *seq != 0).min();
        if oldest.is_some_and(|oldest| header.lsn.vlf() < oldest) {
            // A log backup may begin before the full backup that it is restored behind.
            return Ok(header.lsn);
        }
        if header.lsn >= self.stop || self.has(&header)? {
            return Ok(header.lsn);
        }
        let (block, header) = match header.lsn.0 + u64::from(header.records) < self.stop.0 {
            true => (block, header),
            false => match shortened(block, header, self.stop).ok_or_else(bad)? {
                (_, none) if none.records == 0 => return Ok(none.lsn),
                kept => kept,
            },
        };
        let place = self.place(header.lsn.vlf()).ok_or_else(bad)?;
        let offset = u64::from(header.lsn.block()) * SECTOR as u64;
        let padded = BlockHeader::padded(block.len(), self.directory.sector as usize);
        if offset + padded as u64 > place.1 || block.len() < BLOCK_HEADER_BYTES {
            return Err(bad());
        }
        self.put(place.0 + offset, block, header)?;
        let last = header.lsn.0 + u64::from(header.records);
        self.last.fetch_max(last, Ordering::AcqRel);
        Ok(header.lsn)
    }

    /// Whether a block is in place, and sound: it is not written again, for a power loss may tear what is
    /// being written.
    fn has(&self, header: &BlockHeader) -> Result<bool, LogError> {
        let last = Lsn(header.lsn.0 + u64::from(header.records));
        let Some((start, size)) = self.place(header.lsn.vlf()).filter(|_| last <= self.kept) else {
            return Ok(false);
        };
        let offset = u64::from(header.lsn.block()) * SECTOR as u64;
        let room = size.saturating_sub(offset);
        match read_block(&*self.file, start + offset, room, self.directory.log_id()) {
            Ok(there) => {
                Ok(there.is_some_and(|b| b.header.lsn == header.lsn && b.last_lsn() >= last))
            }
            Err(LogError::Io(e)) if e.kind.is_medium() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes a block, sealed with the identity of this log. Its length, padded.
    fn put(&self, at: u64, block: &[u8], header: BlockHeader) -> Result<usize, LogError> {
        let padded = BlockHeader::padded(block.len(), self.directory.sector as usize);
        debug_assert!(
            at.is_multiple_of(SECTOR as u64),
            "a block begins at a sector"
        );
        debug_assert!(padded >= block.len(), "{padded} bytes for {}", block.len());
        let mut bytes = AlignedBuf::new(padded);
        let place = bytes.get_mut(..block.len());
        place
            .ok_or(LogError::Missing(header.lsn))?
            .copy_from_slice(block);
        let own = BlockHeader {
            log_id: self.directory.log_id(),
            ..header
        };
        own.seal(&mut bytes);
        self.file.write_at(at, &bytes)?;
        Ok(padded)
    }

    /// Makes the blocks durable, then the directory, in both copies: recovery begins at `checkpoint`.
    pub fn finish(mut self, checkpoint: Lsn) -> Result<(), LogError> {
        // Of an extension before this restore, which put nothing in.
        self.give_up_strays()?;
        self.file.sync()?;
        if self.puts_in() {
            // Where log had been lost, it may end earlier now: what follows comes again, too.
            self.directory.reached = self.last_lsn();
        }
        self.directory.growing = None;
        self.directory.checkpoint = checkpoint;
        // Both copies: if one is damaged, the other one does not lead back to before this restore.
        for _ in 0..2 {
            self.directory.version += 1;
            write_directory(&*self.file, &self.directory)?;
        }
        Ok(())
    }
}

/// Numbers VLFs whose first block is damaged, in a file that has the VLFs in the order of their numbers: the
/// damaged block can be put in again.
fn number_damaged(seqs: &mut [u32]) {
    let known: Vec<u32> = seqs.iter().copied().filter(|seq| *seq != 0).collect();
    if !known.is_sorted_by(|one, next| one < next) {
        return;
    }
    let mut next = 0_u32;
    for seq in seqs.iter_mut().rev() {
        let before = next.saturating_sub(1);
        if *seq == 0 && !known.contains(&before) {
            *seq = before;
        }
        next = *seq;
    }
}

/// Whether a log can have a VLF of this number and size.
fn is_sane(&(seq, size): &(u32, u64)) -> bool {
    let sizes = SECTOR as u64..=MOST_VLF_BYTES;
    seq <= Lsn::MAX_VLF && sizes.contains(&size) && size.is_multiple_of(SECTOR as u64)
}

/// Adds a VLF of at least `size` bytes. The last run of sizes has the largest size so far, and takes all VLFs
/// that follow: only a block's place within its VLF matters.
fn push_at_least(directory: &mut Directory, (size, largest): (u64, u64)) -> Result<(), LogError> {
    let runs = directory.runs.len();
    match directory.runs.last() {
        Some(last) if last.0 == size => directory.push(size, 1),
        Some(last) if runs == Directory::MAX_RUNS && last.0 >= size => directory.push(last.0, 1),
        _ if runs + 1 < Directory::MAX_RUNS => directory.push(size, 1),
        _ => directory.push(largest, 1),
    }
}

/// A block without its records from `stop` on.
fn shortened(block: &[u8], header: BlockHeader, stop: Lsn) -> Option<(&[u8], BlockHeader)> {
    let mut used = BLOCK_HEADER_BYTES;
    let records = stop.0.checked_sub(header.lsn.0)?.checked_sub(1)?;
    for _ in 0..records {
        used += Record::read(block.get(used..)?)?.1;
    }
    let header = BlockHeader {
        used: used as u32,
        records: records as u16,
        ..header
    };
    debug_assert!(
        header.lsn.0 + records < stop.0,
        "records before the stop stay"
    );
    Some((block.get(..used)?, header))
}
