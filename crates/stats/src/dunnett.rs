//! Dunnett's two-sided comparison of several levels with one baseline.
//!
//! With `p` levels of `n` runs each and a baseline of `n0` runs, the `p` t statistics share the
//! baseline's mean and the estimate of the noise. Given the baseline's deviate z and u = s / sigma they
//! are independent, so the chance that all stay within `c` is
//!
//! `P(c) = Int f(u) Int phi(z) [Phi((l z + c u) / r) - Phi((l z - c u) / r)]^p dz du`
//!
//! with `l^2 = n / (n + n0)`, `r^2 = 1 - l^2` and f the density of a chi over its root degrees of
//! freedom. Both integrals are Gauss-Legendre sums.

use super::special::{chi2_quantile, gauss_legendre, normal_cdf, normal_density};
use libm::lgamma;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The family of comparisons that one critical value protects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dunnett {
    /// Number of levels compared with the baseline.
    pub comparisons: usize,
    /// Degrees of freedom of the noise.
    pub nu: f64,
    /// `l^2`, the correlation of two comparisons: 1/2 for equal sizes, 1/3 with the baseline twice.
    pub correlation: f64,
}

impl Dunnett {
    /// The family of a table without gaps: `levels` counts the baseline, `baseline_runs` is how often the
    /// baseline runs in each block (1 or 2).
    pub fn of_design(levels: usize, blocks: usize, baseline_runs: usize) -> Dunnett {
        let arms = levels + baseline_runs.saturating_sub(1);
        Dunnett {
            comparisons: levels.saturating_sub(1).max(1),
            nu: ((arms.saturating_sub(1)) * blocks.saturating_sub(1)).max(1) as f64,
            correlation: 1.0 / (1.0 + baseline_runs.max(1) as f64),
        }
    }

    /// The chance that every |t| of the family stays within `c` when no level differs.
    pub fn inside(&self, c: f64) -> f64 {
        inside_at(self, &chi_nodes(self.nu), c)
    }
}

/// The critical value `c`: with chance 1 - `alpha` no |t| of the family exceeds it. Families recur, in one
/// report and in a thousand simulated ones, so values are cached.
pub fn dunnett_critical(family: Dunnett, alpha: f64) -> f64 {
    /// More families than any report has; the memory of a process that never ends stays bounded.
    const MOST: usize = 4096;
    type Key = (usize, u64, u64, u64);
    static KNOWN: Mutex<BTreeMap<Key, f64>> = Mutex::new(BTreeMap::new());
    let bits = (family.nu.to_bits(), family.correlation.to_bits());
    let key = (family.comparisons, bits.0, bits.1, alpha.to_bits());
    // A thread that panicked left a map of whole entries.
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&critical) = known().get(&key) {
        return critical;
    }
    let critical = search_critical(family, alpha);
    let mut known = known();
    if known.len() >= MOST {
        known.clear();
    }
    known.insert(key, critical);
    critical
}

fn search_critical(family: Dunnett, alpha: f64) -> f64 {
    let nodes = chi_nodes(family.nu);
    let over = |c: f64| inside_at(&family, &nodes, c) - (1.0 - alpha);
    let (mut low, mut high) = (0.0, 4.0);
    let (mut at_low, mut at_high) = (alpha - 1.0, over(4.0));
    while at_high < 0.0 && high < 4096.0 {
        (low, at_low) = (high, at_high);
        high *= 2.0;
        at_high = over(high);
    }
    // A bracketed secant: a side that is retained twice counts half, so that both sides close in.
    let mut kept = 0;
    for _ in 0..60 {
        let middle = (low * at_high - high * at_low) / (at_high - at_low);
        let at_middle = over(middle);
        if at_middle.abs() < 1e-9 || high - low < 1e-8 {
            return middle;
        }
        if at_middle < 0.0 {
            (low, at_low) = (middle, at_middle);
            if kept == -1 {
                at_high *= 0.5;
            }
            kept = -1;
        } else {
            (high, at_high) = (middle, at_middle);
            if kept == 1 {
                at_low *= 0.5;
            }
            kept = 1;
        }
    }
    0.5 * (low + high)
}

/// The p-value of one |t|, adjusted for the whole family.
pub fn dunnett_p(family: Dunnett, t: f64) -> f64 {
    (1.0 - family.inside(t.abs())).clamp(0.0, 1.0)
}

/// Nodes of u with weight times density; one node at 1 where the noise is practically known.
fn chi_nodes(nu: f64) -> Vec<(f64, f64)> {
    if nu > 5_000.0 {
        return vec![(1.0, 1.0)];
    }
    let low = (chi2_quantile(1e-12, nu) / nu).sqrt();
    let high = (chi2_quantile(1.0 - 1e-12, nu) / nu).sqrt();
    let log_front = std::f64::consts::LN_2 + 0.5 * nu * (0.5 * nu).ln() - lgamma(0.5 * nu);
    gauss_legendre(48, low, high)
        .into_iter()
        .map(|(u, weight)| {
            let log_density = log_front + (nu - 1.0) * u.max(1e-300).ln() - 0.5 * nu * u * u;
            (u, weight * log_density.exp())
        })
        .collect()
}

fn inside_at(family: &Dunnett, nodes: &[(f64, f64)], c: f64) -> f64 {
    static BASELINE: OnceLock<Vec<(f64, f64)>> = OnceLock::new();
    let baseline = BASELINE.get_or_init(|| {
        let nodes = gauss_legendre(48, -8.0, 8.0);
        nodes
            .into_iter()
            .map(|(z, weight)| (z, weight * normal_density(z)))
            .collect()
    });
    let shared = family.correlation.clamp(0.0, 0.999).sqrt();
    let own = (1.0 - family.correlation.clamp(0.0, 0.999)).sqrt();
    let power = i32::try_from(family.comparisons).unwrap_or(i32::MAX);
    let mut total = 0.0;
    for &(u, chi_weight) in nodes {
        if chi_weight < 1e-13 {
            continue;
        }
        let inner: f64 = baseline
            .iter()
            .map(|&(z, weight)| {
                let upper = normal_cdf((shared * z + c * u) / own);
                let lower = normal_cdf((shared * z - c * u) / own);
                weight * (upper - lower).powi(power)
            })
            .sum();
        total += chi_weight * inner;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::super::special::t_quantile;
    use super::*;

    #[test]
    fn one_comparison_is_student() {
        for nu in [1.0, 2.0, 5.0, 16.0, 60.0] {
            let family = Dunnett {
                comparisons: 1,
                nu,
                correlation: 0.5,
            };
            let want = t_quantile(0.975, nu);
            let got = dunnett_critical(family, 0.05);
            assert!(
                (got - want).abs() < 2e-4 * want,
                "nu {nu}: {got} against {want}"
            );
        }
    }

    #[test]
    fn the_table_of_critical_values_comes_out() {
        let table: [(usize, [f64; 6]); 6] = [
            (2, [4.30, 3.18, 2.78, 2.57, 2.36, 2.26]),
            (3, [3.31, 2.86, 2.67, 2.57, 2.46, 2.40]),
            (4, [3.10, 2.81, 2.68, 2.61, 2.53, 2.49]),
            (5, [3.02, 2.81, 2.71, 2.65, 2.59, 2.55]),
            (6, [2.99, 2.82, 2.73, 2.69, 2.64, 2.61]),
            (8, [2.97, 2.84, 2.78, 2.75, 2.71, 2.69]),
        ];
        for (levels, row) in table {
            for (blocks, want) in [3, 4, 5, 6, 8, 10].into_iter().zip(row) {
                let got = dunnett_critical(Dunnett::of_design(levels, blocks, 1), 0.05);
                assert!(
                    (got - want).abs() <= 0.01,
                    "k={levels} b={blocks}: {got:.4} for {want}"
                );
            }
        }
    }

    #[test]
    fn the_published_value_for_four_comparisons_and_twenty_degrees_comes_out() {
        let family = Dunnett {
            comparisons: 4,
            nu: 20.0,
            correlation: 0.5,
        };
        assert!((dunnett_critical(family, 0.05) - 2.65).abs() < 0.005);
        assert!((dunnett_p(family, 2.65) - 0.05).abs() < 0.001);
    }

    #[test]
    fn a_baseline_run_twice_loosens_the_tie_between_comparisons() {
        let family = Dunnett::of_design(5, 6, 2);
        assert_eq!((family.comparisons, family.nu), (4, 25.0));
        assert!((family.correlation - 1.0 / 3.0).abs() < 1e-12);
        // Less correlated comparisons need a wider net at the same degrees of freedom.
        let tied = Dunnett {
            correlation: 0.5,
            ..family
        };
        assert!(dunnett_critical(family, 0.05) > dunnett_critical(tied, 0.05));
        // Independent comparisons: the net of Sidak, seen with known noise.
        let free = Dunnett {
            comparisons: 4,
            nu: 1e9,
            correlation: 0.0,
        };
        assert!((dunnett_critical(free, 0.05) - 2.4909).abs() < 1e-3);
    }
}
