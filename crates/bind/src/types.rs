//! Types as written.

use furrow_context::error::{Result, SqlError, refuse};
use furrow_messages::Message;
use furrow_scalar::convert::default_length;
use furrow_tsql::ast::name::{self, TypeArg};
use furrow_types::{DataType, TypeError, TypeId};

fn of_type_error(error: &TypeError) -> Message {
    Message::custom(error.number(), 15, 1, &error.to_string())
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or(u32::MAX)
}

/// Names that are synonyms of another type.
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

/// The highest precision of a type that has one.
fn most_precision(name: &str) -> u32 {
    match synonym(&name.to_lowercase()) {
        "float" => 53,
        _ => 38,
    }
}

/// What a type is written for: messages name it.
#[derive(Clone, Copy, Debug)]
pub enum Declared<'n> {
    /// A column.
    Column(&'n str),
    /// A variable, with its `@`.
    Variable(&'n str),
    /// A parameter, with its `@`.
    Parameter(&'n str),
}

/// The type that is written for a column, variable or parameter, the one of this number in its statement.
/// Where it can't be, SQL Server's messages differ from those of CAST.
pub fn declared_type(written: &name::DataType, of: Declared<'_>, place: usize) -> Result<DataType> {
    data_type(written, false).map_err(|e| declared_error(&e, written, of, place).unwrap_or(e))
}

fn declared_error(
    error: &SqlError,
    written: &name::DataType,
    of: Declared<'_>,
    place: usize,
) -> Option<Box<SqlError>> {
    let shown = written.name.name();
    let digits = |at: usize| match written.args.get(at) {
        Some(TypeArg::Number(digits)) => &**digits,
        _ => "0",
    };
    let (size, scale) = (digits(0), digits(1));
    let (name, is_column) = match of {
        Declared::Column(name) => (name, true),
        Declared::Variable(name) | Declared::Parameter(name) => (name, false),
    };
    let (number, level, state, text) = match error.number() {
        131 => {
            let (state, what) = match is_column {
                true => (2, format!("column '{name}'")),
                false => (3, format!("type '{shown}'")),
            };
            let text = format!(
                "The size ({size}) given to the {what} exceeds the maximum allowed for any data type \
                (8000)."
            );
            (131, 15, state, text)
        }
        243 => {
            let text =
                format!("Column, parameter, or variable #{place}: Cannot find data type {shown}.");
            let state = match of {
                Declared::Variable(_) | Declared::Parameter(_) => 3,
                Declared::Column(_) => 6,
            };
            (2715, 16, state, text)
        }
        2716 => {
            let text = format!(
                "Column, parameter, or variable #{place}: Cannot specify a column width on data type \
                {shown}."
            );
            (2716, 16, 1, text)
        }
        2717 => {
            let text = format!(
                "The size ({size}) given to the parameter '{name}' exceeds the maximum allowed (4000)."
            );
            (2717, 16, 2, text)
        }
        2750 => {
            let most = most_precision(shown);
            let text = format!(
                "Column or parameter #{place}: Specified column precision {size} is greater than the \
                maximum precision of {most}."
            );
            (2750, 16, 1, text)
        }
        192 if is_column => {
            let text = format!(
                "Column or parameter #{place}: Specified column scale {scale} is greater than the \
                specified precision of {size}."
            );
            (2751, 16, 1, text)
        }
        _ => return None,
    };
    Some(Message::custom(number, level, state, &text).into())
}

/// The type that is written. `length_of_cast`: a string type without a length is 30 long, as in CAST, not 1.
pub fn data_type(written: &name::DataType, length_of_cast: bool) -> Result<DataType> {
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
        (TypeId::Float, &[bits]) if bits > 53 => {
            let text = format!(
                "Specified column precision {bits} is greater than the maximum precision of 53."
            );
            Err(TypeError::BadType { number: 2750, text })
        }
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
