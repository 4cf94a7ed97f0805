//! What the scan notes of pages and rows.

use super::KeyRef;
use furrow_format::{PageId, RowId};

/// A page of rows or large values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageFact {
    pub(crate) id: PageId,
    pub(crate) unit: u32,
    /// The unit's id as the page states it.
    pub(crate) unit_id: u64,
    pub(crate) kind: u8,
    pub(crate) level: u8,
    pub(crate) prev: PageId,
    pub(crate) next: PageId,
    /// First and last key of a leaf page.
    pub(crate) low: KeyRef,
    pub(crate) high: KeyRef,
}

/// An entry of a non-leaf page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChildFact {
    pub(crate) parent: PageId,
    pub(crate) slot: u16,
    pub(crate) child: PageId,
    pub(crate) key: KeyRef,
}

/// An IAM page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IamFact {
    pub(crate) id: PageId,
    /// The unit's id as the page states it.
    pub(crate) unit_id: u64,
    pub(crate) sequence: u32,
    pub(crate) start: PageId,
    pub(crate) prev: PageId,
    pub(crate) next: PageId,
    pub(crate) singles: [PageId; 8],
    pub(crate) extents: u32,
}

/// A forwarding stub and the row that it leads to, or a moved row and its stub.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ForwardFact {
    /// The stub, or the moved row.
    pub(crate) at: RowId,
    /// The other one of the two.
    pub(crate) other: RowId,
    pub(crate) unit: u32,
}

/// A pointer to a large value, or to a part of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextRef {
    pub(crate) from: RowId,
    pub(crate) to: RowId,
    pub(crate) blob: u64,
    /// Bytes that must be below it.
    pub(crate) bytes: Option<u64>,
    pub(crate) unit: u32,
    /// Of a row that is deleted: its value may be gone already.
    pub(crate) ghost: bool,
}

/// A record of a large value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextNode {
    pub(crate) at: RowId,
    pub(crate) blob: u64,
    pub(crate) bytes: u64,
    pub(crate) unit: u32,
}

/// A page in use that is not whole.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BadPage {
    pub(crate) id: PageId,
    pub(crate) why: Why,
}

/// Why a page cannot be used.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Why {
    /// Checksum or torn bits: see [`super::Keys::text`].
    NotWhole(KeyRef),
    /// It says that it is another page.
    OtherPage(PageId),
    /// It cannot be read: the same.
    Unread(KeyRef),
}
