//! Databases, tables, indexes, modules: CREATE, ALTER, DROP.
//!
//! Each statement is one call of the engine, or a few in one engine statement. The statement is converted
//! into a specification for the engine; the engine's errors are returned with the names of the statement.
//! Clauses without effect here are accepted; other unsupported clauses are refused by name (40514).

mod alter;
mod columns;
mod common;
pub(crate) mod database;
mod files;
mod foreign;
mod index;
mod module;
mod normal;
mod options;
mod snapshot;
mod table;

use common::{
    bind_check, bracketed, column_named, indexes_of, named, not_of_system, of_kind,
    outside_transaction, violates, warn_of_long_keys,
};
pub(crate) use common::{identity_insert, some_row};

pub(crate) use columns::check_padding;
pub(crate) use module::MOST_PARAMETERS;

use furrow_context::error::{Result, unsupported};
use furrow_context::run::Run;
use furrow_engine::ModuleKind;
use furrow_tsql::ast::database::Drop;
use furrow_tsql::ast::{Statement, Stmt};

/// Runs a DDL statement.
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
        Statement::View(written) => module::view(run, written, stmt.line.0),
        Statement::CreateSchema(written) => module::create_schema(run, written),
        Statement::CreateDatabase(written) => match &written.snapshot_of {
            Some(of) => snapshot::create(run, written, of),
            None => database::create(run, written),
        },
        Statement::AlterDatabase(written) => files::alter(run, written),
        Statement::Drop(written) => drop(run, written),
        Statement::Backup(written) => crate::backup::backup(run, written),
        Statement::Restore(written) => crate::backup::restore(run, written),
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
