//! Undo of loads: the rows between two keys are removed, wherever they are by then.
//!
//! One redo-only record removes the rows of each page; it may be repeated. Only after the last one, a
//! compensation record ends the undo. After a crash between them the undo starts again with the remaining
//! rows.
//! A page that was filled without logging its rows may be empty by then, or have its rows, depending on what
//! redo found on the disk. Each attempt rebuilds it by a plain `Format`, because the log has no other record
//! of the page's contents.

use super::handle::Tree;
use super::side::Side;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, PageInit, Status};
use furrow_pool::Ex;
use furrow_txn::{Author, Mini};

impl Tree {
    /// Removes the rows that a load has put on new pages, possibly without logging them; `firsts` are the
    /// keys that lead to these pages.
    pub(crate) fn remove_filled(
        &self,
        by: &mut By<'_>,
        firsts: &[Key],
        last: &Key,
    ) -> Result<(), AccessError> {
        let Some(first) = firsts.first() else {
            return Err(AccessError::WrongUndo);
        };
        // From right to left, so that each page still has its left neighbour.
        for key in firsts.iter().rev() {
            if self.empty_leaf(key, first, last)? {
                // A failure here leaves only an empty leaf, so it must not fail the rollback.
                let _tidied = self.remove_empty_leaf(by, key);
            }
        }
        // The rows that splits have moved off these pages since.
        self.remove_loaded(by, first, last)
    }

    /// Rebuilds the leaf that a key leads to as an empty page, if all its rows lie between two keys or it has
    /// none; returns whether it did.
    fn empty_leaf(&self, key: &Key, first: &Key, last: &Key) -> Result<bool, AccessError> {
        let leaf = self.leaf_for(key, Ex)?;
        let view = Page::new(&leaf);
        let from = self.rows_before(&leaf, 0, first, Side::Before)?;
        let to = self.rows_before(&leaf, 0, last, Side::Behind)?;
        if from > 0 || to < view.slot_count() || leaf.key().page == self.root() {
            return Ok(false);
        }
        let init = PageInit {
            type_flags: view.type_flags(),
            level: view.level(),
            prev: view.prev(),
            next: view.next(),
            ..PageInit::new(
                leaf.key().page,
                view.page_type(),
                view.unit(),
                view.pminlen(),
            )
        };
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(leaf);
        mini.push(at, &Change::Format(init));
        mini.commit(&Author::System)?;
        Ok(true)
    }

    /// Removes all rows from one key to another: the undo of a load.
    pub(crate) fn remove_loaded(
        &self,
        by: &mut By<'_>,
        first: &Key,
        last: &Key,
    ) -> Result<(), AccessError> {
        while let Some(emptied) = self.remove_some(first, last)? {
            if let Some(key) = emptied {
                // A failure here leaves only an empty leaf, so it must not fail the rollback.
                let _tidied = self.remove_empty_leaf(by, &key);
            }
        }
        // The undo is complete only now.
        by.commit(Mini::new(self.store()), &[])?;
        Ok(())
    }

    /// Removes the rows of one page between two keys. `None` if there are none; otherwise the key that leads
    /// to the page, if the page is empty now.
    fn remove_some(&self, first: &Key, last: &Key) -> Result<Option<Option<Key>>, AccessError> {
        let mut leaf = self.leaf_at(first, Side::Before, Ex, None)?;
        let mut from = self.rows_before(&leaf, 0, first, Side::Before)?;
        while from >= Page::new(&leaf).slot_count() {
            let next = Page::new(&leaf).next();
            if next.is_none() {
                return Ok(None);
            }
            leaf = self.fetch(next, Ex)?;
            from = self.rows_before(&leaf, 0, first, Side::Before)?;
        }
        let to = self.rows_before(&leaf, 0, last, Side::Behind)?;
        let Some(count) = to.checked_sub(from).filter(|&count| count > 0) else {
            return Ok(None);
        };
        let emptied = match count == Page::new(&leaf).slot_count() {
            true => Some(self.key_at(&leaf, from)?),
            false => None,
        };
        let mut ghosts = 0;
        for slot in from..to {
            let status = self.row_at(&leaf, slot)?.first().copied();
            ghosts += i16::from(Status(status.unwrap_or(0)).is_ghost());
        }
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(leaf);
        mini.push(at, &Change::RemoveRows { from, count });
        if ghosts > 0 {
            mini.push(at, &Change::SetGhosts { delta: -ghosts });
        }
        mini.commit(&Author::System)?;
        Ok(Some(emptied))
    }
}
