//! A commit that cannot be written: what depends on it reaches no client, and is gone when the database is
//! opened again.

use super::house::{House, LOG, Opens, X_OF_ROWS, tried, values};
use furrow_io::sim::{Effect, Fault, Ops};
use furrow_io::thread::scope;
use furrow_messages::Message;
use furrow_sql::{Kept, Notice};
use furrow_types::Value;
use std::sync::Arc;

/// A client that depends on the commit: its batch, and the requests by which it is seen to wait.
type Client = (&'static str, (&'static str, i64));

/// It waits for the row.
const WAITS: (&str, i64) = ("resource_type = 'KEY' AND request_status = 'WAIT'", 1);
/// It has locked the row, as the commit before and two commits of other rows have.
const FOLLOWS: (&str, i64) = (X_OF_ROWS, 4);

/// A commit that changes row 1 and cannot be written.
const CHANGE: &str = "UPDATE t SET v = 1 WHERE id = 1";

/// This batch cannot be committed: the log fails once the clients depend on it. Returns what its client got,
/// and what the others got.
fn fail(house: &House, lost: &'static str, clients: &[Client]) -> (Kept, Vec<Kept>) {
    house.gate.close();
    scope(|s| {
        let _opens = Opens(Arc::clone(&house.gate));
        let start = |batch: &'static str| {
            let mut connection = house.connect();
            s.spawn(move || tried(&mut connection, batch))
        };
        // The log has two writes under way at most: the third commit waits for its turn.
        let second = start("UPDATE t SET v = 7 WHERE id = 2");
        house.gate.until_reached(1);
        let third = start("UPDATE t SET v = 7 WHERE id = 3");
        house.gate.until_reached(2);
        let fault = Fault::new(Ops::Changes, Effect::Fail).under(LOG).sticky();
        house.volume.inject(fault);
        let lost = start(lost);
        house.until_writers(3);
        let mut others = Vec::new();
        for &(batch, (which, many)) in clients {
            others.push(start(batch));
            house.until_locks(which, many);
        }
        house.gate.open();
        // The log may fail before their sessions read that their own writes have ended.
        for durable in [second, third] {
            drop(durable.join().unwrap());
        }
        let lost = lost.join().unwrap();
        let others = others.into_iter().map(|other| other.join().unwrap());
        (lost, others.collect())
    })
}

/// The clients get an error and nothing else but the message of USE, and the row is as it was before.
fn is_lost_to(clients: &[Client]) {
    batch_is_lost_to(CHANGE, clients);
}

fn batch_is_lost_to(lost: &'static str, clients: &[Client]) {
    let house = House::new();
    let (lost, others) = fail(&house, lost, clients);
    for (kept, batch) in [(&lost, "the commit")]
        .into_iter()
        .chain(others.iter().zip(clients.iter().map(|client| client.0)))
    {
        assert!(!kept.errors().is_empty(), "{batch}: {kept:?}");
        let of_device = |message: &&Message| [823, 926, 9001].contains(&message.number);
        assert!(kept.errors().iter().all(of_device), "{batch}: {kept:?}");
        let given = |notice: &&Notice| notice.message.number != 5701;
        let notices = kept.notices.iter().filter(given).count();
        assert_eq!(kept.errors().len(), notices, "{batch}: {kept:?}");
        assert!(kept.counts.is_empty(), "{batch}: {kept:?}");
        let rows = kept.sets.iter().map(|set| set.rows.len());
        assert_eq!(rows.sum::<usize>(), 0, "{batch}: {kept:?}");
    }
    house.volume.heal();
    house.server.instance().reopen_database("d").unwrap();
    assert_eq!(values(&house), [Value::Int(0)], "{clients:?}");
}

#[test]
fn a_reader_that_waits_for_a_commit_that_is_lost_gets_no_row() {
    for batch in [
        "SELECT v FROM t WHERE id = 1",
        "SELECT COUNT(*) FROM t WHERE v = 1",
        "BEGIN TRAN; SELECT v FROM t WHERE id = 1; COMMIT",
        "DECLARE @v INT; SELECT @v = v FROM t WHERE id = 1; PRINT @v",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SELECT v FROM t WHERE id = 1",
        "IF EXISTS (SELECT * FROM t WHERE id = 1 AND v = 1) PRINT 'changed'",
    ] {
        is_lost_to(&[(batch, WAITS)]);
    }
}

#[test]
fn a_follower_of_a_commit_that_is_lost_gets_an_error_alone() {
    for batch in [
        "UPDATE t SET v = v + 10 WHERE id = 1",
        "BEGIN TRAN; UPDATE t SET v = v + 10 WHERE id = 1",
        "BEGIN TRAN; UPDATE t SET v = v + 10 WHERE id = 1; COMMIT",
        "BEGIN TRAN; UPDATE t SET v = v + 10 WHERE id = 1; ROLLBACK",
        "DECLARE @v INT; UPDATE t SET @v = v = v + 10 WHERE id = 1; SELECT @v",
        "SET XACT_ABORT ON; BEGIN TRAN; UPDATE t SET v = v + 10 WHERE id = 1; PRINT 'changed'; COMMIT",
    ] {
        is_lost_to(&[(batch, FOLLOWS)]);
    }
}

#[test]
fn a_reader_gets_nothing_of_a_follower_that_undoes_its_changes() {
    let undone = "BEGIN TRAN; UPDATE t SET v = v + 10 WHERE id = 1; ROLLBACK";
    let reader = "SELECT v FROM t WHERE id = 1";
    is_lost_to(&[(undone, FOLLOWS), (reader, WAITS)]);
}

#[test]
fn a_follower_in_a_database_that_it_has_left_keeps_its_counts_back() {
    let elsewhere = "USE master; BEGIN TRAN; UPDATE d.dbo.t SET v = v + 10 WHERE id = 1; COMMIT";
    is_lost_to(&[(elsewhere, FOLLOWS)]);
}

#[test]
fn an_error_does_not_tell_of_a_row_that_is_lost() {
    let waits = ("resource_type = 'OBJECT' AND request_status <> 'GRANT'", 1);
    let refused = "INSERT t WITH (TABLOCKX) VALUES (9, 2)";
    for batch in [
        refused,
        "BEGIN TRAN; INSERT t WITH (TABLOCKX) VALUES (9, 2)",
    ] {
        batch_is_lost_to("INSERT t VALUES (9, 1)", &[(batch, waits)]);
    }
}
