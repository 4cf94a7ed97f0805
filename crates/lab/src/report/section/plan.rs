//! What was planned, and what was done otherwise.

use super::fact_list;
use crate::report::words::{percent, round_percent};
use crate::results::{Control, PlannedRun, Results};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Plan, order, deviations and checks.
pub(in crate::report) fn plan(results: &Results) -> Markup {
    let plan = &results.plan;
    let control = if plan.aa_control {
        "twice in each block"
    } else {
        "once in each block"
    };
    let margin = format!(
        "{} on {}",
        round_percent(plan.delta),
        results.experiment.response.name
    );
    html! {
        (fact_list(&[
            ("Design", plan.design.clone()),
            ("Levels", format!("{} {}", plan.levels.join(", "), results.experiment.factor.plural)),
            ("Baseline", format!("{}, {control}", plan.baseline)),
            ("Blocks", format!("{} planned, {} complete", plan.blocks, plan.blocks_done)),
            ("Margin", margin),
            ("Confidence", percent(plan.confidence).replace(".0", "")),
            ("Seed of the order", plan.seed.to_string()),
            ("Between runs", plan.reset_policy.clone()),
            ("Stopped because", plan.stopped_because.clone()),
            ("Hash of the plan", plan.hash.clone()),
        ]))
        @if !plan.settings.is_empty() {
            h3 { "The same in every run" }
            (settings(&plan.settings))
        }
        h3 { "Order of the runs" }
        (order(results))
        h3 { "Deviations" }
        @if results.deviations.is_empty() {
            p { (undeviating(results)) }
        } @else {
            ul { @for deviation in &results.deviations { li {
                strong { (deviation.kind) }
                @if let Some(run) = deviation.run { " (run " (run) ")" }
                ": " (deviation.text)
            } } }
        }
        @if !plan.checks.is_empty() {
            h3 { "Checked before the first run" }
            ul { @for check in &plan.checks { li { (check) } } }
        }
    }
}

/// The text when no deviation was recorded.
fn undeviating(results: &Results) -> String {
    let planned = results.plan.order.len();
    let good = results
        .runs
        .iter()
        .filter(|run| run.status.is_good())
        .count();
    if good >= planned && planned > 0 {
        return "None: every planned run was done.".to_owned();
    }
    format!("None was recorded, but only {good} of {planned} planned runs have figures.")
}

/// Names and values in two columns.
pub(in crate::report) fn settings(list: &[(String, String)]) -> Markup {
    html! {
        div class="scroll" tabindex="0" { table class="wordy" {
            thead { tr { th scope="col" { "setting" } th scope="col" { "value" } } }
            tbody { @for (name, value) in list {
                tr { th scope="row" class="code" { (name) } td class="words code" { (value) } }
            } }
        } }
    }
}

fn order(results: &Results) -> Markup {
    let mut blocks: BTreeMap<u32, Vec<&PlannedRun>> = BTreeMap::new();
    for run in &results.plan.order {
        blocks.entry(run.block).or_default().push(run);
    }
    let state = |planned: &PlannedRun| {
        results
            .runs
            .iter()
            .find(|run| run.id == planned.id)
            .map_or("not run", |run| run.status.word())
    };
    let label = |run: &PlannedRun| match run.control {
        Control::APrime => format!("{}\u{2032}", run.level),
        _ => run.level.clone(),
    };
    html! {
        @if blocks.is_empty() { p { "Not recorded." } } @else {
            div class="scroll" tabindex="0" { table class="order" {
                caption { "Levels in the order they were run; \u{2032} is the baseline's second run" }
                tbody { @for (block, runs) in &blocks { tr {
                    th scope="row" { "block " (block) }
                    @for run in runs {
                        @let state = state(run);
                        td class=[(state != "done").then_some("odd")] {
                            (label(run))
                            @if state != "done" { " " (state) }
                        }
                    }
                } } }
            } }
        }
    }
}
