//! The pages of an open database, for readers of catalogs.

use furrow_context::error::Result;
use furrow_datafile::{PageForm, PageSource, Pages, SourceError, SourceFile};
use furrow_engine::Database;
use furrow_format::{FileId, PageBuf, PageId, PageNo};
use std::sync::Arc;

/// A database as a source of pages, through the buffer pool.
#[derive(Debug)]
struct Live {
    db: Arc<Database>,
    files: Vec<SourceFile>,
}

/// The pages of an open database: each is read once, through the buffer pool.
pub(crate) fn live_pages(db: &Arc<Database>) -> Result<Pages<'static>> {
    let data = db.file_list()?.into_iter().filter(|f| f.filegroup > 0);
    let files = data.map(|f| SourceFile {
        id: f.id,
        name: f.name,
        pages: u32::try_from(f.size_pages).unwrap_or(u32::MAX),
    });
    Ok(Pages::one_by_one(Live {
        db: Arc::clone(db),
        files: files.collect(),
    }))
}

impl PageSource for Live {
    fn files(&self) -> Vec<SourceFile> {
        self.files.clone()
    }

    fn read(
        &self,
        file: FileId,
        first: PageNo,
        into: &mut [PageBuf],
    ) -> std::result::Result<(), SourceError> {
        for (number, page) in (first.0..).zip(into) {
            let id = PageId {
                file,
                page: PageNo(number),
            };
            let unreadable = |error: furrow_engine::EngineError| SourceError::Unreadable {
                page: id,
                reason: error.to_string(),
            };
            *page = *self.db.page(id).map_err(unreadable)?;
        }
        Ok(())
    }

    // The pool verified the pages when it read them.
    fn form(&self) -> PageForm {
        PageForm::Ready
    }
}
