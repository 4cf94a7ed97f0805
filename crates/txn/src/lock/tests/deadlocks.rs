//! Deadlocks: each is found, and only the right member becomes the victim.

use std::sync::Arc;
use std::sync::Barrier;
use std::time::Duration;

use furrow_format::TxnId;
use furrow_io::sync::Mutex;
use furrow_io::thread::scope;
use furrow_io::time::{Moment, sleep};

use super::super::LockMode::{self, *};
use super::super::{
    DeadlockReport, Isolation, LockConfig, LockError, LockManager, LockOwner, Resource, Timeout,
};
use super::{check, is_empty, key, owner, queued, table};

type Reports = Arc<Mutex<Vec<DeadlockReport>>>;

fn reporting() -> (LockManager, Reports) {
    let reports = Reports::default();
    let sink = Arc::clone(&reports);
    let hook = move |report: &DeadlockReport| sink.lock().push(report.clone());
    (LockManager::new(LockConfig::default(), hook), reports)
}

/// Each owner locks its own resource, then all request that of the next one. Returns the victims.
fn ring(manager: &LockManager, owners: &[LockOwner], mode: LockMode) -> Vec<usize> {
    let count = owners.len();
    for (n, owner) in owners.iter().enumerate() {
        manager
            .lock(owner, key(n as u64), mode, Timeout::Forever)
            .unwrap();
    }
    let victims = Mutex::new(Vec::new());
    scope(|s| {
        for (n, owner) in owners.iter().enumerate() {
            let victims = &victims;
            s.spawn(move || {
                let next = key(((n + 1) % count) as u64);
                match manager.lock(owner, next, mode, Timeout::Forever) {
                    Ok(_) => {}
                    Err(LockError::Deadlock { session_id, .. }) => {
                        assert_eq!(session_id, owner.session_id());
                        victims.lock().push(n);
                    }
                    Err(other) => panic!("{other:?}"),
                }
                manager.release_all(owner);
            });
        }
    });
    assert!(is_empty(manager));
    victims.into_inner()
}

#[test]
fn two_that_lock_in_opposite_order_lose_one() {
    let (manager, reports) = reporting();
    let owners = [owner(&manager, 51), owner(&manager, 52)];
    owners[0].add_log_used(868);
    owners[1].add_log_used(380);
    assert_eq!(
        ring(&manager, &owners, X),
        [1],
        "the one with less log to undo"
    );
    let report = reports.lock().pop().unwrap();
    assert!(reports.lock().is_empty());
    assert_eq!(manager.stats().deadlocks, 1);
    let victim = report.victim().unwrap();
    assert_eq!(
        (victim.session_id, victim.log_used, victim.mode),
        (52, 380, X)
    );
    assert_eq!((victim.resource, victim.txn), (key(0), TxnId(52)));
    assert_eq!((report.processes.len(), report.resources.len()), (2, 2));
    for found in &report.resources {
        let (holder, waiter) = (found.owners[0].0, found.waiters[0].0);
        assert_eq!((found.owners.len(), found.waiters.len()), (1, 1));
        assert_ne!(holder, waiter);
        assert_eq!(report.processes[waiter].resource, found.resource);
    }
    let text = report.to_string();
    assert!(
        text.contains("session 52 waits for X on KEY: 1:72057594037927936 (000000000000), victim")
    );
}

#[test]
fn trace_flags_can_print_the_report() {
    let (manager, reports) = reporting();
    let owners = [owner(&manager, 51), owner(&manager, 52)];
    owners[1].set_deadlock_priority(-3);
    assert_eq!(ring(&manager, &owners, X), [1]);
    let printable = reports.lock()[0].printable();
    let lines = printable.list_lines().join("\n");
    assert!(
        lines.contains("keylock hobtid=72057594037927936 dbid=1"),
        "{lines}"
    );
    assert!(
        lines.contains("waitresource=KEY: 1:72057594037927936 (000000000001)"),
        "{lines}"
    );
    assert!(
        lines.contains("spid=52") && lines.contains("read committed (2)"),
        "{lines}"
    );
    let victims = &printable.victims;
    let victim = printable
        .processes
        .iter()
        .find(|process| victims.contains(&process.id))
        .unwrap();
    assert_eq!((victim.spid, victim.priority), (52, -3));
    assert!(!printable.node_lines().is_empty());
}

#[test]
fn three_in_a_ring_lose_the_youngest_when_all_else_is_equal() {
    let (manager, reports) = reporting();
    let owners = [
        owner(&manager, 51),
        owner(&manager, 52),
        owner(&manager, 53),
    ];
    owners[0].begin(TxnId(99), Isolation::Serializable);
    assert_eq!(ring(&manager, &owners, X), [0], "it began last");
    let report = reports.lock().pop().unwrap();
    assert_eq!(report.processes.len(), 3);
    assert_eq!(
        report.victim().unwrap().isolation.text(),
        "serializable (4)"
    );
}

#[test]
fn priority_counts_before_log_and_a_rollback_before_both() {
    let (manager, _) = reporting();
    let owners: Vec<_> = (51..55).map(|session| owner(&manager, session)).collect();
    for (n, log, priority) in [(0, 10, 0), (1, 1_000_000, -5), (2, 5, 5), (3, 0, -10)] {
        owners[n].add_log_used(log);
        owners[n].set_deadlock_priority(priority);
    }
    owners[3].start_rollback();
    assert_eq!(ring(&manager, &owners, X), [1]);
}

#[test]
fn two_readers_that_both_want_to_write_lose_one() {
    let (manager, reports) = reporting();
    let owners = [owner(&manager, 51), owner(&manager, 52)];
    for owner in &owners {
        manager.lock(owner, key(1), S, Timeout::Forever).unwrap();
    }
    let lost = Mutex::new(0);
    scope(|s| {
        for owner in &owners {
            let (manager, lost) = (&manager, &lost);
            s.spawn(move || {
                if manager.lock(owner, key(1), X, Timeout::Forever).is_err() {
                    assert_eq!(
                        owner.held(&key(1)),
                        Some(S),
                        "a failed conversion keeps what was held"
                    );
                    *lost.lock() += 1;
                } else {
                    assert_eq!(owner.held(&key(1)), Some(X));
                }
                manager.release_all(owner);
            });
        }
    });
    assert_eq!(lost.into_inner(), 1);
    let report = reports.lock().pop().unwrap();
    assert_eq!(report.resources.len(), 1);
    assert_eq!(report.resources[0].owners.len(), 2);
    assert!(
        report.resources[0]
            .waiters
            .iter()
            .all(|&(_, mode, converts)| mode == X && converts)
    );
    assert!(is_empty(&manager));
}

#[test]
fn a_deadlock_through_a_place_in_the_queue_is_found() {
    // a reads the table; b waits to change it; c holds what a requests next, and queues behind b.
    let (manager, reports) = reporting();
    let (a, b, c) = (
        owner(&manager, 51),
        owner(&manager, 52),
        owner(&manager, 53),
    );
    b.set_deadlock_priority(5);
    c.set_deadlock_priority(5);
    manager.lock(&a, table(1), S, Timeout::Forever).unwrap();
    manager.lock(&c, key(1), X, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&b, table(1), X, Timeout::Forever).unwrap());
        queued(&manager, 52, table(1));
        s.spawn(|| manager.lock(&c, table(1), S, Timeout::Forever).unwrap());
        queued(&manager, 53, table(1));
        let lost = manager.lock(&a, key(1), S, Timeout::Forever);
        assert!(matches!(
            lost,
            Err(LockError::Deadlock { session_id: 51, .. })
        ));
        manager.release_all(&a);
        // Now b gets its turn, and c after it.
        let b_has_it = || b.held(&table(1)) == Some(X);
        super::eventually("b is granted", b_has_it);
        manager.release_all(&b);
    });
    assert_eq!(c.held(&table(1)), Some(S));
    assert_eq!(reports.lock().len(), 1);
    assert_eq!(reports.lock()[0].processes.len(), 3);
}

#[test]
fn two_deadlocks_at_once_are_both_resolved() {
    let (manager, reports) = reporting();
    let owners: Vec<_> = (51..55).map(|session| owner(&manager, session)).collect();
    let lock = |n: usize, of: usize, timeout| manager.lock(&owners[n], key(of as u64), X, timeout);
    for n in 0..4 {
        lock(n, n, Timeout::Forever).unwrap();
    }
    let go = Barrier::new(4);
    scope(|s| {
        for n in 0..4 {
            let (go, lock, owners, manager) = (&go, &lock, &owners, &manager);
            s.spawn(move || {
                go.wait();
                // 0 with 1, and 2 with 3.
                let _ = lock(n, n ^ 1, Timeout::Forever);
                manager.release_all(&owners[n]);
            });
        }
    });
    assert_eq!(reports.lock().len(), 2);
    assert!(
        reports
            .lock()
            .iter()
            .all(|report| report.processes.len() == 2)
    );
}

#[test]
fn a_long_wait_without_a_cycle_has_no_victim() {
    let (manager, reports) = reporting();
    let (a, b, c) = (
        owner(&manager, 51),
        owner(&manager, 52),
        owner(&manager, 53),
    );
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    manager.lock(&b, key(2), X, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&b, key(1), S, Timeout::Forever).unwrap());
        s.spawn(|| manager.lock(&c, key(2), S, Timeout::Forever).unwrap());
        queued(&manager, 53, key(2));
        sleep(Duration::from_millis(200));
        check(&manager);
        manager.release_all(&a);
        super::eventually("b is granted", || b.held(&key(1)).is_some());
        manager.release_all(&b);
    });
    assert!(reports.lock().is_empty());
    assert_eq!(manager.stats().deadlocks, 0);
}

#[test]
fn a_time_out_may_end_a_deadlock_first() {
    let config = LockConfig {
        look_at_once: false,
        first_probe: Duration::from_secs(60),
        ..LockConfig::default()
    };
    let manager = LockManager::new(config, |_| panic!("nobody looked"));
    let (a, b) = (owner(&manager, 51), owner(&manager, 52));
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    manager.lock(&b, key(2), X, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&a, key(2), X, Timeout::Forever).unwrap());
        queued(&manager, 51, key(2));
        let began = Moment::now();
        let lost = manager.lock(&b, key(1), X, Timeout::Millis(30));
        assert!(matches!(
            lost,
            Err(LockError::Timeout {
                blocking_session: Some(51),
                ..
            })
        ));
        assert!(began.elapsed() >= Duration::from_millis(30));
        manager.release_all(&b);
    });
    manager.release_all(&a);
    assert!(is_empty(&manager));
}

#[test]
fn the_report_is_published_with_no_latch_held() {
    let manager_cell: Arc<Mutex<Option<LockManager>>> = Arc::default();
    let for_hook = Arc::clone(&manager_cell);
    let manager = LockManager::new(LockConfig::default(), move |_| {
        let manager = for_hook.lock().clone().unwrap();
        assert!(!manager.snapshot().is_empty());
        let other = manager.owner(1);
        let free = Resource::Application(furrow_format::DatabaseId(1), 1);
        manager.lock(&other, free, X, Timeout::NoWait).unwrap();
    });
    *manager_cell.lock() = Some(manager.clone());
    let owners = [owner(&manager, 51), owner(&manager, 52)];
    assert_eq!(ring(&manager, &owners, X).len(), 1);
    *manager_cell.lock() = None;
}

#[test]
fn a_ring_is_broken_the_moment_it_closes() {
    for count in [2, 3, 8] {
        let reports = Reports::default();
        let sink = Arc::clone(&reports);
        // No probe comes due: only the owner that closes the ring can find it.
        let config = LockConfig {
            first_probe: Duration::from_secs(600),
            ..LockConfig::default()
        };
        let manager = LockManager::new(config, move |r| sink.lock().push(r.clone()));
        let owners: Vec<_> = (0..count).map(|n| owner(&manager, 51 + n)).collect();
        let began = Moment::now();
        let victims = ring(&manager, &owners, X);
        assert_eq!(victims.len(), 1, "a ring of {count}");
        assert_eq!(reports.lock().len(), 1);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}

#[test]
fn a_ring_too_long_for_the_walk_is_found_by_those_who_sleep() {
    let (manager, reports) = reporting();
    let owners: Vec<_> = (0..80).map(|n| owner(&manager, 51 + n)).collect();
    assert_eq!(ring(&manager, &owners, X).len(), 1);
    assert_eq!(reports.lock()[0].processes.len(), 80);
}

#[test]
fn without_the_look_at_once_the_probe_of_a_sleeper_breaks_the_ring() {
    let config = LockConfig {
        look_at_once: false,
        ..LockConfig::default()
    };
    let manager = LockManager::new(config, |_| {});
    let owners = [owner(&manager, 51), owner(&manager, 52)];
    assert_eq!(ring(&manager, &owners, X).len(), 1);
    assert_eq!(manager.stats().deadlocks, 1);
}
