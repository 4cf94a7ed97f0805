//! The shell at a terminal: `script` of util-linux makes one. And what the shell says of an instance that
//! another process has.

use super::{err, furrow, out, run, text};
use furrow_io::{SystemVolume, read_file};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// A shell at a terminal of its own.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    /// What it has shown.
    seen: String,
}

impl Terminal {
    /// `None` where the machine has no `script`.
    fn open(instance: &Path) -> Option<Terminal> {
        // A `sh` that waits for its program gets the Ctrl-C, too, and dash then ends by it with 130.
        Terminal::of(&format!("exec {}", Terminal::shell(instance)))
    }

    /// The command of a shell in this instance.
    fn shell(instance: &Path) -> String {
        let shell = env!("CARGO_BIN_EXE_furrow");
        format!("'{shell}' sql --pool 8MB --instance '{}'", text(instance))
    }

    /// A terminal where this line of `sh` runs.
    fn of(line: &str) -> Option<Terminal> {
        let started = Command::new("script")
            .args(["--quiet", "--return", "--command", line, "/dev/null"])
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = match started {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return None,
            started => started.unwrap(),
        };
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Some(Terminal {
            child,
            keys,
            screen,
            seen: String::new(),
        })
    }

    fn press(&mut self, keys: &str) {
        self.press_bytes(keys.as_bytes());
    }

    fn press_bytes(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).unwrap();
        self.keys.flush().unwrap();
    }

    /// Reads until something is shown that was not before.
    fn wait_for(&mut self, wanted: &str) {
        let mut bytes = [0; 4096];
        while !self.seen.contains(wanted) {
            let read = self.screen.read(&mut bytes).unwrap();
            assert!(read > 0, "{wanted:?} was never shown: {:?}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        let (_, rest) = self.seen.split_once(wanted).unwrap();
        self.seen = rest.to_owned();
    }
}

#[test]
fn ctrl_c_at_a_terminal_ends_the_statement_and_not_the_shell() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::open(&directory.path().join("instance")) else {
        eprintln!("this machine has no `script`: not tried");
        return;
    };
    terminal.wait_for("1> ");
    // What is typed is shown, too: the words waited for are put together by the statement.
    terminal
        .press("RAISERROR('%s%s', 0, 1, 'under', 'way') WITH NOWAIT; WAITFOR DELAY '10:00:00'\r");
    terminal.wait_for("2> ");
    terminal.press("GO\r");
    terminal.wait_for("underway");
    terminal.press("\u{3}");
    terminal.wait_for("cancelled");
    terminal.wait_for("1> ");
    terminal.press("SELECT 6 * 7 AS answer\r");
    terminal.wait_for("2> ");
    terminal.press("GO\r");
    terminal.wait_for("42");
    terminal.wait_for("1> ");
    // At the prompt it gives up what was typed.
    terminal.press("SELECT nonsense\r");
    terminal.wait_for("2> ");
    terminal.press("\u{3}");
    terminal.wait_for("1> ");
    terminal.press("SELECT 'goes' + 'on'\r");
    terminal.wait_for("2> ");
    terminal.press("GO\r");
    terminal.wait_for("goeson");
    terminal.wait_for("1> ");
    terminal.press(":exit\r");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}

#[test]
fn input_in_another_encoding_is_dropped_and_the_shell_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::open(&directory.path().join("instance")) else {
        eprintln!("this machine has no `script`: not tried");
        return;
    };
    terminal.wait_for("1> ");
    terminal.press("CREATE TABLE #t (c INT); BEGIN TRANSACTION; INSERT #t VALUES (1)\rGO\r");
    terminal.wait_for("1 row");
    terminal.wait_for("1> ");
    // A script that is pasted: its beginning must not run without the end.
    terminal.press_bytes(b"DELETE #t\rWHERE c = 'caf\xe9'\rGO\rPRINT 'be' + 'hind'\rGO\r");
    terminal.wait_for("is not UTF-8");
    terminal.wait_for("1> ");
    terminal.press("SELECT CONCAT(@@TRANCOUNT, ' open, ', COUNT(*), ' row') FROM #t\rGO\r");
    terminal.wait_for("1 open, 1 row");
    assert!(!terminal.seen.contains("behind"), "{}", terminal.seen);
    terminal.press(":exit\r");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}

/// The words that are waited for are put together by the statements: what is typed is shown, too.
const SCRIPT: &str =
    "select 'fir' + 'st'\tas a\ngo\nselect 'sec' + 'ond'\nas b\ngo\nselect 'thi' + 'rd' as c\ngo";

#[test]
fn a_script_pasted_at_the_prompt_runs_batch_by_batch() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::open(&directory.path().join("instance")) else {
        eprintln!("this machine has no `script`: not tried");
        return;
    };
    terminal.wait_for("1> ");
    // A terminal says where a paste begins and ends, once it was asked to; the Enter is typed.
    terminal.press(&format!("\u{1b}[200~{SCRIPT}\u{1b}[201~"));
    terminal.press("\r");
    for word in ["first", "second", "third", "1> "] {
        terminal.wait_for(word);
    }
    terminal.press(":exit\r");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}

#[test]
fn lines_typed_ahead_of_the_prompt_are_all_read() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut terminal) = Terminal::open(&directory.path().join("instance")) else {
        eprintln!("this machine has no `script`: not tried");
        return;
    };
    terminal.wait_for("1> ");
    // Much more than one read of the editor takes.
    let mut script = format!("{SCRIPT}\n").repeat(40);
    script.push_str("select 'the' + 'end'\ngo\n");
    terminal.press(&script.replace('\n', "\r"));
    for _ in 0..40 {
        for word in ["first", "second", "third"] {
            terminal.wait_for(word);
        }
    }
    terminal.wait_for("theend");
    terminal.wait_for("1> ");
    terminal.press(":exit\r");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}

#[test]
fn an_instance_that_another_process_has_is_refused_with_the_process_named() {
    let directory = tempfile::tempdir().unwrap();
    let instance = directory.path().join("instance");
    let busy = "RAISERROR('ready', 0, 1) WITH NOWAIT; WAITFOR DELAY '10:00:00'";
    let mut first = furrow()
        .args(["sql", "--pool", "8MB", "--instance", text(&instance)])
        .args(["-Q", busy])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut screen = first.stdout.take().unwrap();
    let mut shown = [0; 5];
    screen.read_exact(&mut shown).unwrap();
    let words = [
        "sql",
        "--pool",
        "8MB",
        "--instance",
        text(&instance),
        "-Q",
        "SELECT 1",
    ];
    let second = run(&words);
    assert_eq!(second.status.code(), Some(3), "{}", out(&second));
    let who = format!("furrow: another furrow (process {}) works in", first.id());
    assert!(err(&second).starts_with(&who), "{}", err(&second));
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(run(&words).status.success());
}

#[test]
fn a_pool_too_small_to_work_with_is_refused() {
    for size in ["0", "1MB"] {
        let refused = run(&["sql", "--pool", size, "-Q", "SELECT 1"]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(err(&refused).contains("4MB at least"), "{}", err(&refused));
    }
}

#[test]
fn a_signal_at_the_prompt_leaves_the_terminal_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let instance = directory.path().join("instance");
    let line = format!(
        "{}; echo ended with $?; stty -a",
        Terminal::shell(&instance)
    );
    let Some(mut terminal) = Terminal::of(&line) else {
        eprintln!("this machine has no `script`: not tried");
        return;
    };
    terminal.wait_for("1> ");
    let log = read_file(&SystemVolume::new(), &instance.join("ERRORLOG")).unwrap();
    let log = String::from_utf8(log).unwrap();
    let (_, id) = log.rsplit_once("Server process ID is ").unwrap();
    let (id, _) = id.split_once('.').unwrap();
    let sent = Command::new("kill").args(["-TERM", id]).status().unwrap();
    assert!(sent.success());
    terminal.wait_for("ended with 130");
    // A minus before the word would say that lines are not edited.
    terminal.wait_for(" icanon");
    terminal.wait_for(" echo ");
    terminal.child.wait().unwrap();
}
