//! `sp_refreshview`: stores the columns of a view again, as its text defines them now.

use super::{Fallback, SystemProcedure, parameter};
use crate::names::parts_of;
use crate::value::nvarchar;
use furrow_bind::{Binder, DEFAULT_SCHEMA, Home};
use furrow_context::context::Context;
use furrow_context::error::{Origin, Result, SqlError, refuse};
use furrow_context::run::Run;
use furrow_engine::{Module, ModuleKind};
use furrow_types::Value;
use std::sync::Arc;

pub(super) static PROCEDURES: &[SystemProcedure] = &[SystemProcedure {
    name: "sp_refreshview",
    parameters: &[parameter("@viewname", nvarchar(776), Fallback::Required)],
    extended: false,
    text: "Stores the columns of a view as its text defines them now, after its tables have changed.",
    body: refresh,
}];

fn refresh(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let name = values.first().and_then(Value::as_str).unwrap_or("");
    // Another session may alter the view between its being read and its name being locked.
    while !run.cx.statement(|cx| refresh_once(cx, name))? {}
    Ok(0)
}

/// Returns whether the view was the same all the time.
fn refresh_once(cx: &mut Context, name: &str) -> Result<bool> {
    cx.check_cancel()?;
    let Some(view) = find(cx, name) else {
        return refuse(15165, &[name.into()]);
    };
    let home = Home {
        db: Arc::clone(cx.sessions.database()),
        schema: view.schema().to_owned(),
    };
    let mut binder = Binder::new(cx);
    let written = binder.view_text(&view)?;
    let columns = binder.view_columns(home, &written).map_err(of_text)?;
    Ok(cx.sessions.session().refresh_view(&view, &columns)?)
}

/// An error of the view's text: it ends the procedure, and the caller continues.
fn of_text(mut error: Box<SqlError>) -> Box<SqlError> {
    error.origin = Origin::Inner;
    error
}

/// The view of this name in the session's database.
fn find(cx: &mut Context, name: &str) -> Option<Arc<Module>> {
    let mut parts = parts_of(name);
    let last = parts.pop()?;
    let schema = parts.pop().filter(|schema| !schema.is_empty());
    let schema = schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
    let database = parts.pop().filter(|database| !database.is_empty());
    let own = cx.sessions.database().name();
    if database.is_some_and(|database| !database.eq_ignore_ascii_case(own)) {
        return None;
    }
    let found = cx.sessions.session().module(schema, &last)?;
    (found.kind() == ModuleKind::View).then_some(found)
}
