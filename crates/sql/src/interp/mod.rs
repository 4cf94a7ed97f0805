//! Batches: statements in order, variables, control of flow, transactions, errors.
//!
//! # Errors
//! 1. An error ends its statement, which is undone. Within TRY, control goes to CATCH. Otherwise the error is
//!    sent to the client. As in SQL Server, the batch then continues with the next statement (constraint
//!    violations and similar errors), or ends (conversion failures, unknown names, deadlocks, everything
//!    under SET XACT_ABORT ON): `error_scope`.
//! 2. A message of level 10 and below is information and ends nothing.

mod compile;
mod cursor;
mod error_scope;
mod exec;
mod flow;
mod kill;
mod raise;
mod set;
mod statement;
mod transaction;
mod wait;

use furrow_context::context::Context;
use furrow_context::error::SqlError;
use furrow_context::parse::read;
use furrow_context::query_stats::Mark;
use furrow_context::run::{Interpreter, Run};
use furrow_context::scope::Scope;
use furrow_context::sink::{BatchEnd, Notice, Sink};
use furrow_context::statistics;
use furrow_context::texts::Text;
use furrow_messages::Message;
use furrow_tsql::ast::Stmt;
use furrow_tsql::ast::flow::Execute;
use furrow_tsql::ast::module::Procedure;
use furrow_types::Value;
use std::sync::Arc;

use flow::run_statements;

/// Where control goes after a statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Flow {
    /// To the next one.
    Next,
    Break,
    Continue,
    /// Out of the procedure or batch.
    Return(Value),
}

/// Runs statements for the crates below that contain or store statements.
struct Batches;

impl Interpreter for Batches {
    fn run(&self, run: &mut Run<'_>, statements: &[Stmt]) -> Result<(), Box<SqlError>> {
        let plans = run.plans.take();
        let done = run_statements(run, statements);
        run.plans = plans;
        done.map(|_| ())
    }

    fn check_procedure(&self, run: &mut Run<'_>, written: &Procedure) -> Result<(), Box<SqlError>> {
        compile::check_procedure(run, written)
    }

    fn capture(
        &self,
        run: &mut Run<'_>,
        written: &Execute,
        sets: &mut dyn Sink,
    ) -> Result<(), Box<SqlError>> {
        exec::execute_captured(run, written, sets)
    }
}

/// Runs a batch of a client.
pub(crate) fn run_batch(cx: &mut Context, text: &str, sink: &mut dyn Sink) -> BatchEnd {
    let timed = cx.set.statistics_time;
    let (read, reported) = statistics::parsing(timed, || read(text, cx));
    if let Some(message) = reported {
        sink.notice(&Notice {
            message,
            procedure: None,
        });
    }
    let read = read.as_ref().map_err(|error| &**error);
    run_read(cx, text, read, Scope::default(), sink)
}

/// Runs a parsed text with variables that are set already, or reports its syntax errors.
pub(crate) fn run_read(
    cx: &mut Context,
    text: &str,
    read: Result<&Arc<Text>, &SqlError>,
    scope: Scope,
    sink: &mut dyn Sink,
) -> BatchEnd {
    let mut end = BatchEnd {
        worst_level: 0,
        cancelled: false,
    };
    let _task = furrow_observe::task::enter(cx.sessions.task());
    cx.scope = scope;
    cx.caught.clear();
    cx.procedures.clear();
    cx.capturing = None;
    let is_compiled = read.is_ok_and(|read| read.plans.is_compiled());
    cx.clock = is_compiled.then(|| Mark::at(cx.meter.cpu()));
    let mut run = Run {
        cx,
        sink,
        worst: 0,
        tries: 0,
        text,
        plans: read.ok().map(|read| &read.plans),
        interpreter: &Batches,
    };
    let was_read = read.is_ok();
    let result = match read {
        Ok(read) => compile::compile(&mut run, &read.statements)
            .and_then(|()| run_statements(&mut run, &read.statements))
            .map(|_| ()),
        Err(error) => Err(Box::new(error.clone())),
    };
    if let Err(error) = result {
        end.cancelled = error.cancelled;
        // A batch with a syntax error has done nothing, whatever XACT_ABORT says.
        if was_read && error_scope::dooms(&error, &run.cx.set) {
            let _ = run.cx.sessions.roll_back_all();
        }
        run.cx.last.error = error.number();
        run.send_error(&error);
    }
    if run.cx.sessions.is_doomed() {
        let _ = run.cx.sessions.roll_back_all();
        run.send_error(&Box::<SqlError>::from(Message::new(3998, &[]).at_line(1)));
    }
    end.worst_level = run.worst;
    cx.leave_batch();
    end
}
