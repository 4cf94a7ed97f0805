//! The pool under drawn schedules (`furrow_io::weave`): eviction against readers, writers and checkpoints.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Bench, DB, Shape, bench_on, change, config, key, read_raw, value};
use furrow_format::Lsn;
use furrow_io::MemoryVolume;
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::weave::{explore, together};
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PoolConfig, Sh, Up};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SCHEDULES: u64 = 800;
const PAGES: u32 = 40;

/// What each page holds; changed under its EX latch only.
type Model = Arc<Vec<AtomicU64>>;

fn visit(bench: &Bench, model: &Model, rng: &mut SeededRng) {
    let at = rng.random_range(0..PAGES).min(rng.random_range(0..PAGES));
    let known = &model[at as usize];
    let key = key(1, at);
    match rng.random_range(0..10) {
        0..4 => {
            let mut page = bench.pool.fetch(key, Ex, LatchRank::Data).unwrap();
            let now = value(&page);
            assert_eq!(now, known.load(Ordering::SeqCst));
            change(&bench.log, &mut page, now + 1);
            known.store(now + 1, Ordering::SeqCst);
        }
        4..6 => {
            let page = bench.pool.fetch(key, Up, LatchRank::Data).unwrap();
            let now = value(&page);
            assert_eq!(now, known.load(Ordering::SeqCst));
            let mut page = page.upgrade();
            assert_eq!(value(&page), now, "changed between UP and EX");
            change(&bench.log, &mut page, now + 1);
            known.store(now + 1, Ordering::SeqCst);
        }
        _ => {
            let before = known.load(Ordering::SeqCst);
            let page = bench.pool.fetch(key, Sh, LatchRank::Data).unwrap();
            let now = value(&page);
            assert!(now >= before, "page {at} fell back from {before} to {now}");
            assert_eq!(now, known.load(Ordering::SeqCst));
        }
    }
}

/// A checkpoint as recovery makes it.
fn checkpoint(bench: &Bench) {
    let tail = bench.log.last.load(Ordering::SeqCst) + 1;
    let options = CheckpointOptions::default();
    bench.pool.checkpoint_pages(DB, options).unwrap();
    let oldest = bench.pool.oldest_rec_lsn(DB);
    let redo = oldest.map_or(Lsn(tail), |lsn| lsn.min(Lsn(tail))).0;
    // A page may store an older tail than it needs, if its thread slept between reading the tail and storing
    // it.
    bench.log.redo.fetch_max(redo, Ordering::SeqCst);
}

fn evict_beside_readers(seed: u64, frames: usize, double_write: bool) {
    let shape = Shape {
        frames,
        files: 1,
        file_pages: PAGES,
        double_write,
    };
    let patient = PoolConfig {
        buffer_wait: Duration::from_secs(1000),
        ..config(frames)
    };
    let bench = Arc::new(bench_on(&MemoryVolume::new(), shape, patient));
    let model: Model = Arc::new((0..PAGES).map(|_| AtomicU64::new(0)).collect());
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 0..3_u64 {
        let (bench, model) = (Arc::clone(&bench), Arc::clone(&model));
        let mut rng = seeded(seed ^ thread << 40);
        bodies.push(Box::new(move || {
            for _ in 0..25 {
                visit(&bench, &model, &mut rng);
            }
        }));
    }
    let other = Arc::clone(&bench);
    bodies.push(Box::new(move || (0..2).for_each(|_| checkpoint(&other))));
    together(bodies);
    for (at, known) in (0..).zip(model.iter()) {
        let page = bench.pool.fetch(key(1, at), Sh, LatchRank::Data).unwrap();
        assert_eq!(value(&page), known.load(Ordering::SeqCst), "page {at}");
    }
    checkpoint(&bench);
    assert_eq!(bench.pool.dirty_count(DB), 0);
    for (at, known) in (0..).zip(model.iter()) {
        let on_disk = read_raw(bench.files[0].as_ref(), at);
        assert_eq!(value(&on_disk), known.load(Ordering::SeqCst), "page {at}");
    }
}

#[test]
fn woven_eviction_beside_readers_and_checkpoints_keeps_every_change() {
    explore("eviction", SCHEDULES, |seed| {
        evict_beside_readers(seed, 16, false);
    });
}

#[test]
fn woven_eviction_through_the_double_write_area_keeps_every_change() {
    explore("eviction, double write", SCHEDULES, |seed| {
        evict_beside_readers(seed, 16, true);
    });
}
