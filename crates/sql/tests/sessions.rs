//! What connections see of each other, and KILL.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{DatabaseSpec, FileSpec, Instance, InstanceConfig};
use furrow_io::thread::scope;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{Access, Fill, MemoryVolume, Open, Volume, WriteRun};
use furrow_observe::suspects::SuspectEvent;
use furrow_sql::{Connection, Kept, Server};
use furrow_types::Value;
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;

fn server() -> Arc<Server> {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    Server::start(Instance::in_memory(config).unwrap()).unwrap()
}

/// Runs a batch that must not fail; gives what it said.
fn run(connection: &mut Connection, batch: &str) -> Kept {
    let kept = tried(connection, batch);
    assert!(kept.errors().is_empty(), "{batch}: {:?}", kept.errors());
    kept
}

fn tried(connection: &mut Connection, batch: &str) -> Kept {
    let mut kept = Kept::default();
    connection.execute(batch, &mut kept);
    kept
}

/// The first row of the last result set.
fn row(connection: &mut Connection, batch: &str) -> Vec<Value> {
    let kept = run(connection, batch);
    let set = kept.sets.last().unwrap();
    set.rows.first().cloned().unwrap_or_default()
}

fn number(connection: &mut Connection, batch: &str) -> i64 {
    row(connection, batch)[0].as_i64().unwrap()
}

fn numbers(kept: &Kept) -> Vec<u32> {
    kept.errors().iter().map(|e| e.number).collect()
}

/// Asks until the answer is as wanted.
fn until(
    connection: &mut Connection,
    batch: &str,
    wanted: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let begun = Moment::now();
    loop {
        let found = row(connection, batch);
        if wanted(&found) {
            return found;
        }
        let waited = Moment::now().since(begun);
        assert!(waited < Duration::from_secs(30), "{batch}: {found:?}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_idle_connection_that_is_killed_is_rolled_back_at_once() {
    let server = server();
    let (mut idle, mut other) = (server.connect().unwrap(), server.connect().unwrap());
    run(
        &mut other,
        "CREATE DATABASE d; CREATE TABLE t (a int NOT NULL)",
    );
    run(&mut idle, "USE d");
    run(
        &mut idle,
        "BEGIN TRANSACTION; INSERT master.dbo.t VALUES (1); CREATE TABLE #own (a int)",
    );
    let id = idle.id();
    let sessions = format!("SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id = {id}");
    let open =
        format!("SELECT open_transaction_count FROM sys.dm_exec_sessions WHERE session_id = {id}");
    assert_eq!(number(&mut other, &sessions), 1);
    assert_eq!(number(&mut other, &open), 1);
    run(&mut other, &format!("KILL {id}"));
    // Its lock is gone, its row, its seat in the database, its temporary table, and it itself.
    run(&mut other, "SET LOCK_TIMEOUT 0");
    assert_eq!(number(&mut other, "SELECT COUNT(*) FROM t"), 0);
    run(&mut other, "DROP DATABASE d");
    let temp = "SELECT COUNT(*) FROM tempdb.sys.tables WHERE name LIKE '#own%'";
    assert_eq!(number(&mut other, temp), 0);
    assert_eq!(number(&mut other, &sessions), 0);
    let locks = format!("SELECT COUNT(*) FROM sys.dm_tran_locks WHERE request_session_id = {id}");
    assert_eq!(number(&mut other, &locks), 0);
    // Its client learns of it when it comes back, and the number is nobody's.
    assert_eq!(numbers(&tried(&mut idle, "SELECT 1")), [596]);
    assert_eq!(numbers(&tried(&mut other, &format!("KILL {id}"))), [6106]);
}

#[test]
fn a_running_connection_that_is_killed_ends_its_statement_and_is_rolled_back() {
    let server = server();
    let (mut busy, mut other) = (server.connect().unwrap(), server.connect().unwrap());
    run(&mut other, "CREATE TABLE t (a int NOT NULL)");
    let id = busy.id();
    scope(|threads| {
        let running = threads.spawn(|| {
            tried(
                &mut busy,
                "BEGIN TRANSACTION; INSERT t VALUES (1); WAITFOR DELAY '00:05:00'",
            )
        });
        let asked = format!(
            "SELECT command, wait_type, status FROM sys.dm_exec_requests WHERE session_id = {id}"
        );
        let seen = until(&mut other, &asked, |row| {
            row.get(1).and_then(Value::as_str) == Some("WAITFOR")
        });
        assert_eq!(seen[0].as_str(), Some("WAITFOR"));
        assert_eq!(seen[2].as_str(), Some("suspended"));
        let status = tried(&mut other, &format!("KILL {id} WITH STATUSONLY"));
        assert_eq!(numbers(&status), [6120]);
        run(&mut other, &format!("KILL {id}"));
        let said = running.join().unwrap();
        assert_eq!(numbers(&said).last(), Some(&596));
    });
    run(&mut other, "SET LOCK_TIMEOUT 0");
    assert_eq!(number(&mut other, "SELECT COUNT(*) FROM t"), 0);
    let status = tried(&mut other, &format!("KILL {id} WITH STATUSONLY"));
    assert_eq!(numbers(&status), [6106]);
}

#[test]
fn a_request_that_waits_for_a_lock_says_who_holds_it() {
    let server = server();
    let mut holder = server.connect().unwrap();
    let mut waiter = server.connect().unwrap();
    let mut other = server.connect().unwrap();
    run(
        &mut other,
        "CREATE TABLE t (a int NOT NULL PRIMARY KEY, b int NULL); INSERT t VALUES (1, 1)",
    );
    run(
        &mut holder,
        "BEGIN TRANSACTION; UPDATE t SET b = 2 WHERE a = 1",
    );
    let id = waiter.id();
    scope(|threads| {
        let waiting = threads.spawn(|| run(&mut waiter, "UPDATE t SET b = 3 WHERE a = 1"));
        let asked = format!(
            "SELECT blocking_session_id, wait_type, wait_resource, command, last_wait_type
             FROM sys.dm_exec_requests WHERE session_id = {id}"
        );
        let blocked = |row: &[Value]| row.first().and_then(Value::as_i64).unwrap_or(0) > 0;
        let seen = until(&mut other, &asked, blocked);
        assert_eq!(seen[0].as_i64(), Some(i64::from(holder.id())));
        assert!(seen[1].as_str().unwrap().starts_with("LCK_M_"), "{seen:?}");
        assert!(seen[2].as_str().unwrap().starts_with("KEY: "), "{seen:?}");
        assert_eq!(seen[3].as_str(), Some("UPDATE"));
        assert_eq!(seen[1], seen[4]);
        let described = format!(
            "SELECT resource_description, blocking_session_id FROM sys.dm_os_waiting_tasks
             WHERE session_id = {id}"
        );
        let task = row(&mut other, &described);
        let text = task[0].as_str().unwrap();
        assert!(text.starts_with("keylock hobtid=72"), "{text}");
        assert!(text.contains(" mode=X associatedObjectId=72"), "{text}");
        assert_eq!(task[1].as_i64(), Some(i64::from(holder.id())));
        let joined = format!(
            "SELECT l.request_session_id, l.request_status, l.resource_type, w.blocking_session_id
             FROM sys.dm_tran_locks AS l JOIN sys.dm_os_waiting_tasks AS w
                 ON l.lock_owner_address = w.resource_address
             WHERE w.session_id = {id}"
        );
        let blocking = row(&mut other, &joined);
        assert_eq!(blocking[0].as_i64(), Some(i64::from(id)));
        assert_eq!(blocking[1].as_str(), Some("WAIT"));
        assert_eq!(blocking[2].as_str(), Some("KEY"));
        assert_eq!(blocking[3].as_i64(), Some(i64::from(holder.id())));
        let who = run(&mut other, &format!("EXEC sp_who '{id}'"));
        let blk = who.sets[0].rows[0][5]
            .as_str()
            .unwrap()
            .trim_end()
            .to_owned();
        assert_eq!(blk, holder.id().to_string());
        run(&mut holder, "COMMIT");
        waiting.join().unwrap();
    });
    assert_eq!(number(&mut other, "SELECT b FROM t"), 3);
}

#[test]
fn a_session_counts_the_pages_that_it_has_asked_for() {
    let server = server();
    let (mut own, mut other) = (server.connect().unwrap(), server.connect().unwrap());
    run(
        &mut own,
        "CREATE TABLE t (a int NOT NULL, b char(4000) NOT NULL);
         DECLARE @n int = 0;
         WHILE @n < 100 BEGIN INSERT t VALUES (@n, 'x'); SET @n += 1; END",
    );
    let id = own.id();
    let asked = format!(
        "SELECT logical_reads, row_count, last_request_end_time FROM sys.dm_exec_sessions
         WHERE session_id = {id}"
    );
    let before = row(&mut other, &asked);
    assert_eq!(number(&mut own, "SELECT COUNT(*) FROM t"), 100);
    let after = row(&mut other, &asked);
    let reads = after[0].as_i64().unwrap() - before[0].as_i64().unwrap();
    assert!((50..500).contains(&reads), "{reads} pages for 50 of data");
    assert_eq!(after[1].as_i64(), Some(1));
    let idle = format!("SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id = {id}");
    assert_eq!(number(&mut other, &idle), 0);
}

/// Rows of a table that a connection has locked, and the modes.
fn locked(connection: &mut Connection) -> Vec<(String, String, i64)> {
    let kept = run(
        connection,
        "SELECT resource_type, request_mode, COUNT(*) FROM sys.dm_tran_locks
         WHERE request_session_id = @@SPID AND resource_type IN ('KEY', 'RID', 'OBJECT')
         AND resource_database_id = DB_ID()
         GROUP BY resource_type, request_mode ORDER BY resource_type, request_mode",
    );
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let rows = kept.sets.last().unwrap().rows.iter();
    rows.map(|row| (text(&row[0]), text(&row[1]), row[2].as_i64().unwrap()))
        .collect()
}

fn modes(found: &[(String, String, i64)]) -> Vec<(&str, &str, i64)> {
    found.iter().map(|l| (&*l.0, &*l.1, l.2)).collect()
}

/// Three tables with 6,000 rows each: in a clustered index, in a heap, and one with an index on `b`.
fn tables(connection: &mut Connection) {
    run(
        connection,
        "CREATE TABLE c (a int PRIMARY KEY, b int NOT NULL, n varchar(9) NULL);
         CREATE TABLE h (a int NOT NULL, b int NOT NULL, n varchar(9) NULL);
         CREATE TABLE x (a int PRIMARY KEY, b int NOT NULL, n varchar(9) NULL);
         CREATE INDEX ix ON x (b);
         WITH n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n WHERE a < 6000)
         INSERT c SELECT a, a % 100, NULL FROM n OPTION (MAXRECURSION 0);
         INSERT h SELECT * FROM c; INSERT x SELECT * FROM c;",
    );
}

#[test]
fn an_update_or_delete_that_scans_keeps_the_locks_of_the_rows_that_it_changes_alone() {
    let server = server();
    let (mut writer, mut other) = (server.connect().unwrap(), server.connect().unwrap());
    tables(&mut writer);
    run(&mut other, "SET LOCK_TIMEOUT 0");
    for (table, row) in [("c", "KEY"), ("h", "RID"), ("x WITH (INDEX(ix))", "KEY")] {
        let (target, from) = match table.split_once(' ') {
            Some((name, hints)) => (name, format!("FROM {name} {hints}")),
            None => (table, String::new()),
        };
        for change in [
            format!(
                "UPDATE {target} SET n = 'q' {from} WHERE b BETWEEN 3 AND 30 AND a % 1000 = 17"
            ),
            format!("DELETE {target} {from} WHERE b BETWEEN 3 AND 30 AND a % 1000 = 17"),
        ] {
            run(&mut writer, &format!("BEGIN TRAN; {change}"));
            let found = locked(&mut writer);
            let expected = [("OBJECT", "IX", 1), (row, "X", 6)];
            let mut found = modes(&found);
            found.sort_by_key(|lock| lock.0 != "OBJECT");
            assert_eq!(found, expected, "{change}");
            // Readers and writers of other rows pass.
            let read = format!("SELECT COUNT(*) FROM {target} WHERE a = 18");
            let passing = match target {
                "h" => "SELECT COUNT(*) FROM h WITH (READPAST)".to_owned(),
                _ => read,
            };
            assert!(number(&mut other, &passing) > 0);
            let written = match target {
                "h" => "UPDATE h WITH (READPAST) SET n = 'r' WHERE a = 18".to_owned(),
                target => format!("UPDATE {target} SET n = 'r' WHERE a = 18"),
            };
            run(&mut other, &written);
            run(&mut writer, "ROLLBACK");
        }
    }
}

#[test]
fn rows_that_do_not_qualify_stay_locked_where_that_was_asked_for() {
    let server = server();
    let mut writer = server.connect().unwrap();
    run(
        &mut writer,
        "CREATE TABLE h (a int NOT NULL, b int NOT NULL);
         INSERT h VALUES (1, 1), (2, 2), (3, 3)",
    );
    let cases = [
        // What was locked before the statement stays as it was.
        (
            "SELECT a FROM h WITH (UPDLOCK) WHERE a = 2; UPDATE h SET b = 7 WHERE a = 3",
            vec![("U", 2), ("X", 1)],
        ),
        (
            "UPDATE h SET b = 7 WHERE a = 2; UPDATE h SET b = 7 WHERE a = 3",
            vec![("X", 2)],
        ),
        (
            "UPDATE h WITH (UPDLOCK) SET b = 7 WHERE a = 3",
            vec![("U", 2), ("X", 1)],
        ),
        (
            "UPDATE h WITH (REPEATABLEREAD) SET b = 7 WHERE a = 3",
            vec![("U", 2), ("X", 1)],
        ),
        (
            "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; DELETE h WHERE a = 3",
            vec![("U", 2), ("X", 1)],
        ),
        (
            "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; DELETE h WHERE a = 3",
            vec![("X", 1)],
        ),
        // TOP ends the scan before the rest of the page was asked for.
        (
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; UPDATE TOP (1) h SET b = 8",
            vec![("X", 1)],
        ),
    ];
    for (batch, expected) in cases {
        run(&mut writer, &format!("BEGIN TRAN; {batch}"));
        let found = locked(&mut writer);
        let rows = found.iter().filter(|lock| lock.0 == "RID");
        let rows: Vec<(&str, i64)> = rows.map(|lock| (&*lock.1, lock.2)).collect();
        assert_eq!(rows, expected, "{batch}");
        run(&mut writer, "ROLLBACK");
    }
}

#[test]
fn an_update_that_waited_for_a_row_looks_at_it_as_it_is_then() {
    let server = server();
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    let mut watcher = server.connect().unwrap();
    for (create, row) in [
        ("CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL)", "KEY"),
        ("CREATE TABLE t (a int NOT NULL, b int NOT NULL)", "RID"),
    ] {
        run(&mut first, create);
        run(&mut first, "INSERT t VALUES (1, 0), (2, 0), (3, 0), (4, 1)");
        // It gets a value that qualifies, one that does not, or it goes.
        for (change, sum, kept) in [
            ("UPDATE t SET b = 1 WHERE a = 2", 11 + 11, 2),
            ("UPDATE t SET b = 5 WHERE a = 2", 5 + 11, 1),
            ("DELETE t WHERE a = 2", 11, 1),
        ] {
            run(
                &mut first,
                "UPDATE t SET b = 0 WHERE a < 4; UPDATE t SET b = 1 WHERE a = 4",
            );
            run(&mut first, &format!("BEGIN TRAN; {change}"));
            let id = second.id();
            scope(|threads| {
                let waiting = threads.spawn(|| {
                    run(
                        &mut second,
                        "BEGIN TRAN; UPDATE t SET b = b + 10 WHERE b = 1",
                    );
                });
                let asked = format!(
                    "SELECT COUNT(*) FROM sys.dm_exec_requests
                     WHERE session_id = {id} AND wait_type LIKE 'LCK%'"
                );
                until(&mut watcher, &asked, |found| found[0].as_i64() == Some(1));
                run(&mut first, "COMMIT");
                waiting.join().unwrap();
            });
            let found = locked(&mut second);
            let mut found = modes(&found);
            found.sort_by_key(|lock| lock.0 != "OBJECT");
            assert_eq!(found, [("OBJECT", "IX", 1), (row, "X", kept)], "{change}");
            run(&mut second, "COMMIT");
            assert_eq!(number(&mut first, "SELECT SUM(b) FROM t"), sum, "{change}");
        }
        run(&mut first, "DROP TABLE t");
    }
}

#[test]
fn sp_helpdb_shows_the_filegroup_of_each_file() {
    let server = server();
    let mut connection = server.connect().unwrap();
    run(
        &mut connection,
        "CREATE DATABASE d ON PRIMARY (NAME = d1, FILENAME = 'd1.mdf'),
         FILEGROUP [more room] (NAME = d2, FILENAME = 'd2.ndf') LOG ON (NAME = dl, FILENAME = 'd.ldf')",
    );
    let kept = run(&mut connection, "EXEC sp_helpdb 'd'");
    let files = &kept.sets.last().unwrap().rows;
    let of = |row: &Vec<Value>| {
        let [name, group] = [&row[0], &row[3]].map(|v| v.as_str().unwrap_or("NULL").to_owned());
        format!("{name} in {group}")
    };
    let files: Vec<String> = files.iter().map(of).collect();
    assert_eq!(files, ["d1 in PRIMARY", "dl in NULL", "d2 in more room"]);
}

#[test]
fn updates_that_look_at_rows_before_they_lock_them_lose_none() {
    const SESSIONS: i64 = 3;
    const UPDATES: i64 = 40;
    let server = server();
    let mut setup = server.connect().unwrap();
    for create in [
        "CREATE TABLE t (a int PRIMARY KEY, b int NOT NULL, n int NOT NULL, d int NOT NULL)",
        "CREATE TABLE t (a int NOT NULL, b int NOT NULL, n int NOT NULL, d int NOT NULL)",
    ] {
        run(&mut setup, create);
        run(
            &mut setup,
            "WITH n AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM n WHERE a < 2000)
             INSERT t SELECT a, 0, 0, 0 FROM n OPTION (MAXRECURSION 0);
             UPDATE t SET b = 1 WHERE a IN (500, 1900)",
        );
        scope(|threads| {
            for _ in 0..SESSIONS {
                threads.spawn(|| {
                    let mut own = server.connect().unwrap();
                    // Each row is taken from the state that it is in to the other one, and back.
                    let batch = format!(
                        "DECLARE @i int = 0;
                         WHILE @i < {UPDATES} BEGIN
                             UPDATE t SET b = 2, n = n + 1 WHERE b = 1 AND d = 0;
                             UPDATE t SET b = 1, n = n + 1 WHERE b = 2 AND d = 0;
                             SET @i += 1;
                         END"
                    );
                    run(&mut own, &batch);
                });
            }
            threads.spawn(|| {
                let mut own = server.connect().unwrap();
                let batch = format!(
                    "DECLARE @i int = 0;
                     WHILE @i < {UPDATES} BEGIN
                         UPDATE t SET d = 1 - d WHERE b > 0;
                         SET @i += 1;
                     END"
                );
                run(&mut own, &batch);
            });
        });
        // A row changes its state with each count, whoever counts.
        let odd =
            "SELECT COUNT(*) FROM t WHERE b > 0 AND (n % 2 = 0 AND b = 2 OR n % 2 = 1 AND b = 1)";
        assert_eq!(number(&mut setup, odd), 0);
        assert_eq!(number(&mut setup, "SELECT COUNT(*) FROM t WHERE b > 0"), 2);
        run(&mut setup, "DROP TABLE t");
    }
}

fn garbage(volume: &dyn Volume, path: &Path) {
    let file = volume.open(path, Open::Existing, Access::Data).unwrap();
    let bufs = &[IoSlice::new(&[0xA5; 16_384])];
    file.write(&[WriteRun { offset: 0, bufs }]).unwrap();
}

fn cut_short(volume: &dyn Volume, path: &Path) {
    let file = volume.open(path, Open::Existing, Access::Data).unwrap();
    file.resize(100, Fill::Allocate).unwrap();
}

#[test]
fn tempdb_is_made_anew_whatever_has_become_of_its_files() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    let inst = Path::new("/instance");
    volume.create_dir(inst).unwrap();
    type Injury = fn(&dyn Volume, &Path);
    let gone: Injury = |volume, path| volume.remove(path).unwrap();
    for injury in [gone, garbage, cut_short] {
        for file in ["tempdb.mdf", "templog.ldf"] {
            let config = InstanceConfig {
                pool_pages: 2048,
                directory: Some(inst.into()),
                ..InstanceConfig::default()
            };
            let instance = Instance::start(Arc::clone(&volume), config).unwrap();
            let server = Server::start(Arc::clone(&instance)).unwrap();
            let mut connection = server.connect().unwrap();
            run(
                &mut connection,
                "CREATE TABLE #t (a INT); INSERT #t VALUES (1)",
            );
            assert_eq!(number(&mut connection, "SELECT a FROM #t"), 1);
            drop((connection, server));
            instance.shut_down().unwrap();
            drop(instance);
            injury(&*volume, &inst.join(file));
        }
    }
}

#[test]
fn a_durable_tempdb_of_an_earlier_version_is_replaced_by_a_temporary_one() {
    let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
    let inst = Path::new("/instance");
    volume.create_dir(inst).unwrap();
    let start = || {
        let config = InstanceConfig {
            pool_pages: 2048,
            directory: Some(inst.into()),
            ..InstanceConfig::default()
        };
        Instance::start(Arc::clone(&volume), config).unwrap()
    };
    let file = |name: &str, file: &str| FileSpec::new(name, inst.join(file)).size_mb(4);
    let old = DatabaseSpec {
        id: Some(2),
        ..DatabaseSpec::new("tempdb", file("tempdb", "tempdb.mdf"))
            .log(file("templog", "templog.ldf"))
    };
    let instance = start();
    instance.create_database(&old).unwrap();
    instance.shut_down().unwrap();
    drop(instance);
    for _ in 0..2 {
        let instance = start();
        let server = Server::start(Arc::clone(&instance)).unwrap();
        let tempdb = instance.database("tempdb").unwrap();
        assert!(tempdb.is_temporary());
        let names: Vec<String> = tempdb
            .file_list()
            .unwrap()
            .into_iter()
            .map(|f| f.name)
            .collect();
        assert_eq!(names, ["tempdev", "templog"]);
        assert!(!volume.exists(&inst.join("tempdb.mdf.dw")).unwrap());
        drop((tempdb, server));
        instance.shut_down().unwrap();
    }
}

const SUSPECT: &str =
    "SELECT event_type * 100 + error_count FROM msdb.dbo.suspect_pages WHERE page_id = 70";
const LISTED: &str =
    "SELECT event_type * 100 + error_count FROM sys.dm_db_suspect_pages WHERE page_id = 70";

#[test]
fn a_locked_msdb_keeps_no_statement_waiting_and_the_suspect_page_is_written_later() {
    let server = server();
    let suspects = &server.instance().instruments().suspects;
    let (mut one, mut two) = (server.connect().unwrap(), server.connect().unwrap());
    run(
        &mut one,
        "BEGIN TRANSACTION; SELECT COUNT(*) FROM msdb.dbo.suspect_pages WITH (TABLOCKX, HOLDLOCK)",
    );
    suspects.note((9, 1, 70), SuspectEvent::Checksum);
    suspects.note((9, 1, 70), SuspectEvent::Checksum);
    run(&mut two, "SELECT 1");
    assert!(suspects.is_due(), "it is not written yet");
    assert_eq!(number(&mut two, LISTED), 202, "the view has it");
    run(&mut one, "COMMIT");
    run(&mut two, "SELECT 1");
    assert!(!suspects.is_due());
    assert_eq!(number(&mut two, SUSPECT), 202);
    assert_eq!(number(&mut two, LISTED), 202, "once, not twice");
    suspects.note((9, 1, 70), SuspectEvent::Repaired);
    run(&mut two, "SELECT 1");
    assert_eq!(number(&mut one, SUSPECT), 502);
    // Rows are the administrator's: what is deleted is gone from both.
    run(&mut one, "DELETE msdb.dbo.suspect_pages");
    assert_eq!(row(&mut one, LISTED), []);
}

#[test]
fn suspect_pages_beyond_a_thousand_wait_for_rows_to_be_deleted() {
    let server = server();
    let suspects = &server.instance().instruments().suspects;
    let mut one = server.connect().unwrap();
    for page in 0..1_100 {
        suspects.note((9, 1, page), SuspectEvent::Torn);
    }
    run(&mut one, "SELECT 1");
    let count = "SELECT COUNT(*) FROM msdb.dbo.suspect_pages";
    assert_eq!(number(&mut one, count), 1_000);
    suspects.note((9, 1, 5), SuspectEvent::Torn);
    suspects.note((9, 1, 1_050), SuspectEvent::Torn);
    run(&mut one, "SELECT 1");
    assert_eq!(number(&mut one, count), 1_000);
    let known = "SELECT error_count FROM msdb.dbo.suspect_pages WHERE page_id = 5";
    assert_eq!(number(&mut one, known), 2);
    suspects.note_dropped(9);
    run(&mut one, "SELECT 1");
    assert_eq!(number(&mut one, count), 0);
}

#[test]
fn without_a_msdb_of_its_own_a_server_lists_suspect_pages_all_the_same() {
    let instance = Instance::in_memory(InstanceConfig::default()).unwrap();
    let files = FileSpec::new("m", "m.mdf").size_mb(2);
    let spec = DatabaseSpec::new("msdb", files).log(FileSpec::new("ml", "m.ldf").size_mb(1));
    instance.create_database(&spec).unwrap();
    let server = Server::start(instance).unwrap();
    let suspects = &server.instance().instruments().suspects;
    let mut one = server.connect().unwrap();
    suspects.note((9, 1, 70), SuspectEvent::Error);
    run(&mut one, "SELECT 1");
    assert_eq!(number(&mut one, LISTED), 101);
    assert_eq!(suspects.list().len(), 1, "it stays");
}

#[test]
fn a_row_that_is_found_by_its_key_keeps_the_lock_that_its_statement_asks_for() {
    let server = server();
    let mut writer = server.connect().unwrap();
    run(
        &mut writer,
        "CREATE TABLE c (a int PRIMARY KEY, b int NOT NULL); INSERT c VALUES (1, 1), (2, 2), (3, 3)",
    );
    let cases = [
        ("SELECT b FROM c WHERE a = 2", vec![]),
        ("UPDATE c SET b = 7 WHERE a = 3 AND b = 3", vec![("X", 1)]),
        // A row that does not qualify is not locked any more, and one that is absent is not either.
        ("UPDATE c SET b = 7 WHERE a = 3 AND b = 9", vec![]),
        (
            "DELETE c WHERE a = 3 AND b = 9; DELETE c WHERE a = 4",
            vec![],
        ),
        // What was locked before the statement stays as it was.
        (
            "SELECT a FROM c WITH (UPDLOCK) WHERE a = 2; UPDATE c SET b = 7 WHERE a = 2 AND b = 9",
            vec![("U", 1)],
        ),
        (
            "UPDATE c SET b = 8 WHERE a = 2; UPDATE c SET b = 7 WHERE a = 2 AND b = 9",
            vec![("X", 1)],
        ),
        (
            "UPDATE c WITH (UPDLOCK) SET b = 7 WHERE a = 3 AND b = 9",
            vec![("U", 1)],
        ),
        (
            "UPDATE c WITH (REPEATABLEREAD) SET b = 7 WHERE a = 3 AND b = 9",
            vec![("U", 1)],
        ),
        (
            "SELECT b FROM c WITH (REPEATABLEREAD) WHERE a IN (2) AND b = 9",
            vec![("S", 1)],
        ),
        // The key is unique: only the gap of an absent row has to be guarded.
        (
            "SELECT b FROM c WITH (HOLDLOCK) WHERE a = 2",
            vec![("S", 1)],
        ),
        (
            "SELECT b FROM c WITH (HOLDLOCK) WHERE a = 0",
            vec![("RangeS-S", 1)],
        ),
    ];
    for (batch, expected) in cases {
        run(&mut writer, &format!("BEGIN TRAN; {batch}"));
        let found = locked(&mut writer);
        let rows = found.iter().filter(|lock| lock.0 == "KEY");
        let rows: Vec<(&str, i64)> = rows.map(|lock| (&*lock.1, lock.2)).collect();
        assert_eq!(rows, expected, "{batch}");
        run(&mut writer, "ROLLBACK");
    }
}
