//! Text and bytes to `xml`, which checks them, and back.

use furrow_types::{
    Family, TypeId, Value, decode_1252, decode_utf16, decode_xml, encode_1252, encode_utf16,
    is_binary_xml,
};

use super::Conversion;
use crate::error::{SqlResult, cannot_convert, message};
use crate::text::units;
use crate::xml::{Source, parse};

/// The mark that UTF-16 begins with.
const BYTE_ORDER_MARK: [u8; 2] = [0xFF, 0xFE];

/// XML from a value. Styles: 1 keeps white space, 2 would take a document type, 3 is both.
pub(super) fn to_xml(to: &Conversion, value: &Value) -> SqlResult<Value> {
    if to.from.id == TypeId::Xml {
        return Ok(value.clone());
    }
    let style = to.style.unwrap_or(0);
    if !(0..=3).contains(&style) {
        return Err(message(6358, &[style.into()]));
    }
    let preserve = style & 1 == 1;
    let xml = match value {
        Value::VarChar(text) => parse(text, Source::Narrow, preserve),
        Value::NVarChar(text) => parse(text, Source::Wide, preserve),
        Value::Binary(bytes) => from_bytes(bytes, preserve),
        _ => return Err(cannot_convert(to.from.id, TypeId::Xml)),
    };
    xml.map(Value::NVarChar)
}

/// Binary XML, UTF-16 by its mark, else UTF-8.
fn from_bytes(bytes: &[u8], preserve: bool) -> SqlResult<String> {
    if is_binary_xml(bytes) {
        // Binary XML may contain text, and only a parser can decide whether that text is XML.
        let text = decode_xml(bytes).ok_or_else(|| message(9420, &[1.into(), 1.into()]))?;
        return parse(&text, Source::Bytes, true);
    }
    if let Some(wide) = bytes.strip_prefix(&BYTE_ORDER_MARK) {
        return parse(&decode_utf16(wide), Source::Bytes, preserve);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text, Source::Bytes, preserve),
        Err(error) => {
            let valid = bytes.get(..error.valid_up_to()).unwrap_or(&[]);
            let before = String::from_utf8_lossy(valid);
            let line = before.split('\n').count();
            let last = before
                .rsplit('\n')
                .next()
                .map_or(0, |line| line.chars().count());
            Err(message(9420, &[line.into(), (last + 1).into()]))
        }
    }
}

/// XML as text, whole or not at all; as bytes in UTF-16 with its mark.
pub(super) fn from_xml(to: &Conversion, value: &Value) -> SqlResult<Value> {
    let Some(text) = value.as_str() else {
        return Err(cannot_convert(TypeId::Xml, to.to.id));
    };
    let room = match to.to.is_max() || to.to.id.family() == Family::Lob {
        true => None,
        false => Some(usize::from(to.to.length.max(0).unsigned_abs())),
    };
    let too_long = || message(6354, &[]);
    if to.to.id.family() == Family::Binary {
        let mut bytes = BYTE_ORDER_MARK.to_vec();
        encode_utf16(text, &mut bytes);
        if room.is_some_and(|room| bytes.len() > room) {
            return Err(too_long());
        }
        if let (TypeId::Binary, Some(room)) = (to.to.id, room) {
            bytes.resize(room, 0);
        }
        return Ok(Value::Binary(bytes));
    }
    let unicode = to.to.id.is_unicode();
    let wanted = units(text, unicode) * if unicode { 2 } else { 1 };
    if room.is_some_and(|room| wanted > room) {
        return Err(too_long());
    }
    if !unicode && !text.is_ascii() {
        let mut bytes = Vec::with_capacity(text.len());
        encode_1252(text, &mut bytes);
        if decode_1252(&bytes) != text {
            return Err(message(6355, &[]));
        }
    }
    super::text::to_text(to, value)
}
