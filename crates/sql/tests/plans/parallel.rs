//! Parallel scans: the same results, errors and locks as serial ones.

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::thread::spawn_named;
use furrow_io::time::sleep;
use furrow_scalar::display::write_value;
use furrow_sql::{Connection, Kept, Server};
use std::sync::Arc;
use std::time::Duration;

const ROWS: usize = 20_000;

fn server() -> Arc<Server> {
    let config = InstanceConfig {
        pool_pages: 16_384,
        ..InstanceConfig::default()
    };
    Server::start(Instance::in_memory(config).unwrap()).unwrap()
}

fn kept(connection: &mut Connection, sql: &str) -> Kept {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    kept
}

fn ok(connection: &mut Connection, sql: &str) {
    let kept = kept(connection, sql);
    assert!(kept.errors().is_empty(), "{sql}: {:?}", kept.errors());
}

/// Rows and errors, sorted.
fn sorted(connection: &mut Connection, sql: &str) -> Vec<String> {
    let kept = kept(connection, sql);
    let mut lines = Vec::new();
    for row in kept.sets.iter().flat_map(|set| &set.rows) {
        let mut line = String::new();
        for value in row {
            line.push(' ');
            write_value(value, &mut line);
        }
        lines.push(line);
    }
    lines.sort();
    let reported = kept.notices.iter().map(|n| n.message.number);
    lines.extend(reported.map(|number| format!("Msg {number}")));
    lines
}

/// How many scans of the table a query has done: one of its own and one of each thread.
fn scans(connection: &mut Connection, sql: &str) -> u64 {
    ok(connection, "SET STATISTICS IO ON");
    let kept = kept(connection, sql);
    ok(connection, "SET STATISTICS IO OFF");
    let lines = kept.notices.iter().map(|notice| &notice.message.text);
    let line = lines.clone().find(|line| line.contains("Scan count"));
    let line = line.unwrap_or_else(|| panic!("{sql}: {lines:?}"));
    let text = line.split("Scan count ").nth(1).unwrap();
    let digits: String = text.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// A heap and a clustered table of the same rows, in some hundred pages each, with a narrow index.
fn filled(server: &Arc<Server>) -> Connection {
    let mut c = server.connect().unwrap();
    ok(
        &mut c,
        "EXEC sp_configure 'show advanced options', 1; RECONFIGURE;
         EXEC sp_configure 'cost threshold for parallelism', 0; RECONFIGURE;
         CREATE DATABASE p",
    );
    ok(&mut c, "USE p");
    let columns = "(id INT NOT NULL, g INT NOT NULL, n INT NULL, d DECIMAL(10, 2) NOT NULL,
         f FLOAT NOT NULL, s VARCHAR(900) NOT NULL)";
    let fill = format!(
        "CREATE TABLE h {columns};
         INSERT INTO h SELECT value, value % 7, NULLIF(value % 11, 0), value / 4.0, value / 3.0,
             CONCAT(REPLICATE(CHAR(97 + value % 26), 200), value) FROM GENERATE_SERIES(1, {ROWS});
         CREATE TABLE t {columns};
         INSERT INTO t SELECT * FROM h;
         ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (id);
         CREATE INDEX narrow ON t (g) INCLUDE (n, d);"
    );
    ok(&mut c, &fill);
    c
}

const QUERIES: &[&str] = &[
    "SELECT COUNT(*) FROM $",
    "SELECT COUNT(*), COUNT_BIG(n), SUM(n), MIN(n), MAX(n), AVG(n), SUM(d), AVG(d), MAX(s) FROM $",
    "SELECT SUM(n + g), MIN(s), CHECKSUM_AGG(n) FROM $ WHERE s LIKE '%c1%' AND id > 100",
    "SELECT COUNT(*) FROM $ WHERE id BETWEEN 5000 AND 15000",
    "SELECT COUNT(*) FROM $ WHERE id > 100000",
    "SELECT MAX(n) FROM $ WHERE id < 0",
    "SELECT g, COUNT(*), SUM(n), MIN(s) FROM $ GROUP BY g",
    "SELECT g, n, COUNT(*) FROM $ WHERE id % 3 = 0 GROUP BY GROUPING SETS ((g, n), (g), ())",
    "SELECT s, COUNT(*), MAX(id) FROM $ GROUP BY s HAVING COUNT(*) > 0",
    "SELECT g, SUM(d) FROM $ WHERE id < 0 GROUP BY g",
    "SELECT COUNT(*), SUM(n) FROM (SELECT g, SUM(n) AS n FROM $ GROUP BY g) AS x",
    "SELECT g, COUNT(*) FROM $ GROUP BY g HAVING COUNT(*) > 2500 AND SUM(n) > 1",
    "SELECT n, COUNT(*) FROM (SELECT g, n FROM $ WHERE id > 5 GROUP BY g, n) AS x GROUP BY n",
    "SELECT COUNT(*) FROM (SELECT DISTINCT n FROM $ WHERE id > 5) AS x WHERE n > 2",
    "SELECT id, s, d FROM $ WHERE id % 10 = 3",
    "SELECT UPPER(s), n * 2 FROM $ WHERE s LIKE '%99'",
    "SELECT DISTINCT LEFT(s, 1) FROM $ WHERE n > 3",
    "SELECT a.id, b.g FROM $ a JOIN $ b ON a.id = b.id + 1 WHERE a.n = 4 AND b.s LIKE '%7'",
    "SELECT id FROM $ WHERE n = 1 UNION SELECT id FROM $ WHERE n = 2",
    "DECLARE @n INT = 5; SELECT COUNT(*), MIN(s) FROM $ WHERE n > @n",
    "DECLARE @n INT; SELECT @n = SUM(n) FROM $ WHERE g = 3; SELECT @n",
    "SELECT SUM(f), AVG(f), STDEV(n) FROM $ WHERE id > 10",
    "SELECT COUNT(DISTINCT g), STRING_AGG(g, '') FROM $ WHERE id > 19990",
    "SELECT MAX(id / (id - 15001)) FROM $",
    "SELECT id FROM $ WHERE 100 / (id - 15001) > 5",
    "SELECT g, SUM(n * 200000000) FROM $ GROUP BY g",
    "SELECT COUNT(*) FROM $ WHERE CAST(s AS INT) = 1",
];

#[test]
fn a_parallel_scan_gives_what_a_serial_one_gives() {
    let server = server();
    let mut c = filled(&server);
    for table in ["t", "h"] {
        for query in QUERIES {
            let query = query.replace('$', table);
            let serial = sorted(&mut c, &with(&query, 1));
            assert!(
                !serial.is_empty() || query.contains("GROUP BY g"),
                "{query}"
            );
            assert_eq!(sorted(&mut c, &with(&query, 4)), serial, "{query}");
            let dirty = format!(
                "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; {}",
                with(&query, 3)
            );
            assert_eq!(sorted(&mut c, &dirty), serial, "{query}");
            ok(&mut c, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
        }
    }
}

/// The query, or its last part, under a hint.
fn with(query: &str, max_dop: u32) -> String {
    match query.split_once("; SELECT @n") {
        Some((first, _)) if query.ends_with("SELECT @n") => {
            format!("{first} OPTION (MAXDOP {max_dop}); SELECT @n")
        }
        _ => format!("{query} OPTION (MAXDOP {max_dop})"),
    }
}

/// Queries whose scans stay serial.
const SERIAL: &[&str] = &[
    "SELECT id, s FROM t ORDER BY id",
    "SELECT TOP 5 id FROM t WHERE s LIKE '%x%'",
    "SELECT id, s FROM t",
    "SELECT COUNT(*) FROM t WHERE id = 7 AND s LIKE '%x%'",
    "SELECT COUNT(*) FROM t WHERE id < 50",
    "SELECT SUM(f) FROM t",
    "SELECT COUNT(*) FROM t WITH (UPDLOCK) WHERE s LIKE '%x%'",
    "SELECT COUNT(*) FROM t WITH (HOLDLOCK) WHERE s LIKE '%x%'",
    "SELECT COUNT(*) FROM t WITH (PAGLOCK) WHERE s LIKE '%x%'",
    "SELECT COUNT(*) FROM t WHERE RAND(id) >= 0 AND s > ''",
    "SELECT COUNT(*) FROM t WHERE s = (SELECT MAX(s) FROM h WHERE id = 0)",
    // Helpers would meet the locks of their own session.
    "SELECT COUNT(*) FROM t a LEFT JOIN t b WITH (XLOCK) ON b.n = a.n + 1 AND b.id > 19990 \
     WHERE a.s LIKE '%x%' AND a.id > 19000",
    "SELECT (SELECT MAX(b.g) FROM t b WITH (REPEATABLEREAD) WHERE b.id = 5) FROM t a \
     WHERE a.s LIKE '%x9%'",
    // Groups in the order of their first rows.
    "SELECT TOP 3 g, COUNT(*) FROM t GROUP BY g",
    "SELECT STRING_AGG(g, ',') FROM (SELECT g FROM t GROUP BY g) x",
    "DECLARE @v varchar(max) = REPLICATE(CAST('x' AS varchar(max)), 100000); \
     SELECT COUNT(*) FROM t WHERE s LIKE '%x%'",
];

#[test]
fn a_scan_is_divided_only_where_nothing_else_changes() {
    let server = server();
    let mut c = filled(&server);
    let count = "SELECT COUNT(*) FROM t WHERE s LIKE '%x%'";
    assert_eq!(scans(&mut c, &with(count, 4)), 5);
    assert_eq!(scans(&mut c, &with(count, 2)), 3);
    assert_eq!(scans(&mut c, &with(count, 1)), 1);
    assert_eq!(
        scans(&mut c, &with("SELECT id FROM h WHERE s LIKE '%x9%'", 3)),
        4
    );
    for query in SERIAL {
        let alone = scans(&mut c, &with(query, 1));
        assert_eq!(scans(&mut c, &with(query, 4)), alone, "{query}");
    }
    ok(&mut c, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(scans(&mut c, &with(count, 4)), 1);
    ok(&mut c, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED");
    // Its own uncommitted rows are seen.
    ok(
        &mut c,
        "BEGIN TRANSACTION; UPDATE t SET s = 'xx' WHERE id = 1",
    );
    assert_eq!(scans(&mut c, &with(count, 4)), 1);
    ok(&mut c, "ROLLBACK");
    assert_eq!(scans(&mut c, &with(count, 4)), 5);
    // The options of the server.
    ok(
        &mut c,
        "EXEC sp_configure 'max degree of parallelism', 3; RECONFIGURE",
    );
    assert_eq!(scans(&mut c, count), 4);
    ok(
        &mut c,
        "EXEC sp_configure 'max degree of parallelism', 1; RECONFIGURE",
    );
    assert_eq!(scans(&mut c, count), 1);
    assert_eq!(scans(&mut c, &with(count, 2)), 3);
    ok(
        &mut c,
        "EXEC sp_configure 'cost threshold for parallelism', 5; RECONFIGURE",
    );
    assert_eq!(scans(&mut c, &with(count, 4)), 1);
}

#[test]
fn scans_are_divided_after_a_long_outer_value_and_for_a_single_user() {
    let server = server();
    let mut c = filled(&server);
    let count = with("SELECT COUNT(*) FROM t WHERE s LIKE '%x%'", 4);
    ok(
        &mut c,
        "SELECT (SELECT COUNT(*) FROM h WHERE h.s = d.body AND h.id < 3) FROM (SELECT \
         REPLICATE(CAST('x' AS VARCHAR(MAX)), 100000 + id % 2) AS body FROM t WHERE id = 5) d",
    );
    assert_eq!(scans(&mut c, &count), 5);
    ok(&mut c, "ALTER DATABASE p SET SINGLE_USER");
    assert_eq!(scans(&mut c, &count), 5);
}

/// Waits until a request of this session is in the queue of a lock.
fn wait_until_queued(c: &mut Connection, session: i32) {
    let sql = format!(
        "SELECT COUNT(*) FROM sys.dm_tran_locks
         WHERE request_session_id = {session} AND request_status = 'WAIT'"
    );
    while sorted(c, &sql) != [" 1"] {
        sleep(Duration::from_millis(2));
    }
}

/// Waits until this session waits for a lock.
fn wait_until_blocked(c: &mut Connection, session: i32) {
    let sql = format!(
        "SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE session_id = {session} AND wait_type LIKE 'LCK%'"
    );
    while sorted(c, &sql) != [" 1"] {
        sleep(Duration::from_millis(2));
    }
}

#[test]
fn the_session_waits_for_the_locks_that_its_threads_meet() {
    let server = server();
    let mut writer = filled(&server);
    let mut other = server.connect().unwrap();
    for table in ["t", "h"] {
        let change =
            format!("BEGIN TRANSACTION; UPDATE {table} SET n = 1000 WHERE id IN (7000, 19000)");
        ok(&mut writer, &change);
        let sum = format!("SELECT SUM(n) FROM {table} WHERE n >= 1000 OPTION (MAXDOP 4)");
        let mut reader = server.connect().unwrap();
        ok(&mut reader, "USE p");
        let nolock = sum.replace(" WHERE", " WITH (NOLOCK) WHERE");
        assert_eq!(sorted(&mut reader, &nolock), [" 2000"], "{table}");
        let timed_out = sorted(&mut reader, &format!("SET LOCK_TIMEOUT 1; {sum}"));
        assert_eq!(timed_out, ["Msg 1222"], "{table}");
        ok(&mut reader, "SET LOCK_TIMEOUT -1");
        let session = reader.id();
        let begun = spawn_named("reader", move || sorted(&mut reader, &sum));
        wait_until_blocked(&mut other, session);
        ok(&mut writer, "COMMIT");
        assert_eq!(begun.unwrap().join().unwrap(), [" 2000"], "{table}");
    }
}

#[test]
fn a_parallel_scan_waits_for_a_bounded_number_of_writers_of_a_row() {
    let server = server();
    let mut other = filled(&server);
    let lock = "USE p; BEGIN TRAN; SELECT n FROM t WITH (XLOCK, ROWLOCK) WHERE id = 7000";
    let mut reader = server.connect().unwrap();
    ok(&mut reader, "USE p");
    let mut writer = server.connect().unwrap();
    ok(&mut writer, lock);
    let session = reader.id();
    let reading = spawn_named("reader", move || {
        let count = "SELECT COUNT(*) FROM t WHERE s > '' OPTION (MAXDOP 4)";
        sorted(&mut reader, count)
    });
    // The first one is there already, the second one is granted its lock together with the reader.
    for _ in 0..2 {
        wait_until_queued(&mut other, session);
        let mut next = server.connect().unwrap();
        let next_session = next.id();
        let begun = spawn_named("writer", move || {
            ok(&mut next, lock);
            next
        });
        wait_until_queued(&mut other, next_session);
        ok(&mut writer, "COMMIT");
        writer = begun.unwrap().join().unwrap();
    }
    // The third one holds its lock until the reader has ended.
    let counted = within(Duration::from_secs(60), reading.unwrap(), "the scan");
    assert_eq!(counted, [format!(" {ROWS}")]);
    ok(&mut writer, "COMMIT");
}

#[test]
fn a_cancelled_parallel_scan_ends_and_leaves_no_thread() {
    let server = server();
    let mut writer = filled(&server);
    ok(
        &mut writer,
        "BEGIN TRANSACTION; UPDATE t SET n = 1000 WHERE id IN (7000, 19000)",
    );
    let mut reader = server.connect().unwrap();
    ok(&mut reader, "USE p");
    let (session, cancel) = (reader.id(), reader.canceller());
    let begun = spawn_named("reader", move || {
        let end = reader.execute(
            "SELECT SUM(n) FROM t WHERE n >= 1000 OPTION (MAXDOP 4)",
            &mut Kept::default(),
        );
        (end.cancelled, reader)
    });
    let mut other = server.connect().unwrap();
    wait_until_blocked(&mut other, session);
    cancel.cancel();
    let (cancelled, mut reader) = begun.unwrap().join().unwrap();
    assert!(cancelled);
    let threads =
        format!("SELECT COUNT(*) FROM sys.dm_os_waiting_tasks WHERE session_id = {session}");
    assert_eq!(sorted(&mut other, &threads), [" 0"]);
    let slow =
        "SELECT COUNT(*) FROM h WHERE REPLICATE(s, 40) LIKE '%a%a%a%b%b%c' OPTION (MAXDOP 4)";
    let cancel = reader.canceller();
    let begun = spawn_named("reader", move || {
        reader.execute(slow, &mut Kept::default()).cancelled
    });
    sleep(Duration::from_millis(30));
    cancel.cancel();
    // It has ended before, or it is cancelled; in no case does it go on.
    let _ = begun.unwrap().join().unwrap();
}

/// What a thread returns within this time.
fn within<T>(limit: Duration, thread: furrow_io::thread::JoinHandle<T>, what: &str) -> T {
    let begun = furrow_io::time::Moment::now();
    while !thread.is_finished() {
        assert!(begun.elapsed() < limit, "{what} does not end");
        sleep(Duration::from_millis(5));
    }
    thread.join().unwrap()
}

#[test]
fn a_scan_passes_rows_that_its_own_session_has_locked() {
    let server = server();
    let mut first = filled(&server);
    for table in ["t", "h"] {
        let mut one = server.connect().unwrap();
        let mut two = server.connect().unwrap();
        ok(&mut two, "USE p");
        let lock =
            format!("USE p; BEGIN TRAN; SELECT n FROM {table} WITH (HOLDLOCK) WHERE id = 7000");
        ok(&mut one, &lock.replace("HOLDLOCK", "REPEATABLEREAD"));
        let session = two.id();
        let change = format!("UPDATE {table} SET n = 1 WHERE id = 7000");
        let writer = spawn_named("writer", move || sorted(&mut two, &change)).unwrap();
        wait_until_blocked(&mut first, session);
        let count = format!("SELECT COUNT(*) FROM {table} WHERE s > '' OPTION (MAXDOP 4)");
        let past = count.replace(" WHERE", " WITH (READPAST) WHERE");
        let reader = spawn_named("reader", move || {
            let counted = (sorted(&mut one, &count), sorted(&mut one, &past));
            ok(&mut one, "COMMIT");
            counted
        });
        let all = vec![format!(" {ROWS}")];
        let counted = within(Duration::from_secs(60), reader.unwrap(), "the scan");
        assert_eq!(counted, (all.clone(), all), "{table}");
        assert!(writer.join().unwrap().is_empty());
    }
}

#[test]
fn helpers_end_in_the_middle_of_a_part_and_of_a_function() {
    let server = server();
    let mut writer = filled(&server);
    let mut c = server.connect().unwrap();
    ok(&mut c, "USE p");
    let slow = "SELECT COUNT(*) FROM h WHERE REPLICATE(CAST('a' AS VARCHAR(MAX)), 4000000 + id % 2) \
                LIKE '%' + REPLICATE('a', 3000) + 'b' OPTION (MAXDOP 4)";
    let cancel = c.canceller();
    let scan = spawn_named("scan", move || {
        (c.execute(slow, &mut Kept::default()).cancelled, c)
    });
    sleep(Duration::from_millis(250));
    cancel.cancel();
    let (cancelled, mut c) = within(Duration::from_secs(60), scan.unwrap(), "a cancelled scan");
    assert!(cancelled);
    // One helper waits for a lock, the others have work for hours.
    ok(
        &mut writer,
        "BEGIN TRANSACTION; UPDATE h SET n = 1000 WHERE id = 5",
    );
    let busy = "SET LOCK_TIMEOUT 1; SELECT COUNT(n) FROM h WHERE id < 6 OR \
                REPLICATE(CAST('a' AS VARCHAR(MAX)), 40000) LIKE '%' + REPLICATE('a', 3000) + 'b' \
                OPTION (MAXDOP 4)";
    let scan = spawn_named("scan", move || sorted(&mut c, busy));
    let ended = within(
        Duration::from_secs(60),
        scan.unwrap(),
        "a scan that waited too long",
    );
    assert_eq!(ended, ["Msg 1222"]);
}

#[test]
fn a_deadlock_through_a_parallel_scan_is_found() {
    let server = server();
    let mut one = filled(&server);
    let mut two = server.connect().unwrap();
    ok(&mut two, "USE p");
    ok(
        &mut one,
        "BEGIN TRANSACTION; UPDATE h SET n = 1 WHERE id = 5",
    );
    ok(
        &mut two,
        "BEGIN TRANSACTION; UPDATE t SET n = 1 WHERE id = 7000",
    );
    let session = two.id();
    let second = spawn_named("second", move || {
        sorted(
            &mut two,
            "SET DEADLOCK_PRIORITY LOW; SELECT COUNT(n) FROM h OPTION (MAXDOP 1)",
        )
    });
    let mut other = server.connect().unwrap();
    wait_until_blocked(&mut other, session);
    let first = sorted(
        &mut one,
        "SELECT COUNT(*) FROM t WHERE s > '' OPTION (MAXDOP 4)",
    );
    assert_eq!(second.unwrap().join().unwrap(), ["Msg 1205"]);
    assert_eq!(first, [format!(" {ROWS}")]);
}
