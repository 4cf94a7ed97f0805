//! Names, types, variables.

use super::Printer;
#[cfg(feature = "print")]
use crate::ast::database::{NameOrText, NameOrVariable};
use crate::ast::name::{DataType, Ident, ObjectName, TypeArg};

impl Printer {
    pub(super) fn ident(&mut self, ident: &Ident) {
        if ident.quoted {
            self.put("[");
            self.put(&ident.value.replace(']', "]]"));
            self.put("]");
        } else {
            self.put(&ident.value);
        }
    }

    pub(super) fn name(&mut self, name: &ObjectName) {
        for (n, part) in name.parts.iter().enumerate() {
            if n > 0 {
                self.put(".");
            }
            if !part.value.is_empty() {
                self.ident(part);
            }
        }
    }

    /// `(a, b)`, or nothing where there are none.
    pub(super) fn columns(&mut self, columns: &[Ident]) {
        if !columns.is_empty() {
            self.put(" ");
            self.parens(columns, Self::ident);
        }
    }

    pub(super) fn data_type(&mut self, data_type: &DataType) {
        self.name(&data_type.name);
        if !data_type.args.is_empty() {
            self.parens(&data_type.args, |p, arg| match arg {
                TypeArg::Number(digits) => p.put(digits),
                TypeArg::Max => p.put("max"),
                TypeArg::Name(name) => p.name(name),
            });
        }
    }

    /// A string constant.
    pub(super) fn string(&mut self, text: &str) {
        self.put("'");
        self.put(&text.replace('\'', "''"));
        self.put("'");
    }

    #[cfg(feature = "print")]
    pub(super) fn name_or_variable(&mut self, name: &NameOrVariable) {
        match name {
            NameOrVariable::Name(ident) | NameOrVariable::Variable(ident) => self.ident(ident),
        }
    }

    #[cfg(feature = "print")]
    pub(super) fn name_or_text(&mut self, name: &NameOrText) {
        match name {
            NameOrText::Name(ident) => self.ident(ident),
            NameOrText::Text(expr) => self.expr(expr),
        }
    }
}
