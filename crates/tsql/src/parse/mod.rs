//! The parser: recursive descent over the tokens of one batch.
//!
//! `cursor` holds the place in the text and creates the errors for it; the other files hold the grammar, one
//! part each. A function that reads a construct is called with its first word still unread.

mod admin;
mod backup;
mod call;
mod condition;
mod create;
mod cursor;
mod cursors;
mod database;
mod dml;
mod exec;
mod expr;
mod flow;
mod from;
pub(crate) mod hints;
mod index;
mod merge;
mod module;
mod names;
mod options;
mod query;
mod scope;
mod set;
mod statement;
mod table;
mod trigger;

use crate::ast::Batch;
use crate::ast::expr::Expr;
use crate::error::{Parsed, SyntaxError, TOO_DEEP};
use crate::lex::Kind;
use crate::span::Span;
use cursor::Parser;

/// Settings of the session that affect reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// SET QUOTED_IDENTIFIER: `"x"` is an identifier rather than a string.
    pub quoted_identifier: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            quoted_identifier: true,
        }
    }
}

/// Reads a batch.
///
/// # Errors
/// The errors in the order SQL Server prints them, at least one. The first ends the reading; a string or
/// comment that does not end is reported besides, as its scanner meets it anyhow.
pub fn parse(text: &str, options: Options) -> Result<Batch, Vec<SyntaxError>> {
    run(text, options, |parser| {
        let statements = parser.batch()?;
        Ok(Batch { statements })
    })
}

/// Reads one value, as it stands in a computed column or default.
///
/// # Errors
/// As [`parse`].
pub fn parse_expression(text: &str, options: Options) -> Result<Expr, Vec<SyntaxError>> {
    run(text, options, |parser| {
        let expr = parser.expr()?;
        if parser.kind() == Kind::End {
            Ok(expr)
        } else {
            Err(parser.unexpected())
        }
    })
}

fn run<T>(
    text: &str,
    options: Options,
    read: impl FnOnce(&mut Parser<'_>) -> Parsed<T>,
) -> Result<T, Vec<SyntaxError>> {
    if u32::try_from(text.len()).is_err() {
        return Err(vec![*TOO_DEEP.at(Span::default(), 1, &[])]);
    }
    let mut parser = Parser::new(text, options);
    read(&mut parser).map_err(|error| parser.with_later_errors(*error))
}
