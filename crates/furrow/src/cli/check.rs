//! `furrow check`: checks data files, or the databases in backups.

use super::args::CheckArguments;
use super::backup::{self, Scratch};
use super::checked::{check_files, finding_json};
use super::{FAILED, Failure, INTERRUPTED, USAGE};
use furrow_backup::chain::Chain;
use furrow_check::{CheckError, MEMORY_BYTES, Options, Report};
use furrow_io::holder_of;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

pub(super) fn run(options: &CheckArguments) -> Result<u8, Failure> {
    let checked = match options.backup {
        true => check_backup(options)?,
        false => check_detached(options),
    };
    let report = checked.map_err(|error| match error {
        CheckError::Cancelled => Scratch::interrupted(),
        CheckError::NotRecovered => {
            let text = in_use(&options.files).unwrap_or_else(|| error.to_string());
            Failure::new(USAGE, text)
        }
        error => Failure::new(USAGE, error.to_string()),
    })?;
    let mut out = std::io::stdout().lock();
    let printed = if options.json {
        print_json(&report, &mut out)
    } else {
        print(&report, &mut out)
    };
    match printed.and_then(|()| out.flush()) {
        // If the reader closes the output early (`| head`), the exit code is still returned.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            return Err(Failure::new(USAGE, format!("cannot print: {error}")));
        }
        _ => {}
    }
    Ok(if report.is_clean() { 0 } else { FAILED })
}

/// The reason why a database that another process has cannot be checked.
fn in_use(files: &[PathBuf]) -> Option<String> {
    let held = |path: &PathBuf| Some((path.display().to_string(), holder_of(path)?));
    let (path, holder) = files.iter().find_map(held)?;
    Some(format!(
        "{path} is in use by {holder}: check it there by DBCC CHECKDB, or end that process first"
    ))
}

/// Checks the data files themselves.
fn check_detached(options: &CheckArguments) -> Result<Report, CheckError> {
    let how = Options {
        workers: options.threads,
        bytes_per_s: options.rate.unwrap_or(0),
        memory_bytes: options.memory.unwrap_or(MEMORY_BYTES),
        ..Options::default()
    };
    let seen = (visible(options), None);
    check_files(&options.files, (&how, options.temp.as_deref()), seen)
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

fn print(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    for finding in &report.findings {
        writeln!(out, "{finding}\n")?;
    }
    let found = match report.errors() {
        0 => "nothing is wrong".to_owned(),
        1 => "1 error".to_owned(),
        many => format!("{many} errors"),
    };
    writeln!(
        out,
        "{} pages and {} rows of {} tables and of the catalog checked: {found}",
        report.pages_checked, report.rows, report.tables
    )
}

fn print_json(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let all = json!({
        "errors": report.errors(),
        "findings": report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "pages_checked": report.pages_checked,
        "rows": report.rows,
        "tables": report.tables,
    });
    writeln!(out, "{all:#}")
}
