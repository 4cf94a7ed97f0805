//! MIXED_PAGE_ALLOCATION: the first eight pages of a unit, one by one from mixed extents.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Base, audit, base, fixed, growing};
use furrow_format::{Fullness, PageId, PfsByte};
use furrow_space::Unit;
use furrow_txn::{Author, Mini};
use std::collections::BTreeSet;
use std::sync::Arc;

fn mixed(files: &[common::Spec]) -> Base {
    let db = base(files);
    db.space.set_mixed_pages(true);
    db
}

fn free(db: &Base, unit: &Arc<Unit>, pages: &[PageId]) {
    let mut mini = Mini::new(&db.store);
    let freed = db.space.free_pages(unit, &mut mini, pages).unwrap();
    mini.commit(&Author::System).unwrap();
    db.space.freed(freed).unwrap();
}

/// How many pages of mixed extents, and how many extents, a unit has.
fn shape(db: &Base, units: &[Arc<Unit>], of: usize) -> (usize, usize) {
    let seen = audit(db, units);
    let id = units[of].id().0;
    let singles = seen.singles.get(&id).map_or(0, Vec::len);
    (singles, seen.owned.get(&id).map_or(0, BTreeSet::len))
}

#[test]
fn the_first_eight_pages_are_single_and_the_ninth_brings_an_extent() {
    let db = mixed(&[fixed(1, 640)]);
    let units = [db.unit(100)];
    let unit = &units[0];
    assert_eq!(
        shape(&db, &units, 0),
        (1, 0),
        "a new unit has an IAM page and one page"
    );
    assert_eq!(db.space.page_counts(unit).unwrap().reserved, 2);
    let pages: Vec<PageId> = (0..8).map(|_| db.allocate_one(unit, None)).collect();
    assert_eq!(shape(&db, &units, 0), (8, 0));
    assert_eq!(audit(&db, &units).singles[&unit.id().0], pages);
    db.allocate_one(unit, None);
    assert_eq!(shape(&db, &units, 0), (8, 1));
    let counts = db.space.page_counts(unit).unwrap();
    assert_eq!((counts.used, counts.data, counts.reserved), (10, 9, 17));
    for _ in 0..20 {
        db.allocate_one(unit, None);
    }
    assert_eq!(shape(&db, &units, 0), (8, 3));
}

#[test]
fn units_share_mixed_extents_and_files_take_turns() {
    let db = mixed(&[fixed(1, 640), fixed(3, 640)]);
    let units: Vec<_> = (0..4).map(|n| db.unit(100 + n)).collect();
    for unit in &units {
        for _ in 0..4 {
            db.allocate_one(unit, None);
        }
    }
    let seen = audit(&db, &units);
    let all: Vec<PageId> = seen.singles.values().flatten().copied().collect();
    assert_eq!(all.len(), 16);
    let extents: BTreeSet<_> = all.iter().map(|p| (p.file, p.extent())).collect();
    assert!(extents.len() <= 4, "{extents:?}");
    for file in [1, 3] {
        assert!(all.iter().any(|p| p.file.0 == file), "{all:?}");
    }
}

#[test]
fn what_asks_for_eight_pages_at_once_gets_extents() {
    let db = mixed(&[fixed(1, 640)]);
    let large = db.space.create_large_unit(common::unit_id(100), 1).unwrap();
    db.allocate(&large, 12, None).unwrap();
    let small = db.unit(101);
    db.allocate(&small, 8, None).unwrap();
    let units = [large, small];
    assert_eq!(shape(&db, &units, 0), (0, 2));
    assert_eq!(shape(&db, &units, 1), (1, 1));
}

#[test]
fn a_freed_page_goes_back_and_its_extent_with_the_last_one() {
    let db = mixed(&[fixed(1, 640)]);
    let units = [db.unit(100), db.unit(101)];
    let pages: Vec<PageId> = (0..6).map(|_| db.allocate_one(&units[0], None)).collect();
    free(&db, &units[0], &pages[1..4]);
    assert_eq!(shape(&db, &units, 0), (3, 0));
    // Another unit may have them.
    let others: BTreeSet<PageId> = (0..4).map(|_| db.allocate_one(&units[1], None)).collect();
    assert!(pages[1..4].iter().any(|page| others.contains(page)));
    assert_eq!(shape(&db, &units, 1), (4, 0));
    for unit in &units {
        db.space.drop_unit(unit).unwrap();
    }
    assert_eq!(
        audit(&db, &[]).files[&1],
        (640, 78, 1),
        "the boot page's extent is left"
    );
}

#[test]
fn a_page_freed_by_a_group_that_is_given_up_stays_in_use() {
    let db = mixed(&[fixed(1, 640)]);
    let units = [db.unit(100)];
    let page = db.allocate_one(&units[0], None);
    let mut mini = Mini::new(&db.store);
    drop(db.space.free_pages(&units[0], &mut mini, &[page]).unwrap());
    drop(mini);
    assert_eq!(shape(&db, &units, 0), (1, 0));
    assert_ne!(db.allocate_one(&units[0], None), page);
}

#[test]
fn after_a_restart_pages_set_aside_are_found_again() {
    let db = mixed(&[fixed(1, 640)]);
    let unit = db.unit(100);
    let pages = db.allocate(&unit, 4, None).unwrap();
    // Set aside, and not used: the reservation is dropped.
    drop(db.space.reserve(&unit, 3, None).unwrap());
    let units = [db.reopened(&unit)];
    assert_eq!(shape(&db, &units, 0), (7, 0));
    let again = db.allocate(&units[0], 3, None).unwrap();
    assert!(again.iter().all(|page| !pages.contains(page)));
    assert_eq!(shape(&db, &units, 0), (7, 0), "no page was added");
    let walked: BTreeSet<PageId> = db
        .space
        .pages(&units[0])
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(walked, pages.into_iter().chain(again).collect());
}

#[test]
fn a_heap_finds_room_on_its_single_pages_after_a_restart() {
    let db = mixed(&[fixed(1, 640)]);
    let unit = db.unit(100);
    let pages = db.allocate(&unit, 3, None).unwrap();
    let mut mini = Mini::new(&db.store);
    for (&page, class) in pages
        .iter()
        .zip([Fullness::UpTo100, Fullness::UpTo50, Fullness::UpTo95])
    {
        db.space
            .set_fullness(&unit, &mut mini, page, class)
            .unwrap();
    }
    mini.commit(&Author::System).unwrap();
    let unit = db.reopened(&unit);
    let found = db
        .space
        .find_pages_with_room(&unit, Fullness::UpTo80)
        .unwrap();
    assert_eq!(found.as_slice(), &pages[1..2]);
    audit(&db, &[unit]);
}

#[test]
fn a_unit_that_was_there_before_the_option_keeps_its_extents() {
    let db = base(&[fixed(1, 640)]);
    let units = [db.unit(100)];
    db.allocate(&units[0], 8, None).unwrap();
    db.space.set_mixed_pages(true);
    db.allocate(&units[0], 1, None).unwrap();
    assert_eq!(shape(&db, &units, 0), (0, 2));
    // And one that has single pages gets extents once the option is off.
    let units = [units[0].clone(), db.unit(101)];
    db.allocate(&units[1], 2, None).unwrap();
    db.space.set_mixed_pages(false);
    db.allocate(&units[1], 2, None).unwrap();
    assert_eq!(shape(&db, &units, 1), (2, 1));
}

#[test]
fn a_full_file_grows_for_a_single_page_only_when_no_mixed_extent_has_one() {
    let db = mixed(&[growing(1, 64, 8)]);
    let hog = db.unit(100);
    while db.space.free_extents()[0].1 > 0 {
        db.space.preallocate(&hog, 1).unwrap();
    }
    let small = db.unit(101);
    let before = db.space.usage().unwrap()[0].size_pages;
    let units = [hog, small];
    let mut taken = 0;
    while db.space.usage().unwrap()[0].size_pages == before && taken < 8 {
        db.allocate_one(&units[1], None);
        taken += 1;
    }
    audit(&db, &units);
    assert!(taken > 1, "mixed extents had pages to spare");
}

#[test]
fn a_drop_of_single_pages_that_was_interrupted_goes_on_where_it_stopped() {
    for stop_after in 0..20 {
        let db = mixed(&[fixed(1, 640)]);
        let unit = db.unit(100);
        db.allocate(&unit, 7, None).unwrap();
        db.allocate(&unit, 3, None).unwrap();
        let mut steps = 0;
        let go_on = || {
            steps += 1;
            steps <= stop_after
        };
        db.space.drop_unit_while(&unit, go_on).unwrap();
        let is_done = steps <= stop_after;
        let again = db.reopened(&unit);
        if !is_done {
            audit(&db, std::slice::from_ref(&again));
        }
        db.space.drop_unit(&again).unwrap();
        assert_eq!(audit(&db, &[]).files[&1], (640, 78, 1));
        if is_done {
            assert!(stop_after >= 10, "eight pages, an extent, an IAM page");
            return;
        }
    }
    panic!("a drop of eight pages took more than 20 steps");
}

#[test]
fn an_iam_page_and_single_pages_keep_their_bytes_apart() {
    let db = mixed(&[fixed(1, 640)]);
    let unit = db.unit(100);
    let page = db.allocate_one(&unit, None);
    let pfs = db
        .store
        .read(PageId::new(1, 1), furrow_pool::LatchRank::Pfs)
        .unwrap();
    let byte = |page: PageId| {
        furrow_format::Pfs::new(&pfs)
            .unwrap()
            .get(furrow_format::pfs_index_of(page.page))
    };
    assert_eq!(byte(unit.first_iam()), PfsByte::IAM_PAGE);
    assert_eq!(
        byte(page),
        PfsByte::FREE.with(PfsByte::ALLOCATED | PfsByte::MIXED)
    );
}
