//! Scripts: cutting a text into batches at GO, and finding the client's own commands.
//!
//! GO is no T-SQL. The client reads line by line: a line that holds GO alone, or GO and a number, sends what
//! has been gathered, so and so many times; a line that begins with a colon is a command to the client (`:r`,
//! `:setvar`), or an old command that it knows without a colon (`!!`). Within a comment or a string no line
//! is anything but text. A comment that does not end, or a string that does not end, belongs to the last
//! batch.

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
    /// Its place in the script.
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

/// The meaning of a line that does not begin within a comment or string; a client that reads line by line
/// calls [`LineScanner::kind`].
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

/// Where a text read line by line ends: in plain text, or within something that the next line continues.
///
/// A client that reads lines one at a time calls it for the meaning of the next line, and passes it each line
/// that is text. The work is linear in the text, however many lines a batch has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineScanner {
    inside: Inside,
}

/// What the end of the text lies within.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    /// Block comments, so many deep; never 0.
    Comment(u32),
    /// A string or delimited identifier that ends with this byte.
    Quoted(u8),
}

impl LineScanner {
    /// What the next line means.
    #[must_use]
    pub fn kind(&self, line: &str) -> LineKind {
        match self.is_open() {
            true => LineKind::Text,
            false => line_kind(line),
        }
    }

    /// Whether the text so far ends within a comment, a string or a delimited identifier, so that the next
    /// line is text.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.inside != Inside::Nothing
    }

    /// Passes text: a line with its end, or the last one without.
    pub fn pass(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += match (self.inside, byte, bytes.get(at + 1)) {
                (Inside::Nothing, b'-', Some(b'-')) => {
                    let rest = bytes.get(at..).unwrap_or_default();
                    rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
                }
                (Inside::Nothing, b'/', Some(b'*')) => self.enter(Inside::Comment(1)) + 1,
                (Inside::Nothing, b'\'' | b'"', _) => self.enter(Inside::Quoted(byte)),
                (Inside::Nothing, b'[', _) => self.enter(Inside::Quoted(b']')),
                (Inside::Comment(depth), b'/', Some(b'*')) => {
                    self.enter(Inside::Comment(depth.saturating_add(1))) + 1
                }
                (Inside::Comment(1), b'*', Some(b'/')) => self.enter(Inside::Nothing) + 1,
                (Inside::Comment(depth), b'*', Some(b'/')) => {
                    self.enter(Inside::Comment(depth - 1)) + 1
                }
                // Doubled, it is the character itself.
                (Inside::Quoted(close), _, Some(next)) if byte == close && *next == close => 2,
                (Inside::Quoted(close), _, _) if byte == close => self.enter(Inside::Nothing),
                _ => 1,
            };
        }
    }

    /// Enters another state; returns the bytes passed.
    fn enter(&mut self, inside: Inside) -> usize {
        self.inside = inside;
        1
    }
}

/// The lines of a script with their ends, and what each means: within a comment or a string no line is
/// anything but text.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, LineKind)> {
    let mut scanner = LineScanner::default();
    text.split_inclusive('\n').map(move |line| {
        let kind = scanner.kind(line);
        if kind == LineKind::Text {
            scanner.pass(line);
        }
        (line, kind)
    })
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
