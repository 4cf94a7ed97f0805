//! Descents by copies of a tree's upper pages: when they are used, and that they are never believed too long.

use crate::ground::{Ground, Size};
use crate::kinds::{Big, Kind, Long};
use furrow_access::{By, Tree};
use furrow_format::{Page, PageId, Record};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::thread;
use furrow_observe::task::page_work;
use furrow_pool::{Ex, LatchRank, Sh};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn insert(ground: &Ground, tree: &Tree, keys: impl Iterator<Item = i64>) {
    let mut txn = ground.begin();
    for id in keys {
        let row = Big::row(&id, &[7; 141]);
        tree.insert(&mut By::Txn(&mut txn), &Big::key(&id), &row)
            .unwrap();
    }
    txn.commit_delayed().unwrap();
}

fn is_there(tree: &Tree, id: i64) -> bool {
    tree.get(&Big::key(&id), |_| ()).unwrap().is_some()
}

/// Reads often enough for everything above the leaves to be copied.
fn warm_up(tree: &Tree, keys: i64) {
    for _ in 0..4 {
        (0..keys).for_each(|id| assert!(is_there(tree, id)));
    }
}

/// Whether readers pass the root while another thread holds it EX.
fn root_is_passed_by(ground: &Ground, tree: &Tree, keys: &[i64]) -> bool {
    is_passed_by(ground, tree, tree.root(), keys)
}

fn is_passed_by(ground: &Ground, tree: &Tree, page: PageId, keys: &[i64]) -> bool {
    let passed = AtomicBool::new(false);
    thread::scope(|s| {
        let page = ground.store.key(page);
        let held = ground.store.pool().fetch(page, Ex, LatchRank::Data);
        let held = held.unwrap();
        let reader = s.spawn(|| {
            let found = keys.iter().all(|&id| is_there(tree, id));
            passed.store(true, Ordering::SeqCst);
            found
        });
        for _ in 0..200 {
            if passed.load(Ordering::SeqCst) {
                break;
            }
            furrow_io::time::sleep(furrow_io::time::Duration::from_millis(1));
        }
        let passed = passed.load(Ordering::SeqCst);
        drop(held);
        assert!(reader.join().unwrap());
        passed
    })
}

#[test]
fn readers_pass_a_root_by_that_is_as_it_was_and_again_some_time_after_it_has_changed() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    insert(&ground, &tree, 0..2000);
    assert!(!root_is_passed_by(&ground, &tree, &[3]), "not copied yet");
    warm_up(&tree, 2000);
    assert!(root_is_passed_by(&ground, &tree, &[0, 999, 1999]));
    // The root is the leaves' parent still: a split changes it.
    insert(&ground, &tree, 2000..2100);
    assert!(is_there(&tree, 2099));
    assert!(
        !root_is_passed_by(&ground, &tree, &[3]),
        "what was copied is old"
    );
    warm_up(&tree, 2100);
    assert!(root_is_passed_by(&ground, &tree, &[0, 999, 2099]));
}

#[test]
fn a_page_below_the_root_is_passed_by_once_descents_have_met_on_it() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    insert(&ground, &tree, 0..60_000);
    let (pool, root) = (ground.store.pool(), ground.store.key(tree.root()));
    let root = pool.fetch(root, Sh, LatchRank::Data).unwrap();
    let view = Page::new(&root);
    assert_eq!(view.level(), 2);
    let entry = Record::index(view.record_start(0).unwrap(), view.pminlen()).unwrap();
    let first = entry.child().unwrap();
    drop(root);
    warm_up(&tree, 3000);
    assert!(root_is_passed_by(&ground, &tree, &[3]));
    assert!(
        !is_passed_by(&ground, &tree, first, &[3]),
        "nobody else was there"
    );
    thread::scope(|s| {
        let held = pool.fetch(ground.store.key(first), Sh, LatchRank::Data);
        let held = held.unwrap();
        s.spawn(|| warm_up(&tree, 3000)).join().unwrap();
        drop(held);
    });
    assert!(is_passed_by(&ground, &tree, first, &[0, 3, 2999]));
    warm_up(&tree, 60_000);
    let before = page_work();
    assert!(is_there(&tree, 3));
    assert_eq!(page_work().since(before).logical_reads, 3);
}

#[test]
fn a_descent_counts_the_same_pages_by_copies_as_without() {
    for rows in [2000, 60_000] {
        let ground = Ground::new(Size::default());
        let tree = ground.tree(7, Big::shape());
        insert(&ground, &tree, 0..rows);
        let cost = |id: i64| {
            let before = page_work();
            assert!(is_there(&tree, id));
            page_work().since(before).logical_reads
        };
        let cold = cost(rows / 2);
        assert_eq!(cold, if rows == 2000 { 2 } else { 3 });
        warm_up(&tree, rows);
        assert!(root_is_passed_by(&ground, &tree, &[rows / 2]));
        assert_eq!(cost(rows / 2), cold);
    }
}

/// Readers of rows that stay, beside writers that make the tree grow and shrink around them, in so small a
/// pool that the root's frame is taken for other pages again and again.
fn read_beside_growth(frames: usize) {
    const STAYS: i64 = 64;
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let ground = Ground::new(Size {
        files: 2,
        file_pages: 4096,
        frames,
    });
    let tree = ground.tree(7, Long::shape());
    let row = |id: i64| Long::row(&id, &[id as u8; 700]);
    let mut txn = ground.begin();
    for id in (0..300).filter(|id| id % STAYS == 0) {
        tree.insert(&mut By::Txn(&mut txn), &Long::key(&id), &row(id))
            .unwrap();
    }
    txn.commit_delayed().unwrap();
    let (done, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|s| {
        let (tree, ground, done, reads) = (&tree, &ground, &done, &reads);
        for reader in 0..2_u64 {
            let mut rng = seeded(seed ^ reader << 32);
            s.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let id = rng.random_range(0..5) * STAYS;
                    let found = tree.get(&Long::key(&id), <[u8]>::to_vec).unwrap();
                    assert_eq!(found, Some(row(id)), "{id}");
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for round in 0..12 {
            for insert in [true, false] {
                let mut txn = ground.begin();
                for id in (0..300).filter(|id| id % STAYS != 0) {
                    let (by, key) = (&mut By::Txn(&mut txn), Long::key(&id));
                    match insert {
                        true => tree.insert(by, &key, &row(id)).unwrap(),
                        false => tree.delete(by, &key).unwrap(),
                    }
                }
                txn.commit_delayed().unwrap();
            }
            // Leaves that are empty now are freed, and used for other keys in the next round.
            for id in 0..300 {
                tree.purge_ghosts(&Long::key(&id), &|_, _| true).unwrap();
            }
            println!("round {round}: {} reads", reads.load(Ordering::Relaxed));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(reads.load(Ordering::Relaxed) > 0);
}

#[test]
fn rows_that_stay_are_found_while_the_tree_grows_and_shrinks_around_them() {
    read_beside_growth(4096);
}

#[test]
fn rows_that_stay_are_found_while_the_root_goes_in_and_out_of_memory() {
    read_beside_growth(40);
}
