//! Rows that a scan has to wait for: each is reported, read again, and every row comes once, in order.

use crate::ground::{Ground, Size, heap_row};
use crate::kinds::{Big, Kind};
use furrow_access::{
    Bound, By, Direction, HeapStep, HeapVisitor, InPlace, Key, RowCheck, Step, Tree, Visitor,
};
use furrow_format::RowId;
use std::collections::{BTreeSet, HashSet};

/// Has to wait for a third of the rows when it meets them first, and passes over ghosts.
#[derive(Default)]
struct Patient {
    waited: HashSet<Vec<u8>>,
}

impl Patient {
    fn judge(&mut self, what: &[u8], ghost: bool) -> RowCheck {
        if ghost {
            return RowCheck::Skip;
        }
        let third = what
            .iter()
            .fold(0_u32, |sum, &b| sum + u32::from(b))
            .is_multiple_of(3);
        let wait = third && !self.waited.contains(what);
        if wait { RowCheck::Wait } else { RowCheck::Take }
    }
}

impl Visitor for Patient {
    fn all_committed(&mut self) -> bool {
        false
    }
    fn check(&mut self, row: &[u8], ghost: bool) -> RowCheck {
        self.judge(row, ghost)
    }
}

impl HeapVisitor for Patient {
    fn all_committed(&mut self) -> bool {
        false
    }
    fn check(&mut self, rid: RowId, _: &[u8], ghost: bool) -> RowCheck {
        self.judge(&rid.to_bytes(), ghost)
    }
}

/// The same by one who looks at rows where they lie, many leaves in a step.
struct OnTheSpot<'t> {
    patient: Patient,
    tree: &'t Tree,
    ids: Vec<i64>,
}

impl Visitor for OnTheSpot<'_> {
    fn in_place(&self) -> InPlace {
        InPlace::Rows
    }
    fn take(&mut self, row: &[u8]) {
        self.ids
            .push(id_of(&self.tree.shape().key_of(row).unwrap()));
    }
    fn wants_more(&self) -> bool {
        true
    }
    fn all_committed(&mut self) -> bool {
        false
    }
    fn check(&mut self, row: &[u8], ghost: bool) -> RowCheck {
        self.patient.judge(row, ghost)
    }
}

fn id_of(key: &Key) -> i64 {
    i64::from_le_bytes(key.column(0).unwrap().try_into().unwrap())
}

fn ids_on_the_spot(tree: &Tree) -> Vec<i64> {
    let (low, high) = (
        Bound::Excluded(Big::key(&0)),
        Bound::Included(Big::key(&1990)),
    );
    let mut reader = OnTheSpot {
        patient: Patient::default(),
        tree,
        ids: Vec::new(),
    };
    let mut cursor = tree.scan(low, high, Direction::Forward);
    loop {
        match cursor.step(&mut reader).unwrap() {
            Step::Rows => {}
            Step::Wait(key) => {
                let row = tree.get(&key, <[u8]>::to_vec).unwrap().unwrap();
                assert!(reader.patient.waited.insert(row));
            }
            Step::End => return reader.ids,
        }
    }
}

fn ids_of(tree: &Tree, direction: Direction) -> Vec<i64> {
    let (mut patient, mut ids) = (Patient::default(), Vec::new());
    let low = Bound::Excluded(Big::key(&0));
    let high = Bound::Included(Big::key(&1990));
    let mut cursor = tree.scan(low, high, direction);
    loop {
        match cursor.step(&mut patient).unwrap() {
            Step::Rows => {
                while let Some(row) = cursor.next_in_batch() {
                    ids.push(id_of(&tree.shape().key_of(row).unwrap()));
                }
            }
            Step::Wait(key) => {
                let row = tree.get(&key, <[u8]>::to_vec).unwrap().unwrap();
                assert!(patient.waited.insert(row), "{key:?} was waited for already");
            }
            Step::End => break,
        }
    }
    assert!(patient.waited.len() > 200);
    ids
}

#[test]
fn a_scan_of_a_tree_goes_on_where_it_waited() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    for id in 0..2000 {
        tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(&id),
            &Big::row(&id, &[3; 90]),
        )
        .unwrap();
    }
    for id in (0..2000).filter(|id| id % 7 == 0) {
        tree.delete(&mut By::Txn(&mut txn), &Big::key(&id)).unwrap();
    }
    txn.commit().unwrap();
    let mut expected: Vec<i64> = (1..=1990).filter(|id| id % 7 != 0).collect();
    assert_eq!(ids_of(&tree, Direction::Forward), expected);
    assert_eq!(ids_on_the_spot(&tree), expected);
    expected.reverse();
    assert_eq!(ids_of(&tree, Direction::Backward), expected);
}

#[test]
fn a_scan_of_a_heap_goes_on_where_it_waited() {
    let ground = Ground::new(Size::default());
    let heap = ground.heap(9, crate::ground::heap_shape());
    let (mut txn, mut expected) = (ground.begin(), BTreeSet::new());
    let by = &mut By::Txn(&mut txn);
    for i in 0..2000 {
        let rid = heap.insert(by, &heap_row(&[4; 60]), &mut |_| true).unwrap();
        expected.insert(rid);
        match i % 10 {
            0 => {
                heap.delete(by, rid).unwrap();
                expected.remove(&rid);
            }
            // It moves: its page is full of short rows by the time it grows.
            1 if i > 200 => {
                let early = *expected.iter().nth(i / 10).unwrap();
                heap.update(by, early, &heap_row(&[5; 3000])).unwrap();
            }
            _ => {}
        }
    }
    txn.commit().unwrap();
    assert!(heap.audit().unwrap().moved > 50);
    let (mut patient, mut seen) = (Patient::default(), BTreeSet::new());
    let mut cursor = heap.scan().unwrap();
    loop {
        match cursor.step(&mut patient).unwrap() {
            HeapStep::Rows => {
                while let Some((rid, _)) = cursor.next_in_batch() {
                    assert!(seen.insert(rid), "{rid} was met twice");
                }
            }
            HeapStep::Wait(rid) => assert!(patient.waited.insert(rid.to_bytes().to_vec())),
            HeapStep::End => break,
        }
    }
    assert!(patient.waited.len() > 200);
    assert_eq!(seen, expected);
    let by_file = heap.scans_by_file().unwrap();
    assert_eq!(by_file.len(), 2);
    let mut count = 0;
    for (file, mut cursor) in by_file {
        while cursor.step(&mut crate::ground::Everything).unwrap() == HeapStep::Rows {
            while let Some((rid, _)) = cursor.next_in_batch() {
                assert_eq!(rid.page.file, file);
                count += 1;
            }
        }
    }
    assert_eq!(count, expected.len());
}
