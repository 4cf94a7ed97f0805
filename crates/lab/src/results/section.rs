//! Sections of the report that an experiment brings: texts, charts, tables, all of them data.
//!
//! An experiment describes what to show; the report draws it, for desks, phones and print, with a legend and
//! the figures behind each chart.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One section.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Section {
    /// Heading: `Where the extents went`.
    pub heading: String,
    /// What it shows, one sentence; the terminal prints it.
    pub finding: String,
    /// Paragraphs below the finding.
    #[serde(default)]
    pub text: Vec<String>,
    /// Charts.
    #[serde(default)]
    pub charts: Vec<Chart>,
    /// Tables.
    #[serde(default)]
    pub tables: Vec<SheetTable>,
}

/// A chart of one or several panels with the same axes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chart {
    /// What the chart shows, as a sentence.
    pub finding: String,
    /// What is drawn, for readers who do not see it.
    pub description: String,
    /// Word under the horizontal axis.
    pub x: String,
    /// Word at the vertical axis.
    pub y: String,
    /// Whether the horizontal axis is drawn by powers of two.
    #[serde(default)]
    pub x_by_powers: bool,
    /// What the ends at its points are.
    #[serde(default)]
    pub bounds: Bounds,
    /// The panels.
    pub panels: Vec<Panel>,
}

/// What `low` and `high` of a chart's points are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bounds {
    /// The ends of an interval for the value.
    #[default]
    Interval,
    /// The least and the greatest run.
    Runs,
}

impl Bounds {
    /// The words as printed.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Bounds::Interval => "interval",
            Bounds::Runs => "least to greatest run",
        }
    }
}

/// One panel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Panel {
    /// Word above it; empty for a single panel.
    #[serde(default)]
    pub title: String,
    /// The curves; the same place in every panel has the same mark.
    pub curves: Vec<Curve>,
    /// Moments worth a dashed line.
    #[serde(default)]
    pub marks: Vec<Mark>,
}

/// The table that compares the points of each curve with its first one.
pub(crate) const ALONG: &str = "Along each curve, against its first point";
/// Its last column where a difference was shown.
pub(crate) const SHOWN: &str = "shown";

/// A curve.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Curve {
    /// Its name in the legend.
    pub name: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// A point, with an interval or the range of its runs where there is one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
    /// Lower end of what [`Chart::bounds`] has.
    #[serde(default)]
    pub low: Option<f64>,
    /// Upper end of it.
    #[serde(default)]
    pub high: Option<f64>,
}

/// A dashed line across a panel.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mark {
    /// Where.
    pub x: f64,
    /// What is written at it.
    pub text: String,
}

/// A table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SheetTable {
    /// Words above it.
    pub caption: String,
    /// Heads of the columns.
    pub columns: Vec<String>,
    /// Rows; the first cell is the row's head.
    pub rows: Vec<Vec<String>>,
}
