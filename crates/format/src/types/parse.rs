//! Text to numbers, dates, GUIDs and bytes.

use super::calendar::{Date, DateTime2, Time};
use super::{Decimal, Guid};

/// A whole number; blanks around it are allowed, and nothing at all is 0.
pub(super) fn integer(text: &str) -> Option<i128> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Longer numbers saturate: they overflow every type all the same.
    Some(text.parse().unwrap_or(if text.starts_with('-') {
        i128::MIN
    } else {
        i128::MAX
    }))
}

/// What became of a text that should be an exact number.
pub(super) enum Exact {
    Number(Decimal),
    TooLarge,
    NotANumber,
}

/// Digits with at most one point, rounded half up (away from zero) to `scale` digits behind it.
pub(super) fn decimal(text: &str, scale: u8) -> Exact {
    let text = text.trim_matches(' ');
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) || whole.len() + fraction.len() == 0 {
        return Exact::NotANumber;
    }
    let kept = usize::from(scale);
    let places = whole
        .bytes()
        .chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(kept));
    let mut unscaled = Some(0i128);
    for digit in places {
        let digit = i128::from(digit - b'0');
        unscaled = unscaled.and_then(|sum| sum.checked_mul(10)?.checked_add(digit));
    }
    if fraction
        .as_bytes()
        .get(kept)
        .is_some_and(|&digit| digit >= b'5')
    {
        unscaled = unscaled.and_then(|sum| sum.checked_add(1));
    }
    match unscaled {
        Some(sum) => Exact::Number(Decimal {
            unscaled: if negative { -sum } else { sum },
            scale,
        }),
        None => Exact::TooLarge,
    }
}

/// An amount of money in ten-thousandths: currency sign, sign and thousands' commas allowed.
pub(super) fn money(text: &str) -> Exact {
    let mut plain = String::with_capacity(text.len());
    let mut fraction = false;
    for (at, c) in text.trim_matches(' ').char_indices() {
        match c {
            '$' | '\u{A3}' | '\u{A5}' | '\u{20AC}' if at <= 1 => {}
            ',' if !fraction => {}
            _ => {
                fraction |= c == '.';
                plain.push(c);
            }
        }
    }
    if plain.is_empty() {
        plain.push('0');
    }
    decimal(&plain, 4)
}

/// A floating-point number; `None` also for what isn't finite.
pub(super) fn float(text: &str) -> Option<f64> {
    let text = text.trim_matches(' ');
    if text.is_empty() {
        return Some(0.0);
    }
    let allowed =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    if !text.bytes().all(allowed) {
        return None;
    }
    text.parse().ok()
}

/// `6F9619FF-8B86-D011-B42D-00C04FC964FF`, with or without braces; more text behind it is ignored.
pub(super) fn guid(text: &str) -> Option<Guid> {
    let text = text.trim_start_matches(' ');
    let text = text.strip_prefix('{').unwrap_or(text);
    let digits = text.as_bytes().first_chunk::<36>()?;
    let mut bytes = [0u8; 16];
    let mut places = bytes.iter_mut();
    let mut pending = None;
    for (at, &byte) in digits.iter().enumerate() {
        if matches!(at, 8 | 13 | 18 | 23) {
            if byte != b'-' {
                return None;
            }
            continue;
        }
        let nibble = char::from(byte).to_digit(16)? as u8;
        match pending.take() {
            None => pending = Some(nibble),
            Some(high) => *places.next()? = high << 4 | nibble,
        }
    }
    let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
    let [i, j, k, l, m, n, o, p] = rest;
    Some(Guid([d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]))
}

/// `0x` and hexadecimal digits; an odd count gets a zero in front.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_matches(' ');
    let digits = text
        .strip_prefix("0x")
        .or_else(|| text.strip_prefix("0X"))?;
    let nibbles = digits
        .chars()
        .map(|c| c.to_digit(16).map(|n| n as u8))
        .collect::<Option<Vec<_>>>()?;
    let (first, rest) = nibbles.split_at_checked(nibbles.len() % 2)?;
    let (pairs, _) = rest.as_chunks::<2>();
    Some(
        first
            .iter()
            .copied()
            .chain(pairs.iter().map(|[high, low]| high << 4 | low))
            .collect(),
    )
}

/// A moment as written: local date and time, and the offset if the text names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) local: DateTime2,
    pub(super) offset_minutes: Option<i16>,
}

/// Dates `yyyy-mm-dd`, `yyyymmdd`, `mm/dd/yyyy`, each with or without a time; or a time alone (on
/// 1900-01-01).
///
/// Times are `hh:mm[:ss[.fffffff]]` with an optional AM or PM; an offset `+hh:mm` or `Z` may follow.
pub(super) fn moment(text: &str) -> Option<Moment> {
    let text = text.trim_matches(' ');
    let base = Date::from_days_since_1900(0)?;
    if text.is_empty() {
        return Some(Moment {
            local: at_midnight(base),
            offset_minutes: None,
        });
    }
    let (date, rest) = match text.find([' ', 'T']) {
        Some(at) if !text.get(..at)?.contains(':') => (text.get(..at)?, text.get(at + 1..)?),
        _ if text.contains(':') => ("", text),
        _ => (text, ""),
    };
    let date = if date.is_empty() {
        base
    } else {
        calendar_day(date)?
    };
    let (clock, offset_minutes) = split_offset(rest.trim_matches(' '))?;
    let time = if clock.is_empty() {
        Time::new(0, 7)?
    } else {
        clock_time(clock)?
    };
    Some(Moment {
        local: DateTime2 { date, time },
        offset_minutes,
    })
}

fn at_midnight(date: Date) -> DateTime2 {
    DateTime2 {
        date,
        time: Time::MIDNIGHT.rescale(7).0,
    }
}

fn calendar_day(text: &str) -> Option<Date> {
    if text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Date::from_ymd(
            number(text.get(..4)?)?,
            number(text.get(4..6)?)?,
            number(text.get(6..)?)?,
        );
    }
    let mut parts = text.split(['-', '/', '.']);
    let (a, b, c) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    if a.len() == 4 {
        Date::from_ymd(number(a)?, number(b)?, number(c)?)
    } else if c.len() == 4 {
        Date::from_ymd(number(c)?, number(a)?, number(b)?)
    } else {
        None
    }
}

fn split_offset(text: &str) -> Option<(&str, Option<i16>)> {
    if let Some(clock) = text.strip_suffix(['Z', 'z']) {
        return Some((clock.trim_end_matches(' '), Some(0)));
    }
    let Some(at) = text.find(['+', '-']) else {
        return Some((text, None));
    };
    let (clock, offset) = text.split_at_checked(at)?;
    let negative = offset.starts_with('-');
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let minutes = number(hours)? * 60 + number(minutes).filter(|&minutes| minutes < 60)?;
    if minutes > 840 {
        return None;
    }
    let minutes = minutes as i16;
    Some((
        clock.trim_end_matches(' '),
        Some(if negative { -minutes } else { minutes }),
    ))
}

fn clock_time(text: &str) -> Option<Time> {
    let upper = text.to_ascii_uppercase();
    let (clock, afternoon) = match (upper.strip_suffix("AM"), upper.strip_suffix("PM")) {
        (Some(clock), _) => (clock, Some(false)),
        (_, Some(clock)) => (clock, Some(true)),
        _ => (upper.as_str(), None),
    };
    let mut parts = clock.trim_end_matches(' ').split(':');
    let hour = number(parts.next()?)?;
    let minute = parts.next().map_or(Some(0), number)?;
    let (second, fraction) = match parts.next() {
        Some(text) => text.split_once('.').unwrap_or((text, "")),
        None => ("0", ""),
    };
    if parts.next().is_some() || fraction.len() > 7 {
        return None;
    }
    let ticks = if fraction.is_empty() {
        0
    } else {
        number(fraction)? * 10u32.pow(7 - fraction.len() as u32)
    };
    let hour = match afternoon {
        None => hour,
        Some(_) if !(1..=12).contains(&hour) => return None,
        Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
    };
    Time::from_hms(hour, minute, number(second)?, ticks, 7)
}

fn number(text: &str) -> Option<u32> {
    if text.is_empty() || text.len() > 7 || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_the_unambiguous_forms() {
        for (text, expected) in [
            ("1998-05-06", "1998-05-06 00:00:00.0000000"),
            ("19980506", "1998-05-06 00:00:00.0000000"),
            ("5/6/1998", "1998-05-06 00:00:00.0000000"),
            ("1998-05-06 13:14", "1998-05-06 13:14:00.0000000"),
            ("1998-05-06T13:14:15.5", "1998-05-06 13:14:15.5000000"),
            ("1998-05-06 1:14:15 PM", "1998-05-06 13:14:15.0000000"),
            ("12:00:01.0000001", "1900-01-01 12:00:01.0000001"),
            ("12:30AM", "1900-01-01 00:30:00.0000000"),
            ("", "1900-01-01 00:00:00.0000000"),
        ] {
            assert_eq!(moment(text).unwrap().local.to_string(), expected, "{text}");
        }
        assert_eq!(
            moment("2024-01-01 00:00 -05:30").unwrap().offset_minutes,
            Some(-330)
        );
        assert_eq!(moment("2024-01-01T00:00Z").unwrap().offset_minutes, Some(0));
        for text in [
            "2023-02-29",
            "1998-5",
            "24:00",
            "1998-05-06 13:60",
            "x",
            "1-2-3",
            "13:00 PM",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn guids_need_their_dashes_and_may_have_braces() {
        let text = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
        assert_eq!(guid(text).unwrap().to_string(), text.to_uppercase());
        assert_eq!(guid(&format!("{{{text}}}")), guid(text));
        assert_eq!(guid("6f9619ff8b86-d011-b42d-00c04fc964ff-"), None);
        assert_eq!(guid("6f9619ff"), None);
    }

    #[test]
    fn hexadecimal_text_becomes_bytes() {
        assert_eq!(bytes("0x0AfF"), Some(vec![0x0A, 0xFF]));
        assert_eq!(bytes("0xAFF"), Some(vec![0x0A, 0xFF]));
        assert_eq!(bytes("0x"), Some(vec![]));
        assert_eq!(bytes("0xG"), None);
        assert_eq!(bytes("12"), None);
    }
}
