//! Objects of the engine itself: its views, functions and procedures; and the views that list them together
//! with the objects of users.

use super::objects::{OBJECTS, Object, VIEWS_OF_USERS, objects};
use super::types::{COLUMNS, columns_of_tables, described};
use super::{Rows, SystemView, ViewContext, columns};
use crate::procs;
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::Database;
use furrow_types::{DataType, DateTime, Value};

/// The database that has `spt_values`.
const MASTER: &str = "master";
/// The table of numbers in `master`, which scripts expect.
const NUMBERS: &str = "spt_values";
/// Its largest number of type `P`.
const LAST_NUMBER: i32 = 2047;

const LETTERS: DataType = nchar(3);
const NAME: DataType = nvarchar(35);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "all_objects",
        columns: &OBJECTS,
        parameters: None,
        text: "The objects of the database, and the engine's own views, functions and procedures.",
        rows: |view, rows| {
            let schemas = view.schemas()?;
            for object in objects(view)?.iter().chain(&of_system(&view.database)) {
                rows(object.row(&schemas));
            }
            Ok(())
        },
    },
    SystemView {
        schema: "sys",
        name: "system_objects",
        columns: &OBJECTS,
        parameters: None,
        text: "The engine's own views, functions and procedures.",
        rows: |view, rows| {
            let schemas = view.schemas()?;
            for object in of_system(&view.database) {
                rows(object.row(&schemas));
            }
            Ok(())
        },
    },
    SystemView {
        schema: "sys",
        name: "all_views",
        columns: &VIEWS_OF_USERS,
        parameters: None,
        text: "The views of the database, and the engine's own views.",
        rows: |view, rows| {
            let own = objects(view)?;
            views(view, rows, &own)?;
            system_views(view, rows)
        },
    },
    SystemView {
        schema: "sys",
        name: "system_views",
        columns: &VIEWS_OF_USERS,
        parameters: None,
        text: "The engine's own views.",
        rows: system_views,
    },
    SystemView {
        schema: "sys",
        name: "all_columns",
        columns: &COLUMNS,
        parameters: None,
        text: "The columns of tables and views, and of the engine's own views and functions.",
        rows: |view, rows| {
            columns_of_tables(view, rows)?;
            system_columns(view, rows)
        },
    },
    SystemView {
        schema: "sys",
        name: "system_columns",
        columns: &COLUMNS,
        parameters: None,
        text: "The columns of the engine's own views and functions.",
        rows: system_columns,
    },
    SystemView {
        schema: "dbo",
        name: NUMBERS,
        columns: columns! {
            "name" NAME null; "number" INT; "type" LETTERS; "low" INT null; "high" INT null;
            "status" INT null;
        },
        parameters: None,
        text: "In master only: the numbers from 0 to 2047, from which scripts generate rows (type P alone; \
               SQL Server's table has other types, too).",
        rows: numbers,
    },
];

/// Whether a view exists in a database.
pub(super) fn is_in(view: &SystemView, database: &str) -> bool {
    view.name != NUMBERS || database.eq_ignore_ascii_case(MASTER)
}

/// The views that have object numbers. As in SQL Server they are negative, but they are other numbers.
fn numbered() -> impl Iterator<Item = (i32, &'static SystemView)> {
    let seen = super::all().filter(|view| view.name != NUMBERS);
    (1..).map(|n: i32| -n).zip(seen)
}

/// The schema of a view: compatibility views, which are also in `dbo`, belong to `sys`.
fn schema_of(view: &SystemView) -> &'static str {
    match view.schema {
        "dbo" => "sys",
        schema => schema,
    }
}

/// The objects of the engine itself.
pub(crate) fn of_system(database: &Database) -> Vec<Object> {
    let at = database.created().unwrap_or(DateTime::EPOCH);
    let mut all = Vec::new();
    let mut next = -1;
    for (id, view) in numbered() {
        let kind = if view.parameters.is_some() { "IF" } else { "V" };
        all.push(Object::of_system(
            id,
            (schema_of(view), view.name),
            kind,
            at,
        ));
        next = id - 1;
    }
    let own = procs::all().map(|p| (p.name, if p.extended { "X" } else { "P" }));
    let scripts = procs::scripts::all().map(|s| (s.name, "P"));
    for (name, kind) in own.chain(scripts).chain([("sp_executesql", "X")]) {
        all.push(Object::of_system(next, ("sys", name), kind, at));
        next -= 1;
    }
    all
}

fn views(view: &mut ViewContext<'_>, rows: Rows<'_>, all: &[Object]) -> Result<()> {
    let schemas = view.schemas()?;
    for object in all.iter().filter(|o| o.kind == "V") {
        let mut row = object.row(&schemas);
        row.extend(vec![bit(false); 6]);
        rows(row);
    }
    Ok(())
}

fn system_views(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let all = of_system(&view.database);
    views(view, rows, &all)
}

fn system_columns(_: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for (id, view) in numbered() {
        for (at, column) in (1..).zip(view.columns) {
            rows(described(
                (id, at, column.name),
                (column.data_type, column.nullable),
                (false, 0),
            ));
        }
    }
    Ok(())
}

/// Type P: each number with its byte and its bit in a bitmap of columns.
fn numbers(_: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for number in 0..=LAST_NUMBER {
        rows(vec![
            Value::Null,
            int(number),
            padded("P", 3),
            int(number / 8 + 1),
            int(1 << (number % 8)),
            int(0),
        ]);
    }
    Ok(())
}
