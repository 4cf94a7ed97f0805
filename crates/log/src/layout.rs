//! Bytes of the log file: constants, block headers, the header page.
//!
//! ```text
//! 0            4096         8192                    8192 + size of the first VLF
//! | directory A | directory B | VLF: block | block | ... | VLF: ... |
//! ```
//!
//! A block header, little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 00-03 | magic `FLB1` |
//! | 04-07 | bytes used, header included |
//! | 08-11 | incarnation: number of the engine's start that wrote it |
//! | 12-13 | records in the block |
//! | 14-15 | zero |
//! | 16-23 | LSN of the block (slot 0) |
//! | 24-31 | LSN of the block before it |
//! | 32-39 | identity of the log |
//! | 40-43 | CRC-32C of the used bytes, this field taken as zero |
//! | 44-47 | zero |

use crate::LogError;
use furrow_format::Lsn;

/// Unit of block offsets in bytes.
pub(crate) const SECTOR: usize = 512;
/// Largest log block in bytes.
pub const BLOCK_MAX_BYTES: usize = 61_440;
/// Bytes of a block's header.
pub const BLOCK_HEADER_BYTES: usize = 48;
/// Where the first VLF starts in the file.
pub const FIRST_VLF_OFFSET: u64 = 8192;
/// Bytes of one copy of the directory.
pub(crate) const DIRECTORY_BYTES: usize = 4096;

const BLOCK_MAGIC: u32 = u32::from_le_bytes(*b"FLB1");

/// Header of a log block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// Bytes used, header included.
    pub used: u32,
    /// Number of the engine's start that wrote the block.
    pub incarnation: u32,
    /// Records in the block.
    pub records: u16,
    /// LSN of the block, slot 0.
    pub lsn: Lsn,
    /// LSN of the block before it.
    pub prev: Lsn,
    /// Identity of the log the block belongs to.
    pub log_id: u64,
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at + value.len()) {
        place.copy_from_slice(value);
    }
}

fn block_crc(block: &[u8]) -> u32 {
    let (head, rest) = block.split_at(40.min(block.len()));
    let crc = crc32c::crc32c_append(crc32c::crc32c(head), &[0; 4]);
    crc32c::crc32c_append(crc, rest.get(4..).unwrap_or_default())
}

impl BlockHeader {
    /// Writes the header and the checksum into a block of `self.used` bytes.
    pub(crate) fn seal(&self, block: &mut [u8]) {
        put(block, 0, &BLOCK_MAGIC.to_le_bytes());
        put(block, 4, &self.used.to_le_bytes());
        put(block, 8, &self.incarnation.to_le_bytes());
        put(block, 12, &self.records.to_le_bytes());
        put(block, 14, &[0; 2]);
        put(block, 16, &self.lsn.0.to_le_bytes());
        put(block, 24, &self.prev.0.to_le_bytes());
        put(block, 32, &self.log_id.to_le_bytes());
        put(block, 44, &[0; 4]);
        let crc = block_crc(block.get(..self.used as usize).unwrap_or_default());
        put(block, 40, &crc.to_le_bytes());
    }

    /// Reads the header at the start of `bytes`; `None` unless magic, sizes and identity fit. The
    /// checksum is not looked at.
    pub(crate) fn read(bytes: &[u8], log_id: u64) -> Option<BlockHeader> {
        let header = BlockHeader {
            used: u32_at(bytes, 4)?,
            incarnation: u32_at(bytes, 8)?,
            records: u32_at(bytes, 12)? as u16,
            lsn: Lsn(u64_at(bytes, 16)?),
            prev: Lsn(u64_at(bytes, 24)?),
            log_id: u64_at(bytes, 32)?,
        };
        let sizes_fit = (BLOCK_HEADER_BYTES..=BLOCK_MAX_BYTES).contains(&(header.used as usize));
        (u32_at(bytes, 0)? == BLOCK_MAGIC && sizes_fit && header.log_id == log_id).then_some(header)
    }

    /// Whether the checksum of a block of `self.used` bytes is right.
    pub(crate) fn checksum_fits(&self, block: &[u8]) -> bool {
        block
            .get(..self.used as usize)
            .is_some_and(|used| u32_at(block, 40) == Some(block_crc(used)))
    }

    /// Bytes the block takes in the file when it is padded to `sector` bytes.
    pub(crate) fn padded(used: usize, sector: usize) -> usize {
        used.next_multiple_of(sector)
    }
}

const DIRECTORY_MAGIC: u64 = u64::from_le_bytes(*b"FURLOG\x00\x01");
const DIRECTORY_HEAD_BYTES: usize = 64;
const RUN_BYTES: usize = 12;

/// What the header of a log file says; two copies are written in turn, the newer valid one counts.
///
/// | bytes | field |
/// |---|---|
/// | 00-07 | magic and version |
/// | 08-15 | version number of this copy, counted up by each write |
/// | 16-31 | binding GUID of the database |
/// | 32-35 | sector size in bytes |
/// | 36-39 | number of VLF runs |
/// | 40-43 | CRC-32C of the copy, this field taken as zero |
/// | 48-55 | LSN where the last completed checkpoint begins: recovery reads from there |
/// | 64-.. | VLF runs: size in bytes u64, count u32 |
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    /// Version number of the copy.
    pub version: u64,
    /// Binding GUID, shared by all files of a database.
    pub binding: [u8; 16],
    /// Blocks are padded to this many bytes.
    pub sector: u32,
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
            Some(last) if last.0 == size => last.1 += count,
            _ if full => return Err(LogError::TooManyVlfs),
            _ => self.runs.push((size, count)),
        }
        Ok(())
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
        Some(Directory {
            version: u64_at(bytes, 8)?,
            binding: *bytes.get(16..)?.first_chunk()?,
            sector: u32_at(bytes, 32)?,
            checkpoint: Lsn(u64_at(bytes, 48)?),
            runs: (0..runs).map(run).collect::<Option<_>>()?,
        })
    }

    /// Identity that blocks carry, so that blocks of another log are never taken for ours.
    pub(crate) fn log_id(&self) -> u64 {
        let (a, b) = self.binding.split_at(8);
        let word = |half: &[u8]| half.first_chunk().map_or(0, |c| u64::from_le_bytes(*c));
        word(a) ^ word(b).rotate_left(32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_survives_sealing_and_any_flipped_byte_is_noticed() {
        let mut block = vec![0; 600];
        block[48..].fill(7);
        let lsn = |b| Lsn::new(40, b, 0).unwrap();
        let header = BlockHeader {
            used: 600,
            incarnation: 3,
            records: 2,
            lsn: lsn(16),
            prev: lsn(15),
            log_id: 99,
        };
        header.seal(&mut block);
        assert_eq!(BlockHeader::read(&block, 99), Some(header));
        assert!(header.checksum_fits(&block));
        assert_eq!(BlockHeader::read(&block, 98), None);
        for at in 0..600 {
            block[at] ^= 0x10;
            let noticed = BlockHeader::read(&block, 99)
                .is_none_or(|h| h.used != 600 || !h.checksum_fits(&block));
            assert!(noticed, "flip at {at}");
            block[at] ^= 0x10;
        }
    }

    #[test]
    fn a_directory_round_trips_and_merges_equal_growth() {
        let mut dir = Directory {
            version: 5,
            binding: [9; 16],
            sector: 4096,
            checkpoint: Lsn(77),
            runs: vec![(1 << 20, 4)],
        };
        dir.push(1 << 20, 4).unwrap();
        dir.push(1 << 22, 1).unwrap();
        assert_eq!(dir.runs, [(1 << 20, 8), (1 << 22, 1)]);
        let mut bytes = dir.encode();
        assert_eq!(Directory::decode(&bytes), Some(dir.clone()));
        assert_eq!(dir.vlfs()[8], (8192 + (8 << 20), 1 << 22));
        bytes[70] ^= 1;
        assert_eq!(Directory::decode(&bytes), None);
    }
}
