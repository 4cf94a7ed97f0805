//! Cursors: DECLARE, SET, OPEN, FETCH, CLOSE, DEALLOCATE.
//!
//! # Steps
//! 1. DECLARE binds the query, which reports its errors, and stores it with the present values of the
//!    variables.
//! 2. OPEN runs the query to its end and stores the rows, in files if they do not fit into memory: every
//!    cursor is opened as a STATIC one. If rows can be changed through it, each row is stored together with
//!    the row of the table and its row key.
//! 3. FETCH goes to a row by its number.
//!
//! # What can fail
//! 16915 to 16917, 16905, 16948 and 16950 for cursors that do not exist or are not open; 16911 for a row to
//! which a cursor cannot go; 16922 and 16924 for variables that cannot take a row; 1048 for options that
//! exclude each other.

use super::exec;
use crate::dml::limited;
use furrow_bind::{BoundQuery, bound};
use furrow_context::context::Context;
use furrow_context::cursors::{CursorPlan, CursorScope, CursorWrites, OpenCursor, Scrolling};
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_context::sink::ResultColumn;
use furrow_exec::spill::{NumberedRows, RowWriter};
use furrow_format::{DatabaseId, ObjectId};
use furrow_messages::Message;
use furrow_tsql::ast::expr::{CursorName, Expr as Written, ExprKind};
use furrow_tsql::ast::flow::{CursorAccess, DeclareCursor, Fetch, FetchDirection};
use furrow_tsql::ast::query::{QueryBody, SelectItem};
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

const BIGINT: DataType = DataType::simple(TypeId::BigInt);

/// Options that exclude each other: a statement may have one of each line.
const EXCLUSIVE: &[&[&str]] = &[
    &["LOCAL", "GLOBAL"],
    &["FORWARD_ONLY", "SCROLL"],
    &["FAST_FORWARD", "SCROLL"],
    &["STATIC", "KEYSET", "DYNAMIC", "FAST_FORWARD"],
    &["READ_ONLY", "SCROLL_LOCKS", "OPTIMISTIC"],
    &["FAST_FORWARD", "SCROLL_LOCKS", "OPTIMISTIC"],
    &["STATIC", "SCROLL_LOCKS", "OPTIMISTIC"],
];

fn depth(run: &Run<'_>) -> usize {
    run.cx.procedures.len()
}

/// The cursor that a statement declares.
fn plan_of(run: &mut Run<'_>, written: &DeclareCursor) -> Result<CursorPlan> {
    let has = |name: &str| written.options.iter().any(|option| &**option == name);
    for exclusive in EXCLUSIVE {
        let mut given = exclusive.iter().filter(|name| has(name));
        if let (Some(first), Some(second)) = (given.next(), given.next()) {
            return refuse(1048, &[(*first).into(), (*second).into()]);
        }
    }
    if has("SCROLL_LOCKS") {
        return Err(unsupported("SCROLL_LOCKS"));
    }
    let fixed = has("STATIC") || has("INSENSITIVE") || has("FAST_FORWARD") || has("READ_ONLY");
    let writes = match &written.access {
        Some(CursorAccess::Update(_)) if fixed => return refuse(16_957, &[]),
        Some(CursorAccess::ReadOnly) => CursorWrites::ReadOnly,
        _ if fixed => CursorWrites::ReadOnly,
        Some(CursorAccess::Update(columns)) => {
            CursorWrites::Of(columns.iter().map(|c| c.value.to_string()).collect())
        }
        None => CursorWrites::Of(Vec::new()),
    };
    let moves = has("SCROLL") || has("STATIC") || has("KEYSET") || has("DYNAMIC");
    Ok(CursorPlan {
        written: Arc::new(written.clone()),
        scrolling: match moves && !has("FORWARD_ONLY") {
            true => Scrolling::Scroll,
            false => Scrolling::ForwardOnly,
        },
        writes,
        scope: run.cx.scope.clone(),
    })
}

/// The table whose rows are changed through a cursor.
type Target = Option<(DatabaseId, ObjectId)>;

/// Binds a cursor's query. The cursor is read-only unless its rows are rows of one table.
fn bind(cx: &mut Context, plan: &CursorPlan) -> Result<(BoundQuery, Target)> {
    let query = &plan.written.query;
    if let QueryBody::Select(select) = &query.body {
        let assigns = |item: &SelectItem| matches!(item, SelectItem::Assign { .. });
        if select.into.is_some() || select.items.iter().any(assigns) {
            return refuse(16_937, &[]);
        }
    }
    if plan.writes != CursorWrites::ReadOnly {
        let with_rows = bound(cx, |binder| {
            let (mut query, base) = binder.query_with_rows(query, &plan.written.name.value)?;
            query.plan = limited(binder, query.plan);
            Ok((query, Some((base.db.id(), base.table.id()))))
        });
        if with_rows.is_ok() {
            return with_rows;
        }
    }
    bound(cx, |binder| {
        let mut query = binder.query(query)?;
        query.plan = limited(binder, query.plan);
        Ok((query, None))
    })
}

/// Runs `body` with the variables that the cursor's declaration saw.
fn with_scope<T>(
    cx: &mut Context,
    plan: &CursorPlan,
    body: impl FnOnce(&mut Context) -> Result<T>,
) -> Result<T> {
    let outer = std::mem::replace(&mut cx.scope, plan.scope.clone());
    let done = body(cx);
    cx.scope = outer;
    done
}

/// Reports errors of a cursor's query before it is opened.
fn check(run: &mut Run<'_>, plan: &CursorPlan) -> Result<()> {
    let (_, target) = run.cx.statement(|cx| bind(cx, plan))?;
    match (&plan.written.access, target) {
        (Some(CursorAccess::Update(_)), None) => refuse(16_957, &[]),
        _ => Ok(()),
    }
}

/// DECLARE c CURSOR.
pub(super) fn declare(run: &mut Run<'_>, written: &DeclareCursor) -> Result<()> {
    let plan = plan_of(run, written)?;
    check(run, &plan)?;
    let is_local = written.options.iter().any(|option| &**option == "LOCAL");
    let scope = match is_local {
        true => CursorScope::Local(depth(run)),
        false => CursorScope::Global,
    };
    run.cx.cursors.declare(&written.name.value, scope, plan)?;
    run.done(None);
    Ok(())
}

/// SET @c = CURSOR ...
pub(super) fn set_new(run: &mut Run<'_>, written: &DeclareCursor) -> Result<()> {
    let plan = plan_of(run, written)?;
    check(run, &plan)?;
    let depth = depth(run);
    run.cx.cursors.set_new(&written.name.value, depth, plan)?;
    run.done(None);
    Ok(())
}

/// SET @c = c, SET @c = @d: 16948 for a value that is not a cursor.
pub(super) fn set_same(run: &mut Run<'_>, variable: &str, value: &Written) -> Result<()> {
    let from = match &value.kind {
        ExprKind::Column(name) if name.parts.len() == 1 => CursorName {
            global: false,
            is_variable: false,
            name: name.parts[0].clone(),
        },
        ExprKind::Variable(name) => CursorName {
            global: false,
            is_variable: true,
            name: name.clone(),
        },
        _ => return refuse(16_948, &[variable.into()]),
    };
    let depth = depth(run);
    run.cx.cursors.set_same(variable, depth, &from)?;
    run.done(None);
    Ok(())
}

/// OPEN.
pub(super) fn open(run: &mut Run<'_>, name: &CursorName) -> Result<()> {
    let depth = depth(run);
    let cursor = run.cx.cursors.find(name, depth)?;
    if cursor.open.is_some() {
        return refuse(16_905, &[]);
    }
    let plan = Arc::clone(&cursor.plan);
    let (columns, target, rows) = with_scope(run.cx, &plan, |cx| {
        cx.statement(|cx| {
            let (query, target) = bind(cx, &plan)?;
            let mut rows = RowWriter::new(cx);
            query
                .plan
                .for_each(cx, &mut |_, row| rows.push(row.to_vec()))?;
            Ok((query.columns, target, rows.finish()?))
        })
    })?;
    run.cx.cursors.rows = rows.count();
    let cursor = run.cx.cursors.find(name, depth)?;
    cursor.open = Some(OpenCursor {
        columns,
        target,
        rows: Box::new(NumberedRows::from(rows)),
        at: 0,
    });
    run.done(None);
    Ok(())
}

/// CLOSE.
pub(super) fn close(run: &mut Run<'_>, name: &CursorName) -> Result<()> {
    let depth = depth(run);
    run.cx.cursors.find_open(name, depth)?;
    run.cx.cursors.find(name, depth)?.open = None;
    run.done(None);
    Ok(())
}

/// DEALLOCATE.
pub(super) fn deallocate(run: &mut Run<'_>, name: &CursorName) -> Result<()> {
    let depth = depth(run);
    run.cx.cursors.deallocate(name, depth)?;
    run.done(None);
    Ok(())
}

/// The number, from 1, of the row to which a FETCH goes; 0 before the first row, number of rows + 1 behind
/// the last.
fn place(direction: &Towards, at: u64, count: u64) -> u64 {
    let behind = count + 1;
    let from_here = |by: i64| match by {
        0.. => at.saturating_add(by.unsigned_abs()),
        _ => at.saturating_sub(by.unsigned_abs()),
    };
    let to = match direction {
        Towards::Row(row @ 0..) => row.unsigned_abs(),
        Towards::Row(row) => behind.saturating_sub(row.unsigned_abs()),
        Towards::By(by) => from_here(*by),
    };
    to.min(behind)
}

/// The destination of a FETCH.
enum Towards {
    /// The row with this number; counted from the end if it is negative.
    Row(i64),
    /// This many rows ahead.
    By(i64),
}

fn towards(run: &mut Run<'_>, direction: &FetchDirection) -> Result<(Towards, &'static str)> {
    let number = |run: &mut Run<'_>, written: &Written| -> Result<i64> {
        let value = furrow_bind::evaluate_as(run, written, BIGINT)?;
        Ok(value.as_i64().unwrap_or(0))
    };
    Ok(match direction {
        FetchDirection::Next => (Towards::By(1), "next"),
        FetchDirection::Prior => (Towards::By(-1), "prior"),
        FetchDirection::First => (Towards::Row(1), "first"),
        FetchDirection::Last => (Towards::Row(-1), "last"),
        FetchDirection::Absolute(n) => (Towards::Row(number(run, n)?), "absolute"),
        FetchDirection::Relative(n) => (Towards::By(number(run, n)?), "relative"),
    })
}

/// FETCH.
pub(super) fn fetch(run: &mut Run<'_>, written: &Fetch) -> Result<()> {
    let depth = depth(run);
    let (towards, named) = towards(run, &written.direction)?;
    let cursor = run.cx.cursors.find(&written.cursor, depth)?;
    let scrolling = cursor.plan.scrolling;
    let Some(open) = &mut cursor.open else {
        return refuse(16_917, &[]);
    };
    if scrolling == Scrolling::ForwardOnly && written.direction != FetchDirection::Next {
        return refuse(16_911, &[named.into()]);
    }
    if !written.into.is_empty() && written.into.len() != open.columns.len() {
        return refuse(16_924, &[]);
    }
    let columns = open.columns.clone();
    let at = place(&towards, open.at, open.rows.count());
    open.at = at;
    let row = open.current()?;
    if let Some(row) = &row
        && !written.into.is_empty()
    {
        set_variables(run, written, &columns, row)?;
    }
    run.cx.cursors.fetch_status = match row {
        Some(_) => 0,
        None => -1,
    };
    if written.into.is_empty() {
        run.sink.columns(&columns);
        if let Some(row) = &row {
            run.sink.row(row.get(..columns.len()).unwrap_or(row));
        }
    }
    let rows = u64::from(row.is_some());
    match written.into.is_empty() {
        true => run.done(Some(rows)),
        false => {
            run.cx.last.rows = rows;
            run.done(None);
            run.cx.last.rows = rows;
        }
    }
    Ok(())
}

/// INTO: assigns each column to its variable (16922 if the type does not fit).
fn set_variables(
    run: &mut Run<'_>,
    written: &Fetch,
    columns: &[ResultColumn],
    row: &[Value],
) -> Result<()> {
    for ((variable, column), value) in written.into.iter().zip(columns).zip(row) {
        let found = run.cx.scope.find(&variable.value);
        let found = found.and_then(|place| Some((place, run.cx.scope.get(place)?.data_type)));
        let Some((place, to)) = found else {
            return refuse(137, &[(*variable.value).into()]);
        };
        let value = exec::converted(run, value.clone(), column.data_type, to);
        let value = value.map_err(|error| match error.number() {
            206 | 257 => {
                let types = [column.data_type.id.name().into(), to.id.name().into()];
                Message::new(16_922, &types).into()
            }
            _ => error,
        })?;
        run.cx.set_variable(place, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Towards, place};

    #[test]
    fn a_fetch_goes_to_a_row_by_its_number_from_either_end_and_stops_at_both() {
        for (towards, at, expected) in [
            (Towards::By(1), 0, 1),
            (Towards::By(1), 3, 4),
            (Towards::By(1), 4, 4),
            (Towards::By(-1), 4, 3),
            (Towards::By(-1), 0, 0),
            (Towards::By(i64::MAX), 2, 4),
            (Towards::By(i64::MIN), 2, 0),
            (Towards::Row(0), 2, 0),
            (Towards::Row(2), 0, 2),
            (Towards::Row(9), 0, 4),
            (Towards::Row(-1), 0, 3),
            (Towards::Row(-3), 0, 1),
            (Towards::Row(-4), 0, 0),
            (Towards::Row(i64::MIN), 1, 0),
        ] {
            assert_eq!(place(&towards, at, 3), expected);
        }
    }
}
