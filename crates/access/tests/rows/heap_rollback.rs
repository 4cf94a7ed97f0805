//! Rollbacks in heaps of a full filegroup: a row goes back to where it was, whatever others have done since.

use crate::full::is_full;
use crate::full_rollback::{SMALL, WORKERS, Worker, done, fill_up, payload};
use crate::ground::{Ground, HeapEntry, Structures, all_heap_rows, heap_row, heap_shape};
use furrow_access::{By, Heap};
use furrow_format::{Page, Record, RowId};
use furrow_io::random::{IndexedRandom, Rng, SeededRng, seeded, test_seed};
use furrow_pool::LatchRank;
use std::collections::BTreeMap;

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The active transactions commit.
    Commit,
    /// The power goes: a restart undoes what they did.
    Crash,
}

/// A heap, what it must hold, and who works on it.
struct Scene {
    ground: Ground,
    heap: Heap,
    hog: Heap,
    rows: BTreeMap<RowId, Vec<u8>>,
    workers: Vec<Worker<RowId>>,
}

impl Scene {
    fn new(rng: &mut SeededRng) -> Scene {
        let ground = Ground::new(SMALL);
        let heap = ground.heap(9, heap_shape());
        let hog = ground.heap(8, heap_shape());
        let mut rows = BTreeMap::new();
        let mut txn = ground.begin();
        for _ in 0..300 {
            let row = heap_row(&payload(rng));
            let rid = heap.insert(&mut By::Txn(&mut txn), &row, &mut |_| true);
            rows.insert(rid.unwrap(), row);
        }
        txn.commit().unwrap();
        let workers = (0..WORKERS).map(|_| Worker::new(&ground)).collect();
        Scene {
            ground,
            heap,
            hog,
            rows,
            workers,
        }
    }

    fn end_one(&mut self, at: usize, commits: bool) {
        let worker = std::mem::replace(&mut self.workers[at], Worker::new(&self.ground));
        if commits {
            worker.txn.commit().unwrap();
            return;
        }
        let structures = Structures {
            trees: &[],
            heaps: &[&self.heap],
        };
        worker.take_back(&mut self.rows);
        worker.txn.rollback(&structures).unwrap();
    }

    /// Removes the ghosts of a page that no transaction can restore.
    fn purge(&self, rng: &mut SeededRng) {
        let (ghosts, _) = self.heap.ghosts_on(0, 1000).unwrap();
        let dead = |rid: RowId| !self.workers.iter().any(|w| w.before.contains_key(&rid));
        if let Some(ghost) = ghosts.choose(rng) {
            self.heap.purge_ghost(*ghost, &dead).unwrap();
        }
    }

    fn insert(&mut self, at: usize, row: Vec<u8>) {
        let Scene { heap, workers, .. } = self;
        let taken: Vec<RowId> = workers
            .iter()
            .flat_map(|w| w.before.keys().copied())
            .collect();
        let worker = &mut workers[at];
        let mut free = |rid| !taken.contains(&rid);
        match heap.insert(&mut By::Txn(&mut worker.txn), &row, &mut free) {
            Ok(rid) => {
                worker.before.insert(rid, None);
                self.rows.insert(rid, row);
            }
            Err(error) => assert!(is_full(&error), "{error}"),
        }
    }

    fn step(&mut self, at: usize, rng: &mut SeededRng) {
        let row = heap_row(&payload(rng));
        if rng.random_ratio(1, 4) {
            return self.insert(at, row);
        }
        let all: Vec<RowId> = self.rows.keys().copied().collect();
        // Rows that another one has touched are locked. Those that are touched often move again and again.
        let mine: Vec<RowId> = self.workers[at].before.keys().copied().collect();
        let from = if rng.random_ratio(1, 3) { &mine } else { &all };
        let others = |rid: &RowId| {
            let holds = |other: &usize| self.workers[*other].before.contains_key(rid);
            (0..WORKERS)
                .filter(|&other| other != at)
                .any(|other| holds(&other))
        };
        let Some(&rid) = from.choose(rng).filter(|rid| !others(rid)) else {
            return;
        };
        let Some(old) = self.rows.get(&rid).cloned() else {
            return;
        };
        let worker = &mut self.workers[at];
        let by = &mut By::Txn(&mut worker.txn);
        if rng.random_ratio(1, 6) {
            self.heap.delete(by, rid).unwrap();
            worker.before.entry(rid).or_insert(Some(old));
            self.rows.remove(&rid);
        } else if done(self.heap.update(by, rid, &row)) {
            worker.before.entry(rid).or_insert(Some(old));
            self.rows.insert(rid, row);
        }
    }

    fn check(&self) {
        assert_eq!(all_heap_rows(&self.heap), self.rows);
        let audit = self.heap.audit().unwrap();
        self.ground.check_heap_pages(&self.heap, &audit);
    }

    /// Restart: the space reserved on pages is forgotten.
    fn crash(mut self) -> Scene {
        let entry = HeapEntry {
            number: 9,
            first_iam: self.heap.unit().first_iam(),
            shape: heap_shape(),
        };
        for worker in &self.workers {
            worker.take_back(&mut self.rows);
        }
        self.ground.store.log().flush_all().unwrap();
        let images = self.ground.data_images();
        let (ground, _, mut heaps) = self.ground.crash(&images, &[], &[entry]);
        drop((self.workers, self.heap));
        Scene {
            ground,
            heap: heaps.remove(0),
            hog: self.hog,
            rows: self.rows,
            workers: Vec::new(),
        }
    }
}

fn run(seed: u64, end: End) {
    println!("FURROW_SEED={seed}");
    let rng = &mut seeded(seed);
    let mut scene = Scene::new(rng);
    for step in 0..3000 {
        if step % 50 == 0 {
            fill_up(&scene.ground, &scene.hog);
        }
        let at = rng.random_range(0..WORKERS);
        match rng.random_range(0..120) {
            0 => scene.end_one(at, true),
            1 => scene.end_one(at, false),
            2 | 3 => scene.purge(rng),
            _ => scene.step(at, rng),
        }
    }
    if end == End::Commit {
        (0..WORKERS).for_each(|at| scene.end_one(at, true));
    } else {
        scene = scene.crash();
    }
    scene.check();
}

#[test]
fn a_rollback_in_a_full_heap_finds_the_room_that_its_rows_left() {
    (0..6).for_each(|seed| run(seed, End::Commit));
    // Rows that were rolled back to another place than they came from, where they were in others' way.
    for seed in [5505, 14503, 21501, 38502] {
        run(seed, End::Commit);
    }
}

#[test]
fn a_rollback_in_a_full_heap_finds_the_room_that_its_rows_left_by_any_seed() {
    let seed = test_seed();
    (0..12).for_each(|n| run(seed.wrapping_add(n), End::Commit));
}

#[test]
fn a_restart_in_a_full_filegroup_undoes_whatever_was_under_way_in_a_heap() {
    let seed = test_seed();
    (0..8).for_each(|n| run(seed.wrapping_add(n), End::Crash));
    for seed in [9011, 13007] {
        run(seed, End::Crash);
    }
}

/// What happens to a row, and beside it.
#[derive(Debug, Clone, Copy)]
enum Happens {
    /// The row gets this many bytes, and is at home, on the page it was on, or on another one.
    Update(usize, &'static str),
    /// Others delete these rows, and their ghosts are taken out.
    Delete(&'static [usize]),
    /// Others fill all pages up.
    Insert,
}

use Happens::{Delete, Insert, Update};

/// It moves, gets longer and shorter there, moves again, comes home, moves to where it was once.
const STORY: [Happens; 13] = [
    Delete(&[4, 5]),
    Update(3000, "elsewhere"),
    Update(3600, "there"),
    Delete(&[8, 9, 10, 11]),
    Update(7000, "elsewhere"),
    Update(2500, "there"),
    Insert,
    Update(6900, "there"),
    Delete(&[1, 2, 3]),
    Update(7600, "home"),
    Update(1000, "home"),
    Insert,
    Update(1900, "home"),
];

/// A heap of pages with four rows of 1,900 bytes each, in a full filegroup; the row is the first one.
struct Fixture {
    ground: Ground,
    heap: Heap,
    rids: Vec<RowId>,
}

impl Fixture {
    fn new() -> Fixture {
        let ground = Ground::new(SMALL);
        let (heap, hog) = (ground.heap(9, heap_shape()), ground.heap(8, heap_shape()));
        let mut txn = ground.begin();
        let insert = |_| {
            let row = heap_row(&[1; 1900]);
            heap.insert(&mut By::Txn(&mut txn), &row, &mut |_| true)
        };
        let rids = (0..12).map(insert).collect::<Result<_, _>>().unwrap();
        txn.commit().unwrap();
        fill_up(&ground, &hog);
        Fixture { ground, heap, rids }
    }

    fn place(&self) -> RowId {
        let rid = self.rids[0];
        let page = self.ground.store.read(rid.page, LatchRank::Data).unwrap();
        let record = Page::new(&page).record(rid.slot).unwrap();
        Record::forwarded_to(record).unwrap_or(rid)
    }

    fn others(&self, act: impl Fn(&mut By<'_>)) {
        let mut txn = self.ground.begin();
        act(&mut By::Txn(&mut txn));
        txn.commit().unwrap();
    }

    fn happens(&self, what: Happens, by: &mut By<'_>) {
        match what {
            Update(bytes, where_to) => {
                let before = self.place();
                let row = heap_row(&vec![2; bytes]);
                self.heap.update(by, self.rids[0], &row).unwrap();
                let after = self.place();
                let went = match after {
                    _ if after == self.rids[0] => "home",
                    _ if after == before => "there",
                    _ => "elsewhere",
                };
                assert_eq!(went, where_to, "{bytes} bytes");
            }
            Delete(rows) => {
                let rids = || rows.iter().map(|&row| self.rids[row]);
                self.others(|by| rids().for_each(|rid| self.heap.delete(by, rid).unwrap()));
                rids().for_each(|rid| assert!(self.heap.purge_ghost(rid, &|_| true).unwrap().done));
            }
            Insert => self.others(|by| {
                for bytes in [3000, 1000, 300, 100, 20, 9] {
                    let row = heap_row(&vec![3; bytes]);
                    while self.heap.insert(by, &row, &mut |_| true).is_ok() {}
                }
            }),
        }
    }
}

#[test]
fn each_step_of_a_row_that_moved_is_undone_to_the_place_it_was_at() {
    for steps in 1..=STORY.len() {
        let reported = Fixture::new();
        let mut txn = reported.ground.begin();
        for &what in &STORY[..steps] {
            reported.happens(what, &mut By::Txn(&mut txn));
        }
        // Others take all that can be taken.
        reported.happens(Insert, &mut By::System);
        let mut rows = all_heap_rows(&reported.heap);
        let structures = Structures {
            trees: &[],
            heaps: &[&reported.heap],
        };
        txn.rollback(&structures).unwrap();
        rows.insert(reported.rids[0], heap_row(&[1; 1900]));
        assert_eq!(all_heap_rows(&reported.heap), rows);
        assert_eq!(reported.place(), reported.rids[0]);
        let audit = reported.heap.audit().unwrap();
        reported.ground.check_heap_pages(&reported.heap, &audit);
    }
}
