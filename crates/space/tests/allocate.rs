//! Pages and extents allocated one after the other.

mod common;

use common::{audit, base, fixed, unit_id};
use furrow_format::{PageId, PageNo};
use furrow_space::SpaceError;
use std::collections::BTreeSet;

#[test]
fn a_fresh_file_has_the_free_extents_that_were_published() {
    let db = base(&[fixed(1, 640), fixed(3, 640), fixed(4, 32_000)]);
    let free: Vec<_> = db
        .space
        .free_extents()
        .into_iter()
        .map(|(_, free)| free)
        .collect();
    // The primary file's second extent holds the boot page; the large one's later PFS pages take three
    // extents.
    assert_eq!(free, [78, 79, 3996]);
    audit(&db, &[]);
}

#[test]
fn an_ascending_load_fills_extents_page_after_page_and_files_in_turn() {
    let db = base(&[fixed(1, 640), fixed(3, 640)]);
    let unit = db.unit(100);
    let mut near = None;
    let mut pages = Vec::new();
    for _ in 0..64 {
        let page = db.allocate_one(&unit, near);
        near = Some(page);
        pages.push(page);
    }
    for extent in pages.chunks(8) {
        let run: Vec<u32> = extent.iter().map(|page| page.page.0).collect();
        let expected: Vec<u32> = (run[0]..run[0] + 8).collect();
        assert_eq!(run, expected);
        assert_eq!(run[0] % 8, 0);
    }
    let files: Vec<u16> = pages.iter().step_by(8).map(|page| page.file.0).collect();
    assert_eq!(files, [1, 3, 1, 3, 1, 3, 1, 3]);
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert_eq!(
        seen.used[&unit.id().0],
        pages.into_iter().collect::<BTreeSet<_>>()
    );
    assert_eq!(seen.owned[&unit.id().0].len(), 8);
}

#[test]
fn a_full_filegroup_is_error_1105_and_every_page_was_handed_out_once() {
    let db = base(&[fixed(1, 640), fixed(3, 320)]);
    let unit = db.unit(100);
    let mut pages = BTreeSet::new();
    let error = loop {
        match db.allocate(&unit, 1, None) {
            Ok(page) => assert!(pages.insert(page[0])),
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, SpaceError::FilegroupFull { cause: None, .. }),
        "{error}"
    );
    assert_eq!(error.number(), Some(1105));
    // 78 + 39 extents were free; each file needs a mixed extent for its IAM page, but the primary has one.
    assert_eq!(pages.len(), (78 + 38) * 8);
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert_eq!(seen.files[&1].1 + seen.files[&3].1, 0);
    assert!(db.space.create_unit(unit_id(101), 1).is_err());
}

#[test]
fn a_reopened_unit_finds_the_pages_it_had_left() {
    let db = base(&[fixed(1, 640), fixed(3, 640)]);
    let unit = db.unit(100);
    let first: Vec<PageId> = (0..19).map(|_| db.allocate_one(&unit, None)).collect();
    let again = db.reopened(&unit);
    let more: Vec<PageId> = (0..5).map(|_| db.allocate_one(&again, None)).collect();
    assert!(more.iter().all(|page| !first.contains(page)));
    // Three extents were there with five pages to spare: no fourth was needed.
    let seen = audit(&db, std::slice::from_ref(&again));
    assert_eq!(seen.owned[&unit.id().0].len(), 3);
    assert_eq!(seen.used[&unit.id().0].len(), 24);
}

#[test]
fn what_a_dropped_reservation_held_is_handed_out_again() {
    let db = base(&[fixed(1, 640)]);
    let unit = db.unit(100);
    let mut held = db.space.reserve(&unit, 5, None).unwrap();
    let taken: Vec<PageId> = (0..5).map(|_| held.take().unwrap()).collect();
    assert!(matches!(held.take(), Err(SpaceError::NothingReserved(_))));
    assert_eq!(
        db.allocate_one(&unit, None),
        PageId {
            page: PageNo(taken[4].page.0 + 1),
            ..taken[4]
        }
    );
    drop(held);
    let again = db.allocate(&unit, 5, None).unwrap();
    assert_eq!(
        again.iter().collect::<BTreeSet<_>>(),
        taken.iter().collect::<BTreeSet<_>>()
    );
    audit(&db, &[unit]);
}
