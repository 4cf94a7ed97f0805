//! Pages of open databases for system views and DBCC, with their entries in the allocation maps.

mod source;

use furrow_context::error::Result;
use furrow_engine::Database;
use furrow_format::{
    Bitmap, EXTENT_PAGES, ExtentNo, FileId, PageId, PageNo, Pfs, PfsByte, bcm_page_of, dcm_page_of,
    extent_bit, gam_page_of, pfs_index_of, pfs_page_of, sgam_page_of,
};
pub(crate) use source::live_pages;
use std::sync::Arc;

/// The entries of the maps for a page.
pub(crate) struct MapStatus {
    pub(crate) gam: (PageId, bool),
    pub(crate) sgam: (PageId, bool),
    pub(crate) pfs: (PageId, PfsByte),
    pub(crate) diff: (PageId, bool),
    pub(crate) minimally_logged: (PageId, bool),
}

/// Reads the maps.
pub(crate) fn status_of(db: &Arc<Database>, id: PageId) -> Result<MapStatus> {
    let bit = extent_bit(ExtentNo(id.page.0 / EXTENT_PAGES));
    let map = |page: PageNo| -> Result<(PageId, bool)> {
        let map = PageId { page, ..id };
        let bytes = db.page(map)?;
        Ok((
            map,
            Bitmap::new(&bytes).is_some_and(|m| m.get(u32::from(bit))),
        ))
    };
    let pfs = PageId {
        page: pfs_page_of(id.page),
        ..id
    };
    let bytes = db.page(pfs)?;
    let byte = Pfs::new(&bytes).map_or(PfsByte(0), |p| p.get(pfs_index_of(id.page)));
    let (gam, free) = map(gam_page_of(id.page))?;
    Ok(MapStatus {
        gam: (gam, !free),
        sgam: map(sgam_page_of(id.page))?,
        pfs: (pfs, byte),
        diff: map(dcm_page_of(id.page))?,
        minimally_logged: map(bcm_page_of(id.page))?,
    })
}

/// A PFS byte in words.
pub(crate) fn pfs_words(byte: PfsByte) -> String {
    let mut words = String::new();
    for (bit, word) in [
        (PfsByte::IAM, " IAM_PG"),
        (PfsByte::MIXED, " MIXED_EXT"),
        (PfsByte::GHOSTS, " HAS_GHOST"),
        (PfsByte::ALLOCATED, " ALLOCATED"),
    ] {
        if byte.has(bit) {
            words.push_str(word);
        }
    }
    format!("{words} {:>3}_PCT_FULL", byte.fullness().percent())
}

/// The word for a bit that is set or not set.
pub(crate) fn word(on: bool, words: [&'static str; 2]) -> &'static str {
    words[usize::from(!on)]
}

pub(crate) const ALLOCATED: [&str; 2] = ["ALLOCATED", "NOT ALLOCATED"];
pub(crate) const CHANGED: [&str; 2] = ["CHANGED", "NOT CHANGED"];
pub(crate) const LOGGED: [&str; 2] = ["MIN_LOGGED", "NOT MIN_LOGGED"];

/// Number of pages of a data file; 0 if there is no file with this number.
pub(crate) fn size_of(db: &Arc<Database>, file: FileId) -> Result<u32> {
    let files = db.file_list()?;
    let found = files.iter().find(|f| f.id == file && f.filegroup > 0);
    Ok(found.map_or(0, |f| u32::try_from(f.size_pages).unwrap_or(u32::MAX)))
}
