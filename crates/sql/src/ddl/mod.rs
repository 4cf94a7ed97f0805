//! Databases, tables, indexes: made, changed, dropped.

mod table;

use crate::error::{Result, unsupported};
use crate::interp::Run;
use furrow_tsql::ast::{Statement, Stmt};

/// Runs a statement that defines something.
pub(crate) fn run(run: &mut Run<'_>, stmt: &Stmt) -> Result<()> {
    match &stmt.kind {
        Statement::CreateTable(written) => table::create(run, written),
        Statement::Drop(written) => table::drop(run, written),
        _ => {
            let text = stmt.span.of(run.text);
            let words: Vec<&str> = text.split_whitespace().take(2).collect();
            Err(unsupported(&words.join(" ")))
        }
    }
}
