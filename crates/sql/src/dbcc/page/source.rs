//! The pages of an open database, for what reads catalogs from pages.

use crate::error::Result;
use furrow_engine::Database;
use furrow_format::mdf::{PageRef, PageSource};
use furrow_format::{FileId, PageFault, PageId, Protection};
use std::sync::Arc;

/// A database as a source of pages, through the buffer pool.
#[derive(Debug)]
pub(crate) struct Live {
    db: Arc<Database>,
    files: Vec<(FileId, u32)>,
}

impl Live {
    pub(crate) fn new(db: &Arc<Database>) -> Result<Live> {
        let data = db.file_list()?.into_iter().filter(|f| f.filegroup > 0);
        let files = data.map(|f| (f.id, u32::try_from(f.size_pages).unwrap_or(u32::MAX)));
        Ok(Live {
            db: Arc::clone(db),
            files: files.collect(),
        })
    }
}

impl PageSource for Live {
    fn page(&self, page: PageId) -> Option<PageRef<'_>> {
        if page.page.0 >= self.size_pages(page.file) {
            return None;
        }
        let bytes = self.db.page(page).ok()?;
        Some(PageRef::Shared(Arc::from(bytes)))
    }

    fn files(&self) -> Vec<FileId> {
        self.files.iter().map(|(file, _)| *file).collect()
    }

    fn size_pages(&self, file: FileId) -> u32 {
        let found = self.files.iter().find(|(id, _)| *id == file);
        found.map_or(0, |(_, pages)| *pages)
    }

    // What the pool gives has been verified.
    fn protection(&self, _page: PageId) -> Option<std::result::Result<Protection, PageFault>> {
        None
    }
}
