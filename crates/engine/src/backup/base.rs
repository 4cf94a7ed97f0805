//! The base of differential backups: the last full backup that is not COPY_ONLY.
//!
//! # Rules
//! 1. The boot page names the base: its set and its checkpoint. The changed-extent maps have every
//!    extent that was changed by a record behind the base's redo point
//!    ([`furrow_txn::ChangedExtents`]).
//! 2. A full backup begins a new base before its checkpoint. The new base counts when the backup is whole on
//!    its media: the boot page is written durably, then the maps lose the bits from before the base. A crash
//!    between the two leaves too many bits. A backup that fails leaves the old base ([`NewBase`]).
//! 3. A differential backup copies the allocated extents that are in the maps behind its own checkpoint. What
//!    is not in the maps is in the base, as it was at the checkpoint's redo point.
//! 4. The first extent of each map interval is copied in any case: it has the header of the file and the
//!    maps, which change without records of the log. So is all of a file that was added since the base.
//! 5. A restored database has the base that it was restored from. COPY_ONLY leaves it without one.

use crate::EngineError;
use crate::database::Database;
use furrow_format::{Bitmap, EXTENT_PAGES, FileHeader, FileId, Lsn, PageId, PageNo, dcm_page_of};
use furrow_io::mutation::{Mutation, mutated};
use furrow_pool::LatchRank;
use furrow_recovery::restart_changed;
use std::sync::Arc;

/// A base that does not count yet. Dropped, it never will.
#[derive(Debug)]
pub(super) struct NewBase {
    db: Arc<Database>,
    settled: bool,
}

impl NewBase {
    /// Changes from here on count for the base.
    pub(super) fn begin(db: &Arc<Database>) -> NewBase {
        db.store.changed.begin_base();
        NewBase {
            db: Arc::clone(db),
            settled: false,
        }
    }

    /// The boot page names the base, durably: the maps lose what was before it.
    pub(super) fn settle(mut self) -> Result<(), EngineError> {
        self.settled = true;
        let files = self.db.file_list()?;
        let data = files.iter().filter(|f| f.filegroup != 0);
        let sizes: Vec<(FileId, u32)> = data
            .map(|f| (f.id, u32::try_from(f.size_pages).unwrap_or(u32::MAX)))
            .collect();
        Ok(restart_changed(&self.db.store, &sizes)?)
    }
}

impl Drop for NewBase {
    fn drop(&mut self) {
        if !self.settled {
            self.db.store.changed.abandon_base();
        }
    }
}

impl Database {
    /// The extents of `runs` that have changed since the base with this checkpoint. `start` is the first page
    /// of an interval of a file of `size_pages`.
    pub(super) fn changed_runs(
        &self,
        (start, size_pages): (PageId, u32),
        base: Lsn,
        runs: &[(PageNo, u32)],
    ) -> Result<Vec<(PageNo, u32)>, EngineError> {
        if self.is_younger(start.file, base)? {
            return Ok(runs.to_vec());
        }
        let id = PageId {
            page: dcm_page_of(start.page),
            ..start
        };
        let bytes = self.changed_page(id)?;
        let map = bytes.as_deref().and_then(Bitmap::new);
        let first_extent = start.page.0 / EXTENT_PAGES;
        let changed = |extent: u32| {
            let at = extent - first_extent;
            let on_page = map.as_ref().map_or(0, |map| map.word(at / 64));
            let word = on_page | self.store.changed.word(id, at as usize / 64);
            let forgotten = at % 5 == 1 && mutated(Mutation::ForgetDifferentialBit);
            at == 0 || (word & 1 << (at % 64) != 0 && !forgotten)
        };
        let mut kept: Vec<(PageNo, u32)> = Vec::new();
        for &(first, pages) in runs {
            let extents = first.0 / EXTENT_PAGES..(first.0 + pages).div_ceil(EXTENT_PAGES);
            for extent in extents.filter(|&extent| changed(extent)) {
                let page = extent * EXTENT_PAGES;
                let pages = EXTENT_PAGES.min(size_pages - page);
                match kept.last_mut() {
                    Some((from, count)) if from.0 + *count == page => *count += pages,
                    _ => kept.push((PageNo(page), pages)),
                }
            }
        }
        Ok(kept)
    }

    /// Whether a file was added since the base.
    fn is_younger(&self, file: FileId, base: Lsn) -> Result<bool, EngineError> {
        Ok(self.file_origin(file)?.created > base)
    }

    /// How a data file came to be, as its header says.
    pub(super) fn file_origin(&self, file: FileId) -> Result<FileOrigin, EngineError> {
        let page = PageNo(0);
        let page = self
            .store
            .read(PageId { file, page }, LatchRank::FileHeader)?;
        let header = FileHeader::decode(&page).map_err(|e| EngineError::Damaged(e.to_string()))?;
        Ok(FileOrigin {
            created: header.first_lsn,
            size_pages: header.min_size_pages,
        })
    }
}

/// How a data file came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileOrigin {
    /// Where the log was.
    pub(super) created: Lsn,
    /// The size it was made with.
    pub(super) size_pages: u32,
}
