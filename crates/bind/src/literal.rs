//! Constants as written.

use super::Bound;
use furrow_context::error::{Result, refuse};
use furrow_exec::Expr;
use furrow_messages::Message;
use furrow_scalar::types::string_type;
use furrow_tsql::ast::expr::Literal;
use furrow_types::{DataType, Decimal, TypeId, Value, decode_1252, encode_1252};

fn constant(value: Value, data_type: DataType) -> Bound {
    Bound::constant(value, data_type)
}

/// A text constant. One of `varchar` has the characters of its code page: others are replaced as in
/// a conversion.
fn text(text: &str, id: TypeId) -> Bound {
    let mut text = text.to_owned();
    if id == TypeId::VarChar && !text.is_ascii() {
        let mut bytes = Vec::with_capacity(text.len());
        encode_1252(&text, &mut bytes);
        text = decode_1252(&bytes);
    }
    let units = text.encode_utf16().count() as u32;
    let most = if id == TypeId::VarChar { 8000 } else { 4000 };
    let data_type = string_type(id, units.max(1), units > most);
    let value = match id {
        TypeId::VarChar => Value::VarChar(text),
        _ => Value::NVarChar(text),
    };
    constant(value, data_type)
}

fn exact(digits: &str) -> Result<Bound> {
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let whole = whole.trim_start_matches('0');
    let precision = (whole.len() + part.len()).max(1);
    let all = format!("{whole}{part}");
    let unscaled = match all.is_empty() {
        true => Some(0),
        false => all.parse::<i128>().ok(),
    };
    match unscaled {
        Some(unscaled) if precision <= 38 => {
            let scale = part.len() as u8;
            let data_type = DataType::decimal(TypeId::Numeric, precision as u8, scale);
            let data_type = data_type.unwrap_or(DataType::simple(TypeId::Numeric));
            Ok(constant(
                Value::Decimal(Decimal { unscaled, scale }),
                data_type,
            ))
        }
        _ => {
            let text = format!(
                "The number '{digits}' is out of the range for numeric representation (maximum precision 38)."
            );
            Err(Message::custom(1007, 15, 1, &text).into())
        }
    }
}

fn bytes(digits: &str) -> Vec<u8> {
    let digits = digits.get(2..).unwrap_or("");
    let padded = match digits.len() % 2 {
        0 => digits.to_owned(),
        _ => format!("0{digits}"),
    };
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or(0) as u8;
    padded
        .as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => digit(*high) << 4 | digit(*low),
            _ => 0,
        })
        .collect()
}

/// The value of a constant, and its type.
pub(super) fn literal(written: &Literal) -> Result<Bound> {
    Ok(match written {
        Literal::Null => Bound {
            is_null_literal: true,
            ..constant(Value::Null, DataType::simple(TypeId::Int))
        },
        Literal::Integer(digits) => match digits.parse::<i32>() {
            Ok(n) => constant(Value::Int(n), DataType::simple(TypeId::Int)),
            Err(_) => exact(digits)?,
        },
        Literal::Decimal(digits) => exact(digits)?,
        Literal::Float(digits) => match digits.parse::<f64>() {
            Ok(n) if n.is_finite() => constant(Value::Float(n), DataType::simple(TypeId::Float)),
            _ => {
                let text = format!(
                    "The floating point value '{digits}' is out of the range of computer representation (8 \
                     bytes)."
                );
                return Err(Message::custom(168, 15, 1, &text).into());
            }
        },
        Literal::Money(digits) => {
            let money = DataType::simple(TypeId::Money);
            let plain: String = digits
                .chars()
                .filter(|c| c.is_ascii_digit() || matches!(c, '.' | '-'))
                .collect();
            let plain = if plain.is_empty() { "0" } else { &plain };
            match furrow_types::parse_value(&money, plain) {
                Ok(value) => constant(value, money),
                Err(_) => return refuse(235, &[]),
            }
        }
        Literal::Binary(digits) => {
            let bytes = bytes(digits);
            let length = bytes.len().max(1) as u32;
            let data_type = string_type(TypeId::VarBinary, length, length > 8000);
            constant(Value::Binary(bytes), data_type)
        }
        Literal::String(string) => text(string, TypeId::VarChar),
        Literal::National(string) => text(string, TypeId::NVarChar),
    })
}

impl Bound {
    /// A constant of a type.
    pub fn constant(value: Value, data_type: DataType) -> Bound {
        Bound {
            nullable: value.is_null(),
            is_json: false,
            expr: Expr::Const(value),
            data_type,
            is_null_literal: false,
            coercibility: furrow_scalar::Coercibility::Default,
        }
    }
}
