//! Scripts are cut at GO as the command-line client cuts them.

use furrow_tsql::lex::{Kind, Lexer};
use furrow_tsql::script::{LineKind, LineScanner, Piece, line_kind, split};

/// Batches as (text, line, count), commands and bad GOs as (text, line, 0).
fn pieces(script: &str) -> Vec<(&str, u32, u64)> {
    let piece = |piece| match piece {
        Piece::Batch(batch) => (batch.text.trim(), batch.line, batch.count),
        Piece::Command { text, line } | Piece::BadGo { text, line } => (text, line, 0),
    };
    split(script).into_iter().map(piece).collect()
}

#[test]
fn go_ends_a_batch_and_its_number_repeats_it() {
    let script = "SELECT 1\nGO\nSELECT 2\n  go 70000  \nSELECT 3\r\nGo -- done\r\nSELECT 4";
    let expected = [
        ("SELECT 1", 1, 1),
        ("SELECT 2", 3, 70_000),
        ("SELECT 3", 5, 1),
        ("SELECT 4", 7, 1),
    ];
    assert_eq!(pieces(script), expected);
}

#[test]
fn go_within_a_comment_or_a_string_is_text() {
    let script = "SELECT 'a\nGO\nb'\n/* x\nGO\n/* y */\nGO\n*/ SELECT [c\nGO\nd]\nGO\nSELECT 2";
    let found = pieces(script);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(found.last(), Some(&("SELECT 2", 12, 1)));
}

#[test]
fn a_comment_sign_within_a_line_comment_opens_nothing() {
    assert_eq!(pieces("SELECT 1 -- /* it's\nGO\nSELECT 2").len(), 2);
}

#[test]
fn words_that_only_begin_with_go_are_text() {
    assert_eq!(pieces("GOTO done\ndone:\ngo_on\nSELECT 1").len(), 1);
    assert_eq!(line_kind("GO;"), LineKind::BadGo);
    assert_eq!(line_kind("GO x"), LineKind::BadGo);
    assert_eq!(line_kind("GO /* fine */"), LineKind::Go(1));
}

#[test]
fn lines_that_begin_with_a_colon_are_commands() {
    let script = ":setvar x 1\nSELECT $(x)\n:r other.sql\n!!dir\nGO x\nSELECT 2";
    let expected = [
        (":setvar x 1", 1, 0),
        ("SELECT $(x)", 2, 1),
        (":r other.sql", 3, 0),
        ("!!dir", 4, 0),
        ("GO x", 5, 0),
        ("SELECT 2", 6, 1),
    ];
    assert_eq!(pieces(script), expected);
}

/// Whether a text ends within something, read in the lines that it has.
fn is_open(text: &str) -> bool {
    let mut scanner = LineScanner::default();
    text.split_inclusive('\n')
        .for_each(|line| scanner.pass(line));
    scanner.is_open()
}

#[test]
fn a_text_that_ends_in_a_string_or_comment_waits_for_more() {
    for open in ["SELECT 'a", "SELECT [a", "/* a", "/* /* */", "SELECT \"a"] {
        assert!(is_open(open), "{open}");
    }
    for closed in ["SELECT 'a'", "", "-- 'a", "/* /* */ */", "SELECT 'it''s'"] {
        assert!(!is_open(closed), "{closed}");
    }
}

#[test]
fn a_quotation_mark_in_a_command_opens_nothing() {
    let script = ":setvar x it's\nSELECT 1\nGO\nSELECT 2\n";
    let expected = [
        (":setvar x it's", 1, 0),
        ("SELECT 1", 2, 1),
        ("SELECT 2", 4, 1),
    ];
    assert_eq!(pieces(script), expected);
}

/// Whether the lexer finds that a text does not end.
fn lexer_is_open(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    loop {
        match lexer.next_token().kind {
            Kind::End => return false,
            Kind::Unclosed | Kind::UnclosedComment => return true,
            _ => {}
        }
    }
}

#[test]
fn lines_are_open_where_the_lexer_finds_the_text_unclosed() {
    let parts = [
        "'", "''", "\"", "[", "]", "]]", "/*", "*/", "/", "*", "--", "-", "\n", "\r\n", " ", "a",
        "N'", "1.5", "GO", "\u{e9}", "$", "@x",
    ];
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    for _ in 0..40_000 {
        let mut text = String::new();
        for _ in 0..12 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text.push_str(parts[(state >> 33) as usize % parts.len()]);
        }
        assert_eq!(is_open(&text), lexer_is_open(&text), "{text:?}");
    }
}
