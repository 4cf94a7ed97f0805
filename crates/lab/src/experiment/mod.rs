//! The interface of an experiment: a question, factors, and the steps of one run.
//!
//! # Purpose
//! The runner does order, journal, guard and statistics; an experiment controls its engine. This trait is
//! between them, so that the same machinery drives the built-in engine, a server by its address, or a model
//! in a test.
//!
//! # Invariants an experiment keeps
//! 1. Everything it creates is claimed first ([`RunContext::claim`]) and has a unique name; the
//!    [`RunContext::tag`] helps.
//! 2. [`Experiment::measure`] fills `response` with a positive, finite number, and looks at
//!    [`RunContext::is_cancelled`] every now and then.
//! 3. [`Experiment::teardown`] works after any failed step before it, also after none at all.
//! 4. The fields that place a run (id, block, level, status, start) are the runner's; it fills them.
//!
//! # What can fail
//! A step returns [`StepError`]: cancelled, refused by the guard, a wrong result of the engine, or failed
//! with a sentence.

mod latency;

pub use latency::{histogram_of, latency_of, new_histogram};

use crate::design::{Cell, Factor};
use crate::guard::{self, GuardError, Removal};
use crate::journal::{CeilingProbe, Event, History, Kind, Log, Thing};
use crate::plan::{Forecast, Plan, PlannedRun, Reset};
use crate::results::{self, Ceiling, Published, Results, Run, Section};
use crate::terminal::Live;
use furrow_io::{IoError, Volume, copy_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Why a step of a run did not work.
#[derive(Debug, Error)]
pub enum StepError {
    /// The operator requested a stop.
    #[error("cancelled")]
    Cancelled,
    /// The guard or the journal refused the step.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The file system refused it.
    #[error(transparent)]
    Io(#[from] IoError),
    /// The engine lost a row, made one up, or gave a wrong answer. The run failed and is not tried again.
    #[error("{0}")]
    Violation(String),
    /// A setting or a script that the user gave has a statement that fails. Unless the same level had a good
    /// run before, it fails in every run: the experiment ends.
    #[error("{0}")]
    Statement(String),
    /// Anything else, in a sentence.
    #[error("{0}")]
    Failed(String),
}

/// Invalid options, in a sentence that explains what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct OptionsError(pub String);

/// Appended to the question of an experiment whose drives are modelled.
const MODEL_LABEL: &str = " (MODEL of drives, not a measurement)";

/// One experiment.
///
/// Methods without a default are those that every experiment needs: a question ([`Experiment::subject`]),
/// factors ([`Experiment::factors`]), a forecast of bytes and seconds ([`Experiment::forecast`]), and the
/// steps of a run. All others may be left out.
pub trait Experiment {
    /// Question, target, workload, factor and response as text.
    fn subject(&self) -> results::Experiment;

    /// The factors, in the order of the cells.
    fn factors(&self) -> Vec<Factor>;

    /// Settings that are the same in every run, name and value as printed. They are part of the plan: the
    /// content of a script belongs here, so that the hash covers it.
    fn settings(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What happens to the database between two runs.
    fn reset(&self) -> Reset {
        Reset::Fresh
    }

    /// The plan: question, factors, response, settings and reset of this experiment in the usual design. An
    /// experiment that needs another design changes what this gives.
    fn plan(&self, seed: u64) -> Plan {
        let subject = self.labelled_subject();
        let response = subject.response;
        Plan {
            response: crate::plan::Response {
                name: response.name,
                unit: response.unit,
                better: response.better,
            },
            reset: self.reset(),
            settings: self.settings(),
            ..Plan::new(&subject.name, &subject.question, self.factors(), seed)
        }
    }

    /// Models of drives that runs work on, one line each. Where there is one, the question, the charts and
    /// `results.json` state that the figures are those of a model.
    fn models(&self) -> Vec<String> {
        Vec::new()
    }

    /// The subject as it is printed: the question of an experiment on modelled drives states that.
    fn labelled_subject(&self) -> results::Experiment {
        let mut subject = self.subject();
        if !self.models().is_empty() {
            subject.question.push_str(MODEL_LABEL);
        }
        subject
    }

    /// The file systems through which runs make their files: `real`, or a model before some directories of
    /// it. The journal and the results never go through a model.
    fn drives(&self, real: &Arc<dyn Volume>) -> Result<Arc<dyn Volume>, StepError> {
        Ok(Arc::clone(real))
    }

    /// Directories that runs put files into: the report describes their volumes.
    fn volumes(&self) -> Vec<PathBuf>;

    /// What lies behind a directory of [`Experiment::volumes`]: its mount and device. Compared before each
    /// run; a change stops the experiment. `None` where the system does not report it.
    fn volume_identity(&self, directory: &Path) -> Option<String> {
        let mount = furrow_io::host::mount_of(directory)?;
        Some(format!("{} on {}", mount.source, mount.mount_point))
    }

    /// Why the plan cannot be carried out: features that the target lacks, files that are missing. Called
    /// once, before anything is created; one sentence is enough to refuse the plan.
    fn refusals(&self) -> Vec<String> {
        Vec::new()
    }

    /// What of the user's own text is part of the plan: an experiment in which it is changed is another one,
    /// and cannot be continued. `None` where there is no such text.
    fn fixed_text(&self) -> Option<&'static str> {
        None
    }

    /// What one run is expected to need.
    fn forecast(&self, cell: &Cell) -> Forecast;

    /// Memory that a run allocates at its beginning; 0 where that is not known.
    fn memory_bytes(&self) -> u64 {
        0
    }

    /// Creates what all runs share, once before the first of them: files that are restored before each run, a
    /// database that all runs read. What it claims stays until [`Experiment::dispose`]. After a stop and a
    /// resume it is created again.
    fn prepare(&mut self, _context: &mut RunContext<'_>) -> Result<(), StepError> {
        Ok(())
    }

    /// Makes what the run needs. Under [`Reset::Restore`] this is where [`RunContext::restore`] puts a copy
    /// of each prepared file in place.
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

    /// Checks that the load did what it reports: as many rows as requested.
    fn verify(
        &mut self,
        _cell: &Cell,
        _record: &Run,
        _context: &mut RunContext<'_>,
    ) -> Result<(), StepError> {
        Ok(())
    }

    /// Closes and removes what the run created. The runner removes the files and directories that are left
    /// after this.
    fn teardown(&mut self, cell: &Cell, context: &mut RunContext<'_>) -> Result<(), StepError>;

    /// Closes what [`Experiment::prepare`] opened, after the last run or before a stop. Its files are removed
    /// by the runner.
    fn dispose(&mut self) -> Result<(), StepError> {
        Ok(())
    }

    /// Removes a database of ours that an interrupted run left behind; no error when it is not there.
    fn remove_database(&mut self, name: &str) -> Result<(), StepError> {
        Err(StepError::Failed(format!(
            "this experiment makes no databases; {name} stays"
        )))
    }

    /// Whether a level may be the answer. One that does less than the baseline, such as a probe of a limit,
    /// is measured and shown, and never recommended however fast it is.
    fn may_win(&self, _cell: &Cell, _baseline: &Cell) -> bool {
        true
    }

    /// Text that sets a level, and text that undoes it.
    fn apply(&self, _cell: &Cell) -> (String, String) {
        (String::new(), String::new())
    }

    /// What this experiment does not show, one sentence each.
    fn limits(&self) -> Vec<String> {
        Vec::new()
    }

    /// Measured upper bounds, where there are any.
    fn ceilings(&self, _history: &History) -> Vec<Ceiling> {
        Vec::new()
    }

    /// The bound that a category of waits runs into, with the use that the runs of a level made of it: for
    /// log waits the rate of durable writes. With it a cause can be called attributed, without it only
    /// likely.
    fn ceiling_for(&self, _category: &str, _level: &str, _history: &History) -> Option<Ceiling> {
        None
    }

    /// The measured bounds of the runs of a level, with their use of each. A level that reaches one
    /// ([`Ceiling::is_reached`]) is slow because of it, whatever else ran on the machine. None where the
    /// bounds are not those of whole runs.
    fn limits_of(&self, _level: &str, _history: &History) -> Vec<Ceiling> {
        Vec::new()
    }

    /// The published result of the same question, compared with these results.
    fn published(&self, _results: &Results) -> Option<Published> {
        None
    }

    /// Sentences for the top of the report, about what its runs recorded: what has to be known before the
    /// figures are read.
    fn warnings(&self, _results: &Results) -> Vec<String> {
        Vec::new()
    }

    /// Sections of the report that this experiment alone has, derived from what its runs recorded in
    /// [`Run::extra`] and [`Run::figures`].
    fn sections(&self, _results: &Results) -> Vec<Section> {
        Vec::new()
    }
}

/// Called while a run goes on, about ten times a second.
pub type Watch = Box<dyn FnMut(&Live)>;

/// What a step may use. A step of a run has a run; [`Experiment::prepare`] has none.
pub struct RunContext<'a> {
    pub(crate) volume: &'a Arc<dyn Volume>,
    pub(crate) out_dir: &'a Path,
    pub(crate) log: &'a mut Log,
    pub(crate) run: Option<&'a PlannedRun>,
    pub(crate) attempt: u32,
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) watch: Option<&'a mut Watch>,
}

impl std::fmt::Debug for RunContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext")
            .field("out_dir", &self.out_dir)
            .field("run", &self.run)
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

impl<'a> RunContext<'a> {
    /// The file systems.
    pub fn volume(&self) -> &Arc<dyn Volume> {
        self.volume
    }

    /// Where the experiment leaves its files.
    pub fn out_dir(&self) -> &Path {
        self.out_dir
    }

    /// The run; `None` while the experiment is prepared.
    pub fn run(&self) -> Option<&PlannedRun> {
        self.run
    }

    /// The id of the run; 0 while the experiment is prepared.
    pub fn run_id(&self) -> u32 {
        self.run.map_or(0, |run| run.id)
    }

    /// What has happened so far, according to the journal.
    pub fn history(&self) -> &History {
        self.log.history()
    }

    /// A name that no other experiment, run or attempt has: `1f09ab34_19ac_r12_a1`, and
    /// `1f09ab34_19ac_p3` while the experiment is prepared.
    pub fn tag(&self) -> String {
        let history = self.log.history();
        // The same plan may run twice in the same second on two machines, but not in one directory.
        let start = history.started_us.unsigned_abs() / 1_000;
        let head = format!("{}_{start:x}", &history.hash[..8]);
        match self.run {
            Some(run) => format!("{head}_r{}_a{}", run.id, self.attempt),
            None => format!("{head}_p{}", self.attempt),
        }
    }

    /// Shows how far the load has come.
    pub fn live(&mut self, live: &Live) {
        if let Some(watch) = &mut self.watch {
            watch(live);
        }
    }

    /// Shows the part of a load that is done, where nothing else is known of it.
    pub fn live_share(&mut self, share: f64) {
        self.live(&Live {
            share: Some(share),
            rate: None,
            rate_unit: String::new(),
            free_bytes: None,
        });
    }

    /// Whether the operator requested a stop.
    pub fn is_cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// The flag itself, for the threads of a load.
    pub fn cancel_flag(&self) -> &'a AtomicBool {
        self.cancel
    }

    /// Announces a file that is about to be created.
    pub fn claim_file(&mut self, path: &Path) -> Result<(), StepError> {
        self.claim(Kind::File, path.display().to_string())
    }

    /// Announces a directory that is about to be created.
    pub fn claim_directory(&mut self, path: &Path) -> Result<(), StepError> {
        self.claim(Kind::Directory, path.display().to_string())
    }

    /// Announces a directory that is about to be created and whose whole content belongs to the experiment:
    /// the directory of an instance. It is removed with everything in it, so no other program may put
    /// anything there.
    pub fn claim_tree(&mut self, path: &Path) -> Result<(), StepError> {
        self.claim(Kind::Tree, path.display().to_string())
    }

    /// Announces a thing that is about to be created. Refused when it exists.
    pub fn claim(&mut self, kind: Kind, name: String) -> Result<(), StepError> {
        let thing = Thing { kind, name };
        let run = self.run.map(|run| run.id);
        Ok(guard::claim(self.log, self.volume.as_ref(), run, thing)?)
    }

    /// Puts a copy of a prepared file in the run's place: by sharing its blocks where the file system can,
    /// else byte by byte. The copy is claimed first.
    pub fn restore(&mut self, prepared: &Path, to: &Path) -> Result<(), StepError> {
        self.claim_file(to)?;
        copy_file(self.volume.as_ref(), prepared, to, &|| self.is_cancelled())?;
        match self.is_cancelled() {
            true => Err(StepError::Cancelled),
            false => Ok(()),
        }
    }

    /// Takes an announcement back: the thing could not be created because another owner has it.
    pub fn release(&mut self, kind: Kind, name: String) -> Result<(), StepError> {
        Ok(guard::release(self.log, Thing { kind, name })?)
    }

    /// Removes a file or an empty directory that the experiment created.
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

    /// Records that a database of the experiment has been dropped.
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
            run: self.run.map(|run| run.id),
            text: text.to_string(),
        })
    }

    /// A bound of the volumes as it was just measured.
    pub fn ceiling(&mut self, probe: CeilingProbe) -> Result<(), StepError> {
        let run = self.run_id();
        self.write(Event::Ceiling { run, probe })
    }

    /// Records that a change to the system was put back.
    pub fn reverted(&mut self, what: &str, verified: bool) -> Result<(), StepError> {
        self.write(Event::Revert {
            what: what.to_string(),
            verified,
        })
    }

    /// What this run, or the preparation, created and has not yet removed, newest first.
    pub fn owned(&self) -> Vec<Thing> {
        let run = self.run.map(|run| run.id);
        let of_run = |entry: &&(Option<u32>, Thing)| entry.0 == run;
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
