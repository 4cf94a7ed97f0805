//! INSERT, and SELECT INTO.

use super::rules::Completion;
use super::target::{TargetOf, assigned, no_output, resolve};
use crate::bind::{Binder, Bound};
use crate::context::Context;
use crate::error::{Result, refuse, unsupported};
use crate::exec::{Expr, Plan};
use crate::interp::Run;
use furrow_engine::Table;
use furrow_format::types::Value;
use furrow_observe::messages::Message;
use furrow_tsql::ast::dml::{Insert, InsertSource};
use furrow_tsql::ast::expr::{Expr as Written, ExprKind};
use furrow_tsql::ast::query::Query;

/// Runs an INSERT.
pub(crate) fn insert(run: &mut Run<'_>, written: &Insert) -> Result<()> {
    no_output(&written.output)?;
    if written.top.is_some() {
        return Err(unsupported("INSERT TOP"));
    }
    let rows = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        binder.define(&written.ctes)?;
        let target = resolve(&mut binder, &written.target)?;
        let columns = columns_of(&target.table, written)?;
        let plan = match &written.source {
            InsertSource::DefaultValues => Plan::One,
            InsertSource::Values(rows) => values(&mut binder, &target.table, &columns, rows)?,
            InsertSource::Query(query) => query_rows(&mut binder, &target.table, &columns, query)?,
            InsertSource::Execute(_) => return Err(unsupported("INSERT EXEC")),
        };
        let columns = match &written.source {
            InsertSource::DefaultValues => Vec::new(),
            _ => columns,
        };
        feed(cx, &target, &columns, &plan)
    })?;
    run.done(Some(rows));
    Ok(())
}

/// The columns that values are given for, in the order of the values.
fn columns_of(table: &Table, written: &Insert) -> Result<Vec<usize>> {
    if written.columns.is_empty() {
        let all = table.columns().iter().enumerate();
        return Ok(all.filter(|(_, c)| !c.identity).map(|(at, _)| at).collect());
    }
    let mut columns = Vec::new();
    for name in &written.columns {
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

fn values(
    binder: &mut Binder<'_>,
    table: &Table,
    columns: &[usize],
    rows: &[Vec<Written>],
) -> Result<Plan> {
    let mut plan = Vec::new();
    for row in rows {
        if row.len() != columns.len() {
            let number = match (row.len() < columns.len(), columns.len()) {
                (true, _) => 109,
                _ => 110,
            };
            return refuse(number, &[]);
        }
        let mut exprs = Vec::new();
        for (value, &column) in row.iter().zip(columns) {
            let bound = match &value.kind {
                ExprKind::Default => super::update::default_of(binder, table, column)?,
                _ => binder.expr(value)?,
            };
            let to = table.columns()[column].data_type;
            exprs.push(assigned(binder, bound, to)?);
        }
        plan.push(exprs);
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
        let value = Bound::of(Expr::Column(at), from.data_type);
        exprs.push(assigned(binder, value, table.columns()[column].data_type)?);
    }
    Ok(Plan::Project(Box::new(bound.plan), exprs))
}

/// Whether a plan reads a table.
fn reads(plan: &Plan, table: &Table) -> bool {
    format!("{plan:?}").contains(&format!("ObjectId({})", table.id().0))
}

/// Inserts the rows of a plan.
fn feed(cx: &mut Context, target: &TargetOf, columns: &[usize], plan: &Plan) -> Result<u64> {
    let mut rows = 0_u64;
    let table = &target.table;
    let completion = Completion::bind(cx, &target.db, table, columns)?;
    let mut put = |cx: &mut Context, row: &[Value]| -> Result<()> {
        let completed = completion.complete(cx, table, row)?;
        let row = completed.as_deref().unwrap_or(row);
        let session = cx.sessions.of(&target.db)?;
        let identity = session.hinted(target.hints, |session| {
            session.insert_columns(table, &completion.columns, row)
        })?;
        completion.hold(cx, (&target.db, table), (row, identity))?;
        if identity.is_some() {
            cx.last.identity = identity;
            cx.last.scope_identity = identity;
        }
        rows += 1;
        Ok(())
    };
    match plan {
        Plan::One | Plan::Values(_) => plan.for_each(cx, &mut put)?,
        plan if reads(plan, &target.table) => {
            for row in plan.collect(cx)? {
                put(cx, &row)?;
            }
        }
        plan => plan.for_each(cx, &mut put)?,
    }
    Ok(rows)
}

/// SELECT ... INTO.
pub(crate) fn select_into(_: &mut Run<'_>, _: &Query) -> Result<()> {
    let text = "'SELECT INTO' is not supported in this version of Furrow.";
    Err(Message::custom(40514, 16, 1, text).into())
}
