//! Each level against the baseline.

use super::facts::{Facts, ratios};
use super::verdict::judge;
use crate::results::{Interval, LevelResult, RobustEffect, Run, Verdict};
use furrow_stats::special::t_quantile;
use furrow_stats::{Comparison, RobustTwin, mean, median, std_dev, versus_baseline};

/// A level with the log-scale figures behind its result.
pub(super) struct Judged {
    pub(super) cell: usize,
    pub(super) comparison: Option<Comparison>,
    pub(super) result: LevelResult,
}

impl Judged {
    pub(super) fn verdict(&self) -> Option<Verdict> {
        self.result.verdict
    }
}

pub(super) fn judge_all(facts: &Facts<'_>) -> Vec<Judged> {
    let baseline_arms = facts.arms_of(facts.baseline);
    let others: Vec<usize> = (0..facts.keys.len())
        .filter(|&c| c != facts.baseline)
        .collect();
    // What a search measured once is compared by its standing.
    let model = facts.model.as_ref().filter(|_| !facts.plan.search);
    let comparisons = model
        .map(|model| versus_baseline(model, &baseline_arms, &others, 0.05))
        .unwrap_or_default();
    (0..facts.keys.len())
        .map(|cell| {
            let comparison = comparisons.iter().find(|c| c.arm == cell).copied();
            let mut result = summary(facts, cell);
            if let Some(comparison) = comparison {
                compare(facts, &baseline_arms, comparison, &mut result);
            }
            Judged {
                cell,
                comparison,
                result,
            }
        })
        .collect()
}

/// What a level is by itself.
fn summary(facts: &Facts<'_>, cell: usize) -> LevelResult {
    let good = facts.good(cell);
    let begun = facts
        .runs
        .iter()
        .filter(|run| run.level == facts.keys[cell])
        .count();
    let responses: Vec<f64> = good.iter().filter_map(|run| run.response).collect();
    let of = |pick: &dyn Fn(&Run) -> Option<f64>| {
        let values: Vec<f64> = good.iter().filter_map(|run| pick(run)).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    let (average, interval) = adjusted_mean(facts, cell, responses.len());
    let settings = &facts.plan.cells()[cell].settings;
    let numeric: Vec<f64> = settings
        .iter()
        .zip(&facts.plan.factors)
        .filter(|(_, factor)| factor.levels.len() > 1)
        .filter_map(|((_, level), _)| level.value)
        .collect();
    LevelResult {
        level: facts.keys[cell].clone(),
        value: numeric.first().copied().filter(|_| numeric.len() == 1),
        is_baseline: cell == facts.baseline,
        n: responses.len() as u32,
        failed: (begun - good.len()) as u32,
        mean: average,
        median: of(&|run| run.response),
        mean_interval: interval,
        cv: (responses.len() > 1).then(|| std_dev(&responses) / mean(&responses)),
        rows_per_s: of(&|run| run.rows_per_s),
        commits_per_s: of(&|run| run.commits_per_s),
        p99_us: of(&|run| run.latency.first()?.p99().map(|us| us as f64)),
        figures: super::figures::of_level(facts, cell),
        ..LevelResult::default()
    }
}

/// Geometric mean adjusted to the average block, and its own interval.
pub(super) fn adjusted_mean(
    facts: &Facts<'_>,
    cell: usize,
    n: usize,
) -> (Option<f64>, Option<Interval>) {
    let effects = |model: &furrow_stats::TwoWay| {
        let present: Vec<f64> = facts
            .arms_of(cell)
            .iter()
            .filter_map(|&arm| model.arm_effect(arm))
            .collect();
        (!present.is_empty()).then(|| mean(&present))
    };
    // The blocks of a search hold what was good in the blocks before: their effects mend no mean.
    let model = facts.model.as_ref().filter(|_| !facts.plan.search);
    let Some((model, effect)) = model.and_then(|m| Some((m, effects(m)?))) else {
        let logs: Vec<f64> = facts
            .arms_of(cell)
            .iter()
            .flat_map(|&arm| facts.logs.arm(arm))
            .collect();
        return ((!logs.is_empty()).then(|| mean(&logs).exp()), None);
    };
    let scale = facts
        .arms_of(cell)
        .first()
        .map_or(1.0, |&arm| model.scale(arm));
    let half = t_quantile(0.975, model.nu()) * scale * model.cv() / (n.max(1) as f64).sqrt();
    (
        Some(effect.exp()),
        Some(ratios((effect - half, effect + half), 0.95)),
    )
}

fn compare(
    facts: &Facts<'_>,
    baseline_arms: &[usize],
    comparison: Comparison,
    result: &mut LevelResult,
) {
    let plan = facts.plan;
    let estimate = comparison.estimate.value;
    let word = judge(
        estimate,
        comparison.interval,
        comparison.interval_tost,
        plan.delta,
        plan.response.better,
    );
    result.ratio = Some(estimate.exp());
    result.interval = Some(ratios(comparison.interval, 0.95));
    result.verdict = Some(word);
    let Some(twin) = RobustTwin::of(&facts.logs, baseline_arms, comparison.arm) else {
        return;
    };
    let contradicts = twin.contradicts(
        estimate,
        matches!(word, Verdict::Better | Verdict::Worse),
        plan.delta.ln_1p(),
    );
    if contradicts {
        // Mean and median disagree: events outside of the experiment have moved them.
        result.verdict = Some(Verdict::CannotTell);
    }
    result.robust = Some(RobustEffect {
        median_ratio: twin.median.exp(),
        hodges_lehmann_ratio: twin.hodges_lehmann.exp(),
        interval: twin
            .interval
            .filter(|_| twin.ratios.len() >= 6)
            .map(|i| ratios((i.low, i.high), i.coverage)),
        agrees: !contradicts,
    });
}
