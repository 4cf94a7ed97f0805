//! Reads JSON text in place.

use super::path::Step;
use crate::error::message;
use furrow_messages::Message;
use std::borrow::Cow;
use std::fmt::Write;

/// How deep values may lie in each other.
const DEEPEST: usize = 128;

/// What a value is. The numbers are those of OPENJSON's column `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null = 0,
    /// `"text"`
    String = 1,
    /// `1.5`
    Number = 2,
    /// `true`, `false`
    Bool = 3,
    /// `[..]`
    Array = 4,
    /// `{..}`
    Object = 5,
}

/// A value and the bytes of the text that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// Its first byte.
    pub start: usize,
    /// Behind its last byte.
    pub end: usize,
}

impl Node {
    /// Its own text.
    pub fn text<'t>(&self, of: &'t str) -> &'t str {
        of.get(self.start..self.end).unwrap_or_default()
    }

    /// The value of a scalar: a string without its quotation marks; `None` of null, objects and arrays.
    pub fn scalar<'t>(&self, of: &'t str) -> Option<Cow<'t, str>> {
        match self.kind {
            Kind::String => Some(unescape(self.text(of))),
            Kind::Number | Kind::Bool => Some(Cow::Borrowed(self.text(of))),
            Kind::Null | Kind::Array | Kind::Object => None,
        }
    }
}

/// Where a text stops being JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bad {
    /// At a byte of it.
    At(usize),
    /// It lies too deep.
    Deep,
}

impl Bad {
    /// 13609 with a state, or 13606. The place is counted in UTF-16 units.
    pub fn message(self, text: &str, state: u8) -> Message {
        match self {
            Bad::Deep => message(13606, &[]),
            Bad::At(at) => {
                let before = text.get(..at).unwrap_or(text);
                let found = text.get(at..).and_then(|rest| rest.chars().next());
                let shown = found.unwrap_or('.').to_string();
                let place = before.encode_utf16().count();
                message(13609, &[shown.into(), place.into()]).with_state(state)
            }
        }
    }
}

/// Members read between two looks whether the statement is to end.
const CHECK_MEMBERS: usize = 4096;

type Read<T> = Result<T, Bad>;

/// A place in a text, and how deep it lies.
#[derive(Debug, Clone)]
pub(super) struct Reader<'t> {
    text: &'t str,
    pub(super) at: usize,
    depth: usize,
    members: usize,
}

impl<'t> Reader<'t> {
    /// Before the outermost value of a text, which is an object or array.
    pub(super) fn open(text: &'t str) -> Read<Reader<'t>> {
        let mut reader = Reader::at(text, 0);
        match reader.peek() {
            Some(b'{' | b'[') => Ok(reader),
            _ => Err(Bad::At(reader.at)),
        }
    }

    /// Before a value that was found.
    pub(super) fn at(text: &'t str, at: usize) -> Reader<'t> {
        Reader {
            text,
            at,
            depth: 0,
            members: 0,
        }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// The next byte that is not blank.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte(self.at) {
            self.at += 1;
        }
        self.byte(self.at)
    }

    /// Goes into the object or array whose bracket is next.
    pub(super) fn enter(&mut self) -> Read<()> {
        self.peek();
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Bad::Deep);
        }
        self.at += 1;
        Ok(())
    }

    /// Goes to the next value of the object or array that it is in: `None` behind its end, else its key.
    pub(super) fn next_member(&mut self, is_first: bool, close: u8) -> Read<Option<Option<Node>>> {
        self.members += 1;
        // When the statement is to end, any error will do: the executor looks again.
        if self.members.is_multiple_of(CHECK_MEMBERS) && furrow_observe::task::is_cancelled() {
            return Err(Bad::At(self.at));
        }
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth -= 1;
                return Ok(None);
            }
            Some(b',') if !is_first => self.at += 1,
            Some(_) if is_first => {}
            _ => return Err(Bad::At(self.at)),
        }
        if close == b']' {
            return Ok(Some(None));
        }
        if self.peek() != Some(b'"') {
            return Err(Bad::At(self.at));
        }
        let key = self.string()?;
        if self.peek() != Some(b':') {
            return Err(Bad::At(self.at));
        }
        self.at += 1;
        Ok(Some(Some(key)))
    }

    /// Reads a whole value.
    pub(super) fn value(&mut self) -> Read<Node> {
        let first = self.peek();
        let start = self.at;
        let (kind, close) = match first {
            Some(b'{') => (Kind::Object, b'}'),
            Some(b'[') => (Kind::Array, b']'),
            Some(b'"') => return self.string(),
            _ => return self.word(),
        };
        self.enter()?;
        let mut is_first = true;
        while self.next_member(is_first, close)?.is_some() {
            self.value()?;
            is_first = false;
        }
        Ok(Node {
            kind,
            start,
            end: self.at,
        })
    }

    fn string(&mut self) -> Read<Node> {
        let start = self.at;
        let bad = Err(Bad::At(start));
        let mut at = start + 1;
        loop {
            match self.byte(at) {
                Some(b'"') => break,
                Some(b'\\') => match self.byte(at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                    Some(b'u') if hex(self.text, at + 2).is_some() => at += 6,
                    _ => return bad,
                },
                Some(0..b' ') | None => return bad,
                Some(_) => at += 1,
            }
        }
        self.at = at + 1;
        Ok(Node {
            kind: Kind::String,
            start,
            end: self.at,
        })
    }

    /// Reads a number, `true`, `false` or `null`.
    fn word(&mut self) -> Read<Node> {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let is_end = |c: char| matches!(c, ',' | ':' | '{' | '}' | '[' | ']' | '"') || c <= ' ';
        let word = rest.split(is_end).next().unwrap_or_default();
        let kind = match word {
            "null" => Kind::Null,
            "true" | "false" => Kind::Bool,
            word if is_number(word) => Kind::Number,
            _ => return Err(Bad::At(start)),
        };
        self.at = start + word.len();
        Ok(Node {
            kind,
            start,
            end: self.at,
        })
    }

    /// Reads what follows a value: the end of the text, or the rest of what encloses the value.
    pub(super) fn step_out(&mut self) -> Read<()> {
        match (self.depth, self.peek()) {
            (0, None) | (1.., Some(b',' | b'}' | b']')) => Ok(()),
            _ => Err(Bad::At(self.at)),
        }
    }
}

/// The four hexadecimal digits at a place.
fn hex(text: &str, at: usize) -> Option<u16> {
    let digits = text.get(at..at + 4)?;
    let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| all)
}

fn is_number(word: &str) -> bool {
    let word = word.strip_prefix('-').unwrap_or(word);
    let (mantissa, exponent) = match word.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (word, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let unsigned = |text: &str| digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(unsigned)
}

/// A string with its quotation marks as the text that it stands for. Half of a surrogate pair is U+FFFD.
pub fn unescape(quoted: &str) -> Cow<'_, str> {
    let inner = quoted.get(1..quoted.len().saturating_sub(1));
    let mut rest = inner.unwrap_or_default();
    if !rest.contains('\\') {
        return Cow::Borrowed(rest);
    }
    let mut out = String::with_capacity(rest.len());
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let mut length = 1;
        match after.as_bytes().first() {
            Some(b'b') => out.push('\u{8}'),
            Some(b'f') => out.push('\u{c}'),
            Some(b'n') => out.push('\n'),
            Some(b'r') => out.push('\r'),
            Some(b't') => out.push('\t'),
            Some(b'u') => {
                let low = match after.get(5..7) {
                    Some("\\u") => hex(after, 7),
                    _ => None,
                };
                let units = [hex(after, 1).unwrap_or_default(), low.unwrap_or_default()];
                let first = char::decode_utf16(units).next();
                let c = first.and_then(Result::ok);
                length = match c {
                    Some(c) if c.len_utf16() == 2 => 11,
                    _ => 5,
                };
                out.push(c.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(_) => out.extend(after.chars().next()),
            None => length = 0,
        }
        rest = after.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A text with what JSON does not take in a string escaped, without quotation marks. SQL Server puts a
/// backslash before slashes, too, except in keys.
pub fn quote(text: &str, slashes: bool, out: &mut String) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '/' if slashes => out.push_str("\\/"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                // Writing to a string cannot fail.
                let _infallible = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
}

/// A floating-point number with so many digits behind the point and an exponent of three: `1.5e+000`.
pub fn scientific(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    let (sign, power) = match exponent.strip_prefix('-') {
        Some(power) => ('-', power),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{power:0>3}")
}

/// Whether a text is one object or array, and nothing else.
pub fn is_json(text: &str) -> bool {
    whole(text).is_ok()
}

/// Reads the whole text.
pub(super) fn whole(text: &str) -> Read<()> {
    let mut reader = Reader::open(text)?;
    reader.value()?;
    reader.step_out()
}

/// The value at the end of a path; `None` where there is none. No more of the text is read than it takes.
pub fn find(text: &str, steps: &[Step]) -> Read<Option<Node>> {
    Reader::open(text)?.follow(steps)
}

/// [`find`] in the text of a value that has been read, of whatever kind it is.
pub fn seek(value: &str, steps: &[Step]) -> Option<Node> {
    Reader::at(value, 0).follow(steps).ok().flatten()
}

impl Reader<'_> {
    fn follow(&mut self, steps: &[Step]) -> Read<Option<Node>> {
        for step in steps {
            let found = match (self.peek(), step) {
                (Some(b'{'), Step::Key(key)) => self.find_key(key)?,
                (Some(b'['), Step::Index(index)) => self.find_index(*index)?,
                // The bracket and the first member settle that there is no such thing.
                (Some(bracket @ (b'{' | b'[')), _) => match self.is_entered(bracket)? {
                    true => return Ok(None),
                    false => false,
                },
                _ => {
                    self.value()?;
                    false
                }
            };
            if !found {
                self.step_out()?;
                return Ok(None);
            }
        }
        self.value().map(Some)
    }

    /// Reads the first member of an object or array; whether there is one.
    pub(super) fn is_entered(&mut self, bracket: u8) -> Read<bool> {
        self.enter()?;
        let close = if bracket == b'{' { b'}' } else { b']' };
        let entered = self.next_member(true, close)?.is_some();
        if entered {
            self.value()?;
        }
        Ok(entered)
    }

    fn find_key(&mut self, wanted: &str) -> Read<bool> {
        self.enter()?;
        let mut is_first = true;
        while let Some(key) = self.next_member(is_first, b'}')? {
            if key.is_some_and(|key| unescape(key.text(self.text)) == wanted) {
                return Ok(true);
            }
            self.value()?;
            is_first = false;
        }
        Ok(false)
    }

    pub(super) fn find_index(&mut self, wanted: usize) -> Read<bool> {
        self.enter()?;
        let mut at = 0;
        while self.next_member(at == 0, b']')?.is_some() {
            if at == wanted {
                return Ok(true);
            }
            self.value()?;
            at += 1;
        }
        Ok(false)
    }
}

/// The values of an object with their keys, or of an array, one after the other.
#[derive(Debug)]
pub struct Members<'t> {
    reader: Reader<'t>,
    close: u8,
    is_first: bool,
    is_over: bool,
}

impl<'t> Members<'t> {
    /// Those of a value that was found; none of a scalar.
    pub fn of(text: &'t str, node: &Node) -> Members<'t> {
        let mut reader = Reader::at(text, node.start);
        let is_over = !matches!(node.kind, Kind::Object | Kind::Array) || reader.enter().is_err();
        Members {
            reader,
            close: if node.kind == Kind::Object {
                b'}'
            } else {
                b']'
            },
            is_first: true,
            is_over,
        }
    }

    fn step(&mut self) -> Read<Option<(Option<Node>, Node)>> {
        let Some(key) = self.reader.next_member(self.is_first, self.close)? else {
            return Ok(None);
        };
        self.is_first = false;
        Ok(Some((key, self.reader.value()?)))
    }
}

impl Iterator for Members<'_> {
    type Item = Read<(Option<Node>, Node)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let step = self.step().transpose();
        self.is_over = !matches!(step, Some(Ok(_)));
        step
    }
}
