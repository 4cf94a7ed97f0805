//! `datetime` and `smalldatetime` as ticks of 1/300 s.

use furrow_types::{DATETIME_TICKS_PER_DAY, DateTime, SmallDateTime, TypeId, Value};

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
