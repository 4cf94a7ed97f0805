//! Connections as a program works with them: cancellation, KILL, what statements took.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::thread::spawn_named;
use furrow_io::time::{Duration, sleep};
use furrow_sql::{BatchEnd, Connection, Kept, Server};
use furrow_types::Value;
use std::sync::Arc;

fn server() -> Arc<Server> {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    Server::start(Instance::in_memory(config).unwrap()).unwrap()
}

fn run(connection: &mut Connection, batch: &str) -> (BatchEnd, Kept) {
    let mut kept = Kept::default();
    let end = connection.execute(batch, &mut kept);
    (end, kept)
}

fn value(connection: &mut Connection, query: &str) -> Value {
    let (_, kept) = run(connection, query);
    assert!(kept.errors().is_empty(), "{:?}", kept.errors());
    kept.sets[0].rows[0][0].clone()
}

/// Runs a batch that somebody cancels once it waits.
fn cancelled(server: &Server, mut connection: Connection, batch: &'static str) -> Connection {
    let cancel = connection.canceller();
    let id = connection.id();
    let running = spawn_named("cancelled", move || {
        let (end, kept) = run(&mut connection, batch);
        assert!(end.cancelled, "{:?}", kept.notices);
        assert!(kept.errors().is_empty(), "{:?}", kept.errors());
        connection
    })
    .unwrap();
    let waits = || {
        let views = server.connections();
        let view = views.iter().find(|v| v.id == id);
        view.is_some_and(|v| {
            let all = v.task.instruments().tasks.waiting_tasks();
            all.iter().any(|w| w.session_id == id)
        })
    };
    while !waits() {
        sleep(Duration::from_millis(1));
    }
    cancel.cancel();
    running.join().unwrap()
}

#[test]
fn a_cancelled_statement_is_undone_and_its_transaction_stays_open() {
    let server = server();
    let mut other = server.connect().unwrap();
    run(
        &mut other,
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, n INT); INSERT t VALUES (1, 0), (2, 0)",
    );
    run(&mut other, "BEGIN TRAN; UPDATE t SET n = 9 WHERE id = 2");
    let mut one = server.connect().unwrap();
    run(&mut one, "BEGIN TRAN; UPDATE t SET n = 1 WHERE id = 1");
    // The statement has changed the first row when it waits for the second; CATCH sees nothing of it.
    let mut one = cancelled(
        &server,
        one,
        "BEGIN TRY UPDATE t SET n = 5; END TRY BEGIN CATCH PRINT 'caught'; END CATCH PRINT 'on'",
    );
    assert_eq!(one.transactions(), 1);
    run(&mut other, "ROLLBACK");
    assert_eq!(value(&mut one, "SELECT SUM(n) FROM t"), Value::Int(1));
    let (end, _) = run(&mut one, "UPDATE t SET n = 2 WHERE id = 2; COMMIT");
    assert!(!end.cancelled);
    assert_eq!(value(&mut other, "SELECT SUM(n) FROM t"), Value::Int(3));
}

#[test]
fn a_cancelled_batch_rolls_back_under_xact_abort_and_waitfor_ends() {
    let server = server();
    let mut one = server.connect().unwrap();
    run(
        &mut one,
        "CREATE TABLE t (id INT); SET XACT_ABORT ON; BEGIN TRAN; INSERT t VALUES (1)",
    );
    let mut one = cancelled(&server, one, "WAITFOR DELAY '01:00:00'; PRINT 'on'");
    assert_eq!(one.transactions(), 0);
    assert_eq!(value(&mut one, "SELECT COUNT(*) FROM t"), Value::Int(0));
    run(
        &mut one,
        "SET XACT_ABORT OFF; BEGIN TRAN; INSERT t VALUES (1)",
    );
    let mut one = cancelled(&server, one, "WAITFOR DELAY '01:00:00'");
    assert_eq!(one.transactions(), 1);
    run(&mut one, "COMMIT");
    assert_eq!(value(&mut one, "SELECT COUNT(*) FROM t"), Value::Int(1));
}

#[test]
fn statistics_io_and_time_tell_what_a_statement_read_and_took() {
    let server = server();
    let mut one = server.connect().unwrap();
    run(
        &mut one,
        "CREATE TABLE t (id INT NOT NULL PRIMARY KEY, c CHAR(4000) NOT NULL DEFAULT 'x'); \
         CREATE TABLE small (id INT NOT NULL PRIMARY KEY); INSERT small VALUES (1); \
         DECLARE @i INT = 0; WHILE @i < 50 BEGIN INSERT t (id) VALUES (@i); SET @i += 1; END",
    );
    run(&mut one, "SET STATISTICS IO ON; SET STATISTICS TIME ON");
    let (_, kept) = run(&mut one, "SELECT COUNT(c) FROM t WHERE c LIKE 'x%'");
    let texts: Vec<&str> = kept.notices.iter().map(|n| &*n.message.text).collect();
    assert!(
        texts[0].starts_with("SQL Server parse and compile time: \n   CPU time = "),
        "{texts:?}"
    );
    // Two rows of 4,000 bytes on a page: 25 leaves and what leads to them.
    let reads = texts[1]
        .strip_prefix("Table 't'. Scan count 1, logical reads ")
        .unwrap();
    let (reads, rest) = reads.split_once(',').unwrap();
    let reads: u32 = reads.parse().unwrap();
    assert!((25..=60).contains(&reads), "{reads}");
    assert!(
        rest.starts_with(" physical reads 0, read-ahead reads 0, lob logical reads 0"),
        "{rest}"
    );
    assert!(
        texts[2].starts_with("\n SQL Server Execution Times:\n   CPU time = "),
        "{texts:?}"
    );
    assert_eq!(texts.len(), 3);
    let (_, kept) = run(
        &mut one,
        "SET STATISTICS TIME OFF; SELECT * FROM small JOIN t ON t.id = small.id",
    );
    let texts: Vec<&str> = kept.notices.iter().map(|n| &*n.message.text).collect();
    let tables: Vec<&str> = texts.iter().filter_map(|t| t.split('\'').nth(1)).collect();
    assert_eq!(tables, ["small", "t"], "{texts:?}");
    // Rows that go in together are reads of their table too.
    let (_, kept) = run(&mut one, "INSERT small VALUES (2), (3)");
    let mut texts = kept.notices.iter().map(|n| &*n.message.text);
    assert!(texts.any(|text| text.starts_with("Table 'small'. ")));
    let (_, kept) = run(&mut one, "SET STATISTICS IO OFF; SELECT COUNT(*) FROM t");
    assert!(kept.notices.is_empty());
}

#[test]
fn prepared_texts_are_counted_over_connections_and_again_after_they_were_forgotten() {
    let server = server();
    let (mut one, mut other) = (server.connect().unwrap(), server.connect().unwrap());
    let text = "SELECT @n AS prepared_here";
    let runs = "SELECT SUM(s.execution_count) FROM sys.dm_exec_query_stats AS s \
        CROSS APPLY sys.dm_exec_sql_text(s.sql_handle) AS t WHERE t.text = 'SELECT @n AS prepared_here'";
    let prepared = one.prepare(text, "@n int").unwrap();
    let same = other.prepare(text, "@n int").unwrap();
    let mut kept = Kept::default();
    for n in 0..3 {
        one.execute_prepared(&prepared, &[Value::Int(n)], &mut kept);
    }
    other.execute_prepared(&same, &[Value::Int(3)], &mut kept);
    assert!(kept.errors().is_empty(), "{:?}", kept.errors());
    assert_eq!(value(&mut one, runs), Value::BigInt(4));
    run(&mut other, "DBCC FREEPROCCACHE");
    assert_eq!(value(&mut one, runs), Value::Null);
    one.execute_prepared(&prepared, &[Value::Int(4)], &mut kept);
    other.execute_prepared(&same, &[Value::Int(5)], &mut kept);
    assert_eq!(value(&mut one, runs), Value::BigInt(2));
}
