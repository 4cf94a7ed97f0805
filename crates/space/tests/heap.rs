//! Free space in heaps, and walks over units.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Base, audit, base, fixed};
use furrow_format::{FileId, Fullness, PageId};
use furrow_space::{PageCounts, Unit, class_with_room};
use furrow_txn::{Author, Mini};
use std::collections::BTreeSet;

fn fill(db: &Base, unit: &Unit, page: PageId, class: Fullness) {
    let mut mini = Mini::new(&db.store);
    db.space.set_fullness(unit, &mut mini, page, class).unwrap();
    mini.commit(&Author::System).unwrap();
}

#[test]
fn a_search_finds_the_pages_with_room_and_only_those() {
    let db = base(&[fixed(1, 2048), fixed(3, 2048)]);
    let unit = db.unit(100);
    let pages: Vec<PageId> = (0..1000).map(|_| db.allocate_one(&unit, None)).collect();
    for (at, &page) in pages.iter().enumerate() {
        let class = match at % 10 {
            0 => Fullness::UpTo50,
            1 => Fullness::UpTo95,
            _ => Fullness::UpTo100,
        };
        fill(&db, &unit, page, class);
    }
    // Fresh from the maps: the cache is empty.
    let again = db.reopened(&unit);
    let mut found = BTreeSet::new();
    loop {
        let offered = db
            .space
            .find_pages_with_room(&again, Fullness::UpTo80)
            .unwrap();
        if offered.is_empty() {
            break;
        }
        for page in offered {
            assert!(found.insert(page), "{page} was filled and offered again");
            fill(&db, &again, page, Fullness::UpTo100);
        }
    }
    let expected: BTreeSet<PageId> = pages.iter().copied().step_by(10).collect();
    assert_eq!(found, expected);
    assert!(
        db.space
            .find_pages_with_room(&again, Fullness::Empty)
            .unwrap()
            .is_empty()
    );
    let nearly_full = db
        .space
        .find_pages_with_room(&again, Fullness::UpTo95)
        .unwrap();
    assert!(!nearly_full.is_empty());
    assert!(
        db.space
            .find_pages_with_room(&again, Fullness::UpTo100)
            .unwrap()
            .is_empty()
    );
    // A row is deleted: its page is offered at once.
    fill(&db, &again, pages[500], Fullness::UpTo80);
    assert_eq!(
        db.space
            .find_pages_with_room(&again, Fullness::UpTo80)
            .unwrap()[..],
        [pages[500]]
    );
}

#[test]
fn pages_that_memory_forgot_are_found_again() {
    let db = base(&[fixed(1, 8192)]);
    let unit = db.unit(100);
    let pages: Vec<PageId> = (0..600).map(|_| db.allocate_one(&unit, None)).collect();
    pages
        .iter()
        .for_each(|&page| fill(&db, &unit, page, Fullness::UpTo100));
    // More than are remembered.
    pages
        .iter()
        .for_each(|&page| fill(&db, &unit, page, Fullness::UpTo50));
    let mut found = BTreeSet::new();
    loop {
        let offered = db
            .space
            .find_pages_with_room(&unit, Fullness::UpTo50)
            .unwrap();
        if offered.is_empty() {
            break;
        }
        for page in offered {
            found.insert(page);
            fill(&db, &unit, page, Fullness::UpTo100);
        }
    }
    assert_eq!(found, pages.into_iter().collect());
}

#[test]
fn the_class_that_surely_has_room_is_chosen() {
    assert_eq!(class_with_room(100), Some(Fullness::UpTo95));
    assert_eq!(class_with_room(405), Some(Fullness::UpTo80));
    assert_eq!(class_with_room(4_000), Some(Fullness::UpTo50));
    assert_eq!(class_with_room(8_062), Some(Fullness::Empty));
    assert_eq!(class_with_room(9_000), None);
}

#[test]
fn a_walk_sees_every_page_file_by_file() {
    let db = base(&[fixed(1, 2048), fixed(3, 2048), fixed(4, 2048)]);
    let unit = db.unit(100);
    let pages: BTreeSet<PageId> = (0..500).map(|_| db.allocate_one(&unit, None)).collect();
    let again = db.reopened(&unit);
    let walked: Vec<PageId> = db
        .space
        .pages(&again)
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(walked.iter().copied().collect::<BTreeSet<_>>(), pages);
    assert_eq!(walked.len(), 500);
    let runs = walked
        .chunk_by(|a, b| a.file == b.file && a.page < b.page)
        .count();
    assert_eq!(runs, 3, "ascending within each file");
    let mut by_file = Vec::new();
    for (file, mut walk) in db.space.walks_by_file(&again).unwrap() {
        let mut seen = Vec::new();
        while let Some(batch) = walk.next_batch(&db.space).unwrap() {
            seen.extend(batch);
        }
        assert!(seen.iter().all(|page| page.file == file));
        by_file.push((file, seen.len()));
    }
    assert_eq!(
        by_file,
        [(FileId(1), 168), (FileId(4), 168), (FileId(3), 164)]
    );
    let counts = db.space.page_counts(&again).unwrap();
    assert_eq!(
        counts,
        PageCounts {
            used: 503,
            data: 500,
            reserved: 63 * 8 + 3
        }
    );
    audit(&db, &[unit]);
}
