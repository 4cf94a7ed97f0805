//! The experiment with the engine, on small modelled arrays in real time.

use super::*;
use crate::testing::{made, run_blocks};

#[test]
fn files_on_two_modelled_arrays_and_one_added_file_are_distinguished() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words = "--files 1,2 --places two,added --total 4MB --connections 4 --log 2MB --half nvme \
                 --log-array nvme";
    let results = run_blocks::<Arrays>(&out, words);
    assert!(results.experiment.question.contains("MODEL"));
    assert_eq!(results.models.len(), 3, "{:?}", results.models);
    let section = results.sections.last().unwrap();
    assert!(section.charts[0].finding.starts_with("MODEL"));
    // One sentence for each place, the first of them above the text.
    assert!(section.finding.starts_with("On two arrays the storage"));
    assert!(section.text[0].starts_with("On two arrays with one file added"));
    let added = "One empty file beside 1 full";
    assert!(section.text[1].contains(added), "{:?}", section.text);
    for run in &results.runs {
        assert_eq!(run.rows, Some(512));
        let record: section::Record = serde_json::from_value(run.extra["arrays"].clone()).unwrap();
        assert!(record.carried() > 0, "{record:?}");
    }
}

#[test]
fn a_model_that_makes_no_sense_is_refused_by_its_option() {
    let dir = tempfile::tempdir().unwrap();
    let refused = made::<Arrays>(dir.path(), "--half raid10:3x15k").unwrap_err();
    assert!(refused.starts_with("--half raid10:3x15k"), "{refused}");
    let refused = made::<Arrays>(dir.path(), "--files 2 --places one").unwrap_err();
    assert!(refused.contains("nothing to be compared"), "{refused}");
}
