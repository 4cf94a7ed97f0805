//! A page: header, records growing up from byte 96, slot array growing down from byte 8191.
//!
//! Invariants of a sound page (each edit keeps them, [`Page::audit`] proves them):
//! - `m_freeCnt = 8096 - sum of the records' room - 2 * m_slotCnt`; a record's room is its length, or
//!   that rounded up to four where the page has [`PageFlags::ALIGNED`];
//! - each slot is 0 (empty: heaps only) or names the first byte of a record that lies between the header
//!   and `m_freeData`; records do not overlap;
//! - `m_freeData` does not reach into the slot array;
//! - a record is self-delimiting: [`record_len`](crate::record_len) of the bytes at its start gives
//!   its length.
//!
//! Edits are atomic: an error leaves the page's live content as it was. They behave as a function of live
//! content only (never of the stale bytes between records), so that redo on an image of the page
//! gives the same live content as the original edit did.

mod audit;
mod edit;
mod error;
mod header;
mod kind;
mod slots;

use crate::PAGE_SIZE;
use std::fmt;

pub use error::PageError;
pub use header::{BODY_SIZE, HEADER_SIZE, PageInit, SLOT_SIZE};
pub(crate) use header::{LSN, TORN_BITS};
pub use kind::{PageFlags, PageType};
pub use slots::Records;

/// The bytes of a page.
pub type PageBuf = [u8; PAGE_SIZE];

/// Most slots that fit between header and end of page: more is damage.
pub const MAX_SLOTS: u16 = (BODY_SIZE / SLOT_SIZE) as u16;

/// A page to read.
#[derive(Clone, Copy)]
pub struct Page<'a> {
    bytes: &'a PageBuf,
}

/// A page to change.
pub struct PageMut<'a> {
    bytes: &'a mut PageBuf,
}

impl<'a> Page<'a> {
    /// Views `bytes` as a page. Any bytes will do: accessors of damaged pages give `None` or nonsense,
    /// never panic.
    #[inline]
    pub const fn new(bytes: &'a PageBuf) -> Page<'a> {
        Page { bytes }
    }

    /// The bytes.
    #[inline]
    pub const fn bytes(self) -> &'a PageBuf {
        self.bytes
    }
}

impl<'a> PageMut<'a> {
    /// Views `bytes` as a page to change.
    #[inline]
    pub const fn new(bytes: &'a mut PageBuf) -> PageMut<'a> {
        PageMut { bytes }
    }

    /// The page, to read.
    #[inline]
    pub const fn as_page(&self) -> Page<'_> {
        Page { bytes: self.bytes }
    }

    /// The bytes.
    #[inline]
    pub const fn bytes(&self) -> &PageBuf {
        self.bytes
    }

    /// The bytes, to change.
    #[inline]
    pub const fn bytes_mut(&mut self) -> &mut PageBuf {
        self.bytes
    }
}

impl fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("page_id", &format_args!("{}", self.page_id()))
            .field("type", &format_args!("{}", self.page_type()))
            .field("level", &self.level())
            .field("unit", &self.unit())
            .field("prev", &format_args!("{}", self.prev()))
            .field("next", &format_args!("{}", self.next()))
            .field("pminlen", &self.pminlen())
            .field("slot_count", &self.slot_count())
            .field("free_count", &self.free_count())
            .field("free_data", &self.free_data())
            .field("lsn", &format_args!("{}", self.lsn()))
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PageMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_page().fmt(f)
    }
}
