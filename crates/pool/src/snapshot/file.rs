//! A data file as of a snapshot, for the pool: reads come from the snapshot, writes stay in it.

use super::pages::PageSnapshot;
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId, PageNo};
use furrow_io::{File, Fill, IoError, IoErrorKind, IoOp, ReadRun, WriteRun};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A data file of a [`PageSnapshot`]. The pool may register it as the file of another database, whose changes
/// then stay within the snapshot.
#[derive(Debug)]
pub struct SnapshotFile {
    snapshot: Arc<PageSnapshot>,
    id: FileId,
    pages: u32,
    path: PathBuf,
}

impl SnapshotFile {
    /// A file of the snapshot; `None` when it has no file with this number.
    pub fn new(snapshot: &Arc<PageSnapshot>, id: FileId) -> Option<SnapshotFile> {
        let (_, pages) = snapshot.files().into_iter().find(|(file, _)| *file == id)?;
        Some(SnapshotFile {
            snapshot: Arc::clone(snapshot),
            id,
            pages,
            path: snapshot.path(id)?.to_path_buf(),
        })
    }

    /// The page at a byte offset; an error when a run of `bytes` from there on ends behind the file.
    fn page_at(&self, op: IoOp, offset: u64, bytes: u64) -> Result<PageNo, IoError> {
        let whole = offset.is_multiple_of(PAGE_SIZE as u64);
        let end = offset.saturating_add(bytes);
        debug_assert!(whole, "a snapshot is read and written by pages");
        if !whole || end > u64::from(self.pages) * PAGE_SIZE as u64 {
            return Err(IoError::new(op, &self.path, offset, IoErrorKind::PastEnd));
        }
        Ok(PageNo((offset / PAGE_SIZE as u64) as u32))
    }
}

impl File for SnapshotFile {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        for run in runs {
            let mut page = self.page_at(IoOp::Read, run.offset, run.len_bytes())?;
            for buf in run.bufs.iter_mut() {
                let (pages, _) = buf.as_chunks_mut::<PAGE_SIZE>();
                self.snapshot.read(self.id, page, pages)?;
                page.0 += pages.len() as u32;
            }
        }
        Ok(())
    }

    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        for run in runs {
            let mut page = self.page_at(IoOp::Write, run.offset, run.len_bytes())?;
            if self.snapshot.sealed().is_some() {
                let kind = IoErrorKind::Os(30, "a database snapshot is read-only".to_owned());
                return Err(IoError::new(IoOp::Write, &self.path, run.offset, kind));
            }
            for buf in run.bufs {
                for bytes in buf.as_chunks::<PAGE_SIZE>().0 {
                    let bytes: &PageBuf = bytes;
                    let file = self.id;
                    self.snapshot.write_own(PageId { file, page }, bytes);
                    page.0 += 1;
                }
            }
        }
        self.snapshot.spill();
        Ok(())
    }

    fn sync(&self) -> Result<(), IoError> {
        Ok(())
    }

    fn resize(&self, _bytes: u64, _fill: Fill) -> Result<(), IoError> {
        Err(IoError::new(
            IoOp::Resize,
            &self.path,
            0,
            IoErrorKind::NoSpace,
        ))
    }

    fn len_bytes(&self) -> Result<u64, IoError> {
        Ok(u64::from(self.pages) * PAGE_SIZE as u64)
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
