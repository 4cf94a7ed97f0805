//! Calls of metadata functions, `@@NAME` among them.

use crate::Bound;
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::system::MetadataFunction;
use furrow_exec::Expr;

/// What SQL Server has and this engine does not, with what it belongs to.
const MISSING: &[(&str, &str)] = &[
    ("@@DBTS", "@@DBTS (a rowversion column)"),
    ("@@CONNECTIONS", "@@CONNECTIONS"),
    ("@@TOTAL_ERRORS", "@@TOTAL_ERRORS"),
    ("@@DEF_SORTORDER_ID", "@@DEF_SORTORDER_ID"),
];

/// The metadata function of a name, in any case of letters.
pub(crate) fn find(cx: &Context, name: &str) -> Option<&'static MetadataFunction> {
    cx.system_objects.function(name)
}

/// Binds a call.
pub(crate) fn bind(function: &'static MetadataFunction, arguments: Vec<Bound>) -> Result<Bound> {
    if !(function.least..=function.most).contains(&arguments.len()) {
        let shown = function.name.to_ascii_lowercase();
        return match function.least == function.most {
            true => refuse(174, &[shown.into(), function.least.into()]),
            false => refuse(
                189,
                &[shown.into(), function.least.into(), function.most.into()],
            ),
        };
    }
    let arguments = arguments.into_iter().map(|a| a.expr).collect();
    Ok(Bound::of(
        Expr::Metadata(function, arguments),
        function.result,
    ))
}

/// Binds `@@NAME`: 137 for what is no name of SQL Server's, 40514 for what is none of this engine's.
pub(super) fn global(cx: &Context, name: &str) -> Result<Bound> {
    if let Some(function) = find(cx, name) {
        return bind(function, Vec::new());
    }
    let missing = |row: &&(&str, &str)| row.0.eq_ignore_ascii_case(name);
    match MISSING.iter().find(missing) {
        Some((_, what)) => Err(unsupported(what)),
        None => refuse(137, &[name.into()]),
    }
}
