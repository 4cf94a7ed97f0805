//! The pages of a database at one LSN.

use super::images::Images;
use crate::files::FileState;
use furrow_format::{
    Bitmap, DatabaseId, EXTENT_PAGES, FileHeader, FileId, GAM_INTERVAL, Lsn, PAGE_SIZE, PageBuf,
    PageId, PageNo, gam_page_of,
};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::{AlignedBuf, File, IoError, IoErrorKind, IoOp};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Where a snapshot puts images that its memory has no space for.
pub trait SpillFiles: Send + Sync + Debug {
    /// A new file for the images of one data file. A page lies at its place in the data file.
    fn open(&self, file: FileId) -> Result<Arc<dyn File>, IoError>;
    /// The snapshot has ended: nothing reads the files any more.
    fn remove(&self);
}

/// How a snapshot is kept.
#[derive(Debug)]
pub struct SnapshotOptions {
    /// Bytes of images in memory; more go to the spill files. A transaction can exceed it by what it
    /// changes between two reservations of log space.
    pub memory_bytes: u64,
    /// The spill files.
    pub spill: Box<dyn SpillFiles>,
}

/// A data file as of the split.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) state: Arc<FileState>,
    /// Whole pages of the file right after the split: no fewer than it had at the split.
    pub(crate) pages: u32,
    /// Pages that the file's header gives it at the split.
    pub(crate) size: OnceLock<u32>,
    /// GAM pages as of the split, by interval; `None` where one is damaged.
    pub(crate) free: OnceLock<Vec<Option<Box<PageBuf>>>>,
}

impl SourceFile {
    /// Whether the page was in no extent in use at the split.
    pub(crate) fn was_free(&self, page: PageNo) -> bool {
        let Some(maps) = self.free.get() else {
            return false;
        };
        let map = maps.get((page.0 / GAM_INTERVAL) as usize);
        let map = map.and_then(|map| Bitmap::new(map.as_deref()?));
        map.is_some_and(|map| map.get(page.0 % GAM_INTERVAL / EXTENT_PAGES))
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
    pub(crate) options: SnapshotOptions,
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
            options,
            failure: OnceLock::new(),
        }
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

    /// The path of a data file.
    pub fn path(&self, file: FileId) -> Option<&Path> {
        Some(self.source(file)?.state.file.path())
    }

    pub(crate) fn source(&self, file: FileId) -> Option<&SourceFile> {
        self.files.get()?.get(&file)
    }

    pub(crate) fn fail(&self, error: IoError) {
        tracing::warn!(database = self.db.0, %error, "a page snapshot has failed");
        let _first = self.failure.set(error);
    }

    /// Takes the image of a page that is about to change; `bytes` is the page as it is now.
    pub(crate) fn keep(&self, page: PageId, bytes: &PageBuf) {
        let covers = |file: &SourceFile| page.page.0 < file.pages && !file.was_free(page.page);
        if self.failure.get().is_none() && self.source(page.file).is_some_and(covers) {
            self.images.keep(page, bytes);
        }
    }

    /// Reads pages as of the split.
    pub fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), IoError> {
        if let Some(failure) = self.failure.get() {
            return Err(failure.clone());
        }
        let missing = || {
            let path = Path::new("snapshot");
            IoError::new(IoOp::Read, path, 0, IoErrorKind::NotFound)
        };
        let source = self.source(file).ok_or_else(missing)?;
        let whole = source.read(first, into);
        let mut page = PageId { file, page: first };
        for bytes in into.iter_mut() {
            let overlaid = self.overlay(source, page, bytes)?;
            if !overlaid && whole.is_err() {
                // A page that cannot be read must not hide its neighbours.
                source.read(page.page, std::slice::from_mut(bytes))?;
                self.overlay(source, page, bytes)?;
            }
            page.page.0 += 1;
        }
        // An image that was lost in between is no image.
        self.failure.get().map_or(Ok(()), |e| Err(e.clone()))
    }

    pub(crate) fn overlay(
        &self,
        source: &SourceFile,
        page: PageId,
        into: &mut PageBuf,
    ) -> Result<bool, IoError> {
        let verify = source.state.db.verify();
        self.images
            .read(page, into, verify)
            .inspect_err(|error| self.fail(error.clone()))
    }

    /// Takes a page that the snapshot's own recovery has changed.
    pub(crate) fn write_own(&self, page: PageId, bytes: &PageBuf) {
        self.images.replace(page, bytes);
    }

    /// Brings images to the spill files until half of the memory is free. Does nothing where another thread
    /// does it already.
    pub(crate) fn spill(&self) {
        if self.images.memory_bytes() <= self.options.memory_bytes || self.failure.get().is_some() {
            return;
        }
        let verify = |file: FileId| {
            let source = self.source(file);
            source.map_or_else(Default::default, |source| source.state.db.verify())
        };
        let open = |file| self.options.spill.open(file);
        let goal = self.options.memory_bytes / 2;
        if let Err(error) = self.images.spill(goal, &open, &verify) {
            self.fail(error);
        }
    }

    /// Copies pages from the data file that are about to be overwritten there or cut off.
    pub(crate) fn rescue(&self, source: &SourceFile, page: PageId) {
        let mut buffer = AlignedBuf::new(PAGE_SIZE);
        match source.read_into(page.page, &mut buffer) {
            Ok(()) => {
                if let Some(bytes) = buffer.first_chunk() {
                    self.images.fill(page, bytes);
                }
            }
            Err(error) => self.fail(error),
        }
    }

    /// Reads how large the files were, and which extents of them were free.
    pub(crate) fn learn_sizes(&self) -> Result<(), IoError> {
        for (&id, source) in self.files.get().into_iter().flatten() {
            let mut page = vec![[0; PAGE_SIZE]];
            self.read(id, PageNo(0), &mut page)?;
            let size = page.first().and_then(|page| FileHeader::decode(page).ok());
            let size = size.map_or(source.pages, |header| header.size_pages);
            let _set = source.size.set(size);
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
            let _set = source.free.set(maps);
        }
        self.failure.get().map_or(Ok(()), |e| Err(e.clone()))
    }
}

impl SourceFile {
    pub(crate) fn read(&self, first: PageNo, into: &mut [PageBuf]) -> Result<(), IoError> {
        self.read_into(first, into.as_flattened_mut())
    }

    fn read_into(&self, first: PageNo, into: &mut [u8]) -> Result<(), IoError> {
        let offset = u64::from(first.0) * PAGE_SIZE as u64;
        let timer = self
            .state
            .stats
            .begin(furrow_observe::files::IoKind::Read, offset);
        self.state.file.read_at(offset, into)?;
        timer.finish(into.len() as u64);
        Ok(())
    }
}
