//! One tree, many threads: writers of keys of their own, rolled back now and then, scans both ways, purges.

use crate::ground::{Entry, Everything, Ground, LOG_BYTES, Size, Trees, all_rows};
use crate::kinds::{Big, Kind, Long, Text};
use furrow_access::{Bound, By, Direction, Key, Step, Tree};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_io::sync::Mutex;
use furrow_io::thread;
use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub type Model<K> = BTreeMap<<K as Kind>::Id, Vec<u8>>;

/// What the threads share.
pub struct Arena<K: Kind> {
    pub ground: Ground,
    /// The data files before anything was in them.
    pub first: Vec<Vec<u8>>,
    tree: Tree,
    /// Keys of transactions under way: their ghosts are not dead.
    pending: Mutex<HashSet<Key>>,
    /// Rows that no thread changes.
    pub fixed: Model<K>,
    done: AtomicBool,
    scans: AtomicU64,
}

/// Which thread a key belongs to; the last "thread" leaves its keys alone.
fn owner<K: Kind>(id: &K::Id, threads: usize) -> usize {
    K::key(id).hash() as usize % (threads + 1)
}

impl<K: Kind> Arena<K> {
    pub fn new(
        span: u64,
        threads: usize,
        size: Size,
        log_bytes: u64,
        rng: &mut SeededRng,
    ) -> Arena<K> {
        let ground = Ground::with_log(size, log_bytes);
        let first = ground.data_images();
        let tree = ground.tree(7, K::shape());
        let mut fixed = Model::<K>::new();
        let mut txn = ground.begin();
        for _ in 0..span / 2 {
            let id = K::id(rng, span);
            let row = K::row(&id, &K::payload(rng));
            if owner::<K>(&id, threads) == threads && !fixed.contains_key(&id) {
                tree.insert(&mut By::Txn(&mut txn), &K::key(&id), &row)
                    .unwrap();
                fixed.insert(id, row);
            }
        }
        txn.commit().unwrap();
        let pending = Mutex::default();
        Arena {
            ground,
            first,
            tree,
            pending,
            fixed,
            done: AtomicBool::new(false),
            scans: AtomicU64::new(0),
        }
    }

    /// Deletes one of the rows that no thread has changed so far.
    pub fn forget_one(&self, expected: &mut Model<K>) {
        let Some(id) = self.fixed.keys().next() else {
            return;
        };
        let mut txn = self.ground.begin();
        let by = &mut By::Txn(&mut txn);
        self.tree.delete(by, &K::key(id)).unwrap();
        txn.commit().unwrap();
        expected.remove(id);
    }

    fn step(&self, model: &mut Model<K>, id: &K::Id, by: &mut By<'_>, rng: &mut SeededRng) {
        let key = K::key(id);
        self.pending.lock().insert(key.clone());
        match model.get(id) {
            None => {
                let row = K::row(id, &K::payload(rng));
                self.tree.insert(by, &key, &row).unwrap();
                model.insert(id.clone(), row);
            }
            Some(row) => {
                assert_eq!(
                    self.tree.get(&key, <[u8]>::to_vec).unwrap().as_ref(),
                    Some(row)
                );
                if rng.random() {
                    self.tree.delete(by, &key).unwrap();
                    model.remove(id);
                } else {
                    let row = K::row(id, &K::payload(rng));
                    self.tree.update(by, &key, &row).unwrap();
                    model.insert(id.clone(), row);
                }
            }
        }
    }

    pub fn write(
        &self,
        me: usize,
        threads: usize,
        txns: u32,
        span: u64,
        rng: &mut SeededRng,
    ) -> Model<K> {
        let mut model = Model::<K>::new();
        for _ in 0..txns {
            let before = rng.random_bool(0.2).then(|| model.clone());
            let mut txn = self.ground.begin();
            let mut mine: Vec<Key> = Vec::new();
            for _ in 0..rng.random_range(1..20) {
                let id = K::id(rng, span);
                if owner::<K>(&id, threads) == me {
                    mine.push(K::key(&id));
                    self.step(&mut model, &id, &mut By::Txn(&mut txn), rng);
                }
            }
            if let Some(before) = before {
                txn.rollback(&Trees(&[&self.tree])).unwrap();
                model = before;
            } else {
                txn.commit_delayed().unwrap();
            }
            let mut pending = self.pending.lock();
            mine.iter().for_each(|key| _ = pending.remove(key));
        }
        model
    }

    /// A scan must ascend (or descend) strictly and give every fixed row, unchanged, once.
    pub fn scan(&self, direction: Direction) {
        let mut cursor = self
            .tree
            .scan(Bound::Open, Bound::Open, direction)
            .with_read_ahead();
        let mut expected: Vec<&Vec<u8>> = self.fixed.values().collect();
        if direction == Direction::Backward {
            expected.reverse();
        }
        let mut expected = expected.into_iter().peekable();
        let mut last: Option<Key> = None;
        while cursor.step(&mut Everything).unwrap() == Step::Rows {
            while let Some(row) = cursor.next_in_batch() {
                let key = self.tree.shape().key_of(row).unwrap();
                if let Some(last) = &last {
                    let order = self.tree.shape().compare_keys(last, &key);
                    let right = if direction == Direction::Forward {
                        order.is_lt()
                    } else {
                        order.is_gt()
                    };
                    assert!(right, "{direction:?}: {last:?}, then {key:?}");
                }
                last = Some(key);
                if expected.peek().is_some_and(|fixed| *fixed == row) {
                    expected.next();
                }
            }
        }
        assert_eq!(
            expected.next(),
            None,
            "{direction:?}: a row that no thread changes was not seen"
        );
        self.scans.fetch_add(1, Ordering::Relaxed);
    }

    pub fn purge(&self, span: u64, rng: &mut SeededRng) -> usize {
        let key = K::key(&K::id(rng, span));
        let dead = |key: &Key, _: &[u8]| !self.pending.lock().contains(key);
        self.tree.purge_ghosts(&key, &dead).unwrap().gone
    }
}

fn run<K: Kind>(name: &str, txns: u32, span: u64, frames: usize) {
    const WRITERS: usize = 4;
    let seed = test_seed();
    println!("{name}: FURROW_SEED={seed}");
    let size = Size {
        files: 2,
        file_pages: 4096,
        frames,
    };
    let arena = Arena::<K>::new(span, WRITERS, size, LOG_BYTES, &mut seeded(seed));
    let purged = AtomicU64::new(0);
    let mut expected = arena.fixed.clone();
    thread::scope(|s| {
        let arena = &arena;
        let done = || arena.done.load(Ordering::Relaxed);
        let writers: Vec<_> = (0..WRITERS)
            .map(|me| {
                s.spawn(move || {
                    arena.write(me, WRITERS, txns, span, &mut seeded(seed ^ (me as u64 + 1)))
                })
            })
            .collect();
        // All do something even where a busy machine starts them after the writers have ended.
        for direction in [Direction::Forward, Direction::Backward] {
            s.spawn(move || {
                arena.scan(direction);
                while !done() {
                    arena.scan(direction);
                }
            });
        }
        let purged = &purged;
        s.spawn(move || {
            let mut rng = seeded(seed ^ 99);
            let mut late = 0;
            while !done() || (purged.load(Ordering::Relaxed) == 0 && late < 10_000) {
                purged.fetch_add(arena.purge(span, &mut rng) as u64, Ordering::Relaxed);
                late += u32::from(done());
            }
        });
        for writer in writers {
            match writer.join() {
                Ok(model) => expected.extend(model),
                Err(panic) => {
                    arena.done.store(true, Ordering::Relaxed);
                    std::panic::resume_unwind(panic);
                }
            }
        }
        arena.done.store(true, Ordering::Relaxed);
    });
    println!(
        "{name}: {} scans, {} ghosts purged",
        arena.scans.load(Ordering::Relaxed),
        purged.load(Ordering::Relaxed)
    );
    assert!(arena.scans.load(Ordering::Relaxed) > 1 && purged.load(Ordering::Relaxed) > 0);
    arena.check(&expected);
}

impl<K: Kind> Arena<K> {
    /// All is at rest: the rows, the pages, and both once more after a crash.
    pub fn check(self, expected: &Model<K>) {
        let audit = self.tree.audit().unwrap();
        assert_eq!(audit.rows, expected.len() as u64);
        assert!(
            all_rows(&self.tree, Direction::Forward)
                .iter()
                .eq(expected.values())
        );
        assert!(
            all_rows(&self.tree, Direction::Backward)
                .iter()
                .eq(expected.values().rev())
        );
        self.ground.check_pages(&self.tree, &audit);
        // What many threads logged side by side, repeated one after the other, gives the same tree.
        let entry = Entry {
            number: 7,
            first_iam: self.tree.unit().first_iam(),
            root: self.tree.root(),
            shape: K::shape(),
        };
        drop(self.tree);
        let (ground, trees, _) = self.ground.crash(&self.first, &[entry], &[]);
        assert_eq!(trees[0].audit().unwrap(), audit);
        assert!(
            all_rows(&trees[0], Direction::Forward)
                .iter()
                .eq(expected.values())
        );
        ground.check_pages(&trees[0], &audit);
    }
}

#[test]
fn writers_scans_and_purges_of_bigint_keys() {
    run::<Big>("bigint", 3000, 20_000, 4096);
}

#[test]
fn writers_scans_and_purges_of_few_keys() {
    run::<Big>("few", 4000, 300, 4096);
}

#[test]
fn writers_scans_and_purges_of_a_high_tree() {
    run::<Text>("text", 2500, 10_000, 4096);
}

#[test]
fn writers_scans_and_purges_of_long_rows() {
    run::<Long>("long", 800, 1500, 4096);
}

#[test]
fn writers_scans_and_purges_with_most_pages_out_of_memory() {
    run::<Text>("few frames", 1500, 10_000, 160);
}
