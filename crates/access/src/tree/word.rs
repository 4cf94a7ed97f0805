//! A page id in one word, for atomics.

use furrow_format::PageId;

pub(super) fn pack(page: PageId) -> u64 {
    u64::from(page.file.0) << 32 | u64::from(page.page.0)
}

pub(super) fn unpack(word: u64) -> PageId {
    PageId::new((word >> 32) as u16, word as u32)
}
