//! The statistics of an experiment, as pure functions.
//!
//! # Purpose
//! An experiment runs every level once a block, the baseline twice. Its questions are which level is better,
//! by how much, and from which level on more does not help. This crate returns intervals whose coverage holds
//! at five or six blocks, and "cannot tell" if the runs do not support an answer.
//!
//! # Invariants
//! 1. Ratios are differences of natural logarithms; a percentage is `100 (exp(d) - 1)` and is computed only
//!    at the very end.
//! 2. The number of replicates is the number of runs, never of connections, statements or seconds.
//! 3. No value is left out. A missing run is handled by least squares on the additive model. An outlier is
//!    labelled, and the robust comparison shows whether it matters.
//! 4. All random draws come from a [`Stream`] with a seed: the same runs give the same
//!    digits.
//!
//! Proofs, by the invariant's number: 1, 2: `TwoWay` takes one logarithm for each run;
//! `a_full_table_gives_the_textbook_formulas`. 3:
//! `a_missing_run_is_met_by_least_squares_and_not_by_a_mean`,
//! `the_wild_run_is_labelled_and_its_neighbours_are_not`. 4: `the_same_seed_gives_the_same_digits`,
//! `the_stream_of_a_seed_is_frozen`.
//!
//! # From runs to a verdict
//! 1. [`TwoWay::fit`]: `y = arm + block + noise` on the log scale; arms with different variances get
//!    variances of their own.
//! 2. [`versus_baseline`]: each level against the baseline with Dunnett's simultaneous interval, and
//!    the 90% interval of the two one-sided tests of equivalence.
//! 3. [`RobustTwin`]: the same comparison with medians of the ratios inside the blocks.
//! 4. [`knee`]: the smallest level that is as good as the best one, and how certain that is.
//! 5. [`noise`]: whether the machine is fit for the test (A against A'), whether it drifted, which runs are
//!    outliers.
//! 6. [`normality`]: whether the residuals are those of a normal law, which the intervals suppose.
//! 7. [`power`]: the effect that this many blocks could have detected, and how many more would detect it.
//!
//! # What can fail
//! [`StatsError`]: too few runs, a response without a logarithm, a design in which two levels are not
//! connected by blocks. A fit without a meaning (a scalability law with negative contention) is refused with
//! its reason rather than printed.

mod bootstrap;
mod compare;
mod dunnett;
mod error;
pub mod knee;
mod linear;
mod model;
mod multiple;
pub mod noise;
mod normality;
pub mod power;
pub mod queue;
mod race;
mod ratio;
mod robust;
mod sample;
pub mod special;
mod spread;
mod steady;
mod stream;
mod usl;

pub use bootstrap::{Bootstrap, RuleInterval, RuleMethod, interval_by_rule};
pub use compare::{Comparison, versus_baseline};
pub use dunnett::{Dunnett, dunnett_critical, dunnett_p};
pub use error::StatsError;
pub use model::{Estimate, Table, TwoWay};
pub use multiple::{holm, westfall_young};
pub use normality::{Furthest, Normality, normality};
pub use race::{Standing, cells_to_drop, race};
pub use ratio::{ReplicationPlan, fieller, kalibera_jones};
pub use robust::{
    MEDIAN_COVERAGE, MedianInterval, RobustTwin, hodges_lehmann, median_interval,
    order_statistic_coverage, sign_flip_floor, sign_flip_p,
};
pub use sample::{cv_interval, geometric_mean, mad_scaled, mean, median, quantile, std_dev};
pub use steady::mser5;
pub use stream::Stream;
pub use usl::{Usl, UslRefusal, fit_usl};
