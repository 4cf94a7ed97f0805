//! Batches: statements in their order, variables, control of flow, transactions, errors.
//!
//! # Errors
//! 1. An error ends its statement, which is undone. Within TRY it goes to CATCH; else the client is told, and
//!    the batch goes on with the next statement where the product does (constraint violations and the like),
//!    or ends (conversion failures, unknown names, deadlocks, everything under SET XACT_ABORT ON): `fate`.
//! 2. A message of level 10 and below is information and ends nothing.

mod compile;
mod exec;
mod fate;
mod flow;
mod kill;
mod plans;
mod raise;
mod set;
mod statement;
mod statistics;
mod texts;
mod transaction;
mod wait;

use crate::connection::BatchEnd;
use crate::context::Context;
use crate::depth;
use crate::error::{Origin, SqlError};
use crate::query_stats::Mark;
use crate::scope::Scope;
use crate::sink::{Notice, Sink};
use furrow_engine::Module;
use furrow_io::thread::with_stack;
use furrow_messages::Message;
use furrow_observe::counters::Counter;
use furrow_scalar::Switches;
use furrow_tsql::ast::Stmt;
use furrow_tsql::{Options, SyntaxError};
use furrow_types::Value;
use std::sync::Arc;

pub(crate) use compile::check_procedure;
pub(crate) use exec::execute_captured;
pub(crate) use flow::{evaluate, run_statements};
pub(crate) use plans::{Basis, Plans, bound, planned, ready};
pub(crate) use set::{ANSI_DEFAULTS, switch};
pub(crate) use statistics::Reads;
pub(crate) use texts::{Text, Texts};

/// Where a statement sends control.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Flow {
    /// To the next one.
    Next,
    Break,
    Continue,
    /// Out of the procedure or batch.
    Return(Value),
}

/// What a batch works with besides its context.
pub(crate) struct Run<'a> {
    pub(crate) cx: &'a mut Context,
    pub(crate) sink: &'a mut dyn Sink,
    /// The highest level of an error told.
    pub(crate) worst: u8,
    /// Blocks of TRY that are at work.
    pub(crate) tries: u32,
    /// The text of the batch or module, which modules are made from.
    pub(crate) text: &'a str,
    /// Plans of its statements, where they are kept.
    pub(crate) plans: Option<&'a Plans>,
}

impl Run<'_> {
    /// Tells the client of an error.
    pub(crate) fn tell(&mut self, error: &SqlError) {
        for message in &error.messages {
            self.worst = self.worst.max(message.level);
            self.sink.notice(&Notice {
                message: message.clone(),
                procedure: error.procedure.clone(),
            });
        }
    }

    /// Tells the client something.
    pub(crate) fn inform(&mut self, message: Message) {
        let procedure = self.procedure();
        self.sink.notice(&Notice { message, procedure });
    }

    /// Tells the client, once a statement, that an aggregate has left NULLs out (8153), and what
    /// expressions have given NULL for.
    pub(crate) fn tell_of_nulls(&mut self) {
        let line = self.cx.line;
        for number in std::mem::take(&mut self.cx.made_null) {
            self.inform(Message::new(number, &[]).at_line(line));
        }
        let eliminated = std::mem::take(&mut self.cx.null_eliminated);
        if eliminated && self.cx.set.has(Switches::ANSI_WARNINGS) {
            self.inform(Message::new(8153, &[]).at_line(line));
        }
    }

    /// The procedure at work.
    pub(crate) fn procedure(&self) -> Option<String> {
        let last = self.cx.procedures.last();
        last.filter(|name| !name.is_empty()).cloned()
    }

    /// A statement is done.
    pub(crate) fn done(&mut self, rows: Option<u64>) {
        self.tell_of_nulls();
        if let Some(rows) = rows {
            self.cx.last.rows = rows;
        }
        let told = if self.cx.set.has(Switches::NOCOUNT) {
            None
        } else {
            rows
        };
        self.sink.done(told);
    }
}

fn of_syntax(error: &SyntaxError) -> Message {
    Message::custom(error.number, error.level, error.state, &error.message).at_line(error.line)
}

/// Reads a text as statements, or tells what is wrong with it.
pub(crate) fn parse(text: &str, cx: &Context) -> Result<Vec<Stmt>, Box<SqlError>> {
    parse_with(text, cx.set.has(Switches::QUOTED_IDENTIFIER))
}

/// Reads the text of a module as it was read when the module was made.
pub(crate) fn parse_module(module: &Module) -> Result<Vec<Stmt>, Box<SqlError>> {
    parse_with(module.text(), module.set().quoted_identifier)
}

fn parse_with(text: &str, quoted_identifier: bool) -> Result<Vec<Stmt>, Box<SqlError>> {
    let options = Options { quoted_identifier };
    match with_stack(depth::PARSER_BYTES, || furrow_tsql::parse(text, options)) {
        Ok(batch) => Ok(batch.statements),
        Err(errors) => Err(Box::new(SqlError {
            messages: errors.iter().map(of_syntax).collect(),
            procedure: errors
                .first()
                .and_then(|e| Some(e.module.as_deref()?.to_owned())),
            cancelled: false,
            origin: Origin::Statement,
        })),
    }
}

/// [`parse`], unless the text was read before.
pub(crate) fn read(text: &str, cx: &mut Context) -> Result<Arc<Text>, Box<SqlError>> {
    read_with(text, cx.set.has(Switches::QUOTED_IDENTIFIER), cx)
}

/// [`parse_module`], unless the text was read before.
pub(crate) fn read_module(module: &Module, cx: &mut Context) -> Result<Arc<Text>, Box<SqlError>> {
    read_with(module.text(), module.set().quoted_identifier, cx)
}

pub(crate) fn read_with(
    text: &str,
    quoted_identifier: bool,
    cx: &mut Context,
) -> Result<Arc<Text>, Box<SqlError>> {
    cx.texts.forget_at(cx.server.texts_forgotten());
    if let Some(known) = cx.texts.find(quoted_identifier, text) {
        return Ok(known);
    }
    let read = Text::new(text, parse_with(text, quoted_identifier)?);
    let counters = &cx.sessions.task().instruments().counters;
    counters.add(Counter::SqlCompilations, 1);
    if cx.texts.keep(quoted_identifier, &read) {
        read.plans.count_in(cx.server.query_stats().of(text));
    }
    Ok(read)
}

/// Runs a batch of a client.
pub(crate) fn run_batch(cx: &mut Context, text: &str, sink: &mut dyn Sink) -> BatchEnd {
    let timed = cx.set.statistics_time;
    let (read, told) = statistics::parsing(timed, || read(text, cx));
    if let Some(message) = told {
        sink.notice(&Notice {
            message,
            procedure: None,
        });
    }
    let read = read.as_ref().map_err(|error| &**error);
    run_read(cx, text, read, Scope::default(), sink)
}

/// Runs a text that was read, or tells why it could not be, with variables that are set already.
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
    cx.clock = is_compiled.then(|| Mark::at(cx.meter.cpu_ns()));
    let mut run = Run {
        cx,
        sink,
        worst: 0,
        tries: 0,
        text,
        plans: read.ok().map(|read| &read.plans),
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
        // A batch that can't be read has done nothing, whatever XACT_ABORT says.
        if was_read && fate::dooms(&error, &run.cx.set) {
            let _ = run.cx.sessions.roll_back_all();
        }
        run.cx.last.error = error.number();
        run.tell(&error);
    }
    if run.cx.sessions.is_doomed() {
        let _ = run.cx.sessions.roll_back_all();
        run.tell(&Box::<SqlError>::from(Message::new(3998, &[]).at_line(1)));
    }
    end.worst_level = run.worst;
    cx.leave_batch();
    end
}
