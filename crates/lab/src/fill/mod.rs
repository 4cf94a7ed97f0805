//! The experiment "how does proportional fill deal extents to files, and what does it cost?"
//!
//! # Purpose
//! One insert load, one number of files, four ways in which the files can stand when it begins: all of one
//! size; each twice the size of the one before; of one size with 64 extents in a turn (`-E`); all full but
//! one that was added empty. What is told is where the extents went, the skip targets at each recalculation,
//! the collisions on the spinlock that guards them, and whether the load took longer.
//!
//! # Invariants
//! 1. Every run has a fresh database; all have the same log, pool, rows, sessions and number of files, and
//!    room for the load. No file grows.
//! 2. What is told of the fill comes from the engine: free extents by its own maps, targets by the lines of
//!    its trace flag 1165.
//! 3. As in the experiment on data files, whose load this uses: the response is the time from the start of
//!    the first session to the end of the last, and a run counts only when the table holds its rows.
//!
//! # How a run goes
//! 1. *Set-up*: the files of the scenario; with "one added" the others are filled up by inserts, then the
//!    file is added.
//! 2. *Measure*: sessions insert rows of a page each; ten looks a second at the free extents of each file.
//! 3. *Verify*: rows counted. *Tear-down*: closed; what was made is removed.
//!
//! # What can fail
//! A [`StepError`] with the engine's own words; options that make no sense ([`OptionsError`]).

mod history;
mod options;
mod scenario;
mod target;

pub use options::Options;
pub use scenario::Scenario;

use crate::datafiles::{DatabaseShape, Layout, OptionsError, Target, Watch};
use crate::datafiles::{figures, load, place_files};
use crate::design::{Cell, Factor};
use crate::experiment::{Experiment, RunContext, StepError};
use crate::plan::{Forecast, Plan};
use crate::results::{self, Better, Run};
use crate::terminal::Live;
use history::Free;
use load::{LoadError, Look, Worked};
use std::path::{Path, PathBuf};
use target::FillTarget;

/// The name on the command line.
pub const NAME: &str = "proportional-fill";
const QUESTION: &str =
    "How does proportional fill deal extents to files, and does it cost the load anything?";
/// Megabytes a second that a run is thought to write before one has been seen.
const ASSUMED_MB_S: f64 = 160.0;
/// Seconds of set-up and tear-down that are thought to go with each run.
const ASSUMED_OVERHEAD_S: f64 = 0.6;

/// The experiment.
pub struct ProportionalFill {
    options: Options,
    out_dir: PathBuf,
    watch: Option<Watch>,
    run: Option<(FillTarget, DatabaseShape)>,
}

impl std::fmt::Debug for ProportionalFill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProportionalFill")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl ProportionalFill {
    /// The experiment with these options; files go below `out_dir` unless volumes are named.
    pub fn new(options: Options, out_dir: &Path) -> Result<ProportionalFill, OptionsError> {
        options.check()?;
        Ok(ProportionalFill {
            options,
            out_dir: out_dir.to_path_buf(),
            watch: None,
            run: None,
        })
    }

    /// Tells how far a run has come.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = Some(watch);
    }

    /// The plan of the usual design for these options.
    pub fn plan(&self, seed: u64) -> Plan {
        let mut plan = Plan::new(NAME, QUESTION, self.factors(), seed);
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

    fn scenario(cell: &Cell) -> Scenario {
        let level = cell.level("scenario");
        level
            .and_then(|level| Scenario::parse(&level.key))
            .unwrap_or(Scenario::Equal)
    }

    fn load(&self) -> load::Load {
        load::Load {
            files: self.options.files,
            rows: Layout::Sequential.rows(self.options.total_bytes),
            rows_per_commit: self.options.rows_per_commit,
            layout: Layout::Sequential,
        }
    }

    /// Where the files of a run lie: its own directory on each volume in use.
    fn shape(&self, tag: &str) -> (Vec<PathBuf>, DatabaseShape) {
        let name = format!("lab_{tag}");
        let volumes = self.volumes();
        let used = volumes.len().min(self.options.files as usize).max(1);
        let directories: Vec<PathBuf> = volumes[..used].iter().map(|v| v.join(&name)).collect();
        let (data, log) = place_files(&directories, self.options.files);
        let shape = DatabaseShape {
            name,
            data: data.into_iter().map(|(_, path)| path).collect(),
            file_bytes: 0,
            log: log.1,
            log_bytes: self.options.log_bytes(),
            pool_bytes: self.options.pool_bytes(),
            layout: Layout::Sequential,
        };
        (directories, shape)
    }

    fn run_load(&mut self, context: &RunContext<'_>) -> Result<Worked, StepError> {
        let load = self.load();
        let watch = &mut self.watch;
        let Some((target, _)) = &self.run else {
            return Err(StepError::Failed("no database is open".to_string()));
        };
        let mut tell = |look: &Look| {
            if let Some(watch) = watch {
                watch(&Live {
                    share: Some(look.rows as f64 / load.rows.max(1) as f64),
                    rate: Some(look.rows as f64 / look.at_s.max(1e-3)),
                    rate_unit: "rows/s".to_string(),
                    free_bytes: None,
                });
            }
        };
        let connections = self.options.connections;
        load::run(target, load, connections, context.cancel_flag(), &mut tell).map_err(|error| {
            match error {
                LoadError::Cancelled => StepError::Cancelled,
                LoadError::Failed(text) => StepError::Failed(text),
            }
        })
    }
}

impl Experiment for ProportionalFill {
    fn subject(&self) -> results::Experiment {
        results::Experiment {
            name: NAME.to_string(),
            question: QUESTION.to_string(),
            target: "embedded".to_string(),
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
        let sizes = scenario.sizes(self.options.files, self.options.room_bytes());
        let (data, log) = place_files(&self.volumes(), self.options.files);
        let extra = FillTarget::new(scenario, Vec::new()).extra_bytes_per_file();
        let mut peak_bytes: Vec<(PathBuf, u64)> = data
            .into_iter()
            .zip(&sizes)
            .map(|((volume, _), size)| (volume, size + extra))
            .collect();
        peak_bytes.push((log.0, self.options.log_bytes()));
        let bytes_written = 2 * self.options.total_bytes;
        let (_, shape) = self.shape("HASH_START_rN_aN");
        let file = |(path, bytes): (&PathBuf, &u64)| {
            format!("  file {}, {} MB", path.display(), bytes >> 20)
        };
        let mut steps = vec![format!("CREATE DATABASE {}", shape.name)];
        steps.extend(shape.data.iter().zip(&sizes).map(file));
        if scenario == Scenario::Added {
            steps.push("fill all files but the last up, then add that one".to_string());
        }
        let load = self.load();
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
        let scenario = ProportionalFill::scenario(cell);
        let (directories, shape) = self.shape(&context.tag());
        let volume = context.volume().clone();
        for directory in &directories {
            context.claim_directory(directory)?;
            volume.create_dir(directory)?;
        }
        let sizes = scenario.sizes(self.options.files, self.options.room_bytes());
        let target = FillTarget::new(scenario, sizes);
        for path in target.paths(&shape) {
            context.claim_file(&path)?;
        }
        // Kept before it is made: a creation that fails half way is torn down like any other.
        let (target, shape) = self.run.insert((target, shape));
        target.create(&volume, shape).map_err(StepError::Failed)
    }

    fn measure(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError> {
        let worked = self.run_load(context)?;
        let mut run = Run {
            workers: self.options.connections,
            ..Run::default()
        };
        let volumes = self.volumes();
        if let Some((target, shape)) = &self.run {
            figures::fill(&mut run, &worked, &shape.log, &volumes);
            let looks: Vec<&Free> = worked
                .looks
                .iter()
                .map(|look| &look.pulse.free_extents)
                .collect();
            run.fill = Some(history::history(&looks, &target.lines().printed()));
        }
        Ok(run)
    }

    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        let wanted = self.load().rows;
        let found = match &self.run {
            Some((target, _)) => target.count_rows().map_err(StepError::Failed)?,
            None => 0,
        };
        if found == wanted {
            return Ok(());
        }
        let text = format!("the table holds {found} rows where {wanted} were inserted");
        Err(StepError::Failed(text))
    }

    fn teardown(&mut self, _cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError> {
        let closed = match self.run.take() {
            Some((mut target, _)) => target.close(),
            None => Ok(()),
        };
        for thing in context.owned() {
            context.remove(thing.kind, Path::new(&thing.name))?;
        }
        closed.map_err(StepError::Failed)
    }

    fn limits(&self) -> Vec<String> {
        self.options.limits()
    }

    fn command(&self, plan: &Plan) -> String {
        self.options.command(plan)
    }
}
