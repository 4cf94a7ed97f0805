//! Order, equality and hash of text under a collation, for text that is in memory and not on a page.

use std::cmp::Ordering;
use std::hash::Hasher;

use super::code_page::byte_for_unit;
use super::collation::{Collation, compare_weights_of, equality_weight};

/// Compares two texts as [`compare_1252`](super::compare_1252) and [`compare_utf16`](super::compare_utf16)
/// compare their bytes. `unicode` chooses between them: it matters only to binary collations, which compare
/// the code page's bytes or UTF-16 units.
pub fn compare_text(a: &str, b: &str, collation: Collation, unicode: bool) -> Ordering {
    compare_units(a.encode_utf16(), b.encode_utf16(), collation, unicode)
}

/// The same for texts that come as UTF-16 units.
pub fn compare_units(
    a: impl Iterator<Item = u16>,
    b: impl Iterator<Item = u16>,
    collation: Collation,
    unicode: bool,
) -> Ordering {
    match collation.is_binary() {
        true => compare_codes(a, b, unicode),
        false => compare_weights_of(a, b, collation),
    }
}

/// Feeds a hash with what [`compare_text`] looks at: equal texts feed equal words.
pub fn hash_text<H: Hasher>(text: &str, collation: Collation, unicode: bool, state: &mut H) {
    let units = text.trim_end_matches(' ').encode_utf16();
    hash_units(units, collation, unicode, state);
}

/// The same for a text that comes as UTF-16 units, without the blanks at its end.
pub fn hash_units<H: Hasher>(
    units: impl Iterator<Item = u16>,
    collation: Collation,
    unicode: bool,
    state: &mut H,
) {
    for unit in units {
        state.write_u32(if collation.is_binary() {
            code(unit, unicode)
        } else {
            equality_weight(unit, collation)
        });
    }
    state.write_u32(u32::MAX);
}

/// The weight of a character under a collation: characters of one weight are equal.
pub fn character_weight(unit: u16, collation: Collation) -> u32 {
    if collation.is_binary() {
        u32::from(unit)
    } else {
        equality_weight(unit, collation)
    }
}

fn code(unit: u16, unicode: bool) -> u32 {
    if unicode {
        u32::from(unit)
    } else {
        u32::from(byte_for_unit(unit))
    }
}

fn compare_codes(
    mut a: impl Iterator<Item = u16>,
    mut b: impl Iterator<Item = u16>,
    unicode: bool,
) -> Ordering {
    loop {
        let (x, y) = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (x, y) => (x.unwrap_or(0x20), y.unwrap_or(0x20)),
        };
        match code(x, unicode).cmp(&code(y, unicode)) {
            Ordering::Equal => {}
            order => return order,
        }
    }
}

/// The collations that have a name here: name, id, what it says of itself.
const NAMES: &[(&str, u32)] = &[
    ("SQL_Latin1_General_CP1_CI_AS", 0x3400_D008),
    ("SQL_Latin1_General_CP1_CS_AS", 0x3300_C008),
    ("SQL_Latin1_General_CP1_CI_AI", 0x3600_F008),
    ("SQL_Latin1_General_Pref_CP1_CI_AS", 0x3500_D008),
    ("Latin1_General_CI_AS", 0xD008),
    ("Latin1_General_CS_AS", 0xC008),
    ("Latin1_General_CI_AI", 0xF008),
    ("Latin1_General_CS_AI", 0xE008),
    ("Latin1_General_CI_AS_KS_WS", 0x1008),
    ("Latin1_General_CS_AS_KS_WS", 0x0008),
    ("Latin1_General_CI_AS_KS", 0x9008),
    ("Latin1_General_CI_AS_WS", 0x5008),
    ("Latin1_General_BIN", 0x1_0008),
    ("Latin1_General_BIN2", 0x2_0008),
];

impl Collation {
    /// The collation of this name, in any case; `None` for one that is not supported.
    pub fn from_name(name: &str) -> Option<Collation> {
        let row = NAMES.iter().find(|row| row.0.eq_ignore_ascii_case(name))?;
        Some(Collation(row.1))
    }

    /// Its name, where it has one here.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|row| row.1 == self.0).map(|row| row.0)
    }

    /// All collations that have a name here, in the order of documentation.
    pub fn all() -> impl Iterator<Item = (&'static str, Collation)> {
        NAMES.iter().map(|row| (row.0, Collation(row.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{compare_1252, compare_utf16, encode_1252, encode_utf16};
    use std::hash::DefaultHasher;

    fn hash(text: &str, collation: Collation) -> u64 {
        let mut state = DefaultHasher::new();
        hash_text(text, collation, false, &mut state);
        state.finish()
    }

    /// Text in memory compares as its bytes on a page do, and equal texts hash alike.
    #[test]
    fn text_in_memory_compares_as_on_the_page_and_equal_texts_hash_alike() {
        let words = [
            "",
            " ",
            "a",
            "A",
            "a ",
            "a\t",
            "\u{E4}",
            "\u{C4}",
            "ae",
            "\u{E6}",
            "b",
            "B  ",
            "1",
            "\u{B9}",
            "\u{20AC}",
            "\u{160}",
            "\u{161}",
            "cote",
            "cot\u{E9}",
            "C\u{F4}te",
            "_",
            "z",
            "\u{FE}",
        ];
        for (_, collation) in Collation::all() {
            for a in words {
                for b in words {
                    let order = compare_text(a, b, collation, false);
                    let (mut x, mut y) = (vec![], vec![]);
                    encode_1252(a, &mut x);
                    encode_1252(b, &mut y);
                    assert_eq!(order, compare_1252(&x, &y, collation), "{a:?} {b:?}");
                    let (mut x, mut y) = (vec![], vec![]);
                    encode_utf16(a, &mut x);
                    encode_utf16(b, &mut y);
                    let wide = compare_text(a, b, collation, true);
                    assert_eq!(wide, compare_utf16(&x, &y, collation), "{a:?} {b:?}");
                    let equal = hash(a, collation) == hash(b, collation);
                    assert_eq!(order == Ordering::Equal, equal, "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn collations_are_found_by_name_in_any_case() {
        for (name, collation) in Collation::all() {
            assert_eq!(Collation::from_name(&name.to_lowercase()), Some(collation));
            assert_eq!(collation.name(), Some(name));
            assert_eq!(name.contains("_CI_"), collation.ignores_case());
            assert_eq!(name.contains("_AI"), collation.ignores_accents());
            assert_eq!(name.contains("BIN"), collation.is_binary());
        }
        assert_eq!(Collation::from_name("Klingon_CI_AS"), None);
        assert_eq!(
            Collation::DEFAULT.name(),
            Some("SQL_Latin1_General_CP1_CI_AS")
        );
    }
}
