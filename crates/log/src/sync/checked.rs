//! The same under the model checker.
//!
//! The checker treats a sequentially consistent operation as one that acquires and releases; it models fences
//! exactly. So here each such operation is placed between two fences.
//!
//! A test may weaken the log: [`weakened`] makes all orderings of one kind relaxed while it runs. The
//! failures that follow prove that the checker tests these orderings.

#![cfg_attr(not(test), expect(dead_code, reason = "only tests weaken the log"))]
#![cfg_attr(
    test,
    expect(dead_code, reason = "each number has what one of them needs")
)]

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

/// An ordering that a test takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weak {
    /// Stores and exchanges release nothing.
    Release,
    /// Loads and exchanges acquire nothing.
    Acquire,
    /// Sequential consistency is no more than acquiring and releasing.
    Fences,
}

thread_local! {
    static WEAK: Cell<Option<Weak>> = const { Cell::new(None) };
}

/// Takes an ordering away while `body` runs.
pub(crate) fn weakened(what: Weak, body: impl FnOnce()) {
    WEAK.set(Some(what));
    body();
    WEAK.set(None);
}

/// Numbers that threads share.
pub(crate) mod atomic {
    use super::{WEAK, Weak};
    pub(crate) use loom::sync::atomic::Ordering;
    use loom::sync::atomic::fence;
    use loom::sync::{Condvar, Mutex};

    fn ordered<T>(order: Ordering, act: impl FnOnce(Ordering) -> T) -> T {
        let weak = WEAK.get();
        let order = match (order, weak) {
            (Ordering::Release, Some(Weak::Release)) => Ordering::Relaxed,
            (Ordering::Acquire, Some(Weak::Acquire)) => Ordering::Relaxed,
            (Ordering::AcqRel, Some(Weak::Release)) => Ordering::Acquire,
            (Ordering::AcqRel, Some(Weak::Acquire)) => Ordering::Release,
            (order, _) => order,
        };
        let fenced = order == Ordering::SeqCst && weak != Some(Weak::Fences);
        if fenced {
            fence(Ordering::SeqCst);
        }
        let value = act(order);
        if fenced {
            fence(Ordering::SeqCst);
        }
        value
    }

    /// Where threads sleep until a number changes.
    #[derive(Debug)]
    pub(super) struct Lot {
        pub(super) lock: Mutex<()>,
        pub(super) bell: Condvar,
    }

    macro_rules! cells {
        ($($name:ident $value:ty { $($change:ident)* })*) => { $(
            #[derive(Debug)]
            pub(crate) struct $name {
                cell: loom::sync::atomic::$name,
                pub(super) lot: Lot,
            }

            impl $name {
                pub(crate) fn new(value: $value) -> Self {
                    let lot = Lot { lock: Mutex::new(()), bell: Condvar::new() };
                    Self { cell: loom::sync::atomic::$name::new(value), lot }
                }

                pub(crate) fn load(&self, order: Ordering) -> $value {
                    ordered(order, |order| self.cell.load(order))
                }

                pub(crate) fn store(&self, value: $value, order: Ordering) {
                    ordered(order, |order| self.cell.store(value, order));
                }

                $(pub(crate) fn $change(&self, value: $value, order: Ordering) -> $value {
                    ordered(order, |order| self.cell.$change(value, order))
                })*

                pub(crate) fn compare_exchange_weak(
                    &self,
                    current: $value,
                    new: $value,
                    success: Ordering,
                    failure: Ordering,
                ) -> Result<$value, $value> {
                    ordered(success, |success| {
                        self.cell.compare_exchange(current, new, success, failure)
                    })
                }

                pub(crate) fn fetch_update(
                    &self,
                    success: Ordering,
                    failure: Ordering,
                    mut change: impl FnMut($value) -> Option<$value>,
                ) -> Result<$value, $value> {
                    let mut before = self.load(failure);
                    while let Some(next) = change(before) {
                        match self.compare_exchange_weak(before, next, success, Ordering::Relaxed) {
                            Ok(value) => return Ok(value),
                            Err(now) => before = now,
                        }
                    }
                    Err(before)
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    Self::new(<$value>::default())
                }
            }
        )* };
    }

    cells! {
        AtomicBool bool { swap }
        AtomicU32 u32 { fetch_add fetch_sub }
        AtomicU64 u64 { fetch_add fetch_or fetch_max }
        AtomicI64 i64 { fetch_add fetch_sub swap }
    }
}

/// Sleeping until a number changes.
pub(crate) mod futex {
    use super::atomic::{AtomicU32, Ordering};

    pub(crate) fn wait(cell: &AtomicU32, value: u32) {
        let Ok(lock) = cell.lot.lock.lock() else {
            return;
        };
        if cell.load(Ordering::SeqCst) == value {
            drop(cell.lot.bell.wait(lock));
        }
    }

    pub(crate) fn wake_one(cell: &AtomicU32) {
        drop(cell.lot.lock.lock());
        cell.lot.bell.notify_one();
    }

    pub(crate) fn wake_all(cell: &AtomicU32) {
        drop(cell.lot.lock.lock());
        cell.lot.bell.notify_all();
    }
}

/// A mutex that is never poisoned.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

/// Its guard; empty only while a condition variable has the lock.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(self.0.lock().ok())
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        match &self.0 {
            Some(guard) => guard,
            None => unreachable!("a guard in use has its lock"),
        }
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        match &mut self.0 {
            Some(guard) => guard,
            None => unreachable!("a guard in use has its lock"),
        }
    }
}

/// A condition variable.
#[derive(Debug)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar(loom::sync::Condvar::new())
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.0 = guard.0.take().and_then(|inner| self.0.wait(inner).ok());
    }

    pub(crate) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
        self.wait(guard);
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Tracks accesses of a buffer, and fails when a thread that takes the buffer for its own is not alone.
#[derive(Debug)]
pub(crate) struct Watch(loom::cell::UnsafeCell<()>);

impl Watch {
    pub(crate) fn new() -> Watch {
        Watch(loom::cell::UnsafeCell::new(()))
    }

    pub(crate) fn range(&self) {
        self.0.with(|_| ());
    }

    pub(crate) fn whole(&self) {
        self.0.with_mut(|_| ());
    }
}
