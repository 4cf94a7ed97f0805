//! Random operations on one heap against a map by address, rolled back, purged, crashed.

use crate::ground::{Ground, HeapEntry, Size, Structures, all_heap_rows, heap_row, heap_shape};
use furrow_access::{AccessError, By, Heap};
use furrow_format::{PageId, RowId};
use furrow_io::random::{Rng, SeededRng, seeded, test_seed};
use std::collections::BTreeMap;

pub type Model = BTreeMap<RowId, Vec<u8>>;

/// How long rows are.
#[derive(Debug, Clone, Copy)]
pub enum Lengths {
    Short,
    Any,
    /// From one extreme to the other, so that updates move rows all the time.
    Extreme,
}

pub fn payload(rng: &mut SeededRng, lengths: Lengths) -> Vec<u8> {
    let len = match lengths {
        Lengths::Short => rng.random_range(0..120),
        Lengths::Any => match rng.random_range(0..4) {
            0 => rng.random_range(0..8000),
            _ => rng.random_range(0..400),
        },
        Lengths::Extreme => match rng.random_range(0..3) {
            0 => rng.random_range(2000..8000),
            _ => rng.random_range(0..10),
        },
    };
    let seed: u8 = rng.random();
    (0..len).map(|i| seed.wrapping_add(i as u8)).collect()
}

fn some_rid(model: &Model, rng: &mut SeededRng) -> Option<RowId> {
    let at = rng.random_range(0..model.len().max(1));
    model.keys().nth(at).copied()
}

/// One operation of a transaction, done to heap and model.
pub fn operate(
    heap: &Heap,
    by: &mut By<'_>,
    model: &mut Model,
    rng: &mut SeededRng,
    lengths: Lengths,
) {
    let row = heap_row(&payload(rng, lengths));
    let Some(rid) = some_rid(model, rng) else {
        let rid = heap.insert(by, &row, &mut |_| true).unwrap();
        assert_eq!(model.insert(rid, row), None);
        return;
    };
    match rng.random_range(0..10) {
        0..=3 => {
            // Now and then a lock that cannot be had: another address has to do.
            let mut refused = rng.random_bool(0.05).then_some(());
            let mut last = None;
            let rid = heap.insert(by, &row, &mut |rid| {
                assert!(!model.contains_key(&rid), "{rid} is in use");
                last = Some(rid);
                refused.take().is_none()
            });
            let rid = rid.unwrap();
            assert_eq!(last, Some(rid));
            assert_eq!(model.insert(rid, row), None);
        }
        4..=5 => {
            heap.delete(by, rid).unwrap();
            assert!(matches!(heap.delete(by, rid), Err(AccessError::NotFound)));
            assert!(matches!(
                heap.update(by, rid, &row),
                Err(AccessError::NotFound)
            ));
            assert_eq!(heap.get(rid, <[u8]>::to_vec).unwrap(), None);
            model.remove(&rid);
        }
        6..=8 => {
            heap.update(by, rid, &row).unwrap();
            model.insert(rid, row);
        }
        _ => {
            let found = heap.get(rid, |row| at_home(heap, row)).unwrap();
            assert_eq!(found.as_ref(), model.get(&rid));
        }
    }
}

/// The row as it was given: moved rows carry a pointer back that the values do not show.
pub fn at_home(heap: &Heap, row: &[u8]) -> Vec<u8> {
    let layout = &heap.shape().leaf;
    let record = layout.record(row, layout.pminlen()).unwrap();
    let values: Vec<Option<&[u8]>> = (0..layout.columns().len())
        .map(|at| layout.value(record, at).unwrap())
        .collect();
    let mut row = Vec::new();
    layout.encode(&values, &mut row).unwrap();
    row
}

pub fn check_whole(ground: &Ground, heap: &Heap, model: &Model) {
    let audit = heap.audit().unwrap();
    assert_eq!(audit.rows, model.len() as u64);
    ground.check_heap_pages(heap, &audit);
    assert_eq!(&all_heap_rows(heap), model);
    for (rid, row) in model {
        assert_eq!(
            heap.get(*rid, |row| at_home(heap, row)).unwrap().as_ref(),
            Some(row)
        );
    }
}

fn purge_some(heap: &Heap, model: &Model, rng: &mut SeededRng) -> usize {
    let pages: Vec<PageId> = heap.audit().unwrap().pages;
    let mut gone = 0;
    for page in pages {
        if rng.random_bool(0.3) {
            gone += heap
                .purge_ghosts(page, &|rid| !model.contains_key(&rid))
                .unwrap();
        }
    }
    gone
}

fn run(name: &str, txns: u32, lengths: Lengths) {
    let seed = test_seed();
    println!("{name}: FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let ground = Ground::new(Size::default());
    let heap = ground.heap(9, heap_shape());
    let (mut model, mut purged, mut moved) = (Model::new(), 0, 0);
    for step in 0..txns {
        let before = rng.random_bool(0.2).then(|| model.clone());
        let mut txn = ground.begin();
        for _ in 0..rng.random_range(1..12) {
            operate(&heap, &mut By::Txn(&mut txn), &mut model, &mut rng, lengths);
        }
        match before {
            Some(before) => {
                txn.rollback(&Structures {
                    trees: &[],
                    heaps: &[&heap],
                })
                .unwrap();
                model = before;
            }
            None => _ = txn.commit_delayed().unwrap(),
        }
        if rng.random_bool(0.05) {
            purged += purge_some(&heap, &model, &mut rng);
        }
        if step % 128 == 127 {
            check_whole(&ground, &heap, &model);
            moved += heap.audit().unwrap().moved;
        }
    }
    check_whole(&ground, &heap, &model);
    println!(
        "{} rows, {purged} ghosts purged, {moved} moved rows seen",
        model.len()
    );
    assert!(purged > 0 && moved > 0);
    let mut txn = ground.begin();
    for rid in model.keys() {
        heap.delete(&mut By::Txn(&mut txn), *rid).unwrap();
    }
    txn.commit().unwrap();
    let pages = heap.audit().unwrap().pages;
    for page in &pages {
        heap.purge_ghosts(*page, &|_| true).unwrap();
    }
    // Stubs on pages that were purged before the moved rows' own pages.
    let audit = heap.audit().unwrap();
    assert_eq!((audit.rows, audit.ghosts, audit.moved), (0, 0, 0));
    assert!(ground.space.drop_unit(heap.unit()).unwrap() > 0);
}

#[test]
fn short_rows_behave_like_a_map_by_address() {
    run("short", 1200, Lengths::Short);
}

#[test]
fn rows_of_any_length_behave_like_a_map_by_address() {
    run("any", 1000, Lengths::Any);
}

#[test]
fn rows_that_move_all_the_time_behave_like_a_map_by_address() {
    run("extreme", 1000, Lengths::Extreme);
}

fn crash(name: &str, log_only: bool, lengths: Lengths) {
    let seed = test_seed();
    println!("{name}: FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let mut ground = Ground::new(Size {
        files: 3,
        file_pages: 1024,
        frames: 128,
    });
    let first = ground.data_images();
    let mut heap = ground.heap(9, heap_shape());
    let entry = HeapEntry {
        number: 9,
        first_iam: heap.unit().first_iam(),
        shape: heap_shape(),
    };
    let mut model = Model::new();
    for round in 0..4 {
        for _ in 0..150 {
            let mut txn = ground.begin();
            for _ in 0..rng.random_range(1..12) {
                operate(&heap, &mut By::Txn(&mut txn), &mut model, &mut rng, lengths);
            }
            txn.commit_delayed().unwrap();
            if rng.random_bool(0.03) {
                purge_some(&heap, &model, &mut rng);
            }
            if !log_only && rng.random_bool(0.02) {
                ground.checkpoint();
            }
        }
        let mut lost = ground.begin();
        let mut scratch = model.clone();
        for _ in 0..rng.random_range(1..100) {
            operate(
                &heap,
                &mut By::Txn(&mut lost),
                &mut scratch,
                &mut rng,
                lengths,
            );
        }
        ground.store.log().flush_all().unwrap();
        let images = if log_only {
            first.clone()
        } else {
            ground.data_images()
        };
        let (after, _, mut heaps) = ground.crash(&images, &[], std::slice::from_ref(&entry));
        drop(lost);
        (ground, heap) = (after, heaps.remove(0));
        check_whole(&ground, &heap, &model);
        println!("round {round}: {} rows", model.len());
    }
}

#[test]
fn the_log_alone_gives_a_heap_back() {
    crash("log only", true, Lengths::Any);
    crash("log only, extreme", true, Lengths::Extreme);
}

#[test]
fn the_log_and_the_pages_written_give_a_heap_back() {
    crash("written", false, Lengths::Short);
    crash("written, extreme", false, Lengths::Extreme);
}
