//! From a journal to [`Results`]: every number of the report is calculated here, none in the report.
//!
//! 1. [`facts`]: runs that count, as a table of logarithms, and the additive model.
//! 2. [`levels`]: each level against the baseline, with its robust twin and verdict.
//! 3. [`knee`](answer): the fewest that are as good as the best; the sentence; the badge.
//! 4. [`noise`]: A/A, CV, smallest visible effect, drift, outliers.
//! 5. [`attribution`]: which wait changed with the level, and whether that explains the time.
//!
//! Nothing fails here: a figure that the runs do not support stays empty, and the sentence states that.

mod answer;
mod attribution;
mod curves;
mod facts;
mod figures;
mod levels;
mod noise;
mod search;
mod verdict;
mod warnings;

use crate::environment::Environment;
use crate::experiment::Experiment;
use crate::journal::History;
use crate::results::{Badge, PlanInfo, Results, SCHEMA_VERSION};
use crate::search::contenders;
use facts::Facts;
use furrow_io::time::WallTime;
use std::path::Path;

/// The input of the analysis.
#[derive(Clone)]
pub struct Analysis<'a> {
    /// What happened.
    pub history: &'a History,
    /// What it was about.
    pub experiment: &'a dyn Experiment,
    /// Where it ran.
    pub environment: Environment,
    /// Where its journal lies: more blocks are run from there.
    pub out_dir: &'a Path,
}

impl std::fmt::Debug for Analysis<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Analysis")
            .field("history", self.history)
            .finish_non_exhaustive()
    }
}

/// Judges an experiment.
pub fn analyse(analysis: &Analysis<'_>) -> Results {
    let history = analysis.history;
    let mut facts = Facts::of(history);
    facts.contenders = contenders(&history.plan, analysis.experiment);
    let mut judged = levels::judge_all(&facts);
    let found = search::find(&facts);
    if let Some(found) = &found {
        found.fill(&facts, &mut judged);
    }
    let curves = match &found {
        Some(_) => None,
        None => curves::Curves::of(&facts, &judged),
    };
    let (answer, knee) = match &found {
        Some(found) => (answer::of_search(&facts, &judged, found, analysis), None),
        None => answer::answer(&facts, &judged, curves.as_ref(), analysis),
    };
    let attribution = attribution::attribute(&facts, &judged, &answer, analysis);
    let badge = answer.badge;
    let seconds = (history.last_us - history.started_us) as f64 / 1e6 - history.paused_s;
    let mut results = Results {
        schema_version: SCHEMA_VERSION,
        experiment: analysis.experiment.labelled_subject(),
        models: analysis.experiment.models(),
        started: WallTime::from_unix_us(history.started_us).iso(),
        finished: WallTime::from_unix_us(history.last_us).iso(),
        duration_s: seconds.max(0.0),
        plan: plan_info(&facts),
        deviations: history.deviations.clone(),
        environment: analysis.environment.clone(),
        noise: noise::panel(&facts, &judged),
        levels: judged.into_iter().map(|judged| judged.result).collect(),
        knee,
        attribution,
        ceilings: analysis.experiment.ceilings(history),
        answer,
        limits: limits(&facts, analysis.experiment, badge),
        reproduce: history.plan.command(),
        ..Results::default()
    };
    results.warnings = warnings::of(&facts, analysis.environment.cpu_count);
    let own_sections = match (&found, &curves) {
        (Some(found), _) => vec![found.section(&facts)],
        (None, Some(curves)) => vec![curves::section(&facts, curves)],
        (None, None) => Vec::new(),
    };
    results.runs = facts.runs;
    let own_warnings = analysis.experiment.warnings(&results);
    results.warnings.extend(own_warnings);
    results.published = analysis.experiment.published(&results);
    if !badge.has_verdict() {
        let published = results.published.iter_mut();
        published
            .flat_map(|published| &mut published.comparisons)
            .for_each(|(_, _, agrees)| *agrees = None);
    }
    results.sections = own_sections;
    results
        .sections
        .extend(analysis.experiment.sections(&results));
    label_charts(&mut results);
    results
}

/// Marks the charts of an experiment's own sections as those of a model.
fn label_charts(results: &mut Results) {
    if results.models.is_empty() {
        return;
    }
    let sections = results.sections.iter_mut();
    for chart in sections.flat_map(|section| &mut section.charts) {
        if !chart.finding.starts_with(crate::report::MODEL) {
            chart.finding.insert_str(0, crate::report::MODEL);
        }
    }
}

fn plan_info(facts: &Facts<'_>) -> PlanInfo {
    let plan = facts.plan;
    let shown = |run: &crate::plan::PlannedRun| crate::results::PlannedRun {
        id: run.id,
        block: run.block,
        position: run.position,
        level: run.cell.key(&plan.factors),
        control: run.control,
    };
    PlanInfo {
        hash: facts.history.hash.clone(),
        seed: plan.seed,
        design: match plan.search {
            false => "randomised complete blocks".to_string(),
            true => "search: every configuration once, then those that may still be the best"
                .to_string(),
        },
        blocks: match plan.search {
            false => plan.blocks,
            true => facts.runs.iter().map(|run| run.block).max().unwrap_or(0),
        },
        blocks_done: match plan.search {
            false => facts.blocks_done(),
            true => facts.history.rounds_judged,
        },
        levels: facts.keys.clone(),
        baseline: facts.keys[facts.baseline].clone(),
        aa_control: plan.aa_control,
        delta: plan.delta,
        confidence: 0.95,
        order: facts
            .planned
            .iter()
            .filter(|run| run.block > 0)
            .filter(|run| !plan.search || facts.history.runs.contains_key(&run.id))
            .map(shown)
            .collect(),
        reset_policy: plan.reset.words().to_string(),
        settings: plan
            .settings
            .iter()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
        checks: facts.history.checks.clone(),
        stopped_because: facts.history.stopped.clone().unwrap_or_default(),
    }
}

/// What the runs do not show, in sentences that follow from how they were run.
fn limits(facts: &Facts<'_>, experiment: &dyn Experiment, badge: Badge) -> Vec<String> {
    let mut limits = experiment.limits();
    let failed = facts
        .runs
        .iter()
        .filter(|run| !run.status.is_good())
        .count();
    if failed > 0 {
        let runs = if failed == 1 { "run" } else { "runs" };
        limits.push(format!(
            "{failed} {runs} gave no figures; the comparison goes without."
        ));
    }
    if badge == Badge::Screening {
        let blocks = noise::blocks_used(facts);
        limits.push(format!(
            "A screening: {blocks} blocks show large differences only."
        ));
    }
    let closed = facts.runs.iter().flat_map(|run| &run.latency);
    if closed
        .into_iter()
        .any(|latency| latency.coordinated_omission_possible)
    {
        let text = "Sessions waited for each answer before the next request (a closed loop): time that \
                    requests would spend queueing in front of the server is not in the latencies.";
        limits.push(text.to_string());
    }
    limits.push("One machine, on one day: another disk may answer otherwise.".to_string());
    limits
}
