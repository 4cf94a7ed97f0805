//! How long the latches of PFS, GAM and SGAM pages were held UP or EX, page by page.
//!
//! A holder is charged after it has released the latch, so that timing lengthens the holding time by one
//! reading of the clock. Sums of squares are stored as well: a queueing model of the latch needs the second
//! moment. A hold of more than 100 us is counted apart, since its holder most likely lost its
//! processor meanwhile.

use super::page_key::{MOST_PAGES, PageLatchKey};
use furrow_io::sync::RwLock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Longer holds are counted as long ones: the work under the latch of an allocation page takes single
/// microseconds.
const LONG_HOLD_NS: u64 = 100_000;
/// Squares are of units of so many nanoseconds: 10^9 holds of 2 ms each fit a counter.
const SQUARE_UNIT_NS: u64 = 16;

/// The holding times of one page's latch.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HoldTotals {
    /// Times that it was held UP or EX.
    pub holds: u64,
    /// Their sum.
    pub hold_ns: u64,
    /// The sum of their squares, in square microseconds.
    pub hold_us2: f64,
    /// The longest.
    pub max_ns: u64,
    /// Holds of more than 100 us, which the other figures include.
    pub long_holds: u64,
    /// The sum of those.
    pub long_ns: u64,
}

#[derive(Debug, Default)]
struct Cell {
    holds: AtomicU64,
    ns: AtomicU64,
    squares: AtomicU64,
    max_ns: AtomicU64,
    long_holds: AtomicU64,
    long_ns: AtomicU64,
}

impl Cell {
    fn add(&self, ns: u64) {
        let units = ns / SQUARE_UNIT_NS;
        self.holds.fetch_add(1, Relaxed);
        self.ns.fetch_add(ns, Relaxed);
        self.squares.fetch_add(units.saturating_mul(units), Relaxed);
        self.max_ns.fetch_max(ns, Relaxed);
        if ns > LONG_HOLD_NS {
            self.long_holds.fetch_add(1, Relaxed);
            self.long_ns.fetch_add(ns, Relaxed);
        }
    }

    fn totals(&self) -> HoldTotals {
        let unit_us = SQUARE_UNIT_NS as f64 / 1e3;
        // Parts before wholes: a hold that is added meanwhile leaves no part greater than its whole.
        let (long_ns, long_holds) = (self.long_ns.load(Relaxed), self.long_holds.load(Relaxed));
        let (max_ns, squares) = (self.max_ns.load(Relaxed), self.squares.load(Relaxed));
        let hold_ns = self.ns.load(Relaxed);
        HoldTotals {
            holds: self.holds.load(Relaxed),
            hold_ns,
            hold_us2: squares as f64 * unit_us * unit_us,
            max_ns,
            long_holds,
            long_ns,
        }
    }
}

/// Holding times by page.
#[derive(Debug, Default)]
pub(super) struct HoldStats {
    /// Written when a page is latched for the first time, and when everything is cleared.
    cells: RwLock<BTreeMap<PageLatchKey, Cell>>,
}

impl HoldStats {
    pub(super) fn charge(&self, key: PageLatchKey, ns: u64) {
        if let Some(cell) = self.cells.read().get(&key) {
            cell.add(ns);
            return;
        }
        let mut cells = self.cells.write();
        let key = if cells.len() >= MOST_PAGES {
            PageLatchKey { page: None, ..key }
        } else {
            key
        };
        cells.entry(key).or_default().add(ns);
    }

    pub(super) fn snapshot(&self) -> Vec<(PageLatchKey, HoldTotals)> {
        let cells = self.cells.read();
        cells
            .iter()
            .map(|(key, cell)| (*key, cell.totals()))
            .collect()
    }

    pub(super) fn clear(&self) {
        self.cells.write().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latches::PageKind;

    fn key(page: u32) -> PageLatchKey {
        PageLatchKey {
            db: 2,
            kind: PageKind::Pfs,
            mode: "UP",
            page: Some((1, page)),
        }
    }

    #[test]
    fn holds_are_summed_with_their_squares_and_long_ones_apart() {
        let stats = HoldStats::default();
        for ns in [1_600, 3_200, 160_000] {
            stats.charge(key(1), ns);
        }
        let totals = stats.snapshot()[0].1;
        assert_eq!(
            (totals.holds, totals.hold_ns, totals.max_ns),
            (3, 164_800, 160_000)
        );
        assert_eq!((totals.long_holds, totals.long_ns), (1, 160_000));
        let squares = 1.6_f64.powi(2) + 3.2_f64.powi(2) + 160.0_f64.powi(2);
        assert!(
            (totals.hold_us2 - squares).abs() < 1e-6,
            "{}",
            totals.hold_us2
        );
        stats.clear();
        assert!(stats.snapshot().is_empty());
    }

    #[test]
    fn pages_are_bounded_and_no_hold_is_lost() {
        let stats = HoldStats::default();
        for page in 0..MOST_PAGES as u32 + 50 {
            stats.charge(key(page), 100);
        }
        let rows = stats.snapshot();
        assert_eq!(rows.len(), MOST_PAGES + 1);
        let holds: u64 = rows.iter().map(|(_, totals)| totals.holds).sum();
        assert_eq!(holds, MOST_PAGES as u64 + 50);
    }
}
