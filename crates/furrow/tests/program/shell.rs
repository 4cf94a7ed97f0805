//! `furrow sql` as somebody at a terminal, or a script, meets it.

use super::{err, furrow, out, text};
use furrow_io::{SystemVolume, Volume, read_file};
use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Output, Stdio};

fn sql(directory: &Path, words: &[&str]) -> Output {
    let instance = directory.join("instance");
    furrow()
        .args(["sql", "--pool", "8MB", "--instance", text(&instance)])
        .args(words)
        .output()
        .unwrap()
}

#[test]
fn what_one_run_of_the_shell_makes_the_next_one_finds() {
    let directory = tempfile::tempdir().unwrap();
    let made = sql(
        directory.path(),
        &[
            "-b",
            "-Q",
            "CREATE TABLE t (id INT PRIMARY KEY, c VARCHAR(9)); \
             INSERT t VALUES (1, 'one'), (2, NULL)",
        ],
    );
    assert!(made.status.success(), "{}", out(&made));
    assert_eq!(out(&made), "\n(2 rows affected)\n");
    let found = sql(directory.path(), &["-Q", "SELECT id, c FROM t ORDER BY id"]);
    let expected = "id          c        \n----------- ---------\n          1 one      \n\
                    \x20         2 NULL     \n\n(2 rows affected)\n";
    assert_eq!(out(&found), expected);
    let csv = sql(
        directory.path(),
        &["--csv", "-Q", "SELECT id, c FROM t ORDER BY id"],
    );
    assert_eq!(out(&csv), "id,c\n1,one\n2,\n");
    let json = sql(
        directory.path(),
        &["--json", "-Q", "SELECT id, c, 1 FROM t WHERE id = 1"],
    );
    assert_eq!(out(&json), "[{\"id\":1,\"c\":\"one\",\"column3\":1}]\n");
    let trimmed = sql(
        directory.path(),
        &["-W", "-s", "|", "-h", "-1", "-Q", "SELECT id, c FROM t"],
    );
    assert_eq!(out(&trimmed), "1|one\n2|NULL\n\n(2 rows affected)\n");
}

#[test]
fn a_script_has_variables_includes_and_batches_that_run_many_times() {
    let directory = tempfile::tempdir().unwrap();
    let included = directory.path().join("more.sql");
    let mut file = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
    writeln!(file, "INSERT $(t) DEFAULT VALUES;").unwrap();
    file.persist(&included).unwrap();
    let mut script = tempfile::NamedTempFile::new_in(directory.path()).unwrap();
    write!(
        script,
        "SET NOCOUNT ON\nCREATE TABLE $(t) (id INT IDENTITY, s CHAR(2) DEFAULT 'ab')\nGO\n:r {}\nGO 5\n\
         SELECT COUNT(*) FROM $(t)\n",
        included.display()
    )
    .unwrap();
    let script = script.into_temp_path();
    let run = sql(
        directory.path(),
        &["-v", "t=counted", "-W", "-h", "-1", "-i", text(&script)],
    );
    assert_eq!(out(&run), "5\n\n", "{}", err(&run));
    assert!(run.status.success());
}

#[test]
fn an_error_is_printed_as_by_sql_server_and_reported_by_the_status_where_asked() {
    let directory = tempfile::tempdir().unwrap();
    let lenient = sql(
        directory.path(),
        &["-Q", "SELECT 1\nSELECT *\nFROM nowhere"],
    );
    assert!(
        out(&lenient)
            .contains("Msg 208, Level 16, State 1, Line 2\nInvalid object name 'nowhere'.\n")
    );
    assert_eq!(lenient.status.code(), Some(0));
    let strict = sql(directory.path(), &["-b", "-Q", "SELECT * FROM nowhere"]);
    assert_eq!(strict.status.code(), Some(1));
    let undefined = sql(directory.path(), &["-b", "-Q", "SELECT $(nothing)"]);
    assert!(err(&undefined).contains("'nothing' scripting variable not defined."));
    assert_eq!(undefined.status.code(), Some(1));
}

#[test]
fn a_second_shell_on_the_same_instance_gets_the_message_that_it_is_in_use() {
    let directory = tempfile::tempdir().unwrap();
    let instance = directory.path().join("instance");
    let mut first = furrow()
        .args(["sql", "--pool", "8MB", "--instance", text(&instance)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = first.stdin.take().unwrap();
    writeln!(stdin, "SELECT 1").unwrap();
    // The last thing that a start makes is tempdb.
    let made = instance.join("templog.ldf");
    for _ in 0..3000 {
        if SystemVolume::new().exists(&made).unwrap() {
            break;
        }
        furrow_io::time::sleep(furrow_io::time::Duration::from_millis(20));
    }
    let second = sql(directory.path(), &["-Q", "SELECT 2"]);
    drop(stdin);
    let process = first.id();
    let first = first.wait_with_output().unwrap();
    let reported = err(&second);
    let whose = format!("another furrow (process {process}) works in");
    assert!(reported.contains(&whose), "{reported}");
    assert_eq!(second.status.code(), Some(3));
    assert!(first.status.success());
}

#[test]
fn a_real_file_is_queried_without_a_server_and_without_changing_a_byte() {
    let Some(sample) = super::reader::sample("northwnd-655.mdf") else {
        return;
    };
    let before = read_file(&SystemVolume::new(), &sample).unwrap();
    let run = furrow()
        .args(["sql", "--pool", "8MB", "-W", "-h", "-1", "--open", text(&sample), "-Q"])
        .arg(
            "SET NOCOUNT ON; SELECT COUNT(*) FROM Customers; SELECT COUNT(*) FROM [Order Details]; \
             SELECT TOP 1 c.CompanyName FROM Customers c JOIN Orders o ON o.CustomerID = c.CustomerID \
             GROUP BY c.CompanyName ORDER BY COUNT(*) DESC, 1",
        )
        .output()
        .unwrap();
    let said = out(&run);
    let lines: Vec<&str> = said.lines().filter(|l| !l.is_empty()).collect();
    assert_eq!(lines, ["91", "2155", "Save-a-lot Markets"], "{}", err(&run));
    assert!(run.status.success());
    let after = read_file(&SystemVolume::new(), &sample).unwrap();
    assert!(before == after, "the file has changed");
}

/// What a query of an opened sample says, without heading and spaces.
fn asked(sample: &str, query: &str) -> Option<String> {
    let sample = super::reader::sample(sample)?;
    let words = ["sql", "--pool", "8MB", "-W", "-h", "-1", "-s", "|"];
    let run = furrow()
        .args(words)
        .args(["--open", text(&sample), "-Q", query])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", err(&run));
    Some(out(&run))
}

#[test]
fn system_objects_that_a_file_carries_are_not_listed_among_its_own() {
    let query = "SET NOCOUNT ON; SELECT COUNT(*) FROM sys.objects WHERE is_ms_shipped = 1; \
                 SELECT COUNT(*) FROM sys.views; SELECT COUNT(*) FROM INFORMATION_SCHEMA.VIEWS; \
                 SELECT COUNT(*) FROM sys.procedures; \
                 SELECT COUNT(*) FROM (SELECT schema_id, name FROM sys.all_objects \
                 GROUP BY schema_id, name HAVING COUNT(*) > 1) AS twice; \
                 SELECT COUNT(*) FROM sys.objects WHERE type = 'U' AND name = 'Albums'";
    let Some(said) = asked("mvcmusicstore-706.mdf", query) else {
        return;
    };
    let lines: Vec<&str> = said.lines().filter(|l| !l.is_empty()).collect();
    assert_eq!(lines, ["0", "0", "0", "0", "0", "1"], "{said}");
}

#[test]
fn sp_help_shows_the_foreign_keys_of_a_real_file() {
    let Some(said) = asked("northwnd-655.mdf", "EXEC sp_help 'Orders'") else {
        return;
    };
    for wanted in [
        "FOREIGN KEY|FK_Orders_Customers|No Action|No Action|Enabled|Is_For_Replication|CustomerID",
        "REFERENCES northwnd-655.dbo.Customers (CustomerID)",
        "FOREIGN KEY|FK_Orders_Employees|",
        "FOREIGN KEY|FK_Orders_Shippers|",
        "northwnd-655.dbo.Order Details: FK_Order_Details_Orders",
    ] {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn an_opened_file_leaves_nothing_behind_however_the_shell_ends() {
    let Some(sample) = super::reader::sample("pubs-655.mdf") else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let endings = [
        (vec!["-Q", "SELECT COUNT(*) FROM authors"], 0),
        (vec!["-b", "-Q", "SELECT * FROM nosuch"], 1),
        (vec!["-Q", ":exit(SELECT 7)"], 7),
        (vec!["-i", "no-such-script.sql"], 1),
        (vec!["-o", "/no/such/place/out.txt", "-Q", "SELECT 1"], 3),
    ];
    for (words, code) in endings {
        let run = furrow()
            .env("TMPDIR", scratch.path())
            .args(["sql", "--pool", "8MB", "--open", text(&sample)])
            .args(&words)
            .output()
            .unwrap();
        assert_eq!(run.status.code(), Some(code), "{words:?}: {}", err(&run));
        assert_eq!(
            super::names(scratch.path()),
            Vec::<String>::new(),
            "{words:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn an_opened_file_leaves_nothing_behind_after_ctrl_c() {
    let Some(sample) = super::reader::sample("pubs-655.mdf") else {
        return;
    };
    let scratch = tempfile::tempdir().unwrap();
    let here = "RAISERROR('here', 0, 1) WITH NOWAIT";
    // Before the next statement is read, and while one runs.
    for query in [here, &format!("{here}; WAITFOR DELAY '10:00:00'")] {
        let mut child = furrow()
            .env("TMPDIR", scratch.path())
            .args(["sql", "--pool", "8MB", "--open", text(&sample), "-q", query])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("here")), "{query}");
        let id = child.id().to_string();
        // One that comes while a statement ends is spent on that.
        let status = loop {
            std::process::Command::new("kill")
                .args(["-INT", &id])
                .status()
                .unwrap();
            furrow_io::time::sleep(std::time::Duration::from_millis(300));
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
        };
        drop(input);
        assert_eq!(status.code(), Some(130), "{query}");
        assert_eq!(
            super::names(scratch.path()),
            Vec::<String>::new(),
            "{query}"
        );
    }
}

#[test]
fn a_limit_of_the_size_of_files_is_an_error_of_the_statement_and_not_the_end_of_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let (instance, data) = (dir.path().join("i"), dir.path().join("d.mdf"));
    let script = format!(
        "CREATE DATABASE d ON (NAME = d, FILENAME = '{}', SIZE = 4MB) LOG ON (NAME = l, FILENAME = '{}', \
         SIZE = 2MB);\nGO\nALTER DATABASE d MODIFY FILE (NAME = d, SIZE = 30MB);\nGO\nSELECT 'still here';\n",
        text(&data),
        text(&dir.path().join("l.ldf"))
    );
    // In blocks of 512 bytes: 20 MB.
    let limited = "ulimit -f 40960; exec \"$0\" sql --pool 8MB --instance \"$1\" -Q \"$2\"";
    let output = std::process::Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_furrow")])
        .args([text(&instance), &script])
        .output()
        .unwrap();
    let reported = format!("{}{}", out(&output), err(&output));
    assert_eq!(output.status.code(), Some(0), "{reported}");
    assert!(reported.contains("Msg 5149"), "{reported}");
    assert!(reported.contains("still here"), "{reported}");
}

#[test]
fn a_database_whose_name_reads_like_a_path_stays_in_the_instance() {
    let directory = tempfile::tempdir().unwrap();
    let script = "SET NOCOUNT ON;\nGO\nCREATE DATABASE [../up];\nGO\nUSE [../up];\nCREATE TABLE t (n INT);\n\
                  INSERT t VALUES (7);\nGO\n";
    let made = sql(directory.path(), &["-b", "-Q", script]);
    assert!(made.status.success(), "{}", err(&made));
    assert_eq!(super::names(directory.path()), ["instance"]);
    let words = [
        "-b",
        "-W",
        "-h",
        "-1",
        "-Q",
        "SET NOCOUNT ON; SELECT n FROM [../up].dbo.t",
    ];
    let found = sql(directory.path(), &words);
    assert_eq!(out(&found).trim(), "7", "{}", err(&found));
}

#[test]
fn an_opened_copy_is_read_from_its_own_files_while_the_original_is_still_there() {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let volume = SystemVolume::new();
    for name in ["o", "c"] {
        volume.create_dir(&place(name)).unwrap();
    }
    let [a, b, l] = ["o/a.mdf", "o/b.ndf", "o/l.ldf"].map(place);
    let create = format!(
        "CREATE DATABASE d ON (NAME = a, FILENAME = '{}'), FILEGROUP g (NAME = b, FILENAME = '{}') \
         LOG ON (NAME = l, FILENAME = '{}')",
        text(&a),
        text(&b),
        text(&l)
    );
    let fill = "CREATE TABLE t (id INT PRIMARY KEY, v INT) ON g; INSERT t VALUES (1, 100)";
    for words in [["-Q", create.as_str()].as_slice(), &["-d", "d", "-Q", fill]] {
        let run = sql(directory.path(), words);
        assert!(run.status.success(), "{}", err(&run));
    }
    for (from, to) in [(&a, "c/a.mdf"), (&b, "c/b.ndf")] {
        let bytes = read_file(&volume, from).unwrap();
        furrow_io::write_file(&volume, &place(to), &bytes).unwrap();
    }
    let asked = || {
        let query = "SET NOCOUNT ON; SELECT v FROM t; \
                     SELECT physical_name FROM sys.database_files WHERE name = 'b'";
        let run = furrow()
            .args(["sql", "--pool", "8MB", "-W", "-h", "-1", "--open"])
            .args([text(&place("c/a.mdf")), "-Q", query])
            .output()
            .unwrap();
        let lines: Vec<String> = out(&run).split_whitespace().map(str::to_owned).collect();
        assert_eq!(lines, ["100", text(&place("c/b.ndf"))], "{}", err(&run));
    };
    asked();
    // The original moves on.
    let run = sql(directory.path(), &["-d", "d", "-Q", "UPDATE t SET v = 999"]);
    assert!(run.status.success(), "{}", err(&run));
    asked();
}
