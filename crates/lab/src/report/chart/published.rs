//! The published shape as a ghost beside ours.

use super::{LevelLabels, Plot, axis_title, level_positions, percent_tick};
use crate::report::svg::{Anchor, Figure, Scale, Size, Svg, range};
use crate::report::words::{change, change_range};
use crate::results::{LevelResult, Published, PublishedPoint, Results};
use maud::{Markup, Render, html};

/// The chart and the statements side by side.
pub(in crate::report) fn section(results: &Results) -> Markup {
    let Some(published) = &results.published else {
        return html! { p class="absent" { "No published result of this question is known to the lab." } };
    };
    html! {
        p {
            "Published: " cite { (published.source) } "."
            @if !published.setting.is_empty() { " " (published.setting) }
        }
        @if !published.points.is_empty() { (chart(results, published)) }
        @if !published.comparisons.is_empty() { (statements(published)) }
        p class="small" {
            "Shapes are compared, never absolute times: another machine, another engine, another size."
        }
    }
}

fn ratio(level: &LevelResult) -> Option<f64> {
    if level.is_baseline && level.n > 0 {
        Some(1.0)
    } else {
        level.ratio
    }
}

fn finding(published: &Published) -> String {
    let known: Vec<bool> = published.comparisons.iter().filter_map(|c| c.2).collect();
    let same = known.iter().filter(|same| **same).count();
    match (known.len(), same) {
        (0, _) => "The published shape beside this one".to_owned(),
        (all, same) if all == same => {
            "The same direction as published, statement by statement".to_owned()
        }
        (_, 0) => "Another direction than published".to_owned(),
        (all, same) => format!("The same direction as published in {same} of {all} statements"),
    }
}

fn chart(results: &Results, published: &Published) -> Markup {
    let draw = |size: Size| draw(results, published, size);
    let point = |level: &LevelResult| {
        published
            .points
            .iter()
            .find(|point| point.level == level.level)
            .cloned()
    };
    let reported = |point: &PublishedPoint| {
        format!(
            "{}{}",
            change(point.ratio),
            if point.stated {
                ""
            } else {
                " (direction only)"
            }
        )
    };
    Figure {
        id: "published",
        finding: &finding(published),
        description: "Change against the baseline: ours as a solid line with intervals, the published one as \
            a dashed ghost. Hollow ghost points: the source gives a direction, not a number.",
        draw: &draw,
        legend: html! { p class="legend" {
            span class="key ours" { "this experiment" }
            span class="key ghost" { "published" }
            @if published.approximate { span { "hollow: only the direction is published" } }
        } },
        table: html! { table {
            caption { "Change against the baseline" }
            thead { tr {
                th scope="col" { (results.experiment.factor.plural) }
                th scope="col" { "this experiment" } th scope="col" { "interval" }
                th scope="col" { "published" }
            } }
            tbody { @for level in &results.levels { tr {
                th scope="row" { (level.level) }
                td { (ratio(level).map_or("-".to_owned(), change)) }
                td { (level.interval.map_or("-".to_owned(), |i| change_range(i.low, i.high))) }
                td { (point(level).as_ref().map_or("-".to_owned(), reported)) }
            } } }
        } },
    }
    .render()
}

/// Room for the names of levels, above the title of the axis.
const FOOT: f64 = 22.0;

fn draw(results: &Results, published: &Published, size: Size) -> Svg {
    let (left, right) = (if size.narrow { 46.0 } else { 62.0 }, size.width - 14.0);
    let inset = if size.narrow { 20.0 } else { 60.0 };
    let xs = level_positions(results, left + inset, right - inset);
    let labels = LevelLabels::at(results, &xs);
    let extra = labels.extra(FOOT);
    let height = extra + if size.narrow { 260.0 } else { 300.0 };
    let mut svg = Svg::new(size.width, height);
    let plot = Plot {
        left,
        right,
        top: 26.0,
        bottom: height - 52.0 - extra,
    };
    let ghosts: Vec<(f64, &PublishedPoint)> = results
        .levels
        .iter()
        .zip(&xs)
        .filter_map(|(level, x)| {
            Some((
                *x,
                published
                    .points
                    .iter()
                    .find(|point| point.level == level.level)?,
            ))
        })
        .collect();
    let mut values: Vec<f64> = ghosts.iter().map(|(_, point)| point.ratio - 1.0).collect();
    values.push(0.0);
    for level in &results.levels {
        values.extend(ratio(level).map(|ratio| ratio - 1.0));
        values.extend(
            level
                .interval
                .iter()
                .flat_map(|i| [i.low - 1.0, i.high - 1.0]),
        );
    }
    let y = Scale::new(range(values, 0.08), (plot.bottom, plot.top));
    plot.value_axis(&mut svg, &y, percent_tick);
    plot.floor(&mut svg);
    svg.line("baseline", (plot.left, y.px(0.0)), (plot.right, y.px(0.0)));
    draw_ghost(&mut svg, &ghosts, &y);
    draw_ours(&mut svg, results, (&labels, plot), &y, &xs);
    axis_title(
        &mut svg,
        plot,
        plot.bottom + 42.0 + extra,
        &results.experiment.factor.plural,
    );
    let title = format!(
        "{}, change against the baseline",
        results.experiment.response.name
    );
    svg.text("axis-title", Anchor::Start, 0.0, 12.0, &title);
    svg
}

fn draw_ghost(svg: &mut Svg, ghosts: &[(f64, &PublishedPoint)], y: &Scale) {
    let line: Vec<(f64, f64)> = ghosts
        .iter()
        .map(|(x, p)| (*x, y.px(p.ratio - 1.0)))
        .collect();
    svg.polyline("ghost", &line);
    for (x, point) in ghosts {
        let class = if point.stated {
            "ghost-point"
        } else {
            "ghost-point hollow"
        };
        let tip = format!("published at {}: {}", point.level, change(point.ratio));
        svg.mark(0, (*x, y.px(point.ratio - 1.0)), 5.0, class, &tip);
    }
}

fn draw_ours<'a>(
    svg: &mut Svg,
    results: &'a Results,
    (labels, plot): (&LevelLabels<'a>, Plot),
    y: &Scale,
    xs: &[f64],
) {
    let ours: Vec<(f64, f64)> = results
        .levels
        .iter()
        .zip(xs)
        .filter_map(|(level, x)| Some((*x, y.px(ratio(level)? - 1.0))))
        .collect();
    svg.polyline("ours", &ours);
    for (level, x) in results.levels.iter().zip(xs) {
        if let Some(i) = level.interval {
            svg.line(
                "whisker ours",
                (*x, y.px(i.low - 1.0)),
                (*x, y.px(i.high - 1.0)),
            );
        }
        if let Some(ratio) = ratio(level) {
            let tip = format!("this experiment at {}: {}", level.level, change(ratio));
            svg.mark(0, (*x, y.px(ratio - 1.0)), 4.6, "ours-point", &tip);
        }
        labels.draw(svg, (*x, plot.bottom + 20.0), &level.level);
    }
}

fn direction(same: Option<bool>) -> &'static str {
    match same {
        Some(true) => "yes",
        Some(false) => "no",
        None => "cannot tell",
    }
}

fn statements(published: &Published) -> Markup {
    html! {
        div class="scroll" tabindex="0" { table class="wordy" {
            caption { "Statements of the source" }
            thead { tr {
                th scope="col" { "published" } th scope="col" { "here" }
                th scope="col" { "same direction" }
            } }
            tbody { @for (theirs, ours, same) in &published.comparisons { tr {
                td class="words" { (theirs) }
                td class="words" { (ours) }
                td class="words" { (direction(*same)) }
            } } }
        } }
    }
}
