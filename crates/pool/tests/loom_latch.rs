//! The latch under the model checker: every interleaving of a few threads, within a bound of preemptions.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p furrow-pool --test loom_latch --release`
//!
//! Loom itself reports a lost wake-up as a deadlock; the cell reports two threads that were inside at once.

#![cfg(loom)]
#![expect(unsafe_code, reason = "loom's cells")]

mod under_loom;

use latch::Latch;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use mode::LatchMode::{self, Ex, Sh, Up};
use park::atomic::{Ordering, without};
use under_loom::{Silent, latch, mode, park};

struct Shared {
    latch: Latch,
    value: UnsafeCell<u32>,
}

// SAFETY: the cell is reached only under the latch; that it is so is what loom checks.
unsafe impl Sync for Shared {}
// SAFETY: a number and atomics.
unsafe impl Send for Shared {}

impl Shared {
    fn new() -> Arc<Shared> {
        Arc::new(Shared {
            latch: Latch::new(),
            value: UnsafeCell::new(0),
        })
    }

    fn read(&self) -> u32 {
        // SAFETY: the caller holds the latch.
        self.value.with(|value| unsafe { *value })
    }

    fn add(&self) {
        // SAFETY: the caller holds the latch EX.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    /// One visit in `mode`: EX adds, UP reads, becomes EX and adds, SH reads.
    fn visit(&self, mode: LatchMode) {
        self.latch.acquire(mode, &mut Silent);
        match mode {
            Sh => {
                self.read();
                self.latch.release(Sh);
            }
            Up => {
                let before = self.read();
                self.latch.upgrade(&mut Silent);
                assert_eq!(self.read(), before, "changed under an UP holder");
                self.add();
                self.latch.release(Ex);
            }
            Ex => {
                self.add();
                self.latch.release(Ex);
            }
        }
    }
}

fn check(modes: &'static [LatchMode], preemptions: usize) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(move || {
        let shared = Shared::new();
        let others: Vec<_> = modes[1..]
            .iter()
            .map(|&mode| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || shared.visit(mode))
            })
            .collect();
        shared.visit(modes[0]);
        others.into_iter().for_each(|other| other.join().unwrap());
        let writers = modes.iter().filter(|&&mode| mode != Sh).count() as u32;
        assert!(shared.latch.claim(), "the latch is idle in the end");
        assert_eq!(shared.read(), writers);
    });
}

#[test]
fn two_writers() {
    check(&[Ex, Ex], 5);
}

#[test]
fn three_writers() {
    check(&[Ex, Ex, Ex], 2);
}

#[test]
fn a_writer_and_two_readers() {
    check(&[Ex, Sh, Sh], 3);
}

#[test]
fn two_writers_and_a_reader() {
    check(&[Ex, Sh, Ex], 2);
}

#[test]
fn an_updater_upgrades_beside_readers() {
    check(&[Up, Sh, Sh], 3);
}

#[test]
fn two_updaters_take_turns() {
    check(&[Up, Up], 5);
}

#[test]
fn an_updater_a_writer_and_a_reader() {
    check(&[Up, Ex, Sh], 2);
}

#[test]
fn a_claim_never_disturbs_a_holder() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(|| {
        let shared = Shared::new();
        let other = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                if shared.latch.claim() {
                    shared.add();
                    shared.latch.release_loaded(true);
                }
            })
        };
        shared.latch.pin();
        shared.visit(Sh);
        shared.latch.unpin();
        other.join().unwrap();
        shared.visit(Ex);
    });
}

#[test]
fn a_downgraded_writer_lets_readers_in() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let shared = Shared::new();
        let reader = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.visit(Sh))
        };
        let writer = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.visit(Ex))
        };
        shared.latch.acquire(Ex, &mut Silent);
        shared.add();
        shared.latch.downgrade(Sh);
        shared.read();
        shared.latch.release(Sh);
        reader.join().unwrap();
        writer.join().unwrap();
        assert!(shared.latch.claim());
        assert_eq!(shared.read(), 2);
    });
}

/// What one wrote the next must see.
#[test]
#[should_panic(expected = "Causality violation")]
fn a_latch_that_releases_nothing_is_noticed() {
    without(Ordering::Release, || check(&[Ex, Ex], 3));
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_latch_that_acquires_nothing_is_noticed() {
    without(Ordering::Acquire, || check(&[Ex, Sh], 3));
}
