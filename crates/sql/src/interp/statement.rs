//! Statements that are not control of flow: who runs which.

use super::{Run, flow, set, transaction, wait};
use crate::bind::Binder;
use crate::error::{Result, refuse, unsupported};
use crate::{dbcc, ddl, dml};
use furrow_format::types::{DataType, TypeId};
use furrow_observe::messages::Message;
use furrow_tsql::ast::admin::Kill;
use furrow_tsql::ast::query::{Query, QueryBody};
use furrow_tsql::ast::{Statement, Stmt};

/// Runs a statement.
pub(super) fn run(run: &mut Run<'_>, stmt: &Stmt) -> Result<()> {
    let reads = matches!(
        stmt.kind,
        Statement::Select(_)
            | Statement::Print(_)
            | Statement::Set(_)
            | Statement::Use(_)
            | Statement::Transaction(_)
            | Statement::Waitfor(_)
            | Statement::Dbcc(_)
            | Statement::Kill(_)
    );
    if !reads {
        run.cx.sessions.writable()?;
    }
    if run.cx.set.implicit && run.cx.sessions.count() == 0 && begins(stmt) {
        run.cx.sessions.begin()?;
    }
    let renamed = match stmt.kind {
        Statement::CreateTable(_)
        | Statement::Truncate(_)
        | Statement::AlterTable(_)
        | Statement::CreateIndex(_)
        | Statement::AlterIndex(_)
        | Statement::DropIndex(_)
        | Statement::Drop(_) => run.cx.with_temp_names(stmt)?,
        _ => None,
    };
    let result = dispatch(run, renamed.as_ref().unwrap_or(stmt));
    if result.is_ok() {
        run.cx.last.error = 0;
    }
    result
}

fn dispatch(run: &mut Run<'_>, stmt: &Stmt) -> Result<()> {
    match &stmt.kind {
        Statement::Select(query) => select(run, query),
        Statement::Insert(insert) => dml::insert(run, insert),
        Statement::Update(update) => dml::update(run, update),
        Statement::Delete(delete) => dml::delete(run, delete),
        Statement::Merge(merge) => dml::merge(run, merge),
        Statement::Set(set) => set::run(run, set),
        Statement::Print(expr) => print(run, expr),
        Statement::Use(name) => {
            run.cx.sessions.change_database(&name.value)?;
            let text = format!("Changed database context to '{}'.", name.value);
            run.inform(Message::custom(5701, 0, 2, &text));
            run.done(None);
            Ok(())
        }
        Statement::Transaction(written) => transaction::run(run, written),
        Statement::Dbcc(written) => dbcc::run(run, written),
        Statement::Checkpoint(_) => {
            let db = std::sync::Arc::clone(run.cx.sessions.database());
            db.checkpoint()?;
            run.done(None);
            Ok(())
        }
        Statement::Waitfor(written) => wait::waitfor(run, written),
        Statement::Kill(written) => kill(run, written),
        _ => ddl::run(run, stmt),
    }
}

fn select(run: &mut Run<'_>, query: &Query) -> Result<()> {
    if let QueryBody::Select(select) = &query.body
        && select.into.is_some()
    {
        return dml::select_into(run, query);
    }
    let sink = &mut *run.sink;
    let rows = run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let mut bound = binder.query(query)?;
        bound.plan = dml::limited(&binder, bound.plan);
        let mut rows = 0_u64;
        if !bound.assigns.is_empty() {
            bound.plan.for_each(cx, &mut |cx, row| {
                rows += 1;
                for (assign, value) in bound.assigns.iter().zip(row) {
                    cx.scope.set(assign.variable, value.clone());
                }
                Ok(())
            })?;
            return Ok(rows);
        }
        sink.columns(&bound.columns);
        bound.plan.for_each(cx, &mut |_, row| {
            rows += 1;
            sink.row(row);
            Ok(())
        })?;
        Ok(rows)
    })?;
    run.done(Some(rows));
    Ok(())
}

fn print(run: &mut Run<'_>, expr: &furrow_tsql::ast::expr::Expr) -> Result<()> {
    let text = DataType::sized(TypeId::NVarChar, 8000);
    let value = flow::evaluate_as(run, expr, text)?;
    let message = Message::custom(0, 0, 1, value.as_str().unwrap_or(" "));
    run.inform(message);
    run.done(None);
    Ok(())
}

/// Whether a statement begins a transaction under SET IMPLICIT_TRANSACTIONS ON.
fn begins(stmt: &Stmt) -> bool {
    match &stmt.kind {
        Statement::Select(query) => match &query.body {
            QueryBody::Select(select) => !select.from.is_empty(),
            _ => true,
        },
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Truncate(_)
        | Statement::CreateTable(_)
        | Statement::AlterTable(_)
        | Statement::Drop(_) => true,
        _ => false,
    }
}

/// KILL: another connection ends at its next row or wait.
fn kill(run: &mut Run<'_>, written: &Kill) -> Result<()> {
    if written.status_only {
        return Err(unsupported("WITH STATUSONLY"));
    }
    let int = DataType::simple(TypeId::Int);
    let value = flow::evaluate_as(run, &written.session, int)?;
    let id = value.as_i64().and_then(|n| i32::try_from(n).ok());
    let Some(id) = id.filter(|id| *id > 0) else {
        return refuse(6101, &[value.as_i64().unwrap_or(0).into()]);
    };
    if id == run.cx.sessions.id() {
        return refuse(6104, &[]);
    }
    if !run.cx.server.kill(id) {
        return refuse(6106, &[id.into()]);
    }
    run.done(None);
    Ok(())
}
