//! INSERT.

use super::rules::{Outputs, Rules, Verb, as_kept, default_of, send_output};
use super::target::{TargetOf, assigned, columns_of, insertable, topped};
use furrow_bind::{Binder, Bound, bound, planned, ready};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse};
use furrow_context::plans::Plans;
use furrow_context::run::Run;
use furrow_context::sink::{Notice, ResultColumn, Sink};
use furrow_engine::{BulkRows, Table};
use furrow_exec::operator::Operator;
use furrow_exec::spill::{RowWriter, SpillPlace, Store};
use furrow_exec::{Expr, Plan};
use furrow_tsql::ast::dml::{Insert, InsertSource};
use furrow_tsql::ast::expr::{Expr as Written, ExprKind};
use furrow_tsql::ast::query::Query;
use furrow_types::Value;

/// Runs an INSERT.
pub(crate) fn insert(run: &mut Run<'_>, written: &Insert) -> Result<()> {
    if let InsertSource::Execute(call) = &written.source {
        return insert_execute(run, written, call);
    }
    let plans = run.plans;
    let (rows, outputs) = run.cx.statement(|cx| {
        let plan = ready(plans, written, cx, |binder| bind(binder, written))?;
        let mut rules = plan.rules.clone();
        let rows = feed(cx, &plan, &mut rules)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    send_output(run, outputs, rows)
}

/// An INSERT that can be run.
struct InsertPlan {
    target: TargetOf,
    /// The columns that receive the plan's rows.
    columns: Vec<usize>,
    plan: Plan,
    /// Whether the plan reads the target table.
    reads_target: bool,
    rules: Rules,
}

/// Binds an INSERT at compilation.
pub(crate) fn plan_insert(plans: Option<&Plans>, written: &Insert, cx: &mut Context) -> Result<()> {
    if matches!(written.source, InsertSource::Execute(_)) {
        return Ok(());
    }
    planned(plans, written, cx, |binder| bind(binder, written)).map(|_| ())
}

fn bind(binder: &mut Binder<'_>, written: &Insert) -> Result<InsertPlan> {
    binder.hints(&written.options)?;
    binder.define(&written.ctes)?;
    let (target, through) = insertable(binder, &written.target)?;
    let mut columns = columns_of(&target.table, through.as_ref(), &written.columns)?;
    let named = !written.columns.is_empty();
    let plan = match &written.source {
        InsertSource::DefaultValues | InsertSource::Execute(_) => Plan::One,
        InsertSource::Values(rows) => values(binder, &target.table, &columns, rows, named)?,
        InsertSource::Query(query) => query_rows(binder, &target.table, &columns, query, named)?,
    };
    let plan = topped(binder, plan, written.top.as_ref())?;
    if matches!(written.source, InsertSource::DefaultValues) {
        columns.clear();
    }
    let seen = (through.as_ref(), &[][..]);
    let mut rules = Rules::bind(binder, Verb::Insert, &target, &written.output, seen)?;
    rules.fill(binder, &target.table, &columns)?;
    Ok(InsertPlan {
        reads_target: plan.reads(target.db.id(), target.table.id()),
        target,
        columns,
        plan,
        rules,
    })
}

/// INSERT ... EXEC: the rows of all result sets, in a transaction of its own if none is open.
fn insert_execute(
    run: &mut Run<'_>,
    written: &Insert,
    call: &furrow_tsql::ast::flow::Execute,
) -> Result<()> {
    if run.cx.capturing.is_some() {
        return refuse(8164, &[]);
    }
    let own = run.cx.sessions.count() == 0;
    if own {
        run.cx.sessions.begin(None)?;
    }
    run.cx.capturing = Some(run.cx.sessions.count());
    let mut sets = CapturedSets {
        place: SpillPlace::of(run.cx),
        sets: Vec::new(),
        failed: Ok(()),
    };
    let captured = run.interpreter.capture(run, call, &mut sets);
    run.cx.capturing = None;
    let done = captured.and_then(|()| insert_sets(run, written, sets));
    if own && run.cx.sessions.count() > 0 {
        match &done {
            Ok(_) => run.cx.sessions.commit()?,
            Err(_) => run.cx.sessions.rollback()?,
        }
    }
    let (rows, outputs) = done?;
    send_output(run, outputs, rows)
}

/// The result sets of an INSERT ... EXEC, in memory and in files.
struct CapturedSets {
    place: SpillPlace,
    sets: Vec<(Vec<ResultColumn>, RowWriter)>,
    /// The error that stopped the capture; later rows are dropped.
    failed: Result<()>,
}

impl Sink for CapturedSets {
    fn columns(&mut self, columns: &[ResultColumn]) {
        self.sets
            .push((columns.to_vec(), RowWriter::at(&self.place)));
    }

    fn row(&mut self, row: &[Value]) {
        if let (Ok(()), Some((_, rows))) = (&self.failed, self.sets.last_mut()) {
            self.failed = rows.push(row.to_vec());
        }
    }

    fn done(&mut self, _: Option<u64>) {}

    fn notice(&mut self, _: &Notice) {}
}

fn insert_sets(run: &mut Run<'_>, written: &Insert, sets: CapturedSets) -> Result<(u64, Outputs)> {
    sets.failed?;
    run.cx.statement(|cx| {
        let (target, columns, mut rules) = bound(cx, |binder| {
            let (target, through) = insertable(binder, &written.target)?;
            let columns = columns_of(&target.table, through.as_ref(), &written.columns)?;
            let seen = (through.as_ref(), &[][..]);
            let mut rules = Rules::bind(binder, Verb::Insert, &target, &written.output, seen)?;
            rules.fill(binder, &target.table, &columns)?;
            Ok((target, columns, rules))
        })?;
        let mut rows = 0_u64;
        for (from, kept) in sets.sets {
            if from.len() != columns.len() {
                return refuse(213, &[]);
            }
            let mut binder = Binder::new(cx);
            let mut exprs = Vec::new();
            for (at, (from, &column)) in from.iter().zip(&columns).enumerate() {
                let value = Bound::of(Expr::Column(at), from.data_type);
                let to = target.table.columns()[column].data_type;
                exprs.push(assigned(&mut binder, value, to)?);
            }
            kept.finish()?.for_each(|_, row| {
                cx.check_cancel()?;
                let mut values = Vec::with_capacity(exprs.len());
                for expr in &exprs {
                    values.push(expr.eval(row, cx)?.into_owned());
                }
                rows += 1;
                put(cx, &target, &columns, &values, &mut rules)
            })?;
        }
        Ok((rows, rules.finish(cx)?))
    })
}

/// The values of a VALUES row, in the order of the columns. `named`: whether the statement lists the columns.
pub(super) fn row_of(
    binder: &mut Binder<'_>,
    table: &Table,
    columns: &[usize],
    row: &[Written],
    named: bool,
) -> Result<Vec<Expr>> {
    if row.len() != columns.len() {
        let number = match (named, row.len() < columns.len()) {
            (false, _) => 213,
            (true, true) => 109,
            (true, false) => 110,
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
    named: bool,
) -> Result<Plan> {
    let first = rows.first().map_or(0, Vec::len);
    if rows.iter().any(|row| row.len() != first) {
        return refuse(10709, &[]);
    }
    let mut plan = Vec::new();
    for row in rows {
        plan.push(row_of(binder, table, columns, row, named)?);
    }
    Ok(Plan::Values(plan))
}

fn query_rows(
    binder: &mut Binder<'_>,
    table: &Table,
    columns: &[usize],
    query: &Query,
    named: bool,
) -> Result<Plan> {
    let bound = binder.query(query)?;
    if bound.columns.len() != columns.len() {
        let number = match (named, bound.columns.len() < columns.len()) {
            (false, _) => 213,
            (true, true) => 120,
            (true, false) => 121,
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

/// Inserts the rows of a plan.
fn feed(cx: &mut Context, insert: &InsertPlan, rules: &mut Rules) -> Result<u64> {
    let mut rows = 0_u64;
    let (target, columns) = (&insert.target, &insert.columns);
    let mut batches = None;
    if gathers(&insert.plan, rules) {
        let session = cx.sessions.by_table(target.db.id(), &target.table)?;
        batches = session.bulk_rows(&target.table, columns, target.hints.granularity);
    }
    let mut each = |cx: &mut Context, row: &[Value]| -> Result<()> {
        rows += 1;
        match &mut batches {
            Some(batches) => gather(cx, target, batches, row),
            None => put(cx, target, columns, row, rules),
        }
    };
    let fed = feed_each(cx, insert, &mut each);
    if let Some(batches) = &mut batches
        && (fed.is_ok() || cx.check_cancel().is_ok())
        && !fed.as_ref().is_err_and(|error| error.number() == 1205)
    {
        // The error of a row that was gathered comes before that of a later row.
        let session = cx.sessions.by_table(target.db.id(), &target.table)?;
        session.hinted(target.hints, |session| session.finish_bulk_rows(batches))?;
    }
    fed?;
    Ok(rows)
}

fn feed_each(
    cx: &mut Context,
    insert: &InsertPlan,
    each: &mut dyn FnMut(&mut Context, &[Value]) -> Result<()>,
) -> Result<()> {
    if !insert.reads_target {
        return insert.plan.for_each(cx, each);
    }
    let mut found = Store::collect(&insert.plan, cx)?;
    let mut row = Vec::new();
    while found.next(cx, &mut row)? {
        each(cx, &row)?;
    }
    Ok(())
}

/// Whether rows may be inserted some at a time: if there can be several, and no rule needs single ones.
fn gathers(plan: &Plan, rules: &Rules) -> bool {
    let one = match plan {
        Plan::One => true,
        Plan::Values(rows) => rows.len() < 2,
        _ => false,
    };
    !one && rules.fills.is_empty() && !rules.whole()
}

/// Adds a row to its batch.
fn gather(
    cx: &mut Context,
    target: &TargetOf,
    batches: &mut BulkRows,
    row: &[Value],
) -> Result<()> {
    let session = cx.sessions.by_table(target.db.id(), &target.table)?;
    let identity = session.hinted(target.hints, |session| session.push_bulk_row(batches, row))?;
    if identity.is_some() {
        cx.last.identity = identity;
        cx.last.scope_identity = identity;
    }
    Ok(())
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

/// Inserts one row after the rules are applied; returns the row as it is stored.
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

/// Passes a row to the engine; returns its identity value.
fn place(
    cx: &mut Context,
    target: &TargetOf,
    columns: &[usize],
    row: &[Value],
) -> Result<Option<i64>> {
    let session = cx.sessions.by_table(target.db.id(), &target.table)?;
    let identity = session.hinted(target.hints, |session| {
        session.insert_columns(&target.table, columns, row)
    })?;
    if identity.is_some() {
        cx.last.identity = identity;
        cx.last.scope_identity = identity;
    }
    Ok(identity)
}
