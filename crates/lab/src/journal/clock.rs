//! The experiment's clock: wall time for a reader, never falling within a session.

use furrow_io::time::{Moment, WallTime};
use std::fmt::Debug;
use std::sync::atomic::{AtomicI64, Ordering};

/// Returns the time in microseconds since 1970, UTC.
pub trait Clock: Send + Sync + Debug {
    /// Now; never earlier than before within one session.
    fn now_us(&self) -> i64;
}

/// The wall clock at its making, carried on by the monotonic clock: a correction of the system's time
/// during a session is not seen.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    wall: WallTime,
    from: Moment,
}

impl SystemClock {
    /// A clock that begins now.
    pub fn new() -> SystemClock {
        SystemClock {
            wall: WallTime::now(),
            from: Moment::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> SystemClock {
        SystemClock::new()
    }
}

impl Clock for SystemClock {
    fn now_us(&self) -> i64 {
        let elapsed = i64::try_from(self.from.elapsed_us()).unwrap_or(i64::MAX);
        self.wall.unix_us().saturating_add(elapsed)
    }
}

/// A clock that is moved by hand, for tests and for models of time.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that shows `us`.
    pub fn at(us: i64) -> ManualClock {
        ManualClock(AtomicI64::new(us))
    }

    /// Moves it on.
    pub fn advance(&self, seconds: f64) {
        self.0.fetch_add((seconds * 1e6) as i64, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_us(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
