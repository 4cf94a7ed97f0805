//! The files of a snapshot's images: spill files, or sparse files.

use super::sparse::SparseFiles;
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId, PageNo};
use furrow_io::sync::Mutex;
use furrow_io::{File, IoError, IoErrorKind, IoOp};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// Where a snapshot puts images that its memory has no space for.
pub trait SpillFiles: Send + Sync + Debug {
    /// A new file for the images of one data file. A page lies at its place in the data file.
    fn open(&self, file: FileId) -> Result<Arc<dyn File>, IoError>;
    /// The snapshot has ended: nothing reads the files any more.
    fn remove(&self);
}

/// Reads and writes images in files.
pub(crate) trait ImageStore {
    /// Writes images of one file, in the order of their pages, one behind the other in `bytes`.
    fn write(&self, file: FileId, pages: &[PageNo], bytes: &[u8]) -> Result<(), IoError>;
    /// Reads an image that was written.
    fn read(&self, page: PageId, into: &mut PageBuf) -> Result<(), IoError>;
}

/// The spill files of a snapshot, opened at the first image of their data file.
#[derive(Debug)]
pub(crate) struct SpillStore {
    pub(crate) spill: Box<dyn SpillFiles>,
    files: Mutex<BTreeMap<FileId, Arc<dyn File>>>,
}

impl SpillStore {
    pub(crate) fn new(spill: Box<dyn SpillFiles>) -> SpillStore {
        let files = Mutex::default();
        SpillStore { spill, files }
    }
}

impl ImageStore for SpillStore {
    fn write(&self, file: FileId, pages: &[PageNo], bytes: &[u8]) -> Result<(), IoError> {
        let open = {
            let mut files = self.files.lock();
            match files.get(&file) {
                Some(open) => Arc::clone(open),
                None => Arc::clone(files.entry(file).or_insert(self.spill.open(file)?)),
            }
        };
        let mut rest = bytes;
        for run in pages.chunk_by(|a, b| a.0 + 1 == b.0) {
            let (Some(first), Some((bytes, after))) =
                (run.first(), rest.split_at_checked(run.len() * PAGE_SIZE))
            else {
                continue;
            };
            open.write_at(u64::from(first.0) * PAGE_SIZE as u64, bytes)?;
            rest = after;
        }
        debug_assert!(rest.is_empty(), "an image for each page");
        Ok(())
    }

    fn read(&self, page: PageId, into: &mut PageBuf) -> Result<(), IoError> {
        let missing = || IoError::new(IoOp::Read, Path::new("spill"), 0, IoErrorKind::NotFound);
        let file = self.files.lock().get(&page.file).cloned();
        debug_assert!(file.is_some(), "a spilled image has a file");
        let file = file.ok_or_else(missing)?;
        file.read_at(u64::from(page.page.0) * PAGE_SIZE as u64, into)
    }
}

impl ImageStore for SparseFiles {
    fn write(&self, file: FileId, pages: &[PageNo], bytes: &[u8]) -> Result<(), IoError> {
        self.put(file, pages, bytes)
    }

    fn read(&self, page: PageId, into: &mut PageBuf) -> Result<(), IoError> {
        SparseFiles::read(self, page, into)
    }
}

/// The files of a snapshot.
#[derive(Debug)]
pub(crate) enum Store {
    /// They go with the snapshot.
    Spill(SpillStore),
    /// They outlive the process.
    Sparse(SparseFiles),
}

impl Store {
    pub(crate) fn images(&self) -> &dyn ImageStore {
        match self {
            Store::Spill(spill) => spill,
            Store::Sparse(sparse) => sparse,
        }
    }

    pub(crate) fn sparse(&self) -> Option<&SparseFiles> {
        match self {
            Store::Spill(_) => None,
            Store::Sparse(sparse) => Some(sparse),
        }
    }
}
