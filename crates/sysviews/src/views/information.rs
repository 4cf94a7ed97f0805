//! INFORMATION_SCHEMA.

use super::{Rows, SystemView, ViewContext, columns, view_columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_types::{DataType, Family, TypeId, Value};
use std::sync::Arc;

const KIND: DataType = varchar(10);
const YES_NO: DataType = varchar(3);
const DEFAULT: DataType = nvarchar(4000);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "TABLES",
        columns: columns! {
            "TABLE_CATALOG" SYSNAME null; "TABLE_SCHEMA" SYSNAME null; "TABLE_NAME" SYSNAME;
            "TABLE_TYPE" KIND null;
        },
        parameters: None,
        text: "The tables and views of the database.",
        rows: tables,
    },
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "COLUMNS",
        columns: columns! {
            "TABLE_CATALOG" SYSNAME null; "TABLE_SCHEMA" SYSNAME null; "TABLE_NAME" SYSNAME;
            "COLUMN_NAME" SYSNAME null; "ORDINAL_POSITION" INT; "COLUMN_DEFAULT" DEFAULT null;
            "IS_NULLABLE" YES_NO null; "DATA_TYPE" SYSNAME null; "CHARACTER_MAXIMUM_LENGTH" INT null;
            "CHARACTER_OCTET_LENGTH" INT null; "NUMERIC_PRECISION" TINYINT null;
            "NUMERIC_PRECISION_RADIX" SMALLINT null; "NUMERIC_SCALE" INT null;
            "DATETIME_PRECISION" SMALLINT null;
            "CHARACTER_SET_CATALOG" SYSNAME null; "CHARACTER_SET_SCHEMA" SYSNAME null;
            "CHARACTER_SET_NAME" SYSNAME null; "COLLATION_CATALOG" SYSNAME null;
            "COLLATION_SCHEMA" SYSNAME null;
            "COLLATION_NAME" SYSNAME null; "DOMAIN_CATALOG" SYSNAME null; "DOMAIN_SCHEMA" SYSNAME null;
            "DOMAIN_NAME" SYSNAME null;
        },
        parameters: None,
        text: "The columns of tables and views.",
        rows: columns_of_tables,
    },
];

fn tables(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    let session = view.cx.sessions.of(&db)?;
    let mut all: Vec<(String, String, &str)> = Vec::new();
    for table in session.tables() {
        all.push((
            table.schema().to_owned(),
            table.name().to_owned(),
            "BASE TABLE",
        ));
    }
    for module in session.modules() {
        if module.kind() == furrow_engine::ModuleKind::View {
            all.push((module.schema().to_owned(), module.name().to_owned(), "VIEW"));
        }
    }
    for (schema, name, kind) in all {
        rows(vec![text(db.name()), text(schema), text(name), ascii(kind)]);
    }
    Ok(())
}

fn columns_of_tables(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    for table in view.tables()? {
        for (at, column) in table.columns().iter().enumerate() {
            rows(column_row(
                (db.name(), table.schema(), table.name()),
                (&column.name, at + 1, column.default_text.as_deref()),
                (column.data_type, column.nullable),
            ));
        }
    }
    for (module, columns) in view_columns(view)? {
        for (at, column) in columns.iter().enumerate() {
            rows(column_row(
                (db.name(), module.schema(), module.name()),
                (&column.name, at + 1, None),
                (column.data_type, column.nullable),
            ));
        }
    }
    Ok(())
}

fn column_row(
    (catalog, schema, table): (&str, &str, &str),
    (name, at, default): (&str, usize, Option<&str>),
    (of, nullable): (DataType, bool),
) -> Vec<Value> {
    let mut row = vec![
        text(catalog),
        text(schema),
        text(table),
        text(name),
        int(at),
        maybe_text(default),
        ascii(if nullable { "YES" } else { "NO" }),
        text(of.id.name()),
    ];
    row.extend(measures(&of));
    let has_text = of.id.has_collation();
    let set = if of.id.is_unicode() {
        "UNICODE"
    } else {
        "iso_1"
    };
    row.extend([Value::Null, Value::Null]);
    row.push(maybe_text(has_text.then_some(set)));
    row.extend([Value::Null, Value::Null]);
    row.push(maybe_text(of.collation.name().filter(|_| has_text)));
    row.extend([Value::Null, Value::Null, Value::Null]);
    row
}

/// Lengths, precision, radix, scale, and precision of times.
fn measures(of: &DataType) -> Vec<Value> {
    let null = Value::Null;
    let family = of.id.family();
    let (characters, octets) = match (of.id, family) {
        (TypeId::Text | TypeId::Image, _) => (i32::MAX, i32::MAX),
        (TypeId::NText, _) => (1_073_741_823, i32::MAX - 1),
        (TypeId::Xml, _) => (-1, -1),
        (_, Family::NChar) if of.length > 0 => (i32::from(of.length) / 2, i32::from(of.length)),
        (_, Family::Char | Family::NChar | Family::Binary) => {
            (i32::from(of.length), i32::from(of.length))
        }
        _ => (0, 0),
    };
    let length = |n: i32| if n == 0 { Value::Null } else { Value::Int(n) };
    let mut row = vec![length(characters), length(octets)];
    row.extend(match (of.id, family) {
        (TypeId::Bit, _) => vec![null.clone(); 3],
        (_, Family::Integer | Family::Exact) => {
            vec![tiny(of.precision), small(10), int(of.scale)]
        }
        (_, Family::Approximate) => vec![tiny(of.precision), small(2), null.clone()],
        _ => vec![null.clone(); 3],
    });
    row.push(match of.id {
        TypeId::Date | TypeId::SmallDateTime => small(0),
        TypeId::DateTime => small(3),
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => small(of.scale),
        _ => null,
    });
    row
}
