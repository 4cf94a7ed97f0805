//! The pool's calls to its snapshots: creation, page changes, write-back, files that become shorter or are
//! removed.

use crate::checkpoint::CheckpointOptions;
use crate::core::Core;
use crate::error::PoolError;
use crate::files::FileState;
use crate::guard::PageWrite;
use crate::mode::LatchMode;
use crate::pool::Pool;
use crate::snapshot::{PageSnapshot, SnapshotOptions, SourceFile, SparseFiles, Store};
use furrow_format::{DatabaseId, FileId, Lsn, PAGE_SIZE, PageId, PageNo};
use furrow_io::sync::atomic::{Ordering, fence};
use furrow_io::{IoError, IoErrorKind, IoOp};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

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

    /// Makes a snapshot with sparse files whole: they hold every image, durably, from here on. The
    /// snapshot's own recovery is done.
    pub fn seal(&self) -> Result<(), IoError> {
        crate::rank::assert_no_latches();
        self.snapshot
            .seal(|| drop(self.core.snapshots.list.write()))
    }

    /// Whether each of its files has a data file of the source.
    pub fn is_bound(&self) -> bool {
        let mut files = self.snapshot.files.get().into_iter().flatten();
        files.all(|(_, file)| file.state.get().is_some())
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.core.snapshots.withdraw(&self.snapshot);
        self.snapshot.images.end_spilling();
        if let Store::Spill(store) = &self.snapshot.store {
            store.spill.remove();
        }
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
            let _passing = snapshot.passing.read();
            if let Some(sparse) = snapshot.sealed() {
                snapshot.pass(sparse, (file.id, source), pages.clone());
                continue;
            }
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

    /// Binds the snapshots that were resumed to a data file that has joined the pool.
    pub(crate) fn bind_source(&self, file: &Arc<FileState>) {
        if !self.snapshots.any() {
            return;
        }
        for snapshot in self.snapshots.of(file.db.id) {
            let Some(source) = snapshot
                .source(file.id)
                .filter(|_| snapshot.sealed().is_some())
            else {
                continue;
            };
            if source.state.set(Arc::clone(file)).is_ok()
                && let Err(error) = snapshot.learn_size(file.id, source)
            {
                snapshot.fail(&error);
            }
        }
    }

    /// Ends the snapshots that need a file which is removed.
    pub(crate) fn forget_source(&self, db: DatabaseId, file: FileId) {
        for snapshot in self.snapshots.of(db) {
            if let Some(source) = snapshot.source(file) {
                let path = source.state.get().map(|state| state.file.path());
                let path = path.unwrap_or(Path::new("source"));
                snapshot.fail(&IoError::new(IoOp::Read, path, 0, IoErrorKind::NotFound));
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
                if let Some(sparse) = snapshot.store.sparse().and_then(|all| all.file(state.id)) {
                    sparse.place(pages, split);
                }
                files.insert(state.id, SourceFile::new(Some(Arc::clone(&state)), pages));
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

    /// Registers a whole snapshot of a database that is not open yet. It is bound to the data files as they
    /// are added to the pool.
    pub fn resume_snapshot(&self, db: DatabaseId, files: SparseFiles) -> SnapshotGuard {
        let core = self.core();
        let snapshot = Arc::new(PageSnapshot::resumed(db, files));
        core.snapshots.publish(&snapshot);
        SnapshotGuard {
            core: Arc::clone(core),
            snapshot,
        }
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
            if let Some(sparse) = snapshot.sealed() {
                let tail = (from.0..end.min(source.pages)).map(PageNo);
                snapshot.pass(sparse, (file, source), tail);
                continue;
            }
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
