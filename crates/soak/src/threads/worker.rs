//! One of many threads.

use super::Book;
use crate::model::{Cell, Content};
use crate::rows::{LASTING_TABLES, LOADED, TABLES};
use crate::subject::{Failure, Session};
use crate::work::Tally;
use furrow_io::random::{Rng, SeededRng};
use std::collections::BTreeMap;

/// Most keys of a table that is loaded in bulk.
const LOADED_KEYS: i64 = 1500;

/// Keys per owner.
const KEYS: i64 = 24;

pub(super) struct Worker<'b, 'a, S> {
    session: S,
    book: &'b Book<'a>,
    rng: SeededRng,
    me: i64,
    threads: i64,
    effects: Vec<(Cell, Content)>,
    saves: Vec<usize>,
    tally: Tally,
}

impl<S> Drop for Worker<'_, '_, S> {
    fn drop(&mut self) {
        self.book.tally.lock().add(&self.tally);
    }
}

impl<'b, 'a, S: Session> Worker<'b, 'a, S> {
    pub(super) fn new(
        session: S,
        book: &'b Book<'a>,
        rng: SeededRng,
        (me, threads): (usize, usize),
    ) -> Worker<'b, 'a, S> {
        Worker {
            session,
            book,
            rng,
            me: me as i64,
            threads: threads as i64,
            effects: Vec::new(),
            saves: Vec::new(),
            tally: Tally::default(),
        }
    }

    /// Transaction after transaction, until the book is stopped or the store is gone.
    pub(super) fn work(mut self) -> Result<(), Failure> {
        while !self.book.is_stopped() {
            match self.transaction() {
                Ok(()) => {}
                // The transaction is rolled back already.
                Err(Failure::Victim) => self.tally.locked += 1,
                Err(other) => return Err(other),
            }
        }
        Ok(())
    }

    fn transaction(&mut self) -> Result<(), Failure> {
        self.effects.clear();
        self.saves.clear();
        self.session.begin()?;
        let most = if self.rng.random_ratio(1, 3) { 20 } else { 3 };
        for _ in 0..self.rng.random_range(1..=most) {
            if self.rng.random_ratio(1, 12) {
                self.save_or_return()?;
            } else {
                self.statement()?;
            }
        }
        if self.rng.random_ratio(1, 8) {
            self.tally.rollbacks += 1;
            return self.session.rollback();
        }
        let commit = self.book.begin(&self.effects);
        self.session.commit().map_err(|failure| match failure {
            Failure::Gone(why) => Failure::Gone(why),
            other => Failure::Wrong(format!("commit answers: {other}")),
        })?;
        self.book.acknowledge(commit);
        self.tally.commits += 1;
        Ok(())
    }

    fn save_or_return(&mut self) -> Result<(), Failure> {
        if !self.saves.is_empty() && self.rng.random_ratio(1, 2) {
            let number = self.rng.random_range(0..self.saves.len());
            self.effects.truncate(self.saves[number]);
            self.saves.truncate(number + 1);
            self.tally.partial_rollbacks += 1;
            return self.session.rollback_to(number);
        }
        self.saves.push(self.effects.len());
        self.session.save(self.saves.len() - 1)
    }

    /// What only this thread changes.
    fn own_view(&self, cell: Cell) -> Content {
        let own = self
            .effects
            .iter()
            .rev()
            .find(|(changed, _)| *changed == cell);
        own.map_or_else(|| self.book.settled(cell), |(_, content)| *content)
    }

    /// A table, a key, and whether no other thread changes that row.
    fn choose(&mut self) -> (u16, i64, bool) {
        let mine = LASTING_TABLES + self.me as u16;
        let table = self.rng.random_range(0..=LASTING_TABLES);
        if table == LASTING_TABLES && mine < TABLES {
            return (mine, self.rng.random_range(0..KEYS), true);
        }
        let owner = if self.rng.random_ratio(1, 4) {
            self.threads
        } else {
            self.me
        };
        let key = self.rng.random_range(0..KEYS) * (self.threads + 1) + owner;
        (table % LASTING_TABLES, key, owner == self.me)
    }

    fn statement(&mut self) -> Result<(), Failure> {
        self.tally.statements += 1;
        if self.me < i64::from(LOADED) && self.rng.random_ratio(1, 15) {
            return self.load();
        }
        let (table, key, own) = self.choose();
        let row = Cell::Row(table, key);
        if own && self.own_view(Cell::Table(table)).is_none() {
            return self.create_table(table);
        }
        if table >= LASTING_TABLES && self.rng.random_ratio(1, 25) {
            return self.drop_table(table);
        }
        let expected = own.then(|| self.own_view(row));
        let there = expected.flatten().is_some();
        let version = self.book.next_version();
        let dice = self.rng.random_range(0..100);
        let (done, content, refusal) = match dice {
            0..10 => return self.read(table, key, expected),
            10..55 => (
                self.session.insert(table, key, version),
                Some(version),
                Failure::Duplicate,
            ),
            55..80 => (
                self.session.update(table, key, version),
                Some(version),
                Failure::Missing,
            ),
            _ => (self.session.delete(table, key), None, Failure::Missing),
        };
        let wants_absence = refusal == Failure::Duplicate;
        match done {
            Ok(()) if !own || there != wants_absence => self.effects.push((row, content)),
            Err(failure) if failure == refusal && (!own || there == wants_absence) => {
                self.tally.missing += 1;
            }
            Err(Failure::Locked) => self.tally.locked += 1,
            Err(Failure::Full(_)) => self.tally.full += 1,
            Err(failure @ (Failure::Gone(_) | Failure::Victim | Failure::Wrong(_))) => {
                return Err(failure);
            }
            other => {
                let text =
                    format!("{row}, own {own}, there {there}, dice {dice}: answers {other:?}");
                return Err(Failure::Wrong(text));
            }
        }
        Ok(())
    }

    fn read(&mut self, table: u16, key: i64, expected: Option<Content>) -> Result<(), Failure> {
        match self.session.get(table, key) {
            Ok(content) if expected.is_none_or(|expected| expected == content) => Ok(()),
            Ok(content) => {
                let row = Cell::Row(table, key);
                Err(Failure::Wrong(format!(
                    "{row} reads {content:?}, expected {expected:?}"
                )))
            }
            Err(Failure::Locked) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// A bulk load behind the rows of a table of this thread's own; when that is full, it is dropped.
    fn load(&mut self) -> Result<(), Failure> {
        let table = TABLES + self.me as u16;
        if self.own_view(Cell::Table(table)).is_none() {
            return self.create_table(table);
        }
        let there = |key: &i64| self.own_view(Cell::Row(table, *key)).is_some();
        let first = (0..LOADED_KEYS).rev().find(there).map_or(0, |key| key + 1);
        let count = self.rng.random_range(1..=300);
        if first + count > LOADED_KEYS {
            return self.drop_table(table);
        }
        let rows: Vec<(i64, u64)> = (first..first + count)
            .map(|key| (key, self.book.next_version()))
            .collect();
        match self.session.load(table, &rows) {
            Ok(()) => {
                let loaded = rows.iter();
                let cells = loaded.map(|&(key, version)| (Cell::Row(table, key), Some(version)));
                self.effects.extend(cells);
                self.tally.loads += 1;
                self.tally.loaded_rows += rows.len() as u64;
                Ok(())
            }
            Err(Failure::Full(_)) => {
                self.tally.full += 1;
                Ok(())
            }
            Err(failure @ (Failure::Gone(_) | Failure::Victim)) => Err(failure),
            Err(other) => Err(Failure::Wrong(format!("load {table} answers: {other}"))),
        }
    }

    fn create_table(&mut self, table: u16) -> Result<(), Failure> {
        let version = self.book.next_version();
        match self.session.create_table(table, version) {
            Ok(()) => {
                self.tally.tables += 1;
                self.effects.push((Cell::Table(table), Some(version)));
                Ok(())
            }
            Err(Failure::Locked | Failure::Full(_)) => Ok(()),
            Err(failure @ (Failure::Gone(_) | Failure::Victim)) => Err(failure),
            Err(other) => Err(Failure::Wrong(format!(
                "create table {table} answers: {other}"
            ))),
        }
    }

    fn drop_table(&mut self, table: u16) -> Result<(), Failure> {
        match self.session.drop_table(table) {
            Ok(()) => {
                let keys = if table < TABLES { KEYS } else { LOADED_KEYS };
                let mut rows: BTreeMap<Cell, Content> = (0..keys)
                    .map(|key| Cell::Row(table, key))
                    .filter(|row| self.own_view(*row).is_some())
                    .map(|row| (row, None))
                    .collect();
                rows.insert(Cell::Table(table), None);
                self.effects.extend(rows);
                Ok(())
            }
            Err(Failure::Locked | Failure::Full(_)) => Ok(()),
            Err(failure @ (Failure::Gone(_) | Failure::Victim)) => Err(failure),
            Err(other) => Err(Failure::Wrong(format!(
                "drop table {table} answers: {other}"
            ))),
        }
    }
}
