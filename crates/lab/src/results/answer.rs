//! The answer, its evidence, and the published result that it is compared with.

use super::Control;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the whole experiment is to be taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Badge {
    /// The question is answered.
    Conclusive,
    /// The machine changed under the experiment, or the A/A control failed.
    Noisy,
    /// Too few runs for the noise.
    #[default]
    CannotTell,
    /// A screening: three blocks or so, which show large differences only.
    Screening,
    /// Stopped before enough was known.
    Aborted,
}

impl Badge {
    /// Whether a level may be named: not where the baseline differs from itself or too little was run.
    #[must_use]
    pub fn has_verdict(self) -> bool {
        !matches!(self, Badge::Noisy | Badge::Aborted)
    }

    /// The words as printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Badge::Conclusive => "conclusive",
            Badge::Noisy => "noisy",
            Badge::CannotTell => "cannot tell",
            Badge::Screening => "screening",
            Badge::Aborted => "aborted",
        }
    }
}

/// Ends the sentence of an answer that more runs do not settle.
pub(crate) const DEPENDS: &str = "Which level is better depends on the number of sessions";

/// The answer in words.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// How to take it.
    pub badge: Badge,
    /// One sentence: "4 files: 5.1% faster than 1 (3.9 to 6.3%); 8 is not better by more than 2%".
    pub sentence: String,
    /// A second sentence where one is needed: what it costs, how sure it is.
    #[serde(default)]
    pub detail: String,
    /// The level to use; `None` when none can be named.
    #[serde(default)]
    pub recommended: Option<String>,
    /// Text to copy and run that sets it.
    #[serde(default)]
    pub apply: String,
    /// Text that undoes it.
    #[serde(default)]
    pub undo: String,
    /// Levels were compared under the same load alone: sessions are counted, and something else varies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_under_load: bool,
    /// What to do next, one command, where the runs do not give an answer.
    #[serde(default)]
    pub next_step: Option<String>,
}

/// How sure a cause is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Most of the change lies in one category, and its ceiling is nearly used up.
    Attributed,
    /// Most of the change lies in one category.
    Likely,
    /// Nothing explains it.
    #[default]
    Unknown,
}

impl Confidence {
    /// The word as printed.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Attributed => "attributed",
            Confidence::Likely => "likely",
            Confidence::Unknown => "unknown",
        }
    }
}

/// What limits, and why it is thought so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attribution {
    /// Resource in words: `log device`, `page latch on the last page`; empty when unknown.
    #[serde(default)]
    pub resource: String,
    /// How sure.
    #[serde(default)]
    pub confidence: Confidence,
    /// Share of the time change that lies in the resource's category, a fraction; `None` where no change
    /// was shown: then the resource is what fills the time at every level.
    #[serde(default)]
    pub share: Option<f64>,
    /// One sentence where the cause is in no category of waits, so that it has no share of the change, or
    /// where the waits of these runs cannot contain it; with `fills`, why no cause is sought.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// What speaks for it, one sentence each.
    #[serde(default)]
    pub evidence_for: Vec<String>,
    /// What speaks against it.
    #[serde(default)]
    pub evidence_against: Vec<String>,
    /// What filled the time of each level, where no cause of a difference is sought; `None` where one is, and
    /// where no waits were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fills: Option<Vec<Fill>>,
}

/// What filled the time of every run of a level: a description of these runs, and no comparison with others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fill {
    /// Key of the level.
    pub level: String,
    /// Which of the baseline's two labels, where the two are described by themselves.
    #[serde(default)]
    pub control: Control,
    /// Category of waits, or what the sessions did instead of waiting.
    pub category: String,
    /// Mean share of the time of the runs, a fraction: of the time of all threads, where several worked for
    /// a session at a time.
    pub share: f64,
    /// The least share of a run. Not the end of an interval.
    pub low: f64,
    /// The largest share of a run. Not the end of an interval.
    pub high: f64,
    /// Runs.
    pub runs: u32,
}

impl Fill {
    /// Share of the time from which on a category fills a run.
    pub(crate) const LEAST: f64 = 0.6;
}

/// A measured upper bound and the use made of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ceiling {
    /// Which: `raw sequential write`.
    pub name: String,
    /// Unit as printed: `MB/s`.
    pub unit: String,
    /// The bound; `None` when it was not measured.
    #[serde(default)]
    pub limit: Option<f64>,
    /// What the runs reached, by level; `None` when it was not measured.
    #[serde(default)]
    pub used: Option<f64>,
    /// The level `used` is about.
    #[serde(default)]
    pub level: String,
    /// How it was measured, or why it was not.
    #[serde(default)]
    pub note: String,
}

impl Ceiling {
    /// Share of a bound from which on it limits.
    pub const LIMITING: f64 = 0.85;

    /// What was used of the bound, a fraction; `None` where one of the two was not measured.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        Some(self.used? / self.limit.filter(|&limit| limit > 0.0)?)
    }

    /// Whether the use is so near to the bound that it limits.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.share().is_some_and(|share| share >= Ceiling::LIMITING)
    }
}

/// The published result of the same question.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// Author and title, without an address.
    pub source: String,
    /// The setting in one sentence.
    #[serde(default)]
    pub setting: String,
    /// Its figures.
    pub points: Vec<PublishedPoint>,
    /// Whether the points are read off a chart or stated in words rather than given as numbers.
    #[serde(default)]
    pub approximate: bool,
    /// Statements of the source compared with ours: the statement, ours, and whether they agree.
    #[serde(default)]
    pub comparisons: Vec<(String, String, Option<bool>)>,
}

/// One published figure.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PublishedPoint {
    /// Key of the level.
    pub level: String,
    /// Response over the baseline's.
    pub ratio: f64,
    /// Whether the source states the number; otherwise only the direction is known.
    #[serde(default)]
    pub stated: bool,
}
