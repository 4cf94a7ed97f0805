//! Why there is no chain: each text says what to do.

use crate::BackupError;
use furrow_format::Lsn;
use furrow_io::time::WallTime;
use std::path::{Path, PathBuf};

/// Why media do not give a chain.
#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    /// A file is no stripe, cannot be read, or does not belong to the others.
    #[error("{}", texts(.0, .1))]
    Media(#[source] Box<BackupError>, PathBuf),
    /// Stripes of a media set are missing.
    #[error("{}", missing(.0, *.1, .2))]
    MissingStripes(Vec<(u16, PathBuf)>, u16, Vec<u16>),
    /// There is no whole set on the media.
    #[error("there is no complete backup in these files")]
    Nothing,
    /// No database of this name.
    #[error("there is no backup of database {0} in these files, but of: {1}")]
    NoDatabase(String, String),
    /// Differential and log backups alone.
    #[error(
        "there is no full backup of database {database} in these files: name the files of the full backup \
         that was taken before {}, too{}", shown_time(*before_us), base(checkpoint)
    )]
    NoFull {
        /// The database.
        database: String,
        /// When the first of the others was taken.
        before_us: i64,
        /// Where the base of the differential backup has its checkpoint.
        checkpoint: Option<u64>,
    },
    /// Log between two sets is missing.
    #[error(
        "the log of database {database} from LSN {} to {} is missing, between {last} and {next}: name \
         the log backups taken between {} and {}, too, or leave out {next} and what was taken after it",
        shown_lsn(*from_lsn), shown_lsn(*to_lsn), shown_time(*from_us), shown_time(*to_us)
    )]
    Gap {
        /// The database.
        database: String,
        /// The set before the gap.
        last: String,
        /// The set behind it.
        next: String,
        /// The first log record that is missing.
        from_lsn: u64,
        /// The first log record that is there again.
        to_lsn: u64,
        /// When the set before the gap was done.
        from_us: i64,
        /// When the set behind it was begun.
        to_us: i64,
    },
}

fn texts(error: &BackupError, path: &Path) -> String {
    let messages = error.messages();
    let texts: Vec<String> = messages
        .iter()
        .map(|m| format!("Msg {}: {}", m.number, m.text))
        .collect();
    let text = match texts.is_empty() {
        true => error.to_string(),
        false => texts.join(" "),
    };
    let key = match messages.iter().any(|m| m.number == 33_111) {
        true => "; name the file of its key by --key",
        false => "",
    };
    let path = path.display().to_string();
    match text.contains(&path) {
        true => text,
        false => format!("{path}: {text}{key}"),
    }
}

fn base(checkpoint: &Option<u64>) -> String {
    let Some(lsn) = checkpoint else {
        return String::new();
    };
    format!(
        " (the differential backup is built on the one with CheckpointLSN {})",
        shown_lsn(*lsn)
    )
}

fn missing(have: &[(u16, PathBuf)], families: u16, missing: &[u16]) -> String {
    let named = |(family, path): &(u16, PathBuf)| format!("{} is stripe {family}", path.display());
    let have: Vec<String> = have.iter().map(named).collect();
    let numbers: Vec<String> = missing.iter().map(u16::to_string).collect();
    let (what, is) = match missing {
        [_] => ("stripe", "is"),
        _ => ("stripes", "are"),
    };
    format!(
        "the media set has {families} stripes, and {what} {} {is} missing ({}): name the files of \
         all stripes",
        numbers.join(", "),
        have.join(", "),
    )
}

/// An LSN as RESTORE HEADERONLY shows it.
pub(super) fn shown_lsn(lsn: u64) -> String {
    Lsn(lsn).to_numeric().to_string()
}

/// A time, to the second, UTC.
pub(super) fn shown_time(us: i64) -> String {
    let at = WallTime::from_unix_us(us).civil();
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        at.year, at.month, at.day, at.hour, at.minute, at.second
    )
}
