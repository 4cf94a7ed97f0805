//! UPDATE.

use super::rules::Checks;
use super::target::{assigned, no_output, sources, topped};
use crate::bind::{Binder, Bound};
use crate::error::{Result, refuse, unsupported};
use crate::exec::Expr;
use crate::interp::Run;
use furrow_engine::{DefaultValue, RowKey};
use furrow_format::types::Value;
use furrow_tsql::ast::dml::{SetClause, Update};
use furrow_tsql::ast::expr::{AssignOp, Expr as Written, ExprKind};
use furrow_tsql::ast::name::ObjectName;
use std::collections::HashSet;

/// One assignment: a column, a variable, or both.
struct Set {
    column: Option<usize>,
    variable: Option<usize>,
    value: Expr,
}

/// Rows with their new values.
type Changes = Vec<(RowKey, Vec<(usize, Value)>)>;

/// Runs an UPDATE.
pub(crate) fn update(run: &mut Run<'_>, written: &Update) -> Result<()> {
    no_output(&written.output)?;
    let rows = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        binder.define(&written.ctes)?;
        let found = sources(
            &mut binder,
            &written.target,
            &written.from,
            written.filter.as_ref(),
        )?;
        let table = std::sync::Arc::clone(&found.target.table);
        binder.level().no_aggregates = 157;
        let mut sets = Vec::new();
        for clause in &written.sets {
            sets.push(set(&mut binder, clause, &table, found.start)?);
        }
        twice(&sets, &table)?;
        if table.checks().iter().any(|c| !c.disabled) {
            // Checks look at rows as a whole.
            let whole = found.start..found.start + table.columns().len();
            for used in binder.level().used.get_mut(whole).into_iter().flatten() {
                *used = true;
            }
        }
        let plan = binder.place(found.node, found.conds);
        let plan = topped(&mut binder, plan, written.top.as_ref())?;
        let checks = Checks::bind(cx, &found.target.db, &table)?;
        let mut changes: Changes = Vec::new();
        let mut seen = HashSet::new();
        plan.for_each(cx, &mut |cx, row| {
            let Some(Value::Binary(bytes)) = row.get(found.name_at) else {
                return Ok(());
            };
            if !seen.insert(bytes.clone()) {
                return Ok(());
            }
            let mut values = Vec::with_capacity(sets.len());
            for set in &sets {
                let value = set.value.eval(row, cx)?.into_owned();
                if let Some(variable) = set.variable {
                    cx.scope.set(variable, value.clone());
                }
                if let Some(column) = set.column {
                    values.push((column, value));
                }
            }
            if !checks.is_empty() {
                let old = row.iter().skip(found.start).take(table.columns().len());
                let mut new: Vec<Value> = old.cloned().collect();
                for (column, value) in &values {
                    if let Some(place) = new.get_mut(*column) {
                        place.clone_from(value);
                    }
                }
                checks.hold(cx, &new, ("UPDATE", &found.target.db, &table))?;
            }
            if let Some(key) = RowKey::from_bytes(bytes) {
                changes.push((key, values));
            }
            Ok(())
        })?;
        let target = found.target;
        let session = cx.sessions.of(&target.db)?;
        let mut rows = 0_u64;
        session.hinted(target.hints, |session| -> Result<()> {
            for (key, values) in &changes {
                rows += u64::from(session.update(&target.table, key, values)?);
            }
            Ok(())
        })?;
        Ok(rows)
    })?;
    run.done(Some(rows));
    Ok(())
}

fn twice(sets: &[Set], table: &furrow_engine::Table) -> Result<()> {
    for (at, set) in sets.iter().enumerate() {
        let Some(column) = set.column else { continue };
        if sets.iter().take(at).any(|s| s.column == Some(column)) {
            let name = table.columns().get(column).map_or("", |c| &c.name);
            return refuse(264, &[name.into()]);
        }
    }
    Ok(())
}

fn set(
    binder: &mut Binder<'_>,
    clause: &SetClause,
    table: &furrow_engine::Table,
    start: usize,
) -> Result<Set> {
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
    table: &furrow_engine::Table,
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

/// The default of a column.
pub(super) fn default_of(
    binder: &mut Binder<'_>,
    table: &furrow_engine::Table,
    column: usize,
) -> Result<Bound> {
    let of = &table.columns()[column];
    if let (None, Some(text)) = (&of.default, &of.default_text) {
        return binder.expr(&crate::ddl::expression(text)?);
    }
    let value = of.default.as_ref().map_or(Value::Null, DefaultValue::value);
    Ok(match value.is_null() {
        true => Bound {
            is_null_literal: true,
            ..Bound::constant(Value::Null, of.data_type)
        },
        false => Bound::constant(value, of.data_type),
    })
}
