//! FOREIGN KEY: its specification for the engine, and the test of existing rows.

use super::{bracketed, some_row};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::temp::is_temp;
use furrow_engine::{Database, ForeignKey, ForeignKeySpec, ReferentialAction, Table};
use furrow_tsql::ast::table::{ForeignKey as Written, KeyAction};
use std::sync::Arc;

fn action(written: Option<KeyAction>) -> ReferentialAction {
    match written {
        None | Some(KeyAction::NoAction) => ReferentialAction::NoAction,
        Some(KeyAction::Cascade) => ReferentialAction::Cascade,
        Some(KeyAction::SetNull) => ReferentialAction::SetNull,
        Some(KeyAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// A foreign key; `column`: the column behind which it is written.
pub(super) fn spec(
    written: &Written,
    name: Option<&str>,
    column: Option<&str>,
) -> Result<ForeignKeySpec> {
    if written.not_for_replication {
        return Err(unsupported("NOT FOR REPLICATION"));
    }
    let to = &written.table;
    if to.database().is_some() {
        return refuse(1763, &[name.unwrap_or("").into()]);
    }
    if is_temp(to.name()) {
        return Err(unsupported("FOREIGN KEY to a temporary table"));
    }
    let columns = match column.filter(|_| written.columns.is_empty()) {
        Some(column) => vec![column.to_owned()],
        None => written
            .columns
            .iter()
            .map(|c| c.value.to_string())
            .collect(),
    };
    Ok(ForeignKeySpec {
        name: name.map(str::to_owned),
        columns,
        referenced: super::named(to),
        referenced_columns: written
            .referenced
            .iter()
            .map(|c| c.value.to_string())
            .collect(),
        on_delete: action(written.on_delete),
        on_update: action(written.on_update),
        trusted: true,
    })
}

/// 547 if a row of a table has no referenced row.
pub(super) fn hold(
    cx: &mut Context,
    db: &Arc<Database>,
    table: &Table,
    key: &ForeignKey,
) -> Result<()> {
    let Some(target) = cx.sessions.of(db)?.table_by_id(key.referenced) else {
        return Ok(());
    };
    let name = |of: &Table, id: i32| {
        let column = of.columns().iter().find(|c| c.id == id);
        column.map_or_else(String::new, |c| c.name.clone())
    };
    let full = |of: &Table| [db.name(), of.schema(), of.name()].map(bracketed).join(".");
    let pairs: Vec<(String, String)> = key
        .columns
        .iter()
        .map(|&(own, other)| (name(table, own), name(&target, other)))
        .collect();
    let given = pairs
        .iter()
        .map(|(own, _)| format!("c.{} IS NOT NULL", bracketed(own)));
    let same = pairs
        .iter()
        .map(|(own, other)| format!("p.{} = c.{}", bracketed(other), bracketed(own)));
    let text = format!(
        "SELECT TOP (1) 1 FROM {} AS c WHERE {} AND NOT EXISTS (SELECT 1 FROM {} AS p WHERE {})",
        full(table),
        given.collect::<Vec<_>>().join(" AND "),
        full(&target),
        same.collect::<Vec<_>>().join(" AND ")
    );
    if !some_row(cx, &text)? {
        return Ok(());
    }
    let what = match target.id() == table.id() {
        true => "FOREIGN KEY SAME TABLE",
        false => "FOREIGN KEY",
    };
    let (before, column, after) = match &pairs[..] {
        [(_, other)] => (", column '", other.as_str(), "'"),
        _ => ("", "", ""),
    };
    let args = [
        "ALTER TABLE".into(),
        what.into(),
        key.name.as_str().into(),
        db.name().into(),
        format!("{}.{}", target.schema(), target.name()).into(),
        before.into(),
        column.into(),
        after.into(),
    ];
    refuse(547, &args)
}
