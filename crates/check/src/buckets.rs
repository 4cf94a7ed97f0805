//! Rows matched in bounded memory: what a table's row adds, its index row takes away.
//!
//! For each nonclustered index there is an array of sums. A row of the table adds the hash of the index row
//! that it must have to the sum that the hash falls in; an index row subtracts its own. When both sides
//! agree, every sum is zero. A sum that is not says that some row of its bucket has no partner: a second
//! pass over the two row sets looks at rows of such buckets only.

use parking_lot::Mutex;

/// Fewest and most sums of an index.
const LEAST: u64 = 64;
const MOST: u64 = 1 << 16;
/// Rows a sum is for, as far as that goes.
const ROWS_A_BUCKET: u64 = 8;

/// The sums of one index.
#[derive(Debug)]
pub(crate) struct Buckets {
    sums: Mutex<Vec<u64>>,
}

impl Buckets {
    /// For a table of about so many rows, with so many sums at most.
    pub(crate) fn new(rows: i64, most: u64) -> Buckets {
        let rows = u64::try_from(rows).unwrap_or(0) / ROWS_A_BUCKET;
        let most = (most.clamp(LEAST, MOST) + 1).next_power_of_two() / 2;
        let count = rows.clamp(LEAST, most).next_power_of_two();
        Buckets {
            sums: Mutex::new(vec![0; count as usize]),
        }
    }

    /// Rows of the table: those of a page at a time, since one by one they would wait for memory.
    pub(crate) fn expect(&self, hashes: &[u64]) {
        let mut sums = self.sums.lock();
        for &hash in hashes {
            if let Some(sum) = sum_of(&mut sums, hash) {
                *sum = sum.wrapping_add(hash);
            }
        }
    }

    /// Rows of the index.
    pub(crate) fn found(&self, hashes: &[u64]) {
        let mut sums = self.sums.lock();
        for &hash in hashes {
            if let Some(sum) = sum_of(&mut sums, hash) {
                *sum = sum.wrapping_sub(hash);
            }
        }
    }

    /// Whether a row with this hash may lack its partner.
    pub(crate) fn is_open(&self, hash: u64) -> bool {
        sum_of(&mut self.sums.lock(), hash).is_some_and(|sum| *sum != 0)
    }

    /// The part of the sums that did not cancel.
    pub(crate) fn share_open(&self) -> f64 {
        let sums = self.sums.lock();
        sums.iter().filter(|sum| **sum != 0).count() as f64 / sums.len().max(1) as f64
    }

    /// Whether any row lacks its partner.
    pub(crate) fn any_open(&self) -> bool {
        self.sums.lock().iter().any(|sum| *sum != 0)
    }
}

/// The sum that a hash falls in.
#[inline]
fn sum_of(sums: &mut [u64], hash: u64) -> Option<&mut u64> {
    let mask = sums.len().wrapping_sub(1);
    sums.get_mut((hash >> 20) as usize & mask)
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
            buckets.expect(&[hash(n)]);
        }
        for n in (0..1000).rev().filter(|n| *n != 777) {
            buckets.found(&[hash(n)]);
        }
        assert!(buckets.any_open() && buckets.is_open(hash(777)));
        let open = (0..1000).filter(|n| buckets.is_open(hash(*n))).count();
        assert!(open < 40, "{open} rows to look at for one that is missing");
        buckets.found(&[hash(777)]);
        assert!(!buckets.any_open());
        buckets.found(&[hash(5)]);
        assert!(buckets.is_open(hash(5)));
    }
}
