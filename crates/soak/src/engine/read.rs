//! Everything a database holds, read through every index.

use super::session::{MADE, table_name};
use super::{EngineStore, failure};
use crate::model::{Cell, State};
use crate::rows::{Kind, LOADED, Row as Expected, TABLES};
use crate::subject::Failure;
use furrow_engine::{Row, ScanSpec, Session, Table};
use furrow_types::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The version of a row, after a check of all its bytes.
pub(super) fn version_of(row: &Row<'_>) -> Result<u64, Failure> {
    let values = row.values().map_err(failure)?;
    let (Some(Value::BigInt(key)), Some(Value::BigInt(version))) = (values.first(), values.get(1))
    else {
        return Err(Failure::Wrong(format!(
            "a row without key and version: {values:?}"
        )));
    };
    let expected = Expected::new(*key, *version as u64);
    let right = values.get(2) == Some(&Value::BigInt(expected.twin))
        && values.get(3) == Some(&Value::Int(expected.bucket))
        && values.get(4) == Some(&expected.text.map_or(Value::Null, Value::Binary));
    if right {
        return Ok(*version as u64);
    }
    Err(Failure::Wrong(format!(
        "row {key} is not what version {version} must be: {values:?}"
    )))
}

impl EngineStore {
    fn tables(&self, session: &Session) -> Vec<(u16, Arc<Table>)> {
        let there = |slot| Some((slot, session.table(&table_name(slot)).ok()?));
        (0..TABLES + LOADED).filter_map(there).collect()
    }

    pub(super) fn read_state(&self) -> Result<State, Failure> {
        let mut state = State::new();
        let mut session = Session::new(&self.db).map_err(failure)?;
        for (slot, table) in self.tables(&session) {
            let made = table
                .columns()
                .iter()
                .find_map(|c| c.name.strip_prefix(MADE)?.parse().ok());
            let made = made.ok_or(Failure::Wrong(format!(
                "table {slot} does not say its version"
            )));
            state.insert(Cell::Table(slot), made?);
            let rows = read_index(&mut session, &table, 0)?;
            for index in table.indexes() {
                let counted = index.rowset().row_count();
                if counted != rows.len() as i64 {
                    let (name, there) = (index.name(), rows.len());
                    let text =
                        format!("table {slot}, index '{name}': {counted} counted, {there} there");
                    return Err(Failure::Wrong(text));
                }
            }
            for index in 1..table.indexes().len() {
                let through = read_index(&mut session, &table, index)?;
                if through != rows {
                    let name = table.indexes()[index].name();
                    return Err(Failure::Wrong(difference(slot, name, &rows, &through)));
                }
            }
            check_order(slot, &mut session, &table)?;
            let cells = rows
                .into_iter()
                .map(|(key, version)| (Cell::Row(slot, key), version));
            state.extend(cells);
        }
        for file in self.db.file_list().map_err(failure)? {
            if let Some(number) = file.name.strip_prefix("extra").and_then(|n| n.parse().ok()) {
                state.insert(Cell::File(number), u64::from(number));
            }
        }
        Ok(state)
    }
}

/// Keys and versions, as an index leads to them.
fn read_index(
    session: &mut Session,
    table: &Arc<Table>,
    index: usize,
) -> Result<BTreeMap<i64, u64>, Failure> {
    let spec = ScanSpec {
        index,
        ..ScanSpec::default()
    };
    let mut rows = BTreeMap::new();
    let mut scan = session.scan(table, &spec).map_err(failure)?;
    while let Some(row) = scan.next_row().map_err(failure)? {
        let version = version_of(&row)?;
        let key = row.i64(0).unwrap_or_default();
        if rows.insert(key, version).is_some() {
            return Err(Failure::Wrong(format!("row {key} twice in index {index}")));
        }
    }
    Ok(rows)
}

/// Forward and backward scans of the clustered index, or of a heap's primary key, see the same rows in the
/// order that the key demands.
fn check_order(slot: u16, session: &mut Session, table: &Arc<Table>) -> Result<(), Failure> {
    let mut keys = [Vec::new(), Vec::new()];
    for (backward, keys) in [false, true].into_iter().zip(&mut keys) {
        let spec = ScanSpec {
            index: table.lookup_index().unwrap_or_default(),
            backward,
            ..ScanSpec::default()
        };
        let mut scan = session.scan(table, &spec).map_err(failure)?;
        while let Some(row) = scan.next_row().map_err(failure)? {
            keys.push(row.i64(0).unwrap_or_default());
        }
    }
    let [forward, mut backward] = keys;
    backward.reverse();
    let descending = Kind::of(slot) == Kind::Descending;
    let ordered = forward
        .windows(2)
        .all(|pair| (pair[0] < pair[1]) != descending);
    if forward == backward && ordered {
        return Ok(());
    }
    Err(Failure::Wrong(format!(
        "table {slot} forward {forward:?}, backward {backward:?}"
    )))
}

fn difference(
    slot: u16,
    index: &str,
    rows: &BTreeMap<i64, u64>,
    through: &BTreeMap<i64, u64>,
) -> String {
    let only = |one: &BTreeMap<i64, u64>, other: &BTreeMap<i64, u64>| {
        let rows = one
            .iter()
            .filter(|(key, version)| other.get(key) != Some(version));
        rows.map(|(key, version)| format!("{key} v{version}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    format!(
        "table {slot}: only in the table [{}], only through index {index} [{}]",
        only(rows, through),
        only(through, rows)
    )
}
