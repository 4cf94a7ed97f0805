//! Options of statements.

use super::Printer;
use crate::ast::option::{Opt, OptValue, Size};
use crate::ast::table::IndexColumn;

impl Printer {
    pub(super) fn opt(&mut self, option: &Opt) {
        self.put(&option.name);
        let Some(value) = &option.value else {
            return;
        };
        self.put(if option.equals { " = " } else { " " });
        match value {
            OptValue::Word(word) => self.put(word),
            OptValue::Name(name) => self.name(name),
            OptValue::Expr(expr) => self.expr(expr),
            OptValue::Size(size) => self.size(size),
            OptValue::List(list) => self.parens(list, Self::opt),
            OptValue::OnList(list) => {
                self.put("ON ");
                self.parens(list, Self::opt);
            }
            OptValue::Ranges(ranges) => self.parens(ranges, |p, (from, to)| {
                p.expr(from);
                p.maybe(" TO ", to.as_ref(), Self::expr);
            }),
            OptValue::Columns(columns) => self.parens(columns, Self::index_column),
        }
    }

    pub(super) fn size(&mut self, size: &Size) {
        self.expr(&size.number);
        if let Some(unit) = &size.unit {
            // A percent sign follows its number; a word is separated from a variable by a blank.
            self.flag(&**unit != "%", " ");
            self.put(unit);
        }
    }

    #[cfg(feature = "print")]
    /// ` WITH (..)`, or nothing where there are none.
    pub(super) fn with_parens(&mut self, options: &[Opt]) {
        if !options.is_empty() {
            self.put(" WITH ");
            self.parens(options, Self::opt);
        }
    }

    pub(super) fn index_column(&mut self, column: &IndexColumn) {
        self.ident(&column.name);
        self.flag(column.descending, " DESC");
    }
}
