//! Which statement comes next, and what it must answer.

use super::Work;
use crate::model::{Cell, Content};
use crate::rows::{Kind, LASTING_TABLES, LOADED, TABLES};
use crate::subject::{Failure, Session, Store};
use furrow_io::random::{IndexedRandom, Rng, SeededRng};
use std::fmt;

/// How often each kind of step is taken: drawn for each run, so that runs differ in kind and not only in
/// detail.
#[derive(Debug, Clone)]
pub struct Mix {
    /// Rows in a table, about.
    pub keys: i64,
    /// Sessions.
    pub sessions: usize,
    /// Of the data files added while the store is in use.
    pub files_to_add: u16,
    pub(super) service_in_1000: u32,
    pub(super) rollback_in_100: u32,
    pub(super) save_in_100: u32,
    most_statements: u32,
    insert: u32,
    update: u32,
    delete: u32,
    get: u32,
    define: u32,
    load_in_100: u32,
    /// Keys are put in at the end, not anywhere.
    ascending_in_100: u32,
}

impl Mix {
    /// Draws one.
    pub fn draw(rng: &mut SeededRng) -> Mix {
        Mix {
            keys: [10, 40, 120, 400][rng.random_range(0..4)],
            sessions: rng.random_range(1..=5),
            files_to_add: rng.random_range(0..=2),
            service_in_1000: [5, 20, 60, 150][rng.random_range(0..4)],
            rollback_in_100: [2, 10, 40][rng.random_range(0..3)],
            save_in_100: [0, 5, 20][rng.random_range(0..3)],
            most_statements: [1, 4, 20][rng.random_range(0..3)],
            insert: rng.random_range(20..=60),
            update: rng.random_range(5..=40),
            delete: rng.random_range(2..=35),
            get: rng.random_range(2..=10),
            define: [0, 1, 4][rng.random_range(0..3)],
            load_in_100: 0,
            ascending_in_100: [0, 50, 95][rng.random_range(0..3)],
        }
    }

    /// Bulk loads are to come as well.
    pub(crate) fn load_often(&mut self, rng: &mut SeededRng) {
        self.load_in_100 = [0, 2, 10, 25][rng.random_range(0..4)];
    }

    /// Checkpoints, clean-ups and new files are to come in a short workload too.
    pub(crate) fn serve_often(&mut self) {
        self.service_in_1000 = 150;
        self.files_to_add = 2;
        self.define = self.define.max(2);
    }

    pub(super) fn statements(&self, rng: &mut SeededRng) -> u32 {
        rng.random_range(1..=self.most_statements)
    }
}

/// A statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    Insert {
        table: u16,
        key: i64,
        version: u64,
        twin: bool,
    },
    /// Rows of ascending keys and versions; of those `swapped` the second half comes first.
    Load {
        table: u16,
        first: i64,
        count: u64,
        version: u64,
        swapped: bool,
    },
    Update {
        table: u16,
        key: i64,
        version: u64,
    },
    Delete {
        table: u16,
        key: i64,
    },
    Get {
        table: u16,
        key: i64,
    },
    CreateTable {
        table: u16,
        version: u64,
    },
    DropTable {
        table: u16,
    },
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Insert {
                table,
                key,
                version,
                twin,
            } => {
                let as_twin = if *twin { " as twin" } else { "" };
                write!(f, "insert {table}/{key} v{version}{as_twin}")
            }
            Op::Load {
                table,
                first,
                count,
                version,
                swapped,
            } => {
                let order = if *swapped { ", second half first" } else { "" };
                write!(
                    f,
                    "load {table}/{first} and on, {count} rows from v{version}{order}"
                )
            }
            Op::Update {
                table,
                key,
                version,
            } => write!(f, "update {table}/{key} v{version}"),
            Op::Delete { table, key } => write!(f, "delete {table}/{key}"),
            Op::Get { table, key } => write!(f, "get {table}/{key}"),
            Op::CreateTable { table, version } => write!(f, "create table {table} v{version}"),
            Op::DropTable { table } => write!(f, "drop table {table}"),
        }
    }
}

impl Op {
    /// What it answers: contents for a read.
    pub(super) fn perform<S: Session>(&self, session: &mut S) -> Result<Content, Failure> {
        match *self {
            Op::Insert {
                table,
                key,
                version,
                ..
            } => session.insert(table, key, version).map(|()| None),
            Op::Load { table, .. } => session.load(table, &self.loaded()).map(|()| None),
            Op::Update {
                table,
                key,
                version,
            } => session.update(table, key, version).map(|()| None),
            Op::Delete { table, key } => session.delete(table, key).map(|()| None),
            Op::Get { table, key } => session.get(table, key),
            Op::CreateTable { table, version } => {
                session.create_table(table, version).map(|()| None)
            }
            Op::DropTable { table } => session.drop_table(table).map(|()| None),
        }
    }

    fn table(&self) -> u16 {
        match self {
            Op::Insert { table, .. }
            | Op::Load { table, .. }
            | Op::Update { table, .. }
            | Op::Delete { table, .. }
            | Op::Get { table, .. }
            | Op::CreateTable { table, .. }
            | Op::DropTable { table } => *table,
        }
    }

    fn row(&self) -> Option<Cell> {
        match *self {
            Op::Insert { table, key, .. }
            | Op::Update { table, key, .. }
            | Op::Delete { table, key }
            | Op::Get { table, key } => Some(Cell::Row(table, key)),
            Op::Load { .. } | Op::CreateTable { .. } | Op::DropTable { .. } => None,
        }
    }

    /// Keys and versions of a load, in its order.
    fn loaded(&self) -> Vec<(i64, u64)> {
        let Op::Load {
            first,
            count,
            version,
            swapped,
            ..
        } = *self
        else {
            return Vec::new();
        };
        let mut rows: Vec<(i64, u64)> = (first..).zip(version..version + count).collect();
        if swapped {
            rows.rotate_left(count as usize / 2);
        }
        rows
    }
}

/// What a statement may answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Expected {
    answers: Vec<Result<Content, Failure>>,
}

impl Expected {
    pub(super) fn admits(&self, answer: &Result<Content, Failure>) -> Result<(), String> {
        if self.answers.contains(answer) {
            return Ok(());
        }
        Err(format!(
            "answers {answer:?}, expected one of {:?}",
            self.answers
        ))
    }
}

impl<S: Store> Work<'_, S> {
    pub(super) fn choose(&mut self, who: usize) -> Op {
        let mix = self.mix;
        if mix.load_in_100 > 0 && self.rng.random_ratio(mix.load_in_100, 100) {
            return self.choose_load(who);
        }
        let all = mix.insert + mix.update + mix.delete + mix.get + mix.define;
        let mut dice = self.rng.random_range(0..all);
        let mut falls_on = |weight: u32| {
            let hit = dice < weight;
            dice = dice.wrapping_sub(weight);
            hit
        };
        if falls_on(mix.define) {
            return self.choose_definition(who);
        }
        let (insert, update, delete) = (
            falls_on(mix.insert),
            falls_on(mix.update),
            falls_on(mix.delete),
        );
        let table = self.choose_table(who);
        if insert {
            return self.choose_insert(who, table);
        }
        let key = self.choose_key(who, table);
        if update {
            *self.version += 1;
            Op::Update {
                table,
                key,
                version: *self.version,
            }
        } else if delete {
            Op::Delete { table, key }
        } else {
            Op::Get { table, key }
        }
    }

    fn choose_definition(&mut self, who: usize) -> Op {
        let table = self.rng.random_range(LASTING_TABLES..TABLES);
        let exists = self.view(who, Cell::Table(table)).is_some();
        let against = self.rng.random_ratio(1, 10);
        if exists == against {
            *self.version += 1;
            return Op::CreateTable {
                table,
                version: *self.version,
            };
        }
        Op::DropTable { table }
    }

    /// A load; or what there must be before, or after a while.
    fn choose_load(&mut self, who: usize) -> Op {
        let table = TABLES + self.rng.random_range(0..LOADED.min(2));
        if self.view(who, Cell::Table(table)).is_none() {
            *self.version += 1;
            return Op::CreateTable {
                table,
                version: *self.version,
            };
        }
        let rows = self.rows_of(table);
        if rows.len() > 1200 || self.rng.random_ratio(1, 40) {
            return Op::DropTable { table };
        }
        let last = rows.last().map_or(0, |cell| match cell {
            Cell::Row(_, key) => *key,
            _ => 0,
        });
        let first = match self.rng.random_ratio(1, 8) {
            true => self.rng.random_range(0..=last + 2),
            false => last + self.rng.random_range(1..=60),
        };
        let most = [12, 150, 500][self.rng.random_range(0..3)];
        let count = self.rng.random_range(1..=most);
        let version = *self.version + 1;
        *self.version += count;
        Op::Load {
            table,
            first,
            count,
            version,
            swapped: self.rng.random_ratio(1, 4),
        }
    }

    /// Mostly one that is there.
    fn choose_table(&mut self, who: usize) -> u16 {
        if self.mix.load_in_100 > 0 && self.rng.random_ratio(1, 4) {
            let loaded = TABLES + self.rng.random_range(0..LOADED.min(2));
            if self.view(who, Cell::Table(loaded)).is_some() {
                return loaded;
            }
        }
        let table = self.rng.random_range(0..TABLES);
        if self.view(who, Cell::Table(table)).is_none() && self.rng.random_ratio(9, 10) {
            return self.rng.random_range(0..LASTING_TABLES);
        }
        table
    }

    fn choose_insert(&mut self, who: usize, table: u16) -> Op {
        let key = if self.rng.random_ratio(self.mix.ascending_in_100, 100) {
            let last = self
                .model
                .settled()
                .range(..=Cell::Row(table, i64::MAX))
                .next_back();
            let last = last.map_or(0, |(c, _)| {
                if let Cell::Row(t, k) = c {
                    (*t, *k).1
                } else {
                    0
                }
            });
            last + self.rng.random_range(1..=3)
        } else {
            self.rng.random_range(0..self.mix.keys)
        };
        if self.rng.random_ratio(1, 25)
            && let Some(version) = self.version_of_another(who, table, key)
        {
            return Op::Insert {
                table,
                key,
                version,
                twin: true,
            };
        }
        *self.version += 1;
        Op::Insert {
            table,
            key,
            version: *self.version,
            twin: false,
        }
    }

    /// The version of some other row that is there: what a unique index must refuse.
    fn version_of_another(&mut self, who: usize, table: u16, key: i64) -> Option<u64> {
        if !Kind::of(table).has_unique_twin() || self.view(who, Cell::Table(table)).is_none() {
            return None;
        }
        let rows: Vec<Cell> = self.rows_of(table).into_iter().collect();
        let other = *rows.choose(self.rng)?;
        (other != Cell::Row(table, key) && !self.is_touched_by_others(who, other))
            .then(|| self.view(who, other))?
    }

    /// Mostly of a row that is there.
    fn choose_key(&mut self, who: usize, table: u16) -> i64 {
        let pick = self.rng.random_range(0..self.mix.keys);
        if self.rng.random_ratio(1, 12) {
            return pick;
        }
        let own = self.actors[who]
            .txn
            .as_ref()
            .filter(|_| self.rng.random_ratio(1, 4));
        let own = own.and_then(|txn| txn.effects.choose(self.rng));
        if let Some((Cell::Row(of, key), Some(_))) = own
            && *of == table
        {
            return *key;
        }
        let after = self.model.settled().range(Cell::Row(table, pick)..).next();
        match after {
            Some((Cell::Row(of, key), _)) if *of == table => *key,
            _ => pick,
        }
    }

    /// Rows of a table that are settled or that a session has changed.
    pub(super) fn rows_of(&self, table: u16) -> std::collections::BTreeSet<Cell> {
        let range = Cell::Row(table, i64::MIN)..=Cell::Row(table, i64::MAX);
        let settled = self
            .model
            .settled()
            .range(range.clone())
            .map(|(cell, _)| *cell);
        let under_way = self.actors.iter().filter_map(|a| a.txn.as_ref());
        let touched = under_way.flat_map(|txn| txn.effects.iter().map(|(cell, _)| *cell));
        settled
            .chain(touched.filter(|cell| range.contains(cell)))
            .collect()
    }

    fn others(&self, who: usize) -> impl Iterator<Item = &super::actor::Txn> {
        let others = self
            .actors
            .iter()
            .enumerate()
            .filter(move |(n, _)| *n != who);
        others.filter_map(|(_, actor)| actor.txn.as_ref())
    }

    fn is_touched_by_others(&self, who: usize, cell: Cell) -> bool {
        self.others(who).any(|txn| txn.seen(cell).is_some())
    }

    pub(super) fn expect(&self, who: usize, op: &Op) -> Expected {
        let table = op.table();
        if self.is_touched_by_others(who, Cell::Table(table)) {
            // Not to be seen, or locked: but never as if it were there.
            let answers = vec![
                Err(Failure::Locked),
                Err(Failure::Missing),
                Err(Failure::Duplicate),
            ];
            return Expected { answers };
        }
        let there = self.view(who, Cell::Table(table)).is_some();
        let answer = match op.row() {
            None if !matches!(op, Op::Load { .. }) => self.expect_definition(who, op, there),
            _ if !there => Err(Failure::Missing),
            None => return self.expect_load(who, op),
            Some(row) if self.is_touched_by_others(who, row) => Err(Failure::Locked),
            Some(row) => {
                let content = self.view(who, row);
                match op {
                    Op::Insert { .. } if content.is_some() => Err(Failure::Duplicate),
                    Op::Insert {
                        version,
                        twin: true,
                        ..
                    } if self.has_twin(who, table, *version) => Err(Failure::Duplicate),
                    Op::Update { .. } | Op::Delete { .. } if content.is_none() => {
                        Err(Failure::Missing)
                    }
                    Op::Get { .. } => Ok(content),
                    _ => Ok(None),
                }
            }
        };
        let mut answers = vec![answer];
        if self.others(who).next().is_some() && answers[0] != Err(Failure::Locked) {
            answers.push(Err(Failure::Locked));
        }
        if self.is_surely_there(who, op) {
            answers.push(Err(Failure::Duplicate));
        }
        Expected { answers }
    }

    /// A load leaves nothing when it meets a row that exists, or a lock.
    fn expect_load(&self, who: usize, op: &Op) -> Expected {
        let table = op.table();
        let loaded = op.loaded().into_iter();
        let cells: Vec<Cell> = loaded.map(|(key, _)| Cell::Row(table, key)).collect();
        let mut answers = Vec::new();
        if cells.iter().any(|&cell| self.view(who, cell).is_some()) {
            answers.push(Err(Failure::Duplicate));
        }
        if self.others(who).next().is_some() {
            answers.push(Err(Failure::Locked));
        }
        let touched = cells
            .iter()
            .any(|&cell| self.is_touched_by_others(who, cell));
        if !touched && answers.first() != Some(&Err(Failure::Duplicate)) {
            answers.push(Ok(None));
        }
        Expected { answers }
    }

    /// Whether a key that is to be inserted into a heap is there for any outcome of the transactions that
    /// have changed its row. Their lock is on the row's address, and the index entry of the key is not
    /// locked.
    fn is_surely_there(&self, who: usize, op: &Op) -> bool {
        let (Op::Insert { .. }, Some(row)) = (op, op.row()) else {
            return false;
        };
        Kind::of(op.table()) == Kind::Heap
            && self.view(who, row).is_some()
            && self
                .others(who)
                .filter_map(|txn| txn.seen(row))
                .all(|content| content.is_some())
    }

    fn expect_definition(&self, who: usize, op: &Op, there: bool) -> Result<Content, Failure> {
        if matches!(op, Op::CreateTable { .. }) {
            return if there {
                Err(Failure::Duplicate)
            } else {
                Ok(None)
            };
        }
        if there && self.others(who).any(|txn| txn.touches_table(op.table())) {
            return Err(Failure::Locked);
        }
        if there {
            Ok(None)
        } else {
            Err(Failure::Missing)
        }
    }

    fn has_twin(&self, who: usize, table: u16, version: u64) -> bool {
        Kind::of(table).has_unique_twin()
            && self
                .rows_of(table)
                .into_iter()
                .any(|row| self.view(who, row) == Some(version))
    }

    /// What a statement that succeeded has done.
    pub(super) fn effects(&self, who: usize, op: &Op) -> Vec<(Cell, Content)> {
        match *op {
            Op::Insert {
                table,
                key,
                version,
                ..
            }
            | Op::Update {
                table,
                key,
                version,
            } => {
                vec![(Cell::Row(table, key), Some(version))]
            }
            Op::Load { table, .. } => {
                let row = |(key, version)| (Cell::Row(table, key), Some(version));
                op.loaded().into_iter().map(row).collect()
            }
            Op::Delete { table, key } => vec![(Cell::Row(table, key), None)],
            Op::Get { .. } => Vec::new(),
            Op::CreateTable { table, version } => vec![(Cell::Table(table), Some(version))],
            Op::DropTable { table } => {
                let rows = self.rows_of(table).into_iter();
                let there = rows.filter(|row| self.view(who, *row).is_some());
                let gone = there.chain([Cell::Table(table)]);
                gone.map(|cell| (cell, None)).collect()
            }
        }
    }
}
