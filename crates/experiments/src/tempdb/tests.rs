//! The experiment with the engine.

use super::*;
use crate::testing::{made, run_made};
use crate::workloads::load::End;

#[test]
fn equal_files_and_an_added_one_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let words = "--files 1,unequal,added --sessions 4 --total 60MB";
    let mut tempdb = made::<Tempdb>(&out, words).unwrap();
    tempdb.options.end = End::Units(200);
    let results = run_made(&out, tempdb);
    let keys: Vec<&str> = results
        .levels
        .iter()
        .map(|level| level.level.as_str())
        .collect();
    assert_eq!(keys, ["1", "unequal", "added"]);
    for run in &results.runs {
        assert!(run.response.unwrap() > 0.0);
        let data = run
            .files
            .iter()
            .filter(|file| file.role == results::FileRole::Data)
            .count();
        assert_eq!(
            data,
            match run.level.as_str() {
                "1" => 1,
                "unequal" => 4,
                _ => 2,
            }
        );
        let size = |id: u32| {
            let mut files = run.files.iter();
            files.find(|file| file.file_id == id).unwrap().size_bytes
        };
        // File 2 is the log.
        assert_eq!(size(2), LOG_BYTES, "no layout has another log");
        match run.level.as_str() {
            "added" => assert_eq!(size(1), size(3), "the two files have one size"),
            "unequal" => {
                let sizes = [1, 3, 4, 5].map(size);
                assert!(
                    sizes.windows(2).all(|pair| pair[1] == 2 * pair[0]),
                    "{sizes:?}"
                );
            }
            _ => assert_eq!(size(1), 60 << 20),
        }
    }
}

#[test]
fn options_that_make_no_sense_are_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |words: &str| made::<Tempdb>(dir.path(), words).unwrap_err();
    assert!(refused("--files 0").contains("write a number of files"));
    assert!(refused("--files 1 --sessions 4").contains("nothing to be compared"));
    assert!(refused("--sessions 0").contains("--sessions takes"));
    assert!(refused("--total 1MB").contains("--total"));
    let small = refused("--files 8,1 --total 16MB");
    assert!(
        small.contains("--files 8 needs --total 32") && small.contains("at least"),
        "{small}"
    );
    assert!(refused("--files 1,unequal --total 59MB").contains("--files unequal needs --total 60"));
    assert!(refused("--files 1,added --log-volume .").contains("leave out --log-volume"));
    assert!(made::<Tempdb>(dir.path(), "--files 8,unequal,added --total 60MB").is_ok());
}

#[test]
fn sessions_take_memory_beside_the_pool() {
    let dir = tempfile::tempdir().unwrap();
    let needs = |words: &str| made::<Tempdb>(dir.path(), words).unwrap().memory_bytes();
    let more = needs("--sessions 1,2000") - needs("--sessions 1,16");
    assert_eq!(more, 1984 * ASSUMED_SESSION_BYTES);
}

#[test]
fn unequal_files_have_the_total_together() {
    let total: u64 = 150 << 20;
    for layout in [Layout::Equal(3), Layout::Unequal, Layout::Added] {
        let sizes = layout.sizes(total);
        let sum: u64 = sizes.iter().sum();
        assert!(sum.abs_diff(total) < 1 << 20, "{sizes:?}");
    }
    let sizes = Layout::Unequal.sizes(total);
    assert_eq!(sizes.len(), 4);
    assert!(sizes.windows(2).all(|pair| pair[1] > pair[0]));
}
