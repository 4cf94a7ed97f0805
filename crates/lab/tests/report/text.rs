//! The answer in thirty lines.

use crate::{every, samples};
use furrow_lab::terminal::{MAX_LINES, Style, summary};

#[test]
fn the_text_of_a_conclusive_experiment() {
    let text = summary(
        &samples::conclusive(),
        Style {
            width: 100,
            color: false,
        },
    );
    let wanted = include_str!("conclusive.txt");
    assert_eq!(text, wanted, "\n--- now ---\n{text}");
}

#[test]
fn the_text_of_a_noisy_experiment_on_a_narrow_terminal() {
    let text = summary(
        &samples::noisy(),
        Style {
            width: 60,
            color: false,
        },
    );
    let wanted = include_str!("noisy-60.txt");
    assert_eq!(text, wanted, "\n--- now ---\n{text}");
}

#[test]
fn no_text_is_longer_or_wider_than_promised_and_all_of_it_is_plain() {
    for (name, results) in every() {
        for width in [40, 60, 80, 100, 160] {
            let text = summary(
                &results,
                Style {
                    width,
                    color: false,
                },
            );
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
    let bare = summary(
        &results,
        Style {
            width: 100,
            color: false,
        },
    );
    let painted = summary(
        &results,
        Style {
            width: 100,
            color: true,
        },
    );
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
