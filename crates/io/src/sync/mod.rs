//! Locks, atomics and places to sleep: the engine's threads synchronize only through these.
//!
//! In any build for users these are the locks of `parking_lot`, the atomics of the standard library and the
//! system's futex, by other names and at no cost. With the feature `weave`, which only tests turn on, each of
//! them is a place where the schedule of [`crate::weave`] may let another thread run.

#[cfg(not(feature = "weave"))]
mod plain {
    pub use parking_lot::{
        Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
    };
    pub use parking_lot_core::SpinWait;

    /// Numbers that threads share.
    pub mod atomic {
        pub use std::sync::atomic::{
            AtomicBool, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
            AtomicUsize, Ordering, fence,
        };
    }

    /// Sleeping until a number changes.
    pub mod futex {
        pub use atomic_wait::{wait, wake_all, wake_one};
    }
}

#[cfg(feature = "weave")]
pub mod atomic;
#[cfg(feature = "weave")]
mod locks;
mod parking;
#[cfg(feature = "weave")]
mod sleeps;

#[cfg(not(feature = "weave"))]
pub use plain::*;

#[cfg(feature = "weave")]
pub use locks::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(feature = "weave")]
pub use sleeps::{Condvar, SpinWait, WaitTimeoutResult, futex};

pub use parking::{Pick, Woken, park, unpark};
