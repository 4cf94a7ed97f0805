//! The noise panel.

use super::facts::{Facts, ratios};
use super::levels::Judged;
use crate::plan::{ASSUMED_CV, PROMISED_POWER};
use crate::results::{
    AaCheck, Drift, Estimate, Interval, Mde, Noise, Normality, Outlier, Residual, Run,
};
use furrow_stats::noise::{aa_check, drift, outliers, serial_correlation};
use furrow_stats::power::Design;
use furrow_stats::special::t_quantile;
use furrow_stats::{Stream, Table, TwoWay, cv_interval, mean, normality};

pub(super) fn panel(facts: &Facts<'_>, judged: &[Judged]) -> Noise {
    let before = promise(
        design(facts).detectable(ASSUMED_CV, facts.plan.blocks as usize, PROMISED_POWER),
        ASSUMED_CV,
        facts.plan.blocks,
    );
    let Some(model) = &facts.model else {
        return Noise {
            mde_before: Some(before),
            ..Noise::default()
        };
    };
    let (low, high) = cv_interval(model.cv(), model.nu(), 0.05);
    let residuals = residuals(facts, model);
    let cv = Estimate {
        value: model.cv(),
        interval: Interval {
            low,
            high,
            confidence: 0.95,
        },
    };
    if facts.plan.search {
        // Most configurations ran once: what they deviate by is no sign of anything.
        return Noise {
            cv: Some(cv),
            ..Noise::default()
        };
    }
    // With the blocks' effects left in: changes slower than a run show in them above all.
    let in_order: Vec<f64> = residuals.iter().map(|r| r.with_block).collect();
    let serial = serial_correlation(&in_order).ok();
    let lag1_p = serial.map(|serial| chance_of_likeness(facts, &residuals, serial.lag1));
    Noise {
        aa: control(facts, model),
        cv: Some(cv),
        mde_before: Some(before),
        mde_after: detectable(facts, judged)
            .map(|effect| promise(effect, model.cv(), blocks_used(facts))),
        drift: drift_line(facts, model),
        lag1: serial.map(|s| s.lag1),
        lag1_p,
        durbin_watson: serial.map(|s| s.durbin_watson),
        outliers: labelled(facts, model),
        normality: law(facts, model),
        residuals,
    }
}

/// Blocks in which at least half of the arms that ever ran have a run: a block just begun is not one, and an
/// arm that failed throughout takes none away.
pub(super) fn blocks_used(facts: &Facts<'_>) -> u32 {
    let logs = &facts.logs;
    let ran: Vec<usize> = (0..logs.arms())
        .filter(|&arm| !logs.arm(arm).is_empty())
        .collect();
    let in_block = |block: usize| {
        let of_arms = ran.iter().filter(|&&arm| logs.get(arm, block).is_some());
        of_arms.count()
    };
    (0..logs.blocks())
        .filter(|&block| in_block(block) > 0 && 2 * in_block(block) >= ran.len())
        .count() as u32
}

pub(super) fn design(facts: &Facts<'_>) -> Design {
    Design {
        levels: facts.keys.len(),
        baseline_runs: if facts.plan.aa_control { 2 } else { 1 },
    }
}

/// The step of the logarithm that is found at every level, with the noise and the runs of the level that is
/// known least: its interval leaves out 0, and it is beyond the margin.
fn detectable(facts: &Facts<'_>, judged: &[Judged]) -> Option<f64> {
    let margin = facts.plan.delta.ln_1p();
    let comparisons = judged.iter().filter_map(|j| j.comparison);
    comparisons
        .map(|c| {
            let beyond = t_quantile(PROMISED_POWER, c.estimate.nu) * c.estimate.se;
            (c.critical * c.estimate.se).max(margin) + beyond
        })
        .max_by(f64::total_cmp)
}

fn promise(effect: f64, cv: f64, blocks: u32) -> Mde {
    Mde {
        effect: effect.exp_m1(),
        effect_down: -(-effect).exp_m1(),
        cv,
        blocks,
        power: PROMISED_POWER,
    }
}

fn control(facts: &Facts<'_>, model: &TwoWay) -> Option<AaCheck> {
    let arms = facts.arms_of(facts.baseline);
    let labels = (arms[0], *arms.get(1)?);
    let check = aa_check(model, labels, facts.plan.delta.ln_1p())?;
    Some(AaCheck {
        ratio: check.estimate.value.exp(),
        interval: ratios(check.interval, 0.95),
        passed: check.passed,
    })
}

fn residuals(facts: &Facts<'_>, model: &TwoWay) -> Vec<Residual> {
    let mut runs: Vec<&Run> = facts
        .runs
        .iter()
        .filter(|run| run.status.is_good())
        .collect();
    runs.sort_by(|a, b| a.started_s.total_cmp(&b.started_s));
    runs.into_iter()
        .filter_map(|run| {
            let (arm, block) = facts.place(run.id)?;
            let value = model.residual(arm, block)?;
            let with_block = value + model.block_effects()[block];
            Some(Residual {
                run: run.id,
                value,
                with_block,
            })
        })
        .collect()
}

/// How often independent runs in the same places have neighbours at least as alike: one-sided, because
/// neighbours that differ more than others are no sign of anything slower than a run.
fn chance_of_likeness(facts: &Facts<'_>, residuals: &[Residual], lag1: f64) -> f64 {
    const DRAWS: usize = 400;
    let mut stream = Stream::named(facts.plan.seed, "neighbours");
    let places: Vec<(usize, usize)> = residuals
        .iter()
        .filter_map(|residual| facts.place(residual.run))
        .collect();
    let mut as_alike = 1;
    let mut draws = 1;
    for _ in 0..DRAWS {
        let mut table = Table::new(facts.logs.arms(), facts.logs.blocks());
        for &(arm, block) in &places {
            table.set(arm, block, stream.normal());
        }
        let Ok(model) = TwoWay::fit(&table) else {
            continue;
        };
        let drawn: Vec<f64> = places
            .iter()
            .filter_map(|&(arm, block)| {
                Some(model.residual(arm, block)? + model.block_effects()[block])
            })
            .collect();
        if let Ok(serial) = serial_correlation(&drawn) {
            draws += 1;
            as_alike += usize::from(serial.lag1 >= lag1);
        }
    }
    as_alike as f64 / draws as f64
}

fn drift_line(facts: &Facts<'_>, model: &TwoWay) -> Option<Drift> {
    let mut effects = Vec::new();
    let mut hours = Vec::new();
    for block in 0..facts.logs.blocks() {
        let starts: Vec<f64> = facts
            .runs
            .iter()
            .filter(|run| run.block as usize == block + 1 && run.status.is_good())
            .map(|run| run.started_s / 3_600.0)
            .collect();
        if !starts.is_empty() {
            effects.push(model.block_effects()[block]);
            hours.push(mean(&starts));
        }
    }
    let line = drift(&effects, &hours).ok()?;
    // A screening of a minute has hourly slopes beyond all sense; exp would make them worse.
    let interval = Interval {
        low: line.interval.0,
        high: line.interval.1,
        confidence: 0.95,
    };
    Some(Drift {
        per_hour: line.per_hour,
        interval,
    })
}

/// The run of an arm in a block of the model.
fn run_at<'a>(facts: &'a Facts<'_>, arm: usize, block: usize) -> Option<&'a Run> {
    let mut planned = facts.planned.iter();
    let planned = planned.find(|run| run.arm == arm && run.block as usize == block + 1)?;
    facts.runs.iter().find(|run| run.id == planned.id)
}

/// The residuals against a normal law. The plan's seed makes its simulated experiments the same each time.
fn law(facts: &Facts<'_>, model: &TwoWay) -> Option<Normality> {
    let mut stream = Stream::named(facts.plan.seed, "normality");
    let found = normality(&facts.logs, model, &mut stream)?;
    let furthest = found.furthest;
    Some(Normality {
        w: found.w,
        p: found.p,
        run: run_at(facts, furthest.arm, furthest.block)?.id,
        studentized: furthest.studentized,
        run_p: furthest.p,
    })
}

fn labelled(facts: &Facts<'_>, model: &TwoWay) -> Vec<Outlier> {
    outliers(model, 3.5)
        .into_iter()
        .filter_map(|outlier| {
            let run = run_at(facts, outlier.arm, outlier.block)?;
            Some(Outlier {
                run: run.id,
                score: outlier.score,
                causes: causes(run),
                ratio_without: ratio_without(facts, outlier.arm, outlier.block),
            })
        })
        .collect()
}

/// The recorded events during a run that sticks out.
fn causes(run: &Run) -> Vec<String> {
    let mut causes: Vec<String> = run
        .events
        .iter()
        .map(|event| format!("{} at {:.0} s", event.kind, event.at_s))
        .collect();
    causes.dedup();
    causes.truncate(5);
    // `others_share` has none where the run is too short to measure it.
    if let (Some(other), Some(share)) = (run.cpu_other_s, run.others_share(1))
        && share > 0.02
    {
        causes.push(format!("other programs used {other:.1} s of CPU"));
    }
    causes.extend(run.notes.iter().take(3).cloned());
    causes
}

/// The ratio of the run's level to the baseline when the run is left out.
fn ratio_without(facts: &Facts<'_>, arm: usize, block: usize) -> Option<f64> {
    let cell = if arm == facts.keys.len() {
        facts.baseline
    } else {
        arm
    };
    if cell == facts.baseline {
        return None;
    }
    let mut logs = facts.logs.clone();
    logs.clear(arm, block);
    let model = TwoWay::fit(&logs).ok()?;
    // A second label of the baseline that failed throughout takes nothing away.
    let mut baseline = facts.arms_of(facts.baseline);
    baseline.retain(|&arm| model.arm_effect(arm).is_some());
    if baseline.is_empty() {
        return None;
    }
    let share = 1.0 / baseline.len() as f64;
    let mut weights = vec![(arm, 1.0)];
    weights.extend(baseline.iter().map(|&b| (b, -share)));
    Some(model.contrast(&weights)?.value.exp())
}
