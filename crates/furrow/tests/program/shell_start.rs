//! Start options of `furrow sql`: trace flags (`-T`) and many extents in a turn (`-E`).

use super::{err, furrow, out, text};
use furrow_io::{SystemVolume, Volume, read_file};
use std::path::Path;
use std::process::Output;

fn sql(directory: &Path, words: &[&str]) -> Output {
    let instance = directory.join("instance");
    let words = ["-b", "-W", "-h", "-1", "-s", "|"].iter().chain(words);
    furrow()
        .args(["sql", "--pool", "4MB", "--instance", text(&instance)])
        .args(words)
        .output()
        .unwrap()
}

/// The lines that a query prints.
fn answer(directory: &Path, words: &[&str]) -> Vec<String> {
    let run = sql(directory, words);
    assert!(
        run.status.success(),
        "{words:?}: {}{}",
        out(&run),
        err(&run)
    );
    out(&run)
        .lines()
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

fn error_log(directory: &Path) -> String {
    let bytes = read_file(&SystemVolume::new(), &directory.join("instance/ERRORLOG")).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn start_options_are_set_listed_and_written_to_the_error_log() {
    let directory = tempfile::tempdir().unwrap();
    let flags = [
        "-T",
        "1222",
        "-T4199",
        "-T",
        "2330",
        "-E",
        "-Q",
        "DBCC TRACESTATUS (-1) WITH NO_INFOMSGS",
    ];
    let listed = answer(directory.path(), &flags);
    let expected = ["1222|1|1|0", "2330|1|1|0", "4199|1|1|0"];
    assert_eq!(listed.get(..3).unwrap(), expected, "{listed:?}");
    let log = error_log(directory.path());
    let texts: Vec<&str> = log.lines().filter_map(|line| line.get(35..)).collect();
    let at = texts
        .iter()
        .position(|t| *t == "Command Line Startup Parameters:")
        .unwrap();
    let said = &texts[at + 1..at + 6];
    let note = "Trace flag 4199 is set; Furrow does not act on it.";
    assert_eq!(
        said,
        ["\t -T 1222", "\t -T 4199", "\t -T 2330", "\t -E", note],
        "{log}"
    );
    for wrong in ["0", "17799", "x", "-1"] {
        let run = sql(directory.path(), &["-T", wrong, "-Q", "SELECT 1"]);
        assert_eq!(run.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn a_trace_flag_without_an_effect_is_named_in_the_error_log() {
    let directory = tempfile::tempdir().unwrap();
    let query = "DBCC TRACEON (4199, 1165, -1) WITH NO_INFOMSGS; DBCC TRACEON (1222) WITH NO_INFOMSGS; \
                 DBCC TRACEON (845, -1)";
    answer(directory.path(), &["-Q", query]);
    let log = error_log(directory.path());
    let notes: Vec<&str> = log
        .lines()
        .filter_map(|l| l.get(35..))
        .filter(|l| l.starts_with("Trace"))
        .collect();
    let expected = [
        "Trace flag 4199 is set; Furrow does not act on it.",
        "Trace flag 1222 is set for a session, where it has no effect. DBCC TRACEON (1222, -1) sets it for \
         the instance.",
    ];
    assert_eq!(notes, expected);
}

#[test]
fn trace_flag_2330_stops_the_count_of_index_uses() {
    let directory = tempfile::tempdir().unwrap();
    let make = "CREATE TABLE t (id INT PRIMARY KEY); SET NOCOUNT ON; INSERT t VALUES (1)";
    answer(directory.path(), &["-Q", make]);
    let query = "SET NOCOUNT ON; DECLARE @n INT; SELECT @n = id FROM t WHERE id = 1; \
                 SELECT COUNT(*) FROM sys.dm_db_index_usage_stats";
    assert_eq!(answer(directory.path(), &["-Q", query]), ["1"]);
    assert_eq!(
        answer(directory.path(), &["-T", "2330", "-Q", query]),
        ["0"]
    );
}

#[test]
fn start_option_e_fills_one_file_before_the_turn_passes() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let make = format!(
        "CREATE DATABASE d ON (NAME = a, FILENAME = '{}', SIZE = 8MB), \
         (NAME = b, FILENAME = '{}', SIZE = 8MB)",
        text(&path("a.mdf")),
        text(&path("b.ndf"))
    );
    answer(directory.path(), &["-Q", &make]);
    // 48 extents, one row a page.
    let fill = "SET NOCOUNT ON; CREATE TABLE t (c CHAR(8000) NOT NULL); \
                WITH n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 384) \
                INSERT t SELECT 'x' FROM n OPTION (MAXRECURSION 0)";
    let used =
        "SET NOCOUNT ON; SELECT allocated_extent_page_count / 8 FROM sys.dm_db_file_space_usage";
    let extents = |options: &[&str]| -> Vec<i64> {
        let ask = |query: &str| {
            answer(
                directory.path(),
                &[options, &["-d", "d", "-Q", query]].concat(),
            )
        };
        let before = ask(used);
        ask(fill);
        let number = |text: &String| text.parse::<i64>().unwrap();
        ask(used)
            .iter()
            .zip(&before)
            .map(|(after, before)| number(after) - number(before))
            .collect()
    };
    let turns = extents(&[]);
    assert!(turns.iter().all(|n| (22..=27).contains(n)), "{turns:?}");
    let drop = ["-d", "d", "-Q", "DROP TABLE t"];
    answer(directory.path(), &drop);
    let runs = extents(&["-E"]);
    assert!(
        runs.iter().any(|n| *n >= 46) && runs.iter().any(|n| *n <= 3),
        "{runs:?}"
    );
}

#[test]
fn trace_flag_845_locks_the_pool_or_says_why_it_cannot() {
    let directory = tempfile::tempdir().unwrap();
    let query = "SET NOCOUNT ON; SELECT locked_page_allocations_kb FROM sys.dm_os_process_memory";
    assert_eq!(answer(directory.path(), &["-Q", query]), ["0"]);
    let locked = answer(directory.path(), &["-T", "845", "-Q", query]);
    let log = error_log(directory.path());
    match locked.first().map(String::as_str) {
        Some("4096") => assert!(
            log.contains("Using locked pages in the memory manager."),
            "{log}"
        ),
        Some("0") => assert!(
            log.contains("Trace flag 845 is set, but the 4096 KB"),
            "{log}"
        ),
        other => panic!("{other:?}"),
    }
    // A limit of nothing: who may lock without a limit is not refused.
    let limited = "ulimit -l 0; exec \"$0\" sql --pool 4MB --instance \"$1\" -T 845 -Q 'SELECT 1'";
    let instance = directory.path().join("instance");
    let run = std::process::Command::new("sh")
        .args(["-c", limited, env!("CARGO_BIN_EXE_furrow"), text(&instance)])
        .output()
        .unwrap();
    assert!(run.status.success(), "{}", err(&run));
    let log = error_log(directory.path());
    let refused = log.contains("this process may lock 0 KB (ulimit -l)");
    assert!(refused || log.contains("Using locked pages"), "{log}");
}

#[test]
fn without_its_master_an_instance_says_how_the_other_databases_are_reached() {
    let directory = tempfile::tempdir().unwrap();
    let create = "CREATE DATABASE d; CREATE TABLE d.dbo.t (a int); INSERT d.dbo.t VALUES (7)";
    answer(directory.path(), &["-Q", create]);
    let instance = directory.path().join("instance");
    let volume = SystemVolume::new();
    volume.remove(&instance.join("master.mdf")).unwrap();
    let refused = sql(directory.path(), &["-Q", "SELECT 1"]);
    assert_eq!(refused.status.code(), Some(3), "{}", err(&refused));
    let attach = format!(
        "CREATE DATABASE d ON (FILENAME = '{}') FOR ATTACH",
        text(&instance.join("d.mdf"))
    );
    assert!(err(&refused).contains(&attach), "{}", err(&refused));
    let other = tempfile::tempdir().unwrap();
    let query = format!("SET NOCOUNT ON; {attach}; SELECT a FROM d.dbo.t");
    assert_eq!(answer(other.path(), &["-Q", &query]), ["7"]);
}

#[test]
fn a_database_that_was_taken_offline_is_offline_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let state = "SET NOCOUNT ON; SELECT state_desc FROM sys.databases WHERE name = 'd'";
    answer(
        directory.path(),
        &["-Q", "CREATE DATABASE d; ALTER DATABASE d SET OFFLINE"],
    );
    assert_eq!(answer(directory.path(), &["-Q", state]), ["OFFLINE"]);
    answer(directory.path(), &["-Q", "ALTER DATABASE d SET ONLINE"]);
    assert_eq!(answer(directory.path(), &["-Q", state]), ["ONLINE"]);
}
