//! Whole experiments on small databases and real files.

use super::*;
use crate::testing::{Spoiled, made, run_blocks, runner_of};
use furrow_io::SystemVolume;
use furrow_lab::runner::Stop;
use std::path::Path;

#[test]
fn a_check_of_each_degree_and_mode_has_a_cap_and_the_waits() {
    let dir = tempfile::tempdir().unwrap();
    let words = "--dop 1,2 --modes full,po,po-both --total 2MB --files 2 --users 1";
    let results = run_blocks::<Check>(&dir.path().join("out"), words);
    assert_eq!(results.levels.len(), 6);
    let section = results.sections.last().unwrap();
    // Which of these holds depends on the machine; the table has to agree with it.
    let has_verdict = results.answer.badge.has_verdict();
    let is_capped = section.finding.starts_with("Cap a check (full) at degree");
    let is_open = section
        .finding
        .starts_with("No degree is shown to make a check (full) faster");
    assert_eq!(is_capped || is_open, has_verdict, "{}", section.finding);
    let shown = results.is_shown_along("full", "2");
    assert!(shown.is_some() && (!is_capped || shown == Some(true)));
    let verdicts = if has_verdict { 3 } else { 0 };
    assert_eq!(section.text.len(), verdicts, "one for each mode");
    assert_eq!(section.tables[0].rows.len(), 6);
    for run in &results.runs {
        assert!(run.figures[0].name == "checked" && run.figures[0].value > 0.0);
        // The time of a run is that of its statement, without the start of its thread.
        let (seconds, statement) = (run.seconds.unwrap(), &run.latency[0]);
        let most_us = 1.002 * statement.max_us as f64 + 1.0;
        assert!(1e6 * seconds <= most_us, "{seconds} s of {statement:?}");
        assert_eq!(run.response, Some(seconds));
    }
}

#[test]
fn one_degree_in_one_mode_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = made::<Check>(dir.path(), "--dop 2 --modes po").unwrap_err();
    assert!(refused.contains("nothing to be compared"), "{refused}");
}

#[test]
fn a_check_that_does_less_than_the_first_one_is_not_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    for (words, wanted) in [
        ("--dop 1,2 --modes full,po", vec!["1 / full", "2 / full"]),
        ("--dop 1,2 --modes po,full", vec!["1 / po", "2 / po"]),
        ("--dop 1,2 --modes po", vec!["1", "2"]),
        ("--dop 4 --modes full,po", vec!["full"]),
    ] {
        let check = made::<Check>(dir.path(), words).unwrap();
        let plan = check.plan(3);
        let cells = plan.cells();
        let mut may_win = cells.clone();
        may_win.retain(|cell| check.may_win(cell, &cells[0]));
        let keys = may_win.iter().map(|cell| cell.key(&plan.factors));
        assert_eq!(keys.collect::<Vec<_>>(), wanted, "{words}");
    }
}

#[test]
fn a_finding_is_a_wrong_result_and_a_check_without_memory_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let mut check = made::<Check>(&out, "--dop 1,2 --modes full --total 2MB").unwrap();
    check.target = Box::new(Spoiled::refusing("CHECKDB", &[8928, 701]));
    let mut runner = runner_of(&out, &check);
    assert_eq!(runner.run(&mut check, &mut |_| {}).unwrap(), Stop::Finished);
    let runs = &runner.log().history().runs;
    let stories: Vec<(u32, bool)> = runs
        .values()
        .map(|run| (run.attempts, run.violation.is_some()))
        .collect();
    assert_eq!(stories[..3], [(1, true), (2, false), (1, false)]);
    let reason = runs.values().find_map(|run| run.violation.clone()).unwrap();
    assert!(reason.contains("error 8928"), "{reason}");
    let kept = reason.rsplit_once("its files stay in ").unwrap().1;
    let database = Path::new(kept).join("data1.mdf");
    assert!(SystemVolume::new().exists(&database).unwrap(), "{kept}");
}
