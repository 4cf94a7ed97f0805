//! How reliable the figures are.

use super::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The noise panel: everything a sceptic asks for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// The baseline against itself.
    #[serde(default)]
    pub aa: Option<AaCheck>,
    /// Coefficient of variation of a run, a fraction, with its interval.
    #[serde(default)]
    pub cv: Option<Estimate>,
    /// The smallest effect the plan could see, printed before the first run.
    #[serde(default)]
    pub mde_before: Option<Mde>,
    /// The smallest effect the runs could see, with the noise that was found.
    #[serde(default)]
    pub mde_after: Option<Mde>,
    /// Change of the machine over the session.
    #[serde(default)]
    pub drift: Option<Drift>,
    /// Correlation of neighbouring residuals in run order.
    #[serde(default)]
    pub lag1: Option<f64>,
    /// Chance of neighbours that are at least as alike, if runs were independent; `None` when not tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag1_p: Option<f64>,
    /// Durbin-Watson statistic of the residuals in run order.
    #[serde(default)]
    pub durbin_watson: Option<f64>,
    /// Runs far from the model; labelled, never deleted.
    #[serde(default)]
    pub outliers: Vec<Outlier>,
    /// The residuals against a normal law; `None` when not tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub normality: Option<Normality>,
    /// Residual of each good run on the log scale, in order of start.
    #[serde(default)]
    pub residuals: Vec<Residual>,
}

/// The residuals against a normal law, which intervals suppose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Normality {
    /// Statistic of Shapiro and Francia: squared correlation of the sorted residuals with normal quantiles.
    pub w: f64,
    /// Chance that normal noise in the same design gives no more.
    pub p: f64,
    /// Id of the run with the largest studentized residual.
    pub run: u32,
    /// Its residual over the standard error that it has by all other runs.
    pub studentized: f64,
    /// Chance that the furthest of so many runs lies as far out.
    pub run_p: f64,
}

/// The A/A control: the baseline under two labels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AaCheck {
    /// Response of A' over response of A.
    pub ratio: f64,
    /// Interval of the ratio.
    pub interval: Interval,
    /// Whether the interval holds 1, or lies within the margin of the plan.
    pub passed: bool,
}

/// A value with its interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its interval.
    pub interval: Interval,
}

/// A minimum detectable effect.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mde {
    /// Smallest rise of the response that is found with the given power, a fraction.
    pub effect: f64,
    /// Smallest fall that is found, a fraction: the same step of the logarithm, downwards.
    #[serde(default)]
    pub effect_down: f64,
    /// Coefficient of variation that it was calculated with, a fraction.
    pub cv: f64,
    /// Blocks that it was calculated with.
    pub blocks: u32,
    /// Power, a fraction: 0.9.
    pub power: f64,
}

/// Block effects against clock time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Change of the logarithm of the response per hour; for small values a fraction.
    pub per_hour: f64,
    /// Its interval.
    pub interval: Interval,
}

/// A run far from the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// Id of the run.
    pub run: u32,
    /// Residual over the scaled median absolute deviation.
    pub score: f64,
    /// What happened at the time, one sentence each; empty when nothing is known.
    #[serde(default)]
    pub causes: Vec<String>,
    /// The level's ratio to the baseline without this run.
    #[serde(default)]
    pub ratio_without: Option<f64>,
}

/// Residual of one run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Residual {
    /// Id of the run.
    pub run: u32,
    /// Residual of the additive model on the log scale: the logarithm of the run's response over the fitted
    /// one.
    pub value: f64,
    /// Residual with the block's effect left in: what drift is seen in.
    pub with_block: f64,
}
