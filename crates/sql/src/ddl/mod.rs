//! Databases, tables, indexes, modules: made, changed, dropped.
//!
//! Each statement is one call of the engine, or a few in one statement; what is written becomes what the
//! engine is asked for, and its refusals come back with names as they were written. Clauses that change
//! nothing here are taken; those that would are refused by name (40514).

mod alter;
mod columns;
pub(crate) mod database;
mod files;
mod foreign;
mod index;
mod module;
mod normal;
mod options;
mod table;

pub(crate) use columns::check_padding;

use crate::bind::{Binder, DEFAULT_SCHEMA};
use crate::context::Context;
use crate::error::{Result, refuse, unsupported};
use crate::interp::{Run, parse};
use furrow_engine::{Database, ModuleKind};
use furrow_messages::Message;
use furrow_tsql::ast::database::Drop;
use furrow_tsql::ast::expr::{Condition, Expr};
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::{Query, QueryBody, SelectItem};
use furrow_tsql::ast::{Statement, Stmt};
use std::sync::Arc;

/// Runs a statement that defines something.
pub(crate) fn run(run: &mut Run<'_>, stmt: &Stmt) -> Result<()> {
    match &stmt.kind {
        Statement::CreateTable(written) => table::create(run, written),
        Statement::AlterTable(written) => alter::alter(run, written),
        Statement::Truncate(written) => table::truncate(run, written),
        Statement::CreateIndex(written) => index::create(run, written),
        Statement::AlterIndex(written) => index::alter(run, written),
        Statement::UpdateStatistics(written) => index::update_statistics(run, written),
        Statement::DropIndex(written) => index::drop(run, written),
        Statement::Procedure(written) => module::procedure(run, written),
        Statement::View(written) => module::view(run, written),
        Statement::CreateSchema(written) => module::create_schema(run, written),
        Statement::CreateDatabase(written) => database::create(run, written),
        Statement::AlterDatabase(written) => files::alter(run, written),
        Statement::Drop(written) => drop(run, written),
        _ => {
            if let Some(what) = module::refused(stmt) {
                return Err(unsupported(what));
            }
            let text = stmt.span.of(run.text);
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            Err(unsupported(&words.join(" ")))
        }
    }
}

fn drop(run: &mut Run<'_>, written: &Drop) -> Result<()> {
    match &*written.kind {
        "TABLE" => table::drop(run, written),
        "PROCEDURE" => module::drop(run, written, ModuleKind::Procedure),
        "VIEW" => module::drop(run, written, ModuleKind::View),
        "SCHEMA" => module::drop_schema(run, written),
        "DATABASE" => database::drop(run, written),
        other => Err(unsupported(&format!("DROP {other}"))),
    }
}

/// Schema and name of an object: `dbo` where none is written.
fn named(name: &ObjectName) -> (String, String) {
    let schema = name.schema().map_or(DEFAULT_SCHEMA, |s| &s.value);
    (schema.to_owned(), name.name().to_owned())
}

/// 3705 for an object of another kind than the one that DROP names.
fn of_kind(cx: &mut Context, name: &ObjectName, dropped: &str) -> Result<()> {
    let db = Binder::new(cx).database_of(name)?;
    let (schema, object) = named(name);
    let session = cx.sessions.of(&db)?;
    let kind = match session.module(&schema, &object).map(|m| m.kind()) {
        Some(ModuleKind::View) => "view",
        Some(ModuleKind::Procedure) => "procedure",
        None if session.table_in(&schema, &object).is_ok() => "table",
        _ => return Ok(()),
    };
    if kind == dropped {
        return Ok(());
    }
    let shown = crate::bind::shown(name);
    let args = [
        dropped.to_uppercase().into(),
        shown.as_str().into(),
        shown.as_str().into(),
        kind.into(),
        format!("DROP {}", kind.to_uppercase()).into(),
    ];
    refuse(3705, &args)
}

/// 226 within a transaction.
fn outside_transaction(run: &Run<'_>, statement: &str) -> Result<()> {
    if run.cx.sessions.count() == 0 {
        return Ok(());
    }
    let text = format!("{statement} statement not allowed within multi-statement transaction.");
    Err(Message::custom(226, 16, 6, &text).into())
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// `SELECT 1 FROM` a table, for the rows that fail a check.
fn failing(cx: &Context, of: (&Arc<Database>, &str, &str), check: &str) -> Result<Query> {
    let (db, schema, name) = of;
    let text = format!(
        "SELECT TOP (1) 1 FROM {}.{}.{} WHERE NOT {check}",
        bracketed(db.name()),
        bracketed(schema),
        bracketed(name)
    );
    match parse(&text, cx)?.into_iter().next().map(|s| s.kind) {
        Some(Statement::Select(query)) => Ok(*query),
        _ => Err(unsupported("this CHECK")),
    }
}

/// Binds a check over its table: 207 and the like when it does not.
fn bind_check(cx: &mut Context, of: (&Arc<Database>, &str, &str), check: &str) -> Result<()> {
    let query = failing(cx, of, check)?;
    Binder::new(cx).query(&query)?;
    Ok(())
}

/// Whether some row fails a check.
fn violates(cx: &mut Context, of: (&Arc<Database>, &str, &str), check: &str) -> Result<bool> {
    let query = failing(cx, of, check)?;
    has_rows(cx, &query)
}

/// Whether a query, given as text, has rows.
pub(crate) fn some_row(cx: &mut Context, text: &str) -> Result<bool> {
    let read = crate::interp::read(text, cx)?;
    match read.statements.first().map(|s| &s.kind) {
        Some(Statement::Select(query)) => has_rows(cx, query),
        _ => Err(unsupported("this query")),
    }
}

fn has_rows(cx: &mut Context, query: &Query) -> Result<bool> {
    let bound = crate::interp::bound(cx, |binder| binder.query(query))?;
    let mut found = false;
    bound.plan.for_each(cx, &mut |_, _| {
        found = true;
        Ok(())
    })?;
    Ok(found)
}

/// `, column 'a'` of the column with this number; nothing for 0.
fn column_named(cx: &mut Context, of: (&Arc<Database>, &str, &str), id: i32) -> Result<String> {
    let (db, schema, name) = of;
    let table = cx.sessions.of_table(db, name)?.table_in(schema, name)?;
    let column = table.columns().iter().find(|c| c.id == id);
    Ok(column.map_or_else(String::new, |c| format!(", column '{}'", c.name)))
}

/// A text as a condition.
pub(crate) fn condition(text: &str) -> Result<Condition> {
    let sql = format!("SELECT 1 WHERE {text}");
    let parsed = furrow_tsql::parse(&sql, furrow_tsql::Options::default());
    let bad = || unsupported(&format!("the check {text}"));
    let first = parsed.map_err(|_| bad())?.statements.into_iter().next();
    let Some(Statement::Select(query)) = first.map(|s| s.kind) else {
        return Err(bad());
    };
    match query.body {
        QueryBody::Select(select) => select.filter.ok_or_else(bad),
        _ => Err(bad()),
    }
}

/// SET IDENTITY_INSERT.
pub(crate) fn identity_insert(run: &mut Run<'_>, name: &ObjectName, on: bool) -> Result<()> {
    run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let (db, schemas) = (binder.database_of(name)?, binder.schemas_of(name));
        let session = cx.sessions.of(&db)?;
        let mut found = schemas.iter().map(|schema| session.table_in(schema, name.name()));
        let table = found.find_map(std::result::Result::ok).ok_or_else(|| {
            let text = format!(
                "Cannot find the object \"{}\" because it does not exist or you do not have permissions.",
                crate::bind::shown(name)
            );
            furrow_engine::EngineError::of(Message::custom(1088, 16, 11, &text))
        })?;
        session.set_identity_insert(&table, on)?;
        Ok(())
    })
}

/// A text as an expression.
pub(crate) fn expression(text: &str) -> Result<Expr> {
    let sql = format!("SELECT {text}");
    let parsed = furrow_tsql::parse(&sql, furrow_tsql::Options::default());
    let bad = || unsupported(&format!("the default {text}"));
    let first = parsed.map_err(|_| bad())?.statements.into_iter().next();
    let Some(Statement::Select(query)) = first.map(|s| s.kind) else {
        return Err(bad());
    };
    match query.body {
        QueryBody::Select(select) => match select.items.into_iter().next() {
            Some(SelectItem::Expr { expr, .. }) => Ok(expr),
            _ => Err(bad()),
        },
        _ => Err(bad()),
    }
}
