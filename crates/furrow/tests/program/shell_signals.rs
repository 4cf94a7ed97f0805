//! Signals to `furrow sql`: a script ends, and the databases are closed in order.

use super::shell_pipe::{Dialog, shell};
use super::{furrow, out, text};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{SystemVolume, write_file};
use std::path::Path;
use std::process::{Command, Stdio};

fn signal(id: u32, name: &str) {
    let sent = Command::new("kill").args([name, &id.to_string()]).status();
    assert!(sent.unwrap().success());
}

/// What a query prints in the instance of the directory.
fn asked(directory: &Path, query: &str) -> String {
    let mut command = shell(directory);
    command.args(["-Q", query]).stdin(Stdio::null());
    out(&command.output().unwrap()).trim().to_owned()
}

fn made(directory: &Path) {
    let create = "CREATE DATABASE s ON (NAME = 's', FILENAME = 's.mdf') \
                  LOG ON (NAME = 's_log', FILENAME = 's.ldf');";
    asked(
        directory,
        &format!("SET NOCOUNT ON; {create} CREATE TABLE s.dbo.t (id INT)"),
    );
}

/// The database rests as its files say: nothing is left to recover.
fn rests(directory: &Path) {
    let path = directory.join("instance/s.mdf");
    let checked = furrow().args(["check", text(&path)]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", out(&checked));
}

#[test]
fn a_signal_ends_a_script_of_short_statements_before_its_next_batch() {
    for name in ["-INT", "-TERM"] {
        let directory = tempfile::tempdir().unwrap();
        made(directory.path());
        let script = directory.path().join("load.sql");
        let load = b"INSERT INTO s.dbo.t VALUES (1)\nGO 10000000\n";
        write_file(&SystemVolume::new(), &script, load).unwrap();
        let mut command = shell(directory.path());
        let mut child = command
            .arg("-i")
            .arg(&script)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        sleep(Duration::from_secs(1));
        signal(child.id(), name);
        let began = Moment::now();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{name}");
        assert!(began.elapsed() < Duration::from_secs(60), "{name}");
        rests(directory.path());
    }
}

#[test]
fn a_signal_to_a_shell_that_waits_for_input_closes_its_databases_in_order() {
    for name in ["-INT", "-TERM", "-HUP"] {
        let directory = tempfile::tempdir().unwrap();
        made(directory.path());
        let mut dialog = Dialog::start(shell(directory.path()));
        let batch = "SET NOCOUNT ON\nINSERT INTO s.dbo.t VALUES (1)\n\
            BEGIN TRAN INSERT INTO s.dbo.t VALUES (2)\nPRINT 'open'\nGO\n";
        assert_eq!(dialog.ask(batch.as_bytes()), "open\n");
        signal(dialog.child.id(), name);
        assert_eq!(dialog.child.wait().unwrap().code(), Some(130), "{name}");
        rests(directory.path());
        let left = asked(
            directory.path(),
            "SET NOCOUNT ON; SELECT SUM(id) FROM s.dbo.t",
        );
        assert_eq!(left, "1", "{name}");
    }
}

#[test]
fn a_shell_that_cannot_begin_its_work_closes_its_databases_in_order() {
    for words in [
        ["-d", "nope", "-Q", "SELECT 1"],
        ["-o", "none/x", "-Q", "SELECT 1"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        made(directory.path());
        let mut command = shell(directory.path());
        let done = command.args(words).stdin(Stdio::null()).output().unwrap();
        assert_ne!(done.status.code(), Some(0), "{words:?}");
        rests(directory.path());
    }
}
