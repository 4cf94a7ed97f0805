//! Runs a plan, unattended, and judges the results.
//!
//! # Purpose
//! Start an experiment before going home; find it finished, or stopped for a recorded reason, with nothing
//! left behind that it created.
//!
//! # Invariants
//! 1. Each state of a run is journalled before it begins; `metric` before the tear-down, so that figures
//!    are not lost when removing fails.
//! 2. A run is tried twice at most, then marked and passed over; one that found a wrong result of the engine
//!    ([`StepError::Violation`]) is tried once. Three runs that fail one after the other stop the experiment.
//!    A preparation that finds one ends the experiment, and so does a statement of the user's that fails
//!    ([`StepError::Statement`]) at a level without a good run.
//! 3. Leftovers of a run are removed before the next one begins; if that fails, the experiment stops:
//!    going on would fill the disk. The files of the first run, or preparation, that found a wrong result
//!    stay, as evidence.
//! 4. Before each run the space it needs is there, or the experiment stops. What all runs share is made by
//!    then: it counts before the first run alone.
//! 5. A journal that was deleted or replaced stops the experiment at the end of the run under way.
//! 6. After the deadline, or Ctrl-C, no run is begun. Ctrl-C interrupts the run under way, which counts only
//!    if it was already measured.
//!
//! # Algorithm
//! 1. [`Runner::create`]: check the plan, check space, begin the journal. Or [`Runner::resume`]: read it,
//!    mark the gap, end unfinished runs as interrupted, remove what they left.
//! 2. [`Runner::run`]: what all runs share is prepared; then for every run that is not settled: set-up,
//!    measure, collect, verify, tear-down; then what was shared is removed, also at a stop.
//! 3. [`Runner::results`] judges the runs so far ([`analyse`]).
//!
//! # What can fail
//! [`RunnerError`]. Failing runs are not errors; a journal that cannot be written is.

mod analysis;
mod attempt;
mod progress;

pub use crate::progress::{Phase, Progress};
pub use analysis::{Analysis, analyse};
pub use progress::TimeLeft;

use crate::experiment::{Experiment, RunContext, StepError, Watch};
use crate::guard::{GuardError, SpaceCheck, check_memory, check_space};
use crate::journal::{Clock, Event, FAILED_IN_A_ROW, JournalError, Log, Outcome};
use crate::plan::{Plan, PlanError, PlannedRun, parse_until};
use crate::results::Results;
use crate::search::{after_round, contenders};
use furrow_io::host::host;
use furrow_io::{IoErrorKind, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use thiserror::Error;

/// Why an experiment cannot begin or continue.
#[derive(Debug, Error)]
pub enum RunnerError {
    /// The plan makes no sense.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The guard refuses.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// The journal cannot be written, or is not valid.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal belongs to another experiment.
    #[error("the journal is of experiment '{found}', not of '{wanted}'")]
    OtherExperiment {
        /// In the journal.
        found: String,
        /// Requested.
        wanted: String,
    },
    /// What all runs share could not be created.
    #[error("the experiment could not be prepared: {0}")]
    Prepare(String),
    /// What all runs share was created and is wrong.
    #[error("a wrong result of the engine: what all runs share is not what was loaded: {0}")]
    Violation(String),
    /// A statement that the user gave fails.
    #[error("{level}: {text}; it fails in every run, so the experiment ends")]
    Statement {
        /// The level whose run it failed in.
        level: String,
        /// The statement's error.
        text: String,
    },
    /// What a run left behind cannot be removed.
    #[error("{thing} cannot be removed: {reason}")]
    Leftover {
        /// What.
        thing: String,
        /// Why.
        reason: String,
    },
}

/// Where and how an experiment is run.
#[derive(Debug, Clone)]
pub struct RunnerSetup {
    /// The file systems.
    pub volume: Arc<dyn Volume>,
    /// Where journal, results and report go.
    pub out_dir: PathBuf,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Set by Ctrl-C.
    pub cancel: Arc<AtomicBool>,
    /// Program and version, for the journal.
    pub program: String,
}

/// Which leftovers are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leftovers {
    /// Those of runs: what was prepared for all runs stays.
    OfRuns,
    /// All.
    All,
}

/// Why the runner stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Every run is settled.
    Finished,
    /// Ctrl-C.
    Cancelled,
    /// The deadline of the plan.
    Deadline,
    /// Too many failures in a row.
    Failures,
    /// Less space is left than the next run needs.
    Space,
    /// A volume is not the one it was at the beginning.
    Volume,
}

impl Stop {
    /// As text in the report.
    pub fn words(self) -> &'static str {
        match self {
            Stop::Finished => "all blocks done",
            Stop::Cancelled => "stopped by the operator",
            Stop::Deadline => "the deadline was reached",
            Stop::Failures => FAILED_IN_A_ROW,
            Stop::Space => "less space was left than the next run needs",
            Stop::Volume => "a volume was unmounted, removed or replaced",
        }
    }
}

/// An experiment under way.
pub struct Runner {
    setup: RunnerSetup,
    /// The file systems as runs see them: real, or behind models of drives.
    drives: Arc<dyn Volume>,
    log: Log,
    runs: Vec<PlannedRun>,
    time: TimeLeft,
    deadline_us: Option<i64>,
    live: Option<Watch>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner")
            .field("setup", &self.setup)
            .field("log", &self.log)
            .finish_non_exhaustive()
    }
}

impl Runner {
    /// Begins an experiment: checks plan and space, makes the directory and the journal.
    pub fn create(
        setup: RunnerSetup,
        plan: Plan,
        experiment: &dyn Experiment,
    ) -> Result<Runner, RunnerError> {
        plan.check()?;
        let runs = plan.runs();
        let checks = check_plan(setup.volume.as_ref(), &plan, experiment)?
            .iter()
            .map(ToString::to_string)
            .collect();
        setup
            .volume
            .create_dir(&setup.out_dir)
            .map_err(GuardError::from)?;
        let first = Event::Plan {
            hash: plan.hash(),
            plan: Box::new(plan),
            program: setup.program.clone(),
            checks,
        };
        let log = Log::create(&setup.volume, &setup.out_dir, setup.clock.clone(), first)
            .map_err(|error| in_use(error, &setup.out_dir))?;
        Runner::over(setup, log, runs, experiment)
    }

    /// Takes up the experiment whose journal lies in the output directory: ends what was unfinished,
    /// removes what it left, marks the gap.
    pub fn resume(
        setup: RunnerSetup,
        experiment: &mut dyn Experiment,
    ) -> Result<Runner, RunnerError> {
        let log = Log::open(&setup.volume, &setup.out_dir, setup.clock.clone())
            .map_err(|error| in_use(error, &setup.out_dir))?;
        let plan = &log.history().plan;
        let wanted = experiment.subject().name;
        if plan.name != wanted {
            return Err(RunnerError::OtherExperiment {
                found: plan.name.clone(),
                wanted,
            });
        }
        let runs = plan.runs();
        let mut runner = Runner::over(setup, log, runs, experiment)?;
        let last = runner.log.history().last_us;
        let gap_s = (runner.log.now_us() - last) as f64 / 1e6;
        let program = runner.setup.program.clone();
        runner.log.append(Event::Resumed { gap_s, program })?;
        runner.end_unfinished()?;
        runner.reopen_failures()?;
        runner.remove_leftovers(experiment, Leftovers::All)?;
        Ok(runner)
    }

    fn over(
        setup: RunnerSetup,
        log: Log,
        runs: Vec<PlannedRun>,
        experiment: &dyn Experiment,
    ) -> Result<Runner, RunnerError> {
        let drives = experiment.drives(&setup.volume);
        let drives = drives.map_err(|error| RunnerError::Prepare(error.to_string()))?;
        let time = TimeLeft::new(&runs, |run| experiment.forecast(&run.cell).seconds);
        let until = log.history().plan.until.as_deref().and_then(parse_until);
        let mut runner = Runner {
            setup,
            drives,
            log,
            runs,
            time,
            deadline_us: None,
            live: None,
        };
        if let Some(minutes) = until {
            runner.set_deadline(minutes);
        }
        Ok(runner)
    }

    /// Adds blocks, up to so many in all. Does nothing if the plan has as many already.
    pub fn extend(&mut self, blocks: u32, experiment: &dyn Experiment) -> Result<(), RunnerError> {
        if blocks <= self.log.history().plan.blocks {
            return Ok(());
        }
        let mut plan = self.log.history().plan.clone();
        plan.extend(blocks);
        plan.check()?;
        self.log.append(Event::Extended { blocks })?;
        self.runs = plan.runs();
        self.time = TimeLeft::new(&self.runs, |run| experiment.forecast(&run.cell).seconds);
        Ok(())
    }

    /// Begins no run after the next time the clock shows this many minutes past midnight, UTC.
    pub fn set_deadline(&mut self, minutes: u32) {
        const DAY_US: i64 = 86_400_000_000;
        let now = self.log.now_us();
        let today = now.div_euclid(DAY_US) * DAY_US + i64::from(minutes) * 60_000_000;
        self.deadline_us = Some(if today > now { today } else { today + DAY_US });
    }

    /// Passes the duration of a pilot run and its forecast to the time model.
    pub fn calibrate(&mut self, took_s: f64, forecast_s: f64) {
        self.time.calibrate(took_s, forecast_s);
    }

    /// Reports the progress of the load of the current run, about ten times a second.
    pub fn watch_live(&mut self, watch: Watch) {
        self.live = Some(watch);
    }

    /// The journal and the history so far.
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// Whether a resume would run anything: runs that failed for good, or found a wrong result, are not run
    /// again.
    pub fn has_open_run(&self) -> bool {
        self.log.history().has_open_run(&self.runs)
    }

    /// Goes through the plan until it is done, or has to stop.
    pub fn run(
        &mut self,
        experiment: &mut dyn Experiment,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Stop, RunnerError> {
        let went = match self.prepare(experiment)? {
            None => self.go_through(experiment, watch),
            Some(stop) => Ok(stop),
        };
        let disposed = self.dispose(experiment);
        let stop = went?;
        disposed?;
        if stop == Stop::Cancelled {
            let text = "the operator asked to stop".to_string();
            self.log.append(Event::Operator { text })?;
        }
        self.log.append(Event::Stopped {
            why: stop.words().to_string(),
        })?;
        self.log.trim()?;
        Ok(stop)
    }

    /// Has the experiment create what all runs share, unless every run is settled. Returns a stop if the
    /// operator requested one meanwhile.
    fn prepare(&mut self, experiment: &mut dyn Experiment) -> Result<Option<Stop>, RunnerError> {
        if !self.runs.iter().any(|run| self.log.history().is_open(run)) {
            return Ok(None);
        }
        // A name of its own for each time it is prepared.
        let attempt = self.log.history().preparations + 1;
        self.log.append(Event::Preparing { attempt })?;
        let prepared = experiment.prepare(&mut RunContext {
            volume: &self.drives,
            out_dir: &self.setup.out_dir,
            log: &mut self.log,
            run: None,
            attempt,
            cancel: &self.setup.cancel,
            watch: self.live.as_mut(),
        });
        match prepared {
            Ok(()) => Ok(None),
            Err(StepError::Cancelled) => Ok(Some(Stop::Cancelled)),
            Err(StepError::Guard(error)) => self.give_up(experiment, error.into()),
            Err(StepError::Violation(text)) => {
                let text = self.keep_evidence(None, text)?;
                self.give_up(experiment, RunnerError::Violation(text))
            }
            Err(error) => self.give_up(experiment, RunnerError::Prepare(error.to_string())),
        }
    }

    /// Clears what a preparation left that failed.
    fn give_up(
        &mut self,
        experiment: &mut dyn Experiment,
        error: RunnerError,
    ) -> Result<Option<Stop>, RunnerError> {
        // An error while clearing matters less than the error that made it necessary.
        let _ = self.dispose(experiment);
        Err(error)
    }

    /// Closes and removes what all runs share.
    fn dispose(&mut self, experiment: &mut dyn Experiment) -> Result<(), RunnerError> {
        let disposed = experiment.dispose();
        self.remove_leftovers(experiment, Leftovers::All)?;
        disposed.map_err(|error| RunnerError::Leftover {
            thing: "what all runs shared".to_string(),
            reason: error.to_string(),
        })
    }

    fn go_through(
        &mut self,
        experiment: &mut dyn Experiment,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Stop, RunnerError> {
        let mut failures = 0;
        for index in 0..self.runs.len() {
            let run = self.runs[index].clone();
            self.judge_round(&run, experiment)?;
            if !self.log.history().is_open(&run) {
                continue;
            }
            while self.log.history().is_open(&run) {
                if let Some(stop) = self.must_stop() {
                    return Ok(stop);
                }
                if !self.volumes_stand(&*experiment)? {
                    return Ok(Stop::Volume);
                }
                self.remove_leftovers(experiment, Leftovers::OfRuns)?;
                if !self.has_space(&*experiment, &run)? {
                    return Ok(Stop::Space);
                }
                let outcome = self.attempt(experiment, &run, watch)?;
                // What the run created is removed by now, also where the journal went with its directory.
                self.log.check_in_place(self.setup.volume.as_ref())?;
                if outcome == Outcome::Interrupted {
                    return Ok(Stop::Cancelled);
                }
            }
            let done = self
                .log
                .history()
                .runs
                .get(&run.id)
                .is_some_and(|r| r.record.is_some());
            failures = if done { 0 } else { failures + 1 };
            if failures >= self.log.history().plan.guard.failures_in_a_row {
                return Ok(Stop::Failures);
            }
        }
        Ok(Stop::Finished)
    }

    /// In a search, judges the round before the one that `next` is in, where that has not been done: all of
    /// its runs are settled.
    fn judge_round(
        &mut self,
        next: &PlannedRun,
        experiment: &dyn Experiment,
    ) -> Result<(), RunnerError> {
        let history = self.log.history();
        let before = next.block.saturating_sub(1);
        if !history.plan.search || history.search_over || before <= history.rounds_judged {
            return Ok(());
        }
        let verdict = after_round(history, &contenders(&history.plan, experiment));
        self.log.append(Event::RoundJudged {
            round: before,
            dropped: verdict.dropped,
            is_over: verdict.is_over,
        })?;
        Ok(())
    }

    fn must_stop(&self) -> Option<Stop> {
        if self.setup.cancel.load(Ordering::Relaxed) {
            return Some(Stop::Cancelled);
        }
        let late = self
            .deadline_us
            .is_some_and(|deadline| self.log.now_us() >= deadline);
        late.then_some(Stop::Deadline)
    }

    /// Whether the directories of the experiment lie on the devices on which they lay at the beginning. A run
    /// on another disk would be compared with runs on this one.
    fn volumes_stand(&mut self, experiment: &dyn Experiment) -> Result<bool, RunnerError> {
        let behind = |dir: &PathBuf| {
            let exists = self.setup.volume.exists(dir).unwrap_or(false);
            let found = experiment.volume_identity(dir).filter(|_| exists);
            let found = match (found, exists) {
                (Some(found), _) => found,
                (None, true) => "unknown".to_string(),
                (None, false) => "nothing".to_string(),
            };
            (dir.display().to_string(), found)
        };
        let now: Vec<(String, String)> = experiment.volumes().iter().map(behind).collect();
        let known = self.log.history().volumes.clone();
        if known.is_empty() {
            self.log.append(Event::Volumes { behind: now })?;
            return Ok(true);
        }
        let moved = known.iter().find_map(|(dir, before)| {
            let (_, after) = now.iter().find(|(other, _)| other == dir)?;
            (before != after).then(|| (dir.clone(), before.clone(), after.clone()))
        });
        let Some((dir, before, after)) = moved else {
            return Ok(true);
        };
        self.log.append(Event::Error {
            run: None,
            text: format!("{dir} lay on {before} and lies on {after} now"),
        })?;
        Ok(false)
    }

    /// Others may have filled the disk since the first check.
    fn has_space(
        &mut self,
        experiment: &dyn Experiment,
        run: &PlannedRun,
    ) -> Result<bool, RunnerError> {
        let peaks = crate::plan::peak_by_volume(&[experiment.forecast(&run.cell).once_prepared()]);
        let factor = self.log.history().plan.guard.space_factor;
        match check_space(self.setup.volume.as_ref(), &peaks, factor) {
            Ok(_) => Ok(true),
            Err(error @ GuardError::Space { .. }) => {
                self.log.append(Event::Error {
                    run: Some(run.id),
                    text: error.to_string(),
                })?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Judges the runs so far, after the end or after a stop.
    pub fn results(
        &self,
        experiment: &dyn Experiment,
        environment: crate::environment::Environment,
    ) -> Results {
        analyse(&Analysis {
            history: self.log.history(),
            experiment,
            environment,
            out_dir: &self.setup.out_dir,
        })
    }
}

/// Whether every device has the space that the largest run of a plan needs, and the machine the memory; what
/// was found of the space, or the refusal.
pub fn check_plan(
    volume: &dyn Volume,
    plan: &Plan,
    experiment: &dyn Experiment,
) -> Result<Vec<SpaceCheck>, GuardError> {
    let reasons = experiment.refusals();
    if !reasons.is_empty() {
        return Err(GuardError::Unable { reasons });
    }
    let cells = plan.cells();
    let forecasts: Vec<_> = cells.iter().map(|cell| experiment.forecast(cell)).collect();
    let peaks = crate::plan::peak_by_volume(&forecasts);
    let checks = check_space(volume, &peaks, plan.guard.space_factor)?;
    check_memory(experiment.memory_bytes(), host().memory_free_bytes)?;
    Ok(checks)
}

/// A journal that is locked means that another process works in the directory.
fn in_use(error: JournalError, dir: &Path) -> RunnerError {
    match error {
        JournalError::Io(io) if io.kind == IoErrorKind::InUse => GuardError::InUse {
            path: dir.to_path_buf(),
        }
        .into(),
        other => other.into(),
    }
}
