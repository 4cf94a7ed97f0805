//! `+` and `-` on `datetime` and `smalldatetime`: numbers are days.

use furrow_types::{
    DATETIME_TICKS_PER_DAY, DataType, DateTime, Family, SmallDateTime, TypeId, Value,
};

use super::arithmetic::{BinaryOp, BoundBinary, Kernel, incompatible_values};
use crate::error::{SqlResult, date_overflow};

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

const DAY: i64 = DATETIME_TICKS_PER_DAY as i64;
const MINUTE: i64 = 18_000;

/// Ticks of 1/300 s since 1900-01-01.
pub(crate) fn ticks(value: &Value) -> Option<i64> {
    match value {
        Value::DateTime(at) => Some(i64::from(at.days()) * DAY + i64::from(at.ticks())),
        Value::SmallDateTime(at) => {
            Some(i64::from(at.days()) * DAY + i64::from(at.minutes()) * MINUTE)
        }
        _ => None,
    }
}

/// The moment of so many ticks; `None` outside of the type.
pub(crate) fn from_ticks(ticks: i64, id: TypeId) -> Option<Value> {
    let days = i32::try_from(ticks.div_euclid(DAY)).ok()?;
    let rest = u32::try_from(ticks.rem_euclid(DAY)).ok()?;
    let moment = DateTime::new(days, rest)?;
    Some(match id {
        TypeId::SmallDateTime => {
            Value::SmallDateTime(SmallDateTime::from_datetime2(moment.to_datetime2())?)
        }
        _ => Value::DateTime(moment),
    })
}
