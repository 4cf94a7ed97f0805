//! Bytes of the log file: constants and block headers.
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
//! | 44-47 | which block was the newest durable one when this was written; zero: unknown (older logs) |
//!
//! The last field is `FFFFFFFF` for the block before this one, else so many sectors back in the same VLF.

#![deny(clippy::indexing_slicing)]

use furrow_format::Lsn;

/// Unit of block offsets in bytes.
pub(crate) const SECTOR: usize = 512;
/// Largest log block in bytes.
pub(crate) const BLOCK_MAX_BYTES: usize = 61_440;
/// Bytes of a block's header.
pub(crate) const BLOCK_HEADER_BYTES: usize = 48;
/// Log buffers in memory; each holds one block of at most 60 KB. The model checker has a few, because it
/// tries every order of the steps on them.
pub(crate) const LOG_BUFFERS: usize = if cfg!(loom) { 4 } else { 64 };
/// Where the first VLF starts in the file.
pub const FIRST_VLF_OFFSET: u64 = 8192;

// A block is whole sectors, and the first VLF begins at one.
const _: () = assert!(BLOCK_MAX_BYTES.is_multiple_of(SECTOR) && BLOCK_HEADER_BYTES < SECTOR);
const _: () = assert!(FIRST_VLF_OFFSET.is_multiple_of(SECTOR as u64));

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
    /// The newest block that was durable when this one was written; zero if the field cannot name it.
    pub durable: Lsn,
}

/// In place of a distance: the block before.
const BLOCK_BEFORE: u32 = u32::MAX;

/// How a block names the one that was durable when it was written.
fn durable_word(lsn: Lsn, prev: Lsn, durable: Lsn) -> u32 {
    if durable == Lsn::ZERO {
        0
    } else if durable == prev {
        BLOCK_BEFORE
    } else if durable.vlf() == lsn.vlf() {
        lsn.block().saturating_sub(durable.block())
    } else {
        0
    }
}

/// The block that the field names.
fn durable_of(word: u32, lsn: Lsn, prev: Lsn) -> Lsn {
    let back = || Lsn::new(lsn.vlf(), lsn.block().checked_sub(word)?, 0);
    match word {
        0 => Lsn::ZERO,
        BLOCK_BEFORE => prev,
        _ => back().unwrap_or(Lsn::ZERO),
    }
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    debug_assert!(at + value.len() <= bytes.len(), "a field of the block");
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
        debug_assert!(
            (BLOCK_HEADER_BYTES..=block.len()).contains(&(self.used as usize)),
            "a block's used bytes are there"
        );
        put(block, 0, &BLOCK_MAGIC.to_le_bytes());
        put(block, 4, &self.used.to_le_bytes());
        put(block, 8, &self.incarnation.to_le_bytes());
        put(block, 12, &self.records.to_le_bytes());
        put(block, 14, &[0; 2]);
        put(block, 16, &self.lsn.0.to_le_bytes());
        put(block, 24, &self.prev.0.to_le_bytes());
        put(block, 32, &self.log_id.to_le_bytes());
        let durable = durable_word(self.lsn, self.prev, self.durable);
        put(block, 44, &durable.to_le_bytes());
        let crc = block_crc(block.get(..self.used as usize).unwrap_or_default());
        put(block, 40, &crc.to_le_bytes());
        debug_assert!(self.checksum_fits(block), "a sealed block reads back");
    }

    /// Reads the header at the start of `bytes`; `None` unless magic, sizes and identity fit, and each record
    /// has an LSN of its own. The checksum is not tested.
    pub(crate) fn read(bytes: &[u8], log_id: u64) -> Option<BlockHeader> {
        let (lsn, prev) = (Lsn(u64_at(bytes, 16)?), Lsn(u64_at(bytes, 24)?));
        let header = BlockHeader {
            used: u32_at(bytes, 4)?,
            incarnation: u32_at(bytes, 8)?,
            records: u32_at(bytes, 12)? as u16,
            lsn,
            prev,
            log_id: u64_at(bytes, 32)?,
            durable: durable_of(u32_at(bytes, 44)?, lsn, prev),
        };
        let sizes_fit = (BLOCK_HEADER_BYTES..=BLOCK_MAX_BYTES).contains(&(header.used as usize));
        let numbers_fit = lsn.slot() == 0 && header.records <= Lsn::MAX_SLOT;
        let ours = u32_at(bytes, 0)? == BLOCK_MAGIC && header.log_id == log_id;
        (ours && sizes_fit && numbers_fit).then_some(header)
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
            durable: lsn(14),
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
    fn a_block_whose_records_would_have_no_lsn_of_their_own_is_none() {
        let mut block = vec![0; 600];
        let mut header = BlockHeader {
            used: 600,
            incarnation: 3,
            records: Lsn::MAX_SLOT,
            lsn: Lsn::new(Lsn::MAX_VLF, Lsn::MAX_BLOCK, 0).unwrap(),
            prev: Lsn::ZERO,
            log_id: 99,
            durable: Lsn::ZERO,
        };
        header.seal(&mut block);
        assert_eq!(BlockHeader::read(&block, 99), Some(header));
        header.records += 1;
        header.seal(&mut block);
        assert_eq!(BlockHeader::read(&block, 99), None);
        (header.records, header.lsn) = (1, Lsn::MAX);
        header.seal(&mut block);
        assert!(header.checksum_fits(&block));
        assert_eq!(BlockHeader::read(&block, 99), None);
    }

    #[test]
    fn a_block_names_the_newest_durable_one_and_a_block_of_an_older_log_none() {
        let lsn = |vlf, block| Lsn::new(vlf, block, 0).unwrap();
        let (here, before) = (lsn(40, 64), lsn(39, 500));
        for (durable, word) in [
            (Lsn::ZERO, 0),
            (before, BLOCK_BEFORE),
            (lsn(40, 24), 40),
            (lsn(40, 0), 64),
        ] {
            assert_eq!(durable_word(here, before, durable), word);
            assert_eq!(durable_of(word, here, before), durable);
        }
        // The field cannot name a block in an earlier VLF.
        assert_eq!(durable_word(here, before, lsn(39, 400)), 0);
        assert_eq!(durable_of(65, here, before), Lsn::ZERO);
    }
}
