//! Statements that are not control of flow: who runs which.

use super::{Run, flow, transaction};
use crate::bind::Binder;
use crate::error::{Result, unsupported};
use crate::{dbcc, ddl, dml};
use furrow_engine::Timeout;
use furrow_format::types::{DataType, TypeId};
use furrow_observe::messages::Message;
use furrow_tsql::ast::flow::Set;
use furrow_tsql::ast::query::{Query, QueryBody};
use furrow_tsql::ast::{Statement, Stmt};

/// Runs a statement.
pub(super) fn run(run: &mut Run<'_>, stmt: &Stmt) -> Result<()> {
    let result = dispatch(run, stmt);
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
        Statement::Set(set) => set_statement(run, set),
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
        let bound = Binder::new(cx).query(query)?;
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

fn set_statement(run: &mut Run<'_>, set: &Set) -> Result<()> {
    match set {
        Set::Variable(name, op, expr) => flow::set_variable(run, &name.value, *op, expr)?,
        Set::Isolation(level) => transaction::set_isolation(run, *level),
        Set::Options(names, on) => {
            for name in names {
                set_option(run, name, *on)?;
            }
        }
        Set::Value(name, expr) => set_value(run, name, expr)?,
        Set::IdentityInsert(name, on) => ddl::identity_insert(run, name, *on)?,
        _ => return Err(unsupported("this SET statement")),
    }
    run.done(None);
    Ok(())
}

fn set_value(run: &mut Run<'_>, name: &str, expr: &furrow_tsql::ast::expr::Expr) -> Result<()> {
    match name {
        "LOCK_TIMEOUT" => {
            let (value, _) = flow::evaluate(run, expr)?;
            let timeout = match value.as_i64() {
                Some(0) => Timeout::NoWait,
                Some(ms) if ms > 0 => Timeout::Millis(u32::try_from(ms).unwrap_or(u32::MAX)),
                _ => Timeout::Forever,
            };
            run.cx.sessions.set_lock_timeout(timeout);
            Ok(())
        }
        other => Err(unsupported(&format!("SET {other}"))),
    }
}

fn set_option(run: &mut Run<'_>, name: &str, on: bool) -> Result<()> {
    let set = &mut run.cx.set;
    match name {
        "NOCOUNT" => set.nocount = on,
        "XACT_ABORT" => set.xact_abort = on,
        "QUOTED_IDENTIFIER" => set.quoted_identifier = on,
        "ANSI_NULLS"
        | "ANSI_PADDING"
        | "ANSI_WARNINGS"
        | "ARITHABORT"
        | "CONCAT_NULL_YIELDS_NULL"
        | "ANSI_NULL_DFLT_ON"
        | "ANSI_DEFAULTS"
            if on => {}
        "NOEXEC"
        | "NUMERIC_ROUNDABORT"
        | "IMPLICIT_TRANSACTIONS"
        | "CURSOR_CLOSE_ON_COMMIT"
        | "FMTONLY"
        | "PARSEONLY"
        | "ANSI_NULL_DFLT_OFF"
        | "SHOWPLAN_ALL"
        | "SHOWPLAN_TEXT"
        | "SHOWPLAN_XML"
            if !on => {}
        other => {
            let value = if on { "ON" } else { "OFF" };
            return Err(unsupported(&format!("SET {other} {value}")));
        }
    }
    Ok(())
}
