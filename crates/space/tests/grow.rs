//! Files that grow, and that cannot.

mod common;

use common::{Make, Spec, audit, base, fixed, growing, make, unit_id};
use furrow_format::{
    FileGrowth, FileHeader, FileId, PAGE_SIZE, PageId, PageNo, PageType, fixed_pages,
};
use furrow_io::{IoErrorKind, MemoryVolume};
use furrow_pool::LatchRank;
use furrow_space::SpaceError;

#[test]
fn full_files_grow_one_after_the_other() {
    let db = base(&[growing(1, 640, 160), growing(3, 640, 160)]);
    let unit = db.unit(100);
    // 78 + 79 extents were free, one of them for the second file's IAM page.
    db.space.preallocate(&unit, 155 + 30).unwrap();
    let sizes: Vec<u32> = db
        .space
        .usage()
        .unwrap()
        .iter()
        .map(|file| file.size_pages)
        .collect();
    assert_eq!(sizes, [800, 800]);
    let header = {
        let page = db
            .store
            .read(PageId::new(3, 0), LatchRank::FileHeader)
            .unwrap();
        FileHeader::decode(&page).unwrap()
    };
    assert_eq!((header.size_pages, header.name.as_str()), (800, "f3"));
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert_eq!(seen.owned[&unit.id().0].len(), 186);
}

#[test]
fn with_autogrow_all_every_file_grows_at_once() {
    let make_all = Make {
        autogrow_all: true,
        ..Make::default()
    };
    let db = make(
        make_all,
        &[growing(1, 640, 160), growing(3, 640, 80), fixed(4, 640)],
    );
    let unit = db.unit(100);
    db.space.preallocate(&unit, 78 + 79 + 79 - 2).unwrap();
    let sizes: Vec<u32> = db
        .space
        .usage()
        .unwrap()
        .iter()
        .map(|file| file.size_pages)
        .collect();
    assert_eq!(sizes, [800, 720, 640]);
    audit(&db, &[unit]);
}

#[test]
fn growth_in_percent_ends_at_the_largest_size_and_then_the_filegroup_is_full() {
    let spec = Spec {
        growth: FileGrowth::Percent(10),
        max: Some(720),
        ..fixed(1, 640)
    };
    let db = base(&[spec]);
    let unit = db.unit(100);
    let error = loop {
        if let Err(error) = db.space.preallocate(&unit, 1) {
            break error;
        }
    };
    assert!(
        matches!(error, SpaceError::FilegroupFull { cause: None, .. }),
        "{error}"
    );
    assert_eq!(db.space.usage().unwrap()[0].size_pages, 720);
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert_eq!(seen.owned[&unit.id().0].len(), 88);
    db.space
        .set_limits(FileId(1), None, FileGrowth::Pages(8))
        .unwrap();
    db.space.preallocate(&unit, 1).unwrap();
    assert_eq!(db.space.usage().unwrap()[0].size_pages, 728);
}

#[test]
fn a_full_disk_is_reported_and_leaves_the_file_as_it_was() {
    // Space for the log, two files and one growth of one of them.
    let bytes = (64 << 20) + (640 + 640 + 160) * PAGE_SIZE as u64 + 65536;
    let volume = MemoryVolume::with_capacity(bytes);
    let db = make(
        Make {
            volume,
            ..Make::default()
        },
        &[growing(1, 640, 160), growing(3, 640, 160)],
    );
    let unit = db.unit(100);
    let error = loop {
        if let Err(error) = db.space.preallocate(&unit, 1) {
            break error;
        }
    };
    let SpaceError::FilegroupFull {
        filegroup,
        object,
        cause,
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((filegroup.as_str(), object), ("PRIMARY", unit_id(100)));
    assert_eq!(cause.unwrap().kind, IoErrorKind::NoSpace);
    let sizes: Vec<u32> = db
        .space
        .usage()
        .unwrap()
        .iter()
        .map(|file| file.size_pages)
        .collect();
    assert_eq!(sizes.iter().sum::<u32>(), 640 + 640 + 160);
    audit(&db, std::slice::from_ref(&unit));
    // The database is still usable: freed space can be allocated again.
    db.space.drop_unit(&unit).unwrap();
    let seen = audit(&db, &[]);
    assert_eq!(seen.files[&1].1 + seen.files[&3].1, 78 + 79 + 20);
    db.unit(101);
}

#[test]
fn growth_past_map_intervals_makes_their_maps() {
    // From below the second PFS page to beyond the second GAM interval, by steps that end between fixed
    // pages.
    let db = base(&[fixed(3, 640)]);
    let unit = db.unit(100);
    let mut size = 640;
    for to in [8_088, 8_096, 8_200, 60_000, 511_232, 511_240, 520_000] {
        db.space.grow_to(FileId(3), to).unwrap();
        size = to.next_multiple_of(8);
        db.space.preallocate(&unit, 3).unwrap();
    }
    let usage = db.space.usage().unwrap();
    assert_eq!(usage[0].size_pages, size);
    for (page, kind) in fixed_pages(PageNo(0), PageNo(size)) {
        if kind == PageType::FileHeader {
            continue;
        }
        let guard = db
            .store
            .read(
                PageId {
                    file: FileId(3),
                    page,
                },
                LatchRank::Gam,
            )
            .unwrap();
        assert_eq!(furrow_format::Page::new(&guard).page_type(), kind, "{page}");
    }
    let seen = audit(&db, std::slice::from_ref(&unit));
    // All extents but: two of maps, 64 of later PFS pages, the mixed one of the first IAM page, and the
    // unit's.
    let owned = seen.owned[&unit.id().0].len() as u64;
    assert_eq!(seen.files[&3].1, u64::from(size / 8) - 2 - 64 - 1 - owned);
    assert_eq!(seen.files[&3].2, 65);
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    let db = base(&[fixed(1, 640)]);
    for (asked, number) in [(640, 5039), (8, 5039), (u32::MAX, 5039)] {
        let error = db.space.grow_to(FileId(1), asked).unwrap_err();
        assert_eq!(error.number(), Some(number), "{error}");
    }
    assert!(db.space.grow_to(FileId(9), 800).is_err());
    db.space.grow_to(FileId(1), 641).unwrap();
    assert_eq!(db.space.usage().unwrap()[0].size_pages, 648);
    audit(&db, &[]);
}
