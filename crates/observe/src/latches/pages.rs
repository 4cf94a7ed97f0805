//! What waiting for the latches of pages cost, by kind of page; allocation pages one by one, with the times
//! that their latches were held.
//!
//! A row is charged after a thread has slept for a latch: the map's mutex is short against that. Rows are
//! bounded: a kind of page of a database has one for each mode, and so has each of the first
//! `MOST_PAGES` allocation pages that are waited for.

use super::holds::{HoldStats, HoldTotals};
use super::page_key::{MOST_PAGES, PageLatchKey};
use furrow_io::sync::Mutex;
use std::collections::BTreeMap;

/// The figures of one row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageLatchTotals {
    /// Requests that had to wait.
    pub waiting_requests: u64,
    /// Their waiting time.
    pub wait_us: u64,
    /// The longest of them.
    pub max_us: u64,
}

/// Waits for and holds of one latch, or of the latches of one kind of page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PageLatchRow {
    /// What it is about.
    pub key: PageLatchKey,
    /// Waits; all zero where none was.
    pub waits: PageLatchTotals,
    /// Holding times; none where they are not measured.
    pub holds: Option<HoldTotals>,
}

/// Page latch statistics of an instance.
#[derive(Debug, Default)]
pub struct PageLatchStats {
    rows: Mutex<BTreeMap<PageLatchKey, PageLatchTotals>>,
    holds: HoldStats,
}

impl PageLatchStats {
    /// Adds a wait that ended.
    pub fn charge(&self, key: PageLatchKey, wait_us: u64) {
        let mut rows = self.rows.lock();
        let is_new = key.page.is_some() && !rows.contains_key(&key);
        let key = match is_new && rows.keys().filter(|row| row.page.is_some()).count() >= MOST_PAGES
        {
            true => PageLatchKey { page: None, ..key },
            false => key,
        };
        let totals = rows.entry(key).or_default();
        totals.waiting_requests += 1;
        totals.wait_us += wait_us;
        totals.max_us = totals.max_us.max(wait_us);
    }

    /// Adds a hold of an allocation page's latch that ended.
    pub fn charge_hold(&self, key: PageLatchKey, hold_ns: u64) {
        debug_assert!(
            key.kind.is_allocation_map() && key.page.is_some(),
            "holds are counted for allocation pages"
        );
        self.holds.charge(key, hold_ns);
    }

    /// All rows, in order.
    pub fn snapshot(&self) -> Vec<PageLatchRow> {
        let waits = self.rows.lock().clone();
        let row = |key, waits, holds| PageLatchRow { key, waits, holds };
        let mut rows: BTreeMap<PageLatchKey, PageLatchRow> = waits
            .into_iter()
            .map(|(key, waits)| (key, row(key, waits, None)))
            .collect();
        for (key, holds) in self.holds.snapshot() {
            let waits = PageLatchTotals::default();
            let known = rows.entry(key).or_insert_with(|| row(key, waits, None));
            known.holds = Some(holds);
        }
        rows.into_values().collect()
    }

    /// Drops every row.
    pub fn clear(&self) {
        self.rows.lock().clear();
        self.holds.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::latches::PageKind;

    #[test]
    fn rows_are_summed_by_key_and_bounded_by_pages() {
        let stats = PageLatchStats::default();
        let key = |page| PageLatchKey {
            db: 2,
            kind: PageKind::Pfs,
            mode: "UP",
            page: Some((1, page)),
        };
        stats.charge(key(1), 10);
        stats.charge(key(1), 30);
        let rows = stats.snapshot();
        let totals = PageLatchTotals {
            waiting_requests: 2,
            wait_us: 40,
            max_us: 30,
        };
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].key, rows[0].waits, rows[0].holds),
            (key(1), totals, None)
        );
        stats.charge_hold(key(1), 700);
        stats.charge_hold(key(2), 300);
        let found = stats.snapshot();
        let holds = found.iter().map(|row| row.holds.unwrap().hold_ns);
        assert_eq!(holds.collect::<Vec<_>>(), [700, 300]);
        assert_eq!(found[1].waits, PageLatchTotals::default());
        for page in 0..2 * MOST_PAGES as u32 {
            stats.charge(key(page), 1);
        }
        let rows = stats.snapshot();
        assert_eq!(rows.len(), MOST_PAGES + 1);
        let waits: u64 = rows.iter().map(|row| row.waits.waiting_requests).sum();
        assert_eq!(waits, 2 + 2 * MOST_PAGES as u64, "no wait is lost");
        stats.clear();
        assert!(stats.snapshot().is_empty());
    }
}
