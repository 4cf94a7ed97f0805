//! Words that make a reader stop: how many lines of comments, code and docs still have them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Words that signal a sentence to rewrite, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("anew", "again, or what is created"),
    ("reckon", "calculate, count"),
    ("reckoned", "calculated, counted"),
    ("told", "reported, recorded, distinguished"),
    ("whoever", "a thread that, a caller that"),
    ("nobody", "no thread, no transaction, no process"),
    ("somebody", "a thread, a transaction, a process"),
    ("the product", "SQL Server"),
    ("tells of", "describes, reports"),
    ("as of which", "at"),
];

/// Lines with such words, by crate (`docs` for the pages). Each number may only fall.
const LINES: &[(&str, usize)] = &[];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") && !path.ends_with("reference") {
                walk(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs" || e == "md") {
            found.push(path);
        }
    }
}

/// Whether a text has a word, and not only as a part of another one.
fn has_word(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_letter) && !text[at + word.len()..].starts_with(is_letter)
    })
}

/// The first such word of a line: of a comment, of names and texts in code, or of a page.
fn found(line: &str, is_page: bool) -> Option<&'static str> {
    let is_prose = is_page || line.trim_start().starts_with("//");
    let prose = line.to_lowercase();
    let prose = match is_prose {
        true => prose,
        false => prose.replace('_', " "),
    };
    WORDS
        .iter()
        .map(|(word, _)| *word)
        .find(|word| has_word(&prose, word))
}

/// The crate of a path, `docs` for a page.
fn place(path: &Path) -> String {
    let short = path.strip_prefix(root()).unwrap();
    let mut parts = short.components();
    let first = parts.next().unwrap().as_os_str().to_string_lossy();
    match &*first {
        "crates" => parts
            .next()
            .unwrap()
            .as_os_str()
            .to_string_lossy()
            .into_owned(),
        _ => "docs".to_owned(),
    }
}

#[test]
fn words_that_make_a_reader_stop_become_fewer() {
    let mut files = Vec::new();
    for dir in ["crates", "docs"] {
        walk(&root().join(dir), &mut files);
    }
    let pages = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ];
    files.extend(pages.map(|page| root().join(page)));
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files {
        let place = place(&path);
        let is_page = path.extension().is_some_and(|e| e == "md");
        let is_test = path.components().any(|part| part.as_os_str() == "tests");
        if place == "tidy" || is_test {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut is_code = false;
        for (n, line) in text.lines().enumerate() {
            // Code of an example is no prose: its names are its own.
            is_code ^= line.trim_start_matches(['/', '!', ' ']).starts_with("```");
            if is_code {
                continue;
            }
            if let Some(word) = found(line, is_page) {
                let at = format!("{}:{}: {word}", path.display(), n + 1);
                lines.entry(place.clone()).or_default().push(at);
            }
        }
    }
    let allowed: BTreeMap<&str, usize> = LINES.iter().copied().collect();
    let mut faults = Vec::new();
    for (place, found) in &lines {
        let most = allowed.get(place.as_str()).copied().unwrap_or(0);
        if found.len() > most {
            faults.push(format!(
                "{place}: {} lines, {most} at most:\n{}",
                found.len(),
                found.join("\n")
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_word_is_found_in_comments_names_and_pages_and_not_inside_of_others() {
    assert_eq!(found("    // Nobody waits.", false), Some("nobody"));
    assert_eq!(found("let is_told = 1;", false), Some("told"));
    assert_eq!(found("let retold = 1;", false), None);
    assert_eq!(found("The product stores it.", true), Some("the product"));
    assert_eq!(found("/// Untold reckonings.", false), None);
    assert_eq!(found("/// A product of two numbers.", false), None);
}
