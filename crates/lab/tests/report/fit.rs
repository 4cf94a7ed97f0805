//! Just enough statistics to fill an invented result with figures that fit its runs: complete blocks,
//! constants instead of exact quantiles. The exact ones are in `stats`.

use furrow_lab::results::*;
use std::collections::BTreeMap;

const DUNNETT: f64 = 2.65;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}

fn interval(center: f64, reach: f64) -> Interval {
    Interval {
        low: (center - reach).exp(),
        high: (center + reach).exp(),
        confidence: 0.95,
    }
}

/// Fills levels, knee and noise from the runs.
pub(crate) fn fit(results: &mut Results) {
    let good: Vec<Run> = results
        .runs
        .iter()
        .filter(|run| run.status.is_good())
        .cloned()
        .collect();
    let log = |run: &Run| run.response.unwrap().ln();
    let of_level = |level: &str| -> Vec<f64> {
        good.iter()
            .filter(|run| run.level == level)
            .map(log)
            .collect()
    };
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in &good {
        blocks
            .entry(run.block)
            .or_default()
            .push(log(run) - mean(&of_level(&run.level)));
    }
    let block_effect: BTreeMap<u32, f64> =
        blocks.iter().map(|(b, list)| (*b, mean(list))).collect();
    let residual = |run: &Run| log(run) - mean(&of_level(&run.level));
    results.noise.residuals = good
        .iter()
        .map(|run| Residual {
            run: run.id,
            value: residual(run) - block_effect[&run.block],
            with_block: residual(run),
        })
        .collect();
    let free = (good.len() - results.plan.levels.len() - blocks.len() + 1) as f64;
    let square: f64 = results
        .noise
        .residuals
        .iter()
        .map(|r| r.value * r.value)
        .sum();
    let s = (square / free).sqrt();
    let b = f64::from(results.plan.blocks);
    levels(results, &good, s, b);
    noise(results, &good, s, b);
    knee(results);
}

/// Sums up each level and compares it with the baseline.
fn levels(results: &mut Results, good: &[Run], s: f64, b: f64) {
    let of_level = |level: &str| -> Vec<f64> {
        let runs = good.iter().filter(|run| run.level == level);
        runs.map(|run| run.response.unwrap().ln()).collect()
    };
    let base = results.plan.baseline.clone();
    let base_mean = mean(&of_level(&base));
    results.levels = results
        .plan
        .levels
        .iter()
        .map(|key| {
            let logs = of_level(key);
            if logs.is_empty() {
                let failed = results.runs.iter().filter(|run| run.level == *key).count() as u32;
                let value = key.parse().ok();
                return LevelResult {
                    level: key.clone(),
                    value,
                    failed,
                    ..LevelResult::default()
                };
            }
            level(
                key,
                &logs,
                good,
                s,
                b,
                *key == base,
                mean(&logs) - base_mean,
            )
        })
        .collect();
}

fn level(
    key: &str,
    logs: &[f64],
    good: &[Run],
    s: f64,
    b: f64,
    is_base: bool,
    d: f64,
) -> LevelResult {
    let reach = DUNNETT * s * (1.5 / b).sqrt();
    let ratio = d.exp();
    let verdict = match (d.abs() > reach, d.abs() > 0.0198) {
        (true, true) if d < 0.0 => Verdict::Better,
        (true, true) => Verdict::Worse,
        (true, false) => Verdict::Tiny,
        (false, _) if d.abs() + reach * 0.7 < 0.0198 => Verdict::Same,
        _ => Verdict::CannotTell,
    };
    let times: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
    let center = mean(logs);
    let rate = |part: fn(&Run) -> Option<f64>| {
        median(
            &good
                .iter()
                .filter(|run| run.level == key)
                .filter_map(part)
                .collect::<Vec<_>>(),
        )
    };
    LevelResult {
        level: key.into(),
        value: key.parse().ok(),
        is_baseline: is_base,
        n: logs.len() as u32,
        failed: 0,
        mean: Some(center.exp()),
        median: Some(median(&times)),
        mean_interval: Some(interval(center, 2.1 * s / (logs.len() as f64).sqrt())),
        cv: Some(
            (logs.iter().map(|l| (l - center).powi(2)).sum::<f64>() / (logs.len() - 1) as f64)
                .sqrt(),
        ),
        ratio: (!is_base).then_some(ratio),
        interval: (!is_base).then(|| interval(d, reach)),
        robust: (!is_base).then(|| RobustEffect {
            median_ratio: ratio * 1.001,
            hodges_lehmann_ratio: ratio,
            interval: Some(interval(d, reach * 1.2)),
            agrees: true,
        }),
        verdict: (!is_base).then_some(verdict),
        rows_per_s: Some(rate(|run| run.rows_per_s)),
        commits_per_s: Some(rate(|run| run.commits_per_s)),
        p99_us: Some(rate(|run| run.latency.first().map(|l| l.p99_us as f64))),
        figures: vec![LevelFigure {
            name: "CPU".into(),
            unit: "s/run".into(),
            value: rate(|run| run.cpu_s),
            ..LevelFigure::default()
        }],
    }
}

fn noise(results: &mut Results, good: &[Run], s: f64, b: f64) {
    let label = |control: Control| -> Vec<f64> {
        good.iter()
            .filter(|r| r.control == control)
            .map(|r| r.response.unwrap().ln())
            .collect()
    };
    let d = mean(&label(Control::APrime)) - mean(&label(Control::A));
    let aa = interval(d, 2.3 * s * (2.0 / b).sqrt());
    let cv = Estimate {
        value: s,
        interval: Interval {
            low: s * 0.78,
            high: s * 1.41,
            confidence: 0.95,
        },
    };
    let mde = |cv: f64| Mde {
        effect: 3.5 * cv * (1.5 / b).sqrt(),
        effect_down: 3.4 * cv * (1.5 / b).sqrt(),
        cv,
        blocks: b as u32,
        power: 0.8,
    };
    let hours: Vec<f64> = good.iter().map(|run| run.started_s / 3600.0).collect();
    let center = mean(&hours);
    let list = &results.noise.residuals;
    let spread: f64 = hours.iter().map(|h| (h - center).powi(2)).sum();
    let slope = hours
        .iter()
        .zip(list)
        .map(|(h, r)| (h - center) * r.with_block)
        .sum::<f64>()
        / spread;
    let reach = 2.0 * s / spread.sqrt();
    let lag: f64 = list.windows(2).map(|p| p[0].value * p[1].value).sum();
    let square: f64 = list.iter().map(|r| r.value * r.value).sum();
    let sizes: Vec<f64> = list.iter().map(|r| r.value.abs()).collect();
    let mad = 1.4826 * median(&sizes);
    let outliers = list
        .iter()
        .filter(|r| r.value.abs() > 3.5 * mad)
        .map(|r| Outlier {
            run: r.run,
            score: r.value / mad,
            causes: Vec::new(),
            ratio_without: Some(0.961),
        })
        .collect();
    results.noise.outliers = outliers;
    results.noise.aa = Some(AaCheck {
        ratio: d.exp(),
        passed: aa.contains(1.0),
        interval: aa,
    });
    results.noise.cv = Some(cv);
    results.noise.mde_before = Some(mde(0.02));
    results.noise.mde_after = Some(mde(s));
    results.noise.drift = Some(Drift {
        per_hour: slope,
        interval: Interval {
            low: slope - reach,
            high: slope + reach,
            confidence: 0.95,
        },
    });
    results.noise.lag1 = Some(lag / square);
    results.noise.durbin_watson = Some(2.0 - 2.0 * lag / square);
}

fn knee(results: &mut Results) {
    let means: Vec<(String, f64)> = results
        .levels
        .iter()
        .filter_map(|l| Some((l.level.clone(), l.mean?)))
        .collect();
    let best = means
        .iter()
        .map(|(_, mean)| *mean)
        .fold(f64::INFINITY, f64::min);
    let level = means
        .iter()
        .find(|(_, mean)| *mean < best * 1.02)
        .map(|(level, _)| level.clone());
    let weight = |mean: f64| (-((mean / best - 1.01) * 90.0).powi(2)).exp() + 0.002;
    let all: f64 = means.iter().map(|(_, mean)| weight(*mean)).sum();
    let sure = results.noise.cv.is_some_and(|cv| cv.value < 0.03);
    results.knee = Some(Knee {
        level: level.filter(|_| sure),
        rule: "smallest level whose upper bound over the best is below the margin".into(),
        shares: means
            .iter()
            .map(|(level, mean)| KneeShare {
                level: level.clone(),
                probability: weight(*mean) / all,
            })
            .collect(),
        unimodal_fit: if means.len() == results.levels.len() {
            means.iter().map(|(_, mean)| *mean).collect()
        } else {
            Vec::new()
        },
        rise_after_p: None,
    });
}
