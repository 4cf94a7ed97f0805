//! Crashes, faults and kills by the thousand, compared with a model of what must have survived.
//!
//! The engine promises that whatever it acknowledged is there after any crash, and nothing half done. This
//! crate tries to find a case in which that is false: it works on a store with several sessions, takes the
//! power away, opens it again and compares.
//!
//! # Invariants
//! 1. The [`model`] records a commit before the store gets the request, and the answer after: so the model
//!    decides for every row whether it must be there, must not, or may be, and which rows go together.
//! 2. A run on one thread is decided by its seed alone: rows, sessions, crash, what survives.
//! 3. The version of every row identifies its writer, and its bytes follow from key and version: a wrong byte
//!    is noticed, and an old row as well.
//! 4. The driver itself is tried on a toy store with planted bugs, each of which it must catch.
//!
//! Proofs, by the invariant's number: 1: `what_was_acknowledged_must_be_there_and_nothing_else`. 2:
//! `a_seed_replays_a_run_to_the_last_step`. 3:
//! `versions_have_twins_of_their_own_and_texts_of_all_lengths`. 4: `each_planted_bug_is_caught`.
//!
//! # A run
//! 1. [`work`]: several sessions, interleaved by the seed, insert, change, delete, save, roll back and
//!    commit, create and drop tables; between them checkpoints, clean-ups, new data files.
//! 2. [`crash`]: the power goes at a change of the disk that the seed chose; what was not synced survives,
//!    is lost or is torn, each file by itself; perhaps the power goes again while the store recovers.
//! 3. The store is opened, read through every index, checked page by page, compared with the model, and the
//!    work goes on.
//!
//! [`threads`] does the same with real threads that wait for each other's locks; [`faults`] lets the N-th
//! read, write or sync fail until there is no N-th any more; [`kill`] kills real processes on real files.
//!
//! What can be enumerated is: [`worlds`] are short fixed workloads in which the power goes at every sync,
//! with every outcome, and every operation fails. [`isolation`] looks for cycles in what transactions read of
//! each other; [`rot`] flips bits at rest; [`directed`] sets the scene for one rule each.
//!
//! [`long`] does all of it for hours and writes a ledger. [`mutations`] runs [`share`], a share of
//! everything, against faults ordered by name: a fault that is not noticed shows that a test is missing.
//!
//! [`backups`] takes backups and restores them under writers and power losses.
//!
//! [`resources`] counts what has leaked after many transactions.
//!
//! [`fuzz`] gives damaged bytes and texts to everything that reads untrusted input.
//!
//! [`check`] measures the consistency check: with damage done on purpose, and with sound databases.
//!
//! # What can fail
//! Everything ends in a [`Finding`]: the seed, where it happened, what was wrong, and the last steps before.

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

/// Something that must not be, and how to see it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Replays it.
    pub seed: u64,
    /// Where in the run it was noticed.
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
