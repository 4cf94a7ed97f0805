//! Question, answer, and why: what most readers will ever read.

use crate::report::words::{
    bytes, duration, figure, fill, fill_name, level_name, moment, percent, round_percent,
};
use crate::results::{Badge, Comparability, Confidence, DEPENDS, Fill, Results, Run};
use maud::{Markup, html};

/// The class that colours a badge; the text of the badge has the same meaning.
fn badge_class(badge: Badge) -> &'static str {
    match badge {
        Badge::Conclusive => "badge sure",
        Badge::Noisy | Badge::CannotTell | Badge::Screening => "badge unsure",
        Badge::Aborted => "badge broken",
    }
}

/// The meaning of the badge, for readers who do not know it yet.
fn badge_meaning(results: &Results) -> &'static str {
    let depends = results.answer.sentence.ends_with(DEPENDS);
    match (results.answer.badge, results.comparability()) {
        (Badge::Conclusive, _) => "the runs answer the question",
        (Badge::Noisy, _) => "the machine changed under the experiment",
        (_, Comparability::NoBaseline) => "the baseline has no good run",
        (_, Comparability::NoOther) => "no level but the baseline has a good run",
        (Badge::CannotTell, _) if depends => "which level is better depends on the load",
        (Badge::CannotTell, _) => "too few runs for so much noise",
        (Badge::Screening, _) => "a first look: few blocks show large differences only",
        (Badge::Aborted, _) => "too few blocks have good runs for a verdict",
    }
}

/// The head of the page.
pub(in crate::report) fn header(results: &Results) -> Markup {
    let experiment = &results.experiment;
    let badge = results.answer.badge;
    let good = results
        .runs
        .iter()
        .filter(|run| run.status.is_good())
        .count();
    let hash: String = results.plan.hash.chars().take(12).collect();
    html! {
        header {
            p class="brand" { "Furrow lab / " (experiment.name) }
            h1 { (experiment.question) }
            p class="status" {
                span class=(badge_class(badge)) { (badge.word()) }
                " " (badge_meaning(results))
            }
            dl class="strip" {
                @if !experiment.target.is_empty() {
                    div { dt { "Target" } dd { (experiment.target) } }
                }
                @if !experiment.database.is_empty() {
                    div { dt { "Database" } dd { (experiment.database) } }
                }
                div { dt { "Begun" } dd { (moment(&results.started)) } }
                div { dt { "Took" } dd { (duration(results.duration_s)) } }
                div { dt { "Runs" } dd {
                    (good) " of " (results.plan.order.len().max(results.runs.len()))
                    " in " (results.plan.blocks) " blocks"
                } }
                div { dt { "Plan" } dd { code { (hash) } } }
            }
            @if !experiment.workload.is_empty() { p class="small" { (experiment.workload) } }
            p class="small" { (machine(results)) }
            @for model in &results.models { p class="warn" { "Drives: " (model) } }
            @for warning in &results.warnings { p class="warn" { (warning) } }
        }
    }
}

/// The answer box.
pub(in crate::report) fn answer(results: &Results) -> Markup {
    let answer = &results.answer;
    html! {
        section id="answer" class="answer" aria-labelledby="answer-h" {
            h2 id="answer-h" { "Answer" }
            p class="sentence" { (answer.sentence) }
            @if !answer.detail.is_empty() { p { (answer.detail) } }
            @if let Some(next) = &answer.next_step {
                p class="label" { "Next step" }
                pre class="copy" { code { (next) } }
            }
            @if !answer.apply.is_empty() {
                p class="label" { "Set it" }
                pre class="copy" { code { (answer.apply) } }
            }
            @if !answer.undo.is_empty() {
                p class="label" { "Undo it" }
                pre class="copy" { code { (answer.undo) } }
            }
        }
    }
}

/// Whether the table shows that a level differs from the baseline.
fn differs(results: &Results) -> bool {
    let delta = results.plan.delta;
    let mut levels = results.levels.iter();
    levels.any(|level| level.is_shown_to_differ(delta))
}

/// The time that shares are about: with a fixed time or rate of work it is that of a piece, because every run
/// takes as long.
fn whole_time(results: &Results) -> &'static str {
    match results.experiment.response.unit.as_str() {
        "s" => "the elapsed time",
        _ => "the time of one piece of work",
    }
}

/// Why no cause of a difference is sought; `None` where one is.
fn not_sought(results: &Results) -> Option<String> {
    let baseline = level_name(&results.experiment, &results.plan.baseline);
    if !results.answer.badge.has_verdict() {
        return Some(
            "These runs give no verdict, so no cause of a difference is sought.".to_owned(),
        );
    }
    if !results.runs.iter().any(Run::has_read_waits) {
        return Some("Waits were not measured in these runs, so no cause can be named.".to_owned());
    }
    let why = &results.attribution;
    match results.comparability() {
        Comparability::Compared if why.fills.is_some() && !why.summary.is_empty() => Some(format!(
            "No cause of a difference is sought, because {}.",
            why.summary
        )),
        Comparability::Compared => None,
        _ => Some(format!(
            "No level was compared with {baseline}, so no cause of a difference is sought."
        )),
    }
}

/// What filled the time of each level by itself; nothing where that was not looked for.
fn fills(results: &Results) -> Markup {
    html! {
        @match results.attribution.fills.as_deref() {
            None => {}
            Some([]) => {
                p { "At no level did one category fill " (round_percent(Fill::LEAST)) " of every run." }
            }
            Some(list) => {
                p { "What filled the time of these runs, each level by itself:" }
                ul { @for one in list {
                    li { (fill_name(&results.experiment, one)) ": " (fill(one)) }
                } }
            }
        }
    }
}

/// The why box: the limiting resource, how sure that is, and the evidence for and against it; without a
/// difference to explain, what filled the time.
pub(in crate::report) fn why(results: &Results) -> Markup {
    match not_sought(results) {
        Some(reason) => html! { p class="sentence" { (reason) } (fills(results)) },
        None => cause(results),
    }
}

fn cause(results: &Results) -> Markup {
    let why = &results.attribution;
    let unknown = why.confidence == Confidence::Unknown || why.resource.is_empty();
    html! {
        p class="sentence" {
            @if unknown && !why.summary.is_empty() {
                (why.summary)
            } @else if unknown && why.share.is_none() && differs(results) {
                "Levels differ, but the time of the compared level changed too little to have a cause."
            } @else if unknown && why.share.is_none() {
                "No difference was shown, and no single resource fills the time."
            } @else if unknown {
                "What makes the difference is not known."
            } @else {
                (why.resource) " "
                span class="badge plain" { (why.confidence.word()) }
            }
        }
        @if !unknown {
            p {
                @match why.share {
                    None if !why.summary.is_empty() => { (why.summary) }
                    // Waits grew by more than the time: of several workers at once, or in place of others.
                    Some(share) if share > 1.0 => {
                        "The time there changed by " (figure(share)) " times the change of "
                        (whole_time(results)) "."
                    }
                    Some(share) => { (percent(share)) " of the change in time lies there." }
                    None if differs(results) => {
                        "The time of the compared level hardly changed; this is what fills it."
                    }
                    None => {
                        "No difference between the levels was shown; this is what fills the time at each."
                    }
                }
            }
        }
        @if !why.evidence_for.is_empty() || !why.evidence_against.is_empty() {
            div class="evidence" {
                div {
                    h3 { "For" }
                    (sentences(&why.evidence_for))
                }
                div {
                    h3 { "Against" }
                    (sentences(&why.evidence_against))
                }
            }
        }
    }
}

fn sentences(list: &[String]) -> Markup {
    html! {
        @if list.is_empty() { p class="small" { "Nothing was found." } } @else {
            ul { @for sentence in list { li { (sentence) } } }
        }
    }
}

/// One line for the machine under the header of the environment.
pub(in crate::report) fn machine(results: &Results) -> String {
    let environment = &results.environment;
    let mut parts: Vec<String> = Vec::new();
    parts.extend(environment.cpu_model.clone());
    parts.extend(
        environment
            .cpu_count
            .map(|count| format!("{count} processors")),
    );
    parts.extend(environment.memory_bytes.map(bytes));
    parts.extend(environment.os.clone());
    if parts.is_empty() {
        "unknown machine".to_owned()
    } else {
        parts.join(", ")
    }
}
