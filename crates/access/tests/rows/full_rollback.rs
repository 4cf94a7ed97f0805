//! A rollback in a full filegroup: what it needs must be there, whatever others have done since.

use crate::full::is_full;
use crate::ground::{Ground, Size, Structures, all_rows, heap_row, heap_shape};
use crate::kinds::{Big, Kind};
use furrow_access::{AccessError, By, Direction, Heap, Tree};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_txn::Transaction;
use std::collections::BTreeMap;

pub const SMALL: Size = Size {
    files: 2,
    file_pages: 128,
    frames: 512,
};
/// Transactions at work at a time.
pub const WORKERS: usize = 4;

/// Takes every page that is left, and keeps taking them.
pub fn fill_up(ground: &Ground, hog: &Heap) {
    let mut txn = ground.begin();
    let full = loop {
        let row = heap_row(&[7; 7900]);
        if let Err(error) = hog.insert(&mut By::Txn(&mut txn), &row, &mut |_| true) {
            break error;
        }
    };
    assert!(is_full(&full), "{full}");
    txn.commit().unwrap();
}

pub fn payload(rng: &mut SeededRng) -> Vec<u8> {
    let most = [20, 200, 1500, 4000][rng.random_range(0..4)];
    vec![rng.random(); rng.random_range(1..=most)]
}

/// What an operation did; a full filegroup refuses it whole.
pub fn done(result: Result<(), AccessError>) -> bool {
    match result {
        Ok(()) => true,
        Err(error) if is_full(&error) => false,
        Err(error) => panic!("{error}"),
    }
}

/// One transaction after the other: its rows before and after, as far as it touched them.
pub struct Worker<K> {
    pub txn: Transaction,
    pub before: BTreeMap<K, Option<Vec<u8>>>,
}

impl<K: Ord + Clone> Worker<K> {
    pub fn new(ground: &Ground) -> Worker<K> {
        Worker {
            txn: ground.begin(),
            before: BTreeMap::new(),
        }
    }

    /// Makes the model what it was before.
    pub fn take_back(&self, rows: &mut BTreeMap<K, Vec<u8>>) {
        for (id, old) in self.before.clone() {
            match old {
                Some(row) => drop(rows.insert(id, row)),
                None => drop(rows.remove(&id)),
            }
        }
    }
}

fn tree_step(
    tree: &Tree,
    worker: &mut Worker<i64>,
    rows: &mut BTreeMap<i64, Vec<u8>>,
    id: i64,
    rng: &mut SeededRng,
) {
    let by = &mut By::Txn(&mut worker.txn);
    let (key, row) = (Big::key(&id), Big::row(&id, &payload(rng)));
    let old = rows.get(&id).cloned();
    let ok = match &old {
        None => done(tree.insert(by, &key, &row)),
        Some(_) if rng.random_ratio(1, 6) => {
            tree.delete(by, &key).unwrap();
            worker.before.entry(id).or_insert(old);
            rows.remove(&id);
            return;
        }
        Some(_) => done(tree.update(by, &key, &row)),
    };
    if ok {
        worker.before.entry(id).or_insert(old);
        rows.insert(id, row);
    }
}

fn in_a_full_tree(seed: u64) {
    let mut rng = seeded(seed);
    let ground = Ground::new(SMALL);
    let tree = ground.tree(7, Big::shape());
    let hog = ground.heap(8, heap_shape());
    let mut rows: BTreeMap<i64, Vec<u8>> = BTreeMap::new();
    let mut txn = ground.begin();
    for id in 0..300 {
        let row = Big::row(&id, &payload(&mut rng));
        if done(tree.insert(&mut By::Txn(&mut txn), &Big::key(&id), &row)) {
            rows.insert(id, row);
        }
    }
    txn.commit().unwrap();
    let fresh = || Worker::new(&ground);
    let mut workers: Vec<Worker<i64>> = (0..WORKERS).map(|_| fresh()).collect();
    for step in 0..3000 {
        if step % 50 == 0 {
            fill_up(&ground, &hog);
        }
        let at = rng.random_range(0..WORKERS);
        if rng.random_ratio(1, 60) {
            let worker = std::mem::replace(&mut workers[at], fresh());
            if rng.random() {
                worker.txn.commit().unwrap();
                continue;
            }
            let structures = Structures {
                trees: &[&tree],
                heaps: &[],
            };
            worker.take_back(&mut rows);
            worker.txn.rollback(&structures).unwrap();
            continue;
        }
        // Rows that another one has touched are locked.
        let id = rng.random_range(0..400);
        let locked = |other: usize| other != at && workers[other].before.contains_key(&id);
        if !(0..WORKERS).any(locked) {
            tree_step(&tree, &mut workers[at], &mut rows, id, &mut rng);
        }
    }
    for worker in workers {
        worker.txn.commit().unwrap();
    }
    assert!(all_rows(&tree, Direction::Forward).iter().eq(rows.values()));
    let audit = tree.audit().unwrap();
    ground.check_pages(&tree, &audit);
}

#[test]
fn a_rollback_in_a_full_tree_finds_the_room_that_its_rows_left() {
    let seed = test_seed();
    for seed in seed..seed + 12 {
        println!("FURROW_SEED={seed}");
        in_a_full_tree(seed);
    }
}
