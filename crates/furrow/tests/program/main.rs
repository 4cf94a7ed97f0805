//! The program as somebody at a terminal, or a script, meets it: processes, exit codes, files left behind.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: a failure is a failed test"
)]

mod backup;
mod checkdb;
mod damage;
mod disk;
mod every_page;
mod experiment;
mod export;
mod file_names;
mod inspect;
mod interrupted;
mod lab_designs;
mod memory_limit;
mod nesting;
mod order_entry;
mod out_files;
mod reader;
mod refusals;
mod shell;
mod shell_options;
mod shell_pipe;
mod shell_run;
mod shell_signals;
mod shell_start;
mod shell_status;
#[cfg(target_os = "linux")]
mod terminal;

use furrow_io::{SystemVolume, Volume};
use furrow_lab::journal::read_file;
use furrow_lab::results::Results;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A run small enough for a test: two levels, two blocks, six runs.
const SMALL: &[&str] = &[
    "lab",
    "run",
    "datafiles",
    "--files",
    "1,2",
    "--blocks",
    "2",
    "--connections",
    "2",
    "--total",
    "1MB",
    "--seed",
    "5",
];

fn furrow() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_furrow"));
    command.env("COLUMNS", "110").env("NO_COLOR", "1");
    command
}

fn run(words: &[&str]) -> Output {
    furrow().args(words).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Names in a directory.
fn names(dir: &Path) -> Vec<String> {
    let name = |path: PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    SystemVolume::new()
        .list(dir)
        .unwrap()
        .into_iter()
        .map(name)
        .collect()
}

fn content(path: &Path) -> String {
    String::from_utf8(read_file(&SystemVolume::new(), path).unwrap()).unwrap()
}

fn results(dir: &Path) -> Results {
    let results = Results::from_json(&content(&dir.join("results.json"))).unwrap();
    assert_eq!(results.problems(), Vec::<String>::new());
    results
}

const LEFT: [&str; 4] = ["journal.jsonl", "report.html", "results.json", "runs.csv"];
