//! Plans for statements that run: from the cache of their text, or bound now.

use crate::Binder;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::plans::{CachedPlan, Planned, Plans};
use furrow_context::run::Run;
use furrow_tsql::ast::expr::Expr as Written;
use furrow_types::{DataType, Value};
use std::any::Any;
use std::sync::Arc;

/// How often a statement is bound before it runs, while others change the tables that its names lead to.
const ATTEMPTS: u32 = 1000;

/// The plan of the part of a statement that `written` is: the one made before, or a new one. `plans` are
/// those of the text that it is a part of.
pub fn planned<W, T: Any + Send + Sync>(
    plans: Option<&Plans>,
    written: &W,
    cx: &mut Context,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<Arc<T>> {
    Ok(find_or_make(plans, written, cx, bind)?.0)
}

/// The same for a statement that begins to run: the definitions that the plan rests on do not change before
/// the statement ends.
pub fn ready<W, T: Any + Send + Sync>(
    plans: Option<&Plans>,
    written: &W,
    cx: &mut Context,
    mut bind: impl FnMut(&mut Binder<'_>) -> Result<T>,
) -> Result<Arc<T>> {
    until_held(cx, |cx| {
        let (plan, made) = find_or_make(plans, written, cx, &mut bind)?;
        let held = made.hold(&mut cx.sessions)?;
        Ok((plan, held))
    })
}

/// What a statement that begins to run is bound to, where it is bound each time.
pub fn bound<T>(cx: &mut Context, mut bind: impl FnMut(&mut Binder<'_>) -> Result<T>) -> Result<T> {
    until_held(cx, |cx| {
        let mut binder = Binder::new(cx);
        let bound = bind(&mut binder)?;
        let basis = std::mem::take(&mut binder.basis);
        let held = basis.hold(&mut cx.sessions)?;
        Ok((bound, held))
    })
}

/// Binds until no definition has changed between a name's being looked up and its table's being held. A
/// table that is held stays as it is, so that each attempt settles at least one more; only names that lead to
/// other tables each time can use all attempts up. Nothing of the statement has run before.
fn until_held<T>(
    cx: &mut Context,
    mut bind: impl FnMut(&mut Context) -> Result<(T, bool)>,
) -> Result<T> {
    let mut attempt = 1;
    loop {
        let (plan, held) = bind(cx)?;
        // What is stale after so many attempts is refused where it is locked (2801).
        if held || attempt == ATTEMPTS {
            return Ok(plan);
        }
        attempt += 1;
        cx.check_cancel()?;
    }
}

fn find_or_make<W, T: Any + Send + Sync>(
    plans: Option<&Plans>,
    written: &W,
    cx: &mut Context,
    bind: impl FnOnce(&mut Binder<'_>) -> Result<T>,
) -> Result<Planned<T>> {
    let plans = plans.filter(|_| !cx.sessions.defines());
    let at = std::ptr::from_ref(written).addr();
    if let Some(found) = plans.and_then(|plans| plans.find(at, cx.plan_key(), &mut cx.sessions)) {
        return Ok(found);
    }
    let mut binder = Binder::new(cx);
    let plan = Arc::new(bind(&mut binder)?);
    let basis = std::mem::take(&mut binder.basis);
    let made = CachedPlan::new(cx.plan_key(), basis, &plan);
    if let Some(plans) = plans {
        plans.keep(at, &made);
    }
    Ok((plan, made))
}

/// The value of an expression outside of a query, and its type. It is bound each time.
pub fn evaluate(run: &mut Run<'_>, written: &Written) -> Result<(Value, DataType)> {
    value_of(run, None, written)
}

/// [`evaluate`] for an expression of a statement of the text that runs, which has a plan like the statement.
/// It must be part of that text: plans are found by addresses, which others may have later.
pub fn evaluate_planned(run: &mut Run<'_>, written: &Written) -> Result<(Value, DataType)> {
    value_of(run, run.plans, written)
}

fn value_of(
    run: &mut Run<'_>,
    plans: Option<&Plans>,
    written: &Written,
) -> Result<(Value, DataType)> {
    run.cx.tick();
    run.cx.statement(|cx| {
        let bound = ready(plans, written, cx, |binder| binder.expr(written))?;
        Ok((bound.expr.eval(&[], cx)?.into_owned(), bound.data_type))
    })
}

/// [`evaluate`] as a value of a type.
pub fn evaluate_as(run: &mut Run<'_>, written: &Written, to: DataType) -> Result<Value> {
    value_as(run, None, written, to)
}

/// [`evaluate_planned`] as a value of a type, which is always the same for this expression.
pub fn evaluate_planned_as(run: &mut Run<'_>, written: &Written, to: DataType) -> Result<Value> {
    value_as(run, run.plans, written, to)
}

fn value_as(
    run: &mut Run<'_>,
    plans: Option<&Plans>,
    written: &Written,
    to: DataType,
) -> Result<Value> {
    run.cx.tick();
    run.cx.statement(|cx| {
        let converted = ready(plans, written, cx, |binder| {
            let bound = binder.expr(written)?;
            Ok((to, binder.coerce(bound, to)?))
        })?;
        Ok(converted.1.eval(&[], cx)?.into_owned())
    })
}
