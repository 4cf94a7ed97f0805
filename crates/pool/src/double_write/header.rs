//! The header page of a batch of images.
//!
//! | bytes | field |
//! |---|---|
//! | 0..8 | `FURROWDW` |
//! | 8..12 | CRC-32C of bytes 12..8192 |
//! | 12..14 | layout version |
//! | 14..16 | file id of the data file |
//! | 16..24 | generation of the half |
//! | 24..28 | number of the batch in the generation |
//! | 28..32 | number of images |
//! | 32..36 | pages in a half |
//! | 36..64 | zeros |
//! | 64.. | for each image: page number u32, CRC-32C u32 |

#![deny(clippy::indexing_slicing)]

use furrow_format::{FileId, PAGE_SIZE, PageNo};

const MAGIC: &[u8; 8] = b"FURROWDW";
const VERSION: u16 = 1;
const ENTRIES_AT: usize = 64;
const ENTRY_SIZE: usize = 8;

/// Images that one header can name.
pub(super) const MAX_IMAGES: usize = (PAGE_SIZE - ENTRIES_AT) / ENTRY_SIZE;

/// A batch, as its header describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BatchHeader {
    pub(super) owner: FileId,
    pub(super) half_pages: u32,
    pub(super) generation: u64,
    pub(super) batch: u32,
    /// Page number and checksum of each image, in the order they lie.
    pub(super) images: Vec<(PageNo, u32)>,
}

impl BatchHeader {
    pub(super) fn of(
        owner: FileId,
        half_pages: u32,
        generation: u64,
        batch: u32,
        images: &[(PageNo, &[u8])],
    ) -> BatchHeader {
        debug_assert!(
            !images.is_empty() && images.len() <= MAX_IMAGES,
            "a batch has images, and its header has space for them"
        );
        let images = images
            .iter()
            .map(|(page, bytes)| (*page, crc32c::crc32c(bytes)))
            .collect();
        BatchHeader {
            owner,
            half_pages,
            generation,
            batch,
            images,
        }
    }

    /// Fills `page`, a buffer of one page.
    #[expect(
        clippy::indexing_slicing,
        reason = "fixed places of a page that is written"
    )]
    pub(super) fn encode(&self, page: &mut [u8]) {
        page.fill(0);
        page[..8].copy_from_slice(MAGIC);
        page[12..14].copy_from_slice(&VERSION.to_le_bytes());
        page[14..16].copy_from_slice(&self.owner.0.to_le_bytes());
        page[16..24].copy_from_slice(&self.generation.to_le_bytes());
        page[24..28].copy_from_slice(&self.batch.to_le_bytes());
        page[28..32].copy_from_slice(&(self.images.len() as u32).to_le_bytes());
        page[32..36].copy_from_slice(&self.half_pages.to_le_bytes());
        let entries = page[ENTRIES_AT..].chunks_exact_mut(ENTRY_SIZE);
        for (entry, (page_no, crc)) in entries.zip(&self.images) {
            entry[..4].copy_from_slice(&page_no.0.to_le_bytes());
            entry[4..].copy_from_slice(&crc.to_le_bytes());
        }
        let crc = crc32c::crc32c(&page[12..]);
        page[8..12].copy_from_slice(&crc.to_le_bytes());
        debug_assert!(
            page.first_chunk()
                .is_some_and(|page| BatchHeader::decode(page).as_ref() == Some(self)),
            "a header reads back before it is written"
        );
    }

    /// The batch that `page` describes; `None` for anything that is not wholly a header.
    pub(super) fn decode(page: &[u8; PAGE_SIZE]) -> Option<BatchHeader> {
        if field::<8>(page, 0)? != *MAGIC {
            return None;
        }
        let stated = u32::from_le_bytes(field(page, 8)?);
        if stated != crc32c::crc32c(page.get(12..)?) {
            return None;
        }
        let version = u16::from_le_bytes(field(page, 12)?);
        let count = u32::from_le_bytes(field(page, 28)?) as usize;
        if version != VERSION || count == 0 || count > MAX_IMAGES {
            return None;
        }
        let entry = |bytes: &[u8]| {
            let page_no = u32::from_le_bytes(field(bytes, 0)?);
            Some((PageNo(page_no), u32::from_le_bytes(field(bytes, 4)?)))
        };
        let entries = page.get(ENTRIES_AT..)?.chunks_exact(ENTRY_SIZE).take(count);
        Some(BatchHeader {
            owner: FileId(u16::from_le_bytes(field(page, 14)?)),
            half_pages: u32::from_le_bytes(field(page, 32)?),
            generation: u64::from_le_bytes(field(page, 16)?),
            batch: u32::from_le_bytes(field(page, 24)?),
            images: entries.map(entry).collect::<Option<_>>()?,
        })
    }
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk::<N>().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_the_disk_and_no_damaged_one_does() {
        let bytes = [7_u8; PAGE_SIZE];
        let images: Vec<(PageNo, &[u8])> = (0..MAX_IMAGES as u32)
            .map(|n| (PageNo(n * 3), &bytes[..]))
            .collect();
        let header = BatchHeader::of(FileId(3), 1024, 77, 5, &images);
        let mut page = [0; PAGE_SIZE];
        header.encode(&mut page);
        assert_eq!(BatchHeader::decode(&page).as_ref(), Some(&header));
        for at in (0..PAGE_SIZE).step_by(97) {
            let mut damaged = page;
            damaged[at] ^= 0x10;
            assert_eq!(BatchHeader::decode(&damaged), None, "byte {at}");
        }
        assert_eq!(BatchHeader::decode(&[0; PAGE_SIZE]), None);
    }
}
