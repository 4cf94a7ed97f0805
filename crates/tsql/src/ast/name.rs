//! Identifiers and names of one to four parts.

use crate::span::Span;
use std::fmt;

/// One identifier, without its delimiters and with doubled closing delimiters undone.
#[derive(Clone, PartialEq, Eq)]
pub struct Ident {
    /// The name as meant.
    pub value: Box<str>,
    /// Whether it was written `[so]` or `"so"`: then no word is a keyword.
    pub quoted: bool,
    /// Where it stands.
    pub span: Span,
}

impl Ident {
    /// A regular identifier that stands nowhere.
    #[must_use]
    pub fn new(value: &str) -> Self {
        Self {
            value: value.into(),
            quoted: false,
            span: Span::default(),
        }
    }

    /// Whether it is this word, ignoring ASCII case; a delimited identifier is no word.
    #[must_use]
    pub fn is_word(&self, word: &str) -> bool {
        !self.quoted && self.value.eq_ignore_ascii_case(word)
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.quoted {
            write!(f, "[{}]", self.value)
        } else {
            f.write_str(&self.value)
        }
    }
}

/// A name of one to five parts, the last part being the object or column: `server.database.schema.name`.
///
/// A part left out (`db..t`) is an empty identifier; the last part is never empty.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// The parts as written, left to right; at least one.
    pub parts: Vec<Ident>,
}

impl ObjectName {
    /// A name of one part.
    #[must_use]
    pub fn single(ident: Ident) -> Self {
        Self { parts: vec![ident] }
    }

    /// The part `back` steps left of the last; `None` when absent or left out.
    #[must_use]
    pub fn part(&self, back: usize) -> Option<&Ident> {
        let at = self.parts.len().checked_sub(back + 1)?;
        self.parts.get(at).filter(|part| !part.value.is_empty())
    }

    /// The last part: the object's or column's own name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.parts.last().map_or("", |part| &part.value)
    }

    /// The schema of an object name.
    #[must_use]
    pub fn schema(&self) -> Option<&Ident> {
        self.part(1)
    }

    /// The database of an object name.
    #[must_use]
    pub fn database(&self) -> Option<&Ident> {
        self.part(2)
    }

    /// The linked server of an object name.
    #[must_use]
    pub fn server(&self) -> Option<&Ident> {
        self.part(3)
    }

    /// Where the name stands.
    #[must_use]
    pub fn span(&self) -> Span {
        let first = self.parts.first().map(|p| p.span).unwrap_or_default();
        self.parts.last().map_or(first, |last| first.to(last.span))
    }

    /// Whether the name has one part, which is this word.
    #[must_use]
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.parts.as_slice(), [one] if one.is_word(word))
    }
}

impl fmt::Debug for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, part) in self.parts.iter().enumerate() {
            if n > 0 {
                f.write_str(".")?;
            }
            write!(f, "{part:?}")?;
        }
        Ok(())
    }
}

/// A variable, with its `@`.
pub type Variable = Ident;

/// A data type as written: its name and what stands in parentheses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataType {
    /// The type's name, one or two parts; spellings of several words are given by their usual name
    /// (`double precision` is `float`, `character varying` is `varchar`).
    pub name: ObjectName,
    /// Length, precision and scale, in order.
    pub args: Vec<TypeArg>,
}

/// What stands in the parentheses of a data type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TypeArg {
    /// A number, in digits.
    Number(Box<str>),
    /// `MAX`.
    Max,
    /// A name, as in `xml(collection)`.
    Name(ObjectName),
}
