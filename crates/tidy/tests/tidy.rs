//! The rules of the repository, checked by a test: sizes, banned calls, layering, leftovers.
//!
//! If a rule has to change, it is changed here, with a reason, and not evaded. The package has only these
//! tests and depends on nothing, so that `cargo test -p tidy` takes seconds.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const LINE_COLUMNS: usize = 110;
const FILE_LINES: usize = 800;
const FUNCTION_LINES: usize = 70;

/// Floors of the crates: a crate may depend on crates of its own floor or below.
const FLOORS: &[(&str, u32)] = &[
    ("furrow-io", 0),
    ("furrow-types", 0),
    ("furrow-messages", 0),
    ("furrow-format", 1),
    ("furrow-observe", 1),
    ("furrow-disks", 1),
    ("furrow-tsql", 1),
    ("furrow-datafile", 2),
    ("furrow-log", 2),
    ("furrow-pool", 2),
    ("furrow-txn", 2),
    ("furrow-space", 3),
    ("furrow-access", 3),
    ("furrow-recovery", 4),
    ("furrow-check", 5),
    ("furrow-tables", 5),
    ("furrow-engine", 6),
    ("furrow-backup", 7),
    ("furrow-scalar", 2),
    ("furrow-context", 7),
    ("furrow-exec", 8),
    ("furrow-bind", 9),
    ("furrow-sysviews", 10),
    ("furrow-sql", 11),
    ("furrow-stats", 0),
    ("furrow-lab", 1),
    ("furrow-experiments", 12),
    ("furrow", 13),
    ("furrow-bench", 14),
    ("furrow-soak", 14),
    ("tidy", 14),
];

/// Names that only `io` may use, and what to use instead.
const BANNED_OUTSIDE_IO: &[(&str, &str)] = &[
    ("std::fs", "furrow_io::Volume"),
    ("std::time::Instant", "furrow_io::time::Moment"),
    ("std::time::SystemTime", "furrow_io::time::WallTime"),
    ("std::thread::spawn", "furrow_io::thread::spawn_named"),
    ("std::thread::scope", "furrow_io::thread::scope"),
    ("std::thread::sleep", "furrow_io::time::sleep"),
    ("std::thread::Builder", "furrow_io::thread::spawn_named"),
    ("Instant::now", "furrow_io::time::Moment::now"),
];

/// Crates whose threads synchronize only through `furrow_io::sync` and `furrow_io::thread`, so that a
/// schedule contains every place where they do (`furrow_io::weave`, docs/testing.md).
const ON_A_SCHEDULE: &[&str] = &[
    "log", "pool", "txn", "space", "access", "recovery", "tables", "engine",
];

/// Names through which threads would synchronize outside of the schedule. A `OnceLock` is not one: no thread
/// waits while it is filled, which takes no step.
const BEHIND_ITS_BACK: &[&str] = &[
    "atomic",
    "Mutex",
    "RwLock",
    "Condvar",
    "Barrier",
    "mpsc",
    "LazyLock",
    "parking_lot",
    "park",
    "yield_now",
    "spawn",
];

/// Files of those crates that may use them, and why.
const OFF_THE_SCHEDULE: &[(&str, &str)] = &[
    (
        "log/src/sync.rs",
        "the log's door, of which counters that decide nothing are no step",
    ),
    (
        "log/src/sync/checked.rs",
        "the same door for the model checker",
    ),
    ("txn/src/lock/tests/", "tests count what they have seen"),
];

/// Leftovers that no file may contain. Written in two parts so that this file passes its own test.
const LEFTOVERS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("dbg", "!("),
    concat!("todo", "!("),
    concat!("unimplemented", "!("),
];

/// Macros and attributes in which a value may be printed as `Debug` has it: for developers, not for users.
const PRINTS_FOR_DEVELOPERS: &[&str] = &[
    "assert!(",
    "assert_eq!(",
    "assert_ne!(",
    "panic!(",
    "unreachable!(",
    "error!(",
    "warn!(",
    "info!(",
    "debug!(",
    "trace!(",
    "#[error(",
];

/// Where values are printed so besides, and why.
const PRINTS_DEBUG: &[(&str, &str)] = &[
    (
        "/soak/",
        "tests of random worlds print what they have found",
    ),
    ("/bench/", "a tool of developers"),
    ("io/src/schedule/", "the schedule that tests run under"),
    ("pool/src/rank.rs", "texts of panics on a latch order"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            if !path.ends_with("target") {
                walk(&path, found);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Path from the root, crate name, text.
fn sources() -> Vec<(String, String, String)> {
    let mut paths = Vec::new();
    walk(&root().join("crates"), &mut paths);
    let base = root();
    let of = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let short = path.strip_prefix(&base).unwrap().display().to_string();
        let name = short.split('/').nth(1).unwrap().to_string();
        (short, name, text)
    };
    paths.into_iter().map(of).collect()
}

fn assert_none(faults: &[String]) {
    assert!(
        faults.is_empty(),
        "{} fault(s):\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn lines_and_files_keep_their_size_and_are_plain_ascii() {
    let mut faults = Vec::new();
    for (path, _, text) in sources() {
        let lines = text.lines().count();
        if lines > FILE_LINES {
            faults.push(format!(
                "{path}: {lines} lines, {FILE_LINES} at most: one concept a file"
            ));
        }
        for (n, line) in text.lines().enumerate() {
            if line.chars().count() > LINE_COLUMNS {
                faults.push(format!(
                    "{path}:{}: longer than {LINE_COLUMNS} columns",
                    n + 1
                ));
            }
            if !line.is_ascii() {
                faults.push(format!("{path}:{}: not ASCII", n + 1));
            }
            if line.ends_with(' ') || line.contains('\t') {
                faults.push(format!("{path}:{}: stray blank or tab", n + 1));
            }
        }
    }
    assert_none(&faults);
}

/// Whether a line begins a function: `fn` behind visibility and qualifiers only.
fn begins_function(code: &str) -> bool {
    let code = match code.strip_prefix("pub(") {
        Some(seen_by) => seen_by.split_once(')').map_or("", |(_, rest)| rest),
        None => code.strip_prefix("pub ").unwrap_or(code),
    };
    let mut words = code.split_whitespace();
    let is_kind = |word: &&str| {
        ["const", "async", "unsafe", "extern"].contains(word) || word.starts_with('"')
    };
    words.find(|word| !is_kind(word)) == Some("fn")
}

#[test]
fn functions_are_found_with_any_visibility() {
    for head in [
        "fn a(",
        "pub fn a(",
        "pub(crate) fn a<'r>(",
        "pub(in crate::b) const fn a(",
    ] {
        assert!(begins_function(head), "{head}");
    }
    assert!(begins_function("unsafe extern \"C\" fn a("));
    for other in [
        "let f = fn_of(",
        "pub(crate) struct A(fn(u8));",
        "pub use fn_a;",
        "// fn",
    ] {
        assert!(!begins_function(other), "{other}");
    }
}

#[test]
fn a_function_fits_a_screen() {
    let mut faults = Vec::new();
    for (path, _, text) in sources() {
        let mut open: Option<(usize, usize, String)> = None;
        for (n, line) in text.lines().enumerate() {
            let indent = line.len() - line.trim_start().len();
            let code = line.trim_start();
            if begins_function(code) && !code.ends_with(';') {
                open = Some((n, indent, code.to_string()));
            } else if let Some((start, depth, head)) = &open
                && indent == *depth
                && code.starts_with('}')
            {
                let lines = n - start + 1;
                if lines > FUNCTION_LINES {
                    faults.push(format!("{path}:{}: {lines} lines: {head}", start + 1));
                }
                open = None;
            }
        }
    }
    assert_none(&faults);
}

/// A program that starts `furrow` and programs beside it, as a script would: no part of either.
const OF_PROCESSES: &str = "lab/examples/planted/";

#[test]
fn only_io_touches_the_system() {
    let mut faults = Vec::new();
    for (path, name, text) in sources() {
        let is_outside = is_users_example(&path) || path.contains(OF_PROCESSES);
        if ["io", "tidy"].contains(&name.as_str()) || is_outside {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for (banned, instead) in BANNED_OUTSIDE_IO {
                if line.contains(banned) {
                    faults.push(format!("{path}:{}: {banned}: use {instead}", n + 1));
                }
            }
        }
    }
    assert_none(&faults);
}

/// Whether a file shows users of the library what their programs look like.
fn is_users_example(path: &str) -> bool {
    path.contains("furrow/examples/")
}

#[test]
fn examples_of_the_library_name_no_crate_that_a_user_does_not_have() {
    let mut faults = Vec::new();
    for (path, _, text) in sources() {
        if !is_users_example(&path) {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            if line.contains("furrow_") {
                faults.push(format!(
                    "{path}:{}: only `furrow` is a user's: {line}",
                    n + 1
                ));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn threads_of_the_engine_synchronize_only_on_a_schedule() {
    let mut faults = Vec::new();
    for (path, name, text) in sources() {
        let may = OFF_THE_SCHEDULE.iter().any(|(of, _)| path.contains(of));
        if !ON_A_SCHEDULE.contains(&name.as_str()) || !path.contains("/src/") || may {
            continue;
        }
        for (n, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let from_std = ["std::sync::", "std::thread::", "parking_lot"]
                .iter()
                .any(|door| code.contains(door));
            let is_word = |c: char| c.is_alphanumeric() || c == '_';
            let mut words = code.split(|c| !is_word(c));
            if from_std && let Some(word) = words.find(|w| BEHIND_ITS_BACK.contains(w)) {
                faults.push(format!(
                    "{path}:{}: {word}: use furrow_io::sync or furrow_io::thread",
                    n + 1
                ));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn unsafe_is_used_in_three_crates_with_a_safety_comment() {
    let mut faults = Vec::new();
    for (path, name, text) in sources() {
        if name == "tidy" {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (n, line) in lines.iter().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let is_unsafe = ["unsafe {", "unsafe impl", "unsafe fn"]
                .iter()
                .any(|u| code.contains(u));
            if !is_unsafe {
                continue;
            }
            if !["io", "pool", "log"].contains(&name.as_str()) {
                faults.push(format!(
                    "{path}:{}: unsafe outside of io, pool and log",
                    n + 1
                ));
            }
            let above = &lines[n.saturating_sub(8)..=n];
            let argued = above
                .iter()
                .any(|l| l.contains("SAFETY:") || l.contains("# Safety"));
            if !argued {
                faults.push(format!("{path}:{}: no SAFETY argument", n + 1));
            }
        }
    }
    assert_none(&faults);
}

/// A line of the table of trace flags: the constant, and whether the table says that Furrow acts on it.
fn trace_flag(line: &str) -> Option<(&str, bool)> {
    let mut words = line.split_whitespace();
    let (name, number, effect) = (words.next()?, words.next()?, words.next()?);
    number.parse::<u16>().ok()?;
    matches!(effect, "Acts" | "Recorded").then_some((name, effect == "Acts"))
}

#[test]
fn the_trace_flags_that_furrow_acts_on_are_those_that_its_code_queries() {
    let sources = sources();
    let home = "observe/src/traceflags/";
    let (_, _, table) = sources
        .iter()
        .find(|(name, _, _)| name.ends_with("observe/src/traceflags/kinds.rs"))
        .unwrap();
    let flags: BTreeMap<&str, bool> = table.lines().filter_map(trace_flag).collect();
    assert!(
        flags.len() > 50,
        "the table of trace flags has another form"
    );
    let mut queried = BTreeMap::new();
    for (name, _, text) in &sources {
        let production = name.contains("/src/") && !name.contains(home) && !name.contains("tests");
        let text = text.split("#[cfg(test)]").next().unwrap();
        for rest in text.split("TraceFlag::").skip(1).filter(|_| production) {
            let end =
                rest.find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_');
            queried
                .entry(&rest[..end.unwrap_or(rest.len())])
                .or_insert(name);
        }
    }
    let mut faults = Vec::new();
    for (flag, acts) in &flags {
        match (acts, queried.get(flag)) {
            (true, None) => faults.push(format!("{flag}: said to act, but no code queries it")),
            (false, Some(place)) => {
                faults.push(format!("{place}: queries {flag}, which is said not to act"));
            }
            _ => {}
        }
    }
    assert_none(&faults);
}

#[test]
fn nothing_is_left_for_later() {
    let mut faults = Vec::new();
    for (path, name, text) in sources() {
        for (n, line) in text.lines().enumerate() {
            for word in LEFTOVERS {
                if line.contains(word) && name != "tidy" {
                    faults.push(format!("{path}:{}: {word}", n + 1));
                }
            }
        }
    }
    assert_none(&faults);
}

/// The only crates that the lab may depend on: it judges experiments on any engine, so it depends on none.
const BELOW_THE_LAB: &[&str] = &["furrow-io", "furrow-stats"];

#[test]
fn the_lab_depends_on_no_engine() {
    let manifest = fs::read_to_string(root().join("crates/lab/Cargo.toml")).unwrap();
    let named = manifest.lines().filter_map(|line| {
        let name = line.split(['.', ' ', '=']).next()?;
        (name.starts_with("furrow") && !line.starts_with("name")).then_some(name)
    });
    let faults: Vec<String> = named
        .filter(|name| !BELOW_THE_LAB.contains(name))
        .map(|name| format!("crates/lab/Cargo.toml: {name}: put what needs it into experiments"))
        .collect();
    assert_none(&faults);
}

#[test]
fn no_crate_imports_uphill() {
    let floors: BTreeMap<&str, u32> = FLOORS.iter().copied().collect();
    let mut faults = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let name = text
            .lines()
            .find_map(|l| l.strip_prefix("name = "))
            .unwrap()
            .trim_matches('"');
        let Some(mine) = floors.get(name) else {
            faults.push(format!(
                "{name} has no floor: name it in FLOORS and in ARCHITECTURE.md"
            ));
            continue;
        };
        let normal = text.split("[dev-dependencies]").next().unwrap();
        for dependency in normal
            .lines()
            .filter_map(|l| l.split(['.', ' ', '=']).next())
        {
            if floors.get(dependency).is_some_and(|floor| floor > mine) {
                faults.push(format!("{name} (floor {mine}) imports {dependency} uphill"));
            }
        }
    }
    assert_none(&faults);
}

#[test]
fn every_file_begins_with_a_header_comment() {
    let mut faults = Vec::new();
    for (path, _, text) in sources() {
        let is_door = path.ends_with("src/lib.rs") || path.ends_with("src/main.rs");
        if path.ends_with("/tests.rs") {
            // The tests of a module are covered by the module's header comment.
            continue;
        }
        if !text.starts_with("//!") {
            faults.push(format!("{path}: does not say what it is for"));
        } else if is_door && path.ends_with("lib.rs") {
            let essay = text.lines().take_while(|l| l.starts_with("//!")).count();
            if essay < 6 {
                faults.push(format!(
                    "{path}: {essay} lines are no essay (purpose, invariants, what can fail)"
                ));
            }
        }
    }
    assert_none(&faults);
}

/// Whether a line prints a value as `Debug` has it.
fn prints_debug(line: &str) -> bool {
    line.match_indices("?}").any(|(at, _)| {
        let before = &line[..at];
        let form = before.rsplit(':').next().unwrap_or(before);
        before.contains(':')
            && form
                .chars()
                .all(|c| c.is_ascii_digit() || "#xX".contains(c))
    })
}

/// Whether the macro that a line belongs to is for developers.
fn is_for_developers(lines: &[&str], n: usize) -> bool {
    let near = lines[n.saturating_sub(8)..=n].join("\n");
    let last = |what: &str| near.rfind(what).map(|at| at + what.len());
    let opened = last("!(").max(last("#[error("));
    let known = PRINTS_FOR_DEVELOPERS.iter().filter_map(|name| last(name));
    let implements = |line: &&&str| line.starts_with("impl");
    let of = lines[..=n].iter().rev().find(implements).unwrap_or(&"");
    known.max() == opened
        || ["Debug for", "Display for"]
            .iter()
            .any(|what| of.contains(what))
}

#[test]
fn nothing_is_decided_or_shown_to_users_by_its_debug_text() {
    let mut faults = Vec::new();
    for (path, _, text) in sources() {
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        let may = PRINTS_DEBUG.iter().any(|(of, _)| path.contains(of));
        if !path.contains("/src/") || is_test || may {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        let tests = lines
            .windows(2)
            .position(|two| two[0].starts_with("#[cfg(test)]") && two[1].ends_with("mod tests {"));
        let end = tests.unwrap_or(lines.len());
        for (n, line) in lines[..end].iter().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            if prints_debug(code) && !is_for_developers(&lines, n) {
                faults.push(format!(
                    "{path}:{}: text of Debug: use a type, Display or text()",
                    n + 1
                ));
            }
        }
    }
    assert_none(&faults);
}
