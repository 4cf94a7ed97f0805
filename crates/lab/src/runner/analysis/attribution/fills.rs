//! What filled the time of each level, where no cause of a difference is sought.
//!
//! A level is described by its own runs alone: the category with the largest share of their time, if that
//! fills every one of them. Nothing is subtracted and no level is compared with another one, so that this
//! holds without a verdict, too.

use super::budget::{Basis, Budget, is_undivided};
use super::classes;
use crate::results::{Badge, Control, Fill, Run, has_think_times};
use crate::runner::analysis::facts::Facts;
use furrow_stats::mean;

/// The levels whose time one category filled in every run. The two labels of a baseline that differs from
/// itself are described each by itself.
pub(super) fn of(facts: &Facts<'_>, badge: Badge) -> Vec<Fill> {
    let basis = Basis::of(facts);
    let thinks = has_think_times(&facts.plan.settings);
    let mut fills = Vec::new();
    for (cell, key) in facts.keys.iter().enumerate() {
        let labels: &[Control] = match badge == Badge::Noisy && cell == facts.baseline {
            true => &[Control::A, Control::APrime],
            false => &[Control::None],
        };
        for &control in labels {
            let mut runs = facts.good(cell);
            runs.retain(|run| control == Control::None || run.control == control);
            fills.extend(of_runs(&runs, basis, thinks).map(|fill| Fill {
                level: key.clone(),
                control,
                ..fill
            }));
        }
    }
    fills
}

fn of_runs(runs: &[&Run], basis: Basis, thinks: bool) -> Option<Fill> {
    let of_run = |run: &&Run| Budget::of(&[*run], basis, thinks);
    let budgets: Vec<Budget> = runs.iter().filter_map(of_run).collect();
    let category = budgets.first()?.largest()?;
    let shares: Vec<f64> = budgets.iter().map(|b| b.share(category)).collect();
    let low = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let is_largest = budgets.iter().all(|b| b.largest() == Some(category));
    if !is_largest || low < Fill::LEAST || is_undivided(category) {
        return None;
    }
    let named = classes::named(category, runs);
    Some(Fill {
        category: named.map_or_else(|| category.to_owned(), |(name, _)| name),
        share: mean(&shares),
        low,
        high: shares.iter().copied().fold(0.0, f64::max),
        runs: shares.len() as u32,
        ..Fill::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::WaitTotal;

    /// A run of 10 s with one worker that waited so long in each of two categories.
    fn run(log_s: f64, latch_s: f64) -> Run {
        let wait = |category: &str, seconds: f64| WaitTotal {
            category: category.to_owned(),
            total_us: (seconds * 1e6) as u64,
            ..WaitTotal::default()
        };
        Run {
            seconds: Some(10.0),
            workers: 1,
            waits: vec![wait("Tran Log IO", log_s), wait("Buffer Latch", latch_s)],
            ..Run::default()
        }
    }

    #[test]
    fn a_category_fills_a_level_if_it_is_most_of_each_of_its_runs() {
        let found = |runs: &[Run]| {
            let runs: Vec<&Run> = runs.iter().collect();
            of_runs(&runs, Basis::Worker, false)
        };
        let fill = found(&[run(6.5, 2.0), run(7.5, 1.0), run(7.0, 1.0)]).unwrap();
        assert_eq!((fill.category.as_str(), fill.runs), ("Tran Log IO", 3));
        for (value, wanted) in [(fill.low, 0.65), (fill.share, 0.7), (fill.high, 0.75)] {
            assert!((value - wanted).abs() < 1e-9, "{fill:?}");
        }
        // Too little of one run, another category in one run, no time at all.
        assert_eq!(found(&[run(8.0, 1.0), run(5.5, 1.0)]), None);
        assert_eq!(found(&[run(8.0, 1.0), run(1.0, 8.0)]), None);
        assert_eq!(found(&[Run::default()]), None);
        // Running is a category; running or something else is none.
        let idle = found(&[run(1.0, 1.0)]).unwrap();
        assert_eq!(idle.category, super::super::budget::RUNNING);
        let runs = run(1.0, 1.0);
        assert_eq!(of_runs(&[&runs], Basis::Worker, true), None);
    }
}
