//! Experiments that answer a question: run unattended, judged by statistics, reported on one page.
//!
//! # Purpose
//! "How many data files, for my disk and my load?" is a small factorial experiment with a knee to find. This
//! crate plans such an experiment, runs it in randomised blocks, writes a journal that survives a kill, and
//! reports what the runs show, how certain it is, and what they do not show. It depends on no engine and no
//! experiment: an [`experiment::Experiment`] sets up, measures and tears down; everything else is here. The
//! experiments are plug-ins in the crate `experiments`.
//!
//! # Invariants
//! 1. The order of runs is drawn from a recorded seed, every level once a block, the baseline twice.
//! 2. The plan is hashed before the first run, and the hash is part of journal and report.
//! 3. Only files and databases that the experiment created are deleted. The journal lists each of them before
//!    it is created.
//! 4. An incomplete run is never used: after a kill its files are removed and it is repeated.
//! 5. The same journal gives the same report, to the last digit.
//! 6. "Cannot tell" is an answer, and states the number of blocks and minutes that would be enough.
//!
//! Proofs, by the invariant's number: 1: `every_block_holds_every_arm_once`. 2:
//! `a_plan_that_was_changed_after_the_fact_is_not_believed`. 3:
//! `what_is_there_already_is_never_claimed_and_so_never_removed`. 4:
//! `a_kill_at_any_operation_loses_no_finished_run_and_leaves_nothing_behind`. 5:
//! `the_same_journal_gives_the_same_report`. 6:
//! `a_loud_machine_gets_cannot_tell_with_the_blocks_that_would`.
//!
//! # Steps of an experiment
//! 1. [`plan::Plan`]: factors, baseline, blocks, seed, margin; [`plan::explain`] shows every run with
//!    bytes and minutes and does nothing.
//! 2. [`guard`]: space on every volume, one lock per output directory, ownership of names.
//! 3. [`runner::Runner`]: for each run set-up, measure, collect, verify, tear-down, each step journalled
//!    ([`journal`]); one retry, then on; stop after three failures in a row, at the deadline, or on Ctrl-C.
//!    A [`search`] drops configurations after each round that are unlikely to be the best.
//! 4. [`runner::analyse`]: [`furrow_stats`] on the finished runs, filled into [`results::Results`].
//! 5. Terminal text, tables and the page are derived from [`results::Results`] alone.
//!
//! # What can fail
//! An invalid plan ([`plan::PlanError`]), too little space or a directory in use ([`guard::GuardError`]), a
//! journal that cannot be written or read ([`journal::JournalError`]), and any of these while running
//! ([`runner::RunnerError`]). A failed run is no error: it is recorded.

pub mod design;
pub mod environment;
pub mod experiment;
pub mod guard;
pub mod journal;
pub mod plan;
pub mod progress;
pub mod report;
pub mod results;
pub mod runner;
pub mod search;
pub mod size;
pub mod terminal;
