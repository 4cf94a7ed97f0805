//! Principals: `sys.server_principals`, `sys.database_principals`.
//!
//! Every login is `sa`, and `dbo` in every database. Other principals cannot be created. The fixed roles are
//! those of IS_SRVROLEMEMBER and IS_MEMBER.

use super::{Rows, SystemView, ViewContext, columns};
use crate::value::*;
use furrow_context::error::Result;
use furrow_types::{DataType, Value};

const SID: DataType = varbinary(85);
const KIND: DataType = char(1);

pub(super) static VIEWS: &[SystemView] = &[
    SystemView {
        schema: "sys",
        name: "server_principals",
        columns: columns! {
            "name" SYSNAME; "principal_id" INT; "sid" SID null; "type" KIND; "type_desc" DESC null;
            "is_disabled" BIT null; "create_date" DATETIME; "modify_date" DATETIME;
            "default_database_name" SYSNAME null; "default_language_name" SYSNAME null;
            "credential_id" INT null; "owning_principal_id" INT null; "is_fixed_role" BIT;
        },
        parameters: None,
        text: "The login sa and the fixed roles of the server.",
        rows: of_server,
    },
    SystemView {
        schema: "sys",
        name: "database_principals",
        columns: columns! {
            "name" SYSNAME; "principal_id" INT; "type" KIND; "type_desc" DESC null;
            "default_schema_name" SYSNAME null; "create_date" DATETIME; "modify_date" DATETIME;
            "owning_principal_id" INT null; "sid" SID null; "is_fixed_role" BIT;
            "authentication_type" INT; "authentication_type_desc" DESC null;
            "default_language_name" SYSNAME null; "default_language_lcid" INT null;
            "allow_encrypted_value_modifications" BIT;
        },
        parameters: None,
        text: "The user dbo, the owners of the system's schemas, and the roles public and db_owner.",
        rows: of_database,
    },
];

/// The fixed server roles with their numbers, without `public`.
const SERVER_ROLES: &[(&str, i32)] = &[
    ("public", 2),
    ("sysadmin", 3),
    ("securityadmin", 4),
    ("serveradmin", 5),
    ("setupadmin", 6),
    ("processadmin", 7),
    ("diskadmin", 8),
    ("dbcreator", 9),
    ("bulkadmin", 10),
];

fn of_server(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let since = datetime(view.cx.server.started());
    rows(vec![
        text("sa"),
        int(1),
        Value::Binary(vec![1]),
        ascii("S"),
        text("SQL_LOGIN"),
        bit(false),
        since.clone(),
        since.clone(),
        text("master"),
        text("us_english"),
        Value::Null,
        Value::Null,
        bit(false),
    ]);
    for (name, id) in SERVER_ROLES {
        let mut row = vec![
            text(*name),
            int(*id),
            Value::Binary(vec![*id as u8]),
            ascii("R"),
            text("SERVER_ROLE"),
            bit(false),
            since.clone(),
            since.clone(),
        ];
        row.extend(vec![Value::Null; 3]);
        row.extend([int(1), bit(*id != 2)]);
        rows(row);
    }
    Ok(())
}

fn of_database(view: &mut ViewContext<'_>, rows: Rows<'_>) -> Result<()> {
    let created = view.database.created();
    let since = created.map_or_else(|| datetime(view.cx.server.started()), Value::DateTime);
    // Name, number, and the schema of that name; roles have none.
    let all = [
        ("public", 0, None, None),
        ("dbo", 1, Some("dbo"), Some(vec![1])),
        ("guest", 2, Some("guest"), Some(vec![0])),
        ("INFORMATION_SCHEMA", 3, Some(""), None),
        ("sys", 4, Some(""), None),
        ("db_owner", 16384, None, None),
    ];
    for (name, id, schema, sid) in all {
        let is_role = schema.is_none();
        let (kind, described) = match is_role {
            true => ("R", "DATABASE_ROLE"),
            false => ("S", "SQL_USER"),
        };
        let (how, described_how) = match name {
            "dbo" => (1, "INSTANCE"),
            _ => (0, "NONE"),
        };
        rows(vec![
            text(name),
            int(id),
            ascii(kind),
            text(described),
            maybe_text(schema.filter(|schema| !schema.is_empty())),
            since.clone(),
            since.clone(),
            if is_role { int(1) } else { Value::Null },
            sid.map_or(Value::Null, Value::Binary),
            bit(id == 16384),
            int(how),
            text(described_how),
            Value::Null,
            Value::Null,
            bit(false),
        ]);
    }
    Ok(())
}
