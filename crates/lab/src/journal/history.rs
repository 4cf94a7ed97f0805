//! The history that a journal records: the state of every run, what the experiment still owns, what to
//! report.

use super::{CeilingProbe, Event, JournalError, Line, Outcome, State, Thing};
use crate::plan::{Plan, PlannedRun};
use crate::results::{Deviation, Run, RunStatus};
use std::collections::BTreeMap;
use std::path::Path;

/// How often a failed run is tried again.
pub const RETRIES: usize = 1;

/// The story of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunHistory {
    /// Its state.
    pub state: State,
    /// Attempts so far.
    pub attempts: u32,
    /// When its last attempt began.
    pub started_us: i64,
    /// The figures of the last attempt that measured.
    pub record: Option<Run>,
    /// Why earlier attempts failed; interruptions are not failures.
    pub failures: Vec<String>,
    /// The wrong result that the run found. Such a run is not tried again.
    pub violation: Option<String>,
    /// The last interruption.
    pub interrupted: Option<String>,
    /// Whether its last attempt is over.
    pub ended: bool,
}

impl RunHistory {
    fn new() -> RunHistory {
        RunHistory {
            state: State::Planned,
            attempts: 0,
            started_us: 0,
            record: None,
            failures: Vec::new(),
            violation: None,
            interrupted: None,
            ended: true,
        }
    }

    /// How the run is to be shown.
    pub fn status(&self) -> RunStatus {
        if let Some(text) = &self.violation {
            return RunStatus::Failed(text.clone());
        }
        match (self.state, self.failures.first()) {
            (State::Done, None) => RunStatus::Done,
            (State::Done, Some(why)) => RunStatus::Retried(why.clone()),
            (State::Failed, _) => {
                RunStatus::Failed(self.failures.last().cloned().unwrap_or_default())
            }
            _ => RunStatus::Interrupted(self.interrupted.clone().unwrap_or_default()),
        }
    }

    /// Whether the run needs no more work: measured, failed twice, or the finder of a wrong result.
    pub fn is_settled(&self) -> bool {
        match self.state {
            _ if self.violation.is_some() => true,
            State::Done => true,
            State::Failed => self.failures.len() > RETRIES,
            _ => false,
        }
    }
}

/// Everything that a journal records.
#[derive(Debug, Clone)]
pub struct History {
    /// The plan.
    pub plan: Plan,
    /// Its hash.
    pub hash: String,
    /// Checks passed before the first run.
    pub checks: Vec<String>,
    /// Program and version that wrote the last part.
    pub program: String,
    /// What lies behind the directories of runs, as it was at the beginning.
    pub volumes: Vec<(String, String)>,
    /// Cells that a search has dropped, with the round after which that was.
    pub dropped: Vec<(u32, u32)>,
    /// Rounds that a search has judged.
    pub rounds_judged: u32,
    /// Whether a search has ended.
    pub search_over: bool,
    /// How often what all runs share was created.
    pub preparations: u32,
    /// When the experiment began.
    pub started_us: i64,
    /// The last event.
    pub last_us: i64,
    /// Seconds between stops and what went on after them.
    pub paused_s: f64,
    /// Runs that were ever begun, by id.
    pub runs: BTreeMap<u32, RunHistory>,
    /// Things that the experiment owns and that still exist, oldest first, with the run that created them.
    pub owned: Vec<(Option<u32>, Thing)>,
    /// What was done otherwise than planned.
    pub deviations: Vec<Deviation>,
    /// Bounds of the volumes that were measured, with the run before which that was.
    pub ceilings: Vec<(u32, CeilingProbe)>,
    /// Why it stopped, if it did.
    pub stopped: Option<String>,
    /// Why it had stopped before it was resumed.
    pub stopped_before: Option<String>,
}

impl History {
    /// The history that `lines` record.
    pub fn of(path: &Path, lines: &[Line]) -> Result<History, JournalError> {
        let no_plan = || JournalError::NoPlan {
            path: path.to_path_buf(),
        };
        let first = lines.first().ok_or_else(no_plan)?;
        let Event::Plan {
            plan,
            hash,
            checks,
            program,
        } = &first.event
        else {
            return Err(no_plan());
        };
        if plan.hash() != *hash {
            return Err(no_plan());
        }
        let mut history = History {
            plan: (**plan).clone(),
            hash: hash.clone(),
            checks: checks.clone(),
            program: program.clone(),
            dropped: Vec::new(),
            rounds_judged: 0,
            search_over: false,
            preparations: 0,
            volumes: Vec::new(),
            started_us: first.at_us,
            last_us: first.at_us,
            paused_s: 0.0,
            runs: BTreeMap::new(),
            owned: Vec::new(),
            deviations: Vec::new(),
            ceilings: Vec::new(),
            stopped: None,
            stopped_before: None,
        };
        for line in &lines[1..] {
            history.take(line.at_us, &line.event);
        }
        Ok(history)
    }

    /// Goes on by one event.
    pub fn take(&mut self, at_us: i64, event: &Event) {
        self.last_us = self.last_us.max(at_us);
        match event {
            Event::Plan { .. } => {}
            Event::Resumed { gap_s, program } => self.resumed(*gap_s, program),
            Event::Extended { blocks } => self.extended(*blocks),
            Event::RoundJudged {
                round,
                dropped,
                is_over,
            } => {
                self.rounds_judged = *round;
                self.search_over = *is_over;
                self.dropped
                    .extend(dropped.iter().map(|&cell| (*round, cell)));
            }
            Event::Volumes { behind } => self.volumes.clone_from(behind),
            Event::Preparing { attempt } => self.preparations = *attempt,
            Event::RunStart { run, attempt } => {
                let run = self.run(*run);
                run.attempts = *attempt;
                run.started_us = at_us;
                run.state = State::Planned;
                run.ended = false;
            }
            Event::Step { run, state } => self.run(*run).state = *state,
            Event::Created { run, thing } => self.owned.push((*run, thing.clone())),
            Event::Released { thing } | Event::Removed { thing } => {
                self.owned.retain(|(_, owned)| owned != thing);
            }
            Event::Metric { run, record, .. } => self.run(*run).record = Some((**record).clone()),
            Event::Violation { run, text, kept } => {
                self.run(*run).violation = Some(text.clone());
                self.owned.retain(|(_, owned)| !kept.contains(owned));
                self.deviate("violation", Some(*run), text);
            }
            Event::RunEnd {
                run,
                attempt,
                outcome,
                reason,
            } => {
                self.run_end(*run, *attempt, *outcome, reason);
            }
            Event::Error { run, text } => self.deviate("error", *run, text),
            Event::Revert { what, verified } => {
                let text = match verified {
                    true => format!("{what} was put back and verified"),
                    false => format!("{what} was put back, not verified"),
                };
                self.deviate("reverted", None, &text);
            }
            Event::Note { run, text } => self.deviate("note", *run, text),
            Event::Ceiling { run, probe } => self.ceilings.push((*run, probe.clone())),
            Event::Operator { text } => self.deviate("operator", None, text),
            Event::Stopped { why } => self.stopped = Some(why.clone()),
        }
    }

    /// The story of a run; one that was never begun is planned.
    pub fn run(&mut self, id: u32) -> &mut RunHistory {
        self.runs.entry(id).or_insert_with(RunHistory::new)
    }

    /// Whether a run needs no more work.
    pub fn is_settled(&self, id: u32) -> bool {
        self.runs.get(&id).is_some_and(RunHistory::is_settled)
    }

    /// Whether a search runs this cell no more.
    pub fn is_dropped(&self, cell: usize) -> bool {
        self.dropped
            .iter()
            .any(|&(_, dropped)| dropped as usize == cell)
    }

    /// Whether a run of the plan still has to run.
    pub fn is_open(&self, run: &PlannedRun) -> bool {
        !self.is_settled(run.id)
            && !(self.plan.search && (self.search_over || self.is_dropped(run.cell.index)))
    }

    fn resumed(&mut self, gap_s: f64, program: &str) {
        self.stopped_before = self.stopped.take();
        self.paused_s += gap_s;
        let text = format!("the experiment was resumed after a gap of {gap_s:.0} s");
        self.deviate("resumed", None, &text);
        if !program.is_empty() && program != self.program {
            let text = format!(
                "runs before the gap were made by {}, runs after it by {program}: a difference between them \
                 may be the program's",
                self.program
            );
            self.deviate("other program", None, &text);
            self.program = program.to_string();
        }
    }

    fn extended(&mut self, blocks: u32) {
        let text = format!(
            "blocks were added after results had been seen: {} became {blocks}; a difference that is called \
             shown is then wrong a little more often than one time in twenty",
            self.plan.blocks
        );
        self.plan.extend(blocks);
        // With more runs to spend, the search continues with the last configurations.
        self.search_over = false;
        self.deviate("extended", None, &text);
    }

    fn run_end(&mut self, id: u32, attempt: u32, outcome: Outcome, reason: &str) {
        let run = self.run(id);
        run.ended = true;
        match outcome {
            Outcome::Done => run.state = State::Done,
            Outcome::Failed => {
                run.state = State::Failed;
                run.record = None;
                run.failures.push(reason.to_string());
            }
            Outcome::Interrupted => {
                run.state = State::Planned;
                run.record = None;
                run.interrupted = Some(reason.to_string());
            }
        }
        match outcome {
            Outcome::Done if attempt > 1 => {
                self.deviate(
                    "retried",
                    Some(id),
                    &format!("attempt {attempt} was measured"),
                );
            }
            Outcome::Done => {}
            // Recorded already, with its text.
            Outcome::Failed if self.run(id).violation.is_some() => {}
            Outcome::Failed => self.deviate("failed", Some(id), reason),
            Outcome::Interrupted => self.deviate("interrupted", Some(id), reason),
        }
    }

    fn deviate(&mut self, kind: &str, run: Option<u32>, text: &str) {
        self.deviations.push(Deviation {
            kind: kind.to_string(),
            run,
            text: text.to_string(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;
    use crate::design::Factor;

    fn history() -> History {
        let plan = Plan::new("t", "t?", vec![Factor::counts("n", &[1, 2])], 1);
        let first = Line {
            seq: 1,
            at_us: 5,
            event: Event::Plan {
                hash: plan.hash(),
                plan: Box::new(plan),
                program: String::new(),
                checks: Vec::new(),
            },
        };
        History::of(Path::new("/j"), &[first]).unwrap()
    }

    fn end(run: u32, attempt: u32, outcome: Outcome) -> Event {
        Event::RunEnd {
            run,
            attempt,
            outcome,
            reason: "disk full".to_string(),
        }
    }

    fn file(name: &str) -> Thing {
        let (kind, name) = (Kind::File, name.to_string());
        Thing { kind, name }
    }

    #[test]
    fn a_plan_that_was_changed_after_the_fact_is_not_believed() {
        let mut plan = history().plan;
        let hash = plan.hash();
        plan.delta = 0.5;
        let event = Event::Plan {
            plan: Box::new(plan),
            hash,
            program: String::new(),
            checks: Vec::new(),
        };
        let line = Line {
            seq: 1,
            at_us: 0,
            event,
        };
        assert!(matches!(
            History::of(Path::new("/j"), &[line]),
            Err(JournalError::NoPlan { .. })
        ));
        assert!(History::of(Path::new("/j"), &[]).is_err());
    }

    #[test]
    fn a_run_that_failed_and_then_worked_is_shown_as_retried() {
        let mut history = history();
        history.take(10, &Event::RunStart { run: 1, attempt: 1 });
        history.take(11, &end(1, 1, Outcome::Failed));
        assert_eq!(
            history.runs[&1].status(),
            RunStatus::Failed("disk full".to_string())
        );
        history.take(12, &Event::RunStart { run: 1, attempt: 2 });
        assert!(!history.is_settled(1));
        history.take(13, &end(1, 2, Outcome::Done));
        assert_eq!(
            history.runs[&1].status(),
            RunStatus::Retried("disk full".to_string())
        );
        assert!(history.is_settled(1) && history.last_us == 13);
        for attempt in 1..=2 {
            history.take(14, &end(2, attempt, Outcome::Failed));
            assert_eq!(history.is_settled(2), attempt == 2);
        }
    }

    #[test]
    fn a_wrong_result_is_final_also_where_the_process_died_behind_it() {
        let mut history = history();
        let (run, thing) = (Some(1), file("/kept"));
        history.take(10, &Event::Created { run, thing });
        let (run, text, kept) = (1, "condition 3".to_string(), vec![file("/kept")]);
        history.take(11, &Event::Violation { run, text, kept });
        assert_eq!(history.owned, []);
        for outcome in [Outcome::Interrupted, Outcome::Failed] {
            let mut history = history.clone();
            history.take(12, &end(1, 1, outcome));
            let wanted = RunStatus::Failed("condition 3".to_string());
            assert_eq!(history.runs[&1].status(), wanted);
            assert!(history.is_settled(1));
        }
    }

    #[test]
    fn an_interrupted_run_is_to_be_done_again_and_its_figures_are_gone() {
        let mut history = history();
        history.take(10, &Event::RunStart { run: 2, attempt: 1 });
        history.take(
            11,
            &Event::Step {
                run: 2,
                state: State::Teardown,
            },
        );
        let record = Box::new(Run::default());
        history.take(
            12,
            &Event::Metric {
                run: 2,
                attempt: 1,
                record,
            },
        );
        history.take(13, &end(2, 1, Outcome::Interrupted));
        assert!(!history.is_settled(2) && history.runs[&2].record.is_none());
        assert!(matches!(
            history.runs[&2].status(),
            RunStatus::Interrupted(_)
        ));
    }

    #[test]
    fn what_was_made_is_ours_until_it_is_removed_or_released() {
        let mut history = history();
        for name in ["/a", "/b", "/c"] {
            history.take(
                1,
                &Event::Created {
                    run: Some(1),
                    thing: file(name),
                },
            );
        }
        history.take(2, &Event::Removed { thing: file("/a") });
        history.take(3, &Event::Released { thing: file("/c") });
        assert_eq!(history.owned, vec![(Some(1), file("/b"))]);
    }
}
