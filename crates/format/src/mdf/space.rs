//! What the allocation maps of a file say, and how its pages fare under verification.

use std::collections::BTreeMap;

use super::walk::is_allocated;
use super::{MdfError, PageSource};
use crate::{
    Bitmap, EXTENT_PAGES, ExtentNo, FileId, GAM_INTERVAL, Page, PageFault, PageId, PageNo,
    Protection, extent_at_bit, gam_page_of, interval_extents, sgam_page_of,
};

/// A summary of one data file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileSummary {
    /// Pages.
    pub pages: u32,
    /// Whole extents.
    pub extents: u32,
    /// Extents free by the GAM.
    pub free_extents: u32,
    /// Pages in use by the PFS.
    pub allocated_pages: u32,
    /// Pages in use, by type.
    pub allocated_by_type: BTreeMap<u8, u32>,
    /// Pages in use that a checksum proves.
    pub checksum_ok: u32,
    /// Pages in use that torn bits prove.
    pub torn_bits_ok: u32,
    /// Pages in use that nothing protects but their own id.
    pub unprotected: u32,
    /// Pages in use that fail verification.
    pub bad_pages: Vec<(PageId, PageFault)>,
    /// Pages not in use that are all zero.
    pub unallocated_zero: u32,
    /// Pages not in use that were formatted once.
    pub unallocated_stale: u32,
    /// Pages not in use that hold something foreign.
    pub unallocated_garbage: u32,
    /// Extents that the SGAM calls mixed with room although all their pages are in use. Met in real files.
    pub sgam_set_on_full: Vec<ExtentNo>,
}

/// Summarises a data file.
pub fn summarize(source: &dyn PageSource, file: FileId) -> Result<FileSummary, MdfError> {
    let pages = source.size_pages(file);
    let mut summary = FileSummary {
        pages,
        extents: pages / EXTENT_PAGES,
        ..Default::default()
    };
    let mut start = PageNo(0);
    while start.0 < pages {
        count_extents(source, file, start, &mut summary)?;
        let Some(next) = start.0.checked_add(GAM_INTERVAL) else {
            break;
        };
        start = PageNo(next);
    }
    for number in 0..pages {
        count_page(
            source,
            PageId {
                file,
                page: PageNo(number),
            },
            &mut summary,
        );
    }
    Ok(summary)
}

fn bitmap(source: &dyn PageSource, id: PageId) -> Result<Bitmap<'_>, MdfError> {
    let wanted_by = || "the allocation maps".to_owned();
    let bytes = super::walk::sound_page(source, id, wanted_by)?;
    Bitmap::new(bytes).ok_or_else(|| MdfError::WrongPage {
        page: id,
        wanted_by: wanted_by(),
        found: format!("a {}", Page::new(bytes).page_type()),
    })
}

fn count_extents(
    source: &dyn PageSource,
    file: FileId,
    start: PageNo,
    summary: &mut FileSummary,
) -> Result<(), MdfError> {
    let extents = interval_extents(start, summary.pages);
    let gam = bitmap(
        source,
        PageId {
            file,
            page: gam_page_of(start),
        },
    )?;
    summary.free_extents += gam.count(extents);
    let sgam = bitmap(
        source,
        PageId {
            file,
            page: sgam_page_of(start),
        },
    )?;
    for bit in sgam.iter_set(extents) {
        let extent = extent_at_bit(start, bit);
        let first = extent.first_page().0;
        let mut pages = (first..first.saturating_add(EXTENT_PAGES)).map(|page| PageId {
            file,
            page: PageNo(page),
        });
        if pages.all(|page| is_allocated(source, page) == Some(true)) {
            summary.sgam_set_on_full.push(extent);
        }
    }
    Ok(())
}

fn count_page(source: &dyn PageSource, id: PageId, summary: &mut FileSummary) {
    let Some(bytes) = source.page(id) else { return };
    let page = Page::new(bytes);
    if is_allocated(source, id) != Some(true) {
        let counter = if bytes.iter().all(|&byte| byte == 0) {
            &mut summary.unallocated_zero
        } else if page.header_version() == 1 && page.page_id() == id {
            &mut summary.unallocated_stale
        } else {
            &mut summary.unallocated_garbage
        };
        *counter += 1;
        return;
    }
    summary.allocated_pages += 1;
    *summary
        .allocated_by_type
        .entry(page.page_type().to_byte())
        .or_default() += 1;
    match source.protection(id) {
        Some(Ok(Protection::Checksum)) => summary.checksum_ok += 1,
        Some(Ok(Protection::TornBits)) => summary.torn_bits_ok += 1,
        Some(Ok(Protection::None)) | None => summary.unprotected += 1,
        Some(Err(fault)) => summary.bad_pages.push((id, fault)),
    }
}
