//! Leaves that become empty go, and their extents with them.

use crate::ground::{Everything, Ground, Size, Trees, all_rows};
use crate::kinds::{Big, Kind, Text};
use furrow_access::{Bound, By, Direction, Key, Step, Tree};
use furrow_io::random::{Rng, SliceRandom, seeded, test_seed};
use furrow_io::thread;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn free_extents(ground: &Ground) -> u64 {
    ground.space.free_extents().iter().map(|file| file.1).sum()
}

fn empty_and_purge<K: Kind>(ids: &mut [K::Id], purge_order: impl Fn(&mut [K::Id])) {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, K::shape());
    let before = free_extents(&ground);
    let mut txn = ground.begin();
    for id in ids.iter() {
        tree.insert(&mut By::Txn(&mut txn), &K::key(id), &K::row(id, &[1; 100]))
            .unwrap();
    }
    txn.commit().unwrap();
    let full = tree.audit().unwrap();
    assert!(full.levels.len() >= 2 && free_extents(&ground) + 40 < before);
    let mut txn = ground.begin();
    for id in ids.iter() {
        tree.delete(&mut By::Txn(&mut txn), &K::key(id)).unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(tree.audit().unwrap().ghosts, ids.len() as u64);
    purge_order(ids);
    for id in ids.iter() {
        tree.purge_ghosts(&K::key(id), &|_, _| true).unwrap();
    }
    let audit = tree.audit().unwrap();
    assert_eq!((audit.rows, audit.ghosts), (0, 0));
    // The root, and one page of each level below it.
    assert_eq!(audit.pages().count(), full.levels.len());
    ground.check_pages(&tree, &audit);
    // One page of each level is left, and one extent may be kept for what comes.
    let kept = full.levels.len() as u64 + 1;
    assert!(
        free_extents(&ground) + kept >= before,
        "{} of {before}",
        free_extents(&ground)
    );
    // It goes on to work.
    let mut txn = ground.begin();
    for id in ids.iter() {
        tree.insert(&mut By::Txn(&mut txn), &K::key(id), &K::row(id, &[2; 50]))
            .unwrap();
    }
    txn.commit().unwrap();
    assert_eq!(tree.audit().unwrap().rows, ids.len() as u64);
}

#[test]
fn a_tree_emptied_from_left_to_right_gives_its_extents_back() {
    empty_and_purge::<Big>(&mut (0..30_000).collect::<Vec<_>>(), |_| ());
}

#[test]
fn a_tree_emptied_from_right_to_left_gives_its_extents_back() {
    empty_and_purge::<Big>(&mut (0..30_000).collect::<Vec<_>>(), <[i64]>::reverse);
}

#[test]
fn a_high_tree_emptied_in_any_order_gives_its_extents_back() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut ids: Vec<Vec<u8>> = (0..4000)
        .map(|i| format!("{i:0500}").into_bytes())
        .collect();
    ids.shuffle(&mut seeded(seed));
    empty_and_purge::<Text>(&mut ids, |ids| ids.shuffle(&mut seeded(seed + 1)));
}

#[test]
fn an_insert_rolled_back_leaves_no_empty_leaves() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    for id in 0..20_000 {
        tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(&id),
            &Big::row(&id, &[1; 100]),
        )
        .unwrap();
    }
    txn.rollback(&Trees(&[&tree])).unwrap();
    let audit = tree.audit().unwrap();
    assert_eq!(audit.rows, 0);
    assert_eq!(audit.pages().count(), audit.levels.len());
    ground.check_pages(&tree, &audit);
}

/// Scans that must see the rows that stay, each once, in order, while leaves come and go between them.
fn watch(tree: &Tree, stay: &[i64], direction: Direction) {
    let mut stay: Vec<i64> = stay.to_vec();
    if direction == Direction::Backward {
        stay.reverse();
    }
    let mut seen = Vec::with_capacity(stay.len());
    let mut cursor = tree
        .scan(Bound::Open, Bound::Open, direction)
        .with_read_ahead();
    let mut last: Option<Key> = None;
    while cursor.step(&mut Everything).unwrap() == Step::Rows {
        while let Some(row) = cursor.next_in_batch() {
            let key = tree.shape().key_of(row).unwrap();
            let id = id_of(&key);
            if id % 1000 == 0 {
                seen.push(id);
            }
            if let Some(last) = &last {
                let order = tree.shape().compare_keys(last, &key);
                assert_eq!(order.is_lt(), direction == Direction::Forward);
            }
            last = Some(key);
        }
    }
    assert_eq!(seen, stay);
}

/// Fills ranges between the rows that stay, deletes and purges them, or rolls the filling back.
fn churn(ground: &Ground, tree: &Tree, me: i64, seed: u64) {
    let mut rng = seeded(seed ^ me as u64);
    for _ in 0..25 {
        let base = (rng.random_range(0..16) * 4 + me) * 1000;
        let ids: Vec<i64> = (base + 1..base + 1000).collect();
        let mut txn = ground.begin();
        for id in &ids {
            let row = Big::row(id, &[me as u8; 150]);
            tree.insert(&mut By::Txn(&mut txn), &Big::key(id), &row)
                .unwrap();
        }
        if rng.random_bool(0.3) {
            txn.rollback(&Trees(&[tree])).unwrap();
            continue;
        }
        for id in &ids {
            tree.delete(&mut By::Txn(&mut txn), &Big::key(id)).unwrap();
        }
        txn.commit_delayed().unwrap();
        // Ghosts of this thread's range only: others' transactions are under way.
        let mine = |key: &Key, _: &[u8]| ids.contains(&id_of(key));
        for id in &ids {
            tree.purge_ghosts(&Big::key(id), &mine).unwrap();
        }
    }
}

fn id_of(key: &Key) -> i64 {
    i64::from_le_bytes(key.column(0).unwrap().try_into().unwrap())
}

#[test]
fn scans_see_the_rows_that_stay_while_leaves_come_and_go() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let stay: Vec<i64> = (0..64).map(|i| i * 1000).collect();
    let mut txn = ground.begin();
    for id in &stay {
        tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(id),
            &Big::row(id, &[9; 200]),
        )
        .unwrap();
    }
    txn.commit().unwrap();
    let (done, scans) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|s| {
        let (ground, tree, stay, done, scans) = (&ground, &tree, &stay, &done, &scans);
        let writers: Vec<_> = (0..4)
            .map(|me| {
                thread::spawn_scoped(s, "writer", move || churn(ground, tree, me, seed)).unwrap()
            })
            .collect();
        for direction in [Direction::Forward, Direction::Backward, Direction::Backward] {
            s.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    watch(tree, stay, direction);
                    scans.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let ended: Vec<_> = writers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Ordering::Relaxed);
        ended.into_iter().for_each(|writer| writer.unwrap());
    });
    assert!(scans.load(Ordering::Relaxed) > 3);
    for id in (0..64_000).step_by(10) {
        tree.purge_ghosts(&Big::key(&id), &|_, _| true).unwrap();
    }
    let audit = tree.audit().unwrap();
    assert_eq!((audit.rows, audit.ghosts), (64, 0));
    assert_eq!(all_rows(&tree, Direction::Backward).len(), 64);
    ground.check_pages(&tree, &audit);
    println!(
        "{} scans; at the end {} leaves",
        scans.load(Ordering::Relaxed),
        audit.levels[0].len()
    );
    assert!(audit.levels[0].len() <= 64);
}

/// The narrow place: a scan to the left waits for a leaf while that is taken out of the tree.
#[test]
fn a_scan_to_the_left_is_not_led_astray_by_a_leaf_that_goes() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let stay = [0, 1000];
    let mut txn = ground.begin();
    for id in &stay {
        tree.insert(
            &mut By::Txn(&mut txn),
            &Big::key(id),
            &Big::row(id, &[9; 200]),
        )
        .unwrap();
    }
    txn.commit().unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        let (ground, tree, stay, done) = (&ground, &tree, &stay, &done);
        let writer = s.spawn(move || {
            for _ in 0..400 {
                let mut txn = ground.begin();
                for id in 900..1000 {
                    let row = Big::row(&id, &[1; 1500]);
                    tree.insert(&mut By::Txn(&mut txn), &Big::key(&id), &row)
                        .unwrap();
                    tree.delete(&mut By::Txn(&mut txn), &Big::key(&id)).unwrap();
                }
                txn.commit_delayed().unwrap();
                for id in 900..1000 {
                    tree.purge_ghosts(&Big::key(&id), &|_, _| true).unwrap();
                }
            }
        });
        for _ in 0..3 {
            s.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    watch(tree, stay, Direction::Backward);
                }
            });
        }
        let ended = writer.join();
        done.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
    assert_eq!(tree.audit().unwrap().rows, 2);
}
