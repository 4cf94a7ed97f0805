//! Marks under the model checker: who goes by a copy of one page, and holds another, in every interleaving of
//! a few threads and with all that weak orderings allow.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p furrow-pool --test loom_watch --release`

#![cfg(loom)]
#![expect(unsafe_code, reason = "loom's cells")]

mod under_loom;

use latch::Latch;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::AtomicBool;
use loom::thread;
use mode::LatchMode::{Ex, Sh};
use park::atomic::{Ordering, without};
use under_loom::{Silent, latch, mode, park, watch};
use watch::Watches;

/// A frame as far as marks go.
struct Frame {
    latch: Latch,
    watched: AtomicBool,
    value: UnsafeCell<u32>,
}

/// A parent and its child, which say the same.
struct Shared {
    parent: Frame,
    child: Frame,
    watches: Watches,
    raises: bool,
}

// SAFETY: the cells are reached only under the latches; that it is so is what loom checks.
unsafe impl Sync for Shared {}
// SAFETY: numbers and atomics.
unsafe impl Send for Shared {}

fn frame() -> Frame {
    Frame {
        latch: Latch::new(),
        watched: AtomicBool::new(false),
        value: UnsafeCell::new(0),
    }
}

impl Frame {
    fn read(&self) -> u32 {
        // SAFETY: the caller holds the latch.
        self.value.with(|value| unsafe { *value })
    }

    fn add(&self) {
        // SAFETY: the caller holds the latch EX.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }
}

impl Shared {
    fn new(raises: bool) -> Arc<Shared> {
        Arc::new(Shared {
            parent: frame(),
            child: frame(),
            watches: Watches::new(),
            raises,
        })
    }

    fn end_watch(&self) {
        let watched = &self.parent.watched;
        if watched.load(Ordering::Relaxed) && watched.swap(false, Ordering::Relaxed) && self.raises
        {
            self.watches.raise(0);
        }
    }

    /// Changes both pages; the parent is let go of first.
    fn change(&self) {
        self.parent.latch.acquire(Ex, &mut Silent);
        self.child.latch.acquire(Ex, &mut Silent);
        self.end_watch();
        self.parent.add();
        self.child.add();
        self.parent.latch.release(Ex);
        self.child.latch.release(Ex);
    }

    /// The clock hand comes by.
    fn pass(&self) {
        if self.parent.latch.claim() {
            self.end_watch();
            self.parent.latch.release_loaded(false);
        }
    }

    /// Copies the parent, and goes by the copy.
    fn go_by_copy(&self) {
        self.parent.latch.acquire(Sh, &mut Silent);
        self.parent.watched.store(true, Ordering::Relaxed);
        let (mark, said) = (self.watches.mark(0), self.parent.read());
        self.parent.latch.release(Sh);
        self.child.latch.acquire(Sh, &mut Silent);
        if self.watches.is_now(mark) {
            assert_eq!(self.child.read(), said, "an old copy was believed");
        }
        self.child.latch.release(Sh);
    }
}

fn check(preemptions: usize, raises: bool, others: &'static [fn(&Shared)]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let shared = Shared::new(raises);
        let start = |other: fn(&Shared)| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || other(&shared))
        };
        let others: Vec<_> = others.iter().map(|&other| start(other)).collect();
        shared.go_by_copy();
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn a_reader_beside_a_change() {
    check(5, true, &[Shared::change]);
}

#[test]
fn a_reader_beside_two_changes() {
    check(2, true, &[Shared::change, Shared::change]);
}

#[test]
fn a_reader_beside_a_change_and_the_clock_hand() {
    check(2, true, &[Shared::change, Shared::pass]);
}

#[test]
fn two_readers_beside_a_change() {
    check(2, true, &[Shared::go_by_copy, Shared::change]);
}

#[test]
#[should_panic(expected = "an old copy was believed")]
fn a_change_that_tells_nobody_is_noticed() {
    check(3, false, &[Shared::change]);
}

#[test]
#[should_panic]
fn latches_that_order_nothing_are_noticed() {
    without(Ordering::Acquire, || check(3, true, &[Shared::change]));
}
