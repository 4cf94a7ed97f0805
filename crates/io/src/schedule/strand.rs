//! A thread on a schedule, as seen by itself.

use super::run::Run;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waits {
    /// Nothing: it can run.
    Not,
    /// A wake-up of those that wait at this address.
    Key(usize),
    /// The same, or until the clock reaches so many nanoseconds.
    Until(u64, usize),
    /// A thread that takes it from the queue of this address.
    Queue(usize),
    /// The end of another thread.
    End(usize),
    /// Nothing any more: it has ended.
    Over,
}

impl Waits {
    pub(crate) fn until(me: &Strand, span: Duration, key: usize) -> Waits {
        let span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Waits::Until(me.clock_ns().saturating_add(span_ns), key)
    }
}

/// A thread on a schedule.
#[derive(Debug, Clone)]
pub(crate) struct Strand {
    pub(crate) run: Arc<Run>,
    pub(super) number: usize,
}

thread_local! {
    static ME: RefCell<Option<Strand>> = const { RefCell::new(None) };
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// The schedule's view of this thread, if it is on one.
pub(crate) fn current() -> Option<Strand> {
    ME.try_with(|me| me.borrow().clone()).ok().flatten()
}

/// This thread is `strand` from now on, or none.
pub(crate) fn become_strand(strand: Option<Strand>) {
    let _ = ME.try_with(|me| me.replace(strand));
}

/// Calls `look` while no other thread of the schedule runs.
pub(crate) fn quietly<T>(look: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let seen = look();
    QUIET.set(before);
    seen
}

fn is_quiet() -> bool {
    QUIET.try_with(Cell::get).unwrap_or(true) || std::thread::panicking()
}

/// Another thread may run here.
pub(crate) fn point() {
    if !is_quiet()
        && let Some(me) = current()
    {
        me.run.step(me.number, Waits::Not, false);
    }
}

/// Another thread should run here. `false` when there is no schedule.
pub(crate) fn stand_back() -> bool {
    match current() {
        Some(me) if !is_quiet() => {
            me.run.step(me.number, Waits::Not, true);
            true
        }
        me => me.is_some(),
    }
}

/// Wakes all threads that wait at an address.
pub(crate) fn wake(key: usize) {
    if let Some(me) = current() {
        me.run.wake(key, false);
    }
}

/// Wakes one thread that waits at an address.
pub(crate) fn wake_one(key: usize) {
    if let Some(me) = current() {
        me.run.wake(key, true);
    }
}

impl Strand {
    /// Waits; returns whether it was woken before its time was over.
    pub(crate) fn wait(&self, waits: Waits) -> bool {
        self.run.step(self.number, waits, false)
    }

    pub(crate) fn clock_ns(&self) -> u64 {
        self.run.clock_ns()
    }

    pub(crate) fn enqueue(&self, key: usize, tag: usize) {
        self.run.enqueue(self.number, key, tag);
    }

    /// The tag of the first in the queue of an address.
    pub(crate) fn first_queued(&self, key: usize) -> Option<usize> {
        self.run.first_queued(key)
    }

    pub(crate) fn wake_first(&self, key: usize) {
        self.run.wake_first(key);
    }

    /// Waits until thread `other` of this schedule has ended.
    pub(crate) fn wait_for_end(&self, other: &Strand) {
        if Arc::ptr_eq(&self.run, &other.run) && !self.run.has_ended(other.number) {
            self.wait(Waits::End(other.number));
        }
    }
}
