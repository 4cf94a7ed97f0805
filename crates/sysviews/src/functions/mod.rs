//! Functions that read the connection, the server or the catalog: `@@ROWCOUNT`, `DB_ID`, `OBJECT_ID`...

mod globals;
mod meta;
mod who;

use furrow_context::context::Context;
use furrow_context::cursors::{CursorScope, CursorStatus};
use furrow_context::error::Result;
use furrow_context::system::{MetadataCall, MetadataFunction};
use furrow_types::{DataType, TypeId, Value};
pub use meta::SERVER_NAME;
use std::borrow::Cow;

pub(super) const INT: DataType = DataType::simple(TypeId::Int);
pub(super) const SYSNAME: DataType = DataType::sized(TypeId::NVarChar, 256);
pub(super) const SMALLINT: DataType = DataType::simple(TypeId::SmallInt);
pub(super) const NUMERIC: DataType = DataType {
    precision: 38,
    length: 17,
    ..DataType::simple(TypeId::Numeric)
};

pub(super) type Values<'a, 'v> = &'a [Cow<'v, Value>];

pub(super) const fn row(
    name: &'static str,
    least: usize,
    most: usize,
    result: DataType,
    call: MetadataCall,
) -> MetadataFunction {
    MetadataFunction {
        name,
        least,
        most,
        result,
        call,
    }
}

static FUNCTIONS: &[MetadataFunction] = &[
    row("@@ROWCOUNT", 0, 0, INT, |cx, _| {
        Ok(Value::Int(i32::try_from(cx.last.rows).unwrap_or(i32::MAX)))
    }),
    row(
        "ROWCOUNT_BIG",
        0,
        0,
        DataType::simple(TypeId::BigInt),
        |cx, _| {
            Ok(Value::BigInt(
                i64::try_from(cx.last.rows).unwrap_or(i64::MAX),
            ))
        },
    ),
    row("@@FETCH_STATUS", 0, 0, INT, |cx, _| {
        Ok(Value::Int(cx.cursors.fetch_status))
    }),
    row("@@CURSOR_ROWS", 0, 0, INT, |cx, _| {
        Ok(Value::Int(
            i32::try_from(cx.cursors.rows).unwrap_or(i32::MAX),
        ))
    }),
    row("CURSOR_STATUS", 2, 2, SMALLINT, cursor_status),
    row("@@NESTLEVEL", 0, 0, INT, |cx, _| {
        Ok(Value::Int(cx.procedures.len() as i32))
    }),
    row("@@ERROR", 0, 0, INT, |cx, _| {
        Ok(Value::Int(cx.last.error as i32))
    }),
    row("@@TRANCOUNT", 0, 0, INT, |cx, _| {
        Ok(Value::Int(cx.sessions.count() as i32))
    }),
    row(
        "@@SPID",
        0,
        0,
        DataType::simple(TypeId::SmallInt),
        |cx, _| Ok(Value::SmallInt(cx.sessions.id() as i16)),
    ),
    row("@@IDENTITY", 0, 0, NUMERIC, |cx, _| {
        Ok(identity(cx.last.identity))
    }),
    row("SCOPE_IDENTITY", 0, 0, NUMERIC, |cx, _| {
        Ok(identity(cx.last.scope_identity))
    }),
    row("DB_NAME", 0, 1, SYSNAME, db_name),
    row("DB_ID", 0, 1, DataType::simple(TypeId::SmallInt), db_id),
    row("ERROR_NUMBER", 0, 0, INT, |cx, _| {
        Ok(caught(cx, |c| Value::Int(c.message.number as i32)))
    }),
    row("ERROR_SEVERITY", 0, 0, INT, |cx, _| {
        Ok(caught(cx, |c| Value::Int(i32::from(c.message.level))))
    }),
    row("ERROR_STATE", 0, 0, INT, |cx, _| {
        Ok(caught(cx, |c| Value::Int(i32::from(c.message.state))))
    }),
    row("ERROR_LINE", 0, 0, INT, |cx, _| {
        Ok(caught(cx, |c| Value::Int(c.message.line as i32)))
    }),
    row("ERROR_PROCEDURE", 0, 0, SYSNAME, |cx, _| {
        Ok(caught(cx, |c| {
            c.procedure.clone().map_or(Value::Null, Value::NVarChar)
        }))
    }),
    row(
        "ERROR_MESSAGE",
        0,
        0,
        DataType::sized(TypeId::NVarChar, 8000),
        |cx, _| Ok(caught(cx, |c| Value::NVarChar(c.message.text.clone()))),
    ),
    row(
        "XACT_STATE",
        0,
        0,
        DataType::simple(TypeId::SmallInt),
        |cx, _| {
            Ok(Value::SmallInt(match cx.sessions.is_doomed() {
                true => -1,
                false => i16::from(cx.sessions.count() > 0),
            }))
        },
    ),
];

/// `CURSOR_STATUS('local' | 'global' | 'variable', name)`
fn cursor_status(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let text = |at: usize| {
        values
            .get(at)
            .and_then(|value| value.as_str())
            .unwrap_or("")
    };
    let depth = cx.procedures.len();
    let scope = match text(0).trim_end().to_ascii_lowercase().as_str() {
        "local" => CursorScope::Local(depth),
        "global" => CursorScope::Global,
        "variable" => CursorScope::Variable(depth),
        _ => return Ok(Value::SmallInt(-3)),
    };
    Ok(Value::SmallInt(
        match cx.cursors.status(text(1).trim_end(), scope) {
            CursorStatus::Open => 1,
            CursorStatus::Empty => 0,
            CursorStatus::Closed => -1,
            CursorStatus::Unallocated => -2,
            CursorStatus::Absent => -3,
        },
    ))
}

fn identity(value: Option<i64>) -> Value {
    value.map_or(Value::Null, |n| {
        Value::Decimal(furrow_types::Decimal {
            unscaled: i128::from(n),
            scale: 0,
        })
    })
}

fn caught(cx: &Context, of: impl Fn(&furrow_context::context::Caught) -> Value) -> Value {
    cx.caught.last().map_or(Value::Null, of)
}

fn db_name(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let Some(id) = values.first() else {
        return Ok(Value::NVarChar(cx.sessions.database().name().to_owned()));
    };
    let id = id.as_i64();
    let databases = cx.server.instance().databases();
    let found = databases
        .into_iter()
        .find(|d| Some(i64::from(d.id.0)) == id);
    Ok(found.map_or(Value::Null, |d| Value::NVarChar(d.name)))
}

fn db_id(cx: &mut Context, values: Values<'_, '_>) -> Result<Value> {
    let Some(name) = values.first() else {
        return Ok(Value::SmallInt(cx.sessions.database().id().0 as i16));
    };
    let Some(name) = name.as_str() else {
        return Ok(Value::Null);
    };
    let databases = cx.server.instance().databases();
    let found = databases
        .into_iter()
        .find(|d| d.name.eq_ignore_ascii_case(name));
    Ok(found.map_or(Value::Null, |d| Value::SmallInt(d.id.0 as i16)))
}

/// All functions.
pub(crate) fn all() -> impl Iterator<Item = &'static MetadataFunction> {
    let others = meta::FUNCTIONS.iter().chain(who::FUNCTIONS);
    let others = others.chain(globals::FUNCTIONS);
    FUNCTIONS.iter().chain(others)
}

/// The function with this name; case does not matter.
pub(crate) fn find(name: &str) -> Option<&'static MetadataFunction> {
    all().find(|f| f.name.eq_ignore_ascii_case(name))
}
