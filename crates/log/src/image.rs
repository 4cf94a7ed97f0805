//! A log file put together from blocks of another one: what a restore writes.
//!
//! The VLFs of the new file have the sequence numbers and sizes of those that the blocks come from, so that
//! every LSN still names the place of its record. They lie in the file in the order of their numbers. Each
//! block is sealed again with the new log's identity.

use crate::directory::{Directory, write_directory};
use crate::layout::{BLOCK_HEADER_BYTES, BlockHeader, SECTOR, u64_at};
use crate::reader::read_block;
use crate::{LogError, LogScan, OwnedRecord, Record};
use furrow_format::Lsn;
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::{AlignedBuf, File, Fill, IoErrorKind, read_around};
use std::sync::Arc;

/// VLFs that a log needs beside those that hold its blocks.
const SPARE_VLFS: u64 = 1;
/// Most VLFs that are added to make a file as long as it was.
const MOST_SPARE_VLFS: u64 = 256;
/// No log has a VLF as large as this: block offsets end at 8 GB.
const MOST_VLF_BYTES: u64 = 16 << 30;
/// How much is made zero at once.
const ZERO_BYTES: usize = 1 << 20;

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
    /// where its log ends.
    pub fn reopen(file: Arc<dyn File>, binding: [u8; 16]) -> Result<(LogImage, Lsn), LogError> {
        LogImage::reopen_and(file, binding, |_| {})
    }

    /// The same, and shows each record that is in place.
    pub fn reopen_and(
        file: Arc<dyn File>,
        binding: [u8; 16],
        mut see: impl FnMut(&OwnedRecord),
    ) -> Result<(LogImage, Lsn), LogError> {
        let mut scan = LogScan::from_checkpoint(Arc::clone(&file), binding)?;
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
            (Some(LogError::Io(e)), growing) if matches!(e.kind, IoErrorKind::Os(..)) => {
                match growing.is_some_and(|before| end >= before) {
                    true => Behind::Strays,
                    false => Behind::Lost,
                }
            }
            (Some(error), _) => return Err(error),
        };
        let is_behind = |seq: &&mut u32| behind != Behind::Nothing && **seq > end.vlf();
        seqs.iter_mut().filter(is_behind).for_each(|seq| *seq = 0);
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
        debug_assert!(before >= self.kept, "what is in place is not given up");
        self.directory.growing = Some(before);
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

    /// Whether records are left out.
    pub fn is_stopped(&self) -> bool {
        self.stop != Lsn::MAX
    }

    /// Makes the log end before [`LogImage::stop_at`], whatever was written behind it before.
    pub fn cut(&self) -> Result<(), LogError> {
        match self.stop {
            Lsn::MAX => Ok(()),
            stop => self.erase_from(stop),
        }
    }

    /// Whether an extension was interrupted: its blocks may be put in again, or given up.
    pub fn is_interrupted(&self) -> bool {
        self.behind == Behind::Strays
    }

    /// Ends an extension that was interrupted, durably: the log ends where it ended before.
    /// [`LogError::Damaged`] of a log that has lost records; it stays as it is.
    pub fn give_up_extension(&mut self) -> Result<(), LogError> {
        match (self.behind, self.directory.growing) {
            (Behind::Lost, _) => return Err(LogError::Damaged(self.last_lsn())),
            (_, None) => return Ok(()),
            (_, Some(_)) => self.give_up_strays()?,
        }
        self.file.sync()?;
        self.directory.growing = None;
        self.directory.version += 1;
        write_directory(&*self.file, &self.directory)
    }

    fn give_up_strays(&mut self) -> Result<(), LogError> {
        match (self.behind, self.directory.growing) {
            (Behind::Lost, Some(_)) => Err(LogError::Damaged(self.last_lsn())),
            (Behind::Strays, _) => self.erase_behind(),
            (Behind::Lost | Behind::Nothing, _) => Ok(()),
        }
    }

    /// Erases what lies behind the last record. What an interrupted extension has left may be of another
    /// recovery fork than what comes; what is lost comes again.
    fn erase_behind(&mut self) -> Result<(), LogError> {
        if std::mem::replace(&mut self.behind, Behind::Nothing) == Behind::Nothing {
            return Ok(());
        }
        self.erase_from(self.last_lsn().next())?;
        zero(
            &*self.file,
            (self.directory.file_bytes(), self.file.len_bytes()?),
        )
    }

    /// Erases records from `stop` on.
    fn erase_from(&self, stop: Lsn) -> Result<(), LogError> {
        let last = stop.vlf();
        if let Some((start, size)) = self.place(last) {
            let offset = u64::from(stop.block()) * SECTOR as u64;
            let (at, room) = (start + offset, size.saturating_sub(offset));
            let block = read_block(&*self.file, at, room, self.directory.log_id())?;
            let sector = self.directory.sector as usize;
            let used = match block {
                Some(b) if b.last_lsn() < stop => {
                    BlockHeader::padded(b.header.used as usize, sector)
                }
                Some(b) if b.header.lsn.next() < stop => {
                    let bytes = b.bytes.get(..b.header.used as usize).unwrap_or_default();
                    let kept = shortened(bytes, b.header, stop);
                    let (bytes, header) = kept.ok_or(LogError::Missing(stop))?;
                    self.put(at, bytes, header)?
                }
                _ => 0,
            };
            zero(&*self.file, (at + used as u64, start + size))?;
        }
        let vlfs = self.directory.vlfs().into_iter().zip(&self.seqs);
        for ((start, size), _) in vlfs.filter(|(_, seq)| **seq == 0 || **seq > last) {
            zero(&*self.file, (start, start + size))?;
        }
        Ok(())
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
            Err(LogError::Io(e)) if matches!(e.kind, IoErrorKind::Os(..)) => Ok(false),
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

    /// Makes the blocks durable, then the directory: recovery begins at `checkpoint`.
    pub fn finish(mut self, checkpoint: Lsn) -> Result<(), LogError> {
        // Of an extension before this restore, which put nothing in.
        self.give_up_strays()?;
        self.file.sync()?;
        self.directory.checkpoint = checkpoint;
        self.directory.growing = None;
        self.directory.version += 1;
        write_directory(&*self.file, &self.directory)
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

/// Writes zeros over a span of a file, where there are none, or nothing can be read.
fn zero(file: &dyn File, (from, end): (u64, u64)) -> Result<(), LogError> {
    let mut at = from;
    while at < end {
        let len = (end - at).min(ZERO_BYTES as u64) as usize;
        let mut bytes = AlignedBuf::new(len);
        let unreadable = read_around(file, at, &mut bytes)?;
        if !unreadable.is_empty() || bytes.iter().any(|&b| b != 0) {
            file.write_at(at, &AlignedBuf::new(len))?;
        }
        at += len as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{Access, MemoryVolume, Open, Volume};

    #[test]
    fn a_log_is_extended_past_the_sizes_that_its_header_has_place_for() {
        let volume = MemoryVolume::new();
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let mut image = LogImage::create(open(Open::Create), [9; 16], 512, &[(1, 8192)], 0);
        let image = image.as_mut().unwrap();
        for seq in 2..=400_u32 {
            let size = if seq % 2 == 0 { 4096 } else { 8192 };
            image.extend(&[(seq, size)]).unwrap();
            assert!(image.place(seq).unwrap().1 >= size, "VLF {seq}");
        }
        // One that is larger than all of them takes the last place. For a still larger one there is none.
        image.extend(&[(401, 1 << 20)]).unwrap();
        let before = image.directory.clone();
        let larger = image.extend(&[(402, 2 << 20)]).unwrap_err();
        assert!(matches!(larger, LogError::TooManyVlfs), "{larger}");
        assert_eq!(image.directory, before);
        image.extend(&[(402, 8192)]).unwrap();
        assert_eq!(image.directory.runs.len(), Directory::MAX_RUNS);
    }

    #[test]
    fn sizes_that_no_log_has_are_refused_and_small_ones_make_few_spare_vlfs() {
        let strange = [(1, 1 << 63), (1, 0), (1, 1000), (Lsn::MAX_VLF + 1, 8192)];
        for vlf in strange {
            assert!(LogImage::check(512, &[vlf]).is_err(), "{vlf:?}");
        }
        let volume = MemoryVolume::new();
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
        let image = LogImage::create(file.unwrap(), [9; 16], 512, &[(1, 512)], 64 << 20);
        let image = image.unwrap();
        assert!(image.directory.vlfs().len() <= 1 + MOST_SPARE_VLFS as usize);
        assert!(image.directory.file_bytes() >= 64 << 20);
        assert!(image.may_extend(&[(2, 1 << 63)]).is_err());
    }

    /// The first block of a VLF, with one record.
    fn block(seq: u32) -> Vec<u8> {
        block_behind(seq, Lsn::ZERO)
    }

    /// One that was written when all before `durable` was.
    fn block_behind(seq: u32, durable: Lsn) -> Vec<u8> {
        let record = Record::system(crate::RecordKind::Commit, &[]);
        let mut bytes = vec![0; BLOCK_HEADER_BYTES];
        bytes.extend_from_slice(&record.header());
        let header = BlockHeader {
            used: bytes.len() as u32,
            incarnation: 1,
            records: 1,
            lsn: Lsn::new(seq, 0, 0).unwrap(),
            prev: Lsn::new(seq - 1, 0, 0).unwrap_or(Lsn::ZERO),
            log_id: 7,
            durable,
        };
        header.seal(&mut bytes);
        bytes
    }

    #[test]
    fn an_extension_that_came_to_its_end_leaves_nothing_to_erase() {
        let volume = MemoryVolume::new();
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let image = LogImage::create(open(Open::Create), [9; 16], 512, &[(1, 8192)], 1 << 16);
        let image = image.unwrap();
        let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
        image.finish(first).unwrap();
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&[(1, 8192), (2, 8192)]).unwrap();
        image.write(&block(2)).unwrap();
        image.finish(first).unwrap();
        let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!((image.behind, end.vlf()), (Behind::Nothing, 2));
    }

    #[test]
    fn an_extension_that_is_interrupted_in_a_larger_vlf_goes_on_there() {
        let volume = MemoryVolume::new();
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let image = LogImage::create(open(Open::Create), [9; 16], 512, &[(1, 8192)], 0).unwrap();
        let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
        image.finish(first).unwrap();
        let larger = [(1, 8192), (2, 1 << 20)];
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&larger).unwrap();
        image.write(&block(2)).unwrap();
        drop(image);
        let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(end, first);
        image.extend(&larger).unwrap();
        assert_eq!(image.place(2).unwrap().1, 1 << 20);
    }

    #[test]
    fn blocks_that_an_interrupted_extension_has_left_do_not_stand_in_the_way_of_the_next_one() {
        let volume = MemoryVolume::new();
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let vlfs = |seqs: std::ops::Range<u32>| seqs.map(|s| (s, 8192)).collect::<Vec<_>>();
        let image = LogImage::create(open(Open::Create), [9; 16], 512, &vlfs(1..2), 1 << 16);
        let image = image.unwrap();
        let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
        image.finish(first).unwrap();
        let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&vlfs(1..4)).unwrap();
        // Of two VLFs the second is written, and then the system stops.
        image.write(&block(3)).unwrap();
        drop(image);
        let (mut image, again) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.give_up_extension().unwrap();
        assert_eq!(again, end);
        drop(image);
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(image.behind, Behind::Nothing, "it was given up");
        image.extend(&vlfs(1..4)).unwrap();
        image.write(&block(3)).unwrap();
        drop(image);
        let (mut image, again) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(again, end);
        assert!(image.is_interrupted());
        image.stop_at(Lsn::new(3, 0, 0).unwrap());
        image.extend(&vlfs(1..3)).unwrap();
        image.write(&block(2)).unwrap();
        image.finish(first).unwrap();
        let (_, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(end.vlf(), 2, "what was left of VLF 3 is gone");
    }

    #[test]
    fn a_restore_that_puts_nothing_in_leaves_nothing_of_an_extension_before_it() {
        let volume = MemoryVolume::new();
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let vlfs = |seqs: std::ops::Range<u32>| seqs.map(|s| (s, 8192)).collect::<Vec<_>>();
        let image = LogImage::create(open(Open::Create), [9; 16], 512, &vlfs(1..2), 1 << 16);
        let image = image.unwrap();
        let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
        image.finish(first).unwrap();
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&vlfs(1..4)).unwrap();
        image.write(&block(3)).unwrap();
        drop(image);
        let (image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.finish(first).unwrap();
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(image.behind, Behind::Nothing);
        image.extend(&vlfs(1..4)).unwrap();
        image.write(&block(2)).unwrap();
    }

    /// A log with the blocks of two VLFs, and what lies there at the second one.
    fn two_blocks(volume: &MemoryVolume) -> (Lsn, u64, Lsn) {
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
        let vlfs = [(1, 8192), (2, 8192)];
        let image = LogImage::create(file.unwrap(), [9; 16], 512, &vlfs, 0).unwrap();
        let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
        let second = image.write(&block(2)).unwrap();
        let at = image.place(2).unwrap().0;
        image.finish(first).unwrap();
        (first, at, second)
    }

    #[test]
    fn records_that_were_in_place_are_not_erased_as_those_of_an_interrupted_extension() {
        for is_proved in [false, true] {
            let volume = MemoryVolume::new();
            let (first, second_at, second) = two_blocks(&volume);
            let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
            let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
            image.extend(&[(2, 8192), (3, 8192)]).unwrap();
            if is_proved {
                image.write(&block_behind(3, second)).unwrap();
            }
            drop(image);
            let file = open(Open::Existing);
            file.write_at(second_at, &AlignedBuf::new(SECTOR)).unwrap();
            drop(file);
            let bytes = || furrow_io::read_all(&*open(Open::ReadOnly)).unwrap();
            let before = bytes();
            let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
            assert!(end == first && !image.is_interrupted());
            let lost = image.give_up_extension().unwrap_err();
            assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
            let lost = image.finish(first).unwrap_err();
            assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
            assert!(bytes() == before, "a damaged log was changed");
            // A repair that does not come to its end leaves it lost.
            let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
            image.extend(&[(2, 8192), (3, 8192)]).unwrap();
            drop(image);
            let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
            let lost = image.give_up_extension().unwrap_err();
            assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
            // The log comes again.
            image.extend(&[(2, 8192), (3, 8192)]).unwrap();
            image.write(&block(2)).unwrap();
            image.finish(first).unwrap();
            let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
            assert_eq!((image.behind, end.vlf()), (Behind::Nothing, 2));
        }
    }

    #[test]
    fn a_block_in_place_is_written_again_only_if_it_is_damaged() {
        let volume = MemoryVolume::new();
        two_blocks(&volume);
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let (mut image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&[(1, 8192), (2, 8192), (3, 8192)]).unwrap();
        let (at, _) = image.place(2).unwrap();
        let read = |image: &LogImage| {
            let mut found = AlignedBuf::new(SECTOR);
            image.file.read_at(at, &mut found).unwrap();
            found
        };
        let sound = read(&image);
        // Its checksum does not cover what lies behind its records.
        let mut marked = AlignedBuf::copy_of(&sound);
        marked[SECTOR - 1] = 7;
        image.file.write_at(at, &marked).unwrap();
        image.write(&block(2)).unwrap();
        assert!(*read(&image) == *marked, "a sound block was written again");
        image.file.write_at(at, &AlignedBuf::new(SECTOR)).unwrap();
        image.write(&block(2)).unwrap();
        assert!(*read(&image) == *sound, "a damaged block was not");
    }

    #[test]
    fn what_has_come_of_an_extension_that_is_given_up_goes() {
        let volume = MemoryVolume::new();
        let (_, _, second) = two_blocks(&volume);
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let (mut image, before) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        image.extend(&[(2, 8192), (3, 8192)]).unwrap();
        // Without a gap.
        image.write(&block_behind(3, second)).unwrap();
        drop(image);
        let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(end, before);
        image.give_up_extension().unwrap();
        drop(image);
        let (image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!((image.behind, end), (Behind::Nothing, before));
    }

    #[test]
    fn damage_in_a_log_that_was_not_being_extended_is_not_erased() {
        let volume = MemoryVolume::new();
        let open = |how| volume.open("a.ldf".as_ref(), how, Access::Log).unwrap();
        let vlfs: Vec<(u32, u64)> = (1..4).map(|seq| (seq, 8192)).collect();
        let image = LogImage::create(open(Open::Create), [9; 16], 512, &vlfs, 0).unwrap();
        let first = Lsn(image.write(&block(1)).unwrap().0 + 1);
        let rots = image.place(2).unwrap().0;
        let lost = image.write(&block(2)).unwrap();
        image.write(&block_behind(3, lost)).unwrap();
        image.finish(first).unwrap();
        let file = open(Open::Existing);
        file.write_at(rots, &AlignedBuf::new(SECTOR)).unwrap();
        drop(file);
        let bytes = || furrow_io::read_all(&*open(Open::ReadOnly)).unwrap();
        let before = bytes();
        let (mut image, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert!(image.behind == Behind::Lost && end == first);
        let lost = image.give_up_extension().unwrap_err();
        assert!(matches!(lost, LogError::Damaged(_)), "{lost}");
        assert!(bytes() == before, "a damaged log was changed");
        image.finish(first).unwrap();
        let (image, _) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(image.behind, Behind::Lost, "the damage is seen again");
    }
}
