//! FORMAT of numbers: the standard and custom formats of .NET Framework for the culture `en-US`.
//!
//! A `float` has 15 digits and a `real` seven, as in .NET Framework; exact numbers have all their digits. A
//! digit of 5 or more rounds away from zero.

use furrow_types::{TypeId, Value};

use crate::convert::decimal_text;
use crate::types::exact;

/// Most digits that a standard format takes.
const MOST_PLACES: usize = 99;

/// The digits of a number: it is `0.` followed by them, times ten to the power of `scale`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Digits {
    negative: bool,
    digits: Vec<u8>,
    scale: i32,
}

impl Digits {
    fn of(value: &Value) -> Option<Digits> {
        match (exact(value), value) {
            (Some(n), _) => {
                let digits = match n.unscaled {
                    0 => Vec::new(),
                    n => n.unsigned_abs().to_string().into_bytes(),
                };
                Some(Digits {
                    negative: n.unscaled < 0,
                    scale: i32::try_from(digits.len()).ok()? - i32::from(n.scale),
                    digits,
                })
            }
            (None, Value::Real(x)) => Some(Digits::of_float(f64::from(*x), 7)),
            (None, _) => Some(Digits::of_float(crate::ops::approximate(value)?, 15)),
        }
    }

    /// The first digits of a floating-point number.
    fn of_float(x: f64, precision: usize) -> Digits {
        let text = format!("{:.places$e}", x.abs(), places = precision.max(1) - 1);
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mut number = Digits {
            negative: x < 0.0,
            digits: mantissa.bytes().filter(u8::is_ascii_digit).collect(),
            scale: exponent.parse::<i32>().unwrap_or(0) + 1,
        };
        number.trim();
        number
    }

    /// Removes zeros at the end. Zero has no sign.
    fn trim(&mut self) {
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            (self.negative, self.scale) = (false, 0);
        }
    }

    /// Rounds to a number of digits.
    fn round(&mut self, keep: i32) {
        let Ok(keep) = usize::try_from(keep) else {
            self.digits.clear();
            return self.trim();
        };
        let up = self.digits.get(keep).is_some_and(|digit| *digit >= b'5');
        self.digits.truncate(keep);
        if up {
            while self.digits.last() == Some(&b'9') {
                self.digits.pop();
            }
            match self.digits.last_mut() {
                Some(digit) => *digit += 1,
                None => {
                    self.digits.push(b'1');
                    self.scale += 1;
                }
            }
        }
        self.trim();
    }

    /// The digit at a place from the front; 0 behind the last one.
    fn digit(&self, at: i32) -> char {
        let digit = usize::try_from(at).ok().and_then(|at| self.digits.get(at));
        char::from(digit.copied().unwrap_or(b'0'))
    }

    /// Rounded to so many places, without a sign.
    fn fixed(&mut self, places: usize, groups: bool) -> String {
        let decimals = i32::try_from(places).unwrap_or(0);
        self.round(self.scale.saturating_add(decimals));
        let whole = self.scale.max(1);
        let mut out = String::new();
        for left in (1..=whole).rev() {
            out.push(self.digit(self.scale - left));
            if groups && left > 1 && left % 3 == 1 {
                out.push(',');
            }
        }
        if places > 0 {
            out.push('.');
            out.extend((0..decimals).map(|place| self.digit(self.scale + place)));
        }
        out
    }

    /// In scientific form with so many places, the exponent with at least `least` digits.
    fn scientific(&self, places: usize, letter: char, least: usize) -> String {
        let mut out = String::from(self.digit(0));
        if places > 0 {
            out.push('.');
            let places = i32::try_from(places).unwrap_or(0);
            out.extend((1..=places).map(|place| self.digit(place)));
        }
        push_exponent(&mut out, self.exponent(1), letter, least, true);
        out
    }

    /// The exponent, where so many digits are before the point.
    fn exponent(&self, before_point: i32) -> i32 {
        match self.digits.is_empty() {
            true => 0,
            false => self.scale - before_point,
        }
    }

    /// The form of `G`: scientific where the number has more digits before the point than `most`, or more
    /// than four zeros behind it.
    fn general(&self, most: i32, letter: char) -> String {
        let sign = if self.negative { "-" } else { "" };
        let count = self.digits.len();
        if !self.digits.is_empty() && (self.scale > most || self.scale < -3) {
            let text = self.scientific(count - 1, letter, 2);
            return format!("{sign}{text}");
        }
        let places = (count as i32 - self.scale).max(0);
        let text = self.clone().fixed(places as usize, false);
        format!("{sign}{text}")
    }
}

fn push_exponent(out: &mut String, exponent: i32, letter: char, least: usize, plus: bool) {
    out.push(letter);
    match exponent {
        ..0 => out.push('-'),
        _ if plus => out.push('+'),
        _ => {}
    }
    out.push_str(&format!("{:0least$}", exponent.unsigned_abs()));
}

/// A number in a format; `None` where .NET raises an exception.
pub(super) fn format_number(value: &Value, format: &str) -> Option<String> {
    let mut letters = format.chars();
    let kind = letters.next()?;
    let digits = letters.as_str();
    let standard = kind.is_ascii_alphabetic()
        && digits.len() <= 2
        && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !standard {
        return custom(value, format);
    }
    let places: Option<usize> = digits.parse().ok();
    let places = places.map(|places| places.min(MOST_PLACES));
    let mut number = Digits::of(value)?;
    let two = places.unwrap_or(2);
    match kind.to_ascii_uppercase() {
        'C' => {
            let text = number.fixed(two, true);
            Some(match number.negative {
                true => format!("(${text})"),
                false => format!("${text}"),
            })
        }
        'N' => Some(fixed(number, two, true)),
        'F' => Some(fixed(number, two, false)),
        'P' => {
            number.scale += 2;
            Some(fixed(number, two, true) + "%")
        }
        'D' => {
            let n = whole(value)?;
            let width = places.unwrap_or(1);
            let sign = if n < 0 { "-" } else { "" };
            Some(format!("{sign}{:0width$}", n.unsigned_abs()))
        }
        'X' => hexadecimal(value, kind, places.unwrap_or(1)),
        'E' => {
            let places = places.unwrap_or(6);
            let mut number = with_precision(value, places + 1)?;
            number.round(i32::try_from(places).ok()? + 1);
            let sign = if number.negative { "-" } else { "" };
            let text = number.scientific(places, kind, 3);
            Some(format!("{sign}{text}"))
        }
        'G' => general(value, places.filter(|places| *places > 0), kind),
        'R' => round_trip(value),
        _ => None,
    }
}

fn fixed(mut number: Digits, places: usize, groups: bool) -> String {
    let text = number.fixed(places, groups);
    match number.negative {
        true => format!("-{text}"),
        false => text,
    }
}

/// The value of an integer type.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::TinyInt(_) | Value::SmallInt(_) | Value::Int(_) | Value::BigInt(_) => value.as_i64(),
        _ => None,
    }
}

fn hexadecimal(value: &Value, kind: char, width: usize) -> Option<String> {
    let n = whole(value)?;
    let n = match value {
        Value::SmallInt(n) => u64::from(n.cast_unsigned()),
        Value::Int(n) => u64::from(n.cast_unsigned()),
        _ => n.cast_unsigned(),
    };
    Some(match kind {
        'X' => format!("{n:0width$X}"),
        _ => format!("{n:0width$x}"),
    })
}

/// The digits of a number of which more than the usual ones are asked for: a `float` has 17 then, and a
/// `real` nine.
fn with_precision(value: &Value, count: usize) -> Option<Digits> {
    match value {
        Value::Float(x) if count > 15 => Some(Digits::of_float(*x, 17)),
        Value::Real(x) if count > 7 => Some(Digits::of_float(f64::from(*x), 9)),
        _ => Digits::of(value),
    }
}

fn general(value: &Value, places: Option<usize>, kind: char) -> Option<String> {
    let letter = if kind == 'g' { 'e' } else { 'E' };
    let own = match value {
        Value::TinyInt(_) => 3,
        Value::SmallInt(_) => 5,
        Value::Int(_) => 10,
        Value::BigInt(_) => 19,
        Value::Real(_) => 7,
        Value::Float(_) => 15,
        _ => match places {
            // All digits of an exact number, with the zeros at its end.
            None => return Some(decimal_text(exact(value)?)),
            Some(_) => 29,
        },
    };
    let count = places.unwrap_or(own);
    let mut number = with_precision(value, count)?;
    number.round(i32::try_from(count).ok()?);
    Some(number.general(i32::try_from(count).ok()?, letter))
}

/// `R`: the fewest of 15 and 17 digits (seven and nine) that give the same number when they are read.
fn round_trip(value: &Value) -> Option<String> {
    let (x, short, long) = match value {
        Value::Float(x) => (*x, 15, 17),
        Value::Real(x) => (f64::from(*x), 7, 9),
        _ => return None,
    };
    let number = Digits::of_float(x, short);
    let text = number.general(short as i32, 'E');
    let same = match value.type_id() {
        Some(TypeId::Real) => text.parse::<f32>().is_ok_and(|read| f64::from(read) == x),
        _ => text.parse::<f64>().is_ok_and(|read| read == x),
    };
    Some(match same {
        true => text,
        false => Digits::of_float(x, long).general(long as i32, 'E'),
    })
}

/// What the section of a custom format asks for.
#[derive(Debug, Default)]
struct Picture {
    /// How many `0` and `#` it has.
    count: i32,
    /// How many of them are before the first `0`.
    first: Option<i32>,
    /// How many of them are up to the last `0`.
    last: i32,
    /// How many of them are before the point.
    point: Option<i32>,
    groups: bool,
    is_scientific: bool,
    /// The power of ten that `%` and commas before the point multiply by.
    power: i32,
}

/// A character of a custom format, or text that stands for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Mark(char),
    Text(String),
    /// An exponent: its letter, whether `+` is written, and the least number of digits.
    Exponent(char, bool, usize),
}

/// The tokens of each section of a custom format.
fn sections(format: &str) -> Vec<Vec<Token>> {
    let letters: Vec<char> = format.chars().collect();
    let (mut all, mut section, mut at) = (Vec::new(), Vec::new(), 0);
    while let Some(&letter) = letters.get(at) {
        at += 1;
        match letter {
            ';' => all.push(std::mem::take(&mut section)),
            '\'' | '"' => {
                let rest = letters.get(at..).unwrap_or_default();
                let length = rest.iter().position(|c| *c == letter);
                let text = rest.iter().take(length.unwrap_or(rest.len()));
                section.push(Token::Text(text.collect()));
                at += length.map_or(rest.len(), |length| length + 1);
            }
            '\\' => {
                section.extend(letters.get(at).map(|c| Token::Text(c.to_string())));
                at += 1;
            }
            'e' | 'E' => {
                let sign = letters.get(at).filter(|c| matches!(c, '+' | '-'));
                let zeros = at + usize::from(sign.is_some());
                let rest = letters.get(zeros..).unwrap_or_default();
                let count = rest.iter().take_while(|c| **c == '0').count();
                match count {
                    0 => section.push(Token::Text(letter.to_string())),
                    _ => {
                        let plus = sign == Some(&'+');
                        section.push(Token::Exponent(letter, plus, count.min(10)));
                        at = zeros + count;
                    }
                }
            }
            '0' | '#' | '.' | ',' | '%' | '\u{2030}' => section.push(Token::Mark(letter)),
            _ => section.push(Token::Text(letter.to_string())),
        }
    }
    all.push(section);
    all
}

impl Picture {
    fn of(section: &[Token]) -> Picture {
        let mut picture = Picture::default();
        // The number of digits before the last comma, and how many commas follow each other there.
        let mut commas: Option<(i32, i32)> = None;
        for token in section {
            let mark = match token {
                Token::Mark(mark) => *mark,
                Token::Exponent(..) => {
                    picture.is_scientific = true;
                    continue;
                }
                Token::Text(_) => continue,
            };
            match mark {
                '#' => picture.count += 1,
                '0' => {
                    picture.first.get_or_insert(picture.count);
                    picture.count += 1;
                    picture.last = picture.count;
                }
                '.' => {
                    picture.point.get_or_insert(picture.count);
                }
                ',' if picture.count > 0 && picture.point.is_none() => {
                    commas = match commas {
                        Some((at, several)) if at == picture.count => Some((at, several + 1)),
                        before => {
                            picture.groups |= before.is_some();
                            Some((picture.count, 1))
                        }
                    };
                }
                '%' => picture.power += 2,
                '\u{2030}' => picture.power += 3,
                _ => {}
            }
        }
        match commas {
            Some((at, several)) if at == picture.point() => picture.power -= 3 * several,
            Some(_) => picture.groups = true,
            None => {}
        }
        picture
    }

    fn point(&self) -> i32 {
        self.point.unwrap_or(self.count)
    }

    /// Multiplies the number by its power of ten, and rounds it to the digits that are shown.
    fn fit(&self, number: &mut Digits) {
        if number.digits.is_empty() {
            return number.trim();
        }
        number.scale += self.power;
        number.round(match self.is_scientific {
            true => self.count,
            false => number.scale + self.count - self.point(),
        });
    }
}

/// A custom format. Sections after `;` are for negative numbers and zero.
fn custom(value: &Value, format: &str) -> Option<String> {
    let sections = sections(format);
    let find = |at: usize| match sections.get(at) {
        Some(section) if !section.is_empty() => at,
        _ => 0,
    };
    let mut number = Digits::of(value)?;
    number.trim();
    let written = number.clone();
    let mut at = match (number.digits.is_empty(), number.negative) {
        (true, _) => find(2),
        (false, true) => find(1),
        (false, false) => 0,
    };
    let mut picture = Picture::of(sections.get(at)?);
    picture.fit(&mut number);
    if number.digits.is_empty() && !written.digits.is_empty() && find(2) != at {
        // What is rounded to zero has the section of zero.
        at = find(2);
        picture = Picture::of(sections.get(at)?);
    }
    let mut out = String::new();
    if number.negative && at == 0 {
        out.push('-');
    }
    write_section(&mut out, sections.get(at)?, &picture, &number);
    Some(out)
}

fn write_section(out: &mut String, section: &[Token], picture: &Picture, number: &Digits) {
    let point = picture.point();
    // The least digits before the point, and the place of the last digit that is always shown behind it.
    let first = picture.first.map_or(0, |first| (point - first).max(0));
    let last = (point - picture.last).min(0);
    // Places left until the point, and how many more or fewer digits the number has before it.
    let (mut place, mut surplus) = match picture.is_scientific {
        true => (point, 0),
        false => (number.scale.max(point), number.scale - point),
    };
    let mut next = 0;
    let count = number.digits.len() as i32;
    let comma = |out: &mut String, place: i32| {
        if picture.groups && place > 1 && place % 3 == 1 {
            out.push(',');
        }
    };
    let mut has_point = false;
    for token in section {
        let mark = match token {
            Token::Text(text) => {
                out.push_str(text);
                continue;
            }
            Token::Exponent(letter, plus, least) => {
                push_exponent(out, number.exponent(point), *letter, *least, *plus);
                continue;
            }
            Token::Mark(mark) => *mark,
        };
        if matches!(mark, '#' | '0' | '.') {
            while surplus > 0 {
                out.push(number.digit(next));
                next += 1;
                comma(out, place);
                (place, surplus) = (place - 1, surplus - 1);
            }
        }
        match mark {
            '#' | '0' => {
                let shown = match surplus < 0 {
                    true => {
                        surplus += 1;
                        (place <= first).then_some('0')
                    }
                    false => {
                        let digit = (next < count || place > last).then(|| number.digit(next));
                        next += i32::from(next < count);
                        digit
                    }
                };
                if let Some(digit) = shown {
                    out.push(digit);
                    comma(out, place);
                }
                place -= 1;
            }
            '.' if place == 0 && !has_point => {
                if last < 0 || (point < picture.count && next < count) {
                    out.push('.');
                    has_point = true;
                }
            }
            '.' | ',' => {}
            _ => out.push(mark),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::Decimal;

    fn check(cases: &[(Value, &str, Option<&str>)]) {
        for (value, format, expected) in cases {
            let got = format_number(value, format);
            assert_eq!(got.as_deref(), *expected, "{value} {format}");
        }
    }

    fn number(unscaled: i128, scale: u8) -> Value {
        Value::Decimal(Decimal { unscaled, scale })
    }

    #[test]
    fn numbers_take_standard_formats() {
        check(&[
            (number(1_234_567, 3), "N", Some("1,234.57")),
            (number(-1_234_567, 3), "N1", Some("-1,234.6")),
            (number(-12345, 1), "C", Some("($1,234.50)")),
            (number(256, 3), "P", Some("25.60%")),
            (number(-1, 3), "N2", Some("0.00")),
            (number(5, 3), "N2", Some("0.01")),
            (number(9995, 3), "N2", Some("10.00")),
            (number(150, 2), "G", Some("1.50")),
            (number(12345, 2), "G3", Some("123")),
            (Value::Int(42), "D5", Some("00042")),
            (Value::Int(-42), "D", Some("-42")),
            (Value::Float(4.0), "D", None),
            (Value::Int(255), "X4", Some("00FF")),
            (Value::Int(-1), "x", Some("ffffffff")),
            (Value::SmallInt(-1), "X", Some("FFFF")),
            (Value::Int(1_234_567), "G", Some("1234567")),
            (Value::Int(1_234_567), "G3", Some("1.23E+06")),
            (Value::Int(5), "R", None),
            (Value::Int(5), "k", None),
        ]);
    }

    #[test]
    fn a_float_has_fifteen_digits_and_rounds_away_from_zero() {
        check(&[
            (Value::Float(2.5), "N0", Some("3")),
            (Value::Float(-2.5), "N0", Some("-3")),
            (Value::Float(0.125), "N2", Some("0.13")),
            (Value::Float(1.005), "N2", Some("1.01")),
            (Value::Float(0.1), "N20", Some("0.10000000000000000000")),
            (Value::Float(1234.5), "F1", Some("1234.5")),
            (Value::Float(12345.678), "E2", Some("1.23E+004")),
            (Value::Float(0.0), "E2", Some("0.00E+000")),
            (Value::Float(1e5), "R", Some("100000")),
            (Value::Float(0.1 + 0.2), "R", Some("0.30000000000000004")),
            (Value::Float(0.1 + 0.2), "G", Some("0.3")),
            (Value::Float(1e15), "G", Some("1E+15")),
            (
                Value::Float(123_456_789_012_345.0),
                "G",
                Some("123456789012345"),
            ),
            (Value::Float(0.0001), "G", Some("0.0001")),
            (Value::Float(0.00001), "g", Some("1e-05")),
            (Value::Real(0.1), "N10", Some("0.1000000000")),
        ]);
    }

    #[test]
    fn numbers_take_custom_formats() {
        check(&[
            (number(12345, 2), "#,##0.00", Some("123.45")),
            (Value::Int(1_234_567), "#,##0", Some("1,234,567")),
            (Value::Int(0), "#,##0", Some("0")),
            (number(5, 1), "0.##", Some("0.5")),
            (Value::Int(5), "0.##", Some("5")),
            (number(5, 1), "#.00", Some(".50")),
            (number(256, 3), "0.0%", Some("25.6%")),
            (Value::Int(-5), "0;(0)", Some("(5)")),
            (Value::Int(-5), "0", Some("-5")),
            (Value::Int(0), "0;(0);zero", Some("zero")),
            (number(-1, 1), "0;(0);zero", Some("zero")),
            (Value::Int(123_456_789), "000-00-0000", Some("123-45-6789")),
            (Value::Int(123_456_789), "###-##-####", Some("123-45-6789")),
            (Value::Int(6789), "000-00-0000", Some("000-00-6789")),
            (Value::Int(1_234_567), "0,,.0M", Some("1.2M")),
            (Value::Int(1500), "0,k", Some("2k")),
            (Value::Int(15), "0\\%", Some("15%")),
            (Value::Int(15), "'n' 0 \"x\"", Some("n 15 x")),
        ]);
        check(&[
            (Value::Int(12345), "0.00E+00", Some("1.23E+04")),
            (Value::Int(12345), "0.0e0", Some("1.2e4")),
            (number(-1, 3), "0.00", Some("0.00")),
            (Value::Int(1_234_567), "0,000.0", Some("1,234,567.0")),
            (Value::Int(12), "0,000", Some("0,012")),
            (Value::Int(0), "#", Some("")),
        ]);
    }
}
