//! WHERE CURRENT OF: the present row of a cursor.
//!
//! The cursor stores the row of the table and its row key. The statement looks the row up in a unique index,
//! if the table has one, and compares the row key. A row that was deleted or whose key has changed since is
//! not found (16947).

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

/// The error of a statement that did not find the cursor's row.
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

/// The conditions that find the cursor's row.
pub(super) struct Position {
    /// The values of its index key, by which an index finds the row.
    pub(super) key: Vec<Cond>,
    /// Its row key, compared with that of each row that was found.
    pub(super) name: Cond,
}

/// The position of the cursor's row. The columns of the target begin at `start` of the wide row; the key of
/// its row is at `name_at`.
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
