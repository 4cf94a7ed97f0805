//! The answer in thirty lines.

use crate::{every, samples};
use furrow_lab::results::Results;
use furrow_lab::terminal::{MAX_LINES, Style, summary};
use std::path::Path;

fn text_of(results: &Results, width: usize, color: bool) -> String {
    summary(
        results,
        Style { width, color },
        Some(Path::new("furrow-lab/x")),
    )
}

#[test]
fn the_text_of_a_conclusive_experiment() {
    let text = text_of(&samples::conclusive(), 100, false);
    let wanted = include_str!("conclusive.txt");
    assert_eq!(text, wanted, "\n--- now ---\n{text}");
}

#[test]
fn the_text_of_a_noisy_experiment_on_a_narrow_terminal() {
    let text = text_of(&samples::noisy(), 60, false);
    let wanted = include_str!("noisy-60.txt");
    assert_eq!(text, wanted, "\n--- now ---\n{text}");
}

#[test]
fn no_text_is_longer_or_wider_than_promised_and_all_of_it_is_plain() {
    for (name, results) in every() {
        for width in [40, 60, 80, 100, 160] {
            let text = text_of(&results, width, false);
            assert!(
                text.lines().count() <= MAX_LINES,
                "{name}: {}",
                text.lines().count()
            );
            for line in text.lines() {
                assert!(line.len() <= width, "{name} at {width}: {line}");
            }
            assert!(
                text.bytes()
                    .all(|b| b == b'\n' || (b' '..=b'~').contains(&b)),
                "{name}"
            );
        }
    }
}

#[test]
fn the_sentence_survives_whole_and_colour_adds_nothing_but_colour() {
    let results = samples::conclusive();
    let bare = text_of(&results, 100, false);
    let painted = text_of(&results, 100, true);
    assert!(bare.contains(&results.answer.sentence));
    assert!(painted.contains("\u{1b}[32mbetter\u{1b}[0m"));
    let mut stripped = String::new();
    let mut rest = painted.as_str();
    while let Some(at) = rest.find('\u{1b}') {
        stripped.push_str(&rest[..at]);
        rest = &rest[at..];
        rest = &rest[rest.find('m').unwrap() + 1..];
    }
    stripped.push_str(rest);
    assert_eq!(stripped, bare);
}

#[test]
fn the_path_of_the_report_is_never_cut() {
    let dir = format!("/{}/\u{e4}", "long".repeat(30));
    let style = Style {
        width: 40,
        color: false,
    };
    let text = summary(&samples::conclusive(), style, Some(Path::new(&dir)));
    assert!(text.contains(&format!("\nreport: {dir}/report.html\n")));
    assert!(!summary(&samples::conclusive(), style, None).contains("report: "));
}
