//! Changes of map pages against a model: a plain list of bits and bytes.

use crate::support::{OnFailure, Rng, seeds};
use furrow_format::{
    AllocUnitId, Bitmap, Change, ChangeError, Iam, MapInit, MapKind, PAGE_SIZE, Page, PageBuf,
    PageFlags, PageId, PageInit, PageMut, PageNo, PageType, Pfs, PfsByte, apply,
};

const ID: PageId = PageId::new(1, 2);
const BITS: usize = Bitmap::BITS as usize;

fn map(kind: MapKind) -> PageBuf {
    let mut page = [0xCD; PAGE_SIZE];
    apply(&Change::FormatMap(MapInit { page: ID, kind }), &mut page).unwrap();
    page
}

/// A bitmap page as aligned files have it: the map record at 192, the map at 196.
fn aligned_map() -> PageBuf {
    let mut page = [0; PAGE_SIZE];
    let mut view = PageMut::new(&mut page);
    view.format(&PageInit::new(ID, PageType::Iam, AllocUnitId(0), 90));
    view.set_flags(PageFlags::ALIGNED);
    let mut header = [0; 94];
    header[2] = 94;
    let mut bits = [0; 7992];
    bits[2..4].copy_from_slice(&7992_u16.to_le_bytes());
    view.append(&header).unwrap();
    view.append(&bits).unwrap();
    assert_eq!(page[8188..], [192, 0, 96, 0]);
    page
}

fn check(bitmap: Bitmap<'_>, model: &[bool], rng: &mut Rng) {
    for bit in 0..BITS + 70 {
        assert_eq!(
            bitmap.get(bit as u32),
            model.get(bit).copied().unwrap_or(false),
            "bit {bit}"
        );
    }
    for _ in 0..60 {
        let size = rng.below(BITS + 9);
        let inside = &model[..size.min(BITS)];
        let ones = inside.iter().filter(|&&bit| bit).count();
        assert_eq!(bitmap.count(size as u32) as usize, ones);
        let set: Vec<_> = (0..inside.len()).filter(|&bit| inside[bit]).collect();
        assert!(
            bitmap
                .iter_set(size as u32)
                .map(|bit| bit as usize)
                .eq(set.iter().copied())
        );
        let hint = rng.below(BITS + 9);
        let found = set.iter().find(|&&bit| bit >= hint).or(set.first());
        let by_hint = bitmap.first_set_from_hint(hint as u32, size as u32);
        assert_eq!(
            by_hint.map(|bit| bit as usize),
            found.copied(),
            "from {hint} of {size}"
        );
        let runs: Vec<_> = bitmap.runs(size as u32).collect();
        let pieces = runs
            .iter()
            .flat_map(|(run, value)| (run.start..run.end).map(|_| *value));
        assert!(pieces.eq(inside.iter().copied()));
        assert!(runs.windows(2).all(|pair| pair[0].1 != pair[1].1));
    }
}

#[test]
fn random_bits_set_and_cleared_read_back() {
    for seed in seeds(4) {
        let _named = OnFailure(seed);
        let mut rng = Rng::new(seed);
        let mut page = if seed % 2 == 0 {
            map(MapKind::Sgam)
        } else {
            aligned_map()
        };
        let mut model = vec![false; BITS];
        for _ in 0..12 {
            for _ in 0..rng.below(40) {
                let (index, value) = (rng.below(BITS), rng.chance(60));
                apply(
                    &Change::SetBit {
                        index: index as u16,
                        value,
                    },
                    &mut page,
                )
                .unwrap();
                model[index] = value;
            }
            let first = rng.below(BITS);
            let most = if rng.chance(70) { 30 } else { BITS };
            let (count, value) = (rng.below((BITS - first + 1).min(most)), rng.chance(50));
            let (first16, count16) = (first as u16, count as u16);
            let change = Change::SetBits {
                first: first16,
                count: count16,
                value,
            };
            apply(&change, &mut page).unwrap();
            model[first..first + count].fill(value);
            check(Bitmap::new(&page).unwrap(), &model, &mut rng);
            Page::new(&page).audit().unwrap();
        }
    }
}

#[test]
fn bits_beyond_the_map_and_maps_of_other_pages_are_refused() {
    let mut page = map(MapKind::Gam);
    let before = page;
    for change in [
        Change::SetBit {
            index: BITS as u16,
            value: true,
        },
        Change::SetBit {
            index: u16::MAX,
            value: true,
        },
        Change::SetBits {
            first: BITS as u16 - 1,
            count: 2,
            value: false,
        },
        Change::SetBits {
            first: 1,
            count: u16::MAX,
            value: false,
        },
        Change::SetPfs {
            index: 0,
            value: PfsByte::FIXED,
        },
        Change::PatchBytes {
            offset: 35,
            bytes: &[0; 6],
        },
        Change::PatchBytes {
            offset: 49,
            bytes: &[0; 1],
        },
        Change::PatchBytes {
            offset: 8191,
            bytes: &[0; 2],
        },
    ] {
        assert!(apply(&change, &mut page).is_err(), "{change:?}");
        assert!(page == before, "{change:?}");
    }
}

#[test]
fn bytes_beside_the_lsn_are_patched_and_rows_are_not() {
    let mut page = map(MapKind::Gam);
    apply(
        &Change::PatchBytes {
            offset: 50,
            bytes: &[0; 2],
        },
        &mut page,
    )
    .unwrap();
    apply(
        &Change::PatchBytes {
            offset: 39,
            bytes: &[0; 1],
        },
        &mut page,
    )
    .unwrap();
    let mut pfs = map(MapKind::Pfs { file_pages: 8 });
    assert!(
        apply(
            &Change::SetBit {
                index: 0,
                value: true
            },
            &mut pfs
        )
        .is_err()
    );
    assert!(
        apply(
            &Change::SetPfs {
                index: 8088,
                value: PfsByte::FREE
            },
            &mut pfs
        )
        .is_err()
    );
    let mut data = [0; PAGE_SIZE];
    let init = PageInit::new(ID, PageType::Data, AllocUnitId(0), 4);
    apply(&Change::Format(init), &mut data).unwrap();
    let patch = Change::PatchBytes {
        offset: 100,
        bytes: &[1],
    };
    let unsuitable = ChangeError::Unsuitable {
        kind: PageType::Data,
    };
    assert_eq!(apply(&patch, &mut data), Err(unsuitable));
}

#[test]
fn random_status_bytes_read_back() {
    for seed in seeds(5) {
        let _named = OnFailure(seed);
        let mut rng = Rng::new(seed);
        let mut page = map(MapKind::Pfs { file_pages: 0 });
        let mut model = vec![PfsByte::FREE; 8088];
        for _ in 0..3000 {
            let (index, value) = (rng.below(8088), PfsByte(rng.next() as u8));
            apply(
                &Change::SetPfs {
                    index: index as u16,
                    value,
                },
                &mut page,
            )
            .unwrap();
            model[index] = value;
        }
        let pfs = Pfs::new(&page).unwrap();
        assert!(pfs.iter().eq(model.iter().copied()));
        assert_eq!(pfs.get(8088), PfsByte::FREE);
        for extent in 0..1011 {
            let used = pfs.allocated_in_extent(extent * 8 + 3);
            for page in 0..8 {
                let allocated = model[usize::from(extent * 8 + page)].is_allocated();
                assert_eq!(used & (1 << page) != 0, allocated);
            }
        }
        Page::new(&page).audit().unwrap();
    }
}

#[test]
fn single_pages_of_an_iam_page_come_and_go() {
    let unit = AllocUnitId(0x0100_0000_0001_0000);
    let mut page = map(MapKind::Iam {
        unit,
        sequence: 0,
        interval_start: PageId::new(1, 0),
    });
    for index in 0..8 {
        let named = PageId::new(1, 100 + u32::from(index)).to_bytes();
        let change = Iam::set_single_page(&page, index, &named).unwrap();
        apply(&change, &mut page).unwrap();
    }
    let none = PageId::NONE.to_bytes();
    let change = Iam::set_single_page(&page, 3, &none).unwrap();
    apply(&change, &mut page).unwrap();
    assert_eq!(Iam::set_single_page(&page, 8, &none), None);
    let iam = Iam::new(&page).unwrap();
    let named: Vec<_> = iam.single_pages().map(|page| page.page).collect();
    assert_eq!(named, [100, 101, 102, 0, 104, 105, 106, 107].map(PageNo));
    assert_eq!(
        (iam.sequence(), iam.interval_start()),
        (0, PageId::new(1, 0))
    );
    assert_eq!(iam.extents().count(Bitmap::BITS), 0);
}

#[test]
fn status_bytes_print_as_dbcc_page_prints_them() {
    for (byte, text) in [
        (0x44, "0x44 ALLOCATED 100_PCT_FULL"),
        (0x40, "0x40 ALLOCATED   0_PCT_FULL"),
        (0x64, "0x64 MIXED_EXT ALLOCATED 100_PCT_FULL"),
        (0x70, "0x70 IAM_PG MIXED_EXT ALLOCATED   0_PCT_FULL"),
        (0x60, "0x60 MIXED_EXT ALLOCATED   0_PCT_FULL"),
        (0x41, "0x41 ALLOCATED  50_PCT_FULL"),
        (0x00, "0x0   0_PCT_FULL"),
    ] {
        assert_eq!(PfsByte(byte).to_string(), text);
    }
}

#[test]
fn a_fullness_class_promises_no_more_than_the_page_has() {
    use furrow_format::Fullness;
    for free in 0..=8096 {
        let class = Fullness::of_free_bytes(free);
        assert!(class.least_free_bytes() <= free, "{free}: {class:?}");
        assert_eq!(PfsByte(0xF8).with_fullness(class).fullness(), class);
    }
    for (used, class) in [
        (0, Fullness::Empty),
        (1, Fullness::UpTo50),
        (4048, Fullness::UpTo50),
        (4049, Fullness::UpTo80),
        (6476, Fullness::UpTo80),
        (6477, Fullness::UpTo95),
        (7691, Fullness::UpTo95),
        (7692, Fullness::UpTo100),
    ] {
        assert_eq!(Fullness::of_free_bytes(8096 - used), class, "{used} used");
    }
}
