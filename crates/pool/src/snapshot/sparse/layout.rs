//! The bytes of a sparse file: its header, and the blocks of its journal. `docs/format/sparse-file.md` is
//! the same in words.
//!
//! | bytes of the file | content |
//! |---|---|
//! | 0..8192 | header |
//! | (n + 1) * 8192.. | image of page n, where it has one; a hole elsewhere |
//! | (pages + 1) * 8192.. | the journal: blocks of 4096 bytes |

#![deny(clippy::indexing_slicing)]

use furrow_format::{FileId, Lsn, PAGE_SIZE, PageNo};

const MAGIC: &[u8; 8] = b"FURROWSS";
const BLOCK_MAGIC: &[u8; 8] = b"FURROWSJ";
const VERSION: u16 = 1;
/// A block of the journal.
pub(super) const BLOCK_BYTES: usize = 4096;
const ENTRIES_AT: usize = 64;
const ENTRY_BYTES: usize = 8;
/// Images that a block can name.
pub(super) const MOST_ENTRIES: usize = (BLOCK_BYTES - ENTRIES_AT) / ENTRY_BYTES;

/// How far a snapshot has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparseState {
    /// It is being created: a start of the instance removes it.
    Creating,
    /// It is whole.
    Whole,
    /// An image is missing: it can never be read again.
    Suspect,
}

/// What a sparse file is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SparseHeader {
    /// Number of the snapshot, which all its files have.
    pub snapshot: [u8; 16],
    /// Binding of the source database.
    pub source: [u8; 16],
    /// Number of the data file.
    pub file: FileId,
    /// How far the snapshot has come.
    pub state: SparseState,
    /// Pages of the data file at the split.
    pub pages: u32,
    /// Changes from this LSN on do not belong to the snapshot.
    pub split: Lsn,
}

/// A block of the journal: images that became durable with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) number: u64,
    /// Page, and CRC-32C of its image.
    pub(super) entries: Vec<(PageNo, u32)>,
}

/// Where the image of a page is.
pub(super) fn image_at(page: PageNo) -> u64 {
    (u64::from(page.0) + 1) * PAGE_SIZE as u64
}

/// Where a block of the journal is.
pub(super) fn block_at(pages: u32, number: u64) -> u64 {
    image_at(PageNo(pages)) + number * BLOCK_BYTES as u64
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    let place = bytes.get_mut(at..at + value.len());
    debug_assert!(place.is_some(), "a field lies in its page");
    if let Some(place) = place {
        place.copy_from_slice(value);
    }
}

fn get<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

fn seal(bytes: &mut [u8]) {
    let crc = crc32c::crc32c(bytes.get(12..).unwrap_or_default());
    put(bytes, 8, &crc.to_le_bytes());
}

fn is_sealed(bytes: &[u8]) -> bool {
    let crc = crc32c::crc32c(bytes.get(12..).unwrap_or_default());
    get(bytes, 8) == Some(crc.to_le_bytes())
}

impl SparseHeader {
    /// Writes the header over a page.
    pub(super) fn encode(&self, page: &mut [u8]) {
        page.fill(0);
        put(page, 0, MAGIC);
        put(page, 12, &VERSION.to_le_bytes());
        put(page, 14, &self.file.0.to_le_bytes());
        let state = match self.state {
            SparseState::Creating => 0_u32,
            SparseState::Whole => 1,
            SparseState::Suspect => 2,
        };
        put(page, 16, &state.to_le_bytes());
        put(page, 20, &self.pages.to_le_bytes());
        put(page, 24, &self.split.0.to_le_bytes());
        put(page, 32, &self.snapshot);
        put(page, 48, &self.source);
        seal(page);
    }

    /// The header in a page; `None` when it holds none that is whole.
    pub(super) fn decode(page: &[u8]) -> Option<SparseHeader> {
        let version = u16::from_le_bytes(get(page, 12)?);
        if get(page, 0)? != *MAGIC || version != VERSION || !is_sealed(page) {
            return None;
        }
        let state = match u32::from_le_bytes(get(page, 16)?) {
            0 => SparseState::Creating,
            1 => SparseState::Whole,
            2 => SparseState::Suspect,
            _ => return None,
        };
        Some(SparseHeader {
            snapshot: get(page, 32)?,
            source: get(page, 48)?,
            file: FileId(u16::from_le_bytes(get(page, 14)?)),
            state,
            pages: u32::from_le_bytes(get(page, 20)?),
            split: Lsn(u64::from_le_bytes(get(page, 24)?)),
        })
    }
}

impl Block {
    /// Writes the block of this file over `bytes`.
    pub(super) fn encode(&self, header: &SparseHeader, bytes: &mut [u8]) {
        debug_assert!(
            !self.entries.is_empty() && self.entries.len() <= MOST_ENTRIES,
            "a block has entries, and space for them"
        );
        bytes.fill(0);
        put(bytes, 0, BLOCK_MAGIC);
        put(bytes, 12, &(self.entries.len() as u32).to_le_bytes());
        put(bytes, 16, &self.number.to_le_bytes());
        put(bytes, 24, &header.file.0.to_le_bytes());
        put(bytes, 32, &header.snapshot);
        let places = (ENTRIES_AT..).step_by(ENTRY_BYTES);
        for ((page, crc), at) in self.entries.iter().zip(places) {
            put(bytes, at, &page.0.to_le_bytes());
            put(bytes, at + 4, &crc.to_le_bytes());
        }
        seal(bytes);
    }

    /// The block of this number in `bytes`; `None` when they hold none that is whole and of this file.
    pub(super) fn decode(header: &SparseHeader, number: u64, bytes: &[u8]) -> Option<Block> {
        let count = u32::from_le_bytes(get(bytes, 12)?) as usize;
        let ours = get(bytes, 0)? == *BLOCK_MAGIC
            && u64::from_le_bytes(get(bytes, 16)?) == number
            && get(bytes, 24)? == header.file.0.to_le_bytes()
            && get(bytes, 32)? == header.snapshot;
        if !ours || count == 0 || count > MOST_ENTRIES || !is_sealed(bytes) {
            return None;
        }
        let mut entries = Vec::with_capacity(count);
        for at in (ENTRIES_AT..).step_by(ENTRY_BYTES).take(count) {
            let page = PageNo(u32::from_le_bytes(get(bytes, at)?));
            if page.0 >= header.pages {
                return None;
            }
            entries.push((page, u32::from_le_bytes(get(bytes, at + 4)?)));
        }
        Some(Block { number, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> SparseHeader {
        SparseHeader {
            snapshot: [7; 16],
            source: [9; 16],
            file: FileId(3),
            state: SparseState::Whole,
            pages: 100,
            split: Lsn(77 << 36),
        }
    }

    #[test]
    fn a_header_reads_back_and_any_flipped_byte_is_found() {
        let mut page = vec![1; PAGE_SIZE];
        header().encode(&mut page);
        assert_eq!(SparseHeader::decode(&page), Some(header()));
        for at in (0..64).chain([4096, 8191]) {
            let mut damaged = page.clone();
            damaged[at] ^= 0x40;
            assert_eq!(SparseHeader::decode(&damaged), None, "byte {at}");
        }
        assert_eq!(SparseHeader::decode(&page[..100]), None);
    }

    #[test]
    fn a_block_reads_back_in_its_own_place_alone() {
        let most = MOST_ENTRIES as u32;
        let entries = (0..most).map(|n| (PageNo(n % 100), n)).collect();
        let block = Block { number: 5, entries };
        let mut bytes = vec![1; BLOCK_BYTES];
        block.encode(&header(), &mut bytes);
        assert_eq!(Block::decode(&header(), 5, &bytes), Some(block));
        assert_eq!(Block::decode(&header(), 6, &bytes), None);
        let other = SparseHeader {
            snapshot: [8; 16],
            ..header()
        };
        assert_eq!(Block::decode(&other, 5, &bytes), None);
        for at in [0, 8, 12, 16, 33, 64, 4095] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(Block::decode(&header(), 5, &damaged), None, "byte {at}");
        }
    }
}
