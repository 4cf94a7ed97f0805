//! Links between leaves that lead astray: to the leaf itself, to one before it, in a circle. A scan that
//! followed them would never end.

use super::handle::Tree;
use super::node::damaged;
use super::side::Side;
use crate::AccessError;
use furrow_format::{Page, PageBuf};
use furrow_pool::PageRead;

/// Times that a scan to the left begins again from the root, because its neighbour was not where the link
/// said: others change these leaves meanwhile, but not so often.
pub(super) const MOST_TRIES: u32 = 10_000;

/// Steps over leaves without rows of the range, below which the pages of the database are not counted.
const FEW_STEPS: u64 = 1_000;

/// The error of a leaf to which links should not have led.
pub(super) fn astray(leaf: &PageBuf) -> AccessError {
    damaged(leaf, "the links of its level lead astray")
}

/// Whether a walk over leaves has taken more steps than there are pages.
pub(super) fn are_too_many(tree: &Tree, steps: u64) -> bool {
    steps > FEW_STEPS && steps > tree.parts.space.all_pages()
}

/// Whether all rows of the neighbour come behind those of the leaf.
pub(super) fn is_right_of(
    tree: &Tree,
    left: &PageRead<'_>,
    right: &PageRead<'_>,
) -> Result<bool, AccessError> {
    let Some(last) = Page::new(left).slot_count().checked_sub(1) else {
        return Ok(true);
    };
    let key = tree.key_at(left, last)?;
    Ok(tree.rows_before(right, 0, &key, Side::Behind)? == 0)
}
