//! Foreign keys.

use super::{Rows, SystemView, ViewContext, columns, schema_id};
use crate::value::*;
use furrow_context::error::Result;
use furrow_types::{DataType, Value};

const KIND: DataType = char(2);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "foreign_keys",
        columns: columns! {
            "name" SYSNAME; "object_id" INT; "principal_id" INT null; "schema_id" INT; "parent_object_id" INT;
            "type" KIND null; "type_desc" DESC null; "create_date" DATETIME; "modify_date" DATETIME;
            "is_ms_shipped" BIT; "is_published" BIT; "is_schema_published" BIT;
            "referenced_object_id" INT null; "key_index_id" INT null; "is_disabled" BIT;
            "is_not_for_replication" BIT; "is_not_trusted" BIT; "delete_referential_action" TINYINT null;
            "delete_referential_action_desc" DESC null; "update_referential_action" TINYINT null;
            "update_referential_action_desc" DESC null; "is_system_named" BIT;
        },
        parameters: None,
        text: "The foreign keys of tables.",
        rows: foreign_keys,
    },
    SystemView {
        schema: "sys",
        name: "foreign_key_columns",
        columns: columns! {
            "constraint_object_id" INT; "constraint_column_id" INT; "parent_object_id" INT;
            "parent_column_id" INT; "referenced_object_id" INT; "referenced_column_id" INT;
        },
        parameters: None,
        text: "The columns of foreign keys, on either side.",
        rows: foreign_key_columns,
    },
];

fn foreign_keys(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let schemas = view.schemas()?;
    for table in view.tables()? {
        let children = table.children();
        for key in table.foreign_keys() {
            let object = children.iter().find(|c| c.id == key.id);
            let moment = |of: fn(&furrow_engine::TableChild) -> furrow_types::DateTime| {
                object.map_or(Value::Null, |c| Value::DateTime(of(c)))
            };
            rows(vec![
                text(key.name.clone()),
                int(key.id.0),
                Value::Null,
                int(schema_id(&schemas, table.schema())),
                int(table.id().0),
                ascii("F "),
                text("FOREIGN_KEY_CONSTRAINT"),
                moment(|c| c.created),
                moment(|c| c.modified),
                bit(false),
                bit(false),
                bit(false),
                int(key.referenced.0),
                int(key.key_index),
                bit(key.disabled),
                bit(false),
                bit(!key.trusted),
                tiny(key.on_delete.number()),
                text(key.on_delete.name()),
                tiny(key.on_update.number()),
                text(key.on_update.name()),
                bit(key.system_named),
            ]);
        }
    }
    Ok(())
}

fn foreign_key_columns(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    for table in view.tables()? {
        for key in table.foreign_keys() {
            for (place, (own, other)) in (1_i32..).zip(&key.columns) {
                rows(vec![
                    int(key.id.0),
                    int(place),
                    int(table.id().0),
                    int(*own),
                    int(key.referenced.0),
                    int(*other),
                ]);
            }
        }
    }
    Ok(())
}
