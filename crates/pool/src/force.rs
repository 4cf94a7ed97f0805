//! Making chosen pages durable, for callers that have changed them past the log; and writing them early.
//!
//! 1. [`Core::force_pages`] finds the pages that are in memory and not yet written. A page that is not in
//!    memory has been written: its frame was reused only after that.
//! 2. Those are written, each file by its own writer, waiting for latches and for other writers.
//! 3. Every file that has some of the pages is synced, also where others wrote all of them.
//!
//! [`Core::write_soon`] gives pages to the lazy writer, which writes what is not in use: there is less to
//! wait for then when they are forced. It is a hint: nothing depends on it.

use crate::core::Core;
use crate::error::PoolError;
use crate::key::PageKey;
use crate::write::{Busy, Outcome};
use furrow_format::{DatabaseId, FileId, PageId, PageNo};
use furrow_io::mutation::{Mutation, mutated};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::collections::BTreeSet;

/// Pages one behind the other in a file: the first, and how many.
pub type PageRun = (PageId, u32);

impl Core {
    pub(crate) fn force_pages(&self, db: DatabaseId, runs: &[PageRun]) -> Result<u64, PoolError> {
        if mutated(Mutation::SkipForce) {
            return Ok(0);
        }
        let mut unsaved = Vec::new();
        for &(first, count) in runs {
            for number in first.page.0..first.page.0.saturating_add(count) {
                let page = PageId {
                    page: PageNo(number),
                    ..first
                };
                let found = self.table.find_surely(PageKey::new(db, page), &self.frames);
                unsaved.extend(found.filter(|&index| !self.frame(index).is_clean()));
            }
        }
        let mut groups = self.by_file(&unsaved);
        let files: BTreeSet<FileId> = runs.iter().map(|run| run.0.file).collect();
        // A frame may have got a page of another file since: the one that was looked for has been written.
        groups.retain(|(file, _)| files.contains(&file.id));
        for file in self.registry.read().files_of(db) {
            let there = groups.iter().any(|(other, _)| other.id == file.id);
            if files.contains(&file.id) && !there {
                groups.push((file, Vec::new()));
            }
        }
        if let Some(&file) =
            (files.iter()).find(|&&id| !groups.iter().any(|(file, _)| file.id == id))
        {
            return Err(PoolError::UnknownFile { db, file });
        }
        let _wait = task::wait(WaitType::WriteCompletion, Resource::None);
        let Outcome { totals, error } = self.side_by_side(groups, |file, pages| {
            let mut outcome = self.write_file(file, pages, Busy::Wait, None);
            if outcome.error.is_none() && !mutated(Mutation::UnsyncedForce) {
                outcome.error = file.sync().err();
            }
            outcome
        });
        error.map_or(Ok(totals.pages), Err)
    }

    /// Requests pages to be written by the lazy writer. Without threads of its own a pool does nothing.
    pub(crate) fn write_soon(&self, db: DatabaseId, pages: &[PageId]) {
        if self.config.background {
            let keys = pages.iter().map(|&page| PageKey::new(db, page));
            self.lazy.ask_for(keys);
        }
    }

    /// Writes the pages requested by [`Core::write_soon`]; returns the number written.
    pub(crate) fn write_asked(&self) -> u64 {
        let mut asked: Vec<u32> = Vec::new();
        for key in self.lazy.take_asked() {
            let found = self.table.find_surely(key, &self.frames);
            asked.extend(found.filter(|&index| self.frame(index).is_dirty()));
        }
        if asked.is_empty() {
            return 0;
        }
        // The file stores a failure, and returns it to the next caller that forces its pages.
        self.write_pages(&asked, Busy::Skip, None).totals.pages
    }
}
