//! One small chart a run: what happened second by second.

use crate::report::svg::{Anchor, Scale, Size, Svg, drawings, range};
use crate::report::words::{figure, level_name, to_f64};
use crate::results::{Event, Results, Run, Series};
use maud::{Markup, html};

/// Points drawn at most in one strip; longer series are averaged in steps.
const POINTS: usize = 240;
/// Points drawn at most in all strips together.
const ALL_POINTS: usize = 12_000;
/// Strips drawn at most.
const STRIPS: usize = 120;
/// Events marked at most below one strip.
const EVENTS: usize = 24;

/// The first series of each run, one strip a run, grouped by level.
pub(in crate::report) fn strips(results: &Results) -> Markup {
    let most = (STRIPS / results.levels.len().max(1)).max(1);
    let lists: Vec<(&str, Vec<(&Run, &Series)>)> = results
        .levels
        .iter()
        .map(|level| {
            let runs = results.good_runs(&level.level);
            let with_series = runs.filter_map(|run| Some((run, run.series.first()?)));
            (
                level.level.as_str(),
                with_series
                    .filter(|(_, s)| s.values.len() > 2)
                    .take(most)
                    .collect(),
            )
        })
        .filter(|(_, list): &(&str, Vec<_>)| !list.is_empty())
        .collect();
    let Some((_, first)) = lists.first().and_then(|(_, list)| list.first()) else {
        return html! { p class="absent" { "No series was recorded." } };
    };
    let top = lists
        .iter()
        .flat_map(|(_, list)| list)
        .flat_map(|(_, series)| series.values.iter().copied())
        .filter(|value| value.is_finite())
        .fold(0.0, f64::max);
    let drawn: usize = lists.iter().map(|(_, list)| list.len()).sum();
    let points = (ALL_POINTS / drawn.max(1)).clamp(16, POINTS);
    html! {
        p class="small" {
            (first.unit) ", every " (figure(first.interval_s)) " s; all strips share one "
            "scale from 0 to " (figure(top)) ". Ticks below: checkpoints and other events."
            @if lists.iter().any(|(_, list)| list.len() == most) {
                " Not more than the first " (most) " runs of a level are drawn."
            }
        }
        @for (level, list) in &lists {
            @let open = results.answer.recommended.as_deref() == Some(*level)
                || results.baseline().is_some_and(|base| base.level == *level);
            @let draw = |size: Size| draw(list, top, points, size);
            @let title = format!("{} over time at {}", first.name, level_name(&results.experiment, level));
            details class="strips" open[open] {
                summary { (level_name(&results.experiment, level)) ", " (list.len()) " runs" }
                (drawings(&format!("strips-{}", crate::report::slug(level)), &title,
                    "One strip a run, left to right in time; the figures are in the data block.", &draw))
            }
        }
    }
}

/// Means of neighbouring values, so that no strip has more than `points` of them.
fn thinned(values: &[f64], points: usize) -> Vec<f64> {
    let step = values.len().div_ceil(points).max(1);
    values
        .chunks(step)
        .filter_map(crate::report::derive::mean)
        .collect()
}

fn draw(list: &[(&Run, &Series)], top: f64, points: usize, size: Size) -> Svg {
    let columns = if size.narrow { 2 } else { 4 };
    let gap = 14.0;
    let width = (size.width - gap * to_f64(columns - 1)) / to_f64(columns);
    let height = 64.0;
    let rows = (list.len() as u64).div_ceil(columns);
    let mut svg = Svg::new(size.width, to_f64(rows) * height);
    for (index, (run, series)) in list.iter().enumerate() {
        let index = index as u64;
        let left = to_f64(index % columns) * (width + gap);
        let floor = to_f64(index / columns) * height + height - 14.0;
        let values = thinned(&series.values, points);
        let seconds = series.interval_s * to_f64(series.values.len() as u64);
        let x = Scale::new(
            (0.0, to_f64(values.len().saturating_sub(1) as u64)),
            (left, left + width),
        );
        let y = Scale::new((0.0, top.max(f64::MIN_POSITIVE)), (floor, floor - 34.0));
        let label = format!("run {}, block {}", run.id, run.block);
        svg.text("tick", Anchor::Start, left, floor - 38.0, &label);
        svg.line("axis", (left, floor), (left + width, floor));
        let points: Vec<(f64, f64)> = values
            .iter()
            .enumerate()
            .map(|(at, value)| (x.px(to_f64(at as u64)), y.px(*value)))
            .collect();
        svg.polyline("series", &points);
        let marked = run.events.get(..EVENTS).unwrap_or(&run.events);
        events(&mut svg, marked, seconds, (left, width), floor);
    }
    svg
}

fn events(svg: &mut Svg, events: &[Event], seconds: f64, (left, width): (f64, f64), floor: f64) {
    let (low, high) = range([0.0, seconds], 0.0);
    let x = Scale::new((low, high), (left, left + width));
    for event in events
        .iter()
        .filter(|event| event.at_s >= 0.0 && event.at_s <= seconds)
    {
        let tip = format!("{} at {} s {}", event.kind, figure(event.at_s), event.text);
        let at = x.px(event.at_s);
        svg.rect(
            "event",
            (at - 0.8, floor + 1.0),
            (at + 0.8, floor + 6.0),
            &tip,
        );
    }
}
