//! Files of results: what lies at their path stays until there is something to replace it with.

use super::inspect::samples;
use super::shell_run::sql;
use super::*;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{read_file, write_file};
use std::process::Stdio;

fn put(path: &Path, content: &str) {
    write_file(&SystemVolume::new(), path, content.as_bytes()).unwrap();
}

#[test]
fn a_script_that_did_not_run_replaces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let keep = directory.path().join("keep.txt");
    put(&keep, "precious");
    for (words, code, part) in [
        (&["-d", "nope", "-Q", "PRINT 1"][..], 1, "nope"),
        (&["-i", "missing.sql"], 1, "missing.sql"),
        (&["-b", "-Q", "PRINT '$(undefined)'"], 1, "not defined"),
    ] {
        let run = sql(directory.path(), &[&["-o", "keep.txt"], words].concat(), "");
        let reported = format!("{}{}", out(&run), err(&run));
        assert_eq!(run.status.code(), Some(code), "{words:?}: {reported}");
        assert!(reported.contains(part), "{words:?}: {reported}");
        assert_eq!(content(&keep), "precious", "{words:?}");
    }
    assert_eq!(names(directory.path()), ["instance", "keep.txt"]);
    // A script of nothing runs, and prints nothing.
    let run = sql(directory.path(), &["-o", "keep.txt", "-Q", ""], "");
    assert_eq!((run.status.code(), content(&keep).as_str()), (Some(0), ""));
}

#[test]
fn what_was_printed_before_an_error_is_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    put(&directory.path().join("out.txt"), "old");
    let script = "PRINT 'one'\nGO\nRAISERROR('two', 16, 1)\nGO\nPRINT 'three'\nGO\n";
    put(&directory.path().join("in.sql"), script);
    let run = sql(
        directory.path(),
        &["-b", "-i", "in.sql", "-o", "out.txt"],
        "",
    );
    assert_eq!(run.status.code(), Some(1), "{}", err(&run));
    let said = content(&directory.path().join("out.txt"));
    assert!(said.starts_with("one\nMsg 50000"), "{said}");
    assert!(!said.contains("three"), "{said}");
    // The same file twice, and a script that it is not.
    let script =
        ":out out.txt\nPRINT 'a'\nGO\n:out out.txt\nPRINT 'b'\nGO\n:out stdout\nPRINT 'c'\nGO\n";
    let run = sql(directory.path(), &[], script);
    assert_eq!(out(&run), "c\n", "{}", err(&run));
    assert_eq!(content(&directory.path().join("out.txt")), "b\n");
    assert_eq!(names(directory.path()), ["in.sql", "instance", "out.txt"]);
}

#[test]
fn directories_scripts_and_files_of_databases_are_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let volume = SystemVolume::new();
    volume.create_dir(&path("empty")).unwrap();
    put(
        &path("in.sql"),
        "PRINT 'in'\nGO\n:out in.sql\nPRINT 'lost'\nGO\n",
    );
    std::os::unix::fs::symlink("in.sql", path("link.sql")).unwrap();
    let refused = |words: &[&str], code: i32, part: &str| {
        let run = sql(directory.path(), words, "");
        assert_eq!(run.status.code(), Some(code), "{words:?}: {}", err(&run));
        assert!(err(&run).contains(part), "{words:?}: {}", err(&run));
    };
    refused(&["-o", "empty", "-Q", "PRINT 1"], 3, "it is a directory");
    refused(&["-o", "new/", "-Q", "PRINT 1"], 3, "it is a directory");
    let script = "would replace the script";
    refused(&["-i", "in.sql", "-o", "in.sql"], 3, script);
    refused(&["-i", "in.sql", "-o", "link.sql"], 3, script);
    refused(&["-i", "in.sql"], 1, script);
    assert!(content(&path("in.sql")).starts_with("PRINT 'in'"));
    let master = "instance/master.mdf";
    refused(&["-o", master, "-Q", "PRINT 1"], 3, "open database master");
    let Some(samples) = samples() else { return };
    let copy = path("nw.mdf");
    let before = read_file(&volume, &samples.join("northwnd-655.mdf")).unwrap();
    write_file(&volume, &copy, &before).unwrap();
    let run = furrow()
        .args([
            "sql", "--pool", "8MB", "--open", "nw.mdf", "-o", "nw.mdf", "-Q", "SELECT 1",
        ])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
    assert!(
        err(&run).contains("a file of the open database nw"),
        "{}",
        err(&run)
    );
    assert!(read_file(&volume, &copy).unwrap() == before);
}

#[test]
fn standard_output_that_is_a_file_is_written_behind_what_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!(
        "echo before > all.txt; '{}' sql --pool 8MB -o /dev/stdout -Q \"PRINT 'x'\" >> all.txt",
        env!("CARGO_BIN_EXE_furrow")
    );
    let done = Command::new("sh")
        .args(["-c", &line])
        .current_dir(directory.path())
        .output();
    assert_eq!(err(&done.unwrap()), "");
    assert_eq!(content(&directory.path().join("all.txt")), "before\nx\n");
}

/// Kills that may come too late on a busy machine.
const TRIES: u32 = 8;

#[test]
fn an_export_that_is_interrupted_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let made = sql(
        directory.path(),
        &["-b"],
        "CREATE DATABASE d\nGO\nUSE d\nCREATE TABLE t (id INT IDENTITY, c CHAR(200) DEFAULT 'x')\nGO\n\
         INSERT t (c) SELECT TOP (300000) 'y' FROM \
         sys.all_columns a, sys.all_columns b, sys.all_columns c\nGO\n",
    );
    assert_eq!(made.status.code(), Some(0), "{}{}", out(&made), err(&made));
    let (data, target) = (
        directory.path().join("instance/d.mdf"),
        directory.path().join("out"),
    );
    SystemVolume::new().create_dir(&target).unwrap();
    let formats: &[&str] = if cfg!(feature = "parquet") {
        &["--csv", "--parquet"]
    } else {
        &["--csv"]
    };
    for format in formats {
        for attempt in 1..=TRIES {
            let file = target.join("t.out");
            let child = furrow()
                .args([
                    "inspect",
                    "export",
                    text(&data),
                    "--table",
                    "t",
                    format,
                    "--out",
                    text(&file),
                ])
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let begun = Moment::now();
            while names(&target).is_empty() && begun.elapsed_us() < 30_000_000 {
                sleep(Duration::from_millis(1));
            }
            let process = child.id().to_string();
            assert!(
                Command::new("kill")
                    .args(["-TERM", &process])
                    .status()
                    .unwrap()
                    .success()
            );
            let ended = child.wait_with_output().unwrap();
            if ended.status.code() == Some(0) {
                assert!(attempt < TRIES, "{TRIES} signals were all too late");
                SystemVolume::new().remove(&file).unwrap();
                continue;
            }
            assert_eq!(ended.status.code(), Some(130), "{}", err(&ended));
            assert!(
                err(&ended).contains("what was written is removed"),
                "{}",
                err(&ended)
            );
            assert_eq!(names(&target), Vec::<String>::new());
            break;
        }
    }
}
