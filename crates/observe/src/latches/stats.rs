//! What waiting for latches cost, by class.

use super::kinds::LatchClass;
use super::pages::PageLatchStats;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
struct Cell {
    waits: AtomicU64,
    wait_us: AtomicU64,
    max_us: AtomicU64,
}

/// Latch statistics of an instance: one row for each [`LatchClass`].
#[derive(Debug)]
pub struct LatchStats {
    cells: Box<[Cell]>,
    /// The waits of [`LatchClass::Buffer`] by kind of page.
    pub pages: PageLatchStats,
}

impl Default for LatchStats {
    fn default() -> LatchStats {
        LatchStats {
            cells: LatchClass::ALL.iter().map(|_| Cell::default()).collect(),
            pages: PageLatchStats::default(),
        }
    }
}

impl LatchStats {
    /// Adds a wait that ended.
    pub fn charge(&self, class: LatchClass, wait_us: u64) {
        let cell = &self.cells[class as usize];
        cell.waits.fetch_add(1, Relaxed);
        cell.wait_us.fetch_add(wait_us, Relaxed);
        cell.max_us.fetch_max(wait_us, Relaxed);
    }

    /// The row of one class.
    pub fn row(&self, class: LatchClass) -> LatchRow {
        let cell = &self.cells[class as usize];
        LatchRow {
            class,
            waiting_requests: cell.waits.load(Relaxed),
            wait_us: cell.wait_us.load(Relaxed),
            max_us: cell.max_us.load(Relaxed),
        }
    }

    /// All rows, those without waits too.
    pub fn snapshot(&self) -> Vec<LatchRow> {
        LatchClass::ALL
            .iter()
            .map(|class| self.row(*class))
            .collect()
    }

    /// What happened from `earlier` to `later`; a class that was cleared in between has its figures of
    /// `later`. `max_us` is an upper bound of the interval's longest wait.
    pub fn delta(earlier: &[LatchRow], later: &[LatchRow]) -> Vec<LatchRow> {
        let of = |new: &LatchRow| earlier.iter().find(|old| old.class == new.class);
        let since = |new: &LatchRow| match of(new) {
            Some(old)
                if old.waiting_requests <= new.waiting_requests && old.wait_us <= new.wait_us =>
            {
                let wait_us = new.wait_us - old.wait_us;
                LatchRow {
                    class: new.class,
                    waiting_requests: new.waiting_requests - old.waiting_requests,
                    wait_us,
                    max_us: new.max_us.min(wait_us),
                }
            }
            _ => *new,
        };
        later.iter().map(since).collect()
    }

    /// Sets every figure to zero.
    pub fn clear(&self) {
        self.pages.clear();
        for cell in &self.cells {
            for atomic in [&cell.waits, &cell.wait_us, &cell.max_us] {
                atomic.store(0, Relaxed);
            }
        }
    }
}

/// The figures of one latch class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatchRow {
    /// The class.
    pub class: LatchClass,
    /// Requests that had to wait.
    pub waiting_requests: u64,
    /// Their waiting time.
    pub wait_us: u64,
    /// The longest of them.
    pub max_us: u64,
}
