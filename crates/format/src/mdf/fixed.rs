//! Pages at fixed places, header and maps, proven before anything is read from them.
//!
//! A reader that believes a damaged map loses rows without a trace. So a map is used only after its page
//! passed verification, has the type that its place demands, and has sound records; else there is an error,
//! and the caller goes on with what links and page headers say.

use super::walk::sound_page;
use super::{MdfError, PageRef, PageSource};
use crate::boot::BOOT_PAGE;
use crate::{
    Bitmap, EXTENT_PAGES, GAM_INTERVAL, Page, PageBuf, PageFault, PageId, PageType, Pfs,
    fixed_page_type, gam_page_of, pfs_index_of, pfs_page_of,
};

/// The type that a page must have for its place: header, map, boot page. `None`: an ordinary page.
pub fn required_type(id: PageId) -> Option<PageType> {
    if id == BOOT_PAGE {
        return Some(PageType::Boot);
    }
    fixed_page_type(id.page)
}

/// What is wrong with the content of a page that passed verification, as far as its type and, of a map, its
/// records show it. `is_iam`: the PFS marks it as an IAM page.
pub(super) fn content_fault(id: PageId, bytes: &PageBuf, is_iam: bool) -> Option<PageFault> {
    let actual = Page::new(bytes).page_type();
    let expected = required_type(id).or_else(|| is_iam.then_some(PageType::Iam));
    let Some(expected) = expected else {
        let holds_rows = actual.holds_rows() || matches!(actual, PageType::Iam);
        let other = matches!(
            actual,
            PageType::Configuration
                | PageType::Boot
                | PageType::RepairDeallocated
                | PageType::RebuildTemporary
                | PageType::BulkPreallocated
        );
        let actual = actual.to_byte();
        return (!holds_rows && !other).then_some(PageFault::PageType {
            expected: None,
            actual,
        });
    };
    if actual != expected {
        return Some(PageFault::PageType {
            expected: Some(expected),
            actual: actual.to_byte(),
        });
    }
    let sound = match expected {
        PageType::Pfs => Pfs::new(bytes).is_some(),
        kind if kind.is_bitmap() => Bitmap::new(bytes).is_some(),
        _ => true,
    };
    (!sound).then_some(PageFault::Records { kind: expected })
}

/// The map page at a fixed place, proven.
pub(super) fn map_page(source: &dyn PageSource, id: PageId) -> Result<PageRef<'_>, MdfError> {
    let bytes = sound_page(source, id, || "an allocation map".to_owned())?;
    match content_fault(id, &bytes, false) {
        Some(fault) => Err(MdfError::DamagedPage { page: id, fault }),
        None => Ok(bytes),
    }
}

/// What the PFS says of a page; an error when its PFS page can't be used.
pub(super) fn pfs_byte(source: &dyn PageSource, id: PageId) -> Result<crate::PfsByte, MdfError> {
    let page = PageId {
        file: id.file,
        page: pfs_page_of(id.page),
    };
    let bytes = map_page(source, page)?;
    let kind = PageType::Pfs;
    let pfs = Pfs::new(&bytes).ok_or(MdfError::DamagedPage {
        page,
        fault: PageFault::Records { kind },
    })?;
    Ok(pfs.get(pfs_index_of(id.page)))
}

/// Whether the PFS says that the page is in use; an error when its PFS page can't be used.
pub fn is_allocated(source: &dyn PageSource, id: PageId) -> Result<bool, MdfError> {
    pfs_byte(source, id).map(crate::PfsByte::is_allocated)
}

/// Whether the GAM says that a page's extent is free; `None` when its GAM page can't be used.
pub(super) fn is_extent_free(source: &dyn PageSource, id: PageId) -> Option<bool> {
    let page = PageId {
        file: id.file,
        page: gam_page_of(id.page),
    };
    let bytes = map_page(source, page).ok()?;
    Some(Bitmap::new(&bytes)?.get(id.page.0 % GAM_INTERVAL / EXTENT_PAGES))
}
