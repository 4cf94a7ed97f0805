//! The characters that code page 1252 lacks and SQL Server replaces by a similar one: `best fit`.
//!
//! The table has what Microsoft published as `bestfit1252.txt`, section WCTABLE
//! (<https://www.unicode.org/Public/MAPPINGS/VENDORS/MICSFT/WindowsBestFit/bestfit1252.txt>), from U+0100
//! on. It includes the 27 characters of the bytes 0x80..=0x9F, so that the runs have fewer gaps.

/// The fullwidth forms of the characters `!` to `~`, and the first of these.
const FULLWIDTH: std::ops::RangeInclusive<u16> = 0xFF01..=0xFF5E;
const FIRST_WIDE: u8 = b'!';

/// Runs of units without a gap: the first unit, and the bytes of all, in the order of the units.
const RUNS: &[(u16, &[u8])] = &[
    (
        0x0100,
        b"AaAaAaCcCcCcCcDd\xD0dEeEeEeEeEeGgGgGgGgHhHhIiIiIiIiIi",
    ),
    (0x0134, b"JjKk"),
    (0x0139, b"LlLlLl"),
    (0x0141, b"LlNnNnNn"),
    (
        0x014C,
        b"OoOoOo\x8C\x9CRrRrRrSsSsSs\x8A\x9ATtTtTtUuUuUuUuUuUuWwYy\x9FZzZz\x8E\x9E",
    ),
    (0x0180, b"b"),
    (0x0189, b"\xD0"),
    (0x0191, b"\x83\x83"),
    (0x0197, b"I"),
    (0x019A, b"l"),
    (0x019F, b"OOo"),
    (0x01AB, b"t"),
    (0x01AE, b"TUu"),
    (0x01B6, b"z"),
    (0x01C0, b"|"),
    (0x01C3, b"!"),
    (0x01CD, b"AaIiOoUuUuUuUuUu"),
    (0x01DE, b"Aa"),
    (0x01E4, b"GgGgKkOoOo"),
    (0x01F0, b"j"),
    (0x0261, b"g"),
    (0x02B9, b"'\""),
    (0x02BC, b"'"),
    (0x02C4, b"^"),
    (0x02C6, b"\x88"),
    (0x02C8, b"'\xAF\xB4`"),
    (0x02CD, b"_"),
    (0x02DA, b"\xB0"),
    (0x02DC, b"\x98"),
    (0x0300, b"`\xB4^~\xAF\xAF"),
    (0x0308, b"\xA8"),
    (0x030A, b"\xB0"),
    (0x030E, b"\""),
    (0x0327, b"\xB8"),
    (0x0331, b"__"),
    (0x037E, b";"),
    (0x0393, b"G"),
    (0x0398, b"T"),
    (0x03A3, b"S"),
    (0x03A6, b"F"),
    (0x03A9, b"O"),
    (0x03B1, b"a\xDF"),
    (0x03B4, b"de"),
    (0x03BC, b"\xB5"),
    (0x03C0, b"p"),
    (0x03C3, b"st"),
    (0x03C6, b"f"),
    (0x04BB, b"h"),
    (0x0589, b":"),
    (0x066A, b"%"),
    (0x2000, b"       "),
    (0x2010, b"--"),
    (0x2013, b"\x96\x97"),
    (0x2017, b"=\x91\x92\x82"),
    (0x201C, b"\x93\x94\x84"),
    (0x2020, b"\x86\x87\x95"),
    (0x2024, b"\xB7"),
    (0x2026, b"\x85"),
    (0x2030, b"\x89"),
    (0x2032, b"'"),
    (0x2035, b"`"),
    (0x2039, b"\x8B\x9B"),
    (0x2044, b"/"),
    (0x2070, b"\xB0"),
    (0x2074, b"45678"),
    (0x207F, b"n0123456789"),
    (0x20A1, b"\xA2"),
    (0x20A4, b"\xA3"),
    (0x20A7, b"P"),
    (0x20AC, b"\x80"),
    (0x2102, b"C"),
    (0x2107, b"E"),
    (0x210A, b"gHHHh"),
    (0x2110, b"IILl"),
    (0x2115, b"N"),
    (0x2118, b"PPQRRR"),
    (0x2122, b"\x99"),
    (0x2124, b"Z"),
    (0x2128, b"Z"),
    (0x212A, b"K\xC5BCeeEF"),
    (0x2133, b"Mo"),
    (0x2205, b"\xD8"),
    (0x2212, b"-\xB1"),
    (0x2215, b"/\\*\xB0\xB7v"),
    (0x221E, b"8"),
    (0x2223, b"|"),
    (0x2229, b"n"),
    (0x2236, b":"),
    (0x223C, b"~"),
    (0x2248, b"\x98"),
    (0x2261, b"="),
    (0x2264, b"=="),
    (0x226A, b"\xAB\xBB"),
    (0x22C5, b"\xB7"),
    (0x2302, b"\xA6^"),
    (0x2310, b"\xAC"),
    (0x2320, b"()"),
    (0x2329, b"<>"),
    (0x2500, b"-"),
    (0x2502, b"\xA6"),
    (0x250C, b"+"),
    (0x2510, b"+"),
    (0x2514, b"+"),
    (0x2518, b"+"),
    (0x251C, b"+"),
    (0x2524, b"\xA6"),
    (0x252C, b"-"),
    (0x2534, b"-"),
    (0x253C, b"+"),
    (
        0x2550,
        b"-\xA6++++++++++++\xA6\xA6\xA6\xA6\xA6\xA6------+++",
    ),
    (0x2580, b"\xAF"),
    (0x2584, b"_"),
    (0x2588, b"\xA6"),
    (0x258C, b"\xA6"),
    (0x2590, b"\xA6\xA6\xA6\xA6"),
    (0x25A0, b"\xA6"),
    (0x263C, b"\xA4"),
    (0x2758, b"|"),
    (0x3000, b" "),
    (0x3008, b"<>\xAB\xBB"),
    (0x301A, b"[]"),
    (0x30FB, b"\xB7"),
];

/// The byte that stands for a UTF-16 unit from U+0100 on, if the published table has one.
pub(super) fn best_fit(unit: u16) -> Option<u8> {
    if FULLWIDTH.contains(&unit) {
        let at = u8::try_from(unit - FULLWIDTH.start()).ok()?;
        return Some(FIRST_WIDE + at);
    }
    let after = RUNS.partition_point(|(first, _)| *first <= unit);
    let (first, bytes) = RUNS.get(after.checked_sub(1)?)?;
    bytes.get(usize::from(unit - first)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code_page::byte_of_unit;

    /// The published table has 698 entries: ASCII, the five bytes without a character, U+00A0 to U+00FF,
    /// and those from U+0100 on.
    const PUBLISHED: usize = 698;
    const BELOW_0100: usize = 128 + 5 + 96;

    #[test]
    fn the_table_has_as_many_entries_as_the_published_one_and_agrees_with_the_code_page() {
        let (mut entries, mut own) = (0, 0);
        for unit in 0..=u16::MAX {
            let Some(byte) = best_fit(unit) else { continue };
            assert!(unit > 0xFF && byte >= b' ', "{unit:#X}");
            entries += 1;
            if let Some(exact) = byte_of_unit(unit) {
                assert_eq!(byte, exact, "{unit:#X}");
                own += 1;
            }
        }
        assert_eq!((entries, own), (PUBLISHED - BELOW_0100, 27));
    }

    #[test]
    fn runs_are_in_the_order_of_their_units_and_do_not_touch() {
        for ((first, bytes), (next, _)) in RUNS.iter().zip(RUNS.iter().skip(1)) {
            let end = usize::from(*first) + bytes.len();
            assert!(end < usize::from(*next), "{first:#X}");
        }
    }
}
