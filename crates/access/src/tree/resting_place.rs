//! How far a scan of a tree at rest has come.

use furrow_format::PageId;

/// A page above leaves, and the first of its entries that was not followed yet.
pub(super) type Above = (PageId, u16);

/// How far a scan has come.
#[derive(Debug, Default)]
pub(super) struct Resting {
    pub(super) started: bool,
    pub(super) leaves: u64,
    /// Where the leaves to come are named.
    pub(super) above: Option<Above>,
    pub(super) asked: usize,
}
