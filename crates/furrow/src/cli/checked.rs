//! The check of data files for `check` and `backup`.

use furrow_check::{CheckError, Finding, Options, Progress, Report, Scratch, check_within};
use furrow_datafile::DataFiles;
use furrow_io::SystemVolume;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Checks data files. `stop` ends the check. Facts that exceed the memory go to a file in `temp`, or in the
/// system's directory for temporary files.
pub(super) fn check_files(
    files: &[PathBuf],
    (how, temp): (&Options, Option<&Path>),
    (visible, stop): (bool, Option<&AtomicBool>),
) -> Result<Report, CheckError> {
    let files = DataFiles::open(&SystemVolume::new(), files)?;
    let shown = AtomicU64::new(0);
    let listener = |progress: Progress| {
        if visible {
            show(&shown, progress);
        }
        !stop.is_some_and(|stop| stop.load(Ordering::SeqCst))
    };
    let directory = temp.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let name = format!("furrow_check_{}.tmp", std::process::id());
    let scratch = Scratch::new(Arc::new(SystemVolume::new()), directory.join(name));
    let report = check_within(&files, how, (Some(&scratch), Some(&listener)));
    if visible {
        eprint!("\r{:30}\r", "");
    }
    report
}

/// Rewrites one line at each percent.
fn show(shown: &AtomicU64, progress: Progress) {
    let percent = progress.pages_done * 100 / progress.pages_total.max(1);
    if shown.fetch_max(percent, Ordering::Relaxed) < percent {
        eprint!("\r{percent:>3}% of {} pages", progress.pages_total);
    }
}

/// A finding as JSON.
pub(super) fn finding_json(finding: &Finding) -> Value {
    json!({
        "number": finding.number(),
        "file": finding.page.map(|page| page.file.0),
        "page": finding.page.map(|page| page.page.0),
        "object": finding.subject.as_ref().map(ToString::to_string),
        "text": finding.message.text,
        "means": finding.means,
    })
}
