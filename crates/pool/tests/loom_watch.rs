//! Marks under the model checker: a thread uses a copy of one page while it holds another, in every
//! interleaving of a few threads and with all that weak orderings allow.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p furrow-pool --test loom_watch --release`

#![cfg(loom)]
#![expect(unsafe_code, reason = "loom's cells")]

mod under_loom;

use latch::Latch;
use loom::cell::UnsafeCell;
use loom::sync::atomic::AtomicBool;
use loom::sync::{Arc, Mutex};
use loom::thread;
use mode::LatchMode::{self, Ex, Sh};
use park::atomic::{Ordering, without};
use under_loom::{Silent, latch, mode, park, watch};
use watch::Watches;

/// A frame as far as marks go.
struct Frame {
    latch: Latch,
    watched: AtomicBool,
    value: UnsafeCell<u32>,
}

/// When threads that change a page, or take it out of memory, invalidate its marks.
#[derive(Clone, Copy, PartialEq)]
enum Report {
    InTime,
    Never,
    /// Not before others can have it in another frame.
    Late,
}

/// A parent and its child, with the same content. The parent is in one of two frames.
struct Shared {
    parents: [Frame; 2],
    /// Which of them has it: the page table.
    place: Mutex<usize>,
    child: Frame,
    watches: Watches,
    report: Report,
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
    fn new(report: Report) -> Arc<Shared> {
        Arc::new(Shared {
            parents: [frame(), frame()],
            place: Mutex::new(0),
            child: frame(),
            watches: Watches::new(),
            report,
        })
    }

    fn place(&self) -> usize {
        *self.place.lock().unwrap()
    }

    /// The frame of the parent, latched.
    fn latch_parent(&self, mode: LatchMode) -> &Frame {
        loop {
            let place = self.place();
            let parent = &self.parents[place];
            parent.latch.acquire(mode, &mut Silent);
            if self.place() == place {
                return parent;
            }
            parent.latch.release(mode);
        }
    }

    fn end_watch(&self, parent: &Frame) {
        let watched = &parent.watched;
        if watched.load(Ordering::Relaxed)
            && watched.swap(false, Ordering::Relaxed)
            && self.report != Report::Never
        {
            self.watches.raise(0);
        }
    }

    /// Changes both pages; the parent is released first.
    fn change(&self) {
        let parent = self.latch_parent(Ex);
        self.child.latch.acquire(Ex, &mut Silent);
        self.end_watch(parent);
        parent.add();
        self.child.add();
        parent.latch.release(Ex);
        self.child.latch.release(Ex);
    }

    /// The clock hand passes.
    fn pass(&self) {
        let parent = &self.parents[0];
        if parent.latch.claim() {
            self.end_watch(parent);
            parent.latch.release_loaded(false);
        }
    }

    /// Takes the parent out of its frame; the next thread that needs it has it in the other one.
    fn move_away(&self) {
        let [from, to] = &self.parents;
        if !from.latch.claim() {
            return;
        }
        if self.report != Report::Late {
            self.end_watch(from);
        }
        to.value.with_mut(|value| {
            // SAFETY: no other thread reaches this frame before `place` names it.
            unsafe { *value = from.read() }
        });
        *self.place.lock().unwrap() = 1;
        self.end_watch(from);
        from.latch.release_loaded(true);
    }

    /// Copies the parent, and uses the copy.
    fn go_by_copy(&self) {
        let parent = self.latch_parent(Sh);
        parent.watched.store(true, Ordering::Relaxed);
        let (mark, said) = (self.watches.mark(0), parent.read());
        parent.latch.release(Sh);
        self.child.latch.acquire(Sh, &mut Silent);
        if self.watches.is_now(mark) {
            assert_eq!(self.child.read(), said, "a stale copy was used");
        }
        self.child.latch.release(Sh);
    }
}

fn check(preemptions: usize, report: Report, others: &'static [fn(&Shared)]) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let shared = Shared::new(report);
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
    check(5, Report::InTime, &[Shared::change]);
}

#[test]
fn a_reader_beside_two_changes() {
    check(2, Report::InTime, &[Shared::change, Shared::change]);
}

#[test]
fn a_reader_beside_a_change_and_the_clock_hand() {
    check(2, Report::InTime, &[Shared::change, Shared::pass]);
}

#[test]
fn a_reader_beside_a_change_of_a_page_that_moves_to_another_frame() {
    check(2, Report::InTime, &[Shared::change, Shared::move_away]);
}

#[test]
#[should_panic(expected = "a stale copy was used")]
fn a_page_that_leaves_its_frame_and_tells_late_is_noticed() {
    check(3, Report::Late, &[Shared::change, Shared::move_away]);
}

#[test]
fn two_readers_beside_a_change() {
    check(2, Report::InTime, &[Shared::go_by_copy, Shared::change]);
}

#[test]
#[should_panic(expected = "a stale copy was used")]
fn a_change_that_tells_nobody_is_noticed() {
    check(3, Report::Never, &[Shared::change]);
}

#[test]
#[should_panic]
fn latches_that_order_nothing_are_noticed() {
    without(Ordering::Acquire, || {
        check(3, Report::InTime, &[Shared::change])
    });
}
