//! INFORMATION_SCHEMA: constraints, views, schemas.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{ModuleKind, Table};
use furrow_types::{DataType, Value};
use std::sync::Arc;

const TWO: DataType = varchar(2);
const THREE: DataType = varchar(3);
const SIX: DataType = varchar(6);
const SEVEN: DataType = varchar(7);
const ELEVEN: DataType = varchar(11);
const TEXT: DataType = nvarchar(4000);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "TABLE_CONSTRAINTS",
        columns: columns! {
            "CONSTRAINT_CATALOG" SYSNAME null; "CONSTRAINT_SCHEMA" SYSNAME null; "CONSTRAINT_NAME" SYSNAME;
            "TABLE_CATALOG" SYSNAME null; "TABLE_SCHEMA" SYSNAME null; "TABLE_NAME" SYSNAME;
            "CONSTRAINT_TYPE" ELEVEN null; "IS_DEFERRABLE" TWO; "INITIALLY_DEFERRED" TWO;
        },
        parameters: None,
        text: "The keys, foreign keys and checks of tables.",
        rows: table_constraints,
    },
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "KEY_COLUMN_USAGE",
        columns: columns! {
            "CONSTRAINT_CATALOG" SYSNAME null; "CONSTRAINT_SCHEMA" SYSNAME null; "CONSTRAINT_NAME" SYSNAME;
            "TABLE_CATALOG" SYSNAME null; "TABLE_SCHEMA" SYSNAME null; "TABLE_NAME" SYSNAME;
            "COLUMN_NAME" SYSNAME null; "ORDINAL_POSITION" INT;
        },
        parameters: None,
        text: "The columns of keys and foreign keys.",
        rows: key_columns,
    },
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "REFERENTIAL_CONSTRAINTS",
        columns: columns! {
            "CONSTRAINT_CATALOG" SYSNAME null; "CONSTRAINT_SCHEMA" SYSNAME null; "CONSTRAINT_NAME" SYSNAME;
            "UNIQUE_CONSTRAINT_CATALOG" SYSNAME null; "UNIQUE_CONSTRAINT_SCHEMA" SYSNAME null;
            "UNIQUE_CONSTRAINT_NAME" SYSNAME null; "MATCH_OPTION" SEVEN null; "UPDATE_RULE" ELEVEN null;
            "DELETE_RULE" ELEVEN null;
        },
        parameters: None,
        text: "The foreign keys of tables.",
        rows: references,
    },
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "CHECK_CONSTRAINTS",
        columns: columns! {
            "CONSTRAINT_CATALOG" SYSNAME null; "CONSTRAINT_SCHEMA" SYSNAME null; "CONSTRAINT_NAME" SYSNAME;
            "CHECK_CLAUSE" TEXT null;
        },
        parameters: None,
        text: "The checks of tables.",
        rows: checks,
    },
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "VIEWS",
        columns: columns! {
            "TABLE_CATALOG" SYSNAME null; "TABLE_SCHEMA" SYSNAME null; "TABLE_NAME" SYSNAME;
            "VIEW_DEFINITION" TEXT null; "CHECK_OPTION" SEVEN null; "IS_UPDATABLE" TWO;
        },
        parameters: None,
        text: "The views of the database.",
        rows: views,
    },
    SystemView {
        schema: "INFORMATION_SCHEMA",
        name: "SCHEMATA",
        columns: columns! {
            "CATALOG_NAME" SYSNAME null; "SCHEMA_NAME" SYSNAME; "SCHEMA_OWNER" SYSNAME null;
            "DEFAULT_CHARACTER_SET_CATALOG" SIX null; "DEFAULT_CHARACTER_SET_SCHEMA" THREE null;
            "DEFAULT_CHARACTER_SET_NAME" SYSNAME null;
        },
        parameters: None,
        text: "The schemas of the database.",
        rows: schemata,
    },
];

/// Catalog, schema and name of an object in the schema of a table.
fn named(view: &ViewContext<'_>, table: &Table, name: &str) -> Vec<Value> {
    let catalog = text(view.database.name());
    vec![catalog, text(table.schema()), text(name)]
}

/// Catalog, schema and name of a constraint, then of its table.
fn of_table(view: &ViewContext<'_>, table: &Table, name: &str) -> Vec<Value> {
    let mut row = named(view, table, name);
    row.extend(named(view, table, table.name()));
    row
}

fn table_constraints(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for table in view.tables()? {
        for child in table.children() {
            let kind = match &*child.type_code {
                "PK" => "PRIMARY KEY",
                "UQ" => "UNIQUE",
                "F" => "FOREIGN KEY",
                "C" => "CHECK",
                _ => continue,
            };
            let mut row = of_table(view, &table, &child.name);
            row.extend([ascii(kind), ascii("NO"), ascii("NO")]);
            rows(row);
        }
    }
    Ok(())
}

fn key_columns(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for table in view.tables()? {
        let mut keys: Vec<(String, Vec<String>)> = Vec::new();
        let columns = table.columns();
        for child in table.children() {
            let name = child.name;
            let names = match &*child.type_code {
                "PK" | "UQ" => {
                    let key = table.index_named(&name).map(|i| i.key().to_vec());
                    let of = key.unwrap_or_default().into_iter();
                    of.filter_map(|k| Some(columns.get(k.column)?.name.clone()))
                        .collect()
                }
                "F" => {
                    let keys = table.foreign_keys();
                    let key = keys.iter().find(|k| k.id == child.id);
                    let own = key.map(|k| k.columns.clone()).unwrap_or_default();
                    let of = |id: i32| columns.iter().find(|c| c.id == id).map(|c| c.name.clone());
                    own.into_iter().filter_map(|(own, _)| of(own)).collect()
                }
                _ => continue,
            };
            keys.push((name, names));
        }
        for (name, columns) in keys {
            for (at, column) in (1_i32..).zip(columns) {
                let mut row = of_table(view, &table, &name);
                row.extend([text(column), int(at)]);
                rows(row);
            }
        }
    }
    Ok(())
}

fn references(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let tables = view.tables()?;
    let rule = |name: &str| ascii(name.replace('_', " "));
    for table in &tables {
        for key in table.foreign_keys() {
            let mut row = named(view, table, &key.name);
            let other = tables.iter().find(|t| t.id() == key.referenced);
            let index = other.and_then(|other| {
                let mut indexes = other.indexes().iter();
                let index = indexes.find(|i| i64::from(i.id()) == i64::from(key.key_index))?;
                Some((other, index.name().to_owned()))
            });
            match index {
                Some((other, index)) => row.extend(named(view, other, &index)),
                None => row.extend([Value::Null, Value::Null, Value::Null]),
            }
            row.push(ascii("SIMPLE"));
            row.extend([rule(key.on_update.name()), rule(key.on_delete.name())]);
            rows(row);
        }
    }
    Ok(())
}

fn checks(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for table in view.tables()? {
        for check in table.checks() {
            let mut row = named(view, &table, &check.name);
            row.push(text(check.text.clone()));
            rows(row);
        }
    }
    Ok(())
}

fn views(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    for module in view.cx.sessions.of(&db)?.modules() {
        if module.kind() != ModuleKind::View {
            continue;
        }
        // SQL Server shows no definition that does not fit.
        let whole = Some(module.text()).filter(|t| t.encode_utf16().count() <= 4000);
        rows(vec![
            text(db.name()),
            text(module.schema()),
            text(module.name()),
            maybe_text(whole),
            ascii("NONE"),
            ascii("NO"),
        ]);
    }
    Ok(())
}

fn schemata(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    for (_, name) in view.schemas()? {
        rows(vec![
            text(db.name()),
            text(name.clone()),
            text(match &*name {
                "INFORMATION_SCHEMA" | "sys" | "guest" => name,
                _ => "dbo".to_owned(),
            }),
            Value::Null,
            Value::Null,
            text("iso_1"),
        ]);
    }
    Ok(())
}
