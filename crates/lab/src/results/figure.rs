//! Figures with a name and a unit, for values that have no field in [`super::Run`].

use super::{Better, Interval};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure of one run. The table of levels, `runs.csv`, the report and the terminal show it by its name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What: `log flushes`. The same in every run that has it.
    pub name: String,
    /// Unit as printed: `MB`, `pages/s`.
    pub unit: String,
    /// Which direction is good; `None` where neither is.
    #[serde(default)]
    pub better: Option<Better>,
    /// How much.
    pub value: f64,
    /// Whether parts of it add up, such as waits: a level has the arithmetic mean of its runs, which adds up,
    /// too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_additive: bool,
}

impl Figure {
    /// A figure of which less is better.
    #[must_use]
    pub fn lower(name: &str, unit: &str, value: f64) -> Figure {
        Figure::neutral(name, unit, value).better(Better::Lower)
    }

    /// A figure of which more is better.
    #[must_use]
    pub fn higher(name: &str, unit: &str, value: f64) -> Figure {
        Figure::neutral(name, unit, value).better(Better::Higher)
    }

    /// A figure of which neither more nor less is better.
    #[must_use]
    pub fn neutral(name: &str, unit: &str, value: f64) -> Figure {
        Figure {
            name: name.to_owned(),
            unit: unit.to_owned(),
            better: None,
            value,
            is_additive: false,
        }
    }

    /// The same figure, of which parts add up.
    #[must_use]
    pub fn additive(self) -> Figure {
        Figure {
            is_additive: true,
            ..self
        }
    }

    fn better(self, better: Better) -> Figure {
        Figure {
            better: Some(better),
            ..self
        }
    }
}

/// What stands for the runs of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Averaging {
    /// The median, in files of version 1 that do not state it.
    #[default]
    Median,
    /// The geometric mean, as of the response: its ratios are those of the runs.
    GeometricMean,
    /// The arithmetic mean: of additive figures, and of those that may be 0.
    Mean,
}

impl Averaging {
    /// The words as printed.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Averaging::Median => "median",
            Averaging::GeometricMean => "geometric mean",
            Averaging::Mean => "mean",
        }
    }
}

/// A figure of a level: its runs summed up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelFigure {
    /// As in [`Figure::name`].
    pub name: String,
    /// As in [`Figure::unit`].
    pub unit: String,
    /// As in [`Figure::better`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Better>,
    /// What stands for the good runs.
    pub value: f64,
    /// What that is; the same at all levels.
    #[serde(default)]
    pub averaging: Averaging,
    /// Geometric mean of the ratios to the baseline within blocks; `None` for the baseline, and for a figure
    /// with another mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Interval of the ratio, for this figure alone: not simultaneous with any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}
