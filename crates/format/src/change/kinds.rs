//! The kinds of page changes, and the errors of applying one.

use super::rows::RowList;
use crate::{MapInit, PageError, PageId, PageInit, PageType, PfsByte, TxnId};

/// A change of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Formats an empty page.
    Format(PageInit),
    /// Formats an empty page whose rows are not in the log. The caller that fills the page makes it durable
    /// before it logs anything that depends on the rows, above all its commit. If redo does not find the page
    /// on the disk, it may format it as empty only for a transaction that has not ended.
    FormatForced(PageInit),
    /// Formats a map page.
    FormatMap(MapInit),
    /// Inserts a record; the slots from there on move up (index pages).
    InsertRow {
        /// Where.
        slot: u16,
        /// The record.
        bytes: &'a [u8],
    },
    /// Removes a record and its slot (index pages).
    RemoveRow {
        /// Which.
        slot: u16,
    },
    /// Removes `count` records from slot `from` on (index pages).
    RemoveRows {
        /// First.
        from: u16,
        /// How many.
        count: u16,
    },
    /// Appends records behind the last slot: rows that a split moves or a bulk load inserts.
    LoadRows(RowList<'a>),
    /// Replaces a record.
    ReplaceRow {
        /// Which.
        slot: u16,
        /// The new record.
        bytes: &'a [u8],
    },
    /// Overwrites part of a record without changing its length.
    PatchRow {
        /// Which.
        slot: u16,
        /// Offset in the record.
        offset: u16,
        /// The new bytes.
        bytes: &'a [u8],
    },
    /// Puts a record in an empty slot or in the one behind the last (heaps).
    HeapPut {
        /// Where.
        slot: u16,
        /// The record.
        bytes: &'a [u8],
    },
    /// Removes a record and keeps its slot (heaps).
    HeapFree {
        /// Which.
        slot: u16,
    },
    /// Sets the sibling links; `None` leaves one as it is.
    SetLinks {
        /// Left.
        prev: Option<PageId>,
        /// Right.
        next: Option<PageId>,
    },
    /// Sets the index level.
    SetLevel {
        /// The level.
        level: u8,
    },
    /// Adds to the count of ghost records.
    SetGhosts {
        /// The change of the count; negative if ghosts were removed.
        delta: i16,
    },
    /// Sets the bytes reserved for the undo of a transaction.
    SetReserved {
        /// In all.
        reserved: u16,
        /// Of these for the last transaction.
        xact_reserved: u16,
        /// The last transaction.
        xdes: TxnId,
    },
    /// Overwrites bytes anywhere but in `m_lsn` (maps, boot page, file header: not pages that hold rows).
    PatchBytes {
        /// Page offset.
        offset: u16,
        /// The new bytes.
        bytes: &'a [u8],
    },
    /// Sets one bit of a bitmap page.
    SetBit {
        /// Which: an extent of the page's interval.
        index: u16,
        /// To what.
        value: bool,
    },
    /// Sets a run of bits of a bitmap page.
    SetBits {
        /// First.
        first: u16,
        /// How many.
        count: u16,
        /// To what.
        value: bool,
    },
    /// Sets a status byte of a PFS page.
    SetPfs {
        /// Which: a page of the interval.
        index: u16,
        /// To what.
        value: PfsByte,
    },
    /// The whole page without the free bytes between records and slot array.
    Image {
        /// The page from its first byte on.
        head: &'a [u8],
        /// The page up to its last byte.
        tail: &'a [u8],
    },
}

/// Why a change cannot be read or applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The bytes end inside a change.
    #[error("change ends early")]
    Truncated,
    /// No change has this tag.
    #[error("unknown change {tag:#04x}")]
    UnknownTag {
        /// The tag.
        tag: u8,
    },
    /// A field has an invalid value.
    #[error("change {tag:#04x}: bad field")]
    BadField {
        /// The tag.
        tag: u8,
    },
    /// The first entry of a group states that it has the same page as the entry before.
    #[error("change without a page")]
    NoPage,
    /// Pages of this type do not accept this change, or the page's map is damaged.
    #[error("change does not suit a {kind} page")]
    Unsuitable {
        /// Type of the page.
        kind: PageType,
    },
    /// The bytes to change lie beyond the page, or in its `m_lsn`.
    #[error("{len} bytes at {offset} are not to be patched")]
    OutOfPlace {
        /// Page offset or entry number.
        offset: u16,
        /// How many bytes or entries.
        len: usize,
    },
    /// The page rejects the change.
    #[error(transparent)]
    Page(#[from] PageError),
}

impl<'a> Change<'a> {
    /// The whole of `page` as a change, without the free middle.
    pub fn image_of(page: &'a crate::PageBuf) -> Change<'a> {
        let view = crate::Page::new(page);
        let tail_start = view.slot_array_start().unwrap_or(0);
        let head_end = usize::from(view.free_data());
        if (crate::HEADER_SIZE..tail_start).contains(&head_end)
            && let (Some(head), Some(tail)) = (page.get(..head_end), page.get(tail_start..))
        {
            return Change::Image { head, tail };
        }
        Change::Image {
            head: page,
            tail: &[],
        }
    }

    /// Whether the result does not depend on the page's earlier content.
    pub const fn rebuilds(&self) -> bool {
        matches!(
            self,
            Change::Format(_)
                | Change::FormatForced(_)
                | Change::FormatMap(_)
                | Change::Image { .. }
        )
    }
}
