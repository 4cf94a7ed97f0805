//! Rows matched in bounded memory: what a table's row adds, its index row takes away.
//!
//! For each nonclustered index there is an array of sums. A row of the table adds the hash of the index row
//! that it must have to the sum that the hash falls in; an index row subtracts its own. When both sides
//! agree, every sum is zero. A sum that is not says that some row of its bucket has no partner: a second
//! pass over the two row sets looks at rows of such buckets only.

use std::sync::atomic::{AtomicU64, Ordering};

/// Fewest and most sums of an index.
const LEAST: u64 = 64;
const MOST: u64 = 1 << 16;
/// Rows a sum is for, as far as that goes.
const ROWS_A_BUCKET: u64 = 8;

/// The sums of one index.
#[derive(Debug)]
pub(crate) struct Buckets {
    sums: Vec<AtomicU64>,
}

impl Buckets {
    /// For a table of about so many rows, with so many sums at most.
    pub(crate) fn new(rows: i64, most: u64) -> Buckets {
        let rows = u64::try_from(rows).unwrap_or(0) / ROWS_A_BUCKET;
        let most = (most.clamp(LEAST, MOST) + 1).next_power_of_two() / 2;
        let count = rows.clamp(LEAST, most).next_power_of_two();
        Buckets {
            sums: (0..count).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    #[inline]
    fn sum(&self, hash: u64) -> Option<&AtomicU64> {
        self.sums.get((hash >> 20) as usize & (self.sums.len() - 1))
    }

    /// A row of the table.
    #[inline]
    pub(crate) fn expect(&self, hash: u64) {
        if let Some(sum) = self.sum(hash) {
            sum.fetch_add(hash, Ordering::Relaxed);
        }
    }

    /// A row of the index.
    #[inline]
    pub(crate) fn found(&self, hash: u64) {
        if let Some(sum) = self.sum(hash) {
            sum.fetch_sub(hash, Ordering::Relaxed);
        }
    }

    /// Whether a row with this hash may lack its partner.
    pub(crate) fn is_open(&self, hash: u64) -> bool {
        self.sum(hash)
            .is_some_and(|sum| sum.load(Ordering::Relaxed) != 0)
    }

    /// The part of the sums that did not cancel.
    pub(crate) fn share_open(&self) -> f64 {
        let open = |sum: &&AtomicU64| sum.load(Ordering::Relaxed) != 0;
        self.sums.iter().filter(open).count() as f64 / self.sums.len().max(1) as f64
    }

    /// Whether any row lacks its partner.
    pub(crate) fn any_open(&self) -> bool {
        self.sums.iter().any(|sum| sum.load(Ordering::Relaxed) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::RowHash;

    #[test]
    fn sums_cancel_in_any_order_and_only_when_both_sides_agree() {
        let hash = |n: u64| {
            let mut hash = RowHash::new();
            hash.add(Some(&n.to_le_bytes()));
            hash.done()
        };
        let buckets = Buckets::new(1000, MOST);
        for n in 0..1000 {
            buckets.expect(hash(n));
        }
        for n in (0..1000).rev().filter(|n| *n != 777) {
            buckets.found(hash(n));
        }
        assert!(buckets.any_open() && buckets.is_open(hash(777)));
        let open = (0..1000).filter(|n| buckets.is_open(hash(*n))).count();
        assert!(open < 40, "{open} rows to look at for one that is missing");
        buckets.found(hash(777));
        assert!(!buckets.any_open());
        buckets.found(hash(5));
        assert!(buckets.is_open(hash(5)));
    }
}
