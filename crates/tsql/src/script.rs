//! Scripts: cutting a text into batches at GO, and finding the client's own commands.
//!
//! GO is no T-SQL. The client reads line by line: a line that holds GO alone, or GO and a number, sends what
//! has been gathered, so and so many times; a line that begins with a colon is a command to the client (`:r`,
//! `:setvar`), or an old command that it knows without a colon (`!!`). Within a comment or a string no line
//! is anything but text. A comment that does not end, or a string that does not end, belongs to the last
//! batch.

use crate::lex::{Kind, Lexer};
use crate::span::Span;

/// A piece of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece<'a> {
    /// A batch, without the GO that ends it.
    Batch(ScriptBatch<'a>),
    /// A line that begins with `:` or `!!`, without blanks around it.
    Command {
        /// The line.
        text: &'a str,
        /// Its number, from 1.
        line: u32,
    },
    /// A GO with something after it that is no number: the client refuses the script.
    BadGo {
        /// The line.
        text: &'a str,
        /// Its number, from 1.
        line: u32,
    },
}

/// A batch of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptBatch<'a> {
    /// Its text; lines are counted within it, as the server does.
    pub text: &'a str,
    /// Where it stands in the script.
    pub span: Span,
    /// The line of the script on which it begins, from 1.
    pub line: u32,
    /// How many times it is to be run: GO's number, or once.
    pub count: u64,
}

/// What a line means to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Part of a batch.
    Text,
    /// `GO` or `GO n`.
    Go(u64),
    /// A GO that cannot be understood.
    BadGo,
    /// A command to the client.
    Command,
}

/// What a line means, if it does not begin within a comment or string. For clients that read line by line;
/// ask [`is_open`] about the text gathered so far.
#[must_use]
pub fn line_kind(line: &str) -> LineKind {
    let line = line.trim();
    if line.starts_with(':') || line.starts_with("!!") {
        return LineKind::Command;
    }
    let Some(rest) = line.get(2..) else {
        return LineKind::Text;
    };
    let go = line
        .get(..2)
        .is_some_and(|word| word.eq_ignore_ascii_case("GO"));
    if !go || rest.starts_with(|c: char| c.is_alphanumeric() || "_@#$.=(".contains(c)) {
        return LineKind::Text;
    }
    let rest = without_comment(rest).trim();
    if rest.is_empty() {
        return LineKind::Go(1);
    }
    match rest.parse::<u64>() {
        Ok(count) => LineKind::Go(count),
        Err(_) if rest.starts_with(['=', '.']) => LineKind::Text,
        Err(_) => LineKind::BadGo,
    }
}

/// A comment may follow GO.
fn without_comment(rest: &str) -> &str {
    let end = rest.find("--").unwrap_or(rest.len());
    let rest = rest.get(..end).unwrap_or(rest);
    match (rest.find("/*"), rest.trim_end().ends_with("*/")) {
        (Some(at), true) => rest.get(..at).unwrap_or(rest),
        _ => rest,
    }
}

/// Whether `text` ends within a comment, a string or a delimited identifier, so that the next line is text.
#[must_use]
pub fn is_open(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    loop {
        match lexer.next_token().kind {
            Kind::End => return false,
            Kind::Unclosed | Kind::UnclosedComment => return true,
            _ => {}
        }
    }
}

/// The lines of a script with their ends, and what each means: within a comment or a string no line is
/// anything but text.
#[must_use]
pub fn lines(text: &str) -> Vec<(&str, LineKind)> {
    let mut lines = Vec::new();
    let covered = covered_lines(text);
    let mut covered = covered.into_iter().peekable();
    let mut at = 0;
    while at < text.len() {
        let rest = text.get(at..).unwrap_or("");
        let end = at + rest.find('\n').map_or(rest.len(), |n| n + 1);
        while covered.peek().is_some_and(|(_, to)| *to <= at) {
            covered.next();
        }
        let inside = covered.peek().is_some_and(|(from, _)| *from < at);
        let line = text.get(at..end).unwrap_or("");
        let kind = if inside {
            LineKind::Text
        } else {
            line_kind(line)
        };
        lines.push((line, kind));
        at = end;
    }
    lines
}

/// Cuts a script into its batches and commands, in order. Batches of nothing but blanks are left out.
#[must_use]
pub fn split(text: &str) -> Vec<Piece<'_>> {
    let mut splitter = Splitter {
        text,
        pieces: Vec::new(),
        start: 0,
        start_line: 1,
    };
    let mut at = 0;
    for (number, (line, kind)) in (1..).zip(lines(text)) {
        splitter.line(at, line, kind, number);
        at += line.len();
    }
    splitter.batch(text.len(), 1);
    splitter.pieces
}

/// Ranges of tokens and comments that reach over the end of a line.
fn covered_lines(text: &str) -> Vec<(usize, usize)> {
    let mut ranges = Vec::new();
    let mut lexer = Lexer::new(text);
    let mut last = 0;
    loop {
        let token = lexer.next_token();
        let (start, end) = (token.span.start as usize, token.span.end as usize);
        comments(text, last, start, &mut ranges);
        last = end;
        match token.kind {
            Kind::End => return ranges,
            Kind::UnclosedComment => comments(text, start, end, &mut ranges),
            _ if text.get(start..end).is_some_and(|t| t.contains('\n')) => {
                ranges.push((start, end));
            }
            _ => {}
        }
    }
}

/// Notes the comments between two tokens that reach over the end of a line.
fn comments(text: &str, from: usize, to: usize, ranges: &mut Vec<(usize, usize)>) {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut start) = (from, 0u32, from);
    while at < to {
        let pair = (bytes.get(at), bytes.get(at + 1));
        match pair {
            (Some(b'-'), Some(b'-')) if open == 0 => {
                let rest = text.get(at..to).unwrap_or("");
                at += rest.find('\n').unwrap_or(rest.len());
            }
            (Some(b'/'), Some(b'*')) => {
                if open == 0 {
                    start = at;
                }
                open += 1;
                at += 2;
            }
            (Some(b'*'), Some(b'/')) if open > 0 => {
                open -= 1;
                at += 2;
                if open == 0 {
                    ranges.push((start, at));
                }
            }
            _ => at += 1,
        }
    }
    if open > 0 {
        ranges.push((start, to));
    }
}

struct Splitter<'a> {
    text: &'a str,
    pieces: Vec<Piece<'a>>,
    start: usize,
    start_line: u32,
}

impl<'a> Splitter<'a> {
    fn line(&mut self, at: usize, line: &'a str, kind: LineKind, number: u32) {
        let text = line.trim();
        match kind {
            LineKind::Text => return,
            LineKind::Go(count) => self.batch(at, count),
            LineKind::BadGo => {
                self.batch(at, 1);
                self.pieces.push(Piece::BadGo { text, line: number });
            }
            LineKind::Command => {
                self.batch(at, 1);
                self.pieces.push(Piece::Command { text, line: number });
            }
        }
        self.start = at + line.len();
        self.start_line = number + 1;
    }

    fn batch(&mut self, end: usize, count: u64) {
        let text = self.text.get(self.start..end).unwrap_or("");
        if text.trim().is_empty() {
            return;
        }
        self.pieces.push(Piece::Batch(ScriptBatch {
            text,
            span: Span::new(self.start as u32, end as u32),
            line: self.start_line,
            count,
        }));
    }
}
