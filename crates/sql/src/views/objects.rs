//! Objects, tables, modules, schemas.

use super::value::*;
use super::{Rows, SystemView, ViewContext, columns, schema_id};
use crate::error::Result;
use furrow_engine::{Index, Table};
use furrow_format::types::{DataType, DateTime, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

const KIND: DataType = char(2);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "objects",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "principal_id" INT null; "schema_id" INT; "parent_object_id" INT;
            "type" KIND null; "type_desc" DESC null; "create_date" DATETIME; "modify_date" DATETIME;
            "is_ms_shipped" BIT; "is_published" BIT; "is_schema_published" BIT;
        },
        parameters: None,
        text: "The objects of the database: tables, keys, checks, defaults, modules.",
        rows: |view, rows| {
            let schemas = view.schemas()?;
            for object in objects(view)? {
                rows(object.row(&schemas));
            }
            Ok(())
        },
    },
    SystemView {
        schema: "sys",
        name: "tables",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "principal_id" INT null; "schema_id" INT; "parent_object_id" INT;
            "type" KIND null; "type_desc" DESC null; "create_date" DATETIME; "modify_date" DATETIME;
            "is_ms_shipped" BIT; "is_published" BIT; "is_schema_published" BIT; "lob_data_space_id" INT;
            "filestream_data_space_id" INT null; "max_column_id_used" INT; "lock_on_bulk_load" BIT;
            "uses_ansi_nulls" BIT null; "is_replicated" BIT null; "has_replication_filter" BIT null;
            "is_merge_published" BIT null; "is_sync_tran_subscribed" BIT null;
            "has_unchecked_assembly_data" BIT; "text_in_row_limit" INT null;
            "large_value_types_out_of_row" BIT null; "is_tracked_by_cdc" BIT null;
            "lock_escalation" TINYINT null;
            "lock_escalation_desc" DESC null; "is_filetable" BIT null; "durability" TINYINT null;
            "durability_desc" DESC null; "is_memory_optimized" BIT null; "temporal_type" TINYINT null;
            "temporal_type_desc" DESC null; "history_table_id" INT null;
            "is_remote_data_archive_enabled" BIT null; "is_external" BIT;
        },
        parameters: None,
        text: "The tables of the database.",
        rows: tables,
    },
    SystemView {
        schema: "sys",
        name: "views",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "principal_id" INT null; "schema_id" INT; "parent_object_id" INT;
            "type" KIND null; "type_desc" DESC null; "create_date" DATETIME; "modify_date" DATETIME;
            "is_ms_shipped" BIT; "is_published" BIT; "is_schema_published" BIT;
        },
        parameters: None,
        text: "The views of the database.",
        rows: |view, rows| of_type(view, rows, "V"),
    },
    SystemView {
        schema: "sys",
        name: "procedures",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "principal_id" INT null; "schema_id" INT; "parent_object_id" INT;
            "type" KIND null; "type_desc" DESC null; "create_date" DATETIME; "modify_date" DATETIME;
            "is_ms_shipped" BIT; "is_published" BIT; "is_schema_published" BIT;
        },
        parameters: None,
        text: "The procedures of the database.",
        rows: |view, rows| of_type(view, rows, "P"),
    },
    SystemView {
        schema: "sys",
        name: "sql_modules",
        columns: columns! {
            "object_id" INT; "definition" NTEXT null; "uses_ansi_nulls" BIT null;
            "uses_quoted_identifier" BIT null; "is_schema_bound" BIT null;
        },
        parameters: None,
        text: "The texts of views and procedures.",
        rows: modules,
    },
    SystemView {
        schema: "sys",
        name: "schemas",
        columns: columns! { "name" SYSNAME; "schema_id" INT; "principal_id" INT null; },
        parameters: None,
        text: "The schemas of the database.",
        rows: |view, rows| {
            for (id, name) in view.schemas()? {
                rows(vec![text(name), int(id), int(1)]);
            }
            Ok(())
        },
    },
    SystemView {
        schema: "sys",
        name: "check_constraints",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "schema_id" INT; "parent_object_id" INT; "type" KIND null;
            "type_desc" DESC null; "is_disabled" BIT; "is_not_trusted" BIT; "parent_column_id" INT;
            "definition" NTEXT null; "is_system_named" BIT;
        },
        parameters: None,
        text: "The checks of tables.",
        rows: checks,
    },
    SystemView {
        schema: "sys",
        name: "default_constraints",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "schema_id" INT; "parent_object_id" INT; "type" KIND null;
            "type_desc" DESC null; "parent_column_id" INT; "definition" NTEXT null; "is_system_named" BIT;
        },
        parameters: None,
        text: "The defaults of columns.",
        rows: defaults,
    },
    SystemView {
        schema: "sys",
        name: "key_constraints",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "schema_id" INT; "parent_object_id" INT; "type" KIND null;
            "type_desc" DESC null; "unique_index_id" INT null; "is_system_named" BIT;
        },
        parameters: None,
        text: "Primary keys and unique constraints.",
        rows: keys,
    },
    SystemView {
        schema: "dbo",
        name: "sysobjects",
        columns: columns! {
            "name" SYSNAME; "id" INT; "xtype" KIND; "uid" SMALLINT null; "parent_obj" INT; "crdate" DATETIME;
            "type" KIND null;
        },
        parameters: None,
        text: "The objects of the database under the names of old: use sys.objects.",
        rows: sysobjects,
    },
];

/// An object of a database.
pub(crate) struct Object {
    pub(crate) id: i32,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) parent: i32,
    /// `U`, `PK`, `V`...
    pub(crate) kind: String,
    created: DateTime,
    modified: DateTime,
}

/// `type_desc` of a type.
pub(crate) fn type_desc(kind: &str) -> &'static str {
    match kind {
        "U" => "USER_TABLE",
        "PK" => "PRIMARY_KEY_CONSTRAINT",
        "UQ" => "UNIQUE_CONSTRAINT",
        "C" => "CHECK_CONSTRAINT",
        "D" => "DEFAULT_CONSTRAINT",
        "F" => "FOREIGN_KEY_CONSTRAINT",
        "V" => "VIEW",
        "P" => "SQL_STORED_PROCEDURE",
        "FN" => "SQL_SCALAR_FUNCTION",
        "IF" => "SQL_INLINE_TABLE_VALUED_FUNCTION",
        "TF" => "SQL_TABLE_VALUED_FUNCTION",
        "TR" => "SQL_TRIGGER",
        _ => "UNKNOWN",
    }
}

/// A type as `char(2)`.
fn kind(of: &str) -> Value {
    ascii(format!("{of:<2}"))
}

impl Object {
    fn row(&self, schemas: &BTreeMap<i32, String>) -> Vec<Value> {
        vec![
            text(self.name.clone()),
            int(self.id),
            Value::Null,
            int(schema_id(schemas, &self.schema)),
            int(self.parent),
            kind(&self.kind),
            text(type_desc(&self.kind)),
            Value::DateTime(self.created),
            Value::DateTime(self.modified),
            bit(false),
            bit(false),
            bit(false),
        ]
    }
}

fn of_table(table: &Table) -> Object {
    Object {
        id: table.id().0,
        schema: table.schema().to_owned(),
        name: table.name().to_owned(),
        parent: 0,
        kind: "U".to_owned(),
        created: table.created(),
        modified: table.modified(),
    }
}

/// The objects of the view's database as the session sees them.
fn objects(view: &mut ViewContext<'_>) -> Result<Vec<Object>> {
    let db = Arc::clone(&view.database);
    let session = view.cx.sessions.of(&db)?;
    Ok(objects_of(&session.tables(), &session.modules()))
}

/// Tables with what belongs to them, and modules, as objects.
pub(crate) fn objects_of(
    tables: &[Arc<Table>],
    modules: &[Arc<furrow_engine::Module>],
) -> Vec<Object> {
    let mut all = Vec::new();
    for table in tables {
        all.push(of_table(table));
        all.extend(table.children().into_iter().map(|child| Object {
            id: child.id.0,
            schema: table.schema().to_owned(),
            name: child.name,
            parent: table.id().0,
            kind: child.type_code,
            created: child.created,
            modified: child.modified,
        }));
    }
    all.extend(modules.iter().map(|module| Object {
        id: module.id().0,
        schema: module.schema().to_owned(),
        name: module.name().to_owned(),
        parent: 0,
        kind: module.kind().type_code().trim_end().to_owned(),
        created: module.created(),
        modified: module.modified(),
    }));
    all
}

fn of_type(view: &mut ViewContext<'_>, rows: Rows<'_>, wanted: &str) -> Result<()> {
    let schemas = view.schemas()?;
    for object in objects(view)?.iter().filter(|o| o.kind == wanted) {
        rows(object.row(&schemas));
    }
    Ok(())
}

fn tables(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for table in view.tables()? {
        let mut row = of_table(&table).row(&schemas);
        let last = table.columns().iter().map(|c| c.id).max();
        let (off, null) = (bit(false), Value::Null);
        row.extend([
            int(0),
            null.clone(),
            int(last.unwrap_or(0)),
            off.clone(),
            bit(true),
        ]);
        row.extend(vec![off.clone(); 5]);
        row.extend([int(0), off.clone(), off.clone(), tiny(0), text("TABLE")]);
        row.extend([off.clone(), tiny(0), text("SCHEMA_AND_DATA"), off.clone()]);
        row.extend([tiny(0), text("NON_TEMPORAL_TABLE"), null, off.clone(), off]);
        rows(row);
    }
    Ok(())
}

fn modules(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    for module in view.cx.sessions.of(&db)?.modules() {
        rows(vec![
            int(module.id().0),
            text(module.text()),
            bit(true),
            bit(true),
            bit(false),
        ]);
    }
    Ok(())
}

fn checks(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for table in view.tables()? {
        for check in table.checks() {
            rows(vec![
                text(check.name.clone()),
                int(check.id.0),
                int(schema_id(&schemas, table.schema())),
                int(table.id().0),
                kind("C"),
                text(type_desc("C")),
                bit(check.disabled),
                bit(!check.trusted),
                int(check.column),
                text(check.text.clone()),
                bit(check.system_named),
            ]);
        }
    }
    Ok(())
}

fn defaults(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for table in view.tables()? {
        let children = table.children();
        for column in table.columns() {
            let named = |c: &&furrow_engine::TableChild| {
                c.type_code == "D" && Some(&c.name) == column.default_name.as_ref()
            };
            let Some(object) = children.iter().find(named) else {
                continue;
            };
            rows(vec![
                text(object.name.clone()),
                int(object.id.0),
                int(schema_id(&schemas, table.schema())),
                int(table.id().0),
                kind("D"),
                text(type_desc("D")),
                int(column.id),
                maybe_text(column.default_text.clone()),
                bit(object.system_named),
            ]);
        }
    }
    Ok(())
}

fn keys(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for table in view.tables()? {
        let keys = table.children().into_iter();
        for key in keys.filter(|c| matches!(&*c.type_code, "PK" | "UQ")) {
            rows(vec![
                text(key.name.clone()),
                int(key.id.0),
                int(schema_id(&schemas, table.schema())),
                int(table.id().0),
                kind(&key.type_code),
                text(type_desc(&key.type_code)),
                table
                    .index_named(&key.name)
                    .map_or(Value::Null, |i: &Index| int(i.id())),
                bit(key.system_named),
            ]);
        }
    }
    Ok(())
}

fn sysobjects(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for object in objects(view)? {
        let schema = schema_id(&schemas, &object.schema);
        // The type of old has one letter for both kinds of keys.
        let old = if matches!(&*object.kind, "PK" | "UQ") {
            "K"
        } else {
            &object.kind
        };
        rows(vec![
            text(object.name),
            int(object.id),
            kind(&object.kind),
            small(schema),
            int(object.parent),
            Value::DateTime(object.created),
            kind(old),
        ]);
    }
    Ok(())
}
