//! The experiment "how does proportional fill spread extents over files, and what does it cost?"
//!
//! # Purpose
//! One insert load, one number of files, four states of the files when it begins: all of one size; each twice
//! the size of the one before; of one size with 64 extents in a turn (`-E`); all full but one that was added
//! empty. The report has the distribution of the extents, the skip targets at each recalculation, the
//! collisions on the spinlock that guards them, and whether the load took longer.
//!
//! # Invariants
//! 1. Every run has a fresh database; all have the same log, pool, rows, sessions and number of files, and
//!    room for the load. No file grows.
//! 2. The figures of the fill come from the engine: free extents from its own maps, targets from the lines of
//!    its trace flag 1165.
//! 3. As in the experiment on data files, whose load this uses: the response is the time from the start of
//!    the first session to the end of the last, and a run counts only when the table holds its rows.
//!
//! # Steps of a run
//! 1. *Set-up*: the files of the scenario; with "one added" the others are filled up by inserts, then the
//!    file is added.
//! 2. *Measure*: sessions insert rows of a page each; the free extents of each file are read ten times a
//!    second.
//! 3. *Verify*: the rows are counted. *Tear-down*: the instance is stopped; its files are removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's error text; options that contradict each other ([`OptionsError`]).

mod history;
mod options;
pub mod record;
mod scenario;
mod section;

pub use options::{Options, Typed};
pub use scenario::Scenario;

use crate::plugin::{Plugin, Start};
use crate::targets::{
    DataFile, DatabaseLayout, Embedded, Need, Session, Startup, Target, TargetError, quoted,
};
use crate::workloads::figures;
use crate::workloads::inserts::{self, Inserts, Layout};
use crate::workloads::load::{self, End, Job, Load, Piece, Work};
use crate::workloads::place::{RunPlace, clear, failed, wrong};
use furrow_io::Volume;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::plan::Forecast;
use furrow_lab::results::{self, Better, Figure, Results, Run, Section};
use history::Free;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

const QUESTION: &str =
    "How does proportional fill deal extents to files, and does it cost the load anything?";
/// Megabytes a second that a run is assumed to write before the first run.
const ASSUMED_MB_S: f64 = 160.0;
/// Seconds of set-up and tear-down that are assumed for each run.
const ASSUMED_OVERHEAD_S: f64 = 0.6;

/// Rows of a commit while files are filled up before the load.
const ROWS_AT_ONCE: u64 = 8;
/// 1165 prints skip targets, 3605 sends the lines to the error log.
const FLAGS: [u32; 2] = [1165, 3605];

/// The experiment.
#[derive(Debug)]
pub struct ProportionalFill {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    run: Option<FillRun>,
}

/// The run under way.
#[derive(Debug)]
struct FillRun {
    place: RunPlace,
    /// Rows that were in the table before the load.
    rows_before: u64,
}

impl ProportionalFill {
    fn scenario(cell: &Cell) -> Scenario {
        let level = cell.level("scenario");
        level
            .and_then(|level| Scenario::parse(&level.key))
            .unwrap_or(Scenario::Equal)
    }

    fn rows(&self) -> u64 {
        Layout::Sequential.rows(self.options.total_bytes)
    }

    fn run_place(&self, tag: &str) -> RunPlace {
        let places = &self.options.places;
        let volumes = places.data(&self.out_dir);
        RunPlace::new(&volumes, places.log.as_deref(), self.options.files, tag)
    }

    /// The files of a scenario. None of them grows.
    fn layout(&self, scenario: Scenario, place: &RunPlace) -> DatabaseLayout {
        let sizes = scenario.sizes(self.options.files, self.options.room_bytes());
        let log = (place.log.as_path(), self.options.log_bytes());
        let mut layout = DatabaseLayout::even(&place.name, &place.data, 0, log);
        for (file, size) in layout.data.iter_mut().zip(sizes) {
            file.size_bytes = size;
            file.can_grow = false;
        }
        layout
    }

    fn session(&self, place: &RunPlace) -> Result<Box<dyn Session>, TargetError> {
        let mut session = self.target.connect()?;
        session.batch(&format!("USE {};", quoted(&place.name)))?;
        Ok(session)
    }

    /// Creates the table and the state that the scenario needs; returns the rows inserted for it.
    fn furnish(
        &self,
        place: &RunPlace,
        added: Option<(&DatabaseLayout, &DataFile)>,
    ) -> Result<u64, TargetError> {
        inserts::create_table(self.target.as_ref(), &place.name, Layout::Sequential)?;
        let mut session = self.session(place)?;
        let mut rows = 0;
        if let Some((layout, file)) = added {
            rows = fill_up(session.as_mut())?;
            session.batch(&layout.add_statement(file))?;
        }
        let flags = FLAGS.map(|flag| flag.to_string()).join(", ");
        session.batch(&format!("DBCC TRACEON ({flags}, -1);"))?;
        Ok(rows)
    }

    /// Lines that the engine has written into its error log.
    fn log_lines(&self) -> Result<Vec<String>, TargetError> {
        let mut session = self.target.connect()?;
        let reply = session.batch("EXEC xp_readerrorlog 0, 1;")?;
        let text = |row: &Vec<crate::targets::Value>| row.last().map(ToString::to_string);
        Ok(reply.rows.iter().filter_map(text).collect())
    }
}

/// Inserts until no file has a free extent.
pub(crate) fn fill_up(session: &mut dyn Session) -> Result<u64, TargetError> {
    let work = Inserts {
        rows_per_commit: ROWS_AT_ONCE,
    };
    let mut job: Box<dyn Job> = work.open(0, session)?;
    let mut rows = 0;
    loop {
        let free = session
            .batch("SELECT SUM(unallocated_extent_page_count) FROM sys.dm_db_file_space_usage;")?;
        if free.scalar().is_none_or(|pages| pages.count() < 8) {
            return Ok(rows);
        }
        rows += job.next(session, Piece::now(ROWS_AT_ONCE))?;
    }
}

impl Plugin for ProportionalFill {
    const NAME: &'static str = "proportional-fill";
    const QUESTION: &'static str =
        "Where do extents go when files are equal, unequal, or one is added? What does it cost?";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<ProportionalFill, OptionsError> {
        Ok(ProportionalFill {
            options: Options::of(&typed, start)?,
            out_dir: start.out_dir.clone(),
            target: Box::new(Embedded::new()),
            run: None,
        })
    }
}

impl Experiment for ProportionalFill {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: ProportionalFill::NAME.to_string(),
            question: QUESTION.to_string(),
            target: self.target.name(),
            database: "a fresh one for each run".to_string(),
            workload: self.options.workload(),
            factor: results::Factor {
                singular: String::new(),
                plural: "files".to_string(),
                option: String::new(),
            },
            response: results::Response {
                name: "elapsed time".to_string(),
                unit: "s".to_string(),
                better: Better::Lower,
            },
        }
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings()
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
        self.target.lacks(&FLAGS.map(Need::TraceFlag))
    }

    fn memory_bytes(&self) -> u64 {
        self.options.pool_bytes()
    }

    fn factors(&self) -> Vec<Factor> {
        vec![Factor::words(
            "scenario",
            &Scenario::ALL.map(Scenario::word),
        )]
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let scenario = ProportionalFill::scenario(cell);
        let place = self.run_place("HASH_START_rN_aN");
        let layout = self.layout(scenario, &place);
        let extra = self.target.extra_bytes_per_file();
        let mut peak_bytes = place.peak(0, self.options.log_bytes());
        for (peak, file) in peak_bytes.iter_mut().zip(&layout.data) {
            peak.1 = file.size_bytes + extra;
        }
        let first = peak_bytes.first().map(|(volume, _)| volume.clone());
        peak_bytes.extend(first.map(|volume| (volume, self.target.instance_bytes())));
        let bytes_written = 2 * self.options.total_bytes;
        let create = layout.create_statement();
        let mut steps: Vec<String> = create.lines().map(str::to_owned).collect();
        if scenario == Scenario::Added {
            steps.push("fill all files but the last up, then add that one".to_string());
        }
        steps.push(format!(
            "insert {} rows by {} sessions, {} a commit",
            self.rows(),
            self.options.connections,
            self.options.rows_per_commit
        ));
        steps.push("count the rows, stop, remove every file".to_string());
        Forecast {
            seconds: ASSUMED_OVERHEAD_S + bytes_written as f64 / 1e6 / ASSUMED_MB_S,
            peak_bytes,
            shared_bytes: Vec::new(),
            bytes_written,
            steps,
        }
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let scenario = ProportionalFill::scenario(cell);
        let place = self.run_place(&context.tag());
        place.make_directories(context)?;
        let startup = Startup {
            directory: place.instance(),
            pool_bytes: self.options.pool_bytes(),
            many_extents: scenario == Scenario::EqualE,
            ..Startup::default()
        };
        let whole = self.layout(scenario, &place);
        for path in self.target.paths(&whole) {
            context.claim_file(&path)?;
        }
        let mut first = whole.clone();
        let added = match scenario {
            Scenario::Added => first.data.pop(),
            _ => None,
        };
        place.start_claimed(self.target.as_mut(), &startup, &first, context)?;
        let furnished = self.furnish(&place, added.as_ref().map(|file| (&first, file)));
        let rows_before = furnished.map_err(failed)?;
        self.run = Some(FillRun { place, rows_before });
        Ok(())
    }

    fn measure(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let run = self.run.as_ref();
        let run = run.ok_or_else(|| StepError::Failed("no database is open".to_owned()))?;
        let load = Load {
            database: run.place.name.clone(),
            sessions: self.options.connections,
            end: End::Units(self.rows()),
            rate: None,
            unit: "rows",
            looks_at_extents: true,
        };
        let rows_per_commit = self.options.rows_per_commit;
        let work = Inserts { rows_per_commit };
        let worked = load::run(self.target.as_ref(), &load, &work, context)?;
        let mut run = Run::default();
        figures::fill_inserts(&mut run, &worked, &self.volumes());
        let looks: Vec<&Free> = worked.looks.iter().map(|l| &l.free_extents).collect();
        let lines = self.log_lines().map_err(failed)?;
        let printed = history::printed(lines.iter().map(String::as_str));
        let history = history::history(&looks, &printed);
        let beyond = history.beyond_even() as f64;
        run.figures
            .push(Figure::lower("beyond an even share", "extents", beyond));
        record::keep(&mut run, &history);
        Ok(run)
    }

    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let Some(run) = &self.run else {
            return Err(StepError::Failed("no database is open".to_owned()));
        };
        let counted = inserts::count_rows(self.target.as_ref(), &run.place.name);
        let found = counted.map_err(wrong)?.saturating_sub(run.rows_before);
        let wanted = self.rows();
        if found == wanted {
            return Ok(());
        }
        let text = format!("the table holds {found} rows where {wanted} were inserted");
        Err(StepError::Violation(text))
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.run = None;
        clear(self.target.as_mut(), context)
    }

    fn limits(&self) -> Vec<String> {
        self.options.limits()
    }

    fn sections(&self, results: &Results) -> Vec<Section> {
        section::sections(results)
    }
}
