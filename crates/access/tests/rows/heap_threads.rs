//! One heap, many threads: writers of rows of their own, rolled back now and then, scans, purges.

use crate::ground::{Everything, Ground, HeapEntry, Size, Structures, heap_shape};
use crate::heap_model::{Lengths, Model, at_home, check_whole, payload};
use furrow_access::{By, Heap, HeapStep};
use furrow_format::{Page, Record, RowId};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use furrow_io::sync::Mutex;
use furrow_io::thread;
use furrow_pool::LatchRank;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

struct Arena {
    ground: Ground,
    /// The data files before anything was in them.
    first: Vec<Vec<u8>>,
    heap: Heap,
    /// Addresses locked by transactions under way.
    locks: Mutex<HashSet<RowId>>,
    /// The address of each row but the fixed ones, by the number it carries all its life.
    homes: Mutex<HashMap<i32, RowId>>,
    numbers: AtomicI32,
    /// Rows that no thread changes.
    fixed: Model,
    done: AtomicBool,
    scans: AtomicU64,
}

/// A row with a number: of its own, or -1 for all fixed ones.
fn row(mark: i32, bytes: &[u8]) -> Vec<u8> {
    let mut row = Vec::new();
    let layout = heap_shape().leaf;
    layout
        .encode(&[Some(&mark.to_le_bytes()), Some(bytes)], &mut row)
        .unwrap();
    row
}

fn number_of(row: &[u8]) -> i32 {
    i32::from_le_bytes(row[4..8].try_into().unwrap())
}

impl Arena {
    fn new(rng: &mut SeededRng, lengths: Lengths) -> Arena {
        let ground = Ground::new(Size {
            files: 3,
            file_pages: 4096,
            ..Size::default()
        });
        let first = ground.data_images();
        let heap = ground.heap(9, heap_shape());
        let mut fixed = Model::new();
        let mut txn = ground.begin();
        for _ in 0..500 {
            let row = row(-1, &payload(rng, lengths));
            let rid = heap
                .insert(&mut By::Txn(&mut txn), &row, &mut |_| true)
                .unwrap();
            fixed.insert(rid, row);
        }
        txn.commit().unwrap();
        let locks = Mutex::default();
        Arena {
            ground,
            first,
            heap,
            locks,
            homes: Mutex::default(),
            numbers: AtomicI32::new(0),
            fixed,
            done: AtomicBool::new(false),
            scans: AtomicU64::new(0),
        }
    }

    fn write(&self, txns: u32, lengths: Lengths, rng: &mut SeededRng) -> Model {
        let mut model = Model::new();
        for _ in 0..txns {
            let before = rng.random_bool(0.2).then(|| model.clone());
            let mut txn = self.ground.begin();
            let by = &mut By::Txn(&mut txn);
            let mut mine: HashSet<RowId> = HashSet::new();
            for _ in 0..rng.random_range(1..20) {
                let bytes = payload(rng, lengths);
                let known: Vec<RowId> = model.keys().copied().collect();
                if known.is_empty() || rng.random_bool(0.4) {
                    let number = self.numbers.fetch_add(1, Ordering::Relaxed);
                    let row = row(number, &bytes);
                    let mut lock = |rid| self.locks.lock().insert(rid);
                    let rid = self.heap.insert(by, &row, &mut lock).unwrap();
                    mine.insert(rid);
                    self.homes.lock().insert(number, rid);
                    assert_eq!(model.insert(rid, row), None);
                    continue;
                }
                let rid = known[rng.random_range(0..known.len())];
                self.locks.lock().insert(rid);
                mine.insert(rid);
                let found = self.heap.get(rid, |row| at_home(&self.heap, row)).unwrap();
                assert_eq!(found.as_ref(), model.get(&rid));
                if rng.random_bool(0.4) {
                    self.heap.delete(by, rid).unwrap();
                    model.remove(&rid);
                } else {
                    let row = row(number_of(&model[&rid]), &bytes);
                    self.heap.update(by, rid, &row).unwrap();
                    model.insert(rid, row);
                }
            }
            match before {
                Some(before) => {
                    let structures = Structures {
                        trees: &[],
                        heaps: &[&self.heap],
                    };
                    txn.rollback(&structures).unwrap();
                    model = before;
                }
                None => _ = txn.commit_delayed().unwrap(),
            }
            let mut locks = self.locks.lock();
            mine.iter().for_each(|rid| _ = locks.remove(rid));
        }
        model
    }

    /// A scan must give every fixed row, unchanged, once, and every other row under its own address.
    fn scan(&self) {
        let mut seen = Model::new();
        let mut cursor = self.heap.scan().unwrap().with_read_ahead();
        while cursor.step(&mut Everything).unwrap() == HeapStep::Rows {
            while let Some((rid, found)) = cursor.next_in_batch() {
                let found = at_home(&self.heap, found);
                let number = number_of(&found);
                if number == -1 {
                    assert_eq!(seen.insert(rid, found), None, "{rid} was met twice");
                } else if let Some(home) = self.homes.lock().get(&number) {
                    assert_eq!(*home, rid, "a row under the address of another");
                }
            }
        }
        assert_eq!(seen, self.fixed);
        self.scans.fetch_add(1, Ordering::Relaxed);
    }

    fn purge(&self, rng: &mut SeededRng) -> usize {
        let pages: Vec<_> = self.ground.space.pages(self.heap.unit()).unwrap().collect();
        let page = *pages[rng.random_range(0..pages.len())].as_ref().unwrap();
        let dead = |rid: RowId| !self.locks.lock().contains(&rid);
        self.heap.purge_ghosts(page, &dead).unwrap()
    }
}

fn run(name: &str, txns: u32, lengths: Lengths) {
    let seed = test_seed();
    println!("{name}: FURROW_SEED={seed}");
    let arena = Arena::new(&mut seeded(seed), lengths);
    let purged = AtomicU64::new(0);
    let mut expected = arena.fixed.clone();
    thread::scope(|s| {
        let (arena, purged) = (&arena, &purged);
        let writers: Vec<_> = (0..4)
            .map(|me| {
                let write = move || arena.write(txns, lengths, &mut seeded(seed ^ (me as u64 + 1)));
                thread::spawn_scoped(s, "writer", write).unwrap()
            })
            .collect();
        // Both do something even where a busy machine starts them after the writers have ended.
        let done = || arena.done.load(Ordering::Relaxed);
        s.spawn(move || {
            while !done() || arena.scans.load(Ordering::Relaxed) < 2 {
                arena.scan();
            }
        });
        s.spawn(move || {
            let mut rng = seeded(seed ^ 99);
            let mut late = 0;
            while !done() || (purged.load(Ordering::Relaxed) == 0 && late < 10_000) {
                purged.fetch_add(arena.purge(&mut rng) as u64, Ordering::Relaxed);
                late += u32::from(done());
            }
        });
        let ended: Vec<_> = writers
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        arena.done.store(true, Ordering::Relaxed);
        ended
            .into_iter()
            .for_each(|model| expected.extend(model.unwrap()));
    });
    let (scans, purged) = (
        arena.scans.load(Ordering::Relaxed),
        purged.load(Ordering::Relaxed),
    );
    println!("{name}: {scans} scans, {purged} ghosts purged");
    assert!(scans > 1 && purged > 0);
    check_whole(&arena.ground, &arena.heap, &expected);
    // What many threads logged side by side, repeated one after the other, gives the same heap.
    let first_iam = arena.heap.unit().first_iam();
    let entry = HeapEntry {
        number: 9,
        first_iam,
        shape: heap_shape(),
    };
    drop(arena.heap);
    let (ground, _, heaps) = arena.ground.crash(&arena.first, &[], &[entry]);
    check_whole(&ground, &heaps[0], &expected);
}

#[test]
fn writers_scans_and_purges_of_short_rows() {
    run("short", 2000, Lengths::Short);
}

#[test]
fn writers_scans_and_purges_of_rows_that_move() {
    run("extreme", 700, Lengths::Extreme);
}

/// Lets a row move, and other rows take the place that it leaves, until it moved a thousand times.
///
/// How often a round makes it move depends on which page the readers hold at that moment.
fn chase(arena: &Arena, rid: RowId) {
    let (heap, mut moved) = (&arena.heap, 0);
    while moved < 1000 {
        let mut txn = arena.ground.begin();
        let by = &mut By::Txn(&mut txn);
        let before = target(arena, rid);
        heap.update(by, rid, &row(1, &[1; 2500])).unwrap();
        // The first goes to its page, so that it has to leave it; the second to the slot that it left.
        let mut others = vec![heap.insert(by, &row(2, &[2; 3500]), &mut |_| true).unwrap()];
        heap.update(by, rid, &row(1, &[1; 7000])).unwrap();
        others.push(heap.insert(by, &row(2, &[2; 3500]), &mut |_| true).unwrap());
        moved += u32::from(target(arena, rid) != before);
        for other in &others {
            heap.delete(by, *other).unwrap();
        }
        txn.commit_delayed().unwrap();
        for other in &others {
            heap.purge_ghosts(other.page, &|rid| others.contains(&rid))
                .unwrap();
        }
    }
}

/// Where the stub at this address leads.
fn target(arena: &Arena, rid: RowId) -> Option<RowId> {
    let page = arena.ground.store.read(rid.page, LatchRank::Data).unwrap();
    Record::forwarded_to(Page::new(&page).record(rid.slot).unwrap())
}

#[test]
fn readers_that_follow_a_row_on_the_move_never_get_another_one() {
    let arena = Arena::new(&mut seeded(1), Lengths::Short);
    let mut txn = arena.ground.begin();
    let by = &mut By::Txn(&mut txn);
    let rid = arena
        .heap
        .insert(by, &row(1, &[1; 10]), &mut |_| true)
        .unwrap();
    // Its page is full by now, so that it cannot come home.
    for _ in 0..200 {
        arena
            .heap
            .insert(by, &row(3, &[3; 60]), &mut |_| true)
            .unwrap();
    }
    txn.commit().unwrap();
    thread::scope(|s| {
        let arena = &arena;
        for _ in 0..3 {
            s.spawn(move || {
                while !arena.done.load(Ordering::Relaxed) {
                    let number = arena
                        .heap
                        .get(rid, |row| number_of(&at_home(&arena.heap, row)));
                    assert_eq!(number.unwrap(), Some(1));
                }
            });
        }
        let mover = s.spawn(move || chase(arena, rid));
        let ended = mover.join();
        arena.done.store(true, Ordering::Relaxed);
        ended.unwrap();
    });
    arena.heap.audit().unwrap();
}
