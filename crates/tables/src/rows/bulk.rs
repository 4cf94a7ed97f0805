//! Loading many rows in key order.
//!
//! 1. Values are pushed as into an [`Inserter`](super::Inserter), and each row is encoded at once
//!    behind the others of its batch: no memory is taken for a row.
//! 2. Rows go into the table some pages at a time, behind its last row, under X on the table, so that
//!    no row needs a lock of its own. What does not belong behind the last row is inserted row by row,
//!    under the same lock.
//! 3. Outside of a transaction each `rows_per_batch` rows are one: committed, and durable, when they
//!    are in. Inside one, the load is one statement of it.
//!
//! # Minimal logging
//! In a database of the simple recovery model the log gets the rows of a few pages of each batch only. The
//! others go to their new pages, and these to the disk before the transaction logs anything else, its commit
//! above all. A load is undone and survives a crash like any other; `furrow_txn`'s `fills` proves it. A batch
//! of less than [`MINIMAL_BYTES`] is cheaper to log than to force.
//!
//! Heaps, tables with more than one index, or whose clustered key is not unique, take each row by itself:
//! correct, not fast.
//!
//! # What can fail
//! As for single rows. A row that cannot be made (515, 2628, ...) is not in the batch, and the next one
//! may be pushed. When a batch fails (2627, 1205, a full disk), the load is undone: outside of a
//! transaction back to the last commit, inside one altogether; a load that is dropped before
//! [`BulkInserter::finish`] as well.

use super::batch::{push_row, takes_batches};
use super::inserter::Inserter;
use crate::error::EngineError;
use crate::schema::MAX_KEY_BYTES;
use crate::session::{Session, SessionSavepoint};
use crate::table::Table;
use furrow_access::{By, RowBatch};
use furrow_io::sync::atomic::Ordering;
use furrow_txn::lock::LockMode;
use furrow_types::Value;
use std::sync::Arc;

/// Rows are put in the tree when so many bytes have come together: what fits in a core's own cache.
pub(super) const FLUSH_BYTES: usize = 256 << 10;

/// Batches of fewer bytes go through the log.
const MINIMAL_BYTES: usize = 64 << 10;

/// How a load goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BulkOptions {
    /// Outside of a transaction: rows that are committed together; 0 for all of them.
    pub rows_per_batch: usize,
    /// Whether rows may go to new pages past the log: these are durable before the commit is. Only a database
    /// of the simple recovery model does it; others log all rows.
    pub minimal_logging: bool,
}

impl Default for BulkOptions {
    fn default() -> BulkOptions {
        BulkOptions {
            rows_per_batch: 50_000,
            minimal_logging: true,
        }
    }
}

/// Loads rows: values are pushed in the order of the columns it was made with.
#[derive(Debug)]
pub struct BulkInserter<'s> {
    /// The row under way, and the session.
    values: Inserter<'s>,
    options: BulkOptions,
    batch: RowBatch,
    /// Rows of the present transaction or statement, those in the batch included.
    pending: usize,
    /// Rows that are in to stay, as far as this load is concerned.
    done: u64,
    /// Whether batches can be appended to the clustered index.
    fast: bool,
    /// Whether full pages need not go through the log.
    minimal: bool,
    /// Whether a key can exceed what an index takes: then each one is looked at.
    key_may_be_long: bool,
    /// Begun, and not ended yet.
    begun: Option<Begun>,
}

/// What a load goes back to.
#[derive(Debug, Clone, Copy)]
enum Begun {
    /// Before its own transaction.
    Own,
    /// A place in the caller's.
    Inside(SessionSavepoint),
}

impl Session {
    /// Prepares to load many rows of which these columns are given, best in the order of the clustered key.
    pub fn bulk_inserter<'s>(
        &'s mut self,
        table: &Arc<Table>,
        columns: &[usize],
        options: BulkOptions,
    ) -> Result<BulkInserter<'s>, EngineError> {
        let fast = takes_batches(table);
        let key = &table.base().shape().key;
        let minimal = options.minimal_logging && self.db.logs_minimally();
        let longest = key
            .iter()
            .map(|c| usize::from(c.data_type.max_in_row_len()));
        Ok(BulkInserter {
            values: self.inserter(table, columns)?,
            options,
            batch: RowBatch::new(),
            pending: 0,
            done: 0,
            fast,
            minimal,
            key_may_be_long: longest.sum::<usize>() > MAX_KEY_BYTES,
            begun: None,
        })
    }

    /// Puts the rows of a batch in the table. The caller holds X on it.
    pub(super) fn load_batch(
        &mut self,
        table: &Arc<Table>,
        batch: &RowBatch,
        minimal: bool,
    ) -> Result<(), EngineError> {
        let base = table.base();
        let Some(txn) = &mut self.txn else {
            return Err(EngineError::Damaged(
                "a load without a transaction".to_owned(),
            ));
        };
        let mut by = By::Txn(txn);
        let tree = base.tree()?;
        let appended = match minimal && batch.size_bytes() >= MINIMAL_BYTES {
            true => tree.fill_batch(&mut by, batch)?,
            false => tree.append_batch(&mut by, batch)?,
        };
        base.rowset.count(&mut by, appended as i64);
        self.owner.add_log_used(batch.size_bytes() as u64);
        let mut buffer = std::mem::take(&mut self.row);
        let mut insert = || {
            for row in batch.iter().skip(appended) {
                buffer.load(table, base, row, None)?;
                self.insert_row(table, &mut buffer)?;
            }
            Ok(())
        };
        let inserted = insert();
        self.row = buffer;
        inserted
    }
}

impl BulkInserter<'_> {
    /// The next column's value.
    pub fn value(&mut self, value: &Value) -> Result<&mut Self, EngineError> {
        self.values.value(value)?;
        Ok(self)
    }

    /// An integer for the next column.
    #[inline]
    pub fn i64(&mut self, value: i64) -> Result<&mut Self, EngineError> {
        self.values.i64(value)?;
        Ok(self)
    }

    /// Bytes for the next column, which is `binary` or `varbinary`.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) -> Result<&mut Self, EngineError> {
        self.values.bytes(value)?;
        Ok(self)
    }

    /// Text for the next column.
    #[inline]
    pub fn str(&mut self, value: &str) -> Result<&mut Self, EngineError> {
        self.values.str(value)?;
        Ok(self)
    }

    /// NULL for the next column.
    pub fn null(&mut self) -> Result<&mut Self, EngineError> {
        self.values.null()?;
        Ok(self)
    }

    /// Forgets the values pushed since the last row: the next value is the first of a row.
    pub fn forget_row(&mut self) {
        self.values.forget_row();
    }

    /// The column's own default for the next column.
    pub fn default(&mut self) -> Result<&mut Self, EngineError> {
        self.values.default()?;
        Ok(self)
    }

    /// Rows that are in to stay: committed, outside of a transaction.
    pub fn rows_done(&self) -> u64 {
        self.done
    }

    /// Ends the row. It is in the table with its batch. After an error that is the row's own, the next
    /// one may be pushed.
    pub fn insert(&mut self) -> Result<(), EngineError> {
        if self.begun.is_none() {
            self.begin()?;
        }
        let (fast, key_may_be_long) = (self.fast, self.key_may_be_long);
        let batch = &mut self.batch;
        let first = batch.is_empty();
        let pushed = self
            .values
            .with_row(first, |session, table, row| match fast {
                true => push_row(batch, table, row, key_may_be_long),
                false => session.statement(|session| {
                    session.lock_for_change(table)?;
                    session.insert_row(table, row)
                }),
            });
        match pushed {
            Ok(()) => {}
            // It has lost its transaction.
            Err(e) if !self.values.session().in_transaction() => return Err(self.failed(e)),
            Err(e) => return Err(e),
        }
        self.pending += 1;
        if self.batch.size_bytes() >= FLUSH_BYTES {
            self.flush()?;
        }
        if self.options.rows_per_batch > 0 && self.pending >= self.options.rows_per_batch {
            self.end_batch()?;
        }
        Ok(())
    }

    /// Puts what is left in the table and ends the load; gives the number of rows loaded.
    pub fn finish(mut self) -> Result<u64, EngineError> {
        self.flush()?;
        if self.begun.is_some() {
            self.commit()?;
        }
        Ok(self.done)
    }

    fn begin(&mut self) -> Result<(), EngineError> {
        let session = self.values.session();
        session.db.check_changes()?;
        let begun = if session.in_transaction() {
            Begun::Inside(session.savepoint()?)
        } else {
            session.begin()?;
            Begun::Own
        };
        self.begun = Some(begun);
        Ok(())
    }

    /// Puts the batch in the table.
    fn flush(&mut self) -> Result<(), EngineError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let (table, batch) = (Arc::clone(self.values.table()), &self.batch);
        let minimal = self.minimal;
        let loaded = self.values.session().statement(|session| {
            session.db.check_filegroups(&table)?;
            session.lock_table(&table, LockMode::X)?;
            session.load_batch(&table, batch, minimal)
        });
        self.batch.clear();
        loaded.map_err(|e| self.failed(e))
    }

    fn end_batch(&mut self) -> Result<(), EngineError> {
        match self.begun {
            Some(Begun::Own) => {
                self.flush()?;
                self.commit()
            }
            _ => Ok(()),
        }
    }

    fn commit(&mut self) -> Result<(), EngineError> {
        if matches!(self.begun.take(), Some(Begun::Own)) {
            let committed = self.values.session().commit();
            if committed.is_err() {
                self.pending = 0;
            }
            committed?;
        }
        let rows = std::mem::take(&mut self.pending) as u64;
        let counted = &self.values.session().db.bulk_rows;
        counted.fetch_add(rows, Ordering::Relaxed);
        self.done += rows;
        Ok(())
    }

    /// Undoes what is not in to stay.
    fn failed(&mut self, error: EngineError) -> EngineError {
        match self.undo() {
            Ok(()) => error,
            Err(worse) => worse,
        }
    }

    fn undo(&mut self) -> Result<(), EngineError> {
        self.batch.clear();
        self.pending = 0;
        let begun = self.begun.take();
        let session = self.values.session();
        if !session.in_transaction() {
            return Ok(());
        }
        match begun {
            Some(Begun::Own) => session.rollback(),
            Some(Begun::Inside(place)) => session.rollback_to(place),
            None => Ok(()),
        }
    }
}

impl Drop for BulkInserter<'_> {
    /// A load that was not finished is undone.
    fn drop(&mut self) {
        if let Err(error) = self.undo() {
            tracing::warn!(%error, "a load that was dropped cannot be undone");
        }
    }
}
