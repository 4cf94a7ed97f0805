//! A page: header, records growing up from byte 96, slot array growing down from byte 8191.
//!
//! Invariants of a sound page (each edit preserves them, [`Page::audit`] checks them):
//! - `m_freeCnt = 8096 - sum of the records' sizes - 2 * m_slotCnt`; a record's size is its length, or that
//!   rounded up to four where the page has [`PageFlags::ALIGNED`];
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
mod debug;
mod edit;
mod error;
mod header;
mod slots;
mod view;

pub use error::PageError;
pub use header::{BODY_SIZE, HEADER_SIZE, MAX_SLOTS, PageInit, SLOT_SIZE};
pub(crate) use header::{LSN, TORN_BITS};
pub use slots::Records;
pub use view::{Page, PageMut};
