//! DELETE.

use super::changes::{Meets, each_once, key_of, named_by_key};
use super::position;
use super::rules::{Rules, Verb, send_output};
use super::target::{TargetOf, sources, topped};
use furrow_bind::{Binder, bound, planned, ready};
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::plans::Plans;
use furrow_context::run::Run;
use furrow_exec::Plan;
use furrow_exec::scan::ScanPlan;
use furrow_exec::spill::RowWriter;
use furrow_tsql::ast::dml::Delete;
use std::ops::Range;
use std::sync::Arc;

/// Deletes the row that the key names, if nothing has to be read first; returns whether it existed, as a
/// number of rows. `None` if the row has to be found.
fn delete_named(cx: &mut Context, delete: &DeletePlan) -> Result<Option<u64>> {
    let Some(scan) = &delete.named else {
        return Ok(None);
    };
    let Some(key) = scan.named_row(cx)? else {
        return Ok(None);
    };
    cx.check_cancel()?;
    let target = &delete.target;
    let session = cx.sessions.by_table(target.db.id(), &target.table)?;
    let existed = session.hinted(target.hints, |s| s.delete(&target.table, &key))?;
    Ok(Some(u64::from(existed)))
}

/// Finds the rows and deletes them; returns how many there were.
fn delete_found(cx: &mut Context, delete: &DeletePlan, rules: &mut Rules) -> Result<u64> {
    let target = &delete.target;
    let whole = rules.whole();
    let mut found = RowWriter::new(cx);
    let names = (delete.name_at, delete.meets);
    each_once(&delete.plan, names, cx, &mut |_, row| {
        let mut kept = row
            .get(delete.name_at..=delete.name_at)
            .unwrap_or(&[])
            .to_vec();
        if whole {
            kept.extend_from_slice(row.get(delete.row_at.clone()).unwrap_or(&[]));
        }
        if rules.looks_around {
            kept.extend_from_slice(row);
        }
        found.push(kept)
    })?;
    let mut rows = 0_u64;
    found.finish()?.for_each(|_, row| {
        cx.check_cancel()?;
        let Some(key) = key_of(row) else {
            return Ok(());
        };
        let session = cx.sessions.by_table(target.db.id(), &target.table)?;
        let gone = session.hinted(target.hints, |s| s.delete(&target.table, &key))?;
        rows += u64::from(gone);
        match gone && whole {
            true => rules.put_out(cx, row.get(1..).unwrap_or(&[])),
            false => Ok(()),
        }
    })?;
    Ok(rows)
}

/// Runs a DELETE.
pub(crate) fn delete(run: &mut Run<'_>, written: &Delete) -> Result<()> {
    let plans = run.plans;
    let (rows, outputs) = run.cx.statement(|cx| {
        let delete = match position::cursor_of(written.filter.as_ref()) {
            None => ready(plans, written, cx, |binder| bind(binder, written))?,
            // The plan is for the present row of the cursor.
            Some(_) => Arc::new(bound(cx, |binder| bind(binder, written))?),
        };
        let mut rules = delete.rules.clone();
        let rows = match delete_named(cx, &delete)? {
            Some(rows) => rows,
            None => delete_found(cx, &delete, &mut rules)?,
        };
        position::check_found(written.filter.as_ref(), rows)?;
        Ok((rows, rules.finish(cx)?))
    })?;
    send_output(run, outputs, rows)
}

/// A DELETE, bound.
struct DeletePlan {
    target: TargetOf,
    rules: Rules,
    /// Returns the rows to be deleted: the columns that are used, and the row keys.
    plan: Plan,
    row_at: Range<usize>,
    name_at: usize,
    meets: Meets,
    /// The plan's only scan, if its key names the row.
    named: Option<Arc<ScanPlan>>,
}

/// Binds a DELETE at compilation.
pub(crate) fn plan_delete(plans: Option<&Plans>, written: &Delete, cx: &mut Context) -> Result<()> {
    if position::cursor_of(written.filter.as_ref()).is_some() {
        return Ok(());
    }
    planned(plans, written, cx, |binder| bind(binder, written)).map(|_| ())
}

fn bind(binder: &mut Binder<'_>, written: &Delete) -> Result<DeletePlan> {
    binder.hints(&written.options)?;
    binder.define(&written.ctes)?;
    let filter = written.filter.as_ref();
    let found = sources(binder, &written.target, &written.from, filter)?;
    let target = found.target.clone();
    let around = found.around(binder, &written.from);
    let meets = found.meets(binder);
    let seen = (found.through.as_ref(), around.as_slice());
    let rules = Rules::bind(binder, Verb::Delete, &target, &written.output, seen)?;
    let (row_at, name_at) = (found.start..found.name_at, found.name_at);
    if rules.whole() {
        binder.use_all(row_at.clone());
    }
    let plan = found.place(binder);
    let plan = topped(binder, plan, written.top.as_ref())?;
    Ok(DeletePlan {
        named: named_by_key(&plan, &rules),
        plan,
        target,
        rules,
        row_at,
        name_at,
        meets,
    })
}
