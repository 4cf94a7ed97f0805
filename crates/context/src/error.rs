//! Errors of statements: SQL Server's messages, and what they mean for what goes on.

use furrow_engine::EngineError;
use furrow_messages::{Arg, Message};
use std::fmt;

/// A result whose error is what the client is told.
pub type Result<T> = std::result::Result<T, Box<SqlError>>;

/// Where an error comes from: what it ends depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Origin {
    /// From a statement that failed.
    #[default]
    Statement,
    /// From a procedure or text that was left because of it.
    Inner,
    /// RAISERROR.
    Raised,
    /// THROW.
    Thrown,
}

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlError {
    /// What the client prints, in order; never empty. A line of 0 is filled in with the statement's.
    pub messages: Vec<Message>,
    /// The procedure that was at work.
    pub procedure: Option<String>,
    /// Whether the client asked for the end: nothing is caught, nothing is printed.
    pub cancelled: bool,
    /// What raised it.
    pub origin: Origin,
}

impl SqlError {
    /// The message that counts: what ERROR_NUMBER() tells and CATCH is about.
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

    /// The end that the client asked for.
    pub fn cancelled() -> Box<SqlError> {
        Box::new(SqlError {
            messages: Vec::new(),
            procedure: None,
            cancelled: true,
            origin: Origin::Statement,
        })
    }

    /// At a line of a procedure, where no place is known yet.
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

/// A message of the tables as an error.
#[cold]
pub fn refuse<T>(number: u32, args: &[Arg]) -> Result<T> {
    Err(Message::new(number, args).into())
}

/// What T-SQL has and this engine does not: error 40514 with the clause named.
#[cold]
pub fn unsupported(what: &str) -> Box<SqlError> {
    let text = format!("'{what}' is not supported in this version of Furrow.");
    Message::custom(40514, 16, 1, &text).into()
}
