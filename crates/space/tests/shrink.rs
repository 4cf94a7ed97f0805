//! Files that become smaller, and what is taken from them meanwhile.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Base, audit, base, fixed, growing};
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageId, PageNo, fixed_pages};
use furrow_io::{Access, Open, Volume};
use furrow_pool::LatchRank;
use std::path::Path;

const FILE: FileId = FileId(3);

fn size(db: &Base) -> u32 {
    let usage = db.space.usage().unwrap();
    usage.iter().find(|f| f.file == FILE).unwrap().size_pages
}

fn bytes(db: &Base) -> u64 {
    let path = Path::new("/data/f3.ndf");
    let file = db.volume.open(path, Open::ReadOnly, Access::Data).unwrap();
    file.len_bytes().unwrap()
}

/// The bytes of all maps of the file, without their headers.
fn maps(db: &Base) -> Vec<(PageNo, PageBuf)> {
    let fixed = fixed_pages(PageNo(1), PageNo(size(db)));
    fixed
        .map(|(page, _)| {
            let guard = db.store.read(PageId { file: FILE, page }, LatchRank::Pfs);
            let mut bytes: PageBuf = *guard.unwrap();
            bytes[..96].fill(0);
            (page, bytes)
        })
        .collect()
}

#[test]
fn an_empty_file_becomes_as_if_it_never_was_larger() {
    // Sizes around the ends of PFS pages and of GAM intervals.
    for small in [64, 8_088, 8_096, 60_000, 511_224, 511_232, 511_240, 519_320] {
        let db = base(&[fixed(1, 640), fixed(3, small)]);
        let before = (maps(&db), db.space.free_extents());
        db.space.grow_to(FILE, 530_000).unwrap();
        assert_eq!(db.space.cut(FILE, small).unwrap(), small);
        assert_eq!(db.space.free_extents(), before.1, "{small}");
        assert!(maps(&db) == before.0, "the maps of a file of {small} pages");
        db.space.release_tail(FILE).unwrap();
        assert_eq!(bytes(&db), u64::from(small) * PAGE_SIZE as u64);
        // It can grow again.
        db.space.grow_to(FILE, 530_000).unwrap();
        audit(&db, &[]);
    }
}

#[test]
fn growth_before_the_tail_is_released_takes_nothing_of_it_away() {
    let db = base(&[fixed(1, 64), fixed(3, 1_000)]);
    assert_eq!(db.space.cut(FILE, 504).unwrap(), 504);
    db.space.grow_to(FILE, 632).unwrap();
    assert_eq!((size(&db), bytes(&db)), (632, 1_000 * PAGE_SIZE as u64));
    // The pages that came back are used, and what is left of the tail goes.
    let unit = db.unit(100);
    db.space.preallocate(&unit, 70).unwrap();
    db.space.release_tail(FILE).unwrap();
    assert_eq!(bytes(&db), 632 * PAGE_SIZE as u64);
    db.space.grow_to(FILE, 1_200).unwrap();
    assert_eq!(bytes(&db), 1_200 * PAGE_SIZE as u64);
    audit(&db, &[unit]);
}

#[test]
fn a_file_is_not_cut_before_its_last_extent() {
    let db = base(&[fixed(1, 64), fixed(3, 8_000)]);
    let (low, high) = (db.unit(100), db.unit(101));
    db.space.preallocate(&low, 100).unwrap();
    db.space.preallocate(&high, 60).unwrap();
    let used = db.space.used_end(FILE).unwrap();
    assert_eq!(db.space.cut(FILE, 64).unwrap(), used);
    assert_eq!(db.space.cut(FILE, 64).unwrap(), used);
    audit(&db, &[low.clone(), high.clone()]);
    db.space.drop_unit(&high).unwrap();
    let less = db.space.cut(FILE, 64).unwrap();
    assert!(less < used, "{less} {used}");
    audit(&db, &[low]);
}

#[test]
fn nothing_is_handed_out_above_a_ceiling() {
    let db = base(&[fixed(1, 64), fixed(3, 640)]);
    let above = db.unit(100);
    db.space.preallocate(&above, 40).unwrap();
    db.space.set_ceiling(FILE, 400).unwrap();
    assert!(db.space.reaches(&above, FILE, 300).unwrap());
    assert!(!db.space.reaches(&above, FILE, 400).unwrap());
    let below = db.unit(101);
    db.space.preallocate(&below, 5).unwrap();
    assert!(!db.space.reaches(&below, FILE, 400).unwrap());
    // What is freed above it does not come back, and is counted as free all the same.
    db.space.set_ceiling(FILE, 200).unwrap();
    db.space.drop_unit(&above).unwrap();
    let usage = db.space.usage().unwrap();
    let file = usage.iter().find(|f| f.file == FILE).unwrap();
    let counted = db.space.free_extents();
    let counted = counted.iter().find(|f| f.0 == FILE).unwrap().1;
    assert!(
        counted < file.free_extents,
        "{counted} {}",
        file.free_extents
    );
    assert!(db.space.lift_ceiling(FILE).unwrap());
    assert!(!db.space.lift_ceiling(FILE).unwrap());
    audit(&db, &[below]);
}

#[test]
fn who_finds_the_filegroup_full_takes_the_ceiling_away() {
    let db = base(&[fixed(1, 64), growing(3, 640, 64)]);
    let unit = db.unit(100);
    db.space.set_ceiling(FILE, 128).unwrap();
    db.space.preallocate(&unit, 30).unwrap();
    assert!(!db.space.has_ceiling(FILE).unwrap());
    assert_eq!(size(&db), 640, "the file did not grow");
    audit(&db, &[unit]);
}

#[test]
fn the_header_keeps_the_smaller_size() {
    let db = base(&[fixed(1, 64), fixed(3, 640)]);
    assert_eq!(db.space.least_size(FILE).unwrap(), 640);
    db.space.cut(FILE, 128).unwrap();
    assert_eq!(db.space.least_size(FILE).unwrap(), 128);
    db.space.grow_to(FILE, 1280).unwrap();
    db.space.cut(FILE, 256).unwrap();
    assert_eq!(db.space.least_size(FILE).unwrap(), 128);
}

#[test]
fn threads_allocate_while_the_ceiling_comes_and_goes() {
    let db = base(&[growing(1, 640, 64), growing(3, 6_400, 64)]);
    let units: Vec<_> = (0..3).map(|n| db.unit(100 + n)).collect();
    furrow_io::thread::scope(|scope| {
        for unit in &units {
            let space = &db.space;
            scope.spawn(move || (0..150).for_each(|_| space.preallocate(unit, 2).unwrap()));
        }
        for pages in (0..60).map(|n| 6_400 - n * 64) {
            db.space.set_ceiling(FILE, pages).unwrap();
            db.space.cut(FILE, pages).unwrap();
        }
    });
    db.space.lift_ceiling(FILE).unwrap();
    let seen = audit(&db, &units);
    assert!(units.iter().all(|u| seen.owned[&u.id().0].len() == 301));
    for unit in &units {
        db.space.drop_unit(unit).unwrap();
    }
    db.space.cut(FILE, 64).unwrap();
    assert_eq!(size(&db), 64);
    audit(&db, &[]);
}
