//! Correlated subqueries without an index read their table twice at most, not once for each row around them.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_sql::{Connection, Kept, Server};

const ROWS: usize = 2000;

fn connect() -> Connection {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    let mut connection = server.connect().unwrap();
    let mut kept = Kept::default();
    for table in ["a", "b"] {
        let make = format!("CREATE TABLE {table} (id INT NOT NULL, v INT NOT NULL)");
        connection.execute(&make, &mut kept);
        for from in (0..ROWS).step_by(1000) {
            let rows: Vec<String> = (from..from + 1000).map(|n| format!("({n}, {n})")).collect();
            let insert = format!("INSERT INTO {table} VALUES {}", rows.join(","));
            connection.execute(&insert, &mut kept);
        }
    }
    connection.execute("SET STATISTICS IO ON", &mut kept);
    assert!(kept.errors().is_empty());
    connection
}

/// The only value, and how many pages of table `b` were read.
fn run(connection: &mut Connection, sql: &str) -> (Option<i64>, u64) {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    assert!(kept.errors().is_empty(), "{sql}: {:?}", kept.errors());
    let value = kept
        .sets
        .first()
        .and_then(|set| set.rows.first()?.first()?.as_i64());
    let line = kept
        .notices
        .iter()
        .map(|notice| notice.message.text.clone());
    let line = line
        .into_iter()
        .find(|text| text.starts_with("Table 'b'"))
        .unwrap();
    let reads = line.split("logical reads ").nth(1).unwrap();
    let reads = reads.split([',', '.']).next().unwrap().parse().unwrap();
    (value, reads)
}

#[test]
fn a_correlated_subquery_without_an_index_does_not_read_its_table_for_each_row() {
    let mut connection = connect();
    let (_, whole) = run(&mut connection, "SELECT SUM(v) FROM b");
    for (sql, expected) in [
        (
            "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.v = a.id)",
            2000,
        ),
        (
            "SELECT COUNT(*) FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.v = a.id + 10)",
            10,
        ),
        (
            "SELECT COUNT(*) FROM a WHERE a.v IN (SELECT b.v FROM b WHERE b.id = a.id)",
            2000,
        ),
        (
            "SELECT COUNT(*) FROM a WHERE (SELECT MAX(b.v) FROM b WHERE b.id = a.id) = a.v",
            2000,
        ),
        (
            "SELECT COUNT(*) FROM a CROSS APPLY (SELECT TOP 1 b.v FROM b WHERE b.id = a.id) AS x",
            2000,
        ),
    ] {
        let (value, reads) = run(&mut connection, sql);
        assert_eq!(value, Some(expected), "{sql}");
        assert!(
            reads <= 2 * whole,
            "{sql}: {reads} reads, a scan takes {whole}"
        );
    }
}

#[test]
fn where_there_is_no_room_to_keep_the_rows_they_are_read_again() {
    let mut connection = connect();
    connection.limit_query_memory(1000);
    let sql = "SELECT COUNT(*) FROM a WHERE id < 20 AND EXISTS (SELECT 1 FROM b WHERE b.v = a.id)";
    assert_eq!(run(&mut connection, sql).0, Some(20));
}
