//! Errors of statements: SQL Server's messages, and what they end.

use furrow_engine::EngineError;
use furrow_messages::{Arg, Message};
use std::fmt;

/// A result whose error is sent to the client.
pub type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Where an error comes from, which decides what it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// From a statement that failed.
    #[default]
    Statement,
    /// From a procedure or text that it ended.
    Inner,
    /// RAISERROR.
    Raised,
    /// THROW.
    Thrown,
}

/// The error of a failed statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// The messages that the client prints, in order; never empty. A line of 0 is replaced by the
    /// statement's.
    pub messages: Vec<Message>,
    /// The procedure that was running.
    pub procedure: Option<String>,
    /// Whether the client cancelled the batch: CATCH does not run, and nothing is printed.
    pub cancelled: bool,
    /// How it was raised.
    pub origin: Origin,
}

impl SqlError {
    /// The first message: ERROR_NUMBER() returns its number, and CATCH handles it.
    pub fn first(&self) -> &Message {
        static NONE: Message = Message {
            number: 0,
            level: 16,
            state: 1,
            text: String::new(),
            line: 0,
        };
        self.messages.first().unwrap_or(&NONE)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.first().number
    }

    /// The highest level among its messages.
    pub fn level(&self) -> u8 {
        self.messages.iter().map(|m| m.level).max().unwrap_or(0)
    }

    /// The error of a batch that the client cancelled.
    pub fn cancelled() -> Box<SqlError> {
        Box::new(SqlError {
            messages: Vec::new(),
            procedure: None,
            cancelled: true,
            origin: Origin::Statement,
        })
    }

    /// Adds the line of a procedure, unless one is set.
    #[must_use]
    pub fn at(mut self: Box<Self>, line: u32, procedure: Option<String>) -> Box<SqlError> {
        if self.procedure.is_some() || self.first().line != 0 {
            return self;
        }
        self.procedure = procedure;
        for message in self.messages.iter_mut().filter(|m| m.line == 0) {
            message.line = line;
        }
        self
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, message) in self.messages.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            write!(f, "{message}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SqlError {}

impl From<Message> for Box<SqlError> {
    fn from(message: Message) -> Box<SqlError> {
        Box::new(SqlError {
            messages: vec![message],
            procedure: None,
            cancelled: false,
            origin: Origin::Statement,
        })
    }
}

impl From<EngineError> for Box<SqlError> {
    fn from(error: EngineError) -> Box<SqlError> {
        if error.is_cancelled() {
            return SqlError::cancelled();
        }
        Box::new(SqlError {
            messages: error.messages(),
            procedure: None,
            cancelled: false,
            origin: Origin::Statement,
        })
    }
}

/// A message from the tables as an error.
#[cold]
pub fn refuse<T>(number: u32, args: &[Arg]) -> Result<T> {
    Err(Message::new(number, args).into())
}

/// Error 40514 for a clause that T-SQL has and this engine does not have; the message names the clause.
#[cold]
pub fn unsupported(what: &str) -> Box<SqlError> {
    let text = format!("'{what}' is not supported in this version of Furrow.");
    Message::custom(40514, 16, 1, &text).into()
}
