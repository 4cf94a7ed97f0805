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
use furrow_io::{AlignedBuf, File, Fill};
use std::sync::Arc;

/// VLFs that a log needs beside those that hold its blocks.
const SPARE_VLFS: u64 = 1;
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
    /// Whether blocks may lie behind the last record: an extension that was interrupted has left them.
    strays: bool,
}

impl LogImage {
    /// Whether a log can be created for these VLFs (number, size).
    pub fn check(sector: u32, vlfs: &[(u32, u64)]) -> Result<(), LogError> {
        let first = vlfs.first().ok_or(LogError::Missing(Lsn::ZERO))?;
        let follow = vlfs
            .windows(2)
            .all(|pair| pair[0].0.checked_add(1) == Some(pair[1].0));
        let sized = |v: &(u32, u64)| v.1 >= SECTOR as u64 && v.1.is_multiple_of(SECTOR as u64);
        let sane = follow && vlfs.iter().all(sized) && sector.is_power_of_two();
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
            growing: false,
            checkpoint: Lsn::ZERO,
            runs: Vec::new(),
        };
        let own = vlfs
            .iter()
            .try_for_each(|&(_, size)| directory.push(size, 1));
        let largest = vlfs.iter().map(|v| v.1).max().unwrap_or(0);
        let no_spare = directory.runs.len() == Directory::MAX_RUNS
            && directory.runs.last().is_some_and(|last| last.0 != largest);
        if own.is_err() || no_spare {
            // Only a block's place within its VLF matters: a larger VLF holds it as well.
            directory.runs = vec![(largest, vlfs.len() as u32)];
        }
        let missing = least_bytes.saturating_sub(directory.file_bytes());
        let spare = missing.div_ceil(largest).max(SPARE_VLFS);
        directory.push(largest, u32::try_from(spare).unwrap_or(u32::MAX))?;
        file.resize(directory.file_bytes(), Fill::Allocate)?;
        let mut seqs: Vec<u32> = vlfs.iter().map(|v| v.0).collect();
        seqs.resize(directory.vlfs().len(), 0);
        Ok(LogImage {
            file,
            directory,
            seqs,
            stop: Lsn::MAX,
            last: AtomicU64::new(0),
            strays: false,
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
        let mut strays = false;
        loop {
            match scan.next_record() {
                Ok(Some(record)) => {
                    see(&record);
                    end = record.lsn;
                }
                Ok(None) => break,
                // More was being put in when the system stopped, in no order.
                Err(LogError::Damaged(_)) => {
                    strays = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        let (_, directory, mut seqs, _) = scan.into_parts();
        strays |= directory.growing;
        let behind = |seq: &&mut u32| strays && **seq > end.vlf();
        seqs.iter_mut().filter(behind).for_each(|seq| *seq = 0);
        let image = LogImage {
            file,
            directory,
            seqs,
            stop: Lsn::MAX,
            last: AtomicU64::new(end.0),
            strays,
        };
        Ok((image, end))
    }

    /// Adds space for more VLFs (number, size); the first of them may be there already.
    pub fn extend(&mut self, vlfs: &[(u32, u64)]) -> Result<(), LogError> {
        let (directory, seqs) = self.extended(vlfs)?;
        self.erase_strays()?;
        let bytes = directory.file_bytes().max(self.file.len_bytes()?);
        self.file.resize(bytes, Fill::Allocate)?;
        (self.directory, self.seqs) = (directory, seqs);
        // Durable before any block: after a crash the blocks are looked for where they lie.
        self.directory.growing = true;
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
            if !next || size < SECTOR as u64 || !size.is_multiple_of(SECTOR as u64) {
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

    /// Makes the log end before [`LogImage::stop_at`], whatever was written behind it before.
    pub fn cut(&self) -> Result<(), LogError> {
        match self.stop {
            Lsn::MAX => Ok(()),
            stop => self.erase_from(stop),
        }
    }

    /// Ends an extension that was interrupted, durably: the log ends where its records end.
    pub fn give_up_extension(&mut self) -> Result<(), LogError> {
        if !self.strays {
            return Ok(());
        }
        self.erase_strays()?;
        self.file.sync()?;
        self.directory.growing = false;
        self.directory.version += 1;
        write_directory(&*self.file, &self.directory)
    }

    /// Erases what an interrupted extension has left: it may be of another recovery fork than what comes.
    fn erase_strays(&mut self) -> Result<(), LogError> {
        if !std::mem::take(&mut self.strays) {
            return Ok(());
        }
        debug_assert_eq!(self.stop, Lsn::MAX, "nothing is left out yet");
        self.erase_from(Lsn(self.last_lsn().0 + 1))?;
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
            let stays = block.filter(|b| b.last_lsn() < stop);
            let sector = self.directory.sector as usize;
            let used = stays.map_or(0, |b| BlockHeader::padded(b.header.used as usize, sector));
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
            !self.strays,
            "what is left of an earlier extension goes first"
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
        if header.lsn >= self.stop {
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
        let mut bytes = AlignedBuf::new(padded);
        bytes
            .get_mut(..block.len())
            .ok_or_else(bad)?
            .copy_from_slice(block);
        let own = BlockHeader {
            log_id: self.directory.log_id(),
            ..header
        };
        own.seal(&mut bytes);
        self.file.write_at(place.0 + offset, &bytes)?;
        let last = header.lsn.0 + u64::from(header.records);
        self.last.fetch_max(last, Ordering::AcqRel);
        Ok(header.lsn)
    }

    /// Makes the blocks durable, then the directory: recovery begins at `checkpoint`.
    pub fn finish(mut self, checkpoint: Lsn) -> Result<(), LogError> {
        self.file.sync()?;
        self.directory.checkpoint = checkpoint;
        self.directory.growing = false;
        self.directory.version += 1;
        write_directory(&*self.file, &self.directory)
    }
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

/// Writes zeros over a span of a file, where there are none.
fn zero(file: &dyn File, (from, end): (u64, u64)) -> Result<(), LogError> {
    let mut at = from;
    while at < end {
        let len = (end - at).min(ZERO_BYTES as u64) as usize;
        let mut bytes = AlignedBuf::new(len);
        file.read_at(at, &mut bytes)?;
        if bytes.iter().any(|&b| b != 0) {
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

    /// The first block of a VLF, with one record.
    fn block(seq: u32) -> Vec<u8> {
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
            durable: Lsn::ZERO,
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
        assert_eq!((image.strays, end.vlf()), (false, 2));
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
        assert_eq!(end.vlf(), 2);
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
        assert!(!image.strays, "it was given up");
        image.extend(&vlfs(1..4)).unwrap();
        image.write(&block(3)).unwrap();
        drop(image);
        let (mut image, again) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(again, end);
        assert!(image.strays);
        image.extend(&vlfs(1..3)).unwrap();
        image.write(&block(2)).unwrap();
        image.finish(first).unwrap();
        let (_, end) = LogImage::reopen(open(Open::Existing), [9; 16]).unwrap();
        assert_eq!(end.vlf(), 2, "what was left of VLF 3 is gone");
    }
}
