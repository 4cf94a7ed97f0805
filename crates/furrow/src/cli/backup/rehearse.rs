//! `furrow backup rehearse`: restores backups, measures how long it takes, and checks the database.

use super::args::RehearseArguments;
use super::media::read_of;
use super::scratch::{Restored, RestoredStep, Scratch};
use crate::cli::checked::finding_json;
use crate::cli::outcome::{DONE, FAILED, Failure, print};
use furrow_backup::chain::{Chain, ChainStep};
use furrow_check::{CheckError, Report};
use furrow_io::time::Moment;
use serde_json::{Value, json};
use std::fmt::Write;

/// The result for a chain.
struct Rehearsed<'a> {
    chain: &'a Chain,
    restored: Restored,
    report: Report,
    check_us: u64,
}

pub(super) fn run(options: &RehearseArguments) -> Result<u8, Failure> {
    let (media, chains) = read_of(&options.files)?;
    let mut sound = true;
    let mut all = Vec::new();
    let scratch = Scratch::make(options.dir.as_deref(), options.quiet)?;
    for chain in &chains {
        let restored = scratch.restore(&media, chain)?;
        let begun = Moment::now();
        let report = scratch.check(&restored, 0).map_err(|e| match e {
            CheckError::Cancelled => Scratch::interrupted(),
            e => Failure::new(FAILED, e.to_string()),
        })?;
        let rehearsed = Rehearsed {
            chain,
            restored,
            report,
            check_us: begun.elapsed_us(),
        };
        sound &= rehearsed.report.is_clean();
        match options.json {
            true => all.push(rehearsed.json()),
            false => print(&rehearsed.text())?,
        }
    }
    if options.json {
        print(&format!("{:#}\n", Value::Array(all)))?;
    }
    Ok(if sound { DONE } else { FAILED })
}

fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn mb_per_s(pages: u64, us: u64) -> f64 {
    pages as f64 * 8192.0 / (1 << 20) as f64 / seconds(us.max(1))
}

fn kind(step: &ChainStep) -> &'static str {
    step.info.kind.description()
}

impl Rehearsed<'_> {
    fn restore_us(&self) -> u64 {
        self.restored.steps.iter().map(|s| s.elapsed_us).sum()
    }

    fn pages(&self) -> u64 {
        self.restored.steps.iter().map(|s| s.pages).sum()
    }

    fn text(&self) -> String {
        let mut text = String::new();
        let (pages, us) = (self.pages(), self.restore_us());
        let _ = writeln!(
            text,
            "{}: {} of {} restored in {:.3} s ({:.1} MB/s)",
            self.chain.database(),
            pages_text(pages),
            sets_text(self.chain.steps.len()),
            seconds(us),
            mb_per_s(pages, us)
        );
        for (step, done) in self.chain.steps.iter().zip(&self.restored.steps) {
            let (name, kind) = (step.name(), kind(step));
            let (pages, s) = (done.pages, seconds(done.elapsed_us));
            let _ = writeln!(text, "  {kind:<21} {pages:>10} pages {s:>9.3} s  {name}");
        }
        for finding in &self.report.findings {
            let _ = writeln!(text, "{finding}\n");
        }
        let found = match self.report.errors() {
            0 => "nothing is wrong".to_owned(),
            1 => "1 error".to_owned(),
            many => format!("{many} errors"),
        };
        let _ = writeln!(
            text,
            "  checked in {:.3} s: {} pages, {} rows of {} tables: {found}",
            seconds(self.check_us),
            self.report.pages_checked,
            self.report.rows,
            self.report.tables
        );
        text
    }

    fn json(&self) -> Value {
        let steps = self.chain.steps.iter().zip(&self.restored.steps);
        let step = |(step, done): (&ChainStep, &RestoredStep)| {
            let files: Vec<String> = step.paths.iter().map(|p| p.display().to_string()).collect();
            json!({
                "kind": kind(step),
                "files": files,
                "position": step.position,
                "pages": done.pages,
                "seconds": seconds(done.elapsed_us),
            })
        };
        json!({
            "database": self.chain.database(),
            "sets": steps.map(step).collect::<Vec<_>>(),
            "restore_seconds": seconds(self.restore_us()),
            "check_seconds": seconds(self.check_us),
            "pages_checked": self.report.pages_checked,
            "rows": self.report.rows,
            "tables": self.report.tables,
            "findings": self.report.findings.iter().map(finding_json).collect::<Vec<_>>(),
        })
    }
}

fn pages_text(pages: u64) -> String {
    match pages {
        1 => "1 page".to_owned(),
        pages => format!("{pages} pages"),
    }
}

fn sets_text(sets: usize) -> String {
    match sets {
        1 => "1 backup".to_owned(),
        sets => format!("{sets} backups"),
    }
}
