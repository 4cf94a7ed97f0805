//! Functions of dates and times.

use furrow_types::{
    DataType, Date, DateTime, DateTime2, DateTimeOffset, Family, SmallDateTime, Time, TypeId, Value,
};

use super::bind::{BIGINT, Binding, Call, INT, number};
use super::date_math::{
    DatePart, add, add_months, difference, end_of_month, month_name, part_of, weekday_name,
};
use crate::error::{SqlResult, date_overflow, message};

const DATE: DataType = DataType::simple(TypeId::Date);
const DATETIME: DataType = DataType::simple(TypeId::DateTime);
pub(super) const DATETIME2: DataType = DataType::simple(TypeId::DateTime2);
pub(super) const DATETIMEOFFSET: DataType = DataType::simple(TypeId::DateTimeOffset);

/// The local moment of a value, and its offset.
pub(super) fn local(value: &Value) -> Option<(DateTime2, i16)> {
    Some(match value {
        Value::Date(date) => (
            DateTime2 {
                date: *date,
                time: Time::MIDNIGHT,
            },
            0,
        ),
        Value::Time(time) => {
            let date = Date::from_days_since_1900(0)?;
            (DateTime2 { date, time: *time }, 0)
        }
        Value::DateTime(at) => (at.to_datetime2(), 0),
        Value::SmallDateTime(at) => (at.to_datetime2(), 0),
        Value::DateTime2(at) => (*at, 0),
        Value::DateTimeOffset(at) => (
            at.utc.add_minutes(i32::from(at.offset_minutes))?,
            at.offset_minutes,
        ),
        _ => return None,
    })
}

/// A local moment as a value of a type; `None` out of its calendar.
pub(super) fn of_type(at: DateTime2, offset_minutes: i16, to: &DataType) -> Option<Value> {
    Some(match to.id {
        TypeId::Date => Value::Date(at.date),
        TypeId::Time => Value::Time(at.time.rescale(to.scale).0),
        TypeId::SmallDateTime => Value::SmallDateTime(SmallDateTime::from_datetime2(at)?),
        TypeId::DateTime2 => Value::DateTime2(at.rescale(to.scale)?),
        TypeId::DateTimeOffset => Value::DateTimeOffset(DateTimeOffset {
            utc: at
                .rescale(to.scale)?
                .add_minutes(-i32::from(offset_minutes))?,
            offset_minutes,
        }),
        _ => Value::DateTime(DateTime::from_datetime2(at)?),
    })
}

/// The part that the first argument names: 155 for a word that is none, 1023 for what is no word.
pub(super) fn part(call: &Call<'_>) -> SqlResult<DatePart> {
    let function = call.function.name.to_ascii_lowercase();
    let name = call.get(0).constant.and_then(Value::as_str);
    let name = name.ok_or_else(|| call.refuse(0))?;
    DatePart::from_name(name).ok_or_else(|| message(155, &[name.into(), function.into()]))
}

/// The type in which an argument is a moment: its own; text, numbers and NULL are `datetime`.
pub(super) fn moment(call: &Call<'_>, place: usize, for_text: DataType) -> SqlResult<DataType> {
    let operand = call.get(place);
    match operand.data_type.id.family() {
        _ if operand.is_null_literal => Ok(DATETIME),
        Family::DateTime => Ok(operand.data_type),
        Family::Char | Family::NChar => Ok(for_text),
        Family::Integer | Family::Exact | Family::Approximate => Ok(DATETIME),
        _ => Err(call.refuse(place)),
    }
}

/// That a type has a part: 9810 where it has none.
pub(super) fn has_part(part: DatePart, of: &DataType, call: &Call<'_>) -> SqlResult<()> {
    let missing = match of.id {
        TypeId::Date => part.is_of_time() || part == DatePart::Offset,
        TypeId::Time => !part.is_of_time(),
        TypeId::DateTimeOffset | TypeId::DateTime2 => false,
        _ => part == DatePart::Offset,
    };
    if !missing {
        return Ok(());
    }
    let name = call
        .get(0)
        .constant
        .and_then(Value::as_str)
        .unwrap_or_default();
    let function = call.function.name.to_ascii_lowercase();
    Err(message(
        9810,
        &[name.into(), function.into(), of.id.name().into()],
    ))
}

pub(super) fn dateadd(call: &Call<'_>) -> SqlResult<Binding> {
    let part = part(call)?;
    let of = moment(call, 2, DATETIME)?;
    has_part(part, &of, call)?;
    if matches!(part, DatePart::IsoWeek | DatePart::Offset) {
        let name = call
            .get(0)
            .constant
            .and_then(Value::as_str)
            .unwrap_or_default();
        return Err(message(9806, &[name.into(), "dateadd".into()]));
    }
    let count = if call.get(1).data_type.id == TypeId::BigInt {
        BIGINT
    } else {
        call.int(1)?
    };
    Ok(Binding::new(
        vec![None, Some(count), Some(of)],
        of,
        move |_, values| {
            let Some((at, offset)) = values.get(2).and_then(|value| local(value)) else {
                return Ok(Value::Null);
            };
            let moved = add(part, number(values, 1), at);
            // A time goes round the clock.
            if let (TypeId::Time, None) = (of.id, moved) {
                let base = Date::from_ymd(5000, 1, 1).unwrap_or(Date::MAX);
                let at = DateTime2 {
                    date: base,
                    time: at.time,
                };
                let around = add(part, number(values, 1), at);
                return around
                    .and_then(|at| of_type(at, 0, &of))
                    .ok_or_else(|| date_overflow(of.id));
            }
            moved
                .and_then(|at| of_type(at, offset, &of))
                .ok_or_else(|| date_overflow(of.id))
        },
    ))
}

pub(super) fn datediff(call: &Call<'_>) -> SqlResult<Binding> {
    between(call, INT)
}

pub(super) fn datediff_big(call: &Call<'_>) -> SqlResult<Binding> {
    between(call, BIGINT)
}

fn between(call: &Call<'_>, result: DataType) -> SqlResult<Binding> {
    let part = part(call)?;
    let from = moment(call, 1, DATETIMEOFFSET)?;
    let to = moment(call, 2, DATETIMEOFFSET)?;
    let part = match part {
        DatePart::DayOfYear | DatePart::Weekday => DatePart::Day,
        DatePart::IsoWeek | DatePart::Offset => {
            let name = call
                .get(0)
                .constant
                .and_then(Value::as_str)
                .unwrap_or_default();
            let function = call.function.name.to_ascii_lowercase();
            return Err(message(9806, &[name.into(), function.into()]));
        }
        part => part,
    };
    let parameters = vec![None, Some(from), Some(to)];
    Ok(Binding::new(parameters, result, move |_, values| {
        let utc = |place: usize| {
            let value = values.get(place)?;
            match value {
                Value::DateTimeOffset(at) => Some(at.utc),
                _ => local(value).map(|(at, _)| at),
            }
        };
        let (Some(from), Some(to)) = (utc(1), utc(2)) else {
            return Ok(Value::Null);
        };
        let count = difference(part, from, to);
        let value = match result.id {
            TypeId::BigInt => i64::try_from(count).ok().map(Value::BigInt),
            _ => i32::try_from(count).ok().map(Value::Int),
        };
        value.ok_or_else(|| message(535, &[]))
    }))
}

pub(super) fn datepart(call: &Call<'_>) -> SqlResult<Binding> {
    let part = part(call)?;
    let of = moment(call, 1, DATETIME2)?;
    has_part(part, &of, call)?;
    Ok(Binding::new(
        vec![None, Some(of)],
        INT,
        move |env, values| {
            let at = values.get(1).and_then(|value| local(value));
            let first = env.settings.date_first;
            Ok(at.map_or(Value::Null, |(at, offset)| {
                Value::Int(part_of(part, at, offset, first))
            }))
        },
    ))
}

pub(super) fn datename(call: &Call<'_>) -> SqlResult<Binding> {
    let part = part(call)?;
    let of = moment(call, 1, DATETIME2)?;
    has_part(part, &of, call)?;
    let result = DataType::sized(TypeId::NVarChar, 60);
    Ok(Binding::new(
        vec![None, Some(of)],
        result,
        move |env, values| {
            let Some((at, offset)) = values.get(1).and_then(|value| local(value)) else {
                return Ok(Value::Null);
            };
            let name = match part {
                DatePart::Month => month_name(at.date).to_owned(),
                DatePart::Weekday => weekday_name(at.date).to_owned(),
                DatePart::Offset => {
                    let sign = if offset < 0 { '-' } else { '+' };
                    format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60)
                }
                _ => part_of(part, at, offset, env.settings.date_first).to_string(),
            };
            Ok(Value::NVarChar(name))
        },
    ))
}

pub(super) fn year(call: &Call<'_>) -> SqlResult<Binding> {
    only(call, DatePart::Year)
}

pub(super) fn month(call: &Call<'_>) -> SqlResult<Binding> {
    only(call, DatePart::Month)
}

pub(super) fn day(call: &Call<'_>) -> SqlResult<Binding> {
    only(call, DatePart::Day)
}

fn only(call: &Call<'_>, part: DatePart) -> SqlResult<Binding> {
    let of = moment(call, 0, DATETIME2)?;
    Ok(Binding::new(vec![Some(of)], INT, move |_, values| {
        let at = values.first().and_then(|value| local(value));
        Ok(at.map_or(Value::Null, |(at, offset)| {
            Value::Int(part_of(part, at, offset, 7))
        }))
    }))
}

pub(super) fn eomonth(call: &Call<'_>) -> SqlResult<Binding> {
    let of = moment(call, 0, DATETIME2)?;
    let mut parameters = vec![Some(of)];
    if call.len() == 2 {
        parameters.push(Some(call.int(1)?));
    }
    let has_months = call.len() == 2;
    let binding = Binding::new(parameters, DATE, move |_, values| {
        let Some((at, _)) = values.first().and_then(|value| local(value)) else {
            return Ok(Value::Null);
        };
        // No number of months is none.
        let months = if has_months { number(values, 1) } else { 0 };
        add_months(at.date, months)
            .and_then(end_of_month)
            .map(Value::Date)
            .ok_or_else(|| date_overflow(TypeId::Date))
    });
    Ok(binding.sees_null())
}

pub(super) fn isdate(call: &Call<'_>) -> SqlResult<Binding> {
    let from = call.get(0).data_type;
    let of = match from.id {
        TypeId::DateTime | TypeId::SmallDateTime => from,
        id if matches!(id.family(), Family::DateTime) => return Err(call.refuse(0)),
        _ => call.text(0)?,
    };
    let binding = Binding::new(vec![Some(of)], INT, |env, values| {
        let settings = env.settings;
        let answer = match values.first() {
            Some(Value::DateTime(_) | Value::SmallDateTime(_)) => true,
            Some(Value::VarChar(text) | Value::NVarChar(text)) => {
                !text.trim().is_empty() && crate::convert::is_date(text, &settings)
            }
            _ => false,
        };
        Ok(Value::Int(i32::from(answer)))
    });
    Ok(binding.sees_null())
}

/// The numbers of the arguments; `None` where one is negative.
fn numbers<const N: usize>(values: &[&Value]) -> Option<[u32; N]> {
    let mut out = [0; N];
    for (place, slot) in out.iter_mut().enumerate() {
        *slot = u32::try_from(number(values, place)).ok()?;
    }
    Some(out)
}

fn cannot_construct(id: TypeId) -> furrow_messages::Message {
    message(289, &[id.name().into()])
}

fn parts_binding(
    call: &Call<'_>,
    result: DataType,
    make: impl Fn(&[&Value]) -> Option<Value> + Send + Sync + 'static,
) -> SqlResult<Binding> {
    let parameters = (0..call.len()).map(|place| call.int(place).map(Some));
    let parameters = parameters.collect::<SqlResult<Vec<_>>>()?;
    Ok(Binding::new(parameters, result, move |_, values| {
        make(values).ok_or_else(|| cannot_construct(result.id))
    }))
}

pub(super) fn datefromparts(call: &Call<'_>) -> SqlResult<Binding> {
    parts_binding(call, DATE, |values| {
        let [year, month, day] = numbers::<3>(values)?;
        Date::from_ymd(year, month, day).map(Value::Date)
    })
}

pub(super) fn datetimefromparts(call: &Call<'_>) -> SqlResult<Binding> {
    parts_binding(call, DATETIME, |values| {
        let [year, month, day, hour, minute, second, ms] = numbers::<7>(values)?;
        let date = Date::from_ymd(year, month, day)?;
        let ticks = (ms < 1000).then_some(ms * 10_000)?;
        let time = Time::from_hms(hour, minute, second, ticks, 7)?;
        DateTime::from_datetime2(DateTime2 { date, time }).map(Value::DateTime)
    })
}

pub(super) fn smalldatetimefromparts(call: &Call<'_>) -> SqlResult<Binding> {
    let result = DataType::simple(TypeId::SmallDateTime);
    parts_binding(call, result, |values| {
        let [year, month, day, hour, minute] = numbers::<5>(values)?;
        let date = Date::from_ymd(year, month, day)?;
        let time = Time::from_hms(hour, minute, 0, 0, 7)?;
        SmallDateTime::from_datetime2(DateTime2 { date, time }).map(Value::SmallDateTime)
    })
}

/// The precision, which is the last argument and a constant.
fn precision(call: &Call<'_>, id: TypeId) -> SqlResult<DataType> {
    let scale = call
        .get(call.len() - 1)
        .constant
        .and_then(Value::as_i64)
        .unwrap_or(7);
    let scale = u8::try_from(scale).unwrap_or(u8::MAX);
    DataType::scaled(id, scale).map_err(|error| crate::error::of_type_error(&error))
}

/// A time of hour, minute, second and fractions of a precision.
fn time_of(parts: [u32; 4], scale: u8) -> Option<Time> {
    let [hour, minute, second, fractions] = parts;
    let unit = 10u32.pow(u32::from(7 - scale.min(7)));
    let ticks = fractions.checked_mul(unit)?;
    Time::from_hms(hour, minute, second, ticks, scale)
}

pub(super) fn timefromparts(call: &Call<'_>) -> SqlResult<Binding> {
    let result = precision(call, TypeId::Time)?;
    parts_binding(call, result, move |values| {
        let parts = numbers::<4>(values)?;
        time_of(parts, result.scale).map(Value::Time)
    })
}

pub(super) fn datetime2fromparts(call: &Call<'_>) -> SqlResult<Binding> {
    let result = precision(call, TypeId::DateTime2)?;
    parts_binding(call, result, move |values| {
        let [year, month, day, hour, minute, second, fractions] = numbers::<7>(values)?;
        let date = Date::from_ymd(year, month, day)?;
        let time = time_of([hour, minute, second, fractions], result.scale)?;
        Some(Value::DateTime2(DateTime2 { date, time }))
    })
}

pub(super) fn datetimeoffsetfromparts(call: &Call<'_>) -> SqlResult<Binding> {
    let result = precision(call, TypeId::DateTimeOffset)?;
    parts_binding(call, result, move |values| {
        let [year, month, day, hour, minute, second, fractions] = numbers::<7>(values)?;
        let date = Date::from_ymd(year, month, day)?;
        let time = time_of([hour, minute, second, fractions], result.scale)?;
        let (hours, minutes) = (number(values, 7), number(values, 8));
        // Both have the sign of the offset.
        let fits = hours.abs() <= 14 && minutes.abs() <= 59 && hours * minutes >= 0;
        let offset_minutes = i16::try_from(hours * 60 + minutes).ok().filter(|_| fits)?;
        let in_day = offset_minutes.abs() <= 14 * 60;
        let utc = DateTime2 { date, time }.add_minutes(-i32::from(offset_minutes));
        Some(Value::DateTimeOffset(DateTimeOffset {
            utc: utc.filter(|_| in_day)?,
            offset_minutes,
        }))
    })
}

/// The moment of the statement in some type: local where `offset` is to be added.
fn now(result: DataType, is_local: bool) -> Binding {
    Binding::new(vec![], result, move |env, _| {
        let DateTimeOffset {
            utc,
            offset_minutes,
        } = env.now;
        let at = match is_local {
            true => utc.add_minutes(i32::from(offset_minutes)),
            false => Some(utc),
        };
        at.and_then(|at| of_type(at, offset_minutes, &result))
            .ok_or_else(|| date_overflow(result.id))
    })
}

pub(super) fn getdate(_: &Call<'_>) -> SqlResult<Binding> {
    Ok(now(DATETIME, true))
}

pub(super) fn getutcdate(_: &Call<'_>) -> SqlResult<Binding> {
    Ok(now(DATETIME, false))
}

pub(super) fn sysdatetime(_: &Call<'_>) -> SqlResult<Binding> {
    Ok(now(DATETIME2, true))
}

pub(super) fn sysutcdatetime(_: &Call<'_>) -> SqlResult<Binding> {
    Ok(now(DATETIME2, false))
}

pub(super) fn sysdatetimeoffset(_: &Call<'_>) -> SqlResult<Binding> {
    Ok(now(DATETIMEOFFSET, true))
}

/// Minutes of an offset: a number, or `+hh:mm`. 9812 for another.
fn offset(value: &Value, function: &'static str) -> SqlResult<i16> {
    let invalid = || message(9812, &[function.into()]);
    let minutes = match value.as_str() {
        None => value.as_i64(),
        Some(text) => {
            let (sign, rest) = match text.split_at_checked(1) {
                Some(("+", rest)) => (1, rest),
                Some(("-", rest)) => (-1, rest),
                _ => return Err(invalid()),
            };
            rest.split_once(':').and_then(|(hours, minutes)| {
                let (hours, minutes) = (hours.parse::<u8>().ok()?, minutes.parse::<u8>().ok()?);
                (minutes < 60).then_some(sign * (i64::from(hours) * 60 + i64::from(minutes)))
            })
        }
    };
    match minutes {
        Some(minutes @ -840..=840) => Ok(minutes as i16),
        _ => Err(invalid()),
    }
}

/// What an offset is bound as: a number stays, all else is text.
fn offset_type(call: &Call<'_>) -> SqlResult<Option<DataType>> {
    match call.get(1).data_type.id.family() {
        Family::Integer => Ok(None),
        _ => call.text(1).map(Some),
    }
}

pub(super) fn switchoffset(call: &Call<'_>) -> SqlResult<Binding> {
    let from = call.get(0).data_type;
    let of = if from.id == TypeId::DateTimeOffset {
        from
    } else {
        DATETIMEOFFSET
    };
    let parameters = vec![Some(call.becomes(0, of)?), offset_type(call)?];
    Ok(Binding::new(parameters, of, |_, values| match values {
        [Value::DateTimeOffset(at), to] => Ok(Value::DateTimeOffset(DateTimeOffset {
            utc: at.utc,
            offset_minutes: offset(to, "switchoffset")?,
        })),
        _ => Ok(Value::Null),
    }))
}

pub(super) fn todatetimeoffset(call: &Call<'_>) -> SqlResult<Binding> {
    let of = moment(call, 0, DATETIME2)?;
    let scale = crate::types::moment_scale(&of);
    let result = DataType::scaled(TypeId::DateTimeOffset, scale).unwrap_or(DATETIMEOFFSET);
    let parameters = vec![Some(of), offset_type(call)?];
    Ok(Binding::new(parameters, result, move |_, values| {
        let (Some((at, _)), Some(to)) =
            (values.first().and_then(|value| local(value)), values.get(1))
        else {
            return Ok(Value::Null);
        };
        let minutes = offset(to, "todatetimeoffset")?;
        of_type(at, minutes, &result).ok_or_else(|| date_overflow(result.id))
    }))
}
