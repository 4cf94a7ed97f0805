//! UPDATE.

use super::rules::{Rules, Verb, as_kept, default_of, tell};
use super::target::{TargetOf, assigned, sources, topped};
use crate::bind::{Binder, Bound};
use crate::context::Context;
use crate::error::{Result, refuse, unsupported};
use crate::exec::Expr;
use crate::interp::Run;
use furrow_engine::{RowKey, Table};
use furrow_format::types::Value;
use furrow_tsql::ast::dml::{SetClause, Update};
use furrow_tsql::ast::expr::{AssignOp, Expr as Written, ExprKind};
use furrow_tsql::ast::name::ObjectName;
use std::collections::HashSet;

/// One assignment: a column, a variable, or both.
pub(super) struct Set {
    column: Option<usize>,
    variable: Option<usize>,
    value: Expr,
}

/// A row to be changed: its name, its new values, and the whole of it before where that is looked at.
pub(super) struct Change {
    pub(super) key: RowKey,
    pub(super) values: Vec<(usize, Value)>,
    pub(super) old: Vec<Value>,
}

impl Change {
    /// The whole row after the change.
    pub(super) fn new_row(&self, table: &Table) -> Vec<Value> {
        let mut row = self.old.clone();
        for (column, value) in &self.values {
            if let (Some(slot), Some(of)) = (row.get_mut(*column), table.columns().get(*column)) {
                *slot = as_kept(value, &of.data_type);
            }
        }
        row
    }
}

/// Changes the rows. A key that another row has is in order where that row's own changes: what is refused is
/// tried again, in the other order, as long as that gets on. Rows that exchange their keys are refused.
fn apply_all(
    cx: &mut Context,
    target: &TargetOf,
    rules: &mut Rules,
    changes: &[Change],
) -> Result<u64> {
    let mut rows = 0_u64;
    let mut waiting: Vec<&Change> = changes.iter().collect();
    while !waiting.is_empty() {
        let mut refused = Vec::new();
        let mut first = None;
        for change in &waiting {
            match apply(cx, target, rules, change) {
                Ok(done) => rows += u64::from(done),
                Err(error) if matches!(error.number(), 2601 | 2627) && waiting.len() > 1 => {
                    first.get_or_insert(error);
                    refused.push(*change);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = first
            && refused.len() == waiting.len()
        {
            return Err(error);
        }
        refused.reverse();
        waiting = refused;
    }
    Ok(rows)
}

fn apply(cx: &mut Context, target: &TargetOf, rules: &mut Rules, change: &Change) -> Result<bool> {
    let session = cx.sessions.of(&target.db)?;
    let done = session.hinted(target.hints, |s| {
        s.update(&target.table, &change.key, &change.values)
    })?;
    if done && rules.whole() {
        let mut row = change.new_row(&target.table);
        rules.check(cx, target, &row)?;
        row.extend_from_slice(&change.old);
        rules.put_out(cx, &row)?;
    }
    Ok(done)
}

/// The new values of a row; variables are set on the way.
pub(super) fn evaluate(
    sets: &[Set],
    row: &[Value],
    cx: &mut Context,
) -> Result<Vec<(usize, Value)>> {
    let mut values = Vec::with_capacity(sets.len());
    for set in sets {
        let value = set.value.eval(row, cx)?.into_owned();
        if let Some(variable) = set.variable {
            cx.scope.set(variable, value.clone());
        }
        if let Some(column) = set.column {
            values.push((column, value));
        }
    }
    Ok(values)
}

/// Binds the assignments of SET; the target's columns begin at `start`.
pub(super) fn bind_sets(
    binder: &mut Binder<'_>,
    clauses: &[SetClause],
    table: &Table,
    start: usize,
) -> Result<Vec<Set>> {
    let mut sets = Vec::new();
    for clause in clauses {
        sets.push(set(binder, clause, table, start)?);
    }
    twice(&sets, table)?;
    Ok(sets)
}

/// Runs an UPDATE.
pub(crate) fn update(run: &mut Run<'_>, written: &Update) -> Result<()> {
    let (rows, told) = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        binder.define(&written.ctes)?;
        let found = sources(
            &mut binder,
            &written.target,
            &written.from,
            written.filter.as_ref(),
        )?;
        let target = found.target.clone();
        binder.level().no_aggregates = 157;
        let sets = bind_sets(&mut binder, &written.sets, &target.table, found.start)?;
        let mut rules = Rules::bind(&mut binder, Verb::Update, &target, &written.output)?;
        let whole = rules.whole();
        let row_at = found.start..found.name_at;
        if whole {
            binder.use_all(row_at.clone());
        }
        let name_at = found.name_at;
        let plan = binder.place(found.node, found.conds);
        let plan = topped(&mut binder, plan, written.top.as_ref())?;
        let mut changes = Vec::new();
        let mut seen = HashSet::new();
        plan.for_each(cx, &mut |cx, row| {
            let Some(Value::Binary(bytes)) = row.get(name_at) else {
                return Ok(());
            };
            if !seen.insert(bytes.clone()) {
                return Ok(());
            }
            let values = evaluate(&sets, row, cx)?;
            if let Some(key) = RowKey::from_bytes(bytes) {
                let old = row.get(row_at.clone()).filter(|_| whole);
                let old = old.unwrap_or(&[]).to_vec();
                changes.push(Change { key, values, old });
            }
            Ok(())
        })?;
        let rows = apply_all(cx, &target, &mut rules, &changes)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    tell(run, told, rows);
    Ok(())
}

fn twice(sets: &[Set], table: &Table) -> Result<()> {
    for (at, set) in sets.iter().enumerate() {
        let Some(column) = set.column else { continue };
        if sets.iter().take(at).any(|s| s.column == Some(column)) {
            let name = table.columns().get(column).map_or("", |c| &c.name);
            return refuse(264, &[name.into()]);
        }
    }
    Ok(())
}

fn set(binder: &mut Binder<'_>, clause: &SetClause, table: &Table, start: usize) -> Result<Set> {
    match clause {
        SetClause::Column(name, op, value) => {
            column_set(binder, name, *op, value, table, start, None)
        }
        SetClause::Both(variable, name, op, value) => {
            let bound = binder.variable(&variable.value)?;
            let place = place_of(&bound);
            column_set(binder, name, *op, value, table, start, place)
        }
        SetClause::Variable(variable, op, value) => {
            let target = binder.variable(&variable.value)?;
            let (place, to) = (place_of(&target), target.data_type);
            let mut bound = binder.expr(value)?;
            if let AssignOp::With(op) = op {
                bound = binder.binary(target, *op, bound)?;
            }
            Ok(Set {
                column: None,
                variable: place,
                value: binder.coerce(bound, to)?,
            })
        }
        SetClause::Method(..) => Err(unsupported(".WRITE")),
    }
}

fn place_of(bound: &Bound) -> Option<usize> {
    match bound.expr {
        Expr::Variable(place) => Some(place),
        _ => None,
    }
}

fn column_set(
    binder: &mut Binder<'_>,
    name: &ObjectName,
    op: AssignOp,
    value: &Written,
    table: &Table,
    start: usize,
    variable: Option<usize>,
) -> Result<Set> {
    let Some(column) = table.column(name.name()) else {
        return refuse(207, &[name.name().into()]);
    };
    let of = &table.columns()[column];
    let mut bound = match &value.kind {
        ExprKind::Default => default_of(binder, table, column)?,
        _ => binder.expr(value)?,
    };
    if let AssignOp::With(op) = op {
        let place = start + column;
        if let Some(used) = binder.level().used.get_mut(place) {
            *used = true;
        }
        let now = Bound {
            coercibility: furrow_scalar::Coercibility::Implicit,
            ..Bound::of(Expr::Column(place), of.data_type)
        };
        bound = binder.binary(now, op, bound)?;
    }
    Ok(Set {
        column: Some(column),
        variable,
        value: assigned(binder, bound, of.data_type)?,
    })
}
