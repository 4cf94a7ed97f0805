//! `furrow check`: are these data files sound?

use super::args::CheckArguments;
use super::{FAILED, Failure, USAGE};
use furrow_check::{
    CheckError, Finding, MEMORY_BYTES, Options, Progress, Report, Scratch, check_within,
};
use furrow_datafile::DataFiles;
use furrow_io::SystemVolume;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn run(options: &CheckArguments) -> Result<u8, Failure> {
    let report = checked(options).map_err(|error| Failure::new(USAGE, error.to_string()))?;
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

fn checked(options: &CheckArguments) -> Result<Report, CheckError> {
    let files = DataFiles::open(&SystemVolume::new(), &options.files)?;
    let shown = AtomicU64::new(0);
    let listener = |progress: Progress| {
        show(&shown, progress);
        true
    };
    let how = Options {
        workers: options.threads,
        bytes_per_s: options.rate.unwrap_or(0),
        memory_bytes: options.memory.unwrap_or(MEMORY_BYTES),
        ..Options::default()
    };
    let directory = options.temp.clone().unwrap_or_else(std::env::temp_dir);
    let name = format!("furrow_check_{}.tmp", std::process::id());
    let scratch = Scratch::new(Arc::new(SystemVolume::new()), directory.join(name));
    let visible = !options.quiet && std::io::stderr().is_terminal();
    let listener: Option<furrow_check::Listener<'_>> = if visible { Some(&listener) } else { None };
    let report = check_within(&files, &how, (Some(&scratch), listener));
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

fn print_json(report: &Report, out: &mut impl Write) -> std::io::Result<()> {
    let one = |finding: &Finding| {
        json!({
            "number": finding.number(),
            "file": finding.page.map(|page| page.file.0),
            "page": finding.page.map(|page| page.page.0),
            "object": finding.subject.as_ref().map(ToString::to_string),
            "text": finding.message.text,
            "means": finding.means,
        })
    };
    let all = json!({
        "findings": report.findings.iter().map(one).collect::<Vec<_>>(),
        "pages_checked": report.pages_checked,
        "rows": report.rows,
        "tables": report.tables,
    });
    writeln!(out, "{all:#}")
}
