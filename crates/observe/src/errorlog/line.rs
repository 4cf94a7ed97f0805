//! A line of the error log.

use furrow_io::time::{Civil, WallTime};
use std::fmt;

/// What writes a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The instance itself.
    Server,
    /// A session of a user.
    Spid(i32),
    /// A system session.
    SystemSpid(i32),
    /// Backup and restore.
    Backup,
    /// Logins.
    Logon,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Server => f.write_str("Server"),
            Source::Spid(id) => write!(f, "spid{id}"),
            Source::SystemSpid(id) => write!(f, "spid{id}s"),
            Source::Backup => f.write_str("Backup"),
            Source::Logon => f.write_str("Logon"),
        }
    }
}

/// A line of the error log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// When it was written, UTC.
    pub at: WallTime,
    /// What wrote it.
    pub source: String,
    /// The text.
    pub text: String,
}

/// Columns of a time stamp.
const STAMP: usize = 22;
/// Columns that a source is padded to.
const SOURCE: usize = 12;

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.source.len() < SOURCE { "" } else { " " };
        write!(f, "{} {:<SOURCE$}{gap}{}", self.at, self.source, self.text)
    }
}

impl Entry {
    /// The entries of one text: a line break begins a new one. Returns carriages are left out.
    pub(super) fn split(at: WallTime, source: Source, text: &str) -> impl Iterator<Item = Entry> {
        text.split('\n').map(move |line| Entry {
            at,
            source: source.to_string(),
            text: line.replace('\r', ""),
        })
    }

    /// Reads a line back; `None` where it has no time stamp and no source.
    pub(super) fn parse(line: &str) -> Option<Entry> {
        let at = parse_stamp(line.get(..STAMP)?)?;
        let rest = line.get(STAMP..)?.strip_prefix(' ')?;
        let source = rest.split(' ').next().filter(|source| !source.is_empty())?;
        let skip = if source.len() < SOURCE {
            SOURCE
        } else {
            source.len() + 1
        };
        let text = rest.get(skip..)?;
        Some(Entry {
            at,
            source: source.to_owned(),
            text: text.to_owned(),
        })
    }
}

fn parse_stamp(stamp: &str) -> Option<WallTime> {
    let field = |from: usize, to: usize| -> Option<u32> { stamp.get(from..to)?.parse().ok() };
    let marks = [
        (4, "-"),
        (7, "-"),
        (10, " "),
        (13, ":"),
        (16, ":"),
        (19, "."),
    ];
    if !marks
        .iter()
        .all(|(at, mark)| stamp.get(*at..*at + 1) == Some(mark))
    {
        return None;
    }
    Some(WallTime::from_civil(Civil {
        year: i64::from(field(0, 4)?),
        month: field(5, 7)?,
        day: field(8, 10)?,
        hour: field(11, 13)?,
        minute: field(14, 16)?,
        second: field(17, 19)?,
        microsecond: field(20, 22)? * 10_000,
    }))
}
