//! A batch under way: its context, and the client that receives its results.

use crate::context::Context;
use crate::error::{Result, SqlError, unsupported};
use crate::plans::Plans;
use crate::sink::{Notice, ResultColumn, Sink};
use crate::system::ViewColumn;
use furrow_messages::Message;
use furrow_scalar::Switches;
use furrow_tsql::ast::Stmt;
use furrow_tsql::ast::flow::Execute;
use furrow_tsql::ast::module::Procedure;
use furrow_types::Value;
use std::fmt;

/// The functions of the interpreter that statements and system procedures call.
pub trait Interpreter {
    /// Runs statements in order, which are not from the text that runs.
    fn run(&self, run: &mut Run<'_>, statements: &[Stmt]) -> Result<()>;
    /// Compiles the body of a procedure that is about to be stored; refuses it if it has errors.
    fn check_procedure(&self, run: &mut Run<'_>, written: &Procedure) -> Result<()>;
    /// Runs EXEC, which may be from another text; its result sets go to `sets`, messages to the client.
    fn capture(&self, run: &mut Run<'_>, written: &Execute, sets: &mut dyn Sink) -> Result<()>;
}

/// For a statement that runs no other statements, such as the UPDATE of a referential action.
#[derive(Debug)]
pub struct NoInterpreter;

impl Interpreter for NoInterpreter {
    fn run(&self, _: &mut Run<'_>, _: &[Stmt]) -> Result<()> {
        Err(unsupported("a statement within this one"))
    }

    fn check_procedure(&self, _: &mut Run<'_>, _: &Procedure) -> Result<()> {
        Err(unsupported("a procedure within this statement"))
    }

    fn capture(&self, _: &mut Run<'_>, _: &Execute, _: &mut dyn Sink) -> Result<()> {
        Err(unsupported("EXEC within this statement"))
    }
}

/// A batch under way.
pub struct Run<'a> {
    /// The context of the connection.
    pub cx: &'a mut Context,
    /// The client.
    pub sink: &'a mut dyn Sink,
    /// The highest level of a reported error.
    pub worst: u8,
    /// Nesting level of the TRY blocks that are running.
    pub tries: u32,
    /// The text of the batch or module, from which CREATE takes the texts of new modules.
    pub text: &'a str,
    /// The cached plans of its statements, if they are cached.
    pub plans: Option<&'a Plans>,
    /// For statements and procedures that run other statements.
    pub interpreter: &'a dyn Interpreter,
}

impl Run<'_> {
    /// Sends an error to the client.
    pub fn send_error(&mut self, error: &SqlError) {
        for message in &error.messages {
            self.worst = self.worst.max(message.level);
            self.sink.notice(&Notice {
                message: message.clone(),
                procedure: error.procedure.clone(),
            });
        }
    }

    /// Sends a message to the client.
    pub fn inform(&mut self, message: Message) {
        let procedure = self.procedure();
        self.sink.notice(&Notice { message, procedure });
    }

    /// Sends, once per statement, a message that an aggregate has ignored NULLs (8153), and messages about
    /// expressions that returned NULL.
    pub fn report_nulls(&mut self) {
        let line = self.cx.line;
        for number in std::mem::take(&mut self.cx.made_null) {
            self.inform(Message::new(number, &[]).at_line(line));
        }
        let eliminated = std::mem::take(&mut self.cx.null_eliminated);
        if eliminated && self.cx.set.has(Switches::ANSI_WARNINGS) {
            self.inform(Message::new(8153, &[]).at_line(line));
        }
    }

    /// The running procedure.
    pub fn procedure(&self) -> Option<String> {
        let last = self.cx.procedures.last();
        last.filter(|name| !name.is_empty()).cloned()
    }

    /// A statement is done.
    pub fn done(&mut self, rows: Option<u64>) {
        self.report_nulls();
        if let Some(rows) = rows {
            self.cx.last.rows = rows;
        }
        let reported = if self.cx.set.has(Switches::NOCOUNT) {
            None
        } else {
            rows
        };
        self.sink.done(reported);
    }

    /// Sends a result set.
    pub fn show(&mut self, columns: &[ViewColumn], rows: Vec<Vec<Value>>) {
        let columns: Vec<ResultColumn> = columns.iter().map(ResultColumn::from).collect();
        self.sink.columns(&columns);
        let count = rows.len() as u64;
        for row in rows {
            debug_assert_eq!(row.len(), columns.len());
            self.sink.row(&row);
        }
        self.done(Some(count));
    }
}

impl fmt::Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("worst", &self.worst)
            .finish_non_exhaustive()
    }
}
