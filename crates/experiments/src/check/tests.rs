//! Whole experiments on small databases and real files.

use super::*;
use crate::testing::{made, run_blocks};

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
    }
}

#[test]
fn one_degree_in_one_mode_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = made::<Check>(dir.path(), "--dop 2 --modes po").unwrap_err();
    assert!(refused.contains("nothing to be compared"), "{refused}");
}
