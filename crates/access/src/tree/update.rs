//! Replacing a row by one with the same key.

use super::gate::{Gate, Open, may_change};
use super::handle::Tree;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, Status};
use furrow_pool::Ex;
use furrow_txn::Mini;

impl Tree {
    /// Replaces the row with this whole key. The caller holds X on the key.
    pub fn update(&self, by: &mut By<'_>, key: &Key, row: &[u8]) -> Result<(), AccessError> {
        self.update_gated(by, key, row, &Open)
    }

    /// The same, unless the gate bars it: [`AccessError::Barred`], and nothing has changed.
    pub fn update_gated(
        &self,
        by: &mut By<'_>,
        key: &Key,
        row: &[u8],
        gate: &dyn Gate,
    ) -> Result<(), AccessError> {
        self.replace(by, key, row, (true, gate))
    }

    /// Puts an old row back: the undoing of [`Tree::update`], and of an insert that took a ghost's place.
    pub(crate) fn restore(
        &self,
        by: &mut By<'_>,
        key: &Key,
        row: &[u8],
    ) -> Result<(), AccessError> {
        self.replace(by, key, row, (false, &Open))
    }

    fn replace(
        &self,
        by: &mut By<'_>,
        key: &Key,
        row: &[u8],
        (undoable, gate): (bool, &dyn Gate),
    ) -> Result<(), AccessError> {
        debug_assert!(
            undoable || matches!(by, By::Undo { .. }),
            "only undo changes a row without a trace"
        );
        // The old row is in the log too. It is mostly as long as the new one; only its page has its exact
        // length.
        let mut old_bytes = row.len();
        loop {
            let undo_bytes = old_bytes + key.size_bytes() + 64;
            by.prepare(self.store(), row.len() + 64, undo_bytes)?;
            let (leaf, ends) = self.leaf_and_ends_for(key, Ex)?;
            may_change(&leaf, gate)?;
            let slot = self
                .find_exact(&leaf, key, ends)?
                .ok_or(AccessError::NotFound)?;
            let old = self.row_at(&leaf, slot)?;
            if Status(old.first().copied().unwrap_or(0)).is_ghost() {
                return Err(AccessError::NotFound);
            }
            if old.len() > old_bytes {
                old_bytes = old.len();
                continue;
            }
            if self.replacement_fits(by, &leaf, slot, row.len())? {
                let undo = match undoable {
                    true => UndoOp::tree_update(self.parts.rowset, key, old),
                    false => Vec::new(),
                };
                debug_assert!(
                    undo.len() <= undo_bytes,
                    "log space was promised for the old row"
                );
                let view = Page::new(&leaf);
                let (before, after) = (view.room_of(old.len()), view.room_of(row.len()));
                by.resizes(self.store(), view.page_id(), before, after);
                let mut mini = Mini::new(self.store());
                let at = mini.adopt(leaf);
                mini.push(at, &Change::ReplaceRow { slot, bytes: row });
                if Status(row.first().copied().unwrap_or(0)).is_ghost() {
                    mini.push(at, &Change::SetGhosts { delta: 1 });
                }
                by.commit(mini, &undo)?;
                return Ok(());
            }
            let near = leaf.key().page;
            drop(leaf);
            // The split is a step of the system's: the transaction's log space is not touched.
            let mut pages = self.reserve_for_split(&mut By::System, near)?;
            let path = self.path_for_split(key)?;
            // Meanwhile another thread may have split the leaf, even down to one row.
            let Some(step) = path.last() else { continue };
            may_change(&step.page, gate)?;
            let slot = self
                .find_exact(&step.page, key, None)?
                .ok_or(AccessError::NotFound)?;
            if !self.replacement_fits(by, &step.page, slot, row.len())? {
                self.split_only(path, &mut pages, gate)?;
            }
        }
    }
}
