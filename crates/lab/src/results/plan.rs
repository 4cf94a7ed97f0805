//! The question and the plan.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The question and its subject.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Experiment {
    /// Name on the command line: `datafiles`.
    pub name: String,
    /// The question in plain words: "How many data files for this insert load?"
    pub question: String,
    /// What was measured: `embedded`, or a server's address without its password.
    pub target: String,
    /// Database or databases used, as a reader knows them.
    #[serde(default)]
    pub database: String,
    /// The load in one sentence.
    #[serde(default)]
    pub workload: String,
    /// The factor on the chart's axis.
    pub factor: Factor,
    /// The measure the verdict is about.
    pub response: Response,
}

/// What is varied.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Factor {
    /// Singular, in words: `data file`.
    pub singular: String,
    /// Plural, in words: `data files`.
    pub plural: String,
    /// The option that sets it: `--files`.
    #[serde(default)]
    pub option: String,
}

/// What is measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// In words: `elapsed time`.
    pub name: String,
    /// Unit as printed: `s`, `rows/s`.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
}

impl Response {
    /// The elapsed time of a run, in seconds.
    pub fn elapsed_time() -> Response {
        Response {
            name: "elapsed time".to_owned(),
            unit: "s".to_owned(),
            better: Better::Lower,
        }
    }
}

/// Which direction of the response is good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better: times, latencies.
    #[default]
    Lower,
    /// More is better: rates.
    Higher,
}

/// The plan as it was hashed before the first run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanInfo {
    /// Hash of the canonical plan, hexadecimal.
    pub hash: String,
    /// Seed of the order.
    pub seed: u64,
    /// Design in words: `randomised complete blocks`.
    pub design: String,
    /// Blocks asked for.
    pub blocks: u32,
    /// Blocks in which every level has a good run.
    pub blocks_done: u32,
    /// Levels of the factor on the axis, in order.
    pub levels: Vec<String>,
    /// The level everything is compared with.
    pub baseline: String,
    /// Whether the baseline runs twice in each block, as A and A'.
    pub aa_control: bool,
    /// Equivalence margin on the response, a fraction: 0.02.
    pub delta: f64,
    /// Family-wise confidence of the intervals: 0.95.
    pub confidence: f64,
    /// Planned order of all runs.
    pub order: Vec<PlannedRun>,
    /// What happens between runs: `fresh database each run`.
    #[serde(default)]
    pub reset_policy: String,
    /// Settings that are the same in every run, name and value as printed.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// Checks passed before the first run, one sentence each.
    #[serde(default)]
    pub checks: Vec<String>,
    /// Why it stopped: all blocks done, `--until`, Ctrl-C, failures.
    #[serde(default)]
    pub stopped_because: String,
}

/// One run of the plan.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedRun {
    /// Place in the whole order, from 1.
    pub id: u32,
    /// Block, from 1.
    pub block: u32,
    /// Place in the block, from 1.
    pub position: u32,
    /// Key of the level.
    pub level: String,
    /// Which of the baseline's two labels, if any.
    #[serde(default)]
    pub control: super::Control,
}

/// Something done otherwise than planned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deviation {
    /// Kind, one word or two: `retried`, `failed`, `resumed`, `operator`, `reverted`.
    pub kind: String,
    /// Which run, where it is about one.
    #[serde(default)]
    pub run: Option<u32>,
    /// What happened, one sentence.
    pub text: String,
}
