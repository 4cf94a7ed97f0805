//! Assertions: how many a crate of the storage engine has for each function, and that each numbered invariant
//! of a `lib.rs` names its proof.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

/// Crates that have at least this many assertions for a hundred functions. A number may only rise.
const LEAST: &[(&str, usize)] = &[
    ("access", 20),
    ("log", 64),
    ("pool", 51),
    ("recovery", 65),
    ("space", 51),
    ("txn", 64),
];

/// A function with at most so many lines between its braces is not counted: it reads or sets a field, or
/// calls another function.
const SHORT: usize = 5;

/// Macros that count as an assertion.
const ASSERTIONS: [&str; 7] = [
    "assert!(",
    "assert_eq!(",
    "assert_ne!(",
    "debug_assert!(",
    "debug_assert_eq!(",
    "debug_assert_ne!(",
    "assert_no_latches(",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The lines of production code: no comments, and no items that only tests or the model checker compile.
fn production(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    // The indent of a test item, and whether its body has begun.
    let mut skipped: Option<(usize, bool)> = None;
    for line in text.lines() {
        let code = line.trim_start();
        if let Some((depth, begun)) = &mut skipped {
            let attribute = code.starts_with("#[");
            let ends = match *begun {
                true => indent(line) == *depth && code.starts_with('}'),
                false => !attribute && (code.ends_with(';') || code.ends_with('}')),
            };
            *begun |= code.ends_with('{');
            if ends {
                skipped = None;
            }
        } else if code.starts_with("#[cfg(") && (code.contains("test") || code.contains("loom")) {
            skipped = Some((indent(line), false));
        } else if !code.starts_with("//") {
            lines.push(line);
        }
    }
    lines
}

/// Whether a line begins a function.
fn begins_function(code: &str) -> bool {
    let code = match code.strip_prefix("pub(") {
        Some(seen_by) => seen_by.split_once(')').map_or("", |(_, rest)| rest),
        None => code.strip_prefix("pub ").unwrap_or(code),
    };
    let mut words = code.split_whitespace();
    words.find(|word| !["const", "async", "unsafe"].contains(word)) == Some("fn")
}

/// How many assertions and how many functions that are not short.
fn count(lines: &[&str]) -> (usize, usize) {
    let (mut assertions, mut functions) = (0, 0);
    // The indent of the function, and the line on which its body begins.
    let mut open: Option<(usize, Option<usize>)> = None;
    for (n, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        assertions += usize::from(ASSERTIONS.iter().any(|name| {
            code.match_indices(name)
                .any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        }));
        if begins_function(code) && !code.ends_with(';') && !code.ends_with('}') {
            open = Some((indent(line), None));
        }
        if let Some((depth, body)) = &mut open {
            match body {
                None if code.ends_with('{') => *body = Some(n),
                Some(start) if indent(line) == *depth && code.starts_with('}') => {
                    functions += usize::from(n - *start - 1 > SHORT);
                    open = None;
                }
                _ => {}
            }
        }
    }
    (assertions, functions)
}

/// Assertions and counted functions of a crate.
fn of_crate(name: &str) -> (usize, usize) {
    let mut files = Vec::new();
    walk(&crates().join(name).join("src"), &mut files);
    let src = crates().join(name).join("src");
    let is_test = |path: &PathBuf| {
        let short = path.strip_prefix(&src).unwrap().to_string_lossy();
        short.contains("tests") || short.contains("checked")
    };
    let (mut assertions, mut functions) = (0, 0);
    for path in files.iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(path).unwrap();
        let (a, f) = count(&production(&text));
        assertions += a;
        functions += f;
    }
    (assertions, functions)
}

#[test]
fn crates_of_the_storage_engine_assert_what_they_promise() {
    let mut faults = Vec::new();
    for (name, least) in LEAST {
        let (assertions, functions) = of_crate(name);
        let found = assertions * 100 / functions.max(1);
        if found < *least {
            faults.push(format!(
                "{name}: {assertions} assertions for {functions} functions of more than {SHORT} lines: \
                 {found} for a hundred, {least} at least"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn tests_comments_and_short_functions_do_not_count() {
    let text = "\
fn short() {
    assert!(true);
}
/// assert!(in a comment)
pub(crate) fn long(
    a: u8,
) -> u8 {
    debug_assert!(a > 0);
    one();
    two();
    three();
    four();
    five()
}
#[cfg(test)]
mod checked;
#[cfg(test)]
#[derive(Debug)]
mod tests {
    fn helper() {
        assert!(true);
    }
}
const _: () = assert!(1 < 2);
";
    assert_eq!(count(&production(text)), (3, 1));
}

/// The numbered invariants of a header: number and text.
fn invariants(header: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let mut inside = false;
    for line in header.lines().filter_map(|line| line.strip_prefix("//!")) {
        let text = line.trim();
        if text.starts_with('#') || text.eq_ignore_ascii_case("invariants") {
            inside = text.to_lowercase().contains("invariant");
        } else if inside {
            let number = text.split_once(". ").and_then(|(n, _)| n.parse().ok());
            match (number, found.last_mut()) {
                (Some(number), _) => found.push((number, text.to_owned())),
                (None, Some(last)) if line.starts_with("   ") && !text.is_empty() => {
                    last.1.push(' ');
                    last.1.push_str(text);
                }
                _ => {}
            }
        }
    }
    found
}

/// Terms by which an invariant names its own proof, besides the name of a test.
const PROOFS: [&str; 6] = [
    "assert",
    "proves",
    "tests/",
    "mutation",
    "the consistency check",
    "soak",
];

/// The names of tests in backquotes in a text: names with at least three underscores.
fn tests_named(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |part: &&str| {
        let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        part.matches('_').count() >= 3 && part.chars().all(letters)
    };
    text.split('`').skip(1).step_by(2).filter(is_name)
}

/// The paragraph of proofs: from the line that begins with `Proofs` to the next empty line.
fn proofs(header: &str) -> String {
    let lines = header.lines().filter_map(|line| line.strip_prefix("//!"));
    let lines = lines.map(str::trim);
    let of = lines.skip_while(|line| !line.starts_with("Proofs"));
    let of: Vec<&str> = of.take_while(|line| !line.is_empty()).collect();
    of.join(" ")
}

/// All texts of the crates, joined: a test that is named must be there.
fn all_code() -> String {
    let mut files = Vec::new();
    walk(&crates(), &mut files);
    let texts = files.iter().map(|path| fs::read_to_string(path).unwrap());
    texts.collect()
}

#[test]
fn each_numbered_invariant_of_a_crate_names_its_proof() {
    let mut faults = Vec::new();
    let code = all_code();
    for entry in fs::read_dir(crates()).unwrap() {
        let path = entry.unwrap().path().join("src/lib.rs");
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        let name = path.display().to_string();
        let proofs = proofs(&text);
        for (number, invariant) in invariants(&text) {
            let listed = [": ", ", "]
                .iter()
                .any(|end| proofs.contains(&format!(" {number}{end}")));
            let own = PROOFS.iter().any(|word| invariant.contains(word))
                || tests_named(&invariant).next().is_some();
            if !listed && !own {
                faults.push(format!(
                    "{name}: invariant {number} names no proof: {invariant}"
                ));
            }
        }
        let header = text.lines().filter_map(|line| line.strip_prefix("//! "));
        let header: String = header.collect::<Vec<_>>().join(" ");
        for test in tests_named(&header).filter(|test| !code.contains(&format!("fn {test}("))) {
            faults.push(format!("{name}: there is no test {test}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
