//! Transactions that change a row whose last commit still waits for the log.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod failed;
mod house;

use furrow_types::Value;
use house::{House, run, values};

#[test]
fn a_row_is_changed_while_the_commit_before_waits_and_the_client_gets_nothing_of_it() {
    let house = House::new();
    let batch = "DECLARE @v INT; BEGIN TRAN; UPDATE t SET @v = v = v + 10 WHERE id = 1; \
                 SELECT @v; UPDATE t SET v = @v WHERE id = 2; COMMIT";
    let (first, (end, second, early)) = house.follow(batch);
    assert_eq!(first.counts, [1]);
    assert_eq!((end.worst_level, early), (0, 0));
    assert_eq!(second.counts, [1, 1, 1]);
    assert_eq!(second.sets[0].rows, [[Value::Int(11)]]);
    assert_eq!(values(&house), [Value::Int(11)]);
}

#[test]
fn an_open_transaction_a_rollback_and_a_print_wait_for_the_commit_that_they_follow() {
    for batch in [
        "BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1",
        "BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1; ROLLBACK",
        "SET NOCOUNT ON; BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1; PRINT 'changed'; ROLLBACK",
        "SET NOCOUNT ON; BEGIN TRAN; UPDATE t SET v = 5 WHERE id = 1; SAVE TRAN s; INSERT t VALUES (2, 2)",
    ] {
        let house = House::new();
        let (first, (_, second, early)) = house.follow(batch);
        assert_eq!((first.counts.len(), early), (1, 0), "{batch}: {second:?}");
        assert_eq!(values(&house), [Value::Int(1)], "{batch}");
    }
}

#[test]
fn a_delayed_commit_that_follows_one_is_made_durable_with_it() {
    let house = House::new();
    let allowed = "ALTER DATABASE d SET DELAYED_DURABILITY = ALLOWED";
    run(&mut house.connect(), allowed);
    let batch = "DECLARE @v INT; BEGIN TRAN; UPDATE t SET @v = v = v + 10 WHERE id = 1; \
                 COMMIT WITH (DELAYED_DURABILITY = ON); SELECT @v";
    let (_, (end, second, early)) = house.follow(batch);
    assert_eq!((end.worst_level, early), (0, 0));
    assert_eq!(second.sets[0].rows, [[Value::Int(11)]]);
}

#[test]
fn tempdb_shows_nothing_of_a_transaction_that_follows_a_commit_elsewhere() {
    let house = House::new();
    let mut second = house.server.connect().unwrap();
    run(&mut second, "USE tempdb; CREATE TABLE ##g (v INT)");
    let batch = "SET NOCOUNT ON; DECLARE @v INT; BEGIN TRAN; INSERT ##g VALUES (0); \
                 UPDATE d.dbo.t SET @v = v = v + 10 WHERE id = 1; UPDATE ##g SET v = @v; COMMIT";
    let seen = || {
        let mut third = house.server.connect().unwrap();
        let count = "SELECT COUNT(*) FROM ##g WITH (READPAST) WHERE v > 0";
        let kept = run(&mut third, count);
        assert_eq!(kept.sets[0].rows, [[Value::Int(0)]]);
    };
    let (_, (end, _, early)) = house.follow_by(&mut second, batch, seen);
    assert_eq!((end.worst_level, early), (0, 0));
    let kept = run(&mut second, "SELECT v FROM ##g");
    assert_eq!(kept.sets[0].rows, [[Value::Int(11)]]);
}

#[test]
fn a_follower_that_is_cancelled_while_it_waits_for_the_log_shows_nothing_early() {
    let house = House::new();
    let mut second = house.connect();
    let cancel = second.canceller();
    let batch = "SET NOCOUNT ON; DECLARE @v INT; BEGIN TRAN; UPDATE t SET @v = v = v + 10 WHERE id = 1; \
                 SELECT @v; UPDATE t SET v = @v WHERE id = 2; COMMIT";
    let (first, (end, kept, early)) = house.follow_by(&mut second, batch, || cancel.cancel());
    assert_eq!((first.counts.len(), early), (1, 0), "{kept:?}");
    assert!(end.cancelled, "{kept:?}");
    drop(second);
    assert_eq!(values(&house), [Value::Int(1)]);
}
