//! Functions on logins, principals, connections and filegroups: `USER_ID`, `CONNECTIONPROPERTY`.

use super::{INT, Values, row};
use crate::value;
use furrow_context::context::Context;
use furrow_context::error::Result;
use furrow_context::system::MetadataFunction;
use furrow_types::{DataType, Value};

const VARIANT_TEXT: DataType = value::nvarchar(256);
const SID: DataType = value::varbinary(85);

pub(super) static FUNCTIONS: &[MetadataFunction] = &[
    row("SUSER_ID", 0, 1, INT, |_, v| {
        Ok(of_login(v).map_or(Value::Null, |()| value::int(1)))
    }),
    row("SUSER_SID", 0, 2, SID, |_, v| {
        Ok(of_login(v).map_or(Value::Null, |()| Value::Binary(vec![1])))
    }),
    row("USER_ID", 0, 1, INT, |_, v| Ok(principal(v, USERS))),
    row("DATABASE_PRINCIPAL_ID", 0, 1, INT, |_, v| {
        Ok(principal(v, PRINCIPALS))
    }),
    row("CONNECTIONPROPERTY", 1, 1, VARIANT_TEXT, |_, v| {
        Ok(connection(v))
    }),
    row("FILEGROUPPROPERTY", 2, 2, INT, filegroup),
    // There are no histograms, so there is no date of one.
    row("STATS_DATE", 2, 2, value::DATETIME, |_, _| Ok(Value::Null)),
];

/// Principals of a database with their numbers, as in `sys.database_principals`.
const PRINCIPALS: &[(&str, i32)] = &[
    ("public", 0),
    ("dbo", 1),
    ("guest", 2),
    ("INFORMATION_SCHEMA", 3),
    ("sys", 4),
    ("db_owner", 16384),
];
/// The principals that USER_ID finds.
const USERS: &[(&str, i32)] = &[
    ("dbo", 1),
    ("guest", 2),
    ("INFORMATION_SCHEMA", 3),
    ("sys", 4),
];

fn text<'a>(values: Values<'a, '_>, at: usize) -> Option<&'a str> {
    values.get(at).and_then(|v| v.as_str())
}

/// `Some` if the argument names `sa`, the only login, or is missing.
fn of_login(values: Values<'_, '_>) -> Option<()> {
    let own = values.is_empty() || text(values, 0)?.eq_ignore_ascii_case("sa");
    own.then_some(())
}

/// The number of the principal with the argument's name; that of `dbo` without an argument.
fn principal(values: Values<'_, '_>, known: &[(&str, i32)]) -> Value {
    if values.is_empty() {
        return value::int(1);
    }
    let name = text(values, 0).unwrap_or_default();
    let found = known.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.map_or(Value::Null, |(_, id)| value::int(*id))
}

/// Values of `sys.dm_exec_connections` for this connection: all connections are within the process.
fn connection(values: Values<'_, '_>) -> Value {
    match &*text(values, 0).unwrap_or_default().to_lowercase() {
        "net_transport" | "physical_net_transport" => value::text("Shared memory"),
        "protocol_type" => value::text("TSQL"),
        "auth_scheme" => value::text("SQL"),
        "client_net_address" => value::text("<local machine>"),
        _ => Value::Null,
    }
}

fn filegroup(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let (Some(name), Some(property)) = (text(values, 0), text(values, 1)) else {
        return Ok(Value::Null);
    };
    let groups = cx.sessions.database().filegroups();
    let found = groups
        .into_iter()
        .find(|g| g.name.eq_ignore_ascii_case(name));
    let Some(group) = found else {
        return Ok(Value::Null);
    };
    let flag = |on: bool| value::int(i32::from(on));
    Ok(match &*property.to_lowercase() {
        "isreadonly" => flag(group.read_only),
        "isuserdefinedfg" => flag(group.id != 1),
        "isdefault" => flag(group.is_default),
        _ => Value::Null,
    })
}
