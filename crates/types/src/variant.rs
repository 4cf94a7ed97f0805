//! `sql_variant`: a value that brings its type along.

use super::variant_type::split;
use super::{DataType, Family, TypeError, TypeId, Value};

const VERSION: u8 = 1;

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
