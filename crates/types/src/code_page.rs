//! Code page 1252 and UTF-16: text to bytes and back.

/// Characters of bytes 0x80..=0x9F; the five undefined bytes stand for the control characters of their
/// number.
const HIGH: [u16; 32] = [
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039,
    0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
];

/// The UTF-16 unit of a byte of code page 1252.
pub(super) fn unit_of_byte(byte: u8) -> u16 {
    match byte {
        0x80..=0x9F => HIGH.get(usize::from(byte) - 0x80).copied().unwrap_or(0x3F),
        _ => u16::from(byte),
    }
}

/// The byte of a UTF-16 unit in code page 1252, if it has one.
pub(super) fn byte_of_unit(unit: u16) -> Option<u8> {
    if unit < 0x80 || (0xA0..=0xFF).contains(&unit) {
        return Some(unit as u8);
    }
    let index = HIGH.iter().position(|&high| high == unit)?;
    Some(0x80 + index as u8)
}

/// Text of bytes in code page 1252. Every byte has a character, so nothing is lost.
pub fn decode_1252(bytes: &[u8]) -> String {
    if bytes.is_ascii() {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    bytes
        .iter()
        .map(|&byte| char::from_u32(u32::from(unit_of_byte(byte))).unwrap_or('?'))
        .collect()
}

/// Appends text in code page 1252; each UTF-16 unit it doesn't have becomes `?`, so that a character outside
/// the basic plane becomes two.
///
/// SQL Server looks for a similar character first (`best fit`); we don't.
pub fn encode_1252(text: &str, out: &mut Vec<u8>) {
    if text.is_ascii() {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.extend(
        text.encode_utf16()
            .map(|unit| byte_of_unit(unit).unwrap_or(b'?')),
    );
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

    #[test]
    fn a_character_outside_the_code_page_becomes_a_question_mark() {
        let mut out = Vec::new();
        encode_1252("a\u{0142}b\u{1F600}", &mut out);
        assert_eq!(out, b"a?b??");
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
