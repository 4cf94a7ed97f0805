//! How a run's extents were dealt to the data files.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went into which file while a run lasted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FillHistory {
    /// Extents that all files together had taken at each look, the first one at the start.
    pub at_extents: Vec<u64>,
    /// The files, in filling order.
    pub files: Vec<FilledFile>,
    /// Skip targets at the start, and each time they were reckoned anew.
    pub recalculations: Vec<Recalculation>,
}

/// One data file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FilledFile {
    /// File id in the database.
    pub file_id: u32,
    /// Free extents at the start.
    pub free_extents: u64,
    /// Extents taken at each look.
    pub taken: Vec<u64>,
}

/// Skip targets as they were reckoned once.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recalculation {
    /// Extents taken by all files before it.
    pub at_extents: u64,
    /// Each file's free extents and target, in filling order.
    pub files: Vec<SkipTarget>,
}

/// A file's skip target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkipTarget {
    /// File id in the database.
    pub file_id: u32,
    /// Free extents then.
    pub free_extents: u64,
    /// It takes one of so many offers.
    pub skip_target: u64,
}
