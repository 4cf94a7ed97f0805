//! Helpers of this crate's tests: types by their T-SQL names.

use furrow_types::{DataType, TypeId};

use crate::operand::Operand;

/// `varchar(10)`, `numeric(5,2)`, `datetime2(3)`, `int`.
pub(crate) fn data_type(text: &str) -> DataType {
    let (name, rest) = text.split_once('(').unwrap_or((text, ""));
    let id = TypeId::ALL
        .iter()
        .copied()
        .find(|id| id.name() == name)
        .unwrap_or_else(|| panic!("no type {name}"));
    let numbers: Vec<&str> = rest.trim_end_matches(')').split(',').collect();
    match (id, numbers.as_slice()) {
        (_, [""]) => DataType::simple(id),
        (TypeId::Decimal | TypeId::Numeric, [p, s]) => {
            DataType::decimal(id, p.parse().unwrap(), s.parse().unwrap()).unwrap()
        }
        (TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset, [scale]) => {
            DataType::scaled(id, scale.parse().unwrap()).unwrap()
        }
        (_, ["max"]) => DataType::string(id, None).unwrap(),
        (_, [units]) => DataType::string(id, Some(units.parse().unwrap())).unwrap(),
        _ => panic!("no type {text}"),
    }
}

/// An expression of a type.
pub(crate) fn operand(text: &str) -> Operand<'static> {
    Operand::of(data_type(text))
}
