//! Inserting a row.

use super::gate::{Gate, Open, Spot, may_change};
use super::handle::Tree;
use super::ints::Ends;
use super::remove::REMOVAL_LOG_BYTES;
use super::side::Side;
use crate::shape::MAX_WHOLE_KEY_BYTES;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, PageBuf, PageId, SLOT_SIZE, Status};
use furrow_pool::{Ex, PageWrite};
use furrow_txn::Mini;

/// A row to insert, how it is undone where it gets a slot of its own, and the gate that may bar it.
#[derive(Clone, Copy)]
struct New<'a> {
    key: &'a Key,
    row: &'a [u8],
    undo: &'a [u8],
    gate: &'a dyn Gate,
}

impl Tree {
    /// Inserts a leaf row. `row` is encoded by the leaf layout and `key` is its whole key, the uniquifier
    /// included.
    ///
    /// The caller holds the locks: X on the key.
    pub fn insert(&self, by: &mut By<'_>, key: &Key, row: &[u8]) -> Result<(), AccessError> {
        self.insert_gated(by, key, row, &Open)
    }

    /// Inserts a leaf row, unless the gate bars it: [`AccessError::Barred`], and nothing has changed.
    pub fn insert_gated(
        &self,
        by: &mut By<'_>,
        key: &Key,
        row: &[u8],
        gate: &dyn Gate,
    ) -> Result<(), AccessError> {
        debug_assert_eq!(
            key.len(),
            self.parts.shape.key.len(),
            "a row is found by its whole key"
        );
        let size = key.size_bytes();
        if size > MAX_WHOLE_KEY_BYTES {
            return Err(AccessError::KeyTooLarge { len: size });
        }
        let undo = UndoOp::tree_insert(self.parts.rowset, key);
        by.prepare(self.store(), row.len() + 64, undo.len())?;
        let (leaf, ends) = match self.last_leaf_for(key)? {
            Some(leaf) => (leaf, None),
            None => self.leaf_and_ends_for(key, Ex)?,
        };
        self.note_if_last(&leaf);
        let new = New {
            key,
            row,
            undo: &undo,
            gate,
        };
        match self.insert_here(by, leaf, new, ends)? {
            None => Ok(()),
            Some(leaf) => {
                let near = leaf.key().page;
                drop(leaf);
                self.insert_splitting(by, new, near)
            }
        }
    }

    /// Where the row goes on this leaf; in a unique tree rows that equal the visible key count as the same.
    pub(super) fn spot(
        &self,
        page: &PageBuf,
        key: &Key,
        ends: Option<Ends>,
    ) -> Result<Spot, AccessError> {
        let slot = self.rows_before_within(page, 0, key, Side::Before, ends)?;
        if slot < Page::new(page).slot_count()
            && self.parts.shape.compare_at(page, slot, key)?.is_eq()
        {
            let status = Status(self.row_at(page, slot)?.first().copied().unwrap_or(0));
            return Ok(if status.is_ghost() {
                Spot::Ghost(slot)
            } else {
                Spot::Taken
            });
        }
        Ok(Spot::Free(slot))
    }

    fn duplicate(&self) -> AccessError {
        AccessError::DuplicateKey {
            index_id: self.parts.index_id,
        }
    }

    /// Inserts on this leaf; hands it back when the row does not fit.
    fn insert_here<'p>(
        &'p self,
        by: &mut By<'_>,
        leaf: PageWrite<'p>,
        new: New<'_>,
        ends: Option<Ends>,
    ) -> Result<Option<PageWrite<'p>>, AccessError> {
        may_change(&leaf, new.gate)?;
        let spot = self.spot(&leaf, new.key, ends)?;
        if !self.fits_at(by, &leaf, spot, new.row.len())? {
            return Ok(Some(leaf));
        }
        self.pass(&leaf, spot, new.gate)?;
        let mut mini = Mini::new(self.store());
        match spot {
            Spot::Free(slot) => {
                self.recent.note(leaf.key().page, slot);
                debug_assert!(
                    slot <= Page::new(&leaf).slot_count(),
                    "a slot between rows or behind them"
                );
                let at = mini.adopt(leaf);
                mini.push(
                    at,
                    &Change::InsertRow {
                        slot,
                        bytes: new.row,
                    },
                );
                by.commit(mini, new.undo)?;
            }
            Spot::Ghost(slot) => {
                // The ghost may be of the same transaction: undoing brings it back, so that the operation
                // that deleted it can be undone too.
                let ghost = self.row_at(&leaf, slot)?;
                let undo = UndoOp::tree_update(self.parts.rowset, new.key, ghost);
                let view = Page::new(&leaf);
                let (before, after) = (view.room_of(ghost.len()), view.room_of(new.row.len()));
                by.resizes(self.store(), view.page_id(), before, after);
                let at = mini.adopt(leaf);
                mini.push(
                    at,
                    &Change::ReplaceRow {
                        slot,
                        bytes: new.row,
                    },
                );
                mini.push(at, &Change::SetGhosts { delta: -1 });
                by.commit(mini, &undo)?;
            }
            Spot::Taken => return Err(self.duplicate()),
        }
        Ok(None)
    }

    /// Whether there is space for the row; a row that must not be inserted at all is an error.
    fn fits_at(
        &self,
        by: &By<'_>,
        leaf: &PageBuf,
        spot: Spot,
        len: usize,
    ) -> Result<bool, AccessError> {
        let view = Page::new(leaf);
        match spot {
            Spot::Taken => Err(self.duplicate()),
            // No space is reserved on a page without rows.
            Spot::Free(_) if view.slot_count() == 0 => Ok(view.fits(len)),
            Spot::Free(_) => {
                let left = by.must_leave(self.store(), view.page_id());
                Ok(view.room_of(len) + SLOT_SIZE + left <= usize::from(view.free_count()))
            }
            Spot::Ghost(slot) => self.replacement_fits(by, leaf, slot, len),
        }
    }

    /// Whether a row of this length fits in the place of one, and leaves free what others may need back. The
    /// only row of a page is the caller's own: no space is reserved for others there.
    pub(super) fn replacement_fits(
        &self,
        by: &By<'_>,
        page: &PageBuf,
        slot: u16,
        len: usize,
    ) -> Result<bool, AccessError> {
        let view = Page::new(page);
        let old = self.row_at(page, slot)?.len();
        let (before, after) = (view.room_of(old), view.room_of(len));
        if after <= before {
            return Ok(true);
        }
        let left = match view.slot_count() {
            1 => 0,
            _ => by.must_leave(self.store(), view.page_id()),
        };
        Ok(after + left <= before + usize::from(view.free_count()))
    }

    /// Inserts a row that did not fit: descends again, splits what has to be split, and inserts, all in one
    /// step.
    fn insert_splitting(
        &self,
        by: &mut By<'_>,
        new: New<'_>,
        near: PageId,
    ) -> Result<(), AccessError> {
        let New {
            key,
            row,
            undo,
            gate,
        } = new;
        loop {
            let mut pages = self.reserve_for_split(by, near)?;
            let mut path = self.path_for_split(key)?;
            let Some(step) = path.pop() else { continue };
            may_change(&step.page, gate)?;
            let spot = self.spot(&step.page, key, None)?;
            if self.fits_at(by, &step.page, spot, row.len())? {
                drop(path);
                // Another thread has freed space on the leaf.
                if self.insert_here(by, step.page, new, None)?.is_none() {
                    return Ok(());
                }
                continue;
            }
            let in_one = match spot {
                Spot::Free(slot) if self.new_row_fits_a_half(&step.page, slot, row)? => Some(slot),
                // A longer row over a ghost, or a row that needs a page of its own: split the leaf first,
                // then try again.
                _ => None,
            };
            path.push(step);
            if let Some(step) = path.last() {
                self.pass(&step.page, spot, gate)?;
            }
            let Some(slot) = in_one else {
                self.split_only(path, &mut pages, gate)?;
                continue;
            };
            let mut mini = Mini::new(self.store());
            let new = Some((slot, key, row));
            let right = self.plan_split(&mut mini, path, &mut pages, new, gate)?;
            debug_assert!(!mini.is_empty(), "a split changes pages");
            // Undone, the row may leave an empty page.
            by.keep_for_undo(REMOVAL_LOG_BYTES);
            by.commit(mini, undo)?;
            pages.done();
            if let Some(page) = right {
                self.note_last_leaf(page);
            }
            return Ok(());
        }
    }
}
