//! Values of one type as values of another: the implicit conversions of an assignment.
//!
//! Conversions that SQL Server does only when asked (styles of CONVERT, text to binary, numbers to dates) are
//! left to the SQL layer. Numbers and dates become text as [`Value`] prints them.

use super::calendar::{Date, DateTime, DateTime2, DateTimeOffset, SmallDateTime};
use super::code_page::{decode_1252, decode_utf16};
use super::moment::{DateOrder, MomentError, parse_moment};
use super::parse::{self, Exact};
use super::{DataType, Decimal, Family, Guid, TypeError, TypeId, Value, variant_type};

/// Converts a value to a type; NULL stays NULL. Dates in text are read as `us_english` does.
pub fn cast(value: &Value, to: &DataType) -> Result<Value, TypeError> {
    cast_with(value, to, DateOrder::Mdy)
}

/// [`cast`] under another SET DATEFORMAT.
pub fn cast_with(value: &Value, to: &DataType, order: DateOrder) -> Result<Value, TypeError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    match to.id.family() {
        Family::Integer => to_integer(value, to),
        Family::Exact => to_exact(value, to),
        Family::Approximate => to_float(value, to),
        Family::DateTime => to_moment(value, to, order),
        Family::Char | Family::NChar | Family::Lob if to.id != TypeId::Image => to_text(value, to),
        Family::Guid => to_guid(value, to),
        Family::Variant => match variant_type::natural_type(value) {
            Some(data_type) => Ok(Value::Variant(Box::new((data_type, value.clone())))),
            None if matches!(value, Value::Variant(_)) => Ok(value.clone()),
            None => Err(clash(value, to)),
        },
        _ => match value {
            Value::Binary(_) => Ok(value.clone()),
            Value::Guid(guid) => Ok(Value::Binary(guid.0.to_vec())),
            _ => Err(clash(value, to)),
        },
    }
}

/// A value of `to` from text, as a user types it: `NULL` is NULL, bytes are `0x...`.
pub fn parse_value(to: &DataType, text: &str) -> Result<Value, TypeError> {
    if text.eq_ignore_ascii_case("null") && !to.id.has_collation() {
        return Ok(Value::Null);
    }
    if to.id == TypeId::Xml {
        // The layers above check whether it is well-formed.
        return Ok(Value::NVarChar(text.to_owned()));
    }
    let typed = Value::VarChar(text.to_owned());
    if to.id.family() == Family::Binary || to.id == TypeId::Image {
        return parse::bytes(text)
            .map(Value::Binary)
            .ok_or_else(|| clash(&typed, to));
    }
    cast(&typed, to)
}

fn name(value: &Value) -> &'static str {
    value.type_id().map_or("NULL", TypeId::name)
}

fn clash(value: &Value, to: &DataType) -> TypeError {
    TypeError::Clash {
        from: name(value),
        to: to.id.name(),
    }
}

/// An exact or approximate number on its way to another type.
enum Number {
    Exact(Decimal),
    Approximate(f64),
}

fn number(value: &Value) -> Option<Number> {
    let exact = |unscaled: i128, scale| Some(Number::Exact(Decimal { unscaled, scale }));
    match value {
        Value::Decimal(decimal) => exact(decimal.unscaled, decimal.scale),
        Value::Money(n) => exact(i128::from(*n), 4),
        Value::SmallMoney(n) => exact(i128::from(*n), 4),
        Value::Real(x) => Some(Number::Approximate(f64::from(*x))),
        Value::Float(x) => Some(Number::Approximate(*x)),
        _ => exact(i128::from(value.as_i64()?), 0),
    }
}

fn to_integer(value: &Value, to: &DataType) -> Result<Value, TypeError> {
    let whole = whole_number(value, to)?;
    let fits = match to.id {
        TypeId::Bit => {
            let set = whole != 0 || number(value).is_some_and(|number| !is_zero(&number));
            return Ok(Value::Bit(set));
        }
        TypeId::TinyInt => u8::try_from(whole).map(Value::TinyInt),
        TypeId::SmallInt => i16::try_from(whole).map(Value::SmallInt),
        TypeId::Int => i32::try_from(whole).map(Value::Int),
        _ => i64::try_from(whole).map(Value::BigInt),
    };
    fits.map_err(|_| integer_overflow(value, to, whole))
}

/// The integer for a value: decimals and floats are cut off, money is rounded.
fn whole_number(value: &Value, to: &DataType) -> Result<i128, TypeError> {
    Ok(match value {
        Value::VarChar(text) | Value::NVarChar(text) => {
            let trimmed = text.trim_matches(' ');
            if to.id == TypeId::Bit && trimmed.eq_ignore_ascii_case("true") {
                return Ok(1);
            }
            if to.id == TypeId::Bit && trimmed.eq_ignore_ascii_case("false") {
                return Ok(0);
            }
            parse::integer(text).ok_or_else(|| match to.id {
                TypeId::BigInt => TypeError::NotANumber {
                    from: name(value),
                    to: to.id.name(),
                },
                _ => TypeError::NotAnInteger {
                    from: name(value),
                    text: text.clone(),
                    to: to.id.name(),
                },
            })?
        }
        Value::Money(_) | Value::SmallMoney(_) => match number(value) {
            Some(Number::Exact(amount)) => rescale(amount, 0).map_or(0, |amount| amount.unscaled),
            _ => return Err(clash(value, to)),
        },
        _ => match number(value).ok_or_else(|| clash(value, to))? {
            Number::Exact(decimal) => decimal.unscaled / power_of_ten(decimal.scale),
            Number::Approximate(x) if to.id == TypeId::Bit => i128::from(x != 0.0),
            Number::Approximate(x) => x as i128,
        },
    })
}

fn integer_overflow(value: &Value, to: &DataType, whole: i128) -> TypeError {
    let to_name = to.id.name();
    match (value, to.id) {
        (Value::SmallInt(_) | Value::Int(_), TypeId::TinyInt | TypeId::SmallInt) => {
            TypeError::IntegerOverflow {
                to: to_name,
                value: whole.to_string(),
            }
        }
        (Value::VarChar(text) | Value::NVarChar(text), id) if id != TypeId::BigInt => {
            TypeError::TextOverflow {
                from: name(value),
                text: text.clone(),
                column: match id {
                    TypeId::TinyInt => "INT1",
                    TypeId::SmallInt => "INT2",
                    _ => "int",
                },
            }
        }
        (Value::Real(x), _) => TypeError::FloatOverflow {
            to: to_name,
            value: f64::from(*x).into(),
        },
        (Value::Float(x), _) => TypeError::FloatOverflow {
            to: to_name,
            value: (*x).into(),
        },
        (Value::Decimal(_), _) => TypeError::Overflow {
            from: name(value),
            to: to_name,
        },
        _ => TypeError::Overflow {
            from: "expression",
            to: to_name,
        },
    }
}

fn is_zero(number: &Number) -> bool {
    match number {
        Number::Exact(decimal) => decimal.unscaled == 0,
        Number::Approximate(x) => *x == 0.0,
    }
}

fn power_of_ten(scale: u8) -> i128 {
    10i128.pow(u32::from(scale.min(38)))
}

/// The number at another scale, rounded half away from zero; `None` when it no longer fits 38 digits.
fn rescale(value: Decimal, scale: u8) -> Option<Decimal> {
    let unscaled = if scale >= value.scale {
        value
            .unscaled
            .checked_mul(power_of_ten(scale - value.scale))?
    } else {
        let unit = power_of_ten(value.scale - scale);
        let (whole, rest) = (value.unscaled / unit, value.unscaled % unit);
        let up = rest.unsigned_abs() >= unit.unsigned_abs().div_ceil(2);
        whole + if up { value.unscaled.signum() } else { 0 }
    };
    Some(Decimal { unscaled, scale })
}

/// Messages call both names of the one exact type `numeric`.
fn message_name(id: TypeId) -> &'static str {
    match id {
        TypeId::Decimal => TypeId::Numeric.name(),
        _ => id.name(),
    }
}

fn to_exact(value: &Value, to: &DataType) -> Result<Value, TypeError> {
    let is_money = matches!(to.id, TypeId::Money | TypeId::SmallMoney);
    let scale = if is_money { 4 } else { to.scale };
    let overflow = || TypeError::Overflow {
        from: name(value),
        to: message_name(to.id),
    };
    let exact = match value {
        Value::VarChar(text) | Value::NVarChar(text) => {
            let parsed = if is_money {
                parse::money(text)
            } else {
                parse::decimal(text, scale)
            };
            match parsed {
                Exact::Number(number) => number,
                Exact::TooLarge => return Err(overflow()),
                Exact::NotANumber if to.id == TypeId::SmallMoney => {
                    return Err(TypeError::NotSmallMoney);
                }
                Exact::NotANumber if is_money => return Err(TypeError::NotMoney),
                Exact::NotANumber => {
                    return Err(TypeError::NotANumber {
                        from: name(value),
                        to: message_name(to.id),
                    });
                }
            }
        }
        _ => match number(value).ok_or_else(|| clash(value, to))? {
            Number::Exact(number) => rescale(number, scale).ok_or_else(overflow)?,
            Number::Approximate(x) => {
                // Written with digits to spare, so that a half is seen as one and goes up.
                let digits = format!("{x:.places$}", places = usize::from(scale) + 20);
                match parse::decimal(&digits, scale) {
                    Exact::Number(number) => number,
                    _ => return Err(overflow()),
                }
            }
        },
    };
    match to.id {
        TypeId::Money => i64::try_from(exact.unscaled)
            .map(Value::Money)
            .map_err(|_| overflow()),
        TypeId::SmallMoney => i32::try_from(exact.unscaled)
            .map(Value::SmallMoney)
            .map_err(|_| overflow()),
        _ if exact.unscaled.unsigned_abs() >= power_of_ten(to.precision).unsigned_abs() => {
            Err(overflow())
        }
        _ => Ok(Value::Decimal(exact)),
    }
}

fn to_float(value: &Value, to: &DataType) -> Result<Value, TypeError> {
    let x = match value {
        Value::VarChar(text) | Value::NVarChar(text) => {
            parse::float(text).ok_or_else(|| TypeError::NotANumber {
                from: name(value),
                to: to.id.name(),
            })?
        }
        _ => match number(value).ok_or_else(|| clash(value, to))? {
            Number::Exact(decimal) => decimal.unscaled as f64 / power_of_ten(decimal.scale) as f64,
            Number::Approximate(x) => x,
        },
    };
    let overflow = TypeError::Overflow {
        from: name(value),
        to: to.id.name(),
    };
    match to.id {
        TypeId::Real if (x as f32).is_finite() => Ok(Value::Real(x as f32)),
        TypeId::Float if x.is_finite() => Ok(Value::Float(x)),
        _ => Err(overflow),
    }
}

fn to_moment(value: &Value, to: &DataType, order: DateOrder) -> Result<Value, TypeError> {
    let out_of_range = || TypeError::DateOutOfRange {
        from: name(value),
        to: to.id.name(),
    };
    let (local, offset) = match value {
        Value::VarChar(text) | Value::NVarChar(text) => {
            let moment =
                parse_moment(text, order, to.id).map_err(|error| match (error, to.id) {
                    (MomentError::Range, TypeId::DateTime | TypeId::SmallDateTime) => {
                        out_of_range()
                    }
                    (MomentError::Syntax, TypeId::SmallDateTime) => TypeError::NotASmallDateTime,
                    _ => TypeError::NotADate,
                })?;
            (moment.local, moment.offset_minutes)
        }
        Value::Date(_) | Value::Time(_)
            if matches!(
                (value, to.id),
                (Value::Date(_), TypeId::Time) | (_, TypeId::Date)
            ) && !matches!(value, Value::Date(_) if to.id == TypeId::Date) =>
        {
            return Err(clash(value, to));
        }
        Value::Date(date) => (
            DateTime2 {
                date: *date,
                time: super::Time::MIDNIGHT,
            },
            None,
        ),
        Value::Time(time) => {
            let date = Date::from_days_since_1900(0).unwrap_or(Date::MAX);
            (DateTime2 { date, time: *time }, None)
        }
        Value::DateTime(moment) => (moment.to_precise(), None),
        Value::SmallDateTime(moment) => (moment.to_datetime2(), None),
        Value::DateTime2(moment) => (*moment, None),
        Value::DateTimeOffset(moment) => {
            let local = moment.utc.add_minutes(i32::from(moment.offset_minutes));
            (local.ok_or_else(out_of_range)?, Some(moment.offset_minutes))
        }
        _ => return Err(clash(value, to)),
    };
    let converted = match to.id {
        TypeId::Date => Some(Value::Date(local.date)),
        TypeId::Time => Some(Value::Time(local.time.rescale(to.scale).0)),
        TypeId::DateTime => DateTime::from_datetime2(local).map(Value::DateTime),
        TypeId::SmallDateTime => SmallDateTime::from_datetime2(local).map(Value::SmallDateTime),
        TypeId::DateTime2 => local.rescale(to.scale).map(Value::DateTime2),
        _ => {
            let offset_minutes = offset.unwrap_or(0);
            local
                .rescale(to.scale)
                .and_then(|local| local.add_minutes(-i32::from(offset_minutes)))
                .map(|utc| {
                    Value::DateTimeOffset(DateTimeOffset {
                        utc,
                        offset_minutes,
                    })
                })
        }
    };
    converted.ok_or_else(out_of_range)
}

fn to_text(value: &Value, to: &DataType) -> Result<Value, TypeError> {
    let text = match value {
        Value::VarChar(text) | Value::NVarChar(text) => text.clone(),
        Value::Binary(bytes) if to.id.is_unicode() => decode_utf16(bytes),
        Value::Binary(bytes) => decode_1252(bytes),
        Value::Variant(_) => return Err(clash(value, to)),
        _ => value.to_string(),
    };
    Ok(if to.id.is_unicode() {
        Value::NVarChar(text)
    } else {
        Value::VarChar(text)
    })
}

fn to_guid(value: &Value, to: &DataType) -> Result<Value, TypeError> {
    match value {
        Value::Guid(_) => Ok(value.clone()),
        Value::VarChar(text) | Value::NVarChar(text) => parse::guid(text)
            .map(Value::Guid)
            .ok_or(TypeError::NotAGuid),
        Value::Binary(bytes) => match bytes.as_slice().try_into() {
            Ok(bytes) => Ok(Value::Guid(Guid(bytes))),
            Err(_) => Err(clash(value, to)),
        },
        _ => Err(clash(value, to)),
    }
}
