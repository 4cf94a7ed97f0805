//! A latency histogram that many threads add to without a lock.
//!
//! Buckets are exact below 16 us and then 16 to the octave: a figure read from it is at most 1/16 too
//! high. One relaxed addition and one maximum for each value; 4.7 KB; nothing is ever resized.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets to the octave.
const STEPS: u64 = 16;
const STEP_BITS: u32 = 4;
/// Values from this power of two on (12 days) share the last bucket.
const TOP_BITS: u32 = 40;
const BUCKETS: usize = ((TOP_BITS - STEP_BITS + 1) as u64 * STEPS) as usize;

fn bucket_of(value_us: u64) -> usize {
    let value = value_us.min((1 << TOP_BITS) - 1);
    if value < STEPS {
        return value as usize;
    }
    let octave = value.ilog2() - STEP_BITS;
    let step = (value >> octave) - STEPS;
    (u64::from(octave + 1) * STEPS + step) as usize
}

/// The highest value that falls into a bucket.
fn highest_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let octave = bucket / STEPS - 1;
    ((bucket % STEPS + STEPS + 1) << octave) - 1
}

/// A histogram of microseconds.
pub struct Histogram {
    counts: Box<[AtomicU64]>,
    max_us: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Histogram {
        let counts = (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Histogram {
            counts,
            max_us: AtomicU64::new(0),
        }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.snapshot().fmt(f)
    }
}

impl Histogram {
    /// Adds a value.
    pub fn record(&self, value_us: u64) {
        self.counts[bucket_of(value_us)].fetch_add(1, Relaxed);
        if value_us > self.max_us.load(Relaxed) {
            self.max_us.fetch_max(value_us, Relaxed);
        }
    }

    /// Its state now.
    pub fn snapshot(&self) -> HistogramSnapshot {
        let counts = self
            .counts
            .iter()
            .map(|count| count.load(Relaxed))
            .enumerate();
        HistogramSnapshot {
            buckets: counts
                .filter(|(_, count)| *count > 0)
                .map(|(bucket, count)| (highest_of(bucket), count))
                .collect(),
            max_us: self.max_us.load(Relaxed),
        }
    }

    /// Removes all values.
    pub fn clear(&self) {
        for count in &self.counts {
            count.store(0, Relaxed);
        }
        self.max_us.store(0, Relaxed);
    }
}

/// A histogram at one moment, or what was added between two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistogramSnapshot {
    /// The buckets that are not empty: the highest value of each in microseconds, and its count.
    pub buckets: Vec<(u64, u64)>,
    /// The largest value; of a difference, an upper bound of it.
    pub max_us: u64,
}

impl HistogramSnapshot {
    /// How many values.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// The value that `share` (0 to 1) of all values do not exceed, at most 1/16 too high; 0 when empty.
    #[cfg(test)]
    pub(crate) fn percentile_us(&self, share: f64) -> u64 {
        let wanted = (share.clamp(0.0, 1.0) * self.count() as f64)
            .ceil()
            .max(1.0) as u64;
        let mut seen = 0;
        for (highest, count) in &self.buckets {
            seen += count;
            if seen >= wanted {
                return (*highest).min(self.max_us);
            }
        }
        0
    }

    /// What was added from `earlier` to `later`; `later` itself when the histogram was cleared.
    pub fn delta(earlier: &HistogramSnapshot, later: &HistogramSnapshot) -> HistogramSnapshot {
        let old = |highest: u64| {
            let at = earlier
                .buckets
                .binary_search_by_key(&highest, |(highest, _)| *highest)
                .ok();
            at.and_then(|at| earlier.buckets.get(at))
                .map_or(0, |(_, count)| *count)
        };
        if later.count() < earlier.count() {
            return later.clone();
        }
        let buckets: Vec<(u64, u64)> = later
            .buckets
            .iter()
            .map(|(highest, count)| (*highest, count.saturating_sub(old(*highest))))
            .filter(|(_, count)| *count > 0)
            .collect();
        let bound = buckets.last().map_or(0, |(highest, _)| *highest);
        HistogramSnapshot {
            buckets,
            max_us: later.max_us.min(bound),
        }
    }

    /// Both together: several files as one.
    pub fn merge(&mut self, other: &HistogramSnapshot) {
        for (highest, count) in &other.buckets {
            match self
                .buckets
                .binary_search_by_key(highest, |(highest, _)| *highest)
            {
                Ok(at) => self.buckets[at].1 += count,
                Err(at) => self.buckets.insert(at, (*highest, *count)),
            }
        }
        self.max_us = self.max_us.max(other.max_us);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_a_bucket_that_holds_it_within_a_sixteenth() {
        let powers =
            (0..TOP_BITS).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1]);
        for value in (0..100_000).chain(powers) {
            let bucket = bucket_of(value);
            let highest = highest_of(bucket);
            assert!(
                value <= highest && highest - value <= value / 16,
                "{value} in {highest}"
            );
            assert!(
                bucket == 0 || highest_of(bucket - 1) < value,
                "{value} is above the bucket before"
            );
        }
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_those_of_the_values() {
        let histogram = Histogram::default();
        assert_eq!(histogram.snapshot().percentile_us(0.5), 0);
        for value in 1..=10_000 {
            histogram.record(value);
        }
        let snapshot = histogram.snapshot();
        assert_eq!((snapshot.count(), snapshot.max_us), (10_000, 10_000));
        for (share, exact) in [(0.5, 5_000), (0.99, 9_900), (0.999, 9_990)] {
            let got = snapshot.percentile_us(share);
            assert!(got >= exact && got <= exact + exact / 16, "{share}: {got}");
        }
        assert_eq!(snapshot.percentile_us(1.0), 10_000);
        assert_eq!(snapshot.percentile_us(0.0), 1);
    }

    #[test]
    fn deltas_and_sums_agree_with_what_was_recorded() {
        let histogram = Histogram::default();
        histogram.record(10);
        histogram.record(90_000);
        let before = histogram.snapshot();
        histogram.record(10);
        histogram.record(300);
        let delta = HistogramSnapshot::delta(&before, &histogram.snapshot());
        assert_eq!(delta.count(), 2);
        assert!(
            delta.max_us >= 300 && delta.max_us < 320,
            "bounded by the interval's last bucket"
        );
        let mut sum = before.clone();
        sum.merge(&delta);
        assert_eq!(sum, histogram.snapshot());
        histogram.clear();
        histogram.record(5);
        assert_eq!(
            HistogramSnapshot::delta(&before, &histogram.snapshot()).count(),
            1
        );
    }

    #[test]
    fn threads_lose_no_value() {
        let histogram = Histogram::default();
        furrow_io::thread::scope(|scope| {
            for worker in 0..4u64 {
                let histogram = &histogram;
                scope.spawn(move || {
                    (0..5_000).for_each(|turn| histogram.record(worker * 5_000 + turn));
                });
            }
        });
        let snapshot = histogram.snapshot();
        assert_eq!((snapshot.count(), snapshot.max_us), (20_000, 19_999));
    }
}
