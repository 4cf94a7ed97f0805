//! Collations: which text is equal, which comes first.
//!
//! What is exact: case, accent and binary rules by the collation's flags; blanks at the end don't count; the
//! order of digits and letters, of accented letters behind their base letter (a difference of accent counts
//! only where the base letters agree over the whole text), binary collations by byte or code point.
//!
//! What is approximate: all Latin collations share one table of weights, `SQL_Latin1_General_CP1` included;
//! symbols stand in the order of their codes before the digits; ligatures are letters of their own and not
//! two letters (`ae` and the ligature differ); the hyphen and the apostrophe count like other symbols in
//! Unicode text, too; outside Latin the order is that of the lower-case code points.

use std::cmp::Ordering;

use super::code_page::byte_of_unit;

/// A collation's id as the catalog stores it: language in the low bits, then flags, then the sort order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Collation(pub u32);

impl Collation {
    /// No collation: the type has no characters.
    pub const NONE: Collation = Collation(0);
    /// `SQL_Latin1_General_CP1_CI_AS`, the default.
    pub const DEFAULT: Collation = Collation(0x3400_D008);
    /// `Latin1_General_CI_AS`.
    pub const LATIN1_GENERAL_CI_AS: Collation = Collation(0xD008);
    /// `Latin1_General_BIN2`.
    pub const LATIN1_GENERAL_BIN2: Collation = Collation(0x2_0008);

    /// Whether upper and lower case are the same.
    pub(crate) const fn ignores_case(self) -> bool {
        self.0 & 0x1000 != 0
    }

    /// Whether letters with and without accents are the same.
    pub const fn ignores_accents(self) -> bool {
        self.0 & 0x2000 != 0
    }

    /// Whether text compares by code.
    pub const fn is_binary(self) -> bool {
        self.0 & 0x3_0000 != 0
    }
}

/// Weight of a blank.
const BLANK: u32 = weight_of_code(0x20);

/// Weights by byte of code page 1252: primary in bits 12-31, accent in 4-11, case in bit 0.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler, once")]
static WEIGHTS: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = weight_of_code(byte as u8);
        byte += 1;
    }
    table
};

/// Base letters of bytes 0xC0..=0xDF (and 0xE0..=0xFF, which pair with them), blank where there is none.
const BASES: &[u8; 32] = b"aaaaaa ceeeeiiiidnooooo ouuuuy  ";
const DIGITS: u32 = 0x200;
const LETTERS: u32 = 0x300;
/// Base letters of U+0100..=U+017F.
const EXTENDED: &[u8; 128] = b"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkqlllllll\
lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

const fn primary(place: u32) -> u32 {
    place << 12
}

const fn letter(base: u8, accent: u32, upper: bool) -> u32 {
    // Two primaries a letter leave room for the ligature that follows it.
    primary(LETTERS + 2 * (base - b'a') as u32) | accent << 4 | upper as u32
}

const fn ligature(after: u8, upper: bool) -> u32 {
    primary(LETTERS + 2 * (after - b'a') as u32 + 1) | upper as u32
}

#[expect(clippy::indexing_slicing, reason = "five bits into 32 entries")]
const fn weight_of_code(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' => primary(DIGITS + (byte - b'0') as u32),
        b'a'..=b'z' => letter(byte, 0, false),
        b'A'..=b'Z' => letter(byte + 32, 0, true),
        0xB9 => primary(DIGITS + 1) | 1 << 4,
        0xB2 => primary(DIGITS + 2) | 1 << 4,
        0xB3 => primary(DIGITS + 3) | 1 << 4,
        0xAA => letter(b'a', 0xF0, false),
        0xBA => letter(b'o', 0xF0, false),
        0x8A => letter(b's', 0x30, true),
        0x9A => letter(b's', 0x30, false),
        0x8E => letter(b'z', 0x30, true),
        0x9E => letter(b'z', 0x30, false),
        0x9F => letter(b'y', 0x1F, true),
        0xFF => letter(b'y', 0x1F, false),
        0x8C => ligature(b'o', true),
        0x9C => ligature(b'o', false),
        0x83 => letter(b'f', 0x30, false),
        0xC6 | 0xE6 => ligature(b'a', byte == 0xC6),
        0xDE | 0xFE => ligature(b'z', byte == 0xDE),
        0xDF => ligature(b's', false),
        0xC0..=0xFF if byte != 0xD7 && byte != 0xF7 => {
            let index = (byte & 0x1F) as usize;
            letter(BASES[index], index as u32 + 1, byte < 0xE0)
        }
        _ => primary(byte as u32),
    }
}

/// Weight of a UTF-16 unit.
fn weight_of_unit(unit: u16) -> u32 {
    if let Some(byte) = byte_of_unit(unit) {
        return weight_of_byte(byte);
    }
    let folded = lower(unit);
    let upper = u32::from(folded != unit);
    if let Some(&base) = usize::from(folded)
        .checked_sub(0x100)
        .and_then(|at| EXTENDED.get(at))
    {
        return letter(base, 0x40 + u32::from(folded & 0x7F), false) | upper;
    }
    // Behind all Latin letters; every unit keeps a primary of its own.
    primary(0x1_0000 + u32::from(folded)) | upper
}

/// Lower case of a unit where that is one unit, too.
fn lower(unit: u16) -> u16 {
    let Some(character) = char::from_u32(u32::from(unit)) else {
        return unit;
    };
    let mut folded = character.to_lowercase();
    match (folded.next(), folded.next()) {
        (Some(one), None) => u16::try_from(u32::from(one)).unwrap_or(unit),
        _ => unit,
    }
}

#[inline]
fn weight_of_byte(byte: u8) -> u32 {
    WEIGHTS.get(usize::from(byte)).copied().unwrap_or(0)
}

/// Compares text in code page 1252.
#[inline]
pub fn compare_1252(a: &[u8], b: &[u8], collation: Collation) -> Ordering {
    if collation.is_binary() {
        return compare_padded(a.iter().copied(), b.iter().copied(), b' ');
    }
    compare_weights(a.len(), b.len(), collation, |at| {
        (
            a.get(at).map_or(BLANK, |&x| weight_of_byte(x)),
            b.get(at).map_or(BLANK, |&x| weight_of_byte(x)),
        )
    })
}

/// Compares text in UTF-16 (little-endian bytes; an odd last byte counts as half a unit).
#[inline]
pub fn compare_utf16(a: &[u8], b: &[u8], collation: Collation) -> Ordering {
    if collation.is_binary() {
        return compare_padded(units(a), units(b), 0x20);
    }
    compare_weights(a.len().div_ceil(2), b.len().div_ceil(2), collation, |at| {
        (
            unit_at(a, at).map_or(BLANK, fast_weight),
            unit_at(b, at).map_or(BLANK, fast_weight),
        )
    })
}

#[inline]
fn fast_weight(unit: u16) -> u32 {
    if unit < 0x80 {
        weight_of_byte(unit as u8)
    } else {
        weight_of_unit(unit)
    }
}

#[inline]
fn unit_at(bytes: &[u8], at: usize) -> Option<u16> {
    let low = *bytes.get(2 * at)?;
    let high = bytes.get(2 * at + 1).copied().unwrap_or(0);
    Some(u16::from_le_bytes([low, high]))
}

fn units(bytes: &[u8]) -> impl Iterator<Item = u16> + '_ {
    (0..bytes.len().div_ceil(2)).map_while(|at| unit_at(bytes, at))
}

/// By primaries over the whole length, then by the first accent that differs, then by the first case.
#[inline]
fn compare_weights(
    len_a: usize,
    len_b: usize,
    collation: Collation,
    pair: impl Fn(usize) -> (u32, u32),
) -> Ordering {
    let (mut accent, mut case) = (Ordering::Equal, Ordering::Equal);
    for at in 0..len_a.max(len_b) {
        let (a, b) = pair(at);
        if a == b {
            continue;
        }
        let (high_a, high_b) = (a & PRIMARY, b & PRIMARY);
        if high_a != high_b {
            return high_a.cmp(&high_b);
        }
        accent = accent.then((a & ACCENT).cmp(&(b & ACCENT)));
        case = case.then((a & 1).cmp(&(b & 1)));
    }
    if collation.ignores_accents() {
        accent = Ordering::Equal;
    }
    if collation.ignores_case() {
        case = Ordering::Equal;
    }
    accent.then(case)
}

/// Compares by weights, as [`compare_utf16`], texts that come unit by unit.
pub(super) fn compare_weights_of(
    mut a: impl Iterator<Item = u16>,
    mut b: impl Iterator<Item = u16>,
    collation: Collation,
) -> Ordering {
    let (mut accent, mut case) = (Ordering::Equal, Ordering::Equal);
    loop {
        let (x, y) = match (a.next(), b.next()) {
            (None, None) => break,
            (x, y) if x == y => continue,
            (x, y) => (x.map_or(BLANK, fast_weight), y.map_or(BLANK, fast_weight)),
        };
        let (high_x, high_y) = (x & PRIMARY, y & PRIMARY);
        if high_x != high_y {
            return high_x.cmp(&high_y);
        }
        accent = accent.then((x & ACCENT).cmp(&(y & ACCENT)));
        case = case.then((x & 1).cmp(&(y & 1)));
    }
    if collation.ignores_accents() {
        accent = Ordering::Equal;
    }
    if collation.ignores_case() {
        case = Ordering::Equal;
    }
    accent.then(case)
}

/// The weight of a unit without what the collation ignores: equal weights are equal characters.
pub(super) fn equality_weight(unit: u16, collation: Collation) -> u32 {
    let mut weight = fast_weight(unit);
    if collation.ignores_accents() {
        weight &= !ACCENT;
    }
    if collation.ignores_case() {
        weight &= !1;
    }
    weight
}

/// The part of a unit's weight that counts first.
pub(super) fn first_weight(unit: u16) -> u32 {
    fast_weight(unit) & PRIMARY
}

/// The bits of a weight that count first.
const PRIMARY: u32 = 0xFFFF_F000;
/// The bits that count where all primaries agree.
const ACCENT: u32 = 0xFF0;

fn compare_padded<T: Ord + Copy>(
    mut a: impl Iterator<Item = T>,
    mut b: impl Iterator<Item = T>,
    blank: T,
) -> Ordering {
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) => a.unwrap_or(blank).cmp(&b.unwrap_or(blank)),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_page::{encode_1252, encode_utf16};

    fn both(a: &str, b: &str, collation: Collation) -> Ordering {
        let (mut a8, mut b8, mut a16, mut b16) = (vec![], vec![], vec![], vec![]);
        encode_1252(a, &mut a8);
        encode_1252(b, &mut b8);
        encode_utf16(a, &mut a16);
        encode_utf16(b, &mut b16);
        let order = compare_1252(&a8, &b8, collation);
        assert_eq!(order, compare_utf16(&a16, &b16, collation), "{a} {b}");
        assert_eq!(
            order.reverse(),
            compare_1252(&b8, &a8, collation),
            "{a} {b}"
        );
        order
    }

    #[test]
    fn case_and_trailing_blanks_do_not_count_under_the_default() {
        let collation = Collation::DEFAULT;
        for (a, b) in [
            ("Furrow", "fURROW"),
            ("a", "a   "),
            ("", "  "),
            ("\u{C9}", "\u{E9}"),
        ] {
            assert_eq!(both(a, b, collation), Ordering::Equal, "{a} {b}");
        }
    }

    #[test]
    fn accents_count_but_after_every_base_letter() {
        let collation = Collation::DEFAULT;
        for (a, b) in [
            ("cote", "cot\u{E9}"),
            ("cot\u{E9}", "cotf"),
            ("c\u{F4}ta", "cote1"),
            ("z", "\u{FE}"),
            ("st", "\u{DF}"),
            ("9", "a"),
            ("_", "0"),
            (" b", "b"),
            ("a\t", "a"),
            ("\u{160}a", "SB"),
        ] {
            assert_eq!(both(a, b, collation), Ordering::Less, "{a} {b}");
        }
        assert_eq!(both("\u{C0}", "a", Collation(0xF008)), Ordering::Equal);
    }

    #[test]
    fn case_counts_last_in_a_case_sensitive_collation_and_codes_in_a_binary_one() {
        let sensitive = Collation(0xC008);
        assert_eq!(both("abc", "ABC", sensitive), Ordering::Less);
        assert_eq!(both("ABC", "abd", sensitive), Ordering::Less);
        assert_eq!(
            both("B", "a", Collation::LATIN1_GENERAL_BIN2),
            Ordering::Less
        );
        assert_eq!(
            both("a", "a ", Collation::LATIN1_GENERAL_BIN2),
            Ordering::Equal
        );
    }

    #[test]
    fn text_outside_latin_folds_case_and_sorts_behind_latin() {
        let compare = |a: &str, b: &str| {
            let (mut left, mut right) = (vec![], vec![]);
            encode_utf16(a, &mut left);
            encode_utf16(b, &mut right);
            compare_utf16(&left, &right, Collation::DEFAULT)
        };
        assert_eq!(compare("\u{416}", "\u{436}"), Ordering::Equal);
        assert_eq!(compare("\u{FE}", "\u{430}"), Ordering::Less);
        assert_eq!(compare("\u{141}odz", "\u{142}ODZ"), Ordering::Equal);
        assert_eq!(compare("\u{142}a", "Lb"), Ordering::Less);
        assert_eq!(compare("\u{142}", "m"), Ordering::Less);
    }

    #[test]
    fn the_order_is_total_over_all_bytes() {
        let collation = Collation::DEFAULT;
        let mut bytes = (0..=255u8).collect::<Vec<_>>();
        bytes.sort_by(|a, b| compare_1252(&[*a], &[*b], collation));
        for (at, low) in bytes.iter().enumerate() {
            for high in &bytes[at..] {
                assert_ne!(
                    compare_1252(&[*low], &[*high], collation),
                    Ordering::Greater
                );
            }
        }
    }
}
