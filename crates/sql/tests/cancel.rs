//! Each operator and each long loop ends soon when its statement is cancelled or its session killed.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::thread::spawn_named;
use furrow_io::time::{Moment, sleep};
use furrow_sql::{Connection, Kept, Server, Sink};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A cancelled statement ends within this time. It is long: other tests run beside this one, without
/// optimisation. The time it takes is printed.
const BOUND: Duration = Duration::from_secs(2);

fn server() -> Arc<Server> {
    let config = InstanceConfig {
        pool_pages: 8192,
        ..InstanceConfig::default()
    };
    Server::start(Instance::in_memory(config).unwrap()).unwrap()
}

fn filled(server: &Arc<Server>) -> Connection {
    let mut connection = server.connect().unwrap();
    let mut kept = Kept::default();
    connection.execute(
        "CREATE TABLE s (n INT NOT NULL, one INT NOT NULL, t VARCHAR(20) NOT NULL);
         INSERT INTO s SELECT value, 1, CONCAT('t', value) FROM GENERATE_SERIES(1, 1000);
         CREATE TABLE k (n INT NOT NULL PRIMARY KEY, v INT NOT NULL);
         INSERT INTO k SELECT value, 0 FROM GENERATE_SERIES(1, 100000);
         CREATE TABLE f (n INT NOT NULL, p INT NOT NULL);",
        &mut kept,
    );
    assert!(kept.errors().is_empty(), "{:?}", kept.errors());
    connection
}

/// Takes no rows.
struct Nowhere(Kept);

impl Sink for Nowhere {
    fn columns(&mut self, _: &[furrow_sql::ResultColumn]) {}

    fn row(&mut self, _: &[furrow_types::Value]) {}

    fn done(&mut self, _: Option<u64>) {}

    fn notice(&mut self, notice: &furrow_sql::Notice) {
        self.0.notice(notice);
    }
}

/// Runs a batch that is cancelled after `delay`; gives how long it took to end, or what it said where it had
/// ended before.
fn cancelled(connection: &mut Connection, sql: &str, delay: Duration) -> Result<Duration, String> {
    let cancel = connection.canceller();
    let over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&over);
    let other = spawn_named("canceller", move || {
        let begun = Moment::now();
        while begun.elapsed() < delay && !seen.load(Ordering::Relaxed) {
            sleep(Duration::from_millis(2));
        }
        let at = Moment::now();
        cancel.cancel();
        at
    });
    let mut sink = Nowhere(Kept::default());
    let end = connection.execute(sql, &mut sink);
    over.store(true, Ordering::Relaxed);
    let at = other.unwrap().join().unwrap();
    match end.cancelled {
        true => Ok(at.elapsed()),
        false => Err(format!("{sql}: it ended by itself: {:?}", sink.0.errors())),
    }
}

/// A thousand million rows.
const BIG: &str = "(SELECT a.n + b.n * 1000 + c.n * 1000000 AS k, a.n, a.one, a.t \
     FROM s a CROSS JOIN s b CROSS JOIN s c) AS x";

/// What runs for minutes: each operator that pulls rows, and each loop that does not.
const LONG: &[&str] = &[
    // Joins.
    "SELECT COUNT(*) FROM s a, s b, s c WHERE a.n + b.n + c.n = -1",
    "SELECT COUNT(*) FROM s a LEFT JOIN s b ON a.n > b.n LEFT JOIN s c ON a.n + b.n + c.n = -1",
    "SELECT COUNT(*) FROM s a CROSS APPLY (SELECT COUNT(*) AS r FROM s b, s c WHERE b.n + c.n = -a.n) y",
    "SELECT COUNT(*) FROM s a JOIN $BIG ON x.k = a.n",
    "SELECT COUNT(*) FROM $BIG JOIN s a ON x.k = -a.n",
    "SELECT COUNT(*) FROM s a JOIN s b ON a.one = b.one JOIN s c ON c.one = b.one AND a.n + c.n = -1",
    "SELECT COUNT(*) FROM s a JOIN (SELECT b.one, b.n FROM s b, s c, s d) x ON a.one = x.one AND x.n = -a.n",
    "SELECT COUNT(*) FROM s a FULL JOIN $BIG ON x.k = -a.n",
    // Rows kept: sorts, groups, sets.
    "SELECT k FROM $BIG ORDER BY t, k DESC",
    "SELECT TOP 100000 k FROM $BIG ORDER BY t, k DESC",
    "SELECT TOP 10 PERCENT k FROM $BIG",
    "SELECT k FROM $BIG ORDER BY k OFFSET 100000000 ROWS FETCH NEXT 1 ROWS ONLY",
    "SELECT k FROM $BIG ORDER BY (SELECT NULL) OFFSET 900000000 ROWS",
    "SELECT DISTINCT k FROM $BIG",
    "SELECT n FROM s UNION SELECT k FROM $BIG",
    "SELECT k FROM $BIG EXCEPT SELECT n FROM s",
    "SELECT n FROM s INTERSECT SELECT k FROM $BIG",
    "SELECT one FROM $BIG UNION ALL SELECT one FROM s",
    "SELECT COUNT(*), SUM(CAST(k AS BIGINT)) FROM $BIG",
    "SELECT k, COUNT(*) FROM $BIG GROUP BY k",
    "SELECT one, n, COUNT(*) FROM $BIG GROUP BY CUBE (one, n)",
    "SELECT COUNT(DISTINCT k) FROM $BIG",
    "SELECT STRING_AGG(CAST(t AS VARCHAR(MAX)), ',') FROM $BIG",
    "SELECT STRING_AGG(CAST(t AS VARCHAR(MAX)), ',') WITHIN GROUP (ORDER BY k DESC) FROM $BIG",
    // Windows.
    "SELECT ROW_NUMBER() OVER (ORDER BY (SELECT NULL)) FROM $BIG",
    "SELECT ROW_NUMBER() OVER (PARTITION BY n ORDER BY k DESC) FROM $BIG",
    "SELECT SUM(n) OVER (), LAG(n) OVER (ORDER BY k), NTILE(4) OVER (ORDER BY k) FROM $BIG",
    "SELECT MIN(n) OVER (ORDER BY k ROWS BETWEEN 9 PRECEDING AND 9 FOLLOWING) FROM $BIG",
    // Recursion, subqueries, spools.
    "WITH r AS (SELECT 1 AS n UNION ALL SELECT n FROM r) SELECT COUNT(*) FROM r OPTION (MAXRECURSION 0)",
    "WITH r AS (SELECT 1 AS n UNION ALL SELECT r.n + b.n FROM r, s b, s c, s d
     WHERE b.n + c.n + d.n = -1)
     SELECT COUNT(*) FROM r OPTION (MAXRECURSION 0)",
    "SELECT COUNT(*) FROM s WHERE EXISTS (SELECT 1 FROM $BIG WHERE x.k = -s.n)",
    "SELECT COUNT(*) FROM s WHERE n IN (SELECT -k FROM $BIG)",
    "SELECT COUNT(*) FROM $BIG WHERE k > ALL (SELECT -n FROM s)",
    "SELECT COUNT(*) FROM $BIG WHERE -k IN (SELECT n FROM s)",
    "SELECT (SELECT MAX(b.n) FROM s b WHERE b.one = x.one AND b.n < x.n) FROM $BIG",
    "IF EXISTS (SELECT 1 FROM $BIG WHERE k < 0) PRINT 'there'",
    "DECLARE @x BIGINT = 0; SELECT @x = @x + k FROM $BIG",
    // Markup, table functions.
    "SELECT k, t FROM $BIG FOR XML PATH('r')",
    "SELECT k, t FROM $BIG FOR JSON PATH",
    "SELECT COUNT(*) FROM GENERATE_SERIES(CAST(1 AS BIGINT), CAST(1000000000000 AS BIGINT))",
    "SELECT COUNT(*) FROM STRING_SPLIT(REPLICATE(CAST('a,' AS VARCHAR(MAX)), 20000000), ',')",
    "DECLARE @j NVARCHAR(MAX) = '[1' + REPLICATE(CAST(',1' AS VARCHAR(MAX)), 10000000) + ']';
     SELECT COUNT(*) FROM OPENJSON(@j)",
    "SELECT COUNT(*) FROM sys.messages a, sys.messages b, sys.messages c, sys.messages d",
    // Texts.
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 4000000),
             @p VARCHAR(MAX) = '%' + REPLICATE('a', 3000) + 'b';
     IF @t LIKE @p PRINT 'like'",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 4000000);
     SELECT PATINDEX('%' + REPLICATE('a', 3000) + 'b', @t)",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 4000000);
     SELECT CHARINDEX(REPLICATE(CAST('a' AS VARCHAR(MAX)), 100000) + 'b', @t)",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 4000000);
     SELECT LEN(REPLACE(@t, REPLICATE(CAST('a' AS VARCHAR(MAX)), 100000) + 'b', ''))",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 20000000);
     WHILE 1 = 1 SET @t = UPPER(LOWER(@t))",
    "DECLARE @t NVARCHAR(MAX) = REPLICATE(CAST('a' AS NVARCHAR(MAX)), 20000000);
     WHILE 1 = 1 SET @t = REVERSE(@t)",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 20000000);
     WHILE 1 = 1 SET @t = REPLACE(@t, 'a', 'b')",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 20000000);
     WHILE 1 = 1 SET @t = TRANSLATE(@t, 'abcdef', 'bcdefg')",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('/' AS VARCHAR(MAX)), 10000000), @n INT;
     WHILE 1 = 1 SET @n = LEN(STRING_ESCAPE(@t, 'json'))",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 40000000), @n BIGINT;
     WHILE 1 = 1 SET @n = CHECKSUM(@t) + BINARY_CHECKSUM(@t)",
    "DECLARE @t NVARCHAR(MAX) = REPLICATE(CAST('a' AS NVARCHAR(MAX)), 40000000), @b VARBINARY(64);
     WHILE 1 = 1 SET @b = HASHBYTES('SHA2_512', @t)",
    "DECLARE @b VARBINARY(MAX) = CAST(REPLICATE(CAST('a' AS VARCHAR(MAX)), 20000000) AS VARBINARY(MAX));
     WHILE 1 = 1 SET @b = CONVERT(VARBINARY(MAX), CONVERT(VARCHAR(MAX), @b, 2), 2)",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 40000000), @n INT;
     WHILE 1 = 1 IF @t = @t + 'b' OR @t COLLATE Latin1_General_BIN2 > @t SET @n = 1",
    "DECLARE @t VARCHAR(MAX) = REPLICATE(CAST('a' AS VARCHAR(MAX)), 40000000), @u VARCHAR(MAX);
     WHILE 1 = 1 SET @u = @t + CONCAT(@t, 'b') + REPLICATE(@t, 2)",
    // Statements that change rows, and loops.
    "INSERT INTO f SELECT n, k FROM $BIG",
    "INSERT INTO f WITH (TABLOCK) SELECT n, k FROM $BIG",
    "SELECT k INTO g FROM $BIG",
    "UPDATE k SET v += 1 FROM k, s a, s b, s c WHERE a.n + b.n + c.n = -k.n",
    "WHILE 1 = 1 UPDATE k SET v += 1",
    "WHILE 1 = 1 UPDATE k SET n += 1",
    "WHILE 1 = 1 BEGIN BEGIN TRAN; DELETE FROM k; ROLLBACK END",
    "DELETE FROM k WHERE n IN (SELECT -x.k FROM $BIG)",
    "MERGE k USING (SELECT x.k FROM $BIG) AS y ON k.n = -y.k WHEN MATCHED THEN DELETE;",
    "MERGE k USING (SELECT x.k FROM $BIG) AS y ON k.n = -y.k WHEN NOT MATCHED THEN INSERT VALUES (y.k, 0);",
    "INSERT f EXEC ('SELECT n, k FROM $BIG')",
    "INSERT f EXEC ('SELECT n, one FROM s; WHILE 1 = 1 SELECT n, one FROM s WHERE n < 10')",
    "WHILE 1 = 1 EXEC ('EXEC (''EXEC (SELECT 1)'')')",
    "WHILE 1 = 1 BEGIN CREATE INDEX i ON k (v, n); DROP INDEX i ON k END",
    "WHILE 1 = 1 ALTER INDEX ALL ON k REBUILD",
    "WHILE 1 = 1 SET NOCOUNT ON",
    "WAITFOR DELAY '01:00:00'",
];

#[test]
fn every_operator_ends_soon_when_its_statement_is_cancelled() {
    let server = server();
    let mut connection = filled(&server);
    let mut slow = Vec::new();
    let mut worst = Duration::ZERO;
    for sql in LONG {
        let sql = sql.replace("$BIG", BIG);
        for delay in [20, 250].map(Duration::from_millis) {
            match cancelled(&mut connection, &sql, delay) {
                Ok(took) => {
                    println!("{:>6} us after {delay:?}: {sql}", took.as_micros());
                    worst = worst.max(took);
                    if took > BOUND {
                        slow.push(format!("{took:?}: {sql}"));
                    }
                }
                Err(ended) => slow.push(ended),
            }
            // A batch that ends between its DELETE and its ROLLBACK leaves its transaction open.
            let mut kept = Kept::default();
            connection.execute("IF @@TRANCOUNT > 0 ROLLBACK", &mut kept);
        }
    }
    println!("the slowest took {worst:?}");
    assert!(slow.is_empty(), "{slow:#?}");
    // What was cancelled has changed nothing, and the connection goes on.
    let mut kept = Kept::default();
    connection.execute(
        "SELECT (SELECT COUNT(*) FROM f), (SELECT COUNT(*) FROM k)",
        &mut kept,
    );
    let counts: Vec<_> = kept.sets[0].rows[0]
        .iter()
        .map(furrow_types::Value::as_i64)
        .collect();
    assert_eq!(counts, [Some(0), Some(100_000)]);
}

#[test]
fn rows_that_go_through_files_are_cancelled_soon() {
    let server = server();
    let mut connection = filled(&server);
    connection.limit_query_memory(4 << 20);
    let kept = LONG.iter().filter(|sql| {
        let keeps = [
            "ORDER BY",
            "GROUP BY",
            "DISTINCT",
            "JOIN",
            "OVER",
            "EXCEPT",
            "INTERSECT",
        ];
        let refused = ["STRING_AGG", "FOR ", "CHARINDEX"];
        keeps.iter().any(|word| sql.contains(word))
            && !refused.iter().any(|word| sql.contains(word))
    });
    for sql in kept {
        let sql = sql.replace("$BIG", BIG);
        let took = cancelled(&mut connection, &sql, Duration::from_millis(400)).unwrap();
        println!("{:>6} us: {sql}", took.as_micros());
        assert!(took < BOUND, "{took:?}: {sql}");
    }
}

#[test]
fn kill_ends_a_join_of_another_session() {
    let server = server();
    let mut one = filled(&server);
    let id = one.id();
    let running = spawn_named("killed", move || {
        let mut kept = Kept::default();
        let end = one.execute(LONG[0], &mut kept);
        (
            end,
            kept.errors().iter().map(|e| e.number).collect::<Vec<_>>(),
        )
    });
    let mut other = server.connect().unwrap();
    sleep(Duration::from_millis(100));
    let mut kept = Kept::default();
    let begun = Moment::now();
    other.execute(&format!("KILL {id}"), &mut kept);
    assert!(kept.errors().is_empty(), "{:?}", kept.errors());
    let (end, errors) = running.unwrap().join().unwrap();
    let took = begun.elapsed();
    println!("killed within {took:?}");
    assert!(end.cancelled && errors == [596], "{errors:?}");
    assert!(took < BOUND, "{took:?}");
}
