//! SINGLE_USER, and what ALTER DATABASE does about other connections.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_engine::{Instance, InstanceConfig};
use furrow_io::thread::spawn_named;
use furrow_io::time::{Duration, sleep};
use furrow_sql::{Connection, Kept, Server};
use std::sync::Arc;

fn server() -> Arc<Server> {
    let config = InstanceConfig {
        pool_pages: 1024,
        ..InstanceConfig::default()
    };
    Server::start(Instance::in_memory(config).unwrap()).unwrap()
}

/// Runs a batch; gives the numbers of the errors.
fn run(connection: &mut Connection, text: &str) -> Vec<u32> {
    let mut kept = Kept::default();
    connection.execute(text, &mut kept);
    kept.errors().iter().map(|m| m.number).collect()
}

#[test]
fn one_connection_at_a_time_is_in_a_single_user_database() {
    let server = server();
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    assert!(
        run(
            &mut first,
            "CREATE DATABASE d; ALTER DATABASE d SET SINGLE_USER"
        )
        .is_empty()
    );
    assert!(run(&mut first, "USE d; CREATE TABLE t (id INT)").is_empty());
    assert_eq!(run(&mut second, "USE d"), [924]);
    assert_eq!(run(&mut second, "SELECT id FROM d.dbo.t"), [924]);
    // Nobody but the one user changes the options.
    assert_eq!(
        run(
            &mut second,
            "ALTER DATABASE d SET MULTI_USER WITH ROLLBACK IMMEDIATE"
        ),
        [5064, 5069]
    );
    assert_eq!(
        run(&mut second, "ALTER DATABASE d SET RECOVERY FULL"),
        [5064, 5069]
    );
    assert!(run(&mut first, "ALTER DATABASE d SET RECOVERY FULL").is_empty());
    assert!(run(&mut first, "USE master").is_empty());
    assert!(run(&mut second, "USE d").is_empty());
    assert!(run(&mut second, "ALTER DATABASE d SET MULTI_USER").is_empty());
    assert!(run(&mut first, "USE d").is_empty());
}

#[test]
fn a_change_that_does_not_wait_is_refused_while_others_are_there() {
    let server = server();
    let (mut first, mut second) = (server.connect().unwrap(), server.connect().unwrap());
    assert!(run(&mut first, "CREATE DATABASE d").is_empty());
    assert!(run(&mut second, "USE d").is_empty());
    for (option, number) in [
        ("SINGLE_USER", 5061),
        ("READ_ONLY", 5070),
        ("OFFLINE", 5070),
    ] {
        let reported = run(
            &mut first,
            &format!("ALTER DATABASE d SET {option} WITH NO_WAIT"),
        );
        assert_eq!(reported, [number, 5069], "{option}");
    }
    let reported = run(
        &mut first,
        "SET LOCK_TIMEOUT 50; ALTER DATABASE d SET SINGLE_USER",
    );
    assert_eq!(reported, [5061, 5069]);
    assert!(
        run(
            &mut first,
            "ALTER DATABASE d SET RESTRICTED_USER WITH NO_WAIT"
        )
        .is_empty()
    );
    assert!(run(&mut second, "USE master").is_empty());
    assert!(run(&mut first, "ALTER DATABASE d SET SINGLE_USER WITH NO_WAIT").is_empty());
}

#[test]
fn rollback_immediate_ends_the_others_and_undoes_what_they_did() {
    let server = server();
    let mut first = server.connect().unwrap();
    assert!(
        run(
            &mut first,
            "CREATE DATABASE d; CREATE TABLE d.dbo.t (id INT)"
        )
        .is_empty()
    );
    let mut other = server.connect().unwrap();
    let worker = spawn_named("other", move || {
        run(
            &mut other,
            "USE d; BEGIN TRAN; INSERT INTO t VALUES (1); WAITFOR DELAY '00:10:00'",
        )
    });
    let db = server.instance().database("d").unwrap();
    while db.users() == 0 || server.instance().locks().snapshot().is_empty() {
        sleep(Duration::from_millis(5));
    }
    drop(db);
    let mut kept = Kept::default();
    first.execute(
        "ALTER DATABASE d SET SINGLE_USER WITH ROLLBACK IMMEDIATE",
        &mut kept,
    );
    assert!(kept.errors().is_empty(), "{:?}", kept.errors());
    assert!(kept.notices.iter().any(|n| n.message.number == 5060));
    worker.unwrap().join().unwrap();
    let mut kept = Kept::default();
    first.execute("SELECT COUNT(*) FROM d.dbo.t", &mut kept);
    assert_eq!(kept.sets[0].rows[0][0].as_i64(), Some(0));
}

#[test]
fn who_waits_gets_the_database_when_the_others_have_left() {
    let server = server();
    let mut first = server.connect().unwrap();
    assert!(run(&mut first, "CREATE DATABASE d").is_empty());
    let mut other = server.connect().unwrap();
    assert!(run(&mut other, "USE d").is_empty());
    let worker = spawn_named("other", move || {
        run(&mut other, "WAITFOR DELAY '00:00:00.2'; USE master")
    });
    assert!(run(&mut first, "ALTER DATABASE d SET READ_ONLY").is_empty());
    assert!(worker.unwrap().join().unwrap().is_empty());
}
