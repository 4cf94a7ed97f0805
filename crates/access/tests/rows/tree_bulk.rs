//! Batches in key order behind the last row: against a model, rolled back, crashed, with readers about.

use crate::ground::{Entry, Ground, Size, Trees, all_rows};
use crate::kinds::{Big, Kind, Long, Many, Text};
use crate::tree_model::{Model, check_whole, operate};
use furrow_access::{AccessError, By, Direction, RowBatch, Tree};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_io::thread;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether rows go to new pages past the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Logged,
    Filled,
}

/// Keys by number, in order.
pub trait Sequence: Kind {
    /// The longest payload.
    const LONGEST: usize = 500;
    fn nth(n: u64) -> Self::Id;
    /// The span of random keys that all come before this one.
    fn span_before(n: u64) -> u64;
}

impl Sequence for Big {
    const LONGEST: usize = 8000;
    fn nth(n: u64) -> i64 {
        n as i64
    }
    fn span_before(n: u64) -> u64 {
        2 * n
    }
}

impl Sequence for Long {
    const LONGEST: usize = 8000;
    fn nth(n: u64) -> i64 {
        n as i64
    }
    fn span_before(n: u64) -> u64 {
        2 * n
    }
}

impl Sequence for Text {
    fn nth(n: u64) -> Vec<u8> {
        let filler = (n.wrapping_mul(0x9E37_79B9) % 700) as usize;
        let mut text = format!("{n:010}").into_bytes();
        text.extend(std::iter::repeat_n(b'a' + (n % 26) as u8, filler));
        text
    }
    fn span_before(n: u64) -> u64 {
        n
    }
}

impl Sequence for Many {
    fn nth(n: u64) -> (i32, i32) {
        (n as i32 / 50, n as i32 % 50)
    }
    fn span_before(n: u64) -> u64 {
        n - 50
    }
}

/// Up to `rows` rows from number `next` on, with gaps, rows of up to 20, 200 or all bytes that there may be.
pub fn draw<K: Sequence>(next: &mut u64, rng: &mut SeededRng, rows: usize) -> Model<K> {
    let longest = [20, 200, K::LONGEST][rng.random_range(0..3)].min(K::LONGEST);
    let rows = if longest > 1000 { rows.min(40) } else { rows };
    let draw = |_| {
        *next += rng.random_range(1..4);
        let payload = vec![rng.random(); rng.random_range(1..=longest)];
        let id = K::nth(*next);
        let row = K::row(&id, &payload);
        (id, row)
    };
    (0..rows).map(draw).collect()
}

pub fn encoded<K: Kind>(rows: &Model<K>) -> RowBatch {
    let mut batch = RowBatch::new();
    for row in rows.values() {
        batch.push(row).unwrap();
    }
    assert!(batch.iter().eq(rows.values()));
    batch
}

/// Appends all of the batch.
fn append<K: Kind>(tree: &Tree, by: &mut By<'_>, model: &mut Model<K>, rows: Model<K>) {
    put::<K>(Way::Logged, tree, by, model, rows);
}

/// The same, one way or the other.
pub fn put<K: Kind>(way: Way, tree: &Tree, by: &mut By<'_>, model: &mut Model<K>, rows: Model<K>) {
    let batch = encoded::<K>(&rows);
    let done = match way {
        Way::Logged => tree.append_batch(by, &batch).unwrap(),
        Way::Filled => tree.fill_batch(by, &batch).unwrap(),
    };
    assert_eq!(done, rows.len(), "all of them lie behind all others");
    model.extend(rows);
}

pub fn run<K: Sequence>(name: &str, rounds: u64, way: Way) {
    let seed = test_seed();
    println!("{name}, {way:?}: FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let ground = Ground::new(Size {
        files: 2,
        file_pages: 16_384,
        frames: 1024,
    });
    let tree = ground.tree(7, K::shape());
    let mut model = Model::<K>::new();
    let (mut next, mut loaded, mut undone) = (100, 0, 0);
    for _ in 0..rounds {
        let mut txn = ground.begin();
        let mut mine = model.clone();
        for _ in 0..rng.random_range(1..6) {
            for _ in 0..rng.random_range(0..20) {
                let span = K::span_before(next);
                operate::<K>(&tree, &mut By::Txn(&mut txn), &mut mine, &mut rng, span);
            }
            let size = [1, 10, 100, 600][rng.random_range(0..4)];
            let rows = draw::<K>(&mut next, &mut rng, size);
            loaded += rows.len();
            put::<K>(way, &tree, &mut By::Txn(&mut txn), &mut mine, rows);
        }
        if rng.random_bool(0.3) {
            undone += 1;
            txn.rollback(&Trees(&[&tree])).unwrap();
        } else {
            txn.commit_delayed().unwrap();
            model = mine;
        }
        if rng.random_bool(0.2) {
            check_whole::<K>(&tree, &model);
        }
    }
    check_whole::<K>(&tree, &model);
    ground.check_pages(&tree, &tree.audit().unwrap());
    assert!(
        loaded > 500 && undone > 0,
        "{loaded} loaded, {undone} undone"
    );
    println!("{loaded} rows loaded, {} left", model.len());
}

#[test]
fn batches_behind_the_last_row_match_the_model() {
    run::<Big>("bigint", 60, Way::Logged);
}

#[test]
fn batches_of_text_long_and_equal_keys_match_the_model() {
    run::<Text>("text", 60, Way::Logged);
    run::<Long>("long", 40, Way::Logged);
    run::<Many>("many", 40, Way::Logged);
}

#[test]
fn what_does_not_ascend_is_left_to_the_caller() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    let by = &mut By::Txn(&mut txn);
    let batch = |keys: &[i64]| {
        let mut batch = RowBatch::new();
        for key in keys {
            batch.push(&Big::row(key, b"payload")).unwrap();
        }
        batch
    };
    assert_eq!(tree.append_batch(by, &batch(&[10, 20, 30])).unwrap(), 3);
    // Equal to the last row, before it, equal among themselves, descending.
    assert_eq!(tree.append_batch(by, &batch(&[30, 40])).unwrap(), 0);
    assert_eq!(tree.append_batch(by, &batch(&[25, 40])).unwrap(), 0);
    assert_eq!(tree.append_batch(by, &batch(&[40, 50, 50, 60])).unwrap(), 2);
    assert_eq!(tree.append_batch(by, &batch(&[60, 55, 70])).unwrap(), 1);
    assert_eq!(tree.append_batch(by, &batch(&[])).unwrap(), 0);
    let rows = [10, 20, 30, 40, 50, 60].map(|key| Big::row(&key, b"payload"));
    assert!(all_rows(&tree, Direction::Forward).iter().eq(rows.iter()));
    let mut refused = RowBatch::new();
    refused.push(&rows[0]).unwrap();
    let long = refused.push(&[0x30; 8061]);
    assert!(matches!(long, Err(AccessError::Row(_))), "{long:?}");
    assert!(refused.iter().eq([&rows[0]]) && refused.len() == 1);
    txn.commit().unwrap();
}

#[test]
fn a_load_leaves_full_pages() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut txn = ground.begin();
    let mut batch = RowBatch::new();
    for id in 0..60_000_i64 {
        batch.push(&Big::row(&id, &[7; 141])).unwrap();
        if batch.len() == 777 || id == 59_999 {
            let done = tree.append_batch(&mut By::Txn(&mut txn), &batch).unwrap();
            assert_eq!(done, batch.len());
            batch.clear();
        }
    }
    txn.commit().unwrap();
    let audit = tree.audit().unwrap();
    let bytes = (audit.row_bytes + 2 * audit.rows) as f64;
    let filled = bytes / (audit.levels[0].len() * 8096) as f64;
    assert!(audit.rows == 60_000 && filled > 0.98, "{filled}");
    ground.check_pages(&tree, &audit);
}

#[test]
fn readers_of_a_load_see_each_row_once_in_order() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let stop = AtomicBool::new(false);
    thread::scope(|s| {
        for direction in [Direction::Forward, Direction::Backward] {
            let (tree, stop) = (&tree, &stop);
            s.spawn(move || {
                let mut most = 0;
                while !stop.load(Ordering::Relaxed) {
                    let rows = all_rows(tree, direction);
                    let keys = rows.iter().map(|r| Big::shape().key_of(r).unwrap());
                    let mut keys: Vec<i64> = keys
                        .map(|k| i64::from_le_bytes(k.column(0).unwrap().try_into().unwrap()))
                        .collect();
                    if direction == Direction::Backward {
                        keys.reverse();
                    }
                    // Rows come at the end only: who has seen one has seen all before it.
                    assert!(keys.iter().copied().eq(0..keys.len() as i64));
                    most = most.max(keys.len());
                }
                assert!(most > 0);
            });
        }
        let mut id = 0_i64;
        let mut batch = RowBatch::new();
        let mut txn = ground.begin();
        while id < 20_000 {
            batch.clear();
            for _ in 0..250 {
                batch.push(&Big::row(&id, &[7; 141])).unwrap();
                id += 1;
            }
            assert_eq!(
                tree.append_batch(&mut By::Txn(&mut txn), &batch).unwrap(),
                250
            );
        }
        txn.commit().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    ground.check_pages(&tree, &tree.audit().unwrap());
}

#[test]
fn rows_that_moved_since_are_found_by_the_rollback() {
    let ground = Ground::new(Size::default());
    let tree = ground.tree(7, Big::shape());
    let mut model = Model::<Big>::new();
    let mut first = ground.begin();
    let rows = (0..100_i64).map(|id| (id, Big::row(&id, &[1; 50])));
    append::<Big>(&tree, &mut By::Txn(&mut first), &mut model, rows.collect());
    first.commit().unwrap();
    let mut txn = ground.begin();
    let mut scratch = model.clone();
    let rows = (0..500_i64).map(|n| (1000 + 10 * n, Big::row(&(1000 + 10 * n), &[2; 50])));
    append::<Big>(&tree, &mut By::Txn(&mut txn), &mut scratch, rows.collect());
    // Its own rows split the pages, some of the loaded ones become ghosts, others longer.
    for n in 0..500_i64 {
        let by = &mut By::Txn(&mut txn);
        let (old, new) = (1000 + 10 * n, 1003 + 10 * n);
        match n % 3 {
            0 => tree.delete(by, &Big::key(&old)).unwrap(),
            1 => tree
                .update(by, &Big::key(&old), &Big::row(&old, &[3; 3000]))
                .unwrap(),
            _ => tree
                .insert(by, &Big::key(&new), &Big::row(&new, &[4; 900]))
                .unwrap(),
        }
    }
    txn.rollback(&Trees(&[&tree])).unwrap();
    check_whole::<Big>(&tree, &model);
    ground.check_pages(&tree, &tree.audit().unwrap());
}

/// Loads, a load that never ends, a crash with the log alone or with pages written at some time before.
pub fn crash<K: Sequence>(name: &str, written: bool, way: Way) {
    let seed = test_seed();
    println!("{name}, {way:?}, pages written: {written}: FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let mut ground = Ground::new(Size {
        files: 2,
        file_pages: 4096,
        frames: 128,
    });
    let first = ground.data_images();
    let mut tree = ground.tree(7, K::shape());
    let entry = Entry {
        number: 7,
        first_iam: tree.unit().first_iam(),
        root: tree.root(),
        shape: K::shape(),
    };
    let mut model = Model::<K>::new();
    let mut next = 100;
    for round in 0..6 {
        let mut txn = ground.begin();
        let rows = draw::<K>(&mut next, &mut rng, 400);
        put::<K>(way, &tree, &mut By::Txn(&mut txn), &mut model, rows);
        txn.commit_delayed().unwrap();
        // One that is rolled back, and one that never ends.
        let mut lost = Vec::new();
        for part in 1..3 {
            let mut txn = ground.begin();
            let mut scratch = model.clone();
            for _ in 0..3 {
                let rows = draw::<K>(&mut next, &mut rng, 200);
                put::<K>(way, &tree, &mut By::Txn(&mut txn), &mut scratch, rows);
                let span = K::span_before(next);
                operate::<K>(&tree, &mut By::Txn(&mut txn), &mut scratch, &mut rng, span);
            }
            if part == 1 {
                txn.rollback(&Trees(&[&tree])).unwrap();
            } else {
                lost.push(txn);
            }
        }
        ground.store.log().flush_all().unwrap();
        let images = if written {
            ground.data_images()
        } else {
            first.clone()
        };
        let (after, mut trees, _) = ground.crash(&images, std::slice::from_ref(&entry), &[]);
        drop(lost);
        (ground, tree) = (after, trees.remove(0));
        check_whole::<K>(&tree, &model);
        ground.check_pages(&tree, &tree.audit().unwrap());
        if written && rng.random_bool(0.5) {
            ground.checkpoint();
        }
        println!("round {round}: {} rows", model.len());
    }
}

#[test]
fn the_log_alone_gives_loads_back() {
    crash::<Big>("bigint", false, Way::Logged);
    crash::<Text>("text", false, Way::Logged);
}

#[test]
fn the_log_and_the_pages_written_give_loads_back() {
    crash::<Big>("bigint", true, Way::Logged);
    crash::<Long>("long", true, Way::Logged);
}
