//! The scanner: cuts a text into tokens.

use super::{Kind, Token, keyword};
use crate::span::Span;

/// Cuts a text into tokens, one after the other.
#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

fn is_first_of_word(c: char) -> bool {
    c.is_alphabetic() || matches!(c, '_' | '#' | '@')
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '#' | '@' | '$')
}

/// Signs that open a money constant, the dollar aside.
fn is_currency(c: char) -> bool {
    matches!(
        c,
        '\u{a2}'..='\u{a5}' | '\u{9f2}' | '\u{9f3}' | '\u{e3f}' | '\u{17db}'
    ) || ('\u{20a0}'..='\u{20bf}').contains(&c)
}

impl<'a> Lexer<'a> {
    /// A scanner at the start of `text`.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
        }
    }

    /// All tokens of the text, the end included. Texts of 4 GiB and more are cut off there.
    #[must_use]
    pub fn tokens(text: &'a str) -> Vec<Token> {
        let mut lexer = Self::new(text);
        let mut tokens = Vec::with_capacity(text.len() / 5 + 4);
        loop {
            let token = lexer.next_token();
            tokens.push(token);
            if token.kind == Kind::End {
                return tokens;
            }
        }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text
            .as_bytes()
            .get(self.at + ahead)
            .copied()
            .unwrap_or(0)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Passes blanks and comments; false when a comment does not end.
    fn skip_blanks(&mut self) -> bool {
        loop {
            match self.byte(0) {
                b'\n' => {
                    self.line += 1;
                    self.at += 1;
                }
                b'-' if self.byte(1) == b'-' => {
                    let rest = self.rest();
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                b'/' if self.byte(1) == b'*' => {
                    if !self.skip_comment() {
                        return false;
                    }
                }
                0 if self.at >= self.text.len() => return true,
                0x80.. => match self.rest().chars().next() {
                    Some(c) if c.is_whitespace() || c == '\u{feff}' => self.at += c.len_utf8(),
                    _ => return true,
                },
                0..=b' ' => self.at += 1,
                _ => return true,
            }
        }
    }

    /// Passes a comment, which may hold others; false when it does not end.
    fn skip_comment(&mut self) -> bool {
        let mut open = 0u32;
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match (byte, self.byte(1)) {
                (b'/', b'*') => {
                    open += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    open -= 1;
                    self.at += 2;
                    if open == 0 {
                        return true;
                    }
                }
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        false
    }

    /// The next token; `End` for ever after the last.
    pub fn next_token(&mut self) -> Token {
        let before = self.at;
        if !self.skip_blanks() {
            let span = Span::new(before as u32, self.at as u32);
            return Token {
                kind: Kind::UnclosedComment,
                span,
                line: self.line,
            };
        }
        let (start, line) = (self.at, self.line);
        let kind = self.scan();
        Token {
            kind,
            span: Span::new(start as u32, self.at as u32),
            line,
        }
    }

    fn scan(&mut self) -> Kind {
        let first = self.byte(0);
        match first {
            0 if self.at >= self.text.len() => Kind::End,
            b'\'' => self.quoted(0, b'\'', Kind::String),
            b'N' | b'n' if self.byte(1) == b'\'' => self.quoted(1, b'\'', Kind::National),
            b'[' => self.quoted(0, b']', Kind::Bracketed),
            b'"' => self.quoted(0, b'"', Kind::DoubleQuoted),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'#' => self.word(),
            b'@' => self.variable(),
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(1).is_ascii_digit() => self.number(),
            b'$' => self.dollar(),
            0x80.. => self.foreign(),
            _ => self.operator(first),
        }
    }

    /// A quoted text that opens after `skip` bytes; its closing sign doubled is one such sign.
    fn quoted(&mut self, skip: usize, close: u8, kind: Kind) -> Kind {
        let bytes = self.text.as_bytes();
        self.at += skip + 1;
        while let Some(byte) = bytes.get(self.at) {
            self.at += 1;
            if *byte == close {
                if self.byte(0) == close {
                    self.at += 1;
                } else {
                    return kind;
                }
            } else if *byte == b'\n' {
                self.line += 1;
            }
        }
        Kind::Unclosed
    }

    fn pass_word(&mut self) {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'@' | b'#' | b'$' => {
                    self.at += 1;
                }
                0x80.. => match self.rest().chars().next() {
                    Some(c) if is_in_word(c) => self.at += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    fn word(&mut self) -> Kind {
        let start = self.at;
        self.pass_word();
        let word = self.text.get(start..self.at).unwrap_or("");
        keyword::lookup(word).map_or(Kind::Word, Kind::Keyword)
    }

    fn variable(&mut self) -> Kind {
        let global = self.byte(1) == b'@';
        self.pass_word();
        if global { Kind::Global } else { Kind::Variable }
    }

    fn pass_digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Kind {
        if self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'X') {
            self.at += 2;
            while self.byte(0).is_ascii_hexdigit() {
                self.at += 1;
            }
            return Kind::Binary;
        }
        let mut kind = Kind::Integer;
        self.pass_digits();
        if self.byte(0) == b'.' {
            kind = Kind::Decimal;
            self.at += 1;
            self.pass_digits();
        }
        if matches!(self.byte(0), b'e' | b'E') {
            kind = Kind::Float;
            self.at += 1;
            if matches!(self.byte(0), b'+' | b'-') {
                self.at += 1;
            }
            self.pass_digits();
        }
        kind
    }

    /// `$1.50`, `$` alone, or a word such as `$action`.
    fn dollar(&mut self) -> Kind {
        self.at += 1;
        if self.byte(0).is_ascii_alphabetic() {
            self.pass_word();
            return Kind::Word;
        }
        self.money()
    }

    fn money(&mut self) -> Kind {
        self.pass_digits();
        if self.byte(0) == b'.' {
            self.at += 1;
            self.pass_digits();
        }
        Kind::Money
    }

    fn foreign(&mut self) -> Kind {
        let Some(c) = self.rest().chars().next() else {
            return Kind::End;
        };
        if is_first_of_word(c) {
            self.pass_word();
            return Kind::Word;
        }
        self.at += c.len_utf8();
        if is_currency(c) {
            return self.money();
        }
        Kind::Unknown
    }

    fn operator(&mut self, first: u8) -> Kind {
        let (kind, length) = match (first, self.byte(1)) {
            (b'<', b'=') => (Kind::Le, 2),
            (b'<', b'>') | (b'!', b'=') => (Kind::Ne, 2),
            (b'>', b'=') => (Kind::Ge, 2),
            (b'!', b'<') => (Kind::NotLt, 2),
            (b'!', b'>') => (Kind::NotGt, 2),
            (b'+', b'=') => (Kind::PlusEq, 2),
            (b'-', b'=') => (Kind::MinusEq, 2),
            (b'*', b'=') => (Kind::StarEq, 2),
            (b'/', b'=') => (Kind::SlashEq, 2),
            (b'%', b'=') => (Kind::PercentEq, 2),
            (b'&', b'=') => (Kind::AmpEq, 2),
            (b'|', b'=') => (Kind::BarEq, 2),
            (b'^', b'=') => (Kind::CaretEq, 2),
            (b':', b':') => (Kind::DoubleColon, 2),
            (b'(', _) => (Kind::Open, 1),
            (b')', _) => (Kind::Close, 1),
            (b',', _) => (Kind::Comma, 1),
            (b';', _) => (Kind::Semicolon, 1),
            (b'.', _) => (Kind::Dot, 1),
            (b':', _) => (Kind::Colon, 1),
            (b'=', _) => (Kind::Eq, 1),
            (b'<', _) => (Kind::Lt, 1),
            (b'>', _) => (Kind::Gt, 1),
            (b'+', _) => (Kind::Plus, 1),
            (b'-', _) => (Kind::Minus, 1),
            (b'*', _) => (Kind::Star, 1),
            (b'/', _) => (Kind::Slash, 1),
            (b'%', _) => (Kind::Percent, 1),
            (b'&', _) => (Kind::Amp, 1),
            (b'|', _) => (Kind::Bar, 1),
            (b'^', _) => (Kind::Caret, 1),
            (b'~', _) => (Kind::Tilde, 1),
            _ => (Kind::Unknown, 1),
        };
        self.at += length;
        kind
    }
}
