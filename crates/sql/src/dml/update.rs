//! UPDATE.

use super::rules::{Rules, Verb, as_kept, default_of, tell};
use super::target::{Names, TargetOf, assigned, named, sources, topped};
use crate::bind::{Binder, Bound, shown};
use crate::context::Context;
use crate::error::{Result, refuse, unsupported};
use crate::exec::memory::{Grant, row_bytes};
use crate::exec::{Expr, Plan};
use crate::interp::{Plans, Run, planned, ready};
use furrow_engine::{EngineError, IndexKey, RowKey, Table};
use furrow_tsql::ast::dml::{SetClause, Target, Update};
use furrow_tsql::ast::expr::{AssignOp, Expr as Written, ExprKind};
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_types::Value;
use std::collections::HashSet;
use std::ops::Range;

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
    /// The row of the sources that it was found with, where OUTPUT looks at it.
    pub(super) around: Vec<Value>,
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

/// Whether assignments change the key of a unique index.
pub(super) fn sets_unique_key(table: &Table, sets: &[Set]) -> bool {
    let set = |column: usize| sets.iter().any(|s| s.column == Some(column));
    let unique = table.indexes().iter().filter(|i| i.is_unique());
    unique
        .flat_map(furrow_engine::Index::key)
        .any(|k: &IndexKey| set(k.column))
}

/// Changes the rows; says of each whether it was there. Where keys change that no two rows may share, all
/// rows change as one: they may exchange their keys.
pub(super) fn change_rows(
    cx: &mut Context,
    target: &TargetOf,
    changes: &[&Change],
    as_one: bool,
) -> Result<Vec<bool>> {
    let session = cx.sessions.by_table(target.db.id(), &target.table)?;
    let table = &target.table;
    let done = session.hinted(target.hints, |session| {
        if as_one && changes.len() > 1 {
            let all: Vec<(&RowKey, &[(usize, Value)])> =
                changes.iter().map(|c| (&c.key, &*c.values)).collect();
            return session.update_rows(table, &all);
        }
        let mut there = Vec::with_capacity(changes.len());
        for change in changes {
            EngineError::check_cancelled()?;
            there.push(session.update(table, &change.key, &change.values)?);
        }
        Ok(there)
    });
    Ok(done?)
}

/// Changes the rows, and does for each what the rules say.
fn apply_all(
    cx: &mut Context,
    target: &TargetOf,
    rules: &mut Rules,
    changes: &[Change],
    as_one: bool,
) -> Result<u64> {
    let all: Vec<&Change> = changes.iter().collect();
    let there = change_rows(cx, target, &all, as_one)?;
    let mut rows = 0_u64;
    for (change, _) in changes.iter().zip(&there).filter(|(_, there)| **there) {
        cx.check_cancel()?;
        rows += 1;
        if rules.whole() {
            let mut row = change.new_row(&target.table);
            rules.check(cx, target, &row)?;
            row.extend_from_slice(&change.old);
            row.extend_from_slice(&change.around);
            rules.put_out(cx, &row)?;
        }
    }
    Ok(rows)
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

/// Checks that what stands before the columns of SET names the target, by the name that its source has or by
/// the one that the statement has (4104). The target's columns begin at `start`.
pub(super) fn check_prefixes(
    binder: &mut Binder<'_>,
    clauses: &[SetClause],
    target: &Target,
    start: usize,
) -> Result<()> {
    let written = named(target)?;
    for clause in clauses {
        let (SetClause::Column(name, ..) | SetClause::Both(_, name, ..)) = clause else {
            continue;
        };
        let Some((_, prefix @ [_, ..])) = name.parts.split_last() else {
            continue;
        };
        let same = |(a, b): (&Ident, &Ident)| a.value.eq_ignore_ascii_case(&b.value);
        let by_statement = prefix.len() <= written.parts.len()
            && prefix
                .iter()
                .rev()
                .zip(written.parts.iter().rev())
                .all(same);
        let source = binder.level().column_at(start).map(|(source, _)| source);
        if !by_statement && !source.is_some_and(|source| source.is_named(prefix)) {
            return refuse(4104, &[shown(name).into()]);
        }
    }
    Ok(())
}

/// Runs an UPDATE.
pub(crate) fn update(run: &mut Run<'_>, written: &Update) -> Result<()> {
    let plans = run.plans;
    let (rows, told) = run.cx.statement(|cx| {
        let update = ready(plans, written, cx, |binder| bind(binder, written))?;
        let mut rules = update.rules.clone();
        let whole = rules.whole();
        let mut changes = Vec::new();
        let mut seen = HashSet::new();
        let mut grant = Grant::new(cx);
        update.plan.for_each(cx, &mut |cx, row| {
            let Some(Value::Binary(bytes)) = row.get(update.name_at) else {
                return Ok(());
            };
            if !seen.insert(bytes.clone()) {
                return Ok(());
            }
            let values = evaluate(&update.sets, row, cx)?;
            if let Some(key) = RowKey::from_bytes(bytes) {
                let old = row.get(update.row_at.clone()).filter(|_| whole);
                // Its name is kept twice; the row, once as it was found and once as it was.
                let copies = usize::from(whole) + usize::from(rules.looks_around);
                let new: usize = values
                    .iter()
                    .map(|v| row_bytes(std::slice::from_ref(&v.1)))
                    .sum();
                grant.take_beyond(2 * bytes.len() + new + copies * row_bytes(row))?;
                changes.push(Change {
                    key,
                    values,
                    old: old.unwrap_or(&[]).to_vec(),
                    around: match rules.looks_around {
                        true => row.to_vec(),
                        false => Vec::new(),
                    },
                });
            }
            Ok(())
        })?;
        let rows = apply_all(cx, &update.target, &mut rules, &changes, update.as_one)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    tell(run, told, rows);
    Ok(())
}

/// An UPDATE that can be run.
struct UpdatePlan {
    target: TargetOf,
    sets: Vec<Set>,
    rules: Rules,
    /// Gives rows to be changed: their columns, as far as they are looked at, and their names.
    plan: Plan,
    row_at: Range<usize>,
    name_at: usize,
    /// Whether a key changes that no two rows may share.
    as_one: bool,
}

/// Binds an UPDATE ahead of its turn.
pub(crate) fn plan_update(plans: Option<&Plans>, written: &Update, cx: &mut Context) -> Result<()> {
    planned(plans, written, cx, |binder| bind(binder, written)).map(|_| ())
}

fn bind(binder: &mut Binder<'_>, written: &Update) -> Result<UpdatePlan> {
    binder.hints(&written.options)?;
    binder.define(&written.ctes)?;
    let filter = written.filter.as_ref();
    let found = sources(binder, &written.target, &written.from, filter)?;
    let target = found.target.clone();
    check_prefixes(binder, &written.sets, &written.target, found.start)?;
    binder.level().no_aggregates = 157;
    let sets = match &found.through {
        Some(names) => {
            let sets = of_table(&written.sets, names, &target.table)?;
            bind_sets(binder, &sets, &target.table, found.start)?
        }
        None => bind_sets(binder, &written.sets, &target.table, found.start)?,
    };
    let around = found.around(binder, &written.from);
    let seen = (found.through.as_ref(), around.as_slice());
    let mut rules = Rules::bind(binder, Verb::Update, &target, &written.output, seen)?;
    let columns: Vec<usize> = sets.iter().filter_map(|set| set.column).collect();
    rules.changes_only(&target, &columns);
    let (row_at, name_at) = (found.start..found.name_at, found.name_at);
    if rules.whole() {
        binder.use_all(row_at.clone());
    }
    let plan = binder.place(found.node, found.conds);
    Ok(UpdatePlan {
        plan: topped(binder, plan, written.top.as_ref())?,
        as_one: sets_unique_key(&target.table, &sets),
        target,
        sets,
        rules,
        row_at,
        name_at,
    })
}

/// Assignments to columns of a query as assignments to the columns of the table that they are.
fn of_table(sets: &[SetClause], names: &Names, table: &Table) -> Result<Vec<SetClause>> {
    let mut changed = sets.to_vec();
    for set in &mut changed {
        if let SetClause::Column(name, ..) | SetClause::Both(_, name, ..) = set {
            let column = names.column(name.name())?;
            let own = table.columns().get(column).map_or("", |c| &c.name);
            *name = ObjectName::single(Ident::new(own));
        }
    }
    Ok(changed)
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
