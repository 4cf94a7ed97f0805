//! The main chart's title: what it shows, as a sentence.

use crate::report::words::{is_gain, level_name, round_percent};
use crate::results::{Badge, Better, Comparability, LevelResult, Results, Verdict};
use std::cmp::Ordering;

/// Begins the title of a chart of few blocks.
const SCREENING: &str = "A first look: ";

/// The title: what the chart shows, and whether its drives are modelled.
pub(super) fn of(results: &Results) -> String {
    let label = if results.models.is_empty() {
        ""
    } else {
        crate::report::MODEL
    };
    format!("{label}{}", shown(results))
}

fn shown(results: &Results) -> String {
    let is_open = results.answer.recommended.is_none();
    match results.comparability() {
        Comparability::NoBaseline if is_open => {
            return "The baseline has no good run, so nothing can be compared".to_owned();
        }
        Comparability::NoOther if is_open => {
            return "No other level has a good run, so nothing can be compared".to_owned();
        }
        _ => {}
    }
    let Some(baseline) = results.baseline() else {
        return "Every run".to_owned();
    };
    match results.answer.badge {
        Badge::Noisy => {
            "The baseline differs from itself, so the chart shows no verdict".to_owned()
        }
        Badge::Aborted => "Too few blocks were finished for a verdict".to_owned(),
        Badge::Screening => format!("{SCREENING}{}", with_or_without_knee(results, baseline)),
        Badge::Conclusive | Badge::CannotTell => with_or_without_knee(results, baseline),
    }
}

fn with_or_without_knee(results: &Results, baseline: &LevelResult) -> String {
    match results.knee.as_ref().and_then(|knee| knee.level.as_deref()) {
        Some(knee) => with_knee(results, knee, baseline),
        None => without_knee(results, baseline),
    }
}

/// ` that ran`, where a level has no good run.
fn that_ran(results: &Results) -> &'static str {
    let have_all_run = results.levels.iter().all(|level| level.n > 0);
    if have_all_run { "" } else { " that ran" }
}

fn has(results: &Results, wanted: Verdict) -> bool {
    let mut verdicts = results.levels.iter().filter_map(|level| level.verdict);
    verdicts.any(|verdict| verdict == wanted)
}

/// Levels with a larger number than this one has, in whatever order they were typed.
fn above<'a>(results: &'a Results, level: &str) -> Vec<&'a LevelResult> {
    let value = results.level(level).and_then(|level| level.value);
    let is_above = |other: &&LevelResult| value.is_some_and(|v| other.value.is_some_and(|o| o > v));
    results.levels.iter().filter(is_above).collect()
}

fn with_knee(results: &Results, knee: &str, baseline: &LevelResult) -> String {
    let name = |level: &str| level_name(&results.experiment, level);
    let delta = round_percent(results.plan.delta);
    let after = rise_after(results, knee).map_or(String::new(), |level| {
        format!("; {} is {} than that", name(&level.level), slower(results))
    });
    let more = above(results, knee);
    let is_enough = knee == baseline.level && !has(results, Verdict::Better);
    let ran = more.iter().filter(|level| level.n > 0).count();
    // Above the largest level that ran nothing is known.
    match (is_enough && ran > 0, ran == more.len()) {
        (true, true) => format!(
            "More than {} shows no gain beyond {delta}{after}",
            name(knee)
        ),
        (true, false) => format!(
            "No level that ran above {} shows a gain beyond {delta}{after}",
            name(knee)
        ),
        (false, _) => format!(
            "{} is the fewest that is as good as the best{}, within {delta}{after}",
            name(knee),
            that_ran(results)
        ),
    }
}

/// Levels without an order, a search, and a knee that is not certain: what the answer recommends.
fn without_knee(results: &Results, baseline: &LevelResult) -> String {
    let name = |level: &str| level_name(&results.experiment, level);
    let recommended = results.answer.recommended.as_deref();
    let leader = recommended.filter(|&best| best != baseline.level);
    let leader = leader.and_then(|best| results.level(best));
    let is_better = |level: &LevelResult| is_shown_to_be_better(results, level);
    match (leader, recommended) {
        _ if results.answer.is_under_load => under_load(results, leader),
        (Some(leader), _) if baseline.n == 0 => format!(
            "{} leads; {} has no good run",
            name(&leader.level),
            name(&baseline.level)
        ),
        (Some(leader), _) if leader.is_shown_to_differ(results.plan.delta) => {
            format!("{} is the best that was shown", name(&leader.level))
        }
        (Some(leader), _) if results.levels.iter().any(is_better) => {
            format!("{} leads", name(&leader.level))
        }
        // A search is sure that its leader is as good as the best, and the baseline may be, too.
        (Some(leader), _) => format!(
            "{}; {} leads",
            none_shown(results, baseline),
            name(&leader.level)
        ),
        (None, Some(_)) => none_shown(results, baseline),
        (None, None) => nothing_named(results, baseline),
    }
}

/// Of levels that are compared under the same load alone.
fn under_load(results: &Results, leader: Option<&LevelResult>) -> String {
    match (leader, results.answer.recommended.is_some()) {
        (Some(leader), _) => format!(
            "{} is shown to be better than the first level under the same load",
            level_name(&results.experiment, &leader.level)
        ),
        (None, true) => format!(
            "No level is better by more than {} than the first one under the same load",
            round_percent(results.plan.delta)
        ),
        (None, false) => {
            "No level is named; levels are compared under the same load only".to_owned()
        }
    }
}

/// Whether a level is shown to be better than the baseline.
fn is_shown_to_be_better(results: &Results, level: &LevelResult) -> bool {
    let better = results.experiment.response.better;
    level.is_shown_to_differ(results.plan.delta)
        && level.ratio.is_some_and(|ratio| is_gain(better, ratio))
}

/// That no level is shown to differ from the baseline, or none to be better.
fn none_shown(results: &Results, baseline: &LevelResult) -> String {
    let differs = |level: &LevelResult| level.is_shown_to_differ(results.plan.delta);
    let what = match results.levels.iter().any(differs) {
        true => "be better than",
        false => "differ from",
    };
    format!(
        "No level{} is shown to {what} {} by more than {}",
        that_ran(results),
        level_name(&results.experiment, &baseline.level),
        round_percent(results.plan.delta)
    )
}

fn nothing_named(results: &Results, baseline: &LevelResult) -> String {
    let delta = results.plan.delta;
    let is_better = |level: &LevelResult| is_shown_to_be_better(results, level);
    if results.levels.iter().any(|l| l.is_shown_to_differ(delta)) {
        if !results.levels.iter().any(is_better) {
            return none_shown(results, baseline);
        }
        let what = match results.knee {
            Some(_) => "knee",
            None => "level",
        };
        return format!("Some levels differ from the baseline, but no {what} can be named");
    }
    let mut verdicts = results.levels.iter().filter_map(|level| level.verdict);
    let has_verdicts = verdicts.clone().next().is_some();
    if has_verdicts && verdicts.all(|v| matches!(v, Verdict::Same | Verdict::Tiny)) {
        return none_shown(results, baseline);
    }
    "The runs scatter too widely to tell the levels apart".to_owned()
}

fn slower(results: &Results) -> &'static str {
    match (
        results.experiment.response.better,
        results.experiment.response.unit.as_str(),
    ) {
        (Better::Lower, "s") => "slower",
        _ => "worse",
    }
}

/// The largest level above the knee that ran, when it is shown to be worse than the knee: the intervals of
/// both means do not touch, and the table of levels does not take that back.
fn rise_after<'a>(results: &'a Results, knee: &str) -> Option<&'a LevelResult> {
    let more = above(results, knee).into_iter().filter(|level| level.n > 0);
    let last = more.max_by(|a, b| a.value.partial_cmp(&b.value).unwrap_or(Ordering::Equal))?;
    let knee = results.level(knee)?;
    let (a, b) = (knee.mean_interval?, last.mean_interval?);
    let is_apart = match results.experiment.response.better {
        Better::Lower => b.low > a.high,
        Better::Higher => b.high < a.low,
    };
    // A few runs that lie far from the others move a mean, and no verdict.
    let is_judged = match knee.is_baseline {
        true => last.verdict == Some(Verdict::Worse),
        false => last.robust.is_none_or(|robust| robust.agrees),
    };
    (is_apart && is_judged).then_some(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{Experiment, Factor, Interval, Knee, PlanInfo, Response, RobustEffect};

    /// Levels in the order in which they were typed, with the mean and the verdict of each; the first is the
    /// baseline.
    fn results(levels: &[(&str, f64, Option<Verdict>)]) -> Results {
        let level =
            |(place, &(key, mean, verdict)): (usize, &(&str, f64, Option<Verdict>))| LevelResult {
                level: key.to_owned(),
                value: key.parse().ok(),
                is_baseline: place == 0,
                n: 6,
                mean_interval: Some(Interval {
                    low: mean - 1.0,
                    high: mean + 1.0,
                    confidence: 0.95,
                }),
                verdict,
                ..LevelResult::default()
            };
        let mut results = Results {
            experiment: Experiment {
                factor: Factor {
                    singular: "file".to_owned(),
                    plural: "files".to_owned(),
                    ..Factor::default()
                },
                response: Response::elapsed_time(),
                ..Experiment::default()
            },
            plan: PlanInfo {
                delta: 0.02,
                ..PlanInfo::default()
            },
            levels: levels.iter().enumerate().map(level).collect(),
            ..Results::default()
        };
        results.answer.badge = Badge::Conclusive;
        results
    }

    fn title(
        mut results: Results,
        recommended: Option<&str>,
        knee: Option<Option<&str>>,
    ) -> String {
        results.answer.recommended = recommended.map(str::to_owned);
        results.knee = knee.map(|level| Knee {
            level: level.map(str::to_owned),
            ..Knee::default()
        });
        of(&results)
    }

    /// A search, which has no verdicts: its baseline, and a configuration with this ratio to it.
    fn search(ratio: f64, low: f64, high: f64) -> Results {
        let mut found = results(&[("1 / 1", 100.0, None), ("8 / 100", 100.0 * ratio, None)]);
        let level = found.levels.last_mut().unwrap();
        level.ratio = Some(ratio);
        level.interval = Some(Interval {
            low,
            high,
            confidence: 0.95,
        });
        found
    }

    #[test]
    fn a_leader_that_is_not_shown_to_differ_from_the_baseline_only_leads() {
        let best = Some("8 / 100");
        assert_eq!(
            title(search(0.998, 0.994, 1.002), best, None),
            "No level is shown to differ from 1 / 1 by more than 2%; 8 / 100 leads"
        );
        // Another configuration is shown to be worse.
        let mut others = search(0.998, 0.994, 1.002);
        let worse = search(1.3, 1.25, 1.35).levels.remove(1);
        others.levels.push(LevelResult {
            level: "2 / 1".to_owned(),
            ..worse
        });
        assert_eq!(
            title(others, best, None),
            "No level is shown to be better than 1 / 1 by more than 2%; 8 / 100 leads"
        );
        // The baseline of a search may fail; the others are ranked among each other.
        let mut failed = search(0.998, 0.994, 1.002);
        failed.levels[0].n = 0;
        (failed.levels[1].ratio, failed.levels[1].interval) = (None, None);
        assert_eq!(
            title(failed.clone(), best, None),
            "8 / 100 leads; 1 / 1 has no good run"
        );
        assert_eq!(
            title(failed, None, None),
            "The baseline has no good run, so nothing can be compared"
        );
    }

    #[test]
    fn the_title_of_a_screening_begins_with_that() {
        let mut levels = results(&[("1", 100.0, None), ("8", 90.0, Some(Verdict::Better))]);
        levels.answer.badge = Badge::Screening;
        assert_eq!(
            title(levels.clone(), Some("8"), Some(Some("8"))),
            "A first look: 8 files is the fewest that is as good as the best, within 2%"
        );
        levels.levels[1].n = 0;
        assert_eq!(
            title(levels, None, None),
            "No other level has a good run, so nothing can be compared"
        );
    }

    #[test]
    fn without_an_order_the_title_is_the_answer() {
        assert_eq!(
            title(search(0.55, 0.5, 0.6), Some("8 / 100"), None),
            "8 / 100 is the best that was shown"
        );
        assert_eq!(
            title(search(1.1, 1.05, 1.15), Some("1 / 1"), None),
            "No level is shown to be better than 1 / 1 by more than 2%"
        );
        let ab = |verdict| {
            results(&[
                ("default", 100.0, None),
                ("trace flag 661", 95.0, Some(verdict)),
            ])
        };
        assert_eq!(
            title(ab(Verdict::Better), Some("trace flag 661"), None),
            "trace flag 661 is the best that was shown"
        );
        assert_eq!(
            title(ab(Verdict::Same), Some("default"), None),
            "No level is shown to differ from default by more than 2%"
        );
        let open = results(&[
            ("1 / a", 100.0, None),
            ("1 / b", 120.0, Some(Verdict::Worse)),
            ("2 / a", 98.0, Some(Verdict::CannotTell)),
        ]);
        assert_eq!(
            title(open, None, None),
            "No level is shown to be better than 1 / a by more than 2%"
        );
    }

    #[test]
    fn a_knee_below_the_baseline_is_named_although_nothing_is_better() {
        let results = results(&[
            ("8", 100.0, None),
            ("4", 100.2, Some(Verdict::Same)),
            ("1", 120.0, Some(Verdict::Worse)),
        ]);
        assert_eq!(
            title(results, Some("4"), Some(Some("4"))),
            "4 files is the fewest that is as good as the best, within 2%"
        );
    }

    #[test]
    fn nothing_is_said_about_levels_above_the_largest_that_ran() {
        let worse = Some(Verdict::Worse);
        let largest = results(&[("8", 100.0, None), ("1", 120.0, worse)]);
        assert_eq!(
            title(largest.clone(), Some("8"), Some(Some("8"))),
            "8 files is the fewest that is as good as the best, within 2%"
        );
        // The rise is that of the level with the largest number, not of the one that was typed last.
        let mut levels = results(&[
            ("8", 100.0, None),
            ("16", 110.0, worse),
            ("1", 120.0, worse),
        ]);
        assert_eq!(
            title(levels.clone(), Some("8"), Some(Some("8"))),
            "More than 8 files shows no gain beyond 2%; 16 files is slower than that"
        );
        levels.levels[1].n = 0;
        assert_eq!(
            title(levels, Some("8"), Some(Some("8"))),
            "8 files is the fewest that is as good as the best that ran, within 2%"
        );
    }

    #[test]
    fn a_level_that_two_runs_made_slow_is_not_called_slower() {
        let same = Some(Verdict::Same);
        let carried = |verdict| {
            results(&[
                ("1", 100.0, None),
                ("8", 100.2, same),
                ("16", 105.0, verdict),
            ])
        };
        let one = Some(Some("1"));
        assert_eq!(
            title(carried(Some(Verdict::CannotTell)), Some("1"), one),
            "More than 1 file shows no gain beyond 2%"
        );
        assert_eq!(
            title(carried(Some(Verdict::Worse)), Some("1"), one),
            "More than 1 file shows no gain beyond 2%; 16 files is slower than that"
        );
        // Above another knee the verdict is about the baseline: the robust twin decides.
        let with_twin = |agrees| {
            let mut levels = results(&[
                ("1", 100.0, None),
                ("8", 90.0, Some(Verdict::Better)),
                ("16", 95.0, Some(Verdict::CannotTell)),
            ]);
            levels.levels[2].robust = Some(RobustEffect {
                agrees,
                ..RobustEffect::default()
            });
            title(levels, Some("8"), Some(Some("8")))
        };
        assert!(!with_twin(false).contains("slower"));
        assert!(with_twin(true).ends_with("; 16 files is slower than that"));
    }

    #[test]
    fn a_baseline_that_is_enough_without_a_certain_knee_is_in_the_title() {
        let levels = || {
            results(&[
                ("1", 100.0, None),
                ("8", 99.0, Some(Verdict::Same)),
                ("16", 110.0, Some(Verdict::Worse)),
            ])
        };
        assert_eq!(
            title(levels(), Some("1"), Some(None)),
            "No level is shown to be better than 1 file by more than 2%"
        );
        assert_eq!(
            title(levels(), None, Some(None)),
            "No level is shown to be better than 1 file by more than 2%"
        );
    }
}
