//! Is the test bed fit: A against A', drift, correlation in run order, runs that stick out.

use super::linear::least_squares;
use super::special::{beta_regularised, t_quantile};
use super::{Estimate, StatsError, TwoWay, mad_scaled, mean};

/// The baseline against itself under its second label.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AaCheck {
    /// Log of A' over A.
    pub estimate: Estimate,
    /// Its 95% interval.
    pub interval: (f64, f64),
    /// Whether the interval holds 0, or no more than the margin; if not, the experiment is to be called
    /// noisy.
    pub passed: bool,
}

/// Compares the two labels of the baseline. A difference that is shown to be less than `margin`, in logs, is
/// none: that margin is what levels have to differ by. `None` when one of the labels has no runs.
pub fn aa_check(model: &TwoWay, (a, a_prime): (usize, usize), margin: f64) -> Option<AaCheck> {
    let estimate = model.contrast(&[(a_prime, 1.0), (a, -1.0)])?;
    let interval = estimate.interval(0.05);
    Some(AaCheck {
        estimate,
        interval,
        passed: interval.0 <= 0.0 && 0.0 <= interval.1
            || interval.0.abs().max(interval.1.abs()) <= margin,
    })
}

/// The chance that `alarms` or more of `experiments` A/A experiments raise a false alarm when each does
/// so with chance `alpha`. Below 0.05 the test bed is not fit: something other than chance is at work.
pub fn alarm_chance(alarms: usize, experiments: usize, alpha: f64) -> f64 {
    if alarms == 0 {
        return 1.0;
    }
    if alarms > experiments {
        return 0.0;
    }
    beta_regularised(alarms as f64, (experiments - alarms + 1) as f64, alpha)
}

/// A straight line through the block effects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Change of the log response per hour.
    pub per_hour: f64,
    /// Its 95% interval.
    pub interval: (f64, f64),
}

/// Regresses block effects on the mean clock time of each block, in hours. A resumed experiment has a
/// gap in its clock; the gap stays in the hours, so that it is not taken for speed.
pub fn drift(block_effects: &[f64], hours: &[f64]) -> Result<Drift, StatsError> {
    let n = block_effects.len().min(hours.len());
    if n < 3 {
        return Err(StatsError::TooFew {
            what: "a drift line",
            needed: 3,
            got: n,
        });
    }
    let rows: Vec<Vec<f64>> = hours[..n].iter().map(|&h| vec![1.0, h]).collect();
    let (line, rss, inverse) =
        least_squares(&rows, &block_effects[..n]).ok_or(StatsError::NoFreedom)?;
    let nu = (n - 2) as f64;
    let se = (rss / nu * inverse.at(1, 1)).sqrt();
    let half = t_quantile(0.975, nu) * se;
    Ok(Drift {
        per_hour: line[1],
        interval: (line[1] - half, line[1] + half),
    })
}

/// Correlation of neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SerialCorrelation {
    /// Lag-1 autocorrelation.
    pub lag1: f64,
    /// Durbin-Watson statistic, 2 without correlation.
    pub durbin_watson: f64,
}

/// Lag-1 correlation and Durbin-Watson statistic of residuals in run order.
pub fn serial_correlation(residuals: &[f64]) -> Result<SerialCorrelation, StatsError> {
    let centre = mean(residuals);
    let squares: f64 = residuals.iter().map(|r| (r - centre).powi(2)).sum();
    if residuals.len() < 4 || squares == 0.0 {
        let got = residuals.len();
        return Err(StatsError::TooFew {
            what: "a serial correlation",
            needed: 4,
            got,
        });
    }
    let products: f64 = residuals
        .windows(2)
        .map(|pair| (pair[0] - centre) * (pair[1] - centre))
        .sum();
    let steps: f64 = residuals
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).powi(2))
        .sum();
    Ok(SerialCorrelation {
        lag1: products / squares,
        durbin_watson: steps / squares,
    })
}

/// A run far from the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outlier {
    /// Its arm.
    pub arm: usize,
    /// Its block.
    pub block: usize,
    /// Residual over the scaled median absolute deviation; its sign distinguishes slower from faster.
    pub score: f64,
}

/// Labels runs whose residual is beyond `limit` (3.5) scaled MADs. None is ever taken out.
pub fn outliers(model: &TwoWay, limit: f64) -> Vec<Outlier> {
    let residuals: Vec<(usize, usize, f64)> = (0..model.arms())
        .flat_map(|arm| (0..model.blocks()).map(move |block| (arm, block)))
        .filter_map(|(arm, block)| model.residual(arm, block).map(|r| (arm, block, r)))
        .collect();
    let all: Vec<f64> = residuals.iter().map(|run| run.2).collect();
    let scale = mad_scaled(&all);
    if scale <= 0.0 {
        return Vec::new();
    }
    residuals
        .into_iter()
        .map(|(arm, block, residual)| Outlier {
            arm,
            block,
            score: residual / scale,
        })
        .filter(|outlier| outlier.score.abs() > limit)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Stream, Table};
    use super::*;

    fn table(seed: u64, a_prime: f64) -> Table {
        let mut stream = Stream::new(seed);
        let mut logs = Table::new(6, 6);
        for block in 0..6 {
            let shift = 0.05 * stream.normal();
            for arm in 0..6 {
                let effect = if arm == 5 { a_prime } else { 0.0 };
                logs.set(arm, block, effect + shift + 0.02 * stream.normal());
            }
        }
        logs
    }

    #[test]
    fn a_control_that_differs_from_itself_fails() {
        let check = |effect, margin| {
            let model = TwoWay::fit(&table(3, effect)).unwrap();
            aa_check(&model, (0, 5), margin).unwrap().passed
        };
        assert!(check(0.0, 0.0));
        assert!(!check(0.1, 0.0) && !check(0.1, 0.02) && !check(-0.1, 0.02));
        // All of its interval lies within the margin.
        assert!(check(0.1, 0.2) && check(-0.1, 0.2));
        // One in twenty fails by chance.
        let alarms = (0..2_000)
            .filter(|&seed| {
                let model = TwoWay::fit(&table(1000 + seed, 0.0)).unwrap();
                !aa_check(&model, (0, 5), 0.0).unwrap().passed
            })
            .count();
        assert!((70..=130).contains(&alarms), "{alarms} of 2,000");
    }

    #[test]
    fn four_alarms_in_twenty_are_no_chance() {
        assert!((alarm_chance(4, 20, 0.05) - 0.016).abs() < 0.0005);
        assert!((alarm_chance(1, 20, 0.05) - (1.0 - 0.95_f64.powi(20))).abs() < 1e-12);
        assert_eq!(
            (alarm_chance(0, 20, 0.05), alarm_chance(21, 20, 0.05)),
            (1.0, 0.0)
        );
    }

    #[test]
    fn a_disk_that_slows_by_five_percent_an_hour_is_seen() {
        let hours = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
        let effects: Vec<f64> = hours
            .iter()
            .enumerate()
            .map(|(i, h)| 0.05 * h + [0.001, -0.001][i % 2])
            .collect();
        let line = drift(&effects, &hours).unwrap();
        assert!((line.per_hour - 0.05).abs() < 0.004, "{line:?}");
        assert!(line.interval.0 > 0.0 && line.interval.0 < 0.05 && line.interval.1 > 0.05);
        assert!(drift(&effects[..2], &hours).is_err());
        assert!(drift(&[0.0, 0.1, 0.2], &[1.0, 1.0, 1.0]).is_err());
    }

    #[test]
    fn neighbours_that_resemble_each_other_are_seen() {
        let mut stream = Stream::new(1);
        let mut before = 0.0;
        let sticky: Vec<f64> = (0..300)
            .map(|_| {
                before = 0.6 * before + stream.normal();
                before
            })
            .collect();
        let seen = serial_correlation(&sticky).unwrap();
        assert!((seen.lag1 - 0.6).abs() < 0.12, "{seen:?}");
        assert!((seen.durbin_watson - 2.0 * (1.0 - seen.lag1)).abs() < 0.05);
        let free: Vec<f64> = (0..300).map(|_| stream.normal()).collect();
        assert!(serial_correlation(&free).unwrap().lag1.abs() < 0.15);
        assert!(serial_correlation(&[1.0; 8]).is_err());
    }

    #[test]
    fn the_wild_run_is_labelled_and_its_neighbours_are_not() {
        let mut logs = table(17, 0.0);
        logs.set(2, 3, logs.get(2, 3).unwrap() + 0.4);
        let found = outliers(&TwoWay::fit(&logs).unwrap(), 3.5);
        assert_eq!(
            found.iter().map(|o| (o.arm, o.block)).collect::<Vec<_>>(),
            [(2, 3)]
        );
        assert!(found[0].score > 3.5);
        let quiet = (0..200)
            .map(|seed| outliers(&TwoWay::fit(&table(seed, 0.0)).unwrap(), 3.5).len())
            .sum::<usize>();
        assert!(
            quiet < 60,
            "{quiet} labels in 200 quiet experiments of 36 runs"
        );
    }

    #[test]
    fn identical_runs_have_no_outliers() {
        let model = TwoWay::fit(&Table::from_rows(&[vec![1.0; 4], vec![2.0; 4]])).unwrap();
        assert!(outliers(&model, 3.5).is_empty());
    }
}
