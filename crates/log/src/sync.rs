//! What the log's threads meet through, so that the model checker can stand in for it.
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

/// Tells the model checker who touches a buffer: many who fill ranges of their own, or one who has it alone.
/// To anybody else it is nothing.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Watch;

#[cfg(not(loom))]
impl Watch {
    pub(crate) fn new() -> Watch {
        Watch
    }

    /// The caller touches a range that nobody else has.
    #[inline(always)]
    pub(crate) fn range(&self) {}

    /// The caller has the whole buffer.
    #[inline(always)]
    pub(crate) fn whole(&self) {}
}

/// A number that is only ever told, and decides nothing.
pub(crate) type Counter = std::sync::atomic::AtomicU64;

/// Looks that are worth it before the processor is given away.
#[cfg(not(loom))]
const SPINS: u32 = 100;

/// Passes the time until the next look at what another thread is about to finish.
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
