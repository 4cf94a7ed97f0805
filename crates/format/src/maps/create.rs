//! Fresh map pages.

use super::bitmap::BITMAP_BYTES;
use super::iam::{IAM_HEADER_BYTES, put_header};
use super::pfs::{PFS_BYTES, PfsByte, RECORD_HEADER};
use super::places::{PFS_INTERVAL, fixed_page_type, fixed_pages};
use crate::{AllocUnitId, PageBuf, PageError, PageId, PageInit, PageMut, PageNo, PageType};

/// The allocation unit that file headers and all maps but IAM pages claim to belong to.
pub const SYSTEM_MAPS_UNIT: AllocUnitId = AllocUnitId::from_parts(0, 99);
/// `pminlen` of bitmap pages: the data of their first record.
const BITMAP_PMINLEN: u16 = IAM_HEADER_BYTES as u16;

const _: () = assert!(SYSTEM_MAPS_UNIT.0 == 6_488_064);

/// Which map, and what decides its first content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MapKind {
    /// Fixed pages of the interval that lie in a file of this many pages are in use, all others free.
    Pfs {
        /// Size of the file.
        file_pages: u32,
    },
    /// Every extent free but the interval's first, which holds the maps.
    Gam,
    /// No mixed extent.
    Sgam,
    /// Nothing changed.
    DiffMap,
    /// Nothing minimally logged.
    MlMap,
    /// No extent owned yet.
    Iam {
        /// The owner.
        unit: AllocUnitId,
        /// Place in the chain of the unit's IAM pages, from 0.
        sequence: u32,
        /// First page of the GAM interval spoken of.
        interval_start: PageId,
    },
}

/// A map page to be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MapInit {
    /// Where.
    pub page: PageId,
    /// What.
    pub kind: MapKind,
}

impl MapInit {
    /// The fresh map page that a file of `file_pages` pages has at `page`; `None` where no map has its
    /// fixed place.
    pub fn fixed(page: PageId, file_pages: u32) -> Option<MapInit> {
        let kind = match fixed_page_type(page.page)? {
            PageType::Pfs => MapKind::Pfs { file_pages },
            PageType::Gam => MapKind::Gam,
            PageType::Sgam => MapKind::Sgam,
            PageType::DiffMap => MapKind::DiffMap,
            PageType::MlMap => MapKind::MlMap,
            _ => return None,
        };
        Some(MapInit { page, kind })
    }

    /// The type of the page.
    pub const fn page_type(&self) -> PageType {
        match self.kind {
            MapKind::Pfs { .. } => PageType::Pfs,
            MapKind::Gam => PageType::Gam,
            MapKind::Sgam => PageType::Sgam,
            MapKind::DiffMap => PageType::DiffMap,
            MapKind::MlMap => PageType::MlMap,
            MapKind::Iam { .. } => PageType::Iam,
        }
    }

    /// Makes `page` this map. `m_lsn` stays: the caller stamps it.
    pub fn format(&self, page: &mut PageBuf) -> Result<(), PageError> {
        let (unit, pminlen) = match self.kind {
            MapKind::Pfs { .. } => (SYSTEM_MAPS_UNIT, 0),
            MapKind::Iam { unit, .. } => (unit, BITMAP_PMINLEN),
            _ => (SYSTEM_MAPS_UNIT, BITMAP_PMINLEN),
        };
        let mut page = PageMut::new(page);
        page.format(&PageInit::new(self.page, self.page_type(), unit, pminlen));
        if let MapKind::Pfs { file_pages } = self.kind {
            return page.append(&fresh_pfs(self.page.page, file_pages));
        }
        let mut header = framed::<{ RECORD_HEADER + IAM_HEADER_BYTES }>();
        if let MapKind::Iam {
            sequence,
            interval_start,
            ..
        } = self.kind
        {
            put_header(&mut header, sequence, interval_start);
        }
        page.append(&header)?;
        let mut map = framed::<{ RECORD_HEADER + BITMAP_BYTES }>();
        if let (MapKind::Gam, Some((_, bits))) =
            (self.kind, map.split_at_mut_checked(RECORD_HEADER))
        {
            bits.fill(0xFF);
            if let Some(first) = bits.first_mut() {
                *first = 0xFE;
            }
        }
        page.append(&map)
    }
}

/// A record of `N` bytes, all fixed, without columns.
fn framed<const N: usize>() -> [u8; N] {
    let mut record = [0; N];
    let _always_fits = crate::bytes::put(&mut record, 2, &(N as u16).to_le_bytes());
    record
}

fn fresh_pfs(page: PageNo, file_pages: u32) -> [u8; RECORD_HEADER + PFS_BYTES] {
    let mut record = framed();
    let start = page.0 / PFS_INTERVAL * PFS_INTERVAL;
    let end = start.saturating_add(PFS_INTERVAL).min(file_pages);
    for (fixed, _kind) in fixed_pages(PageNo(start), PageNo(end)) {
        if let Some(byte) = record.get_mut(RECORD_HEADER + (fixed.0 - start) as usize) {
            *byte = PfsByte::FIXED.0;
        }
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bitmap, Iam, PAGE_SIZE, Page, Pfs};

    fn made(page: PageId, kind: MapKind) -> PageBuf {
        let mut bytes = [0xAB; PAGE_SIZE];
        MapInit { page, kind }.format(&mut bytes).unwrap();
        Page::new(&bytes).audit().unwrap();
        assert_eq!(Page::new(&bytes).page_id(), page);
        bytes
    }

    #[test]
    fn fresh_bitmap_pages_have_the_frame_of_real_ones() {
        for kind in [
            MapKind::Gam,
            MapKind::Sgam,
            MapKind::DiffMap,
            MapKind::MlMap,
        ] {
            let bytes = made(PageId::new(1, 2), kind);
            let page = Page::new(&bytes);
            assert_eq!((page.slot_count(), page.pminlen()), (2, 90));
            assert_eq!((page.free_data(), page.free_count()), (8182, 6));
            assert_eq!(page.unit(), SYSTEM_MAPS_UNIT);
            assert_eq!(bytes[8188..], [0xbe, 0, 0x60, 0]);
            assert_eq!(bytes[96..100], [0, 0, 0x5e, 0]);
            assert_eq!(bytes[190..194], [0, 0, 0x38, 0x1f]);
            let ones = Bitmap::new(&bytes).unwrap().count(Bitmap::BITS);
            assert_eq!(ones, if kind == MapKind::Gam { 63_903 } else { 0 });
            assert!(!Bitmap::new(&bytes).unwrap().get(0));
        }
    }

    #[test]
    fn a_fresh_pfs_page_marks_the_fixed_pages_inside_the_file() {
        let bytes = made(PageId::new(1, 1), MapKind::Pfs { file_pages: 640 });
        let page = Page::new(&bytes);
        assert_eq!(
            (page.slot_count(), page.free_data(), page.free_count()),
            (1, 8188, 2)
        );
        assert_eq!(bytes[96..100], [0, 0, 0x9c, 0x1f]);
        assert_eq!(
            bytes[100..110],
            [0x44, 0x44, 0x44, 0x44, 0, 0, 0x44, 0x44, 0, 0]
        );
        assert_eq!(
            Pfs::new(&bytes)
                .unwrap()
                .iter()
                .filter(|byte| byte.is_allocated())
                .count(),
            6
        );
        let kind = MapKind::Pfs {
            file_pages: 511_239,
        };
        let bytes = made(PageId::new(3, 509_544), kind);
        let used: Vec<_> = (0..8088)
            .filter(|&i| Pfs::new(&bytes).unwrap().get(i).is_allocated())
            .collect();
        assert_eq!(used, [0, 1688, 1689, 1694]);
    }

    #[test]
    fn a_fresh_iam_page_knows_its_owner_place_and_interval() {
        let unit = AllocUnitId(0x0100_0000_005F_0000);
        let interval_start = PageId::new(4, 511_232);
        let kind = MapKind::Iam {
            unit,
            sequence: 3,
            interval_start,
        };
        let bytes = made(PageId::new(4, 777), kind);
        assert_eq!(Page::new(&bytes).unit(), unit);
        let iam = Iam::new(&bytes).unwrap();
        assert_eq!((iam.sequence(), iam.interval_start()), (3, interval_start));
        assert!(iam.single_pages().all(PageId::is_none));
        assert_eq!(bytes[136..142], interval_start.to_bytes());
        assert_eq!(Bitmap::new(&bytes).unwrap().first_set(0, u32::MAX), None);
    }

    #[test]
    fn map_pages_at_their_fixed_place_are_made_by_number() {
        let kinds = [
            (1, PageType::Pfs),
            (2, PageType::Gam),
            (3, PageType::Sgam),
            (6, PageType::DiffMap),
        ];
        for (page, kind) in kinds {
            assert_eq!(
                MapInit::fixed(PageId::new(1, page), 80)
                    .unwrap()
                    .page_type(),
                kind
            );
        }
        assert_eq!(MapInit::fixed(PageId::new(1, 0), 80), None);
        assert_eq!(MapInit::fixed(PageId::new(1, 10), 80), None);
    }
}
