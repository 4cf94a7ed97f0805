//! Ratios of unpaired means, and where to put repetition when noise lives at several levels.

use super::special::t_quantile;
use super::{StatsError, mean, std_dev};

/// Fieller's interval of mean(new) / mean(old) for two samples that were not run in blocks.
///
/// `Ok(None)` when the old mean is too noisy to be distinguished from zero: the interval is then unbounded,
/// and the baseline supports no statement.
pub fn fieller(old: &[f64], new: &[f64], alpha: f64) -> Result<Option<(f64, f64)>, StatsError> {
    let fewest = old.len().min(new.len());
    if fewest < 2 {
        return Err(StatsError::TooFew {
            what: "Fieller's interval",
            needed: 2,
            got: fewest,
        });
    }
    let half = |values: &[f64]| {
        let n = values.len() as f64;
        let t = t_quantile(1.0 - alpha / 2.0, n - 1.0);
        (t * std_dev(values)).powi(2) / n
    };
    let (x, y) = (mean(old), mean(new));
    let (x_half, y_half) = (half(old), half(new));
    let denominator = x * x - x_half;
    if denominator <= 0.0 {
        return Ok(None);
    }
    let root = ((x * y).powi(2) - denominator * (y * y - y_half))
        .max(0.0)
        .sqrt();
    Ok(Some((
        (x * y - root) / denominator,
        (x * y + root) / denominator,
    )))
}

/// Where repetition pays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplicationPlan {
    /// Variance between iterations of one execution.
    pub within: f64,
    /// Variance between executions, freed from the one within; may come out negative.
    pub between: f64,
    /// Iterations per execution that cost least; `None` when executions do not differ beyond their
    /// iterations, so that more executions gain nothing over more iterations.
    pub iterations: Option<usize>,
}

/// Kalibera and Jones' split of repetition from a pilot of executions with equally many iterations.
///
/// `iteration_cost` is the time of one more iteration, `execution_cost` of one more execution with its
/// set-up.
pub fn kalibera_jones(
    pilot: &[Vec<f64>],
    iteration_cost: f64,
    execution_cost: f64,
) -> Result<ReplicationPlan, StatsError> {
    let fewest = pilot.iter().map(Vec::len).min().unwrap_or(0);
    if pilot.len() < 2 || fewest < 2 {
        let got = pilot.len().min(fewest);
        return Err(StatsError::TooFew {
            what: "a pilot of executions",
            needed: 2,
            got,
        });
    }
    let variances: Vec<f64> = pilot.iter().map(|run| std_dev(run).powi(2)).collect();
    let means: Vec<f64> = pilot.iter().map(|run| mean(run)).collect();
    let within = mean(&variances);
    let between = std_dev(&means).powi(2) - within / fewest as f64;
    let iterations = (between > 0.0).then(|| {
        let best = (execution_cost / iteration_cost * within / between)
            .sqrt()
            .ceil();
        best.clamp(1.0, 1e6) as usize
    });
    Ok(ReplicationPlan {
        within,
        between,
        iterations,
    })
}

#[cfg(test)]
mod tests {
    use super::super::Stream;
    use super::*;

    #[test]
    fn fieller_covers_the_true_ratio_as_often_as_it_says() {
        let mut stream = Stream::new(12);
        let experiments = 2_000;
        let mut covered = 0;
        for _ in 0..experiments {
            let old: Vec<f64> = (0..6).map(|_| 100.0 + 5.0 * stream.normal()).collect();
            let new: Vec<f64> = (0..6).map(|_| 90.0 + 5.0 * stream.normal()).collect();
            let (low, high) = fieller(&old, &new, 0.05).unwrap().unwrap();
            covered += usize::from(low <= 0.9 && 0.9 <= high);
        }
        let share = covered as f64 / f64::from(experiments);
        // Two t quantiles with n - 1 each are a little careful.
        assert!((0.94..0.99).contains(&share), "coverage {share}");
    }

    #[test]
    fn a_baseline_lost_in_noise_has_no_ratio() {
        assert_eq!(
            fieller(&[1.0, -1.0, 0.5], &[1.0, 1.1, 0.9], 0.05).unwrap(),
            None
        );
        assert!(fieller(&[1.0], &[1.0, 2.0], 0.05).is_err());
    }

    #[test]
    fn repetition_goes_where_the_variance_is() {
        let mut stream = Stream::new(6);
        let mut pilot = |between: f64, within: f64| -> Vec<Vec<f64>> {
            (0..40)
                .map(|_| {
                    let centre = 100.0 + between * stream.normal();
                    (0..10).map(|_| centre + within * stream.normal()).collect()
                })
                .collect()
        };
        // Executions differ much: one iteration each. Iterations differ much: many.
        let restarts = kalibera_jones(&pilot(5.0, 1.0), 1.0, 10.0).unwrap();
        assert_eq!(restarts.iterations, Some(1));
        let iterations = kalibera_jones(&pilot(1.0, 5.0), 1.0, 10.0)
            .unwrap()
            .iterations
            .unwrap();
        // sqrt(10 * 25 / 1) is 15.8.
        assert!((10..=30).contains(&iterations), "{iterations}");
        // Executions that agree better than their iterations allow.
        let flat = vec![vec![1.0, 3.0], vec![3.0, 1.0], vec![2.0, 2.0]];
        assert_eq!(kalibera_jones(&flat, 1.0, 10.0).unwrap().iterations, None);
    }
}
