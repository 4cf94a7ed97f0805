//! Waits, latches, spinlocks, file statistics, trace flags, error log, messages.

mod instruments;
mod table;

pub mod counters;
pub mod files;
pub mod latches;
pub mod messages;
pub mod spinlocks;
pub mod task;
pub mod traceflags;
pub mod waits;

pub use instruments::Instruments;
