//! Text to dates and times, in the forms T-SQL takes.
//!
//! The text is cut into numbers, words and marks. A number before a colon (or before AM or PM) starts the
//! time of day; every other number and every month's name belongs to the date; what stands where is decided
//! only when all of the date is known: a number of four digits is the year, a name is the month, what is left
//! goes by the [`DateOrder`]. The old types and the ones of 2008 differ: `datetime` and `smalldatetime` take
//! three digits of a second, no offset, and read `yyyy-dd-mm` where the order puts the day before the month.

use super::TypeId;
use super::calendar::{Date, DateTime2, Time};

/// SET DATEFORMAT: the order of day, month and year in a date of three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DateOrder {
    /// Month, day, year: `us_english`.
    #[default]
    Mdy,
    /// Day, month, year.
    Dmy,
    /// Year, month, day.
    Ymd,
    /// Year, day, month.
    Ydm,
    /// Month, year, day.
    Myd,
    /// Day, year, month.
    Dym,
}

impl DateOrder {
    /// By its name in SET DATEFORMAT, in any case.
    pub fn from_name(name: &str) -> Option<DateOrder> {
        Some(match name.to_ascii_lowercase().as_str() {
            "mdy" => DateOrder::Mdy,
            "dmy" => DateOrder::Dmy,
            "ymd" => DateOrder::Ymd,
            "ydm" => DateOrder::Ydm,
            "myd" => DateOrder::Myd,
            "dym" => DateOrder::Dym,
            _ => return None,
        })
    }

    const fn day_before_month(self) -> bool {
        matches!(self, DateOrder::Dmy | DateOrder::Ydm | DateOrder::Dym)
    }

    /// The place of the year among three short numbers.
    const fn year_place(self) -> usize {
        match self {
            DateOrder::Mdy | DateOrder::Dmy => 2,
            DateOrder::Ymd | DateOrder::Ydm => 0,
            DateOrder::Myd | DateOrder::Dym => 1,
        }
    }
}

/// A moment as written: local date and time, and the offset if the text names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Date and time as written, at seven digits; the date is 1900-01-01 where the text has none.
    pub local: DateTime2,
    /// Minutes east of UTC.
    pub offset_minutes: Option<i16>,
}

/// Why text is no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentError {
    /// It is not written as one.
    Syntax,
    /// It is written as one, but the calendar or the clock has no such number.
    Range,
}

/// The moment that a text names, for a column or a variable of type `target`.
pub fn parse_moment(text: &str, order: DateOrder, target: TypeId) -> Result<Moment, MomentError> {
    let legacy = matches!(target, TypeId::DateTime | TypeId::SmallDateTime);
    let text = text.trim_matches(' ');
    let (text, order) = match odbc(text) {
        Some(inner) => (inner, DateOrder::Ymd),
        None => (text, order),
    };
    let tokens = tokens(text)?;
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        legacy,
        day: Day::default(),
        time: None,
        offset_minutes: None,
    };
    reader.run()?;
    let date = reader.day.resolve(order, legacy)?;
    let time = match reader.time {
        Some(time) => time,
        None => Time::new(0, 7).ok_or(MomentError::Range)?,
    };
    Ok(Moment {
        local: DateTime2 { date, time },
        offset_minutes: reader.offset_minutes,
    })
}

/// The text within `{ts '...'}`, `{d '...'}` or `{t '...'}`.
fn odbc(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('{')?.strip_suffix('}')?.trim_matches(' ');
    let (kind, quoted) = inner.split_once(' ')?;
    let known = ["ts", "d", "t"]
        .iter()
        .any(|word| kind.eq_ignore_ascii_case(word));
    let quoted = quoted.trim_matches(' ');
    known.then_some(quoted.strip_prefix('\'')?.strip_suffix('\'')?)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Blank,
    Mark(u8),
    Number { value: u32, digits: usize },
    Word(&'a str),
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, MomentError> {
    let mut out = Vec::with_capacity(16);
    let mut rest = text;
    while let Some(&byte) = rest.as_bytes().first() {
        let run = |keep: fn(&u8) -> bool| rest.bytes().take_while(keep).count();
        let length = match byte {
            b' ' | b'\t' => run(|byte| matches!(byte, b' ' | b'\t')),
            b'0'..=b'9' => run(u8::is_ascii_digit),
            b'a'..=b'z' | b'A'..=b'Z' => run(u8::is_ascii_alphabetic),
            b'-' | b'/' | b'.' | b',' | b':' | b'+' => 1,
            _ => return Err(MomentError::Syntax),
        };
        let (head, tail) = rest.split_at_checked(length).ok_or(MomentError::Syntax)?;
        out.push(match byte {
            b' ' | b'\t' => Token::Blank,
            b'0'..=b'9' if length > 9 => return Err(MomentError::Syntax),
            b'0'..=b'9' => Token::Number {
                value: head.parse().map_err(|_| MomentError::Syntax)?,
                digits: length,
            },
            b'a'..=b'z' | b'A'..=b'Z' => Token::Word(head),
            mark => Token::Mark(mark),
        });
        rest = tail;
        if out.len() > 40 {
            return Err(MomentError::Syntax);
        }
    }
    Ok(out)
}

/// The parts of the date found in the text.
#[derive(Debug, Default)]
struct Day {
    numbers: [(u32, usize); 3],
    count: usize,
    month: Option<u32>,
    marks: usize,
    iso: bool,
}

impl Day {
    fn push(&mut self, value: u32, digits: usize) -> Result<(), MomentError> {
        let place = self.numbers.get_mut(self.count);
        *place.ok_or(MomentError::Syntax)? = (value, digits);
        self.count += 1;
        Ok(())
    }

    fn is_empty(&self) -> bool {
        self.count == 0 && self.month.is_none()
    }

    fn resolve(&self, order: DateOrder, legacy: bool) -> Result<Date, MomentError> {
        let [first, second, third] = self.numbers;
        let (year, month, day) = match (self.count, self.month) {
            (0, None) if self.marks == 0 => (1900, 1, 1),
            (1, None) if self.marks == 0 => match first {
                (ymd, 8) => (ymd / 10_000, ymd / 100 % 100, ymd % 100),
                (ymd, 6) => (full_year(ymd / 10_000), ymd / 100 % 100, ymd % 100),
                (year, 4) => (year, 1, 1),
                _ => return Err(MomentError::Syntax),
            },
            (1, Some(month)) if first.1 == 4 => (first.0, month, 1),
            (2, Some(month)) => match (first, second) {
                ((year, 4), (day, 1 | 2)) | ((day, 1 | 2), (year, 4)) => (year, month, day),
                ((day, 1 | 2), (year, 1 | 2)) => (full_year(year), month, day),
                _ => return Err(MomentError::Syntax),
            },
            (3, None) if self.marks == 2 => self.of_three([first, second, third], order, legacy)?,
            _ => return Err(MomentError::Syntax),
        };
        Date::from_ymd(year, month, day).ok_or(MomentError::Range)
    }

    fn of_three(
        &self,
        numbers: [(u32, usize); 3],
        order: DateOrder,
        legacy: bool,
    ) -> Result<(u32, u32, u32), MomentError> {
        let long = numbers.iter().filter(|number| number.1 == 4).count();
        let year_at = match long {
            0 if numbers.iter().all(|number| number.1 <= 2) => order.year_place(),
            1 if numbers.iter().all(|number| matches!(number.1, 1 | 2 | 4)) => numbers
                .iter()
                .position(|number| number.1 == 4)
                .unwrap_or_default(),
            _ => return Err(MomentError::Syntax),
        };
        let [a, b, c] = numbers.map(|number| number.0);
        let (year, low, high) = match year_at {
            0 => (a, b, c),
            1 => (b, a, c),
            _ => (c, a, b),
        };
        let year = if long == 0 { full_year(year) } else { year };
        // The types of 2008 read a leading year of four digits as ISO does, whatever the order.
        let fixed = self.iso || (long == 1 && year_at == 0 && !legacy);
        Ok(if order.day_before_month() && !fixed {
            (year, high, low)
        } else {
            (year, low, high)
        })
    }
}

/// A year of two digits: up to 49 it is of this century.
const fn full_year(year: u32) -> u32 {
    match year {
        0..=49 => 2000 + year,
        50..=99 => 1900 + year,
        _ => year,
    }
}

struct Reader<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    legacy: bool,
    day: Day,
    time: Option<Time>,
    offset_minutes: Option<i16>,
}

impl<'a> Reader<'a> {
    fn peek(&self, ahead: usize) -> Option<Token<'a>> {
        self.tokens.get(self.at + ahead).copied()
    }

    fn skip_blanks(&mut self) {
        while self.peek(0) == Some(Token::Blank) {
            self.at += 1;
        }
    }

    fn run(&mut self) -> Result<(), MomentError> {
        loop {
            self.skip_blanks();
            let Some(token) = self.peek(0) else {
                return Ok(());
            };
            match token {
                Token::Number { value, digits } if self.starts_time() => {
                    self.clock(value, digits)?;
                }
                Token::Number { value, digits } => {
                    self.at += 1;
                    self.day.push(value, digits)?;
                }
                Token::Word(word) => {
                    self.at += 1;
                    self.word(word)?;
                }
                Token::Mark(b',') if !self.day.is_empty() => self.at += 1,
                Token::Mark(b'-' | b'/' | b'.') if !self.day.is_empty() => {
                    self.at += 1;
                    self.day.marks += 1;
                }
                _ => return Err(MomentError::Syntax),
            }
        }
    }

    fn word(&mut self, word: &str) -> Result<(), MomentError> {
        if word.eq_ignore_ascii_case("T") {
            // ISO 8601: the date before it is year, month, day.
            self.day.iso = true;
            let time_follows = matches!(self.peek(0), Some(Token::Number { .. }));
            let known = self.day.count > 0 && self.time.is_none() && time_follows;
            return if known {
                Ok(())
            } else {
                Err(MomentError::Syntax)
            };
        }
        match month_of(word) {
            Some(month) if self.day.month.is_none() => {
                self.day.month = Some(month);
                Ok(())
            }
            _ => Err(MomentError::Syntax),
        }
    }

    /// Whether the number here is an hour: a colon follows, or AM or PM.
    fn starts_time(&self) -> bool {
        match self.peek(1) {
            Some(Token::Mark(b':')) => true,
            Some(Token::Word(word)) => half_of_day(word).is_some(),
            Some(Token::Blank) => {
                matches!(self.peek(2), Some(Token::Word(word)) if half_of_day(word).is_some())
            }
            _ => false,
        }
    }

    fn clock(&mut self, hour: u32, digits: usize) -> Result<(), MomentError> {
        if self.time.is_some() || digits > 2 {
            return Err(MomentError::Syntax);
        }
        self.at += 1;
        let (mut minute, mut second, mut ticks) = (0, 0, 0);
        if let Some(value) = self.after_colon(2)? {
            minute = value.0;
            if let Some(value) = self.after_colon(2)? {
                second = value.0;
                ticks = self.fraction()?;
            }
        }
        let hour = self.hour(hour)?;
        let time = Time::from_hms(hour, minute, second, ticks, 7);
        self.time = Some(time.ok_or(MomentError::Range)?);
        self.offset()
    }

    fn after_colon(&mut self, most_digits: usize) -> Result<Option<(u32, usize)>, MomentError> {
        if self.peek(0) != Some(Token::Mark(b':')) {
            return Ok(None);
        }
        match self.peek(1) {
            Some(Token::Number { value, digits }) if digits <= most_digits => {
                self.at += 2;
                Ok(Some((value, digits)))
            }
            _ => Err(MomentError::Syntax),
        }
    }

    /// Ticks of 100 ns: digits behind a point, or whole milliseconds behind a colon.
    fn fraction(&mut self) -> Result<u32, MomentError> {
        let most = if self.legacy { 3 } else { 7 };
        if let Some((value, _)) = self.after_colon(3)? {
            return Ok(value * 10_000);
        }
        match (self.peek(0), self.peek(1)) {
            (Some(Token::Mark(b'.')), Some(Token::Number { value, digits })) if digits <= most => {
                self.at += 2;
                let zeros = u32::try_from(7 - digits).unwrap_or(0);
                Ok(value * 10u32.pow(zeros))
            }
            (Some(Token::Mark(b'.')), _) => Err(MomentError::Syntax),
            _ => Ok(0),
        }
    }

    /// The hour of 24, by AM or PM where one follows.
    fn hour(&mut self, hour: u32) -> Result<u32, MomentError> {
        let blanks = usize::from(self.peek(0) == Some(Token::Blank));
        let Some(Token::Word(word)) = self.peek(blanks) else {
            return Ok(hour);
        };
        let Some(afternoon) = half_of_day(word) else {
            return Ok(hour);
        };
        self.at += blanks + 1;
        match (hour, afternoon) {
            (0, true) | (13.., false) | (24.., true) => Err(MomentError::Range),
            (12, false) => Ok(0),
            (1..=11, true) => Ok(hour + 12),
            _ => Ok(hour),
        }
    }

    fn offset(&mut self) -> Result<(), MomentError> {
        let blanks = usize::from(self.peek(0) == Some(Token::Blank));
        let negative = match self.peek(blanks) {
            Some(Token::Word(word)) if word.eq_ignore_ascii_case("Z") => {
                self.at += blanks + 1;
                self.offset_minutes = Some(0);
                return Ok(());
            }
            Some(Token::Mark(b'+')) => false,
            // A date behind the time has no colon.
            Some(Token::Mark(b'-')) if self.peek(blanks + 2) == Some(Token::Mark(b':')) => true,
            _ => return Ok(()),
        };
        let (Some(Token::Number { value: hours, .. }), Some(Token::Number { value: minutes, .. })) =
            (self.peek(blanks + 1), self.peek(blanks + 3))
        else {
            return Err(MomentError::Syntax);
        };
        if self.legacy || self.peek(blanks + 2) != Some(Token::Mark(b':')) {
            return Err(MomentError::Syntax);
        }
        if hours > 14 || minutes > 59 || hours * 60 + minutes > 840 {
            return Err(MomentError::Range);
        }
        self.at += blanks + 4;
        let minutes = (hours * 60 + minutes) as i16;
        self.offset_minutes = Some(if negative { -minutes } else { minutes });
        Ok(())
    }
}

/// Whether a word is PM (`true`) or AM.
fn half_of_day(word: &str) -> Option<bool> {
    if word.eq_ignore_ascii_case("AM") {
        Some(false)
    } else if word.eq_ignore_ascii_case("PM") {
        Some(true)
    } else {
        None
    }
}

/// The English names of the months.
pub const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A month by its English name, whole or by its first three letters.
fn month_of(word: &str) -> Option<u32> {
    let known = |name: &str| {
        word.eq_ignore_ascii_case(name)
            || name
                .get(..3)
                .is_some_and(|short| word.eq_ignore_ascii_case(short))
    };
    let at = MONTHS.iter().position(|name| known(name))?;
    u32::try_from(at + 1).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, order: DateOrder, target: TypeId) -> String {
        match parse_moment(text, order, target) {
            Ok(moment) => match moment.offset_minutes {
                Some(minutes) => format!("{} {minutes}", moment.local),
                None => moment.local.to_string(),
            },
            Err(error) => format!("{error:?}"),
        }
    }

    fn check(target: TypeId, cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            let got = read(text, DateOrder::Mdy, target);
            let padded = match expected.len() {
                10 => format!("{expected} 00:00:00.0000000"),
                19 => format!("{expected}.0000000"),
                _ => (*expected).to_owned(),
            };
            assert_eq!(got, padded, "{text}");
        }
    }

    #[test]
    fn dates_are_read_in_every_documented_form() {
        let cases = [
            ("1998-05-06", "1998-05-06"),
            ("19980506", "1998-05-06"),
            ("980506", "1998-05-06"),
            ("490101", "2049-01-01"),
            ("500101", "1950-01-01"),
            ("2020", "2020-01-01"),
            ("5/6/1998", "1998-05-06"),
            ("5.6.98", "1998-05-06"),
            ("1-2-3", "2003-01-02"),
            ("5/1998/6", "1998-05-06"),
            ("April 15, 1996", "1996-04-15"),
            ("Apr 15 96", "1996-04-15"),
            ("15 April,1996", "1996-04-15"),
            ("15 96 apr", "1996-04-15"),
            ("apr 1996", "1996-04-01"),
            ("1996 APR 15", "1996-04-15"),
            ("1996 15 apr", "1996-04-15"),
            ("{d '1998-05-06'}", "1998-05-06"),
            ("", "1900-01-01"),
            ("2023-02-29", "Range"),
            ("13/1/2020", "Range"),
            ("1998-5", "Syntax"),
            ("19985", "Syntax"),
            ("x", "Syntax"),
            ("Apr 15", "Syntax"),
            ("1/2/3/4", "Syntax"),
            ("1998--05-06-", "Syntax"),
            ("\u{661}", "Syntax"),
        ];
        check(TypeId::DateTime2, &cases);
        check(TypeId::DateTime, &cases);
    }

    #[test]
    fn times_are_read_with_halves_of_the_day_fractions_and_milliseconds() {
        let cases = [
            ("1998-05-06 13:14", "1998-05-06 13:14:00"),
            ("13:14 1998-05-06", "1998-05-06 13:14:00"),
            ("1998-05-06T13:14:15.5", "1998-05-06 13:14:15.5000000"),
            ("1998-05-06 1:14:15 PM", "1998-05-06 13:14:15"),
            ("5/6/1998 4PM", "1998-05-06 16:00:00"),
            ("4 am", "1900-01-01 04:00:00"),
            ("12:30AM", "1900-01-01 00:30:00"),
            ("12:30pm", "1900-01-01 12:30:00"),
            ("13:00 PM", "1900-01-01 13:00:00"),
            ("12:30:20:5", "1900-01-01 12:30:20.0050000"),
            (
                "{ts '1998-05-06 01:02:03.004'}",
                "1998-05-06 01:02:03.0040000",
            ),
            ("2024-01-01T00:00:00Z", "2024-01-01 00:00:00.0000000 0"),
            ("24:00", "Range"),
            ("13:00 AM", "Range"),
            ("1998-05-06 13:60", "Range"),
            ("12:00 13:00", "Syntax"),
            ("12:", "Syntax"),
        ];
        check(TypeId::DateTime2, &cases);
        check(TypeId::DateTime, &cases);
        check(
            TypeId::DateTime2,
            &[
                ("12:00:01.0000001", "1900-01-01 12:00:01.0000001"),
                (
                    "2024-01-01 00:00 -05:30",
                    "2024-01-01 00:00:00.0000000 -330",
                ),
                ("2024-01-01 00:00 +14:01", "Range"),
                ("12:00:01.00000001", "Syntax"),
            ],
        );
        check(
            TypeId::DateTime,
            &[
                ("12:00:01.0001", "Syntax"),
                ("2024-01-01 00:00 +01:00", "Syntax"),
            ],
        );
    }

    #[test]
    fn the_date_order_decides_between_day_and_month() {
        let at = |text, order| read(text, order, TypeId::DateTime).replace(" 00:00:00.0000000", "");
        assert_eq!(at("01/02/03", DateOrder::Mdy), "2003-01-02");
        assert_eq!(at("01/02/03", DateOrder::Dmy), "2003-02-01");
        assert_eq!(at("01/02/03", DateOrder::Ymd), "2001-02-03");
        assert_eq!(at("01/02/03", DateOrder::Ydm), "2001-03-02");
        assert_eq!(at("01/02/03", DateOrder::Myd), "2002-01-03");
        assert_eq!(at("01/02/03", DateOrder::Dym), "2002-03-01");
        assert_eq!(at("31/12/2020", DateOrder::Dmy), "2020-12-31");
        // The trap that everybody falls into once: datetime reads this as year-day-month.
        assert_eq!(at("2020-02-01", DateOrder::Dmy), "2020-01-02");
        assert_eq!(at("2020-02-01T00:00:00", DateOrder::Dmy), "2020-02-01");
        assert_eq!(at("20200201", DateOrder::Dmy), "2020-02-01");
        let new = read("2020-02-01", DateOrder::Dmy, TypeId::Date);
        assert_eq!(new, "2020-02-01 00:00:00.0000000");
    }
}
