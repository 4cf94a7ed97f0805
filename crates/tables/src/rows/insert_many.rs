//! Inserting rows some at a time.
//!
//! 1. Rows are gathered encoded, with their keys.
//! 2. X on the first key, which may wait; and on the keys behind it as far as no other session is in the way.
//! 3. Rows that go to one place of one leaf are inserted by one log record
//!    ([`Tree::insert_many`](furrow_access::Tree::insert_many)); a row that needs more than that by itself.
//!    Where a row goes in alone, the leaves of the rows behind it are requested together.
//!    Each of these steps is a statement: an error leaves the rows in place that were inserted before.

use super::batch::{push_row, takes_batches};
use crate::error::EngineError;
use crate::session::Session;
use crate::table::{RowBuffer, Table};
use furrow_access::{By, Key, LeafHint, LeafHints, RowBatch};
use furrow_txn::lock::LockMode;
use std::ops::Range;
use std::sync::Arc;

/// Rows to be inserted together.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    rows: RowBatch,
    keys: Vec<Key>,
    /// Rows from the front that are in the table.
    done: usize,
    /// Rows from the front whose keys are locked.
    locked: usize,
    /// Marks of the locks between which keys were locked ahead.
    ahead: Range<u64>,
    /// The leaves of the rows that were left when they were looked for, and the number of the first of these.
    hints: Option<(LeafHints, usize)>,
}

impl Gathered {
    /// Whether rows of a table can be gathered.
    pub(super) fn takes(table: &Table) -> bool {
        takes_batches(table)
    }

    /// Adds a row. On an error it is not there.
    pub(super) fn push(&mut self, table: &Table, row: &RowBuffer) -> Result<(), EngineError> {
        row.check_nulls(table)?;
        let key = row.key(table.base())?;
        push_row(&mut self.rows, table, row, false)?;
        self.keys.push(key);
        debug_assert_eq!(self.keys.len(), self.rows.len(), "a key for each row");
        Ok(())
    }

    /// Rows, those included that are in the table already.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.keys.clear();
        (self.done, self.locked, self.hints) = (0, 0, None);
    }

    /// The transaction that has locked keys, and the table, is over.
    pub(super) fn forget_locks(&mut self) {
        (self.locked, self.hints) = (self.done, None);
    }

    /// Where the leaf was of the first row that is left.
    fn hint(&self) -> Option<LeafHint> {
        let (hints, first) = self.hints.as_ref()?;
        hints.get(self.done - first)
    }

    /// Whether all rows are in the table.
    pub(super) fn is_done(&self) -> bool {
        self.done == self.keys.len()
    }
}

impl Session {
    /// Inserts one row or more from the front of those that are left.
    pub(super) fn insert_gathered(
        &mut self,
        table: &Arc<Table>,
        rows: &mut Gathered,
    ) -> Result<(), EngineError> {
        let base = table.base();
        let Some(first) = rows.keys.get(rows.done) else {
            return Ok(());
        };
        if rows.locked <= rows.done {
            self.lock_for_change(table)?;
            if !self.approach(table, base, first, LockMode::X)? {
                let resource = self.row_resource(table, first);
                self.lock_row(table, resource, LockMode::X)?;
            }
            let before = self.db.locks.mark(&self.owner);
            let free = self.lock_free(table, rows.keys.get(rows.done + 1..))?;
            rows.locked = rows.done + 1 + free;
            rows.ahead = before..self.db.locks.mark(&self.owner);
        }
        debug_assert!(
            self.owner.held(&self.object(table)).is_some(),
            "what locks a key has locked its table"
        );
        let keys = rows.keys.get(rows.done..rows.locked).unwrap_or_default();
        let keys = match rows.hint() {
            None => keys,
            // Rows in no order: it is hardly ever more than one.
            Some(_) => keys.get(..2).unwrap_or(keys),
        };
        let mut left = rows.rows.iter_from(rows.done);
        let count = self.enter_many((table, base), (keys, rows.hint()), left.clone())?;
        if count > 0 {
            if let Some(txn) = &mut self.txn {
                base.rowset.count(&mut By::Txn(txn), count as i64);
            }
            let bytes: usize = left.take(count).map(<[u8]>::len).sum();
            self.owner.add_log_used(bytes as u64);
        } else if let (Some(row), Some(key)) = (left.next(), keys.first()) {
            self.insert_in(table, base, key, row)?;
        }
        rows.done += count.max(1);
        if count == 1 && rows.hints.is_none() {
            let left = rows.keys.get(rows.done..).unwrap_or_default();
            rows.hints = Some((base.tree()?.look_ahead(left), rows.done));
        } else if count > 1 && rows.hints.is_some() {
            // They are in an order after all: none is looked for any more.
            rows.hints = Some((LeafHints::default(), rows.done));
        }
        Ok(())
    }

    /// Gives the locks of keys back that were locked ahead of rows which do not come.
    pub(super) fn give_back_gathered(&mut self, table: &Table, rows: &Gathered) {
        let resource = |key: &Key| self.row_resource(table, key);
        let (inserted, left) = rows.keys.split_at(rows.done.min(rows.keys.len()));
        for key in left.iter().take(rows.locked.saturating_sub(rows.done)) {
            let resource = resource(key);
            // The row before a duplicate of it keeps its lock.
            if inserted
                .iter()
                .any(|key| self.row_resource(table, key) == resource)
            {
                continue;
            }
            let (locks, ahead) = (&self.db.locks, rows.ahead.clone());
            locks.unlock_taken(&self.owner, &resource, LockMode::X, ahead);
        }
    }

    /// Locks keys X as far as that needs no waiting; gives their number.
    fn lock_free(&mut self, table: &Table, keys: Option<&[Key]>) -> Result<usize, EngineError> {
        // Sessions that lock pages, or gaps, are met row by row: no other lock is held while this one waits
        // for them.
        if table.common.has_page_lockers() || table.common.has_range_readers() {
            return Ok(0);
        }
        for (count, key) in keys.unwrap_or_default().iter().enumerate() {
            if self.covers_rows(table, LockMode::X) {
                continue;
            }
            let resource = self.row_resource(table, key);
            let (locks, owner) = (&self.db.locks, &self.owner);
            let taken = locks.lock_at_once(owner, table.id, resource, LockMode::X);
            if !matches!(taken, Ok(Some(_))) {
                return Ok(count);
            }
            self.count_row_lock(table)?;
        }
        Ok(keys.map_or(0, <[Key]>::len))
    }
}
