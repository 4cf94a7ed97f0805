//! Pages of real data files: every byte of ours must read them, and our frames must equal theirs.

use furrow_format::{
    Bitmap, Boot, Change, FileHeader, FileId, Iam, PAGE_SIZE, Page, PageBuf, PageFlags, PageId,
    PageMut, PageNo, PageType, Pfs, PfsByte, Protection, admit, apply, gam_page_of,
    interval_extents, page_checksum, pfs_index_of, pfs_page_of, stamp_checksum, stamp_torn_bits,
    verify,
};
use furrow_io::{Access, Open, SystemVolume, Volume};
use std::path::PathBuf;

/// The published facts of a file: name, version, version at birth, free extents, pages by protection
/// (checksum, torn, none).
struct Known {
    file: &'static str,
    database: &'static str,
    versions: (u16, u16),
    free_extents: u32,
    protected: (usize, usize, usize),
}

const FILES: [Known; 4] = [
    Known {
        file: "mvcmusicstore-706.mdf",
        database: "MvcMusicStore",
        versions: (706, 706),
        free_extents: 14,
        protected: (249, 0, 2),
    },
    Known {
        file: "northwnd-611-torn.mdf",
        // Attached from a folder under its path.
        database: r"D:\WEBAPPLICATION3\APP_DATA\NORTHWND.MDF",
        versions: (611, 539),
        free_extents: 4,
        protected: (0, 360, 2),
    },
    Known {
        file: "northwnd-655.mdf",
        database: r"C:\DBS\NORTHWND.MDF",
        versions: (655, 655),
        free_extents: 1,
        protected: (373, 0, 2),
    },
    Known {
        file: "pubs-655.mdf",
        database: r"C:\DBS\PUBS.MDF",
        versions: (655, 655),
        free_extents: 6,
        protected: (221, 0, 2),
    },
];

fn page_id(number: usize) -> PageId {
    PageId::new(1, number as u32)
}

/// The pages of a file as they are on disk; `None`, with a visible message, where the samples are absent.
fn raw_pages(file: &str) -> Option<Vec<PageBuf>> {
    let dir = std::env::var_os("FURROW_SAMPLES").map(PathBuf::from);
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/samples");
    let path = dir.unwrap_or_else(|| PathBuf::from(beside)).join(file);
    let volume = SystemVolume::new();
    if !volume.exists(&path).unwrap_or(false) {
        println!("skipped: samples absent ({})", path.display());
        return None;
    }
    let file = volume.open(&path, Open::ReadOnly, Access::Data).unwrap();
    let mut bytes = vec![0; file.len_bytes().unwrap() as usize];
    file.read_at(0, &mut bytes).unwrap();
    let (pages, rest) = bytes.as_chunks::<PAGE_SIZE>();
    assert!(rest.is_empty());
    Some(pages.to_vec())
}

/// Runs `check` for each sample, with its pages as on disk and ready for use.
fn with_samples(check: impl Fn(&Known, &[PageBuf], &[PageBuf])) {
    for known in &FILES {
        let Some(raw) = raw_pages(known.file) else {
            return;
        };
        let mut pages = raw.clone();
        for (number, page) in pages.iter_mut().enumerate() {
            let _unallocated_ones_may_be_anything = admit(page, page_id(number));
        }
        check(known, &raw, &pages);
    }
}

fn status(pages: &[PageBuf], number: usize) -> PfsByte {
    let page = PageNo(number as u32);
    let pfs = Pfs::new(&pages[pfs_page_of(page).0 as usize]).expect("a PFS page");
    pfs.get(pfs_index_of(page))
}

fn allocated(pages: &[PageBuf]) -> impl Iterator<Item = (usize, &PageBuf)> {
    (0..pages.len())
        .filter(|&number| status(pages, number).is_allocated())
        .map(|number| (number, &pages[number]))
}

#[test]
fn every_allocated_page_is_whole_and_its_own() {
    with_samples(|known, raw, pages| {
        let mut protected = (0, 0, 0);
        for (number, _) in allocated(pages) {
            match verify(&raw[number], page_id(number)) {
                Ok(Protection::Checksum) => protected.0 += 1,
                Ok(Protection::TornBits) => protected.1 += 1,
                Ok(Protection::None) => protected.2 += 1,
                Err(fault) => panic!("{}, page {number}: {fault}", known.file),
            }
        }
        assert_eq!(protected, known.protected, "{}", known.file);
    });
}

#[test]
fn every_allocated_page_keeps_the_invariants() {
    with_samples(|known, _, pages| {
        for (number, page) in allocated(pages) {
            let view = Page::new(page);
            assert!(!matches!(view.page_type(), PageType::Unknown(_)));
            let audit = view.audit();
            assert_eq!(audit, Ok(()), "{}, page {number}: {view:?}", known.file);
        }
    });
}

#[test]
fn compaction_and_an_image_leave_real_rows_as_they_are() {
    with_samples(|known, _, pages| {
        for (number, page) in allocated(pages) {
            if !Page::new(page).page_type().holds_rows() {
                continue;
            }
            let mut copy = *page;
            PageMut::new(&mut copy).compact().unwrap();
            let (old, new) = (Page::new(page), Page::new(&copy));
            assert!(
                new.records().eq(old.records()),
                "{}, page {number}",
                known.file
            );
            assert_eq!(new.free_count(), old.free_count());
            assert_eq!(new.contiguous_room(), usize::from(new.free_count()));
            assert_eq!(new.audit(), Ok(()));
            let mut restored = *page;
            apply(&Change::image_of(page), &mut restored).unwrap();
            assert!(Page::new(&restored).records().eq(old.records()));
        }
    });
}

#[test]
fn a_page_stamped_anew_is_the_page_that_the_product_wrote() {
    with_samples(|known, raw, pages| {
        for (number, page) in allocated(pages) {
            let written = Page::new(&raw[number]);
            let mut copy = *page;
            if written.flags().has(PageFlags::CHECKSUM) {
                PageMut::new(&mut copy).set_torn_bits(0);
                stamp_checksum(&mut copy);
                assert_eq!(page_checksum(&copy), written.torn_bits());
            } else if written.flags().has(PageFlags::TORN_BITS) {
                // One write later the signature is the other one; after two it is the same again.
                stamp_torn_bits(&mut copy);
                assert_ne!(Page::new(&copy).torn_bits() & 3, written.torn_bits() & 3);
                admit(&mut copy, page_id(number)).unwrap();
                stamp_torn_bits(&mut copy);
            }
            assert!(copy == raw[number], "{}, page {number}", known.file);
        }
    });
}

#[test]
fn file_headers_and_boot_pages_say_what_is_known() {
    with_samples(|known, _, pages| {
        let header = FileHeader::decode(&pages[0]).unwrap();
        assert_eq!((header.file, header.filegroup), (FileId(1), 1));
        assert_eq!(header.size_pages as usize, pages.len());
        let boot = Boot::decode(&pages[9]).unwrap();
        assert_eq!((boot.version, boot.create_version), known.versions);
        assert_eq!(boot.name, known.database);
        assert_eq!(boot.own, furrow_format::OwnBoot::default());
        assert_eq!(boot.next_unit == 0, boot.version == 611);
        let catalog = &pages[boot.catalog_page.page.0 as usize];
        assert_eq!(Page::new(catalog).unit().0, 0x7_0000);
    });
}

#[test]
fn a_real_file_header_can_be_updated() {
    with_samples(|_, _, pages| {
        let mut header = FileHeader::decode(&pages[0]).unwrap();
        header.size_pages += 128;
        if header.name.is_empty() {
            // Born on an older version: its record ends before the name.
            "Northwind".clone_into(&mut header.name);
        }
        let mut page = pages[0];
        let record = header.updated_record(&page).unwrap();
        apply(
            &Change::ReplaceRow {
                slot: 0,
                bytes: &record,
            },
            &mut page,
        )
        .unwrap();
        assert_eq!(FileHeader::decode(&page).unwrap(), header);
    });
}

#[test]
fn allocation_maps_agree_with_each_other() {
    with_samples(|known, _, pages| {
        let file_pages = pages.len() as u32;
        let extents = interval_extents(PageNo(0), file_pages);
        let gam = Bitmap::new(&pages[gam_page_of(PageNo(0)).0 as usize]).unwrap();
        assert_eq!(gam.count(extents), known.free_extents);
        let beyond = gam.count(Bitmap::BITS) - gam.count(extents);
        assert_eq!(beyond, Bitmap::BITS - extents, "bits past the end are 1");
        let mut owned = vec![false; extents as usize];
        let mut aligned = 0;
        for (_, page) in allocated(pages) {
            let Some(iam) = Iam::new(page) else { continue };
            aligned += usize::from(Page::new(page).flags().has(PageFlags::ALIGNED));
            assert_eq!(iam.interval_start(), PageId::new(1, 0));
            for extent in iam.extents().iter_set(extents) {
                assert!(!gam.get(extent), "extent {extent} is free and owned");
                assert!(!owned[extent as usize], "extent {extent} is owned twice");
                owned[extent as usize] = true;
            }
            for single in iam.single_pages().filter(|page| !page.is_none()) {
                let byte = status(pages, single.page.0 as usize);
                assert!(
                    byte.has(PfsByte::ALLOCATED | PfsByte::MIXED),
                    "{single}: {byte}"
                );
            }
        }
        assert!(
            aligned > 0,
            "no IAM page with its map at 196 in {}",
            known.file
        );
        assert!(owned.contains(&true));
    });
}
