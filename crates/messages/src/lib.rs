//! Error messages: number, level, state and text, as SQL Server publishes them.
//!
//! Purpose: the only table of messages. Every crate that reports an error to a client takes it from here.
//!
//! Each row of the tables has a number, a level (severity), a usual state and a text with markers. A
//! [`Message`] is a row with its markers replaced by arguments. Its `Display` is what a client prints:
//! `Msg 208, Level 16, State 1, Line 3` and the text on the next line; informational messages (level
//! 10 and below) print their text alone.
//!
//! Levels: 0-10 information, 11-16 errors the user can correct, 17 resources, 18 internal, 19 limits of
//! the instance, 20-25 fatal: the connection is closed.
//!
//! # Invariants
//! 1. Each number is in one table, and each table is sorted by number
//!    (`every_number_is_unique_and_found_and_every_marker_is_known`).
//! 2. A message is built with as many arguments as its text has markers (`debug_assert` in [`Message::new`]).
//!
//! # What can fail
//! Nothing. In release builds a missing argument prints `(null)` and an unknown number has no text.

mod batches;
mod cursors;
mod database;
mod dbcc;
mod ddl;
mod format;
mod media;
mod procedures;
mod queries;
mod row;
mod statements;
mod storage;
mod values;

pub use row::MessageInfo;

pub use format::Arg;

use std::fmt;

/// Makes a table of messages from rows `number level state "text";`.
macro_rules! messages {
    ($( $number:literal $level:literal $state:literal $text:literal; )+) => {
        &[ $( super::MessageInfo { number: $number, level: $level, state: $state, text: $text }, )+ ]
    };
}

use messages;

/// The tables; each is sorted by number, and no number is in two.
const TABLES: [&[MessageInfo]; 11] = [
    statements::ROWS,
    database::ROWS,
    storage::ROWS,
    media::ROWS,
    dbcc::ROWS,
    ddl::ROWS,
    values::ROWS,
    queries::ROWS,
    procedures::ROWS,
    batches::ROWS,
    cursors::ROWS,
];

/// The row with this number.
pub fn info(number: u32) -> Option<&'static MessageInfo> {
    TABLES.iter().find_map(|table| {
        let at = table.binary_search_by_key(&number, |row| row.number).ok()?;
        table.get(at)
    })
}

/// All rows, by number.
pub fn all() -> Vec<&'static MessageInfo> {
    let mut rows: Vec<&MessageInfo> = TABLES.iter().flat_map(|table| table.iter()).collect();
    rows.sort_by_key(|row| row.number);
    rows
}

/// A message for a client or for the error log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The number.
    pub number: u32,
    /// The severity.
    pub level: u8,
    /// The state: distinguishes the places that raise the same number.
    pub state: u8,
    /// The text, with its markers replaced.
    pub text: String,
    /// The line of the batch; 0 if there is none.
    pub line: u32,
}

impl Message {
    /// The message with this number, with its usual level and state. `args` replace the markers in order.
    /// A wrong number of arguments or an unknown number is a bug: debug builds assert, release
    /// builds print `(null)` for a missing argument and no text for an unknown number.
    pub fn new(number: u32, args: &[Arg]) -> Message {
        let (level, state, text) = match info(number) {
            Some(row) => {
                debug_assert_eq!(
                    format::arity(row.text),
                    Some(args.len()),
                    "arguments of {number}"
                );
                (row.level, row.state, format::fill(row.text, args))
            }
            None => {
                debug_assert!(false, "message {number} is in no table");
                (16, 1, String::new())
            }
        };
        Message {
            number,
            level,
            state,
            text,
            line: 0,
        }
    }

    /// A message that is in no table, such as a user's own.
    pub fn custom(number: u32, level: u8, state: u8, text: &str) -> Message {
        Message {
            number,
            level,
            state,
            text: text.to_owned(),
            line: 0,
        }
    }

    /// The message with another state.
    #[must_use]
    pub fn with_state(mut self, state: u8) -> Message {
        self.state = state;
        self
    }

    /// The message with a line of the batch.
    #[must_use]
    pub fn at_line(mut self, line: u32) -> Message {
        self.line = line;
        self
    }

    /// Whether it is an error; otherwise it is information.
    pub fn is_error(&self) -> bool {
        self.level > 10
    }

    /// Whether it ends the connection.
    pub fn is_fatal(&self) -> bool {
        self.level >= 20
    }

    /// The two lines of the error log: numbers first, then the text.
    pub fn log_lines(&self) -> [String; 2] {
        let head = format!(
            "Error: {}, Severity: {}, State: {}.",
            self.number, self.level, self.state
        );
        [head, self.text.clone()]
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_error() {
            write!(
                f,
                "Msg {}, Level {}, State {}",
                self.number, self.level, self.state
            )?;
            if self.line > 0 {
                write!(f, ", Line {}", self.line)?;
            }
            writeln!(f)?;
        }
        f.write_str(&self.text)
    }
}

impl std::error::Error for Message {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_unique_and_found_and_every_marker_is_known() {
        let rows = all();
        assert!(
            rows.windows(2).all(|pair| pair[0].number < pair[1].number),
            "a number is in two tables"
        );
        for table in TABLES {
            assert!(
                table.windows(2).all(|pair| pair[0].number < pair[1].number),
                "unsorted table"
            );
        }
        for row in rows {
            assert_eq!(info(row.number), Some(row));
            assert!(
                format::arity(row.text).is_some(),
                "marker of {}",
                row.number
            );
            assert!(
                row.level <= 25 && row.text.is_ascii() && !row.text.contains("..."),
                "{}",
                row.number
            );
            let in_columns = (7970..7980).contains(&row.number);
            // The lines of a text with several lines may be indented.
            let mut lines = row.text.lines().map(str::trim_start);
            let broken = lines.any(|line| line.contains("  ") && !line.starts_with("CPU time"));
            assert!(in_columns || !broken, "a broken line in {}", row.number);
        }
    }

    #[test]
    fn an_error_prints_its_header_and_information_only_its_text() {
        let error = Message::new(208, &[Arg::from("T")]).at_line(3);
        assert_eq!(
            error.to_string(),
            "Msg 208, Level 16, State 1, Line 3\nInvalid object name 'T'."
        );
        assert!(error.is_error() && !error.is_fatal());
        let done = Message::new(2528, &[]);
        assert_eq!(
            done.to_string(),
            "DBCC execution completed. If DBCC printed error messages, contact your system administrator."
        );
        assert_eq!(
            error.with_state(7).log_lines()[0],
            "Error: 208, Severity: 16, State: 7."
        );
    }

    #[test]
    fn message_824_reads_as_published() {
        let args = [
            Arg::from("incorrect checksum (expected: 0x0102; actual: 0x0304)"),
            Arg::from("read"),
            Arg::page(1, 153),
            Arg::from(9),
            Arg::from(153u64 * 8192),
            Arg::from("/data/Company.mdf"),
        ];
        let message = Message::new(824, &args);
        assert!(message.is_fatal());
        assert!(
            message.text.starts_with(
                "SQL Server detected a logical consistency-based I/O error: incorrect checksum \
                 (expected: 0x0102; actual: 0x0304). It occurred during a read of page (1:153) in \
                 database ID 9 at offset 0x00000000132000 in file '/data/Company.mdf'. Additional"
            ),
            "{}",
            message.text
        );
    }

    #[test]
    fn backup_and_checkdb_summaries_read_as_published() {
        let args = [
            "BACKUP DATABASE".into(),
            Arg::from(378u64),
            0.into(),
            29.into(),
            101.into(),
            832.into(),
        ];
        assert_eq!(
            Message::new(3014, &args).text,
            "BACKUP DATABASE successfully processed 378 pages in 0.029 seconds (101.832 MB/sec)."
        );
        let args = ["CHECKDB".into(), 0.into(), 0.into(), Arg::from("Company")];
        assert_eq!(
            Message::new(8989, &args).text,
            "CHECKDB found 0 allocation errors and 0 consistency errors in database 'Company'."
        );
        let args = ["repair_allow_data_loss", "CHECKDB", "Company", "", ""].map(Arg::from);
        assert_eq!(
            Message::new(8958, &args).text,
            "repair_allow_data_loss is the minimum repair level for the errors found by DBCC CHECKDB \
             (Company)."
        );
    }
}
