//! Inserting a row.

use super::Tree;
use super::node::Side;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, PageBuf, Status};
use furrow_pool::{Ex, PageWrite};
use furrow_txn::Mini;

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

impl Tree {
    /// Inserts a leaf row. `row` is encoded by the leaf layout and `key` is its whole key, the uniquifier included.
    ///
    /// The caller holds the locks: X on the key.
    pub fn insert(&self, by: &mut By<'_>, key: &Key, row: &[u8]) -> Result<(), AccessError> {
        let undo = UndoOp::TreeInsert(key.clone()).encode(self.parts.rowset);
        by.prepare(self.store(), row.len() + undo.len() + 64)?;
        let leaf = match self.last_leaf_for(key)? {
            Some(leaf) => leaf,
            None => self.leaf_for(key, Ex)?,
        };
        match self.insert_here(by, leaf, key, row, &undo)? {
            None => Ok(()),
            Some(leaf) => {
                drop(leaf);
                self.insert_splitting(by, key, row, &undo)
            }
        }
    }

    /// Where the row goes on this leaf; in a unique tree rows that equal the visible key count as the same.
    pub(super) fn spot(&self, page: &PageBuf, key: &Key) -> Result<Spot, AccessError> {
        let slot = self.rows_before(page, 0, key, Side::Before)?;
        if slot < Page::new(page).slot_count()
            && self.parts.shape.compare_at(page, slot, key)?.is_eq()
        {
            let status = Status(self.row_at(page, slot)?.first().copied().unwrap_or(0));
            return Ok(if status.is_ghost() { Spot::Ghost(slot) } else { Spot::Taken });
        }
        Ok(Spot::Free(slot))
    }

    fn duplicate(&self) -> AccessError {
        AccessError::DuplicateKey { index_id: self.parts.index_id }
    }

    /// Inserts on this leaf; hands it back when the row does not fit.
    fn insert_here<'p>(
        &'p self,
        by: &mut By<'_>,
        leaf: PageWrite<'p>,
        key: &Key,
        row: &[u8],
        undo: &[u8],
    ) -> Result<Option<PageWrite<'p>>, AccessError> {
        let mut mini = Mini::new(self.store());
        let spot = self.spot(&leaf, key)?;
        let view = Page::new(&leaf);
        let fits = match spot {
            Spot::Taken => return Err(self.duplicate()),
            Spot::Free(_) => view.fits(row.len()),
            Spot::Ghost(slot) => self.replacement_fits(&leaf, slot, row.len())?,
        };
        if !fits {
            return Ok(Some(leaf));
        }
        let at = mini.adopt(leaf);
        Self::push_row(&mut mini, at, spot, row);
        by.commit(mini, undo)?;
        Ok(None)
    }

    pub(super) fn push_row(mini: &mut Mini<'_>, at: usize, spot: Spot, row: &[u8]) {
        match spot {
            Spot::Free(slot) => mini.push(at, &Change::InsertRow { slot, bytes: row }),
            Spot::Ghost(slot) => {
                mini.push(at, &Change::ReplaceRow { slot, bytes: row });
                mini.push(at, &Change::SetGhosts { delta: -1 });
            }
            Spot::Taken => {}
        }
    }

    pub(super) fn replacement_fits(
        &self,
        page: &PageBuf,
        slot: u16,
        len: usize,
    ) -> Result<bool, AccessError> {
        let view = Page::new(page);
        let old = self.row_at(page, slot)?.len();
        Ok(view.room_of(len) <= view.room_of(old) + usize::from(view.free_count()))
    }

    /// Inserts a row that did not fit: descends again, splits what has to be split, and inserts, all in one step.
    fn insert_splitting(
        &self,
        by: &mut By<'_>,
        key: &Key,
        row: &[u8],
        undo: &[u8],
    ) -> Result<(), AccessError> {
        loop {
            let mut pages = self.reserve_for_split(by)?;
            let path = self.path_for_split(key)?;
            let Some((leaf, _)) = path.last() else { continue };
            let spot = self.spot(leaf, key)?;
            let fits = match spot {
                Spot::Taken => return Err(self.duplicate()),
                Spot::Free(_) => Page::new(leaf).fits(row.len()),
                Spot::Ghost(slot) => self.replacement_fits(leaf, slot, row.len())?,
            };
            let mut mini = Mini::new(self.store());
            if fits {
                let Some((leaf, _)) = path.into_iter().next_back() else { continue };
                let at = mini.adopt(leaf);
                Self::push_row(&mut mini, at, spot, row);
                by.commit(mini, undo)?;
                return Ok(());
            }
            let slot = match spot {
                Spot::Free(slot) if self.new_row_fits_a_half(leaf, slot, row)? => slot,
                // A longer row over a ghost, or a row that needs a page of its own: make room first, then try again.
                _ => {
                    self.split_only(path, &mut pages)?;
                    continue;
                }
            };
            let right = self.plan_split(&mut mini, path, &mut pages, Some((slot, key, row)))?;
            by.commit(mini, undo)?;
            pages.done();
            if let Some(page) = right {
                self.note_last_leaf(page);
            }
            return Ok(());
        }
    }
}
