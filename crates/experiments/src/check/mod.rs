//! The experiment "at which degree of parallelism is DBCC CHECKDB fastest here?"
//!
//! # Purpose
//! The published test: CHECKDB at degrees 1 to 32, in full, with PHYSICAL_ONLY, and with trace flags 2549 and
//! 2562. The report gives MB/s, how the check scales, its waits, and the degree at which to cap it on this
//! machine.
//!
//! # Invariants
//! 1. All runs check the same database, made once. Nothing of it is in the pool when a run begins.
//! 2. A run counts only when the check finds nothing: a finding is an error of the statement. Such a run is
//!    not tried again, and the database stays.
//! 3. Trace flags are turned on before the measurement and off after it.
//!
//! # How a run goes
//! 1. *Prepare*, once: instance, database, rows, indexes.
//! 2. *Set-up*: trace flags, a checkpoint, clean pages dropped.
//! 3. *Measure*: users alone, then beside the statement; the response is the statement's time.
//!
//! # What can fail
//! A [`StepError`] with the engine's number and text; options that make no sense ([`OptionsError`]).

mod cap;
mod cells;
mod options;
mod section;
#[cfg(test)]
mod tests;

pub use options::{Mode, Options, Typed};

use crate::backup::{ALONE_S, used_bytes};
use crate::plugin::{NOT_SQL_SERVER, Plugin, Start};
use crate::targets::{Embedded, Need, Target, quoted};
use crate::workloads::beside::{self, BusyRows, Statement};
use crate::workloads::place::{RunPlace, failed, wrong};
use crate::workloads::prepared;
use furrow_io::Volume;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::{Forecast, Reset};
use furrow_lab::results::{self, Figure, Published, Results, Run, Section};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const MIB: f64 = 1024.0 * 1024.0;
/// Megabytes a second that a run is thought to check before one has been seen.
const ASSUMED_MB_S: f64 = 200.0;

/// The experiment.
#[derive(Debug)]
pub struct Check {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    /// The database, with the bytes of its extents in use.
    database: Option<(RunPlace, u64)>,
}

impl Check {
    /// The experiment on this target.
    pub fn on(options: Options, out_dir: PathBuf, target: Box<dyn Target>) -> Check {
        Check {
            options,
            out_dir,
            target,
            database: None,
        }
    }

    fn trace(&self, cell: &Cell, word: &str) -> Result<(), StepError> {
        let (_, mode) = self.options.of_cell(cell);
        let flags: Vec<String> = mode.flags().iter().map(u32::to_string).collect();
        if flags.is_empty() {
            return Ok(());
        }
        let mut session = self.target.connect().map_err(failed)?;
        let text = format!("DBCC {word} ({}, -1) WITH NO_INFOMSGS;", flags.join(", "));
        session.batch(&text).map(|_| ()).map_err(failed)
    }
}

impl Plugin for Check {
    const NAME: &'static str = "check";
    const QUESTION: &'static str =
        "At which degree of parallelism is DBCC CHECKDB fastest here? (full, PHYSICAL_ONLY)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Check, OptionsError> {
        let options = Options::of(typed, start)?;
        Ok(Check::on(
            options,
            start.out_dir.clone(),
            Box::new(Embedded::new()),
        ))
    }
}

impl Experiment for Check {
    fn subject(&self) -> results::Experiment {
        let one = self.factors().len() == 1;
        results::Experiment {
            name: Check::NAME.to_owned(),
            question: "At which degree of parallelism is DBCC CHECKDB fastest here?".to_owned(),
            target: self.target.name(),
            database: "one, made once".to_owned(),
            workload: self.options.workload(),
            factor: results::Factor {
                singular: String::new(),
                plural: if one {
                    "degrees of parallelism"
                } else {
                    "dop / mode"
                }
                .to_owned(),
                option: if one { "--dop" } else { "" }.to_owned(),
            },
            response: results::Response::elapsed_time(),
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings()
    }

    fn reset(&self) -> Reset {
        Reset::Keep
    }

    fn volumes(&self) -> Vec<PathBuf> {
        self.options.places.all(&self.out_dir)
    }

    fn models(&self) -> Vec<String> {
        self.options.places.models()
    }

    fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        self.options.places.drives(real)
    }

    fn refusals(&self) -> Vec<String> {
        let flags = self.options.modes.iter().flat_map(|mode| mode.flags());
        let needs: Vec<Need> = flags.map(|flag| Need::TraceFlag(*flag)).collect();
        self.target.lacks(&needs)
    }

    fn memory_bytes(&self) -> u64 {
        self.options.pool_bytes
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let contents = self.options.contents();
        let volumes = self.options.places.data(&self.out_dir);
        let log = self.options.places.log.as_deref();
        let place = RunPlace::new(&volumes, log, self.options.files, "HASH_START_p1");
        let each = contents.file_bytes(self.options.files) + self.target.extra_bytes_per_file();
        let mut shared_bytes = place.peak(each, contents.log_bytes());
        let first = shared_bytes.first().map(|(volume, _)| volume.clone());
        shared_bytes.extend(first.map(|volume| (volume, self.target.instance_bytes())));
        Forecast {
            seconds: self.options.total_bytes as f64 / 1e6 / ASSUMED_MB_S + 0.3,
            peak_bytes: Vec::new(),
            shared_bytes,
            bytes_written: 0,
            steps: vec![
                format!("once: make a database of {} files", self.options.files),
                "CHECKPOINT; DBCC DROPCLEANBUFFERS".to_owned(),
                self.options.statement(cell, "YourDatabase"),
            ],
        }
    }

    fn prepare(&mut self, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let place = prepared::make(
            self.target.as_mut(),
            (&self.options.places, &self.out_dir),
            (self.options.files, self.options.contents()),
            (&context.tag(), Some(self.options.pool_bytes)),
            context,
        )?;
        let bytes = used_bytes(self.target.as_ref(), &place.name)?;
        self.database = Some((place, bytes));
        Ok(())
    }

    fn setup(&mut self, cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.trace(cell, "TRACEON")?;
        let name = self.database.as_ref().map_or("", |(place, _)| &place.name);
        let mut session = prepared::session_in(self.target.as_ref(), name).map_err(failed)?;
        let text = "CHECKPOINT; DBCC DROPCLEANBUFFERS WITH NO_INFOMSGS;";
        session.batch(text).map(|_| ()).map_err(failed)
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let missing = || StepError::Failed("the database is not prepared".to_owned());
        let (place, bytes) = self.database.as_ref().ok_or_else(missing)?;
        let statement = Statement {
            text: self.options.statement(cell, &quoted(&place.name)),
            database: &place.name,
            users: self.options.users,
            alone_s: ALONE_S,
            volumes: &self.volumes(),
            sessions: 1,
            work: &BusyRows,
            failure: wrong,
        };
        let mut run = beside::run(self.target.as_ref(), &statement, "check", context)?;
        let (dop, _) = self.options.of_cell(cell);
        run.threads = u32::try_from(dop).ok().map(|dop| dop + self.options.users);
        let seconds = run.response.unwrap_or(1.0).max(1e-6);
        let rate = *bytes as f64 / MIB / seconds;
        let processors = run.cpu_s.unwrap_or(0.0) / seconds;
        let own = [
            Figure::higher("checked", "MB/s", rate),
            Figure::neutral("processors busy", "processors", processors),
        ];
        run.figures.splice(0..0, own);
        cells::keep(&mut run, self.options.of_cell(cell), seconds, rate);
        Ok(run)
    }

    fn teardown(&mut self, cell: &Cell, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.trace(cell, "TRACEOFF")
    }

    fn dispose(&mut self) -> Result<(), StepError> {
        self.database = None;
        self.target.stop().map_err(failed)
    }

    fn may_win(&self, cell: &Cell, baseline: &Cell) -> bool {
        self.options.of_cell(cell).1 == self.options.of_cell(baseline).1
    }

    fn apply(&self, cell: &Cell) -> (String, String) {
        let (_, mode) = self.options.of_cell(cell);
        let flags: Vec<String> = mode.flags().iter().map(u32::to_string).collect();
        let statement = self.options.statement(cell, "YourDatabase");
        match flags.is_empty() {
            true => (statement, String::new()),
            false => (
                format!("DBCC TRACEON ({}, -1);\n{statement}", flags.join(", ")),
                format!("DBCC TRACEOFF ({}, -1);", flags.join(", ")),
            ),
        }
    }

    fn limits(&self) -> Vec<String> {
        vec![
            "Trace flags 2549 and 2562 change nothing in Furrow's check: each file has a reader of its own, \
             and all tables are one batch already. A difference between these levels is noise."
                .to_owned(),
            "The database is freshly loaded: damage and fragmentation are not measured.".to_owned(),
            NOT_SQL_SERVER.to_owned(),
        ]
    }

    fn published(&self, results: &Results) -> Option<Published> {
        Some(section::published(results))
    }

    fn sections(&self, results: &Results) -> Vec<Section> {
        section::sections(results)
    }
}
