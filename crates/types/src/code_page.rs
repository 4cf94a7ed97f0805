//! Code page 1252 and UTF-16: text to bytes and back.

use super::best_fit::best_fit;
use encoding_rs::{EncoderResult, WINDOWS_1252};
use std::sync::OnceLock;

/// The first byte whose character is not the one of its own number.
const FIRST_OWN: u8 = 0x80;
/// How many such bytes there are.
const OWN: usize = 32;

/// The UTF-16 units of the bytes 0x80..=0x9F. The five bytes that the code page leaves undefined are the
/// control characters of their number, as in SQL Server.
fn own_units() -> &'static [u16; OWN] {
    static UNITS: OnceLock<[u16; OWN]> = OnceLock::new();
    UNITS.get_or_init(|| {
        let bytes: [u8; OWN] = std::array::from_fn(|at| FIRST_OWN + at as u8);
        let text = decode_1252(&bytes);
        let mut units = text.encode_utf16();
        std::array::from_fn(|_| units.next().unwrap_or_default())
    })
}

/// The byte of a UTF-16 unit in code page 1252, if it has one.
pub(super) fn byte_of_unit(unit: u16) -> Option<u8> {
    if unit < 0x80 || (0xA0..=0xFF).contains(&unit) {
        return Some(unit as u8);
    }
    let index = own_units().iter().position(|&own| own == unit)?;
    Some(FIRST_OWN + index as u8)
}

/// The byte that stands for a UTF-16 unit in code page 1252: its own, that of a similar character, or `?`.
pub(super) fn byte_for_unit(unit: u16) -> u8 {
    byte_of_unit(unit)
        .or_else(|| best_fit(unit))
        .unwrap_or(b'?')
}

/// Text of bytes in code page 1252. Every byte has a character, so nothing is lost.
pub fn decode_1252(bytes: &[u8]) -> String {
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    text.into_owned()
}

/// Appends text in code page 1252. A character that the code page lacks becomes a similar one, as in SQL
/// Server (`best fit`). Each UTF-16 unit without a similar one becomes `?`, so a character outside the basic
/// plane becomes two.
pub fn encode_1252(text: &str, out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let mut encoder = WINDOWS_1252.new_encoder();
    let (mut rest, mut buffer) = (text, [0; 256]);
    loop {
        let (result, read, written) =
            encoder.encode_from_utf8_without_replacement(rest, &mut buffer, true);
        out.extend(buffer.iter().take(written));
        rest = rest.get(read..).unwrap_or_default();
        match result {
            EncoderResult::InputEmpty => return,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(other) => {
                let mut pair = [0; 2];
                let units = other.encode_utf16(&mut pair);
                out.extend(units.iter().map(|unit| byte_for_unit(*unit)));
            }
        }
    }
}

/// Text of UTF-16 bytes; half a surrogate pair and an odd last byte become U+FFFD.
pub fn decode_utf16(bytes: &[u8]) -> String {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if rest.is_empty() && pairs.iter().all(|&[low, high]| high == 0 && low < 0x80) {
        return pairs.iter().map(|&[low, _]| char::from(low)).collect();
    }
    let units = pairs.iter().map(|&pair| u16::from_le_bytes(pair));
    let mut text: String = char::decode_utf16(units)
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if !rest.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

/// Appends text as UTF-16 bytes.
pub fn encode_utf16(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() * 2);
    for unit in text.encode_utf16() {
        out.extend_from_slice(&unit.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_survives_the_way_to_text_and_back() {
        let bytes = (0..=255u8).collect::<Vec<_>>();
        let text = decode_1252(&bytes);
        let mut back = Vec::new();
        encode_1252(&text, &mut back);
        assert_eq!(back, bytes);
        assert_eq!(decode_1252(&[0x80, 0x99]), "\u{20AC}\u{2122}");
    }

    /// The characters of the bytes 0x80..=0x9F as Microsoft's table of code page 1252 has them.
    const OF_MICROSOFT: [u16; OWN] = [
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
    ];

    #[test]
    fn the_library_and_sql_server_agree_on_every_byte_and_every_unit() {
        for byte in 0..=255_u8 {
            let own = usize::from(byte)
                .checked_sub(usize::from(FIRST_OWN))
                .and_then(|at| OF_MICROSOFT.get(at));
            let unit = own.copied().unwrap_or(u16::from(byte));
            let text = decode_1252(&[byte]);
            assert_eq!(text.encode_utf16().collect::<Vec<_>>(), [unit], "{byte:#X}");
            assert_eq!(byte_of_unit(unit), Some(byte));
        }
        let mut known = 0;
        for unit in 0..=u16::MAX {
            let Some(character) = char::from_u32(u32::from(unit)) else {
                continue;
            };
            let mut bytes = Vec::new();
            encode_1252(character.encode_utf8(&mut [0; 4]), &mut bytes);
            assert_eq!(bytes, [byte_for_unit(unit)], "{unit:#X}");
            known += u32::from(byte_of_unit(unit).is_some());
        }
        assert_eq!(known, 256);
    }

    #[test]
    fn a_text_longer_than_the_buffer_is_encoded_whole() {
        for length in [255, 256, 257, 1000] {
            let text = "\u{E4}".repeat(length) + "\u{142}z";
            let mut bytes = Vec::new();
            encode_1252(&text, &mut bytes);
            let expected = [vec![0xE4; length], b"lz".to_vec()].concat();
            assert_eq!(bytes, expected, "{length}");
        }
    }

    #[test]
    fn a_character_outside_the_code_page_becomes_a_similar_one_or_a_question_mark() {
        let encoded = |text: &str| {
            let mut out = Vec::new();
            encode_1252(text, &mut out);
            out
        };
        assert_eq!(encoded("a\u{0142}b\u{1F600}"), b"alb??");
        assert_eq!(encoded("\u{3A9}\u{101}\u{110}\u{221E}"), b"Oa\xD08");
        assert_eq!(encoded("\u{FF21}\u{FF5E}\u{3000}!"), b"A~ !");
        assert_eq!(encoded("\u{416}\u{4E00}\u{2200}\u{FFFD}"), b"????");
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_a_whole_one_kept() {
        let mut out = Vec::new();
        encode_utf16("x\u{1F600}", &mut out);
        assert_eq!(out.len(), 6);
        assert_eq!(decode_utf16(&out), "x\u{1F600}");
        assert_eq!(decode_utf16(&out[..4]), "x\u{FFFD}");
        assert_eq!(decode_utf16(&out[..3]), "x\u{FFFD}");
    }
}
