//! Random trees and damaged texts: the fuzzer of the parser. The seed is printed; `FURROW_SEED` replays it.
//! `cargo test` runs a share of some seconds; `FURROW_FUZZ=1000` runs a thousand times as much. Canaries make
//! sure that a fuzzer which has gone blind is noticed.

#[path = "support/grow.rs"]
mod grow;

use furrow_io::random::test_seed;
use furrow_tsql::ast::{Batch, Stmt};
use furrow_tsql::lex::{Kind, Lexer};
use furrow_tsql::{Options, Span, SyntaxError, parse, print};
use grow::Dice;

const CORPUS: &[&str] = &[
    include_str!("golden/admin.sql"),
    include_str!("golden/backup.sql"),
    include_str!("golden/database.sql"),
    include_str!("golden/dml.sql"),
    include_str!("golden/expressions.sql"),
    include_str!("golden/flow.sql"),
    include_str!("golden/merge.sql"),
    include_str!("golden/modules.sql"),
    include_str!("golden/oltp.sql"),
    include_str!("golden/queries.sql"),
    include_str!("golden/security.sql"),
    include_str!("golden/table.sql"),
];

/// How many rounds are run of a test whose share is `share`.
fn rounds(share: usize) -> usize {
    let times = std::env::var("FURROW_FUZZ").ok();
    share * times.and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn seed(test: &str) -> u64 {
    let seed = test_seed();
    println!("{test}: FURROW_SEED={seed}");
    seed
}

#[test]
fn a_random_tree_survives_printing_and_parsing() {
    let mut dice = Dice(seed("random trees"));
    for round in 0..rounds(3_000) {
        let tree = dice.batch(1 + round % 4);
        let text = print(&tree);
        match parse(&text, Options::default()) {
            Ok(again) => assert_eq!(again, tree, "round {round}:\n{text}"),
            Err(errors) => panic!("round {round}:\n{text}\n{errors:?}"),
        }
    }
}

/// Whatever the text, the answer is in order: places within the text, statements one after the other, errors
/// with lines of the text; and a tree prints as a text of the same tree.
fn check(text: &str) {
    check_with(text, print);
}

/// [`check`] of a printer.
fn check_with(text: &str, print: fn(&Batch) -> String) {
    match parse(text, Options::default()) {
        Ok(tree) => check_tree(text, &tree, print),
        Err(errors) => check_errors(text, &errors),
    }
}

fn check_tree(text: &str, tree: &Batch, print: fn(&Batch) -> String) {
    let mut last = Span::default();
    for Stmt { span, line, .. } in &tree.statements {
        assert!(last.end <= span.start && span.start < span.end, "{text}");
        assert!(text.get(span.start as usize..span.end as usize).is_some());
        let breaks = text[..span.start as usize].matches('\n').count();
        assert_eq!(line.0 as usize, breaks + 1, "{text}");
        last = *span;
    }
    let printed = print(tree);
    match parse(&printed, Options::default()) {
        Ok(again) => assert_eq!(&again, tree, "{text}\n{printed}"),
        // Parentheses that the tree asks for may take a text near the limit beyond it.
        Err(errors) => assert!(
            errors.iter().any(|e| e.number == 191),
            "{text}\n{printed}\n{errors:?}"
        ),
    }
}

fn check_errors(text: &str, errors: &[SyntaxError]) {
    assert!(!errors.is_empty(), "{text}");
    let lines = u32::try_from(text.matches('\n').count() + 1).unwrap_or(u32::MAX);
    for error in errors {
        assert!((1..=lines).contains(&error.line), "{text}\n{error:?}");
        let place = error.span.start as usize..error.span.end as usize;
        assert!(text.get(place).is_some(), "{text}\n{error:?}");
    }
}

/// The tokens of all golden scripts, to be combined at random.
fn vocabulary() -> Vec<&'static str> {
    let mut words: Vec<&str> = vec![
        "'", "[", "\"", "/*", "*/", "--", "\n", "\u{a0}", "\u{20ac}", "?",
    ];
    for script in CORPUS {
        let tokens = Lexer::tokens(script).into_iter();
        words.extend(
            tokens
                .filter(|t| t.kind != Kind::End)
                .map(|t| t.span.of(script)),
        );
    }
    words
}

#[test]
fn token_soup_is_read_or_refused_in_order() {
    let mut dice = Dice(seed("token soup"));
    let words = vocabulary();
    for _ in 0..rounds(20_000) {
        let count = 1 + dice.below(25);
        let soup: Vec<&str> = (0..count).map(|_| dice.pick(&words)).collect();
        check(&soup.join(if dice.one_in(8) { "" } else { " " }));
    }
}

#[test]
fn damaged_statements_are_read_or_refused_in_order() {
    damage(seed("damaged statements"), rounds(20_000), check);
}

/// A printer that forgets one word, which few statements have.
fn forgetful(tree: &Batch) -> String {
    print(tree).replacen(" HOLDLOCK", "", 1)
}

#[test]
#[should_panic(expected = "HOLDLOCK")]
fn a_printer_that_forgets_a_word_is_found_out() {
    damage(seed("canary"), 20_000, |text| check_with(text, forgetful));
}

#[test]
#[should_panic(expected = "the canary sings")]
fn a_panic_on_a_rare_text_is_found_out() {
    damage(seed("canary"), 20_000, |text| {
        assert!(!text.contains("FROM FROM"), "the canary sings");
    });
}

/// Damages statements of the corpus, and lets each be looked at.
fn damage(seed: u64, rounds: usize, mut check: impl FnMut(&str)) {
    let mut dice = Dice(seed);
    let words = vocabulary();
    let texts: Vec<&str> = CORPUS.iter().flat_map(|s| s.split("\nGO\n")).collect();
    for _ in 0..rounds {
        let text = dice.pick(&texts);
        let tokens = Lexer::tokens(text).into_iter();
        let mut pieces: Vec<&str> = tokens.map(|t| t.span.of(text)).collect();
        for _ in 0..=dice.below(3) {
            let at = dice.below(pieces.len());
            match dice.below(5) {
                0 => drop(pieces.remove(at)),
                1 => pieces.insert(at, pieces[at]),
                2 => pieces.truncate(at + 1),
                3 => pieces[at] = dice.pick(&words),
                _ => {
                    let other = dice.below(pieces.len());
                    pieces.swap(at, other);
                }
            }
            if pieces.is_empty() {
                pieces.push(";");
            }
        }
        check(&pieces.join(" "));
    }
}

#[test]
fn any_characters_are_read_or_refused_in_order() {
    let mut dice = Dice(seed("any characters"));
    for _ in 0..rounds(20_000) {
        let count = dice.below(30);
        let text: String = (0..count)
            .map(|_| match dice.below(12) {
                0 => char::from_u32(u32::try_from(dice.below(0x3000)).unwrap_or(0)).unwrap_or('x'),
                _ => char::from(u8::try_from(dice.below(128)).unwrap_or(0)),
            })
            .collect();
        check(&text);
    }
}

#[test]
fn the_check_of_order_can_fail() {
    let text = "SELECT 1 SELECT 2";
    let mut tree = parse(text, Options::default()).unwrap_or_default();
    assert_eq!(tree.statements.len(), 2);
    tree.statements.reverse();
    let caught = std::panic::catch_unwind(|| check_tree(text, &tree, print));
    assert!(caught.is_err(), "statements out of order went unnoticed");
}
