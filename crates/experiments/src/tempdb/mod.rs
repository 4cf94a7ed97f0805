//! The experiment "how many files should tempdb have?"
//!
//! # Purpose
//! Sessions create, fill and drop temporary tables, which changes allocation pages far more often than
//! anything else does. The levels are numbers of equal files, unequal files, and an empty file that was
//! added beside a full one: the case in which a further file moves the hot pages and does not relieve them.
//!
//! # Invariants
//! 1. Every run has an instance of its own, whose tempdb has files of the same total size and a log of one
//!    size. None of them grows.
//! 2. The response counts tables that were created, filled and dropped. A run counts only when none is left.
//! 3. Waits are those of the engine's views; pages of tempdb are named 2:file:page.
//!
//! # How a run goes
//! 1. *Set-up*: instance; tempdb's files; with `added` the first one is filled before the second is added.
//! 2. *Measure*: sessions repeat the script for the time. *Verify*: no table is left. *Tear-down*: removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's number and text; options that make no sense ([`OptionsError`]).

mod options;
mod section;
#[cfg(test)]
mod tests;

pub use options::{Layout, Options, Typed};

use crate::plugin::{NOT_SQL_SERVER, Plugin, Start};
use crate::targets::{Embedded, Need, Session, Startup, Target, TargetError, Value};
use crate::workloads::load::{ASSUMED_SESSION_BYTES, Load, Work};
use crate::workloads::order_entry::IN_TEMPDB;
use crate::workloads::place::{RunPlace, clear, failed, start_instance};
use crate::workloads::prepared::{literal, session_in};
use crate::workloads::script::Script;
use crate::workloads::{latched, page_latches};
use furrow_io::Volume;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::Forecast;
use furrow_lab::results::{self, Better, Figure, Results, Run, Section};
use furrow_lab::size::size_text;
use options::UNIFORM_EXTENTS;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const DATABASE: &str = "tempdb";
const POOL_BYTES: u64 = 64 << 20;
/// Size of tempdb's log, with every layout: filling a file needs a large one, and a log that has grown is
/// truncated less often than another run's.
const LOG_BYTES: u64 = 128 << 20;
/// Seconds of set-up and tear-down that are thought to go with each run.
const ASSUMED_OVERHEAD_S: f64 = 0.5;
/// Pages that may stay free in a file that is called full: an extent in the making and a spare one.
const FREE_PAGES: u64 = 16;

/// The experiment.
#[derive(Debug)]
pub struct Tempdb {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
}

impl Tempdb {
    fn place(&self, layout: Layout, tag: &str) -> RunPlace {
        let volumes = self.options.places.data(&self.out_dir);
        let files = layout.sizes(self.options.total_bytes).len() as u64;
        RunPlace::new(&volumes, None, files, tag)
    }

    /// Gives tempdb its files.
    fn furnish(
        &self,
        session: &mut dyn Session,
        (layout, place): (Layout, &RunPlace),
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let sizes = layout.sizes(self.options.total_bytes);
        let first_bytes = sizes.first().copied().unwrap_or(0);
        resize(session, 1, first_bytes).map_err(failed)?;
        resize(session, 2, LOG_BYTES).map_err(failed)?;
        if layout == Layout::Added {
            fill(session).map_err(failed)?;
        }
        for (n, (bytes, path)) in sizes.iter().zip(&place.data).enumerate().skip(1) {
            context.claim_file(path)?;
            let text = format!(
                "ALTER DATABASE tempdb ADD FILE (NAME = temp{}, FILENAME = {}, SIZE = {}KB, FILEGROWTH = 0);",
                n + 1,
                literal(path),
                bytes / 1024
            );
            session.batch(&text).map_err(failed)?;
        }
        Ok(())
    }
}

/// Gives a file that tempdb has its size, and keeps it from growing.
fn resize(session: &mut dyn Session, id: u32, bytes: u64) -> Result<(), TargetError> {
    let text = format!("SELECT name, size FROM tempdb.sys.database_files WHERE file_id = {id};");
    let reply = session.batch(&text)?;
    let (name, pages) = match reply.rows.first().map(Vec::as_slice) {
        Some([name, pages]) => (name.to_string(), pages.count()),
        _ => return Err(TargetError::other(format!("tempdb has no file {id}"))),
    };
    if pages * 8192 < bytes {
        let text = format!(
            "ALTER DATABASE tempdb MODIFY FILE (NAME = {name}, SIZE = {}KB);",
            bytes / 1024
        );
        session.batch(&text)?;
    }
    let text = format!("ALTER DATABASE tempdb MODIFY FILE (NAME = {name}, FILEGROWTH = 0);");
    session.batch(&text).map(|_| ())
}

/// Fills the files that tempdb has.
fn fill(session: &mut dyn Session) -> Result<(), TargetError> {
    session.batch("CREATE TABLE dbo.full_file (c char(8000) NOT NULL);")?;
    loop {
        let free = session
            .batch("SELECT SUM(unallocated_extent_page_count) FROM sys.dm_db_file_space_usage;")?;
        let pages = free.scalar().map_or(0, Value::count);
        if pages <= FREE_PAGES {
            return Ok(());
        }
        let rows = (pages - FREE_PAGES).clamp(1, 2000);
        session.batch(&format!(
            "INSERT dbo.full_file SELECT 'x' FROM GENERATE_SERIES(1, {rows});"
        ))?;
    }
}

impl Plugin for Tempdb {
    const NAME: &'static str = "tempdb";
    const QUESTION: &'static str =
        "How many files should tempdb have? (equal, unequal, an empty one beside a full one)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<Tempdb, OptionsError> {
        Ok(Tempdb {
            options: Options::of(typed, start)?,
            out_dir: start.out_dir.clone(),
            target: Box::new(Embedded::new()),
        })
    }
}

impl Experiment for Tempdb {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: Tempdb::NAME.to_owned(),
            question: "How many files should tempdb have?".to_owned(),
            target: self.target.name(),
            database: "tempdb of a fresh instance for each run".to_owned(),
            workload: self.options.workload(),
            factor: latched::factor_words(&self.factors(), ("file", "--files")),
            response: results::Response {
                name: "temporary tables".to_owned(),
                unit: "tables/s".to_owned(),
                better: Better::Higher,
            },
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings(&self.target.version())
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
        self.target.lacks(&[Need::TraceFlag(UNIFORM_EXTENTS)])
    }

    fn memory_bytes(&self) -> u64 {
        let sessions = self.options.sessions.iter().max().copied().unwrap_or(1);
        POOL_BYTES + u64::from(sessions) * ASSUMED_SESSION_BYTES
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let setting = self.options.of_cell(cell);
        let sizes = setting.layout.sizes(self.options.total_bytes);
        let place = self.place(setting.layout, "HASH_START_rN_aN");
        let mut peak_bytes = place.peak(0, 0);
        for (peak, bytes) in peak_bytes.iter_mut().zip(&sizes) {
            peak.1 = *bytes;
        }
        let first = peak_bytes.first().map(|(volume, _)| volume.clone());
        let beside = LOG_BYTES + self.target.instance_bytes();
        peak_bytes.extend(first.map(|volume| (volume, beside)));
        let mut steps = vec![format!(
            "tempdb: {} files, {} together",
            sizes.len(),
            size_text(sizes.iter().sum())
        )];
        steps.extend(IN_TEMPDB.lines().map(str::to_owned));
        Forecast {
            seconds: ASSUMED_OVERHEAD_S + self.options.seconds,
            peak_bytes,
            shared_bytes: Vec::new(),
            bytes_written: self.options.total_bytes / 2,
            steps,
        }
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let setting = self.options.of_cell(cell);
        let place = self.place(setting.layout, &context.tag());
        place.make_directories(context)?;
        let startup = Startup {
            directory: place.instance(),
            pool_bytes: POOL_BYTES,
            trace_flags: if setting.has_flag {
                vec![UNIFORM_EXTENTS]
            } else {
                Vec::new()
            },
            ..Startup::default()
        };
        start_instance(self.target.as_mut(), &startup, context)?;
        let mut session = session_in(self.target.as_ref(), DATABASE).map_err(failed)?;
        self.furnish(session.as_mut(), (setting.layout, &place), context)
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let setting = self.options.of_cell(cell);
        let load = Load {
            database: DATABASE.to_owned(),
            sessions: setting.sessions,
            end: self.options.end,
            rate: None,
            unit: "tables",
            looks_at_extents: false,
        };
        let script = Script {
            text: IN_TEMPDB.to_owned(),
        };
        let target = self.target.as_ref();
        let work = (&script as &dyn Work, "table");
        let (mut run, worked) = latched::run(target, &load, work, &self.volumes(), context)?;
        run.response = Some(worked.units as f64 / worked.seconds);
        run.figures = latched::allocation_figures(&run).into();
        let waited = page_latches::ms_a_second(&run, |latch| latch.kind == "CATALOG");
        let waited = Figure::lower("PAGELATCH on system tables", "ms/s", waited);
        run.figures.push(waited.additive());
        Ok(run)
    }

    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let mut session = session_in(self.target.as_ref(), DATABASE).map_err(failed)?;
        let left =
            session.batch("SELECT COUNT_BIG(*) FROM tempdb.sys.tables WHERE name LIKE '#t[_]%';");
        match left.map_err(failed)?.scalar().map_or(0, Value::count) {
            0 => Ok(()),
            tables => Err(StepError::Violation(format!(
                "{tables} temporary tables are left in tempdb"
            ))),
        }
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        clear(self.target.as_mut(), context)
    }

    fn limits(&self) -> Vec<String> {
        vec![
            "Trace flag 1118 is recorded and changes nothing: tempdb takes its pages from uniform extents, \
             as that of \
             SQL Server 2016 and later does."
                .to_owned(),
            latched::FEW_PROCESSORS.to_owned(),
            "A bounded number of batches runs at once, four for each processor; sessions beyond that wait \
             for their turn (THREADPOOL) and for no latch meanwhile."
                .to_owned(),
            "The script is a batch: a procedure's temporary tables may be cached by SQL Server, and are not \
             here."
                .to_owned(),
            NOT_SQL_SERVER.to_owned(),
        ]
    }

    fn sections(&self, results: &Results) -> Vec<Section> {
        section::sections(&self.options, results)
    }
}
