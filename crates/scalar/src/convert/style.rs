//! The styles in which CONVERT writes dates and times.

use std::fmt::Write;

use furrow_types::{DateTime2, MONTHS, Value};

/// What a type has of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DateParts {
    pub(crate) has_date: bool,
    pub(crate) has_time: bool,
    /// Digits of seconds; for `datetime` three.
    pub(crate) scale: u8,
    /// Whether the type is one of 2008, which write a point before the fraction in every style.
    pub(crate) modern: bool,
    pub(crate) offset_minutes: Option<i16>,
}

/// The local moment of a value, and what of it the type has.
pub(crate) fn parts(value: &Value) -> Option<(DateTime2, DateParts)> {
    let all = DateParts {
        has_date: true,
        has_time: true,
        scale: 3,
        modern: false,
        offset_minutes: None,
    };
    let midnight = furrow_types::Time::MIDNIGHT;
    Some(match value {
        Value::DateTime(at) => (at.to_datetime2(), all),
        Value::SmallDateTime(at) => {
            let at = at.to_datetime2();
            (at, all)
        }
        Value::DateTime2(at) => {
            let scale = at.time.scale();
            (
                *at,
                DateParts {
                    scale,
                    modern: true,
                    ..all
                },
            )
        }
        Value::DateTimeOffset(at) => {
            let local = at.utc.add_minutes(i32::from(at.offset_minutes))?;
            let parts = DateParts {
                scale: local.time.scale(),
                modern: true,
                offset_minutes: Some(at.offset_minutes),
                ..all
            };
            (local, parts)
        }
        Value::Date(date) => {
            let at = DateTime2 {
                date: *date,
                time: midnight,
            };
            (
                at,
                DateParts {
                    has_time: false,
                    modern: true,
                    ..all
                },
            )
        }
        Value::Time(time) => {
            let date = furrow_types::Date::from_days_since_1900(0)?;
            let parts = DateParts {
                has_date: false,
                scale: time.scale(),
                modern: true,
                ..all
            };
            (DateTime2 { date, time: *time }, parts)
        }
        _ => return None,
    })
}

/// How a style writes the date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateForm {
    None,
    /// `mon dd yyyy`, the day padded with a blank.
    Named,
    /// `dd mon yyyy`.
    DayMonth,
    /// `Mon dd, yyyy`.
    MonthDayComma,
    /// Three numbers in this order with this mark; `true`: day before month.
    Numbers(&'static str, [u8; 3]),
}

/// How a style writes the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeForm {
    None,
    /// ` h:mmAM`.
    Short12,
    /// ` h:mm:ss:mmmAM`.
    Long12,
    /// `h:mm:ss AM`.
    Seconds12,
    /// `hh:mm:ss`.
    Seconds,
    /// `hh:mm:ss:mmm`.
    Colon,
    /// `hh:mm:ss.mmm`.
    Point,
    /// As ISO 8601: the fraction only where there is one (old types).
    Iso,
}

fn forms(style: i32) -> Option<(DateForm, TimeForm, bool)> {
    use DateForm as D;
    use TimeForm as T;
    let (date, time) = match style % 100 {
        _ if style > 100 && matches!(style, 122..=125 | 128..) => return None,
        0 => (D::Named, T::Short12),
        1 => (D::Numbers("/", *b"mdy"), T::None),
        2 => (D::Numbers(".", *b"ymd"), T::None),
        3 => (D::Numbers("/", *b"dmy"), T::None),
        4 => (D::Numbers(".", *b"dmy"), T::None),
        5 => (D::Numbers("-", *b"dmy"), T::None),
        6 => (D::DayMonth, T::None),
        7 => (D::MonthDayComma, T::None),
        8 => (D::None, T::Seconds),
        9 => (D::Named, T::Long12),
        10 => (D::Numbers("-", *b"mdy"), T::None),
        11 => (D::Numbers("/", *b"ymd"), T::None),
        12 => (D::Numbers("", *b"ymd"), T::None),
        13 => (D::DayMonth, T::Colon),
        14 => (D::None, T::Colon),
        20 => (D::Numbers("-", *b"ymd"), T::Seconds),
        21 => (D::Numbers("-", *b"ymd"), T::Point),
        22 if style == 22 => (D::Numbers("/", *b"mdy"), T::Seconds12),
        23 if style == 23 => (D::Numbers("-", *b"ymd"), T::None),
        24 if style == 24 => (D::None, T::Seconds),
        25 if style == 25 => (D::Numbers("-", *b"ymd"), T::Point),
        26 | 27 if style > 100 => (D::Numbers("-", *b"ymd"), T::Iso),
        _ => return None,
    };
    if !(0..=127).contains(&style) {
        return None;
    }
    let short_year = style < 100 && !matches!(style, 0 | 9 | 13 | 20 | 21 | 23 | 25);
    Some((date, time, short_year))
}

/// A moment in a style; `None` for a style that is none or has nothing of what the type has.
pub(crate) fn format_moment(at: DateTime2, parts: DateParts, style: i32) -> Option<String> {
    let (mut date, mut time, short_year) = forms(style)?;
    if !parts.has_date {
        date = DateForm::None;
    }
    if !parts.has_time {
        time = TimeForm::None;
    }
    if date == DateForm::None && time == TimeForm::None {
        return None;
    }
    let mut at = at;
    if style == 127
        && let Some(offset) = parts.offset_minutes
    {
        at = at.add_minutes(-i32::from(offset))?;
    }
    let mut out = String::with_capacity(32);
    write_date(&mut out, date, at, short_year).ok()?;
    if date != DateForm::None && time != TimeForm::None {
        out.push(if time == TimeForm::Iso { 'T' } else { ' ' });
    }
    write_time(&mut out, time, at, parts, date != DateForm::None).ok()?;
    match parts.offset_minutes {
        Some(_) if style == 127 => out.push('Z'),
        Some(offset) if time != TimeForm::None => {
            let blank = if style == 126 { "" } else { " " };
            let sign = if offset < 0 { '-' } else { '+' };
            let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
            write!(out, "{blank}{sign}{hours:02}:{minutes:02}").ok()?;
        }
        _ => {}
    }
    Some(out)
}

fn write_date(
    out: &mut String,
    form: DateForm,
    at: DateTime2,
    short_year: bool,
) -> std::fmt::Result {
    let (year, month, day) = at.date.to_ymd();
    let (year, width) = if short_year {
        (year % 100, 2)
    } else {
        (year, 4)
    };
    let name = MONTHS
        .get(month as usize - 1)
        .and_then(|name| name.get(..3))
        .unwrap_or_default();
    match form {
        DateForm::None => Ok(()),
        DateForm::Named => write!(out, "{name} {day:>2} {year:0width$}"),
        DateForm::DayMonth => write!(out, "{day:02} {name} {year:0width$}"),
        DateForm::MonthDayComma => write!(out, "{name} {day:02}, {year:0width$}"),
        DateForm::Numbers(mark, order) => {
            for (place, part) in order.iter().enumerate() {
                if place > 0 {
                    out.push_str(mark);
                }
                match part {
                    b'y' => write!(out, "{year:0width$}")?,
                    b'm' => write!(out, "{month:02}")?,
                    _ => write!(out, "{day:02}")?,
                }
            }
            Ok(())
        }
    }
}

fn write_time(
    out: &mut String,
    form: TimeForm,
    at: DateTime2,
    parts: DateParts,
    after_date: bool,
) -> std::fmt::Result {
    let seconds = at.time.ticks() / 10_000_000;
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let fraction = at.time.ticks() % 10_000_000;
    let half = if hour < 12 { "AM" } else { "PM" };
    let twelve = (hour + 11) % 12 + 1;
    let width = if after_date { 2 } else { 1 };
    let digits = |out: &mut String, mark: char| {
        if parts.scale == 0 {
            return Ok(());
        }
        let unit = 10u64.pow(u32::from(7 - parts.scale.min(7)));
        write!(
            out,
            "{mark}{:0width$}",
            fraction / unit,
            width = usize::from(parts.scale)
        )
    };
    let old_mark = if parts.modern { '.' } else { ':' };
    match form {
        TimeForm::None => Ok(()),
        TimeForm::Short12 => write!(out, "{twelve:>width$}:{minute:02}{half}"),
        TimeForm::Long12 => {
            write!(out, "{twelve:>width$}:{minute:02}:{second:02}")?;
            digits(out, old_mark)?;
            out.write_str(half)
        }
        TimeForm::Seconds12 => write!(out, "{twelve:>2}:{minute:02}:{second:02} {half}"),
        TimeForm::Seconds => write!(out, "{hour:02}:{minute:02}:{second:02}"),
        TimeForm::Colon => {
            write!(out, "{hour:02}:{minute:02}:{second:02}")?;
            digits(out, old_mark)
        }
        TimeForm::Point => {
            write!(out, "{hour:02}:{minute:02}:{second:02}")?;
            digits(out, '.')
        }
        TimeForm::Iso => {
            write!(out, "{hour:02}:{minute:02}:{second:02}")?;
            if fraction == 0 && !parts.modern {
                return Ok(());
            }
            digits(out, '.')
        }
    }
}
