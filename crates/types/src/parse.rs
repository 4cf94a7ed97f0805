//! Text to numbers, GUIDs and bytes.

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

/// The result of reading a text as an exact number.
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
    // As in SQL Server, no digit at all is no money.
    match plain.as_str() {
        "" | "." | "+" | "-" => decimal("0", 4),
        digits => decimal(digits, 4),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

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
