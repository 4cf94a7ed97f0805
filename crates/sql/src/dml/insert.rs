//! INSERT.

use super::rules::{Rules, Told, Verb, as_kept, default_of, tell};
use super::target::{TargetOf, assigned, resolve, topped};
use crate::bind::{Binder, Bound};
use crate::context::Context;
use crate::error::{Result, refuse};
use crate::exec::{Expr, Plan};
use crate::interp::{Run, execute_captured};
use crate::sink::ResultSet;
use furrow_engine::Table;
use furrow_format::types::Value;
use furrow_tsql::ast::dml::{Insert, InsertSource};
use furrow_tsql::ast::expr::{Expr as Written, ExprKind};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::Query;

/// Runs an INSERT.
pub(crate) fn insert(run: &mut Run<'_>, written: &Insert) -> Result<()> {
    if let InsertSource::Execute(call) = &written.source {
        return insert_execute(run, written, call);
    }
    let (rows, told) = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        binder.define(&written.ctes)?;
        let target = resolve(&mut binder, &written.target)?;
        let mut columns = columns_of(&target.table, &written.columns)?;
        let plan = match &written.source {
            InsertSource::DefaultValues | InsertSource::Execute(_) => Plan::One,
            InsertSource::Values(rows) => values(&mut binder, &target.table, &columns, rows)?,
            InsertSource::Query(query) => query_rows(&mut binder, &target.table, &columns, query)?,
        };
        let plan = topped(&mut binder, plan, written.top.as_ref())?;
        if matches!(written.source, InsertSource::DefaultValues) {
            columns.clear();
        }
        let mut rules = Rules::bind(&mut binder, Verb::Insert, &target, &written.output)?;
        rules.fill(&mut binder, &target.table, &columns)?;
        let rows = feed(cx, &target, &columns, &plan, &mut rules)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    tell(run, told, rows);
    Ok(())
}

/// INSERT ... EXEC: the rows of all result sets, in a transaction of its own where none is open.
fn insert_execute(
    run: &mut Run<'_>,
    written: &Insert,
    call: &furrow_tsql::ast::flow::Execute,
) -> Result<()> {
    let own = run.cx.sessions.count() == 0;
    if own {
        run.cx.sessions.begin()?;
    }
    let done = execute_captured(run, call).and_then(|sets| insert_sets(run, written, &sets));
    if own && run.cx.sessions.count() > 0 {
        match &done {
            Ok(_) => run.cx.sessions.commit()?,
            Err(_) => run.cx.sessions.rollback()?,
        }
    }
    let (rows, told) = done?;
    tell(run, told, rows);
    Ok(())
}

fn insert_sets(run: &mut Run<'_>, written: &Insert, sets: &[ResultSet]) -> Result<(u64, Told)> {
    run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let target = resolve(&mut binder, &written.target)?;
        let columns = columns_of(&target.table, &written.columns)?;
        let mut rules = Rules::bind(&mut binder, Verb::Insert, &target, &written.output)?;
        rules.fill(&mut binder, &target.table, &columns)?;
        let mut rows = 0_u64;
        for set in sets {
            if set.columns.len() != columns.len() {
                return refuse(213, &[]);
            }
            let mut binder = Binder::new(cx);
            let mut exprs = Vec::new();
            for (at, (from, &column)) in set.columns.iter().zip(&columns).enumerate() {
                let value = Bound::of(Expr::Column(at), from.data_type);
                let to = target.table.columns()[column].data_type;
                exprs.push(assigned(&mut binder, value, to)?);
            }
            for row in &set.rows {
                let mut values = Vec::with_capacity(exprs.len());
                for expr in &exprs {
                    values.push(expr.eval(row, cx)?.into_owned());
                }
                put(cx, &target, &columns, &values, &mut rules)?;
                rows += 1;
            }
        }
        Ok((rows, rules.finish(cx)?))
    })
}

/// The columns that values are given for, in the order of the values.
pub(super) fn columns_of(table: &Table, names: &[ObjectName]) -> Result<Vec<usize>> {
    if names.is_empty() {
        let all = table.columns().iter().enumerate();
        return Ok(all.filter(|(_, c)| !c.identity).map(|(at, _)| at).collect());
    }
    let mut columns = Vec::new();
    for name in names {
        let Some(at) = table.column(name.name()) else {
            return refuse(207, &[name.name().into()]);
        };
        if columns.contains(&at) {
            return refuse(264, &[name.name().into()]);
        }
        columns.push(at);
    }
    Ok(columns)
}

/// The values of a row that is written out, as the columns take them.
pub(super) fn row_of(
    binder: &mut Binder<'_>,
    table: &Table,
    columns: &[usize],
    row: &[Written],
) -> Result<Vec<Expr>> {
    if row.len() != columns.len() {
        let number = match row.len() < columns.len() {
            true => 109,
            false => 110,
        };
        return refuse(number, &[]);
    }
    let mut exprs = Vec::new();
    for (value, &column) in row.iter().zip(columns) {
        let bound = match &value.kind {
            ExprKind::Default => default_of(binder, table, column)?,
            _ => binder.expr(value)?,
        };
        let to = table.columns()[column].data_type;
        exprs.push(assigned(binder, bound, to)?);
    }
    Ok(exprs)
}

fn values(
    binder: &mut Binder<'_>,
    table: &Table,
    columns: &[usize],
    rows: &[Vec<Written>],
) -> Result<Plan> {
    let mut plan = Vec::new();
    for row in rows {
        plan.push(row_of(binder, table, columns, row)?);
    }
    Ok(Plan::Values(plan))
}

fn query_rows(
    binder: &mut Binder<'_>,
    table: &Table,
    columns: &[usize],
    query: &Query,
) -> Result<Plan> {
    let bound = binder.query(query)?;
    if bound.columns.len() != columns.len() {
        let number = match bound.columns.len() < columns.len() {
            true => 120,
            false => 121,
        };
        return refuse(number, &[]);
    }
    let mut exprs = Vec::new();
    for (at, (from, &column)) in bound.columns.iter().zip(columns).enumerate() {
        let value = Bound {
            is_null_literal: bound.is_null(at),
            ..Bound::of(Expr::Column(at), from.data_type)
        };
        exprs.push(assigned(binder, value, table.columns()[column].data_type)?);
    }
    Ok(Plan::Project(Box::new(bound.plan), exprs))
}

/// Whether a plan reads a table.
fn reads(plan: &Plan, table: &Table) -> bool {
    format!("{plan:?}").contains(&format!("ObjectId({})", table.id().0))
}

/// Inserts the rows of a plan.
fn feed(
    cx: &mut Context,
    target: &TargetOf,
    columns: &[usize],
    plan: &Plan,
    rules: &mut Rules,
) -> Result<u64> {
    let mut rows = 0_u64;
    let mut each = |cx: &mut Context, row: &[Value]| -> Result<()> {
        rows += 1;
        put(cx, target, columns, row, rules)
    };
    match plan {
        Plan::One | Plan::Values(_) => plan.for_each(cx, &mut each)?,
        plan if reads(plan, &target.table) => {
            for row in plan.collect(cx)? {
                each(cx, &row)?;
            }
        }
        plan => plan.for_each(cx, &mut each)?,
    }
    Ok(rows)
}

/// Inserts one row.
pub(super) fn put(
    cx: &mut Context,
    target: &TargetOf,
    columns: &[usize],
    row: &[Value],
    rules: &mut Rules,
) -> Result<()> {
    if rules.fills.is_empty() && !rules.whole() {
        return place(cx, target, columns, row).map(|_| ());
    }
    let kept = put_whole(cx, target, columns, row, rules)?;
    rules.put_out(cx, &kept)
}

/// Inserts one row with what the rules say; gives it as the table keeps it.
pub(super) fn put_whole(
    cx: &mut Context,
    target: &TargetOf,
    columns: &[usize],
    row: &[Value],
    rules: &Rules,
) -> Result<Vec<Value>> {
    let (mut all, mut values) = (columns.to_vec(), row.to_vec());
    for (column, expr) in &rules.fills {
        all.push(*column);
        values.push(expr.eval(&[], cx)?.into_owned());
    }
    let identity = place(cx, target, &all, &values)?;
    let table = &target.table;
    let mut kept = vec![Value::Null; table.columns().len()];
    for (&column, value) in all.iter().zip(&values) {
        kept[column] = as_kept(value, &table.columns()[column].data_type);
    }
    let counted = table.columns().iter().position(|c| c.identity);
    if let (Some(identity), Some(at)) = (identity, counted) {
        kept[at] = as_kept(&Value::BigInt(identity), &table.columns()[at].data_type);
    }
    rules.check(cx, target, &kept)?;
    Ok(kept)
}

/// Hands a row to the engine; gives its identity value.
fn place(
    cx: &mut Context,
    target: &TargetOf,
    columns: &[usize],
    row: &[Value],
) -> Result<Option<i64>> {
    let session = cx.sessions.of(&target.db)?;
    let identity = session.hinted(target.hints, |session| {
        session.insert_columns(&target.table, columns, row)
    })?;
    if identity.is_some() {
        cx.last.identity = identity;
        cx.last.scope_identity = identity;
    }
    Ok(identity)
}
