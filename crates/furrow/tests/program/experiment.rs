//! An experiment from the command line to its report.

use super::*;
use std::io::{BufRead, BufReader};

#[test]
fn an_experiment_leaves_its_four_files_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (target, volume) = (dir.path().join("out"), dir.path().join("volume"));
    SystemVolume::new().create_dir(&volume).unwrap();
    let output = furrow()
        .args(SMALL)
        .args(["--plain", "--out", text(&target), "--volume", text(&volume)])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(names(&target), LEFT);
    assert_eq!(names(&volume), Vec::<String>::new());

    let results = results(&target);
    assert_eq!(results.runs.len(), 6);
    for run in &results.runs {
        assert_eq!(run.rows, Some(128));
        assert!(run.response.unwrap() > 0.0 && run.cpu_s.is_some());
        assert_eq!(run.latency[0].count, 128);
        let mut waits = run.waits.iter();
        assert!(waits.any(|wait| wait.wait_type == "WRITELOG"), "{run:?}");
        assert!(
            run.spinlocks
                .iter()
                .any(|spin| spin.class == "FGCB_PRP_FILL")
        );
        let log: u64 = run
            .files
            .iter()
            .filter(|f| f.path.ends_with("log.ldf"))
            .map(|f| f.bytes_written)
            .sum();
        assert!(log > 128 * 4100, "each row is in the log: {log}");
        assert!(run.series.iter().any(|series| series.name == "rows"));
    }
    assert!(
        results
            .ceilings
            .iter()
            .all(|ceiling| ceiling.limit.is_some_and(|limit| limit > 0.0))
    );
    assert!(results.published.is_some() && results.limits.len() > 4);
    the_build_is_named(&results);

    let (shown, reported) = (out(&output), err(&output));
    // Two blocks beside other programs may differ from themselves.
    let mut words = ["SCREENING: ", "NOISY: "].iter();
    assert!(words.any(|word| shown.starts_with(word)), "{shown}");
    assert!(
        shown.contains("report.html") && shown.lines().count() <= 31,
        "{shown}"
    );
    assert!(
        reported.contains("6 runs in 2 blocks, seed 5; would find a difference of"),
        "{reported}"
    );
    assert_eq!(
        reported
            .lines()
            .filter(|line| line.contains("done in"))
            .count(),
        6,
        "{reported}"
    );
    let page = content(&target.join("report.html"));
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("</html>"));
    assert_eq!(content(&target.join("runs.csv")).lines().count(), 7);
}

fn the_build_is_named(results: &Results) {
    let found = &results.environment;
    let compiler = found.compiler.as_deref().unwrap();
    assert!(compiler.starts_with("rustc "), "{compiler}");
    if let Some(commit) = &found.engine_commit {
        let hash = commit.split("-dirty-").next().unwrap();
        assert!(
            hash.len() >= 12 && hash.bytes().all(|b| b.is_ascii_hexdigit()),
            "{commit}"
        );
    }
}

#[test]
fn several_settings_of_rows_and_layout_are_further_factors() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let output = furrow()
        .args(SMALL)
        .args(["--plain", "--out", text(&target)])
        .args([
            "--rows-per-commit",
            "1,8",
            "--layout",
            "sequential,random-key",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let results = results(&target);
    assert_eq!(results.levels.len(), 8);
    let run = results
        .runs
        .iter()
        .find(|run| run.level == "2 / 8 / random-key")
        .unwrap();
    assert_eq!(run.rows, Some((1 << 20) / 100 * 69 / 160));
    assert!(run.latency[0].count < run.rows.unwrap() / 7);
}

#[test]
fn a_plan_that_is_explained_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let output = furrow()
        .args(SMALL)
        .args(["--explain", "--out", text(&target)])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let shown = out(&output);
    assert!(
        shown.contains("Nothing has been run.") && shown.contains("6 runs, about"),
        "{shown}"
    );
    assert!(
        shown.contains("data1.mdf") && shown.contains("would find a difference"),
        "{shown}"
    );
    assert!(
        shown.contains("Space: ") && shown.contains(" free\n"),
        "{shown}"
    );
    assert_eq!(names(dir.path()), Vec::<String>::new());
    let huge = furrow()
        .args(["lab", "run", "datafiles", "--explain", "--total", "15TB"])
        .args(["--out", text(&target)])
        .output()
        .unwrap();
    assert!(out(&huge).contains("It would be refused: not enough space"));
}

#[test]
fn progress_for_tools_is_json_on_every_line() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let words = ["--json-progress", "--out", text(&target)];
    let output = furrow().args(SMALL).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let reported = err(&output);
    assert!(reported.lines().count() > 6 * 5);
    for line in reported.lines() {
        assert!(
            serde_json::from_str::<serde_json::Value>(line).is_ok(),
            "{line}"
        );
    }
}

#[test]
fn the_experiments_are_listed() {
    let output = run(&["lab", "list"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(out(&output).contains("datafiles") && out(&output).contains("--quick"));
}

#[test]
fn proportional_fill_deals_evenly_to_equal_files_and_everything_to_one_that_was_added() {
    let dir = tempfile::tempdir().unwrap();
    let out_dir = dir.path().join("out");
    let words = [
        "lab",
        "run",
        "proportional-fill",
        "--total",
        "4MB",
        "--connections",
        "2",
    ];
    let more = [
        "--files",
        "3",
        "--blocks",
        "2",
        "--seed",
        "5",
        "--out",
        text(&out_dir),
    ];
    let output = run(&[&words[..], &more[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let results = results(&out_dir);
    assert_eq!(results.runs.len(), 10);
    for run in &results.runs {
        assert!(run.status.is_good(), "{:?}", run.status);
        let fill = furrow_experiments::proportional_fill::record::of(run).unwrap();
        let order: Vec<u32> = fill.files.iter().map(|file| file.file_id).collect();
        assert_eq!(
            order,
            [1, 4, 3],
            "the primary file, then from the newest on"
        );
        let taken: Vec<u64> = fill
            .files
            .iter()
            .map(|file| *file.taken.last().unwrap())
            .collect();
        let all: u64 = taken.iter().sum();
        assert_eq!(fill.at_extents.last(), Some(&all));
        // 512 rows, a page each, and the levels above.
        assert!((60..=76).contains(&all), "{taken:?}");
        let targets: Vec<u64> = fill.recalculations[0]
            .files
            .iter()
            .map(|f| f.skip_target)
            .collect();
        match run.level.as_str() {
            "equal" => {
                assert_eq!(targets, [1, 1, 1]);
                let (least, most) = (taken.iter().min().unwrap(), taken.iter().max().unwrap());
                assert!(most - least <= 3, "{taken:?}");
            }
            "one added" => assert_eq!((taken[0], taken[2]), (0, 0), "{taken:?}"),
            "equal -E" => assert_eq!(targets, [1, 1, 1]),
            other => assert_eq!(other, "unequal"),
        }
        let spins = run
            .spinlocks
            .iter()
            .find(|spin| spin.class == "FGCB_PRP_FILL")
            .unwrap();
        assert!(run.level == "unequal" || run.level == "one added" || spins.collisions == 0);
    }
    assert!(content(&out_dir.join("report.html")).contains("Where the extents went"));
    let again = run(&["lab", "run", "proportional-fill", "--files", "2,4"]);
    assert_eq!(again.status.code(), Some(2));
}

#[test]
fn a_directory_removed_while_the_experiment_runs_is_reported_and_ends_with_1() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let data = dir.path().join("data");
    SystemVolume::new().create_dir(&data).unwrap();
    let more = ["--plain", "--volume", text(&data), "--out", text(&target)];
    let mut child = furrow()
        .args(SMALL)
        .args(more)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let begun = |line: std::io::Result<String>| line.unwrap().contains("run 1/6");
    assert!(lines.any(begun), "no run ended");
    SystemVolume::new()
        .remove(&target.join("journal.jsonl"))
        .unwrap();
    let reported: Vec<String> = lines.map(Result::unwrap).collect();
    let reported = reported.join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(1), "{reported}");
    assert!(reported.contains("journal.jsonl was deleted"), "{reported}");
    assert_eq!(names(&data), Vec::<String>::new());
}
