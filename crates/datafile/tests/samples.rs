//! Compares real data files with published facts: every figure of the truth table, and sums over their
//! values.
//!
//! The files are found through `FURROW_SAMPLES`, or in `../shared/samples` beside the workspace.

#[cfg(test)]
#[path = "samples/catalog.rs"]
mod catalog;
#[cfg(test)]
#[path = "samples/damage.rs"]
mod damage;
#[cfg(test)]
#[path = "samples/files.rs"]
mod files;
#[cfg(test)]
#[path = "samples/truth.rs"]
mod truth;
#[cfg(test)]
#[path = "samples/values.rs"]
mod values;
