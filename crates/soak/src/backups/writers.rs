//! Writers whose transactions follow from their numbers.

use super::machine::{Machine, OTHER};
use crate::engine::failure;
use crate::model::{Cell, State};
use crate::rows::TABLES;
use crate::subject::{Failure, Session as _, Store as _};
use furrow_io::random::{Rng, seeded};
use furrow_io::sync::atomic::{AtomicBool, Ordering};
use furrow_io::thread;
use std::collections::BTreeMap;

/// Tables of rows, and one that is loaded in bulk.
const TABLES_USED: [u16; 4] = [0, 2, 3, TABLES];
/// Keys of a table.
const KEYS: i64 = 150;
/// Rows of a load: more than minimal logging needs.
const LOADED_ROWS: i64 = 120;
/// Most transactions of a writer beside one backup.
const MOST_BESIDE: u64 = 60;

/// The rows of a table: keys and versions.
type Rows = BTreeMap<i64, u64>;

/// A writer: the transactions of one table.
#[derive(Debug, Clone)]
struct Writer {
    table: u16,
    seed: u64,
    /// Transactions that were acknowledged, and that were begun.
    acknowledged: u64,
    begun: u64,
    rows: Rows,
}

/// What a transaction does with a key: another version, or none.
type Change = (i64, Option<u64>);

impl Writer {
    /// What its transaction of this number does.
    fn changes(&self, number: u64) -> Vec<Change> {
        let mut rng = seeded(self.seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        if self.table == TABLES {
            let first = number as i64 * LOADED_ROWS;
            let rows = rng.random_range(1..=LOADED_ROWS);
            return (first..first + rows)
                .map(|key| (key, Some(number)))
                .collect();
        }
        let steps = rng.random_range(1..8);
        let mut changes: BTreeMap<i64, Option<u64>> = BTreeMap::new();
        for step in 0..steps {
            let version = (!rng.random_ratio(1, 4)).then_some(number * 8 + step + 1);
            changes.insert(rng.random_range(0..KEYS), version);
        }
        changes.into_iter().collect()
    }

    fn apply(rows: &mut Rows, changes: &[Change]) {
        for &(key, version) in changes {
            match version {
                Some(version) => drop(rows.insert(key, version)),
                None => drop(rows.remove(&key)),
            }
        }
    }

    /// The rows after so many transactions.
    fn rows_after(&self, count: u64) -> Rows {
        let mut rows = Rows::new();
        for number in 1..=count {
            Writer::apply(&mut rows, &self.changes(number));
        }
        rows
    }

    /// Its next transaction. Now and then one is rolled back before it.
    fn go(&mut self, machine: &Machine) -> Result<(), Failure> {
        let number = self.begun + 1;
        let changes = self.changes(number);
        let mut session = machine.store()?.session()?;
        self.begun = number;
        if self.table == TABLES {
            let rows: Vec<(i64, u64)> = changes
                .iter()
                .filter_map(|&(key, version)| Some((key, version?)))
                .collect();
            session.load(self.table, &rows)?;
        } else {
            for rolled_back in [number.is_multiple_of(5), false] {
                session.begin()?;
                for &(key, version) in &changes {
                    match (version, self.rows.contains_key(&key)) {
                        (Some(version), true) => session.update(self.table, key, version)?,
                        (Some(version), false) => session.insert(self.table, key, version)?,
                        (None, true) => session.delete(self.table, key)?,
                        (None, false) => {}
                    }
                }
                if !rolled_back {
                    break;
                }
                session.rollback()?;
            }
            session.commit()?;
        }
        Writer::apply(&mut self.rows, &changes);
        self.acknowledged = number;
        Ok(())
    }
}

/// All writers.
#[derive(Debug)]
pub(super) struct Writers(Vec<Writer>);

impl Writers {
    pub(super) fn new(seed: u64, machine: &Machine) -> Result<Writers, Failure> {
        let mut session = machine.store()?.session()?;
        let db = machine.database()?;
        for (at, table) in TABLES_USED.into_iter().enumerate() {
            // Half of the tables lie in the other filegroup.
            let group = if at % 2 == 0 { "PRIMARY" } else { OTHER };
            match db.set_default_filegroup(group) {
                Ok(()) => {}
                // It is the default one.
                Err(e) if e.has(5045) => {}
                Err(e) => return Err(failure(e)),
            }
            session.create_table(table, 1)?;
        }
        let writer = |table: u16| Writer {
            table,
            seed: seed ^ u64::from(table) << 40,
            acknowledged: 0,
            begun: 0,
            rows: Rows::new(),
        };
        Ok(Writers(TABLES_USED.into_iter().map(writer).collect()))
    }

    pub(super) fn acknowledged(&self) -> Vec<u64> {
        self.0.iter().map(|w| w.acknowledged).collect()
    }

    pub(super) fn begun(&self) -> Vec<u64> {
        self.0.iter().map(|w| w.begun).collect()
    }

    /// So many transactions, one after the other.
    pub(super) fn work(&mut self, machine: &Machine, transactions: u64) -> Result<(), Failure> {
        let count = self.0.len() as u64;
        for number in 0..transactions {
            let at = (number % count) as usize;
            if let Some(writer) = self.0.get_mut(at) {
                writer.go(machine)?;
            }
        }
        Ok(())
    }

    /// Each writer on a thread of its own while `work` is done.
    pub(super) fn beside<T>(
        &mut self,
        machine: &Machine,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for writer in &mut self.0 {
                let stop = &stop;
                let body = move || {
                    for _ in 0..MOST_BESIDE {
                        if stop.load(Ordering::SeqCst) {
                            break;
                        }
                        writer.go(machine)?;
                    }
                    Ok::<(), Failure>(())
                };
                let spawned = thread::spawn_scoped(scope, "writer", body);
                threads.push(spawned.map_err(|e| Failure::Wrong(e.to_string()))?);
            }
            let done = work();
            stop.store(true, Ordering::SeqCst);
            for thread in threads {
                let ended = thread.join();
                ended.map_err(|_| Failure::Wrong("a writer panicked".to_owned()))??;
            }
            done
        })
    }

    /// How many transactions of each writer the state has: between these numbers.
    pub(super) fn counts(
        &self,
        state: &State,
        (from, to): (&[u64], &[u64]),
    ) -> Result<Vec<u64>, Failure> {
        let mut counts = Vec::new();
        for ((writer, &from), &to) in self.0.iter().zip(from).zip(to) {
            let cells = state.iter().filter_map(|(cell, &version)| match *cell {
                Cell::Row(table, key) if table == writer.table => Some((key, version)),
                _ => None,
            });
            let there: Rows = cells.collect();
            let count = (from..=to).find(|&count| writer.rows_after(count) == there);
            let count = count.ok_or_else(|| {
                Failure::Wrong(format!(
                    "table {} has the rows of no number of transactions from {from} to {to}: {there:?}",
                    writer.table
                ))
            })?;
            counts.push(count);
        }
        Ok(counts)
    }

    /// The writers go on behind so many transactions.
    pub(super) fn resume(&mut self, counts: &[u64]) {
        for (writer, &count) in self.0.iter_mut().zip(counts) {
            writer.rows = writer.rows_after(count);
            (writer.acknowledged, writer.begun) = (count, count);
        }
    }
}
