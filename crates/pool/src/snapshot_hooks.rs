//! The pool's calls to its snapshots: creation, page changes, write-back, files that become shorter or are
//! removed.

use crate::checkpoint::CheckpointOptions;
use crate::core::Core;
use crate::error::PoolError;
use crate::files::FileState;
use crate::guard::PageWrite;
use crate::mode::LatchMode;
use crate::pool::Pool;
use crate::snapshot::{PageSnapshot, SnapshotOptions, SourceFile};
use furrow_format::{DatabaseId, FileId, Lsn, PAGE_SIZE, PageId, PageNo};
use furrow_io::sync::atomic::{Ordering, fence};
use furrow_io::{IoError, IoErrorKind, IoOp};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// Pages of a tail that are saved between two checks of the memory that images take.
const SPILL_EVERY_PAGES: u32 = 64;

/// A snapshot in use. Dropped, the snapshot ends and its spill files are removed.
#[derive(Debug)]
pub struct SnapshotGuard {
    core: Arc<Core>,
    snapshot: Arc<PageSnapshot>,
}

impl SnapshotGuard {
    /// The snapshot.
    pub fn snapshot(&self) -> &Arc<PageSnapshot> {
        &self.snapshot
    }

    /// Moves images to the spill files if they take more memory than they may.
    pub fn spill(&self) {
        self.snapshot.spill();
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.core.snapshots.withdraw(&self.snapshot);
        self.snapshot.images.end_spilling();
        self.snapshot.options.spill.remove();
    }
}

impl Core {
    #[cold]
    fn preserve(&self, pages: &[PageWrite<'_>], lsn: Lsn) {
        let Some(db) = pages.first().map(|page| page.key().db) else {
            return;
        };
        let list = self.snapshots.list.read();
        for snapshot in list.iter().filter(|s| s.db == db && lsn >= s.split()) {
            for page in pages {
                debug_assert_eq!(
                    page.mode(),
                    LatchMode::Ex,
                    "a page changes without its latch"
                );
                snapshot.keep(page.key().page, page.page());
            }
        }
    }

    /// Copies from the file what snapshots need of pages that are about to be written there.
    pub(crate) fn rescue(&self, file: &FileState, pages: &(impl Iterator<Item = PageNo> + Clone)) {
        if !self.snapshots.any() {
            return;
        }
        for snapshot in self.snapshots.of(file.db.id) {
            let Some(source) = snapshot.source(file.id) else {
                continue;
            };
            for page in pages.clone() {
                let page = PageId {
                    file: file.id,
                    page,
                };
                if snapshot.images.is_on_disk(page) {
                    snapshot.rescue(source, page);
                }
            }
        }
    }

    /// Ends the snapshots that need a file which is removed.
    pub(crate) fn forget_source(&self, db: DatabaseId, file: FileId) {
        for snapshot in self.snapshots.of(db) {
            if let Some(source) = snapshot.source(file) {
                let path = source.state.file.path();
                snapshot.fail(IoError::new(IoOp::Read, path, 0, IoErrorKind::NotFound));
            }
        }
    }
}

impl Pool {
    /// Takes a snapshot of a database as of now. When it returns, all changes before the split are in the
    /// data files. No latch may be held, and no file may be made shorter meanwhile.
    pub fn snapshot(
        &self,
        db: DatabaseId,
        options: SnapshotOptions,
    ) -> Result<SnapshotGuard, PoolError> {
        crate::rank::assert_no_latches();
        let core = self.core();
        let log = Arc::clone(&core.registry.read().database(db)?.log);
        let snapshot = Arc::new(PageSnapshot::new(db, options));
        {
            let _turn = snapshot.turn.lock();
            core.snapshots.publish(&snapshot);
            fence(Ordering::SeqCst);
            // Files that are added later have no page of the snapshot. One that grows meanwhile is seen with
            // its new pages, which does no harm.
            let split = log.tail();
            let mut files = BTreeMap::new();
            for state in core.registry.read().files_of(db) {
                let bytes = state.file.len_bytes().unwrap_or(0);
                let pages = u32::try_from(bytes / PAGE_SIZE as u64).unwrap_or(u32::MAX);
                let file = SourceFile {
                    state: Arc::clone(&state),
                    pages,
                    size: OnceLock::new(),
                    free: OnceLock::new(),
                };
                files.insert(state.id, file);
            }
            let _set = snapshot.files.set(files);
            debug_assert!(split > Lsn::ZERO, "a log begins behind zero");
            snapshot.split.store(split.0, Ordering::Release);
        }
        let guard = SnapshotGuard {
            core: Arc::clone(core),
            snapshot,
        };
        core.checkpoint_pages(db, CheckpointOptions::default())?;
        let sized = guard.snapshot.learn_sizes();
        sized.map_err(|source| PoolError::Io {
            db,
            file: FileId(1),
            source,
        })?;
        Ok(guard)
    }

    /// Gives snapshots the pages that are about to be changed by the record at `lsn`, as they are before it;
    /// [`Lsn::MAX`] for a change that is not logged. To be called between the record's append and the first
    /// change of a page.
    #[inline]
    pub fn preserve(&self, pages: &[PageWrite<'_>], lsn: Lsn) {
        fence(Ordering::SeqCst);
        let core = self.core();
        if core.snapshots.any() {
            core.preserve(pages, lsn);
        }
    }

    /// Gives snapshots the pages of a file from `from` on, which is about to become that short. No latch may
    /// be held, and no snapshot be on its way.
    pub fn preserve_tail(&self, db: DatabaseId, file: FileId, from: PageNo) {
        let core = self.core();
        if !core.snapshots.any() {
            return;
        }
        for snapshot in core.snapshots.of(db) {
            let Some(source) = snapshot.source(file) else {
                continue;
            };
            let end = source.size.get().copied().unwrap_or(source.pages);
            for number in from.0..end.min(source.pages) {
                let page = PageId {
                    file,
                    page: PageNo(number),
                };
                if !source.was_free(page.page) && snapshot.images.note_on_disk(page) {
                    snapshot.rescue(source, page);
                }
                if number % SPILL_EVERY_PAGES == 0 {
                    snapshot.spill();
                }
            }
        }
    }

    /// Brings images of a database's snapshots to their files where they take too much memory. To be called
    /// before a thread takes its first latch.
    #[inline]
    pub fn spill_snapshots(&self, db: DatabaseId) {
        if self.core().snapshots.any() {
            self.core().spill_snapshots(db);
        }
    }
}

impl Core {
    #[cold]
    fn spill_snapshots(&self, db: DatabaseId) {
        for snapshot in self.snapshots.of(db) {
            snapshot.spill();
        }
    }
}
