//! The journal of an experiment: what was planned, done, created and removed, one JSON line an event.
//!
//! # Purpose
//! After Ctrl-C, a power cut or `kill -9` the experiment continues where it stopped, removes what the
//! interrupted run left behind and nothing else, and the report can describe what happened.
//!
//! # Invariants
//! 1. A line is durable before the act that it announces begins (`created` before the thing is created) or
//!    before the next one begins (all others).
//! 2. Lines are numbered without gaps. The last one may be torn, in several pieces even where its
//!    sectors were written out of order: it is then as if it had not been written. A damaged line
//!    before a whole one is an error, never skipped.
//! 3. The first event is the plan with its hash.
//! 4. While it is written, the file is padded to whole 4 KiB blocks with empty lines, so that every
//!    write is an aligned overwrite; readers skip empty lines. Closing cuts the padding off.
//!
//! # The states of a run
//! `planned -> setup -> measure -> collect -> verify -> teardown -> done | failed | interrupted`. A run
//! counts when its `run-end` records that; the figures are in its last `metric` line. After an interruption
//! in any state the run starts again from `planned`, under a higher attempt, once its leftovers are gone.
//!
//! # What can fail
//! [`JournalError`]: I/O, a damaged line, a plan that does not match its hash.

mod append;
mod clock;
mod event;
mod history;
mod log;

pub use append::AppendFile;
pub use clock::{Clock, ManualClock, SystemClock};
pub use event::{CeilingProbe, Event, Kind, Line, Outcome, State, Thing};
pub use furrow_io::{read_file, write_file};
pub(crate) use history::FAILED_IN_A_ROW;
pub use history::{History, RETRIES, RunHistory};
pub use log::Log;

use furrow_io::{IoError, IoErrorKind, Volume};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// The file's name in the output directory.
pub const FILE_NAME: &str = "journal.jsonl";

/// A journal that cannot be written, or that is not valid.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The file system refused an operation.
    #[error("the journal cannot be written or read: {0}")]
    Io(#[from] IoError),
    /// A line before the last is not an event, or its number is not the next one.
    #[error("line {line} of {} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Line number, from 1, empty lines not counted.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// The first event is not a plan, or the plan does not match its hash.
    #[error("{} does not begin with a plan that matches its hash", path.display())]
    NoPlan {
        /// The file.
        path: PathBuf,
    },
    /// Its path leads to it no more.
    #[error(
        "{} was deleted or replaced while the experiment ran: its figures are lost; begin again, and leave \
         the directory alone meanwhile",
        path.display()
    )]
    Gone {
        /// The file.
        path: PathBuf,
    },
    /// An event that has no JSON form: a number that is not finite, for instance.
    #[error("an event cannot be written as JSON: {0}")]
    Unwritable(String),
}

/// A journal open for appending.
#[derive(Debug)]
pub struct Journal {
    file: AppendFile,
    next: u64,
}

impl Journal {
    /// A new journal in `dir`; fails when one is there. One that was begun and never got its first
    /// line, because the process died, is taken over.
    pub fn create(volume: &Arc<dyn Volume>, dir: &Path) -> Result<Journal, JournalError> {
        let path = dir.join(FILE_NAME);
        match AppendFile::create(volume.as_ref(), &path) {
            Ok(file) => Ok(Journal { file, next: 1 }),
            Err(error) if error.kind == IoErrorKind::AlreadyExists => {
                let (mut file, bytes) = AppendFile::open(volume.as_ref(), &path)?;
                let (lines, _) = parse(&path, &bytes)?;
                let begun = lines.is_empty() && is_beginning(&bytes);
                if !begun {
                    return Err(error.into());
                }
                file.keep(&[])?;
                Ok(Journal { file, next: 1 })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the journal in `dir` behind its last whole line, and gives all events so far.
    pub fn open(
        volume: &Arc<dyn Volume>,
        dir: &Path,
    ) -> Result<(Journal, Vec<Line>), JournalError> {
        let path = dir.join(FILE_NAME);
        let (mut file, bytes) = AppendFile::open(volume.as_ref(), &path)?;
        let (lines, end) = parse(&path, &bytes)?;
        file.keep(&bytes[..end])?;
        let next = lines.last().map_or(1, |line| line.seq + 1);
        Ok((Journal { file, next }, lines))
    }

    /// Appends an event, durably, and gives it back.
    pub fn append(&mut self, at_us: i64, event: Event) -> Result<Event, JournalError> {
        let line = Line {
            seq: self.next,
            at_us,
            event,
        };
        let mut text = serde_json::to_string(&line)
            .map_err(|error| JournalError::Unwritable(error.to_string()))?;
        // A number that is not finite is written as null, and null does not read back: find out now,
        // not when the experiment is resumed.
        let back: Line = serde_json::from_str(&text)
            .map_err(|error| JournalError::Unwritable(error.to_string()))?;
        if back != line {
            let reason = "a number is not finite".to_string();
            return Err(JournalError::Unwritable(reason));
        }
        text.push('\n');
        self.file.append(text.as_bytes())?;
        self.next += 1;
        Ok(line.event)
    }

    /// An error when the file was deleted or replaced: what is appended to it then is lost.
    pub fn check_in_place(&self, volume: &dyn Volume) -> Result<(), JournalError> {
        if self.file.is_in_place(volume)? {
            return Ok(());
        }
        Err(JournalError::Gone {
            path: self.file.path().to_path_buf(),
        })
    }

    /// Cuts the padding off. More may be appended after.
    pub fn trim(&mut self) -> Result<(), JournalError> {
        Ok(self.file.trim()?)
    }
}

/// Whether this can be the torn first line of a journal, and nothing else.
fn is_beginning(bytes: &[u8]) -> bool {
    const FIRST: &[u8] = b"{\"seq\":1,";
    let text: Vec<u8> = bytes
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, 0 | b'\n'))
        .take(FIRST.len())
        .collect();
    FIRST.starts_with(&text)
}

/// Reads a journal without opening it for writing.
pub fn read(volume: &dyn Volume, dir: &Path) -> Result<Vec<Line>, JournalError> {
    let path = dir.join(FILE_NAME);
    let bytes = read_file(volume, &path)?;
    Ok(parse(&path, &bytes)?.0)
}

/// The events of a journal's bytes, and where the last whole line ends.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<Line>, usize), JournalError> {
    let is_blank = |line: &[u8]| line.iter().all(|byte| matches!(byte, 0 | b' ' | b'\r'));
    let damaged = |line: usize, reason: String| JournalError::Damaged {
        path: path.to_path_buf(),
        line,
        reason,
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut end = 0;
    let mut place = 0;
    let mut torn: Option<String> = None;
    for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
        place += piece.len();
        let (text, whole) = match piece.split_last() {
            Some((b'\n', text)) => (text, true),
            _ => (piece, false),
        };
        if is_blank(text) {
            continue;
        }
        match serde_json::from_slice::<Line>(text) {
            Ok(_) if !whole => {
                torn.get_or_insert("it has no end".to_string());
            }
            // An append is one line: behind a torn one there can be shreds, but no whole line.
            Ok(line) => {
                let expected = lines.len() as u64 + 1;
                let reason = match torn.take() {
                    None if line.seq == expected => None,
                    None => Some(format!("it carries number {}", line.seq)),
                    torn => torn,
                };
                if let Some(reason) = reason {
                    return Err(damaged(lines.len() + 1, reason));
                }
                lines.push(line);
                end = place;
            }
            Err(error) => {
                torn.get_or_insert(error.to_string());
            }
        }
    }
    Ok((lines, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::MemoryVolume;

    fn note(text: &str) -> Event {
        Event::Note {
            run: None,
            text: text.to_string(),
        }
    }

    fn volume() -> (Arc<dyn Volume>, PathBuf) {
        let volume: Arc<dyn Volume> = Arc::new(MemoryVolume::new());
        let dir = PathBuf::from("/out");
        volume.create_dir(&dir).unwrap();
        (volume, dir)
    }

    #[test]
    fn what_is_appended_is_read_and_appended_to() {
        let (volume, dir) = volume();
        let mut journal = Journal::create(&volume, &dir).unwrap();
        for i in 0..300 {
            journal
                .append(i, note(&"x".repeat(i as usize * 7)))
                .unwrap();
        }
        drop(journal);
        let (mut journal, lines) = Journal::open(&volume, &dir).unwrap();
        assert_eq!(lines.len(), 300);
        assert_eq!(lines[299].seq, 300);
        journal.append(300, note("more")).unwrap();
        journal.trim().unwrap();
        journal.append(301, note("and more")).unwrap();
        journal.trim().unwrap();
        drop(journal);
        let lines = read(volume.as_ref(), &dir).unwrap();
        assert_eq!(lines.len(), 302);
        assert_eq!(lines[301].event, note("and more"));
        let bytes = read_file(volume.as_ref(), &dir.join(FILE_NAME)).unwrap();
        assert!(bytes.ends_with(b"}\n") && !bytes.contains(&0));
        assert!(
            Journal::create(&volume, &dir).is_err(),
            "a journal must not be overwritten"
        );
    }

    #[test]
    fn a_journal_cut_at_any_byte_keeps_every_whole_line() {
        let (volume, dir) = volume();
        let mut journal = Journal::create(&volume, &dir).unwrap();
        for i in 0..5 {
            journal.append(i, note("some text")).unwrap();
        }
        journal.trim().unwrap();
        drop(journal);
        let path = dir.join(FILE_NAME);
        let bytes = read_file(volume.as_ref(), &path).unwrap();
        for cut in 0..=bytes.len() {
            let whole = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
            for padding in [&b""[..], b"\n\n\n", b"\0\0\0\0"] {
                let mut torn = bytes[..cut].to_vec();
                torn.extend_from_slice(padding);
                let other = PathBuf::from(format!("/out/{cut}-{}", padding.len()));
                volume.create_dir(&other).unwrap();
                let _ = volume.remove(&other.join(FILE_NAME));
                write_file(volume.as_ref(), &other.join(FILE_NAME), &torn).unwrap();
                let (mut journal, lines) = Journal::open(&volume, &other).unwrap();
                // A newline of the padding may complete a line that was cut right before its own.
                assert!(lines.len() == whole || lines.len() == whole + 1);
                journal.append(9, note("after")).unwrap();
                drop(journal);
                let again = read(volume.as_ref(), &other).unwrap();
                assert_eq!(again.len(), lines.len() + 1, "cut at {cut}");
            }
        }
    }

    #[test]
    fn damage_before_the_last_line_is_an_error() {
        let (volume, dir) = volume();
        let mut journal = Journal::create(&volume, &dir).unwrap();
        for i in 0..3 {
            journal.append(i, note("text")).unwrap();
        }
        journal.trim().unwrap();
        drop(journal);
        let path = dir.join(FILE_NAME);
        let bytes = read_file(volume.as_ref(), &path).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let second = text.find("\"seq\":2").unwrap();
        for (from, to) in [(second, second + 3), (second + 6, second + 7)] {
            let mut bad = text.clone().into_bytes();
            bad[from..to].fill(b'7');
            assert!(matches!(
                parse(&path, &bad),
                Err(JournalError::Damaged { line: 2, .. })
            ));
        }
    }

    #[test]
    fn a_number_that_is_not_finite_does_not_break_the_journal() {
        let (volume, dir) = volume();
        let mut journal = Journal::create(&volume, &dir).unwrap();
        let record = crate::results::Run {
            started_s: f64::NAN,
            ..Default::default()
        };
        let event = Event::Metric {
            run: 1,
            attempt: 1,
            record: Box::new(record),
        };
        assert!(matches!(
            journal.append(0, event),
            Err(JournalError::Unwritable(_))
        ));
        journal.append(0, note("still whole")).unwrap();
        drop(journal);
        assert_eq!(read(volume.as_ref(), &dir).unwrap().len(), 1);
    }
}
