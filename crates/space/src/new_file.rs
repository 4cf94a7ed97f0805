//! The first pages of a new data file.

use crate::SpaceError;
use furrow_format::{
    Change, ExtentNo, FileHeader, FileId, MapInit, PAGE_SIZE, PageBuf, PageId, PageNo, PageType,
    PfsByte, apply, dcm_page_of, extent_bit, fixed_pages, interval_start_of, pfs_index_of,
    pfs_page_of, stamp_checksum,
};
use furrow_io::{File, Fill};
use std::collections::BTreeMap;

/// Writes what a new data file begins with: header, maps at their fixed places, all with checksums; then
/// makes it durable. The file is empty, and is not yet registered with the pool.
///
/// `system_pages` are pages that the engine will format itself and that lie in mixed extents, the boot page
/// (1:9) for one: they are marked as in use.
///
/// Every extent is free except those with fixed pages. The first extent of a GAM interval belongs to no unit.
/// The extent of a later PFS page is a mixed one from the start, so that its seven other pages serve as IAM
/// pages. So a 5 MB file has 79 free extents of 80, and a 250 MB file 3,996 of 4,000.
pub fn new_file_pages(
    file: &dyn File,
    header: &FileHeader,
    system_pages: &[(PageNo, PfsByte)],
    fill: Fill,
) -> Result<(), SpaceError> {
    let id = header.file;
    let io = |source| SpaceError::Io { file: id, source };
    let size_pages = header.size_pages;
    file.resize(u64::from(size_pages) * PAGE_SIZE as u64, fill)
        .map_err(io)?;
    let marks = Marks::of(id, size_pages, system_pages);
    for (page, kind) in fixed_pages(PageNo(0), PageNo(size_pages)) {
        let mut bytes: PageBuf = [0; PAGE_SIZE];
        if kind == PageType::FileHeader {
            let made = header.format(&mut bytes);
            made.map_err(|source| SpaceError::Header { file: id, source })?;
        } else {
            let page = PageId { file: id, page };
            let Some(map) = MapInit::fixed(page, size_pages) else {
                continue;
            };
            map.format(&mut bytes)
                .map_err(|source| SpaceError::Format { page, source })?;
            marks.apply(page, &mut bytes)?;
        }
        stamp_checksum(&mut bytes);
        file.write_at(u64::from(page.0) * PAGE_SIZE as u64, &bytes)
            .map_err(io)?;
    }
    file.sync().map_err(io)
}

/// Changes of fresh maps.
struct Marks {
    list: Vec<(PageId, Change<'static>)>,
}

impl Marks {
    fn of(id: FileId, size_pages: u32, system_pages: &[(PageNo, PfsByte)]) -> Marks {
        let mut mixed: BTreeMap<ExtentNo, u8> = BTreeMap::new();
        let mut list = fixed_are_changed(id, size_pages);
        for extent in mixed_from_the_start(0, size_pages) {
            mixed.insert(extent, 1);
        }
        for &(page, value) in system_pages {
            let pfs = PageId {
                file: id,
                page: pfs_page_of(page),
            };
            let value = value.with(PfsByte::ALLOCATED | PfsByte::MIXED);
            list.push((
                pfs,
                Change::SetPfs {
                    index: pfs_index_of(page),
                    value,
                },
            ));
            let extent = PageId { file: id, page }.extent();
            *mixed.entry(extent).or_default() |= 1 << (page.0 % 8);
        }
        for (extent, used) in mixed {
            let start = interval_start_of(extent.first_page()).0;
            let page =
                |first: u32, later: u32| PageNo(if start == 0 { first } else { start + later });
            let index = extent_bit(extent);
            let gam = PageId {
                file: id,
                page: page(2, 0),
            };
            let sgam = PageId {
                file: id,
                page: page(3, 1),
            };
            list.push((
                gam,
                Change::SetBit {
                    index,
                    value: false,
                },
            ));
            list.push((
                sgam,
                Change::SetBit {
                    index,
                    value: used != 0xFF,
                },
            ));
        }
        Marks { list }
    }

    fn apply(&self, page: PageId, bytes: &mut PageBuf) -> Result<(), SpaceError> {
        for (_, change) in self.list.iter().filter(|(of, _)| *of == page) {
            apply(change, bytes).map_err(|_| SpaceError::Damaged {
                page,
                what: "a fresh map does not take its marks",
            })?;
        }
        Ok(())
    }
}

/// The extents with fixed pages are changed: these pages are written past the log.
fn fixed_are_changed(file: FileId, size_pages: u32) -> Vec<(PageId, Change<'static>)> {
    let fixed = fixed_pages(PageNo(0), PageNo(size_pages));
    let changed = fixed.map(|(page, _)| {
        let map = PageId {
            file,
            page: dcm_page_of(page),
        };
        let index = extent_bit(PageId { file, page }.extent());
        (map, Change::SetBit { index, value: true })
    });
    changed.collect()
}

/// The extents among the pages `from .. end` that hold a PFS page and nothing else fixed: mixed from the
/// start.
pub(crate) fn mixed_from_the_start(from: u32, end: u32) -> impl Iterator<Item = ExtentNo> {
    fixed_pages(PageNo(from), PageNo(end))
        .filter(|&(page, kind)| kind == PageType::Pfs && page.0 > 1)
        .map(|(page, _)| ExtentNo(page.0 / furrow_format::EXTENT_PAGES))
        .filter(|extent| extent_bit(*extent) != 0)
}
