//! Reads the allocation maps of a file, and counts which of its pages pass verification.

use std::collections::BTreeMap;

use crate::fixed::{
    content_fault, is_allocated, is_extent_free, map_page, pfs_byte, required_type,
};
use crate::{MdfError, Pages};
use furrow_format::{
    Bitmap, EXTENT_PAGES, ExtentNo, FileHeader, FileId, GAM_INTERVAL, Page, PageFault, PageId,
    PageNo, PfsByte, Protection, extent_at_bit, gam_page_of, interval_extents, sgam_page_of,
};

/// A summary of one data file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileSummary {
    /// Pages.
    pub pages: u32,
    /// Pages that the file's header counts and the file does not have: it was cut off.
    pub missing_pages: u32,
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
    /// Pages that could not be read at all, and why.
    pub unreadable_pages: Vec<(PageId, String)>,
    /// GAM and SGAM pages that make no sense: their intervals' free extents are not counted.
    pub lost_maps: Vec<PageId>,
    /// Pages not in use that are all zero.
    pub unallocated_zero: u32,
    /// Pages not in use that were formatted once.
    pub unallocated_stale: u32,
    /// Pages not in use that hold something foreign.
    pub unallocated_garbage: u32,
    /// Extents that the SGAM marks as mixed with a free page although all their pages are in use. Real files
    /// have some.
    pub sgam_set_on_full: Vec<ExtentNo>,
}

/// Summarises a data file.
pub fn summarize(source: &Pages<'_>, file: FileId) -> FileSummary {
    summarize_with(source, file, &mut |_, _| {})
}

/// Summarises a data file, and shows each page in use that passes verification.
///
/// Pages are read from first to last, each once, but for the allocation maps.
pub(crate) fn summarize_with(
    source: &Pages<'_>,
    file: FileId,
    show: &mut dyn FnMut(PageId, Page<'_>),
) -> FileSummary {
    let pages = source.size_pages(file);
    let mut summary = FileSummary {
        pages,
        missing_pages: missing_pages(source, file, pages),
        extents: pages / EXTENT_PAGES,
        ..Default::default()
    };
    let mut start = PageNo(0);
    while start.0 < pages {
        count_extents(source, file, start, &mut summary);
        let Some(next) = start.0.checked_add(GAM_INTERVAL) else {
            break;
        };
        start = PageNo(next);
    }
    for number in 0..pages {
        let page = PageNo(number);
        count_page(source, PageId { file, page }, &mut summary, show);
    }
    summary
}

fn missing_pages(source: &Pages<'_>, file: FileId, pages: u32) -> u32 {
    let first = PageId {
        file,
        page: PageNo(0),
    };
    let header = source
        .page(first)
        .and_then(|bytes| FileHeader::decode(&bytes).ok());
    header.map_or(0, |header| header.size_pages.saturating_sub(pages))
}

/// The free extents of a file by its GAM pages; beside it, what is wrong with the GAM pages that can't be
/// used.
pub fn free_extents(source: &Pages<'_>, file: FileId) -> (u32, Vec<MdfError>) {
    let pages = source.size_pages(file);
    let (mut free, mut lost) = (0, Vec::new());
    let mut start = 0_u32;
    while start < pages {
        let page = gam_page_of(PageNo(start));
        match map_page(source, PageId { file, page }) {
            Ok(bytes) => {
                let extents = interval_extents(PageNo(start), pages);
                free += Bitmap::new(&bytes).map_or(0, |gam| gam.count(extents));
            }
            Err(error) => lost.push(error),
        }
        start = match start.checked_add(GAM_INTERVAL) {
            Some(next) => next,
            None => break,
        };
    }
    (free, lost)
}

fn count_extents(source: &Pages<'_>, file: FileId, start: PageNo, summary: &mut FileSummary) {
    let extents = interval_extents(start, summary.pages);
    let [gam, sgam] = [gam_page_of(start), sgam_page_of(start)].map(|page| PageId { file, page });
    let mut map = |id| {
        let bytes = map_page(source, id).ok();
        if bytes.is_none() {
            summary.lost_maps.push(id);
        }
        bytes
    };
    let (gam, sgam) = (map(gam), map(sgam));
    if let Some(gam) = gam.as_deref().and_then(Bitmap::new) {
        summary.free_extents += gam.count(extents);
    }
    let Some(sgam) = sgam.as_deref().and_then(Bitmap::new) else {
        return;
    };
    for bit in sgam.iter_set(extents) {
        let extent = extent_at_bit(start, bit);
        let first = extent.first_page().0;
        let mut pages = (first..first.saturating_add(EXTENT_PAGES)).map(|page| PageId {
            file,
            page: PageNo(page),
        });
        if pages.all(|page| is_allocated(source, page) == Ok(true)) {
            summary.sgam_set_on_full.push(extent);
        }
    }
}

fn count_page(
    source: &Pages<'_>,
    id: PageId,
    summary: &mut FileSummary,
    show: &mut dyn FnMut(PageId, Page<'_>),
) {
    let Some(bytes) = source.page(id) else {
        let reason = source.problem(id);
        let reason = reason.unwrap_or_else(|| "it is not there".to_owned());
        return summary.unreadable_pages.push((id, reason));
    };
    let page = Page::new(&bytes);
    let pfs = pfs_byte(source, id);
    let in_use = match &pfs {
        _ if required_type(id).is_some() => true,
        Ok(byte) => byte.is_allocated(),
        Err(_) => looks_in_use(source, id, page),
    };
    if !in_use {
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
    let protection = match source.protection(id) {
        Some(Err(fault)) => return summary.bad_pages.push((id, fault)),
        Some(Ok(protection)) => protection,
        None => Protection::None,
    };
    let is_iam = pfs.is_ok_and(|byte| byte.has(PfsByte::IAM));
    if let Some(fault) = content_fault(id, &bytes, is_iam) {
        return summary.bad_pages.push((id, fault));
    }
    match protection {
        Protection::Checksum => summary.checksum_ok += 1,
        Protection::TornBits => summary.torn_bits_ok += 1,
        Protection::None => summary.unprotected += 1,
    }
    show(id, page);
}

/// Whether a page is taken for one in use although its PFS page can't be used: it is whole, and its extent is
/// not free. One that was in use once may be among them; the PFS page is reported.
fn looks_in_use(source: &Pages<'_>, id: PageId, page: Page<'_>) -> bool {
    let whole = page.header_version() == 1 && matches!(source.protection(id), Some(Ok(_)));
    whole && is_extent_free(source, id) != Some(true)
}
