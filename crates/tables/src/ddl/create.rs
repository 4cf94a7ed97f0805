//! DDL statements.

use crate::error::EngineError;
use crate::schema::{IndexSpec, TableSpec};
use crate::session::{LockHints, ScanSpec, Session};
use crate::table::{Table, each_row};
use furrow_access::By;
use furrow_txn::lock::LockMode;
use std::sync::Arc;

impl Session {
    pub(super) fn with_changes<T>(
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

    /// The table under Sch-M, or the error that explains why it cannot be locked.
    pub(super) fn own_table(
        &mut self,
        schema: &str,
        name: &str,
    ) -> Result<Arc<Table>, EngineError> {
        self.lock_name(schema, name)?;
        let table = self.table_in(schema, name)?;
        self.lock_table(&table, LockMode::SchM)?;
        Ok(table)
    }

    /// DROP TABLE of schema `dbo`.
    pub fn drop_table(&mut self, name: &str) -> Result<(), EngineError> {
        self.drop_table_in("dbo", name)
    }

    /// DROP TABLE.
    pub fn drop_table_in(&mut self, schema: &str, name: &str) -> Result<(), EngineError> {
        self.statement(|session| {
            let table = session
                .own_table(schema, name)
                .map_err(|e| match e.number() {
                    208 => {
                        EngineError::refused(3701, &["drop".into(), "table".into(), name.into()])
                    }
                    _ => e,
                })?;
            session
                .db
                .check_filegroups(&table)
                .map_err(|e| match e.number() {
                    652 => EngineError::refused(3740, &["table".into(), name.into()]),
                    _ => e,
                })?;
            session.with_changes(|catalog, by, changes| catalog.drop_table(by, changes, &table))
        })
    }

    /// TRUNCATE TABLE of schema `dbo`.
    pub fn truncate_table(&mut self, name: &str) -> Result<(), EngineError> {
        self.truncate_table_in("dbo", name)
    }

    /// TRUNCATE TABLE. New rowsets replace the old ones, whose pages are freed when the transaction ends. If
    /// the filegroup has no page left for them, the rows are deleted instead.
    pub fn truncate_table_in(&mut self, schema: &str, name: &str) -> Result<(), EngineError> {
        let done = self.statement(|session| {
            let table = session.table_to_truncate(schema, name)?;
            session
                .with_changes(|catalog, by, changes| catalog.truncate_table(by, changes, &table))?;
            Ok(())
        });
        match done {
            Err(full) if full.has(1101) || full.has(1105) => self.delete_all(schema, name),
            done => done,
        }
    }

    fn table_to_truncate(&mut self, schema: &str, name: &str) -> Result<Arc<Table>, EngineError> {
        let table = self.own_table(schema, name).map_err(|e| match e.number() {
            208 => {
                let text = format!(
                    "Cannot find the object \"{name}\" because it does not exist or you do not \
                    have permissions."
                );
                crate::error::refuse(4701, 16, 1, &text)
            }
            _ => e,
        })?;
        self.db.check_filegroups(&table)?;
        Ok(table)
    }

    /// Truncates a table for which there are no new pages.
    fn delete_all(&mut self, schema: &str, name: &str) -> Result<(), EngineError> {
        self.one_statement(|session| {
            let table = session.table_to_truncate(schema, name)?;
            let spec = ScanSpec {
                hints: LockHints::table_exclusive(),
                ..ScanSpec::default()
            };
            let mut scan = session.open_scan(&table, &spec)?;
            while session.step_scan(&mut scan)? {
                EngineError::check_cancelled()?;
                if let Some(key) = scan.row_key() {
                    session.delete(&table, &key)?;
                }
            }
            session.close_scan(scan);
            session.with_changes(|catalog, by, changes| {
                catalog.restart_identity(by, changes, &table)
            })?;
            Ok(())
        })
    }

    /// CREATE INDEX on a table of schema `dbo`: nonclustered, built from the existing rows.
    pub fn create_index(
        &mut self,
        table: &str,
        spec: &IndexSpec,
    ) -> Result<Arc<Table>, EngineError> {
        self.create_index_in("dbo", table, spec)
    }

    /// CREATE INDEX, built from the existing rows.
    pub fn create_index_in(
        &mut self,
        schema: &str,
        table: &str,
        spec: &IndexSpec,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.own_table(schema, table).map_err(|e| match e.number() {
                208 => {
                    let text = format!(
                        "Cannot find the object \"{table}\" because it does not exist or you do not \
                        have permissions."
                    );
                    crate::error::refuse(1088, 16, 12, &text)
                }
                _ => e,
            })?;
            let made = session
                .with_changes(|catalog, by, changes| catalog.create_index(by, changes, &before, spec))?;
            session.finish_alike(&before, made)
        })
    }

    /// DROP INDEX of a table of schema `dbo`.
    pub fn drop_index(&mut self, table: &str, index: &str) -> Result<Arc<Table>, EngineError> {
        self.drop_index_in("dbo", table, index)
    }

    /// DROP INDEX.
    pub fn drop_index_in(
        &mut self,
        schema: &str,
        table: &str,
        index: &str,
    ) -> Result<Arc<Table>, EngineError> {
        self.statement(|session| {
            let before = session.own_table(schema, table)?;
            session.db.check_filegroups(&before)?;
            let changed = session.with_changes(|catalog, by, changes| {
                catalog.drop_index(by, changes, &before, index)
            })?;
            session.finish_alike(&before, changed)
        })
    }

    /// DBCC UPDATEUSAGE: counts the rows of a table while no other session changes them. The stored counts
    /// should never differ from the result.
    pub fn update_usage(&mut self, table: &Arc<Table>) -> Result<i64, EngineError> {
        self.db.check_changes()?;
        self.reading(|session| {
            let table = session.lock_current(table, LockMode::S)?;
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
