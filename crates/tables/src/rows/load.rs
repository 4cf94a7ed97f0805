//! The rows of one statement on their way into a table, a batch at a time: an INSERT of a query with TABLOCK.
//!
//! What a [`BulkInserter`](super::BulkInserter) does, for a caller that needs the session between two rows,
//! to read the next one. The table is locked X with the first row. All is part of the statement that the
//! caller has begun ([`Session::begin_statement`]): when a batch fails, the statement does.
//!
//! # What can fail
//! The errors of single rows. A duplicate key is reported when its batch is written, not when the row is
//! pushed.

use super::bulk::{FLUSH_BYTES, push_row, takes_batches};
use super::insert::fill_defaults;
use crate::error::EngineError;
use crate::session::Session;
use crate::table::{RowBuffer, Table};
use furrow_access::RowBatch;
use furrow_txn::lock::LockMode;
use furrow_types::Value;
use std::sync::Arc;

/// Rows of a statement, gathered.
#[derive(Debug)]
pub struct BulkRows {
    table: Arc<Table>,
    columns: Vec<usize>,
    row: RowBuffer,
    batch: RowBatch,
    minimal: bool,
    locked: bool,
}

impl Session {
    /// Prepares to put many rows of which these columns are given in a table that is locked as a whole;
    /// `None` where rows go in one by one: heaps, tables with other indexes than the clustered one.
    pub fn bulk_rows(&self, table: &Arc<Table>, columns: &[usize]) -> Option<BulkRows> {
        takes_batches(table).then(|| BulkRows {
            table: Arc::clone(table),
            columns: columns.to_vec(),
            row: RowBuffer::default(),
            batch: RowBatch::new(),
            minimal: self.db.logs_minimally(),
            locked: false,
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
            if !rows.locked {
                session.db.check_filegroups(&table)?;
                session.lock_table(&table, LockMode::X)?;
                rows.locked = true;
            }
            let row = &mut rows.row;
            row.clear(table.columns.len());
            for (&column, value) in rows.columns.iter().zip(values) {
                session.allow_identity(&table, column)?;
                row.set(&table, column, value)?;
            }
            fill_defaults(&table, &rows.columns, row)?;
            let identity = session.identity_of_row(&table, &rows.columns, row)?;
            push_row(&mut rows.batch, &table, row, true)?;
            if rows.batch.size_bytes() >= FLUSH_BYTES {
                session.put_bulk_rows(rows)?;
            }
            Ok(identity)
        })
    }

    /// Puts what has been gathered in the table.
    pub fn finish_bulk_rows(&mut self, rows: &mut BulkRows) -> Result<(), EngineError> {
        if rows.batch.is_empty() {
            return Ok(());
        }
        self.statement(|session| session.put_bulk_rows(rows))
    }

    fn put_bulk_rows(&mut self, rows: &mut BulkRows) -> Result<(), EngineError> {
        let loaded = self.load_batch(&rows.table, &rows.batch, rows.minimal);
        rows.batch.clear();
        loaded
    }
}
