//! The runner with an experiment on a model: verdicts, failures, kills.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

#[path = "../synthetic/mod.rs"]
mod synthetic;

mod badges;
mod failures;
mod kills;
mod processes;
mod shared;
mod verdicts;
