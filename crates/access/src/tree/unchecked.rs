//! Leaves whose rows are counted before it is known that they belong to the range: to look for the end of the
//! range on each leaf costs more than to count its rows.
//!
//! Keys ascend from leaf to leaf. So if all rows of the last of some leaves are before the end, those of the
//! others are. If not, their rows are not counted, and the scan returns to where it was before them.

use furrow_format::Page;
use furrow_pool::PageRead;
use std::mem::take;

/// Leaves of which the rows are counted before it is looked up whether the range ends in one of them: to look
/// costs more than to count.
const MOST: u32 = 16;

/// Leaves whose rows were counted, but may be behind the end of the range.
#[derive(Debug, Default)]
pub(super) struct Unchecked {
    leaves: u32,
    rows: u64,
}

impl Unchecked {
    /// Whether it is time to look for the end of the range.
    pub(super) fn is_full(&self) -> bool {
        self.leaves >= MOST
    }

    pub(super) fn add(&mut self, rows: u16) {
        self.leaves += 1;
        self.rows += u64::from(rows);
    }

    /// Their rows, if there are such leaves: none are unchecked then.
    pub(super) fn settle(&mut self) -> Option<u64> {
        let Unchecked { leaves, rows } = take(self);
        (leaves > 0).then_some(rows)
    }
}

/// Whether the leaf has rows, no ghosts, and a leaf behind it: nothing of it needs a closer look.
pub(super) fn is_plain(leaf: &PageRead<'_>) -> bool {
    let view = Page::new(leaf);
    view.slot_count() > 0 && view.ghost_count() == 0 && !view.next().is_none()
}
