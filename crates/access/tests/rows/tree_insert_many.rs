//! Several rows inserted by one log record: the same rows, undone and after crashes.

use crate::ground::{Entry, Ground, Size, Trees};
use crate::kinds::{Big, Kind};
use crate::tree_model::{Free, Model, check_whole};
use furrow_access::{By, Gate, Key, LeafHints, Tree, UndoOp};
use furrow_format::Lsn;
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_log::OwnedRecord;
use furrow_txn::lock::LockManager;
use furrow_txn::{ActiveTxn, Transaction, TxnError, Undo};

/// A session guards gaps: rows go in one by one.
struct Guarded;

impl Gate for Guarded {
    fn guards_gaps(&self) -> bool {
        true
    }

    fn may_enter(&self, _next: Option<&Key>) -> bool {
        true
    }
}

fn ground() -> Ground {
    Ground::new(Size {
        files: 2,
        file_pages: 2048,
        frames: 256,
    })
}

fn entry(tree: &Tree) -> Entry {
    Entry {
        number: 7,
        first_iam: tree.unit().first_iam(),
        root: tree.root(),
        shape: Big::shape(),
    }
}

fn row(id: i64) -> Vec<u8> {
    Big::row(&id, &[id as u8; 150])
}

fn try_many(tree: &Tree, txn: &mut Transaction, ids: &[i64], gate: &dyn Gate) -> usize {
    let keys: Vec<Key> = ids.iter().map(Big::key).collect();
    let rows: Vec<Vec<u8>> = ids.iter().map(|&id| row(id)).collect();
    let rows = rows.iter().map(Vec::as_slice);
    tree.insert_many(&mut By::Txn(txn), (&keys, None), rows, gate)
        .unwrap()
}

/// Inserts rows as a session does; gives how many log records had several of them.
fn insert(tree: &Tree, txn: &mut Transaction, model: &mut Model<Big>, ids: &[i64]) -> usize {
    let (mut rest, mut several) = (ids, 0);
    while let Some(first) = rest.first() {
        let count = try_many(tree, txn, rest, &Free);
        if count == 0 {
            tree.insert(&mut By::Txn(txn), &Big::key(first), &row(*first))
                .unwrap();
        }
        several += usize::from(count > 1);
        rest = &rest[count.max(1)..];
    }
    model.extend(ids.iter().map(|&id| (id, row(id))));
    several
}

fn filled(ground: &Ground, tree: &Tree) -> Model<Big> {
    let mut model = Model::<Big>::new();
    let mut txn = ground.begin();
    // Full leaves at first; the rows in between split them, and leave space.
    let ids: Vec<i64> = (0..6000).step_by(6).collect();
    assert!(insert(tree, &mut txn, &mut model, &ids) > 15);
    let between: Vec<i64> = (3..6000).step_by(12).collect();
    insert(tree, &mut txn, &mut model, &between);
    txn.commit().unwrap();
    check_whole::<Big>(tree, &model);
    model
}

#[test]
fn rows_that_go_to_one_place_of_one_leaf_are_one_log_record() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    filled(&ground, &tree);
    let mut txn = ground.begin();
    // Behind the last row of the tree.
    assert_eq!(try_many(&tree, &mut txn, &[7000, 7001, 7009], &Free), 3);
    assert_eq!(txn.records, 1);
    // Up to the next row.
    assert_eq!(try_many(&tree, &mut txn, &[301, 302, 304], &Free), 2);
    // As far as they ascend.
    assert_eq!(try_many(&tree, &mut txn, &[602, 601], &Free), 1);
    assert_eq!(try_many(&tree, &mut txn, &[902, 902], &Free), 1);
    // Not where there is a row, or a ghost, or a guarded gap.
    let mut none = |ids: &[i64], gate: &dyn Gate| try_many(&tree, &mut txn, ids, gate) == 0;
    assert!(none(&[1200, 1201], &Free));
    assert!(none(&[1201, 1202], &Guarded));
    assert!(none(&[], &Free));
    tree.delete(&mut By::Txn(&mut txn), &Big::key(&1500))
        .unwrap();
    assert_eq!(try_many(&tree, &mut txn, &[1500, 1501], &Free), 0);
    // A duplicate behind a row ends the list before it.
    assert_eq!(try_many(&tree, &mut txn, &[1801, 1803], &Free), 1);
    txn.rollback(&Trees(&[&tree])).unwrap();
}

#[test]
fn rows_of_the_next_leaf_and_rows_that_do_not_fit_are_left_over() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = filled(&ground, &tree);
    // Gaps so wide that a list crosses from leaf to leaf without meeting a row.
    let mut txn = ground.begin();
    let all: Vec<i64> = model.keys().copied().collect();
    for id in all.iter().filter(|&id| id % 600 > 10) {
        tree.delete(&mut By::Txn(&mut txn), &Big::key(id)).unwrap();
        model.remove(id);
    }
    txn.commit().unwrap();
    for id in all {
        tree.purge_ghosts(&Big::key(&id), &|_, _| true).unwrap();
    }
    let mut txn = ground.begin();
    for from in (20..5000).step_by(600) {
        let ids: Vec<i64> = (from..from + 500).step_by(2).collect();
        assert!(insert(&tree, &mut txn, &mut model, &ids) > 3);
    }
    txn.commit().unwrap();
    check_whole::<Big>(&tree, &model);
    ground.check_pages(&tree, &tree.audit().unwrap());
}

/// Inserts rows one by one, each where a hint says; gives how many had a hint.
fn insert_by_hints(
    tree: &Tree,
    txn: &mut Transaction,
    (ids, hints): (&[i64], &LeafHints),
    model: &mut Model<Big>,
) -> usize {
    let mut hinted = 0;
    for (at, id) in ids.iter().enumerate() {
        let (key, bytes, hint) = (Big::key(id), row(*id), hints.get(at));
        let given = (std::slice::from_ref(&key), hint);
        let rows = std::iter::once(&bytes[..]);
        let by = &mut By::Txn(txn);
        if tree.insert_many(by, given, rows, &Free).unwrap() == 0 {
            tree.insert(by, &key, &bytes).unwrap();
        }
        model.insert(*id, bytes);
        hinted += usize::from(hint.is_some());
    }
    hinted
}

#[test]
fn a_hint_that_is_out_of_date_leads_no_row_to_a_wrong_leaf() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = filled(&ground, &tree);
    let ids: Vec<i64> = (1..6000).step_by(96).collect();
    let keys: Vec<Key> = ids.iter().map(Big::key).collect();
    let hints = tree.look_ahead(&keys);
    let mut txn = ground.begin();
    // Leaves are split, and those in the middle are freed.
    let split: Vec<i64> = (2..1500).step_by(6).collect();
    insert(&tree, &mut txn, &mut model, &split);
    let middle: Vec<i64> = model.range(2000..4000).map(|(&id, _)| id).collect();
    for id in &middle {
        tree.delete(&mut By::Txn(&mut txn), &Big::key(id)).unwrap();
        model.remove(id);
    }
    txn.commit().unwrap();
    for id in &middle {
        tree.purge_ghosts(&Big::key(id), &|_, _| true).unwrap();
    }
    let mut txn = ground.begin();
    let hinted = insert_by_hints(&tree, &mut txn, (&ids, &hints), &mut model);
    assert_eq!(hinted, ids.len());
    txn.commit().unwrap();
    check_whole::<Big>(&tree, &model);
    ground.check_pages(&tree, &tree.audit().unwrap());
}

#[test]
fn a_hint_to_a_leaf_of_another_tree_leads_no_row_there() {
    let ground = ground();
    let (tree, other) = (ground.tree(7, Big::shape()), ground.tree(8, Big::shape()));
    let mut model = filled(&ground, &tree);
    let theirs = filled(&ground, &other);
    let ids: Vec<i64> = (1..6000).step_by(96).collect();
    let keys: Vec<Key> = ids.iter().map(Big::key).collect();
    let mut txn = ground.begin();
    let given = (&ids[..], &other.look_ahead(&keys));
    let hinted = insert_by_hints(&tree, &mut txn, given, &mut model);
    assert_eq!(hinted, ids.len());
    txn.commit().unwrap();
    check_whole::<Big>(&tree, &model);
    check_whole::<Big>(&other, &theirs);
}

/// Others have inserted between the rows, and leaves were split.
fn woven(ground: &Ground, tree: &Tree, model: &mut Model<Big>) -> Transaction {
    let mut txn = ground.begin();
    let mut mine = model.clone();
    let ids: Vec<i64> = (6001..6400).step_by(2).collect();
    assert!(insert(tree, &mut txn, &mut mine, &ids) >= 3);
    assert_eq!(insert(tree, &mut txn, &mut mine, &[31, 32]), 1);
    // One of them is changed, one is deleted, by the same transaction.
    let key = Big::key(&6003);
    tree.update(&mut By::Txn(&mut txn), &key, &Big::row(&6003, &[9; 700]))
        .unwrap();
    tree.delete(&mut By::Txn(&mut txn), &Big::key(&6005))
        .unwrap();
    let mut other = ground.begin();
    for id in (6000..6400).step_by(2) {
        let row = Big::row(&id, &[1; 300]);
        tree.insert(&mut By::Txn(&mut other), &Big::key(&id), &row)
            .unwrap();
        model.insert(id, row);
    }
    other.commit().unwrap();
    txn
}

#[test]
fn a_rollback_takes_out_the_rows_and_none_that_others_have_put_between_them() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = filled(&ground, &tree);
    let txn = woven(&ground, &tree, &mut model);
    txn.rollback(&Trees(&[&tree])).unwrap();
    check_whole::<Big>(&tree, &model);
    ground.check_pages(&tree, &tree.audit().unwrap());
}

#[test]
fn a_savepoint_keeps_what_came_before_it() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = filled(&ground, &tree);
    let (locks, mut txn) = (LockManager::default(), ground.begin());
    let owner = locks.owner(51);
    insert(&tree, &mut txn, &mut model, &[7000, 7001, 7002]);
    let save = txn.savepoint(&locks, &owner);
    let mut scratch = model.clone();
    insert(&tree, &mut txn, &mut scratch, &[7003, 7004, 7005]);
    txn.rollback_to(save, &Trees(&[&tree]), &locks, &owner)
        .unwrap();
    txn.commit().unwrap();
    check_whole::<Big>(&tree, &model);
}

#[test]
fn after_a_crash_committed_rows_are_there_and_others_are_not() {
    for written in [false, true] {
        let ground = ground();
        let first = ground.data_images();
        let tree = ground.tree(7, Big::shape());
        let mut model = filled(&ground, &tree);
        let txn = woven(&ground, &tree, &mut model);
        ground.store.log().flush_all().unwrap();
        let images = if written { ground.data_images() } else { first };
        let (after, trees, _) = ground.crash(&images, &[entry(&tree)], &[]);
        drop(txn);
        check_whole::<Big>(&trees[0], &model);
        after.check_pages(&trees[0], &trees[0].audit().unwrap());
    }
}

/// Takes out some rows of each list by records that are never undone, and no more: what a crash in the middle
/// of an undo leaves in the log.
struct Halfway<'a>(&'a Tree);

impl Undo for Halfway<'_> {
    fn undo(&self, _txn: &ActiveTxn, _next: Lsn, record: &OwnedRecord) -> Result<(), TxnError> {
        let (_, op) = UndoOp::decode(record.get().undo).unwrap();
        let UndoOp::TreeInsertMany(keys) = op else {
            panic!("{op:?}");
        };
        for key in keys.iter().skip(1).step_by(2) {
            self.0.delete(&mut By::System, key).unwrap();
            self.0.purge_ghosts(key, &|_, _| true).unwrap();
        }
        Err(TxnError::Undo("the crash".to_owned()))
    }
}

#[test]
fn an_undo_that_a_crash_interrupts_starts_again_with_the_rows_that_are_left() {
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = filled(&ground, &tree);
    let mut txn = ground.begin();
    let mut mine = model.clone();
    let ids: Vec<i64> = (7000..7010).collect();
    assert_eq!(insert(&tree, &mut txn, &mut mine, &ids), 1);
    let before = tree.audit().unwrap().rows;
    assert!(txn.rollback(&Halfway(&tree)).is_err());
    assert_eq!(
        tree.audit().unwrap().rows,
        before - 5,
        "half of them are gone"
    );
    ground.store.log().flush_all().unwrap();
    let images = ground.data_images();
    let (ground, trees, _) = ground.crash(&images, &[entry(&tree)], &[]);
    check_whole::<Big>(&trees[0], &model);
    // And their keys are free.
    let mut txn = ground.begin();
    assert_eq!(insert(&trees[0], &mut txn, &mut model, &ids), 1);
    txn.commit().unwrap();
    check_whole::<Big>(&trees[0], &model);
}

#[test]
fn many_threads_insert_lists_side_by_side() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let ground = ground();
    let tree = ground.tree(7, Big::shape());
    let mut model = filled(&ground, &tree);
    let lists: Vec<Vec<i64>> = (0..8_i64)
        .map(|thread| {
            let mut rng = seeded(seed ^ thread as u64);
            let mut ids: Vec<i64> = (0..1500)
                .map(|n| 3 * (8 * n + thread) + rng.random_range(1..3))
                .collect();
            // Some come in the order of keys, some in runs of it.
            if thread % 2 == 1 {
                ids = ids.chunks(10).rev().flatten().copied().collect();
            }
            ids
        })
        .collect();
    furrow_io::thread::scope(|s| {
        for ids in &lists {
            let (ground, tree) = (&ground, &tree);
            s.spawn(move || {
                for (n, some) in ids.chunks(50).enumerate() {
                    let mut txn = ground.begin();
                    let mut scratch = Model::<Big>::new();
                    insert(tree, &mut txn, &mut scratch, some);
                    if n % 5 == 4 {
                        txn.rollback(&Trees(&[tree])).unwrap();
                    } else {
                        txn.commit_delayed().unwrap();
                    }
                }
            });
        }
    });
    for ids in &lists {
        for (n, some) in ids.chunks(50).enumerate() {
            if n % 5 < 4 {
                model.extend(some.iter().map(|&id| (id, row(id))));
            }
        }
    }
    check_whole::<Big>(&tree, &model);
    ground.check_pages(&tree, &tree.audit().unwrap());
}
