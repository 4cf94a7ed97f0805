//! `furrow sql` between two programs: one that writes batches and waits for what they print.

use super::{err, furrow, out, text};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub(super) fn shell(directory: &Path) -> Command {
    let mut command = furrow();
    command
        .args(["sql", "--pool", "8MB", "-W", "-h", "-1", "--instance"])
        .arg(directory.join("instance"))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A shell whose pipes are both open.
pub(super) struct Dialog {
    pub(super) child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Dialog {
    pub(super) fn start(mut command: Command) -> Dialog {
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Dialog {
            child,
            input,
            output,
        }
    }

    /// Writes some bytes, and reads one line of the answer while the pipe stays open.
    pub(super) fn ask(&mut self, bytes: &[u8]) -> String {
        self.input.write_all(bytes).unwrap();
        self.input.flush().unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    fn end(mut self, bytes: &[u8]) -> (String, Option<i32>) {
        self.input.write_all(bytes).unwrap();
        drop(self.input);
        let mut rest = String::new();
        std::io::Read::read_to_string(&mut self.output, &mut rest).unwrap();
        (rest, self.child.wait().unwrap().code())
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_batch_from_a_pipe_runs_at_its_go_and_not_at_the_end_of_the_input() {
    let directory = tempfile::tempdir().unwrap();
    let mut dialog = Dialog::start(shell(directory.path()));
    assert_eq!(dialog.ask(b"PRINT 'one'\nGO\n"), "one\n");
    assert_eq!(dialog.ask(b"PRINT 'two'\r\nGO\r\n"), "two\n");
    // A number of times: all of them are there before the next batch is written.
    assert_eq!(dialog.ask(b"PRINT 'three'\nGO 2\n"), "three\n");
    assert_eq!(dialog.ask(b""), "three\n");
    let long = "x".repeat(200_000);
    let batch = format!("PRINT CAST(LEN('{long}') AS VARCHAR(9))\nGO\n");
    assert_eq!(dialog.ask(batch.as_bytes()), "200000\n");
    // A GO within a string ends nothing.
    assert_eq!(dialog.ask(b"PRINT 'a\nGO\n' + 'b'\nGO\n"), "a\n");
    assert_eq!(dialog.ask(b""), "GO\n");
    assert_eq!(dialog.ask(b""), "b\n");
    let (rest, status) = dialog.end(b"PRINT 'no line end'");
    assert_eq!((rest.as_str(), status), ("no line end\n", Some(0)));
}

#[test]
fn a_script_in_utf16_runs_batch_by_batch_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut dialog = Dialog::start(shell(directory.path()));
    let first = utf16("\u{feff}PRINT N'\u{10a}\u{a0a}'\r\nGO\r\n");
    assert_eq!(dialog.ask(&first), "\u{10a}\u{a0a}\n");
    let (rest, status) = dialog.end(&utf16("PRINT 'end'"));
    assert_eq!((rest.as_str(), status), ("end\n", Some(0)));
}

#[test]
fn a_batch_that_asks_for_an_exit_ends_the_shell_while_the_pipe_is_open() {
    let directory = tempfile::tempdir().unwrap();
    let mut dialog = Dialog::start(shell(directory.path()));
    assert_eq!(dialog.ask(b"SET NOCOUNT ON\nGO\n:exit(SELECT 7)\n"), "7\n");
    assert_eq!(dialog.child.wait().unwrap().code(), Some(7));
}

#[cfg(unix)]
#[test]
fn a_script_from_a_fifo_runs_batch_by_batch() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("script");
    let made = Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    let mut command = shell(directory.path());
    let mut child = command.args(["-i", "script"]).spawn().unwrap();
    let mut writer = Command::new("sh")
        .args(["-c", "exec cat > \"$0\"", text(&fifo)])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = writer.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    input.write_all(b"PRINT 'one'\nGO\n").unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "one\n");
    drop(input);
    assert!(writer.wait().unwrap().success());
    assert!(child.wait().unwrap().success());
}

#[test]
fn text_in_another_encoding_ends_a_script_from_a_pipe_where_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = shell(directory.path()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"PRINT 'one'\nGO\nPRINT '\xe9'\nGO\n")
        .unwrap();
    drop(input);
    let run = child.wait_with_output().unwrap();
    assert_eq!((out(&run).as_str(), run.status.code()), ("one\n", Some(1)));
    assert!(
        err(&run).contains("neither UTF-8 nor UTF-16"),
        "{}",
        err(&run)
    );
}

#[test]
fn a_reader_that_closes_the_pipe_early_is_no_failure() {
    let directory = tempfile::tempdir().unwrap();
    let query = "SELECT TOP (100000) a.name FROM sys.all_columns a, sys.all_columns b";
    let mut child = shell(directory.path()).args(["-Q", query]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), err(&ended).as_str()), (Some(0), ""));
}
