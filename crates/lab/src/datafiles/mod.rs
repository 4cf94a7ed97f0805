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
//!    and its table through a [`Target`]. Before the first run of each block the bounds of the volumes
//!    are measured without an engine and written into the journal.
//! 2. *Measure*: sessions in threads of their own; ten looks a second at what is done.
//! 3. *Verify*: rows counted. *Tear-down*: closed; what was made is removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's own words; options that make no sense ([`OptionsError`]).

mod ceilings;
mod embedded;
pub(crate) mod figures;
pub(crate) mod load;
#[cfg(test)]
mod model;
mod options;
mod published;
mod target;
mod words;

pub use embedded::Embedded;
pub use options::{Layout, Options, OptionsError, Sizes, parse_size, size_text};
pub use published::compare_with_published;
pub(crate) use target::place_files;
pub use target::{Connection, Counters, DatabaseShape, Pulse, Target};

use crate::design::{Cell, Factor};
use crate::experiment::{Experiment, RunContext, StepError};
use crate::journal::{History, Kind};
use crate::plan::{Forecast, Plan};
use crate::results::{self, Better, Ceiling, Published, Run};
use crate::terminal::Live;
use ceilings::{Bound, Effort};
use furrow_io::{host, process};
use load::{LoadError, Look, Worked};
use options::Load;
use std::path::{Path, PathBuf};

/// The name on the command line.
pub const NAME: &str = "datafiles";
const QUESTION: &str = "Do multiple data files make a difference for this insert load?";
/// Megabytes a second that a run is thought to write before one has been seen.
const ASSUMED_MB_S: f64 = 160.0;
/// Seconds of set-up and tear-down that are thought to go with each run.
const ASSUMED_OVERHEAD_S: f64 = 0.4;

/// What is called while a run goes on, ten times a second.
pub type Watch = Box<dyn FnMut(&Live)>;

/// The experiment.
pub struct DataFiles {
    options: Options,
    out_dir: PathBuf,
    target: Box<dyn Target>,
    watch: Option<Watch>,
    shape: Option<DatabaseShape>,
    ceilings: Vec<(Bound, Ceiling)>,
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
    pub fn new(
        options: Options,
        out_dir: &Path,
        target: Box<dyn Target>,
    ) -> Result<DataFiles, OptionsError> {
        options.check()?;
        Ok(DataFiles {
            options,
            out_dir: out_dir.to_path_buf(),
            target,
            watch: None,
            shape: None,
            ceilings: Vec::new(),
        })
    }

    /// Tells how far a run has come.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// The plan of the usual design for these options.
    pub fn plan(&self, seed: u64) -> Plan {
        let mut plan = Plan::new(NAME, QUESTION, self.options.factors(), seed);
        plan.settings = self.options.settings();
        plan
    }

    /// Directories that runs put files into.
    pub fn volumes(&self) -> Vec<PathBuf> {
        if self.options.volumes.is_empty() {
            vec![self.out_dir.clone()]
        } else {
            self.options.volumes.clone()
        }
    }

    /// Reads from a journal what the report needs beside the runs: call it before the results are made.
    pub fn take_in(&mut self, history: &History) {
        let ceiling = |bound| (bound, ceilings::ceiling(bound, history));
        self.ceilings = Bound::ALL.map(ceiling).into();
    }

    /// Where the files of a run lie: its own directory on each volume in use.
    fn shape(&self, load: Load, tag: &str) -> (Vec<PathBuf>, DatabaseShape) {
        let name = format!("lab_{tag}");
        let volumes = self.volumes();
        // More volumes than files: the rest stays empty.
        let used = volumes.len().min(load.files as usize).max(1);
        let directories: Vec<PathBuf> = volumes[..used].iter().map(|v| v.join(&name)).collect();
        let (data, log) = place_files(&directories, load.files);
        let sizes = self.options.sizes();
        let shape = DatabaseShape {
            name,
            data: data.into_iter().map(|(_, path)| path).collect(),
            file_bytes: self.options.file_bytes(load.files),
            log: log.1,
            log_bytes: sizes.log_bytes,
            pool_bytes: sizes.pool_bytes,
            layout: load.layout,
        };
        (directories, shape)
    }

    /// Measures the bounds of the volumes before the first run of each block.
    fn measure_ceilings(
        &self,
        directories: &[PathBuf],
        context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let run = context.run();
        let known = &context.log.history().ceilings;
        let measured = known.iter().any(|(before, _)| *before == run.id);
        if measured || (run.position > 1 && !known.is_empty()) {
            return Ok(());
        }
        let effort = Effort::for_runs_of(self.options.total_bytes);
        let volume = context.volume().clone();
        for bound in Bound::ALL {
            let paths = bound.files(directories);
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

    fn run_load(&mut self, load: Load, context: &RunContext<'_>) -> Result<Worked, StepError> {
        let watch = &mut self.watch;
        let mut before: Option<Look> = None;
        let mut tell = |look: &Look| {
            let Some(watch) = watch else { return };
            let rate = before.as_ref().map(|b| {
                (look.rows.saturating_sub(b.rows)) as f64 / (look.at_s - b.at_s).max(1e-3)
            });
            watch(&Live {
                share: Some(look.rows as f64 / load.rows.max(1) as f64),
                rate,
                rate_unit: "rows/s".to_string(),
                free_bytes: None,
            });
            // The rate is that of the last second or so.
            if before.as_ref().is_none_or(|b| look.at_s - b.at_s >= 1.0) {
                before = Some(look.clone());
            }
        };
        let connections = self.options.connections;
        load::run(
            self.target.as_ref(),
            load,
            connections,
            context.cancel_flag(),
            &mut tell,
        )
        .map_err(|error| match error {
            LoadError::Cancelled => StepError::Cancelled,
            LoadError::Failed(text) => StepError::Failed(text),
        })
    }
}

impl Experiment for DataFiles {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: NAME.to_string(),
            question: QUESTION.to_string(),
            target: self.target.name(),
            database: "a fresh one for each run".to_string(),
            workload: words::workload(&self.options),
            factor: words::factor(&self.options),
            response: results::Response {
                name: "elapsed time".to_string(),
                unit: "s".to_string(),
                better: Better::Lower,
            },
        }
    }

    fn factors(&self) -> Vec<Factor> {
        self.options.factors()
    }

    fn published(&self) -> Option<Published> {
        published::published(&self.options)
    }

    fn memory_bytes(&self) -> u64 {
        self.options.sizes().pool_bytes
    }

    fn forecast(&self, cell: &Cell) -> Forecast {
        let load = self.options.load(cell);
        let sizes = self.options.sizes();
        let volumes = self.volumes();
        let each = self.options.file_bytes(load.files) + self.target.extra_bytes_per_file();
        let (data, log) = place_files(&volumes, load.files);
        let mut peak_bytes: Vec<(PathBuf, u64)> =
            data.into_iter().map(|(volume, _)| (volume, each)).collect();
        peak_bytes.push((log.0, sizes.log_bytes));
        let data_bytes = match load.layout {
            Layout::Sequential => self.options.total_bytes,
            // Random inserts write a page many times over.
            Layout::RandomKey => 3 * self.options.total_bytes,
        };
        let bytes_written = data_bytes + self.options.total_bytes;
        let (_, shape) = self.shape(load, "HASH_START_rN_aN");
        let file = |path: &PathBuf| format!("  file {}", path.display());
        let mut steps = vec![format!("CREATE DATABASE {}", shape.name)];
        steps.extend(shape.data.iter().chain([&shape.log]).map(file));
        steps.push(format!(
            "insert {} rows by {} sessions, {} a commit",
            load.rows, self.options.connections, load.rows_per_commit
        ));
        steps.push("count the rows, close, remove every file".to_string());
        Forecast {
            seconds: ASSUMED_OVERHEAD_S + bytes_written as f64 / 1e6 / ASSUMED_MB_S,
            peak_bytes,
            bytes_written,
            steps,
        }
    }

    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let load = self.options.load(cell);
        let (directories, shape) = self.shape(load, &context.tag());
        let volume = context.volume().clone();
        for directory in &directories {
            context.claim_directory(directory)?;
            volume.create_dir(directory)?;
        }
        self.measure_ceilings(&directories, context)?;
        for path in self.target.paths(&shape) {
            context.claim_file(&path)?;
        }
        // Kept before it is made: a creation that fails half way is torn down like any other.
        self.shape = Some(shape.clone());
        self.target
            .create(&volume, &shape)
            .map_err(StepError::Failed)
    }

    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let load = self.options.load(cell);
        let (cpu, ticks) = (process::cpu_times(), host::cpu_ticks());
        let worked = self.run_load(load, context)?;
        let cpu_s = (process::cpu_times().total_ns.saturating_sub(cpu.total_ns)) as f64 / 1e9;
        let busy = ticks
            .zip(host::cpu_ticks())
            .and_then(|(a, b)| b.busy_percent_since(a));
        let mut run = Run {
            workers: self.options.connections,
            cpu_s: Some(cpu_s),
            ..Run::default()
        };
        let cpus = furrow_io::thread::available_cpus() as f64;
        run.cpu_other_s =
            busy.map(|percent| (percent / 100.0 * cpus * worked.seconds - cpu_s).max(0.0));
        let log = self
            .shape
            .as_ref()
            .map(|shape| shape.log.clone())
            .unwrap_or_default();
        figures::fill(&mut run, &worked, &log, &self.volumes());
        Ok(run)
    }

    fn verify(
        &mut self,
        cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let wanted = self.options.load(cell).rows;
        let found = self.target.count_rows().map_err(StepError::Failed)?;
        if found == wanted {
            return Ok(());
        }
        Err(StepError::Failed(format!(
            "the table holds {found} rows where {wanted} were inserted"
        )))
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let closed = self.target.close();
        self.shape = None;
        for thing in context.owned() {
            context.remove(thing.kind, Path::new(&thing.name))?;
        }
        closed.map_err(StepError::Failed)
    }

    fn apply(&self, cell: &Cell) -> (String, String) {
        let files = self.options.load(cell).files;
        words::apply(files, self.options.file_bytes(files))
    }

    fn limits(&self) -> Vec<String> {
        words::limits(&self.options)
    }

    fn ceilings(&self) -> Vec<Ceiling> {
        self.ceilings
            .iter()
            .map(|(_, ceiling)| ceiling.clone())
            .collect()
    }

    fn ceiling_for(&self, category: &str) -> Option<Ceiling> {
        let wanted = Bound::of_category(category)?;
        self.ceilings
            .iter()
            .find(|(bound, _)| *bound == wanted)
            .map(|(_, ceiling)| ceiling.clone())
    }

    fn command(&self, plan: &Plan) -> String {
        words::command(&self.options, plan)
    }
}
