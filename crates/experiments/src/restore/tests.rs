//! Copies that are wrong.

use super::*;
use crate::targets::{Startup, Value};
use crate::testing::{Spoiled, made, runner_of};
use furrow_io::SystemVolume;
use furrow_lab::environment::Environment;
use furrow_lab::results::RunStatus;
use furrow_lab::runner::Stop;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs two blocks on this target; the runs that found a wrong result, and whether the copy of each is there.
fn wrong_runs(out: &Path, target: Spoiled) -> Vec<(String, bool)> {
    let mut restore = made::<Restore>(out, "--stripes 1,2 --total 2MB").unwrap();
    restore.target = Box::new(target);
    let mut runner = runner_of(out, &restore);
    let stop = runner.run(&mut restore, &mut |_| {}).unwrap();
    assert_eq!(stop, Stop::Finished);
    let results = runner.results(&restore, Environment::default());
    let mut wrong = Vec::new();
    for run in &results.runs {
        let story = &runner.log().history().runs[&run.id];
        let Some(text) = story.violation.clone() else {
            assert_eq!(run.status, RunStatus::Done);
            continue;
        };
        assert_eq!(run.status, RunStatus::Failed(text.clone()));
        assert_eq!(story.attempts, 1, "it is not tried again");
        let volume = SystemVolume::new();
        let mut left = volume.list(out).unwrap().into_iter();
        let end = format!("_r{}_a1", run.id);
        let is_copy = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("lab_") && name.ends_with(&end)
        };
        let copy = left.find(is_copy);
        let files = ["data1.mdf", "log.ldf"];
        let is_there = copy.is_some_and(|copy| {
            let has = |file: &&str| volume.exists(&copy.join(file)).unwrap();
            files.iter().all(has)
        });
        wrong.push((text, is_there));
    }
    wrong
}

#[test]
fn a_copy_that_lacks_a_row_is_a_wrong_result_and_stays() {
    let dir = tempfile::tempdir().unwrap();
    let is_first = AtomicBool::new(true);
    let target = Spoiled::new(move |text, reply| {
        let is_count = text.contains("COUNT_BIG(*) FROM dbo.Stock");
        if is_count && is_first.swap(false, Ordering::Relaxed) {
            reply.rows[0][0] = Value::Int(reply.rows[0][0].count() as i64 - 1);
        }
    });
    let wrong = wrong_runs(&dir.path().join("out"), target);
    let [(text, is_there)] = wrong.as_slice() else {
        panic!("{wrong:?}");
    };
    assert!(
        text.contains("holds 1023 rows where 1024 were inserted"),
        "{text}"
    );
    assert!(is_there, "{text}");
}

#[test]
fn a_finding_of_the_check_is_a_wrong_result_and_of_two_copies_the_first_one_stays() {
    let dir = tempfile::tempdir().unwrap();
    let target = Spoiled::refusing("DBCC CHECKDB", &[8928, 2511]);
    let wrong = wrong_runs(&dir.path().join("out"), target);
    let [(first, true), (second, false)] = wrong.as_slice() else {
        panic!("{wrong:?}");
    };
    assert!(
        first.contains("error 8928") && second.contains("error 2511"),
        "{wrong:?}"
    );
}

/// An instance with a database of the reader, whose files have names of their own.
fn with_database_of_the_reader(dir: &Path) -> Embedded {
    let volume: Arc<dyn Volume> = Arc::new(SystemVolume::new());
    let startup = Startup {
        directory: dir.join("instance"),
        pool_bytes: 8 << 20,
        trace_flags: Vec::new(),
        many_extents: false,
    };
    let mut target = Embedded::new();
    target.start(&volume, &startup).unwrap();
    let mut session = target.connect().unwrap();
    let text = format!(
        "CREATE DATABASE YourDatabase
         ON (NAME = sales_1, FILENAME = {}, SIZE = 8MB)
         LOG ON (NAME = sales_log, FILENAME = {}, SIZE = 2MB);",
        literal(&dir.join("sales.mdf")),
        literal(&dir.join("sales.ldf"))
    );
    session.batch(&text).unwrap();
    target
}

#[test]
fn the_printed_script_restores_a_database_of_the_reader() {
    let dir = tempfile::tempdir().unwrap();
    let restore = made::<Restore>(dir.path(), "--stripes 1,2 --files 2").unwrap();
    let cells = restore.plan(3).cells();
    let (script, undo) = restore.apply(&cells[1]);
    let target = with_database_of_the_reader(dir.path());
    let mut session = target.connect().unwrap();
    let (backup, script) = script.split_once('\n').unwrap();
    session.batch(backup).unwrap();
    let (list, script) = script.split_once('\n').unwrap();
    let names = session.batch(list).unwrap().rows;
    assert_eq!(names[0][0], Value::Text("sales_1".to_owned()), "{names:?}");
    session.batch("DROP DATABASE YourDatabase;").unwrap();
    session.batch(script).unwrap();
    session.batch(&undo).unwrap();
}
