//! Dates and times: days since 0001-01-01, ticks of 100 ns, and the older forms from 1900.

use std::fmt;

/// Ticks of 100 ns in a day.
pub const TICKS_PER_DAY: u64 = 864_000_000_000;
/// Ticks of 1/300 s in a day.
pub const DATETIME_TICKS_PER_DAY: u32 = 25_920_000;
/// Days from 0001-01-01 to 1900-01-01.
pub(crate) const DAYS_TO_1900: i32 = 693_595;

/// A calendar day, as days since 0001-01-01; at most 9999-12-31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(u32);

impl Date {
    /// 9999-12-31.
    pub const MAX: Date = Date(3_652_058);

    /// From days since 0001-01-01.
    pub const fn from_days(days: u32) -> Option<Date> {
        if days > Self::MAX.0 {
            None
        } else {
            Some(Date(days))
        }
    }

    /// Days since 0001-01-01.
    pub const fn days(self) -> u32 {
        self.0
    }

    /// Days since 1900-01-01.
    pub const fn days_since_1900(self) -> i32 {
        self.0 as i32 - DAYS_TO_1900
    }

    /// From days since 1900-01-01.
    pub const fn from_days_since_1900(days: i32) -> Option<Date> {
        let days = days as i64 + DAYS_TO_1900 as i64;
        if days < 0 || days > Self::MAX.0 as i64 {
            None
        } else {
            Some(Date(days as u32))
        }
    }

    /// From year (1 to 9999), month and day.
    pub const fn from_ymd(year: u32, month: u32, day: u32) -> Option<Date> {
        if year == 0 || year > 9999 || month == 0 || month > 12 || day == 0 {
            return None;
        }
        if day > days_in_month(year, month) {
            return None;
        }
        // Years run from March, so that the leap day is the last of its year.
        let shifted = if month < 3 { year - 1 } else { year };
        let from_march = (month + 9) % 12;
        let in_year = (153 * from_march + 2) / 5 + day - 1;
        let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + in_year;
        // Counted from 0000-03-01, which lies 306 days before 0001-01-01.
        Some(Date(days - 306))
    }

    /// Year, month and day.
    pub const fn to_ymd(self) -> (u32, u32, u32) {
        let days = self.0 + 306;
        let era = days / 146_097;
        let in_era = days % 146_097;
        let year_of_era = (in_era - in_era / 1460 + in_era / 36_524 - in_era / 146_096) / 365;
        let in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * in_year + 2) / 153;
        let day = in_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        let year = era * 400 + year_of_era + (month < 3) as u32;
        (year, month, day)
    }
}

const fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A time of day in ticks of 100 ns, shown with `scale` digits of fractional seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    ticks: u64,
    scale: u8,
}

impl Time {
    /// Midnight, scale 0.
    pub const MIDNIGHT: Time = Time { ticks: 0, scale: 0 };

    /// From ticks of 100 ns since midnight; `None` past the end of the day, or when `scale` is over 7.
    pub const fn new(ticks: u64, scale: u8) -> Option<Time> {
        if ticks >= TICKS_PER_DAY || scale > 7 {
            None
        } else {
            Some(Time { ticks, scale })
        }
    }

    /// From hour, minute, second and ticks of 100 ns.
    pub const fn from_hms(
        hour: u32,
        minute: u32,
        second: u32,
        ticks: u32,
        scale: u8,
    ) -> Option<Time> {
        if hour > 23 || minute > 59 || second > 59 || ticks > 9_999_999 {
            return None;
        }
        let seconds = (hour * 3600 + minute * 60 + second) as u64;
        Time::new(seconds * 10_000_000 + ticks as u64, scale)
    }

    /// Ticks of 100 ns since midnight.
    pub const fn ticks(self) -> u64 {
        self.ticks
    }

    /// Digits of fractional seconds.
    pub const fn scale(self) -> u8 {
        self.scale
    }

    /// The time at another scale, rounded half up, and whether that reached the next midnight.
    pub const fn rescale(self, scale: u8) -> (Time, bool) {
        let scale = if scale > 7 { 7 } else { scale };
        let unit = ticks_per_unit(scale);
        let ticks = (self.ticks + unit / 2) / unit * unit;
        if ticks >= TICKS_PER_DAY {
            (
                Time {
                    ticks: ticks - TICKS_PER_DAY,
                    scale,
                },
                true,
            )
        } else {
            (Time { ticks, scale }, false)
        }
    }
}

/// Ticks of 100 ns in one unit of this scale.
pub(super) const fn ticks_per_unit(scale: u8) -> u64 {
    let mut unit = 10_000_000;
    let mut digits = 0;
    while digits < scale && digits < 7 {
        unit /= 10;
        digits += 1;
    }
    unit
}

/// `datetime2`: a date and a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime2 {
    /// The day.
    pub date: Date,
    /// The time of day.
    pub time: Time,
}

impl DateTime2 {
    /// At another scale, rounded; `None` past 9999-12-31.
    pub fn rescale(self, scale: u8) -> Option<DateTime2> {
        let (time, carried) = self.time.rescale(scale);
        let date = Date::from_days(self.date.days() + u32::from(carried))?;
        Some(DateTime2 { date, time })
    }

    /// Moved by minutes; `None` outside the calendar.
    pub fn add_minutes(self, minutes: i32) -> Option<DateTime2> {
        let ticks = i128::from(self.date.days()) * i128::from(TICKS_PER_DAY)
            + i128::from(self.time.ticks)
            + i128::from(minutes) * 600_000_000;
        let days = u32::try_from(ticks.div_euclid(i128::from(TICKS_PER_DAY))).ok()?;
        let rest = u64::try_from(ticks.rem_euclid(i128::from(TICKS_PER_DAY))).ok()?;
        Some(DateTime2 {
            date: Date::from_days(days)?,
            time: Time::new(rest, self.time.scale)?,
        })
    }
}

/// `datetimeoffset`: a moment in UTC and the offset to show it at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTimeOffset {
    /// The moment in UTC.
    pub utc: DateTime2,
    /// Minutes east of UTC, -840 to 840.
    pub offset_minutes: i16,
}

/// `datetime`: days since 1900-01-01 (from 1753) and ticks of 1/300 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime {
    days: i32,
    ticks: u32,
}

impl DateTime {
    /// 1900-01-01.
    pub const EPOCH: DateTime = DateTime { days: 0, ticks: 0 };
    /// 1753-01-01, the first day the type has.
    pub(crate) const MIN_DAYS: i32 = -53_690;

    /// From its two parts; `None` outside 1753-01-01 to 9999-12-31 or past the end of the day.
    pub const fn new(days: i32, ticks: u32) -> Option<DateTime> {
        if days < Self::MIN_DAYS
            || Date::from_days_since_1900(days).is_none()
            || ticks >= DATETIME_TICKS_PER_DAY
        {
            return None;
        }
        Some(DateTime { days, ticks })
    }

    /// From a date and time, rounded to 1/300 s.
    pub fn from_datetime2(value: DateTime2) -> Option<DateTime> {
        let ticks = ((value.time.ticks * 3 + 50_000) / 100_000) as u32;
        let carried = ticks / DATETIME_TICKS_PER_DAY;
        DateTime::new(
            value.date.days_since_1900() + carried as i32,
            ticks - carried * DATETIME_TICKS_PER_DAY,
        )
    }

    /// As a date and time of three digits: .000, .003 or .007.
    pub fn to_datetime2(self) -> DateTime2 {
        let milliseconds = (u64::from(self.ticks) * 10 + 1) / 3;
        DateTime2 {
            date: Date::from_days_since_1900(self.days).unwrap_or(Date::MAX),
            time: Time {
                ticks: milliseconds * 10_000,
                scale: 3,
            },
        }
    }

    /// As a date and time of seven digits: .0000000, .0033333 or .0066667. A conversion to a type with such
    /// digits has them at the compatibility level 130 and above.
    pub(crate) fn to_precise(self) -> DateTime2 {
        DateTime2 {
            date: Date::from_days_since_1900(self.days).unwrap_or(Date::MAX),
            time: Time {
                ticks: (u64::from(self.ticks) * 100_000 + 1) / 3,
                scale: 7,
            },
        }
    }

    /// Days since 1900-01-01.
    pub const fn days(self) -> i32 {
        self.days
    }

    /// Ticks of 1/300 s since midnight.
    pub const fn ticks(self) -> u32 {
        self.ticks
    }
}

/// `smalldatetime`: days since 1900-01-01 and minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SmallDateTime {
    days: u16,
    minutes: u16,
}

impl SmallDateTime {
    /// From its two parts; `None` past the end of the day.
    pub const fn new(days: u16, minutes: u16) -> Option<SmallDateTime> {
        if minutes >= 1440 {
            None
        } else {
            Some(SmallDateTime { days, minutes })
        }
    }

    /// From a date and time, rounded: 29.998 s and less go down.
    pub fn from_datetime2(value: DateTime2) -> Option<SmallDateTime> {
        let minutes = (value.time.ticks + 300_010_000) / 600_000_000;
        let days = value.date.days_since_1900() + i32::from(minutes >= 1440);
        SmallDateTime::new(u16::try_from(days).ok()?, (minutes % 1440) as u16)
    }

    /// As a date and time without fraction.
    pub fn to_datetime2(self) -> DateTime2 {
        DateTime2 {
            date: Date::from_days_since_1900(i32::from(self.days)).unwrap_or(Date::MAX),
            time: Time {
                ticks: u64::from(self.minutes) * 600_000_000,
                scale: 0,
            },
        }
    }

    /// Days since 1900-01-01.
    pub const fn days(self) -> u16 {
        self.days
    }

    /// Minutes since midnight.
    pub const fn minutes(self) -> u16 {
        self.minutes
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.to_ymd();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.ticks / 10_000_000;
        write!(
            f,
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )?;
        if self.scale == 0 {
            return Ok(());
        }
        let fraction = self.ticks % 10_000_000 / ticks_per_unit(self.scale);
        write!(f, ".{fraction:0width$}", width = usize::from(self.scale))
    }
}

impl fmt::Display for DateTime2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.date, self.time)
    }
}

impl fmt::Display for DateTimeOffset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let offset = i32::from(self.offset_minutes);
        let local = self.utc.add_minutes(offset).unwrap_or(self.utc);
        let sign = if offset < 0 { '-' } else { '+' };
        write!(
            f,
            "{local} {sign}{:02}:{:02}",
            offset.abs() / 60,
            offset.abs() % 60
        )
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_datetime2().fmt(f)
    }
}

impl fmt::Display for SmallDateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_datetime2().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree_over_the_whole_calendar() {
        assert_eq!(Date::from_ymd(1, 1, 1).unwrap().days(), 0);
        assert_eq!(Date::from_ymd(1900, 1, 1).unwrap().days_since_1900(), 0);
        assert_eq!(Date::from_ymd(9999, 12, 31), Some(Date::MAX));
        assert_eq!(
            Date::from_ymd(1753, 1, 1).unwrap().days_since_1900(),
            DateTime::MIN_DAYS
        );
        let mut previous = (0, 12, 31);
        for days in 0..=Date::MAX.days() {
            let date = Date::from_days(days).unwrap();
            let (year, month, day) = date.to_ymd();
            assert_eq!(Date::from_ymd(year, month, day), Some(date));
            assert!((year, month, day) > previous);
            previous = (year, month, day);
        }
        assert_eq!(Date::from_ymd(2023, 2, 29), None);
        assert_eq!(Date::from_ymd(1900, 2, 29), None);
        assert!(Date::from_ymd(2000, 2, 29).is_some());
    }

    #[test]
    fn datetime_rounds_to_three_hundredths_and_shows_0_3_7() {
        let date = Date::from_ymd(1998, 5, 6).unwrap();
        for (milliseconds, shown) in [
            (0, "000"),
            (1, "000"),
            (2, "003"),
            (4, "003"),
            (5, "007"),
            (8, "007"),
            (9, "010"),
        ] {
            let time = Time::from_hms(12, 0, 0, milliseconds * 10_000, 7).unwrap();
            let datetime = DateTime::from_datetime2(DateTime2 { date, time }).unwrap();
            assert_eq!(datetime.to_string(), format!("1998-05-06 12:00:00.{shown}"));
        }
        let late = Time::from_hms(23, 59, 59, 9_990_000, 3).unwrap();
        let next = DateTime::from_datetime2(DateTime2 { date, time: late }).unwrap();
        assert_eq!(next.to_string(), "1998-05-07 00:00:00.000");
    }

    #[test]
    fn datetime_as_a_type_of_seven_digits_keeps_its_fraction() {
        for (ticks, shown) in [
            (0, "0000000"),
            (1, "0033333"),
            (2, "0066667"),
            (299, "9966667"),
        ] {
            let datetime = DateTime::new(0, ticks).unwrap();
            let precise = datetime.to_precise();
            assert_eq!(precise.time.to_string(), format!("00:00:00.{shown}"));
            assert_eq!(DateTime::from_datetime2(precise), Some(datetime));
        }
    }

    #[test]
    fn rounding_a_time_up_carries_into_the_next_day_but_not_past_the_calendar() {
        let late = Time::from_hms(23, 59, 59, 9_999_999, 7).unwrap();
        let date = Date::from_ymd(1999, 12, 31).unwrap();
        let next = DateTime2 { date, time: late }.rescale(3).unwrap();
        assert_eq!(next.to_string(), "2000-01-01 00:00:00.000");
        assert_eq!(
            DateTime2 {
                date: Date::MAX,
                time: late
            }
            .rescale(0),
            None
        );
    }

    #[test]
    fn an_offset_shows_local_time_and_keeps_utc() {
        let utc = DateTime2 {
            date: Date::from_ymd(2024, 1, 1).unwrap(),
            time: Time::from_hms(0, 30, 0, 0, 0).unwrap(),
        };
        let shown = DateTimeOffset {
            utc,
            offset_minutes: -330,
        }
        .to_string();
        assert_eq!(shown, "2023-12-31 19:00:00 -05:30");
    }

    #[test]
    fn smalldatetime_rounds_at_thirty_seconds_less_a_tick() {
        let at = |second, ms: u32| {
            let date = Date::from_ymd(2020, 6, 30).unwrap();
            let time = Time::from_hms(23, 59, second, ms * 10_000, 3).unwrap();
            SmallDateTime::from_datetime2(DateTime2 { date, time })
                .unwrap()
                .to_string()
        };
        assert_eq!(at(29, 998), "2020-06-30 23:59:00");
        assert_eq!(at(29, 999), "2020-07-01 00:00:00");
    }
}
