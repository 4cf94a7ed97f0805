//! One attempt at one run, and the clearing away after it.

use super::{Leftovers, Phase, Progress, Runner, RunnerError};
use crate::experiment::{Experiment, RunContext, StepError};
use crate::guard::{GuardError, Removal, remove_file_or_directory};
use crate::journal::{Event, FAILED_IN_A_ROW, JournalError, Kind, Outcome, State, Thing};
use crate::plan::{PlannedRun, Reset};
use crate::results::Run;
use furrow_io::time::WallTime;

impl Runner {
    /// Tries a run once; the journal then records how it ended.
    pub(super) fn attempt(
        &mut self,
        experiment: &mut dyn Experiment,
        run: &PlannedRun,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Outcome, RunnerError> {
        let attempt = self
            .log
            .history()
            .runs
            .get(&run.id)
            .map_or(0, |r| r.attempts)
            + 1;
        let begun_us = self.log.now_us();
        self.log.append(Event::RunStart {
            run: run.id,
            attempt,
        })?;
        watch(&self.progress(run, Phase::Begin, None));
        let measured = self.measure(experiment, run, attempt, watch);
        let statement = match &measured {
            Err(StepError::Statement(text)) if !self.has_good_run(run) => Some(text.clone()),
            _ => None,
        };
        let measured = match measured {
            Ok(record) => self.write_metric(run, attempt, begun_us, record)?,
            Err(StepError::Violation(text)) => Err(Some(self.keep_evidence(Some(run.id), text)?)),
            Err(error) => Err(reason_of(error)?),
        };
        let cleared = self.clear(experiment, run, attempt)?;
        let (outcome, reason) = match (measured, cleared) {
            (Err(None), _) => (
                Outcome::Interrupted,
                "stopped by the operator while it ran".to_string(),
            ),
            (Err(Some(reason)), _) => (Outcome::Failed, reason),
            (Ok(()), Ok(())) => (Outcome::Done, String::new()),
            // The figures were taken before; they count.
            (Ok(()), Err(text)) => {
                self.log.append(Event::Error {
                    run: Some(run.id),
                    text,
                })?;
                (Outcome::Done, String::new())
            }
        };
        self.log.append(Event::RunEnd {
            run: run.id,
            attempt,
            outcome,
            reason: reason.clone(),
        })?;
        let took_s = (self.log.now_us() - begun_us) as f64 / 1e6;
        if outcome == Outcome::Done {
            self.time.finished(run, took_s);
        }
        let failed = (outcome != Outcome::Done).then_some(reason);
        watch(&self.progress(run, Phase::End { took_s, failed }, self.rate_of(run)));
        match statement {
            Some(text) => {
                let level = run.cell.key(&self.log.history().plan.factors);
                Err(RunnerError::Statement { level, text })
            }
            None => Ok(outcome),
        }
    }

    /// Whether the level of this run had a good run before.
    fn has_good_run(&self, run: &PlannedRun) -> bool {
        let history = self.log.history();
        let same = self
            .runs
            .iter()
            .filter(|other| other.cell.index == run.cell.index);
        let mut same = same.filter_map(|other| history.runs.get(&other.id));
        same.any(|other| other.record.is_some())
    }

    /// Records that a run found a wrong result, or the preparation (`None`). What the first one owns stays as
    /// evidence, with what all runs share where they work on that; the experiment owns it no more, so that
    /// nothing removes it: a tear-down drops no database that it does not own. Later ones leave no files:
    /// they would fill the disk. Gives the sentence for the report.
    pub(super) fn keep_evidence(
        &mut self,
        run: Option<u32>,
        text: String,
    ) -> Result<String, RunnerError> {
        let history = self.log.history();
        let is_first = history.has_no_violation();
        let is_shared = history.plan.reset == Reset::Keep || run.is_none();
        let owned = history.owned.iter().filter(|(of, _)| match of {
            None => is_first && is_shared,
            of => is_first && *of == run,
        });
        let kept: Vec<Thing> = owned.map(|(_, thing)| thing.clone()).collect();
        let directories = kept.iter().filter(|thing| thing.kind == Kind::Directory);
        let directories: Vec<&str> = directories.map(|thing| thing.name.as_str()).collect();
        let text = match directories.is_empty() {
            true => text,
            false => format!("{text}; its files stay in {}", directories.join(", ")),
        };
        self.log.append(Event::Violation {
            run,
            text: text.clone(),
            kept,
        })?;
        Ok(text)
    }

    /// The steps up to the check of the load.
    fn measure(
        &mut self,
        experiment: &mut dyn Experiment,
        run: &PlannedRun,
        attempt: u32,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<Run, StepError> {
        self.enter(run, State::Setup, watch)?;
        experiment.setup(&run.cell, &mut self.context(run, attempt))?;
        self.enter(run, State::Measure, watch)?;
        let from_us = self.log.now_us();
        let mut record = experiment.measure(&run.cell, &mut self.context(run, attempt))?;
        let took_s = (self.log.now_us() - from_us) as f64 / 1e6;
        record.seconds.get_or_insert(took_s);
        self.enter(run, State::Collect, watch)?;
        experiment.collect(&run.cell, &mut record, &mut self.context(run, attempt))?;
        self.enter(run, State::Verify, watch)?;
        experiment.verify(&run.cell, &record, &mut self.context(run, attempt))?;
        let response = record.response.unwrap_or(0.0);
        if !(response.is_finite() && response > 0.0) {
            let text = match response == 0.0 {
                true => "nothing was done in the time of the run, so that its response is 0: give \
                         each run more time or more work"
                    .to_string(),
                false => format!("the response {response} is not a positive number"),
            };
            return Err(StepError::Failed(text));
        }
        Ok(record)
    }

    fn enter(
        &mut self,
        run: &PlannedRun,
        state: State,
        watch: &mut dyn FnMut(&Progress),
    ) -> Result<(), StepError> {
        if self.setup.cancel.load(std::sync::atomic::Ordering::Relaxed) {
            return Err(StepError::Cancelled);
        }
        self.log.step(run.id, state).map_err(GuardError::from)?;
        watch(&self.progress(run, Phase::Step(state), None));
        Ok(())
    }

    fn context<'a>(&'a mut self, run: &'a PlannedRun, attempt: u32) -> RunContext<'a> {
        RunContext {
            volume: &self.drives,
            out_dir: &self.setup.out_dir,
            log: &mut self.log,
            run: Some(run),
            attempt,
            cancel: &self.setup.cancel,
            watch: self.live.as_mut(),
        }
    }

    /// Journals the figures. A record that has no JSON form is a failed run, not the end of everything.
    fn write_metric(
        &mut self,
        run: &PlannedRun,
        attempt: u32,
        begun_us: i64,
        mut record: Run,
    ) -> Result<Result<(), Option<String>>, RunnerError> {
        self.place(run, begun_us, &mut record);
        let event = Event::Metric {
            run: run.id,
            attempt,
            record: Box::new(record),
        };
        match self.log.append(event) {
            Ok(()) => Ok(Ok(())),
            Err(JournalError::Unwritable(reason)) => Ok(Err(Some(format!(
                "the figures cannot be written: {reason}"
            )))),
            Err(other) => Err(other.into()),
        }
    }

    /// Fills what places a run.
    fn place(&self, run: &PlannedRun, begun_us: i64, record: &mut Run) {
        let history = self.log.history();
        record.id = run.id;
        record.block = run.block;
        record.position = run.position;
        record.level = run.cell.key(&history.plan.factors);
        record.cell = run
            .cell
            .settings
            .iter()
            .map(|(name, level)| (name.clone(), level.key.clone()))
            .collect();
        record.control = run.control;
        record.started = WallTime::from_unix_us(begun_us).iso();
        record.started_s = (begun_us - history.started_us) as f64 / 1e6;
        let all_s = (self.log.now_us() - begun_us) as f64 / 1e6;
        let overhead = all_s - record.seconds.unwrap_or(0.0);
        record.overhead_s.get_or_insert(overhead.max(0.0));
    }

    /// Tears down and removes what is left. The inner error is a sentence about what went wrong.
    fn clear(
        &mut self,
        experiment: &mut dyn Experiment,
        run: &PlannedRun,
        attempt: u32,
    ) -> Result<Result<(), String>, RunnerError> {
        self.log.step(run.id, State::Teardown)?;
        let torn_down = experiment.teardown(&run.cell, &mut self.context(run, attempt));
        let mut trouble = match torn_down {
            Ok(()) => None,
            Err(error) => reason_of(error)?.map(|reason| format!("tear-down: {reason}")),
        };
        match self.remove_leftovers(experiment, Leftovers::OfRuns) {
            Ok(()) => {}
            Err(RunnerError::Leftover { thing, reason }) => {
                trouble.get_or_insert(format!("{thing} cannot be removed: {reason}"));
            }
            Err(other) => return Err(other),
        }
        Ok(trouble.map_or(Ok(()), Err))
    }

    /// Removes what the experiment owns, newest first. A directory that is not empty stays and is reported.
    pub(super) fn remove_leftovers(
        &mut self,
        experiment: &mut dyn Experiment,
        which: Leftovers,
    ) -> Result<(), RunnerError> {
        let meant = |entry: &&(Option<u32>, Thing)| which == Leftovers::All || entry.0.is_some();
        let owned = self.log.history().owned.iter().rev();
        let owned: Vec<(Option<u32>, Thing)> = owned.filter(meant).cloned().collect();
        for (run, thing) in owned {
            let leftover = |reason: String| RunnerError::Leftover {
                thing: thing.to_string(),
                reason,
            };
            if thing.kind == Kind::Database {
                experiment
                    .remove_database(&thing.name)
                    .map_err(|error| leftover(error.to_string()))?;
                self.log.append(Event::Removed { thing })?;
                continue;
            }
            let volume = self.drives.clone();
            match remove_file_or_directory(&mut self.log, volume.as_ref(), &thing) {
                Ok(Removal::Gone | Removal::NeverMade) => {}
                Ok(Removal::NotEmpty) => {
                    let text =
                        format!("{thing} is not empty: it holds what is not ours, and stays");
                    self.log.append(Event::Error { run, text })?;
                }
                Err(GuardError::Journal(error)) => return Err(error.into()),
                Err(error) => return Err(leftover(error.to_string())),
            }
        }
        Ok(())
    }

    /// Ends runs that the journal shows under way: the process died in them.
    pub(super) fn end_unfinished(&mut self) -> Result<(), RunnerError> {
        let unfinished: Vec<(u32, u32, State)> = self
            .log
            .history()
            .runs
            .iter()
            .filter(|(_, run)| !run.ended)
            .map(|(&id, run)| (id, run.attempts, run.state))
            .collect();
        for (run, attempt, state) in unfinished {
            let reason = format!("found unfinished in state {}", state.word());
            let outcome = Outcome::Interrupted;
            self.log.append(Event::RunEnd {
                run,
                attempt,
                outcome,
                reason,
            })?;
        }
        Ok(())
    }

    /// After a stop by failures the runs that caused it are tried again: an operator that resumes has
    /// repaired the cause.
    pub(super) fn reopen_failures(&mut self) -> Result<(), RunnerError> {
        let history = self.log.history();
        if history.stopped_before.as_deref() != Some(FAILED_IN_A_ROW) {
            return Ok(());
        }
        for (run, attempt) in history.failed_last() {
            let reason = "it failed before the stop and is tried again".to_string();
            let outcome = Outcome::Interrupted;
            self.log.append(Event::RunEnd {
                run,
                attempt,
                outcome,
                reason,
            })?;
        }
        Ok(())
    }

    fn rate_of(&self, run: &PlannedRun) -> Option<f64> {
        self.log
            .history()
            .runs
            .get(&run.id)?
            .record
            .as_ref()?
            .rows_per_s
    }

    fn progress(&self, run: &PlannedRun, phase: Phase, rate: Option<f64>) -> Progress {
        let history = self.log.history();
        let settled = self
            .runs
            .iter()
            .filter(|other| history.is_settled(other.id));
        let settled = settled.count();
        let open = self.runs.iter().filter(|other| history.is_open(other));
        let (runs, place, open): (usize, u32, Vec<&PlannedRun>) = match history.plan.search {
            false => (self.runs.len(), run.id, open.collect()),
            // A search ends with this many at most.
            true => {
                let most = history.plan.most_runs() as usize;
                let open = open.take(most.saturating_sub(settled)).collect();
                (most, history.runs.len() as u32, open)
            }
        };
        let (left_s, worst_left_s) = self.time.left(&open);
        Progress {
            block: run.block,
            blocks: match history.plan.search {
                true => run.block,
                false => history.plan.blocks,
            },
            run: place,
            runs: runs as u32,
            settled: settled as u32,
            attempt: history.runs.get(&run.id).map_or(1, |r| r.attempts),
            level: run.cell.key(&history.plan.factors),
            control: run.control,
            phase,
            rate,
            elapsed_s: (self.log.now_us() - history.started_us) as f64 / 1e6,
            left_s,
            worst_left_s,
            assumed: self.time.is_assumed(),
        }
    }
}

/// The sentence of a failed step; `None` when it was cancelled. A journal that cannot be written ends
/// the experiment.
fn reason_of(error: StepError) -> Result<Option<String>, RunnerError> {
    match error {
        StepError::Cancelled => Ok(None),
        StepError::Guard(GuardError::Journal(error)) => Err(error.into()),
        other => Ok(Some(other.to_string())),
    }
}
