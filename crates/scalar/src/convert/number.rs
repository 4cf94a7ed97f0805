//! Numbers as `datetime` and back: days since 1900-01-01, the time as a fraction of a day.

use furrow_types::{DATETIME_TICKS_PER_DAY, DataType, Decimal, TypeId, Value, cast};

use crate::error::{SqlResult, cannot_convert, of_type_error, overflow, overflow_from};
use crate::exact::to_f64;
use crate::ticks::{from_ticks, ticks};
use crate::types::exact;

const DAY: i128 = DATETIME_TICKS_PER_DAY as i128;

/// A number of days as a moment; 8115 outside of the calendar.
pub(super) fn to_moment(value: &Value, to: &DataType) -> SqlResult<Value> {
    let ticks = match (value, exact(value)) {
        (_, Some(days)) => {
            let unit = 10i128.pow(u32::from(days.scale.min(38)));
            let (whole, rest) = (
                days.unscaled.div_euclid(unit),
                days.unscaled.rem_euclid(unit),
            );
            let fraction = to_f64(Decimal {
                unscaled: rest,
                scale: days.scale,
            });
            whole
                .checked_mul(DAY)
                .map(|whole| whole + (fraction * DAY as f64).round() as i128)
        }
        (Value::Float(days), _) => Some((days * DAY as f64).round() as i128),
        (Value::Real(days), _) => Some((f64::from(*days) * DAY as f64).round() as i128),
        _ => None,
    };
    ticks
        .and_then(|ticks| i64::try_from(ticks).ok())
        .and_then(|ticks| from_ticks(ticks, to.id))
        .ok_or_else(|| overflow(to.id))
}

/// A moment as a number of days: rounded for integers, as SQL Server does it.
pub(super) fn from_moment(value: &Value, to: &DataType) -> SqlResult<Value> {
    let from = value.type_id().unwrap_or(TypeId::DateTime);
    let ticks = ticks(value).ok_or_else(|| cannot_convert(from, to.id))?;
    let days = ticks as f64 / DAY as f64;
    let number = match to.id {
        TypeId::BigInt | TypeId::Int | TypeId::SmallInt | TypeId::TinyInt => {
            Value::BigInt((days + 0.5).floor() as i64)
        }
        _ => Value::Float(days),
    };
    cast(&number, to).map_err(|error| of_type_error(&error))
}

/// 8115 where a number has digits behind the point that the exact type has no place for: for SET
/// NUMERIC_ROUNDABORT ON.
pub(super) fn exactly(value: Decimal, to: &DataType) -> SqlResult<()> {
    let exact = matches!(to.id, TypeId::Decimal | TypeId::Numeric);
    let lost = value.scale.saturating_sub(to.scale);
    let unit = 10_i128.checked_pow(lost.into()).unwrap_or(i128::MAX);
    match exact && value.unscaled % unit != 0 {
        true => Err(overflow_from("numeric", to.id).with_state(7)),
        false => Ok(()),
    }
}
