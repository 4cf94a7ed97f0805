//! What the experiment says in words: the load, the limits, the statements to copy.

use super::options::Options;
use crate::workloads::inserts::Layout;
use furrow_io::host;
use furrow_lab::results::Factor;
use furrow_lab::size::size_text;
use std::path::PathBuf;

/// The load in one sentence.
pub(super) fn workload(options: &Options) -> String {
    let sizes = options.sizes();
    let rows = match options.layouts.first() {
        Some(Layout::RandomKey) => "160-byte rows on a random 16-byte clustered key",
        _ => "rows of 4.1 KB on an ascending clustered key, one row a page",
    };
    let words: Vec<String> = options.rows_per_commit.iter().map(u64::to_string).collect();
    let sessions: Vec<String> = options.connections.iter().map(u32::to_string).collect();
    let pace = options.pace.words();
    let most = if options.pace.seconds.is_some() {
        "at most "
    } else {
        ""
    };
    format!(
        "{} sessions insert {most}{} of {rows}, {} a durable commit{pace}; \
         data files {} together, log {}, pool {}",
        sessions.join(", "),
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

/// What the experiment does not show.
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
    let single = options.places.volumes.len() <= 1;
    if single {
        limits.push(
            "All files lay on one volume: what several volumes would bring is not measured; give --volume \
             more than once."
                .to_string(),
        );
    }
    let modelled = !options.places.models.is_empty();
    if let Some(device) = shared_device(&options.places.volumes).filter(|_| !modelled) {
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
