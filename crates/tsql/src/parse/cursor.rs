//! The place in the text: looking at tokens, passing them, and saying what is wrong with one.

use super::Options;
use super::scope::Scope;
use crate::error::{
    Message, NEAR, NEAR_KEYWORD, NEAR_WITH, Parsed, SyntaxError, TOO_DEEP, UNCLOSED,
    UNCLOSED_COMMENT,
};
use crate::lex::{Keyword, Kind, Lexer, Token};
use crate::span::Span;

/// How deeply constructs may nest: bounds the parser's own stack.
const MAX_DEPTH: u32 = 200;
/// How high a tree of operators may grow: bounds the stack of functions that walk it.
const MAX_HEIGHT: u32 = 1_000;
/// How much of a token a message repeats, in characters.
const SHOWN: usize = 1_000;

/// The state of reading.
pub(super) struct Parser<'a> {
    pub(super) text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    depth: u32,
    height: u32,
    pub(super) options: Options,
    pub(super) scope: Scope,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, options: Options) -> Self {
        Self {
            text,
            tokens: Lexer::tokens(text),
            at: 0,
            depth: 0,
            height: 0,
            options,
            scope: Scope::default(),
        }
    }

    /// The token `ahead` of the present one; the end again past the end.
    pub(super) fn peek(&self, ahead: usize) -> Token {
        let at = (self.at + ahead).min(self.tokens.len() - 1);
        self.tokens[at]
    }

    pub(super) fn token(&self) -> Token {
        self.tokens[self.at]
    }

    pub(super) fn kind(&self) -> Kind {
        self.token().kind
    }

    /// The text of a token, as written.
    pub(super) fn slice(&self, token: Token) -> &'a str {
        token.span.of(self.text)
    }

    /// Passes the present token.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != Kind::End {
            self.at += 1;
        }
        token
    }

    /// The token passed last.
    pub(super) fn previous(&self) -> Option<Token> {
        self.at.checked_sub(1).map(|at| self.tokens[at])
    }

    /// From `start` to the end of the token passed last.
    pub(super) fn span_from(&self, start: Span) -> Span {
        self.previous().map_or(start, |last| start.to(last.span))
    }

    /// Whether the last token is the present one.
    pub(super) fn at_end(&self) -> bool {
        self.kind() == Kind::End
    }

    pub(super) fn eat(&mut self, kind: Kind) -> bool {
        let found = self.kind() == kind;
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn expect(&mut self, kind: Kind) -> Parsed<Token> {
        if self.kind() == kind {
            Ok(self.bump())
        } else {
            Err(self.unexpected())
        }
    }

    pub(super) fn at_keyword(&self, keyword: Keyword) -> bool {
        self.kind() == Kind::Keyword(keyword)
    }

    pub(super) fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        self.eat(Kind::Keyword(keyword))
    }

    pub(super) fn expect_keyword(&mut self, keyword: Keyword) -> Parsed<Token> {
        self.expect(Kind::Keyword(keyword))
    }

    /// Whether the token `ahead` is this word, reserved or not.
    pub(super) fn is_word(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek(ahead);
        matches!(token.kind, Kind::Word | Kind::Keyword(_))
            && self.slice(token).eq_ignore_ascii_case(word)
    }

    pub(super) fn at_word(&self, word: &str) -> bool {
        self.is_word(0, word)
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.at += 1;
        }
        found
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Parsed<()> {
        if self.eat_word(word) {
            Ok(())
        } else {
            Err(self.unexpected())
        }
    }

    /// Whether these words come next.
    pub(super) fn at_words(&self, words: &[&str]) -> bool {
        words
            .iter()
            .enumerate()
            .all(|(n, word)| self.is_word(n, word))
    }

    /// Passes these words if all of them come next.
    pub(super) fn eat_words(&mut self, words: &[&str]) -> bool {
        let found = self.at_words(words);
        if found {
            self.at += words.len();
        }
        found
    }

    /// Passes these words, parted by blanks in `words`.
    pub(super) fn expect_words(&mut self, words: &str) -> Parsed<()> {
        words.split(' ').try_for_each(|word| self.expect_word(word))
    }

    /// Passes one of `words` and gives it; an error when none comes next.
    pub(super) fn one_of(&mut self, words: &[&'static str]) -> Parsed<Box<str>> {
        match self.eat_one_of(words) {
            Some(word) => Ok(word.into()),
            None => Err(self.unexpected()),
        }
    }

    /// Passes one of `words`, each of which may be several words.
    pub(super) fn eat_one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        let found = words.iter().copied().find(|word| {
            let mut pieces = word.split(' ').enumerate();
            pieces.all(|(n, piece)| self.is_word(n, piece))
        })?;
        self.at += found.split(' ').count();
        Some(found)
    }

    /// Items parted by commas; at least one.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(Kind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item, ..)`
    pub(super) fn parens<T>(&mut self, item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.expect(Kind::Open)?;
        let items = self.list(item)?;
        self.expect(Kind::Close)?;
        Ok(items)
    }

    /// Reads something that may hold its own kind.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error(TOO_DEEP, &[]));
        }
        self.depth += 1;
        let outer = std::mem::take(&mut self.height);
        let result = read(self)?;
        self.height = outer.max(self.height + 1);
        self.depth -= 1;
        Ok(result)
    }

    /// Notes that the tree being built has grown by one level.
    pub(super) fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > MAX_HEIGHT {
            return Err(self.error(TOO_DEEP, &[]));
        }
        Ok(())
    }

    /// An error about the present token.
    pub(super) fn error(&self, message: Message, args: &[&str]) -> Box<SyntaxError> {
        self.error_at(self.blamed(), message, args)
    }

    pub(super) fn error_at(
        &self,
        token: Token,
        message: Message,
        args: &[&str],
    ) -> Box<SyntaxError> {
        message.at(token.span, token.line, args)
    }

    /// The present token, or the last one where the text ends.
    pub(super) fn blamed(&self) -> Token {
        match self.kind() {
            Kind::End => self.previous().unwrap_or_else(|| self.token()),
            _ => self.token(),
        }
    }

    /// The present token fits nowhere.
    pub(super) fn unexpected(&self) -> Box<SyntaxError> {
        self.unexpected_at(self.token())
    }

    pub(super) fn unexpected_at(&self, token: Token) -> Box<SyntaxError> {
        match token.kind {
            Kind::Keyword(Keyword::WITH) => self.error_at(token, NEAR_WITH, &[]),
            Kind::Keyword(_) => self.error_at(token, NEAR_KEYWORD, &[self.slice(token)]),
            Kind::Unclosed => self.error_at(token, UNCLOSED, &[&self.shown(token)]),
            Kind::UnclosedComment => self.error_at(token, UNCLOSED_COMMENT, &[]),
            Kind::End => {
                let last = self.blamed();
                self.error_at(last, NEAR, &[&self.shown(last)])
            }
            _ => self.error_at(token, NEAR, &[&self.shown(token)]),
        }
    }

    /// What messages show of a token: names and strings without their quotes.
    pub(super) fn shown(&self, token: Token) -> String {
        let text = self.slice(token);
        let inner = match token.kind {
            Kind::National => text.get(2..text.len() - 1),
            Kind::String | Kind::Bracketed | Kind::DoubleQuoted => text.get(1..text.len() - 1),
            Kind::Unclosed if text.starts_with(['N', 'n']) => text.get(2..),
            Kind::Unclosed => text.get(1..),
            _ => Some(text),
        };
        let inner = inner.unwrap_or("");
        let quote = match token.kind {
            Kind::String | Kind::National => "'",
            Kind::Bracketed => "]",
            Kind::DoubleQuoted => "\"",
            _ => text.trim_start_matches(['N', 'n']).get(..1).unwrap_or(""),
        };
        let closing = if quote == "[" { "]" } else { quote };
        let quoted = matches!(
            token.kind,
            Kind::String | Kind::National | Kind::Bracketed | Kind::DoubleQuoted | Kind::Unclosed
        );
        let undone = if quoted && !closing.is_empty() {
            inner.replace(&closing.repeat(2), closing)
        } else {
            inner.to_string()
        };
        match undone.char_indices().nth(SHOWN) {
            Some((cut, _)) => undone.get(..cut).unwrap_or("").to_string(),
            None => undone,
        }
    }

    /// The error that ended the reading, and the errors that the scanner finds in the rest of the text.
    pub(super) fn with_later_errors(&self, first: SyntaxError) -> Vec<SyntaxError> {
        let mut errors = vec![first];
        let fault = errors.first().map(|e| (e.number, e.span.start));
        for token in self.tokens.iter().rev().take(2) {
            let here = fault.is_some_and(|(_, start)| start == token.span.start);
            match token.kind {
                Kind::Unclosed if here => {
                    // The rest of the text is one string: met as such, and then as a token that fits nowhere.
                    errors.push(*self.error_at(*token, NEAR, &[&self.shown(*token)]));
                }
                Kind::Unclosed => {
                    errors.push(*self.error_at(*token, UNCLOSED, &[&self.shown(*token)]));
                }
                Kind::UnclosedComment if !here => {
                    errors.push(*self.error_at(*token, UNCLOSED_COMMENT, &[]));
                }
                _ => {}
            }
        }
        for error in &mut errors {
            error.module.clone_from(&self.scope.module);
        }
        errors
    }
}
