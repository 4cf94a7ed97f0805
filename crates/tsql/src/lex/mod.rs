//! Tokens: the first division of the text, before any grammar.
//!
//! A token is a kind and a range of the text; nothing is copied. The whole text is cut at once, in one pass
//! from front to back. An error (a string or comment that does not end) does not stop the cutting: it stays
//! with its token, since the parser may find another error before it.

pub mod keyword;
mod scan;

use crate::span::Span;
pub use keyword::Keyword;
pub use scan::Lexer;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular identifier, `#temp`, `$action`.
    Word,
    /// `[x]`
    Bracketed,
    /// `"x"`: an identifier or a string, depending on QUOTED_IDENTIFIER.
    DoubleQuoted,
    /// A reserved word.
    Keyword(Keyword),
    /// `@x`
    Variable,
    /// `@@x`
    Global,
    /// `12`
    Integer,
    /// `1.5`
    Decimal,
    /// `1e3`
    Float,
    /// `$1.50`
    Money,
    /// `0xAB`
    Binary,
    /// `'x'`
    String,
    /// `N'x'`
    National,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `.`
    Dot,
    /// `:`
    Colon,
    /// `::`
    DoubleColon,
    /// `=`
    Eq,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `<>` or `!=`
    Ne,
    /// `!<`
    NotLt,
    /// `!>`
    NotGt,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `&`
    Amp,
    /// `|`
    Bar,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `+=`
    PlusEq,
    /// `-=`
    MinusEq,
    /// `*=`
    StarEq,
    /// `/=`
    SlashEq,
    /// `%=`
    PercentEq,
    /// `&=`
    AmpEq,
    /// `|=`
    BarEq,
    /// `^=`
    CaretEq,
    /// A character that T-SQL has no use for.
    Unknown,
    /// A string or delimited identifier that does not end.
    Unclosed,
    /// A comment that does not end.
    UnclosedComment,
    /// The end of the text.
    End,
}

/// A token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
    /// The line it begins on, from 1; of a comment that does not end, the line where the text ends.
    pub line: u32,
}
