//! Locks on a schedule: another thread may run whenever one is taken, and after it is released.
//!
//! Each lock wraps the real lock, so that threads outside of any schedule use the same one. A thread of the
//! schedule that finds it held by another thread of the schedule waits by the schedule; if it is held by any
//! other thread, it really waits.

use crate::schedule::strand::{self, Waits};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// How many guards threads on a schedule have of a lock.
#[derive(Debug, Default)]
struct Ours(AtomicUsize);

/// Counts one guard of a thread on a schedule. When it is dropped, it wakes the threads that wait for the
/// lock.
#[derive(Debug)]
struct Hold<'a>(Option<&'a Ours>);

impl Ours {
    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn hold(&self) -> Hold<'_> {
        strand::current().map_or(Hold(None), |_| {
            self.0.fetch_add(1, SeqCst);
            Hold(Some(self))
        })
    }

    /// Takes the lock by `attempt`, waiting by the schedule, or else by `really`.
    fn take<G>(&self, attempt: impl Fn() -> Option<G>, really: impl FnOnce() -> G) -> G {
        let Some(me) = strand::current() else {
            return really();
        };
        strand::point();
        loop {
            if let Some(guard) = attempt() {
                return guard;
            }
            if self.0.load(SeqCst) == 0 {
                return really();
            }
            me.wait(Waits::Key(self.key()));
        }
    }
}

impl Hold<'_> {
    /// The lock is free again: makes the schedule wake its waiters.
    fn gone(&mut self) {
        if let Some(ours) = self.0.take() {
            ours.0.fetch_sub(1, SeqCst);
            strand::wake(ours.key());
        }
    }
}

macro_rules! guard {
    ($name:ident, $what:literal) => {
        #[doc = $what]
        #[must_use = "the lock is let go when the guard is dropped"]
        pub struct $name<'a, T: ?Sized> {
            /// Absent only while a condition variable has let the lock go, and in the drop.
            real: Option<parking_lot::$name<'a, T>>,
            hold: Hold<'a>,
        }

        impl<T: ?Sized> Deref for $name<'_, T> {
            type Target = T;
            fn deref(&self) -> &T {
                match &self.real {
                    Some(real) => real,
                    None => unreachable!("a guard in use has its lock"),
                }
            }
        }

        impl<T: ?Sized> Drop for $name<'_, T> {
            fn drop(&mut self) {
                drop(self.real.take());
                self.hold.gone();
                strand::point();
            }
        }

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&**self, f)
            }
        }
    };
}

macro_rules! guard_mut {
    ($name:ident) => {
        impl<T: ?Sized> DerefMut for $name<'_, T> {
            fn deref_mut(&mut self) -> &mut T {
                match &mut self.real {
                    Some(real) => real,
                    None => unreachable!("a guard in use has its lock"),
                }
            }
        }
    };
}

guard!(MutexGuard, "The right to use what a [`Mutex`] guards.");
guard!(
    RwLockReadGuard,
    "The right to read what a [`RwLock`] guards."
);
guard!(
    RwLockWriteGuard,
    "The right to change what a [`RwLock`] guards."
);
guard_mut!(MutexGuard);
guard_mut!(RwLockWriteGuard);

macro_rules! lock {
    ($name:ident, $what:literal) => {
        #[doc = $what]
        #[derive(Debug, Default)]
        pub struct $name<T: ?Sized> {
            ours: Ours,
            real: parking_lot::$name<T>,
        }

        impl<T> $name<T> {
            /// A lock over `value`.
            pub const fn new(value: T) -> Self {
                Self {
                    ours: Ours(AtomicUsize::new(0)),
                    real: parking_lot::$name::new(value),
                }
            }

            /// The value, the lock being given up.
            pub fn into_inner(self) -> T {
                self.real.into_inner()
            }

            /// The value; the caller has exclusive access.
            pub fn get_mut(&mut self) -> &mut T {
                self.real.get_mut()
            }

            /// Whether a thread holds it.
            pub fn is_locked(&self) -> bool {
                strand::point();
                self.real.is_locked()
            }
        }

        impl<T> From<T> for $name<T> {
            fn from(value: T) -> Self {
                Self::new(value)
            }
        }
    };
}

lock!(Mutex, "A mutex on a schedule.");
lock!(RwLock, "A readers-writer lock on a schedule.");

macro_rules! ways {
    ($lock:ident, $guard:ident, $take:ident, $try_take:ident) => {
        impl<T> $lock<T> {
            /// Waits for the lock.
            pub fn $take(&self) -> $guard<'_, T> {
                let real = self
                    .ours
                    .take(|| self.real.$try_take(), || self.real.$take());
                let hold = self.ours.hold();
                $guard {
                    real: Some(real),
                    hold,
                }
            }

            /// Takes the lock if it is free.
            pub fn $try_take(&self) -> Option<$guard<'_, T>> {
                strand::point();
                let real = self.real.$try_take()?;
                let hold = self.ours.hold();
                Some($guard {
                    real: Some(real),
                    hold,
                })
            }
        }
    };
}

ways!(Mutex, MutexGuard, lock, try_lock);
ways!(RwLock, RwLockReadGuard, read, try_read);
ways!(RwLock, RwLockWriteGuard, write, try_write);

impl<'a, T> MutexGuard<'a, T> {
    /// Lets the lock go, has `sleep` called, and takes the lock again.
    pub(super) fn without(&mut self, sleep: impl FnOnce()) {
        let Some(real) = self.real.take() else { return };
        let mutex = parking_lot::MutexGuard::mutex(&real);
        drop(real);
        let ours = self.hold.0;
        self.hold.gone();
        sleep();
        let attempt = || mutex.try_lock();
        self.real = Some(match ours {
            Some(ours) => ours.take(attempt, || mutex.lock()),
            None => mutex.lock(),
        });
        self.hold = ours.map_or(Hold(None), Ours::hold);
    }

    /// The real guard, for a condition variable outside of a schedule.
    pub(super) fn real(&mut self) -> &mut parking_lot::MutexGuard<'a, T> {
        match &mut self.real {
            Some(real) => real,
            None => unreachable!("a guard in use has its lock"),
        }
    }
}
