//! Key ranges: a lock on a key covers the gap below it.

use furrow_format::{DatabaseId, RowsetId};
use furrow_io::thread::scope;

use super::super::LockMode::*;
use super::super::{LockManager, Resource, Timeout};
use super::{is_empty, key, owner, parties, queued};

#[test]
fn a_serializable_scan_keeps_inserts_out_of_its_gaps() {
    let manager = LockManager::default();
    let (scan, writer) = (owner(&manager, 51), owner(&manager, 52));
    manager
        .lock(&scan, key(20), RangeSS, Timeout::Forever)
        .unwrap();
    // A key below 20 would be inserted into the gap that key 20 covers; one below 30 would not.
    assert!(!manager.try_instant(&writer, key(20), RangeIN));
    assert!(manager.try_instant(&writer, key(30), RangeIN));
    assert!(manager.try_instant(&writer, key(20), S) && !manager.try_instant(&writer, key(20), X));
}

#[test]
fn a_scan_to_the_end_locks_infinity() {
    let manager = LockManager::default();
    let (scan, writer) = (owner(&manager, 51), owner(&manager, 52));
    let end = Resource::infinity(DatabaseId(1), RowsetId(5));
    manager.lock(&scan, end, RangeSS, Timeout::Forever).unwrap();
    assert!(!manager.try_instant(&writer, end, RangeIN));
    assert!(manager.try_instant(
        &writer,
        Resource::infinity(DatabaseId(1), RowsetId(6)),
        RangeIN
    ));
}

#[test]
fn two_inserts_into_one_gap_do_not_meet() {
    let (manager, [a, b]) = parties();
    manager
        .lock(&a, key(20), RangeIN, Timeout::Forever)
        .unwrap();
    manager.lock(&b, key(20), RangeIN, Timeout::NoWait).unwrap();
    let reader = owner(&manager, 53);
    assert!(
        manager.try_instant(&reader, key(20), X),
        "the key itself is free"
    );
    assert!(!manager.try_instant(&reader, key(20), RangeSS));
}

#[test]
fn an_insert_waits_for_the_scan_and_takes_nothing_along() {
    let manager = LockManager::default();
    let (scan, writer) = (owner(&manager, 51), owner(&manager, 52));
    manager
        .lock(&scan, key(20), RangeSS, Timeout::Forever)
        .unwrap();
    scope(|s| {
        let insert = s.spawn(|| manager.lock_instant(&writer, key(20), RangeIN, Timeout::Forever));
        queued(&manager, 52, key(20));
        manager.release_all(&scan);
        insert.join().unwrap().unwrap();
    });
    assert_eq!(writer.lock_count(), 0);
    assert!(is_empty(&manager));
}

#[test]
fn an_insert_beside_ones_own_scan_only_needs_the_others_gone() {
    let (manager, [a, b]) = parties();
    manager
        .lock(&a, key(20), RangeSS, Timeout::Forever)
        .unwrap();
    assert!(manager.try_instant(&a, key(20), RangeIN));
    manager
        .lock(&b, key(20), RangeSS, Timeout::Forever)
        .unwrap();
    assert!(!manager.try_instant(&a, key(20), RangeIN));
    scope(|s| {
        let insert = s.spawn(|| manager.lock_instant(&a, key(20), RangeIN, Timeout::Forever));
        queued(&manager, 51, key(20));
        manager.release_all(&b);
        insert.join().unwrap().unwrap();
    });
    assert_eq!(a.held(&key(20)), Some(RangeSS));
}

#[test]
fn an_insert_that_keeps_its_range_lock_joins_it_with_the_scan() {
    let (manager, [a]) = parties();
    manager
        .lock(&a, key(20), RangeSS, Timeout::Forever)
        .unwrap();
    manager
        .lock(&a, key(20), RangeIN, Timeout::Forever)
        .unwrap();
    assert_eq!(a.held(&key(20)), Some(RangeXS));
    manager.lock(&a, key(20), X, Timeout::Forever).unwrap();
    assert_eq!(a.held(&key(20)), Some(RangeXX));
}
