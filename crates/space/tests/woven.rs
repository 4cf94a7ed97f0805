//! Extents under drawn schedules (`furrow_io::weave`): allocation, freeing, growth, recalculation of the
//! fill.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Base, Make, audit, growing, make};
use furrow_format::{Change, PageId, PageInit, PageType, PfsByte};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::sync::Mutex;
use furrow_io::weave::{explore, together};
use furrow_pool::LatchRank;
use furrow_space::Unit;
use furrow_txn::{Author, Mini};
use std::collections::BTreeSet;
use std::sync::Arc;

const SCHEDULES: u64 = 600;

/// The pages of a unit as its users recorded them.
type Book = Arc<Mutex<BTreeSet<PageId>>>;

fn allocate(db: &Base, unit: &Arc<Unit>, book: &Book, rng: &mut SeededRng) {
    let pages = rng.random_range(1..20);
    let mut held = db.space.reserve(unit, pages, None).unwrap();
    let mut mini = Mini::new(&db.store);
    let mut made = Vec::new();
    for _ in 0..rng.random_range(1..=pages) {
        let page = held.take().unwrap();
        let at = mini.adopt(db.store.create(page, LatchRank::Data).unwrap());
        let init = PageInit::new(page, PageType::Data, unit.id(), 4);
        mini.push(at, &Change::Format(init));
        made.push(page);
    }
    held.allocate_taken(&mut mini, PfsByte::FREE).unwrap();
    if rng.random_bool(0.15) {
        return;
    }
    mini.commit(&Author::System).unwrap();
    held.done();
    let mut book = book.lock();
    for page in made {
        assert!(book.insert(page), "{page} was handed out twice");
    }
}

fn free(db: &Base, unit: &Arc<Unit>, book: &Book, rng: &mut SeededRng) {
    let most = rng.random_range(1..12);
    let pages: Vec<PageId> = {
        let mut book = book.lock();
        let chosen: Vec<PageId> = book.iter().take(most).copied().collect();
        chosen.iter().for_each(|page| assert!(book.remove(page)));
        chosen
    };
    let mut mini = Mini::new(&db.store);
    let freed = db.space.free_pages(unit, &mut mini, &pages).unwrap();
    if rng.random_bool(0.15) {
        drop(mini);
        book.lock().extend(pages);
        return;
    }
    mini.commit(&Author::System).unwrap();
    db.space.freed(freed).unwrap();
}

/// Three threads on two units of files that are nearly full and grow by single extents.
fn allocate_free_and_grow(seed: u64) {
    let volume = furrow_io::MemoryVolume::new();
    let files = [growing(1, 64, 8), growing(3, 24, 16), growing(4, 32, 8)];
    let db = Arc::new(make(
        Make {
            volume,
            frames: 128,
            ..Make::default()
        },
        &files,
    ));
    db.space.set_mixed_pages(seed % 2 == 1);
    let units = [db.unit(100), db.unit(101)];
    let books: [Book; 2] = [Book::default(), Book::default()];
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 0..3 {
        let (db, unit) = (Arc::clone(&db), Arc::clone(&units[thread % 2]));
        let book = Arc::clone(&books[thread % 2]);
        let mut rng = seeded(seed ^ (thread as u64) << 40);
        bodies.push(Box::new(move || {
            for _ in 0..6 {
                match rng.random_bool(0.65) {
                    true => allocate(&db, &unit, &book, &mut rng),
                    false => free(&db, &unit, &book, &mut rng),
                }
            }
        }));
    }
    together(bodies);
    let seen = audit(&db, &units);
    for (unit, book) in units.iter().zip(&books) {
        let used = seen.used.get(&unit.id().0).cloned().unwrap_or_default();
        assert_eq!(used, *book.lock());
        let counts = db.space.page_counts(unit).unwrap();
        assert_eq!(counts.data, used.len() as u64);
    }
}

/// Units that are created and dropped on two threads.
fn units_come_and_go(seed: u64) {
    let files = [growing(1, 64, 8), growing(3, 24, 16)];
    let db = Arc::new(make(
        Make {
            frames: 128,
            ..Make::default()
        },
        &files,
    ));
    db.space.set_mixed_pages(seed % 2 == 1);
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 0..2_u32 {
        let db = Arc::clone(&db);
        let mut rng = seeded(seed ^ u64::from(thread) << 40);
        bodies.push(Box::new(move || {
            for cycle in 0..3 {
                let unit = db.unit(1000 * (thread + 1) + cycle);
                db.allocate(&unit, rng.random_range(1..20), None).unwrap();
                db.space.drop_unit(&unit).unwrap();
            }
        }));
    }
    together(bodies);
    for (file, (size_pages, free, mixed)) in audit(&db, &[]).files {
        let boot = u64::from(file == 1);
        let extents = u64::from(size_pages / 8);
        assert_eq!((free, mixed), (extents - 1 - boot, boot), "file {file}");
    }
}

#[test]
fn woven_allocations_hand_out_each_page_once_and_the_maps_agree() {
    explore("extents", SCHEDULES, allocate_free_and_grow);
}

#[test]
fn woven_units_come_and_go() {
    explore("units", SCHEDULES, units_come_and_go);
}
