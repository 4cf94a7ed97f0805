//! Parts of dates: their names and abbreviations, adding them, counting their boundaries.
//!
//! All is computed in ticks of 100 ns since 0001-01-01, months and years in the calendar.

use furrow_types::{Date, DateTime2, MONTHS, TICKS_PER_DAY, Time};

/// A part of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatePart {
    /// `year`, `yy`, `yyyy`.
    Year,
    /// `quarter`, `qq`, `q`.
    Quarter,
    /// `month`, `mm`, `m`.
    Month,
    /// `dayofyear`, `dy`, `y`.
    DayOfYear,
    /// `day`, `dd`, `d`.
    Day,
    /// `week`, `wk`, `ww`.
    Week,
    /// `iso_week`, `isowk`, `isoww`.
    IsoWeek,
    /// `weekday`, `dw`, `w`.
    Weekday,
    /// `hour`, `hh`.
    Hour,
    /// `minute`, `mi`, `n`.
    Minute,
    /// `second`, `ss`, `s`.
    Second,
    /// `millisecond`, `ms`.
    Millisecond,
    /// `microsecond`, `mcs`.
    Microsecond,
    /// `nanosecond`, `ns`.
    Nanosecond,
    /// `tzoffset`, `tz`.
    Offset,
}

const NAMES: &[(&str, DatePart)] = &[
    ("year", DatePart::Year),
    ("yyyy", DatePart::Year),
    ("yy", DatePart::Year),
    ("quarter", DatePart::Quarter),
    ("qq", DatePart::Quarter),
    ("q", DatePart::Quarter),
    ("month", DatePart::Month),
    ("mm", DatePart::Month),
    ("m", DatePart::Month),
    ("dayofyear", DatePart::DayOfYear),
    ("dy", DatePart::DayOfYear),
    ("y", DatePart::DayOfYear),
    ("day", DatePart::Day),
    ("dd", DatePart::Day),
    ("d", DatePart::Day),
    ("week", DatePart::Week),
    ("wk", DatePart::Week),
    ("ww", DatePart::Week),
    ("iso_week", DatePart::IsoWeek),
    ("isowk", DatePart::IsoWeek),
    ("isoww", DatePart::IsoWeek),
    ("weekday", DatePart::Weekday),
    ("dw", DatePart::Weekday),
    ("w", DatePart::Weekday),
    ("hour", DatePart::Hour),
    ("hh", DatePart::Hour),
    ("minute", DatePart::Minute),
    ("mi", DatePart::Minute),
    ("n", DatePart::Minute),
    ("second", DatePart::Second),
    ("ss", DatePart::Second),
    ("s", DatePart::Second),
    ("millisecond", DatePart::Millisecond),
    ("ms", DatePart::Millisecond),
    ("microsecond", DatePart::Microsecond),
    ("mcs", DatePart::Microsecond),
    ("nanosecond", DatePart::Nanosecond),
    ("ns", DatePart::Nanosecond),
    ("tzoffset", DatePart::Offset),
    ("tz", DatePart::Offset),
];

/// English names of the days, from Monday.
const DAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

impl DatePart {
    /// By its name or abbreviation, in any case.
    pub fn from_name(name: &str) -> Option<DatePart> {
        let row = NAMES.iter().find(|row| row.0.eq_ignore_ascii_case(name))?;
        Some(row.1)
    }

    /// Whether it is a part of the time of day.
    pub(crate) const fn is_of_time(self) -> bool {
        matches!(
            self,
            DatePart::Hour
                | DatePart::Minute
                | DatePart::Second
                | DatePart::Millisecond
                | DatePart::Microsecond
                | DatePart::Nanosecond
        )
    }

    /// Nanoseconds of a part of fixed length.
    const fn nanoseconds(self) -> i128 {
        match self {
            DatePart::Week => 604_800_000_000_000,
            DatePart::Hour => 3_600_000_000_000,
            DatePart::Minute => 60_000_000_000,
            DatePart::Second => 1_000_000_000,
            DatePart::Millisecond => 1_000_000,
            DatePart::Microsecond => 1_000,
            DatePart::Nanosecond => 1,
            _ => 86_400_000_000_000,
        }
    }
}

/// Day of the week from 0 = Monday.
fn weekday_of(date: Date) -> u32 {
    // 0001-01-01 was a Monday.
    date.days() % 7
}

/// English name of the weekday.
pub(super) fn weekday_name(date: Date) -> &'static str {
    DAYS.get(weekday_of(date) as usize)
        .copied()
        .unwrap_or_default()
}

/// English name of the month.
pub(super) fn month_name(date: Date) -> &'static str {
    let (_, month, _) = date.to_ymd();
    MONTHS.get(month as usize - 1).copied().unwrap_or_default()
}

pub(super) fn ticks(at: DateTime2) -> i128 {
    i128::from(at.date.days()) * i128::from(TICKS_PER_DAY) + i128::from(at.time.ticks())
}

pub(super) fn from_ticks(ticks: i128) -> Option<DateTime2> {
    let day = i128::from(TICKS_PER_DAY);
    let date = Date::from_days(u32::try_from(ticks.div_euclid(day)).ok()?)?;
    let time = Time::new(u64::try_from(ticks.rem_euclid(day)).ok()?, 7)?;
    Some(DateTime2 { date, time })
}

/// The moment so many parts later; `None` out of the calendar. The day of a shorter month is its last.
pub(super) fn add(part: DatePart, count: i64, at: DateTime2) -> Option<DateTime2> {
    let months = match part {
        DatePart::Year => count.checked_mul(12)?,
        DatePart::Quarter => count.checked_mul(3)?,
        DatePart::Month => count,
        _ => {
            // A nanosecond is less than a tick: rounded to the nearest one.
            let moved = i128::from(count).checked_mul(part.nanoseconds())?;
            let rounded = (moved + if moved < 0 { -50 } else { 50 }) / 100;
            return from_ticks(ticks(at) + rounded);
        }
    };
    let date = add_months(at.date, months)?;
    Some(DateTime2 {
        date,
        time: at.time,
    })
}

/// A date so many months later.
pub(super) fn add_months(date: Date, months: i64) -> Option<Date> {
    let (year, month, day) = date.to_ymd();
    let total = (i64::from(year) * 12 + i64::from(month) - 1).checked_add(months)?;
    let (year, month) = (
        u32::try_from(total.div_euclid(12)).ok()?,
        total.rem_euclid(12) as u32 + 1,
    );
    (0..4).find_map(|less| Date::from_ymd(year, month, day.checked_sub(less)?))
}

/// The last day of a date's month.
pub(super) fn end_of_month(date: Date) -> Option<Date> {
    let (year, month, _) = date.to_ymd();
    (28..=31)
        .rev()
        .find_map(|day| Date::from_ymd(year, month, day))
}

/// How many boundaries of a part lie between two moments: 31 December to 1 January is one year.
pub(super) fn difference(part: DatePart, from: DateTime2, to: DateTime2) -> i128 {
    let months = |at: DateTime2| {
        let (year, month, _) = at.date.to_ymd();
        i64::from(year) * 12 + i64::from(month) - 1
    };
    let calendar = |unit: i64| {
        i128::from(months(to).div_euclid(unit)) - i128::from(months(from).div_euclid(unit))
    };
    match part {
        DatePart::Year => calendar(12),
        DatePart::Quarter => calendar(3),
        DatePart::Month => calendar(1),
        DatePart::Week => {
            // Weeks begin on Sunday here, whatever DATEFIRST is.
            let week = |at: DateTime2| i128::from((at.date.days() + 1) / 7);
            week(to) - week(from)
        }
        DatePart::Nanosecond => (ticks(to) - ticks(from)) * 100,
        _ => {
            let unit = part.nanoseconds() / 100;
            ticks(to).div_euclid(unit) - ticks(from).div_euclid(unit)
        }
    }
}

/// A part as a number. `date_first` is the first day of the week, 1 = Monday.
pub(super) fn part_of(part: DatePart, at: DateTime2, offset_minutes: i16, date_first: u8) -> i32 {
    let (year, month, day) = at.date.to_ymd();
    let first = Date::from_ymd(year, 1, 1).map_or(0, Date::days);
    let in_year = at.date.days() - first;
    let ticks = at.time.ticks();
    let number = match part {
        DatePart::Year => u64::from(year),
        DatePart::Quarter => u64::from(month.div_ceil(3)),
        DatePart::Month => u64::from(month),
        DatePart::DayOfYear => u64::from(in_year + 1),
        DatePart::Day => u64::from(day),
        DatePart::Week => {
            let into_week = week_place(first, date_first);
            u64::from((in_year + into_week) / 7 + 1)
        }
        DatePart::IsoWeek => u64::from(iso_week(at.date)),
        DatePart::Weekday => u64::from(week_place(at.date.days(), date_first) + 1),
        DatePart::Hour => ticks / 36_000_000_000,
        DatePart::Minute => ticks / 600_000_000 % 60,
        DatePart::Second => ticks / 10_000_000 % 60,
        DatePart::Millisecond => ticks % 10_000_000 / 10_000,
        DatePart::Microsecond => ticks % 10_000_000 / 10,
        DatePart::Nanosecond => ticks % 10_000_000 * 100,
        DatePart::Offset => return i32::from(offset_minutes),
    };
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The place of a day in its week, from 0.
pub(super) fn week_place(days: u32, date_first: u8) -> u32 {
    (days + 8 - u32::from(date_first.clamp(1, 7))) % 7
}

/// The week of ISO 8601: the one with the year's first Thursday is the first.
fn iso_week(date: Date) -> u32 {
    let thursday = date.days() + 3 - weekday_of(date);
    let Some(thursday) = Date::from_days(thursday) else {
        return 52;
    };
    let (year, _, _) = thursday.to_ymd();
    let first = Date::from_ymd(year, 1, 1).map_or(0, Date::days);
    (thursday.days() - first) / 7 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime2 {
        let order = furrow_types::DateOrder::Ymd;
        let target = furrow_types::TypeId::DateTime2;
        furrow_types::parse_moment(text, order, target)
            .unwrap()
            .local
    }

    #[test]
    fn iso_weeks_belong_to_the_year_of_their_thursday() {
        for (date, week) in [
            ("2004-12-31", 53),
            ("2005-01-01", 53),
            ("2005-01-03", 1),
            ("2007-12-31", 1),
            ("2008-12-28", 52),
            ("2010-01-03", 53),
            ("2021-01-04", 1),
        ] {
            assert_eq!(part_of(DatePart::IsoWeek, at(date), 0, 7), week, "{date}");
        }
    }

    #[test]
    fn weekdays_count_from_the_first_day_that_is_set() {
        // 2007-04-21 was a Saturday.
        for (first, expected) in [(1, 6), (2, 5), (3, 4), (4, 3), (5, 2), (6, 1), (7, 7)] {
            assert_eq!(
                part_of(DatePart::Weekday, at("2007-04-21"), 0, first),
                expected
            );
        }
        assert_eq!(part_of(DatePart::Week, at("2007-04-21"), 0, 7), 16);
        assert_eq!(part_of(DatePart::Week, at("2007-04-22"), 0, 7), 17);
        assert_eq!(part_of(DatePart::Week, at("2007-04-22"), 0, 1), 16);
        assert_eq!(weekday_name(at("2007-04-21").date), "Saturday");
    }

    #[test]
    fn every_part_has_its_names_once() {
        for (place, row) in NAMES.iter().enumerate() {
            assert!(
                NAMES.iter().skip(place + 1).all(|other| other.0 != row.0),
                "{}",
                row.0
            );
            assert_eq!(DatePart::from_name(&row.0.to_uppercase()), Some(row.1));
        }
        assert_eq!(DatePart::from_name("fortnight"), None);
    }
}
