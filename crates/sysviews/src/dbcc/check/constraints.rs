//! CHECKCONSTRAINTS: queries for rows that violate a foreign key or a CHECK constraint.
//!
//! Each constraint becomes one SELECT of the rows that violate it. The queries run in the session, with its
//! isolation level and locks. There is no result set if no row violates a constraint.

use crate::dbcc::Call;
use crate::value::nvarchar;
use furrow_context::error::{Result, refuse};
use furrow_context::parse::read_with;
use furrow_context::run::Run;
use furrow_context::sink::Kept;
use furrow_context::system::{ViewColumn, nullable};
use furrow_engine::{Database, ForeignKey, Table};
use furrow_tsql::ast::Statement;
use furrow_types::Value;
use std::sync::Arc;

static ROWS: &[ViewColumn] = &[
    nullable("Table", nvarchar(517)),
    nullable("Constraint", nvarchar(258)),
    nullable("Where", nvarchar(4000)),
];

/// Most rows that are listed for a constraint without ALL_ERRORMSGS.
const LISTED: u32 = 200;

pub(super) fn run(run: &mut Run<'_>, call: &Call) -> Result<()> {
    call.takes(0..=1)?;
    let db = Arc::clone(run.cx.sessions.database());
    let disabled_too = call.said("ALL_CONSTRAINTS");
    let top = match call.said("ALL_ERRORMSGS") {
        true => String::new(),
        false => format!("TOP ({LISTED}) "),
    };
    let mut rows = Vec::new();
    for (table, constraint) in wanted(&db, call)? {
        for query in queries(&db, &table, constraint.as_deref(), (&top, disabled_too)) {
            run.cx.check_cancel()?;
            rows.extend(selected(run, &query)?);
        }
    }
    if !rows.is_empty() {
        run.show(ROWS, rows);
    }
    Ok(())
}

/// The tables to check, each with the constraint that the argument names, if it names one.
fn wanted(db: &Arc<Database>, call: &Call) -> Result<Vec<(Arc<Table>, Option<String>)>> {
    let Some(arg) = call.args.first() else {
        let all = db.catalog().tables().into_iter();
        return Ok(all.map(|table| (table, None)).collect());
    };
    let Some(name) = arg.text() else {
        let table = crate::dbcc::table::table_of(db, call, 0)?;
        return Ok(vec![(table, None)]);
    };
    let (schema, bare) = crate::names::split_name(name);
    if let Some(table) = db.catalog().table(&schema, &bare) {
        return Ok(vec![(table, None)]);
    }
    let has = |table: &Arc<Table>| {
        let keys = table.foreign_keys().iter().map(|key| &key.name);
        let checks = table.checks().iter().map(|check| &check.name);
        keys.chain(checks).any(|n| n.eq_ignore_ascii_case(&bare))
    };
    match db.catalog().tables().into_iter().find(has) {
        Some(table) => Ok(vec![(table, Some(bare))]),
        None => refuse(2501, &[bare.into()]),
    }
}

fn bracketed(name: &str) -> String {
    format!("[{}]", name.replace(']', "]]"))
}

fn quoted(text: &str) -> String {
    format!("N'{}'", text.replace('\'', "''"))
}

fn full_name(table: &Table) -> String {
    format!("{}.{}", bracketed(table.schema()), bracketed(table.name()))
}

/// The queries for the constraints of a table.
fn queries(
    db: &Database,
    table: &Table,
    only: Option<&str>,
    (top, disabled_too): (&str, bool),
) -> Vec<String> {
    let is_wanted = |name: &str, disabled: bool| match only {
        Some(only) => only.eq_ignore_ascii_case(name),
        None => disabled_too || !disabled,
    };
    let keys = table.foreign_keys().iter();
    let keys = keys.filter(|key| is_wanted(&key.name, key.disabled));
    let mut queries: Vec<String> = keys
        .filter_map(|key| key_query(db, table, key, top))
        .collect();
    for check in table.checks() {
        if !is_wanted(&check.name, check.disabled) {
            continue;
        }
        let names = table.columns().iter().map(|column| bracketed(&column.name));
        let text = check.text.to_lowercase();
        let named = names.filter(|name| text.contains(&name.to_lowercase()));
        let named: Vec<String> = named.collect();
        let select = select_of(table, top, &check.name, &named);
        queries.push(format!("{select}NOT ({})", check.text));
    }
    queries
}

/// The rows of a table that have no referenced row by a foreign key.
fn key_query(db: &Database, table: &Table, key: &ForeignKey, top: &str) -> Option<String> {
    let referenced = db.catalog().table_by_id(key.referenced)?;
    let pairs = key.columns.iter().map(|(own, other)| {
        let own = name_of(table, *own)?;
        Some((own, name_of(&referenced, *other)?))
    });
    let pairs: Vec<(String, String)> = pairs.collect::<Option<_>>()?;
    let own: Vec<String> = pairs.iter().map(|(own, _)| own.clone()).collect();
    let given: Vec<String> = own.iter().map(|c| format!("t.{c} IS NOT NULL")).collect();
    let same = |(own, other): &(String, String)| format!("r.{other} = t.{own}");
    let same: Vec<String> = pairs.iter().map(same).collect();
    Some(format!(
        "{}{} AND NOT EXISTS (SELECT 1 FROM {} AS r WHERE {})",
        select_of(table, top, &key.name, &own),
        given.join(" AND "),
        full_name(&referenced),
        same.join(" AND ")
    ))
}

/// The beginning of a SELECT of table, constraint, and the values of columns as a condition.
fn select_of(table: &Table, top: &str, constraint: &str, columns: &[String]) -> String {
    let from = full_name(table);
    let mut parts = Vec::new();
    for (at, column) in columns.iter().enumerate() {
        let and = if at > 0 { " AND " } else { "" };
        let null = quoted(&format!("{and}{column} IS NULL"));
        let start = quoted(&format!("{and}{column} = '"));
        parts.push(format!(
            "CASE WHEN t.{column} IS NULL THEN {null} ELSE CONCAT({start}, t.{column}, N'''') END"
        ));
    }
    // CONCAT takes at least two values.
    parts.extend(["N''".to_owned(), "N''".to_owned()]);
    format!(
        "SELECT {top}{}, {}, CONCAT({}) FROM {from} AS t WHERE ",
        quoted(&from),
        quoted(&bracketed(constraint)),
        parts.join(", ")
    )
}

fn name_of(table: &Table, id: i32) -> Option<String> {
    let column = table.columns().iter().find(|column| column.id == id)?;
    Some(bracketed(&column.name))
}

/// The rows of a query.
fn selected(run: &mut Run<'_>, query: &str) -> Result<Vec<Vec<Value>>> {
    let text = format!("EXEC ({})", quoted(query));
    let read = read_with(&text, true, run.cx)?;
    let statement = read.statements.iter().find_map(|s| match &s.kind {
        Statement::Execute(execute) => Some(execute),
        _ => None,
    });
    let Some(execute) = statement else {
        return Ok(Vec::new());
    };
    let mut kept = Kept::default();
    run.interpreter.capture(run, execute, &mut kept)?;
    Ok(kept.sets.into_iter().flat_map(|set| set.rows).collect())
}
