//! The gate that a change calls while the leaf is latched.
//!
//! A reader of a range guards its gaps by locks on the keys above them, and takes these locks under the latch
//! of the leaf that it reads. An inserter calls its gate under the EX latch of the leaf that the new key goes
//! to: so it sees what a reader has guarded before, and later readers see the new key. The key above the gap
//! may be the first one of a leaf to the right. That leaf is latched EX while the gate is called, because a
//! reader that has left the left leaf locks that key with only the right one latched.
//!
//! Pages are locked under their latches as well. A change of a row of a leaf calls the gate before it reads
//! any row of the leaf, and a split calls it for each page that takes some of the rows.

use super::handle::Tree;
use crate::{AccessError, Key};
use furrow_format::{Page, PageBuf, PageId};
use furrow_pool::Ex;

/// Where a row goes on its leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// A new slot here.
    Free(u16),
    /// In place of the ghost with the same key.
    Ghost(u16),
    /// A live row has the key.
    Taken,
}

/// Whether a change may be made. Called under latches: must not block.
pub trait Gate {
    /// Whether rows of this leaf may be changed. Called before any of them decides
    /// what is done there.
    fn may_change(&self, _leaf: Page<'_>) -> bool {
        true
    }

    /// Whether rows of the leaf `from` may come to the page `to`, which no other thread can reach yet.
    fn may_move(&self, _from: PageId, _to: PageId) -> bool {
        true
    }

    /// Whether any session may guard gaps of this tree; if not, `may_enter` is not called.
    fn guards_gaps(&self) -> bool;
    /// Whether a key may come in right below `next`, or behind the last key. Ghosts are keys as well.
    fn may_enter(&self, next: Option<&Key>) -> bool;
}

/// A gate that allows everything.
pub(super) struct Open;

impl Gate for Open {
    fn guards_gaps(&self) -> bool {
        false
    }

    fn may_enter(&self, _next: Option<&Key>) -> bool {
        true
    }
}

/// Calls a gate for a leaf, latched EX.
pub(super) fn may_change(leaf: &PageBuf, gate: &dyn Gate) -> Result<(), AccessError> {
    match gate.may_change(Page::new(leaf)) {
        true => Ok(()),
        false => Err(AccessError::Barred),
    }
}

impl Tree {
    /// Calls the gate for a row that goes to `spot` of this leaf, latched EX.
    pub(super) fn pass(
        &self,
        leaf: &PageBuf,
        spot: Spot,
        gate: &dyn Gate,
    ) -> Result<(), AccessError> {
        // In the place of a ghost no gap changes.
        let Spot::Free(slot) = spot else {
            return Ok(());
        };
        if !gate.guards_gaps() {
            return Ok(());
        }
        let free = if slot < Page::new(leaf).slot_count() {
            gate.may_enter(Some(&self.key_at(leaf, slot)?))
        } else {
            self.pass_below_right(leaf, gate)?
        };
        if free {
            Ok(())
        } else {
            Err(AccessError::Barred)
        }
    }

    /// Calls the gate for a key behind the last row of this leaf.
    fn pass_below_right(&self, leaf: &PageBuf, gate: &dyn Gate) -> Result<bool, AccessError> {
        let mut next = Page::new(leaf).next();
        let mut held = None;
        while !next.is_none() {
            let right = self.fetch(next, Ex)?;
            self.expect_level(&right, 0)?;
            if Page::new(&right).slot_count() > 0 {
                return Ok(gate.may_enter(Some(&self.key_at(&right, 0)?)));
            }
            next = Page::new(&right).next();
            // Each leaf is released only after its neighbour is latched, as readers do it.
            held = Some(right);
        }
        drop(held);
        Ok(gate.may_enter(None))
    }
}
