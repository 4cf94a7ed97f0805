//! Pages at fixed places, header and maps, verified before anything is read from them.
//!
//! A reader that uses a damaged map loses rows without a trace. So a map is used only after its page passed
//! verification, has the type that its place demands, and has sound records. Otherwise there is an error, and
//! the caller continues with links and page headers.

use crate::{MdfError, PageRef, Pages};
use furrow_format::boot::BOOT_PAGE;
use furrow_format::{
    Bitmap, Boot, EXTENT_PAGES, FileHeader, GAM_INTERVAL, Page, PageBuf, PageFault, PageId,
    PageType, Pfs, fixed_page_type, gam_page_of, pfs_index_of, pfs_page_of,
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
pub(crate) fn content_fault(id: PageId, bytes: &PageBuf, is_iam: bool) -> Option<PageFault> {
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
    kind_fault(expected, bytes)
}

/// What is wrong with a page that must be a header, a map, an IAM page or the boot page: its type, or that
/// its records do not hold together.
pub fn kind_fault(expected: PageType, bytes: &PageBuf) -> Option<PageFault> {
    let actual = Page::new(bytes).page_type();
    if actual != expected {
        return Some(PageFault::PageType {
            expected: Some(expected),
            actual: actual.to_byte(),
        });
    }
    let sound = match expected {
        PageType::Pfs => Pfs::new(bytes).is_some(),
        PageType::FileHeader => FileHeader::decode(bytes).is_ok(),
        PageType::Boot => Boot::decode(bytes).is_ok(),
        kind if kind.is_bitmap() => Bitmap::new(bytes).is_some(),
        _ => true,
    };
    (!sound).then_some(PageFault::Records { kind: expected })
}

/// The map page at a fixed place, proven.
pub fn map_page(source: &Pages<'_>, id: PageId) -> Result<PageRef, MdfError> {
    let bytes = sound_page(source, id, || "an allocation map".to_owned())?;
    match content_fault(id, &bytes, false) {
        Some(fault) => Err(MdfError::DamagedPage { page: id, fault }),
        None => Ok(bytes),
    }
}

/// The PFS entry of a page; an error when its PFS page cannot be used.
pub(crate) fn pfs_byte(source: &Pages<'_>, id: PageId) -> Result<furrow_format::PfsByte, MdfError> {
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

/// Whether the page is in use in the PFS; an error when its PFS page cannot be used.
pub fn is_allocated(source: &Pages<'_>, id: PageId) -> Result<bool, MdfError> {
    pfs_byte(source, id).map(furrow_format::PfsByte::is_allocated)
}

/// Whether a page's extent is free in the GAM; `None` when its GAM page cannot be used.
pub(crate) fn is_extent_free(source: &Pages<'_>, id: PageId) -> Option<bool> {
    let page = PageId {
        file: id.file,
        page: gam_page_of(id.page),
    };
    let bytes = map_page(source, page).ok()?;
    Some(Bitmap::new(&bytes)?.get(id.page.0 % GAM_INTERVAL / EXTENT_PAGES))
}

/// A page that must be there and must have passed verification.
pub(crate) fn sound_page(
    source: &Pages<'_>,
    id: PageId,
    wanted_by: impl Fn() -> String,
) -> Result<PageRef, MdfError> {
    if let Some(Err(fault)) = source.protection(id) {
        return Err(MdfError::DamagedPage { page: id, fault });
    }
    source.page(id).ok_or_else(|| match source.problem(id) {
        Some(reason) => MdfError::UnreadablePage { page: id, reason },
        None if source.size_pages(id.file) == 0 && !id.is_none() => MdfError::MissingFile {
            file: id.file,
            wanted_by: wanted_by(),
        },
        None => MdfError::MissingPage {
            page: id,
            wanted_by: wanted_by(),
        },
    })
}
