//! Circumstances that disturbed the figures: shown at the top of the report.

use super::facts::Facts;
use crate::report::words::{latency, percent};
use furrow_stats::median;

/// Runs shorter than this are dominated by disturbances of a few seconds.
const SHORT_S: f64 = 5.0;
/// Other programs that take more of the machine are named.
const OTHERS: f64 = 0.15;

pub(super) fn of(facts: &Facts<'_>, cpus: Option<u32>) -> Vec<String> {
    let good = facts.runs.iter().filter(|run| run.status.is_good());
    let good: Vec<_> = good.collect();
    let mut warnings = Vec::new();
    let shares = good
        .iter()
        .filter_map(|run| run.others_share(cpus?))
        .filter(|share| *share > OTHERS);
    let shares: Vec<f64> = shares.collect();
    if !shares.is_empty() {
        let most = shares.iter().copied().fold(0.0, f64::max);
        warnings.push(format!(
            "Other programs used up to {} of the processors during {} of {} runs: these figures are theirs, \
             too.",
            percent(most),
            shares.len(),
            good.len()
        ));
    }
    let seconds: Vec<f64> = good.iter().filter_map(|run| run.seconds).collect();
    if !seconds.is_empty() && median(&seconds) < SHORT_S {
        let times = (SHORT_S / median(&seconds).max(0.01)).ceil();
        warnings.push(format!(
            "Runs took {} (median): background work that comes and goes within seconds weighs on such runs. \
             Give each run {times:.0} times the work for a verdict.",
            latency(1e6 * median(&seconds))
        ));
    }
    violations(facts).chain(warnings).collect()
}

/// Wrong results of the engine, which come before everything else that a reader has to know.
fn violations<'a>(facts: &'a Facts<'_>) -> impl Iterator<Item = String> + 'a {
    let runs = facts.history.runs.iter();
    let violated = runs.filter_map(|(id, run)| Some((id, run.violation.as_ref()?)));
    let of_runs = violated.map(|(id, text)| {
        format!(
            "Run {id} found a wrong result of the engine. It does not count and was not tried again: {text}."
        )
    });
    let shared = facts.history.shared_violation.iter().map(|text| {
        format!("What all runs share was created with a wrong result of the engine: {text}.")
    });
    shared.chain(of_runs)
}
