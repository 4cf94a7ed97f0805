//! The few bytes of a page that the pool itself reads and writes.

#![deny(clippy::indexing_slicing)]

use furrow_format::{
    Lsn, PAGE_SIZE, Page, PageBuf, PageFault, PageId, PageMut, PageNo, PageVerify, admit,
};
use furrow_io::mutation::{Mutation, mutated};

/// Checks a page just read and prepares it for use: torn bits are taken out.
pub(crate) fn check_read(page: &mut PageBuf, expected: PageId) -> Result<(), PageFault> {
    if mutated(Mutation::ForgetPageCheck) {
        return Ok(());
    }
    admit(page, expected).map(|_| ())
}

/// `m_lsn`: the record of the last change.
pub(crate) fn page_lsn(page: &PageBuf) -> Lsn {
    Page::new(page).lsn()
}

#[inline]
pub(crate) fn set_lsn(page: &mut PageBuf, lsn: Lsn) {
    PageMut::new(page).set_lsn(lsn);
}

/// Protects the copy of a page that is about to be written.
pub(crate) fn stamp(copy: &mut [u8], how: PageVerify) {
    let page = copy.first_chunk_mut::<PAGE_SIZE>();
    debug_assert!(page.is_some(), "copies are whole pages");
    if let Some(page) = page {
        how.stamp(page);
    }
}

/// How a page is protected, by the option of its database. The file header (page 0) has a checksum whatever
/// the option is: the open has to verify the header before it can read the option.
pub(crate) fn how(page: PageNo, option: PageVerify) -> PageVerify {
    match page {
        PageNo(0) => PageVerify::Checksum,
        _ => option,
    }
}
