//! The rows of the base tables in memory: as they were found, and as they are to be.

use crate::repair::rows::{BaseRow as FoundRow, key_of};
use crate::repair::state::State;
use crate::repair::tree::TreeRow;
use furrow_format::catalog::{BASE_TABLES, BaseRow, BaseTable};
use furrow_format::{PageType, Record};
use furrow_types::Value;
use std::collections::BTreeMap;

/// The key of a row of a base table: catalog keys are integers.
type Key = Vec<i64>;

/// A row of a base table, and its bytes where it is as it was found.
#[derive(Debug, Clone, PartialEq)]
struct Kept {
    values: Vec<Value>,
    bytes: Option<Vec<u8>>,
}

/// All rows of all base tables.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Store(BTreeMap<i32, BTreeMap<Key, Kept>>);

fn key(table: &BaseTable, values: &[Value]) -> Key {
    let part = |at: usize| values.get(at).and_then(Value::as_i64).unwrap_or(0);
    table.key().map(part).collect()
}

impl Store {
    /// Takes the rows of a table in that were found. Rows that cannot be decoded are left out.
    pub(super) fn take(&mut self, table: &BaseTable, found: &[FoundRow]) {
        let rows = self.0.entry(table.id).or_default();
        let Ok(layout) = table.row_layout() else {
            return;
        };
        for row in found {
            let record = Record::data(&row.bytes);
            let values = record.and_then(|record| table.decode_row(&layout, record));
            if let Some(values) = values {
                let bytes = Some(row.bytes.clone());
                rows.insert(key(table, &values), Kept { values, bytes });
            }
        }
    }

    /// All rows of a table, typed.
    pub(super) fn all<R: BaseRow>(&self) -> Vec<R> {
        let rows = self
            .0
            .get(&R::TABLE.id)
            .into_iter()
            .flat_map(BTreeMap::values);
        rows.filter_map(|row| R::from_values(row.values.clone()))
            .collect()
    }

    /// The row of a table with this key.
    pub(super) fn get<R: BaseRow>(&self, key: &[i64]) -> Option<R> {
        let row = self.0.get(&R::TABLE.id)?.get(key)?;
        R::from_values(row.values.clone())
    }

    /// Puts a row in, over one with the same key.
    pub(super) fn put<R: BaseRow>(&mut self, row: &R) {
        self.put_values(R::TABLE, row.to_values());
    }

    fn put_values(&mut self, table: &BaseTable, values: Vec<Value>) {
        let rows = self.0.entry(table.id).or_default();
        let key = key(table, &values);
        if rows.get(&key).is_none_or(|known| known.values != values) {
            rows.insert(
                key,
                Kept {
                    values,
                    bytes: None,
                },
            );
        }
    }

    /// Puts a row in unless there is one with its key; whether it did.
    pub(super) fn add(&mut self, table: &BaseTable, values: Vec<Value>) -> bool {
        let known = self.0.entry(table.id).or_default();
        let missing = !known.contains_key(&key(table, &values));
        if missing {
            self.put_values(table, values);
        }
        missing
    }

    /// Removes the rows of a table that `gone` holds of; returns how many there were.
    pub(super) fn remove(&mut self, table: &BaseTable, gone: impl Fn(&[Value]) -> bool) -> usize {
        let rows = self.0.entry(table.id).or_default();
        let before = rows.len();
        rows.retain(|_, row| !gone(&row.values));
        before - rows.len()
    }

    /// Rows of a table.
    pub(super) fn len(&self, table: i32) -> usize {
        self.0.get(&table).map_or(0, BTreeMap::len)
    }

    /// Whether a table has the same rows in both.
    pub(super) fn is_same(&self, other: &Store, table: i32) -> bool {
        let rows = |store: &Store| {
            let rows = store.0.get(&table).into_iter().flatten();
            rows.map(|(key, row)| (key.clone(), row.values.clone()))
                .collect::<Vec<_>>()
        };
        rows(self) == rows(other)
    }

    /// The rows of a table as a tree has them, in order; `None` where one cannot be encoded.
    pub(super) fn tree_rows(
        &self,
        state: &State<'_>,
        unit: u32,
        table: &BaseTable,
    ) -> Option<Vec<TreeRow>> {
        let level = &state.plan().rows_of(unit)?.leaf;
        let layout = table.row_layout().ok()?;
        let rows = self.0.get(&table.id).into_iter().flat_map(BTreeMap::values);
        let encoded = rows.map(|row| {
            let bytes = match &row.bytes {
                Some(bytes) => bytes.clone(),
                None => {
                    let mut bytes = Vec::new();
                    table.encode_row(&layout, &row.values, &mut bytes).ok()?;
                    bytes
                }
            };
            let key = key_of(level, PageType::Data, &bytes)?;
            Some(TreeRow { key, bytes })
        });
        encoded.collect()
    }
}

/// The base tables that are trees.
pub(super) fn trees() -> impl Iterator<Item = &'static BaseTable> {
    BASE_TABLES.into_iter().filter(|table| !table.is_heap())
}
