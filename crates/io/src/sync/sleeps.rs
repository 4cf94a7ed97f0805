//! Condition variables and futexes on a schedule.

use super::MutexGuard;
use crate::schedule::strand::{self, Waits};
use std::time::Duration;

/// Whether a wait ended by its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether it did.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

/// A condition variable on a schedule.
#[derive(Debug, Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// A condition variable without waiters.
    pub const fn new() -> Condvar {
        Condvar(parking_lot::Condvar::new())
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits until another thread notifies.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        match strand::current() {
            Some(me) => guard.without(|| {
                me.wait(Waits::Key(self.key()));
            }),
            None => self.0.wait(guard.real()),
        }
    }

    /// Waits until another thread notifies, `span` at most.
    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, span: Duration) -> WaitTimeoutResult {
        let Some(me) = strand::current() else {
            return WaitTimeoutResult(self.0.wait_for(guard.real(), span).timed_out());
        };
        let mut notified = true;
        guard.without(|| notified = me.wait(Waits::until(&me, span, self.key())));
        WaitTimeoutResult(!notified)
    }

    /// Wakes one waiter; the schedule decides which.
    pub fn notify_one(&self) -> bool {
        strand::point();
        strand::wake_one(self.key());
        self.0.notify_one()
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) -> usize {
        strand::point();
        strand::wake(self.key());
        self.0.notify_all()
    }
}

/// Spinning, which is of no use where one thread runs at a time.
#[derive(Debug, Default)]
pub struct SpinWait;

impl SpinWait {
    /// As of the parking lot.
    pub fn new() -> SpinWait {
        SpinWait
    }

    /// Whether to spin on: never.
    pub fn spin(&mut self) -> bool {
        false
    }
}

/// Sleeping until a number changes.
pub mod futex {
    use super::{Waits, strand};
    use crate::sync::atomic::{AtomicU32, Ordering};

    fn key(cell: &AtomicU32) -> usize {
        std::ptr::from_ref(cell).addr()
    }

    /// Sleeps while `cell` holds `value`; may return early.
    pub fn wait(cell: &AtomicU32, value: u32) {
        let Some(me) = strand::current() else {
            // Outside of a schedule, where only tests of other things are: look again and again.
            while cell.load(Ordering::SeqCst) == value {
                std::thread::yield_now();
            }
            return;
        };
        strand::point();
        if strand::quietly(|| cell.load(Ordering::SeqCst)) == value {
            me.wait(Waits::Key(key(cell)));
        }
    }

    /// Wakes one thread that sleeps on `cell`; the schedule decides which.
    pub fn wake_one(cell: &AtomicU32) {
        strand::point();
        strand::wake_one(key(cell));
    }

    /// Wakes all threads that sleep on `cell`.
    pub fn wake_all(cell: &AtomicU32) {
        strand::point();
        strand::wake(key(cell));
    }
}
