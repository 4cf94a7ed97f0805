//! Waiting: what it is charged to, and what ends it besides a grant.

use std::time::Duration;

use furrow_format::TxnId;
use furrow_io::thread::scope;
use furrow_io::time::{Moment, sleep};
use furrow_observe::counters::Counter;
use furrow_observe::{Instruments, task, waits::WaitType};

use super::super::LockMode::*;
use super::super::{Granted, Isolation, LockConfig, LockError, LockManager, Timeout};
use super::{check, is_empty, key, owner, parties, queued, table};

#[test]
fn a_wait_is_listed_with_its_blocker_and_charged_when_it_ends() {
    let manager = LockManager::default();
    let instruments = Instruments::new();
    let (a, b) = (owner(&manager, 51), owner(&manager, 52));
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| {
            let task = task::Task::new(&instruments, 52, "reader");
            let _entered = task::enter(&task);
            manager.lock(&b, key(2), U, Timeout::Forever).unwrap();
            manager.lock(&b, key(1), S, Timeout::Forever).unwrap();
        });
        super::eventually("the wait is listed with its blocker", || {
            instruments.tasks.waiting_tasks().iter().any(|waiting| {
                waiting.wait_type == WaitType::LckMS
                    && waiting.session_id == 52
                    && waiting.blocking_session_id == Some(51)
                    && waiting.resource == key(1).to_string()
            })
        });
        sleep(Duration::from_millis(25));
        manager.release_all(&a);
    });
    let row = instruments.waits.row(WaitType::LckMS);
    assert_eq!(row.count, 1);
    assert!(
        row.total_us >= 25_000 && row.signal_us < row.total_us,
        "{row:?}"
    );
    assert_eq!(
        instruments.waits.row(WaitType::LckMU).count,
        0,
        "U didn't wait"
    );
    assert_eq!(manager.stats().waits, 1);
    assert_eq!(instruments.counters.total().value(Counter::LockWaits), 1);
    assert!(instruments.counters.total().value(Counter::LockWaitTime) >= 25);
}

#[test]
fn a_request_that_must_not_wait_fails_at_once() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    let error = manager.lock(&b, key(1), S, Timeout::NoWait).unwrap_err();
    assert_eq!(error.number(), Some(1222));
    assert_eq!(error.to_string(), "Lock request time out period exceeded.");
    let instant = manager.lock_instant(&b, key(1), S, Timeout::NoWait);
    assert!(matches!(
        instant,
        Err(LockError::Timeout {
            blocking_session: Some(51),
            mode: S,
            ..
        })
    ));
    assert_eq!((manager.stats().waits, manager.stats().timeouts), (0, 2));
    manager.release_all(&a);
    assert!(is_empty(&manager));
}

#[test]
fn a_time_out_ends_a_wait_in_time_and_frees_those_behind() {
    let (manager, [a, b, c]) = parties();
    manager.lock(&a, key(1), S, Timeout::Forever).unwrap();
    scope(|s| {
        let writer = s.spawn(|| {
            let began = Moment::now();
            let ended = manager.lock(&b, key(1), X, Timeout::Millis(150));
            (ended, began.elapsed())
        });
        queued(&manager, 52, key(1));
        // Only the waiting writer is in this reader's way; when it gives up the reader goes on.
        assert_eq!(
            manager.lock(&c, key(1), S, Timeout::Forever).unwrap(),
            Granted::New
        );
        let (ended, took) = writer.join().unwrap();
        assert!(matches!(ended, Err(LockError::Timeout { .. })));
        assert!(
            took >= Duration::from_millis(150) && took < Duration::from_secs(5),
            "{took:?}"
        );
    });
    check(&manager);
    assert_eq!(b.lock_count(), 0);
}

#[test]
fn a_conversion_that_times_out_keeps_the_weaker_lock() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, table(1), IX, Timeout::Forever).unwrap();
    manager.lock(&b, table(1), IX, Timeout::Forever).unwrap();
    assert!(manager.lock(&a, table(1), X, Timeout::Millis(5)).is_err());
    assert_eq!(a.held(&table(1)), Some(IX));
    manager.release_all(&a);
    manager.release_all(&b);
    assert!(is_empty(&manager));
}

#[test]
fn a_kill_ends_the_present_wait_and_later_ones_until_rearmed() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    manager.lock(&b, key(2), X, Timeout::Forever).unwrap();
    let kill = b.canceller();
    scope(|s| {
        let waiter = s.spawn(|| manager.lock(&b, key(1), S, Timeout::Forever));
        queued(&manager, 52, key(1));
        kill.cancel();
        assert!(matches!(waiter.join().unwrap(), Err(LockError::Cancelled)));
    });
    assert!(matches!(
        manager.lock(&b, key(1), S, Timeout::Forever),
        Err(LockError::Cancelled)
    ));
    assert!(
        manager.lock(&b, key(3), S, Timeout::Forever).is_ok(),
        "what needs no wait still works"
    );
    assert_eq!(
        b.held(&key(2)),
        Some(X),
        "it is the rollback that gives locks back"
    );
    b.rearm();
    assert!(matches!(
        manager.lock(&b, key(1), S, Timeout::Millis(5)),
        Err(LockError::Timeout { .. })
    ));
    check(&manager);
}

/// The cancellation comes between the check of a statement and the transaction that the statement begins.
#[test]
fn a_kill_just_before_the_transaction_begins_ends_its_first_wait() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    let task = task::Task::new(&Instruments::new(), 52, "killed");
    let _entered = task::enter(&task);
    task.cancel();
    b.canceller().cancel();
    b.begin(TxnId(7), Isolation::ReadCommitted);
    // A limit, so that a wait that is not cancelled fails the test.
    assert!(matches!(
        manager.lock(&b, key(1), S, Timeout::Millis(5)),
        Err(LockError::Cancelled)
    ));
    task.rearm();
    assert!(matches!(
        manager.lock(&b, key(1), S, Timeout::Millis(5)),
        Err(LockError::Timeout { .. })
    ));
    check(&manager);
}

#[test]
fn a_rollback_cannot_be_killed() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    let kill = b.canceller();
    kill.cancel();
    b.start_rollback();
    scope(|s| {
        let waiter = s.spawn(|| manager.lock(&b, key(1), S, Timeout::Forever));
        queued(&manager, 52, key(1));
        kill.cancel();
        manager.release_all(&a);
        waiter.join().unwrap().unwrap();
    });
}

#[test]
fn a_full_lock_table_refuses_and_recovers() {
    let config = LockConfig {
        shards: 1,
        max_locks: 100,
        ..LockConfig::default()
    };
    let manager = LockManager::new(config, |_| {});
    let a = owner(&manager, 51);
    for n in 0..100 {
        manager.lock(&a, key(n), X, Timeout::Forever).unwrap();
    }
    let error = manager.lock(&a, key(100), X, Timeout::Forever).unwrap_err();
    assert_eq!(error.number(), Some(1204));
    assert!(
        manager.lock(&a, key(7), X, Timeout::Forever).is_ok(),
        "a lock held already is no new one"
    );
    manager.unlock(&a, &key(7));
    manager.lock(&a, key(100), X, Timeout::Forever).unwrap();
    manager.release_all(&a);
    assert!(is_empty(&manager));
}

#[test]
fn lock_timeout_settings_translate() {
    assert_eq!(Timeout::from_setting(-1), Timeout::Forever);
    assert_eq!(Timeout::from_setting(0), Timeout::NoWait);
    assert_eq!(Timeout::from_setting(1800), Timeout::Millis(1800));
}
