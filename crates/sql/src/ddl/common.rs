//! Functions that several DDL statements use.

use furrow_bind::{Binder, DEFAULT_SCHEMA};
use furrow_context::context::Context;
use furrow_context::error::{Result, refuse, unsupported};
use furrow_context::parse::parse;
use furrow_context::run::Run;
use furrow_context::system_databases::is_system;
use furrow_engine::{Database, Index, IndexKind, ModuleKind, Table};
use furrow_messages::Message;
use furrow_tsql::ast::Statement;
use furrow_tsql::ast::name::ObjectName;
use furrow_tsql::ast::query::Query;
use furrow_types::DataType;
use std::sync::Arc;

/// The longest key of an index.
const MOST_KEY_BYTES: usize = 900;

/// 1945 for each index of a table, of those that are none of `before`, whose key can be too long for it.
pub(super) fn warn_of_long_keys(run: &mut Run<'_>, table: &Table, before: &[u32]) {
    for index in table.indexes().iter().filter(|i| !before.contains(&i.id())) {
        let length = |of: &DataType| match of.fixed_len() {
            Some(length) => usize::from(length),
            None => usize::try_from(of.length).unwrap_or(0),
        };
        let columns = index.key().iter();
        let types = columns.filter_map(|key| table.columns().get(key.column));
        let longest: usize = types.map(|column| length(&column.data_type)).sum();
        if longest <= MOST_KEY_BYTES {
            continue;
        }
        let kind = match index.kind() {
            IndexKind::Nonclustered => "nonclustered",
            IndexKind::Clustered | IndexKind::Heap => "clustered",
        };
        let args = [
            kind.into(),
            (MOST_KEY_BYTES as i32).into(),
            index.name().into(),
            i32::try_from(longest).unwrap_or(i32::MAX).into(),
        ];
        run.inform(Message::new(1945, &args));
    }
}

/// The numbers of the indexes of a table.
pub(super) fn indexes_of(table: &Table) -> Vec<u32> {
    table.indexes().iter().map(Index::id).collect()
}

/// Schema and name of an object; the default schema is `dbo`.
pub(super) fn named(name: &ObjectName) -> (String, String) {
    let schema = name.schema().map_or(DEFAULT_SCHEMA, |s| &s.value);
    (schema.to_owned(), name.name().to_owned())
}

/// 3705 if an object is of another kind than DROP names.
pub(super) fn of_kind(cx: &mut Context, name: &ObjectName, dropped: &str) -> Result<()> {
    let db = Binder::new(cx).database_of(name)?;
    let (schema, object) = named(name);
    let session = cx.sessions.of(&db)?;
    let kind = match session.module(&schema, &object).map(|m| m.kind()) {
        Some(ModuleKind::View) => "view",
        Some(ModuleKind::Procedure) => "procedure",
        None if session.table_in(&schema, &object).is_ok() => "table",
        _ => return Ok(()),
    };
    if kind == dropped {
        return Ok(());
    }
    let shown = furrow_bind::shown(name);
    let args = [
        dropped.to_uppercase().into(),
        shown.as_str().into(),
        shown.as_str().into(),
        kind.into(),
        format!("DROP {}", kind.to_uppercase()).into(),
    ];
    refuse(3705, &args)
}

/// Refuses the statement within a transaction (226).
pub(super) fn outside_transaction(run: &Run<'_>, statement: &str) -> Result<()> {
    if run.cx.sessions.count() == 0 {
        return Ok(());
    }
    let text = format!("{statement} statement not allowed within multi-statement transaction.");
    Err(Message::custom(226, 16, 6, &text).into())
}

pub(super) fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

/// Binds a check over its table; 207 and similar errors if that fails.
pub(super) fn bind_check(
    cx: &mut Context,
    of: (&Arc<Database>, &str, &str),
    check: &str,
) -> Result<()> {
    let query = failing(cx, of, check)?;
    Binder::new(cx).query(&query)?;
    Ok(())
}

/// Whether a row violates a check.
pub(super) fn violates(
    cx: &mut Context,
    of: (&Arc<Database>, &str, &str),
    check: &str,
) -> Result<bool> {
    let query = failing(cx, of, check)?;
    has_rows(cx, &query)
}

/// Whether a query, given as text, returns rows.
pub(crate) fn some_row(cx: &mut Context, text: &str) -> Result<bool> {
    let read = furrow_context::parse::read(text, cx)?;
    match read.statements.first().map(|s| &s.kind) {
        Some(Statement::Select(query)) => has_rows(cx, query),
        _ => Err(unsupported("this query")),
    }
}

/// `, column 'a'` for the column with this number; empty for 0.
pub(super) fn column_named(
    cx: &mut Context,
    of: (&Arc<Database>, &str, &str),
    id: i32,
) -> Result<String> {
    let (db, schema, name) = of;
    let table = cx.sessions.of_table(db, name)?.table_in(schema, name)?;
    let column = table.columns().iter().find(|c| c.id == id);
    Ok(column.map_or_else(String::new, |c| format!(", column '{}'", c.name)))
}

/// SET IDENTITY_INSERT.
pub(crate) fn identity_insert(run: &mut Run<'_>, name: &ObjectName, on: bool) -> Result<()> {
    run.cx.statement(|cx| {
        let mut binder = Binder::new(cx);
        let (db, schemas) = (binder.database_of(name)?, binder.schemas_of(name));
        let session = cx.sessions.of(&db)?;
        let mut found = schemas.iter().map(|schema| session.table_in(schema, name.name()));
        let table = found.find_map(std::result::Result::ok).ok_or_else(|| {
            let text = format!(
                "Cannot find the object \"{}\" because it does not exist or you do not have permissions.",
                furrow_bind::shown(name)
            );
            furrow_engine::EngineError::of(Message::custom(1088, 16, 11, &text))
        })?;
        cx.sessions.set_identity_insert(&db, &table, on)
    })
}

/// `SELECT 1 FROM` a table, for the rows that violate a check.
fn failing(cx: &Context, of: (&Arc<Database>, &str, &str), check: &str) -> Result<Query> {
    let (db, schema, name) = of;
    let text = format!(
        "SELECT TOP (1) 1 FROM {}.{}.{} WHERE NOT {check}",
        bracketed(db.name()),
        bracketed(schema),
        bracketed(name)
    );
    match parse(&text, cx)?.into_iter().next().map(|s| s.kind) {
        Some(Statement::Select(query)) => Ok(*query),
        _ => Err(unsupported("this CHECK")),
    }
}

fn has_rows(cx: &mut Context, query: &Query) -> Result<bool> {
    let bound = furrow_bind::bound(cx, |binder| binder.query(query))?;
    let mut found = false;
    bound.plan.for_each(cx, &mut |_, _| {
        found = true;
        Ok(())
    })?;
    Ok(found)
}

/// 1801 for a new database with the name of a system database, whether that exists or not.
pub(super) fn not_of_system(name: &str) -> Result<()> {
    match is_system(name) {
        true => refuse(1801, &[name.into()]),
        false => Ok(()),
    }
}
