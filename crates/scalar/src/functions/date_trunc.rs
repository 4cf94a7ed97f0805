//! Moments cut down: DATETRUNC to the beginning of a part, DATE_BUCKET to that of a span of many parts.

use furrow_types::{DataType, Date, DateTime2, Family, Time, TypeId, Value};

use super::bind::{BIGINT, Binding, Call, number};
use super::date::{DATETIME2, has_part, local, moment, of_type, part};
use super::date_math::{DatePart, add, add_months, from_ticks, ticks, week_place};
use crate::error::{SqlResult, date_overflow, message};

/// 9806 for a part that the function does not take.
fn refuse_part(call: &Call<'_>) -> furrow_messages::Message {
    let name = call.get(0).constant.and_then(Value::as_str);
    let function = call.function.name.to_ascii_lowercase();
    message(9806, &[name.unwrap_or_default().into(), function.into()])
}

/// Digits behind the second that a part needs: 9810 of a type that has fewer.
fn has_digits(part: DatePart, of: &DataType, call: &Call<'_>) -> SqlResult<()> {
    let digits = match part {
        DatePart::Millisecond => 3,
        DatePart::Microsecond => 6,
        _ => 0,
    };
    let there = match of.id {
        TypeId::DateTime => 3,
        TypeId::SmallDateTime => 0,
        _ => of.scale,
    };
    if digits <= there || of.id == TypeId::Date {
        return Ok(());
    }
    let name = call.get(0).constant.and_then(Value::as_str);
    let function = call.function.name.to_ascii_lowercase();
    let name = name.unwrap_or_default().into();
    Err(message(9810, &[name, function.into(), of.id.name().into()]))
}

/// Ticks of a part of fixed length; `None` for months, quarters and years.
fn length(part: DatePart) -> Option<i128> {
    Some(match part {
        DatePart::Week | DatePart::IsoWeek => 7 * 864_000_000_000,
        DatePart::Day | DatePart::DayOfYear => 864_000_000_000,
        DatePart::Hour => 36_000_000_000,
        DatePart::Minute => 600_000_000,
        DatePart::Second => 10_000_000,
        DatePart::Millisecond => 10_000,
        DatePart::Microsecond => 10,
        _ => return None,
    })
}

/// The beginning of the part that contains a time. `None` before the calendar begins.
fn truncate(part: DatePart, at: DateTime2, date_first: u8) -> Option<DateTime2> {
    let (year, month, _) = at.date.to_ymd();
    let midnight = |date: Date| DateTime2 {
        date,
        time: Time::MIDNIGHT,
    };
    let first = |month| Date::from_ymd(year, month, 1).map(midnight);
    match part {
        DatePart::Year => first(1),
        DatePart::Quarter => first((month - 1) / 3 * 3 + 1),
        DatePart::Month => first(month),
        DatePart::Week | DatePart::IsoWeek => {
            let monday = 1;
            let from = match part {
                DatePart::IsoWeek => monday,
                _ => date_first,
            };
            let days = at.date.days();
            Date::from_days(days.checked_sub(week_place(days, from))?).map(midnight)
        }
        part => {
            let all = ticks(at);
            from_ticks(all - all.rem_euclid(length(part)?))
        }
    }
}

pub(super) fn datetrunc(call: &Call<'_>) -> SqlResult<Binding> {
    let part = part(call)?;
    let of = moment(call, 1, DATETIME2)?;
    has_part(part, &of, call)?;
    if matches!(
        part,
        DatePart::Weekday | DatePart::Offset | DatePart::Nanosecond
    ) {
        return Err(refuse_part(call));
    }
    has_digits(part, &of, call)?;
    Ok(Binding::new(
        vec![None, Some(of)],
        of,
        move |env, values| {
            let Some((at, offset)) = values.get(1).and_then(|value| local(value)) else {
                return Ok(Value::Null);
            };
            truncate(part, at, env.settings.date_first)
                .and_then(|at| of_type(at, offset, &of))
                .ok_or_else(|| date_overflow(of.id))
        },
    ))
}

/// The beginning of the span of `width` parts that a moment is in, where one begins at `origin`.
fn bucket(part: DatePart, width: i64, at: DateTime2, origin: DateTime2) -> Option<DateTime2> {
    if let Some(unit) = length(part) {
        let span = unit.checked_mul(i128::from(width))?;
        let gone = ticks(at) - ticks(origin);
        return from_ticks(ticks(origin) + gone.div_euclid(span) * span);
    }
    let months = width.checked_mul(match part {
        DatePart::Year => 12,
        DatePart::Quarter => 3,
        _ => 1,
    })?;
    let count = |date: Date| {
        let (year, month, _) = date.to_ymd();
        i64::from(year) * 12 + i64::from(month)
    };
    let mut spans = (count(at.date) - count(origin.date)).div_euclid(months);
    let begin = |spans: i64| {
        Some(DateTime2 {
            date: add_months(origin.date, spans.checked_mul(months)?)?,
            time: origin.time,
        })
    };
    if begin(spans).is_none_or(|begin| ticks(begin) > ticks(at)) {
        spans -= 1;
    }
    begin(spans)
}

pub(super) fn date_bucket(call: &Call<'_>) -> SqlResult<Binding> {
    let part = part(call)?;
    let of = match call.get(2).data_type.id.family() {
        Family::DateTime => call.get(2).data_type,
        _ => moment(call, 2, DATETIME2)?,
    };
    has_part(part, &of, call)?;
    if matches!(
        part,
        DatePart::DayOfYear
            | DatePart::IsoWeek
            | DatePart::Weekday
            | DatePart::Offset
            | DatePart::Microsecond
            | DatePart::Nanosecond
    ) {
        return Err(refuse_part(call));
    }
    let count = match call.get(1).data_type.id {
        TypeId::BigInt => BIGINT,
        _ => call.int(1)?,
    };
    let mut parameters = vec![None, Some(count), Some(of)];
    if call.len() == 4 {
        parameters.push(Some(call.becomes(3, of)?));
    }
    Ok(Binding::new(parameters, of, move |_, values| {
        let width = number(values, 1);
        if width <= 0 {
            return Err(message(9834, &["date_bucket".into()]));
        }
        let Some((at, offset)) = values.get(2).and_then(|value| local(value)) else {
            return Ok(Value::Null);
        };
        let origin = values.get(3).and_then(|value| local(value));
        let epoch = Date::from_days_since_1900(0).map(|date| DateTime2 {
            date,
            time: Time::MIDNIGHT,
        });
        let found = match origin.map(|(origin, _)| origin).or(epoch) {
            Some(origin) => bucket(part, width, at, origin),
            None => add(part, 0, at),
        };
        found
            .and_then(|at| of_type(at, offset, &of))
            .ok_or_else(|| date_overflow(of.id))
    }))
}
