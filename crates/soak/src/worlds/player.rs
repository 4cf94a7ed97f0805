//! Runs the steps of a world, and reports them to the model.

use super::steps::{Step, World};
use crate::engine::{Engine, EngineSession, EngineStore};
use crate::model::{Cell, Content, Model};
use crate::subject::{Failure, Session, Store, Subject};
use furrow_io::SimVolume;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Sessions of a world.
const SESSIONS: usize = 2;

/// How a world ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Played {
    Done,
    Gone(String),
    Wrong(String),
}

#[derive(Default)]
struct Txn {
    effects: Vec<(Cell, Content)>,
    saves: Vec<usize>,
}

/// Work that is to be done while something else waits for a sync.
pub(super) type Amid = Arc<Mutex<Option<Box<dyn FnOnce() + Send>>>>;

pub(super) struct Player<'a> {
    engine: &'a Engine,
    volume: &'a SimVolume,
    world: &'a World,
    model: Arc<Mutex<Model>>,
    /// Where work is put that a watcher of syncs may do.
    amid: Amid,
    store: Option<EngineStore>,
    sessions: Vec<Option<EngineSession>>,
    txns: Vec<Option<Txn>>,
    /// Whether steps may be refused for lack of space, and later ones because those steps are missing.
    faulty: bool,
    /// Steps that were refused.
    pub(super) refused: u64,
}

impl<'a> Player<'a> {
    pub(super) fn new(
        engine: &'a Engine,
        volume: &'a SimVolume,
        world: &'a World,
        model: &Arc<Mutex<Model>>,
        faulty: bool,
    ) -> Player<'a> {
        Player {
            engine,
            volume,
            world,
            model: Arc::clone(model),
            amid: Amid::default(),
            store: None,
            sessions: (0..SESSIONS).map(|_| None).collect(),
            txns: (0..SESSIONS).map(|_| None).collect(),
            faulty,
            refused: 0,
        }
    }

    /// Where the player puts work that a watcher of syncs may do.
    pub(super) fn amid(&self) -> Amid {
        Arc::clone(&self.amid)
    }

    /// Opens the database, where it is not open yet.
    pub(super) fn open(&mut self) -> Result<EngineStore, Failure> {
        self.engine
            .open(Arc::new(self.volume.clone()), &self.world.layout)
    }

    /// Runs steps; calls `at` with each before it runs.
    pub(super) fn play(
        &mut self,
        store: EngineStore,
        steps: &[Step],
        at: &dyn Fn(String),
    ) -> Played {
        self.store = Some(store);
        for (number, step) in (1..).zip(steps) {
            at(format!("step {number} of {}, {step}", steps.len()));
            match self.step(*step) {
                Ok(()) => {}
                Err(Failure::Gone(why)) => return Played::Gone(why),
                Err(Failure::Full(_)) if self.faulty => self.refused += 1,
                Err(Failure::Missing | Failure::Duplicate) if self.refused > 0 => {}
                Err(other) => return Played::Wrong(format!("step {number}, {step}: {other}")),
            }
        }
        Played::Done
    }

    /// Ends the database in order.
    pub(super) fn close(mut self) -> Result<(), Failure> {
        self.sessions.clear();
        self.store.take().map_or(Ok(()), Store::close)
    }

    /// Lets go of it without another write.
    pub(super) fn abandon(mut self) {
        if let Some(store) = self.store.take() {
            store.abandon();
        }
    }

    fn store(&self) -> Result<&EngineStore, Failure> {
        let gone = || Failure::Gone("the database is closed".to_owned());
        self.store.as_ref().ok_or_else(gone)
    }

    fn session(&mut self, who: usize) -> Result<&mut EngineSession, Failure> {
        if self.sessions.get(who).is_some_and(Option::is_none) {
            let opened = self.store()?.session()?;
            self.sessions[who] = Some(opened);
        }
        let session = self.sessions.get_mut(who).and_then(Option::as_mut);
        session.ok_or_else(|| Failure::Wrong(format!("no session {who}")))
    }

    fn step(&mut self, step: Step) -> Result<(), Failure> {
        match step {
            Step::Begin(who) => {
                self.session(who)?.begin()?;
                self.txns[who] = Some(Txn::default());
                Ok(())
            }
            Step::Commit(who) => self.commit(who),
            Step::Rollback(who) => {
                self.txns[who] = None;
                self.session(who)?.rollback()
            }
            Step::Save(who, number) => {
                self.session(who)?.save(number)?;
                if let Some(txn) = &mut self.txns[who] {
                    txn.saves.truncate(number);
                    txn.saves.push(txn.effects.len());
                }
                Ok(())
            }
            Step::Return(who, number) => {
                if let Some(txn) = &mut self.txns[who] {
                    let kept = txn.saves.get(number).copied().unwrap_or_default();
                    txn.effects.truncate(kept);
                    txn.saves.truncate(number + 1);
                }
                self.session(who)?.rollback_to(number)
            }
            Step::Checkpoint => self.store()?.checkpoint(),
            Step::CheckpointAmid(table, key, version) => self.amid_checkpoint(table, key, version),
            Step::Clean => self.store()?.clean(),
            Step::Enlarge(kb) => self.store()?.enlarge("data1", kb),
            Step::Shrink(kb) => self.store()?.shrink("data1", kb),
            Step::ShrinkLog(kb) => self.store()?.shrink("log", kb),
            Step::BuildIndex(table) => self.store()?.build_index(table),
            Step::DropIndex(table) => self.store()?.drop_index(table),
            Step::Rebuild(table) => self.store()?.rebuild(table),
            Step::AddFile(number) => {
                let there = Some(u64::from(number));
                self.alone(Cell::File(number), there, |s| s.add_file(number))
            }
            Step::RemoveFile(number) => {
                self.alone(Cell::File(number), None, |s| s.remove_file(number))
            }
            Step::Reopen | Step::MoveHouse => self.elsewhere(step),
            statement => self.statement(statement),
        }
    }

    fn amid_checkpoint(&mut self, table: u16, key: i64, version: u64) -> Result<(), Failure> {
        let mut session = self.store()?.session()?;
        let (model, done) = (Arc::clone(&self.model), Arc::new(Mutex::new(Ok(()))));
        let outcome = Arc::clone(&done);
        let work = move || *outcome.lock() = put_in(&mut session, &model, (table, key, version));
        *self.amid.lock() = Some(Box::new(work));
        let taken = self.store()?.checkpoint();
        let left = self.amid.lock().take();
        if let Some(work) = left {
            work();
        }
        taken.and(done.lock().clone())
    }

    /// A change that commits by itself.
    fn alone(
        &mut self,
        cell: Cell,
        content: Content,
        body: impl FnOnce(&EngineStore) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let commit = self.model.lock().begin_commit(&[(cell, content)]);
        let done = body(self.store()?);
        match &done {
            Ok(()) => self.model.lock().acknowledge(commit),
            Err(Failure::Gone(_)) => {}
            Err(_) => self.model.lock().withdraw(commit),
        }
        done
    }

    fn elsewhere(&mut self, step: Step) -> Result<(), Failure> {
        self.sessions.iter_mut().for_each(|session| *session = None);
        let Some(store) = self.store.take() else {
            return Err(Failure::Gone("the database is closed".to_owned()));
        };
        let moved = if step == Step::MoveHouse {
            store.move_house()
        } else {
            store.close().and_then(|()| self.open())
        };
        // If there is no space to open the database, it stays closed: that counts as `Gone`.
        let moved = moved.map_err(|e| match e {
            Failure::Full(why) => Failure::Gone(why),
            other => other,
        });
        self.store = Some(moved?);
        Ok(())
    }

    fn commit(&mut self, who: usize) -> Result<(), Failure> {
        let txn = self.txns[who].take().unwrap_or_default();
        let commit = self.model.lock().begin_commit(&txn.effects);
        self.session(who)?.commit()?;
        self.model.lock().acknowledge(commit);
        Ok(())
    }

    fn statement(&mut self, step: Step) -> Result<(), Failure> {
        let (who, effects) = match step {
            Step::Insert(who, table, key, version) => {
                self.session(who)?.insert(table, key, version)?;
                (who, vec![(Cell::Row(table, key), Some(version))])
            }
            Step::Update(who, table, key, version) => {
                self.session(who)?.update(table, key, version)?;
                (who, vec![(Cell::Row(table, key), Some(version))])
            }
            Step::Delete(who, table, key) => {
                self.session(who)?.delete(table, key)?;
                (who, vec![(Cell::Row(table, key), None)])
            }
            Step::Load(who, table, first, version, count) => {
                let rows: Vec<(i64, u64)> = (first..).zip(version..version + count).collect();
                self.session(who)?.load(table, &rows)?;
                let row = |(key, version)| (Cell::Row(table, key), Some(version));
                (who, rows.into_iter().map(row).collect())
            }
            Step::CreateTable(who, table, version) => {
                self.session(who)?.create_table(table, version)?;
                (who, vec![(Cell::Table(table), Some(version))])
            }
            Step::DropTable(who, table) => {
                self.session(who)?.drop_table(table)?;
                (who, self.all_of(who, table))
            }
            other => return Err(Failure::Wrong(format!("{other} is no statement"))),
        };
        if let Some(txn) = &mut self.txns[who] {
            txn.effects.extend(effects);
        }
        Ok(())
    }

    /// What goes with a table: its rows as the session sees them, and itself.
    fn all_of(&self, who: usize, table: u16) -> Vec<(Cell, Content)> {
        let rows = Cell::Row(table, i64::MIN)..=Cell::Row(table, i64::MAX);
        let model = self.model.lock();
        let mut seen: BTreeMap<Cell, Content> = model
            .settled()
            .range(rows.clone())
            .map(|(cell, version)| (*cell, Some(*version)))
            .collect();
        let own = self.txns[who].iter().flat_map(|txn| &txn.effects);
        seen.extend(own.filter(|effect| rows.contains(&effect.0)).copied());
        let there = seen.into_iter().filter(|(_, content)| content.is_some());
        let gone = there.map(|(cell, _)| (cell, None));
        gone.chain([(Cell::Table(table), None)]).collect()
    }
}

/// Puts in a row and commits.
fn put_in(
    session: &mut EngineSession,
    model: &Mutex<Model>,
    (table, key, version): (u16, i64, u64),
) -> Result<(), Failure> {
    session.begin()?;
    session.insert(table, key, version)?;
    let row = (Cell::Row(table, key), Some(version));
    let commit = model.lock().begin_commit(&[row]);
    session.commit()?;
    model.lock().acknowledge(commit);
    Ok(())
}
