//! Proportional fill: which file of a filegroup gets the next extent.
//!
//! The rule is SQL Server's: round robin, in which a file with a *skip target* of n takes only every n-th
//! offer, n being the free extents of the file with most of them divided by its own, at least 1. Targets are
//! recalculated after [`RECALCULATE_AFTER`] allocations and when a file comes or goes, not in between.
//!
//! While all targets are 1 the turn is one atomic integer. Otherwise counters have to go down together, under
//! the spinlock FGCB_PRP_FILL, whose collisions, spins and back-offs are counted.

mod shared;
#[cfg(test)]
mod tests;
mod turns;

pub(crate) use shared::{Fill, Tracer};
pub use turns::{Turns, filling_order, foresee, skip_target};
