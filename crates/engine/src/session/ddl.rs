//! DDL as statements.

use super::Session;
use crate::EngineError;
use crate::catalog::name_key;
use crate::schema::{IndexSpec, TableSpec};
use crate::table::{Index, RowBuffer, Table, each_row};
use furrow_access::{AccessError, By, Key, RowBatch};
use furrow_format::catalog::SYSSCHOBJS;
use furrow_txn::lock::{LockMode, Resource};
use std::sync::Arc;

/// Bytes of index rows that are sorted in memory at a time.
const SORT_BYTES: usize = 64 << 20;
/// Bytes of index rows that are put in the index at a time.
const BATCH_BYTES: usize = 256 << 10;

impl Session {
    /// The X lock on a name: of two sessions that make the same one, the second waits.
    fn lock_name(&mut self, schema: &str, name: &str) -> Result<(), EngineError> {
        let text = name_key(schema, name);
        let hash = text.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |h, b| {
            (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3)
        });
        let resource = Resource::key(self.db.id, SYSSCHOBJS.rowset_id(), hash);
        self.db
            .locks
            .lock(&self.owner, resource, LockMode::X, self.timeout)?;
        Ok(())
    }

    fn with_changes<T>(
        &mut self,
        body: impl FnOnce(
            &crate::catalog::Catalog,
            &mut By<'_>,
            &mut crate::catalog::DdlChanges,
        ) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Some(txn) = &mut self.txn else {
            return Err(EngineError::Damaged(
                "a change without a transaction".to_owned(),
            ));
        };
        body(&self.db.catalog, &mut By::Txn(txn), &mut self.ddl)
    }

    /// CREATE TABLE.
    pub fn create_table(&mut self, spec: &TableSpec) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            session.lock_name(&spec.schema, &spec.name)?;
            let made = session
                .with_changes(|catalog, by, changes| catalog.create_table(by, changes, spec))?;
            let object = session.object(&made);
            session
                .db
                .locks
                .lock(&session.owner, object, LockMode::SchM, session.timeout)?;
            Ok(made)
        })
    }

    /// The table under Sch-M, or what keeps it from being had.
    fn own_table(&mut self, schema: &str, name: &str) -> Result<Arc<Table>, EngineError> {
        self.lock_name(schema, name)?;
        let table = self.table_in(schema, name)?;
        self.lock_table(&table, LockMode::SchM)?;
        Ok(table)
    }

    /// DROP TABLE of schema `dbo`.
    pub fn drop_table(&mut self, name: &str) -> Result<(), EngineError> {
        self.statement(|session| {
            let table = session
                .own_table("dbo", name)
                .map_err(|e| match e.number() {
                    208 => {
                        EngineError::refused(3701, &["drop".into(), "table".into(), name.into()])
                    }
                    _ => e,
                })?;
            session.with_changes(|catalog, by, changes| catalog.drop_table(by, changes, &table))
        })
    }

    /// TRUNCATE TABLE of schema `dbo`.
    pub fn truncate_table(&mut self, name: &str) -> Result<(), EngineError> {
        self.statement(|session| {
            let table = session.own_table("dbo", name).map_err(|e| match e.number() {
                208 => {
                    let text = format!(
                        "Cannot find the object \"{name}\" because it does not exist or you do not \
                        have permissions."
                    );
                    crate::schema::refuse(4701, 16, 1, &text)
                }
                _ => e,
            })?;
            session
                .with_changes(|catalog, by, changes| catalog.truncate_table(by, changes, &table))?;
            Ok(())
        })
    }

    /// CREATE INDEX on a table of schema `dbo`: nonclustered, built from the rows there are.
    pub fn create_index(
        &mut self,
        table: &str,
        spec: &IndexSpec,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.own_table("dbo", table).map_err(|e| match e.number() {
                208 => {
                    let text = format!(
                        "Cannot find the object \"{table}\" because it does not exist or you do not \
                        have permissions."
                    );
                    crate::schema::refuse(1088, 16, 12, &text)
                }
                _ => e,
            })?;
            let made = session
                .with_changes(|catalog, by, changes| catalog.create_index(by, changes, &before, spec))?;
            session.fill_index(&made, &spec.name)?;
            Ok(made)
        })
    }

    /// DROP INDEX of a table of schema `dbo`.
    pub fn drop_index(&mut self, table: &str, index: &str) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.own_table("dbo", table)?;
            session.with_changes(|catalog, by, changes| {
                catalog.drop_index(by, changes, &before, index)
            })
        })
    }

    /// Fills a new index. Its rows are sorted, run by run, and each run is put behind the last row as far as
    /// it belongs there, a page at a time: all of the first one. It is not undone row by row, for its unit
    /// goes as a whole if the transaction does.
    fn fill_index(&mut self, table: &Arc<Table>, name: &str) -> Result<(), EngineError> {
        let Some(index) = table.index_named(name) else {
            return Ok(());
        };
        let base = table.base();
        let mut run = Vec::new();
        let (mut bytes, mut count) = (0, 0);
        let mut buffer = RowBuffer::default();
        each_row(&base.rowset, &mut |row, rid| {
            buffer.load(table, base, row, rid)?;
            let mut encoded = Vec::new();
            buffer.encode_row(index, &mut encoded)?;
            bytes += encoded.len();
            run.push((buffer.key(index)?, encoded));
            if bytes > SORT_BYTES {
                count += write_run(table, index, &mut run)?;
                bytes = 0;
            }
            Ok(())
        })?;
        count += write_run(table, index, &mut run)?;
        if let Some(txn) = &mut self.txn {
            index.rowset.count(&mut By::Txn(txn), count);
        }
        Ok(())
    }

    /// DBCC UPDATEUSAGE: counts the rows of a table, while nobody changes them. That it finds other counts
    /// than there are should not happen.
    pub fn update_usage(&mut self, table: &Arc<Table>) -> Result<i64, EngineError> {
        self.reading(|session| {
            session.lock_table(table, LockMode::S)?;
            for index in &table.indexes {
                let mut count = 0;
                each_row(&index.rowset, &mut |_, _| {
                    count += 1;
                    Ok(())
                })?;
                session.db.store.counts.set(index.rowset.id(), count);
                index.rowset.set_rows(count);
            }
            Ok(table.row_count())
        })
    }
}

/// Puts rows in an index that nobody else sees yet, in key order. Gives their number.
fn write_run(
    table: &Table,
    index: &Index,
    run: &mut Vec<(Key, Vec<u8>)>,
) -> Result<i64, EngineError> {
    let (tree, count) = (index.tree()?, run.len() as i64);
    run.sort_unstable_by(|a, b| tree.shape().compare_keys(&a.0, &b.0));
    let mut batch = RowBatch::new();
    let mut rows = run.drain(..).peekable();
    let mut keys = Vec::new();
    while rows.peek().is_some() {
        batch.clear();
        keys.clear();
        while batch.size_bytes() < BATCH_BYTES
            && let Some((key, row)) = rows.next()
        {
            batch.push(&row)?;
            keys.push(key);
        }
        let appended = tree.append_batch(&mut By::System, &batch)?;
        for (key, row) in keys.iter().zip(batch.iter()).skip(appended) {
            match tree.insert(&mut By::System, key, row) {
                Err(AccessError::DuplicateKey { .. }) => return Err(duplicate(table, index, key)),
                other => other?,
            }
        }
    }
    Ok(count)
}

/// 1505.
fn duplicate(table: &Table, index: &Index, key: &Key) -> EngineError {
    let shown = crate::table::printed_key(index, table, key);
    let text = format!(
        "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object \
        name '{}' and the index name '{}'. The duplicate key value is {shown}.",
        table.full_name(),
        index.name()
    );
    crate::schema::refuse(1505, 16, 1, &text)
}
