//! Locks of owners that leave: writers pass them, readers do not.

use std::time::Duration;

use furrow_format::{Lsn, ObjectId, TxnId};
use furrow_io::thread::scope;
use furrow_io::time::{Moment, sleep};

use super::super::LockMode::{self, *};
use super::super::passing::MOST_PASSED;
use super::super::{Granted, Isolation, LockManager, LockOwner, LockStatus, Resource, Timeout};
use super::{check, eventually, is_empty, key, owner, parties, queued, table};

/// How long a request may take that needs no waiting.
const PATIENCE: Duration = Duration::from_secs(10);

fn now(manager: &LockManager, owner: &LockOwner, of: Resource, mode: LockMode) -> Option<Granted> {
    let granted = manager.lock(owner, of, mode, Timeout::NoWait).ok();
    check(manager);
    granted
}

#[test]
fn a_writer_passes_an_owner_that_leaves_and_follows_it_and_readers_wait() {
    let (manager, [a, b, c]) = parties();
    manager.lock(&a, table(1), IX, Timeout::Forever).unwrap();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    assert_eq!(now(&manager, &b, key(1), U), None);
    manager.leave(&a, Lsn(100));
    assert_eq!((a.followed(), b.followed()), (None, None));
    assert_eq!(now(&manager, &b, key(1), U), Some(Granted::New));
    assert_eq!(b.followed(), Some(Lsn(100)));
    assert_eq!(now(&manager, &b, key(1), X), Some(Granted::Converted));
    for mode in [S, U, X, RangeSS, RangeSU, RangeXX] {
        assert_eq!(now(&manager, &c, key(1), mode), None, "{mode}");
        assert!(!manager.try_instant(&c, key(1), mode), "{mode}");
        let taken = manager.lock_at_once(&c, ObjectId(1), key(1), mode);
        assert_eq!(taken.unwrap(), None, "{mode}");
    }
    assert!(!manager.try_instant(&c, table(1), S));
    let rows = manager.snapshot();
    let held = rows.iter().filter(|row| row.resource == key(1));
    let modes: Vec<_> = held
        .map(|row| (row.session_id, row.mode, row.status))
        .collect();
    let held_by = |session| (session, X, LockStatus::Grant);
    assert_eq!(modes, [held_by(52), held_by(51)]);
    manager.release_all(&b);
    assert_eq!(b.followed(), None);
    for mode in [S, RangeSS] {
        assert_eq!(now(&manager, &c, key(1), mode), None, "{mode}");
    }
    assert!(!manager.try_instant(&c, key(1), X));
    manager.release_all(&a);
    assert_eq!(now(&manager, &c, key(1), S), Some(Granted::New));
    assert_eq!(c.followed(), None);
    manager.release_all(&c);
    assert!(is_empty(&manager));
}

#[test]
fn only_rows_and_keys_are_passed_and_only_in_modes_of_writers() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, table(1), X, Timeout::Forever).unwrap();
    manager.lock(&a, key(1), RangeXX, Timeout::Forever).unwrap();
    manager.lock(&a, key(2), RangeSU, Timeout::Forever).unwrap();
    manager.leave(&a, Lsn(7));
    assert_eq!(now(&manager, &b, table(1), IX), None);
    assert_eq!(now(&manager, &b, key(1), X), None);
    assert_eq!(now(&manager, &b, key(2), U), None);
    assert_eq!(b.followed(), None);
}

#[test]
fn the_next_transaction_of_an_owner_that_left_is_not_passed() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    manager.leave(&a, Lsn(7));
    manager.release_all(&a);
    a.begin(TxnId(90), Isolation::ReadCommitted);
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    assert_eq!(now(&manager, &b, key(1), X), None);
}

/// The marked locks, in no promised order.
fn marked(manager: &LockManager) -> Vec<Resource> {
    let mut marked = Vec::new();
    for shard in manager.table.all_shards() {
        shard.for_each_head(|head| {
            let left = shard.seen(head).into_iter().filter(|seen| seen.left);
            marked.extend(left.map(|_| shard.resource(head)));
        });
    }
    marked
}

#[test]
fn an_owner_that_leaves_marks_those_of_its_many_locks_that_are_waited_for() {
    let (manager, [a, b]) = parties();
    for n in 0..=2_000 {
        manager.lock(&a, key(n), X, Timeout::Forever).unwrap();
    }
    scope(|s| {
        s.spawn(|| manager.lock(&b, key(7), X, Timeout::Forever).unwrap());
        queued(&manager, 52, key(7));
        manager.leave(&a, Lsn(7));
    });
    assert_eq!(b.followed(), Some(Lsn(7)));
    assert_eq!(marked(&manager), [key(7)]);
    assert_eq!(now(&manager, &b, key(8), X), Some(Granted::New));
    assert_eq!(marked(&manager).len(), 2);
    manager.release_all(&a);
    manager.release_all(&b);
    assert!(is_empty(&manager));
}

#[test]
fn an_owner_is_awaited_only_where_a_request_waits_for_it() {
    let (manager, [a, b, c]) = parties();
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    manager.leave(&a, Lsn(7));
    // Past a marked lock, with no request in the queue.
    assert_eq!(now(&manager, &b, key(1), X), Some(Granted::New));
    assert_eq!(b.core.leave.leave(Lsn(9)), 0);
    manager.release_all(&a);
    manager.release_all(&b);
    // From a queue of this request alone.
    manager.lock(&a, key(1), X, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&c, key(1), X, Timeout::Forever).unwrap());
        queued(&manager, 53, key(1));
        manager.leave(&a, Lsn(11));
    });
    assert_eq!(c.core.leave.leave(Lsn(13)), 0);
    // A request that waits reads later that it may go on.
    assert_eq!(now(&manager, &b, key(1), U), Some(Granted::New));
    assert_eq!(b.followed(), Some(Lsn(13)));
}

#[test]
fn a_writer_that_waits_beside_a_weakened_range_lock_passes_when_its_owner_leaves() {
    let (manager, [a, b]) = parties();
    manager.lock(&a, key(1), RangeXX, Timeout::Forever).unwrap();
    scope(|s| {
        s.spawn(|| manager.lock(&b, key(1), X, Timeout::Forever).unwrap());
        queued(&manager, 52, key(1));
        assert!(manager.downgrade(&a, &key(1), X));
        check(&manager);
        manager.leave(&a, Lsn(7));
        let passed = || b.followed() == Some(Lsn(7));
        let began = Moment::now();
        while !passed() && began.elapsed() < PATIENCE {
            sleep(Duration::from_millis(1));
        }
        let passed = passed();
        manager.release_all(&a);
        assert!(passed, "the writer waits until the lock is released");
    });
}

#[test]
fn a_conversion_passes_and_a_follower_follows_the_last_commit() {
    let (manager, [a, b, c]) = parties();
    manager.lock(&b, key(1), S, Timeout::Forever).unwrap();
    manager.lock(&a, key(1), U, Timeout::Forever).unwrap();
    manager.leave(&a, Lsn(7));
    assert_eq!(now(&manager, &b, key(1), X), Some(Granted::Converted));
    assert_eq!(b.followed(), Some(Lsn(7)));
    b.settle();
    manager.leave(&b, Lsn(9));
    assert_eq!(now(&manager, &c, key(1), X), Some(Granted::New));
    assert_eq!(c.followed(), Some(Lsn(9)));
    manager.release_all(&a);
    check(&manager);
    assert_eq!(now(&manager, &a, key(1), S), None);
}

#[test]
fn writers_that_wait_are_granted_one_after_the_other_as_each_leaves() {
    let manager = LockManager::default();
    let first = owner(&manager, 50);
    manager.lock(&first, key(1), X, Timeout::Forever).unwrap();
    let writers: Vec<LockOwner> = (51..55).map(|n| owner(&manager, n)).collect();
    let reader = owner(&manager, 55);
    let place = || writers.iter().filter(|w| w.followed().is_some()).count();
    scope(|s| {
        for (writer, session) in writers.iter().zip(51..) {
            let lock = || manager.lock(writer, key(1), X, Timeout::Forever).unwrap();
            s.spawn(lock);
            queued(&manager, session, key(1));
        }
        s.spawn(|| {
            manager.lock(&reader, key(1), S, Timeout::Forever).unwrap();
        });
        queued(&manager, 55, key(1));
        manager.leave(&first, Lsn(1));
        for (n, writer) in writers.iter().enumerate() {
            eventually("the writer follows", || place() > n);
            check(&manager);
            assert_eq!(place(), n + 1, "one at a time");
            assert_eq!(writer.followed(), Some(Lsn(n as u64 + 1)));
            manager.leave(writer, Lsn(n as u64 + 2));
        }
        for writer in &writers {
            manager.release_all(writer);
        }
        queued(&manager, 55, key(1));
        manager.release_all(&first);
    });
    assert_eq!(reader.held(&key(1)), Some(S));
    assert_eq!(reader.followed(), None);
}

#[test]
fn a_reader_that_waits_is_passed_by_a_bounded_number_of_writers() {
    let (manager, [first, reader, late]) = parties();
    manager.lock(&first, key(1), X, Timeout::Forever).unwrap();
    manager.leave(&first, Lsn(1));
    let all: Vec<LockOwner> = (0..MOST_PASSED as i32)
        .map(|n| owner(&manager, 100 + n))
        .collect();
    scope(|s| {
        s.spawn(|| {
            manager.lock(&reader, key(1), S, Timeout::Forever).unwrap();
        });
        queued(&manager, 52, key(1));
        for (writer, lsn) in all.iter().zip(2..) {
            assert_eq!(now(&manager, writer, key(1), U), Some(Granted::New));
            assert_eq!(now(&manager, writer, key(1), X), Some(Granted::Converted));
            manager.leave(writer, Lsn(lsn));
        }
        assert_eq!(now(&manager, &late, key(1), U), None);
        manager.release_all(&first);
        for writer in &all {
            assert_eq!(now(&manager, &late, key(1), U), None);
            manager.release_all(writer);
        }
    });
    assert_eq!(now(&manager, &late, key(1), U), Some(Granted::New));
    manager.release_all(&reader);
    manager.leave(&late, Lsn(99));
    assert_eq!(now(&manager, &all[0], key(1), X), Some(Granted::New));
}
