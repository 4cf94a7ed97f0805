//! The latch itself.

use super::LatchClass;
use crate::task::{self, Resource};
use crate::waits::WaitType;
use furrow_io::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The right to read what a [`ClassLatch`] guards.
pub type SharedGuard<'a, T> = RwLockReadGuard<'a, T>;
/// The right to change what a [`ClassLatch`] guards.
pub type ExclusiveGuard<'a, T> = RwLockWriteGuard<'a, T>;

/// A readers-writer lock of a latch class.
#[derive(Debug)]
pub struct ClassLatch<T> {
    class: LatchClass,
    lock: RwLock<T>,
}

impl<T> ClassLatch<T> {
    /// A latch that guards `value`.
    pub const fn new(class: LatchClass, value: T) -> ClassLatch<T> {
        ClassLatch {
            class,
            lock: RwLock::new(value),
        }
    }

    /// Its class.
    pub fn class(&self) -> LatchClass {
        self.class
    }

    /// Latches shared; waits while a thread holds it exclusively.
    pub fn shared(&self) -> SharedGuard<'_, T> {
        match self.lock.try_read() {
            Some(guard) => guard,
            None => self.timed(WaitType::LatchSh, || self.lock.read()),
        }
    }

    /// Latches exclusively; waits while another thread holds it.
    pub fn exclusive(&self) -> ExclusiveGuard<'_, T> {
        match self.lock.try_write() {
            Some(guard) => guard,
            None => self.timed(WaitType::LatchEx, || self.lock.write()),
        }
    }

    /// The value, without the latch: the caller has exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.lock.get_mut()
    }

    /// The value, the latch being given up.
    pub fn into_inner(self) -> T {
        self.lock.into_inner()
    }

    #[cold]
    fn timed<G>(&self, kind: WaitType, block: impl FnOnce() -> G) -> G {
        let task = task::current();
        let wait = task::wait(kind, Resource::Latch(self.class));
        let guard = block();
        let wait_us = wait.finish();
        task.instruments().charge_latch(self.class, wait_us);
        guard
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instruments;
    use crate::task::Task;
    use furrow_io::time::{Duration, sleep};

    #[test]
    fn a_latch_that_is_free_costs_no_statistics() {
        let instruments = Instruments::new();
        let _guard = task::enter(&Task::new(&instruments, 51, "test"));
        let latch = ClassLatch::new(LatchClass::FgcbAddRemove, 1);
        for _ in 0..1000 {
            *latch.exclusive() += 1;
            let _value = *latch.shared();
        }
        assert_eq!(*latch.shared(), 1001);
        assert_eq!(
            instruments
                .latches
                .row(LatchClass::FgcbAddRemove)
                .waiting_requests,
            0
        );
        assert!(
            instruments
                .waits
                .snapshot()
                .rows
                .iter()
                .all(|row| row.count == 0)
        );
    }

    #[test]
    fn a_latch_found_held_is_timed_for_the_class_and_for_the_task() {
        let instruments = Instruments::new();
        let task = Task::new(&instruments, 51, "test");
        let latch = ClassLatch::new(LatchClass::LogManager, 0);
        let held = latch.exclusive();
        furrow_io::thread::scope(|scope| {
            for kind in [WaitType::LatchSh, WaitType::LatchEx] {
                let (latch, task) = (&latch, &task);
                scope.spawn(move || {
                    let _guard = task::enter(task);
                    if kind == WaitType::LatchSh {
                        drop(latch.shared());
                    } else {
                        drop(latch.exclusive());
                    }
                });
            }
            while instruments.tasks.waiting_tasks().len() < 2 {
                sleep(Duration::from_micros(100));
            }
            assert_eq!(instruments.tasks.waiting_tasks()[0].resource, "LOG_MANAGER");
            sleep(Duration::from_millis(2));
            drop(held);
        });
        let row = instruments.latches.row(LatchClass::LogManager);
        assert_eq!(row.waiting_requests, 2);
        assert!(
            row.wait_us >= 4000 && row.max_us >= 2000 && row.max_us < row.wait_us,
            "{row:?}"
        );
        assert_eq!(task.waits().row(WaitType::LatchSh).count, 1);
        assert_eq!(task.waits().row(WaitType::LatchEx).count, 1);
        let sum =
            [WaitType::LatchSh, WaitType::LatchEx].map(|kind| task.waits().row(kind).total_us);
        assert_eq!(sum[0] + sum[1], row.wait_us);
    }

    #[test]
    fn deltas_and_clears_count_from_there() {
        let stats = super::super::LatchStats::default();
        stats.charge(LatchClass::Buffer, 50);
        let before = stats.snapshot();
        stats.charge(LatchClass::Buffer, 7);
        let delta = super::super::LatchStats::delta(&before, &stats.snapshot());
        let row = delta
            .iter()
            .find(|row| row.class == LatchClass::Buffer)
            .unwrap();
        assert_eq!((row.waiting_requests, row.wait_us, row.max_us), (1, 7, 7));
        stats.clear();
        assert_eq!(stats.row(LatchClass::Buffer).max_us, 0);
    }
}
