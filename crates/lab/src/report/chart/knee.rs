//! The main chart: every run as a dot, each level's mean with its interval, baseline, margin and knee.

use super::{LevelLabels, Plot, axis_title, level_positions, percent_tick, plain_tick, slot};
use crate::report::MOST_ROWS;
use crate::report::derive::mean;
use crate::report::svg::{Anchor, Scale, Size, Svg, drawings, range};
use crate::report::words::{chance, figure, level_name, measure, round_percent, to_f64};
use crate::results::{Interval, LevelResult, Results, Run};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Inside a level's slot the mean is on the left and the dots on the right, so that neither hides the other;
/// parts of the slot's width, from its middle.
const MEAN_AT: f64 = -0.2;
const DOTS_FROM: f64 = 0.0;
const DOTS_TO: f64 = 0.36;

/// What the vertical axis shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    /// The response as measured.
    Absolute,
    /// Each run over the baseline of its own block.
    Ratio,
}

/// One dot.
struct Dot<'a> {
    run: &'a Run,
    y: f64,
}

/// The chart with its switch between both views; it works without a script.
pub(in crate::report) fn section(results: &Results) -> Markup {
    if results.runs.is_empty() {
        return html! { p class="absent" { "There is no run yet." } };
    }
    let finding = super::finding::of(results);
    let draw_absolute = |size: Size| draw(results, size, View::Absolute);
    let draw_ratio = |size: Size| draw(results, size, View::Ratio);
    let about = "Each dot is one run, its shape and colour tell the block. Thick line: mean of the level \
        with its interval. Dashed line: mean of the baseline; the shaded band is the margin inside which a \
        difference doesn't matter. The vertical axis doesn't start at zero.";
    html! {
        figure id="knee" {
            figcaption { (finding) }
            input type="radio" name="knee-view" id="view-absolute" checked;
            label for="view-absolute" { "As measured" }
            input type="radio" name="knee-view" id="view-ratio";
            label for="view-ratio" { "Against the baseline of the same block" }
            div class="view absolute" { (drawings("knee-abs", &finding, about, &draw_absolute)) }
            div class="view ratio" { (drawings("knee-ratio", &finding, about, &draw_ratio)) }
            (legend(results))
            details class="behind" {
                summary { "Figures behind this chart" }
                div class="scroll" tabindex="0" { (runs_table(results)) }
            }
        }
    }
}

fn legend(results: &Results) -> Markup {
    let blocks = results.runs.iter().map(|run| run.block).max().unwrap_or(0);
    // Beyond eight blocks the marks come round again.
    let alike = |first: u32| {
        let list: Vec<String> = (first..=blocks)
            .step_by(8)
            .map(|block| block.to_string())
            .collect();
        list.join(", ")
    };
    html! {
        p class="legend" {
            @for block in 1..=blocks.min(8) {
                span { (swatch(block)) " block " (alike(block)) }
            }
            span { (line_swatch("mean")) " mean and interval" }
            span { (line_swatch("baseline")) " baseline" }
            span class="swatch-band" { "\u{00b1}" (round_percent(results.plan.delta)) " margin" }
            @if results.knee.as_ref().is_some_and(|knee| !knee.unimodal_fit.is_empty()) {
                span { (line_swatch("fit")) " fit with one turn" }
            }
        }
    }
}

/// A small picture of a block's mark. Hidden from readers of text: the name is beside it.
fn swatch(block: u32) -> Markup {
    let mut svg = Svg::new(14.0, 14.0);
    svg.mark(block_index(block), (7.0, 7.0), 4.5, "", "");
    svg.decoration("swatch")
}

fn line_swatch(class: &str) -> Markup {
    let mut svg = Svg::new(24.0, 14.0);
    svg.line(class, (1.0, 7.0), (23.0, 7.0));
    svg.decoration("swatch long")
}

fn block_index(block: u32) -> usize {
    usize::try_from(block.saturating_sub(1)).unwrap_or(0)
}

/// The baseline's mean within each block.
fn block_baselines(results: &Results) -> BTreeMap<u32, f64> {
    let Some(baseline) = results.baseline() else {
        return BTreeMap::new();
    };
    let mut blocks: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for run in results.good_runs(&baseline.level) {
        if let Some(response) = run.response.filter(|value| *value > 0.0) {
            blocks.entry(run.block).or_default().push(response.ln());
        }
    }
    blocks
        .into_iter()
        .filter_map(|(block, logs)| Some((block, mean(&logs)?.exp())))
        .collect()
}

fn dots<'a>(results: &'a Results, level: &'a LevelResult, view: View) -> Vec<Dot<'a>> {
    let baselines = block_baselines(results);
    let place = |run: &Run| match view {
        View::Absolute => run.response,
        View::Ratio => Some(run.response? / baselines.get(&run.block)? - 1.0),
    };
    results
        .good_runs(&level.level)
        .filter_map(|run| {
            Some(Dot {
                run,
                y: place(run)?,
            })
        })
        .collect()
}

/// The mean and its interval in the view's scale. The ratio view has the simultaneous intervals.
fn summary(level: &LevelResult, view: View) -> Option<(f64, Option<Interval>)> {
    let shift = |interval: Interval| Interval {
        low: interval.low - 1.0,
        high: interval.high - 1.0,
        ..interval
    };
    match view {
        View::Absolute => Some((level.mean?, level.mean_interval)),
        View::Ratio if level.is_baseline => Some((0.0, None)),
        View::Ratio => Some((level.ratio? - 1.0, level.interval.map(shift))),
    }
}

fn reference(results: &Results, view: View) -> Option<f64> {
    match view {
        View::Absolute => results.baseline()?.mean,
        View::Ratio => Some(0.0),
    }
}

/// Room for the names of levels, above the title of the axis.
const FOOT: f64 = 44.0;

fn draw(results: &Results, size: Size, view: View) -> Svg {
    let absolute = view == View::Absolute;
    let left = if size.narrow { 46.0 } else { 62.0 };
    let right = size.width
        - if absolute {
            if size.narrow { 52.0 } else { 60.0 }
        } else {
            14.0
        };
    let inset = if size.narrow { 28.0 } else { 66.0 };
    let xs = level_positions(results, left + inset, right - inset);
    let labels = LevelLabels::at(results, &xs);
    let height = labels.extra(FOOT) + if size.narrow { 330.0 } else { 430.0 };
    let mut svg = Svg::new(size.width, height);
    let plot = Plot {
        left,
        right,
        top: 44.0,
        bottom: height - 74.0 - labels.extra(FOOT),
    };
    let margin = margin_band(results, view);
    let mut values: Vec<f64> = Vec::new();
    for level in &results.levels {
        values.extend(dots(results, level, view).iter().map(|dot| dot.y));
        if let Some((_, Some(interval))) = summary(level, view) {
            values.extend([interval.low, interval.high]);
        }
    }
    values.extend(margin.iter().flat_map(|(low, high)| [*low, *high]));
    let y = Scale::new(range(values, 0.06), (plot.bottom, plot.top));
    if absolute {
        plot.value_axis(&mut svg, &y, plain_tick);
        ratio_axis(&mut svg, results, plot, &y);
    } else {
        plot.value_axis(&mut svg, &y, percent_tick);
    }
    plot.floor(&mut svg);
    draw_reference(&mut svg, plot, &y, margin, reference(results, view));
    draw_knee(&mut svg, results, size, plot, &xs);
    // Marks of the first and the last level stay between the axes.
    let width = slot(&xs, ((inset - 6.0) / DOTS_TO).min(110.0));
    draw_fit(&mut svg, results, view, &y, &xs, width * MEAN_AT);
    for (level, x) in results.levels.iter().zip(&xs) {
        draw_level(&mut svg, results, level, view, (*x, width), &y, plot);
    }
    draw_foot(&mut svg, results, (size, plot), &xs, &labels);
    draw_head(&mut svg, results, size, view);
    svg
}

fn margin_band(results: &Results, view: View) -> Option<(f64, f64)> {
    let delta = results.plan.delta;
    let center = reference(results, view)?;
    Some(match view {
        View::Absolute => (center / (1.0 + delta), center * (1.0 + delta)),
        View::Ratio => (1.0 / (1.0 + delta) - 1.0, delta),
    })
}

/// The same axis in percent of the baseline, at the right.
fn ratio_axis(svg: &mut Svg, results: &Results, plot: Plot, y: &Scale) {
    let Some(base) = results
        .baseline()
        .and_then(|level| level.mean)
        .filter(|mean| *mean > 0.0)
    else {
        return;
    };
    let visible = |px: f64| px >= plot.top - 1.0 && px <= plot.bottom + 1.0;
    // The finest step whose ticks do not crowd each other, however far the runs scatter.
    let steps = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0];
    let apart = |step: f64| (y.px(base) - y.px(base * (1.0 + step))).abs() >= 18.0;
    let Some(step) = steps.into_iter().find(|&step| apart(step)) else {
        return;
    };
    for n in -100..=100 {
        let share = f64::from(n) * step;
        let px = y.px(base * (1.0 + share));
        if visible(px) && share > -1.0 {
            svg.line("axis", (plot.right, px), (plot.right + 4.0, px));
            let ticks = [0.0, step];
            svg.text(
                "tick",
                Anchor::Start,
                plot.right + 8.0,
                px + 4.0,
                &percent_tick(share, &ticks),
            );
        }
    }
}

fn draw_reference(
    svg: &mut Svg,
    plot: Plot,
    y: &Scale,
    margin: Option<(f64, f64)>,
    reference: Option<f64>,
) {
    if let Some((low, high)) = margin {
        svg.rect(
            "margin",
            (plot.left, y.px(low)),
            (plot.right, y.px(high)),
            "",
        );
    }
    if let Some(value) = reference {
        svg.line(
            "baseline",
            (plot.left, y.px(value)),
            (plot.right, y.px(value)),
        );
    }
}

fn draw_knee(svg: &mut Svg, results: &Results, size: Size, plot: Plot, xs: &[f64]) {
    let has_verdict = results.answer.badge.has_verdict();
    let Some(knee) = results.knee.as_ref().filter(|_| has_verdict) else {
        return;
    };
    let Some(at) = results
        .levels
        .iter()
        .position(|l| Some(&l.level) == knee.level.as_ref())
    else {
        return;
    };
    let Some(x) = xs.get(at).copied() else { return };
    svg.line("knee", (x, plot.top - 6.0), (x, plot.bottom));
    let share = knee
        .shares
        .iter()
        .find(|share| Some(&share.level) == knee.level.as_ref());
    let sure = share.map_or(String::new(), |s| format!(" ({})", chance(s.probability)));
    let half = if size.narrow { 46.0 } else { 60.0 };
    let x = x.clamp(plot.left + half, plot.right - half);
    let text = format!("knee: {}{sure}", knee.level.as_deref().unwrap_or(""));
    svg.text("knee-label", Anchor::Middle, x, plot.top - 12.0, &text);
}

fn draw_fit(svg: &mut Svg, results: &Results, view: View, y: &Scale, xs: &[f64], shift: f64) {
    let Some(knee) = &results.knee else { return };
    let base = results.baseline().and_then(|level| level.mean);
    let place = |value: f64| match (view, base) {
        (View::Ratio, Some(base)) => value / base - 1.0,
        _ => value,
    };
    if knee.unimodal_fit.len() == xs.len() && xs.len() > 2 {
        let mut points: Vec<(f64, f64)> = xs
            .iter()
            .zip(&knee.unimodal_fit)
            .map(|(x, value)| (x + shift, y.px(place(*value))))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        svg.polyline("fit", &points);
    }
}

fn draw_level(
    svg: &mut Svg,
    results: &Results,
    level: &LevelResult,
    view: View,
    (x, width): (f64, f64),
    y: &Scale,
    plot: Plot,
) {
    let dots = dots(results, level, view);
    if dots.is_empty() {
        let middle = f64::midpoint(plot.top, plot.bottom);
        svg.text("missing", Anchor::Middle, x, middle - 8.0, "no good");
        svg.text("missing", Anchor::Middle, x, middle + 8.0, "run");
        return;
    }
    let outliers = &results.noise.outliers;
    let last = to_f64(dots.len().saturating_sub(1).max(1) as u64);
    for (index, dot) in dots.iter().enumerate() {
        // Dots are side by side in the order of the runs, so that a trend inside a level can be seen.
        let along = if dots.len() == 1 {
            0.5
        } else {
            to_f64(index as u64) / last
        };
        let center = (
            x + width * (DOTS_FROM + along * (DOTS_TO - DOTS_FROM)),
            y.px(dot.y),
        );
        let strange = outliers.iter().any(|outlier| outlier.run == dot.run.id);
        svg.mark(
            block_index(dot.run.block),
            center,
            4.6,
            "",
            &dot_tip(results, dot.run),
        );
        if strange {
            svg.ring(center, 9.0);
        }
    }
    if let Some((mean, interval)) = summary(level, view) {
        let (x, reach) = (x + width * MEAN_AT, (width * 0.13).clamp(6.0, 18.0));
        if let Some(interval) = interval {
            let (low, high) = (y.px(interval.low), y.px(interval.high));
            svg.rect("interval", (x - reach, low), (x + reach, high), "");
            svg.line("whisker", (x, low), (x, high));
        }
        svg.line("mean", (x - reach, y.px(mean)), (x + reach, y.px(mean)));
    }
}

fn dot_tip(results: &Results, run: &Run) -> String {
    if results.runs.len() > MOST_ROWS {
        return String::new();
    }
    let response = &results.experiment.response;
    format!(
        "run {}, block {}: {} {} at {}",
        run.id,
        run.block,
        run.response.map_or("-".to_owned(), figure),
        response.unit,
        level_name(&results.experiment, &run.level)
    )
}

/// Level names, and how often each came out as the knee.
fn draw_foot<'a>(
    svg: &mut Svg,
    results: &'a Results,
    (size, plot): (Size, Plot),
    xs: &[f64],
    labels: &LevelLabels<'a>,
) {
    // If levels are too close for their figures, the answer box still has them.
    let room = slot(xs, 110.0) >= 34.0;
    let has_verdict = results.answer.badge.has_verdict();
    let knee = results.knee.as_ref().filter(|_| room && has_verdict);
    let shares = knee.map(|knee| knee.shares.as_slice()).unwrap_or_default();
    for (level, x) in results.levels.iter().zip(xs) {
        labels.draw(svg, (*x, plot.bottom + 20.0), &level.level);
        if let Some(share) = shares.iter().find(|share| share.level == level.level) {
            let text = chance(share.probability);
            svg.text("share", Anchor::Middle, *x, plot.bottom + 38.0, &text);
        }
    }
    let factor = &results.experiment.factor.plural;
    let title = match (shares.is_empty(), size.narrow) {
        (true, _) => factor.clone(),
        (false, true) => format!("{factor}; below: chance to be the knee"),
        (false, false) => format!("{factor}; below each: chance that it is the knee"),
    };
    axis_title(svg, plot, plot.bottom + 62.0 + labels.extra(FOOT), &title);
}

fn draw_head(svg: &mut Svg, results: &Results, size: Size, view: View) {
    let response = &results.experiment.response;
    let left = match view {
        View::Absolute => measure(response),
        View::Ratio => format!("{}, change", response.name),
    };
    svg.text("axis-title", Anchor::Start, 0.0, 12.0, &left);
    if view == View::Absolute {
        svg.text("axis-title", Anchor::End, size.width, 12.0, "vs baseline");
    }
}

fn runs_table(results: &Results) -> Markup {
    let baselines = block_baselines(results);
    let rows = results.runs.iter().any(|run| run.rows_per_s.is_some());
    html! {
        table {
            caption { (super::rows_of("Every run, in order of start", results.runs.len())) }
            thead { tr {
                th scope="col" { "run" } th scope="col" { "block" } th scope="col" { "place" }
                th scope="col" { (results.experiment.factor.plural) }
                th scope="col" { (measure(&results.experiment.response)) }
                th scope="col" { "over its block's baseline" }
                @if rows { th scope="col" { "rows/s" } }
                th scope="col" { "status" }
            } }
            tbody { @for run in results.runs.iter().take(MOST_ROWS) {
                tr {
                    td { (run.id) } td { (run.block) } td { (run.position) }
                    td { (run.level) @if run.control == crate::results::Control::APrime { "\u{2032}" } }
                    td { (run.response.map_or("-".to_owned(), figure)) }
                    td { (over(run, &baselines)) }
                    @if rows { td { (run.rows_per_s.map_or("-".to_owned(), figure)) } }
                    td class="words" {
                        (run.status.word())
                        @if let Some(why) = run.status.reason() { ": " (why) }
                    }
                }
            } }
        }
    }
}

fn over(run: &Run, baselines: &BTreeMap<u32, f64>) -> String {
    match (run.response, baselines.get(&run.block)) {
        (Some(value), Some(base)) => format!("{:.3}", value / base),
        _ => "-".to_owned(),
    }
}
