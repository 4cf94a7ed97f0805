//! DELETE.

use super::rules::{Rules, Verb, tell};
use super::target::{TargetOf, sources, topped};
use crate::bind::Binder;
use crate::context::Context;
use crate::error::Result;
use crate::exec::Plan;
use crate::exec::memory::{Grant, row_bytes};
use crate::interp::{Plans, Run, planned, ready};
use furrow_engine::RowKey;
use furrow_tsql::ast::dml::Delete;
use furrow_types::Value;
use std::ops::Range;

/// Runs a DELETE.
pub(crate) fn delete(run: &mut Run<'_>, written: &Delete) -> Result<()> {
    let plans = run.plans;
    let (rows, told) = run.cx.statement(|cx| {
        let delete = ready(plans, written, cx, |binder| bind(binder, written))?;
        let target = &delete.target;
        let mut rules = delete.rules.clone();
        let whole = rules.whole();
        let mut keys = Vec::new();
        let mut grant = Grant::new(cx);
        delete.plan.for_each(cx, &mut |_, row| {
            if let Some(Value::Binary(bytes)) = row.get(delete.name_at)
                && let Some(key) = RowKey::from_bytes(bytes)
            {
                let old = row.get(delete.row_at.clone()).filter(|_| whole);
                let mut seen = old.unwrap_or(&[]).to_vec();
                if rules.looks_around {
                    seen.extend_from_slice(row);
                }
                grant.take_beyond(bytes.len() + row_bytes(&seen))?;
                keys.push((key, seen));
            }
            Ok(())
        })?;
        let mut rows = 0_u64;
        for (key, old) in &keys {
            cx.check_cancel()?;
            let session = cx.sessions.by_table(target.db.id(), &target.table)?;
            let gone = session.hinted(target.hints, |s| s.delete(&target.table, key))?;
            rows += u64::from(gone);
            if gone && whole {
                rules.put_out(cx, old)?;
            }
        }
        Ok((rows, rules.finish(cx)?))
    })?;
    tell(run, told, rows);
    Ok(())
}

/// A DELETE that can be run.
struct DeletePlan {
    target: TargetOf,
    rules: Rules,
    /// Gives rows to be deleted: their columns, where they are looked at, and their names.
    plan: Plan,
    row_at: Range<usize>,
    name_at: usize,
}

/// Binds a DELETE ahead of its turn.
pub(crate) fn plan_delete(plans: Option<&Plans>, written: &Delete, cx: &mut Context) -> Result<()> {
    planned(plans, written, cx, |binder| bind(binder, written)).map(|_| ())
}

fn bind(binder: &mut Binder<'_>, written: &Delete) -> Result<DeletePlan> {
    binder.hints(&written.options)?;
    binder.define(&written.ctes)?;
    let filter = written.filter.as_ref();
    let found = sources(binder, &written.target, &written.from, filter)?;
    let target = found.target.clone();
    let around = found.around(binder, &written.from);
    let seen = (found.through.as_ref(), around.as_slice());
    let rules = Rules::bind(binder, Verb::Delete, &target, &written.output, seen)?;
    let (row_at, name_at) = (found.start..found.name_at, found.name_at);
    if rules.whole() {
        binder.use_all(row_at.clone());
    }
    let plan = binder.place(found.node, found.conds);
    Ok(DeletePlan {
        plan: topped(binder, plan, written.top.as_ref())?,
        target,
        rules,
        row_at,
        name_at,
    })
}
