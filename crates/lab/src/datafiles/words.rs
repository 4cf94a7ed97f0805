//! What the experiment says in words: the load, the limits, the command, the statements to copy.

use super::options::{Layout, Options, size_text};
use crate::plan::Plan;
use crate::report::words::{shell_word, typed_percent};
use crate::results::Factor;
use furrow_io::host;
use std::path::PathBuf;

/// The load in one sentence.
pub(super) fn workload(options: &Options) -> String {
    let sizes = options.sizes();
    let rows = match options.layouts.first() {
        Some(Layout::RandomKey) => "160-byte rows on a random 16-byte clustered key",
        _ => "rows of 4.1 KB on an ascending clustered key, one row a page",
    };
    let words: Vec<String> = options.rows_per_commit.iter().map(u64::to_string).collect();
    format!(
        "{} sessions insert {} of {rows}, {} a durable commit; data files {} together, log {}, pool {}",
        options.connections,
        size_text(options.total_bytes),
        match words.join(", ").as_str() {
            "1" => "one row".to_string(),
            several => format!("{several} rows"),
        },
        size_text(sizes.data_bytes),
        size_text(sizes.log_bytes),
        size_text(sizes.pool_bytes),
    )
}

/// What is varied, in words: `files`, or `files / rows-per-commit` where more than that is.
pub(super) fn factor(options: &Options) -> Factor {
    let names: Vec<String> = options.factors().into_iter().map(|f| f.name).collect();
    match names.as_slice() {
        [_] => Factor {
            singular: "file".to_string(),
            plural: "files".to_string(),
            option: "--files".to_string(),
        },
        several => Factor {
            singular: String::new(),
            plural: several.join(" / "),
            option: String::new(),
        },
    }
}

/// Statements that add the files of a level, and those that take them away again.
pub(super) fn apply(files: u64, file_bytes: u64) -> (String, String) {
    let each = (file_bytes >> 20).max(1);
    let add = |n: u64| {
        format!(
            "ALTER DATABASE YourDatabase ADD FILE (NAME = data{n}, FILENAME = 'data{n}.ndf', \
             SIZE = {each}MB);"
        )
    };
    let remove = |n: u64| {
        format!(
            "DBCC SHRINKFILE (data{n}, EMPTYFILE); \
             ALTER DATABASE YourDatabase REMOVE FILE data{n};"
        )
    };
    let lines = |line: &dyn Fn(u64) -> String| {
        let all: Vec<String> = (2..=files).map(line).collect();
        all.join("\n")
    };
    (lines(&add), lines(&remove))
}

/// What the experiment does not tell.
pub(super) fn limits(options: &Options) -> Vec<String> {
    let mut limits = vec![
        format!(
            "{} were inserted into a fresh database each run; a database that is larger than its memory \
             many times over, or fragmented, may behave otherwise.",
            size_text(options.total_bytes)
        ),
        "The time ends with the last commit: pages that checkpoints had not written by then are not in it."
            .to_string(),
        "Nothing read the table while it was filled: the effect of files on reads is not measured."
            .to_string(),
        "The engine is Furrow, not SQL Server: shapes carry over where the cause is the device or the \
         allocation algorithm, absolute times do not."
            .to_string(),
    ];
    let single = options.volumes.len() <= 1;
    if single {
        limits.push(
            "All files lay on one volume: what several volumes would bring is not measured; give --volume \
             more than once."
                .to_string(),
        );
    }
    if let Some(device) = shared_device(&options.volumes) {
        limits.push(format!(
            "All volumes lie on one device ({device}): what several devices would bring is not measured."
        ));
    }
    if options.layouts == [Layout::Sequential] {
        limits.push(
            "One row a page on an ascending key: rows that are small or come in random order are another \
             experiment (--layout random-key)."
                .to_string(),
        );
    }
    limits
}

/// The device that several volumes share, where it is known.
fn shared_device(volumes: &[PathBuf]) -> Option<String> {
    let device = |dir: &PathBuf| {
        let disk = host::device_of(dir).map(|device| device.name);
        disk.or_else(|| host::mount_of(dir).map(|mount| mount.source))
    };
    let (first, rest) = volumes.split_first().filter(|(_, rest)| !rest.is_empty())?;
    let shared = device(first)?;
    rest.iter()
        .all(|dir| device(dir).as_ref() == Some(&shared))
        .then_some(shared)
}

/// The command that runs the plan again.
pub(super) fn command(options: &Options, plan: &Plan) -> String {
    let mut words = format!(
        "furrow lab run {} --blocks {} --seed {}",
        plan.name, plan.blocks, plan.seed
    );
    for (option, value) in told(options) {
        words.push_str(&format!(" {option} {value}"));
    }
    if (plan.delta - 0.02).abs() > 1e-12 {
        words.push_str(&format!(" --delta {}", typed_percent(plan.delta)));
    }
    words
}

/// Options as they would be typed, those that differ from the defaults.
fn told(options: &Options) -> Vec<(&'static str, String)> {
    let usual = Options::default();
    let list = |values: &[u64]| {
        let words: Vec<String> = values.iter().map(u64::to_string).collect();
        words.join(",")
    };
    let mut told = Vec::new();
    if options.files != usual.files {
        told.push(("--files", list(&options.files)));
    }
    if options.total_bytes != usual.total_bytes {
        told.push(("--total", size_text(options.total_bytes)));
    }
    if options.connections != usual.connections {
        told.push(("--connections", options.connections.to_string()));
    }
    let sizes = Options {
        pool_bytes: None,
        log_bytes: None,
        ..options.clone()
    }
    .sizes();
    let set = |value: Option<u64>, by_default: u64| value.filter(|&v| v != by_default);
    if let Some(bytes) = set(options.pool_bytes, sizes.pool_bytes) {
        told.push(("--pool", size_text(bytes)));
    }
    if let Some(bytes) = set(options.log_bytes, sizes.log_bytes) {
        told.push(("--log", size_text(bytes)));
    }
    if options.rows_per_commit != usual.rows_per_commit {
        told.push(("--rows-per-commit", list(&options.rows_per_commit)));
    }
    if options.layouts != usual.layouts {
        let words: Vec<&str> = options.layouts.iter().map(|layout| layout.word()).collect();
        told.push(("--layout", words.join(",")));
    }
    for volume in &options.volumes {
        told.push(("--volume", shell_word(&volume.display().to_string())));
    }
    told
}
