//! Values of options as text.

use super::text;
use furrow_context::error::Result;
use furrow_context::run::Run;
use furrow_tsql::ast::option::{Opt, OptValue};

/// The text of an option's value.
pub(super) fn value_text(run: &mut Run<'_>, option: &Opt) -> Result<String> {
    match &option.value {
        Some(OptValue::Expr(expr)) => text(run, expr),
        Some(OptValue::Word(word)) => Ok(word.to_string()),
        Some(OptValue::Name(name)) => Ok(name.name().to_owned()),
        _ => Ok(String::new()),
    }
}
