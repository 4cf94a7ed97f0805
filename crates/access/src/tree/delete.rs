//! Deleting rows: first as ghosts, later for good.

use super::gate::{Gate, Open, may_change};
use super::handle::Tree;
use super::remove::Removal;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, PageBuf, RecordKind, Status};
use furrow_pool::Ex;
use furrow_txn::{Author, Mini};

/// The result of a purge of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purge {
    /// Rows that went.
    pub gone: usize,
    /// Whether nothing is left to be done about the key it was called with: no ghost with that key is on
    /// the leaf, and no empty leaf. Seen under the leaf's latch.
    pub done: bool,
}

impl Tree {
    fn status_at(&self, page: &PageBuf, slot: u16) -> Result<Status, AccessError> {
        Ok(Status(
            self.row_at(page, slot)?.first().copied().unwrap_or(0),
        ))
    }

    fn ghost_kind(&self) -> RecordKind {
        if self.parts.shape.leaf.form().is_data() {
            RecordKind::GhostData
        } else {
            RecordKind::GhostIndex
        }
    }

    /// Marks the row with this whole key as a ghost. The caller holds X on the key.
    pub fn delete(&self, by: &mut By<'_>, key: &Key) -> Result<(), AccessError> {
        self.delete_gated(by, key, &Open)
    }

    /// The same, unless the gate bars it: [`AccessError::Barred`], and nothing has changed.
    pub fn delete_gated(
        &self,
        by: &mut By<'_>,
        key: &Key,
        gate: &dyn Gate,
    ) -> Result<(), AccessError> {
        let undo = UndoOp::TreeDelete(key.clone()).encode(self.parts.rowset);
        self.mark(by, key, &undo, (true, gate))
    }

    /// Brings a ghost back: the undoing of [`Tree::delete`].
    pub(crate) fn undelete(&self, by: &mut By<'_>, key: &Key) -> Result<(), AccessError> {
        self.mark(by, key, &[], (false, &Open))
    }

    fn mark(
        &self,
        by: &mut By<'_>,
        key: &Key,
        undo: &[u8],
        (ghost, gate): (bool, &dyn Gate),
    ) -> Result<(), AccessError> {
        debug_assert_eq!(
            key.len(),
            self.parts.shape.key.len(),
            "a row is found by its whole key"
        );
        by.prepare(self.store(), 64, undo.len())?;
        let (leaf, ends) = self.leaf_and_ends_for(key, Ex)?;
        may_change(&leaf, gate)?;
        let slot = self
            .find_exact(&leaf, key, ends)?
            .ok_or(AccessError::NotFound)?;
        let status = self.status_at(&leaf, slot)?;
        if status.is_ghost() == ghost {
            return Err(AccessError::NotFound);
        }
        let kind = if ghost {
            self.ghost_kind()
        } else {
            self.parts.shape.leaf.form().record_kind()
        };
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(leaf);
        let bytes = [status.with_kind(kind).0];
        mini.push(
            at,
            &Change::PatchRow {
                slot,
                offset: 0,
                bytes: &bytes,
            },
        );
        mini.push(
            at,
            &Change::SetGhosts {
                delta: if ghost { 1 } else { -1 },
            },
        );
        by.commit(mini, undo)?;
        Ok(())
    }

    /// Takes the row out of its page: the undoing of an insert.
    pub(crate) fn remove(&self, by: &mut By<'_>, key: &Key) -> Result<(), AccessError> {
        debug_assert!(
            matches!(by, By::Undo { .. }),
            "only undo removes a row that is not a ghost"
        );
        let (leaf, ends) = self.leaf_and_ends_for(key, Ex)?;
        let slot = self
            .find_exact(&leaf, key, ends)?
            .ok_or(AccessError::NotFound)?;
        let ghost = self.status_at(&leaf, slot)?.is_ghost();
        let was_last = Page::new(&leaf).slot_count() == 1;
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(leaf);
        mini.push(at, &Change::RemoveRow { slot });
        if ghost {
            mini.push(at, &Change::SetGhosts { delta: -1 });
        }
        by.commit(mini, &[])?;
        if was_last {
            // A failure here leaves only an empty leaf, so it must not fail the rollback; a failure that
            // matters has poisoned the database.
            let _tidied = self.remove_empty_leaf(by, key);
        }
        Ok(())
    }

    /// Removes the ghosts of the leaf that holds `key` for which `dead` returns `true`: no transaction can
    /// restore a ghost with this key and row. Removes the leaf too when it is empty then. `dead` is called
    /// under the leaf's latch: it must not block.
    pub fn purge_ghosts(
        &self,
        key: &Key,
        dead: &dyn Fn(&Key, &[u8]) -> bool,
    ) -> Result<Purge, AccessError> {
        self.purge_ghosts_gated(key, &Open, dead)
    }

    /// The same, unless the gate forbids changes of rows of the leaf.
    pub fn purge_ghosts_gated(
        &self,
        key: &Key,
        gate: &dyn Gate,
        dead: &dyn Fn(&Key, &[u8]) -> bool,
    ) -> Result<Purge, AccessError> {
        By::System.prepare(self.store(), 8192, 0)?;
        let leaf = self.leaf_for(key, Ex)?;
        if !gate.may_change(Page::new(&leaf)) {
            let done = false;
            return Ok(Purge { gone: 0, done });
        }
        let rows = Page::new(&leaf).slot_count();
        let mut gone = Vec::new();
        let mut kept = false;
        if Page::new(&leaf).ghost_count() > 0 {
            for slot in 0..rows {
                let row = self.row_at(&leaf, slot)?;
                if !Status(row.first().copied().unwrap_or(0)).is_ghost() {
                    continue;
                }
                let own = self.key_at(&leaf, slot)?;
                if dead(&own, row) {
                    gone.push(slot);
                } else {
                    kept |= self.parts.shape.compare_keys(&own, key).is_eq();
                }
            }
        }
        if gone.is_empty() {
            drop(leaf);
        } else {
            let mut mini = Mini::new(self.store());
            let at = mini.adopt(leaf);
            // From behind, so that slots keep their numbers; neighbours in one change.
            for run in gone.chunk_by(|a, b| a + 1 == *b).rev() {
                if let Some(&from) = run.first() {
                    let count = run.len() as u16;
                    mini.push(at, &Change::RemoveRows { from, count });
                }
            }
            let delta = -(gone.len() as i16);
            debug_assert!(
                gone.is_sorted() && gone.len() <= usize::from(rows),
                "rows of the page, in order"
            );
            mini.push(at, &Change::SetGhosts { delta });
            mini.commit(&Author::System).map_err(AccessError::from)?;
        }
        if gone.len() == usize::from(rows) {
            kept |= self.remove_empty_leaf(&mut By::System, key)? == Removal::Busy;
        }
        Ok(Purge {
            gone: gone.len(),
            done: !kept,
        })
    }
}
