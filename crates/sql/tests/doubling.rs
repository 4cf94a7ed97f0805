//! Statements of few words that stand for very many sources.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_sql::{Connection, Kept, Server};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn connect() -> Connection {
    let config = InstanceConfig {
        pool_pages: 2048,
        ..InstanceConfig::default()
    };
    let server = Server::start(Instance::in_memory(config).unwrap()).unwrap();
    server.connect().unwrap()
}

/// Common table expressions, each of which names the one before twice.
fn doubled(levels: usize) -> String {
    let level = |at: usize| {
        let of = at - 1;
        format!(", c{at} AS (SELECT x.a FROM c{of} x CROSS JOIN c{of} y)")
    };
    let all: String = (1..=levels).map(level).collect();
    format!("WITH c0 AS (SELECT 1 a){all} SELECT COUNT(*) FROM c{levels}")
}

#[test]
fn definitions_that_double_at_each_level_are_refused() {
    let mut connection = connect();
    let mut kept = Kept::default();
    connection.execute(&doubled(25), &mut kept);
    let error = *kept.errors().first().unwrap();
    assert_eq!((error.number, error.level, error.state), (8623, 16, 1));
    assert!(
        error
            .text
            .starts_with("The query processor ran out of internal resources")
    );
    // The connection goes on, and what is less is done.
    let mut kept = Kept::default();
    connection.execute(&doubled(8), &mut kept);
    assert!(kept.errors().is_empty());
    assert_eq!(kept.sets[0].rows[0][0].as_i64(), Some(1));
}

#[test]
fn a_statement_is_cancelled_while_its_sources_are_bound() {
    let mut connection = connect();
    let canceller = connection.canceller();
    let ended = AtomicBool::new(false);
    let mut kept = Kept::default();
    let end = furrow_io::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                canceller.cancel();
                furrow_io::time::sleep(Duration::from_millis(1));
            }
        });
        let end = connection.execute(&doubled(25), &mut kept);
        ended.store(true, Ordering::Relaxed);
        end
    });
    assert!(end.cancelled, "{:?}", kept.errors());
}
