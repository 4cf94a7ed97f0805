//! Spinlocks: for sections of a few dozen instructions, with statistics of their collisions.
//!
//! # The algorithm
//! 1. Try the lock. If it is free nothing is counted: that is the whole cost.
//! 2. Found held: one *collision*. Spin, looking at the lock again after 1, 2, 4 ... 256 pauses; every
//!    pause is a *spin*.
//! 3. Still held: a *back-off*, that is, let another thread run. From the fifth back-off on sleep instead,
//!    20 us at first, doubled up to 1 ms; then spin again.
//! 4. Once got, the figures of this collision are added to the class in one go.
//!
//! A thread that waits for a holder without a processor is thus asleep, and does not use the processor that
//! the holder needs.

mod kinds;
mod lock;
mod stats;

pub use kinds::{SpinClass, render_markdown};
pub use lock::{SpinGuard, Spinlock};
pub use stats::{SpinRow, SpinStats};
