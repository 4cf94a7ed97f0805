//! Order of keys, as far as it is certain.
//!
//! In a database of ours the order is this engine's own, and exact. In files of SQL Server, text compares by
//! its collation, of which we know the order of blanks, digits and plain letters of Latin1_General; what it
//! does with signs, with letters of other alphabets and in other languages is not certain. Such keys count as
//! in order: an alarm must be true.

use crate::plan::KeyPlan;
use furrow_types::{Collation, DataType, Family, compare, compare_1252, compare_utf16};
use std::cmp::Ordering;

/// Low bits of a collation: its language. `Latin1_General`.
const LANGUAGE: u32 = 0xFFF;
const LATIN1_GENERAL: u32 = 0x008;
/// Ignore case and accents.
const LOOSE: u32 = 0x3000;

/// How two keys stand by their first columns; `None` where that is not certain.
pub(crate) fn order<'a, 'b>(
    own: bool,
    key: &[KeyPlan],
    a: impl Iterator<Item = Option<&'a [u8]>>,
    b: impl Iterator<Item = Option<&'b [u8]>>,
) -> Option<Ordering> {
    for (column, (a, b)) in key.iter().zip(a.zip(b)) {
        let order = match (a, b) {
            (Some(a), Some(b)) => value_order(own, &column.data_type, a, b)?,
            (a, b) => a.is_some().cmp(&b.is_some()),
        };
        if order != Ordering::Equal {
            let turned = if column.descending {
                order.reverse()
            } else {
                order
            };
            return Some(turned);
        }
    }
    Some(Ordering::Equal)
}

#[inline]
fn value_order(own: bool, data_type: &DataType, a: &[u8], b: &[u8]) -> Option<Ordering> {
    if own {
        return Some(compare(data_type, a, b));
    }
    match data_type.id.family() {
        Family::Char => text_order(data_type.collation, 1, a, b),
        Family::NChar => text_order(data_type.collation, 2, a, b),
        Family::Variant | Family::Lob => (a == b).then_some(Ordering::Equal),
        _ => Some(compare(data_type, a, b)),
    }
}

/// Text of SQL Server: certain up to the first character that is not.
fn text_order(collation: Collation, width: usize, a: &[u8], b: &[u8]) -> Option<Ordering> {
    if a == b {
        return Some(Ordering::Equal);
    }
    if collation.0 & LANGUAGE != LATIN1_GENERAL {
        return None;
    }
    let compare = |a: &[u8], b: &[u8], collation| match width {
        1 => compare_1252(a, b, collation),
        _ => compare_utf16(a, b, collation),
    };
    let plain = plain_bytes(width, a).min(plain_bytes(width, b));
    let (head_a, head_b) = (a.get(..plain).unwrap_or(a), b.get(..plain).unwrap_or(b));
    if plain >= a.len().max(b.len()) {
        return Some(compare(a, b, collation));
    }
    // Behind an uncertain character only what came before it counts, and of that only the letters.
    match compare(head_a, head_b, Collation(collation.0 | LOOSE)) {
        Ordering::Equal => None,
        order => Some(order),
    }
}

/// Bytes before the first character whose place is not certain; beyond the end there are blanks.
fn plain_bytes(width: usize, text: &[u8]) -> usize {
    let plain = |unit: &[u8]| match unit {
        [low] | [low, 0] => *low == b' ' || low.is_ascii_alphanumeric(),
        _ => false,
    };
    let uncertain = text.chunks(width).position(|unit| !plain(unit));
    uncertain.map_or(usize::MAX, |at| at * width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_sql_server_is_in_doubt_from_its_first_sign_on() {
        let collation = Collation::DEFAULT;
        let of = |a: &str, b: &str| text_order(collation, 1, a.as_bytes(), b.as_bytes());
        assert_eq!(of("abc", "abd"), Some(Ordering::Less));
        assert_eq!(of("abc", "ABC "), Some(Ordering::Equal));
        assert_eq!(of("b'", "ab"), Some(Ordering::Greater));
        assert_eq!(of("b's", "bs"), None);
        assert_eq!(of("b's", "b's"), Some(Ordering::Equal));
        assert_eq!(of("co-op", "coat"), None);
        assert_eq!(of("co", "co-op"), None);
        assert_eq!(text_order(Collation(0xD003), 1, b"a", b"b"), None);
    }
}
