//! Strings by SQL Server's units: a byte of code page 1252 each in `varchar`, a UTF-16 unit each in
//! `nvarchar`.
//!
//! Values hold UTF-8. A `varchar` never holds a character outside its code page, so that its units are its
//! characters; an `nvarchar` counts a character outside the basic plane twice. Plain ASCII, the common case,
//! takes no walk over the characters. Half of such a character, cut off by SUBSTRING or LEFT, is U+FFFD.

use furrow_types::Value;

/// How many units a text has.
#[inline]
pub(crate) fn units(text: &str, unicode: bool) -> usize {
    if text.is_ascii() {
        text.len()
    } else if unicode {
        text.encode_utf16().count()
    } else {
        text.chars().count()
    }
}

/// The units from `start` (from 0), `length` of them at most.
pub(crate) fn slice(text: &str, start: usize, length: usize, unicode: bool) -> String {
    if text.is_ascii() {
        let start = start.min(text.len());
        let end = start.saturating_add(length).min(text.len());
        return text.get(start..end).unwrap_or_default().to_owned();
    }
    if unicode {
        let kept = text.encode_utf16().skip(start).take(length);
        return char::decode_utf16(kept)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
    }
    text.chars().skip(start).take(length).collect()
}

/// Cuts a text to so many units.
pub(crate) fn cut(text: &mut String, most: usize, unicode: bool) {
    if text.len() <= most || units(text, unicode) <= most {
        return;
    }
    if text.is_ascii() {
        text.truncate(most);
    } else {
        *text = slice(text, 0, most, unicode);
    }
}

/// A character value of either kind.
#[inline]
pub(crate) fn value(text: String, unicode: bool) -> Value {
    if unicode {
        Value::NVarChar(text)
    } else {
        Value::VarChar(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_bytes_of_the_code_page_or_utf16_units() {
        assert_eq!(units("abc", true), 3);
        assert_eq!(units("\u{20AC}b", false), 2);
        assert_eq!(units("\u{1F600}b", true), 3);
        assert_eq!(slice("abcdef", 2, 3, false), "cde");
        assert_eq!(slice("abc", 7, 3, true), "");
        assert_eq!(slice("\u{E9}bc", 1, usize::MAX, false), "bc");
        assert_eq!(slice("\u{1F600}b", 1, 2, true), "\u{FFFD}b");
        let mut text = "\u{E9}\u{E9}\u{E9}".to_owned();
        cut(&mut text, 2, false);
        assert_eq!(text, "\u{E9}\u{E9}");
    }
}
