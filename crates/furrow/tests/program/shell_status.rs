//! The exit status of `furrow sql`: a script that fails does not pass.

use super::shell_run::sql;
use super::{err, out};
use furrow_io::{SystemVolume, write_file};

const NO_VALUE: u8 = 156;
const NO_ROW: u8 = 155;
const NO_NUMBER: u8 = 154;

#[test]
fn exit_with_a_query_that_fails_does_not_give_the_number_of_an_earlier_batch() {
    let directory = tempfile::tempdir().unwrap();
    for (last, status) in [
        (":exit(SELECT * FROM nowhere)", NO_VALUE),
        (":exit(SELECT 1 / 0)", NO_VALUE),
        (":exit(SELECT FROM)", NO_VALUE),
        (":exit(SELECT $(undefined))", NO_VALUE),
        // Two rows, and then the error.
        (
            ":exit(SELECT 10 / n FROM (VALUES (5), (2), (0)) v (n))",
            NO_VALUE,
        ),
        (":exit(SELECT 0; SELECT 1 / 0)", NO_VALUE),
        // The query itself selects its value.
        (":exit(RAISERROR('first', 16, 1); SELECT 5)", 5),
        (":exit(SELECT 1 WHERE 1 = 0)", NO_ROW),
        (":exit(DECLARE @x int = 3)", NO_ROW),
        (":exit(PRINT 'x')", NO_ROW),
        (":exit(SELECT NULL)", NO_NUMBER),
        (":exit(SELECT 'none')", NO_NUMBER),
        (":exit(SELECT 4000000000)", NO_NUMBER),
        (":exit(SELECT '12')", 12),
        (":exit(SELECT CAST(2.9 AS DECIMAL(5, 1)))", 2),
        (":exit(SELECT CAST(3.9 AS FLOAT))", 3),
        (":exit(SELECT -1)", 255),
        (":exit(SELECT 256 + 4)", 4),
        // What is neither a query nor nothing is no plain :exit.
        (":exit(SELECT 0", 1),
        (":exit(SELECT 0) -- checked", 1),
        (":exit(SELECT 0);", 1),
        (":exit SELECT 3", 1),
        (":exit", 0),
        (":exit()", 0),
        (":quit", 0),
    ] {
        let script = format!("SELECT 0\nGO\n{last}\nPRINT 'not reached'\nGO\n");
        let run = sql(directory.path(), &[], &script);
        let reported = format!("{last}: {}{}", out(&run), err(&run));
        assert_eq!(run.status.code(), Some(i32::from(status)), "{reported}");
        assert!(!reported.contains("not reached"), "{reported}");
    }
}

#[test]
fn every_way_to_pass_a_script_gives_the_same_status() {
    let directory = tempfile::tempdir().unwrap();
    let put = |name: &str, content: &str| {
        write_file(
            &SystemVolume::new(),
            &directory.path().join(name),
            content.as_bytes(),
        )
        .unwrap();
    };
    put("fails.sql", "SELECT 0\nGO\n:exit(SELECT * FROM nowhere)\n");
    put("seven.sql", "SELECT 0\nGO\n:exit(SELECT 7)\n");
    put("error.sql", "SELECT * FROM nowhere\nGO\nPRINT 'went on'\n");
    put("never.sql", "PRINT 'never'\n");
    put(
        "missing_within.sql",
        "PRINT 'before'\nGO\n:r nosuch.sql\nPRINT 'after'\n",
    );
    put(
        "ends.sql",
        ":on error exit\nSELECT * FROM nowhere\nGO\nPRINT 'never'\n",
    );
    put("within.sql", ":r seven.sql\nPRINT 'never'\n");
    put("127.sql", "RAISERROR('over', 10, 127)\nGO\nPRINT 'never'\n");
    for (words, status) in [
        (&["-i", "fails.sql"][..], NO_VALUE),
        (&["-i", "seven.sql", "-i", "never.sql"], 7),
        (&["-i", "within.sql"], 7),
        (&["-i", "error.sql", "-i", "seven.sql"], 7),
        (&["-Q", ":exit(SELECT * FROM nowhere)"], NO_VALUE),
        (&["-q", ":exit(SELECT * FROM nowhere)"], NO_VALUE),
        (&["-Q", "SELECT * FROM nowhere"], 0),
        (&["-b", "-Q", "SELECT * FROM nowhere"], 1),
        (&["-b", "-Q", ":exit(SELECT * FROM nowhere)"], 1),
        (&["-b", "-i", "error.sql", "-i", "never.sql"], 1),
        (&["-i", "ends.sql"], 1),
        (&["-i", "missing_within.sql", "-i", "never.sql"], 1),
        (&["-i", "nosuch.sql"], 1),
        // -V: the level is the status, and with -b lower ones do not end the script.
        (&["-V", "16", "-Q", "SELECT * FROM nowhere"], 16),
        (&["-V", "17", "-Q", "SELECT * FROM nowhere"], 0),
        (
            &["-b", "-V", "16", "-i", "error.sql", "-i", "never.sql"],
            16,
        ),
        (&["-b", "-V", "17", "-i", "error.sql"], 0),
        (&["-V", "16", "-i", "error.sql", "-i", "seven.sql"], 7),
        (&["-V", "17", "-d", "nosuch", "-Q", "PRINT 'never'"], 1),
        // 50000, of which the system keeps the low byte.
        (&["-i", "127.sql"], 80),
    ] {
        let run = sql(directory.path(), words, "");
        let reported = format!("{words:?}: {}{}", out(&run), err(&run));
        assert_eq!(run.status.code(), Some(i32::from(status)), "{reported}");
        let said = out(&run);
        assert!(
            !said.contains("never") && !said.contains("after"),
            "{reported}"
        );
        let goes_on = words == ["-b", "-V", "17", "-i", "error.sql"];
        assert!(!goes_on || reported.contains("went on"), "{reported}");
    }
}
