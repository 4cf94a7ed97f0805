//! The pages of a database at one LSN.

use super::images::Images;
use super::sparse::{SparseFile, SparseFiles};
use super::store::{SpillFiles, SpillStore, Store};
use crate::bytes::page_lsn;
use crate::files::FileState;
use furrow_format::{
    Bitmap, DatabaseId, EXTENT_PAGES, FileHeader, FileId, GAM_INTERVAL, Lsn, PAGE_SIZE, Page,
    PageBuf, PageId, PageNo, PageVerify, gam_page_of,
};
use furrow_io::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use furrow_io::sync::{Mutex, RwLock};
use furrow_io::{AlignedBuf, IoError, IoErrorKind, IoOp};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The files of a snapshot.
#[derive(Debug)]
pub enum SnapshotFiles {
    /// Spill files, for what memory has no space for. They are removed when the snapshot ends.
    Spill(Box<dyn SpillFiles>),
    /// Sparse files: they hold every image, durably, and outlive the process.
    Sparse(SparseFiles),
}

/// How a snapshot is kept.
#[derive(Debug)]
pub struct SnapshotOptions {
    /// Bytes of images in memory; more go to the files. A transaction can exceed it by what it changes
    /// between two reservations of log space.
    pub memory_bytes: u64,
    /// The files.
    pub files: SnapshotFiles,
}

/// A data file as of the split.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// The file in the pool; none yet of a snapshot that is opened before its source.
    pub(crate) state: OnceLock<Arc<FileState>>,
    /// Whole pages of the file right after the split: no fewer than it had at the split.
    pub(crate) pages: u32,
    /// Pages that the file's header gives it at the split.
    pub(crate) size: OnceLock<u32>,
    /// GAM pages as of the split, by interval.
    pub(crate) free: OnceLock<GamPages>,
    /// The same after the snapshot's own recovery, of one that is whole.
    pub(crate) settled: OnceLock<GamPages>,
}

/// GAM pages by interval; `None` where one is damaged.
pub(crate) type GamPages = Vec<Option<Box<PageBuf>>>;

fn is_free(maps: &GamPages, page: PageNo) -> bool {
    let map = maps.get((page.0 / GAM_INTERVAL) as usize);
    let map = map.and_then(|map| Bitmap::new(map.as_deref()?));
    map.is_some_and(|map| map.get(page.0 % GAM_INTERVAL / EXTENT_PAGES))
}

impl SourceFile {
    /// Whether the page was in no extent in use at the split.
    pub(crate) fn was_free(&self, page: PageNo) -> bool {
        let maps = self.settled.get().or_else(|| self.free.get());
        maps.is_some_and(|maps| is_free(maps, page))
    }
}

/// The pages of a database at one LSN.
#[derive(Debug)]
pub struct PageSnapshot {
    pub(crate) db: DatabaseId,
    /// The split; 0 until it is known.
    pub(crate) split: AtomicU64,
    /// Held by the creator until the split is known.
    pub(crate) turn: Mutex<()>,
    pub(crate) files: OnceLock<BTreeMap<FileId, SourceFile>>,
    pub(crate) images: Images,
    memory_bytes: u64,
    pub(crate) store: Store,
    /// Whether each image is in the sparse files, and pages are copied there when they are written back.
    pub(crate) sealed: AtomicBool,
    /// Held shared while pages pass the gate.
    pub(crate) passing: RwLock<()>,
    pub(crate) failure: OnceLock<IoError>,
}

impl PageSnapshot {
    pub(crate) fn new(db: DatabaseId, options: SnapshotOptions) -> PageSnapshot {
        PageSnapshot {
            db,
            split: AtomicU64::new(0),
            turn: Mutex::new(()),
            files: OnceLock::new(),
            images: Images::new(),
            memory_bytes: options.memory_bytes,
            store: match options.files {
                SnapshotFiles::Spill(spill) => Store::Spill(SpillStore::new(spill)),
                SnapshotFiles::Sparse(sparse) => Store::Sparse(sparse),
            },
            sealed: AtomicBool::new(false),
            passing: RwLock::new(()),
            failure: OnceLock::new(),
        }
    }

    /// A whole snapshot, as its sparse files have it. Its source is not open yet.
    pub(crate) fn resumed(db: DatabaseId, sparse: SparseFiles) -> PageSnapshot {
        let all = || sparse.all().map(|(id, file)| (id, file.header()));
        let split = all().map(|(_, header)| header.split.0).max().unwrap_or(0);
        let sources = all().map(|(id, header)| (id, SourceFile::new(None, header.pages)));
        let files = OnceLock::from(sources.collect::<BTreeMap<_, _>>());
        debug_assert!(split > 0, "a whole snapshot has a split");
        debug_assert!(
            all().all(|(_, header)| header.split.0 == split),
            "the files of a snapshot have one split"
        );
        let images = all().map(|(id, _)| sparse.file(id).map_or(0, SparseFile::count));
        let images: u64 = images.sum();
        let resumed = PageSnapshot {
            files,
            split: AtomicU64::new(split.max(1)),
            sealed: AtomicBool::new(true),
            ..PageSnapshot::new(
                db,
                SnapshotOptions {
                    memory_bytes: 0,
                    files: SnapshotFiles::Sparse(sparse),
                },
            )
        };
        resumed.images.stored(images);
        resumed
    }

    /// Changes whose records lie before this LSN belong to the snapshot.
    pub fn split(&self) -> Lsn {
        loop {
            match self.split.load(Ordering::Acquire) {
                0 => drop(self.turn.lock()),
                split => return Lsn(split),
            }
        }
    }

    /// The database it is of.
    pub fn database(&self) -> DatabaseId {
        self.db
    }

    /// Images taken so far.
    pub fn images(&self) -> u64 {
        self.images.count()
    }

    /// Bytes of images in memory.
    pub fn memory_bytes(&self) -> u64 {
        self.images.memory_bytes()
    }

    /// Why it can no longer be read.
    pub fn failure(&self) -> Option<&IoError> {
        self.failure.get()
    }

    /// The data files, with their sizes in pages as of the split.
    pub fn files(&self) -> Vec<(FileId, u32)> {
        let files = self.files.get().into_iter().flatten();
        let sized = |(&id, file): (&FileId, &SourceFile)| {
            let size = file.size.get().copied().unwrap_or(file.pages);
            (id, size.min(file.pages))
        };
        files.map(sized).collect()
    }

    /// The path of a data file; of a snapshot that outlives the process, that of its sparse file.
    pub fn path(&self, file: FileId) -> Option<&Path> {
        match self.store.sparse() {
            Some(sparse) => Some(sparse.file(file)?.path()),
            None => Some(self.source(file)?.state.get()?.file.path()),
        }
    }

    /// Of a snapshot with sparse files: the binding of the database that they are of.
    pub fn source_binding(&self) -> Option<[u8; 16]> {
        let first = self.store.sparse()?.all().next();
        first.map(|(_, file)| file.header().source)
    }

    /// The sparse files, once they hold every image.
    pub(crate) fn sealed(&self) -> Option<&SparseFiles> {
        let sealed = self.sealed.load(Ordering::Acquire);
        self.store.sparse().filter(|_| sealed)
    }

    pub(crate) fn source(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get()?.get(&file)
    }

    pub(crate) fn fail(&self, error: &IoError) {
        tracing::warn!(database = self.db.0, %error, "a page snapshot has failed");
        if self.failure.set(error.clone()).is_ok()
            && let Some(sparse) = self.store.sparse()
        {
            sparse.fail(error);
        }
    }

    /// An error when the snapshot has failed.
    pub(crate) fn check(&self) -> Result<(), IoError> {
        self.failure.get().map_or(Ok(()), |e| Err(e.clone()))
    }

    /// Takes the image of a page that is about to change; `bytes` is the page as it is now. A snapshot whose
    /// files hold every image copies pages when they are written back instead: see [`super::gate`].
    pub(crate) fn keep(&self, page: PageId, bytes: &PageBuf) {
        let covers = |file: &SourceFile| file.covers(page.page);
        if self.sealed().is_none()
            && self.failure.get().is_none()
            && self.source(page.file).is_some_and(covers)
        {
            self.images.keep(page, bytes);
        }
    }

    /// Reads pages as of the split.
    pub fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), IoError> {
        self.check()?;
        let missing = || {
            let path = Path::new("snapshot");
            IoError::new(IoOp::Read, path, 0, IoErrorKind::NotFound)
        };
        let source = self.source(file).ok_or_else(missing)?;
        let mut page = PageId { file, page: first };
        let numbers = (first.0..).take(into.len()).map(PageNo);
        let copied = |sparse: &SparseFiles| {
            let mut pages = numbers.map(|page| PageId { file, page });
            pages.all(|page| sparse.has(page))
        };
        let whole = match self.sealed().is_some_and(copied) {
            // An image stays what it is.
            true => Ok(()),
            false => source.read(first, into),
        };
        for bytes in into.iter_mut() {
            let mut overlaid = self.overlay(source, page, bytes)?;
            if !overlaid && self.sealed().is_some() && source.was_free(page.page) {
                // What lies there now is not the snapshot's.
                bytes.fill(0);
                overlaid = true;
            }
            if !overlaid && whole.is_err() {
                // A page that cannot be read must not hide its neighbours.
                source.read(page.page, std::slice::from_mut(bytes))?;
                overlaid = self.overlay(source, page, bytes)?;
            }
            if !overlaid {
                self.prove_old(page, bytes)?;
            }
            page.page.0 += 1;
        }
        // An image that was lost in between is no image.
        self.check()
    }

    /// Fails the snapshot where a page without an image was changed behind the split: its files were changed
    /// by something that did not maintain the snapshot.
    pub(super) fn prove_old(&self, page: PageId, bytes: &PageBuf) -> Result<(), IoError> {
        let sealed = self.sealed().is_some();
        let view = Page::new(bytes);
        if !sealed || view.page_id() != page || page_lsn(bytes) < self.split() {
            return Ok(());
        }
        let what = format!("page {page} has changed, and the snapshot has no image of it");
        let path = self.path(page.file).unwrap_or(Path::new("snapshot"));
        let kind = IoErrorKind::Os(0, what);
        let offset = u64::from(page.page.0) * PAGE_SIZE as u64;
        self.fail(&IoError::new(IoOp::Read, path, offset, kind));
        self.check()
    }

    /// Replaces what was read from the data file by the page's image, if it has one; whether it has.
    fn overlay(
        &self,
        source: &SourceFile,
        page: PageId,
        into: &mut PageBuf,
    ) -> Result<bool, IoError> {
        if let Some(sparse) = self.sealed() {
            if !sparse.has(page) {
                return Ok(false);
            }
            let read = sparse.read(page, into).map(|()| true);
            return read.inspect_err(|error| self.fail(error));
        }
        let how = (source.verify(), self.store.images());
        self.images
            .read(page, into, how)
            .inspect_err(|error| self.fail(error))
    }

    /// Takes a page that the snapshot's own recovery has changed.
    pub(crate) fn write_own(&self, page: PageId, bytes: &PageBuf) {
        debug_assert!(self.sealed().is_none(), "a whole snapshot never changes");
        self.images.replace(page, bytes);
    }

    /// Brings images to the files until half of the memory is free. Does nothing where another thread does
    /// it already.
    pub(crate) fn spill(&self) {
        if self.images.memory_bytes() <= self.memory_bytes || self.failure.get().is_some() {
            return;
        }
        if let Err(error) = self.spill_to(self.memory_bytes / 2, false) {
            self.fail(&error);
        }
    }

    /// Brings images to the files until at most `goal` bytes of them are in memory.
    pub(crate) fn spill_to(&self, goal: u64, wait: bool) -> Result<(), IoError> {
        let verify = |file: FileId| {
            let source = self.source(file);
            source.map_or_else(Default::default, SourceFile::verify)
        };
        let store = self.store.images();
        self.images.spill(goal, (store, wait), &verify)
    }

    /// Copies a page from the data file that is about to be overwritten there or cut off.
    pub(crate) fn rescue(&self, source: &SourceFile, page: PageId) {
        let mut buffer = AlignedBuf::new(PAGE_SIZE);
        match source.read_into(page.page, &mut buffer) {
            Ok(()) => {
                if let Some(bytes) = buffer.first_chunk() {
                    self.images.fill(page, bytes);
                }
            }
            Err(error) => self.fail(&error),
        }
    }

    /// Reads how large the files were, and which extents of them were free.
    pub(crate) fn learn_sizes(&self) -> Result<(), IoError> {
        for (&id, source) in self.files.get().into_iter().flatten() {
            self.learn_size(id, source)?;
        }
        self.check()
    }

    /// Reads how large one file was, and which of its extents were free.
    pub(crate) fn learn_size(&self, id: FileId, source: &SourceFile) -> Result<(), IoError> {
        let mut page = vec![[0; PAGE_SIZE]];
        self.read(id, PageNo(0), &mut page)?;
        let size = page.first().and_then(|page| FileHeader::decode(page).ok());
        let size = size.map_or(source.pages, |header| header.size_pages);
        let _set = source.size.set(size);
        let _set = source.free.set(self.gam_pages(id, source, size));
        Ok(())
    }

    fn gam_pages(&self, id: FileId, source: &SourceFile, size: u32) -> GamPages {
        let mut page = vec![[0; PAGE_SIZE]];
        let mut maps = Vec::new();
        for start in (0..size.min(source.pages)).step_by(GAM_INTERVAL as usize) {
            let at = gam_page_of(PageNo(start));
            let sound = self.read(id, at, &mut page).is_ok();
            let whole = page.first().filter(|page| {
                let id = PageId { file: id, page: at };
                sound && furrow_format::verify(page, id).is_ok()
            });
            maps.push(whole.map(|page| Box::new(*page)));
        }
        maps
    }

    /// Takes the allocation maps after the snapshot's own recovery as those of the snapshot. Where it has
    /// taken an extent into use that was free at the split, pages get empty images: the data file may hold
    /// anything there.
    pub(crate) fn settle_maps(&self) {
        debug_assert!(self.sealed().is_none(), "a whole snapshot never changes");
        for (&file, source) in self.files.get().into_iter().flatten() {
            let size = source.size.get().copied().unwrap_or(source.pages);
            let maps = self.gam_pages(file, source, size);
            let end = size.min(source.pages);
            for first in (0..end).step_by(EXTENT_PAGES as usize) {
                if !source.was_free(PageNo(first)) || is_free(&maps, PageNo(first)) {
                    continue;
                }
                for page in (first..end.min(first + EXTENT_PAGES)).map(PageNo) {
                    let id = PageId { file, page };
                    if !self.images.has(id) {
                        self.images.replace(id, &[0; PAGE_SIZE]);
                    }
                }
            }
            let _set = source.settled.set(maps);
        }
    }
}

impl SourceFile {
    pub(crate) fn new(state: Option<Arc<FileState>>, pages: u32) -> SourceFile {
        let bound = OnceLock::new();
        if let Some(state) = state {
            let _set = bound.set(state);
        }
        SourceFile {
            state: bound,
            pages,
            size: OnceLock::new(),
            free: OnceLock::new(),
            settled: OnceLock::new(),
        }
    }

    /// Whether the snapshot has the page, and it was in an extent in use.
    pub(crate) fn covers(&self, page: PageNo) -> bool {
        page.0 < self.pages && !self.was_free(page)
    }

    fn verify(&self) -> PageVerify {
        let state = self.state.get();
        state.map_or_else(Default::default, |state| state.db.verify())
    }

    pub(crate) fn read(&self, first: PageNo, into: &mut [PageBuf]) -> Result<(), IoError> {
        self.read_into(first, into.as_flattened_mut())
    }

    pub(crate) fn read_into(&self, first: PageNo, into: &mut [u8]) -> Result<(), IoError> {
        let missing = || IoError::new(IoOp::Read, Path::new("source"), 0, IoErrorKind::NotFound);
        let state = self.state.get().ok_or_else(missing)?;
        let offset = u64::from(first.0) * PAGE_SIZE as u64;
        let timer = state
            .stats
            .begin(furrow_observe::files::IoKind::Read, offset);
        state.file.read_at(offset, into)?;
        timer.finish(into.len() as u64);
        Ok(())
    }
}
