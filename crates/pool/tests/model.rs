//! Many threads change pages of two files through a pool that holds a tenth of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Shape, bench_on, change, config, key, read_raw, value};
use furrow_format::Page;
use furrow_io::random::{Rng, seeded};
use furrow_io::{MemoryVolume, thread};
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PoolConfig, Sh, Up};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const FILE_PAGES: u32 = 160;
const THREADS: u64 = 4;
const TURNS: u32 = 6_000;

#[test]
fn pages_keep_every_change_through_eviction_and_checkpoints() {
    let seed = furrow_io::random::test_seed() % (1 << 32);
    println!("FURROW_SEED={seed}");
    let shape = Shape {
        frames: 32,
        files: 2,
        file_pages: FILE_PAGES,
        double_write: true,
    };
    // Patient: the machine that runs the tests may be busy.
    let patient = PoolConfig {
        buffer_wait: Duration::from_secs(20),
        ..config(shape.frames)
    };
    let bench = bench_on(&MemoryVolume::new(), shape, patient);
    let model: Vec<AtomicU64> = (0..2 * FILE_PAGES).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| {
                let (bench, model) = (&bench, &model);
                scope.spawn(move || work(bench, model, seed + worker))
            })
            .collect();
        let checkpoints = scope.spawn(|| {
            let mut written = 0;
            while !done.load(Ordering::Relaxed) {
                written += checkpoint(&bench);
            }
            written
        });
        let all_ok = workers.into_iter().all(|worker| worker.join().is_ok());
        done.store(true, Ordering::Relaxed);
        assert!(checkpoints.join().unwrap() > 0 && all_ok);
    });
    compare(&bench, &model);
    assert!(
        bench.pool.stats().lazy_writes > 0,
        "the pool was too large to need eviction"
    );
}

/// A checkpoint as recovery makes it; the number of pages written.
fn checkpoint(bench: &common::Bench) -> u64 {
    let tail = bench.log.last.load(Ordering::SeqCst) + 1;
    let stats = bench
        .pool
        .checkpoint_pages(common::DB, CheckpointOptions::default())
        .unwrap();
    let redo = bench
        .pool
        .oldest_rec_lsn(common::DB)
        .map_or(tail, |lsn| lsn.0.min(tail));
    let before = bench.log.redo.swap(redo, Ordering::SeqCst);
    assert!(redo >= before, "redo moved back from {before} to {redo}");
    stats.pages
}

/// Every page, through the pool and then on the disk, has the content of the model.
fn compare(bench: &common::Bench, model: &[AtomicU64]) {
    let place = |at: usize| (at as u32 / FILE_PAGES, at as u32 % FILE_PAGES);
    for (at, expected) in model.iter().enumerate() {
        let (file, page) = place(at);
        let guard = bench
            .pool
            .fetch(key(file as u16 + 1, page), Sh, LatchRank::Data)
            .unwrap();
        assert_eq!(
            value(&guard),
            expected.load(Ordering::Relaxed),
            "page {}",
            guard.key()
        );
    }
    checkpoint(bench);
    assert_eq!(bench.pool.dirty_count(common::DB), 0);
    assert_eq!(bench.pool.oldest_rec_lsn(common::DB), None);
    for (at, expected) in model.iter().enumerate() {
        let (file, page) = place(at);
        let on_disk = read_raw(bench.files[file as usize].as_ref(), page);
        assert_eq!(value(&on_disk), expected.load(Ordering::Relaxed));
    }
}

fn work(bench: &common::Bench, model: &[AtomicU64], seed: u64) {
    let mut rng = seeded(seed);
    for _ in 0..TURNS {
        // Squared, so that some pages are hot.
        let page = rng
            .random_range(0..FILE_PAGES)
            .min(rng.random_range(0..FILE_PAGES));
        let file = rng.random_range(0..2_u32);
        let at = (file * FILE_PAGES + page) as usize;
        let key = key(file as u16 + 1, page);
        match rng.random_range(0..10) {
            0..4 => {
                let mut page = bench.pool.fetch(key, Ex, LatchRank::Data).unwrap();
                let now = value(&page);
                assert_eq!(now, model[at].load(Ordering::Relaxed));
                change(&bench.log, &mut page, now + 1);
                model[at].store(now + 1, Ordering::Relaxed);
            }
            4 => {
                let page = bench.pool.fetch(key, Up, LatchRank::Data).unwrap();
                let now = value(&page);
                let mut page = page.upgrade();
                assert_eq!(value(&page), now, "changed between UP and EX");
                change(&bench.log, &mut page, now + 1);
                model[at].store(now + 1, Ordering::Relaxed);
                assert_eq!(value(&page.downgrade()), now + 1);
            }
            5 => {
                let wanted: Vec<_> = (0..20)
                    .map(|n| common::key(1, (page + n) % FILE_PAGES))
                    .collect();
                bench.pool.prefetch(&wanted).unwrap();
            }
            _ => {
                let page = bench.pool.fetch(key, Sh, LatchRank::Data).unwrap();
                assert_eq!(page.key(), key);
                assert_eq!(value(&page), model[at].load(Ordering::Relaxed));
            }
        }
    }
}

/// Frames change their pages as fast as they can while threads look for them without a lock.
#[test]
fn a_page_fetched_is_the_page_asked_for() {
    let seed = furrow_io::random::test_seed() % (1 << 32);
    println!("FURROW_SEED={seed}");
    let shape = Shape {
        frames: 16,
        files: 1,
        file_pages: 32,
        double_write: false,
    };
    let patient = PoolConfig {
        buffer_wait: Duration::from_secs(20),
        ..config(shape.frames)
    };
    let bench = bench_on(&MemoryVolume::new(), shape, patient);
    thread::scope(|scope| {
        for worker in 0..4 {
            let bench = &bench;
            scope.spawn(move || {
                let mut rng = seeded(seed + worker);
                for _ in 0..60_000 {
                    let key = key(1, rng.random_range(0..shape.file_pages));
                    let page = bench.pool.fetch(key, Sh, LatchRank::Data).unwrap();
                    assert_eq!(page.key(), key);
                    assert_eq!(Page::new(&page).page_id(), key.page);
                }
            });
        }
    });
}
