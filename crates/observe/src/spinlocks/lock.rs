//! The lock itself.

use super::SpinClass;
use crate::task;
use furrow_io::sync::{Mutex, MutexGuard};
use furrow_io::time::{Duration, Moment, sleep};

/// The right to use what a [`Spinlock`] guards.
pub type SpinGuard<'a, T> = MutexGuard<'a, T>;

/// A lock for sections so short that sleeping for them costs more than spinning.
///
/// It is built on the one-byte word of a mutex, of which only `try_lock` is used: no thread ever parks.
#[derive(Debug)]
pub struct Spinlock<T> {
    class: SpinClass,
    word: Mutex<T>,
}

/// Pauses of the first look and of the last one before a back-off.
const PAUSES: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// Back-offs that only yield; later ones sleep.
const YIELDS: u64 = 4;
const SLEEP_FIRST_US: u64 = 20;
const SLEEP_MOST_US: u64 = 1000;

impl<T> Spinlock<T> {
    /// A spinlock that guards `value`.
    pub const fn new(class: SpinClass, value: T) -> Spinlock<T> {
        Spinlock {
            class,
            word: Mutex::new(value),
        }
    }

    /// Its class.
    pub fn class(&self) -> SpinClass {
        self.class
    }

    /// Takes the lock.
    pub fn lock(&self) -> SpinGuard<'_, T> {
        match self.word.try_lock() {
            Some(guard) => guard,
            None => self.contended(),
        }
    }

    /// Takes the lock if it is free; a failure counts as no collision.
    pub fn try_lock(&self) -> Option<SpinGuard<'_, T>> {
        self.word.try_lock()
    }

    /// The value, without the lock: the caller has exclusive access.
    pub fn get_mut(&mut self) -> &mut T {
        self.word.get_mut()
    }

    #[cold]
    fn contended(&self) -> SpinGuard<'_, T> {
        let (mut spins, mut backoffs, mut sleep_us) = (0, 0, 0);
        let mut nap_us = SLEEP_FIRST_US;
        let guard = loop {
            if let Some(guard) = self.spin(&mut spins) {
                break guard;
            }
            backoffs += 1;
            if backoffs <= YIELDS {
                furrow_io::thread::yield_now();
            } else {
                let start = Moment::now();
                sleep(Duration::from_micros(nap_us));
                sleep_us += start.elapsed_us();
                nap_us = (nap_us * 2).min(SLEEP_MOST_US);
            }
        };
        // Charged while the lock is held: a few additions, only ever after a collision.
        task::current()
            .instruments()
            .spinlocks
            .charge(self.class, spins, backoffs, sleep_us);
        guard
    }

    fn spin(&self, spins: &mut u64) -> Option<SpinGuard<'_, T>> {
        for pauses in PAUSES {
            for _ in 0..pauses {
                std::hint::spin_loop();
            }
            *spins += pauses;
            // A load before the attempt keeps the word shared between the caches of the spinning threads.
            if !self.word.is_locked()
                && let Some(guard) = self.word.try_lock()
            {
                return Some(guard);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instruments;
    use crate::task::Task;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    #[test]
    fn a_free_spinlock_counts_nothing() {
        let instruments = Instruments::new();
        let _guard = task::enter(&Task::new(&instruments, 51, "test"));
        let lock = Spinlock::new(SpinClass::FgcbPrpFill, 0u64);
        for _ in 0..10_000 {
            *lock.lock() += 1;
        }
        assert_eq!(*lock.lock(), 10_000);
        let row = instruments.spinlocks.row(SpinClass::FgcbPrpFill);
        assert_eq!((row.collisions, row.spins, row.backoffs), (0, 0, 0));
        assert_eq!(row.spins_per_collision(), 0.0);
    }

    /// One thread tries to take the lock while another holds it for 20 ms.
    fn collide(instruments: &std::sync::Arc<Instruments>) {
        let task = Task::new(instruments, 51, "test");
        let lock = Spinlock::new(SpinClass::LockHash, ());
        let held = lock.lock();
        let trying = AtomicBool::new(false);
        furrow_io::thread::scope(|scope| {
            scope.spawn(|| {
                let _guard = task::enter(&task);
                trying.store(true, SeqCst);
                drop(lock.lock());
            });
            while !trying.load(SeqCst) {
                furrow_io::thread::yield_now();
            }
            sleep(Duration::from_millis(20));
            drop(held);
        });
    }

    #[test]
    fn a_held_spinlock_counts_one_collision_and_its_spins_back_offs_and_sleep() {
        // On a busy machine the trying thread may come too late: then it counts nothing.
        let row = (0..100).find_map(|_| {
            let instruments = Instruments::new();
            collide(&instruments);
            let row = instruments.spinlocks.row(SpinClass::LockHash);
            (row.backoffs > YIELDS).then_some(row)
        });
        let row = row.unwrap();
        assert_eq!(row.collisions, 1);
        assert!(row.sleep_us >= SLEEP_FIRST_US, "{row:?}");
        let round: u64 = PAUSES.iter().sum();
        assert!(row.spins >= row.backoffs * round, "{row:?}");
        assert!(row.spins_per_collision() >= round as f64);
    }

    #[test]
    fn threads_exclude_each_other() {
        let instruments = Instruments::new();
        let task = Task::new(&instruments, 51, "test");
        let lock = Spinlock::new(SpinClass::LogFlushQ, (0u64, 0u64));
        furrow_io::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _guard = task::enter(&task);
                    for _ in 0..20_000 {
                        let mut pair = lock.lock();
                        assert_eq!(pair.0, pair.1);
                        pair.0 += 1;
                        pair.1 += 1;
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), (80_000, 80_000));
    }
}
