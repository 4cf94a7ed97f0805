//! Latches that are not of pages: locks with a class, timed only when they are found held.
//!
//! A [`ClassLatch`] is a readers-writer lock. Taking it tries the lock first; only where that fails the
//! thread waits, as LATCH_SH or LATCH_EX on its task, and the class gets the time as well.
//! The pool charges its page latches to [`LatchClass::Buffer`] by [`LatchStats::charge`], and to the kind
//! of page by [`PageLatchStats::charge`]. How long latches of allocation pages are held goes to
//! [`PageLatchStats::charge_hold`].

mod holds;
mod kinds;
mod latch;
mod page_key;
mod pages;
mod stats;

pub use holds::HoldTotals;
pub use kinds::{LatchClass, render_markdown};
pub use latch::{ClassLatch, ExclusiveGuard, SharedGuard};
pub use page_key::{PageKind, PageLatchKey};
pub use pages::{PageLatchRow, PageLatchStats, PageLatchTotals};
pub use stats::{LatchRow, LatchStats};
