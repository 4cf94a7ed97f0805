//! The clock: a monotonic one for durations, a wall clock for texts, and sleep.
//!
//! Wall time is UTC throughout; nothing here reads time zones, so that two logs of one incident agree.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub use std::time::Duration;

/// A point on the monotonic clock, in nanoseconds since the first use of the clock in this process.
///
/// Eight bytes that fit an atomic; only differences mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Moment(u64);

fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(Instant::now)
}

impl Moment {
    /// Now.
    pub fn now() -> Moment {
        #[cfg(feature = "weave")]
        if let Some(strand) = crate::schedule::strand::current() {
            return Moment(strand.clock_ns());
        }
        Moment(saturate(Instant::now().saturating_duration_since(base())))
    }

    /// The moment that [`Moment::as_ns`] gave.
    pub const fn from_ns(ns: u64) -> Moment {
        Moment(ns)
    }

    /// Nanoseconds since the process's base.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to `self`; 0 when `earlier` is later.
    pub const fn since_ns(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Microseconds from `earlier` to `self`; 0 when `earlier` is later.
    pub const fn since_us(self, earlier: Moment) -> u64 {
        self.since_ns(earlier) / 1_000
    }

    /// The duration from `earlier` to `self`; zero when `earlier` is later.
    pub const fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.since_ns(earlier))
    }

    /// Nanoseconds from `self` to now.
    pub fn elapsed_ns(self) -> u64 {
        Moment::now().since_ns(self)
    }

    /// Microseconds from `self` to now.
    pub fn elapsed_us(self) -> u64 {
        Moment::now().since_us(self)
    }

    /// The duration from `self` to now.
    pub fn elapsed(self) -> Duration {
        Moment::now().since(self)
    }

    /// The moment `by` after this one.
    pub fn after(self, by: Duration) -> Moment {
        Moment(self.0.saturating_add(saturate(by)))
    }
}

fn saturate(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Suspends the calling thread for at least `span`.
pub fn sleep(span: Duration) {
    #[cfg(feature = "weave")]
    if let Some(strand) = crate::schedule::strand::current() {
        strand.wait(crate::schedule::strand::Waits::until(&strand, span, 0));
        return;
    }
    std::thread::sleep(span);
}

/// A point on the wall clock, UTC, in microseconds since 1970-01-01.
///
/// `Display` writes the error log's form, `2016-10-04 11:38:33.83`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct WallTime(i64);

/// A [`WallTime`] taken apart in the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Civil {
    pub year: i64,
    pub month: u32,
    pub day: u32,
    pub hour: u32,
    pub minute: u32,
    pub second: u32,
    pub microsecond: u32,
}

const US_PER_SECOND: i64 = 1_000_000;
const US_PER_DAY: i64 = 86_400 * US_PER_SECOND;
/// Days in 400 Gregorian years, after which the calendar repeats.
const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_EPOCH: i64 = 719_468;

impl WallTime {
    /// Now.
    pub fn now() -> WallTime {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(span) => WallTime(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)),
            Err(before) => {
                WallTime(-i64::try_from(before.duration().as_micros()).unwrap_or(i64::MAX))
            }
        }
    }

    /// From microseconds since 1970-01-01 00:00 UTC.
    pub const fn from_unix_us(us: i64) -> WallTime {
        WallTime(us)
    }

    /// Microseconds since 1970-01-01 00:00 UTC.
    pub const fn unix_us(self) -> i64 {
        self.0
    }

    /// The calendar's view.
    pub fn civil(self) -> Civil {
        let days = self.0.div_euclid(US_PER_DAY);
        let of_day_us = self.0.rem_euclid(US_PER_DAY);
        // Years are counted from March, so that the leap day is the last day of one.
        let shifted = days + DAYS_TO_EPOCH;
        let era = shifted.div_euclid(DAYS_PER_ERA);
        let day_of_era = shifted.rem_euclid(DAYS_PER_ERA);
        let leap_skips = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / 146_096;
        let year_of_era = (day_of_era - leap_skips) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 {
            march_month + 3
        } else {
            march_month - 9
        };
        let year = era * 400 + year_of_era + i64::from(month <= 2);
        let second_of_day = of_day_us / US_PER_SECOND;
        let small = |value: i64| u32::try_from(value).unwrap_or(0);
        Civil {
            year,
            month: small(month),
            day: small(day),
            hour: small(second_of_day / 3_600),
            minute: small(second_of_day / 60 % 60),
            second: small(second_of_day % 60),
            microsecond: small(of_day_us % US_PER_SECOND),
        }
    }

    /// The wall time of a calendar reading; fields out of their range carry over.
    pub fn from_civil(at: Civil) -> WallTime {
        let (month, day) = (i64::from(at.month), i64::from(at.day));
        let year = if month <= 2 { at.year - 1 } else { at.year };
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let march_month = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * march_month + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH;
        let seconds = i64::from(at.hour) * 3_600 + i64::from(at.minute) * 60 + i64::from(at.second);
        WallTime(days * US_PER_DAY + seconds * US_PER_SECOND + i64::from(at.microsecond))
    }

    /// `2016-10-04T11:38:33.830000Z`.
    pub fn iso(self) -> String {
        let c = self.civil();
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
            c.year, c.month, c.day, c.hour, c.minute, c.second, c.microsecond
        )
    }

    /// `20161004_113833`, for the names of files.
    pub fn file_stamp(self) -> String {
        let c = self.civil();
        format!(
            "{:04}{:02}{:02}_{:02}{:02}{:02}",
            c.year, c.month, c.day, c.hour, c.minute, c.second
        )
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.civil();
        write!(
            f,
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:02}",
            c.year,
            c.month,
            c.day,
            c.hour,
            c.minute,
            c.second,
            c.microsecond / 10_000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_grow_and_differences_saturate() {
        let first = Moment::now();
        sleep(Duration::from_millis(2));
        let second = Moment::now();
        assert!(second.since_us(first) >= 2_000);
        assert_eq!(first.since_ns(second), 0);
        assert_eq!(first.after(Duration::from_nanos(5)).since_ns(first), 5);
    }

    #[test]
    fn wall_time_is_written_as_the_error_log_has_it() {
        let at = WallTime::from_unix_us(1_475_581_113_830_000);
        assert_eq!(at.to_string(), "2016-10-04 11:38:33.83");
        assert_eq!(at.iso(), "2016-10-04T11:38:33.830000Z");
        assert_eq!(at.file_stamp(), "20161004_113833");
        assert_eq!(
            WallTime::from_unix_us(-1).to_string(),
            "1969-12-31 23:59:59.99"
        );
    }

    #[test]
    fn leap_days_and_centuries_are_right() {
        for (us, text) in [
            (951_782_400_000_000, "2000-02-29 00:00:00.00"),
            (4_107_542_400_000_000, "2100-03-01 00:00:00.00"),
            (-2_208_988_800_000_000, "1900-01-01 00:00:00.00"),
        ] {
            assert_eq!(WallTime::from_unix_us(us).to_string(), text);
        }
    }

    #[test]
    fn every_day_of_eight_centuries_survives_the_round_trip() {
        for day in -150_000..150_000_i64 {
            let at = WallTime::from_unix_us(day * US_PER_DAY + 12_345_678);
            assert_eq!(WallTime::from_civil(at.civil()), at);
        }
    }
}
