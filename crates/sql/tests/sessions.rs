//! What connections see of each other, and KILL.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_format::types::Value;
use furrow_io::thread::scope;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_sql::{Connection, Kept, Server};
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
