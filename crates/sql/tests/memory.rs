//! What statements keep in memory has a limit: what asks for more is refused, and nothing else suffers.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_sql::{Connection, Kept, Server};

const ROWS: i64 = 4000;

fn connect() -> Connection {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    let mut connection = server.connect().unwrap();
    run(
        &mut connection,
        "CREATE TABLE t (id INT NOT NULL, v VARCHAR(100) NOT NULL)",
    );
    for from in (0..ROWS).step_by(1000) {
        let row = |n: i64| format!("({n}, '{n:0100}')");
        let rows: Vec<String> = (from..from + 1000).map(row).collect();
        run(
            &mut connection,
            &format!("INSERT INTO t VALUES {}", rows.join(",")),
        );
    }
    connection
}

/// The first number of the first row, or the number of the first error, negative.
fn run(connection: &mut Connection, sql: &str) -> Option<i64> {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    if let Some(error) = kept.errors().first() {
        return Some(-i64::from(error.number));
    }
    kept.sets.first()?.rows.first()?.first()?.as_i64()
}

const KEEPERS: &[&str] = &[
    "SELECT COUNT(*) FROM (SELECT v, COUNT(*) AS n FROM t GROUP BY v) AS x",
    "SELECT COUNT(*) FROM (SELECT DISTINCT v FROM t) AS x",
    "SELECT COUNT(*) FROM (SELECT v FROM t UNION SELECT v FROM t) AS x",
    "SELECT COUNT(*) FROM t AS a JOIN t AS b ON a.v = b.v",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (ORDER BY v) AS n FROM t) AS x",
    "SELECT COUNT(DISTINCT v) FROM t",
    "SELECT COUNT(*) FROM (SELECT TOP 4000 v FROM t ORDER BY v DESC) AS x",
    "SELECT COUNT(*) FROM t WHERE v IN (SELECT v FROM t)",
];

#[test]
fn what_keeps_too_much_is_refused_and_the_connection_goes_on() {
    let mut connection = connect();
    for sql in KEEPERS {
        connection.limit_query_memory(200_000);
        assert_eq!(run(&mut connection, sql), Some(-701), "{sql}");
        // What it had kept is given back, and what keeps little is not refused.
        assert_eq!(
            run(&mut connection, "SELECT COUNT(*) FROM t"),
            Some(ROWS),
            "{sql}"
        );
        let few = "SELECT COUNT(*) FROM (SELECT DISTINCT id % 10 AS d FROM t) AS x";
        assert_eq!(run(&mut connection, few), Some(10), "{sql}");
        connection.limit_query_memory(50_000_000);
        assert_eq!(run(&mut connection, sql), Some(ROWS), "{sql}");
    }
}

#[test]
fn the_first_of_many_sorted_rows_take_little() {
    let mut connection = connect();
    connection.limit_query_memory(200_000);
    let first = "SELECT TOP 5 id FROM t ORDER BY v DESC";
    assert_eq!(run(&mut connection, first), Some(ROWS - 1));
    let page = "SELECT id FROM t ORDER BY v OFFSET 100 ROWS FETCH NEXT 5 ROWS ONLY";
    assert_eq!(run(&mut connection, page), Some(100));
    let all = "SELECT id FROM t ORDER BY v DESC";
    assert_eq!(run(&mut connection, all), Some(-701));
}

#[test]
fn a_statement_that_is_refused_leaves_nothing_behind() {
    let mut connection = connect();
    connection.limit_query_memory(200_000);
    assert_eq!(
        run(&mut connection, "INSERT INTO t SELECT id, v FROM t"),
        Some(-701)
    );
    assert_eq!(run(&mut connection, "SELECT COUNT(*) FROM t"), Some(ROWS));
}
