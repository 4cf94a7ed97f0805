//! Page changes: what the log carries, and what doing and redoing both apply.
//!
//! A change describes what happens to **one** page. [`apply`] is the only function that does it, called by
//! the mini-transaction that makes the change and by redo that repeats it, so the two cannot differ. A
//! structural step that touches several pages is a *group*: a sequence of (page id, change) that a
//! [`ChangeWriter`] appends to a log record and a [`ChangeReader`] gives back.
//!
//! Rules:
//! - `apply` is atomic: on an error the page's live content is as before. It never panics, whatever
//!   the bytes.
//! - `apply` never changes `m_lsn`. The caller stamps the page after the last change of its group;
//!   redo compares `m_lsn` **once a group and page**, before the group's first change of that page.
//! - The outcome is a function of the page's live content and of the change. Stale bytes between
//!   records may differ between do and redo; nothing reads them.
//! - Changes with [`Change::rebuilds`] need nothing of what the page held before: redo need not read it.
//!
//! Encoding of a group's entry, little-endian:
//!
//! ```text
//! tag u8          kind of change; bit 7 = same page as the entry before
//! page            6 bytes, absent when bit 7 is set
//! fields          fixed-width numbers; byte strings are preceded by a u16 length
//! ```

mod apply;
mod codec;
mod group;
mod kinds;
mod patch;
mod rows;

pub use apply::apply;
pub use group::{ChangeReader, ChangeWriter};
pub use kinds::{Change, ChangeError};
pub use rows::{RowList, RowListBuilder};
