//! The error log: messages of the instance for its administrator, in files that are cycled.
//!
//! The current file is `ERRORLOG`, older ones are `ERRORLOG.1` to `ERRORLOG.6`. A line is
//! `2016-10-04 11:38:33.83 spid56      text`: UTC time to the hundredth, a blank, the source padded to
//! twelve columns, the text. Files are UTF-8 without a mark, so that every text tool reads them;
//! [`Encoding::Utf16`] writes what tools of SQL Server expect.
//!
//! # Invariants
//! 1. [`ErrorLog::write`] touches memory only: it may be called under a latch, in the middle of a commit,
//!    with a full disk. [`ErrorLog::flush`], by hand or by the [`Writer`], brings lines to the file.
//! 2. A line is on disk after the `flush` that follows it. A failed flush keeps its lines for the next one.
//!    When too many wait, the oldest are dropped and a line reports their number.
//! 3. A text with line breaks becomes several lines, each with its own prefix: no name that a user chose
//!    can forge a line of another source.
//!
//! # Cycling
//! The volume cannot rename, so files are copied, oldest first: `.5` to `.6` ... `ERRORLOG` to `.1`; then
//! `ERRORLOG` is emptied. A crash in between leaves a file twice, never none.

mod file;
mod line;
mod log;
mod writer;

pub use line::{Entry, Source};
pub use log::{ErrorLog, Search};
pub use writer::Writer;

/// How the files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// UTF-8 without a mark.
    #[default]
    Utf8,
    /// UTF-16, little-endian, with a mark.
    Utf16,
}

/// How an error log is written.
#[derive(Debug, Clone)]
pub struct Options {
    /// How many older files there are at most.
    pub archives: usize,
    /// How files are written.
    pub encoding: Encoding,
    /// How many lines stay in memory for [`ErrorLog::tail`].
    pub tail_lines: usize,
    /// What every file begins with: product and version, machine, process.
    pub banner: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            archives: 6,
            encoding: Encoding::Utf8,
            tail_lines: 2000,
            banner: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
