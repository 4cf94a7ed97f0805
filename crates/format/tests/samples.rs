//! Real data files against what is known of them: every figure of the truth table, and sums over their values.
//!
//! The files are found through `FURROW_SAMPLES`, or in `../shared/samples` beside the workspace.

#![expect(
    clippy::tests_outside_test_module,
    reason = "an integration test is a test module"
)]

#[path = "samples/catalog.rs"]
mod catalog;
#[path = "samples/damage.rs"]
mod damage;
#[path = "samples/files.rs"]
mod files;
#[path = "samples/truth.rs"]
mod truth;
#[path = "samples/values.rs"]
mod values;
