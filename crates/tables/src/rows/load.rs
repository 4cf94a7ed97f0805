//! The rows of one statement on their way into a table, some at a time: an INSERT of several rows.
//!
//! With TABLOCK it is what a [`BulkInserter`](super::BulkInserter) does, and the table is locked X with the
//! first row; without it what [`Inserter::insert_gathered`](super::Inserter::insert_gathered) does, and each
//! row is locked. Both for a caller that needs the session between two rows, to read the next one. All is
//! part of the statement that the caller has begun ([`Session::begin_statement`]): when some rows fail, the
//! statement does.
//!
//! # What can fail
//! The errors of single rows. A duplicate key is reported when its row is inserted, not when it is pushed: a
//! caller whose next row fails calls [`Session::finish_bulk_rows`] first, and reports its error, if there is
//! one.

use super::batch::{push_row, takes_batches};
use super::bulk::FLUSH_BYTES;
use super::insert::fill_defaults;
use super::insert_many::Gathered;
use crate::error::EngineError;
use crate::session::{Granularity, Session};
use crate::table::{RowBuffer, Table};
use furrow_access::RowBatch;
use furrow_txn::lock::LockMode;
use furrow_types::Value;
use std::sync::Arc;

/// Rows that are locked one by one are inserted when so many have come together.
const MOST_GATHERED: usize = 64;

/// Rows of a statement, gathered.
#[derive(Debug)]
pub struct BulkRows {
    table: Arc<Table>,
    columns: Vec<usize>,
    row: RowBuffer,
    way: Way,
}

/// How rows go into the table.
#[derive(Debug)]
enum Way {
    /// In batches, under one lock.
    Load {
        batch: RowBatch,
        minimal: bool,
        locked: bool,
    },
    /// Under a lock for each.
    Rows(Gathered),
}

impl Session {
    /// Prepares to put rows of which these columns are given in a table, which is locked as a whole or row by
    /// row; `None` where rows go in one by one: with locks of pages, and into heaps and tables with other
    /// indexes than the clustered one.
    pub fn bulk_rows(
        &self,
        table: &Arc<Table>,
        columns: &[usize],
        granularity: Granularity,
    ) -> Option<BulkRows> {
        let way = match granularity {
            Granularity::Table => Way::Load {
                batch: RowBatch::new(),
                minimal: self.db.logs_minimally(),
                locked: false,
            },
            // A row that is refused uses no identity values of rows behind it.
            Granularity::Row | Granularity::Rows if table.identity.is_none() => {
                Way::Rows(Gathered::default())
            }
            _ => return None,
        };
        takes_batches(table).then(|| BulkRows {
            table: Arc::clone(table),
            columns: columns.to_vec(),
            row: RowBuffer::default(),
            way,
        })
    }

    /// One row more; gives its identity value. It is in the table with its batch.
    pub fn push_bulk_row(
        &mut self,
        rows: &mut BulkRows,
        values: &[Value],
    ) -> Result<Option<i64>, EngineError> {
        if self.txn.is_none() || rows.columns.len() != values.len() {
            return Err(EngineError::refused(213, &[]));
        }
        self.statement(|session| {
            let table = Arc::clone(&rows.table);
            match &mut rows.way {
                Way::Load { locked: true, .. } => {}
                Way::Load { locked, .. } => {
                    session.db.check_filegroups(&table)?;
                    session.lock_table(&table, LockMode::X)?;
                    *locked = true;
                }
                Way::Rows(_) => session.lock_for_change(&table)?,
            }
            let row = &mut rows.row;
            row.clear(&table);
            for (&column, value) in rows.columns.iter().zip(values) {
                session.allow_identity(&table, column)?;
                row.set(&table, column, value)?;
            }
            fill_defaults(&table, &rows.columns, row)?;
            let identity = session.identity_of_row(&table, &rows.columns, row)?;
            let full = match &mut rows.way {
                Way::Load { batch, .. } => {
                    push_row(batch, &table, row, true)?;
                    batch.size_bytes() >= FLUSH_BYTES
                }
                Way::Rows(gathered) => {
                    gathered.push(&table, row)?;
                    gathered.len() >= MOST_GATHERED
                }
            };
            if full {
                session.put_bulk_rows(rows)?;
            }
            Ok(identity)
        })
    }

    /// Puts what has been gathered in the table, unless the statement has lost its transaction.
    pub fn finish_bulk_rows(&mut self, rows: &mut BulkRows) -> Result<(), EngineError> {
        let none = match &rows.way {
            Way::Load { batch, .. } => batch.is_empty(),
            Way::Rows(gathered) => gathered.is_done(),
        };
        if none || self.txn.is_none() {
            return Ok(());
        }
        self.statement(|session| session.put_bulk_rows(rows))
    }

    fn put_bulk_rows(&mut self, rows: &mut BulkRows) -> Result<(), EngineError> {
        match &mut rows.way {
            Way::Load { batch, minimal, .. } => {
                let loaded = self.load_batch(&rows.table, batch, *minimal);
                batch.clear();
                loaded
            }
            Way::Rows(gathered) => {
                let mut inserted = Ok(());
                while inserted.is_ok() && !gathered.is_done() {
                    inserted = self.insert_gathered(&rows.table, gathered);
                }
                gathered.clear();
                inserted
            }
        }
    }
}
