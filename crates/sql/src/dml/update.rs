//! UPDATE.

use super::changes::{
    Meets, change_as_one, change_each, each_once, key_of, named_by_key, values_of,
};
use super::position;
use super::rules::{Rules, Verb, as_kept, default_of, send_output};
use super::target::{Names, TargetOf, assigned, named, sources, topped};
use furrow_bind::{Binder, Bound, bound, planned, ready, shown};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::plans::Plans;
use furrow_context::run::Run;
use furrow_engine::{IndexKey, Table};
use furrow_exec::scan::ScanPlan;
use furrow_exec::spill::{RowWriter, Rows};
use furrow_exec::{Expr, Plan};
use furrow_tsql::ast::dml::{SetClause, Target, Update};
use furrow_tsql::ast::expr::{AssignOp, Expr as Written, ExprKind};
use furrow_tsql::ast::name::{Ident, ObjectName};
use furrow_types::Value;
use std::ops::Range;
use std::sync::Arc;

/// One assignment: a column, a variable, or both.
pub(super) struct Set {
    column: Option<usize>,
    variable: Option<usize>,
    value: Expr,
}

impl Set {
    /// The column that is assigned, if there is one.
    pub(super) fn column(&self) -> Option<usize> {
        self.column
    }
}

/// Whether assignments change a unique key.
pub(super) fn sets_unique_key(table: &Table, sets: &[Set]) -> bool {
    let set = |column: usize| sets.iter().any(|s| s.column == Some(column));
    let unique = table.indexes().iter().filter(|i| i.is_unique());
    unique
        .flat_map(furrow_engine::Index::key)
        .any(|k: &IndexKey| set(k.column))
}

/// Changes the rows that were found, and applies the rules to each; returns how many still existed.
fn apply_all(cx: &mut Context, update: &UpdatePlan, rules: &mut Rules, rows: &Rows) -> Result<u64> {
    let (target, columns) = (&update.target, update.columns.as_slice());
    // The values follow the row key.
    let change = |row: &[Value]| {
        let values = row.get(1..).unwrap_or(&[]);
        Some((key_of(row)?, values_of(values, columns)))
    };
    let absent = match update.as_one && rows.count() > 1 {
        true => change_as_one(cx, target, rows, &change)?,
        false => change_each(cx, target, rows, &change)?,
    };
    if rules.whole() {
        let width = target.table.columns().len();
        rows.for_each(|number, row| {
            cx.check_cancel()?;
            if absent.binary_search(&number).is_ok() {
                return Ok(());
            }
            let (values, old) = row.get(1..).unwrap_or(&[]).split_at(columns.len());
            let mut seen = old.get(..width).unwrap_or(old).to_vec();
            for (column, value) in columns.iter().zip(values) {
                let of = target.table.columns().get(*column);
                if let Some((slot, of)) = seen.get_mut(*column).zip(of) {
                    *slot = as_kept(value, &of.data_type);
                }
            }
            rules.check(cx, target, &seen)?;
            // The old row follows the new one, and then the sources if OUTPUT uses them.
            seen.extend_from_slice(old);
            rules.put_out(cx, &seen)
        })?;
    }
    Ok(rows.count() - absent.len() as u64)
}

/// The new values of a row; also assigns variables.
pub(super) fn evaluate(
    sets: &[Set],
    row: &[Value],
    cx: &mut Context,
) -> Result<Vec<(usize, Value)>> {
    let mut values = Vec::with_capacity(sets.len());
    for set in sets {
        let value = set.value.eval(row, cx)?.into_owned();
        if let Some(variable) = set.variable {
            cx.set_variable(variable, value.clone())?;
        }
        if let Some(column) = set.column {
            values.push((column, value));
        }
    }
    Ok(values)
}

/// Notes the variables that SET assigns, before anything that reads them is bound.
pub(super) fn note_variables(binder: &mut Binder<'_>, clauses: &[SetClause]) {
    binder.note_assigned(clauses.iter().filter_map(|clause| match clause {
        SetClause::Variable(variable, ..) | SetClause::Both(variable, ..) => Some(&*variable.value),
        SetClause::Column(..) | SetClause::Method(..) => None,
    }));
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

/// Checks that a prefix before a column in SET is the name of the target, in the statement or in its source
/// (4104). The target's columns begin at `start`.
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

/// Changes the row that the key names, if nothing has to be read first; returns whether it existed, as a
/// number of rows. `None` if the row has to be found.
fn change_named(cx: &mut Context, update: &UpdatePlan) -> Result<Option<u64>> {
    let Some(scan) = &update.named else {
        return Ok(None);
    };
    let Some(key) = scan.named_row(cx)? else {
        return Ok(None);
    };
    cx.check_cancel()?;
    let values = evaluate(&update.sets, &[], cx)?;
    let target = &update.target;
    let session = cx.sessions.by_table(target.db.id(), &target.table)?;
    let existed = session.hinted(target.hints, |s| s.update(&target.table, &key, &values))?;
    Ok(Some(u64::from(existed)))
}

/// Finds the rows and changes them; returns how many there were.
fn change_found(cx: &mut Context, update: &UpdatePlan, rules: &mut Rules) -> Result<u64> {
    let whole = rules.whole();
    let mut found = RowWriter::new(cx);
    let names = (update.name_at, update.meets);
    each_once(&update.plan, names, cx, &mut |cx, row| {
        let mut kept = Vec::with_capacity(1 + update.sets.len());
        kept.extend_from_slice(row.get(update.name_at..=update.name_at).unwrap_or(&[]));
        kept.extend(
            evaluate(&update.sets, row, cx)?
                .into_iter()
                .map(|(_, value)| value),
        );
        if whole {
            kept.extend_from_slice(row.get(update.row_at.clone()).unwrap_or(&[]));
        }
        if rules.looks_around {
            kept.extend_from_slice(row);
        }
        found.push(kept)
    })?;
    apply_all(cx, update, rules, &found.finish()?)
}

/// Runs an UPDATE.
pub(crate) fn update(run: &mut Run<'_>, written: &Update) -> Result<()> {
    let plans = run.plans;
    let (rows, outputs) = run.cx.statement(|cx| {
        let update = match position::cursor_of(written.filter.as_ref()) {
            None => ready(plans, written, cx, |binder| bind(binder, written))?,
            // The plan is for the present row of the cursor.
            Some(_) => Arc::new(bound(cx, |binder| bind(binder, written))?),
        };
        let mut rules = update.rules.clone();
        let rows = match change_named(cx, &update)? {
            Some(rows) => rows,
            None => change_found(cx, &update, &mut rules)?,
        };
        position::check_found(written.filter.as_ref(), rows)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    send_output(run, outputs, rows)
}

/// An UPDATE, bound.
struct UpdatePlan {
    target: TargetOf,
    sets: Vec<Set>,
    /// The columns that are assigned, in the order of the assignments.
    columns: Vec<usize>,
    rules: Rules,
    /// Returns the rows to be changed: the columns that are used, and the row keys.
    plan: Plan,
    row_at: Range<usize>,
    name_at: usize,
    meets: Meets,
    /// Whether a unique key changes.
    as_one: bool,
    /// The plan's only scan, if its key names the row and the new values do not depend on it.
    named: Option<Arc<ScanPlan>>,
}

/// Binds an UPDATE at compilation.
pub(crate) fn plan_update(plans: Option<&Plans>, written: &Update, cx: &mut Context) -> Result<()> {
    if position::cursor_of(written.filter.as_ref()).is_some() {
        return Ok(());
    }
    planned(plans, written, cx, |binder| bind(binder, written)).map(|_| ())
}

fn bind(binder: &mut Binder<'_>, written: &Update) -> Result<UpdatePlan> {
    binder.hints(&written.options)?;
    binder.define(&written.ctes)?;
    note_variables(binder, &written.sets);
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
    let meets = found.meets(binder);
    let seen = (found.through.as_ref(), around.as_slice());
    let mut rules = Rules::bind(binder, Verb::Update, &target, &written.output, seen)?;
    let columns: Vec<usize> = sets.iter().filter_map(|set| set.column).collect();
    if let Some(cursor) = position::cursor_of(filter) {
        position::check_columns(binder, cursor, &target, &columns)?;
    }
    rules.changes_only(&target, &columns);
    let (row_at, name_at) = (found.start..found.name_at, found.name_at);
    if rules.whole() {
        binder.use_all(row_at.clone());
    }
    let plan = found.place(binder);
    let plan = topped(binder, plan, written.top.as_ref())?;
    let is_given = |set: &Set| {
        let is_value = matches!(set.value, Expr::Const(_) | Expr::Variable(_));
        is_value && set.variable.is_none()
    };
    Ok(UpdatePlan {
        named: named_by_key(&plan, &rules).filter(|_| sets.iter().all(is_given)),
        plan,
        as_one: sets_unique_key(&target.table, &sets),
        target,
        sets,
        columns,
        rules,
        row_at,
        name_at,
        meets,
    })
}

/// Converts assignments to columns of a query into assignments to the columns of the table.
pub(super) fn of_table(sets: &[SetClause], names: &Names, table: &Table) -> Result<Vec<SetClause>> {
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
