//! The log's synchronization primitives, which the model checker can replace.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p furrow-log --lib --release modelled`

#[cfg(not(loom))]
pub(crate) use furrow_io::sync::{Condvar, Mutex, atomic, futex};

#[cfg(loom)]
mod checked;
#[cfg(loom)]
pub(crate) use checked::{Condvar, Mutex, Watch, atomic, futex};
#[cfg(all(test, loom))]
pub(crate) use checked::{Weak, weakened};

/// Reports accesses of a buffer to the model checker: by many threads that fill ranges of their own, or by
/// one that has it alone. Outside of the checker it does nothing.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Watch;

#[cfg(not(loom))]
impl Watch {
    pub(crate) fn new() -> Watch {
        Watch
    }

    /// The caller accesses a range that no other thread has.
    #[inline(always)]
    pub(crate) fn range(&self) {}

    /// The caller has the whole buffer.
    #[inline(always)]
    pub(crate) fn whole(&self) {}
}

/// A number that is only reported and decides nothing.
pub(crate) type Counter = std::sync::atomic::AtomicU64;

/// How often a thread spins before it yields the processor.
#[cfg(not(loom))]
const SPINS: u32 = 100;

/// Waits a moment until the next test of what another thread is about to finish.
pub(crate) fn pause(spins: &mut u32) {
    #[cfg(loom)]
    {
        let _ = spins;
        loom::thread::yield_now();
    }
    #[cfg(not(loom))]
    {
        *spins += 1;
        if *spins < SPINS {
            std::hint::spin_loop();
        } else {
            furrow_io::thread::yield_now();
        }
    }
}
