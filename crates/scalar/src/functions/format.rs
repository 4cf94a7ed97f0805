//! FORMAT: the standard and custom formats of .NET that reports use, for the culture `en-US`.
//!
//! [`format_number`] and [`format_time`] have those of numbers and of `time`. Moments: `d`, `D`, `t`, `T`,
//! `g`, `G`, `f`, `F`, `s`, `u`, `o`, `R`, `M`, `Y`, and pictures of `y M d H h m s f F t z K g`. A format
//! that is neither gives NULL.

use std::fmt::Write;

use furrow_types::{DateTime2, Value};

use super::date_math::{month_name, weekday_name};
use super::format_number::format_number;
use super::format_time::{format_time, literal};

/// The value in the format; `None` where the format is none for the type. `server_offset`: minutes from UTC
/// to the time of the server, which is the zone of values that have none.
pub(super) fn format_value(value: &Value, format: &str, server_offset: i16) -> Option<String> {
    if let Value::Time(time) = value {
        return format_time(*time, format);
    }
    let Some(local) = crate::convert::moment_parts(value) else {
        return format_number(value, format);
    };
    let offset = match value {
        Value::DateTimeOffset(at) => Some(at.offset_minutes),
        _ => None,
    };
    let moment = Moment {
        local,
        offset,
        server_offset,
    };
    moment.format(format)
}

/// A moment that is formatted.
struct Moment {
    local: DateTime2,
    /// The offset of `datetimeoffset`.
    offset: Option<i16>,
    server_offset: i16,
}

impl Moment {
    fn format(&self, format: &str) -> Option<String> {
        let of_offset = self.offset.is_some();
        let custom = match format {
            "d" => "M/d/yyyy",
            "D" => "dddd, MMMM d, yyyy",
            "t" => "h:mm tt",
            "T" => "h:mm:ss tt",
            "g" => "M/d/yyyy h:mm tt",
            "G" => "M/d/yyyy h:mm:ss tt",
            "f" => "dddd, MMMM d, yyyy h:mm tt",
            "F" => "dddd, MMMM d, yyyy h:mm:ss tt",
            "U" if !of_offset => "dddd, MMMM d, yyyy h:mm:ss tt",
            "s" => "yyyy-MM-ddTHH:mm:ss",
            "u" => "yyyy-MM-dd HH:mm:ssZ",
            "r" | "R" => "ddd, dd MMM yyyy HH:mm:ss 'GMT'",
            "m" | "M" => "MMMM d",
            "y" | "Y" => "MMMM yyyy",
            "o" | "O" => "yyyy-MM-ddTHH:mm:ss.fffffffK",
            other if other.chars().count() > 1 => other,
            _ => return None,
        };
        // These show the moment in UTC.
        let east = match (format, self.offset) {
            ("u" | "r" | "R", Some(offset)) => offset,
            ("U", _) => self.server_offset,
            _ => 0,
        };
        let local = self.local.add_minutes(-i32::from(east))?;
        Moment { local, ..*self }.custom(custom)
    }

    fn custom(&self, custom: &str) -> Option<String> {
        let mut out = String::new();
        let mut rest = custom;
        while let Some(c) = rest.chars().next() {
            match c {
                '\'' | '"' | '\\' => {
                    let (literal, tail) = literal(rest)?;
                    out.push_str(literal);
                    rest = tail;
                }
                '%' => {
                    // The next letter is a format by itself.
                    let mut tail = rest.get(1..)?.chars();
                    let letter = tail.next().filter(|next| *next != '%')?;
                    self.write_part(&mut out, letter, 1)?;
                    rest = tail.as_str();
                }
                _ => {
                    let count = rest.chars().take_while(|&other| other == c).count();
                    self.write_part(&mut out, c, count)?;
                    rest = rest.get(count * c.len_utf8()..)?;
                }
            }
        }
        Some(out)
    }

    fn write_part(&self, out: &mut String, c: char, count: usize) -> Option<()> {
        let at = self.local;
        let (year, month, day) = at.date.to_ymd();
        let seconds = at.time.ticks() / 10_000_000;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let width = count.min(2);
        match (c, count) {
            ('y', 1 | 2) => write!(out, "{:0width$}", year % 100),
            ('y', _) => write!(out, "{year:0count$}"),
            ('M', 3) => out.write_str(month_name(at.date).get(..3)?),
            ('M', 4..) => out.write_str(month_name(at.date)),
            ('M', _) => write!(out, "{month:0width$}"),
            ('d', 3) => out.write_str(weekday_name(at.date).get(..3)?),
            ('d', 4..) => out.write_str(weekday_name(at.date)),
            ('d', _) => write!(out, "{day:0width$}"),
            ('H', _) => write!(out, "{hour:0width$}"),
            ('h', _) => write!(out, "{:0width$}", (hour + 11) % 12 + 1),
            ('m', _) => write!(out, "{minute:0width$}"),
            ('s', _) => write!(out, "{second:0width$}"),
            ('f' | 'F', 1..=7) => {
                let digits = format!("{:07}", at.time.ticks() % 10_000_000);
                let shown = digits.get(..count)?;
                let shown = match c {
                    'F' => shown.trim_end_matches('0'),
                    _ => shown,
                };
                if shown.is_empty() && out.ends_with('.') {
                    out.pop();
                }
                out.write_str(shown)
            }
            ('f' | 'F', _) => return None,
            ('t', _) => {
                let half = if hour < 12 { "AM" } else { "PM" };
                out.write_str(half.get(..width)?)
            }
            ('g', _) => out.write_str("A.D."),
            ('z', _) => self.write_offset(out, count, self.offset.unwrap_or(self.server_offset)),
            ('K', _) => match self.offset {
                Some(offset) => (0..count).try_for_each(|_| self.write_offset(out, 3, offset)),
                None => Ok(()),
            },
            _ => {
                out.extend(std::iter::repeat_n(c, count));
                Ok(())
            }
        }
        .ok()
    }

    /// An offset as so many letters `z` show it: hours in one or two digits, or hours and minutes.
    fn write_offset(&self, out: &mut String, count: usize, offset: i16) -> std::fmt::Result {
        let sign = if offset < 0 { '-' } else { '+' };
        let (hours, minutes) = (offset.abs() / 60, offset.abs() % 60);
        match count {
            1 => write!(out, "{sign}{hours}"),
            2 => write!(out, "{sign}{hours:02}"),
            _ => write!(out, "{sign}{hours:02}:{minutes:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_types::{DateOrder, DateTimeOffset, TypeId, parse_moment};

    fn moment(text: &str) -> DateTime2 {
        let parsed = parse_moment(text, DateOrder::Ymd, TypeId::DateTime2);
        parsed.unwrap().local
    }

    #[test]
    fn moments_take_standard_formats_and_pictures() {
        let value = Value::DateTime2(moment("2006-01-02 15:04:05.1234567"));
        for (format, expected) in [
            ("d", "1/2/2006"),
            ("D", "Monday, January 2, 2006"),
            ("g", "1/2/2006 3:04 PM"),
            ("s", "2006-01-02T15:04:05"),
            ("R", "Mon, 02 Jan 2006 15:04:05 GMT"),
            ("o", "2006-01-02T15:04:05.1234567"),
            ("yyyy-MM-dd HH:mm:ss.fff", "2006-01-02 15:04:05.123"),
            ("dd MMM yy, hh:mm tt", "02 Jan 06, 03:04 PM"),
            ("dddd 'the' d", "Monday the 2"),
            ("yyyyMMdd", "20060102"),
            ("%d", "2"),
            ("%M/%y", "1/6"),
            ("HH zzz", "15 +01:00"),
            ("HH K", "15 "),
            ("q", ""),
            ("%%d", ""),
            ("ffffffff", ""),
        ] {
            let got = format_value(&value, format, 60).unwrap_or_default();
            assert_eq!(got, expected, "{format}");
        }
        let value = Value::DateTime2(moment("2006-01-02 15:04:05"));
        let got = format_value(&value, "ss.FFF", 0);
        assert_eq!(got.as_deref(), Some("05"));
    }

    #[test]
    fn a_moment_with_an_offset_shows_it() {
        let value = Value::DateTimeOffset(DateTimeOffset {
            utc: moment("2020-02-03 12:05:00"),
            offset_minutes: 120,
        });
        for (format, expected) in [
            ("HH:mm zzz", "14:05 +02:00"),
            ("HH:mm zz", "14:05 +02"),
            ("HH:mm z", "14:05 +2"),
            ("HH:mmK", "14:05+02:00"),
            ("R", "Mon, 03 Feb 2020 12:05:00 GMT"),
            ("u", "2020-02-03 12:05:00Z"),
            ("o", "2020-02-03T14:05:00.0000000+02:00"),
            ("U", ""),
        ] {
            let got = format_value(&value, format, 0).unwrap_or_default();
            assert_eq!(got, expected, "{format}");
        }
    }
}
