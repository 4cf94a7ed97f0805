//! Bytes: text, numbers, dates and GUIDs to bytes and back.
//!
//! Integers and money are written with the highest byte first and lose their high bytes where there is no
//! room; everything else keeps its first bytes. An exact number carries its precision, scale and sign.

use furrow_types::{
    DataType, Date, DateTime, Decimal, Guid, SmallDateTime, TypeId, Value, decode, encode,
};

use super::Conversion;
use crate::error::{SqlResult, cannot_convert, message, overflow};
use crate::room;

pub(super) fn to_bytes(to: &Conversion, value: &Value) -> SqlResult<Value> {
    let room = match to.to.id {
        TypeId::RowVersion => Some(8),
        _ if to.to.is_max() || to.to.id == TypeId::Image => None,
        _ => Some(usize::from(to.to.length.max(0).unsigned_abs())),
    };
    let pads = matches!(to.to.id, TypeId::Binary | TypeId::RowVersion);
    let (mut bytes, is_number) = match value {
        Value::Binary(bytes) => (bytes.clone(), false),
        Value::VarChar(text) | Value::NVarChar(text) => {
            let unicode = matches!(value, Value::NVarChar(_));
            (from_text(text, unicode, to)?, false)
        }
        Value::Guid(guid) => (guid.0.to_vec(), false),
        _ => number_bytes(value, to)?,
    };
    if let Some(room) = room {
        if is_number && bytes.len() > room {
            bytes.drain(..bytes.len() - room);
        }
        bytes.truncate(room);
        if pads && bytes.len() < room {
            let missing = room - bytes.len();
            if is_number {
                bytes.splice(..0, std::iter::repeat_n(0, missing));
            } else {
                bytes.resize(room, 0);
            }
        }
    }
    Ok(Value::Binary(bytes))
}

fn from_text(text: &str, unicode: bool, to: &Conversion) -> SqlResult<Vec<u8>> {
    let style = to.style.unwrap_or(0);
    let mut bytes = Vec::with_capacity(text.len());
    match style {
        0 => return room::encoded(text, unicode),
        1 | 2 => {
            let failed = || cannot_convert(to.from.id, to.to.id);
            let digits = match style {
                1 => text
                    .strip_prefix("0x")
                    .or_else(|| text.strip_prefix("0X"))
                    .ok_or_else(failed)?,
                _ => text,
            };
            let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
            if !rest.is_empty() {
                return Err(failed());
            }
            for pair in pairs.iter().map_while(room::polled()) {
                let [high, low] = pair.map(|digit| char::from(digit).to_digit(16));
                let (high, low) = (high.ok_or_else(failed)?, low.ok_or_else(failed)?);
                bytes.push((high << 4 | low) as u8);
            }
        }
        _ => {
            let args = [
                style.into(),
                to.from.id.name().into(),
                to.to.id.name().into(),
            ];
            return Err(message(9809, &args));
        }
    }
    Ok(bytes)
}

/// The bytes of a value that is neither text nor bytes, and whether the last ones count most.
fn number_bytes(value: &Value, to: &Conversion) -> SqlResult<(Vec<u8>, bool)> {
    Ok(match value {
        Value::Bit(bit) => (vec![u8::from(*bit)], true),
        Value::TinyInt(n) => (vec![*n], true),
        Value::SmallInt(n) => (n.to_be_bytes().to_vec(), true),
        Value::Int(n) => (n.to_be_bytes().to_vec(), true),
        Value::BigInt(n) => (n.to_be_bytes().to_vec(), true),
        Value::Money(n) => (n.to_be_bytes().to_vec(), true),
        Value::SmallMoney(n) => (n.to_be_bytes().to_vec(), true),
        Value::Float(x) => (x.to_be_bytes().to_vec(), true),
        Value::Real(x) => (x.to_be_bytes().to_vec(), true),
        Value::DateTime(at) => {
            let (days, ticks) = (at.days().to_be_bytes(), at.ticks().to_be_bytes());
            ([days, ticks].concat(), true)
        }
        Value::SmallDateTime(at) => {
            let (days, minutes) = (at.days().to_be_bytes(), at.minutes().to_be_bytes());
            ([days, minutes].concat(), true)
        }
        Value::Decimal(number) => (decimal_bytes(*number, &to.from), false),
        Value::Date(_) | Value::Time(_) | Value::DateTime2(_) | Value::DateTimeOffset(_) => {
            let failed = |_| cannot_convert(to.from.id, to.to.id);
            let mut bytes = encode(&to.from, value).map_err(failed)?;
            if !matches!(value, Value::Date(_)) {
                bytes.insert(0, to.from.scale);
            }
            (bytes, false)
        }
        _ => return Err(cannot_convert(to.from.id, to.to.id)),
    })
}

/// Precision, scale, a zero, the sign (1 = not negative), then the digits, lowest byte first, in fours.
fn decimal_bytes(number: Decimal, from: &DataType) -> Vec<u8> {
    let mut bytes = vec![
        from.precision,
        number.scale,
        0,
        u8::from(number.unscaled >= 0),
    ];
    let digits = number.unscaled.unsigned_abs();
    let words = (128 - digits.leading_zeros()).div_ceil(32).max(1) as usize;
    bytes.extend(digits.to_le_bytes().iter().take(4 * words));
    bytes
}

/// The value of a type that bytes are.
pub(super) fn from_bytes(bytes: &[u8], to: &Conversion) -> SqlResult<Value> {
    let failed = || cannot_convert(to.from.id, to.to.id);
    Ok(match to.to.id {
        TypeId::Bit => Value::Bit(bytes.iter().any(|&byte| byte != 0)),
        TypeId::TinyInt => Value::TinyInt(u8::from_be_bytes(last(bytes))),
        TypeId::SmallInt => Value::SmallInt(i16::from_be_bytes(last(bytes))),
        TypeId::Int => Value::Int(i32::from_be_bytes(last(bytes))),
        TypeId::BigInt => Value::BigInt(i64::from_be_bytes(last(bytes))),
        TypeId::Money => Value::Money(i64::from_be_bytes(last(bytes))),
        TypeId::SmallMoney => Value::SmallMoney(i32::from_be_bytes(last(bytes))),
        TypeId::DateTime => {
            let [a, b, c, d, e, f, g, h] = last::<8>(bytes);
            let (days, ticks) = (
                i32::from_be_bytes([a, b, c, d]),
                u32::from_be_bytes([e, f, g, h]),
            );
            Value::DateTime(DateTime::new(days, ticks).ok_or_else(|| overflow(to.to.id))?)
        }
        TypeId::SmallDateTime => {
            let [a, b, c, d] = last::<4>(bytes);
            let (days, minutes) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            let moment = SmallDateTime::new(days, minutes);
            Value::SmallDateTime(moment.ok_or_else(|| overflow(to.to.id))?)
        }
        TypeId::UniqueIdentifier => {
            let mut guid = [0; 16];
            for (place, byte) in guid.iter_mut().zip(bytes) {
                *place = *byte;
            }
            Value::Guid(Guid(guid))
        }
        TypeId::Decimal | TypeId::Numeric => from_decimal_bytes(bytes, &to.to)?,
        TypeId::Date => {
            let &[a, b, c] = bytes else {
                return Err(failed());
            };
            let date = Date::from_days(u32::from_le_bytes([a, b, c, 0]));
            Value::Date(date.ok_or_else(failed)?)
        }
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
            let (&scale, rest) = bytes.split_first().ok_or_else(failed)?;
            let from = DataType::scaled(to.to.id, scale).map_err(|_| failed())?;
            let value = decode(&from, rest).map_err(|_| failed())?;
            furrow_types::cast(&value, &to.to).map_err(|_| failed())?
        }
        _ => return Err(failed()),
    })
}

/// The last bytes, with zeros before them where there are too few.
fn last<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    for (place, byte) in out.iter_mut().rev().zip(bytes.iter().rev()) {
        *place = *byte;
    }
    out
}

fn from_decimal_bytes(bytes: &[u8], to: &DataType) -> SqlResult<Value> {
    let failed = || cannot_convert(TypeId::VarBinary, to.id);
    let (&[_, scale, _, sign], digits) = bytes.split_first_chunk::<4>().ok_or_else(failed)?;
    if scale > 38 || digits.len() > 16 {
        return Err(failed());
    }
    let magnitude = digits
        .iter()
        .rev()
        .fold(0u128, |sum, &byte| sum << 8 | u128::from(byte));
    let unscaled = i128::try_from(magnitude).map_err(|_| failed())?;
    let number = Decimal {
        unscaled: if sign == 0 { -unscaled } else { unscaled },
        scale,
    };
    let form = crate::types::DecimalForm::new(to.precision, to.scale);
    crate::exact::rescale(number, form)
        .map(Value::Decimal)
        .map_err(|_| overflow(to.id))
}
