//! Cursors.

use super::cursor::Parser;
use crate::ast::Statement;
use crate::ast::flow::{CursorAccess, DeclareCursor, Fetch, FetchDirection};
use crate::ast::name::Ident;
use crate::error::{Parsed, UNKNOWN_CURSOR};
use crate::lex::{Keyword, Kind};

/// Words between CURSOR and FOR.
const OPTIONS: &[&str] = &[
    "DYNAMIC",
    "FAST_FORWARD",
    "FORWARD_ONLY",
    "GLOBAL",
    "KEYSET",
    "LOCAL",
    "OPTIMISTIC",
    "READ_ONLY",
    "SCROLL",
    "SCROLL_LOCKS",
    "STATIC",
    "TYPE_WARNING",
];

impl Parser<'_> {
    /// `DECLARE c [INSENSITIVE] [SCROLL] CURSOR ..`; the first word has been passed.
    pub(super) fn declare_cursor(&mut self) -> Parsed<Statement> {
        let name = self.ident()?;
        let mut options = Vec::new();
        while let Some(word) = self.eat_one_of(&["INSENSITIVE", "SCROLL"]) {
            options.push(word.into());
        }
        let mut cursor = self.cursor_for(name)?;
        options.append(&mut cursor.options);
        cursor.options = options;
        Ok(Statement::DeclareCursor(Box::new(cursor)))
    }

    /// `CURSOR options FOR query [FOR access]`
    pub(super) fn cursor_for(&mut self, name: Ident) -> Parsed<DeclareCursor> {
        if self.kind() == Kind::Word {
            // `DECLARE a int`: what is no variable must be a cursor.
            let word = self.slice(self.token());
            return Err(self.error(UNKNOWN_CURSOR, &[word]));
        }
        self.expect_keyword(Keyword::CURSOR)?;
        let mut options = Vec::new();
        while !self.at_keyword(Keyword::FOR) {
            match self.eat_one_of(OPTIONS) {
                Some(word) => options.push(word.into()),
                None if self.kind() == Kind::Word => {
                    let word = self.slice(self.token());
                    return Err(self.error(UNKNOWN_CURSOR, &[word]));
                }
                None => return Err(self.unexpected()),
            }
        }
        self.bump();
        let start = self.token().span;
        let ctes = if self.at_keyword(Keyword::WITH) {
            self.ctes()?
        } else {
            Vec::new()
        };
        let query = self.query_statement(ctes, start)?;
        let access = if self.eat_words(&["FOR", "READ", "ONLY"]) {
            Some(CursorAccess::ReadOnly)
        } else if self.eat_words(&["FOR", "UPDATE"]) {
            let columns = if self.eat_keyword(Keyword::OF) {
                self.list(Self::ident)?
            } else {
                Vec::new()
            };
            Some(CursorAccess::Update(columns))
        } else {
            None
        };
        Ok(DeclareCursor {
            name,
            options,
            query,
            access,
        })
    }

    /// OPEN, CLOSE, DEALLOCATE, FETCH.
    pub(super) fn cursor_statement(&mut self, keyword: Keyword) -> Parsed<Statement> {
        self.bump();
        match keyword {
            Keyword::OPEN => Ok(Statement::Open(self.cursor_name()?)),
            Keyword::CLOSE => Ok(Statement::Close(self.cursor_name()?)),
            Keyword::DEALLOCATE => Ok(Statement::Deallocate(self.cursor_name()?)),
            _ => Ok(Statement::Fetch(Box::new(self.fetch()?))),
        }
    }

    fn fetch(&mut self) -> Parsed<Fetch> {
        let word = self.eat_one_of(&["NEXT", "PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE"]);
        let direction = match word {
            Some("PRIOR") => FetchDirection::Prior,
            Some("FIRST") => FetchDirection::First,
            Some("LAST") => FetchDirection::Last,
            Some("ABSOLUTE") => FetchDirection::Absolute(self.constant()?),
            Some("RELATIVE") => FetchDirection::Relative(self.constant()?),
            _ => FetchDirection::Next,
        };
        if word.is_some() {
            self.expect_keyword(Keyword::FROM)?;
        } else {
            self.eat_keyword(Keyword::FROM);
        }
        let cursor = self.cursor_name()?;
        let into = if self.eat_keyword(Keyword::INTO) {
            self.list(Self::variable)?
        } else {
            Vec::new()
        };
        Ok(Fetch {
            direction,
            cursor,
            into,
        })
    }
}
