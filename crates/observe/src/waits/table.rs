//! The table of wait statistics and its snapshots.

use super::WaitType;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
struct Cell {
    count: AtomicU64,
    total_us: AtomicU64,
    max_us: AtomicU64,
    signal_us: AtomicU64,
}

/// Copies of an instance's table in memory, so that threads on different processors rarely write to the same
/// cache line. A power of two.
const SHARDS: usize = 8;

/// Wait statistics of an instance or of a session: one row for each [`WaitType`].
pub struct WaitTable {
    /// One shard after the other, each with a cell for every type.
    cells: Box<[Cell]>,
    shards: usize,
}

/// An instance's: [`WaitTable::sharded`].
impl Default for WaitTable {
    fn default() -> WaitTable {
        WaitTable::sharded()
    }
}

impl std::fmt::Debug for WaitTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.snapshot().rows.iter().filter(|row| row.count > 0))
            .finish()
    }
}

impl WaitTable {
    /// A table of zeros, for few threads: a session's.
    pub fn new() -> WaitTable {
        WaitTable::of(1)
    }

    /// A table of zeros that many threads charge at once: an instance's.
    pub(crate) fn sharded() -> WaitTable {
        WaitTable::of(SHARDS)
    }

    fn of(shards: usize) -> WaitTable {
        let kinds = WaitType::ALL.iter().cycle();
        let cells = kinds.take(shards * WaitType::ALL.len());
        WaitTable {
            cells: cells.map(|_| Cell::default()).collect(),
            shards,
        }
    }

    fn cell(&self, task: u64, kind: WaitType) -> &Cell {
        let shard = task as usize & (self.shards - 1);
        &self.cells[shard * WaitType::ALL.len() + kind as usize]
    }

    /// Counts a wait of a task that begins.
    pub fn begin(&self, task: u64, kind: WaitType) {
        self.cell(task, kind).count.fetch_add(1, Relaxed);
    }

    /// Adds the time of a task's wait that ended: the whole, and the part after the signal.
    pub fn end(&self, task: u64, kind: WaitType, total_us: u64, signal_us: u64) {
        let cell = self.cell(task, kind);
        cell.total_us.fetch_add(total_us, Relaxed);
        if cell.max_us.load(Relaxed) < total_us {
            cell.max_us.fetch_max(total_us, Relaxed);
        }
        if signal_us > 0 {
            cell.signal_us.fetch_add(signal_us.min(total_us), Relaxed);
        }
    }

    /// The row of one type, with its figures at this moment.
    pub fn row(&self, kind: WaitType) -> WaitRow {
        let mut row = WaitRow {
            wait_type: kind,
            count: 0,
            total_us: 0,
            max_us: 0,
            signal_us: 0,
        };
        for shard in 0..self.shards as u64 {
            let cell = self.cell(shard, kind);
            row.count += cell.count.load(Relaxed);
            row.total_us += cell.total_us.load(Relaxed);
            row.max_us = row.max_us.max(cell.max_us.load(Relaxed));
            row.signal_us += cell.signal_us.load(Relaxed);
        }
        row
    }

    /// All rows as they stand now, those without waits too. Rows are read one after the other: waits
    /// that end meanwhile may be in one row and not yet in another.
    pub fn snapshot(&self) -> WaitSnapshot {
        WaitSnapshot {
            rows: WaitType::ALL.iter().map(|kind| self.row(*kind)).collect(),
        }
    }

    /// Sets every figure to zero. Waits under way add their time when they end.
    pub fn clear(&self) {
        for cell in &self.cells {
            for atomic in [&cell.count, &cell.total_us, &cell.max_us, &cell.signal_us] {
                atomic.store(0, Relaxed);
            }
        }
    }
}

/// The figures of one wait type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRow {
    /// The type.
    pub wait_type: WaitType,
    /// Waits begun.
    pub count: u64,
    /// Time of the waits that ended, signal time included.
    pub total_us: u64,
    /// The longest wait that ended.
    pub max_us: u64,
    /// The part of `total_us` between the signal and the thread's running again.
    pub signal_us: u64,
}

impl WaitRow {
    /// Time until the thing waited for was there.
    #[cfg(test)]
    pub(crate) fn resource_us(&self) -> u64 {
        self.total_us.saturating_sub(self.signal_us)
    }
}

/// Wait statistics at one moment, or between two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSnapshot {
    /// One row for each type, in the order of [`WaitType::ALL`].
    pub rows: Vec<WaitRow>,
}

impl WaitSnapshot {
    /// What happened from `earlier` to `later`. The longest wait of the interval does not follow from two
    /// cumulative maxima: `max_us` is an upper bound of it, 0 when no wait ended. A type whose figures went
    /// down was cleared in between: then it has its figures of `later`.
    pub fn delta(earlier: &WaitSnapshot, later: &WaitSnapshot) -> WaitSnapshot {
        let rows = later.rows.iter().map(|new| {
            let old = earlier
                .rows
                .iter()
                .find(|old| old.wait_type == new.wait_type);
            match old {
                Some(old) if old.count <= new.count && old.total_us <= new.total_us => {
                    let total_us = new.total_us - old.total_us;
                    WaitRow {
                        wait_type: new.wait_type,
                        count: new.count - old.count,
                        total_us,
                        max_us: if total_us == 0 {
                            0
                        } else {
                            new.max_us.min(total_us)
                        },
                        signal_us: new.signal_us.saturating_sub(old.signal_us),
                    }
                }
                _ => *new,
            }
        });
        WaitSnapshot {
            rows: rows.collect(),
        }
    }

    /// The row of one type; zeros when the snapshot comes from a version that lacked the type.
    pub fn row(&self, kind: WaitType) -> WaitRow {
        let found = self.rows.iter().find(|row| row.wait_type == kind);
        let none = WaitRow {
            wait_type: kind,
            count: 0,
            total_us: 0,
            max_us: 0,
            signal_us: 0,
        };
        found.copied().unwrap_or(none)
    }

    /// The waits that matter: benign types left out, ranked by time, until they cover `share` (0 to 1) of all
    /// the time. The row that crosses the share is the last.
    pub fn top(&self, share: f64) -> Vec<TopWait> {
        let mut rows: Vec<WaitRow> = self.rows.clone();
        rows.retain(|row| row.total_us > 0 && !row.wait_type.is_benign());
        rows.sort_by(|a, b| {
            b.total_us
                .cmp(&a.total_us)
                .then(a.wait_type.cmp(&b.wait_type))
        });
        let all_us: u64 = rows.iter().map(|row| row.total_us).sum();
        let mut reported = 0.0;
        let mut top = Vec::new();
        for row in rows {
            if reported >= share {
                break;
            }
            let part = row.total_us as f64 / all_us as f64;
            reported += part;
            top.push(TopWait { row, share: part });
        }
        top
    }
}

/// A line of a list of top waits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TopWait {
    /// The figures.
    pub row: WaitRow,
    /// Its part of the time of all waits that are not benign, 0 to 1.
    pub share: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_counted_at_its_start_and_timed_at_its_end() {
        let table = WaitTable::new();
        table.begin(0, WaitType::WriteLog);
        assert_eq!(
            (
                table.row(WaitType::WriteLog).count,
                table.row(WaitType::WriteLog).total_us
            ),
            (1, 0)
        );
        table.end(0, WaitType::WriteLog, 500, 20);
        table.begin(0, WaitType::WriteLog);
        table.end(0, WaitType::WriteLog, 300, 900);
        let row = table.row(WaitType::WriteLog);
        assert_eq!(
            (row.count, row.total_us, row.max_us, row.signal_us),
            (2, 800, 500, 320)
        );
        assert_eq!(row.resource_us(), 480);
    }

    #[test]
    fn sums_of_many_threads_add_up_and_the_maximum_is_the_maximum() {
        let table = WaitTable::sharded();
        furrow_io::thread::scope(|scope| {
            for worker in 0..4u64 {
                let table = &table;
                scope.spawn(move || {
                    for turn in 1..=1000 {
                        table.begin(worker, WaitType::LckMX);
                        table.end(worker, WaitType::LckMX, turn + worker * 1000, 1);
                    }
                });
            }
        });
        let row = table.row(WaitType::LckMX);
        let sum: u64 = (0..4)
            .map(|worker| (1..=1000).map(|t| t + worker * 1000).sum::<u64>())
            .sum();
        assert_eq!(
            (row.count, row.total_us, row.max_us, row.signal_us),
            (4000, sum, 4000, 4000)
        );
        let others: u64 = table.snapshot().rows.iter().map(|row| row.count).sum();
        assert_eq!(others, 4000, "no other type was touched");
    }

    #[test]
    fn a_delta_is_what_happened_in_between() {
        let table = WaitTable::new();
        table.begin(0, WaitType::WriteLog);
        table.end(0, WaitType::WriteLog, 900, 100);
        let before = table.snapshot();
        table.begin(0, WaitType::WriteLog);
        table.end(0, WaitType::WriteLog, 40, 10);
        let delta = WaitSnapshot::delta(&before, &table.snapshot());
        let row = delta.row(WaitType::WriteLog);
        assert_eq!((row.count, row.total_us, row.signal_us), (1, 40, 10));
        assert_eq!(row.max_us, 40, "a maximum cannot exceed the interval's sum");
        assert_eq!(delta.row(WaitType::LckMX).max_us, 0);
    }

    #[test]
    fn a_delta_over_a_clear_is_the_later_snapshot() {
        let table = WaitTable::new();
        table.begin(0, WaitType::WriteLog);
        table.end(0, WaitType::WriteLog, 900, 100);
        let before = table.snapshot();
        table.clear();
        assert_eq!(table.row(WaitType::WriteLog).count, 0);
        table.begin(0, WaitType::WriteLog);
        table.end(0, WaitType::WriteLog, 7, 1);
        let delta = WaitSnapshot::delta(&before, &table.snapshot());
        assert_eq!(delta.row(WaitType::WriteLog).total_us, 7);
    }

    #[test]
    fn top_waits_leave_out_benign_types_and_stop_at_the_share() {
        let table = WaitTable::new();
        for (kind, us) in [
            (WaitType::LogMgrQueue, 1_000_000),
            (WaitType::PageLatchEx, 700),
            (WaitType::WriteLog, 260),
            (WaitType::PageLatchSh, 40),
        ] {
            table.begin(0, kind);
            table.end(0, kind, us, 0);
        }
        let top = table.snapshot().top(0.95);
        let names: Vec<&str> = top.iter().map(|line| line.row.wait_type.name()).collect();
        assert_eq!(names, ["PAGELATCH_EX", "WRITELOG"]);
        assert!((top[0].share - 0.7).abs() < 1e-9);
    }
}
