//! `sql_variant`: a value that brings its type along.

use super::{Collation, DataType, Family, TypeError, TypeId, Value};

const VERSION: u8 = 1;

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

/// Value of a variant's bytes.
pub(super) fn decode(bytes: &[u8]) -> Option<Value> {
    let (data_type, rest) = split(bytes)?;
    let fixed = matches!(
        data_type.id,
        TypeId::Char | TypeId::NChar | TypeId::Binary | TypeId::RowVersion
    );
    if fixed && rest.len() != usize::from(data_type.length.unsigned_abs()) {
        return None;
    }
    let value = super::decode(&data_type, rest).ok()?;
    Some(Value::Variant(Box::new((data_type, value))))
}

/// Appends a variant: id, version, what the type declares, the value.
pub(super) fn encode(
    data_type: &DataType,
    value: &Value,
    out: &mut Vec<u8>,
) -> Result<(), TypeError> {
    let clash = TypeError::Clash {
        from: data_type.id.name(),
        to: TypeId::SqlVariant.name(),
    };
    out.extend([data_type.id as u8, VERSION]);
    match data_type.id.family() {
        Family::Lob | Family::Variant => return Err(clash),
        _ if data_type.is_max() => return Err(clash),
        Family::Char | Family::NChar => {
            out.extend(data_type.length.to_le_bytes());
            out.extend(data_type.collation.0.to_le_bytes());
        }
        Family::Binary if data_type.id.implied_len().is_none() => {
            out.extend(data_type.length.to_le_bytes());
        }
        Family::Exact if data_type.id.implied_len().is_none() => {
            out.extend([data_type.precision, data_type.scale]);
        }
        Family::DateTime if data_type.id.implied_len().is_none() => out.push(data_type.scale),
        _ => {}
    }
    super::encode_into(data_type, value, out)
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
