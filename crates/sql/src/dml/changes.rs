//! The rows that an UPDATE, DELETE or MERGE has found, before they are changed.
//!
//! The plan that finds rows must not see changes of the same statement, so all rows are found first. They are
//! stored as rows of values, the key (`RowKey`) of the target's row first, in a file if they do not fit into
//! memory.
//!
//! A join may find a row of the target several times. The row is changed once, with the values of the first
//! match. [`each_once`] stores the keys that were found while they fit into memory. The other rows are sorted
//! by key, so that rows with the same key are adjacent.

use super::rules::Rules;
use super::target::TargetOf;
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::memory::Grant;
use furrow_engine::{EngineError, MovedRow, RowKey};
use furrow_exec::key::{KeyTable, Place};
use furrow_exec::operator::Operator;
use furrow_exec::scan::ScanPlan;
use furrow_exec::sort::SortKey;
use furrow_exec::spill::{RowWriter, Rows, Sorter};
use furrow_exec::{Expr, Plan};
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

/// The type of a row's key among the columns of a plan.
pub(super) const NAME: DataType = DataType::sized(TypeId::VarBinary, 8000);

/// Whether a plan may return a row of the target more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meets {
    Once,
    Often,
}

/// Runs a plan whose rows have the keys of the target's rows at `name_at`, and passes on the first row of
/// each key. Rows without a key are left out.
pub(super) fn each_once(
    plan: &Plan,
    (name_at, meets): (usize, Meets),
    cx: &mut Context,
    then: &mut dyn FnMut(&mut Context, &[Value]) -> Result<()>,
) -> Result<()> {
    let is_named = |row: &[Value]| matches!(row.get(name_at), Some(Value::Binary(_)));
    if meets == Meets::Once {
        return plan.for_each(cx, &mut |cx, row| match is_named(row) {
            true => then(cx, row),
            false => Ok(()),
        });
    }
    let by_name = by_name(name_at);
    let mut met = KeyTable::new(vec![NAME], Grant::new(&cx.memory));
    let mut sorter: Option<Sorter<'_>> = None;
    plan.for_each(cx, &mut |cx, row| {
        if !is_named(row) {
            return Ok(());
        }
        match met.place(row.get(name_at..=name_at).unwrap_or(&[])) {
            Place::Known(_) => Ok(()),
            Place::New(_) => then(cx, row),
            Place::Full(_) => {
                let sorter = sorter.get_or_insert_with(|| Sorter::new(&by_name, usize::MAX, cx));
                sorter.push(row, row, cx)
            }
        }
    })?;
    let Some(sorter) = sorter else { return Ok(()) };
    drop(met);
    let mut sorted = sorter.finish(cx)?;
    let (mut row, mut last) = (Vec::new(), Value::Null);
    while sorted.next(cx, &mut row)? {
        let Some(name) = row.get(name_at).filter(|name| **name != last) else {
            continue;
        };
        last = name.clone();
        then(cx, &row)?;
    }
    Ok(())
}

/// The only scan of a plan whose row the statement changes without reading it: its key names the row, and the
/// rules need no value of it.
pub(super) fn named_by_key(plan: &Plan, rules: &Rules) -> Option<Arc<ScanPlan>> {
    match plan {
        Plan::Scan(scan) if scan.is_named_by_key() && !rules.whole() && !rules.looks_around => {
            Some(Arc::clone(scan))
        }
        _ => None,
    }
}

/// Sorts rows by the key at a position.
pub(super) fn by_name(name_at: usize) -> [SortKey; 1] {
    [SortKey {
        expr: Expr::Column(name_at),
        data_type: NAME,
        descending: false,
    }]
}

/// The keys of rows that may be changed only once: 8672 for a duplicate. Keys that do not fit into memory are
/// sorted, and compared at the end.
pub(super) struct OnceOnly<'k> {
    met: KeyTable,
    by_name: &'k [SortKey],
    sorter: Option<Sorter<'k>>,
}

impl<'k> OnceOnly<'k> {
    /// `by_name`: [`by_name`] of position 0.
    pub(super) fn new(by_name: &'k [SortKey], cx: &Context) -> OnceOnly<'k> {
        OnceOnly {
            met: KeyTable::new(vec![NAME], Grant::new(&cx.memory)),
            by_name,
            sorter: None,
        }
    }

    /// Adds a key.
    pub(super) fn push(&mut self, name: &Value, cx: &mut Context) -> Result<()> {
        let name = std::slice::from_ref(name);
        match self.met.place(name) {
            Place::New(_) => Ok(()),
            Place::Known(_) => refuse(8672, &[]),
            Place::Full(_) => {
                let sorter = || Sorter::new(self.by_name, usize::MAX, cx);
                self.sorter.get_or_insert_with(sorter).push(name, name, cx)
            }
        }
    }

    /// Called after the last key.
    pub(super) fn finish(self, cx: &mut Context) -> Result<()> {
        let Some(sorter) = self.sorter else {
            return Ok(());
        };
        drop(self.met);
        let mut sorted = sorter.finish(cx)?;
        let (mut row, mut last) = (Vec::new(), None);
        while sorted.next(cx, &mut row)? {
            let name = row.pop();
            if name == last {
                return refuse(8672, &[]);
            }
            last = name;
        }
        Ok(())
    }
}

/// The key in a stored row.
pub(super) fn key_of(row: &[Value]) -> Option<RowKey> {
    match row.first() {
        Some(Value::Binary(bytes)) => RowKey::from_bytes(bytes),
        _ => None,
    }
}

/// A row to be changed: its key, and the new values of its columns.
pub(super) type Change = (RowKey, Vec<(usize, Value)>);

/// Reads the change from a stored row; `None` for a row that is not changed.
pub(super) type ReadChange<'r> = &'r dyn Fn(&[Value]) -> Option<Change>;

/// The columns with their new values from a stored row, in the order of the values.
pub(super) fn values_of(values: &[Value], columns: &[usize]) -> Vec<(usize, Value)> {
    columns
        .iter()
        .copied()
        .zip(values.iter().cloned())
        .collect()
}

/// Changes columns of rows; returns the numbers of the rows that no longer existed.
pub(super) fn change_each(
    cx: &mut Context,
    target: &TargetOf,
    rows: &Rows,
    change: ReadChange<'_>,
) -> Result<Vec<u64>> {
    let session = cx.sessions.by_table(target.db.id(), &target.table)?;
    let mut absent = Vec::new();
    session.hinted(target.hints, |session| {
        rows.for_each(|number, row| {
            EngineError::check_cancelled()?;
            if let Some((key, values)) = change(row)
                && !session.update(&target.table, &key, &values)?
            {
                absent.push(number);
            }
            Ok(())
        })
    })?;
    Ok(absent)
}

/// As [`change_each`], if unique keys change: rows may exchange their keys.
pub(super) fn change_as_one(
    cx: &mut Context,
    target: &TargetOf,
    rows: &Rows,
    change: ReadChange<'_>,
) -> Result<Vec<u64>> {
    let mut absent = Vec::new();
    let mut moved = RowWriter::new(cx);
    rows.for_each(|number, row| {
        cx.check_cancel()?;
        let Some((key, values)) = change(row) else {
            return Ok(());
        };
        let session = cx.sessions.by_table(target.db.id(), &target.table)?;
        let taken = session.hinted(target.hints, |s| s.take_out(&target.table, &key, &values))?;
        match taken {
            Some(taken) => moved.push(vec![Value::Binary(taken.into_bytes())]),
            None => {
                absent.push(number);
                Ok(())
            }
        }
    })?;
    let session = cx.sessions.by_table(target.db.id(), &target.table)?;
    session.hinted(target.hints, |session| {
        moved.finish()?.for_each(|_, row| {
            EngineError::check_cancelled()?;
            if let Some(Value::Binary(bytes)) = row.first() {
                session.put_back(&target.table, &MovedRow::from_bytes(bytes.clone()))?;
            }
            Ok(())
        })
    })?;
    Ok(absent)
}
