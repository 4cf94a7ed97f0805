//! Parameters of procedures, and the server's options.

use super::{Rows, SystemView, ViewContext, columns};
use crate::configuration;
use crate::value::*;
use furrow_context::error::Result;
use furrow_context::parse::read_module;
use furrow_engine::ModuleKind;
use furrow_tsql::ast::Statement;
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;

const VARIANT: DataType = DataType::simple(TypeId::SqlVariant);
const OPTION_NAME: DataType = nvarchar(35);
const OPTION_TEXT: DataType = nvarchar(255);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "parameters",
        columns: columns! {
            "object_id" INT; "name" SYSNAME null; "parameter_id" INT; "system_type_id" TINYINT;
            "user_type_id" INT; "max_length" SMALLINT; "precision" TINYINT; "scale" TINYINT;
            "is_output" BIT; "is_cursor_ref" BIT; "has_default_value" BIT; "is_xml_document" BIT;
            "default_value" VARIANT null; "xml_collection_id" INT; "is_readonly" BIT; "is_nullable" BIT null;
        },
        parameters: None,
        text: "The parameters of procedures.",
        rows: parameters,
    },
    SystemView {
        schema: "sys",
        name: "configurations",
        columns: columns! {
            "configuration_id" INT; "name" OPTION_NAME; "value" VARIANT null; "minimum" VARIANT null;
            "maximum" VARIANT null; "value_in_use" VARIANT null; "description" OPTION_TEXT;
            "is_dynamic" BIT; "is_advanced" BIT;
        },
        parameters: None,
        text: "The server's options: the configured values and those in use.",
        rows: configurations,
    },
];

fn parameters(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    let modules = view.cx.sessions.of(&db)?.modules();
    for module in modules.iter().filter(|m| m.kind() == ModuleKind::Procedure) {
        let known = read_module(module, view.cx)?;
        let written = known.statements.iter().find_map(|s| match &s.kind {
            Statement::Procedure(written) => Some(&written.parameters),
            _ => None,
        });
        for (at, parameter) in written.into_iter().flatten().enumerate() {
            let of = furrow_bind::data_type(&parameter.data_type, false)?;
            rows(vec![
                int(module.id().0),
                text(&*parameter.name.value),
                int(at + 1),
                tiny(of.id as u8),
                int(of.id as u8),
                small(of.length),
                tiny(of.precision),
                tiny(of.scale),
                bit(parameter.output),
                bit(false),
                // SQL Server's catalog does not record defaults of T-SQL procedures either.
                bit(false),
                bit(false),
                Value::Null,
                int(0),
                bit(false),
                bit(true),
            ]);
        }
    }
    Ok(())
}

fn configurations(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let server = &view.cx.server;
    let variant = |n: i32| Value::Variant(Box::new((INT, Value::Int(n))));
    for option in configuration::all() {
        rows(vec![
            int(option.id),
            text(option.name),
            variant(option.config_value(server)),
            variant(option.minimum),
            variant(option.maximum),
            variant(option.run_value(server)),
            text(option.text),
            bit(option.dynamic),
            bit(option.advanced),
        ]);
    }
    Ok(())
}
