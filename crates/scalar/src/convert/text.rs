//! Values to text: numbers, money, floats, dates, GUIDs and bytes, by style, and their fit into a length.

use furrow_types::{Decimal, Family, TypeId, Value, decode_1252, decode_utf16, encode_1252};

use super::Conversion;
use super::style::{format_moment, parts};
use crate::error::{SqlResult, cannot_convert, message, overflow, overflow_from};
use crate::room;
use crate::text::{cut, units};
use furrow_messages::Message;

/// A text of the kind that a type has.
pub(super) fn same_kind(text: &str, id: TypeId) -> Value {
    crate::text::value(text.to_owned(), id.is_unicode())
}

pub(super) fn to_text(to: &Conversion, value: &Value) -> SqlResult<Value> {
    let unicode = to.to.id.is_unicode();
    let style = to.style.unwrap_or(0);
    let text = match value {
        Value::VarChar(text) | Value::NVarChar(text) => {
            let mut text = text.clone();
            if !unicode && !text.is_ascii() {
                // Characters that the code page lacks are replaced.
                let mut bytes = Vec::with_capacity(text.len());
                encode_1252(&text, &mut bytes);
                text = decode_1252(&bytes);
            }
            return Ok(fitted(text, to));
        }
        Value::Binary(bytes) => bytes_text(bytes, to, style, unicode)?,
        Value::Date(_)
        | Value::Time(_)
        | Value::DateTime(_)
        | Value::SmallDateTime(_)
        | Value::DateTime2(_)
        | Value::DateTimeOffset(_) => return moment_text(value, to),
        Value::Money(n) => money_text(*n, style),
        Value::SmallMoney(n) => money_text(i64::from(*n), style),
        Value::Float(x) => float_text(*x, style),
        Value::Real(x) => float_text(f64::from(*x), style),
        Value::Decimal(number) => decimal_text(*number),
        Value::Variant(_) => return Err(cannot_convert(TypeId::SqlVariant, to.to.id)),
        _ => value.to_string(),
    };
    let room = room(to);
    if room.is_some_and(|room| text.len() > room) && !matches!(value, Value::Binary(_)) {
        return too_narrow(value, to);
    }
    Ok(fitted(text, to))
}

/// Units that fit; `None` for `(max)` and LOBs.
fn room(to: &Conversion) -> Option<usize> {
    if to.to.is_max() || to.to.id.family() == Family::Lob {
        return None;
    }
    let bytes = usize::from(to.to.length.max(0).unsigned_abs());
    Some(if to.to.id.is_unicode() {
        bytes / 2
    } else {
        bytes
    })
}

/// The text cut to the length, and padded for `char`.
fn fitted(mut text: String, to: &Conversion) -> Value {
    let unicode = to.to.id.is_unicode();
    if let Some(room) = room(to) {
        cut(&mut text, room, unicode);
        if matches!(to.to.id, TypeId::Char | TypeId::NChar) {
            let missing = room.saturating_sub(units(&text, unicode));
            text.extend(std::iter::repeat_n(' ', missing));
        }
    }
    crate::text::value(text, unicode)
}

/// A number that does not fit: `*` for small integers in `char` and `varchar`, else an error.
fn too_narrow(value: &Value, to: &Conversion) -> SqlResult<Value> {
    let small = matches!(
        value,
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::Bit(_)
    );
    Err(match value {
        _ if small && !to.to.id.is_unicode() => return Ok(fitted("*".to_owned(), to)),
        Value::Money(_) | Value::SmallMoney(_) => message(234, &[to.to.id.name().into()]),
        Value::Guid(_) => message(8170, &[]),
        Value::Decimal(_) => overflow_from("numeric", to.to.id).with_state(5),
        Value::Float(x) if !to.to.id.is_unicode() => float_overflow(*x, to.to.id),
        Value::Real(x) if !to.to.id.is_unicode() => float_overflow(f64::from(*x), to.to.id),
        _ => overflow(to.to.id),
    })
}

/// 232: a floating-point number whose text does not fit.
fn float_overflow(number: f64, to: TypeId) -> Message {
    let to = to.name();
    let text = format!("Arithmetic overflow error for type {to}, value = {number:.6}.");
    Message::custom(232, 16, 2, &text)
}

fn bytes_text(bytes: &[u8], to: &Conversion, style: i32, unicode: bool) -> SqlResult<String> {
    let hex = |prefix: &str| {
        room::check_bytes(2 + 2 * bytes.len())?;
        let mut text = room::text(2 + 2 * bytes.len())?;
        text.push_str(prefix);
        for byte in room::pieces(bytes).flatten() {
            for nibble in [byte >> 4, byte & 0x0F] {
                let digit = char::from_digit(u32::from(nibble), 16).unwrap_or('0');
                text.push(digit.to_ascii_uppercase());
            }
        }
        Ok(text)
    };
    match style {
        0 if unicode => Ok(decode_utf16(bytes)),
        0 => Ok(decode_1252(bytes)),
        1 => hex("0x"),
        2 => hex(""),
        _ => Err(message(281, &[style.into(), to.from.id.name().into()])),
    }
}

/// Moments: the old types in `mon dd yyyy hh:miAM`, the new ones as ISO 8601 writes them.
fn moment_text(value: &Value, to: &Conversion) -> SqlResult<Value> {
    let Some((at, mut parts)) = parts(value) else {
        return Err(cannot_convert(to.from.id, to.to.id));
    };
    let default = if parts.modern { 121 } else { 0 };
    let style = to.style.unwrap_or(default);
    if matches!(value, Value::SmallDateTime(_)) && style == 126 {
        parts.scale = 0;
    }
    if matches!(style, 130 | 131) {
        let text = format!(
            "'CONVERT with style {style} (the Hijri calendar)' is not supported in this version of Furrow."
        );
        return Err(Message::custom(40_514, 16, 1, &text));
    }
    match format_moment(at, parts, style) {
        Some(text) => Ok(fitted(text, to)),
        None => {
            let from = value.type_id().unwrap_or(to.from.id).name();
            Err(message(281, &[style.into(), from.into()]))
        }
    }
}

/// An exact number with all its digits, a zero before the point.
pub(crate) fn decimal_text(number: Decimal) -> String {
    let text = number.to_string();
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with('.') => format!("-0{rest}"),
        None if text.starts_with('.') => format!("0{text}"),
        _ => text,
    }
}

/// Money: 0 two digits, 1 two digits and commas, 2 and 126 four digits.
pub(crate) fn money_text(ten_thousandths: i64, style: i32) -> String {
    let four = matches!(style, 2 | 126);
    let magnitude = ten_thousandths.unsigned_abs();
    let (unit, width, magnitude) = if four {
        (10_000, 4, magnitude)
    } else {
        (100, 2, (magnitude + 50) / 100)
    };
    let mut whole = (magnitude / unit).to_string();
    if style == 1 {
        let mut at = whole.len();
        while at > 3 {
            at -= 3;
            whole.insert(at, ',');
        }
    }
    let sign = if ten_thousandths < 0 && magnitude > 0 {
        "-"
    } else {
        ""
    };
    format!("{sign}{whole}.{:0width$}", magnitude % unit)
}

/// Floating-point numbers: 0 at most six digits, 1 eight, 2 sixteen in scientific form, 3 all that count.
pub(crate) fn float_text(number: f64, style: i32) -> String {
    match style {
        1 => scientific(number, 7, true),
        2 => scientific(number, 15, true),
        3 => scientific(number, 16, true),
        _ => general(number, 6),
    }
}

/// In the manner of C's `%g`: so many digits, scientific where the exponent is under -4 or not under that.
fn general(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return "0".to_owned();
    }
    let rounded = format!("{number:.places$e}", places = digits - 1);
    let exponent: i32 = rounded
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    let limit = i32::try_from(digits).unwrap_or(i32::MAX);
    if !(-4..limit).contains(&exponent) {
        return scientific(number, digits - 1, false);
    }
    let places = usize::try_from(limit - 1 - exponent).unwrap_or(0);
    let plain = format!("{number:.places$}");
    match plain.contains('.') {
        true => plain.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => plain,
    }
}

/// `1.23457e+006`: three digits of exponent.
fn scientific(number: f64, places: usize, keep_zeros: bool) -> String {
    let text = format!("{number:.places$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = match keep_zeros || !digits.contains('.') {
        true => digits,
        false => digits.trim_end_matches('0').trim_end_matches('.'),
    };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(rest) => ('-', rest),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>3}")
}
