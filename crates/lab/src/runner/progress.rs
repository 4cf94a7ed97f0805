//! The progress of the experiment, and how long it will still take.

use crate::plan::PlannedRun;
use furrow_stats::mean;
use std::collections::BTreeMap;

/// Times of finished runs by cell, beside what was forecast.
#[derive(Debug, Clone)]
pub struct TimeLeft {
    forecasts: BTreeMap<usize, f64>,
    taken: BTreeMap<usize, Vec<f64>>,
    pilot: Option<f64>,
}

impl TimeLeft {
    /// Starts from forecasts.
    pub fn new(runs: &[PlannedRun], forecast_s: impl Fn(&PlannedRun) -> f64) -> TimeLeft {
        let forecasts = runs
            .iter()
            .map(|run| (run.cell.index, forecast_s(run)))
            .collect();
        TimeLeft {
            forecasts,
            taken: BTreeMap::new(),
            pilot: None,
        }
    }

    /// A pilot run took this long where that was forecast.
    pub fn calibrate(&mut self, took_s: f64, forecast_s: f64) {
        if took_s > 0.0 && forecast_s > 0.0 {
            self.pilot = Some(took_s / forecast_s);
        }
    }

    /// A run has finished.
    pub fn finished(&mut self, run: &PlannedRun, took_s: f64) {
        self.taken.entry(run.cell.index).or_default().push(took_s);
    }

    /// Whether the times rest on the forecast alone.
    pub fn is_assumed(&self) -> bool {
        self.taken.is_empty() && self.pilot.is_none()
    }

    /// Expected and worst seconds for these runs. A cell that has finished runs uses their mean and maximum;
    /// another one uses its forecast times the ratio of taken to forecast seen elsewhere. Means and not
    /// medians: the estimate is of a sum of runs, and slow runs are a part of it.
    pub fn left(&self, runs: &[&PlannedRun]) -> (f64, f64) {
        let ratios: Vec<f64> = self
            .taken
            .iter()
            .filter_map(|(cell, taken)| {
                let forecast = self.forecasts.get(cell).copied().filter(|&f| f > 0.0)?;
                Some(taken.iter().map(move |t| t / forecast))
            })
            .flatten()
            .collect();
        let usual = if ratios.is_empty() {
            self.pilot.unwrap_or(1.0)
        } else {
            mean(&ratios)
        };
        let worst = ratios.iter().copied().fold(usual, f64::max);
        let mut expected = 0.0;
        let mut slowest = 0.0;
        for run in runs {
            let forecast = self.forecasts.get(&run.cell.index).copied().unwrap_or(0.0);
            match self.taken.get(&run.cell.index) {
                Some(taken) => {
                    expected += mean(taken);
                    slowest += taken.iter().copied().fold(0.0, f64::max);
                }
                None => {
                    expected += usual * forecast;
                    slowest += worst * forecast;
                }
            }
        }
        (expected, slowest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::Factor;
    use crate::plan::Plan;

    #[test]
    fn time_left_goes_by_what_was_seen_and_scales_what_was_not() {
        let plan = Plan {
            aa_control: false,
            ..Plan::new("t", "t?", vec![Factor::counts("n", &[1, 2])], 1)
        };
        let runs = plan.runs();
        let mut time = TimeLeft::new(&runs, |run| 10.0 * run.cell.count("n").unwrap() as f64);
        let of = |n: u64| {
            runs.iter()
                .find(|run| run.cell.count("n") == Some(n))
                .unwrap()
        };
        let open = [of(1), of(2)];
        assert_eq!(time.left(&open), (30.0, 30.0));
        assert!(time.is_assumed());
        time.calibrate(20.0, 10.0);
        assert_eq!(time.left(&open), (60.0, 60.0));
        // Level 1 takes three times its forecast, once six times: level 2 is scaled alike.
        for took in [30.0, 30.0, 60.0] {
            time.finished(of(1), took);
        }
        assert_eq!(time.left(&open), (40.0 + 80.0, 60.0 + 120.0));
        time.finished(of(2), 25.0);
        assert_eq!(time.left(&open), (40.0 + 25.0, 60.0 + 25.0));
        assert_eq!(time.left(&[]), (0.0, 0.0));
    }
}
