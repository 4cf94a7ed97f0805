//! The consistency check of an open database, on a snapshot of its pages.
//!
//! # Steps
//! 1. [`snapshot`] takes a page snapshot and recovers it: what was not committed at the split is rolled back
//!    on the snapshot's own pages. So a row and its index rows agree, whatever writers do meanwhile.
//! 2. `furrow_check` checks the snapshot. It reads the data files front to back, past the buffer pool.
//! 3. The snapshot ends. A clean check of a whole database is noted on the boot page.
//!
//! A read-only database has no writers: its files are checked as they are.
//!
//! # What can fail
//! The snapshot (the disk is full, the log is full), the check itself ([`CheckError`]), or the caller ends
//! it. Damage is no failure.

mod finish;
mod journal;
mod journal_file;
mod known_good;
mod known_pages;
mod snapshot;
mod spill;

pub(crate) use finish::{Leftover, finish_repair};
pub(crate) use journal_file::Journal;
pub(crate) use known_pages::{Locked, LogAfter, Paths};
pub use snapshot::SnapshotInfo;
pub(crate) use snapshot::{hidden_number, split};
pub(crate) use spill::remove_leftovers;

use crate::database::Database;
use furrow_check::{CheckError, Listener, Options, Report, Scratch};
use furrow_datafile::{DataFiles, PageSource};
use furrow_io::time::{Duration, Moment};
use furrow_io::{Access, Open};
use furrow_messages::Message;
use furrow_tables::{DatabaseState, EngineError};
use snapshot::InternalSnapshot;
use std::sync::Arc;

/// Of the memory of a check, its snapshot's images take one in so many.
const IMAGES_SHARE: u64 = 4;

/// A check that came to its end.
#[derive(Debug)]
pub struct Checked {
    /// What it found.
    pub report: Report,
    /// The snapshot that it read; none for a read-only database.
    pub snapshot: Option<SnapshotInfo>,
    /// How long it took, snapshot included.
    pub elapsed: Duration,
}

impl Database {
    /// Checks the database as it is now, while others work in it. `listener` receives progress from several
    /// threads, and can end the check.
    pub fn check_consistency(
        self: &Arc<Database>,
        options: Options,
        listener: Listener<'_>,
    ) -> Result<Checked, EngineError> {
        self.check_consistency_within(options, (None, listener))
    }

    /// As [`Database::check_consistency`]; facts that exceed the memory of the options go to a scratch file.
    pub fn check_consistency_within(
        self: &Arc<Database>,
        options: Options,
        (scratch, listener): (Option<&Scratch>, Listener<'_>),
    ) -> Result<Checked, EngineError> {
        // While it runs, the database is not closed, dropped or repaired (3702).
        let _open = self.keep_open()?;
        let begun = Moment::now();
        let _entered = self.shared.enter();
        let options = Options {
            // Counts in the catalog of an open database lag behind.
            counts: false,
            at_rest: true,
            partial: !self.files.absent().is_empty(),
            ..options
        };
        if self.is_read_only() {
            let mut files = DataFiles::new();
            for entry in self.files.files() {
                // EMERGENCY reads damaged headers as computed: checked is what the disk has.
                let file = match self.state() {
                    DatabaseState::Emergency => {
                        let volume = &self.shared.volume;
                        volume.open(&entry.path, Open::ReadOnly, Access::Data)?
                    }
                    _ => entry.file,
                };
                let id = files.add(file).map_err(CheckError::from);
                let id = id.map_err(|error| self.unchecked(&error))?;
                files.limit(id, self.file_size_pages(id));
            }
            let report = self.checked(&files, &options, (scratch, listener))?;
            return Ok(Checked {
                report,
                snapshot: None,
                elapsed: begun.elapsed(),
            });
        }
        let snapshot = InternalSnapshot::take(self, options.memory_bytes / IMAGES_SHARE)?;
        let report = self.checked(&snapshot, &options, (scratch, listener))?;
        // What was read of a snapshot that has failed since proves nothing.
        snapshot.still_sound()?;
        Ok(Checked {
            report,
            snapshot: Some(snapshot.info()),
            elapsed: begun.elapsed(),
        })
    }

    fn checked(
        &self,
        source: &dyn PageSource,
        options: &Options,
        (scratch, listener): (Option<&Scratch>, Listener<'_>),
    ) -> Result<Report, EngineError> {
        let report = furrow_check::check_within(source, options, (scratch, Some(listener)));
        report.map_err(|error| self.unchecked(&error))
    }

    /// Why the check could not be done, in SQL Server's words: 8921.
    fn unchecked(&self, error: &CheckError) -> EngineError {
        match error {
            CheckError::Cancelled => return EngineError::cancelled(),
            CheckError::Scratch(error) => return EngineError::Io(error.clone()),
            CheckError::ForeignFile { .. } => return EngineError::refused(5173, &[]),
            _ => {}
        }
        tracing::warn!(database = self.name, %error, "a consistency check could not be done");
        EngineError::of(Message::new(8921, &[]))
    }
}
