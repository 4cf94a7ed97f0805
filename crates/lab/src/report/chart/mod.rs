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

    /// Horizontal grid lines of logarithms, with the changes that they are at the left.
    pub(super) fn change_axis(&self, svg: &mut Svg, y: &Scale) {
        for tick in y.ratio_ticks(5) {
            let at = y.px(tick);
            svg.line("grid", (self.left, at), (self.right, at));
            let text = super::words::change(tick.exp());
            let text = text.replace(".0%", "%");
            svg.text("tick", Anchor::End, self.left - 8.0, at + 4.0, &text);
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

/// Lines of a level's name that fit below a chart.
const MOST_LINES: usize = 3;
/// The distance of lines of a name.
const LINE: f64 = 14.0;

/// The names of the levels below their places: in a line, with a line for each factor, or upright where they
/// would be cut off.
pub(super) struct LevelLabels<'a> {
    names: Vec<&'a str>,
    width: f64,
}

impl<'a> LevelLabels<'a> {
    /// For levels at these places.
    pub(super) fn at(results: &'a Results, positions: &[f64]) -> LevelLabels<'a> {
        LevelLabels {
            names: results
                .levels
                .iter()
                .map(|level| level.level.as_str())
                .collect(),
            width: slot(positions, 110.0) - 8.0,
        }
    }

    fn fits(&self, text: &str) -> bool {
        super::svg::short(text, self.width) == text
    }

    fn lines(&self, name: &'a str) -> Vec<&'a str> {
        match self.fits(name) {
            true => vec![name],
            false => name.split(" / ").collect(),
        }
    }

    /// Whether each name fits, in a line or in several.
    fn is_level(&self) -> bool {
        self.names.iter().all(|name| {
            let lines = self.lines(name);
            lines.len() <= MOST_LINES && lines.iter().all(|line| self.fits(line))
        })
    }

    /// Pixels that the names need below a chart, beyond the room that is there.
    pub(super) fn extra(&self, room: f64) -> f64 {
        let names = self.names.iter().copied();
        let lines = names.clone().map(|name| self.lines(name).len()).max();
        let needed = match self.is_level() {
            true => LINE * super::words::to_f64(lines.unwrap_or(1) as u64),
            false => super::svg::room_for(names, (room, 180.0)),
        };
        (needed - room).max(0.0)
    }

    /// Draws the name of a level below its place.
    pub(super) fn draw(&self, svg: &mut Svg, (x, y): (f64, f64), name: &'a str) {
        if !self.is_level() {
            let name = super::svg::short(name, 180.0);
            return svg.upright("level", (x + 4.0, y - 8.0), &name);
        }
        for (line, text) in self.lines(name).iter().enumerate() {
            let y = y + LINE * super::words::to_f64(line as u64);
            svg.text("level", Anchor::Middle, x, y, text);
        }
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
