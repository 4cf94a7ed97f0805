//! Sections of an experiment's own: text, and charts and tables drawn from data.

use super::{Plot, plain_tick};
use crate::report::svg::{Anchor, Figure, Scale, Size, Svg, range, short, tick_text};
use crate::report::words::{figure, to_f64};
use crate::results::{Chart, Curve, Panel, Point, Section, SheetTable};
use maud::{Markup, Render, html};

/// The body of a section; `id` is unique on the page.
pub(in crate::report) fn section(id: &str, section: &Section) -> Markup {
    html! {
        @if section.charts.is_empty() && !section.finding.is_empty() {
            p class="sentence" { (section.finding) }
        }
        @for (n, chart) in section.charts.iter().enumerate() { (drawn(&format!("{id}-{n}"), chart)) }
        @for text in &section.text { p { (text) } }
        @for sheet in &section.tables {
            div class="scroll" tabindex="0" { (table(sheet)) }
        }
    }
}

fn table(sheet: &SheetTable) -> Markup {
    html! {
        table {
            caption { (sheet.caption) }
            thead { tr { @for column in &sheet.columns { th scope="col" { (column) } } } }
            tbody { @for row in &sheet.rows { tr {
                @for (n, cell) in row.iter().enumerate() {
                    @if n == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                }
            } } }
        }
    }
}

fn drawn(id: &str, chart: &Chart) -> Markup {
    if chart.panels.iter().all(|panel| panel.curves.is_empty()) {
        return html! { p class="absent" { "No run was finished that has these figures." } };
    }
    let draw = |size: Size| draw(chart, size);
    Figure {
        id,
        finding: &chart.finding,
        description: &chart.description,
        draw: &draw,
        legend: legend(chart),
        table: figures(chart),
    }
    .render()
}

/// A sample of each mark with the curve's name. A curve has the same place in every panel.
fn legend(chart: &Chart) -> Markup {
    let most = chart.panels.iter().max_by_key(|panel| panel.curves.len());
    let names: Vec<&str> = most.map_or_else(Vec::new, |panel| {
        panel.curves.iter().map(|c| c.name.as_str()).collect()
    });
    html! { p class="legend" {
        @for (place, name) in names.iter().enumerate() { span { (sample(place)) " " (name) } }
        @if chart.panels.iter().any(|panel| !panel.marks.is_empty()) {
            span { "dashed lines: what is written above them" }
        }
    } }
}

fn sample(place: usize) -> Markup {
    let mut svg = Svg::new(14.0, 14.0);
    svg.mark(place, (7.0, 7.0), 5.0, "", "");
    svg.decoration("sample")
}

fn draw(chart: &Chart, size: Size) -> Svg {
    let columns: u64 = if size.narrow || chart.panels.len() == 1 {
        1
    } else {
        2
    };
    let gap = 34.0;
    let height = if chart.panels.len() == 1 {
        360.0
    } else {
        250.0
    };
    let width = (size.width - gap * to_f64(columns - 1)) / to_f64(columns);
    let rows = (chart.panels.len() as u64).div_ceil(columns);
    let mut svg = Svg::new(size.width, to_f64(rows) * height);
    for (place, panel) in (0_u64..).zip(&chart.panels) {
        let left = to_f64(place % columns) * (width + gap);
        let top = to_f64(place / columns) * height;
        let plot = Plot {
            left: left + 58.0,
            right: left + width - 14.0,
            top: top + 46.0,
            bottom: top + height - 52.0,
        };
        let title = match (panel.title.is_empty(), chart.y.is_empty()) {
            (true, _) => chart.y.clone(),
            (false, true) => panel.title.clone(),
            (false, false) => format!("{} ({})", panel.title, chart.y),
        };
        svg.text("level", Anchor::Start, left, top + 16.0, &title);
        draw_panel(&mut svg, plot, chart, panel);
    }
    svg
}

fn points(panel: &Panel) -> impl Iterator<Item = &Point> {
    panel.curves.iter().flat_map(|curve| &curve.points)
}

/// Where a value lies along the horizontal axis.
fn along(chart: &Chart, x: f64) -> f64 {
    if chart.x_by_powers {
        x.max(f64::MIN_POSITIVE).log2()
    } else {
        x
    }
}

fn draw_panel(svg: &mut Svg, plot: Plot, chart: &Chart, panel: &Panel) {
    let across = points(panel).map(|point| along(chart, point.x));
    let (low, high) = range(across, 0.0);
    let low = if chart.x_by_powers { low } else { low.min(0.0) };
    let x = Scale::new((low, high), (plot.left, plot.right));
    let tops = points(panel).map(|point| point.high.unwrap_or(point.y).max(point.y));
    let top = range(tops.chain([0.0]), 0.0).1.max(f64::MIN_POSITIVE);
    let y = Scale::new((0.0, top), (plot.bottom, plot.top));
    plot.value_axis(svg, &y, plain_tick);
    plot.floor(svg);
    if chart.x_by_powers {
        power_axis(svg, plot, chart, panel, &x);
    } else {
        plot.across_axis(svg, &x, 4, false, &chart.x);
    }
    for mark in &panel.marks {
        let at = x.px(along(chart, mark.x).clamp(low, high.max(low)));
        svg.line("knee", (at, plot.top), (at, plot.bottom));
        let words = short(&mark.text, 0.45 * (plot.right - plot.left));
        let past_half = at > f64::midpoint(plot.left, plot.right);
        let anchor = if past_half {
            Anchor::End
        } else {
            Anchor::Start
        };
        svg.text("tick", anchor, at, plot.top - 8.0, &words);
    }
    for (place, curve) in panel.curves.iter().enumerate() {
        draw_curve(
            svg,
            place,
            (panel.curves.len(), curve),
            &|point: &Point| (x.px(along(chart, point.x)), y.px(point.y)),
            &|value: f64| y.px(value),
        );
    }
}

/// Ticks at the values of the points, where the axis is drawn by powers.
fn power_axis(svg: &mut Svg, plot: Plot, chart: &Chart, panel: &Panel, x: &Scale) {
    let mut values: Vec<f64> = points(panel).map(|point| point.x).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    for value in &values {
        let text = tick_text(*value, &[]);
        let at = x.px(along(chart, *value));
        svg.text("tick", Anchor::Middle, at, plot.bottom + 17.0, &text);
    }
    super::axis_title(svg, plot, plot.bottom + 37.0, &chart.x);
}

/// With more points than this, marks would hide the line: a few of them distinguish the curves.
const MOST_MARKS: usize = 12;

fn draw_curve(
    svg: &mut Svg,
    place: usize,
    (curves, curve): (usize, &Curve),
    at: &dyn Fn(&Point) -> (f64, f64),
    height: &dyn Fn(f64) -> f64,
) {
    let spots: Vec<(f64, f64)> = curve.points.iter().map(at).collect();
    svg.polyline(&format!("file l{}", place % 8), &spots);
    for (point, spot) in curve.points.iter().zip(&spots) {
        if let (Some(low), Some(high)) = (point.low, point.high) {
            svg.line("axis", (spot.0, height(low)), (spot.0, height(high)));
        }
    }
    let marked: Vec<usize> = if spots.len() <= MOST_MARKS {
        (0..spots.len()).collect()
    } else {
        // Lines that lie on each other are distinguished by the places of their marks.
        let shift = spots.len() * place / (6 * curves.max(1));
        [1, 2, 3, 4]
            .map(|n| (n * (spots.len() - 1) / 4).saturating_sub(shift))
            .to_vec()
    };
    for n in marked {
        if let (Some(spot), Some(point)) = (spots.get(n), curve.points.get(n)) {
            let tip = format!("{}: {}, {}", curve.name, plain(point.x), figure(point.y));
            svg.mark(place, *spot, 4.5, "", &tip);
        }
    }
}

/// A place along the axis as it was typed: `4`, not `4.00`.
fn plain(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => figure(value),
    }
}

/// Rows of a chart's table; a longer curve is thinned out.
const MOST_ROWS: usize = 40;

/// The figures behind a chart.
fn figures(chart: &Chart) -> Markup {
    let step = |curve: &Curve| curve.points.len().div_ceil(MOST_ROWS).max(1);
    let mut all = chart.panels.iter().flat_map(points);
    let has_bounds = all.any(|point| point.low.is_some() && point.high.is_some());
    html! {
        table {
            caption { (chart.finding) }
            thead { tr {
                @if chart.panels.len() > 1 { th scope="col" { "panel" } }
                th scope="col" { "curve" } th scope="col" { (chart.x) } th scope="col" { (chart.y) }
                @if has_bounds { th scope="col" { (chart.bounds.words()) } }
            } }
            @for panel in &chart.panels { @for curve in &panel.curves {
                tbody { @for point in curve.points.iter().step_by(step(curve)) { tr {
                    @if chart.panels.len() > 1 { th scope="row" { (panel.title) } }
                    th scope="row" { (curve.name) }
                    td { (plain(point.x)) } td { (figure(point.y)) }
                    @if has_bounds { td { @match (point.low, point.high) {
                        (Some(low), Some(high)) => { (figure(low)) " to " (figure(high)) }
                        _ => { "-" }
                    } } }
                } } }
            } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Bounds;

    fn headed(bounds: Bounds, ends: Option<(f64, f64)>) -> String {
        let point = Point {
            x: 8.0,
            y: 25_173.0,
            low: ends.map(|ends| ends.0),
            high: ends.map(|ends| ends.1),
        };
        let curve = Curve {
            name: "1 file".to_owned(),
            points: vec![point],
        };
        let chart = Chart {
            bounds,
            panels: vec![Panel {
                curves: vec![curve],
                ..Panel::default()
            }],
            ..Chart::default()
        };
        figures(&chart).into_string()
    }

    #[test]
    fn the_ends_at_a_point_are_called_what_they_are() {
        let ends = Some((14_486.0, 38_565.0));
        let runs = headed(Bounds::Runs, ends);
        assert!(
            runs.contains(">least to greatest run<") && !runs.contains("interval"),
            "{runs}"
        );
        assert!(runs.contains("<td>8</td>"), "{runs}");
        assert!(headed(Bounds::Interval, ends).contains(">interval<"));
        // A model has neither.
        assert!(!headed(Bounds::Interval, None).contains("interval"));
    }
}
