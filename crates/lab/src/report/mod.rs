//! `report.html`: one page, one file.
//!
//! The page answers first and proves after: the sentence and what to set, why, the chart with every run as a
//! dot, the table, where the time went, ceilings, noise, plan, machine, limits, the published shape, raw
//! figures. It is derived from a [`Results`] alone, so that it can be written again from `results.json`.
//!
//! # Invariants
//! 1. One file: no address is fetched. A content security policy in the page forbids it; style, script and
//!    figures are inline.
//! 2. The page is complete without the script, which only adds copy buttons and a link that saves the JSON.
//! 3. Every text that comes from outside (questions, names, reasons) is escaped; it can't become markup.
//! 4. Every chart has a title that states what it shows, a description, and its figures as a table. Colour
//!    never shows anything that a shape or a text does not show too.
//! 5. Green and red are used for a difference only where its interval excludes "no difference".
//! 6. The page has less than 1.5 MB: large series are left out of its data block, and the page states that.
//!
//! # How a page is written
//!
//! # What can fail
//! Nothing: a figure that was not measured is marked as such in its place.

mod chart;
pub mod derive;
mod embed;
mod section;
mod svg;
pub mod words;

use crate::results::Results;
use chart::{balance, ceilings, knee, panels, published, waits};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use section::{answer, facts, latches, levels, noise, plan, section, strips};

const STYLE: &str = include_str!("../../templates/report.css");
const SCRIPT: &str = include_str!("../../templates/report.js");
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    img-src data:; base-uri 'none'; form-action 'none'";

/// No page is larger.
const PAGE_LIMIT_BYTES: usize = 1_500_000;
/// Sections of charts whose figures come from the runs: with modelled drives they state that.
const CHARTS: &[&str] = &["where", "files", "limits-used", "strips", "trust", "seed"];
/// Head, header and last section, names of any length aside.
const SLACK_BYTES: usize = 40_000;
/// Tables and tooltips of single runs stop here; `runs.csv` has them all.
const MOST_ROWS: usize = 300;

/// Begins the title of every chart whose figures come from a model.
pub const MODEL: &str = "MODEL, not a measurement: ";

/// The page's sections: id and heading, in order.
const SECTIONS: &[(&str, &str)] = &[
    ("answer", "Answer"),
    ("why", "Why"),
    ("curve", "Every run"),
    ("levels", "Against the baseline"),
    ("where", "Where the time went"),
    ("files", "File by file"),
    ("limits-used", "Ceilings"),
    ("strips", "Second by second"),
    ("trust", "Noise"),
    ("plan", "Plan and deviations"),
    ("environment", "Environment"),
    ("limits", "What this does not tell you"),
    ("seed", "Published result"),
    ("raw", "Raw figures"),
];

/// The sections of an experiment follow this one.
const OWN_SECTIONS_AFTER: &str = "curve";

/// The whole page.
#[must_use]
pub fn render(results: &Results) -> String {
    let proof = body(results);
    let taken = proof.0.len() + STYLE.len() + SCRIPT.len();
    let csv = embed::csv_link(results, PAGE_LIMIT_BYTES.saturating_sub(taken) / 4);
    let taken = taken + csv.as_ref().map_or(0, String::len) + SLACK_BYTES;
    let (block, left_out) = embed::json_block(results, PAGE_LIMIT_BYTES.saturating_sub(taken));
    let raw = facts::raw(results, csv.as_deref(), left_out);
    let title = format!("{} - Furrow lab", results.experiment.question);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "furrow-lab " (env!("CARGO_PKG_VERSION")) };
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#answer" { "To the answer" }
                main {
                    (answer::header(results))
                    (proof)
                    (section("raw", "Raw figures", &raw))
                }
                script type="application/json" id="results" { (PreEscaped(block)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    // Control characters in names are no markup, but no page may hold them either.
    let printable = |c: char| {
        if c.is_control() && c != '\n' && c != '\t' {
            '\u{fffd}'
        } else {
            c
        }
    };
    page.into_string().chars().map(printable).collect()
}

/// All sections but the last, which needs to know how much space is left.
fn body(results: &Results) -> Markup {
    let mut sections: Vec<(String, &str, Markup)> = Vec::new();
    for (id, heading) in SECTIONS.iter().skip(1).filter(|(id, _)| *id != "raw") {
        sections.push(((*id).to_owned(), heading, content(id, results)));
        if *id == OWN_SECTIONS_AFTER {
            for (n, own) in results.sections.iter().enumerate() {
                let id = format!("own{n}");
                let body = html! { (no_verdict(results)) (panels::section(&id, own)) };
                sections.push((id, &own.heading, body));
            }
        }
    }
    html! {
        (answer::answer(results))
        nav aria-label="Sections" {
            @for (id, heading, _) in &sections { a href={ "#" (id) } { (heading) } }
            a href="#raw" { "Raw figures" }
        }
        @for (id, heading, body) in &sections { (section(id, heading, body)) }
    }
}

/// Above the sections of an experiment's own, where they describe runs without a verdict.
fn no_verdict(results: &Results) -> Markup {
    html! {
        @if !results.answer.badge.has_verdict() {
            p class="warn" {
                "These runs give no verdict: what this section says about them is a description, not a \
                 finding."
            }
        }
    }
}

fn content(id: &str, results: &Results) -> Markup {
    if CHARTS.contains(&id) && !results.models.is_empty() {
        return html! {
            p class="warn" { (MODEL) "the drives behind these figures are modelled." }
            (figures_of(id, results))
        };
    }
    figures_of(id, results)
}

fn figures_of(id: &str, results: &Results) -> Markup {
    match id {
        "why" => answer::why(results),
        "curve" => knee::section(results),
        "levels" => levels::table(results),
        "where" => html! { (waits::section(results)) (latches::tables(results)) },
        "files" => balance::section(results),
        "limits-used" => ceilings::section(results),
        "strips" => strips::strips(results),
        "trust" => noise::panel(results),
        "plan" => plan::plan(results),
        "environment" => facts::environment(results),
        "limits" => facts::limits(results),
        _ if results.published.is_some() => {
            html! { (no_verdict(results)) (published::section(results)) }
        }
        _ => published::section(results),
    }
}

/// A text as part of an element's id: letters, digits, and the code of anything else.
pub(crate) fn slug(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_string()
            } else {
                format!("_{:x}", u32::from(c))
            }
        })
        .collect()
}
