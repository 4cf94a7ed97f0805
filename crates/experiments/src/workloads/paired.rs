//! Levels compared by their runs within blocks: for statements about two levels of which none need be the
//! baseline.

use furrow_lab::results::{Interval, Results};
use furrow_stats::special::t_quantile;
use furrow_stats::{mean, std_dev};

/// The ratio of one level's response to another's, by the geometric means of all runs of the level in a block
/// (the baseline has two), with a 95% interval of the ratios within blocks. `None`
/// with fewer than two blocks that have both.
pub(crate) fn ratio(results: &Results, level: &str, other: &str) -> Option<(f64, Interval)> {
    let in_block = |key: &str, block: u32| {
        let runs = results.good_runs(key).filter(|run| run.block == block);
        let logs: Vec<f64> = runs.filter_map(|run| run.response.map(f64::ln)).collect();
        (!logs.is_empty()).then(|| mean(&logs))
    };
    let of_block = |block| Some(in_block(level, block)? - in_block(other, block)?);
    // A search has more rounds than the plan has blocks.
    let last = results.runs.iter().map(|run| run.block).max();
    let logs: Vec<f64> = (1..=last.unwrap_or(0)).filter_map(of_block).collect();
    if logs.len() < 2 {
        return None;
    }
    let n = logs.len() as f64;
    let middle = mean(&logs);
    let reach = t_quantile(0.975, n - 1.0) * std_dev(&logs) / n.sqrt();
    let interval = Interval {
        low: (middle - reach).exp(),
        high: (middle + reach).exp(),
        confidence: 0.95,
    };
    Some((middle.exp(), interval))
}

/// The key of a level of two factors: of the one that varies, or of both.
pub(crate) fn key_of_two(results: &Results, first: &str, second: &str) -> String {
    let forms = [format!("{first} / {second}"), first.to_owned()];
    let mut forms = forms.into_iter().filter(|key| results.level(key).is_some());
    forms.next().unwrap_or_else(|| second.to_owned())
}

/// Why two levels cannot be compared: one did not run, or too few blocks have both.
pub(crate) fn absent(results: &Results, level: &str, other: &str) -> &'static str {
    let has_run = |key: &str| results.good_runs(key).next().is_some();
    if has_run(level) && has_run(other) {
        "in fewer than two blocks of these runs"
    } else {
        "not among these runs"
    }
}

/// Whether a ratio is at most a bound; `None` if its interval has the bound inside.
pub(crate) fn is_at_most(interval: Interval, bound: f64) -> Option<bool> {
    if interval.high <= bound {
        Some(true)
    } else if interval.low > bound {
        Some(false)
    } else {
        None
    }
}

/// Whether a ratio lies within a range; `None` if its interval has an end of the range inside.
pub(crate) fn is_within(interval: Interval, range: std::ops::RangeInclusive<f64>) -> Option<bool> {
    let (least, most) = range.into_inner();
    let is_below = interval.high < least;
    if is_below || interval.low > most {
        Some(false)
    } else {
        (interval.low >= least && interval.high <= most).then_some(true)
    }
}

/// Whether one level has the larger response; `None` if the interval includes both directions.
pub(crate) fn is_larger(results: &Results, level: &str, other: &str) -> Option<bool> {
    let (ratio, interval) = ratio(results, level, other)?;
    (!interval.contains(1.0)).then_some(ratio > 1.0)
}

/// Whether both parts of a statement hold: no where one does not, and open where one is open.
pub(crate) fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use furrow_lab::results::{LevelResult, PlanInfo, Run};

    /// Results with these seconds of each level in three blocks; the first level is the baseline.
    pub(crate) fn blocks(levels: &[(&str, [f64; 3])]) -> Results {
        let mut results = Results {
            plan: PlanInfo {
                blocks: 3,
                ..PlanInfo::default()
            },
            ..Results::default()
        };
        for (place, (level, seconds)) in levels.iter().enumerate() {
            results.levels.push(LevelResult {
                level: (*level).to_owned(),
                is_baseline: place == 0,
                n: 3,
                mean: Some(mean(seconds)),
                ..LevelResult::default()
            });
            for (block, seconds) in (1..).zip(seconds) {
                results.runs.push(Run {
                    level: (*level).to_owned(),
                    block,
                    response: Some(*seconds),
                    ..Run::default()
                });
            }
        }
        results
    }

    #[test]
    fn both_runs_of_the_baseline_in_a_block_count() {
        let mut results = blocks(&[("1", [10.0, 11.0, 10.5]), ("8", [20.0, 22.0, 21.0])]);
        let control = results.runs.iter().filter(|run| run.level == "1");
        let control: Vec<Run> = control
            .map(|run| Run {
                response: run.response.map(|seconds| 4.0 * seconds),
                ..run.clone()
            })
            .collect();
        results.runs.extend(control);
        let (found, interval) = ratio(&results, "8", "1").unwrap();
        assert!((found - 1.0).abs() < 1e-9, "{found}");
        assert!(interval.contains(1.0), "{interval:?}");
    }

    #[test]
    fn a_level_is_called_larger_only_where_the_blocks_agree() {
        let clear = blocks(&[("8", [10.0, 20.0, 15.0]), ("16", [11.0, 22.1, 16.4])]);
        assert_eq!(is_larger(&clear, "16", "8"), Some(true));
        assert_eq!(is_larger(&clear, "8", "16"), Some(false));
        // The rounds of a search, more than the plan has blocks.
        let mut search = clear.clone();
        search.plan.blocks = 1;
        assert_eq!(is_larger(&search, "16", "8"), Some(true));
        let mixed = blocks(&[("8", [10.0, 20.0, 15.0]), ("16", [11.0, 18.0, 15.0])]);
        assert_eq!(is_larger(&mixed, "16", "8"), None);
        assert_eq!(is_larger(&blocks(&[]), "16", "8"), None);
        assert_eq!(both(Some(true), None), None);
        assert_eq!(both(None, Some(false)), Some(false));
        let of = |low, high| {
            let interval = Interval {
                low,
                high,
                confidence: 0.95,
            };
            is_within(interval, 0.85..=0.97)
        };
        assert_eq!(of(0.9, 0.95), Some(true));
        assert_eq!((of(0.98, 1.1), of(0.7, 0.8)), (Some(false), Some(false)));
        assert_eq!((of(0.96, 0.98), of(0.5, 1.5)), (None, None));
    }
}
