//! Declarations of a batch and the nesting of its statements: rules that need no catalog.

use super::cursor::Parser;
use crate::ast::name::Ident;
use crate::error::{LABEL_TWICE, NO_LABEL, Parsed, VARIABLE_TWICE};
use crate::lex::Token;
use std::collections::HashSet;

/// What kind of text the statements belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Context {
    /// A batch.
    #[default]
    Batch,
    /// A procedure.
    Procedure,
    /// A function that gives one value.
    ScalarFunction,
    /// A function that fills a table.
    TableFunction,
    /// A trigger.
    Trigger,
}

/// The rules' memory.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) context: Context,
    /// Queries within queries at this place: the outermost may assign and fill tables.
    pub(super) subqueries: u32,
    /// Whether a constraint is read whose expression has no subqueries.
    pub(super) scalars_only: bool,
    /// Loops around this place.
    pub(super) loops: u32,
    /// CATCH blocks around this place.
    pub(super) catches: u32,
    /// Statements around this place.
    pub(super) level: u32,
    /// Whether a statement may begin here that needs a semicolon before it.
    pub(super) separated: bool,
    /// Whether the next statement is the first of its batch.
    pub(super) first: bool,
    /// The name of the procedure, view, function or trigger that the text makes.
    pub(super) module: Option<Box<str>>,
    variables: HashSet<String>,
    labels: HashSet<String>,
    jumps: Vec<(Ident, Token)>,
}

impl Parser<'_> {
    /// Notes a variable; twice is error 134.
    pub(super) fn declare(&mut self, variable: &Ident) -> Parsed<()> {
        if self.scope.variables.insert(variable.value.to_lowercase()) {
            return Ok(());
        }
        let token = self.previous().unwrap_or_else(|| self.token());
        Err(self.error_at(token, VARIABLE_TWICE, &[&variable.value]))
    }

    /// Notes a label; twice is error 132.
    pub(super) fn label(&mut self, label: &Ident) -> Parsed<()> {
        if self.scope.labels.insert(label.value.to_lowercase()) {
            return Ok(());
        }
        let token = self.previous().unwrap_or_else(|| self.token());
        Err(self.error_at(token, LABEL_TWICE, &[&label.value]))
    }

    /// Notes a jump, whose label may come later.
    pub(super) fn jump(&mut self, label: Ident) {
        let token = self.previous().unwrap_or_else(|| self.token());
        self.scope.jumps.push((label, token));
    }

    /// At the end of the batch, every jump must have found its label.
    pub(super) fn check_jumps(&self) -> Parsed<()> {
        let lost = self
            .scope
            .jumps
            .iter()
            .find(|(label, _)| !self.scope.labels.contains(&label.value.to_lowercase()));
        match lost {
            Some((label, token)) => Err(self.error_at(*token, NO_LABEL, &[&label.value])),
            None => Ok(()),
        }
    }
}
