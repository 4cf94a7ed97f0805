//! A connection to an instance in memory, and batches that must not fail.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_sql::{Connection, Kept, Server};

pub(crate) fn connect() -> Connection {
    let config = InstanceConfig {
        pool_pages: 4096,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    server.connect().unwrap()
}

pub(crate) fn run(connection: &mut Connection, sql: &str) -> Kept {
    let mut kept = Kept::default();
    connection.execute(sql, &mut kept);
    let start: String = sql.chars().take(200).collect();
    assert!(kept.errors().is_empty(), "{start}: {:?}", kept.errors());
    kept
}
