//! The type of a `sql_variant`: what its bytes declare, what a bare value brings, and its rank.

use super::{Collation, DataType, Family, TypeId, Value};

/// The type a variant's bytes declare, and the bytes of its value.
pub(super) fn split(bytes: &[u8]) -> Option<(DataType, &[u8])> {
    let (&[id, _version], rest) = bytes.split_first_chunk::<2>()?;
    let id = TypeId::from_u8(id)?;
    match id.family() {
        Family::Lob | Family::Variant => None,
        Family::Char | Family::NChar => {
            let (&[l0, l1, c0, c1, c2, c3], rest) = rest.split_first_chunk::<6>()?;
            let length = u16::from_le_bytes([l0, l1]).min(8000) as i16;
            let collation = Collation(u32::from_le_bytes([c0, c1, c2, c3]));
            Some((DataType::sized(id, length).with_collation(collation), rest))
        }
        Family::Binary if id.implied_len().is_none() => {
            let (&length, rest) = rest.split_first_chunk::<2>()?;
            let length = u16::from_le_bytes(length).min(8000) as i16;
            Some((DataType::sized(id, length), rest))
        }
        Family::Exact if id.implied_len().is_none() => {
            let (&[precision, scale], rest) = rest.split_first_chunk::<2>()?;
            Some((DataType::decimal(id, precision, scale).ok()?, rest))
        }
        Family::DateTime if id.implied_len().is_none() => {
            let (&scale, rest) = rest.split_first()?;
            Some((DataType::scaled(id, scale).ok()?, rest))
        }
        _ => Some((DataType::simple(id), rest)),
    }
}

/// The type that a bare value brings when it becomes a variant.
pub(super) fn natural_type(value: &Value) -> Option<DataType> {
    let id = value.type_id()?;
    let units = |length: usize| Some(u32::try_from(length.max(1)).unwrap_or(u32::MAX));
    match value {
        Value::VarChar(text) => DataType::string(id, units(text.chars().count())).ok(),
        Value::NVarChar(text) => DataType::string(id, units(text.encode_utf16().count())).ok(),
        Value::Binary(bytes) => DataType::string(id, units(bytes.len())).ok(),
        Value::Decimal(decimal) => DataType::decimal(id, 38, decimal.scale).ok(),
        Value::Time(time) => DataType::scaled(id, time.scale()).ok(),
        Value::DateTime2(moment) => DataType::scaled(id, moment.time.scale()).ok(),
        Value::DateTimeOffset(moment) => DataType::scaled(id, moment.utc.time.scale()).ok(),
        Value::Variant(_) => None,
        _ => Some(DataType::simple(id)),
    }
}

/// Order of the families in comparisons of variants: the highest comes last.
pub(super) const fn rank(id: TypeId) -> u8 {
    match id.family() {
        Family::Binary => 0,
        Family::Guid => 1,
        Family::Char | Family::NChar | Family::Lob => 2,
        Family::Integer | Family::Exact => 3,
        Family::Approximate => 4,
        Family::DateTime => 5,
        Family::Variant => 6,
    }
}
