//! Where the time went, and whether that explains the difference.
//!
//! Waits are counted as seconds per worker; together with the time not spent waiting they make up the
//! elapsed time. The change of each category between the baseline and the level recommended (else the
//! best one) is held against the change of the elapsed time. A category that carries 60% of it is
//! `likely`; `attributed` also needs a measured ceiling that is used to 85%. A category whose share of
//! the time barely changes explains nothing: it merely shrank along with everything else.

use super::facts::Facts;
use super::levels::Judged;
use crate::experiment::Experiment;
use crate::results::{Attribution, Ceiling, Confidence, Run, Verdict};
use furrow_stats::mean;
use std::collections::BTreeMap;

/// The name of the time that was not waited.
const RUNNING: &str = "running, not waiting";
/// Share of the change that a category must carry.
const ENOUGH: f64 = 0.6;
/// Use of a ceiling from which on it limits.
const CEILING: f64 = 0.85;
/// A share that changes by less than this has not changed.
const BARELY: f64 = 0.02;

/// Seconds per worker by category, means over the good runs of a cell, and the mean elapsed seconds.
struct Budget {
    seconds: BTreeMap<String, f64>,
    elapsed: f64,
}

impl Budget {
    fn of(runs: &[&Run]) -> Option<Budget> {
        let measured: Vec<(&Run, f64)> = runs
            .iter()
            .filter(|run| !run.waits.is_empty() && run.workers > 0)
            .filter_map(|run| Some((*run, run.seconds?)))
            .collect();
        if measured.is_empty() {
            return None;
        }
        let elapsed = mean(
            &measured
                .iter()
                .map(|(_, seconds)| *seconds)
                .collect::<Vec<_>>(),
        );
        let mut seconds: BTreeMap<String, f64> = BTreeMap::new();
        for (run, _) in &measured {
            for wait in run.waits.iter().filter(|wait| !wait.benign) {
                let name = if wait.category.is_empty() {
                    &wait.wait_type
                } else {
                    &wait.category
                };
                let per_worker = wait.total_us as f64 / 1e6 / f64::from(run.workers);
                *seconds.entry(name.clone()).or_insert(0.0) += per_worker / measured.len() as f64;
            }
        }
        let waited: f64 = seconds.values().sum();
        seconds.insert(RUNNING.to_string(), (elapsed - waited).max(0.0));
        Some(Budget { seconds, elapsed })
    }

    fn share(&self, category: &str) -> f64 {
        self.seconds.get(category).copied().unwrap_or(0.0) / self.elapsed.max(1e-12)
    }
}

pub(super) fn attribute(
    facts: &Facts<'_>,
    judged: &[Judged],
    recommended: Option<&str>,
    experiment: &dyn Experiment,
) -> Attribution {
    let Some(target) = target(facts, judged, recommended) else {
        return Attribution::default();
    };
    let (Some(base), Some(level)) = (
        Budget::of(&facts.good(facts.baseline)),
        Budget::of(&facts.good(target)),
    ) else {
        return Attribution::default();
    };
    let names = (
        facts.keys[facts.baseline].as_str(),
        facts.keys[target].as_str(),
    );
    let change = level.elapsed - base.elapsed;
    // A change that was not shown is noise; there is nothing to explain but where the time goes.
    let verdict = judged
        .iter()
        .find(|j| j.cell == target)
        .and_then(Judged::verdict);
    let shown = matches!(verdict, Some(Verdict::Better | Verdict::Worse));
    if !shown || (change / base.elapsed).abs() < facts.plan.delta {
        return unchanged(&base, &level, names);
    }
    let mut found = changed(&base, &level, change, names);
    if found.confidence == Confidence::Likely {
        let ceiling = experiment.ceiling_for(&found.resource);
        hold_against(&mut found, ceiling.as_ref());
    }
    found
}

/// A likely cause is attributed when its ceiling is nearly used up.
fn hold_against(found: &mut Attribution, ceiling: Option<&Ceiling>) {
    let bound = ceiling.and_then(|c| Some((c, c.used? / c.limit.filter(|&limit| limit > 0.0)?)));
    let Some((ceiling, used)) = bound else {
        let text = "no ceiling was measured, so it is not known how much of the resource was used";
        found.evidence_against.push(text.to_string());
        return;
    };
    let told = format!(
        "{}: {:.0}% of its ceiling is used",
        ceiling.name,
        100.0 * used
    );
    if used > CEILING {
        found.confidence = Confidence::Attributed;
        found.evidence_for.push(told);
    } else {
        found.evidence_against.push(told);
    }
}

/// The level to explain: the recommended one, else the one that differs most from the baseline.
fn target(facts: &Facts<'_>, judged: &[Judged], recommended: Option<&str>) -> Option<usize> {
    let named = recommended
        .and_then(|key| facts.keys.iter().position(|k| k == key))
        .filter(|&cell| cell != facts.baseline);
    named.or_else(|| {
        judged
            .iter()
            .filter_map(|j| Some((j.cell, j.comparison?.estimate.value.abs())))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(cell, _)| cell)
    })
}

fn changed(base: &Budget, level: &Budget, change: f64, names: (&str, &str)) -> Attribution {
    let mut deltas: Vec<(&String, f64)> = base
        .seconds
        .keys()
        .chain(
            level
                .seconds
                .keys()
                .filter(|key| !base.seconds.contains_key(*key)),
        )
        .map(|key| {
            let seconds = |budget: &Budget| budget.seconds.get(key).copied().unwrap_or(0.0);
            (key, seconds(level) - seconds(base))
        })
        .collect();
    deltas.sort_by(|a, b| (b.1 / change).total_cmp(&(a.1 / change)));
    let Some(&(category, delta)) = deltas.first() else {
        return Attribution::default();
    };
    let share = delta / change;
    let (before, after) = (base.share(category), level.share(category));
    let told = format!(
        "{category}: {:.1} s per worker at {}, {:.1} s at {}; the elapsed time changed by {change:+.1} s",
        base.seconds.get(category).copied().unwrap_or(0.0),
        names.0,
        level.seconds.get(category).copied().unwrap_or(0.0),
        names.1,
    );
    let mut result = Attribution {
        share: Some(share),
        ..Attribution::default()
    };
    if share < ENOUGH {
        result.evidence_against.push(told);
        let text = format!(
            "no category of waits carries {:.0}% of the change",
            100.0 * ENOUGH
        );
        result.evidence_against.push(text);
        return result;
    }
    if (after - before).abs() < BARELY {
        result.evidence_against.push(told);
        result
            .evidence_against
            .push(barely(category, before, after));
        return result;
    }
    result.resource.clone_from(category);
    result.confidence = Confidence::Likely;
    result.evidence_for.push(told);
    result
}

fn barely(category: &str, before: f64, after: f64) -> String {
    format!(
        "its share of the time barely changed ({:.0}% to {:.0}%): it shrank or grew with everything else, so \
         {category} cannot be what made the difference",
        100.0 * before,
        100.0 * after
    )
}

/// A level that makes no difference is explained when the same resource fills the time at both.
fn unchanged(base: &Budget, level: &Budget, names: (&str, &str)) -> Attribution {
    let top = base.seconds.iter().max_by(|a, b| a.1.total_cmp(b.1));
    let Some((category, _)) = top else {
        return Attribution::default();
    };
    let (before, after) = (base.share(category), level.share(category));
    let told = format!(
        "{category}: {:.0}% of the time at {}, {:.0}% at {}",
        100.0 * before,
        names.0,
        100.0 * after,
        names.1
    );
    let fills = before >= ENOUGH && after >= ENOUGH;
    Attribution {
        resource: if fills {
            category.clone()
        } else {
            String::new()
        },
        confidence: if fills {
            Confidence::Likely
        } else {
            Confidence::Unknown
        },
        // No change was shown that anything could have a share of.
        share: None,
        evidence_for: if fills {
            vec![told.clone()]
        } else {
            Vec::new()
        },
        evidence_against: if fills {
            Vec::new()
        } else {
            vec![
                told,
                "no category fills most of the time at both levels".to_string(),
            ]
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(elapsed: f64, waits: &[(&str, f64)]) -> Budget {
        let seconds = waits
            .iter()
            .map(|(name, s)| ((*name).to_string(), *s))
            .collect();
        Budget { seconds, elapsed }
    }

    #[test]
    fn a_wait_that_shrinks_with_everything_else_is_not_the_cause() {
        // The published case: 38% and 39% of the time in one wait, while the time falls by 6%.
        let base = budget(100.0, &[("Buffer Latch", 80.0), (RUNNING, 20.0)]);
        let level = budget(94.0, &[("Buffer Latch", 75.2), (RUNNING, 18.8)]);
        let found = changed(&base, &level, -6.0, ("1", "8"));
        assert_eq!(found.confidence, Confidence::Unknown);
        assert!(
            found.evidence_against[1].contains("barely changed (80% to 80%)"),
            "{found:?}"
        );
    }

    #[test]
    fn a_wait_that_carries_the_change_is_likely_and_never_attributed_without_a_ceiling() {
        let base = budget(100.0, &[("Tran Log IO", 60.0), (RUNNING, 40.0)]);
        let level = budget(80.0, &[("Tran Log IO", 42.0), (RUNNING, 38.0)]);
        let found = changed(&base, &level, -20.0, ("1", "8"));
        assert_eq!(
            (found.resource.as_str(), found.confidence),
            ("Tran Log IO", Confidence::Likely)
        );
        assert!((found.share.unwrap() - 0.9).abs() < 1e-9);
        let ceiling = |used| Ceiling {
            limit: Some(100.0),
            used: Some(used),
            ..Ceiling::default()
        };
        for (bound, want) in [
            (None, Confidence::Likely),
            (Some(ceiling(80.0)), Confidence::Likely),
            (Some(ceiling(90.0)), Confidence::Attributed),
        ] {
            let mut held = found.clone();
            hold_against(&mut held, bound.as_ref());
            assert_eq!(held.confidence, want);
        }
    }

    #[test]
    fn a_flat_curve_is_explained_by_what_fills_the_time() {
        let base = budget(100.0, &[("Tran Log IO", 90.0), (RUNNING, 10.0)]);
        assert_eq!(unchanged(&base, &base, ("1", "8")).resource, "Tran Log IO");
        let mixed = budget(100.0, &[("Tran Log IO", 50.0), (RUNNING, 50.0)]);
        assert_eq!(
            unchanged(&mixed, &mixed, ("1", "8")).confidence,
            Confidence::Unknown
        );
    }

    #[test]
    fn change_spread_over_many_waits_has_no_cause() {
        let base = budget(100.0, &[("a", 40.0), ("b", 40.0), (RUNNING, 20.0)]);
        let level = budget(80.0, &[("a", 30.0), ("b", 30.0), (RUNNING, 20.0)]);
        let found = changed(&base, &level, -20.0, ("1", "8"));
        assert!(found.resource.is_empty() && found.evidence_against.len() == 2);
    }
}
