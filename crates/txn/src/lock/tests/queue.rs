//! Granting: order, conversion, instant requests, what is left behind.

use furrow_format::ObjectId;
use furrow_io::sync::Mutex;
use furrow_io::thread::scope;

use super::super::LockMode::{self, *};
use super::super::{Granted, LockManager, LockOwner, LockStatus, Timeout};
use super::{check, is_empty, key, owner, parties, queued, table};

#[test]
fn a_lock_is_new_then_held_then_converted() {
    let (manager, [a]) = parties();
    let lock = |mode| manager.lock(&a, key(1), mode, Timeout::Forever).unwrap();
    assert_eq!(lock(S), Granted::New);
    assert_eq!(lock(S), Granted::Held);
    assert_eq!(lock(U), Granted::Converted);
    assert_eq!(lock(S), Granted::Held);
    assert_eq!(lock(X), Granted::Converted);
    assert_eq!(a.held(&key(1)), Some(X));
    assert_eq!(manager.held_by(&a), [(key(1), X)]);
    assert_eq!(manager.stats().locks, 1);
    assert!(manager.unlock(&a, &key(1)));
    assert!(!manager.unlock(&a, &key(1)));
    assert!(is_empty(&manager));
}

#[test]
fn intent_then_shared_joins_into_one_mode() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, table(1), IX, Timeout::Forever).unwrap();
    manager.lock(&a, table(1), S, Timeout::Forever).unwrap();
    assert_eq!(a.held(&table(1)), Some(SIX));
    assert!(manager.lock(&b, table(1), IS, Timeout::NoWait).is_ok());
    assert!(manager.lock(&b, table(1), IX, Timeout::NoWait).is_err());
    assert_eq!(
        b.held(&table(1)),
        Some(IS),
        "a refused conversion leaves what was held"
    );
}

/// Starts waiters one after the other and returns the order in which they were granted.
fn grant_order(first: LockMode, waiters: &[LockMode]) -> Vec<usize> {
    let manager = LockManager::default();
    let holder = owner(&manager, 50);
    manager
        .lock(&holder, key(1), first, Timeout::Forever)
        .unwrap();
    let order = Mutex::new(Vec::new());
    scope(|s| {
        for (n, &mode) in waiters.iter().enumerate() {
            let (manager, order) = (&manager, &order);
            s.spawn(move || {
                let me = owner(manager, 51 + n as i32);
                manager.lock(&me, key(1), mode, Timeout::Forever).unwrap();
                order.lock().push(n);
                manager.release_all(&me);
            });
            queued(manager, 51 + n as i32, key(1));
        }
        check(&manager);
        manager.release_all(&holder);
    });
    assert!(is_empty(&manager));
    order.into_inner()
}

#[test]
fn exclusive_waiters_are_granted_in_the_order_of_their_arrival() {
    assert_eq!(grant_order(X, &[X; 12]), (0..12).collect::<Vec<_>>());
}

#[test]
fn a_reader_does_not_pass_a_waiting_writer() {
    assert_eq!(grant_order(S, &[X, S, S])[0], 0);
}

#[test]
fn a_request_passes_those_it_does_not_conflict_with() {
    let (manager, [a, b]) = parties();
    let (c, d) = (owner(&manager, 53), owner(&manager, 54));
    manager.lock(&a, table(1), IX, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&b, table(1), S, Timeout::Forever).unwrap());
        queued(&manager, 52, table(1));
        // IS goes with both IX and the waiting S; IX would delay S further.
        assert!(manager.lock(&c, table(1), IS, Timeout::NoWait).is_ok());
        assert!(manager.lock(&d, table(1), IX, Timeout::NoWait).is_err());
        manager.release_all(&a);
    });
    assert_eq!(b.held(&table(1)), Some(S));
}

#[test]
fn a_conversion_goes_before_everybody_who_holds_nothing() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), S, Timeout::Forever).unwrap();
    manager.lock(&b, key(1), S, Timeout::Forever).unwrap();
    let order = Mutex::new(Vec::new());
    scope(|s| {
        s.spawn(|| {
            let c = owner(&manager, 53);
            manager.lock(&c, key(1), X, Timeout::Forever).unwrap();
            order.lock().push(53);
            manager.release_all(&c);
        });
        queued(&manager, 53, key(1));
        s.spawn(|| {
            manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
            order.lock().push(51);
            manager.release_all(&a);
        });
        queued(&manager, 51, key(1));
        check(&manager);
        let rows = manager.snapshot();
        let mine: Vec<_> = rows.iter().filter(|row| row.session_id == 51).collect();
        assert_eq!((mine[0].mode, mine[0].status), (S, LockStatus::Grant));
        assert_eq!((mine[1].mode, mine[1].status), (X, LockStatus::Convert));
        assert!(
            rows.iter()
                .any(|r| r.session_id == 53 && r.status == LockStatus::Wait)
        );
        manager.release_all(&b);
    });
    assert_eq!(order.into_inner(), [51, 53]);
    assert!(is_empty(&manager));
}

#[test]
fn a_conversion_is_not_held_up_by_one_that_waits_for_it() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), S, Timeout::Forever).unwrap();
    manager.lock(&b, key(1), S, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&a, key(1), X, Timeout::Forever).unwrap());
        queued(&manager, 51, key(1));
        assert!(
            manager.lock(&b, key(1), U, Timeout::NoWait).is_ok(),
            "U goes with a's granted S"
        );
        manager.release_all(&b);
    });
    assert_eq!(a.held(&key(1)), Some(X));
}

#[test]
fn weakening_a_lock_lets_readers_in() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    assert!(!manager.downgrade(&a, &key(2), S));
    scope(|s| {
        s.spawn(|| manager.lock(&b, key(1), S, Timeout::Forever).unwrap());
        queued(&manager, 52, key(1));
        assert!(manager.downgrade(&a, &key(1), S));
    });
    assert_eq!((a.held(&key(1)), b.held(&key(1))), (Some(S), Some(S)));
    assert!(!manager.downgrade(&a, &key(1), X), "that would be stronger");
    check(&manager);
}

#[test]
fn an_instant_probe_tells_the_truth_and_leaves_nothing() {
    let (manager, [a, b]) = parties();
    assert!(manager.try_instant(&a, key(1), X));
    assert!(is_empty(&manager));
    manager.lock(&a, key(1), S, Timeout::Forever).unwrap();
    assert!(manager.try_instant(&b, key(1), S) && !manager.try_instant(&b, key(1), X));
    assert!(manager.try_instant(&a, key(1), X), "nobody else is there");
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    assert!(!manager.try_instant(&b, key(1), S));
    assert!(
        manager.try_instant(&a, key(1), S),
        "its own lock is no obstacle"
    );
    assert_eq!((a.lock_count(), b.lock_count()), (1, 0));
    manager.release_all(&a);
    assert!(is_empty(&manager));
}

#[test]
fn a_lock_that_is_taken_at_once_never_waits_and_leaves_nothing_when_it_is_refused() {
    let (manager, [a, b]) = parties();
    let at_once = |owner: &LockOwner, mode| {
        let granted = manager.lock_at_once(owner, ObjectId(1), key(1), mode);
        check(&manager);
        granted.unwrap()
    };
    assert_eq!(at_once(&a, S), Some(Granted::New));
    assert_eq!(at_once(&a, S), Some(Granted::Held));
    assert_eq!(at_once(&b, X), None);
    assert_eq!(b.lock_count(), 0);
    assert_eq!(at_once(&b, S), Some(Granted::New));
    assert_eq!(at_once(&a, X), None);
    assert_eq!(
        a.held(&key(1)),
        Some(S),
        "a refused conversion changes nothing"
    );
    manager.release_all(&b);
    assert_eq!(at_once(&a, X), Some(Granted::Converted));
    assert_eq!(at_once(&a, S), Some(Granted::Held));
    manager.release_all(&a);
    assert!(is_empty(&manager));
}

#[test]
fn a_probe_does_not_pass_a_waiting_writer() {
    let (manager, [a, b, c]) = parties();
    manager.lock(&a, key(1), S, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&b, key(1), X, Timeout::Forever).unwrap());
        queued(&manager, 52, key(1));
        assert!(!manager.try_instant(&c, key(1), S));
        let taken = manager.lock_at_once(&c, ObjectId(1), key(1), S);
        assert_eq!(taken.unwrap(), None);
        manager.release_all(&a);
    });
}

#[test]
fn an_instant_lock_waits_its_turn_and_is_not_held_after() {
    let (manager, [a, b, c]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    scope(|s| {
        let reader = s.spawn(|| manager.lock_instant(&b, key(1), S, Timeout::Forever));
        queued(&manager, 52, key(1));
        s.spawn(|| manager.lock(&c, key(1), X, Timeout::Forever).unwrap());
        queued(&manager, 53, key(1));
        manager.release_all(&a);
        reader.join().unwrap().unwrap();
    });
    assert_eq!((b.lock_count(), c.held(&key(1))), (0, Some(X)));
    manager.release_all(&c);
    assert!(is_empty(&manager));
}

#[test]
fn savepoints_and_session_locks_outlive_what_they_should() {
    let (manager, [a]) = parties();
    let lock = |n, mode| manager.lock(&a, key(n), mode, Timeout::Forever).unwrap();
    lock(1, S);
    lock(2, S);
    assert!(manager.keep_for_session(&a, &key(2)) && !manager.keep_for_session(&a, &key(9)));
    let mark = manager.mark(&a);
    for n in 3..40 {
        lock(n, X);
    }
    lock(1, X);
    manager.release_to(&a, mark);
    assert_eq!(
        (a.lock_count(), a.held(&key(1))),
        (2, Some(X)),
        "the conversion stays"
    );
    manager.release_all(&a);
    assert_eq!(manager.held_by(&a), [(key(2), S)]);
    manager.release_session(&a);
    assert!(is_empty(&manager));
}

#[test]
fn an_owner_that_goes_away_leaves_nothing() {
    let (manager, [a, b]) = parties();
    for n in 0..10_000 {
        manager.lock(&a, key(n), X, Timeout::Forever).unwrap();
    }
    scope(|s| {
        s.spawn(|| manager.lock(&b, key(77), S, Timeout::Forever).unwrap());
        queued(&manager, 52, key(77));
        drop(a);
    });
    manager.release_all(&b);
    assert!(is_empty(&manager));
    assert_eq!(
        owner(&manager, 53).lock_count(),
        0,
        "its number may be used again, its locks not"
    );
}
