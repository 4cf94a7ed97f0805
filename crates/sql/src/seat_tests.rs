//! Tests of which databases a connection has a session in.

use crate::{Connection, Kept, Server};
use furrow_engine::{Instance, InstanceConfig};

fn run(connection: &mut Connection, sql: &str) {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    assert!(kept.errors().is_empty(), "{sql}: {:?}", kept.errors());
}

/// Whether the connection has a session in tempdb that takes part in its transaction.
fn is_in_tempdb(connection: &Connection) -> bool {
    let cx = connection.cx.lock();
    let tempdb = cx.server.instance().database("tempdb").expect("tempdb");
    cx.sessions.is_in(tempdb.id())
}

/// What a batch does with a table variable of three rows.
const USES: &[&str] = &[
    "",
    "SELECT b FROM @t WHERE a = 1",
    "SELECT a FROM @t WHERE b > 10",
    "SELECT x.a FROM @t x JOIN @t y ON x.a = y.b",
    "UPDATE @t SET b = b + 1 WHERE a = 2",
    "UPDATE @t SET b = b + 1",
    "UPDATE t SET b = 5 OUTPUT inserted.b FROM @t t JOIN (VALUES (2)) s (a) ON t.a = s.a",
    "INSERT @t WITH (TABLOCK) SELECT a + 10, b + 100 FROM @t",
    "MERGE @t t USING (VALUES (3)) s (a) ON t.a = s.a WHEN MATCHED THEN DELETE;",
    "DELETE @t WHERE a = 1",
    "DELETE @t",
    "INSERT @t SELECT a + 10, b + 100 FROM @t",
    "DECLARE c CURSOR LOCAL FOR SELECT a FROM @t; OPEN c; FETCH c",
    "BEGIN TRY INSERT @t VALUES (1, 5) END TRY BEGIN CATCH END CATCH",
];

/// A session in tempdb would join the transaction: what a delayed commit follows would be made durable.
#[test]
fn uses_of_a_table_variable_open_no_session_in_tempdb() {
    let instance = Instance::in_memory(InstanceConfig::default()).expect("an instance");
    let server = Server::start(instance).expect("a server");
    let mut connection = server.connect().expect("a connection");
    run(&mut connection, "CREATE DATABASE d");
    run(&mut connection, "USE d");
    let declared = "DECLARE @t TABLE (a INT PRIMARY KEY, b INT UNIQUE);
        INSERT @t VALUES (1, 10), (2, 20), (3, 30);";
    for what in USES {
        // At the end of the transaction the session would be closed.
        let batch = format!("BEGIN TRANSACTION; {declared} {what}");
        run(&mut connection, &batch);
        assert!(!is_in_tempdb(&connection), "{what}");
        run(&mut connection, "ROLLBACK");
    }
    let temporary = "BEGIN TRANSACTION; CREATE TABLE #t (a INT)";
    run(&mut connection, temporary);
    assert!(is_in_tempdb(&connection), "a temporary table needs one");
}
