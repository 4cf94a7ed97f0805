//! The answer in forty lines.

use crate::{every, samples};
use furrow_lab::results::{Results, Section};
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

/// The text without its line breaks.
fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn no_sentence_is_cut() {
    let mut results = samples::noisy();
    let long = |name: &str| {
        let words = format!("the {name} of level four differs from that of level one by 1.2% ");
        format!("{}and that is the end of the {name}", words.repeat(4))
    };
    results.experiment.question = long("question");
    results.answer.sentence = long("answer");
    results.reproduce = format!("furrow lab run x --volume {}", long("command"));
    results.warnings = vec![long("warning")];
    results.sections = vec![Section {
        heading: "Curves".to_owned(),
        finding: long("section"),
        ..Section::default()
    }];
    for width in [60, 100] {
        let text = text_of(&results, width, false);
        let bare = in_one_line(&text.replace(" \\\n", " "));
        for name in ["question", "answer", "command", "warning"] {
            assert!(bare.contains(&long(name)), "{name} at {width}: {text}");
        }
        // What has no place is left out whole, and counted.
        let is_there = bare.contains(&long("section"));
        assert!(is_there || !bare.contains("curves: "), "{text}");
        assert!(is_there || bare.contains("more in report.html"), "{text}");
    }
}

#[test]
fn a_long_word_of_a_sentence_goes_on_in_the_next_line_and_that_of_a_command_stays_whole() {
    let mut results = samples::noisy();
    let path = format!("/{}", "0123456789".repeat(9));
    results.warnings = vec![format!("{path} is slow")];
    results.reproduce = format!("furrow lab run x --volume {path}");
    let text = text_of(&results, 60, false);
    assert!(text.contains(&format!("--volume \\\n{path}\n")), "{text}");
    let joined = text.replace('\n', "");
    assert!(
        joined.contains(&format!("warning:{path} is slow")),
        "{text}"
    );
}

#[test]
fn waits_are_shares_of_the_time_and_a_level_without_runs_has_no_column() {
    let mut results = samples::conclusive();
    let share = |results: &Results| {
        let text = text_of(results, 100, false);
        let mut lines = text
            .lines()
            .skip_while(|line| !line.starts_with("share of the time"));
        let head = lines.next().unwrap().to_owned();
        let all = lines.find(|line| line.starts_with("all waits"));
        (head, all.unwrap().to_owned())
    };
    let (head, _) = share(&results);
    assert!(head.contains("1 data file  4 data files"), "{head}");
    // Sessions that run nearly all of the time, and wait for the log alone.
    for run in &mut results.runs {
        run.waits.retain(|wait| wait.wait_type == "WRITELOG");
        let time_us = run.seconds.unwrap() * 1e6 * f64::from(run.workers);
        run.waits
            .iter_mut()
            .for_each(|wait| wait.total_us = (time_us / 50.0) as u64);
    }
    let (_, all) = share(&results);
    assert!(all.contains(" 2.0%"), "{all}");
    results.runs.retain(|run| run.level == "1");
    let (head, _) = share(&results);
    assert_eq!(head, "share of the time  1 data file  mean, all");
}
