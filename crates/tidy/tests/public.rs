//! Public functions and constants that are not named outside of their crate: make them `pub(crate)`, or
//! delete them.
//!
//! The check compares names, not paths: a public `fn open` is in use if another crate contains the name
//! `open`. Tests, benches and examples of the crate itself are outside of it. Types are left out: a public
//! function can return a type that no caller names.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How many such items a crate has at most. Each number may only fall; a crate that is not listed has none.
const UNUSED: &[(&str, usize)] = &[
    ("disks", 22),
    ("engine", 1),
    ("experiments", 2),
    ("lab", 26),
    ("observe", 1),
    ("stats", 27),
];

/// Crates whose public items are for users of the library or for a program alone.
const FOR_USERS: &[&str] = &["furrow", "bench", "soak", "tidy"];

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("target") {
                walk(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// The name of the public function or constant that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let kind = words.find(|word| !["unsafe", "async"].contains(word))?;
    let name = match (kind, words.next()?) {
        ("const", "fn") => words.next()?,
        ("fn" | "const" | "static", name) => name,
        _ => return None,
    };
    let end = name.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&name[..end.unwrap_or(name.len())]).filter(|name| !name.is_empty())
}

#[test]
fn public_functions_and_constants_are_named_by_another_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    walk(&root, &mut files);
    // Names by the crate that they are outside of: those of `src` count for other crates alone.
    let mut of_src: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut of_tests: BTreeSet<String> = BTreeSet::new();
    let mut public: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let short = path
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let mut parts = short.split('/');
        let (name, folder) = (parts.next().unwrap(), parts.next().unwrap());
        if folder != "src" {
            of_tests.extend(words(&text).map(str::to_owned));
            continue;
        }
        let known = of_src.entry(name.to_owned()).or_default();
        known.extend(words(&text).map(str::to_owned));
        if !FOR_USERS.contains(&name) && !short.contains("tests") {
            let found = text.lines().filter_map(declared);
            let items = public.entry(name.to_owned()).or_default();
            items.extend(found.map(str::to_owned));
        }
    }
    let allowed: BTreeMap<&str, usize> = UNUSED.iter().copied().collect();
    let mut faults = Vec::new();
    for (name, items) in &public {
        let outside = |word: &String| {
            let others = of_src.iter().filter(|(other, _)| *other != name);
            of_tests.contains(word) || others.map(|(_, words)| words).any(|w| w.contains(word))
        };
        let unused: Vec<&String> = items.iter().filter(|item| !outside(item)).collect();
        let most = allowed.get(name.as_str()).copied().unwrap_or(0);
        if unused.len() > most {
            let count = unused.len();
            faults.push(format!(
                "{name}: {count} public items that nothing outside names, {most} at most: {unused:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_declaration_is_read_with_its_qualifiers() {
    assert_eq!(declared("    pub const fn a<T>(x: T) {"), Some("a"));
    assert_eq!(declared("pub unsafe fn b(x: u8) {"), Some("b"));
    assert_eq!(declared("pub const C: u8 = 1;"), Some("C"));
    assert_eq!(declared("pub(crate) fn d() {"), None);
    assert_eq!(declared("pub const $name: u8 = 1;"), None);
    assert_eq!(declared("pub struct E;"), None);
}
