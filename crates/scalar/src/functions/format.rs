//! FORMAT: the standard and custom formats of .NET that reports use, for the culture `en-US`.
//!
//! Numbers: `C`, `D`, `F`, `N`, `P`, `X`, `G`, `E` with digits, and custom pictures of `0 # , . %` with
//! literal text. Moments: `d`, `D`, `t`, `T`, `g`, `G`, `f`, `F`, `s`, `u`, `M`, `Y`, and pictures of `y
//! M d H h m s f t`. A format that is neither gives NULL.

use std::fmt::Write;

use furrow_types::{DateTime2, Decimal, Value};

use super::date_math::{month_name, weekday_name};
use crate::exact::power_of_ten;
use crate::types::exact;

/// The value in the format; `None` where the format is none for the type.
pub(super) fn format_value(value: &Value, format: &str) -> Option<String> {
    match crate::convert::moment_parts(value) {
        Some(at) => format_moment(at, format),
        None => format_number(value, format),
    }
}

/// The number rounded to so many places: sign and digits.
fn rounded(value: &Value, places: usize) -> Option<(bool, String)> {
    let places = places.min(20);
    if let Some(n) = exact(value) {
        let dropped = usize::from(n.scale).saturating_sub(places);
        let unit = power_of_ten(u8::try_from(dropped).ok()?);
        let magnitude = n.unscaled.unsigned_abs();
        let kept = magnitude / unit + u128::from(dropped > 0 && magnitude % unit >= unit / 2);
        let scale = (usize::from(n.scale) - dropped) as u8;
        let number = Decimal {
            unscaled: kept.cast_signed(),
            scale,
        };
        let mut text = crate::convert::decimal_text(number);
        if scale == 0 && places > 0 {
            text.push('.');
        }
        text.extend(std::iter::repeat_n('0', places - usize::from(scale)));
        return Some((n.unscaled < 0 && kept > 0, text));
    }
    let x = crate::ops::approximate(value)?;
    Some((x < 0.0, format!("{:.places$}", x.abs())))
}

/// Commas between groups of three.
fn grouped(digits: &str) -> String {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

fn format_number(value: &Value, format: &str) -> Option<String> {
    let mut letters = format.chars();
    let kind = letters.next()?;
    let digits = letters.as_str();
    if !kind.is_ascii_alphabetic() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return picture(value, format);
    }
    let places: Option<usize> = if digits.is_empty() {
        None
    } else {
        Some(digits.parse().ok()?)
    };
    let sign = |negative: bool| if negative { "-" } else { "" };
    Some(match kind.to_ascii_uppercase() {
        'C' => {
            let (negative, text) = rounded(value, places.unwrap_or(2))?;
            let text = grouped(&text);
            if negative {
                format!("(${text})")
            } else {
                format!("${text}")
            }
        }
        'N' => {
            let (negative, text) = rounded(value, places.unwrap_or(2))?;
            format!("{}{}", sign(negative), grouped(&text))
        }
        'F' => {
            let (negative, text) = rounded(value, places.unwrap_or(2))?;
            format!("{}{text}", sign(negative))
        }
        'P' => {
            let (negative, text) = rounded(&hundredfold(value)?, places.unwrap_or(2))?;
            format!("{}{}%", sign(negative), grouped(&text))
        }
        'D' => {
            let n = value.as_i64()?;
            let width = places.unwrap_or(1).min(100);
            format!("{}{:0width$}", sign(n < 0), n.unsigned_abs())
        }
        'X' => {
            let n = value.as_i64()?;
            let n = match value {
                Value::Int(n) => u64::from(n.cast_unsigned()),
                _ => n.cast_unsigned(),
            };
            let width = places.unwrap_or(1).min(100);
            if kind == 'X' {
                format!("{n:0width$X}")
            } else {
                format!("{n:0width$x}")
            }
        }
        'E' => {
            let x = crate::ops::approximate(value)?;
            let text = format!("{x:.places$E}", places = places.unwrap_or(6).min(20));
            let (digits, exponent) = text.split_once('E')?;
            let exponent: i32 = exponent.parse().ok()?;
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}{kind}{sign}{:03}", exponent.abs())
        }
        'G' if places.is_none() => match exact(value) {
            Some(number) => crate::convert::decimal_text(number),
            None => value.to_string(),
        },
        _ => return None,
    })
}

fn hundredfold(value: &Value) -> Option<Value> {
    if let Some(n) = exact(value) {
        let unscaled = n.unscaled.checked_mul(100)?;
        return Some(Value::Decimal(Decimal { unscaled, ..n }));
    }
    Some(Value::Float(crate::ops::approximate(value)? * 100.0))
}

/// A custom picture: zeros are digits always shown, `#` digits where there are any, a comma between digits
/// groups, `%` multiplies by a hundred. Sections after `;` are for negative numbers and zero.
fn picture(value: &Value, format: &str) -> Option<String> {
    let negative = exact(value).map_or_else(
        || crate::ops::approximate(value).is_some_and(|x| x < 0.0),
        |n| n.unscaled < 0,
    );
    let sections: Vec<&str> = format.split(';').collect();
    let (section, shows_sign) = match sections.as_slice() {
        [_, second, ..] if negative && !second.is_empty() => (*second, false),
        [first, ..] => (*first, negative),
        [] => return None,
    };
    let is_digit = |c: char| matches!(c, '0' | '#' | ',' | '.');
    let start = section.find(is_digit)?;
    let end = section.rfind(is_digit)? + 1;
    let (before, after) = (section.get(..start)?, section.get(end..)?);
    let mask = section.get(start..end)?;
    if !mask.chars().all(is_digit) {
        return None;
    }
    let (whole_mask, fraction_mask) = mask.split_once('.').unwrap_or((mask, ""));
    let scaled = if section.contains('%') {
        hundredfold(value)?
    } else {
        value.clone()
    };
    let places = fraction_mask
        .chars()
        .filter(|c| matches!(c, '0' | '#'))
        .count();
    let (_, digits) = rounded(&scaled, places)?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let least = whole_mask.chars().filter(|&c| c == '0').count();
    let whole = whole.trim_start_matches('0');
    let mut whole = format!("{whole:0>least$}");
    if whole_mask.contains(',') {
        whole = grouped(&whole);
    }
    let needed = fraction_mask.rfind('0').map_or(0, |at| at + 1);
    let mut fraction = fraction.to_owned();
    while fraction.len() > needed && fraction.ends_with('0') {
        fraction.pop();
    }
    let literal = |text: &str| text.replace(['\'', '"', '\\'], "");
    let mut out = String::new();
    if shows_sign && digits.bytes().any(|digit| digit != b'0' && digit != b'.') {
        out.push('-');
    }
    out.push_str(&literal(before));
    out.push_str(&whole);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(&fraction);
    }
    out.push_str(&literal(after));
    Some(out)
}

fn format_moment(at: DateTime2, format: &str) -> Option<String> {
    let custom = match format {
        "d" => "M/d/yyyy",
        "D" => "dddd, MMMM d, yyyy",
        "t" => "h:mm tt",
        "T" => "h:mm:ss tt",
        "g" => "M/d/yyyy h:mm tt",
        "G" => "M/d/yyyy h:mm:ss tt",
        "f" => "dddd, MMMM d, yyyy h:mm tt",
        "F" | "U" => "dddd, MMMM d, yyyy h:mm:ss tt",
        "s" => "yyyy-MM-ddTHH:mm:ss",
        "u" => "yyyy-MM-dd HH:mm:ssZ",
        "m" | "M" => "MMMM d",
        "y" | "Y" => "MMMM yyyy",
        "o" | "O" => "yyyy-MM-ddTHH:mm:ss.fffffff",
        other if other.chars().count() > 1 => other,
        _ => return None,
    };
    let mut out = String::new();
    let mut rest = custom;
    while let Some(c) = rest.chars().next() {
        if matches!(c, '\'' | '"') {
            let (quoted, tail) = rest.get(1..)?.split_once(c)?;
            out.push_str(quoted);
            rest = tail;
            continue;
        }
        if c == '\\' {
            let mut tail = rest.get(1..)?.chars();
            out.push(tail.next()?);
            rest = tail.as_str();
            continue;
        }
        let count = rest.chars().take_while(|&other| other == c).count();
        write_part(&mut out, at, c, count)?;
        rest = rest.get(count * c.len_utf8()..)?;
    }
    Some(out)
}

fn write_part(out: &mut String, at: DateTime2, c: char, count: usize) -> Option<()> {
    let (year, month, day) = at.date.to_ymd();
    let seconds = at.time.ticks() / 10_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let width = count.min(2);
    match (c, count) {
        ('y', 1 | 2) => write!(out, "{:0width$}", year % 100),
        ('y', _) => write!(out, "{year:0count$}"),
        ('M', 3) => out.write_str(month_name(at.date).get(..3)?),
        ('M', 4..) => out.write_str(month_name(at.date)),
        ('M', _) => write!(out, "{month:0width$}"),
        ('d', 3) => out.write_str(weekday_name(at.date).get(..3)?),
        ('d', 4..) => out.write_str(weekday_name(at.date)),
        ('d', _) => write!(out, "{day:0width$}"),
        ('H', _) => write!(out, "{hour:0width$}"),
        ('h', _) => write!(out, "{:0width$}", (hour + 11) % 12 + 1),
        ('m', _) => write!(out, "{minute:0width$}"),
        ('s', _) => write!(out, "{second:0width$}"),
        ('f', 1..=7) => {
            let digits = format!("{:07}", at.time.ticks() % 10_000_000);
            out.write_str(digits.get(..count)?)
        }
        ('t', _) => {
            let half = if hour < 12 { "AM" } else { "PM" };
            out.write_str(half.get(..width)?)
        }
        _ => {
            out.extend(std::iter::repeat_n(c, count));
            Ok(())
        }
    }
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::{DateOrder, TypeId, parse_moment};

    #[test]
    fn numbers_take_standard_formats_and_pictures() {
        let number = |unscaled, scale| Value::Decimal(Decimal { unscaled, scale });
        for (value, format, expected) in [
            (number(1_234_567, 3), "N", "1,234.57"),
            (number(-1_234_567, 3), "N1", "-1,234.6"),
            (number(-12345, 1), "C", "($1,234.50)"),
            (number(256, 3), "P", "25.60%"),
            (Value::Int(42), "D5", "00042"),
            (Value::Int(-42), "D", "-42"),
            (Value::Int(255), "X4", "00FF"),
            (Value::Int(-1), "x", "ffffffff"),
            (Value::Float(1234.5), "F1", "1234.5"),
            (Value::Float(12345.678), "E2", "1.23E+004"),
            (number(12345, 2), "#,##0.00", "123.45"),
            (Value::Int(1_234_567), "#,##0", "1,234,567"),
            (number(5, 1), "0.##", "0.5"),
            (number(5, 1), "#.00", ".50"),
            (number(256, 3), "0.0%", "25.6%"),
            (Value::Int(-5), "0;(0)", "(5)"),
            (Value::Int(123_456_789), "000-00-0000", ""),
        ] {
            let got = format_value(&value, format).unwrap_or_default();
            assert_eq!(got, expected, "{value} {format}");
        }
    }

    #[test]
    fn moments_take_standard_formats_and_pictures() {
        let text = "2006-01-02 15:04:05.1234567";
        let at = parse_moment(text, DateOrder::Ymd, TypeId::DateTime2).unwrap();
        let value = Value::DateTime2(at.local);
        for (format, expected) in [
            ("d", "1/2/2006"),
            ("D", "Monday, January 2, 2006"),
            ("g", "1/2/2006 3:04 PM"),
            ("s", "2006-01-02T15:04:05"),
            ("yyyy-MM-dd HH:mm:ss.fff", "2006-01-02 15:04:05.123"),
            ("dd MMM yy, hh:mm tt", "02 Jan 06, 03:04 PM"),
            ("dddd 'the' d", "Monday the 2"),
            ("yyyyMMdd", "20060102"),
            ("q", ""),
        ] {
            let got = format_value(&value, format).unwrap_or_default();
            assert_eq!(got, expected, "{format}");
        }
    }
}
