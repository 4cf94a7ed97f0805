//! Real files of SQL Server: nothing is wrong with them, and nothing may be said to be.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_check::{Options, Report, check};
use furrow_datafile::DataFiles;
use furrow_io::{SystemVolume, Volume};
use std::path::PathBuf;

/// The samples, where there are any: elsewhere the test says so and passes.
fn samples() -> Vec<PathBuf> {
    let Some(dir) = std::env::var_os("FURROW_SAMPLES") else {
        println!("skipped: FURROW_SAMPLES names no directory of real files");
        return Vec::new();
    };
    let mut files = SystemVolume::new().list(&PathBuf::from(dir)).unwrap();
    files.retain(|path| path.extension().is_some_and(|e| e == "mdf"));
    assert!(!files.is_empty());
    files
}

fn checked(path: &PathBuf) -> Report {
    let volume = SystemVolume::new();
    let files = DataFiles::open(&volume, std::slice::from_ref(path)).unwrap();
    check(&files, &Options::default(), None).unwrap()
}

#[test]
fn nothing_is_wrong_with_real_files() {
    for path in samples() {
        let report = checked(&path);
        println!(
            "{}: {} pages, {} tables, {} rows",
            path.display(),
            report.pages_checked,
            report.tables,
            report.rows
        );
        for finding in &report.findings {
            println!("{finding}");
        }
        assert!(report.is_clean(), "{} findings", report.findings.len());
    }
}
