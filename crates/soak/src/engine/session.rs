//! A session of the engine; its rows are derived from their versions.

use super::failure;
use crate::rows::{Kind, Row};
use crate::subject::{Failure, Session};
use furrow_engine::{
    BulkOptions, ColumnSpec, EngineError, IndexSpec, KeyColumnSpec, RowKey, SessionSavepoint,
    Table, TableSpec,
};
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

/// See the module.
#[derive(Debug)]
pub struct EngineSession {
    inner: furrow_engine::Session,
    saves: Vec<SessionSavepoint>,
}

/// The name of a slot's table.
pub(super) fn table_name(table: u16) -> String {
    format!("t{table}")
}

/// The column whose name distinguishes one incarnation of a table from the next.
pub(super) const MADE: &str = "made_";

/// The values of a row, in the order of its columns.
fn values(row: Row) -> Vec<Value> {
    vec![
        Value::BigInt(row.key),
        Value::BigInt(row.version as i64),
        Value::BigInt(row.twin),
        Value::Int(row.bucket),
        row.text.map_or(Value::Null, Value::Binary),
        Value::Null,
    ]
}

fn table_spec(table: u16, version: u64) -> TableSpec {
    let big = || DataType::simple(TypeId::BigInt);
    let spec = TableSpec::new(&table_name(table))
        .column(ColumnSpec::new("id", big()).not_null())
        .column(ColumnSpec::new("version", big()).not_null())
        .column(ColumnSpec::new("twin", big()).not_null())
        .column(ColumnSpec::new("bucket", DataType::simple(TypeId::Int)).not_null())
        .column(ColumnSpec::new(
            "text",
            DataType::sized(TypeId::VarBinary, 7000),
        ))
        .column(ColumnSpec::new(
            &format!("{MADE}{version}"),
            DataType::simple(TypeId::Int),
        ));
    match Kind::of(table) {
        Kind::Clustered => spec
            .primary_key(["id"])
            .index(IndexSpec::new("twins", ["twin"]).unique()),
        Kind::Descending => spec.primary_key([KeyColumnSpec::descending("id")]).index(
            IndexSpec::new("twins", ["twin"])
                .unique()
                .include(&["version"]),
        ),
        Kind::Buckets => spec
            .primary_key(["id"])
            .index(IndexSpec::new("buckets", ["bucket"])),
        Kind::Plain => spec.primary_key(["id"]),
        Kind::Heap => spec
            .primary_key_nonclustered(["id"])
            .index(IndexSpec::new("buckets", ["bucket"])),
    }
}

impl EngineSession {
    pub(super) fn new(inner: furrow_engine::Session) -> EngineSession {
        EngineSession {
            inner,
            saves: Vec::new(),
        }
    }

    fn name(&mut self, table: &Arc<Table>, key: i64) -> Result<RowKey, Failure> {
        let name = self.inner.find_row(table, &[Value::BigInt(key)]);
        name.map_err(failure)?.ok_or(Failure::Missing)
    }

    /// A load that has begun, but has no row yet, when `then` is done.
    pub(crate) fn load_after(
        &mut self,
        table: u16,
        rows: &[(i64, u64)],
        then: &mut dyn FnMut() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let table = self.table(table)?;
        let options = BulkOptions::default();
        let load = self
            .inner
            .bulk_inserter(&table, &[0, 1, 2, 3, 4, 5], options);
        let mut load = load.map_err(failure)?;
        then()?;
        for &(key, version) in rows {
            for value in values(Row::new(key, version)) {
                load.value(&value).map_err(failure)?;
            }
            load.insert().map_err(failure)?;
        }
        load.finish().map(|_| ()).map_err(failure)
    }

    /// Rows that are locked one by one and inserted together, all of them or none.
    fn insert_together(&mut self, table: u16, rows: &[(i64, u64)]) -> Result<(), Failure> {
        let table = self.table(table)?;
        let before = self.inner.savepoint().map_err(failure)?;
        let inserted = Self::gather_and_insert(&mut self.inner, &table, rows);
        if inserted.is_err() && self.inner.in_transaction() {
            self.inner.rollback_to(before).map_err(failure)?;
        }
        inserted.map_err(failure)
    }

    fn gather_and_insert(
        session: &mut furrow_engine::Session,
        table: &Arc<Table>,
        rows: &[(i64, u64)],
    ) -> Result<(), EngineError> {
        let mut inserter = session.inserter(table, &[0, 1, 2, 3, 4, 5])?;
        for &(key, version) in rows {
            for value in values(Row::new(key, version)) {
                inserter.value(&value)?;
            }
            if inserter.gathers() {
                inserter.gather()?;
            } else {
                inserter.insert()?;
            }
        }
        inserter.insert_gathered()
    }

    fn table(&self, table: u16) -> Result<Arc<Table>, Failure> {
        self.inner.table(&table_name(table)).map_err(failure)
    }
}

fn found(done: bool) -> Result<(), Failure> {
    if done { Ok(()) } else { Err(Failure::Missing) }
}

impl Session for EngineSession {
    fn begin(&mut self) -> Result<(), Failure> {
        self.saves.clear();
        self.inner.begin().map_err(failure)
    }

    fn insert(&mut self, table: u16, key: i64, version: u64) -> Result<(), Failure> {
        let table = self.table(table)?;
        let row = values(Row::new(key, version));
        self.inner.insert(&table, &row).map(|_| ()).map_err(failure)
    }

    fn load(&mut self, table: u16, rows: &[(i64, u64)]) -> Result<(), Failure> {
        let together = rows.first().is_some_and(|(key, _)| key % 2 == 0);
        if self.inner.in_transaction() && together {
            self.insert_together(table, rows)
        } else {
            self.load_after(table, rows, &mut || Ok(()))
        }
    }

    fn update(&mut self, table: u16, key: i64, version: u64) -> Result<(), Failure> {
        let table = self.table(table)?;
        let name = self.name(&table, key)?;
        let row = values(Row::new(key, version)).into_iter().enumerate();
        let set: Vec<(usize, Value)> = row.skip(1).take(4).collect();
        self.inner
            .update(&table, &name, &set)
            .map_err(failure)
            .and_then(found)
    }

    fn delete(&mut self, table: u16, key: i64) -> Result<(), Failure> {
        let table = self.table(table)?;
        let name = self.name(&table, key)?;
        self.inner
            .delete(&table, &name)
            .map_err(failure)
            .and_then(found)
    }

    fn get(&mut self, table: u16, key: i64) -> Result<Option<u64>, Failure> {
        let table = self.table(table)?;
        let row = self
            .inner
            .get(&table, &[Value::BigInt(key)])
            .map_err(failure)?;
        row.map(|row| super::read::version_of(&row)).transpose()
    }

    fn create_table(&mut self, table: u16, version: u64) -> Result<(), Failure> {
        self.inner
            .create_table(&table_spec(table, version))
            .map(|_| ())
            .map_err(failure)
    }

    fn drop_table(&mut self, table: u16) -> Result<(), Failure> {
        self.inner.drop_table(&table_name(table)).map_err(failure)
    }

    fn save(&mut self, number: usize) -> Result<(), Failure> {
        self.saves.truncate(number);
        self.saves.push(self.inner.savepoint().map_err(failure)?);
        Ok(())
    }

    fn rollback_to(&mut self, number: usize) -> Result<(), Failure> {
        self.saves.truncate(number + 1);
        let missing = || Failure::Wrong(format!("no savepoint {number}"));
        let save = *self.saves.get(number).ok_or_else(missing)?;
        self.inner.rollback_to(save).map_err(failure)
    }

    fn commit(&mut self) -> Result<(), Failure> {
        self.inner.commit().map_err(failure)
    }

    fn rollback(&mut self) -> Result<(), Failure> {
        self.inner.rollback().map_err(failure)
    }
}
