//! Precedence: where two types meet, the lower one is converted to the higher.

use furrow_types::TypeId;

/// The types from the highest precedence to the lowest.
const ORDER: [TypeId; 31] = [
    TypeId::Udt,
    TypeId::SqlVariant,
    TypeId::Xml,
    TypeId::DateTimeOffset,
    TypeId::DateTime2,
    TypeId::DateTime,
    TypeId::SmallDateTime,
    TypeId::Date,
    TypeId::Time,
    TypeId::Float,
    TypeId::Real,
    TypeId::Numeric,
    TypeId::Decimal,
    TypeId::Money,
    TypeId::SmallMoney,
    TypeId::BigInt,
    TypeId::Int,
    TypeId::SmallInt,
    TypeId::TinyInt,
    TypeId::Bit,
    TypeId::NText,
    TypeId::Text,
    TypeId::Image,
    TypeId::RowVersion,
    TypeId::UniqueIdentifier,
    TypeId::NVarChar,
    TypeId::NChar,
    TypeId::VarChar,
    TypeId::Char,
    TypeId::VarBinary,
    TypeId::Binary,
];

/// Rank of a type, 0 the highest.
pub fn precedence(id: TypeId) -> usize {
    ORDER.iter().position(|&at| at == id).unwrap_or(ORDER.len())
}

/// The type that wins where two meet.
pub fn higher(a: TypeId, b: TypeId) -> TypeId {
    if precedence(a) <= precedence(b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_place_and_only_one() {
        for &id in TypeId::ALL {
            assert_eq!(ORDER.iter().filter(|&&at| at == id).count(), 1, "{id}");
        }
        assert_eq!(ORDER.len(), TypeId::ALL.len());
        assert_eq!(higher(TypeId::VarChar, TypeId::Int), TypeId::Int);
        assert_eq!(higher(TypeId::DateTime, TypeId::Float), TypeId::DateTime);
        assert_eq!(higher(TypeId::VarChar, TypeId::NChar), TypeId::NChar);
    }
}
