//! The progress of an experiment.

use crate::journal::State;
use crate::results::Control;

/// What just happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// A run begins.
    Begin,
    /// It enters a state.
    Step(State),
    /// It is over.
    End {
        /// Seconds, set-up and tear-down included.
        took_s: f64,
        /// Why it does not count, if it does not.
        failed: Option<String>,
    },
}

/// The progress of the experiment. It does not contain the verdict, so that nothing can stop early because of
/// it.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Block under way, from 1; 0 for a warm-up.
    pub block: u32,
    /// Blocks of the plan.
    pub blocks: u32,
    /// Run under way, from 1.
    pub run: u32,
    /// Runs of the plan.
    pub runs: u32,
    /// Runs that need no more work.
    pub settled: u32,
    /// Attempt, from 1.
    pub attempt: u32,
    /// Key of the level.
    pub level: String,
    /// Label of the baseline.
    pub control: Control,
    /// What just happened.
    pub phase: Phase,
    /// Rows a second of the run that just ended.
    pub rate: Option<f64>,
    /// Seconds since the experiment began.
    pub elapsed_s: f64,
    /// Seconds left, by the means of finished runs of the same cell.
    pub left_s: f64,
    /// Seconds left if every run takes as long as the slowest seen.
    pub worst_left_s: f64,
    /// Whether no run has finished yet, so that the times rest on an assumed rate.
    pub assumed: bool,
}
