//! The table of levels against the baseline.

use crate::report::words::{
    self, change, change_range, figure, is_shown_gain, latency, measure, percent,
};
use crate::results::{Averaging, LevelFigure, LevelResult, Results};
use maud::{Markup, html};

/// The class of a verdict. Colour only where the interval excludes "no difference".
fn verdict_class(results: &Results, level: &LevelResult) -> &'static str {
    match is_shown_gain(results, level) {
        Some(true) => "chip good",
        Some(false) => "chip bad",
        None => "chip",
    }
}

/// The ratio, or `~` where no difference is shown.
fn ratio_text(level: &LevelResult) -> String {
    match (level.ratio, level.interval) {
        (Some(ratio), Some(interval)) if interval.contains(1.0) => format!("~ {ratio:.3}"),
        (Some(ratio), _) => format!("{ratio:.3}"),
        _ => "-".to_owned(),
    }
}

fn or_dash(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), text)
}

/// The first figure of each column, in the order in which they come.
fn columns(results: &Results) -> Vec<&LevelFigure> {
    let mut columns: Vec<&LevelFigure> = Vec::new();
    for figure in results.levels.iter().flat_map(|level| &level.figures) {
        if !columns.iter().any(|known| known.name == figure.name) {
            columns.push(figure);
        }
    }
    columns
}

/// Whether commits and rows are the same figure at every level, so that one column shows both.
fn one_row_a_commit(results: &Results) -> bool {
    results
        .levels
        .iter()
        .all(|level| match (level.rows_per_s, level.commits_per_s) {
            (Some(rows), Some(commits)) => (rows - commits).abs() <= 0.005 * rows,
            (None, None) => true,
            _ => false,
        })
}

/// A figure beside the response, with its change where the interval of the change excludes "no difference".
fn own_figure(level: &LevelResult, name: &str) -> Markup {
    let Some(found) = level.figures.iter().find(|figure| figure.name == name) else {
        return html! { "-" };
    };
    let shown = found.interval.filter(|i| !i.contains(1.0)).and(found.ratio);
    html! {
        (figure(found.value))
        @if let Some(ratio) = shown { " (" (change(ratio)) ")" }
    }
}

/// The table, with its terms explained below.
pub(in crate::report) fn table(results: &Results) -> Markup {
    let experiment = &results.experiment;
    let figures = columns(results);
    let median = Averaging::Median.words();
    let has =
        |part: fn(&LevelResult) -> Option<f64>| results.levels.iter().any(|l| part(l).is_some());
    let (rows, commits, p99) = (
        has(|l| l.rows_per_s),
        has(|l| l.commits_per_s) && !one_row_a_commit(results),
        has(|l| l.p99_us),
    );
    let confidence = percent(results.plan.confidence).replace(".0", "");
    html! {
        div class="scroll" tabindex="0" { table class="levels" {
            caption {
                span {
                    (measure(&experiment.response)) "; "
                    @if results.levels.iter().any(|level| level.verdict.is_some()) {
                        "intervals hold together with " (confidence) " confidence (Dunnett)"
                    } @else { "each interval holds for itself with " (confidence) " confidence" }
                    @if !results.answer.badge.has_verdict() {
                        "; these runs give no verdict: words in brackets describe them"
                    }
                }
            }
            thead { tr {
                th scope="col" { (experiment.factor.plural) } th scope="col" { "runs" }
                th scope="col" { "median" } th scope="col" { "mean" } th scope="col" { "ratio" }
                th scope="col" { "change" } th scope="col" { "interval" }
                th scope="col" { "robust twin" } th scope="col" class="words" { "verdict" }
                th scope="col" { "CV" }
                @if rows { th scope="col" { "rows/s, " (median) } }
                @if commits { th scope="col" { "commits/s, " (median) } }
                @if p99 { th scope="col" { "p99, " (median) } }
                @for of in &figures { th scope="col" {
                    (of.name) " (" (of.unit) "), " (of.averaging.words())
                } }
            } }
            tbody { @for level in &results.levels {
                tr class=[level.is_baseline.then_some("base")] {
                    th scope="row" { (level.level) }
                    td { (level.n) @if level.failed > 0 { " (" (level.failed) " failed)" } }
                    td { (or_dash(level.median, figure)) }
                    td { (or_dash(level.mean, figure)) }
                    @if level.is_baseline {
                        td { "1" } td { "baseline" } td {} td {} td {}
                    } @else {
                        td { (ratio_text(level)) }
                        td { (or_dash(level.ratio, change)) }
                        td { (level.interval.map_or("-".to_owned(), |i| change_range(i.low, i.high))) }
                        td { (robust(level)) }
                        td class="words" { (verdict(results, level)) }
                    }
                    td { (or_dash(level.cv, percent)) }
                    @if rows { td { (or_dash(level.rows_per_s, figure)) } }
                    @if commits { td { (or_dash(level.commits_per_s, figure)) } }
                    @if p99 { td { (or_dash(level.p99_us, latency)) } }
                    @for of in &figures {
                        td { (own_figure(level, &of.name)) }
                    }
                }
            } }
        } }
        (meanings(results))
    }
}

fn robust(level: &LevelResult) -> Markup {
    html! {
        @match level.robust {
            None => { "-" }
            Some(twin) => {
                (change(twin.median_ratio))
                @if !twin.agrees { " (disagrees)" }
            }
        }
    }
}

fn verdict(results: &Results, level: &LevelResult) -> Markup {
    let word = words::verdict(results, level);
    html! {
        @match level.verdict {
            None => { (word) }
            Some(_) => { span class=(verdict_class(results, level)) { (word) } }
        }
    }
}

fn meanings(results: &Results) -> Markup {
    let delta = words::round_percent(results.plan.delta);
    html! {
        details class="behind" {
            summary { "What the words mean" }
            dl class="words-list" {
                dt { "better, worse" } dd { "the whole interval lies on one side of no difference, and the \
                    difference is larger than " (delta) "." }
                dt { "tiny" } dd { "a difference is shown, but it is smaller than " (delta) "." }
                dt { "same" } dd { "shown to be within " (delta) " of the baseline." }
                dt { "cannot tell" } dd { "none of these can be said with so many runs." }
                dt { "~" } dd { "the interval holds \"no difference\"." }
                dt { "median, mean" } dd { "of the runs of a level, not of its sessions or statements. The \
                    mean of the response is geometric, and the effects of the blocks are removed." }
                dt { "(+5.1%)" } dd { "behind another figure: its change against the baseline, as the \
                    geometric mean of the ratios within blocks, where an interval for this figure alone \
                    excludes \"no difference\"." }
                dt { "robust twin" } dd { "median of the ratios within blocks: one bad run can't move it." }
                dt { "CV" } dd { "scatter of the runs of this level, as a share of their mean." }
                @if results.experiment.response.unit == "s" {
                    dt { "faster" } dd { "by a percentage: the elapsed time is that much shorter." }
                }
            }
        }
    }
}
