//! Tokens of structure, and the text they make.

use super::super::decode_utf16;
use super::{CODE_PAGE, NAME_CHARACTERS, SIGNATURE, escape_xml, token};
use std::collections::HashMap;
use std::rc::Rc;

/// Least value of the limit of text in a decoded value, in bytes.
const SMALL_TEXT: usize = 64 << 20;
/// Bytes of text that a byte of a larger value may expand to: three bytes begin and end an element, and names
/// are short as a rule.
const TEXT_PER_BYTE: usize = 256;

/// Most bytes of text that a value of so many bytes may expand to: at most what the type holds, and a limit
/// for damaged or hostile values.
fn most_text(bytes: usize) -> usize {
    let text = SMALL_TEXT.saturating_add(bytes.saturating_mul(TEXT_PER_BYTE));
    text.min(i32::MAX as usize)
}

/// Bytes yet to be read.
#[derive(Clone, Copy)]
pub(super) struct Input<'b> {
    rest: &'b [u8],
}

impl<'b> Input<'b> {
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(byte)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Option<&'b [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    /// A number of at most 31 bits, seven a byte.
    pub(super) fn count(&mut self) -> Option<usize> {
        let mut number = 0_u32;
        for shift in (0..32).step_by(7) {
            let byte = self.byte()?;
            if shift == 28 && byte > 7 {
                return None;
            }
            number |= u32::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return usize::try_from(number).ok();
            }
        }
        None
    }

    /// A text with its length in UTF-16 before it.
    pub(super) fn text(&mut self) -> Option<String> {
        let units = self.count()?;
        Some(decode_utf16(self.bytes(units.checked_mul(2)?)?))
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_there = self.rest.first() == Some(&byte);
        if is_there {
            self.rest = self.rest.get(1..).unwrap_or(&[]);
        }
        is_there
    }
}

/// Most bytes of names that are put together from a prefix and a local part. A few bytes of a value can ask
/// for thousands each.
const MOST_JOINED_BYTES: usize = 16 << 20;

/// A name as it is written, with what its prefix must mean. A few bytes of a value can repeat it many times,
/// so its parts are shared.
#[derive(Clone, Default)]
struct Name {
    written: Rc<str>,
    prefix: Rc<str>,
    uri: Rc<str>,
    /// Whether it is an attribute that declares this prefix.
    declares: Option<Rc<str>>,
}

/// Names that have been defined. A document within the document has its own.
struct Names {
    texts: Vec<Rc<str>>,
    qualified: Vec<Name>,
    /// Bytes of qualified names that were put together.
    joined_bytes: usize,
}

/// What prefixes mean, the innermost declaration last.
#[derive(Default)]
struct Declared {
    prefixes: Vec<Rc<str>>,
    uris: HashMap<Rc<str>, Vec<Rc<str>>>,
}

impl Declared {
    fn push(&mut self, prefix: Rc<str>, uri: Rc<str>) {
        self.uris.entry(Rc::clone(&prefix)).or_default().push(uri);
        self.prefixes.push(prefix);
    }

    fn uri(&self, prefix: &str) -> Option<&Rc<str>> {
        self.uris.get(prefix)?.last()
    }

    /// Forgets all but the outermost `count`.
    fn truncate(&mut self, count: usize) {
        while self.prefixes.len() > count {
            let last = self.prefixes.pop();
            if let Some(uris) = last.and_then(|prefix| self.uris.get_mut(&prefix)) {
                uris.pop();
            }
        }
    }
}

impl Names {
    fn new() -> Names {
        Names {
            texts: vec![Rc::default()],
            qualified: vec![Name::default()],
            joined_bytes: 0,
        }
    }

    fn text(&self, input: &mut Input<'_>) -> Option<&Rc<str>> {
        self.texts.get(input.count()?)
    }

    fn add_text(&mut self, input: &mut Input<'_>) -> Option<()> {
        let text = input
            .text()
            .filter(|text| text.encode_utf16().count() <= NAME_CHARACTERS)?;
        self.texts.push(text.into());
        Some(())
    }

    fn add_qualified(&mut self, input: &mut Input<'_>) -> Option<()> {
        let uri = self.text(input)?.clone();
        let prefix = self.text(input)?.clone();
        let local = self.text(input)?.clone();
        let name = match (&*prefix, &*local) {
            // SQL Server writes such a one at times; nothing means it.
            ("", "") if uri.is_empty() => Name::default(),
            // A declaration has its whole name in the prefix.
            (declaration, "") => {
                let declared = match declaration.strip_prefix("xmlns")? {
                    "" => Rc::default(),
                    rest => rest.strip_prefix(':').filter(|p| !p.is_empty())?.into(),
                };
                Name {
                    written: prefix,
                    declares: Some(declared),
                    ..Name::default()
                }
            }
            ("", _) => Name {
                written: local,
                uri,
                ..Name::default()
            },
            _ => {
                self.joined_bytes += prefix.len() + local.len();
                if self.joined_bytes > MOST_JOINED_BYTES {
                    return None;
                }
                Name {
                    written: format!("{prefix}:{local}").into(),
                    prefix,
                    uri,
                    declares: None,
                }
            }
        };
        self.qualified.push(name);
        Some(())
    }

    fn qualified(&self, input: &mut Input<'_>) -> Option<&Name> {
        let name = self.qualified.get(input.count()?)?;
        Some(name).filter(|name| !name.written.is_empty())
    }
}

/// An element that is open.
struct Open {
    name: Rc<str>,
    /// Declarations that were in force before it.
    declared: usize,
}

/// Reads one value.
pub(super) struct Scanner<'b> {
    input: Input<'b>,
    names: Names,
    /// Those of the documents around, with how many elements were open there.
    outer: Vec<(Names, usize)>,
    open: Vec<Open>,
    declared: Declared,
    /// What the tag that is not ended yet needs its prefixes to mean.
    needed: Vec<(Rc<str>, Rc<str>)>,
    in_tag: bool,
    out: String,
    /// Most bytes of text.
    most: usize,
}

impl<'b> Scanner<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Scanner<'b> {
        Scanner {
            input: Input { rest: bytes },
            names: Names::new(),
            outer: Vec::new(),
            open: Vec::new(),
            declared: Declared::default(),
            needed: Vec::new(),
            in_tag: false,
            out: String::new(),
            most: most_text(bytes.len()),
        }
    }

    /// The whole value.
    pub(super) fn document(mut self) -> Option<String> {
        self.header()?;
        while let Some(token) = self.input.byte() {
            self.token(token)?;
            self.fits(0)?;
        }
        let is_whole = self.open.is_empty() && self.outer.is_empty();
        is_whole.then_some(self.out)
    }

    /// Whether so much more text may come.
    fn fits(&self, more: usize) -> Option<()> {
        (self.out.len() + more <= self.most).then_some(())
    }

    fn header(&mut self) -> Option<()> {
        let input = &mut self.input;
        let [a, b, version, low, high] = input.array()?;
        let is_known = [a, b] == SIGNATURE
            && matches!(version, 1 | 2)
            && u16::from_le_bytes([low, high]) == CODE_PAGE;
        if !is_known {
            return None;
        }
        if input.eat(token::XML_DECLARATION) {
            input.text()?;
            if input.eat(token::ENCODING) {
                input.text()?;
            }
            input.byte().filter(|standalone| *standalone <= 2)?;
        }
        Some(())
    }

    fn token(&mut self, token: u8) -> Option<()> {
        if self.names_and_more(token)? {
            return Some(());
        }
        match token {
            token::ELEMENT => {
                self.end_tag();
                let name = self.names.qualified(&mut self.input)?.clone();
                if name.declares.is_some() {
                    return None;
                }
                self.out.push('<');
                self.out.push_str(&name.written);
                self.needed.push((name.prefix, name.uri));
                self.open.push(Open {
                    name: name.written,
                    declared: self.declared.prefixes.len(),
                });
                self.in_tag = true;
            }
            token::ATTRIBUTE => self.attribute()?,
            token::END_ATTRIBUTES => self.in_tag.then_some(())?,
            token::END_ELEMENT => self.end_element()?,
            token::NESTED => {
                self.end_tag();
                let names = std::mem::replace(&mut self.names, Names::new());
                self.outer.push((names, self.open.len()));
                self.header()?;
            }
            token::END_NESTED => {
                let (names, open) = self.outer.pop()?;
                (open == self.open.len()).then_some(())?;
                self.names = names;
            }
            token::INSTRUCTION => {
                self.end_tag();
                let target = self.names.text(&mut self.input)?.clone();
                let text = self.input.text()?;
                let blank = if text.is_empty() { "" } else { " " };
                self.out.push_str(&format!("<?{target}{blank}{text}?>"));
            }
            token::COMMENT => {
                self.end_tag();
                let text = self.input.text()?;
                self.out.push_str(&format!("<!--{text}-->"));
            }
            token::CDATA => {
                self.end_tag();
                let text = self.input.text()?;
                escape_xml(&text, false, &mut self.out);
            }
            token::TEXT => {
                self.end_tag();
                let text = self.input.text()?;
                self.out.push_str(&text);
            }
            value => {
                self.end_tag();
                let text = self.value(value)?;
                escape_xml(&text, false, &mut self.out);
            }
        }
        Some(())
    }

    /// Tokens that write nothing. `false` for another one.
    fn names_and_more(&mut self, token: u8) -> Option<bool> {
        let input = &mut self.input;
        match token {
            token::NAME => self.names.add_text(input)?,
            token::QUALIFIED_NAME => self.names.add_qualified(input)?,
            token::FLUSH_NAMES => self.names = Names::new(),
            token::EXTENSION => {
                let length = input.count()?;
                input.bytes(length)?;
            }
            token::END_CDATA => {}
            token::DOCTYPE => {
                input.text()?;
                for part in [token::SYSTEM, token::PUBLIC, token::SUBSET] {
                    if input.eat(part) {
                        input.text()?;
                    }
                }
            }
            _ => return Some(false),
        }
        Some(true)
    }

    /// An attribute with its value; no value is an empty one.
    fn attribute(&mut self) -> Option<()> {
        self.in_tag.then_some(())?;
        let name = self.names.qualified(&mut self.input)?.clone();
        let mut text = String::new();
        loop {
            let before = self.input;
            let token = self.input.byte()?;
            if matches!(token, token::ATTRIBUTE | token::END_ATTRIBUTES) {
                self.input = before;
                break;
            }
            if !self.names_and_more(token)? {
                // A list of values is written with blanks between them.
                if !text.is_empty() {
                    text.push(' ');
                }
                text.push_str(&self.value(token)?);
                self.fits(text.len())?;
            }
        }
        self.out.push(' ');
        self.out.push_str(&name.written);
        self.out.push_str("=\"");
        escape_xml(&text, true, &mut self.out);
        self.out.push('"');
        match name.declares {
            Some(prefix) => self.declared.push(prefix, text.into()),
            None if !name.prefix.is_empty() => self.needed.push((name.prefix, name.uri)),
            None => {}
        }
        Some(())
    }

    fn value(&mut self, token: u8) -> Option<String> {
        match token {
            super::value::QUALIFIED_NAME => {
                let name = self.names.qualified(&mut self.input)?;
                Some(name.written.to_string())
            }
            token => super::value::text(token, &mut self.input),
        }
    }

    /// Closes the innermost element, which is one of this document.
    fn end_element(&mut self) -> Option<()> {
        let floor = self.outer.last().map_or(0, |(_, open)| *open);
        (self.open.len() > floor).then_some(())?;
        let was_empty = self.in_tag;
        if was_empty {
            self.declare();
            self.out.push_str("/>");
            self.in_tag = false;
        }
        let open = self.open.pop()?;
        if !was_empty {
            self.out.push_str("</");
            self.out.push_str(&open.name);
            self.out.push('>');
        }
        self.declared.truncate(open.declared);
        Some(())
    }

    /// Ends the tag that is open, so that content may follow.
    fn end_tag(&mut self) {
        if std::mem::take(&mut self.in_tag) {
            self.declare();
            self.out.push('>');
        }
    }

    /// Declares what the tag needs and nothing declares.
    fn declare(&mut self) {
        for (prefix, uri) in std::mem::take(&mut self.needed) {
            let now = self.declared.uri(&prefix).map_or("", |uri| &**uri);
            if &*prefix == "xml" || now == &*uri {
                continue;
            }
            self.out.push_str(" xmlns");
            if !prefix.is_empty() {
                self.out.push(':');
                self.out.push_str(&prefix);
            }
            self.out.push_str("=\"");
            escape_xml(&uri, true, &mut self.out);
            self.out.push('"');
            self.declared.push(prefix, uri);
        }
    }
}
