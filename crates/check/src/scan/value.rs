//! Values: are the bytes a value of their type?

use crate::plan::ColumnPlan;
use furrow_types::{DataType, Family, TypeId, decode};

/// Whether the bytes of a column in a row are lawful: in range, of a length that its type has.
#[inline]
pub(super) fn is_lawful(column: &ColumnPlan, bytes: &[u8]) -> bool {
    let data_type = &column.stored.data_type;
    match data_type.id.family() {
        Family::Integer | Family::Guid => true,
        Family::NChar => bytes.len() <= column.most && bytes.len().is_multiple_of(2),
        Family::Char | Family::Binary | Family::Lob => bytes.len() <= column.most,
        Family::Exact => match data_type.id {
            TypeId::Decimal | TypeId::Numeric => is_decimal(data_type, bytes),
            _ => true,
        },
        Family::Approximate => is_finite(bytes),
        Family::DateTime => decode(data_type, bytes).is_ok(),
        // The catalog stores the empty variant as no bytes.
        Family::Variant => bytes.is_empty() || decode(data_type, bytes).is_ok(),
    }
}

fn is_finite(bytes: &[u8]) -> bool {
    match bytes.len() {
        4 => bytes
            .first_chunk()
            .is_some_and(|b| f32::from_le_bytes(*b).is_finite()),
        8 => bytes
            .first_chunk()
            .is_some_and(|b| f64::from_le_bytes(*b).is_finite()),
        _ => false,
    }
}

/// A sign, and no more digits than the precision allows.
fn is_decimal(data_type: &DataType, bytes: &[u8]) -> bool {
    let Some((&sign, digits)) = bytes.split_first() else {
        return false;
    };
    if sign > 1 || digits.len() > 16 {
        return false;
    }
    let magnitude = digits
        .iter()
        .rev()
        .fold(0, |n: u128, &byte| n << 8 | u128::from(byte));
    magnitude < 10_u128.pow(u32::from(data_type.precision.min(38)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beyond_their_precision_and_things_that_are_no_numbers_are_not_lawful() {
        let two = DataType::decimal(TypeId::Decimal, 2, 0).unwrap();
        assert!(is_decimal(&two, &[1, 99, 0, 0, 0]));
        assert!(!is_decimal(&two, &[1, 100, 0, 0, 0]));
        assert!(!is_decimal(&two, &[2, 1, 0, 0, 0]));
        let all = DataType::decimal(TypeId::Decimal, 38, 10).unwrap();
        assert!(!is_decimal(&all, &[0xFF; 17]));
        assert!(is_finite(&1.5_f64.to_le_bytes()) && is_finite(&(-0.0_f32).to_le_bytes()));
        assert!(!is_finite(&f64::NAN.to_le_bytes()) && !is_finite(&f32::INFINITY.to_le_bytes()));
    }
}
