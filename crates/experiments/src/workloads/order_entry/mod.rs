//! The load `order-entry`: nine tables, five transactions, terminals that run them.
//!
//! # Purpose
//! A mixed load as a company that takes orders has it: short changes of few rows, lookups by name, a
//! report over recent lines. It is derived from the TPC-C benchmark and not comparable with results of
//! that benchmark ([`DISCLAIMER`]); its rate is called new orders per minute.
//!
//! # Invariants
//! 1. The rows follow from the seed alone, whatever the number of threads that load them.
//! 2. The 12 conditions hold after the load, and after every run: then the eleventh counts the deliveries of
//!    the run, too.
//! 3. A transaction that the engine ends as a deadlock's victim is run again with the same inputs, and
//!    counts once. Of a delivery, which is a transaction for each district, that is the one of the district.
//! 4. Counts and latencies take the same memory for any number of sessions.
//!
//! Proofs, by the invariant's number: 1: `population` draws each part from a stream of its own. 2:
//! `the_conditions_hold_after_the_load_and_after_runs` and the experiments, which check after each run. 3:
//! `differences` compares the tables with what sessions got. 4: `Ledger` is one for all sessions.
//!
//! # What can fail
//! [`crate::targets::TargetError`] with the engine's number.

mod audit;
mod calls;
mod churn;
pub mod conditions;
mod deliveries;
mod loader;
mod population;
mod procedures;
mod random;
mod requests;
mod schema;
mod statements;
mod terminal;
#[cfg(test)]
mod tests;

pub(crate) use audit::Asked;
pub(crate) use churn::{Churn, IN_TEMPDB};
pub(crate) use loader::load;
pub(crate) use population::Population;
pub(crate) use random::{Kind, seconds_a_new_order};
pub(crate) use schema::{HotRows, Scale};
pub(crate) use terminal::{Calling, Manner, OrderEntry};

/// What every report of the load says.
pub(crate) const DISCLAIMER: &str = "The load is derived from the TPC-C benchmark. Its results are not \
    comparable \
    with published TPC-C results, as it does not comply with all requirements of the TPC-C benchmark.";
