//! `INFORMATION_SCHEMA.ROUTINES`.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_engine::ModuleKind;
use furrow_types::{DataType, Value};
use std::sync::Arc;

const KIND: DataType = nvarchar(20);
const WORD: DataType = nvarchar(30);
const YES_NO: DataType = nvarchar(10);
const BODY: DataType = nvarchar(4000);

/// Most characters of a module that are returned.
const MOST: usize = 4000;

pub(super) static VIEWS: &[SystemView] = &[SystemView {
    schema: "INFORMATION_SCHEMA",
    name: "ROUTINES",
    columns: columns! {
        "SPECIFIC_CATALOG" SYSNAME null; "SPECIFIC_SCHEMA" SYSNAME null; "SPECIFIC_NAME" SYSNAME;
        "ROUTINE_CATALOG" SYSNAME null; "ROUTINE_SCHEMA" SYSNAME null; "ROUTINE_NAME" SYSNAME;
        "ROUTINE_TYPE" KIND null; "MODULE_CATALOG" SYSNAME null; "MODULE_SCHEMA" SYSNAME null;
        "MODULE_NAME" SYSNAME null; "UDT_CATALOG" SYSNAME null; "UDT_SCHEMA" SYSNAME null;
        "UDT_NAME" SYSNAME null; "DATA_TYPE" SYSNAME null; "CHARACTER_MAXIMUM_LENGTH" INT null;
        "CHARACTER_OCTET_LENGTH" INT null; "COLLATION_CATALOG" SYSNAME null;
        "COLLATION_SCHEMA" SYSNAME null; "COLLATION_NAME" SYSNAME null;
        "CHARACTER_SET_CATALOG" SYSNAME null; "CHARACTER_SET_SCHEMA" SYSNAME null;
        "CHARACTER_SET_NAME" SYSNAME null; "NUMERIC_PRECISION" SMALLINT null;
        "NUMERIC_PRECISION_RADIX" SMALLINT null; "NUMERIC_SCALE" SMALLINT null;
        "DATETIME_PRECISION" SMALLINT null; "INTERVAL_TYPE" WORD null; "INTERVAL_PRECISION" SMALLINT null;
        "TYPE_UDT_CATALOG" SYSNAME null; "TYPE_UDT_SCHEMA" SYSNAME null; "TYPE_UDT_NAME" SYSNAME null;
        "SCOPE_CATALOG" SYSNAME null; "SCOPE_SCHEMA" SYSNAME null; "SCOPE_NAME" SYSNAME null;
        "MAXIMUM_CARDINALITY" BIGINT null; "DTD_IDENTIFIER" SYSNAME null; "ROUTINE_BODY" WORD null;
        "ROUTINE_DEFINITION" BODY null; "EXTERNAL_NAME" SYSNAME null; "EXTERNAL_LANGUAGE" WORD null;
        "PARAMETER_STYLE" WORD null; "IS_DETERMINISTIC" YES_NO null; "SQL_DATA_ACCESS" WORD null;
        "IS_NULL_CALL" YES_NO null; "SQL_PATH" SYSNAME null; "SCHEMA_LEVEL_ROUTINE" YES_NO null;
        "MAX_DYNAMIC_RESULT_SETS" SMALLINT null; "IS_USER_DEFINED_CAST" YES_NO null;
        "IS_IMPLICITLY_INVOCABLE" YES_NO null; "CREATED" DATETIME; "LAST_ALTERED" DATETIME;
    },
    parameters: None,
    text: "The procedures of the database, with the first 4,000 characters of their texts.",
    rows: routines,
}];

fn routines(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let db = Arc::clone(&view.database);
    let modules = view.cx.sessions.of(&db)?.modules();
    let null = |count: usize| vec![Value::Null; count];
    for module in modules.iter().filter(|m| m.kind() == ModuleKind::Procedure) {
        let name = [text(db.name()), text(module.schema()), text(module.name())];
        let body: String = module.text().chars().take(MOST).collect();
        let mut row = [name.clone(), name].concat();
        row.push(text("PROCEDURE"));
        row.extend(null(29));
        row.extend([text("SQL"), text(body)]);
        row.extend(null(3));
        row.extend([text("NO"), text("MODIFIES")]);
        row.extend(null(2));
        row.push(text("YES"));
        row.extend([small(-1), text("NO"), text("NO")]);
        row.push(Value::DateTime(module.created()));
        row.push(Value::DateTime(module.modified()));
        rows(row);
    }
    Ok(())
}
