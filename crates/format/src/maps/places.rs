//! The places of the maps of a file, and which bit or byte belongs to a page.

use crate::{EXTENT_PAGES, ExtentNo, PageNo, PageType};

/// Pages covered by one PFS page.
pub const PFS_INTERVAL: u32 = 8088;
/// Extents covered by one bitmap page.
pub const GAM_INTERVAL_EXTENTS: u32 = 63_904;
/// Pages covered by one bitmap page.
pub const GAM_INTERVAL: u32 = GAM_INTERVAL_EXTENTS * EXTENT_PAGES;
/// Largest data file, in pages.
pub const MAX_FILE_PAGES: u32 = 516_855_552;

const _: () = assert!(GAM_INTERVAL == 511_232);
const _: () = assert!(MAX_FILE_PAGES.is_multiple_of(PFS_INTERVAL));
const _: () = assert!(MAX_FILE_PAGES.is_multiple_of(GAM_INTERVAL));

/// Extents `start .. end` of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtentRange {
    /// First.
    pub start: u32,
    /// Behind the last.
    pub end: u32,
}

/// The PFS page that covers a page.
#[inline]
pub const fn pfs_page_of(page: PageNo) -> PageNo {
    match page.0 / PFS_INTERVAL * PFS_INTERVAL {
        0 => PageNo(1),
        start => PageNo(start),
    }
}

/// The page's place among the status bytes of its PFS page.
#[inline]
pub const fn pfs_index_of(page: PageNo) -> u16 {
    (page.0 % PFS_INTERVAL) as u16
}

/// First page of the GAM interval a page lies in.
#[inline]
pub const fn interval_start_of(page: PageNo) -> PageNo {
    PageNo(page.0 / GAM_INTERVAL * GAM_INTERVAL)
}

/// The GAM page that covers a page.
#[inline]
pub const fn gam_page_of(page: PageNo) -> PageNo {
    match interval_start_of(page).0 {
        0 => PageNo(2),
        start => PageNo(start),
    }
}

/// The SGAM page that covers a page.
#[inline]
pub const fn sgam_page_of(page: PageNo) -> PageNo {
    PageNo(gam_page_of(page).0 + 1)
}

/// The DCM page that covers a page.
#[inline]
pub const fn dcm_page_of(page: PageNo) -> PageNo {
    PageNo(interval_start_of(page).0 + 6)
}

/// The BCM page that covers a page.
#[inline]
pub const fn bcm_page_of(page: PageNo) -> PageNo {
    PageNo(interval_start_of(page).0 + 7)
}

/// The extent's place among the bits of the bitmap pages of its interval.
#[inline]
pub const fn extent_bit(extent: ExtentNo) -> u16 {
    (extent.0 % GAM_INTERVAL_EXTENTS) as u16
}

/// The extent of bit `bit` of the interval that starts at `interval_start`.
#[inline]
pub const fn extent_at_bit(interval_start: PageNo, bit: u32) -> ExtentNo {
    ExtentNo((interval_start.0 / EXTENT_PAGES).saturating_add(bit))
}

/// How many extents of the interval starting at `interval_start` a file of `file_pages` pages has.
#[inline]
pub const fn interval_extents(interval_start: PageNo, file_pages: u32) -> u32 {
    let extents = file_pages.saturating_sub(interval_start.0) / EXTENT_PAGES;
    if extents < GAM_INTERVAL_EXTENTS {
        extents
    } else {
        GAM_INTERVAL_EXTENTS
    }
}

/// What a page number is set aside for: file header or map. `None`: an ordinary page.
///
/// The boot page (1:9) is not among them: it exists in the primary file only.
#[inline]
pub const fn fixed_page_type(page: PageNo) -> Option<PageType> {
    if page.0 == 0 {
        return Some(PageType::FileHeader);
    }
    if page.0 == pfs_page_of(page).0 {
        return Some(PageType::Pfs);
    }
    if page.0 == gam_page_of(page).0 {
        return Some(PageType::Gam);
    }
    if page.0 == sgam_page_of(page).0 {
        return Some(PageType::Sgam);
    }
    match page.0 - interval_start_of(page).0 {
        6 => Some(PageType::DiffMap),
        7 => Some(PageType::MlMap),
        _ => None,
    }
}

/// The fixed pages among `from .. end`, in order: what to format when a file grows.
pub fn fixed_pages(from: PageNo, end: PageNo) -> impl Iterator<Item = (PageNo, PageType)> {
    let mut next = from.0;
    std::iter::from_fn(move || {
        while next < end.0 {
            let page = PageNo(next);
            let in_interval = next % GAM_INTERVAL;
            let in_pfs = next % PFS_INTERVAL;
            // Only the first eight pages of either interval can be fixed: skip to the nearer next one.
            let skip = (GAM_INTERVAL - in_interval).min(PFS_INTERVAL - in_pfs);
            next = match in_interval.min(in_pfs) {
                0..EXTENT_PAGES => next + 1,
                _ => next.saturating_add(skip),
            };
            if let Some(kind) = fixed_page_type(page) {
                return Some((page, kind));
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_pages_of_the_first_three_intervals_lie_where_published() {
        for (page, pfs, gam, sgam, dcm, bcm) in [
            (0, 1, 2, 3, 6, 7),
            (8087, 1, 2, 3, 6, 7),
            (8088, 8088, 2, 3, 6, 7),
            (511_231, 509_544, 2, 3, 6, 7),
            (511_232, 509_544, 511_232, 511_233, 511_238, 511_239),
            (1_022_463, 1_019_088, 511_232, 511_233, 511_238, 511_239),
            (
                1_022_464, 1_019_088, 1_022_464, 1_022_465, 1_022_470, 1_022_471,
            ),
            (
                u32::MAX,
                u32::MAX / 8088 * 8088,
                4_294_860_032,
                4_294_860_033,
                4_294_860_038,
                4_294_860_039,
            ),
        ] {
            let page = PageNo(page);
            assert_eq!(pfs_page_of(page).0, pfs, "{page}");
            assert_eq!(gam_page_of(page).0, gam, "{page}");
            assert_eq!(sgam_page_of(page).0, sgam, "{page}");
            assert_eq!(dcm_page_of(page).0, dcm, "{page}");
            assert_eq!(bcm_page_of(page).0, bcm, "{page}");
        }
        assert_eq!(pfs_index_of(PageNo(8087)), 8087);
        assert_eq!(pfs_index_of(PageNo(8088)), 0);
        assert_eq!(extent_bit(ExtentNo(63_903)), 63_903);
        assert_eq!(extent_bit(ExtentNo(63_904)), 0);
        assert_eq!(extent_at_bit(PageNo(511_232), 2), ExtentNo(63_906));
    }

    #[test]
    fn an_interval_has_the_extents_that_the_file_has() {
        assert_eq!(interval_extents(PageNo(0), 640), 80);
        assert_eq!(interval_extents(PageNo(0), 2_000_000), 63_904);
        assert_eq!(interval_extents(PageNo(511_232), 511_232), 0);
        assert_eq!(interval_extents(PageNo(511_232), 511_256), 3);
        assert_eq!(interval_extents(PageNo(511_232), 100), 0);
    }

    #[test]
    fn the_fixed_pages_of_a_growing_file_are_all_found() {
        let end = 1_022_480;
        let slow: Vec<_> = (0..end)
            .filter_map(|page| fixed_page_type(PageNo(page)).map(|kind| (PageNo(page), kind)))
            .collect();
        assert_eq!(
            fixed_pages(PageNo(0), PageNo(end)).collect::<Vec<_>>(),
            slow
        );
        // The header, and of 3 GAM intervals four maps, and PFS pages at 1 and every 8,088.
        assert_eq!(slow.len(), 1 + 3 * 4 + 1 + 126);
        let from = PageNo(511_233);
        let part: Vec<_> = fixed_pages(from, PageNo(end)).collect();
        let expected: Vec<_> = slow.into_iter().filter(|&(page, _)| page >= from).collect();
        assert_eq!(part, expected);
        assert_eq!(fixed_pages(PageNo(4), PageNo(6)).count(), 0);
    }
}
