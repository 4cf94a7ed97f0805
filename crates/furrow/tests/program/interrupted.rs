//! Ctrl-C and `kill -9`: what is left, and that the experiment goes on.

use super::*;
use furrow_lab::journal::{FILE_NAME, History, read};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// Kills that may come too late on a busy machine.
const TRIES: u32 = 8;

/// Starts the experiment and waits until run `run` measures.
fn started(target: &Path, run: u32) -> Child {
    let mut child = furrow()
        .args(
            SMALL
                .iter()
                .map(|word| if *word == "1MB" { "16MB" } else { word }),
        )
        .args(["--json-progress", "--out", text(target)])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let wanted = format!("\"run\":{run},");
    let seen = lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.contains(&wanted) && line.contains("\"state\":\"measure\""));
    assert!(seen, "run {run} never measured");
    // The pipe stays open: a program whose progress nobody reads must not die of it.
    std::mem::forget(lines);
    child
}

fn resumed(target: &Path) -> Output {
    run(&["lab", "run", "--plain", "--resume", text(target)])
}

/// The run that the journal of a killed experiment shows under way.
fn under_way(target: &Path) -> Option<u32> {
    let lines = read(&SystemVolume::new(), target).unwrap();
    let history = History::of(&target.join(FILE_NAME), &lines).unwrap();
    let mut runs = history.runs.iter();
    let (id, _) = runs.find(|(_, run)| !run.ended)?;
    Some(*id)
}

/// Kills an experiment in the middle of a run; the directory and the run. The program goes on while the test
/// is not scheduled: a kill between two runs, or behind the last one, does not count.
fn killed_in_a_run(dir: &Path) -> (PathBuf, u32) {
    for attempt in 1..=TRIES {
        let target = dir.join(format!("out{attempt}"));
        let mut child = started(&target, 3);
        child.kill().unwrap();
        child.wait().unwrap();
        let left = names(&target);
        let has_files = left.iter().any(|name| name.starts_with("lab_"));
        if let Some(run) = under_way(&target).filter(|_| has_files) {
            assert!(!left.contains(&"results.json".to_string()), "{left:?}");
            return (target, run);
        }
        eprintln!("attempt {attempt}: killed too late: {left:?}");
    }
    panic!("{TRIES} kills were all too late");
}

#[test]
fn a_killed_experiment_goes_on_and_clears_away_what_the_kill_left() {
    let dir = tempfile::tempdir().unwrap();
    let (target, killed) = killed_in_a_run(dir.path());

    let output = resumed(&target);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(names(&target), LEFT);
    let results = results(&target);
    assert_eq!(
        results
            .runs
            .iter()
            .filter(|run| run.status.is_good())
            .count(),
        6
    );
    assert!(
        results
            .deviations
            .iter()
            .any(|deviation| deviation.kind == "resumed")
    );
    assert!(
        results
            .deviations
            .iter()
            .any(|d| d.kind == "interrupted" && d.run == Some(killed))
    );
    assert_eq!(results.plan.seed, 5);
    assert!(
        results
            .ceilings
            .iter()
            .all(|ceiling| ceiling.limit.is_some())
    );

    // Once more: everything is done, and is reported again from the journal alone.
    let again = resumed(&target);
    assert_eq!(again.status.code(), Some(0), "{}", err(&again));
    assert_eq!(super::results(&target).runs, results.runs);
}

#[test]
fn blocks_are_added_to_an_experiment_that_could_not_tell() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let words = ["--plain", "--out", text(&target)];
    let output = furrow().args(SMALL).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let before = results(&target);
    if let Some(next) = &before.answer.next_step {
        assert!(
            next.contains(&format!("--resume {}", text(&target))),
            "{next}"
        );
        assert!(next.contains(" --blocks "), "{next}");
    }
    let more = |blocks: &str| {
        run(&[
            "lab",
            "run",
            "--plain",
            "--resume",
            text(&target),
            "--blocks",
            blocks,
        ])
    };
    let output = more("1");
    assert_eq!(output.status.code(), Some(2));
    assert!(err(&output).contains("from 2 to 1000"), "{}", err(&output));
    let output = more("3");
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(names(&target), LEFT);
    let after = results(&target);
    assert_eq!((after.plan.blocks, after.plan.blocks_done), (3, 3));
    assert_eq!(after.plan.hash, before.plan.hash);
    assert_eq!(after.runs[..6], before.runs);
    assert_eq!(after.runs.len(), 9);
    assert!(after.deviations.iter().any(|d| d.kind == "extended"));

    // The blocks that were added count as well as those that were typed.
    let output = more("2");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        err(&output).contains("the plan has 3 blocks"),
        "{}",
        err(&output)
    );
    // The condition is no part of the plan: it can be given again.
    let resume = ["lab", "run", "--plain", "--resume", text(&target)];
    let output = furrow()
        .args(resume)
        .args(["--fail-if", "ratio>0.0001"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(4), "{}", err(&output));
}

/// Interrupts an experiment by Ctrl-C before it has finished; its directory.
fn interrupted(dir: &Path) -> PathBuf {
    for attempt in 1..=TRIES {
        let target = dir.join(format!("out{attempt}"));
        let mut child = started(&target, 2);
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap()
                .success()
        );
        let status = child.wait().unwrap();
        // It went on while the test was not scheduled.
        let is_late = status.code() == Some(0) && results(&target).plan.blocks_done == 2;
        if !is_late {
            assert_eq!(status.code(), Some(130));
            return target;
        }
    }
    panic!("{TRIES} signals were all too late");
}

#[test]
fn ctrl_c_removes_the_run_under_way_tells_how_to_go_on_and_ends_with_130() {
    let dir = tempfile::tempdir().unwrap();
    let target = interrupted(dir.path());
    assert_eq!(names(&target), LEFT);
    assert!(results(&target).plan.stopped_because.contains("operator"));
    let output = resumed(&target);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert_eq!(
        results(&target)
            .runs
            .iter()
            .filter(|run| run.status.is_good())
            .count(),
        6
    );
}

#[test]
fn ctrl_c_and_sigterm_end_a_join_that_gives_no_rows() {
    let dir = tempfile::tempdir().unwrap();
    let endless = "SET NOCOUNT ON; SELECT 1 AS n INTO #n; RAISERROR('begun', 0, 1) WITH NOWAIT;
        WITH s AS (SELECT value AS n FROM GENERATE_SERIES(1, 100000))
        SELECT COUNT(*) FROM s a CROSS JOIN s b CROSS JOIN s c WHERE a.n + b.n + c.n = -1";
    for signal in ["-INT", "-TERM"] {
        let mut child = furrow()
            .args([
                "sql",
                "--instance",
                text(&dir.path().join(signal)),
                "--query",
                endless,
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let _begun = lines
            .by_ref()
            .map_while(Result::ok)
            .find(|line| line == "begun");
        furrow_io::time::sleep(std::time::Duration::from_millis(200));
        let at = furrow_io::time::Moment::now();
        let id = child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let took = at.elapsed();
        println!("{signal}: ended within {took:?}");
        // The join itself takes years.
        assert!(took.as_secs() < 60, "{signal}: {took:?}");
    }
}
