//! Thousands of crashes, failures and kills, compared with a model of what must have survived.
//!
//! The engine promises that every acknowledged transaction survives any crash, and that no transaction is
//! present in part. This crate tries to find a counterexample: it works on a store with several sessions,
//! simulates a power loss, opens the store again and compares.
//!
//! # Invariants
//! 1. The [`model`] records a commit before the store gets the request, and the result after it. So the model
//!    states for every row whether it must, must not or may exist, and which rows belong together.
//! 2. The seed alone determines a run on one thread: rows, sessions, crash, what survives.
//! 3. The version of every row identifies its writer, and its bytes follow from key and version: a wrong byte
//!    is detected, and so is an old row.
//! 4. The driver itself is tested on a toy store with planted bugs, each of which it must catch.
//!
//! Proofs, by the invariant's number: 1: `what_was_acknowledged_must_be_there_and_nothing_else`. 2:
//! `a_seed_replays_a_run_to_the_last_step`. 3:
//! `versions_have_twins_of_their_own_and_texts_of_all_lengths`. 4: `each_planted_bug_is_caught`.
//!
//! # A run
//! 1. [`work`]: several sessions, interleaved by the seed, insert, change, delete, save, roll back and
//!    commit, create and drop tables; between them checkpoints, clean-ups, new data files.
//! 2. [`crash`]: the power is lost at a change of the disk that the seed chose. Unsynced data survives, is
//!    lost or is torn, in each file independently. The power may be lost again while the store recovers.
//! 3. The store is opened, read through every index, checked page by page, and compared with the model; then
//!    the work continues.
//!    work goes on.
//!
//! [`threads`] does the same with real threads that wait for each other's locks; [`faults`] lets the N-th
//! read, write or sync fail until there is no N-th any more; [`kill`] kills real processes on real files.
//!
//! Some cases are enumerated: [`worlds`] are short fixed workloads in which the power is lost at every sync,
//! with every outcome, and every operation fails. [`isolation`] looks for cycles in what transactions read of
//! each other; [`rot`] flips bits at rest; [`directed`] sets up the situation of one rule each.
//!
//! [`long`] runs all of it for hours and writes a ledger. [`mutations`] runs [`share`], a share of
//! everything, with each built-in fault: a fault that is not detected shows that a test is missing.
//!
//! [`backups`] takes backups and restores them under writers and power losses.
//!
//! [`resources`] counts what has leaked after many transactions.
//!
//! [`fuzz`] gives damaged bytes and texts to everything that reads untrusted input.
//!
//! [`check`] measures the consistency check: on databases that were damaged on purpose, and on undamaged
//! ones.
//!
//! # What can fail
//! Everything ends in a [`Finding`]: the seed, the place in the run, what was wrong, and the last steps
//! before.

pub mod backups;
pub mod check;
pub mod crash;
pub mod directed;
pub mod engine;
pub mod faults;
pub mod fuzz;
pub mod isolation;
pub mod kill;
pub mod long;
pub mod model;
pub mod mutations;
pub mod pace;
pub mod resources;
pub mod rot;
pub mod rows;
pub mod share;
pub mod subject;
pub mod threads;
pub mod work;
pub mod worlds;

use std::fmt;

/// A violation that was found, and how to reproduce it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The seed that replays it.
    pub seed: u64,
    /// The place in the run.
    pub place: String,
    /// What was wrong.
    pub what: String,
    /// The last steps before, oldest first.
    pub steps: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}: {}", self.seed, self.place, self.what)?;
        if !self.steps.is_empty() {
            writeln!(f, "last steps:")?;
        }
        for step in &self.steps {
            writeln!(f, "  {step}")?;
        }
        Ok(())
    }
}
