//! No space: the operation fails whole, what was there stays, and a rollback works.

use crate::ground::{Ground, Size, Structures, all_heap_rows, heap_row};
use crate::kinds::{Big, Kind};
use furrow_access::{AccessError, By};
use furrow_space::SpaceError;

const SMALL: Size = Size {
    files: 2,
    file_pages: 128,
    frames: 512,
};

pub fn is_full(error: &AccessError) -> bool {
    matches!(error, AccessError::Space(SpaceError::FilegroupFull { .. }))
}

#[test]
fn a_tree_in_a_full_filegroup_keeps_what_it_has() {
    let ground = Ground::new(SMALL);
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    let mut rows = 0;
    let error = loop {
        // In an order that splits pages everywhere.
        let id = rows * 7919 % 100_003;
        match tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(&id),
            &Big::row(&id, &[1; 300]),
        ) {
            Ok(()) => rows += 1,
            Err(error) => break error,
        }
    };
    assert!(is_full(&error), "{error}");
    txn.commit().unwrap();
    let audit = tree.audit().unwrap();
    assert_eq!(audit.rows, rows as u64);
    assert!(audit.pages().count() > 200);
    ground.check_pages(&tree, &audit);
    // What needs no page goes on, and can be undone.
    let mut txn = ground.begin();
    for i in 0..rows {
        tree.delete(&mut By::Txn(&mut txn), &Big::key(&(i * 7919 % 100_003)))
            .unwrap();
    }
    txn.rollback(&Structures {
        trees: &[&tree],
        heaps: &[],
    })
    .unwrap();
    assert_eq!(tree.audit().unwrap(), audit);
}

#[test]
fn a_heap_in_a_full_filegroup_keeps_what_it_has() {
    let ground = Ground::new(SMALL);
    let heap = ground.heap(9, crate::ground::heap_shape());
    let (mut txn, mut rids) = (ground.begin(), Vec::new());
    let error = loop {
        match heap.insert(&mut By::Txn(&mut txn), &heap_row(&[1; 1500]), &mut |_| true) {
            Ok(rid) => rids.push(rid),
            Err(error) => break error,
        }
    };
    assert!(is_full(&error), "{error}");
    txn.commit().unwrap();
    let before = all_heap_rows(&heap);
    assert_eq!(before.len(), rids.len());
    // Five rows a page leave no room for one to grow.
    let mut txn = ground.begin();
    let grown = heap.update(&mut By::Txn(&mut txn), rids[0], &heap_row(&[2; 6000]));
    assert!(is_full(&grown.unwrap_err()));
    for rid in &rids {
        heap.update(&mut By::Txn(&mut txn), *rid, &heap_row(&[2; 1500]))
            .unwrap();
    }
    txn.rollback(&Structures {
        trees: &[],
        heaps: &[&heap],
    })
    .unwrap();
    assert_eq!(all_heap_rows(&heap), before);
    heap.audit().unwrap();
}
