//! Every level against the baseline, with intervals that hold for all of them at once.

use super::{Dunnett, Estimate, TwoWay, dunnett_critical, dunnett_p};

/// One level against the baseline, on the log scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// The arm.
    pub arm: usize,
    /// Log of the ratio to the baseline, with its standard error.
    pub estimate: Estimate,
    /// The critical value of the interval.
    pub critical: f64,
    /// The simultaneous interval.
    pub interval: (f64, f64),
    /// The 1 - 2 alpha interval of this comparison alone, for the two one-sided equivalence tests.
    pub interval_tost: (f64, f64),
    /// p-value adjusted for all comparisons.
    pub p_adjusted: f64,
}

/// An arm minus the mean of the baseline.
struct Contrast {
    arm: usize,
    weights: Vec<(usize, f64)>,
    estimate: Estimate,
}

/// Compares every arm of `levels` with the mean of the `baseline` arms.
///
/// For a table without gaps the critical value is exact. With gaps the comparisons are correlated unevenly;
/// then the mean of their correlations is used as the common one.
pub fn versus_baseline(
    model: &TwoWay,
    baseline: &[usize],
    levels: &[usize],
    alpha: f64,
) -> Vec<Comparison> {
    let present: Vec<Contrast> = levels
        .iter()
        .filter_map(|&arm| {
            let weights = against(model, baseline, arm);
            model.contrast(&weights).map(|estimate| Contrast {
                arm,
                weights,
                estimate,
            })
        })
        .collect();
    let correlation = mean_correlation(model, &present);
    present
        .iter()
        .map(|&Contrast { arm, estimate, .. }| {
            let family = Dunnett {
                comparisons: present.len().max(1),
                nu: estimate.nu,
                correlation,
            };
            let critical = dunnett_critical(family, alpha);
            Comparison {
                arm,
                estimate,
                critical,
                interval: estimate.interval_with(critical),
                interval_tost: estimate.interval(2.0 * alpha),
                p_adjusted: match estimate.se > 0.0 {
                    true => dunnett_p(family, estimate.value / estimate.se),
                    false => 1.0,
                },
            }
        })
        .collect()
}

/// The weights of `arm` minus the mean of those baseline arms that have runs.
fn against(model: &TwoWay, baseline: &[usize], arm: usize) -> Vec<(usize, f64)> {
    let present: Vec<usize> = baseline
        .iter()
        .copied()
        .filter(|&b| model.arm_effect(b).is_some())
        .collect();
    // Without any baseline run the contrast stays impossible, and is `None`.
    let used = if present.is_empty() {
        baseline
    } else {
        &present
    };
    let share = 1.0 / used.len().max(1) as f64;
    let mut weights = vec![(arm, 1.0)];
    weights.extend(used.iter().map(|&b| (b, -share)));
    weights
}

fn mean_correlation(model: &TwoWay, present: &[Contrast]) -> f64 {
    let mut sum = 0.0;
    let mut count = 0;
    for (i, Contrast { weights: left, .. }) in present.iter().enumerate() {
        for Contrast { weights: right, .. } in &present[i + 1..] {
            let product = model.covariance(left, left).unwrap_or(0.0)
                * model.covariance(right, right).unwrap_or(0.0);
            if product > 0.0 {
                sum += model.covariance(left, right).unwrap_or(0.0) / product.sqrt();
                count += 1;
            }
        }
    }
    if count == 0 {
        0.5
    } else {
        (sum / f64::from(count)).clamp(0.0, 0.99)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Stream, Table};
    use super::*;

    /// Five levels and a second baseline label; the last arm is the second label.
    fn draw(stream: &mut Stream, blocks: usize, gain: f64) -> Table {
        let mut table = Table::new(6, blocks);
        for block in 0..blocks {
            let shift = 0.1 * stream.normal();
            for arm in 0..6 {
                let effect = if arm == 2 { gain } else { 0.0 };
                table.set(arm, block, effect + shift + 0.02 * stream.normal());
            }
        }
        table
    }

    #[test]
    fn the_family_of_a_full_table_is_the_one_of_its_design() {
        let table = draw(&mut Stream::new(5), 6, 0.0);
        let model = TwoWay::fit(&table).unwrap();
        let compared = versus_baseline(&model, &[0, 5], &[1, 2, 3, 4], 0.05);
        let nu = compared[0].estimate.nu;
        let design = Dunnett::of_design(5, 6, 2);
        let want = dunnett_critical(Dunnett { nu, ..design }, 0.05);
        assert_eq!(compared.len(), 4);
        assert!((compared[0].critical - want).abs() < 1e-6);
    }

    #[test]
    fn one_family_in_twenty_raises_a_false_alarm() {
        let mut stream = Stream::new(99);
        let family = Dunnett::of_design(5, 6, 2);
        let critical = dunnett_critical(family, 0.05);
        let (mut alarms, mut seen) = (0, 0);
        let experiments = 3_000;
        for _ in 0..experiments {
            let model = TwoWay::fit(&draw(&mut stream, 6, -0.06)).unwrap();
            let t = |arm: usize| {
                let e = model.contrast(&[(arm, 1.0), (0, -0.5), (5, -0.5)]).unwrap();
                (e.value / e.se).abs()
            };
            alarms += usize::from([1, 3, 4].into_iter().any(|arm| t(arm) > critical));
            seen += usize::from(t(2) > critical);
        }
        // Three true nulls under a net for four: a little under 5%; the true 6% gain is nearly
        // always seen at a CV of 2%.
        let rate = alarms as f64 / experiments as f64;
        assert!((0.025..0.055).contains(&rate), "false alarms {rate}");
        assert!(seen > experiments * 97 / 100, "seen {seen}");
    }

    #[test]
    fn a_lost_baseline_label_leaves_the_other() {
        let mut table = draw(&mut Stream::new(8), 5, 0.0);
        for block in 0..5 {
            table.clear(5, block);
        }
        let model = TwoWay::fit(&table).unwrap();
        let compared = versus_baseline(&model, &[0, 5], &[1, 2, 3, 4], 0.05);
        assert_eq!(compared.len(), 4);
        let want = model.contrast(&[(1, 1.0), (0, -1.0)]).unwrap();
        assert_eq!(compared[0].estimate, want);
    }
}
