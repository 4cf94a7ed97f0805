//! Types as written.

use crate::error::{Result, refuse};
use furrow_format::types::{DataType, TypeError, TypeId};
use furrow_observe::messages::Message;
use furrow_scalar::convert::default_length;
use furrow_tsql::ast::name::{self, TypeArg};

fn of_type_error(error: &TypeError) -> Message {
    Message::custom(error.number(), 15, 1, &error.to_string())
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or(u32::MAX)
}

/// Names that stand for another type.
fn synonym(name: &str) -> &str {
    match name {
        "integer" => "int",
        "dec" => "decimal",
        "rowversion" => "timestamp",
        "character" => "char",
        "double precision" => "float",
        "sysname" => "nvarchar",
        other => other,
    }
}

/// The type that is written. `length_of_cast`: a string type without a length is 30 long, as in CAST, not 1.
pub(crate) fn data_type(written: &name::DataType, length_of_cast: bool) -> Result<DataType> {
    let shown = written.name.name();
    let lower = shown.to_lowercase();
    let unknown = || refuse(243, &[shown.into()]);
    if written
        .name
        .schema()
        .is_some_and(|s| !s.value.eq_ignore_ascii_case("sys"))
    {
        return unknown();
    }
    let Some(id) = TypeId::from_name(synonym(&lower)) else {
        return unknown();
    };
    if lower == "sysname" {
        return Ok(DataType::sized(TypeId::NVarChar, 256));
    }
    let mut numbers = Vec::new();
    let mut is_max = false;
    for arg in &written.args {
        match arg {
            TypeArg::Number(digits) => numbers.push(number(digits)),
            TypeArg::Max => is_max = true,
            TypeArg::Name(_) => return unknown(),
        }
    }
    let byte = |n: u32| u8::try_from(n).unwrap_or(u8::MAX);
    let typed = match (id, numbers.as_slice()) {
        (TypeId::Decimal | TypeId::Numeric, []) => Ok(DataType::simple(id)),
        (TypeId::Decimal | TypeId::Numeric, [precision]) => {
            DataType::decimal(id, byte(*precision), 0)
        }
        (TypeId::Decimal | TypeId::Numeric, [precision, scale]) => {
            DataType::decimal(id, byte(*precision), byte(*scale))
        }
        (TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset, [scale]) => {
            DataType::scaled(id, byte(*scale))
        }
        (TypeId::Float, [bits @ 1..=24]) => {
            let _ = bits;
            Ok(DataType::simple(TypeId::Real))
        }
        (TypeId::Float, [25..=53]) => Ok(DataType::simple(TypeId::Float)),
        (
            TypeId::Char
            | TypeId::VarChar
            | TypeId::NChar
            | TypeId::NVarChar
            | TypeId::Binary
            | TypeId::VarBinary,
            lengths,
        ) => match (lengths, is_max) {
            (_, true) => DataType::string(id, None),
            ([length], _) => DataType::string(id, Some(*length)),
            _ if length_of_cast => Ok(default_length(id)),
            _ => Ok(DataType::simple(id)),
        },
        (_, []) if !is_max => Ok(DataType::simple(id)),
        _ => {
            return refuse(2716, &[1.into(), shown.into()]);
        }
    };
    typed.map_err(|e| of_type_error(&e).into())
}
