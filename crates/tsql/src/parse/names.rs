//! Identifiers, names of several parts, variables, data types.

use super::cursor::Parser;
use crate::ast::name::{DataType, Ident, ObjectName, TypeArg, Variable};
use crate::error::{EMPTY_NAME, Parsed, TOO_LONG, TOO_MANY_PREFIXES};
use crate::lex::{Keyword, Kind, Token};
use crate::span::Span;

/// Longest identifier, in UTF-16 units as in SQL Server.
const LONGEST: usize = 128;

impl Parser<'_> {
    /// Whether a token can be an identifier.
    pub(super) fn is_ident(&self, token: Token) -> bool {
        match token.kind {
            Kind::Word | Kind::Bracketed => true,
            Kind::DoubleQuoted => self.options.quoted_identifier,
            _ => false,
        }
    }

    pub(super) fn at_ident(&self) -> bool {
        self.is_ident(self.token())
    }

    pub(super) fn ident(&mut self) -> Parsed<Ident> {
        if !self.at_ident() {
            return Err(self.unexpected());
        }
        let token = self.bump();
        self.to_ident(token)
    }

    pub(super) fn to_ident(&self, token: Token) -> Parsed<Ident> {
        let text = self.slice(token);
        let quoted = matches!(
            token.kind,
            Kind::Bracketed | Kind::DoubleQuoted | Kind::String | Kind::National
        );
        let value: Box<str> = match token.kind {
            Kind::Bracketed => undouble(text, 1, ']'),
            Kind::DoubleQuoted => undouble(text, 1, '"'),
            Kind::String => undouble(text, 1, '\''),
            Kind::National => undouble(text, 2, '\''),
            _ => text.into(),
        };
        if value.is_empty() {
            return Err(self.error_at(token, EMPTY_NAME, &[]));
        }
        if value.len() > LONGEST && value.encode_utf16().count() > LONGEST {
            let start: String = value.chars().take(LONGEST).collect();
            return Err(self.error_at(token, TOO_LONG, &[&start]));
        }
        Ok(Ident {
            value,
            quoted,
            span: token.span,
        })
    }

    /// An identifier, or any reserved word in its place.
    pub(super) fn any_word(&mut self) -> Parsed<Ident> {
        match self.kind() {
            Kind::Keyword(_) => {
                let token = self.bump();
                self.to_ident(token)
            }
            _ => self.ident(),
        }
    }

    /// The present word, reserved or not, in upper case.
    pub(super) fn upper_word(&mut self) -> Parsed<Box<str>> {
        match self.kind() {
            Kind::Keyword(_) | Kind::Word => {
                let token = self.bump();
                Ok(self.slice(token).to_ascii_uppercase().into())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// An identifier, or a string in its place, as in aliases and logical names.
    pub(super) fn ident_or_string(&mut self) -> Parsed<Ident> {
        match self.kind() {
            Kind::String | Kind::National | Kind::DoubleQuoted => {
                let token = self.bump();
                self.to_ident(token)
            }
            _ => self.ident(),
        }
    }

    /// A name of up to four parts; all parts but the last may be empty.
    pub(super) fn object_name(&mut self) -> Parsed<ObjectName> {
        let name = self.dotted_name()?;
        self.limit_parts(&name, 4, "object")?;
        Ok(name)
    }

    pub(super) fn limit_parts(&self, name: &ObjectName, most: usize, what: &str) -> Parsed<()> {
        if name.parts.len() <= most {
            return Ok(());
        }
        let shown: Vec<&str> = name.parts.iter().map(|part| &*part.value).collect();
        let prefixes = (most - 1).to_string();
        let args = [what, &shown.join("."), &prefixes];
        Err(TOO_MANY_PREFIXES.at(name.span(), self.blamed().line, &args))
    }

    /// A name of any number of parts.
    pub(super) fn dotted_name(&mut self) -> Parsed<ObjectName> {
        let mut parts = Vec::with_capacity(1);
        if self.kind() == Kind::Dot {
            parts.push(self.left_out());
        } else {
            parts.push(self.ident()?);
        }
        while self.eat(Kind::Dot) {
            if self.kind() == Kind::Dot {
                parts.push(self.left_out());
            } else {
                parts.push(self.part_after_dot()?);
            }
        }
        Ok(ObjectName { parts })
    }

    /// The part of a name after a dot, where the words that name pseudo columns are ordinary names, too.
    fn part_after_dot(&mut self) -> Parsed<Ident> {
        match self.kind() {
            Kind::Keyword(Keyword::IDENTITYCOL | Keyword::ROWGUIDCOL) => self.any_word(),
            _ => self.ident(),
        }
    }

    fn left_out(&self) -> Ident {
        let at = self.token().span.start;
        Ident {
            value: "".into(),
            quoted: false,
            span: Span::new(at, at),
        }
    }

    pub(super) fn variable(&mut self) -> Parsed<Variable> {
        let token = self.expect(Kind::Variable)?;
        self.to_ident(token)
    }

    /// `(a, b, ..)`
    pub(super) fn column_list(&mut self) -> Parsed<Vec<Ident>> {
        self.parens(Self::ident)
    }

    /// `(a, b, ..)` if a parenthesis comes next.
    pub(super) fn optional_columns(&mut self) -> Parsed<Vec<Ident>> {
        if self.kind() == Kind::Open {
            self.column_list()
        } else {
            Ok(Vec::new())
        }
    }

    pub(super) fn data_type(&mut self) -> Parsed<DataType> {
        let start = self.token().span;
        let name = match self.spelled_type() {
            Some(name) => ObjectName::single(Ident {
                value: name.into(),
                quoted: false,
                span: self.span_from(start),
            }),
            None if self.at_keyword(Keyword::CURSOR) => ObjectName::single(self.any_word()?),
            None => self.object_name()?,
        };
        let mut args = Vec::new();
        if self.kind() == Kind::Open {
            args = self.parens(Self::type_arg)?;
        }
        Ok(DataType { name, args })
    }

    /// A type whose name is several words; returns its usual name.
    fn spelled_type(&mut self) -> Option<&'static str> {
        if self.at_keyword(Keyword::DOUBLE) {
            return self.eat_words(&["DOUBLE", "PRECISION"]).then_some("float");
        }
        let national = self.at_keyword(Keyword::NATIONAL);
        let at = usize::from(national);
        let base = ["CHAR", "CHARACTER", "TEXT", "BINARY"]
            .into_iter()
            .find(|word| self.is_word(at, word))?;
        let varying = self.is_word(at + 1, "VARYING");
        let name = match (base, national, varying) {
            ("CHAR" | "CHARACTER", false, true) => "varchar",
            ("CHARACTER", false, false) => "char",
            ("CHAR" | "CHARACTER", true, true) => "nvarchar",
            ("CHAR" | "CHARACTER", true, false) => "nchar",
            ("TEXT", true, false) => "ntext",
            ("BINARY", false, true) => "varbinary",
            _ => return None,
        };
        for _ in 0..=at + usize::from(varying) {
            self.bump();
        }
        Some(name)
    }

    fn type_arg(&mut self) -> Parsed<TypeArg> {
        match self.kind() {
            Kind::Integer => {
                let token = self.bump();
                Ok(TypeArg::Number(self.slice(token).into()))
            }
            _ if self.at_word("MAX") => {
                self.bump();
                Ok(TypeArg::Max)
            }
            _ => Ok(TypeArg::Name(self.object_name()?)),
        }
    }
}

/// The inside of a quoted token; a doubled closing quotation mark becomes a single one.
pub(super) fn undouble(text: &str, open: usize, close: char) -> Box<str> {
    let inner = text
        .get(open..text.len().saturating_sub(1))
        .unwrap_or_default();
    if inner.contains(close) {
        let double: String = [close, close].iter().collect();
        inner
            .replace(&double, close.encode_utf8(&mut [0; 4]))
            .into()
    } else {
        inner.into()
    }
}
