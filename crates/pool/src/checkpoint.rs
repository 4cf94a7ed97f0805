//! The pool's part of a checkpoint: every page dirty at the call is on the disk, durably, at the return.

use crate::core::Core;
use crate::error::PoolError;
use crate::pace::Pace;
use crate::write::{Busy, Outcome};
use furrow_format::{DatabaseId, Lsn, PAGE_SIZE};
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::time::Moment;
use furrow_observe::counters::Counter;

/// How to write a checkpoint.
#[derive(Debug, Clone, Copy, Default)]
pub struct CheckpointOptions {
    /// The fastest rate of writes, which leaves the devices to others; `None` for no limit.
    pub pages_per_second: Option<u32>,
}

/// What a checkpoint wrote.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckpointStats {
    /// Pages written in place.
    pub pages: u64,
    /// Writes they took: stretches of neighbours.
    pub runs: u64,
    /// Pages written to a double-write file before.
    pub double_written_pages: u64,
    /// Files synced.
    pub synced_files: u64,
    /// Time from the call to the return.
    pub elapsed_us: u64,
}

impl Core {
    pub(crate) fn checkpoint_pages(
        &self,
        db: DatabaseId,
        options: CheckpointOptions,
    ) -> Result<CheckpointStats, PoolError> {
        let start = Moment::now();
        self.registry.read().database(db)?;
        let pace = options.pages_per_second.map(Pace::new);
        let unsaved = self.frames_where(|key, frame| key.db == db && !frame.is_clean());
        let mut groups = self.by_file(&unsaved);
        // Files written to by the lazy writer alone must be synced as well.
        for file in self.registry.read().files_of(db) {
            if !groups.iter().any(|(other, _)| other.id == file.id) {
                groups.push((file, Vec::new()));
            }
        }
        let synced = AtomicU64::new(0);
        let Outcome { totals, error } = self.side_by_side(groups, |file, pages| {
            let mut outcome = self.write_file(file, pages, Busy::Wait, pace.as_ref());
            let bytes = outcome.totals.pages * PAGE_SIZE as u64;
            file.stats.add_checkpoint_bytes(bytes);
            if outcome.error.is_none() {
                match file.sync() {
                    Ok(done) => {
                        synced.fetch_add(u64::from(done), Ordering::Relaxed);
                    }
                    Err(error) => outcome.error = Some(error),
                }
            }
            outcome
        });
        self.counters.add(Counter::CheckpointPages, totals.pages);
        match error {
            Some(error) => Err(error),
            None => Ok(CheckpointStats {
                pages: totals.pages,
                runs: totals.runs,
                double_written_pages: totals.double_written,
                synced_files: synced.into_inner(),
                elapsed_us: start.elapsed_us(),
            }),
        }
    }

    pub(crate) fn oldest_rec_lsn(&self, db: DatabaseId) -> Option<Lsn> {
        let of_frame = |frame: &crate::frame::Frame| {
            let key = frame.key()?;
            if key.db == db {
                frame.oldest_lsn()
            } else {
                None
            }
        };
        let in_memory = self.frames.iter().filter_map(of_frame).min();
        // Frames first, files second: the LSN of a page being written moves from its frame to its file.
        let files = self.registry.read().files_of(db);
        let unsynced = files.iter().map(|file| file.oldest_unsynced()).min();
        let oldest = in_memory.into_iter().chain(unsynced).min()?;
        (oldest < Lsn::MAX).then_some(oldest)
    }
}
