//! KILL at a moment at which it could be lost.

use crate::{Connection, Kept, Server};
use furrow_engine::{Instance, InstanceConfig};
use std::sync::Arc;

fn server() -> Arc<Server> {
    let instance = Instance::in_memory(InstanceConfig::default()).expect("an instance");
    Server::start(instance).expect("a server")
}

fn numbers(connection: &mut Connection, sql: &str) -> Vec<u32> {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    kept.errors().iter().map(|error| error.number).collect()
}

/// KILL finds the connection's lock taken, so it leaves the rest to the batch, which has not begun yet.
#[test]
fn a_kill_between_the_lock_of_a_connection_and_its_batch_is_not_lost() {
    let server = server();
    let mut connection = server.connect().expect("a connection");
    let setup = "CREATE TABLE t (a INT); BEGIN TRAN; INSERT t VALUES (1)";
    assert!(numbers(&mut connection, setup).is_empty());
    let id = connection.id();
    let context = Arc::clone(&connection.cx);
    let mut cx = context.lock();
    assert!(cx.server.kill(id), "the connection exists");
    assert!(
        cx.sessions.task().is_cancelled(),
        "KILL has cancelled what it takes for a batch"
    );
    assert!(
        !connection.begins(&mut cx, "WAITFOR DELAY '01:00:00'"),
        "the batch may not run"
    );
    assert!(
        !cx.sessions.task().is_cancelled(),
        "only the mark of KILL is left"
    );
    drop(cx);
    assert_eq!(numbers(&mut connection, "SELECT 1"), [596]);
    assert_eq!(connection.transactions(), 0);
}
