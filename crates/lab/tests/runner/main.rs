//! The runner with an experiment made of a model: verdicts, failures, kills.

#[path = "../synthetic/mod.rs"]
mod synthetic;

mod failures;
mod kills;
mod verdicts;
