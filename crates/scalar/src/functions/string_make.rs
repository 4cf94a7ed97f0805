//! Functions that make a text of something else.

use std::borrow::Cow;

use furrow_types::{DataType, TypeId, Value, decode_1252, decode_utf16};

use super::bind::{Binding, Call, float, length, limit, number, text, text_result, variable};
use super::format::format_value;
use crate::error::{SqlResult, message};
use crate::room;
use crate::text::{slice, units, value};
use crate::types::{string_type, width};

pub(super) fn char_of(call: &Call<'_>) -> SqlResult<Binding> {
    let result = DataType::sized(TypeId::Char, 1);
    Ok(Binding::new(
        vec![Some(call.int(0)?)],
        result,
        |_, values| {
            Ok(match u8::try_from(number(values, 0)) {
                Ok(byte) => Value::VarChar(decode_1252(&[byte])),
                Err(_) => Value::Null,
            })
        },
    ))
}

pub(super) fn nchar_of(call: &Call<'_>) -> SqlResult<Binding> {
    let result = DataType::sized(TypeId::NChar, 2);
    Ok(Binding::new(
        vec![Some(call.int(0)?)],
        result,
        |_, values| {
            Ok(match u16::try_from(number(values, 0)) {
                Ok(unit) => Value::NVarChar(decode_utf16(&unit.to_le_bytes())),
                Err(_) => Value::Null,
            })
        },
    ))
}

/// The texts of all arguments, and the type that holds them all.
fn joined_type(call: &Call<'_>, from: usize) -> SqlResult<(Vec<Option<DataType>>, DataType)> {
    let mut parameters = Vec::with_capacity(call.len());
    let (mut total, mut any_max) = (0u32, false);
    for place in 0..call.len() {
        // CONCAT takes money and the like, which become text only when asked elsewhere.
        let of = match call.get(place).data_type.id {
            TypeId::Money | TypeId::SmallMoney => DataType::sized(TypeId::VarChar, 30),
            _ => call.text(place)?,
        };
        any_max |= of.is_max();
        let repeats = if place < from {
            u32::try_from(call.len()).unwrap_or(1)
        } else {
            1
        };
        total = total.saturating_add(width(&of, of.id).saturating_mul(repeats));
        parameters.push(Some(of));
    }
    let id = if call.any_unicode() {
        TypeId::NVarChar
    } else {
        TypeId::VarChar
    };
    let collation = call.collation()?;
    Ok((
        parameters,
        string_type(id, total, any_max).with_collation(collation),
    ))
}

/// The text of an argument of CONCAT: what it was bound as, or money, which is written with two digits.
fn as_text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::Null => None,
        Value::Money(n) => Some(crate::convert::money_text(*n, 0).into()),
        Value::SmallMoney(n) => Some(crate::convert::money_text(i64::from(*n), 0).into()),
        _ => value.as_str().map(Cow::Borrowed),
    }
}

/// Money is not converted by itself: it stays as it is.
fn without_money(call: &Call<'_>, mut parameters: Vec<Option<DataType>>) -> Vec<Option<DataType>> {
    for (place, parameter) in parameters.iter_mut().enumerate() {
        let id = call.get(place).data_type.id;
        if matches!(id, TypeId::Money | TypeId::SmallMoney) {
            *parameter = None;
        }
    }
    parameters
}

pub(super) fn concat(call: &Call<'_>) -> SqlResult<Binding> {
    let (parameters, result) = joined_type(call, 0)?;
    let parameters = without_money(call, parameters);
    let binding = Binding::new(parameters, result, move |_, values| {
        let parts: Vec<_> = values.iter().filter_map(|value| as_text(value)).collect();
        let joined = room::joined(parts.iter().map(|part| &**part), result.id.is_unicode())?;
        Ok(text_result(joined, &result))
    });
    Ok(binding.sees_null())
}

pub(super) fn concat_ws(call: &Call<'_>) -> SqlResult<Binding> {
    let (parameters, result) = joined_type(call, 1)?;
    let parameters = without_money(call, parameters);
    let binding = Binding::new(parameters, result, move |_, values| {
        let separator = values
            .first()
            .and_then(|value| as_text(value))
            .unwrap_or_default();
        let mut parts = Vec::with_capacity(values.len() * 2);
        for part in values.iter().skip(1).filter_map(|value| as_text(value)) {
            if !parts.is_empty() {
                parts.push(Cow::Borrowed(&*separator));
            }
            parts.push(part);
        }
        let joined = room::joined(parts.iter().map(|part| &**part), result.id.is_unicode())?;
        Ok(text_result(joined, &result))
    });
    Ok(binding.sees_null())
}

pub(super) fn replicate(call: &Call<'_>) -> SqlResult<Binding> {
    let of = call.text(0)?;
    let result = variable(&of, 8000);
    let parameters = vec![Some(of), Some(call.int(1)?)];
    Ok(Binding::new(parameters, result, move |_, values| {
        let (part, times) = (text(values, 0), number(values, 1));
        if times < 0 {
            return Ok(Value::Null);
        }
        let unicode = of.id.is_unicode();
        let size = units(part, unicode).max(1);
        // Of a type with a length no more than fits, however many are asked for.
        let most = limit(&result).map_or(usize::MAX, |most| most / size + 1);
        let repeated = room::repeated(part, length(times).min(most), unicode)?;
        Ok(text_result(repeated, &result))
    }))
}

pub(super) fn space(call: &Call<'_>) -> SqlResult<Binding> {
    let result = DataType::sized(TypeId::VarChar, 8000);
    Ok(Binding::new(
        vec![Some(call.int(0)?)],
        result,
        |_, values| {
            Ok(match usize::try_from(number(values, 0)) {
                Ok(count) => Value::VarChar(" ".repeat(count.min(8000))),
                Err(_) => Value::Null,
            })
        },
    ))
}

pub(super) fn stuff(call: &Call<'_>) -> SqlResult<Binding> {
    let (of, by) = (call.text(0)?, call.text(3)?);
    let unicode = of.id.is_unicode() || by.id.is_unicode();
    let id = if unicode {
        TypeId::NVarChar
    } else {
        TypeId::VarChar
    };
    let units_of = width(&of, id) + width(&by, id);
    let result = string_type(id, units_of, of.is_max() || by.is_max()).with_collation(of.collation);
    let parameters = vec![Some(of), Some(call.int(1)?), Some(call.int(2)?), Some(by)];
    let binding = Binding::new(parameters, result, move |_, values| {
        let missing = |place: usize| values.get(place).is_none_or(|value| value.is_null());
        if missing(0) || missing(1) || missing(2) {
            return Ok(Value::Null);
        }
        let (whole, start, count) = (text(values, 0), number(values, 1), number(values, 2));
        let all = units(whole, unicode);
        if start < 1 || count < 0 || length(start) > all {
            return Ok(Value::Null);
        }
        // A replacement of NULL is none.
        let rest = length(start - 1).saturating_add(length(count));
        let before = slice(whole, 0, length(start - 1), unicode);
        let behind = slice(whole, rest, all, unicode);
        let parts = [&*before, text(values, 3), &*behind];
        let joined = room::joined(parts.iter().copied(), unicode)?;
        Ok(text_result(joined, &result))
    });
    Ok(binding.sees_null())
}

pub(super) fn quotename(call: &Call<'_>) -> SqlResult<Binding> {
    let name = DataType::sized(TypeId::NVarChar, 8000);
    let mut parameters = vec![Some(call.becomes(0, name)?)];
    if call.len() == 2 {
        parameters.push(Some(call.becomes(1, DataType::sized(TypeId::NVarChar, 2))?));
    }
    let result = DataType::sized(TypeId::NVarChar, 516);
    let has_quote = call.len() == 2;
    Ok(Binding::new(parameters, result, move |_, values| {
        let name = text(values, 0);
        let quote = if has_quote { text(values, 1) } else { "[" };
        let (open, close) = match quote.chars().next() {
            None | Some('[' | ']') => ('[', ']'),
            Some(c @ ('\'' | '"' | '`')) => (c, c),
            Some('(' | ')') => ('(', ')'),
            Some('<' | '>') => ('<', '>'),
            Some('{' | '}') => ('{', '}'),
            Some(_) => return Ok(Value::Null),
        };
        if units(name, true) > 128 {
            return Ok(Value::Null);
        }
        let mut out = String::with_capacity(name.len() + 2);
        out.push(open);
        for c in name.chars() {
            out.push(c);
            if c == close {
                out.push(c);
            }
        }
        out.push(close);
        Ok(Value::NVarChar(out))
    }))
}

pub(super) fn str(call: &Call<'_>) -> SqlResult<Binding> {
    let mut parameters = vec![Some(call.float(0)?)];
    for place in 1..call.len() {
        parameters.push(Some(call.int(place)?));
    }
    let count = call.len();
    let declared = call.get(1).constant.and_then(Value::as_i64);
    let size = match (count, declared) {
        (1, _) => 10,
        (_, Some(size @ 1..=8000)) => size as u32,
        _ => 8000,
    };
    let result = string_type(TypeId::VarChar, size, false);
    Ok(Binding::new(parameters, result, move |_, values| {
        let width = if count > 1 { number(values, 1) } else { 10 };
        let places = if count > 2 { number(values, 2) } else { 0 };
        let (Ok(width @ 1..=8000), Ok(places)) = (usize::try_from(width), usize::try_from(places))
        else {
            return Ok(Value::Null);
        };
        Ok(Value::VarChar(number_text(
            float(values, 0),
            width,
            places.min(16),
        )))
    }))
}

/// A number rounded to so many places. The formatting of floating-point numbers looks at all their digits,
/// as SQL Server does, but it rounds halves to an even digit: here they go away from zero.
fn rounded_text(number: f64, places: usize) -> String {
    // A half has all its digits here: one more than are shown, and zeros.
    let exact = format!("{number:.60}");
    let point = exact.find('.').unwrap_or(exact.len());
    let rest = exact.get(point + 1 + places..).unwrap_or_default();
    let is_half = rest
        .strip_prefix('5')
        .is_some_and(|rest| rest.bytes().all(|b| b == b'0'));
    match is_half {
        true if number > 0.0 => format!("{:.places$}", number.next_up()),
        true => format!("{:.places$}", number.next_down()),
        false => format!("{number:.places$}"),
    }
}

/// A number at the right of a text of so many characters: fewer decimals where they do not fit, stars where
/// the whole part does not.
fn number_text(number: f64, width: usize, places: usize) -> String {
    let rounded = |places: usize| rounded_text(number, places);
    let whole = rounded(0);
    if whole.len() > width {
        return "*".repeat(width);
    }
    let room = width.saturating_sub(whole.len() + 1);
    format!("{:>width$}", rounded(places.min(room)))
}

/// What fits in nvarchar(4000).
fn most(mut text: String) -> String {
    let mut units = 0;
    let too_many = text.char_indices().find(|(_, c)| {
        units += c.len_utf16();
        units > 4000
    });
    if let Some((end, _)) = too_many {
        text.truncate(end);
    }
    text
}

/// FORMAT. An empty format is the general one, as in .NET.
pub(super) fn format(call: &Call<'_>) -> SqlResult<Binding> {
    use furrow_types::Family;
    let from = call.get(0).data_type;
    let formats = matches!(
        from.id.family(),
        Family::Integer | Family::Exact | Family::Approximate | Family::DateTime
    );
    if !formats || from.id == TypeId::Bit {
        return Err(call.refuse(0));
    }
    let pattern = DataType::sized(TypeId::NVarChar, 8000);
    let mut parameters = vec![None, Some(call.becomes(1, pattern)?)];
    if call.len() == 3 {
        parameters.push(Some(
            call.becomes(2, DataType::sized(TypeId::NVarChar, 256))?,
        ));
    }
    let has_culture = call.len() == 3;
    Ok(Binding::new(parameters, pattern, move |env, values| {
        let culture = if has_culture {
            text(values, 2)
        } else {
            "en-US"
        };
        if !culture.eq_ignore_ascii_case("en-US") {
            return Err(message(9818, &[culture.into()]));
        }
        let offset = env.now.offset_minutes;
        let format = match text(values, 1) {
            "" if matches!(values.first(), Some(Value::Time(_))) => "c",
            "" => "G",
            format => format,
        };
        let formatted = values
            .first()
            .and_then(|value| format_value(value, format, offset));
        Ok(formatted.map_or(Value::Null, |text| value(most(text), true)))
    }))
}
