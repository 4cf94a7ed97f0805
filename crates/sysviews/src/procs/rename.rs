//! `sp_rename`: renames tables, columns, indexes, constraints, databases; `sp_flush_log`.

use super::{Fallback, SystemProcedure, parameter};
use crate::names::parts_of;
use crate::value::{SYSNAME, nvarchar};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::run::Run;
use furrow_engine::Table;
use furrow_messages::Message;
use furrow_types::Value;
use std::sync::Arc;

pub(super) static PROCEDURES: &[SystemProcedure] = &[
    SystemProcedure {
        name: "sp_rename",
        parameters: &[
            parameter("@objname", nvarchar(1035), Fallback::Required),
            parameter("@newname", SYSNAME, Fallback::Required),
            parameter("@objtype", nvarchar(13), Fallback::Null),
        ],
        extended: false,
        text: "Gives a table, column, index, constraint or database another name.",
        body: rename,
    },
    SystemProcedure {
        name: "sp_flush_log",
        parameters: &[],
        extended: false,
        text: "Makes every commit of the database durable that was acknowledged with delayed durability.",
        body: |run, _| {
            run.cx.sessions.database().flush_log()?;
            Ok(0)
        },
    },
];

/// The kind of object that a name means.
enum Item {
    Table,
    Column(String),
    Index(String),
    Constraint(String),
}

fn rename(run: &mut Run<'_>, values: &[Value]) -> Result<i32> {
    let text = |at: usize| values.get(at).and_then(Value::as_str);
    let (old, new) = (text(0).unwrap_or(""), text(1).unwrap_or(""));
    let kind = text(2).map(|k| k.trim().to_uppercase());
    match kind.as_deref() {
        None | Some("OBJECT" | "COLUMN" | "INDEX") => {}
        Some("DATABASE") => return rename_database(run, old, new),
        Some("STATISTICS" | "USERDATATYPE") => {
            return Err(unsupported(&format!(
                "sp_rename of {}",
                kind.unwrap_or_default()
            )));
        }
        Some(other) => return refuse(15249, &[other.into()]),
    }
    run.cx.statement(|cx| {
        let found = find(cx, old, kind.as_deref())?;
        let Some((table, item)) = found else {
            if kind.as_deref() == Some("COLUMN") {
                return refuse(15248, &["COLUMN".into()]);
            }
            let args = [
                old.into(),
                cx.sessions.database().name().into(),
                kind.as_deref().unwrap_or("(null)").into(),
            ];
            return refuse(15225, &args);
        };
        let taken = |e: furrow_engine::EngineError, what: &str| match e.number() {
            2714 | 2705 | 1913 => refuse(15335, &[new.into(), what.into()]),
            _ => Err(e.into()),
        };
        let session = cx.sessions.session();
        let place = (table.schema(), table.name());
        let done = match &item {
            Item::Table => session.rename_table(place.0, place.1, new),
            Item::Column(column) => session.rename_column(place, column, new),
            Item::Index(part) | Item::Constraint(part) => session.rename_part(place, part, new),
        };
        let what = match item {
            Item::Column(_) => "COLUMN",
            Item::Index(_) => "INDEX",
            Item::Table | Item::Constraint(_) => "OBJECT",
        };
        done.map(drop).or_else(|e| taken(e, what))
    })?;
    run.inform(Message::new(15477, &[]));
    Ok(0)
}

fn rename_database(run: &mut Run<'_>, old: &str, new: &str) -> Result<i32> {
    let name = parts_of(old).pop().unwrap_or_default();
    run.cx.server.instance().rename_database(&name, new)?;
    run.inform(Message::new(5023, &[new.into()]));
    Ok(0)
}

/// The table and the part of it that a name means.
fn find(cx: &mut Context, name: &str, kind: Option<&str>) -> Result<Option<(Arc<Table>, Item)>> {
    let mut parts = parts_of(name);
    let last = parts.pop().unwrap_or_default();
    let own = cx.sessions.database().name().to_owned();
    let session = cx.sessions.session();
    let within = |parts: &[String]| {
        let table = parts.last()?;
        let schema = parts.len().checked_sub(2).and_then(|at| parts.get(at));
        session
            .table_in(schema.map_or("dbo", String::as_str), table)
            .ok()
    };
    let part = within(&parts);
    if matches!(kind, Some("COLUMN") | None)
        && let Some(table) = part.clone().filter(|t| t.column(&last).is_some())
    {
        return Ok(Some((table, Item::Column(last))));
    }
    if matches!(kind, Some("INDEX") | None)
        && let Some(table) = part.filter(|t| t.index_named(&last).is_some())
    {
        return Ok(Some((table, Item::Index(last))));
    }
    if matches!(kind, Some("COLUMN" | "INDEX")) {
        return Ok(None);
    }
    let schema = parts.pop().filter(|s| !s.is_empty());
    let schema = schema.unwrap_or_else(|| "dbo".to_owned());
    if parts.pop().is_some_and(|db| !db.eq_ignore_ascii_case(&own)) {
        return refuse(15250, &[]);
    }
    if let Ok(table) = session.table_in(&schema, &last) {
        return Ok(Some((table, Item::Table)));
    }
    if session.module(&schema, &last).is_some() {
        return Err(unsupported("sp_rename of a module"));
    }
    let parent = session.table_of_constraint(&schema, &last);
    Ok(parent.map(|table| (table, Item::Constraint(last))))
}
