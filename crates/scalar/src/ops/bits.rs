//! The bit operators: on integers and `bit`, and on bytes beside an integer.

use furrow_types::{DataType, Family, Value};

use super::arithmetic::{BinaryOp, BoundBinary, bound, incompatible_values, narrow, refused_bits};
use crate::convert::Conversion;
use crate::error::SqlResult;
use crate::operand::Operand;
use crate::types::higher;

pub(super) fn bind(
    op: BinaryOp,
    left: &Operand<'_>,
    right: &Operand<'_>,
) -> SqlResult<BoundBinary> {
    let (a, b) = (&left.data_type, &right.data_type);
    let id = higher(a.id, b.id);
    if id.family() != Family::Integer {
        return Err(refused_bits(op, a, b));
    }
    let to = DataType::simple(id);
    let convert = |from: &DataType| match from.id.family() {
        Family::Integer => Ok(None),
        Family::Binary | Family::Char | Family::NChar => Conversion::implicit(*from, to),
        _ => Err(refused_bits(op, a, b)),
    };
    Ok(bound(op, to, convert(a)?, convert(b)?, kernel))
}

fn kernel(bound: &BoundBinary, a: &Value, b: &Value) -> SqlResult<Value> {
    let (Some(a), Some(b)) = (a.as_i64(), b.as_i64()) else {
        return Err(incompatible_values(bound));
    };
    let result = match bound.op {
        BinaryOp::BitAnd => a & b,
        BinaryOp::BitOr => a | b,
        _ => a ^ b,
    };
    narrow(result, bound.result.id)
}

pub(super) fn not(operand: &Value) -> Value {
    match operand {
        Value::Bit(bit) => Value::Bit(!bit),
        Value::TinyInt(n) => Value::TinyInt(!n),
        Value::SmallInt(n) => Value::SmallInt(!n),
        Value::Int(n) => Value::Int(!n),
        Value::BigInt(n) => Value::BigInt(!n),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{data_type, operand};
    use furrow_types::TypeId;

    #[test]
    fn bit_operators_take_integers_and_bytes_beside_them() {
        for &id in TypeId::ALL {
            let same = bind(BinaryOp::BitAnd, &operand(id.name()), &operand(id.name()));
            assert_eq!(same.is_ok(), id.family() == Family::Integer, "{id}");
        }
        let mixed = bind(BinaryOp::BitOr, &operand("varbinary(2)"), &operand("int")).unwrap();
        assert_eq!(mixed.result, data_type("int"));
        let error = bind(BinaryOp::BitXor, &operand("float"), &operand("int")).unwrap_err();
        assert_eq!(
            error.text,
            "The data types float and int are incompatible in the '^' operator."
        );
    }
}
