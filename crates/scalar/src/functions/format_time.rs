//! FORMAT of `time`: the formats of a `TimeSpan` of .NET, which has no part of the date.

use std::fmt::Write;

use furrow_types::Time;

/// A time in a format; `None` where .NET raises an exception: any text has to be quoted.
pub(super) fn format_time(time: Time, format: &str) -> Option<String> {
    let fraction = time.ticks() % 10_000_000;
    let digits = format!("{fraction:07}");
    let custom = match (format, fraction) {
        ("c" | "t" | "T", 0) => r"hh\:mm\:ss",
        ("c" | "t" | "T", _) => r"hh\:mm\:ss\.fffffff",
        ("g", 0) => r"h\:mm\:ss",
        ("g", _) => r"h\:mm\:ss\.FFFFFFF",
        ("G", _) => r"d\:hh\:mm\:ss\.fffffff",
        _ if format.chars().count() == 1 => return None,
        _ => format,
    };
    let seconds = time.ticks() / 10_000_000;
    let mut out = String::new();
    let mut rest = custom;
    while let Some(c) = rest.chars().next() {
        match c {
            '\'' | '"' | '\\' => {
                let (literal, tail) = literal(rest)?;
                out.push_str(literal);
                rest = tail;
                continue;
            }
            '%' => {
                // The next letter is a format by itself.
                rest = rest.get(1..)?;
                if rest.is_empty() || rest.starts_with('%') {
                    return None;
                }
                continue;
            }
            _ => {}
        }
        let count = rest.chars().take_while(|&other| other == c).count();
        let part = match (c, count) {
            ('d', 1..=8) => 0,
            ('h', 1 | 2) => seconds / 3600,
            ('m', 1 | 2) => seconds / 60 % 60,
            ('s', 1 | 2) => seconds % 60,
            ('f' | 'F', 1..=7) => {
                let shown = digits.get(..count)?;
                out.push_str(match c {
                    'F' => shown.trim_end_matches('0'),
                    _ => shown,
                });
                rest = rest.get(count..)?;
                continue;
            }
            _ => return None,
        };
        write!(out, "{part:0count$}").ok()?;
        rest = rest.get(count..)?;
    }
    Some(out)
}

/// The text that a quotation mark or a backslash at the beginning of a picture takes as it is, and what
/// follows; `None` where it does not end.
pub(super) fn literal(picture: &str) -> Option<(&str, &str)> {
    let mut rest = picture.chars();
    match rest.next()? {
        '\\' => {
            let len = rest.next()?.len_utf8();
            picture.get(1..)?.split_at_checked(len)
        }
        quote => rest.as_str().split_once(quote),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_takes_the_formats_of_a_time_span() {
        let whole = Time::from_hms(14, 5, 0, 0, 7).unwrap();
        let half = Time::from_hms(4, 5, 6, 5_000_000, 7).unwrap();
        for (time, format, expected) in [
            (whole, r"hh\:mm", Some("14:05")),
            (whole, "hh':'mm", Some("14:05")),
            (whole, "hh:mm", None),
            (whole, r"HH\:mm", None),
            (whole, "%h", Some("14")),
            (whole, "h", None),
            (whole, "tt", None),
            (whole, "c", Some("14:05:00")),
            (half, "c", Some("04:05:06.5000000")),
            (half, "g", Some("4:05:06.5")),
            (half, "G", Some("0:04:05:06.5000000")),
            (half, r"ss\.fff", Some("06.500")),
            (half, r"ss\.FFF", Some("06.5")),
        ] {
            assert_eq!(format_time(time, format).as_deref(), expected, "{format}");
        }
    }
}
