//! The effect that a number of blocks can detect, calculated before the first run and again after the last.
//!
//! The smallest effect seen with a chance of 80% is about `(c + 0.84) s sqrt(2 / b)`, with Dunnett's
//! critical value `c` and the CV of a run `s`; 1.5 takes the place of 2 when the baseline runs twice a
//! block. `c` itself depends on the number of blocks, so the way back is a search.

use super::special::normal_quantile;
use super::{Dunnett, dunnett_critical};

/// A design whose power is calculated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// Levels, the baseline included.
    pub levels: usize,
    /// How often the baseline runs in each block: 1 or 2.
    pub baseline_runs: usize,
}

impl Design {
    /// The smallest effect, as a logarithm of a ratio, that `blocks` blocks see with chance `power` when a
    /// run has coefficient of variation `cv`.
    pub fn detectable(&self, cv: f64, blocks: usize, power: f64) -> f64 {
        self.reach(blocks, power) * cv
    }

    /// The fewest blocks (from 3 to `most`) that see an effect of `delta` with chance `power`; `None`
    /// when `most` are not enough.
    pub fn blocks_needed(&self, cv: f64, delta: f64, power: f64, most: usize) -> Option<usize> {
        let wanted = delta.ln_1p();
        // More blocks see less: halving finds the fewest.
        let (mut low, mut high) = (3, most);
        if most < 3 || self.detectable(cv, most, power) > wanted {
            return None;
        }
        while low < high {
            let middle = (low + high) / 2;
            match self.detectable(cv, middle, power) <= wanted {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Some(low)
    }

    fn reach(&self, blocks: usize, power: f64) -> f64 {
        let blocks = blocks.max(2);
        let family = Dunnett::of_design(self.levels, blocks, self.baseline_runs);
        let critical = dunnett_critical(family, 0.05);
        let spread = 1.0 + 1.0 / self.baseline_runs.max(1) as f64;
        (critical + normal_quantile(power)) * (spread / blocks as f64).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIVE: Design = Design {
        levels: 5,
        baseline_runs: 1,
    };

    #[test]
    fn the_table_of_smallest_effects_comes_out() {
        let blocks = [3, 5, 6, 7, 10, 15];
        let table: [(f64, [f64; 6]); 5] = [
            (0.005, [1.6, 1.1, 1.0, 0.9, 0.8, 0.6]),
            (0.01, [3.2, 2.2, 2.0, 1.9, 1.5, 1.2]),
            (0.02, [6.3, 4.5, 4.0, 3.7, 3.0, 2.5]),
            (0.03, [9.4, 6.7, 6.1, 5.5, 4.6, 3.7]),
            (0.05, [15.8, 11.2, 10.1, 9.3, 7.6, 6.2]),
        ];
        for (cv, row) in table {
            for (b, want) in blocks.into_iter().zip(row) {
                let got = 100.0 * FIVE.detectable(cv, b, 0.8);
                assert!(
                    (got - want).abs() <= 0.1,
                    "CV {cv}, b={b}: {got:.3} for {want}"
                );
            }
        }
    }

    #[test]
    fn the_way_back_gives_the_blocks() {
        // Just over 6% at five blocks needs a CV of at most about 2.5%.
        assert_eq!(FIVE.blocks_needed(0.025, 0.06, 0.8, 15), Some(5));
        assert!(FIVE.blocks_needed(0.027, 0.06, 0.8, 15) > Some(5));
        // A 3% loss at five blocks needs a CV of about 1.3%.
        assert_eq!(FIVE.blocks_needed(0.0131, 0.03, 0.8, 15), Some(5));
        assert_eq!(FIVE.blocks_needed(0.05, 0.02, 0.8, 15), None);
    }

    #[test]
    fn running_the_baseline_twice_buys_more_than_it_costs() {
        let twice = Design {
            levels: 5,
            baseline_runs: 2,
        };
        assert!(twice.detectable(0.02, 6, 0.8) < 0.9 * FIVE.detectable(0.02, 6, 0.8));
    }
}
