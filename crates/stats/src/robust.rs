//! The robust twin: the same comparison with medians, so that the effect of one bad run can be seen.
//!
//! Within a block the level and the baseline meet the same disk on the same hour; their log ratios are
//! the data. The median of these, the Hodges-Lehmann value (median of the Walsh averages), an interval
//! between order statistics whose coverage is exact for any distribution, and the exact sign-flip test.

use super::StatsError;
use super::Table;
use super::sample::{median_sorted, sorted};

/// An interval of the median between two order statistics.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MedianInterval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Exact coverage, whatever the distribution.
    pub coverage: f64,
    /// Rank of the lower end, from 1; the upper end has rank `n + 1 - rank`.
    pub rank: usize,
}

/// The coverage that an interval of the median must have: 95% but for a hair, because between the
/// ranks of eight values lie 93.0% (second to seventh) and 99.2%, and the former is the better offer.
pub const MEDIAN_COVERAGE: f64 = 0.925;

/// The exact coverage of `[x_(rank), x_(n + 1 - rank)]` for the median of a continuous distribution.
pub fn order_statistic_coverage(n: usize, rank: usize) -> f64 {
    // 1 - 2 P(Binomial(n, 1/2) < rank)
    let mut term = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut below = 0.0;
    for i in 0..rank {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64;
    }
    1.0 - 2.0 * below
}

/// The narrowest symmetric order-statistic interval whose coverage is at least `wanted`; where even `[min,
/// max]` falls short, `[min, max]` with its true coverage.
///
pub fn median_interval(values: &[f64], wanted: f64) -> Option<MedianInterval> {
    let sorted = sorted(values);
    let n = sorted.len();
    if n < 2 {
        return None;
    }
    let rank = (1..=n / 2)
        .rev()
        .find(|&rank| order_statistic_coverage(n, rank) >= wanted)
        .unwrap_or(1);
    Some(MedianInterval {
        low: sorted[rank - 1],
        high: sorted[n - rank],
        coverage: order_statistic_coverage(n, rank),
        rank,
    })
}

/// The median of all averages of two values, each value with itself included.
pub fn hodges_lehmann(values: &[f64]) -> f64 {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, left) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|right| 0.5 * (left + right)));
    }
    averages.sort_by(f64::total_cmp);
    median_sorted(&averages)
}

/// The smallest two-sided p-value that the sign-flip test can reach with `blocks` differences.
pub fn sign_flip_floor(blocks: usize) -> f64 {
    (2.0 * 0.5_f64.powi(i32::try_from(blocks).unwrap_or(i32::MAX))).min(1.0)
}

/// The exact two-sided p-value of the mean under all flips of signs; at most 20 differences.
pub fn sign_flip_p(values: &[f64]) -> Result<f64, StatsError> {
    const MOST: usize = 20;
    if values.is_empty() || values.len() > MOST {
        return Err(StatsError::TooFew {
            what: "the sign-flip test",
            needed: 1,
            got: 0,
        });
    }
    let observed = values.iter().sum::<f64>().abs();
    let slack = 1e-12 * values.iter().map(|v| v.abs()).sum::<f64>();
    let patterns = 1_u32 << values.len();
    let extreme = (0..patterns)
        .filter(|pattern| {
            let sum: f64 = values
                .iter()
                .enumerate()
                .map(|(i, v)| if pattern >> i & 1 == 1 { -v } else { *v })
                .sum();
            sum.abs() >= observed - slack
        })
        .count();
    Ok(extreme as f64 / f64::from(patterns))
}

/// A level against the baseline by the ratios inside the blocks.
#[derive(Debug, Clone, PartialEq)]
pub struct RobustTwin {
    /// Log ratio in each block in which both ran, in order of blocks.
    pub ratios: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// Their Hodges-Lehmann value.
    pub hodges_lehmann: f64,
    /// Interval of the median; below six blocks only `[min, max]` with its true coverage.
    pub interval: Option<MedianInterval>,
    /// Exact sign-flip p-value, where there are at most 20 blocks.
    pub sign_flip_p: Option<f64>,
    /// The smallest p-value so many blocks can reach.
    pub sign_flip_floor: f64,
}

impl RobustTwin {
    /// Compares `arm` with the mean of those `baseline` arms that ran in the same block. `logs` holds
    /// logarithms. `None` when the two never met.
    pub fn of(logs: &Table, baseline: &[usize], arm: usize) -> Option<RobustTwin> {
        let ratios: Vec<f64> = (0..logs.blocks())
            .filter_map(|block| {
                let level = logs.get(arm, block)?;
                let base: Vec<f64> = baseline
                    .iter()
                    .filter_map(|&b| logs.get(b, block))
                    .collect();
                (!base.is_empty()).then(|| level - super::mean(&base))
            })
            .collect();
        if ratios.is_empty() {
            return None;
        }
        Some(RobustTwin {
            median: super::median(&ratios),
            hodges_lehmann: hodges_lehmann(&ratios),
            interval: median_interval(&ratios, MEDIAN_COVERAGE),
            sign_flip_p: sign_flip_p(&ratios).ok(),
            sign_flip_floor: sign_flip_floor(ratios.len()),
            ratios,
        })
    }

    /// Whether it contradicts a conclusion drawn from the means: outside events have then moved a run so far
    /// that mean and median disagree.
    ///
    /// Both widths differ by construction, so the verdicts are not compared. It contradicts when the means
    /// show a difference beyond `margin` and the Hodges-Lehmann value is not on that side of zero, or less
    /// than half of the margin; and when the means show none while the Hodges-Lehmann value is beyond the
    /// margin and the interval of the median excludes zero by it.
    pub fn contradicts(&self, mean: f64, shown: bool, margin: f64) -> bool {
        if shown {
            return self.hodges_lehmann * mean.signum() < 0.5 * margin;
        }
        let Some(interval) = self.interval.filter(|_| self.ratios.len() >= 6) else {
            return false;
        };
        let beyond = interval.low > margin || interval.high < -margin;
        beyond && self.hodges_lehmann.abs() > margin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_of_order_statistics_is_exact() {
        let want = [
            (5, 1, 0.9375),
            (6, 1, 0.96875),
            (7, 1, 0.984_375),
            (8, 2, 0.929_687_5),
        ];
        for (n, rank, coverage) in want {
            assert_eq!(
                order_statistic_coverage(n, rank),
                coverage,
                "n={n} rank={rank}"
            );
        }
        assert!((order_statistic_coverage(9, 2) - 0.960_937_5).abs() < 1e-15);
        assert!((order_statistic_coverage(12, 3) - 0.961_425_781_25).abs() < 1e-15);
    }

    #[test]
    fn the_interval_takes_the_ranks_of_the_rule() {
        let values: Vec<f64> = (1..=12).map(f64::from).collect();
        let ranks = |n: usize| median_interval(&values[..n], MEDIAN_COVERAGE).unwrap().rank;
        assert_eq!([5, 6, 7, 8, 9, 12].map(ranks), [1, 1, 1, 2, 2, 3]);
        let five = median_interval(&values[..5], 0.95).unwrap();
        assert_eq!((five.low, five.high, five.coverage), (1.0, 5.0, 0.9375));
        assert!(median_interval(&values[..1], 0.95).is_none());
    }

    #[test]
    fn the_sign_flip_test_cannot_go_below_its_floor() {
        for (blocks, floor) in [(5, 0.0625), (6, 0.03125), (7, 0.015_625)] {
            assert_eq!(sign_flip_floor(blocks), floor);
            let all_positive: Vec<f64> = (1..=blocks).map(|i| i as f64).collect();
            assert_eq!(sign_flip_p(&all_positive).unwrap(), floor);
        }
        assert_eq!(sign_flip_p(&[1.0, -1.0]).unwrap(), 1.0);
        assert!(sign_flip_p(&[1.0; 21]).is_err());
    }

    #[test]
    fn one_wild_run_moves_the_mean_and_not_the_twin() {
        let calm = [-0.05, -0.052, -0.048, -0.051, -0.05, -0.049];
        let mut hit = calm;
        hit[2] = 0.4;
        assert!((hodges_lehmann(&hit) - hodges_lehmann(&calm)).abs() < 0.002);
        let mut logs = Table::new(2, 6);
        for (block, ratio) in hit.into_iter().enumerate() {
            logs.set(0, block, 1.0);
            logs.set(1, block, 1.0 + ratio);
        }
        let twin = RobustTwin::of(&logs, &[0], 1).unwrap();
        assert!((twin.median + 0.05).abs() < 1e-9);
        // The mean of these ratios is +2.4%: were it shown to be worse, the twin would object.
        assert!(twin.contradicts(0.024, true, 0.02));
        assert!(!twin.contradicts(-0.05, true, 0.02));
    }

    #[test]
    fn a_median_far_out_objects_to_a_verdict_of_none() {
        let mut logs = Table::new(2, 6);
        for block in 0..6 {
            logs.set(0, block, 0.0);
            logs.set(1, block, -0.06 + 0.001 * block as f64);
        }
        let twin = RobustTwin::of(&logs, &[0], 1).unwrap();
        assert!(twin.contradicts(-0.001, false, 0.02));
        assert!(RobustTwin::of(&Table::new(2, 6), &[0], 1).is_none());
    }
}
