//! A pool without threads of its own: what one thread does with it is the same every time.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{DB, Shape, bench_on, change, config, key, value};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::sim::{SimOptions, SimVolume};
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PoolConfig, PoolStats, Sh};
use std::sync::atomic::Ordering;

const SHAPE: Shape = Shape {
    frames: 48,
    files: 3,
    file_pages: 64,
    double_write: true,
};

/// Changes and reads pages of many times the pool's size, with checkpoints; what the disk saw.
fn run(seed: u64) -> (u64, PoolStats) {
    let volume = SimVolume::new(SimOptions::default());
    let alone = PoolConfig {
        background: false,
        ..config(SHAPE.frames)
    };
    let bench = bench_on(&volume, SHAPE, alone);
    let mut rng = seeded(seed);
    let mut values = vec![0; 3 * 64];
    for step in 1..4000_u64 {
        let at = rng.random_range(0..values.len());
        let page = key(1 + at as u16 / 64, at as u32 % 64);
        if rng.random_ratio(1, 20) {
            let wanted: Vec<_> = (0..64).map(|page| key(2, page)).collect();
            bench.pool.prefetch(&wanted).unwrap();
        }
        if rng.random() {
            let mut page = bench.pool.fetch(page, Ex, LatchRank::Data).unwrap();
            change(&bench.log, &mut page, step);
            values[at] = step;
        } else {
            let page = bench.pool.fetch(page, Sh, LatchRank::Data).unwrap();
            assert_eq!(value(&page), values[at]);
        }
        if step % 700 == 0 {
            let options = CheckpointOptions::default();
            bench.pool.checkpoint_pages(DB, options).unwrap();
        }
    }
    (volume.fingerprint(), bench.pool.stats())
}

#[test]
fn a_pool_without_threads_makes_room_itself_and_does_the_same_every_time() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let (disk, stats) = run(seed);
    assert!(
        stats.lazy_writes > 100 && stats.free_list_stalls == 0,
        "{stats:?}"
    );
    for _ in 0..5 {
        assert_eq!(run(seed), (disk, stats));
    }
    assert_ne!(run(seed + 1).0, disk);
}

/// Changes pages of a small pool, each once, with a log that is short of space or not; how often that was
/// made durable.
fn flushes(short: bool) -> u64 {
    let volume = SimVolume::new(SimOptions::default());
    let alone = PoolConfig {
        background: false,
        ..config(SHAPE.frames)
    };
    let bench = bench_on(&volume, SHAPE, alone);
    bench.log.short.store(short, Ordering::SeqCst);
    for at in 0..3 * 64_u32 {
        let page = key(1 + (at / 64) as u16, at % 64);
        let mut page = bench.pool.fetch(page, Ex, LatchRank::Data).unwrap();
        change(&bench.log, &mut page, 1);
        drop(page);
        let wrote = bench.pool.write_oldest(DB, 8).unwrap();
        assert!(short || wrote == 1);
    }
    bench.log.flushes.load(Ordering::SeqCst)
}

/// Each flush takes the rest of a sector from a log that has promised its last bytes to rollbacks.
#[test]
fn a_log_short_of_space_is_made_durable_only_when_much_of_the_pool_waits_for_it() {
    assert_eq!(flushes(false), 3 * 64);
    let few = flushes(true);
    assert!((1..=3 * 64 / (48 / 4)).contains(&few), "{few} flushes");
}
