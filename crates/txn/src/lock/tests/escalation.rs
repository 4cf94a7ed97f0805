//! Counting fine locks, and trading them for one.

use furrow_format::{DatabaseId, ObjectId};

use super::super::LockMode::*;
use super::super::{Escalation, LockConfig, LockManager, LockMode, LockOwner, Timeout};
use super::{is_empty, key, owner, parties, table};

const OBJECT: ObjectId = ObjectId(7);

fn lock_rows(manager: &LockManager, owner: &LockOwner, rows: std::ops::Range<u64>, mode: LockMode) {
    for n in rows {
        manager
            .lock_within(owner, OBJECT, key(n), mode, Timeout::Forever)
            .unwrap();
    }
}

#[test]
fn escalation_comes_due_at_5000_and_every_1250_after() {
    let (manager, [a]) = parties();
    let due = || manager.escalation_due(&a, OBJECT, Escalation::ByCount);
    lock_rows(&manager, &a, 0..4_999, S);
    assert!(!due());
    lock_rows(&manager, &a, 0..5_000, S);
    assert_eq!(
        manager.fine_locks(&a, OBJECT),
        5_000,
        "a lock held already isn't counted twice"
    );
    assert!(due() && !due());
    lock_rows(&manager, &a, 5_000..6_249, S);
    assert!(!due());
    lock_rows(&manager, &a, 6_249..6_250, S);
    assert!(due());
    assert!(!manager.escalation_due(&a, ObjectId(8), Escalation::ByCount));
}

#[test]
fn locks_given_back_are_not_counted() {
    let (manager, [a]) = parties();
    for n in 0..20_000 {
        lock_rows(&manager, &a, n..n + 1, S);
        assert!(manager.unlock(&a, &key(n)));
    }
    assert_eq!(manager.fine_locks(&a, OBJECT), 0);
    lock_rows(&manager, &a, 0..6_000, S);
    manager.release_all(&a);
    assert_eq!(manager.fine_locks(&a, OBJECT), 0);
    assert!(!manager.escalation_due(&a, OBJECT, Escalation::ByCount));
}

#[test]
fn reading_escalates_to_shared_and_changing_to_exclusive() {
    for (intent, row, whole) in [(IS, S, S), (IX, X, X), (IX, S, X), (IS, U, X)] {
        let (manager, [a]) = parties();
        manager
            .lock(&a, table(7), intent, Timeout::Forever)
            .unwrap();
        lock_rows(&manager, &a, 0..5_000, row);
        manager.lock(&a, key(1 << 40), X, Timeout::Forever).unwrap();
        assert!(manager.escalate(&a, DatabaseId(1), OBJECT).unwrap());
        assert_eq!(a.held(&table(7)), Some(whole), "{intent} and {row}");
        assert_eq!(a.lock_count(), 2, "the object's, and the one of no object");
        assert_eq!(manager.fine_locks(&a, OBJECT), 0);
        manager.release_all(&a);
        assert!(is_empty(&manager));
    }
}

#[test]
fn somebody_in_the_way_is_not_waited_for() {
    let (manager, [a, b]) = parties();
    manager.lock(&b, table(7), IX, Timeout::Forever).unwrap();
    manager.lock(&a, table(7), IX, Timeout::Forever).unwrap();
    lock_rows(&manager, &a, 0..5_000, X);
    assert!(!manager.escalate(&a, DatabaseId(1), OBJECT).unwrap());
    assert_eq!((a.held(&table(7)), a.lock_count()), (Some(IX), 5_001));
    manager.release_all(&b);
    assert!(manager.escalate(&a, DatabaseId(1), OBJECT).unwrap());
}

#[test]
fn trace_flags_forbid_it_or_leave_it_to_pressure() {
    assert_eq!(Escalation::from_flags(false, false), Escalation::ByCount);
    assert_eq!(
        Escalation::from_flags(false, true),
        Escalation::UnderPressure
    );
    assert_eq!(Escalation::from_flags(true, true), Escalation::Never);
    let config = LockConfig {
        max_locks: 13_000,
        ..LockConfig::default()
    };
    let manager = LockManager::new(config, |_| {});
    let a = owner(&manager, 51);
    lock_rows(&manager, &a, 0..5_100, S);
    assert!(
        !manager.escalation_due(&a, OBJECT, Escalation::UnderPressure),
        "39% full"
    );
    lock_rows(&manager, &a, 5_100..6_400, S);
    assert!(
        manager.escalation_due(&a, OBJECT, Escalation::UnderPressure),
        "49% full"
    );
    lock_rows(&manager, &a, 6_400..8_000, S);
    assert!(!manager.escalation_due(&a, OBJECT, Escalation::Never));
}
