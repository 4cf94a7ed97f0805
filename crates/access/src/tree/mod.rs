//! B+trees: clustered and nonclustered, unique and not.
//!
//! # Structure
//! The root page never moves: when it splits, its rows go to two new pages and it becomes their parent.
//! Leaf pages are linked both ways. Slot 0 of a non-leaf page stands for "less than every key of the next
//! slot"; its key is not compared.
//!
//! # Latching
//! Readers couple SH latches from the root down. A writer does the same and latches only the leaf EX. If the
//! row does not fit, it releases everything, reserves pages, and descends again: with SH latches to the
//! leaf's parent, which nearly always has space for an entry, else with EX latches from the root, releasing
//! all ancestors of a page that has. Order: higher levels first, within a level from left to right, so that
//! the right neighbours of pages that may split or go are latched before anything below them; maps last. A
//! step to the left never waits with a latch held.
//!
//! Where keys begin with an integer, descents to one key do not latch the root, nor the other pages above the
//! leaves that are used most, as long as copies of these pages are valid: see `copies`.
//!
//! # Shrinking
//! A deleted row stays as a ghost until a purge. A leaf that a purge or a rollback empties is taken out and
//! its page freed (see `remove`); the last one of a tree stays.
//!
//! # Logging
//! A split with its new pages, its parent's entry and the row that caused it is one mini-transaction. Row
//! operations are undone by key; a split is not undone.

mod batch;
mod bulk;
mod copies;
mod cursor;
mod delete;
mod descend;
mod divide;
mod gate;
mod handle;
mod insert;
mod insert_many;
mod ints;
mod leaf_hints;
mod leaves_ahead;
mod links;
mod node;
mod recent;
mod remove;
mod resting;
mod resting_place;
mod side;
mod split;
mod unchecked;
mod unload;
mod update;
mod upper_pages;
mod uppers;
mod word;

pub use batch::RowBatch;
pub use cursor::{Bound, Cursor, Direction, InPlace, PagePass, RowCheck, Step, TreeScan, Visitor};
pub use delete::Purge;
pub use gate::Gate;
pub use handle::{Tree, TreeParts};
pub use leaf_hints::{LeafHint, LeafHints};

use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::PageId;

impl Tree {
    /// Reads the row with this (whole) key, as it is now; no locks are tested. The closure gets the row's
    /// bytes.
    pub fn get<T>(
        &self,
        key: &Key,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, AccessError> {
        if self.root().is_none() {
            return Ok(None);
        }
        if self.parts.shape.at_rest && !self.is_in_our_order()? {
            return self.find_in_any_order(key, with);
        }
        let (leaf, ends) = self.leaf_and_ends_for(key, furrow_pool::Sh)?;
        let Some(slot) = self.find_exact(&leaf, key, ends)? else {
            return Ok(None);
        };
        let row = self.row_at(&leaf, slot)?;
        Ok(
            (!furrow_format::Status(row.first().copied().unwrap_or(0)).is_ghost())
                .then(|| with(row)),
        )
    }

    /// The same, with the page where the row is or would be, and called for a row that is not there as well:
    /// its place is latched. Not for trees at rest.
    pub fn look<T>(
        &self,
        key: &Key,
        with: impl FnOnce(PageId, Option<&[u8]>) -> T,
    ) -> Result<T, AccessError> {
        let (leaf, ends) = self.leaf_and_ends_for(key, furrow_pool::Sh)?;
        let row = match self.find_exact(&leaf, key, ends)? {
            Some(slot) => Some(self.row_at(&leaf, slot)?),
            None => None,
        };
        let ghost =
            |row: &&[u8]| furrow_format::Status(row.first().copied().unwrap_or(0)).is_ghost();
        Ok(with(leaf.key().page, row.filter(|row| !ghost(row))))
    }

    /// Shows the leaf that holds, or would hold, the row with this whole key.
    pub fn at_leaf<T>(
        &self,
        key: &Key,
        with: impl FnOnce(furrow_format::Page<'_>) -> T,
    ) -> Result<T, AccessError> {
        let leaf = self.leaf_for(key, furrow_pool::Sh)?;
        Ok(with(furrow_format::Page::new(&leaf)))
    }

    /// Undoes an operation on this tree, as the undo part of its log record describes it.
    pub fn undo(&self, by: &mut By<'_>, op: &UndoOp) -> Result<(), AccessError> {
        match op {
            UndoOp::TreeInsert(key) => self.remove(by, key),
            UndoOp::TreeInsertMany(keys) => self.remove_many(by, keys),
            UndoOp::TreeDelete(key) => self.undelete(by, key),
            UndoOp::TreeUpdate(key, old) => self.restore(by, key, old),
            UndoOp::TreeLoad { first, last, .. } => self.remove_loaded(by, first, last),
            UndoOp::TreeFill { firsts, last, .. } => self.remove_filled(by, firsts, last),
            _ => Err(AccessError::WrongUndo),
        }
    }
}
