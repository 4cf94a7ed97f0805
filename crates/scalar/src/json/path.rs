//! Paths: `lax $.a[0]."b c"`.

use crate::error::{SqlResult, message};
use furrow_messages::Message;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The member of an object.
    Key(String),
    /// The element of an array, from 0.
    Index(usize),
}

/// A path that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path {
    /// Whether what is missing is an error.
    pub strict: bool,
    /// Whether JSON_MODIFY appends to the array that is named.
    pub append: bool,
    /// The way from the outermost value; none is that value itself.
    pub steps: Vec<Step>,
}

/// What was expected where the path stops being valid: the state of message 13607. Measured with SQL Server
/// 2025 (see the simulator's notes that research file 0.1 calls probe25).
const NO_DOLLAR: u8 = 22;
const NO_KEY: u8 = 14;
const NO_INDEX: u8 = 21;

/// 13607: the place is counted in UTF-16 units.
fn bad(text: &str, at: usize, state: u8) -> Message {
    let before = text.get(..at).unwrap_or(text);
    let found = text.get(at..).and_then(|rest| rest.chars().next());
    let place = before.encode_utf16().count();
    let shown = found.unwrap_or('.').to_string();
    message(13607, &[shown.into(), place.into()]).with_state(state)
}

/// Whether a key without quotation marks may have this character, as its first one or later.
fn is_word(c: char, first: bool) -> bool {
    c == '_' || c.is_alphabetic() || (!first && c.is_numeric())
}

impl Path {
    /// A path to one member of the outermost object.
    pub fn member(name: &str) -> Path {
        Path {
            steps: vec![Step::Key(name.to_owned())],
            ..Path::default()
        }
    }

    /// Reads a path: error 13607 where it is none. `append` is known to JSON_MODIFY alone.
    pub fn parse(text: &str, may_append: bool) -> SqlResult<Path> {
        let mut path = Path::default();
        let mut at = text.len() - text.trim_start().len();
        let word = |at: usize| {
            let rest = text.get(at..).unwrap_or_default();
            let end = rest.find(|c: char| !c.is_ascii_alphabetic());
            let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let after = rest.get(word.len()..).unwrap_or_default();
            (
                word,
                at + word.len() + after.len() - after.trim_start().len(),
            )
        };
        if may_append && word(at).0.eq_ignore_ascii_case("append") {
            path.append = true;
            at = word(at).1;
        }
        for (name, strict) in [("lax", false), ("strict", true)] {
            if word(at).0.eq_ignore_ascii_case(name) {
                path.strict = strict;
                at = word(at).1;
                break;
            }
        }
        let rest = text.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return Err(bad(text, at, NO_KEY));
        }
        if !rest.starts_with('$') {
            return Err(bad(text, at, NO_DOLLAR));
        }
        at += 1;
        loop {
            let rest = text.get(at..).unwrap_or_default();
            match rest.chars().next() {
                None => return Ok(path),
                Some('.') => at = path.key(text, at + 1)?,
                Some('[') => at = path.index(text, at + 1)?,
                Some(c) if c.is_whitespace() && rest.trim().is_empty() => return Ok(path),
                Some(_) => return Err(bad(text, at, NO_KEY)),
            }
        }
    }

    /// Reads a key behind its dot, and returns where it ends.
    fn key(&mut self, text: &str, at: usize) -> SqlResult<usize> {
        let rest = text.get(at..).unwrap_or_default();
        if let Some(quoted) = rest.strip_prefix('"') {
            let (key, length) = quoted_key(quoted).ok_or_else(|| bad(text, text.len(), NO_KEY))?;
            self.steps.push(Step::Key(key));
            return Ok(at + 1 + length);
        }
        let mut first = true;
        let end = rest.find(|c: char| !is_word(c, std::mem::take(&mut first)));
        let key = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if key.is_empty() {
            return Err(bad(text, at, NO_KEY));
        }
        self.steps.push(Step::Key(key.to_owned()));
        Ok(at + key.len())
    }

    /// Reads an index behind its bracket, and returns where it ends.
    fn index(&mut self, text: &str, at: usize) -> SqlResult<usize> {
        let rest = text.get(at..).unwrap_or_default();
        let end = rest.find(|c: char| !c.is_ascii_digit());
        let digits = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let index = digits.parse().map_err(|_| bad(text, at, NO_INDEX))?;
        let at = at + digits.len();
        if !text.get(at..).unwrap_or_default().starts_with(']') {
            return Err(bad(text, at, NO_INDEX));
        }
        self.steps.push(Step::Index(index));
        Ok(at + 1)
    }
}

/// A key up to its closing quotation mark, two of which stand for one; and how long it is with that mark.
fn quoted_key(text: &str) -> Option<(String, usize)> {
    let mut key = String::new();
    let mut all = text.char_indices().peekable();
    while let Some((at, c)) = all.next() {
        match c {
            '"' => match all.next_if(|(_, next)| *next == '"') {
                Some(_) => key.push('"'),
                None => return Some((key, at + 1)),
            },
            c => key.push(c),
        }
    }
    None
}
