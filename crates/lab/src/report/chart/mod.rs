//! The drawings. Each file is one chart: its finding as text, its marks, the table behind it.

pub(super) mod balance;
pub(super) mod ceilings;
mod finding;
pub(super) mod knee;
pub(super) mod noise;
pub(super) mod panels;
pub(super) mod published;
pub(super) mod waits;

use super::svg::{Anchor, Scale, Svg, tick_text};
use crate::results::Results;

/// The plotting area inside a drawing.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plot {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Plot {
    /// Horizontal grid lines with their values at the left.
    pub(super) fn value_axis(
        &self,
        svg: &mut Svg,
        y: &Scale,
        text: impl Fn(f64, &[f64]) -> String,
    ) {
        let ticks = y.ticks(5);
        for tick in &ticks {
            let at = y.px(*tick);
            svg.line("grid", (self.left, at), (self.right, at));
            svg.text(
                "tick",
                Anchor::End,
                self.left - 8.0,
                at + 4.0,
                &text(*tick, &ticks),
            );
        }
    }

    /// Values below the floor with what they are; grid lines where `grid` is set.
    pub(super) fn across_axis(
        &self,
        svg: &mut Svg,
        x: &Scale,
        wanted: usize,
        grid: bool,
        title: &str,
    ) {
        let ticks = x.ticks(wanted);
        for tick in &ticks {
            let at = x.px(*tick);
            if grid {
                let class = if tick.abs() < 1e-12 { "axis" } else { "grid" };
                svg.line(class, (at, self.top), (at, self.bottom));
            }
            let text = tick_text(*tick, &ticks).replace('-', "\u{2212}");
            svg.text("tick", Anchor::Middle, at, self.bottom + 17.0, &text);
        }
        axis_title(svg, *self, self.bottom + 37.0, title);
    }

    /// The line at the bottom.
    pub(super) fn floor(&self, svg: &mut Svg) {
        svg.line("axis", (self.left, self.bottom), (self.right, self.bottom));
    }
}

/// A tick as a plain number.
pub(super) fn plain_tick(value: f64, ticks: &[f64]) -> String {
    tick_text(value, ticks)
}

/// A tick of fractions as signed percent.
pub(super) fn percent_tick(value: f64, ticks: &[f64]) -> String {
    let scaled: Vec<f64> = ticks.iter().map(|tick| tick * 100.0).collect();
    let text = tick_text(value * 100.0, &scaled);
    let sign = if value > 1e-12 { "+" } else { "" };
    format!("{sign}{}%", text.replace('-', "\u{2212}"))
}

/// The place of each level from left to right: by its logarithm where all levels are numbers above 0 and no
/// two are equal, evenly otherwise. Levels of two factors share the numbers of the first one.
pub(super) fn level_positions(results: &Results, from: f64, to: f64) -> Vec<f64> {
    let logs: Option<Vec<f64>> = results
        .levels
        .iter()
        .map(|level| level.value.filter(|value| *value > 0.0).map(f64::log2))
        .collect();
    let differ = |logs: &Vec<f64>| logs.windows(2).all(|pair| pair.first() < pair.last());
    let places = logs.filter(differ).unwrap_or_else(|| {
        (0..results.levels.len())
            .map(|at| super::words::to_f64(at as u64))
            .collect()
    });
    let (low, high) = super::svg::range(places.iter().copied(), 0.0);
    let scale = Scale::new((low, high), (from, to));
    places.iter().map(|place| scale.px(*place)).collect()
}

/// The distance to the nearest neighbour, for widths of slots.
pub(super) fn slot(positions: &[f64], widest: f64) -> f64 {
    positions
        .windows(2)
        .filter_map(|pair| match pair {
            [a, b] => Some((b - a).abs()),
            _ => None,
        })
        .fold(widest, f64::min)
}

/// The name of a level under its place. One that is too wide has a line for each factor.
pub(super) fn level_label(svg: &mut Svg, (x, y): (f64, f64), name: &str, width: f64) {
    let width = width - 8.0;
    let whole = super::svg::short(name, width);
    let lines: Vec<&str> = match whole == name {
        true => vec![name],
        false => name.split(" / ").collect(),
    };
    for (line, text) in lines.iter().enumerate() {
        let y = y + 14.0 * super::words::to_f64(line as u64);
        let text = super::svg::short(text, width);
        svg.text("level", Anchor::Middle, x, y, &text);
    }
}

/// A table's caption, with a note when not all rows are shown.
pub(super) fn rows_of(caption: &str, rows: usize) -> String {
    let most = super::MOST_ROWS;
    if rows <= most {
        return caption.to_owned();
    }
    format!("{caption}: the first {most} of {rows}; runs.csv has them all")
}

/// The title of the horizontal axis.
pub(super) fn axis_title(svg: &mut Svg, plot: Plot, y: f64, text: &str) {
    let text = super::svg::short(text, plot.right - plot.left + 60.0);
    let middle = f64::midpoint(plot.left, plot.right);
    svg.text("axis-title", Anchor::Middle, middle, y, &text);
}
