//! Trees back to text.
//!
//! The text is one statement a line, each closed by a semicolon; reading it gives the same tree. Parentheses
//! are put where the tree needs them. One shape has no text: an IF without ELSE as the first branch of an IF
//! with ELSE; the reader never builds it.

#[cfg(feature = "print")]
mod admin;
#[cfg(feature = "print")]
mod database;
#[cfg(feature = "print")]
mod dml;
mod expr;
#[cfg(feature = "print")]
mod flow;
mod names;
mod option;
mod query;
#[cfg(feature = "print")]
mod table;

use crate::ast::expr::{Condition, Expr};
#[cfg(feature = "print")]
use crate::ast::{Batch, Statement, Stmt};

/// The text of a batch.
#[cfg(feature = "print")]
#[must_use]
pub fn print(batch: &Batch) -> String {
    let mut printer = Printer::default();
    for statement in &batch.statements {
        printer.statement(&statement.kind);
        printer.put(";\n");
    }
    printer.out
}

/// The text of a value.
#[must_use]
pub fn expression_text(expr: &Expr) -> String {
    let mut printer = Printer::default();
    printer.expr(expr);
    printer.out
}

/// The text of a condition.
#[must_use]
pub fn condition_text(condition: &Condition) -> String {
    let mut printer = Printer::default();
    printer.condition(condition);
    printer.out
}

#[derive(Default)]
struct Printer {
    out: String,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Items with commas between them.
    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (n, one) in items.iter().enumerate() {
            if n > 0 {
                self.put(", ");
            }
            item(self, one);
        }
    }

    /// Items in parentheses.
    fn parens<T>(&mut self, items: &[T], item: impl FnMut(&mut Self, &T)) {
        self.put("(");
        self.list(items, item);
        self.put(")");
    }

    /// Something that may be absent, after its word.
    fn maybe<T>(&mut self, word: &str, what: Option<&T>, item: impl FnOnce(&mut Self, &T)) {
        if let Some(one) = what {
            self.put(word);
            item(self, one);
        }
    }

    /// Items that may be none, after their word.
    fn clause<T>(&mut self, word: &str, items: &[T], item: impl FnMut(&mut Self, &T)) {
        if !items.is_empty() {
            self.put(word);
            self.list(items, item);
        }
    }

    /// A word where a flag is set.
    fn flag(&mut self, set: bool, word: &str) {
        if set {
            self.put(word);
        }
    }

    /// Statements of a block, each closed.
    #[cfg(feature = "print")]
    fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(&statement.kind);
            self.put("; ");
        }
    }

    #[cfg(feature = "print")]
    fn statement(&mut self, statement: &Statement) {
        let done = self.row_statement(statement)
            || self.object_statement(statement)
            || self.admin_statement(statement)
            || self.flow_statement(statement);
        debug_assert!(done, "every statement belongs to one group: {statement:?}");
    }
}
