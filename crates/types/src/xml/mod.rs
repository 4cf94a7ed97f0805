//! Values of type `xml` on disk: SQL Server's binary XML, as [MS-BINXML] has it.
//!
//! A value is a header (`DF FF`, version 1 or 2, code page 1200) and a run of tokens. A name is defined once
//! and then referred to by number: a text by its place among the texts, a qualified name (URI, prefix, local
//! name) by its place among the qualified names; both count from 1, and text 0 is empty. Numbers are written
//! seven bits a byte, lowest first.
//!
//! Steps of [`decode_xml`]
//! 1. The header; an XML declaration is skipped, since the text is no longer in its encoding.
//! 2. Token by token, text is written: tags as they open and close, values in the forms of XML Schema.
//! 3. A prefix in use that no attribute declares gets its declaration at the end of the tag.
//!
//! What we write ourselves ([`encode`]) is the header and one token that holds the text: binary XML, too.
//!
//! What can fail: bytes that are none of this are no value (`None`), whatever they are. Depth costs no stack.

mod scanner;
mod value;

use super::encode_utf16;
use scanner::Scanner;

pub use value::base64;

/// Values begin so: the signature.
const SIGNATURE: [u8; 2] = [0xDF, 0xFF];
/// UTF-16, the only code page of texts.
const CODE_PAGE: u16 = 1200;
/// The most characters of a name, and so of the text of one token.
const NAME_CHARACTERS: usize = 4000;

/// Tokens of structure; those of values are in `value`.
mod token {
    pub(super) const XML_DECLARATION: u8 = 0xFE;
    pub(super) const ENCODING: u8 = 0xFD;
    pub(super) const DOCTYPE: u8 = 0xFC;
    pub(super) const SYSTEM: u8 = 0xFB;
    pub(super) const PUBLIC: u8 = 0xFA;
    pub(super) const SUBSET: u8 = 0xF9;
    pub(super) const ELEMENT: u8 = 0xF8;
    pub(super) const END_ELEMENT: u8 = 0xF7;
    pub(super) const ATTRIBUTE: u8 = 0xF6;
    pub(super) const END_ATTRIBUTES: u8 = 0xF5;
    pub(super) const INSTRUCTION: u8 = 0xF4;
    pub(super) const COMMENT: u8 = 0xF3;
    pub(super) const CDATA: u8 = 0xF2;
    pub(super) const END_CDATA: u8 = 0xF1;
    pub(super) const NAME: u8 = 0xF0;
    pub(super) const QUALIFIED_NAME: u8 = 0xEF;
    pub(super) const TEXT: u8 = 0xED;
    pub(super) const NESTED: u8 = 0xEC;
    pub(super) const END_NESTED: u8 = 0xEB;
    pub(super) const EXTENSION: u8 = 0xEA;
    pub(super) const FLUSH_NAMES: u8 = 0xE9;
}

/// The text of binary XML; `None` for bytes that are none.
pub fn decode_xml(bytes: &[u8]) -> Option<String> {
    Scanner::new(bytes).document()
}

/// Appends text that is XML as binary XML.
pub(super) fn encode(text: &str, out: &mut Vec<u8>) {
    out.extend(SIGNATURE);
    out.push(1);
    out.extend(CODE_PAGE.to_le_bytes());
    if text.is_empty() {
        return;
    }
    out.push(token::TEXT);
    let mut units = text.encode_utf16().count();
    while units > 0x7F {
        out.push((units & 0x7F) as u8 | 0x80);
        units >>= 7;
    }
    out.push(units as u8);
    encode_utf16(text, out);
}

/// Whether bytes begin with the signature of binary XML.
pub fn is_binary_xml(bytes: &[u8]) -> bool {
    bytes.starts_with(&SIGNATURE)
}

/// Appends text as XML writes it in content or, within quotes, in an attribute.
///
/// Characters that XML 1.0 does not have are written by number all the same, as SQL Server does.
pub fn escape_xml(text: &str, in_attribute: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if in_attribute => out.push_str("&quot;"),
            '\r' => out.push_str("&#x0D;"),
            '\n' if in_attribute => out.push_str("&#x0A;"),
            '\t' if in_attribute => out.push_str("&#x09;"),
            c if c < ' ' && !matches!(c, '\n' | '\t') => {
                out.push_str(&format!("&#x{:02X};", u32::from(c)));
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
