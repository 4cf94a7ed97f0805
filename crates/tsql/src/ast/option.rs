//! Options of statements: `NAME`, `NAME = value`, `NAME (a = 1, ..)`, and sizes with units.

use super::expr::Expr;
use super::name::ObjectName;
use super::table::IndexColumn;
use crate::span::Span;

/// An option. Which names and values a statement takes is decided when it is parsed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opt {
    /// Its name in upper case; several words are parted by single blanks.
    pub name: Box<str>,
    /// Whether `=` stands before the value.
    pub equals: bool,
    /// Its value.
    pub value: Option<OptValue>,
    /// Where it stands.
    pub span: Span,
}

impl Opt {
    /// Whether the value is the word `ON`, or absent.
    #[must_use]
    pub fn is_on(&self) -> bool {
        match &self.value {
            None => true,
            Some(OptValue::Word(word)) => &**word == "ON",
            Some(OptValue::OnList(_)) => true,
            Some(_) => false,
        }
    }
}

/// The value of an option.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptValue {
    /// A keyword such as `ON`, `OFF`, `CHECKSUM`, in upper case.
    Word(Box<str>),
    /// A name.
    Name(ObjectName),
    /// A constant or variable.
    Expr(Expr),
    /// A number with a unit.
    Size(Size),
    /// `(a = 1, b = ON)`
    List(Vec<Opt>),
    /// `ON (a = 1, b = ON)`
    OnList(Vec<Opt>),
    /// `(1, 2 TO 4)`: numbers of partitions.
    Ranges(Vec<(Expr, Option<Expr>)>),
    /// `(a, b DESC)`: columns with their direction.
    Columns(Vec<IndexColumn>),
}

/// A number with a unit, as in `SIZE = 5MB` or `60 SECONDS`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Size {
    /// The number: a constant, or a variable where one is allowed.
    pub number: Expr,
    /// The unit in upper case (`KB`, `%`, `SECONDS`); none when left out.
    pub unit: Option<Box<str>>,
}

/// The option of this name, the last if given more than once.
#[must_use]
pub fn find<'a>(options: &'a [Opt], name: &str) -> Option<&'a Opt> {
    options.iter().rev().find(|option| &*option.name == name)
}
