//! The header page of a log file: its VLFs, and where recovery starts.

#![deny(clippy::indexing_slicing)]

use crate::LogError;
use crate::layout::{FIRST_VLF_OFFSET, SECTOR, put, u32_at, u64_at};
use furrow_format::Lsn;
use furrow_io::{AlignedBuf, File, IoError, WriteRun, read_around};
use std::io::IoSlice;

/// Bytes of one copy of the directory.
const DIRECTORY_BYTES: usize = 4096;
/// How many bytes are read in one go.
const ZERO_CHUNK_BYTES: usize = 64 << 10;
const DIRECTORY_MAGIC: u64 = u64::from_le_bytes(*b"FURLOG\x00\x01");
const DIRECTORY_HEAD_BYTES: usize = 64;
const RUN_BYTES: usize = 12;

/// The header of a log file. Two copies are written in turn; the newer valid one counts.
///
/// | bytes | field |
/// |---|---|
/// | 00-07 | magic and version |
/// | 08-15 | version number of this copy, counted up by each write |
/// | 16-31 | binding GUID of the database |
/// | 32-35 | sector size in bytes |
/// | 36-39 | number of VLF runs |
/// | 40-43 | CRC-32C of the copy, this field taken as zero |
/// | 44-47 | 1 while blocks of a log backup are put in, else 0 |
/// | 48-55 | LSN where the last completed checkpoint begins: recovery reads from there |
/// | 56-63 | while blocks of a log backup are put in, the last record before them; else `reached` |
/// | 64-.. | VLF runs: size in bytes u64, count u32 |
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    /// Version number of the copy.
    pub version: u64,
    /// Binding GUID, shared by all files of a database.
    pub binding: [u8; 16],
    /// Blocks are padded to this many bytes.
    pub sector: u32,
    /// While blocks of a log backup are being put in, the last record that was there before. Some of the
    /// blocks may lie behind the end, in no order.
    pub(crate) growing: Option<Lsn>,
    /// The last record of a log that was restored: the log does not end before it. Zero where it is not
    /// known: of a log that is written, and while blocks are being put in.
    pub(crate) reached: Lsn,
    /// Where the last completed checkpoint begins; zero before the first.
    pub(crate) checkpoint: Lsn,
    /// Sizes of the VLFs in file order: (size in bytes, how many in a row).
    pub runs: Vec<(u64, u32)>,
}

impl Directory {
    /// Most runs that fit.
    pub(crate) const MAX_RUNS: usize = (DIRECTORY_BYTES - DIRECTORY_HEAD_BYTES) / RUN_BYTES;

    /// Adds `count` VLFs of `size` bytes at the end of the file.
    pub(crate) fn push(&mut self, size: u64, count: u32) -> Result<(), LogError> {
        let full = self.runs.len() == Self::MAX_RUNS;
        match self.runs.last_mut() {
            Some(last) if last.0 == size => {
                last.1 = last.1.checked_add(count).ok_or(LogError::TooManyVlfs)?;
            }
            _ if full => return Err(LogError::TooManyVlfs),
            _ => self.runs.push((size, count)),
        }
        Ok(())
    }

    /// Takes the last `count` VLFs out.
    pub(crate) fn pop(&mut self, mut count: u32) {
        while let Some(last) = self.runs.last_mut().filter(|_| count > 0) {
            let gone = count.min(last.1);
            last.1 -= gone;
            count -= gone;
            if last.1 == 0 {
                self.runs.pop();
            }
        }
        debug_assert_eq!(count, 0, "only VLFs that are there go");
    }

    /// Start offset and size of every VLF, in file order.
    pub(crate) fn vlfs(&self) -> Vec<(u64, u64)> {
        let sizes = self
            .runs
            .iter()
            .flat_map(|&(size, n)| std::iter::repeat_n(size, n as usize));
        let mut at = FIRST_VLF_OFFSET;
        sizes
            .map(|size| {
                let start = at;
                at += size;
                (start, size)
            })
            .collect()
    }

    /// Bytes of the file that the directory accounts for.
    pub(crate) fn file_bytes(&self) -> u64 {
        let vlfs: u64 = self.runs.iter().map(|&(size, n)| size * u64::from(n)).sum();
        FIRST_VLF_OFFSET + vlfs
    }

    /// Which half of the header area this version goes to, as a byte offset.
    pub(crate) fn slot(&self) -> u64 {
        self.version % 2 * DIRECTORY_BYTES as u64
    }

    /// The bytes of one copy.
    pub(crate) fn encode(&self) -> [u8; DIRECTORY_BYTES] {
        let mut bytes = [0; DIRECTORY_BYTES];
        put(&mut bytes, 0, &DIRECTORY_MAGIC.to_le_bytes());
        put(&mut bytes, 8, &self.version.to_le_bytes());
        put(&mut bytes, 16, &self.binding);
        put(&mut bytes, 32, &self.sector.to_le_bytes());
        put(&mut bytes, 36, &(self.runs.len() as u32).to_le_bytes());
        put(
            &mut bytes,
            44,
            &u32::from(self.growing.is_some()).to_le_bytes(),
        );
        debug_assert!(
            self.growing.is_none() || self.reached == Lsn::ZERO,
            "both have one place"
        );
        let last = self.growing.unwrap_or(self.reached);
        put(&mut bytes, 56, &last.0.to_le_bytes());
        put(&mut bytes, 48, &self.checkpoint.0.to_le_bytes());
        for (i, (size, count)) in self.runs.iter().enumerate() {
            put(
                &mut bytes,
                DIRECTORY_HEAD_BYTES + i * RUN_BYTES,
                &size.to_le_bytes(),
            );
            put(
                &mut bytes,
                DIRECTORY_HEAD_BYTES + i * RUN_BYTES + 8,
                &count.to_le_bytes(),
            );
        }
        let crc = crc32c::crc32c(&bytes);
        put(&mut bytes, 40, &crc.to_le_bytes());
        debug_assert_eq!(
            Directory::decode(&bytes).as_ref(),
            Some(self),
            "a header reads back before it is written"
        );
        bytes
    }

    /// Reads one copy; `None` when it is not a whole valid one.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Directory> {
        let bytes: &[u8; DIRECTORY_BYTES] = bytes.first_chunk()?;
        let mut clean = *bytes;
        put(&mut clean, 40, &[0; 4]);
        let runs = u32_at(bytes, 36)? as usize;
        if u64_at(bytes, 0)? != DIRECTORY_MAGIC
            || u32_at(bytes, 40)? != crc32c::crc32c(&clean)
            || runs > Self::MAX_RUNS
        {
            return None;
        }
        let run = |i: usize| {
            let at = DIRECTORY_HEAD_BYTES + i * RUN_BYTES;
            Some((u64_at(bytes, at)?, u32_at(bytes, at + 8)?))
        };
        let last = Lsn(u64_at(bytes, 56)?);
        let (growing, reached) = match u32_at(bytes, 44)? {
            0 => (None, last),
            _ => (Some(last), Lsn::ZERO),
        };
        let directory = Directory {
            version: u64_at(bytes, 8)?,
            binding: *bytes.get(16..)?.first_chunk()?,
            sector: u32_at(bytes, 32)?,
            growing,
            reached,
            checkpoint: Lsn(u64_at(bytes, 48)?),
            runs: (0..runs).map(run).collect::<Option<_>>()?,
        };
        directory.is_sane().then_some(directory)
    }

    /// Whether a log can be like that: what is computed from these numbers overflows nowhere, and the VLFs
    /// have numbers.
    fn is_sane(&self) -> bool {
        let sized =
            |run: &(u64, u32)| run.0 >= SECTOR as u64 && run.0.is_multiple_of(SECTOR as u64);
        let bytes = self
            .runs
            .iter()
            .try_fold(FIRST_VLF_OFFSET, |sum, &(size, n)| {
                sum.checked_add(size.checked_mul(u64::from(n))?)
            });
        let vlfs: u64 = self.runs.iter().map(|run| u64::from(run.1)).sum();
        self.sector.is_power_of_two()
            && (512..=4096).contains(&self.sector)
            && self.runs.iter().all(sized)
            && bytes.is_some()
            && vlfs <= u64::from(Lsn::MAX_VLF)
            && self.version < u64::MAX
    }

    /// Identity that blocks carry, so that blocks of another log are never taken for ours.
    pub(crate) fn log_id(&self) -> u64 {
        let (a, b) = self.binding.split_at(8);
        let word = |half: &[u8]| half.first_chunk().map_or(0, |c| u64::from_le_bytes(*c));
        word(a) ^ word(b).rotate_left(32)
    }
}

/// Whether a file that begins with these bytes is the log of a database, damaged or not.
pub fn is_log(head: &[u8]) -> bool {
    let copies = head.chunks(DIRECTORY_BYTES).take(2);
    let mut magic = copies.map(|copy| u64_at(copy, 0));
    magic.any(|magic| magic == Some(DIRECTORY_MAGIC))
}

/// Writes the next of the two copies, durably.
pub(crate) fn write_directory(file: &dyn File, directory: &Directory) -> Result<(), LogError> {
    let bytes = AlignedBuf::copy_of(&directory.encode());
    let bufs = [IoSlice::new(&bytes)];
    file.write(&[WriteRun {
        offset: directory.slot(),
        bufs: &bufs,
    }])?;
    Ok(file.sync()?)
}

/// Both copies, or what there is of them, and zeros behind it; and the device's error for what it cannot
/// read. A copy that was being written at a power loss may be unreadable; the other one is not.
fn read_head(file: &dyn File) -> Result<(AlignedBuf, Option<IoError>), LogError> {
    let mut bytes = AlignedBuf::new(2 * DIRECTORY_BYTES);
    let len = file.len_bytes()?.min(2 * DIRECTORY_BYTES as u64) as usize;
    let there = bytes.get_mut(..len).unwrap_or_default();
    let unreadable = match there.is_empty() {
        true => Vec::new(),
        false => read_around(file, 0, there)?,
    };
    let error = unreadable.into_iter().next().map(|(_, error)| error);
    Ok((bytes, error))
}

/// The newer valid copy.
fn newest(head: &[u8]) -> Option<Directory> {
    let copies = head.chunks_exact(DIRECTORY_BYTES);
    copies
        .filter_map(Directory::decode)
        .max_by_key(|d| d.version)
}

/// The newer valid copy, if the file is at least as long as the copy requires.
pub(crate) fn read_directory(file: &dyn File) -> Result<Directory, LogError> {
    let not_a_log = || LogError::NotALog(file.path().display().to_string());
    if file.len_bytes()? < FIRST_VLF_OFFSET {
        return Err(not_a_log());
    }
    let (head, unreadable) = read_head(file)?;
    let newest = newest(&head).ok_or_else(|| unreadable.map_or_else(not_a_log, LogError::Io))?;
    let (expected, actual) = (newest.file_bytes(), file.len_bytes()?);
    if actual < expected {
        let path = file.path().display().to_string();
        return Err(LogError::Truncated {
            path,
            expected,
            actual,
        });
    }
    Ok(newest)
}

/// Whether a file is an unfinished log of this database, left by a crash during its creation: only its first
/// directory was written, or no checkpoint was completed in it. Its contents are not needed.
pub fn is_unfinished(file: &dyn File, binding: [u8; 16]) -> Result<bool, LogError> {
    let (head, _) = read_head(file)?;
    match newest(&head) {
        Some(directory) => Ok(directory.binding == binding && directory.checkpoint == Lsn::ZERO),
        None => is_zero_but_for_the_first(file),
    }
}

/// Whether a file has only zeros, or nothing, apart from the place of the first directory of a log. That
/// place may contain anything after a power loss, or be unreadable. The first directory is durable before
/// anything else is written.
fn is_zero_but_for_the_first(file: &dyn File) -> Result<bool, LogError> {
    let len = file.len_bytes()?;
    let mut bytes = AlignedBuf::new(ZERO_CHUNK_BYTES);
    let (before, behind) = (DIRECTORY_BYTES as u64, FIRST_VLF_OFFSET);
    let chunks = (behind..len).step_by(ZERO_CHUNK_BYTES).map(|at| (at, len));
    for (at, end) in std::iter::once((0, len.min(before))).chain(chunks) {
        let wanted = (end - at).min(ZERO_CHUNK_BYTES as u64) as usize;
        let chunk = bytes.get_mut(..wanted).unwrap_or_default();
        if chunk.is_empty() {
            continue;
        }
        file.read_at(at, chunk)?;
        if chunk.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::{Access, Fill, MemoryVolume, Open, Volume};

    #[test]
    fn numbers_that_no_log_has_are_no_directory() {
        let sound = Directory {
            version: 1,
            binding: [7; 16],
            sector: 512,
            growing: None,
            reached: Lsn::ZERO,
            checkpoint: Lsn::ZERO,
            runs: vec![(8192, 3)],
        };
        let sealed = |at: usize, value: &[u8]| {
            let mut bytes = sound.encode();
            put(&mut bytes, at, value);
            put(&mut bytes, 40, &[0; 4]);
            let crc = crc32c::crc32c(&bytes);
            put(&mut bytes, 40, &crc.to_le_bytes());
            Directory::decode(&bytes)
        };
        assert_eq!(sealed(32, &512_u32.to_le_bytes()), Some(sound.clone()));
        let max = u64::MAX.to_le_bytes();
        let strange: [(usize, &[u8]); 6] = [
            (8, &max),
            (32, &0_u32.to_le_bytes()),
            (32, &8192_u32.to_le_bytes()),
            (64, &max),
            (64, &0_u64.to_le_bytes()),
            (72, &u32::MAX.to_le_bytes()),
        ];
        for (at, value) in strange {
            assert_eq!(sealed(at, value), None, "{value:?} at {at}");
        }
    }

    #[test]
    fn a_directory_round_trips_and_merges_equal_growth() {
        let mut dir = Directory {
            version: 5,
            binding: [9; 16],
            sector: 4096,
            growing: Some(Lsn(7)),
            reached: Lsn::ZERO,
            checkpoint: Lsn(77),
            runs: vec![(1 << 20, 4)],
        };
        dir.push(1 << 20, 4).unwrap();
        dir.push(1 << 22, 1).unwrap();
        assert_eq!(dir.runs, [(1 << 20, 8), (1 << 22, 1)]);
        let mut bytes = dir.encode();
        assert_eq!(Directory::decode(&bytes), Some(dir.clone()));
        assert_eq!(dir.vlfs()[8], (8192 + (8 << 20), 1 << 22));
        let restored = Directory {
            growing: None,
            reached: Lsn(8),
            ..dir.clone()
        };
        assert_eq!(Directory::decode(&restored.encode()), Some(restored));
        bytes[70] ^= 1;
        assert_eq!(Directory::decode(&bytes), None);
    }

    #[test]
    fn a_log_is_unfinished_until_its_first_checkpoint_and_a_strangers_file_is_not() {
        let volume = MemoryVolume::new();
        let file = volume.open("a.ldf".as_ref(), Open::Create, Access::Log);
        let file = file.unwrap();
        let unfinished = || is_unfinished(&*file, [9; 16]).unwrap();
        assert!(unfinished());
        file.resize(FIRST_VLF_OFFSET + (1 << 20), Fill::Zero)
            .unwrap();
        assert!(unfinished());
        let mut dir = Directory {
            version: 1,
            binding: [9; 16],
            sector: 4096,
            growing: Some(Lsn(7)),
            reached: Lsn::ZERO,
            checkpoint: Lsn::ZERO,
            runs: vec![(1 << 20, 1)],
        };
        write_directory(&*file, &dir).unwrap();
        assert!(unfinished());
        assert!(!is_unfinished(&*file, [8; 16]).unwrap());
        // The resize may have been lost where the write was not.
        file.resize(2 * DIRECTORY_BYTES as u64, Fill::Zero).unwrap();
        assert!(unfinished());
        (dir.version, dir.checkpoint) = (2, Lsn(1 << 40));
        write_directory(&*file, &dir).unwrap();
        assert!(!unfinished());
        file.write_at(0, &[0; 2 * DIRECTORY_BYTES]).unwrap();
        assert!(unfinished());
        file.write_at(5000, b"words").unwrap();
        assert!(unfinished(), "the first directory may have become anything");
        file.resize(FIRST_VLF_OFFSET + (1 << 20), Fill::Zero)
            .unwrap();
        for at in [100, 9000] {
            file.write_at(at, b"words").unwrap();
            assert!(!unfinished());
            file.write_at(at, &[0; 5]).unwrap();
        }
        file.write_at(100, b"words").unwrap();
        file.resize(10, Fill::Zero).unwrap();
        assert!(unfinished());
    }
}
