//! Pages kept for whoever comes back to them: the way of the catalog's reader over a source.
//!
//! The catalog is read tree by tree, before the scan knows what it sees. Its pages are a small part of a
//! database: each is fetched once and stays until the check is done.

use crate::source::{PageSource, SourceFile};
use furrow_format::mdf;
use furrow_format::{
    FileId, PageBuf, PageFault, PageFlags, PageId, PageNo, Protection, untear, verify,
};
use std::sync::OnceLock;

/// Pages of a shelf.
const SHELF: usize = 512;

type Kept = Option<Box<(PageBuf, Result<Protection, PageFault>)>>;
type Shelf = Box<[OnceLock<Kept>]>;

/// Pages by number, fetched when first asked for.
pub(crate) struct Library<'s> {
    source: &'s dyn PageSource,
    files: Vec<(SourceFile, Vec<OnceLock<Shelf>>)>,
}

impl<'s> Library<'s> {
    pub(crate) fn new(source: &'s dyn PageSource) -> Library<'s> {
        let shelves = |file: SourceFile| {
            let count = (file.pages as usize).div_ceil(SHELF);
            (
                file,
                std::iter::repeat_with(OnceLock::new).take(count).collect(),
            )
        };
        Library {
            source,
            files: source.files().into_iter().map(shelves).collect(),
        }
    }

    fn kept(&self, id: PageId) -> Option<&(PageBuf, Result<Protection, PageFault>)> {
        let (file, shelves) = self.files.iter().find(|(file, _)| file.id == id.file)?;
        if id.page.0 >= file.pages {
            return None;
        }
        let at = id.page.0 as usize;
        let shelf = shelves.get(at / SHELF)?;
        let shelf =
            shelf.get_or_init(|| std::iter::repeat_with(OnceLock::new).take(SHELF).collect());
        shelf
            .get(at % SHELF)?
            .get_or_init(|| self.fetch(id))
            .as_deref()
    }

    fn fetch(&self, id: PageId) -> Kept {
        let mut bytes = vec![[0; furrow_format::PAGE_SIZE]];
        self.source.read(id.file, id.page, &mut bytes).ok()?;
        let mut page = bytes.pop()?;
        let protection = verify(&page, id);
        let view = furrow_format::Page::new(&page);
        if view.page_id() == id && view.flags().has(PageFlags::TORN_BITS) {
            untear(&mut page);
        }
        Some(Box::new((page, protection)))
    }

    /// A page, ready for use, and whether it was whole.
    pub(crate) fn get(&self, id: PageId) -> Option<(&PageBuf, Result<Protection, PageFault>)> {
        self.kept(id).map(|kept| (&kept.0, kept.1))
    }
}

impl mdf::PageSource for Library<'_> {
    fn page(&self, page: PageId) -> Option<mdf::PageRef<'_>> {
        self.kept(page).map(|kept| mdf::PageRef::Lent(&kept.0))
    }

    fn files(&self) -> Vec<FileId> {
        self.files.iter().map(|(file, _)| file.id).collect()
    }

    fn size_pages(&self, file: FileId) -> u32 {
        let found = self.files.iter().find(|(known, _)| known.id == file);
        found.map_or(0, |(known, _)| known.pages)
    }

    fn protection(&self, page: PageId) -> Option<Result<Protection, PageFault>> {
        self.kept(page).map(|kept| kept.1)
    }
}

/// Page `page` of file `file`.
pub(crate) fn page_at(file: FileId, page: u32) -> PageId {
    PageId {
        file,
        page: PageNo(page),
    }
}
