//! The contents of an IAM page beside its map: place in the chain, interval, and eight single pages.

use super::bitmap::Bitmap;
use super::pfs::RECORD_HEADER;
use crate::bytes::{chunk, put, u32_at};
use crate::{Page, PageBuf, PageId, PageType, record_len};

/// Pages of mixed extents that one IAM page can name.
pub const SINGLE_PAGE_SLOTS: u8 = 8;

// Data of the first record; offsets count from its start, record header excluded.
pub(super) const IAM_HEADER_BYTES: usize = 90;
const SEQUENCE: usize = 0; //          0..4   place in the chain
const INTERVAL_START: usize = 36; //  36..42  first page spoken of
const SINGLE_PAGES: usize = 42; //    42..90  eight page ids
const PAGE_ID_SIZE: usize = 6;

const _: () = assert!(SINGLE_PAGES + PAGE_ID_SIZE * SINGLE_PAGE_SLOTS as usize == IAM_HEADER_BYTES);

/// An IAM page, to read.
#[derive(Debug, Clone, Copy)]
pub struct Iam<'a> {
    header: &'a [u8; IAM_HEADER_BYTES],
    map: Bitmap<'a>,
}

impl<'a> Iam<'a> {
    /// The page's content; `None` when it is no IAM page or its records are damaged.
    pub fn new(bytes: &'a PageBuf) -> Option<Iam<'a>> {
        let start = header_start(Page::new(bytes))?;
        Some(Iam {
            header: bytes.get(start..)?.first_chunk()?,
            map: Bitmap::new(bytes)?,
        })
    }

    /// Place in the unit's chain, from 0.
    pub fn sequence(self) -> u32 {
        u32_at(self.header, SEQUENCE).unwrap_or(0)
    }

    /// First page of the GAM interval spoken of.
    pub fn interval_start(self) -> PageId {
        self.page_at(INTERVAL_START)
    }

    /// The page named by single-page slot `index`; none where the slot is empty.
    pub fn single_page(self, index: u8) -> PageId {
        match index {
            0..SINGLE_PAGE_SLOTS => self.page_at(SINGLE_PAGES + PAGE_ID_SIZE * usize::from(index)),
            _ => PageId::NONE,
        }
    }

    /// The eight single-page slots, empty ones included.
    pub fn single_pages(self) -> impl Iterator<Item = PageId> + 'a {
        (0..SINGLE_PAGE_SLOTS).map(move |index| self.single_page(index))
    }

    /// The extents owned.
    pub fn extents(self) -> Bitmap<'a> {
        self.map
    }

    /// Where a single-page slot is on the page; `None` when it is no sound IAM page.
    pub(crate) fn single_page_offset(bytes: &PageBuf, index: u8) -> Option<usize> {
        let start = header_start(Page::new(bytes))?;
        Some(start + SINGLE_PAGES + PAGE_ID_SIZE * usize::from(index))
    }

    fn page_at(self, offset: usize) -> PageId {
        chunk(self.header, offset).map_or(PageId::NONE, PageId::from_bytes)
    }
}

fn header_start(page: Page<'_>) -> Option<usize> {
    let record = page.record_start(0)?;
    let len = record_len(PageType::Iam, page.pminlen(), record)?;
    let sound = page.page_type() == PageType::Iam && len == RECORD_HEADER + IAM_HEADER_BYTES;
    sound.then_some(usize::from(page.slot_offset(0)?) + RECORD_HEADER)
}

/// Fills in the header record of a fresh IAM page.
pub(super) fn put_header(record: &mut [u8], sequence: u32, interval_start: PageId) {
    let _fits = put(record, RECORD_HEADER + SEQUENCE, &sequence.to_le_bytes())
        && put(
            record,
            RECORD_HEADER + INTERVAL_START,
            &interval_start.to_bytes(),
        );
}
