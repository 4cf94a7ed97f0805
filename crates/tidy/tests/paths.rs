//! Paths of this repository that a page names exist, and no file is there that a program has left behind.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The markdown pages at the root and in `docs`.
fn pages() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.extend(
        fs::read_dir(root())
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    found.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    found
}

/// `a/{b,c}/d` in full: `a/b/d` and `a/c/d`.
fn expand(path: &str) -> Vec<String> {
    let Some((head, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let Some((choices, tail)) = rest.split_once('}') else {
        return vec![path.to_owned()];
    };
    let whole = choices.split(',').map(|one| format!("{head}{one}{tail}"));
    whole.flat_map(|path| expand(&path)).collect()
}

/// The paths in code quotes that begin with `crates/`. Paths with a part in capitals (`NAME`) are patterns.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let paths =
        quoted.filter(|quote| quote.starts_with("crates/") && !quote.contains(['*', ' ', '\n']));
    let concrete = paths.filter(|path| {
        let parts = path.split(['/', '.', '_']);
        !parts
            .clone()
            .any(|part| part.len() > 1 && part.chars().all(|c| c.is_ascii_uppercase()))
    });
    concrete.flat_map(expand).collect()
}

#[test]
fn a_path_is_found_and_expanded_and_a_pattern_is_left_out() {
    let text = "see `crates/a/{b,c}.rs` and `crates/sql/dbcc_NAME.sql`, not `cargo test`";
    assert_eq!(named(text), ["crates/a/b.rs", "crates/a/c.rs"]);
}

#[test]
fn every_path_that_a_page_names_exists() {
    let mut missing = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for path in named(&text) {
            if !root().join(&path).exists() {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// Endings of the files that the programs and SQL Server write. Fixtures are compressed.
const LEFT_BEHIND: &[&str] = &["mdf", "ndf", "ldf", "dw", "bak", "trn"];

#[test]
fn no_database_and_no_backup_is_among_the_sources() {
    let ignored = fs::read_to_string(root().join(".gitignore")).unwrap();
    let ignored: Vec<&str> = ignored
        .lines()
        .filter_map(|l| l.strip_prefix('/'))
        .collect();
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let short = path.strip_prefix(root()).unwrap().display().to_string();
            if path.is_dir() && short != ".git" && !ignored.contains(&&*short) {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| {
                LEFT_BEHIND
                    .iter()
                    .any(|left| ending.eq_ignore_ascii_case(left))
            }) {
                found.push(short);
            }
        }
    }
    assert!(
        found.is_empty(),
        "not sources, to be removed: {}",
        found.join(", ")
    );
}
