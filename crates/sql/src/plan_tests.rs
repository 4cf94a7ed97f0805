//! Tests of `Plan::reads` for each kind of operator, and that a plan is printed without the plans below it.

use crate::{Connection, Kept, Server};
use furrow_bind::Binder;
use furrow_engine::{Instance, InstanceConfig};
use furrow_tsql::ast::Statement;

fn connect(pool_pages: usize) -> Connection {
    let config = InstanceConfig {
        pool_pages,
        ..InstanceConfig::default()
    };
    let instance = Instance::in_memory(config).expect("an instance");
    let server = Server::start(instance).expect("a server");
    let mut connection = server.connect().expect("a connection");
    let mut kept = Kept::default();
    let tables = "CREATE TABLE t (a INT PRIMARY KEY, b INT); CREATE TABLE u (a INT, b INT)";
    connection.execute(tables, &mut kept);
    assert!(kept.errors().is_empty());
    connection
}

/// Whether the plan of a query reads `t`, and the length of its printed form.
fn reads_t(connection: &Connection, sql: &str) -> (bool, usize) {
    let mut cx = connection.cx.lock();
    let parsed = furrow_context::parse::parse(sql, &cx).expect("a query");
    let Some(Statement::Select(query)) = parsed.into_iter().next().map(|s| s.kind) else {
        panic!("{sql} is no query");
    };
    let db = std::sync::Arc::clone(cx.sessions.database());
    let session = cx.sessions.of(&db).expect("a session");
    let table = session.table_in("dbo", "t").expect("the table");
    let bound = Binder::new(&mut cx).query(&query).expect("a plan");
    let printed = format!("{:?}", bound.plan).len();
    (bound.plan.reads(db.id(), table.id()), printed)
}

/// Queries of every kind of operator, with `{}` for a table.
const QUERIES: &[&str] = &[
    "SELECT a FROM {}",
    "SELECT a FROM {} WHERE a = 1 AND b > 2",
    "SELECT a + 1 FROM {} ORDER BY b",
    "SELECT TOP (3) a FROM {} ORDER BY b",
    "SELECT DISTINCT a FROM {}",
    "SELECT COUNT(*) FROM {} GROUP BY b HAVING COUNT(*) > 1",
    "SELECT a FROM {} UNION ALL SELECT 1",
    "SELECT 1 EXCEPT SELECT a FROM {}",
    "SELECT ROW_NUMBER() OVER (PARTITION BY b ORDER BY a) FROM {}",
    "SELECT x.a FROM {} x JOIN {} y ON x.a = y.b",
    "SELECT x.a FROM (VALUES (1)) x (a) LEFT JOIN {} y ON x.a = y.a",
    "SELECT x.a FROM (VALUES (1)) x (a) CROSS APPLY (SELECT b FROM {} y WHERE y.a = x.a) z",
    "SELECT a FROM {} FOR JSON PATH",
    "SELECT (SELECT MAX(a) FROM {})",
    "SELECT 1 WHERE EXISTS (SELECT 1 FROM {})",
    "SELECT 1 WHERE 2 IN (SELECT b FROM {})",
    "SELECT x.a FROM (VALUES (1)) x (a) WHERE EXISTS (SELECT 1 FROM {} y WHERE y.b = x.a)",
    "SELECT SUM(x.a) OVER (ORDER BY (SELECT MIN(a) FROM {} WHERE a > x.a)) FROM (VALUES (1)) x (a)",
    "SELECT CASE WHEN x.a > (SELECT MAX(b) FROM {}) THEN 1 END FROM (VALUES (1)) x (a)",
    "SELECT value FROM GENERATE_SERIES(1, (SELECT MAX(a) FROM {}))",
    "SELECT * FROM (VALUES ((SELECT MAX(a) FROM {}))) x (a)",
    "SELECT TOP (SELECT MAX(a) FROM {}) 1 FROM (VALUES (1)) x (a)",
    "WITH r AS (SELECT a FROM {} UNION ALL SELECT a + 1 FROM r WHERE a < 5) SELECT * FROM r",
    "WITH r AS (SELECT 1 a UNION ALL SELECT x.b FROM r JOIN {} x ON x.a = r.a) SELECT * FROM r",
];

#[test]
fn a_table_is_found_wherever_a_plan_reads_it() {
    let connection = connect(2048);
    for query in QUERIES {
        let (reads, _) = reads_t(&connection, &query.replace("{}", "t"));
        assert!(reads, "{query}");
        let (reads, _) = reads_t(&connection, &query.replace("{}", "u"));
        assert!(!reads, "{query}");
    }
}

#[test]
fn a_plan_is_printed_without_the_buffer_pool_below_it() {
    let (small, large) = (connect(2048), connect(4096));
    for query in QUERIES {
        let query = query.replace("{}", "t");
        let (_, printed) = reads_t(&small, &query);
        assert!(printed < 20_000, "{query}: {printed} characters");
        let (_, of_large) = reads_t(&large, &query);
        assert!(
            of_large < printed + 100,
            "{query}: {of_large} characters, not {printed}"
        );
    }
}
