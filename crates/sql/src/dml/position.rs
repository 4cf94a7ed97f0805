//! WHERE CURRENT OF: the row that a cursor is at.
//!
//! The cursor has kept the row of the table, and its name. The statement searches the row by the key of an
//! index, where the table has a unique one, and leaves it out if it has another name: a row that is there no
//! more, or whose key has changed since, is not found (16947).

use super::target::TargetOf;
use furrow_bind::{Binder, Bound};
use furrow_context::cursors::CursorWrites;
use furrow_context::error::{Result, refuse};
use furrow_engine::{Index, IndexKind};
use furrow_exec::{Cond, Expr};
use furrow_scalar::ops::CompareOp;
use furrow_tsql::ast::expr::{Condition, ConditionKind, CursorName};
use furrow_types::Value;

/// The cursor that a WHERE names.
pub(super) fn cursor_of(filter: Option<&Condition>) -> Option<&CursorName> {
    match &filter?.kind {
        ConditionKind::CurrentOf(cursor) => Some(cursor),
        _ => None,
    }
}

/// The error of a statement that found no row where a cursor is.
pub(super) fn check_found(filter: Option<&Condition>, rows: u64) -> Result<()> {
    match cursor_of(filter).is_some() && rows == 0 {
        true => refuse(16_947, &[]),
        false => Ok(()),
    }
}

/// Whether columns may be changed through a cursor (16932).
pub(super) fn check_columns(
    binder: &mut Binder<'_>,
    cursor: &CursorName,
    target: &TargetOf,
    columns: &[usize],
) -> Result<()> {
    let depth = binder.cx.procedures.len();
    let cursor = binder.cx.cursors.find(cursor, depth)?;
    let CursorWrites::Of(listed) = &cursor.plan.writes else {
        return refuse(16_929, &[]);
    };
    let names = columns
        .iter()
        .filter_map(|at| target.table.columns().get(*at));
    let is_listed = |name: &str| listed.iter().any(|own| own.eq_ignore_ascii_case(name));
    match listed.is_empty() || names.into_iter().all(|column| is_listed(&column.name)) {
        true => Ok(()),
        false => refuse(16_932, &[]),
    }
}

/// What finds the row that a cursor is at.
pub(super) struct Position {
    /// The values of its key: they lead to the row where an index has it.
    pub(super) key: Vec<Cond>,
    /// Its name, which rows have that have been found.
    pub(super) name: Cond,
}

/// The row that a cursor is at. The columns of the target begin at `start` of the wide row; the name of its
/// row is at `name_at`.
pub(super) fn of(
    binder: &mut Binder<'_>,
    cursor: &CursorName,
    target: &TargetOf,
    (start, name_at): (usize, usize),
) -> Result<Position> {
    let depth = binder.cx.procedures.len();
    let found = binder.cx.cursors.find(cursor, depth)?;
    if found.plan.writes == CursorWrites::ReadOnly {
        return refuse(16_929, &[]);
    }
    let open = binder.cx.cursors.find_open(cursor, depth)?;
    let Some(of) = open.target else {
        return refuse(16_929, &[]);
    };
    if of != (target.db.id(), target.table.id()) {
        return refuse(16_933, &[]);
    }
    let own = open.columns.len();
    let Some(row) = open.current()? else {
        return refuse(16_931, &[]);
    };
    let Some(name) = row.last().cloned() else {
        return refuse(16_931, &[]);
    };
    debug_assert!(matches!(name, Value::Binary(_)), "a row's name is bytes");
    let mut by_key = Vec::new();
    let unique = |index: &&Index| index.is_unique();
    let indexes = target.table.indexes();
    let clustered = indexes
        .iter()
        .filter(unique)
        .find(|index| index.kind() == IndexKind::Clustered);
    let index = clustered.or_else(|| indexes.iter().find(unique));
    for key in index.map_or(&[][..], |index| index.key()) {
        let (column, value) = (
            target.table.columns().get(key.column),
            row.get(own + key.column),
        );
        if let Some((column, value)) = column.zip(value).filter(|(_, value)| !value.is_null()) {
            let place = start + key.column;
            binder.use_all(place..place + 1);
            let kept = Bound::constant(value.clone(), column.data_type);
            let now = Bound::of(Expr::Column(place), column.data_type);
            by_key.push(binder.compare(now, CompareOp::Equal, kept)?);
        }
    }
    let kept = Bound::constant(name, super::changes::NAME);
    let now = Bound::of(Expr::Column(name_at), super::changes::NAME);
    Ok(Position {
        key: by_key,
        name: binder.compare(now, CompareOp::Equal, kept)?,
    })
}
