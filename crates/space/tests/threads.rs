//! Many threads that allocate and free pages of several units.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Base, audit, base, growing};
use furrow_format::{Change, PageId, PageInit, PageType, PfsByte};
use furrow_io::sync::Mutex;
use furrow_pool::LatchRank;
use furrow_space::Unit;
use furrow_txn::{Author, Mini};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Small and repeatable.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

fn seed() -> u64 {
    let seed = std::env::var("FURROW_SEED")
        .ok()
        .and_then(|text| text.parse().ok());
    let seed = seed.unwrap_or(0x0F00_D5EE_D001);
    println!("FURROW_SEED={seed}");
    seed
}

/// Allocates up to five pages with some left over, or with the group given up before its commit.
fn allocate(db: &Base, unit: &Arc<Unit>, dice: &mut Dice) -> Vec<PageId> {
    let pages = 1 + dice.below(5) as u32;
    let mut held = db.space.reserve(unit, pages, None).unwrap();
    let mut mini = Mini::new(&db.store);
    let mut made = Vec::new();
    for _ in 0..1 + dice.below(u64::from(pages)) {
        let page = held.take().unwrap();
        let at = mini.adopt(db.store.create(page, LatchRank::Data).unwrap());
        mini.push(
            at,
            &Change::Format(PageInit::new(page, PageType::Data, unit.id(), 4)),
        );
        made.push(page);
    }
    held.allocate_taken(&mut mini, PfsByte::FREE).unwrap();
    if dice.below(10) == 0 {
        return Vec::new();
    }
    mini.commit(&Author::System).unwrap();
    held.done();
    made
}

fn free(db: &Base, unit: &Arc<Unit>, pages: &[PageId], give_up: bool) {
    let mut mini = Mini::new(&db.store);
    let freed = db.space.free_pages(unit, &mut mini, pages).unwrap();
    if give_up {
        return;
    }
    mini.commit(&Author::System).unwrap();
    db.space.freed(freed).unwrap();
}

fn work(db: &Base, unit: &Arc<Unit>, mine: &Mutex<BTreeSet<PageId>>, seed: u64, steps: usize) {
    let mut dice = Dice(seed | 1);
    for _ in 0..steps {
        if dice.below(5) < 3 {
            for page in allocate(db, unit, &mut dice) {
                assert!(mine.lock().insert(page), "{page} was handed out twice");
            }
        } else {
            let pages: Vec<PageId> = {
                let mut mine = mine.lock();
                let most = 1 + dice.below(4) as usize;
                let from = PageId::new(0, 0).max(*mine.iter().next().unwrap_or(&PageId::NONE));
                let chosen: Vec<_> = mine.range(from..).take(most).copied().collect();
                chosen.iter().for_each(|page| assert!(mine.remove(page)));
                chosen
            };
            let give_up = dice.below(10) == 0;
            free(db, unit, &pages, give_up);
            if give_up {
                mine.lock().extend(pages);
            }
        }
    }
}

#[test]
fn pages_are_handed_out_once_and_the_maps_agree_afterwards() {
    hand_out(false);
}

#[test]
fn pages_of_mixed_extents_are_handed_out_once_and_the_maps_agree_afterwards() {
    hand_out(true);
}

fn hand_out(mixed: bool) {
    let seed = seed();
    let db = base(&[
        growing(1, 640, 64),
        growing(3, 128, 64),
        growing(4, 256, 64),
    ]);
    db.space.set_mixed_pages(mixed);
    let units: Vec<_> = (0..3).map(|n| db.unit(100 + n)).collect();
    let books: Vec<Mutex<BTreeSet<PageId>>> = units.iter().map(|_| Mutex::default()).collect();
    let mut units = units;
    for round in 0..4_u64 {
        furrow_io::thread::scope(|scope| {
            for thread in 0..6 {
                let (db, unit, book) = (&db, &units[thread % 3], &books[thread % 3]);
                let seed = seed.wrapping_mul(31 * round + thread as u64 + 1);
                scope.spawn(move || work(db, unit, book, seed, 400));
            }
        });
        let seen = audit(&db, &units);
        for (unit, book) in units.iter().zip(&books) {
            let used = seen.used.get(&unit.id().0).cloned().unwrap_or_default();
            assert_eq!(used, *book.lock(), "seed {seed}");
            let counts = db.space.page_counts(unit).unwrap();
            assert_eq!(counts.data, used.len() as u64);
            let walked: BTreeSet<PageId> = db
                .space
                .pages(unit)
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert_eq!(walked, used);
        }
        // The next round begins as after a restart: what is free has to be found in the maps, while threads
        // work.
        units = units.iter().map(|unit| db.reopened(unit)).collect();
    }
    for unit in &units {
        db.space.drop_unit(unit).unwrap();
    }
    let seen = audit(&db, &[]);
    for (file, (size_pages, free, mixed)) in seen.files {
        let boot = u64::from(file == 1);
        assert_eq!(
            (free, mixed),
            (u64::from(size_pages / 8) - 1 - boot, boot),
            "file {file}"
        );
    }
}

#[test]
fn units_come_and_go_from_many_threads() {
    come_and_go(false);
}

#[test]
fn units_in_mixed_extents_come_and_go_from_many_threads() {
    come_and_go(true);
}

fn come_and_go(mixed: bool) {
    let db = base(&[growing(1, 640, 64), growing(3, 640, 64)]);
    db.space.set_mixed_pages(mixed);
    furrow_io::thread::scope(|scope| {
        for thread in 0..6_u32 {
            let db = &db;
            scope.spawn(move || {
                for cycle in 0..60 {
                    let unit = db.unit(1000 * (thread + 1) + cycle);
                    db.allocate(&unit, 1 + cycle % 20, None).unwrap();
                    db.space.drop_unit(&unit).unwrap();
                }
            });
        }
    });
    let seen = audit(&db, &[]);
    for (file, (size_pages, free, mixed)) in seen.files {
        let boot = u64::from(file == 1);
        assert_eq!(
            (free, mixed),
            (u64::from(size_pages / 8) - 1 - boot, boot),
            "file {file}"
        );
    }
}
