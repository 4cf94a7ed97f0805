//! `furrow check`: are these data files, or the backups in these files, sound?

use super::args::CheckArguments;
use super::backup::{self, Scratch};
use super::{FAILED, Failure, INTERRUPTED, USAGE};
use furrow_backup::chain::Chain;
use furrow_check::{CheckError, Finding, Options, Progress, Report, check};
use furrow_datafile::DataFiles;
use furrow_io::SystemVolume;
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub(super) fn run(options: &CheckArguments) -> Result<u8, Failure> {
    let checked = match options.backup {
        true => check_backup(options)?,
        false => check_files(&options.files, options.threads, (visible(options), None)),
    };
    let report = checked.map_err(|error| match error {
        CheckError::Cancelled => Scratch::interrupted(),
        error => Failure::new(USAGE, error.to_string()),
    })?;
    let mut out = std::io::stdout().lock();
    let printed = if options.json {
        print_json(&report, &mut out)
    } else {
        print(&report, &mut out)
    };
    match printed.and_then(|()| out.flush()) {
        // Who closes the output early (`| head`) still gets the exit code.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            return Err(Failure::new(USAGE, format!("cannot print: {error}")));
        }
        _ => {}
    }
    Ok(if report.is_clean() { 0 } else { FAILED })
}

fn visible(options: &CheckArguments) -> bool {
    !options.quiet && std::io::stderr().is_terminal()
}

/// Restores the backups into a scratch directory and checks the files there: the pages of a backup agree with
/// each other only after the log in it is applied.
fn check_backup(options: &CheckArguments) -> Result<Result<Report, CheckError>, Failure> {
    let not_checked = |failure: Failure| match failure.code {
        INTERRUPTED => failure,
        _ => Failure::new(USAGE, failure.text),
    };
    let read = backup::read(&options.files, &options.keys, options.database.as_deref());
    let (media, chains) = read.map_err(not_checked)?;
    let [chain] = chains.as_slice() else {
        let names: Vec<&str> = chains.iter().map(Chain::database).collect();
        let names = names.join(", ");
        let text = format!(
            "the files hold backups of several databases ({names}): choose one by --database"
        );
        return Err(Failure::new(USAGE, text));
    };
    let scratch = Scratch::make(options.dir.as_deref(), options.quiet).map_err(not_checked)?;
    let restored = scratch.restore(&media, chain).map_err(not_checked)?;
    Ok(scratch.check(&restored, options.threads))
}

/// Checks data files. `stop` ends the check.
pub(super) fn check_files(
    files: &[PathBuf],
    threads: usize,
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
    let how = Options {
        workers: threads,
        ..Options::default()
    };
    let report = check(&files, &how, Some(&listener));
    if visible {
        eprint!("\r{:30}\r", "");
    }
    report
}

/// One line that is written over, once a percent.
fn show(shown: &AtomicU64, progress: Progress) {
    let percent = progress.pages_done * 100 / progress.pages_total.max(1);
    if shown.fetch_max(percent, Ordering::Relaxed) < percent {
        eprint!("\r{percent:>3}% of {} pages", progress.pages_total);
    }
}

fn print(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    for finding in &report.findings {
        writeln!(out, "{finding}\n")?;
    }
    let found = match report.findings.len() {
        0 => "nothing is wrong".to_owned(),
        1 => "1 finding".to_owned(),
        many => format!("{many} findings"),
    };
    writeln!(
        out,
        "{} pages and {} rows of {} tables and of the catalog checked: {found}",
        report.pages_checked, report.rows, report.tables
    )
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

fn print_json(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let all = json!({
        "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "pages_checked": report.pages_checked,
        "rows": report.rows,
        "tables": report.tables,
    });
    writeln!(out, "{all:#}")
}
