//! `+` and `-` on `datetime` and `smalldatetime`: numbers are days.

use furrow_types::{DataType, Family, TypeId, Value};

use super::arithmetic::{BinaryOp, BoundBinary, Kernel, incompatible_values};
use crate::error::{SqlResult, date_overflow};
use crate::ticks::{from_ticks, ticks};

/// Whether the operator takes the two types: the old moments with each other, with numbers and with text.
pub(super) fn takes(op: BinaryOp, a: &DataType, b: &DataType) -> bool {
    let good = |data_type: &DataType| match data_type.id {
        TypeId::DateTime | TypeId::SmallDateTime => true,
        id => matches!(
            id.family(),
            Family::Integer | Family::Exact | Family::Approximate | Family::Char | Family::NChar
        ),
    };
    matches!(op, BinaryOp::Add | BinaryOp::Subtract) && good(a) && good(b)
}

pub(super) fn kernel(op: BinaryOp) -> Kernel {
    match op {
        BinaryOp::Add => |bound, a, b| apply(bound, a, b, 1),
        _ => |bound, a, b| apply(bound, a, b, -1),
    }
}

fn apply(bound: &BoundBinary, a: &Value, b: &Value, sign: i64) -> SqlResult<Value> {
    let (Some(a), Some(b)) = (ticks(a), ticks(b)) else {
        return Err(incompatible_values(bound));
    };
    let id = bound.result.id;
    from_ticks(a + sign * b, id).ok_or_else(|| date_overflow(id))
}
