//! What an experiment must bring: a question, factors, and how one run goes.
//!
//! # Purpose
//! The runner knows order, journal, guard and statistics; an experiment knows its engine. Between them
//! stands this trait, so that the same machine drives the built-in engine, a server by its address, or
//! a model in a test.
//!
//! # Invariants an experiment keeps
//! 1. Whatever it makes is claimed first ([`RunContext::claim`]) and has a name nobody else uses; the
//!    [`RunContext::tag`] helps.
//! 2. [`Experiment::measure`] fills `response` with a positive, finite number, and looks at
//!    [`RunContext::is_cancelled`] every now and then.
//! 3. [`Experiment::teardown`] works after any failed step before it, also after none at all.
//! 4. The fields that place a run (id, block, level, status, start) are the runner's; it fills them.
//!
//! # What can fail
//! A step returns [`StepError`]: cancelled, refused by the guard, or failed with a sentence.

mod latency;

pub use latency::{histogram_of, latency_of, new_histogram};

use crate::design::{Cell, Factor};
use crate::guard::{self, GuardError, Removal};
use crate::journal::{CeilingProbe, Event, Kind, Log, Thing};
use crate::plan::{Forecast, Plan, PlannedRun};
use crate::results::{Ceiling, Published, Run};
use furrow_io::{IoError, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Why a step of a run did not work.
#[derive(Debug, Error)]
pub enum StepError {
    /// The operator asked to stop.
    #[error("cancelled")]
    Cancelled,
    /// The guard or the journal said no.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The file system said no.
    #[error(transparent)]
    Io(#[from] IoError),
    /// Anything else, in a sentence.
    #[error("{0}")]
    Failed(String),
}

/// One experiment.
pub trait Experiment {
    /// Question, target, workload, factor and response in words.
    fn subject(&self) -> crate::results::Experiment;

    /// What is varied, in the order of the cells.
    fn factors(&self) -> Vec<Factor>;

    /// The published result of the same question.
    fn published(&self) -> Option<Published> {
        None
    }

    /// What one run is expected to need.
    fn forecast(&self, cell: &Cell) -> Forecast;

    /// Memory that a run asks for at its beginning; 0 where that is not known.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Makes what the run needs.
    fn setup(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError>;

    /// Runs the load and gives the figures.
    fn measure(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<Run, StepError>;

    /// Reads figures that are better read after the load.
    fn collect(
        &mut self,
        _cell: &Cell,
        _record: &mut Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        Ok(())
    }

    /// Checks that the load did what it says: as many rows as asked for.
    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        Ok(())
    }

    /// Closes and removes what the run made. What is left of its files and directories after this is
    /// removed by the runner.
    fn teardown(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError>;

    /// Removes a database of ours that an interrupted run left behind; no error when it is not there.
    fn remove_database(&mut self, name: &str) -> Result<(), StepError> {
        Err(StepError::Failed(format!(
            "this experiment makes no databases; {name} stays"
        )))
    }

    /// Text that sets a level, and text that undoes it.
    fn apply(&self, _cell: &Cell) -> (String, String) {
        (String::new(), String::new())
    }

    /// What this experiment does not tell, one sentence each.
    fn limits(&self) -> Vec<String> {
        Vec::new()
    }

    /// Measured upper bounds, where there are any.
    fn ceilings(&self) -> Vec<Ceiling> {
        Vec::new()
    }

    /// The bound that a category of waits runs into: for log waits the rate of durable writes. With it
    /// a cause can be called attributed, without it only likely.
    fn ceiling_for(&self, _category: &str) -> Option<Ceiling> {
        None
    }

    /// The command that runs `plan`.
    fn command(&self, plan: &Plan) -> String {
        format!(
            "furrow lab run {} --blocks {} --seed {}",
            plan.name, plan.blocks, plan.seed
        )
    }
}

/// What a step of a run may use.
#[derive(Debug)]
pub struct RunContext<'a> {
    pub(crate) volume: &'a Arc<dyn Volume>,
    pub(crate) out_dir: &'a Path,
    pub(crate) log: &'a mut Log,
    pub(crate) run: &'a PlannedRun,
    pub(crate) attempt: u32,
    pub(crate) cancel: &'a AtomicBool,
}

impl RunContext<'_> {
    /// The file systems.
    pub fn volume(&self) -> &Arc<dyn Volume> {
        self.volume
    }

    /// Where the experiment leaves its files.
    pub fn out_dir(&self) -> &Path {
        self.out_dir
    }

    /// The run.
    pub fn run(&self) -> &PlannedRun {
        self.run
    }

    /// A name that no other experiment, run or attempt has: `1f09ab34_r12_a1`.
    pub fn tag(&self) -> String {
        let history = self.log.history();
        // The same plan may run twice in the same second on two machines, but not in one directory.
        let start = history.started_us.unsigned_abs() / 1_000;
        format!(
            "{}_{start:x}_r{}_a{}",
            &history.hash[..8],
            self.run.id,
            self.attempt
        )
    }

    /// Whether the operator asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The flag itself, for the threads of a load.
    pub fn cancel_flag(&self) -> &AtomicBool {
        self.cancel
    }

    /// Announces a file that is about to be made.
    pub fn claim_file(&mut self, path: &Path) -> Result<(), StepError> {
        self.claim(Kind::File, path.display().to_string())
    }

    /// Announces a directory that is about to be made.
    pub fn claim_directory(&mut self, path: &Path) -> Result<(), StepError> {
        self.claim(Kind::Directory, path.display().to_string())
    }

    /// Announces something that is about to be made. Refused when it is there.
    pub fn claim(&mut self, kind: Kind, name: String) -> Result<(), StepError> {
        let thing = Thing { kind, name };
        Ok(guard::claim(
            self.log,
            self.volume.as_ref(),
            Some(self.run.id),
            thing,
        )?)
    }

    /// Takes an announcement back: making it failed because it is somebody else's.
    pub fn release(&mut self, kind: Kind, name: String) -> Result<(), StepError> {
        Ok(guard::release(self.log, Thing { kind, name })?)
    }

    /// Removes a file or an empty directory of ours.
    pub fn remove(&mut self, kind: Kind, path: &Path) -> Result<Removal, StepError> {
        let thing = Thing {
            kind,
            name: path.display().to_string(),
        };
        Ok(guard::remove_file_or_directory(
            self.log,
            self.volume.as_ref(),
            &thing,
        )?)
    }

    /// Says that a database of ours has been dropped.
    pub fn database_removed(&mut self, name: &str) -> Result<(), StepError> {
        let thing = Thing {
            kind: Kind::Database,
            name: name.to_string(),
        };
        self.write(Event::Removed { thing })
    }

    /// A sentence for the report.
    pub fn note(&mut self, text: &str) -> Result<(), StepError> {
        self.write(Event::Note {
            run: Some(self.run.id),
            text: text.to_string(),
        })
    }

    /// A bound of the volumes as it was just measured.
    pub fn ceiling(&mut self, probe: CeilingProbe) -> Result<(), StepError> {
        let run = self.run.id;
        self.write(Event::Ceiling { run, probe })
    }

    /// Says that a change to the system was put back.
    pub fn reverted(&mut self, what: &str, verified: bool) -> Result<(), StepError> {
        self.write(Event::Revert {
            what: what.to_string(),
            verified,
        })
    }

    /// What this run made and has not yet removed, newest first.
    pub fn owned(&self) -> Vec<Thing> {
        let of_run = |entry: &&(Option<u32>, Thing)| entry.0 == Some(self.run.id);
        let history = self.log.history();
        history
            .owned
            .iter()
            .filter(of_run)
            .map(|entry| entry.1.clone())
            .rev()
            .collect()
    }

    /// Paths of [`RunContext::owned`].
    pub fn owned_paths(&self) -> Vec<PathBuf> {
        let on_disk = |thing: &Thing| thing.kind != Kind::Database;
        self.owned()
            .into_iter()
            .filter(on_disk)
            .map(|thing| thing.name.into())
            .collect()
    }

    fn write(&mut self, event: Event) -> Result<(), StepError> {
        Ok(self.log.append(event).map_err(GuardError::from)?)
    }
}
