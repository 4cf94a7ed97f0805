//! Work on one thread: several sessions, interleaved by a seed, each answer predicted.
//!
//! Sessions do not wait for locks here, so that one thread can run them all: a statement that meets a lock
//! returns that and has done nothing. The expected answer of a statement follows from what the session itself
//! has done, what is settled, and which transactions others have in progress:
//! - on a cell that an unfinished transaction of another has changed, nothing but [`Failure::Locked`];
//! - elsewhere exactly success, duplicate or missing as it must be, or `Locked` while others are at work,
//!   because locks may be wider than rows.

mod actor;
mod choose;

pub use choose::Mix;

use crate::model::{Cell, Content, Model};
use crate::subject::{Failure, Session, Store};
use actor::{Actor, Txn};
use choose::Op;
use furrow_io::random::{Rng, SeededRng};
use std::collections::VecDeque;
use std::fmt::Write;

/// Steps that are remembered for a finding.
const REMEMBERED: usize = 60;

/// What was done, so that a test can see that it did enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Tally {
    pub steps: u64,
    pub statements: u64,
    pub locked: u64,
    pub duplicates: u64,
    pub missing: u64,
    pub full: u64,
    pub commits: u64,
    pub rollbacks: u64,
    pub partial_rollbacks: u64,
    pub checkpoints: u64,
    pub files: u64,
    pub tables: u64,
    pub loads: u64,
    pub loaded_rows: u64,
}

impl Tally {
    /// Adds another's figures.
    pub fn add(&mut self, other: &Tally) {
        self.steps += other.steps;
        self.statements += other.statements;
        self.locked += other.locked;
        self.duplicates += other.duplicates;
        self.missing += other.missing;
        self.full += other.full;
        self.commits += other.commits;
        self.rollbacks += other.rollbacks;
        self.partial_rollbacks += other.partial_rollbacks;
        self.checkpoints += other.checkpoints;
        self.files += other.files;
        self.tables += other.tables;
        self.loads += other.loads;
        self.loaded_rows += other.loaded_rows;
    }
}

/// How a stretch of work ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// All steps were done; transactions may be under way.
    Done,
    /// The store is gone, for this reason.
    Gone(String),
    /// An answer was wrong.
    Wrong(String),
}

/// Past steps, and their results.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    lines: VecDeque<String>,
}

impl Trace {
    /// Records a line.
    pub fn push(&mut self, line: String) {
        if self.lines.len() == REMEMBERED {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    /// All lines, oldest first.
    pub fn lines(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}

/// The sessions on a store, and what they are about.
pub struct Work<'a, S: Store> {
    store: &'a S,
    model: &'a mut Model,
    rng: &'a mut SeededRng,
    mix: &'a Mix,
    actors: Vec<Actor<S::Session>>,
    /// The last version that was given out.
    version: &'a mut u64,
    tally: &'a mut Tally,
    trace: &'a mut Trace,
}

impl<S: Store> std::fmt::Debug for Work<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Work({} sessions)", self.actors.len())
    }
}

/// What outlives a stretch of work.
#[derive(Debug)]
pub struct Ledger {
    /// The certain state, and the commits in progress.
    pub model: Model,
    /// The source of every choice.
    pub rng: SeededRng,
    /// How often each kind of step is taken.
    pub mix: Mix,
    /// The last version that was given out.
    pub version: u64,
    /// What was done.
    pub tally: Tally,
    /// The last steps.
    pub trace: Trace,
}

impl Ledger {
    /// Of a store without tables.
    pub fn new(mut rng: SeededRng) -> Ledger {
        Ledger {
            model: Model::new(),
            mix: Mix::draw(&mut rng),
            rng,
            version: 0,
            tally: Tally::default(),
            trace: Trace::default(),
        }
    }
}

impl<'a, S: Store> Work<'a, S> {
    /// Opens `sessions` sessions.
    pub fn begin(store: &'a S, ledger: &'a mut Ledger, sessions: usize) -> Result<Self, Failure> {
        let opened = (0..sessions).map(|_| store.session().map(Actor::new));
        Ok(Work {
            actors: opened.collect::<Result<_, _>>()?,
            store,
            model: &mut ledger.model,
            rng: &mut ledger.rng,
            mix: &ledger.mix,
            version: &mut ledger.version,
            tally: &mut ledger.tally,
            trace: &mut ledger.trace,
        })
    }

    /// Does so many steps, or fewer when the store goes away.
    pub fn run(&mut self, steps: u64) -> Ended {
        for _ in 0..steps {
            self.tally.steps += 1;
            let who = self.rng.random_range(0..self.actors.len());
            let done = if self.actors[who].txn.is_some() {
                self.go_on(who)
            } else if self.rng.random_ratio(self.mix.service_in_1000, 1000) {
                self.serve()
            } else {
                self.start(who)
            };
            match done {
                Ok(()) => {}
                Err(Failure::Gone(why)) => return Ended::Gone(why),
                Err(other) => return Ended::Wrong(other.to_string()),
            }
        }
        Ended::Done
    }

    /// Rolls back whatever is under way.
    pub fn finish(&mut self) -> Ended {
        for who in 0..self.actors.len() {
            if self.actors[who].txn.is_some()
                && let Err(failure) = self.roll_back(who)
            {
                return match failure {
                    Failure::Gone(why) => Ended::Gone(why),
                    other => Ended::Wrong(other.to_string()),
                };
            }
        }
        Ended::Done
    }

    /// Creates the tables that stay, and commits.
    pub fn create_lasting_tables(&mut self) -> Result<(), Failure> {
        self.start(0)?;
        for table in 0..crate::rows::LASTING_TABLES {
            *self.version += 1;
            self.statement(
                0,
                Op::CreateTable {
                    table,
                    version: *self.version,
                },
            )?;
        }
        self.commit(0)
    }

    fn start(&mut self, who: usize) -> Result<(), Failure> {
        let left = self.mix.statements(self.rng);
        self.actors[who].session.begin()?;
        self.actors[who].txn = Some(Txn::new(left));
        Ok(())
    }

    /// What no session does: checkpoints and the like.
    fn serve(&mut self) -> Result<(), Failure> {
        let (what, done) = match self.rng.random_range(0..100) {
            0..45 => {
                self.tally.checkpoints += 1;
                ("checkpoint".to_owned(), self.store.checkpoint())
            }
            45..90 => ("clean".to_owned(), self.store.clean()),
            _ => {
                let taken = |c: &Cell| matches!(c, Cell::File(_));
                let number = self.model.settled().keys().filter(|c| taken(c)).count() as u16 + 1;
                if number > self.mix.files_to_add {
                    return Ok(());
                }
                (format!("add file {number}"), self.add_file(number))
            }
        };
        self.note(&what, &done);
        done
    }

    fn add_file(&mut self, number: u16) -> Result<(), Failure> {
        let effect = [(Cell::File(number), Some(u64::from(number)))];
        let commit = self.model.begin_commit(&effect);
        match self.store.add_file(number) {
            Ok(()) => {
                self.tally.files += 1;
                self.model.acknowledge(commit);
                Ok(())
            }
            Err(Failure::Full(_)) => {
                self.model.withdraw(commit);
                Ok(())
            }
            Err(other) => Err(other),
        }
    }

    fn go_on(&mut self, who: usize) -> Result<(), Failure> {
        let Some(txn) = self.actors[who].txn.as_mut() else {
            return Ok(());
        };
        if txn.left == 0 {
            if self.rng.random_ratio(self.mix.rollback_in_100, 100) {
                return self.roll_back(who);
            }
            return self.commit(who);
        }
        txn.left -= 1;
        if self.rng.random_ratio(self.mix.save_in_100, 100) {
            return self.save_or_return(who);
        }
        let op = self.choose(who);
        self.statement(who, op)
    }

    /// Does a statement and compares the answer with what it must be.
    fn statement(&mut self, who: usize, op: Op) -> Result<(), Failure> {
        self.tally.statements += 1;
        let expected = self.expect(who, &op);
        let done = op.perform(&mut self.actors[who].session);
        let answer = done.clone().map(|_| ());
        self.note(&format!("session {who}: {op}"), &answer);
        match &done {
            Err(Failure::Gone(_) | Failure::Wrong(_)) => return answer,
            Err(Failure::Full(_)) => {
                self.tally.full += 1;
                return Ok(());
            }
            Err(Failure::Victim) => {
                self.actors[who].txn = None;
                return Ok(());
            }
            _ => {}
        }
        if let Err(why) = expected.admits(&done) {
            return Err(Failure::Wrong(format!("session {who}, {op}: {why}")));
        }
        match done {
            Ok(_) => {
                let effects = self.effects(who, &op);
                if let Some(txn) = &mut self.actors[who].txn {
                    txn.effects.extend(effects);
                }
                self.tally.tables += u64::from(matches!(op, Op::CreateTable { .. }));
                if let Op::Load { count, .. } = op {
                    self.tally.loads += 1;
                    self.tally.loaded_rows += count;
                }
            }
            Err(Failure::Locked) => self.tally.locked += 1,
            Err(Failure::Duplicate) => self.tally.duplicates += 1,
            Err(_) => self.tally.missing += 1,
        }
        Ok(())
    }

    fn save_or_return(&mut self, who: usize) -> Result<(), Failure> {
        let actor = &mut self.actors[who];
        let Some(txn) = &mut actor.txn else {
            return Ok(());
        };
        let returns = !txn.saves.is_empty() && self.rng.random_ratio(1, 2);
        let (what, done) = if returns {
            let number = self.rng.random_range(0..txn.saves.len());
            txn.effects.truncate(txn.saves[number]);
            txn.saves.truncate(number + 1);
            self.tally.partial_rollbacks += 1;
            (
                format!("session {who}: roll back to {number}"),
                actor.session.rollback_to(number),
            )
        } else {
            let number = txn.saves.len();
            txn.saves.push(txn.effects.len());
            (
                format!("session {who}: save {number}"),
                actor.session.save(number),
            )
        };
        self.note(&what, &done);
        done
    }

    fn commit(&mut self, who: usize) -> Result<(), Failure> {
        let Some(txn) = self.actors[who].txn.take() else {
            return Ok(());
        };
        let commit = self.model.begin_commit(&txn.effects);
        let done = self.actors[who].session.commit();
        self.note(&format!("session {who}: commit"), &done);
        match done {
            Ok(()) => {
                self.tally.commits += 1;
                self.model.acknowledge(commit);
                Ok(())
            }
            Err(Failure::Gone(why)) => Err(Failure::Gone(why)),
            Err(other) => Err(Failure::Wrong(format!("commit answers: {other}"))),
        }
    }

    fn roll_back(&mut self, who: usize) -> Result<(), Failure> {
        self.actors[who].txn = None;
        let done = self.actors[who].session.rollback();
        self.note(&format!("session {who}: rollback"), &done);
        match done {
            Ok(()) => {
                self.tally.rollbacks += 1;
                Ok(())
            }
            Err(Failure::Gone(why)) => Err(Failure::Gone(why)),
            Err(other) => Err(Failure::Wrong(format!("rollback answers: {other}"))),
        }
    }

    /// What a session sees in a cell if no other session has changed it.
    fn view(&self, who: usize, cell: Cell) -> Content {
        let own = self.actors[who].txn.as_ref().and_then(|txn| txn.seen(cell));
        own.unwrap_or_else(|| self.model.settled().get(&cell).copied())
    }

    fn note(&mut self, what: &str, done: &Result<(), Failure>) {
        let mut line = format!("{}: {what}", self.tally.steps);
        if let Err(failure) = done {
            let _ = write!(line, " -> {failure}");
        }
        self.trace.push(line);
    }
}
