//! Why a statistic cannot be given.

use thiserror::Error;

/// A statistic that the runs do not support.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum StatsError {
    /// Fewer values than the method needs.
    #[error("{what} needs at least {needed} values, there are {got}")]
    TooFew {
        /// The method.
        what: &'static str,
        /// What it needs.
        needed: usize,
        /// What there is.
        got: usize,
    },
    /// A response that is zero, negative or not a number has no logarithm.
    #[error("the response {value} of arm {arm} in block {block} is not a positive number")]
    NotPositive {
        /// The arm of the table.
        arm: usize,
        /// The block of the table.
        block: usize,
        /// The value.
        value: f64,
    },
    /// An arm has no runs at all, or two groups of arms never met in a block.
    #[error("arm {arm} cannot be compared with the others: no chain of blocks connects them")]
    Disconnected {
        /// The first arm that hangs loose.
        arm: usize,
    },
    /// Every degree of freedom is spent on the means: none is left to estimate the noise.
    #[error("no degree of freedom is left for the noise: run more blocks")]
    NoFreedom,
}
