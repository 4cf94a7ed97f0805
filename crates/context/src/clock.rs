//! The clocks of batches and statements, with few readings of the system's.
//!
//! 1. A batch reads the wall clock once. The wall times of its statements and of its end follow from the
//!    monotonic clock. After a second the wall clock is read again, because it may have been set.
//! 2. The processor time of a thread costs a system call, which is expensive for a statement that looks up
//!    one row. For a span shorter than [`SHORT_NS`] the elapsed time without waits is used instead.
//! 3. If the last measurement is not older than [`SHORT_NS`] when a span begins, the begin is not measured
//!    either. The thread has worked for all, a part or none of the time since that measurement: it may have
//!    waited for its client. So the time since then is counted for the span as far as its elapsed time
//!    without waits allows ([`CpuSpan::spent_ns`]).

use furrow_io::process::{helper_cpu_ns, thread_cpu_ns};
use furrow_io::time::{Moment, WallTime};
use furrow_observe::task::waited_ns;
use furrow_types::{Date, DateTime2, DateTimeOffset, Time};
use std::cell::Cell;

/// For shorter spans no system call measures the processor time.
pub(crate) const SHORT_NS: u64 = 20_000;

/// For longer spans the wall clock is read again.
const REREAD_NS: u64 = 1_000_000_000;

thread_local! {
    /// When the thread's processor time was measured last, what it was without that of helpers, and how long
    /// the thread had waited.
    static MEASURED: Cell<Option<(Moment, u64, u64)>> = const { Cell::new(None) };
}

/// The processor time of a thread and its helpers at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct CpuMark {
    pub(crate) ns: u64,
    /// The part of it that was not measured: the time since the last measurement, without waits.
    pub(crate) guessed_ns: u64,
}

impl CpuMark {
    /// At this moment, which is now; measured.
    pub(crate) fn measured(now: Moment) -> CpuMark {
        let ns = thread_cpu_ns();
        MEASURED.set(Some((now, ns - helper_cpu_ns(), waited_ns())));
        CpuMark { ns, guessed_ns: 0 }
    }

    /// The same; measured unless the last measurement is so recent that the time since then can be added.
    pub(crate) fn at(now: Moment) -> CpuMark {
        match MEASURED.get() {
            Some((at, ns, waited)) if now.since_ns(at) < SHORT_NS => {
                let guessed_ns = now.since_ns(at).saturating_sub(waited_ns() - waited);
                let ns = ns + guessed_ns + helper_cpu_ns();
                CpuMark { ns, guessed_ns }
            }
            _ => CpuMark::measured(now),
        }
    }
}

/// A span of a thread's work, from its begin.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CpuSpan {
    began: Moment,
    waited_ns: u64,
    helped_ns: u64,
}

impl CpuSpan {
    /// Begins at this moment, which is now.
    pub(crate) fn begin(began: Moment) -> CpuSpan {
        CpuSpan {
            began,
            waited_ns: waited_ns(),
            helped_ns: helper_cpu_ns(),
        }
    }

    /// The time that the thread has not waited, with the processor time of its helpers.
    pub(crate) fn busy_ns(&self, now: Moment) -> u64 {
        let waited_ns = waited_ns() - self.waited_ns;
        now.since_ns(self.began).saturating_sub(waited_ns) + self.helped_ns()
    }

    fn helped_ns(&self) -> u64 {
        helper_cpu_ns() - self.helped_ns
    }

    /// The processor time from `mark`, at the begin of the span, to `cpu_ns` now.
    pub(crate) fn spent_ns(&self, mark: CpuMark, cpu_ns: u64, now: Moment) -> u64 {
        debug_assert!(mark.guessed_ns <= mark.ns, "a part of it");
        let least_ns = cpu_ns.saturating_sub(mark.ns);
        let most_ns = cpu_ns.saturating_sub(mark.ns - mark.guessed_ns);
        let spent_ns = self.busy_ns(now).clamp(least_ns, most_ns);
        spent_ns.min(now.since_ns(self.began) + self.helped_ns())
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
    use furrow_observe::task::{Resource, wait};
    use furrow_observe::waits::WaitType;

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
        MEASURED.set(Some((now, 77, waited_ns())));
        let after_ns = |ns: u64| {
            let mark = CpuMark::at(Moment::from_ns(1_000_000 + ns));
            (mark.ns - helped_ns, mark.guessed_ns)
        };
        assert_eq!(after_ns(0), (77, 0));
        assert_eq!(after_ns(SHORT_NS - 1), (77 + SHORT_NS - 1, SHORT_NS - 1));
        let measured = after_ns(SHORT_NS);
        assert!(measured.0 > 77 + SHORT_NS, "it is measured again");
        assert_eq!(measured.1, 0);
    }

    /// The processor time of a span of 25 us that begins 15 us after a measurement of 1000.
    fn spent_ns(idle_ns: u64, waited_ns: u64) -> u64 {
        let began = Moment::from_ns(1_000_000);
        MEASURED.set(Some((began, 1_000, super::waited_ns())));
        let begins = Moment::from_ns(1_015_000);
        let mark = CpuMark::at(begins);
        let mut span = CpuSpan::begin(begins);
        span.waited_ns -= waited_ns.min(span.waited_ns);
        let cpu_ns = 1_000 + 40_000 - idle_ns - waited_ns + helper_cpu_ns();
        span.spent_ns(mark, cpu_ns, Moment::from_ns(1_040_000))
    }

    #[test]
    fn a_wait_before_a_span_does_not_reduce_its_processor_time() {
        assert_eq!(spent_ns(0, 0), 25_000, "the thread has worked all the time");
        assert_eq!(spent_ns(15_000, 0), 25_000, "it was idle before");
        assert_eq!(spent_ns(6_000, 0), 25_000, "it was idle for a while before");
        // A wait of 5 us at least, which the span has seen.
        let wait = wait(WaitType::CxPacket, Resource::None);
        furrow_io::time::sleep(std::time::Duration::from_micros(50));
        drop(wait);
        assert_eq!(spent_ns(15_000, 5_000), 20_000, "it has waited within");
        assert_eq!(spent_ns(0, 5_000), 20_000);
        // Time that it was stopped by the system lies before the span or within.
        assert_eq!(spent_ns(30_000, 0), 10_000);
    }
}
