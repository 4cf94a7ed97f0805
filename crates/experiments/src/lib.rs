//! The experiments of the lab: one folder and one line of the registry each.
//!
//! # Purpose
//! The crate `lab` plans, runs and judges experiments; this crate has the experiments. An experiment is a
//! folder that implements [`furrow_lab::experiment::Experiment`] and [`Plugin`], and a line in [`REGISTRY`],
//! from which the command line, the journal, the report and the tables take it.
//!
//! # Invariants
//! 1. No code outside of [`REGISTRY`] decides anything by the name of an experiment.
//! 2. The plan stores an experiment's options as they were typed. A resumed experiment is created from them
//!    by the same code that created the first one, and is refused if its plan differs.
//! 3. What experiments share lies beside them: [`workloads`] are loads and their measurements, [`targets`]
//!    are the engines that run them.
//!
//! Proofs, by the invariant's number: 1: `find` of the registry is the only function that compares the
//! name. 2: `options_are_recorded_as_typed_and_give_the_same_experiment_again`. 3:
//! `files_import_each_other_in_fewer_circles_than_before` (tidy).
//!
//! # What can fail
//! Options that contradict each other ([`furrow_lab::experiment::OptionsError`]).

pub mod ab;
pub mod arrays;
pub mod backup;
pub mod check;
pub mod datafiles;
pub mod disk;
mod drives;
mod layouts;
mod plugin;
pub mod proportional_fill;
mod registry;
pub mod restore;
pub mod scan;
pub mod settings;
pub mod targets;
pub mod tempdb;
#[cfg(test)]
mod testing;
pub mod users;
pub mod workloads;

pub use drives::{Place, Places};
pub use plugin::{Entry, Plugin, Start};
pub use registry::{REGISTRY, entry};
