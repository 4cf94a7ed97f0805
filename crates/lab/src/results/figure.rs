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
        }
    }

    fn better(self, better: Better) -> Figure {
        Figure {
            better: Some(better),
            ..self
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
    /// Median of the good runs.
    pub value: f64,
    /// Geometric mean of the ratios to the baseline within blocks; `None` for the baseline and where a
    /// value is not above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Interval of the ratio, for this figure alone: not simultaneous with any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
}
