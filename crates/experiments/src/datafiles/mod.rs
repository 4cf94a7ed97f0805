//! The experiment "do multiple data files make a difference?"
//!
//! # Purpose
//! The published test, on the reader's own machine: sessions insert a fixed amount of rows into one clustered
//! table, one row a page, each row its own durable commit, while the database's files are 1, 2, 4, 8 or 16
//! of the same total size. What changes is the number of files and nothing else.
//!
//! # Invariants
//! 1. Every run has a fresh database in a directory of its own, claimed in the journal before it is made,
//!    down to each file; nothing else is ever removed.
//! 2. All levels have the same total of data files in whole extents, the same log, the same pool, the same
//!    rows; each session inserts the same share.
//! 3. The response is the time from the start of the first session to the end of the last. Set-up, the
//!    check of the rows and tear-down lie outside of it.
//! 4. A run counts only when the table holds exactly the rows that were asked for, counted by reading it.
//!
//! # How a run goes
//! 1. *Set-up*: a directory on each volume, files dealt to them in turn, the log on the first; the database
//!    and its table through a [`Target`]. In each block, before the first run on each layout of volumes, the
//!    bounds of the volumes are measured without an engine and written into the journal.
//! 2. *Measure*: sessions in threads of their own; ten looks a second at what is done.
//! 3. *Verify*: rows counted. *Tear-down*: closed; what was made is removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's own words; options that make no sense ([`OptionsError`]).

mod options;
mod published;
#[cfg(test)]
mod tests;
mod words;

pub use options::{Options, Sizes, Typed};

use crate::plugin::{Plugin, Start};
use crate::targets::{DatabaseLayout, Embedded, Startup, Target};
use crate::workloads::ceilings::{self, Bound, Effort};
use crate::workloads::figures;
use crate::workloads::inserts::{self, Inserts, Layout};
use crate::workloads::load::{self, Load, Worked};
use crate::workloads::pace::Pace;
use crate::workloads::place::{RunPlace, clear, failed, wrong};
use furrow_io::Volume;
use furrow_lab::design::{Cell, Factor};
use furrow_lab::experiment::{Experiment, OptionsError, RunContext, StepError};
use furrow_lab::journal::{History, Kind};
use furrow_lab::plan::Forecast;
use furrow_lab::results::{self, Ceiling, Published, Results, Run};
use options::InsertLoad;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const QUESTION: &str = "Do multiple data files make a difference for this insert load?";
/// Megabytes a second that a run is thought to write before one has been seen.
const ASSUMED_MB_S: f64 = 160.0;
/// Seconds of set-up and tear-down that are thought to go with each run.
const ASSUMED_OVERHEAD_S: f64 = 0.4;

/// The experiment.
pub struct DataFiles {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    place: Option<RunPlace>,
}

impl std::fmt::Debug for DataFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("DataFiles");
        debug
            .field("options", &self.options)
            .field("target", &self.target);
        debug.finish_non_exhaustive()
    }
}

impl DataFiles {
    /// The experiment with these options on this engine; files go below `out_dir` unless volumes are named.
    pub fn on(
        options: Options,
        out_dir: &Path,
        target: Box<dyn Target>,
    ) -> Result<DataFiles, OptionsError> {
        options.check()?;
        Ok(DataFiles {
            options,
            out_dir: out_dir.to_path_buf(),
            target,
            place: None,
        })
    }

    fn run_place(&self, cell: &Cell, tag: &str) -> RunPlace {
        let load = self.options.load(cell);
        let places = &self.options.places;
        let volumes = match self.options.directories(cell) {
            Some(directories) => directories.to_vec(),
            None => places.data(&self.out_dir),
        };
        RunPlace::new(&volumes, places.log.as_deref(), load.files, tag)
    }

    fn layout(&self, load: InsertLoad, place: &RunPlace) -> DatabaseLayout {
        let log = (place.log.as_path(), self.options.sizes().log_bytes);
        let each = self.options.file_bytes(load.files);
        DatabaseLayout::even(&place.name, &place.data, each, log)
    }

    /// Measures the bounds of the volumes, once in each block for each layout of volumes.
    fn measure_ceilings(
        &self,
        place: &RunPlace,
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let are_measured = |run| ceilings::are_measured(run, context.history());
        if context.run().is_some_and(are_measured) {
            return Ok(());
        }
        let effort = Effort::for_runs_of(self.options.total_bytes);
        let volume = context.volume().clone();
        for bound in Bound::ALL {
            let paths = bound.files(place);
            for path in &paths {
                context.claim_file(path)?;
            }
            let probes = ceilings::measure(bound, volume.as_ref(), &paths, effort)?;
            for path in &paths {
                context.remove(Kind::File, path)?;
            }
            for probe in probes {
                context.ceiling(probe)?;
            }
        }
        Ok(())
    }

    fn run_load(
        &self,
        load: InsertLoad,
        context: &mut RunContext<'_>,
    ) -> Result<Worked, StepError> {
        let place = self.place.as_ref();
        let place = place.ok_or_else(|| StepError::Failed("no database is open".to_owned()))?;
        let how = Load {
            database: place.name.clone(),
            sessions: load.connections,
            end: self.options.pace.end(load.rows),
            rate: self.options.pace.rate,
            unit: "rows",
            looks_at_extents: false,
        };
        let rows_per_commit = load.rows_per_commit;
        let work = Inserts { rows_per_commit };
        load::run(self.target.as_ref(), &how, &work, context)
    }
}

impl Plugin for DataFiles {
    const NAME: &'static str = "datafiles";
    const QUESTION: &'static str =
        "Do multiple data files make a difference for an insert load? (16 sessions, 1 to 16 files)";
    type Options = Typed;

    fn new(typed: Typed, start: &Start) -> Result<DataFiles, OptionsError> {
        let options = Options::of(typed, start)?;
        DataFiles::on(options, &start.out_dir, Box::new(Embedded::new()))
    }
}

impl Experiment for DataFiles {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: DataFiles::NAME.to_string(),
            question: QUESTION.to_string(),
            target: self.target.name(),
            database: "a fresh one for each run".to_string(),
            workload: words::workload(&self.options),
            factor: words::factor(&self.options),
            response: self.options.pace.response("rows"),
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn settings(&self) -> BTreeMap<String, String> {
        self.options.settings()
    }

    fn volumes(&self) -> Vec<PathBuf> {
        let mut all = self.options.places.all(&self.out_dir);
        for (_, directories) in &self.options.volume_layouts {
            for directory in directories {
                if !all.contains(directory) {
                    all.push(directory.clone());
                }
            }
        }
        all
    }

    fn models(&self) -> Vec<String> {
        self.options.places.models()
    }

    fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        self.options.places.drives(real)
    }

    fn published(&self, results: &Results) -> Option<Published> {
        // The published figures are elapsed times of one number of sessions.
        let paced = self.options.pace != Pace::default();
        let varied = self.options.connections.len() > 1 || !self.options.volume_layouts.is_empty();
        (!paced && !varied).then(|| published::published(&self.options, results))
    }

    fn memory_bytes(&self) -> u64 {
        self.options.sizes().pool_bytes
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let load = self.options.load(cell);
        let place = self.run_place(cell, "HASH_START_rN_aN");
        let each = self.options.file_bytes(load.files) + self.target.extra_bytes_per_file();
        let mut peak_bytes = place.peak(each, self.options.sizes().log_bytes);
        let first = peak_bytes.first().map(|(volume, _)| volume.clone());
        peak_bytes.extend(first.map(|volume| (volume, self.target.instance_bytes())));
        let data_bytes = match load.layout {
            Layout::Sequential => self.options.total_bytes,
            // Random inserts write a page many times over.
            Layout::RandomKey => 3 * self.options.total_bytes,
        };
        let bytes_written = data_bytes + self.options.total_bytes;
        let create = self.layout(load, &place).create_statement();
        let mut steps: Vec<String> = create.lines().map(str::to_owned).collect();
        steps.push(format!(
            "insert {} rows by {} sessions, {} a commit",
            load.rows, load.connections, load.rows_per_commit
        ));
        steps.push("count the rows, close, remove every file".to_string());
        Forecast {
            seconds: ASSUMED_OVERHEAD_S
                + self.options.pace.forecast_s(
                    bytes_written as f64 / 1e6 / ASSUMED_MB_S,
                    load.rows as f64 / load.rows_per_commit.max(1) as f64,
                ),
            peak_bytes,
            shared_bytes: Vec::new(),
            bytes_written,
            steps,
        }
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let load = self.options.load(cell);
        let place = self.run_place(cell, &context.tag());
        place.make_directories(context)?;
        self.measure_ceilings(&place, context)?;
        let startup = Startup {
            directory: place.instance(),
            pool_bytes: self.options.sizes().pool_bytes,
            ..Startup::default()
        };
        let layout = self.layout(load, &place);
        place.start(self.target.as_mut(), &startup, &layout, context)?;
        let created = inserts::create_table(self.target.as_ref(), &place.name, load.layout);
        self.place = Some(place);
        created.map_err(failed)
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let worked = self.run_load(self.options.load(cell), context)?;
        let mut run = Run::default();
        figures::fill_inserts(&mut run, &worked, &self.volumes());
        self.options.pace.respond(&mut run, &worked);
        Ok(run)
    }

    fn verify(
        &mut self,
        _cell: &Cell,
        record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let wanted = record.rows.unwrap_or(0);
        let name = self.place.as_ref().map_or("", |place| &place.name);
        let found = inserts::count_rows(self.target.as_ref(), name).map_err(wrong)?;
        if found == wanted {
            return Ok(());
        }
        Err(StepError::Violation(format!(
            "the table holds {found} rows where {wanted} were inserted"
        )))
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        self.place = None;
        clear(self.target.as_mut(), context)
    }

    fn apply(&self, cell: &Cell) -> (String, String) {
        let files = self.options.load(cell).files;
        words::apply(files, self.options.file_bytes(files))
    }

    fn limits(&self) -> Vec<String> {
        words::limits(&self.options)
    }

    fn ceilings(&self, history: &History) -> Vec<Ceiling> {
        Bound::ALL
            .map(|bound| ceilings::ceiling(bound, history))
            .into()
    }

    fn ceiling_for(&self, category: &str, level: &str, history: &History) -> Option<Ceiling> {
        let bound = Bound::of_category(category)?;
        Some(ceilings::ceiling_at(bound, level, history))
    }
}
