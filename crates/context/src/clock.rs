//! The clocks of batches and statements, with few readings of the system's.
//!
//! 1. A batch reads the wall clock once. The wall times of its statements and of its end follow from the
//!    monotonic clock. After a second the wall clock is read again, because it may have been set.
//! 2. The processor time of a thread costs a system call, which is expensive for a statement that looks up
//!    one row. For a span shorter than [`SHORT_NS`] the elapsed time is used instead.

use furrow_io::process::{helper_cpu_ns, thread_cpu_ns};
use furrow_io::time::{Moment, WallTime};
use furrow_types::{Date, DateTime2, DateTimeOffset, Time};
use std::cell::Cell;

/// For shorter spans no system call measures the processor time.
pub(crate) const SHORT_NS: u64 = 20_000;

/// For longer spans the wall clock is read again.
const REREAD_NS: u64 = 1_000_000_000;

thread_local! {
    /// When the thread's processor time was measured last, and what it was without that of helpers.
    static MEASURED: Cell<Option<(Moment, u64)>> = const { Cell::new(None) };
}

/// Processor time of the calling thread and its helpers, measured.
pub(crate) fn measured_cpu_ns(now: Moment) -> u64 {
    let cpu_ns = thread_cpu_ns();
    MEASURED.set(Some((now, cpu_ns - helper_cpu_ns())));
    cpu_ns
}

/// The same; measured unless the last measurement is so recent that the time since then can be added.
pub(crate) fn cpu_ns(now: Moment) -> u64 {
    match MEASURED.get() {
        Some((at, cpu_ns)) if now.since_ns(at) < SHORT_NS => {
            cpu_ns + now.since_ns(at) + helper_cpu_ns()
        }
        _ => measured_cpu_ns(now),
    }
}

/// Both clocks at the same time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) at: Moment,
    pub(crate) wall: WallTime,
}

impl Reading {
    pub(crate) fn now() -> Reading {
        // In this order: of a thread that is stopped in between the time is late, and never goes back.
        let wall = WallTime::now();
        let at = Moment::now();
        Reading { at, wall }
    }

    /// The wall time at a moment after this reading, which is now.
    pub(crate) fn wall_at(&self, now: Moment) -> WallTime {
        match now.since_ns(self.at) {
            0..REREAD_NS => {
                WallTime::from_unix_us(self.wall.unix_us() + now.since_us(self.at) as i64)
            }
            _ => WallTime::now(),
        }
    }
}

/// When the running statement began.
#[derive(Debug, Clone, Copy)]
pub struct StatementTime {
    reading: Reading,
    /// The value of the functions that return the current time, once one has been called.
    shown: Option<DateTimeOffset>,
}

impl StatementTime {
    pub(crate) fn of(reading: Reading) -> StatementTime {
        StatementTime {
            reading,
            shown: None,
        }
    }

    /// A statement begins in a batch that began at this reading.
    pub(crate) fn begin(&mut self, batch: Reading) {
        let at = Moment::now();
        let wall = batch.wall_at(at);
        *self = StatementTime::of(Reading { at, wall });
    }

    /// On the monotonic clock.
    pub(crate) fn at(&self) -> Moment {
        self.reading.at
    }

    /// On the wall clock.
    pub(crate) fn wall(&self) -> WallTime {
        self.reading.wall
    }

    /// As a value of T-SQL.
    pub(crate) fn shown(&mut self) -> DateTimeOffset {
        let wall = self.reading.wall;
        *self.shown.get_or_insert_with(|| as_value(wall))
    }
}

fn as_value(wall: WallTime) -> DateTimeOffset {
    let at = wall.civil();
    let seconds = u64::from(at.hour * 3600 + at.minute * 60 + at.second);
    let ticks = seconds * 10_000_000 + u64::from(at.microsecond) * 10;
    let date = Date::from_ymd(at.year.clamp(1, 9999) as u32, at.month, at.day);
    DateTimeOffset {
        utc: DateTime2 {
            date: date.unwrap_or(Date::MAX),
            time: Time::new(ticks, 7).unwrap_or(Time::MIDNIGHT),
        },
        offset_minutes: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_time_follows_the_monotonic_clock_for_a_second_and_is_then_read_again() {
        let at = Moment::from_ns(5_000);
        let wall = WallTime::from_unix_us(1_000_000);
        let reading = Reading { at, wall };
        let after_ns = |ns: u64| reading.wall_at(Moment::from_ns(5_000 + ns));
        assert_eq!(after_ns(0), wall);
        assert_eq!(after_ns(2_500_000).unix_us(), 1_002_500);
        assert_eq!(after_ns(REREAD_NS - 1_000).unix_us(), 1_999_999);
        assert!(after_ns(REREAD_NS) > WallTime::from_unix_us(1_600_000_000_000_000));
    }

    #[test]
    fn processor_time_that_was_measured_just_now_is_not_measured_again() {
        let (now, helped_ns) = (Moment::from_ns(1_000_000), helper_cpu_ns());
        MEASURED.set(Some((now, 77)));
        let after_ns = |ns: u64| cpu_ns(Moment::from_ns(1_000_000 + ns)) - helped_ns;
        assert_eq!(
            (after_ns(0), after_ns(SHORT_NS - 1)),
            (77, 77 + SHORT_NS - 1)
        );
        assert!(after_ns(SHORT_NS) > 77 + SHORT_NS, "it is measured again");
    }
}
