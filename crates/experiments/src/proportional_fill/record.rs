//! How a run's extents were dealt to the data files, as the journal keeps it.

use furrow_lab::results::Run;
use serde::{Deserialize, Serialize};

/// What went into which file while a run lasted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillHistory {
    /// Extents that all files together had taken at each look, the first one at the start.
    pub at_extents: Vec<u64>,
    /// The files, in filling order.
    pub files: Vec<FilledFile>,
    /// Skip targets at the start, and at each recalculation.
    pub recalculations: Vec<Recalculation>,
}

/// One data file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilledFile {
    /// File id in the database.
    pub file_id: u32,
    /// Free extents at the start.
    pub free_extents: u64,
    /// Extents taken at each look.
    pub taken: Vec<u64>,
}

/// Skip targets of one recalculation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recalculation {
    /// Extents taken by all files before it.
    pub at_extents: u64,
    /// Each file's free extents and target, in filling order.
    pub files: Vec<SkipTarget>,
}

/// A file's skip target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkipTarget {
    /// File id in the database.
    pub file_id: u32,
    /// Free extents then.
    pub free_extents: u64,
    /// It takes one of so many offers.
    pub skip_target: u64,
}

/// The name of the record among what a run keeps.
const NAME: &str = "fill";

/// Puts the history among what the run records.
pub(super) fn keep(run: &mut Run, history: &FillHistory) {
    // Whole numbers in lists always have a JSON form.
    if let Ok(value) = serde_json::to_value(history) {
        run.extra.insert(NAME.to_owned(), value);
    }
}

/// The history of a run, where it has one.
pub fn of(run: &Run) -> Option<FillHistory> {
    serde_json::from_value(run.extra.get(NAME)?.clone()).ok()
}

impl FillHistory {
    /// Extents that the fullest file took beyond an even share.
    pub(crate) fn beyond_even(&self) -> u64 {
        let last = |file: &FilledFile| file.taken.last().copied().unwrap_or(0);
        let all: u64 = self.files.iter().map(last).sum();
        let most = self.files.iter().map(last).max().unwrap_or(0);
        most.saturating_sub(all.div_ceil((self.files.len() as u64).max(1)))
    }
}
