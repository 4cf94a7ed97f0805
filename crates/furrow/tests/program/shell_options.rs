//! Options and commands of `furrow sql`, compared with what sqlcmd does.

use super::shell_run::{sql, sql_of_bytes};
use super::{err, furrow, out, text};
use furrow_format::{PAGE_SIZE, Page, PageBuf, stamp_checksum};
use furrow_io::{SystemVolume, Volume, read_file, write_file};
use std::path::Path;
use std::process::Stdio;

#[test]
fn headings_come_again_and_wide_lines_break_between_columns() {
    let directory = tempfile::tempdir().unwrap();
    let query = "SET NOCOUNT ON; \
        SELECT id, c FROM (VALUES (1, 'a'), (2, NULL), (3, N'\u{e9}t\u{e9}')) AS v (id, c)";
    let run = sql(
        directory.path(),
        &["-W", "-s", ";", "-h", "2", "-Q", query],
        "",
    );
    assert_eq!(
        out(&run),
        "id;c\n--;-\n1;a\n2;NULL\n\nid;c\n--;-\n3;\u{e9}t\u{e9}\n\n"
    );
    let query =
        "SET NOCOUNT ON; SELECT 1 AS first_column, 2 AS second_column, CAST('abc' AS CHAR(5)) AS c";
    let run = sql(directory.path(), &["-w", "28", "-Q", query], "");
    assert_eq!(
        out(&run),
        "first_column second_column\n c    \n------------ -------------\n -----\n\
         \x20          1             2\n abc  \n\n"
    );
    let run = sql(directory.path(), &["-h", "-2", "-Q", "SELECT 1"], "");
    assert_eq!(run.status.code(), Some(2), "{}", err(&run));
}

#[test]
fn commands_need_no_colon_where_sqlcmd_needs_none() {
    let directory = tempfile::tempdir().unwrap();
    let run = sql(
        directory.path(),
        &["-W", "-h", "-1"],
        "PRINT 'not run'\nRESET\nPRINT 'run'\nGO\n/*\nEXIT\n*/\nSELECT 'EXIT\nEXIT'\nGO\n\
         PRINT 'not run'\nexit\nPRINT 'no'\nGO\n",
    );
    assert_eq!(
        out(&run),
        "run\nEXIT\nEXIT\n\n(1 row affected)\n",
        "{}",
        err(&run)
    );
    assert_eq!(run.status.code(), Some(0));
    for (last, said, status) in [
        (":exit(SELECT 40 + 2)", "x\n42\n\n(1 row affected)\n", 42),
        (
            "EXIT (SELECT 7 UNION ALL SELECT 9)",
            "x\n7\n9\n\n(2 rows affected)\n",
            9,
        ),
        (":EXIT()", "x\n", 0),
        (":quit", "", 0),
    ] {
        let run = sql(
            directory.path(),
            &["-W", "-h", "-1"],
            &format!("PRINT 'x'\n{last}\n"),
        );
        assert_eq!(
            (out(&run).as_str(), run.status.code()),
            (said, Some(status)),
            "{last}"
        );
    }
    let run = sql(
        directory.path(),
        &["-b"],
        ":nosuch\nPRINT 'not reached'\nGO\n",
    );
    assert!(
        err(&run).contains("':nosuch' is not a command of this shell"),
        "{}",
        err(&run)
    );
    assert_eq!((out(&run).as_str(), run.status.code()), ("", Some(1)));
}

#[test]
fn results_go_to_files_and_scripts_include_scripts() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let volume = SystemVolume::new();
    let put = |name: &str, content: &[u8]| write_file(&volume, &path(name), content).unwrap();
    put(
        "inner.sql",
        b":setvar what inner\nPRINT '$(what) in $(outer)'\nGO\n",
    );
    // UTF-16 with its mark, as SQL Server's tools save scripts.
    let wide: Vec<u8> = "\u{feff}PRINT N'\u{3b1}'\nGO\n:r inner.sql\nPRINT '$(what)'\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    put("outer.sql", &wide);
    let words = ["-v", "outer=\"o u t\"", "-i", "outer.sql", "-o", "said.txt"];
    for _ in 0..2 {
        let run = sql(directory.path(), &words, "");
        assert_eq!(
            (out(&run).as_str(), run.status.code()),
            ("", Some(0)),
            "{}",
            err(&run)
        );
        let said = read_file(&volume, &path("said.txt")).unwrap();
        assert_eq!(
            String::from_utf8(said).unwrap(),
            "\u{3b1}\ninner in o u t\ninner\n"
        );
    }
    let run = sql(
        directory.path(),
        &["-e"],
        "PRINT 'a'\nGO\n:out here.txt\nPRINT 'b'\nGO\n:out stdout\nPRINT '$(x)'\nGO\nPRINT 'c'\nGO 2\n",
    );
    assert_eq!(out(&run), "PRINT 'a'\na\nPRINT 'c'\nc\nc\n");
    assert!(err(&run).contains("'x' scripting variable not defined."));
    let said = read_file(&volume, &path("here.txt")).unwrap();
    assert_eq!(said, b"PRINT 'b'\nb\n");
    // What the shell does by itself was typed by nobody.
    let run = sql(
        directory.path(),
        &["-e", "-d", "master", "-Q", "PRINT 'd'"],
        "",
    );
    assert_eq!(out(&run), "PRINT 'd'\nd\n");
    let run = sql(directory.path(), &["-x", "-Q", "PRINT '$(x)'"], "");
    assert_eq!(out(&run), "$(x)\n");
    let run = sql(directory.path(), &["-i", "missing.sql"], "");
    assert!(err(&run).contains("'missing.sql'"), "{}", err(&run));
    assert_eq!(run.status.code(), Some(1));
    put("loop.sql", b":r loop.sql\n");
    let run = sql(directory.path(), &["-i", "loop.sql"], "");
    assert!(err(&run).contains("too deep"), "{}", err(&run));
    let run = sql(
        directory.path(),
        &["-o", "no/such/dir.txt", "-Q", "PRINT 1"],
        "",
    );
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
}

#[test]
fn devices_and_pipes_are_read_and_written_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let run = sql(
        directory.path(),
        &["-i", "/dev/stdin"],
        "PRINT 'from a pipe'\n",
    );
    assert_eq!(out(&run), "from a pipe\n", "{}", err(&run));
    // A link to a device stands for the device: were it replaced, nothing of the machine's would be lost.
    let link = directory.path().join("null");
    std::os::unix::fs::symlink("/dev/null", &link).unwrap();
    let run = sql(directory.path(), &["-o", "null", "-Q", "PRINT 'gone'"], "");
    assert_eq!((run.status.code(), out(&run).as_str()), (Some(0), ""));
    assert!(link.is_symlink());
    // A link to a file is followed.
    let volume = SystemVolume::new();
    let real = directory.path().join("real.txt");
    write_file(&volume, &real, b"what was there before").unwrap();
    std::os::unix::fs::symlink(&real, directory.path().join("link.txt")).unwrap();
    let run = sql(
        directory.path(),
        &["-o", "link.txt", "-Q", "PRINT 'new'"],
        "",
    );
    assert!(run.status.success(), "{}", err(&run));
    assert_eq!(read_file(&volume, &real).unwrap(), b"new\n");
    // What cannot be written is reported.
    std::os::unix::fs::symlink("/dev/full", directory.path().join("full")).unwrap();
    let run = sql(directory.path(), &["-o", "full", "-Q", "PRINT 'lost'"], "");
    assert_eq!(run.status.code(), Some(1));
    assert!(
        err(&run).contains("cannot write the results"),
        "{}",
        err(&run)
    );
}

#[test]
fn scripts_in_utf16_come_by_standard_input_too_and_others_get_advice() {
    let directory = tempfile::tempdir().unwrap();
    let wide: Vec<u8> = "\u{feff}PRINT N'\u{e9}t\u{e9}'\r\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let run = sql_of_bytes(directory.path(), &[], &wide);
    assert_eq!(out(&run), "\u{e9}t\u{e9}\n", "{}", err(&run));
    let old = directory.path().join("old.sql");
    write_file(&SystemVolume::new(), &old, b"PRINT '\xe9t\xe9'").unwrap();
    let run = sql(directory.path(), &["-i", "old.sql"], "");
    assert_eq!(run.status.code(), Some(1));
    assert!(err(&run).contains("iconv -f WINDOWS-1252"), "{}", err(&run));
    let run = sql(directory.path(), &["-i", "missing.sql"], "");
    assert_eq!(err(&run), "'missing.sql': no such file or directory\n");
}

#[test]
fn results_for_programs_stay_whole_when_a_statement_fails() {
    let directory = tempfile::tempdir().unwrap();
    let run = sql(
        directory.path(),
        &["--json", "-Q", "SELECT 1/0 AS a; SELECT 2 AS b"],
        "",
    );
    assert_eq!(out(&run), "[]\n[{\"b\":2}]\n");
    let run = sql(
        directory.path(),
        &["--csv", "-Q", "SELECT NULL AS a, '' AS b, ',' AS c"],
        "",
    );
    assert_eq!(out(&run), "a,b,c\n,\"\",\",\"\n");
    // Nobody has typed the USE that -d stands for.
    let run = sql(
        directory.path(),
        &[
            "-d",
            "tempdb",
            "-h",
            "-1",
            "-W",
            "-Q",
            "SET NOCOUNT ON; SELECT DB_NAME()",
        ],
        "",
    );
    assert_eq!(out(&run), "tempdb\n\n", "{}", err(&run));
}

#[test]
fn variables_come_several_at_once_as_sqlcmd_takes_them() {
    let directory = tempfile::tempdir().unwrap();
    let words = [
        "-v",
        "a=1",
        "b=\"two words\"",
        "-v",
        "c=3",
        "-Q",
        "PRINT '$(a) $(b) $(c)'",
    ];
    let run = sql(directory.path(), &words, "");
    assert_eq!(out(&run), "1 two words 3\n", "{}", err(&run));
    let run = sql(directory.path(), &["-v", "a", "-Q", "PRINT '$(a)'"], "");
    assert_eq!(run.status.code(), Some(2));
    let run = sql(directory.path(), &[], ":r $(nosuch).sql\nPRINT 'no'\nGO\n");
    assert_eq!((run.status.code(), out(&run).as_str()), (Some(1), ""));
}

#[test]
fn a_database_that_was_shut_down_is_sound() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("d.mdf");
    let create = format!(
        "CREATE DATABASE d ON (NAME = d, FILENAME = '{}')",
        text(&file)
    );
    let rows = "WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 90) \
                INSERT t (v) SELECT 'x' FROM n; INSERT h SELECT id, v FROM t";
    for step in [
        create.as_str(),
        "USE d; CREATE TABLE h (id INT, v VARCHAR(4000)); \
         CREATE TABLE t (id INT IDENTITY PRIMARY KEY, v VARCHAR(4000))",
        &format!("USE d; {rows}"),
        // No row comes or goes, but pages do.
        "USE d; UPDATE t SET v = REPLICATE('y', 3000); UPDATE h SET v = REPLICATE('y', 3000)",
        "USE d; TRUNCATE TABLE h; DELETE t",
    ] {
        let run = sql(directory.path(), &["-b", "-Q", step], "");
        assert!(run.status.success(), "{step}: {}", out(&run));
        let check = furrow().args(["check", text(&file)]).output().unwrap();
        assert_eq!(check.status.code(), Some(0), "{step}: {}", out(&check));
    }
}

#[test]
fn what_raiserror_says_is_there_while_the_batch_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let query = "RAISERROR('half', 0, 1) WITH NOWAIT; WAITFOR DELAY '01:00:00'";
    let mut child = furrow()
        .args(["sql", "--instance", "instance", "-Q", query])
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 5];
    std::io::Read::read_exact(&mut child.stdout.take().unwrap(), &mut line).unwrap();
    assert_eq!(&line, b"half\n");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn words_of_the_command_line_that_make_no_sense_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    for words in [
        &["-Q", "SELECT 1", "-i", "x.sql"][..],
        &["--csv", "--json", "-Q", "SELECT 1"],
        &["-w", "5", "-Q", "SELECT 1"],
        &["--nosuch"],
        &["--open", "x.mdf", "-d", "y"],
    ] {
        let run = sql(directory.path(), words, "");
        assert_eq!(run.status.code(), Some(2), "{words:?}: {}", err(&run));
        assert!(out(&run).is_empty());
    }
    let run = sql(directory.path(), &["-d", "nosuch", "-Q", "SELECT 1"], "");
    assert!(out(&run).contains("Msg 911, Level 16"), "{}", out(&run));
    assert_eq!(run.status.code(), Some(1));
    let run = furrow()
        .args(["sql", "--open", "missing.mdf", "-Q", "SELECT 1"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(run.status.code(), Some(3), "{}", err(&run));
}

#[test]
fn a_table_whose_last_columns_were_dropped_is_sound_and_one_that_lost_a_column_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("d.mdf");
    let create = format!(
        "CREATE DATABASE d ON (NAME = d, FILENAME = '{}')",
        text(&file)
    );
    let check = || furrow().args(["check", text(&file)]).output().unwrap();
    for step in [
        create.as_str(),
        "USE d; CREATE TABLE c (a INT, b INT, zebra INT); INSERT c VALUES (1, 2, 3)",
        "USE d; ALTER TABLE c DROP COLUMN b",
        "USE d; ALTER TABLE c ADD d INT; ALTER TABLE c DROP COLUMN d",
        "USE d; CREATE TABLE k (a INT PRIMARY KEY, b INT); ALTER TABLE k DROP COLUMN b",
    ] {
        let run = sql(directory.path(), &["-b", "-Q", step], "");
        assert!(run.status.success(), "{step}: {}", out(&run));
        let check = check();
        assert_eq!(check.status.code(), Some(0), "{step}: {}", out(&check));
    }
    renumber_column(&file, "zebra", 3, 9);
    let check = check();
    assert_eq!(check.status.code(), Some(1));
    let said = out(&check) + &err(&check);
    for reported in [
        "column_id=9) in sys.syscolpars does not have a matching row in sys.sysrscols",
        "column_id=3) in sys.syscolpars.",
        "as its highest column, sys.syscolpars has 9",
    ] {
        assert!(said.contains(reported), "{reported}: {said}");
    }
}

/// Gives a column another number in sys.syscolpars, in a page whose checksum is right again.
fn renumber_column(file: &Path, name: &str, old: u8, new: u8) {
    let mut bytes = read_file(&SystemVolume::new(), file).unwrap();
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut changed = 0;
    for number in 0..bytes.len() / PAGE_SIZE {
        let at = number * PAGE_SIZE;
        let page: &mut PageBuf = (&mut bytes[at..at + PAGE_SIZE]).try_into().unwrap();
        let view = Page::new(page);
        let is_it = |slot: &u16| {
            let record = view.record_start(*slot).unwrap_or_default();
            // Behind the record's four bytes: the object, 0 for a column, the column.
            record.get(8..14) == Some(&[0, 0, old, 0, 0, 0])
                && record
                    .get(..200)
                    .unwrap_or(record)
                    .windows(name.len())
                    .any(|w| w == name)
        };
        let slots = 0..view.slot_count().min(500);
        let found = slots
            .into_iter()
            .find(is_it)
            .and_then(|slot| view.slot_offset(slot));
        let Some(found) = found else { continue };
        page[usize::from(found) + 10] = new;
        stamp_checksum(page);
        changed += 1;
    }
    assert_eq!(changed, 1);
    SystemVolume::new().remove(file).unwrap();
    write_file(&SystemVolume::new(), file, &bytes).unwrap();
}
