//! Log space: a long transaction is promised a few times what it writes (rollback, headers, splits), not
//! dozens of times as much.

use crate::ground::{Ground, Size, Structures, heap_row};
use crate::kinds::{Big, Kind};
use furrow_access::By;

const ROWS: i64 = 20_000;

/// Promised and used bytes of log.
fn log_bytes(ground: &Ground) -> (u64, u64) {
    let usage = ground.store.log().usage();
    (usage.promised_bytes, usage.used_bytes)
}

#[test]
fn a_long_transaction_on_a_tree_is_promised_little_more_than_it_writes() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    for id in 0..ROWS {
        tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(&id),
            &Big::row(&id, &[1; 141]),
        )
        .unwrap();
    }
    let (promised, used) = log_bytes(&ground);
    assert!(
        promised < 6 * used,
        "inserts: {promised} bytes promised, {used} used"
    );
    for id in 0..ROWS {
        tree.update(
            &mut By::Txn(&mut txn),
            &Big::key(&id),
            &Big::row(&id, &[2; 141]),
        )
        .unwrap();
    }
    let (promised, used) = log_bytes(&ground);
    assert!(
        promised < 6 * used,
        "updates: {promised} bytes promised, {used} used"
    );
    txn.rollback(&Structures {
        trees: &[&tree],
        heaps: &[],
    })
    .unwrap();
    assert_eq!(log_bytes(&ground).0, 0);
}

#[test]
fn a_long_transaction_on_a_heap_is_promised_little_more_than_it_writes() {
    let ground = Ground::new(Size::default());
    let heap = ground.heap(9, crate::ground::heap_shape());
    let (mut txn, mut rids) = (ground.begin(), Vec::new());
    for _ in 0..ROWS {
        let row = heap_row(&[1; 141]);
        rids.push(
            heap.insert(&mut By::Txn(&mut txn), &row, &mut |_| true)
                .unwrap(),
        );
    }
    for rid in &rids {
        heap.update(&mut By::Txn(&mut txn), *rid, &heap_row(&[2; 141]))
            .unwrap();
    }
    let (promised, used) = log_bytes(&ground);
    assert!(
        promised < 6 * used,
        "{promised} bytes promised, {used} used"
    );
    txn.rollback(&Structures {
        trees: &[],
        heaps: &[&heap],
    })
    .unwrap();
    assert_eq!(log_bytes(&ground).0, 0);
}
