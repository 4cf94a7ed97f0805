//! What spinning cost, by class.

use super::SpinClass;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
struct Cell {
    collisions: AtomicU64,
    spins: AtomicU64,
    backoffs: AtomicU64,
    sleep_us: AtomicU64,
}

/// Spinlock statistics of an instance: one row for each [`SpinClass`].
#[derive(Debug)]
pub struct SpinStats {
    cells: Box<[Cell]>,
}

impl Default for SpinStats {
    fn default() -> SpinStats {
        SpinStats {
            cells: SpinClass::ALL.iter().map(|_| Cell::default()).collect(),
        }
    }
}

impl SpinStats {
    /// Adds one collision and what it took to get the lock.
    pub(super) fn charge(&self, class: SpinClass, spins: u64, backoffs: u64, sleep_us: u64) {
        let cell = &self.cells[class as usize];
        cell.collisions.fetch_add(1, Relaxed);
        cell.spins.fetch_add(spins, Relaxed);
        cell.backoffs.fetch_add(backoffs, Relaxed);
        cell.sleep_us.fetch_add(sleep_us, Relaxed);
    }

    /// The row of one class.
    pub fn row(&self, class: SpinClass) -> SpinRow {
        let cell = &self.cells[class as usize];
        SpinRow {
            class,
            collisions: cell.collisions.load(Relaxed),
            spins: cell.spins.load(Relaxed),
            backoffs: cell.backoffs.load(Relaxed),
            sleep_us: cell.sleep_us.load(Relaxed),
        }
    }

    /// All rows, those without collisions too.
    pub fn snapshot(&self) -> Vec<SpinRow> {
        SpinClass::ALL
            .iter()
            .map(|class| self.row(*class))
            .collect()
    }

    /// What happened from `earlier` to `later`; a class that was cleared in between has its figures of
    /// `later`.
    pub fn delta(earlier: &[SpinRow], later: &[SpinRow]) -> Vec<SpinRow> {
        let of = |new: &SpinRow| earlier.iter().find(|old| old.class == new.class);
        let since = |new: &SpinRow| match of(new) {
            Some(old) if old.collisions <= new.collisions && old.spins <= new.spins => SpinRow {
                class: new.class,
                collisions: new.collisions - old.collisions,
                spins: new.spins - old.spins,
                backoffs: new.backoffs.saturating_sub(old.backoffs),
                sleep_us: new.sleep_us.saturating_sub(old.sleep_us),
            },
            _ => *new,
        };
        later.iter().map(since).collect()
    }

    /// Sets every figure to zero.
    pub fn clear(&self) {
        for cell in &self.cells {
            for atomic in [
                &cell.collisions,
                &cell.spins,
                &cell.backoffs,
                &cell.sleep_us,
            ] {
                atomic.store(0, Relaxed);
            }
        }
    }
}

/// The figures of one spinlock class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpinRow {
    /// The class.
    pub class: SpinClass,
    /// How often it was found held.
    pub collisions: u64,
    /// Pauses between the attempts.
    pub spins: u64,
    /// How often the processor was given up.
    pub backoffs: u64,
    /// Time asleep in back-offs.
    pub sleep_us: u64,
}

impl SpinRow {
    /// Spins for each collision; 0 without collisions.
    pub fn spins_per_collision(&self) -> f64 {
        if self.collisions == 0 {
            0.0
        } else {
            self.spins as f64 / self.collisions as f64
        }
    }
}
