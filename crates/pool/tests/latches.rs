//! Latches on pages: which modes are compatible, that no thread starves, and what the counts of waits
//! contain.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Bench, Shape, bench, change, key, value};
use furrow_io::thread;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_observe::Instruments;
use furrow_observe::latches::LatchClass;
use furrow_observe::task::{self, Task};
use furrow_observe::waits::WaitType;
use furrow_pool::{Ex, LatchMode, LatchRank, Sh, Up, assert_no_latches};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const SHAPE: Shape = Shape {
    frames: 32,
    files: 1,
    file_pages: 16,
    double_write: false,
};

fn wait_until(what: impl Fn() -> bool) {
    let start = Moment::now();
    while !what() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "never came to be"
        );
        sleep(Duration::from_millis(1));
    }
}

#[test]
fn modes_are_compatible_as_the_table_says() {
    use LatchMode::{Ex, Sh, Up};
    let bench = bench(SHAPE);
    for (held, asked, granted) in [
        (Sh, Sh, true),
        (Sh, Up, true),
        (Sh, Ex, false),
        (Up, Sh, true),
        (Up, Up, false),
        (Up, Ex, false),
        (Ex, Sh, false),
        (Ex, Up, false),
        (Ex, Ex, false),
    ] {
        let _holder = bench.pool.fetch(key(1, 1), held, LatchRank::Data).unwrap();
        let entered = thread::scope(|scope| {
            let other = || {
                bench
                    .pool
                    .try_fetch(key(1, 1), asked, LatchRank::Data)
                    .unwrap()
                    .is_some()
            };
            scope.spawn(other).join().unwrap()
        });
        assert_eq!(entered, granted, "{held:?} held, {asked:?} asked");
    }
    assert!(
        bench
            .pool
            .try_fetch(key(1, 1), Ex, LatchRank::Data)
            .unwrap()
            .is_some(),
        "all left"
    );
}

#[test]
fn a_runtime_mode_becomes_a_typed_guard_of_that_mode_only() {
    let bench = bench(SHAPE);
    let guard = bench
        .pool
        .fetch(key(1, 1), LatchMode::Up, LatchRank::Data)
        .unwrap();
    let guard = guard.into_write().unwrap_err().into_read().unwrap_err();
    let mut page = guard.into_update().unwrap().upgrade();
    change(&bench.log, &mut page, 7);
    let page = page.downgrade_to_update();
    assert!(
        bench
            .pool
            .try_fetch(key(1, 1), Sh, LatchRank::Data)
            .unwrap()
            .is_some()
    );
    let page = page.downgrade();
    assert!(
        bench
            .pool
            .try_fetch(key(1, 1), Up, LatchRank::Data)
            .unwrap()
            .is_some()
    );
    assert_eq!(value(&page), 7);
    drop(page);
    assert_no_latches();
}

/// Readers that overlap all the time would keep a writer out for ever if they could pass it.
#[test]
fn a_writer_gets_in_among_readers_that_never_pause() {
    let bench = bench(SHAPE);
    let (stop, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let fetch = || bench.pool.fetch(key(1, 2), Sh, LatchRank::Data).unwrap();
                let mut page = fetch();
                while !stop.load(Ordering::Relaxed) {
                    // The next latch is sought before this one is left, where that needs no wait.
                    let next = bench
                        .pool
                        .try_fetch(key(1, 2), Sh, LatchRank::Data)
                        .unwrap();
                    reads.fetch_add(1, Ordering::Relaxed);
                    drop(page);
                    page = next.unwrap_or_else(fetch);
                }
            });
        }
        wait_until(|| reads.load(Ordering::Relaxed) > 1_000);
        for turn in 1..=50 {
            let mut page = bench.pool.fetch(key(1, 2), Ex, LatchRank::Data).unwrap();
            change(&bench.log, &mut page, turn);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_reader_gets_in_among_writers_that_never_pause() {
    let bench = bench(SHAPE);
    let stop = AtomicBool::new(false);
    let writes = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut page = bench.pool.fetch(key(1, 2), Ex, LatchRank::Data).unwrap();
                    let next = writes.fetch_add(1, Ordering::Relaxed);
                    change(&bench.log, &mut page, next);
                }
            });
        }
        wait_until(|| writes.load(Ordering::Relaxed) > 1_000);
        let mut last = 0;
        for _ in 0..50 {
            let now = value(&bench.pool.fetch(key(1, 2), Sh, LatchRank::Data).unwrap());
            assert!(now >= last);
            last = now;
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// A thread of the scope blocks in `mode` on page 3, which the caller holds EX; checks how its wait is
/// reported.
fn blocked_in(bench: &Bench, mode: LatchMode, kind: WaitType) {
    let instruments = Instruments::new();
    let page = bench.pool.fetch(key(1, 3), Ex, LatchRank::Data).unwrap();
    thread::scope(|scope| {
        let waiter = scope.spawn(|| {
            let _task = task::enter(&Task::new(&instruments, 60, "waiter"));
            drop(bench.pool.fetch(key(1, 3), mode, LatchRank::Data).unwrap());
        });
        wait_until(|| instruments.waits.row(kind).count == 1);
        let listed = instruments.tasks.waiting_tasks();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0].resource.to_string(), "5:1:3");
        sleep(Duration::from_millis(20));
        drop(page);
        waiter.join().unwrap();
    });
    let row = instruments.waits.row(kind);
    assert!(row.count == 1 && row.total_us >= 20_000, "{row:?}");
    assert!(
        row.signal_us < row.total_us,
        "the wait was for the latch, not for the processor"
    );
    assert_eq!(
        instruments.latches.row(LatchClass::Buffer).waiting_requests,
        1
    );
}

#[test]
fn waits_are_charged_by_mode_to_the_page() {
    let bench = bench(SHAPE);
    blocked_in(&bench, LatchMode::Sh, WaitType::PageLatchSh);
    blocked_in(&bench, LatchMode::Up, WaitType::PageLatchUp);
    blocked_in(&bench, LatchMode::Ex, WaitType::PageLatchEx);
}

#[test]
fn an_uncontended_fetch_waits_for_nothing() {
    let bench = bench(SHAPE);
    drop(bench.pool.fetch(key(1, 4), Sh, LatchRank::Data).unwrap());
    let instruments = Instruments::new();
    let _task = task::enter(&Task::new(&instruments, 60, "lonely"));
    for _ in 0..100 {
        drop(bench.pool.fetch(key(1, 4), Sh, LatchRank::Data).unwrap());
        drop(
            bench
                .pool
                .fetch(key(1, 4), Up, LatchRank::Data)
                .unwrap()
                .upgrade(),
        );
    }
    let waits: u64 = instruments
        .waits
        .snapshot()
        .rows
        .iter()
        .map(|row| row.count)
        .sum();
    assert_eq!(waits, 0);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "latch order")]
fn a_fetch_below_a_held_rank_is_caught() {
    let bench = bench(SHAPE);
    let _map = bench.pool.fetch(key(1, 2), Up, LatchRank::Gam).unwrap();
    let _exempt = bench
        .pool
        .try_fetch(key(1, 4), Sh, LatchRank::Data)
        .unwrap();
    drop(bench.pool.fetch(key(1, 5), Sh, LatchRank::Pfs));
}
