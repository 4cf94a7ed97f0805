//! The experiment with the engine.

use super::*;
use crate::testing::{made, run_blocks};

#[test]
fn users_on_one_and_two_files_are_compared_and_every_run_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words = "--users 1,6 --files 1,2 --churn tempdb --warehouses 1 --seconds 0.5 --log 32MB";
    let results = run_blocks::<Users>(&out, words);
    assert_eq!(results.levels.len(), 4);
    assert_eq!(results.experiment.response.name, "new orders per minute");
    for run in &results.runs {
        assert!(run.response.unwrap() > 0.0);
        assert_eq!(run.latency[0].operation, "new order");
    }
    let page = furrow_lab::report::render(&results);
    assert!(
        page.contains("not comparable"),
        "the disclaimer is in the report"
    );
    for word in ["tpmC", "TPM "] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |words: &str| made::<Users>(dir.path(), words).unwrap_err();
    assert!(refused("--users 0,1").contains("--users takes numbers"));
    assert!(refused("--users 4 --files 1").contains("nothing to be compared"));
    assert!(refused("--warehouses 0").contains("--warehouses"));
    assert!(refused("--churn maybe").contains("write off, on"));
    assert!(refused("--pace slow").contains("write none or spec"));
    assert!(refused("--pool 1MB").contains("--pool"));
}
