//! Objects, tables, modules, schemas.

use super::{Rows, SystemView, ViewColumn, ViewContext, columns, joined, schema_id};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::{Index, Table};
use furrow_types::{DataType, DateTime, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

const KIND: DataType = char(2);

/// The columns of `sys.objects`, with which the views of each kind of object begin.
pub(super) const OBJECTS: [ViewColumn; 12] = *columns! {
    "name" SYSNAME; "object_id" INT; "principal_id" INT null; "schema_id" INT; "parent_object_id" INT;
    "type" KIND null; "type_desc" DESC null; "create_date" DATETIME; "modify_date" DATETIME;
    "is_ms_shipped" BIT; "is_published" BIT; "is_schema_published" BIT;
};

static TABLES: [ViewColumn; 36] = joined(
    &OBJECTS,
    columns! {
        "lob_data_space_id" INT; "filestream_data_space_id" INT null; "max_column_id_used" INT;
        "lock_on_bulk_load" BIT; "uses_ansi_nulls" BIT null; "is_replicated" BIT null;
        "has_replication_filter" BIT null; "is_merge_published" BIT null; "is_sync_tran_subscribed" BIT null;
        "has_unchecked_assembly_data" BIT; "text_in_row_limit" INT null;
        "large_value_types_out_of_row" BIT null; "is_tracked_by_cdc" BIT null;
        "lock_escalation" TINYINT null; "lock_escalation_desc" DESC null; "is_filetable" BIT null;
        "durability" TINYINT null; "durability_desc" DESC null; "is_memory_optimized" BIT null;
        "temporal_type" TINYINT null; "temporal_type_desc" DESC null; "history_table_id" INT null;
        "is_remote_data_archive_enabled" BIT null; "is_external" BIT;
    },
);

pub(super) static VIEWS_OF_USERS: [ViewColumn; 18] = joined(
    &OBJECTS,
    columns! {
        "is_replicated" BIT null; "has_replication_filter" BIT null; "has_opaque_metadata" BIT;
        "has_unchecked_assembly_data" BIT; "with_check_option" BIT; "is_date_correlation_view" BIT;
    },
);

static PROCEDURES: [ViewColumn; 16] = joined(
    &OBJECTS,
    columns! {
        "is_auto_executed" BIT; "is_execution_replicated" BIT null; "is_repl_serializable_only" BIT null;
        "skips_repl_constraints" BIT null;
    },
);

static CHECKS: [ViewColumn; 19] = joined(
    &OBJECTS,
    columns! {
        "is_disabled" BIT; "is_not_for_replication" BIT; "is_not_trusted" BIT; "parent_column_id" INT;
        "definition" NTEXT null; "uses_database_collation" BIT null; "is_system_named" BIT;
    },
);

static DEFAULTS: [ViewColumn; 15] = joined(
    &OBJECTS,
    columns! { "parent_column_id" INT; "definition" NTEXT null; "is_system_named" BIT; },
);

static KEYS: [ViewColumn; 15] = joined(
    &OBJECTS,
    columns! { "unique_index_id" INT null; "is_system_named" BIT; "is_enforced" BIT; },
);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "objects",
        columns: &OBJECTS,
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
        columns: &TABLES,
        parameters: None,
        text: "The tables of the database.",
        rows: tables,
    },
    SystemView {
        schema: "sys",
        name: "views",
        columns: &VIEWS_OF_USERS,
        parameters: None,
        text: "The views of the database.",
        rows: |view, rows| of_type(view, rows, ("V", 6)),
    },
    SystemView {
        schema: "sys",
        name: "procedures",
        columns: &PROCEDURES,
        parameters: None,
        text: "The procedures of the database.",
        rows: |view, rows| of_type(view, rows, ("P", 4)),
    },
    SystemView {
        schema: "sys",
        name: "sql_modules",
        columns: columns! {
            "object_id" INT; "definition" NTEXT null; "uses_ansi_nulls" BIT null;
            "uses_quoted_identifier" BIT null; "is_schema_bound" BIT null;
            "uses_database_collation" BIT null; "is_recompiled" BIT null; "null_on_null_input" BIT null;
            "execute_as_principal_id" INT null; "uses_native_compilation" BIT null;
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
        columns: &CHECKS,
        parameters: None,
        text: "The checks of tables.",
        rows: checks,
    },
    SystemView {
        schema: "sys",
        name: "default_constraints",
        columns: &DEFAULTS,
        parameters: None,
        text: "The defaults of columns.",
        rows: defaults,
    },
    SystemView {
        schema: "sys",
        name: "key_constraints",
        columns: &KEYS,
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
        text: "The objects of the database under their old names: use sys.objects.",
        rows: sysobjects,
    },
];

/// An object of a database.
pub(crate) struct Object {
    pub(crate) id: i32,
    pub schema: String,
    pub name: String,
    pub(crate) parent: i32,
    /// `U`, `PK`, `V`...
    pub kind: String,
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
        "X" => "EXTENDED_STORED_PROCEDURE",
        _ => "UNKNOWN",
    }
}

/// A type as `char(2)`.
fn kind(of: &str) -> Value {
    ascii(format!("{of:<2}"))
}

impl Object {
    pub(super) fn row(&self, schemas: &BTreeMap<i32, String>) -> Vec<Value> {
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
            bit(self.id < 0),
            bit(false),
            bit(false),
        ]
    }

    /// An object of the engine itself, created with the database.
    pub(super) fn of_system(
        id: i32,
        (schema, name): (&str, &str),
        kind: &str,
        at: DateTime,
    ) -> Object {
        Object {
            id,
            schema: schema.to_owned(),
            name: name.to_owned(),
            parent: 0,
            kind: kind.to_owned(),
            created: at,
            modified: at,
        }
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

fn of_child(table: &Table, child: furrow_engine::TableChild) -> Object {
    Object {
        id: child.id.0,
        schema: table.schema().to_owned(),
        name: child.name,
        parent: table.id().0,
        kind: child.type_code,
        created: child.created,
        modified: child.modified,
    }
}

/// The objects of the view's database that the session sees.
pub(super) fn objects(view: &mut ViewContext<'_>) -> Result<Vec<Object>> {
    let db = Arc::clone(&view.database);
    let session = view.cx.sessions.of(&db)?;
    Ok(objects_of(&session.tables(), &session.modules()))
}

/// Tables with their constraints and defaults, and modules, as objects.
pub(crate) fn objects_of(
    tables: &[Arc<Table>],
    modules: &[Arc<furrow_engine::Module>],
) -> Vec<Object> {
    let mut all = Vec::new();
    for table in tables {
        all.push(of_table(table));
        let children = table.children().into_iter();
        all.extend(children.map(|child| of_child(table, child)));
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

/// The objects of a type, with additional columns for features that do not exist here.
fn of_type(
    view: &mut ViewContext<'_>,
    rows: Rows<'_>,
    (wanted, more): (&str, usize),
) -> Result<()> {
    let schemas = view.schemas()?;
    for object in objects(view)?.iter().filter(|o| o.kind == wanted) {
        let mut row = object.row(&schemas);
        row.extend(vec![bit(false); more]);
        rows(row);
    }
    Ok(())
}

fn tables(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for table in view.tables()? {
        let mut row = of_table(&table).row(&schemas);
        let last = table.columns().iter().map(|c| c.id).max();
        let escalation = table.lock_escalation();
        let (off, null) = (bit(false), Value::Null);
        row.extend([
            int(0),
            null.clone(),
            int(last.unwrap_or(0)),
            off.clone(),
            bit(true),
        ]);
        row.extend(vec![off.clone(); 5]);
        row.extend([int(0), off.clone(), off.clone(), tiny(escalation.number())]);
        row.push(text(escalation.name()));
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
            bit(module.set().ansi_nulls),
            bit(module.set().quoted_identifier),
            bit(false),
            bit(false),
            bit(false),
            bit(false),
            Value::Null,
            bit(false),
        ]);
    }
    Ok(())
}

/// Constraints and defaults of tables as objects, with their tables.
fn children(view: &mut ViewContext<'_>) -> Result<Vec<(Arc<Table>, Object, bool)>> {
    let mut all = Vec::new();
    for table in view.tables()? {
        for child in table.children() {
            let system_named = child.system_named;
            all.push((Arc::clone(&table), of_child(&table, child), system_named));
        }
    }
    Ok(all)
}

fn checks(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for (table, object, system_named) in children(view)? {
        let Some(check) = table.checks().iter().find(|c| c.id.0 == object.id) else {
            continue;
        };
        let mut row = object.row(&schemas);
        row.extend([
            bit(check.disabled),
            bit(false),
            bit(!check.trusted),
            int(check.column),
            text(check.text.clone()),
            bit(false),
            bit(system_named),
        ]);
        rows(row);
    }
    Ok(())
}

fn defaults(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for (table, object, system_named) in children(view)? {
        let columns = table.columns().iter();
        let of = |c: &&furrow_engine::Column| c.default_name.as_deref() == Some(&*object.name);
        let Some(column) = columns.into_iter().find(of).filter(|_| object.kind == "D") else {
            continue;
        };
        let mut row = object.row(&schemas);
        row.extend([
            int(column.id),
            maybe_text(column.default_text.clone()),
            bit(system_named),
        ]);
        rows(row);
    }
    Ok(())
}

fn keys(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for (table, object, system_named) in children(view)? {
        if !matches!(&*object.kind, "PK" | "UQ") {
            continue;
        }
        let index = table.index_named(&object.name);
        let mut row = object.row(&schemas);
        row.extend([
            index.map_or(Value::Null, |i: &Index| int(i.id())),
            bit(system_named),
            bit(true),
        ]);
        rows(row);
    }
    Ok(())
}

fn sysobjects(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for object in objects(view)? {
        let schema = schema_id(&schemas, &object.schema);
        // The compatibility type has one letter for both kinds of keys.
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
