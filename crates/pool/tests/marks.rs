//! Marks: how a thread that uses a copy of a page finds that the page has changed.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Bench, DB, Shape, bench_on, change, config, key, value};
use furrow_format::{FileId, Lsn};
use furrow_io::MemoryVolume;
use furrow_io::random::{Rng, seeded};
use furrow_io::sync::Mutex;
use furrow_io::weave::{explore, together};
use furrow_observe::task::page_work;
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PageMark, PoolConfig, Sh, Up};
use std::sync::Arc;
use std::time::Duration;

const PAGES: u32 = 64;

/// A pool without threads of its own.
fn bench(frames: usize) -> Bench {
    let shape = Shape {
        frames,
        files: 1,
        file_pages: PAGES,
        double_write: false,
    };
    let config = PoolConfig {
        background: false,
        buffer_wait: Duration::from_secs(1000),
        ..config(frames)
    };
    bench_on(&MemoryVolume::new(), shape, config)
}

fn mark(bench: &Bench, page: u32) -> PageMark {
    let page = bench.pool.fetch(key(1, page), Sh, LatchRank::Data).unwrap();
    page.mark()
}

fn checkpoint(bench: &Bench) {
    let options = CheckpointOptions::default();
    bench.pool.checkpoint_pages(DB, options).unwrap();
}

#[test]
fn a_mark_holds_while_the_page_is_read_and_written_out_and_ends_with_its_next_change() {
    let bench = bench(48);
    for was_dirty in [false, true] {
        let mark = mark(&bench, 7);
        let mut page = bench.pool.fetch(key(1, 7), Up, LatchRank::Data).unwrap();
        assert!(bench.pool.is_unchanged(mark), "it has not changed yet");
        let mut now = page.upgrade();
        assert!(bench.pool.is_unchanged(mark));
        assert_eq!(now.is_dirty(), was_dirty);
        now.begin_change();
        assert!(
            !bench.pool.is_unchanged(mark),
            "before the first byte changes"
        );
        change(&bench.log, &mut now, 1);
        page = now.downgrade_to_update();
        drop(page);
    }
    let mark = mark(&bench, 7);
    checkpoint(&bench);
    drop(bench.pool.fetch(key(1, 7), Ex, LatchRank::Data).unwrap());
    assert!(bench.pool.is_unchanged(mark));
    let mut page = bench.pool.fetch(key(1, 7), Ex, LatchRank::Data).unwrap();
    page.begin_change_at(Lsn(1));
    assert!(!bench.pool.is_unchanged(mark), "redo changes pages as well");
}

#[test]
fn a_mark_ends_when_its_page_leaves_memory_and_when_its_file_goes() {
    let bench = bench(48);
    let thrown = mark(&bench, 3);
    bench.pool.drop_clean_buffers();
    assert!(!bench.pool.is_unchanged(thrown));
    let gone = mark(&bench, 3);
    assert!(bench.pool.is_unchanged(gone) && !bench.pool.is_unchanged(thrown));
    bench.pool.remove_file(DB, FileId(1)).unwrap();
    assert!(!bench.pool.is_unchanged(gone));
}

#[test]
fn a_page_that_is_marked_again_and_again_stays_in_memory_without_being_latched_otherwise() {
    let bench = bench(16);
    let mut held = mark(&bench, 0);
    let (mut made, before) = (0, page_work().reads);
    for turn in 0..2000_u32 {
        drop(bench.pool.fetch(key(1, 1 + turn % 63), Sh, LatchRank::Data));
        if !bench.pool.is_unchanged(held) {
            let known = page_work().reads;
            held = mark(&bench, 0);
            assert_eq!(page_work().reads, known, "it had to be read");
            made += 1;
        }
    }
    assert!(made > 1, "the clock hand takes marks away");
    assert!(page_work().reads > before + 1000);
}

#[test]
fn a_page_at_hand_is_latched_and_one_that_is_not_is_neither_read_nor_waited_for_nor_counted() {
    let bench = bench(48);
    let at_hand = |page| bench.pool.fetch_at_hand(key(1, page), Sh, LatchRank::Data);
    let before = page_work();
    assert!(at_hand(5).is_none(), "not in memory");
    let held = bench.pool.fetch(key(1, 6), Ex, LatchRank::Data).unwrap();
    assert!(at_hand(6).is_none(), "another guard holds it");
    drop(held);
    assert_eq!(at_hand(6).unwrap().key(), key(1, 6));
    assert_eq!(page_work().since(before).logical_reads, 1);
    assert_eq!(page_work().since(before).reads, 1);
    bench.pool.count_lookups(3);
    assert_eq!(page_work().since(before).logical_reads, 4);
}

/// Pages 0 and 20 have the same content: the thread that changes one latches both and changes both. Readers
/// use a copy of page 0.
fn go_by_copies(seed: u64) {
    const OTHERS: u32 = 20;
    let bench = Arc::new(bench(16));
    let copy: Arc<Mutex<Option<(PageMark, u64)>>> = Arc::default();
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 0..3_u64 {
        let (bench, copy) = (Arc::clone(&bench), Arc::clone(&copy));
        let mut rng = seeded(seed ^ thread << 40);
        bodies.push(Box::new(move || {
            for _ in 0..30 {
                let other = key(1, rng.random_range(1..OTHERS));
                if thread == 0 && rng.random_bool(0.3) {
                    let mut first = bench.pool.fetch(key(1, 0), Ex, LatchRank::Data).unwrap();
                    let next = value(&first) + 1;
                    let mut page = bench.pool.fetch(key(1, 20), Ex, LatchRank::Data).unwrap();
                    change(&bench.log, &mut first, next);
                    change(&bench.log, &mut page, next);
                    continue;
                }
                let known = *copy.lock();
                match known.filter(|known| bench.pool.is_unchanged(known.0)) {
                    Some((mark, said)) => {
                        let page = bench.pool.fetch(key(1, 20), Sh, LatchRank::Data).unwrap();
                        if bench.pool.is_unchanged(mark) {
                            assert_eq!(value(&page), said);
                        }
                    }
                    None => {
                        let page = bench.pool.fetch(key(1, 0), Sh, LatchRank::Data).unwrap();
                        *copy.lock() = Some((page.mark(), value(&page)));
                    }
                }
                drop(bench.pool.fetch(other, Sh, LatchRank::Data).unwrap());
            }
        }));
    }
    together(bodies);
}

/// The same two pages, and a thread that removes clean pages from memory: each comes back in another frame.
fn go_by_copies_of_pages_thrown_out(_seed: u64) {
    let bench = Arc::new(bench(48));
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    let thrower = Arc::clone(&bench);
    bodies.push(Box::new(move || {
        for _ in 0..8 {
            checkpoint(&thrower);
            thrower.pool.drop_clean_buffers();
        }
    }));
    let changer = Arc::clone(&bench);
    bodies.push(Box::new(move || {
        for next in 1..12 {
            let mut first = changer.pool.fetch(key(1, 0), Ex, LatchRank::Data).unwrap();
            let mut page = changer.pool.fetch(key(1, 20), Ex, LatchRank::Data).unwrap();
            change(&changer.log, &mut first, next);
            change(&changer.log, &mut page, next);
        }
    }));
    bodies.push(Box::new(move || {
        let mut copy = None;
        for _ in 0..40 {
            let (mark, said) = *copy.get_or_insert_with(|| {
                let first = bench.pool.fetch(key(1, 0), Sh, LatchRank::Data).unwrap();
                (first.mark(), value(&first))
            });
            let page = bench.pool.fetch(key(1, 20), Sh, LatchRank::Data).unwrap();
            if bench.pool.is_unchanged(mark) {
                assert_eq!(value(&page), said, "a stale copy was used");
            } else {
                copy = None;
            }
        }
    }));
    together(bodies);
}

#[test]
fn woven_readers_never_believe_a_copy_of_a_page_that_came_back_in_another_frame() {
    explore(
        "marks of pages thrown out",
        4000,
        go_by_copies_of_pages_thrown_out,
    );
}

#[test]
fn woven_readers_who_go_by_copies_never_believe_an_old_one() {
    explore("marks", 1500, go_by_copies);
}
