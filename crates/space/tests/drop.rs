//! Pages, extents and units given back.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{audit, base, fixed};
use furrow_format::{PageId, PfsByte};
use furrow_space::SpaceError;
use furrow_txn::{Author, Mini};

fn free(db: &common::Base, unit: &std::sync::Arc<furrow_space::Unit>, pages: &[PageId]) {
    let mut mini = Mini::new(&db.store);
    let freed = db.space.free_pages(unit, &mut mini, pages).unwrap();
    mini.commit(&Author::System).unwrap();
    db.space.freed(freed).unwrap();
}

#[test]
fn an_extent_goes_back_with_its_last_page() {
    let db = base(&[fixed(1, 640)]);
    let unit = db.unit(100);
    let pages: Vec<PageId> = (0..16).map(|_| db.allocate_one(&unit, None)).collect();
    free(&db, &unit, &pages[8..15]);
    assert_eq!(
        audit(&db, std::slice::from_ref(&unit)).owned[&unit.id().0].len(),
        2
    );
    free(&db, &unit, &pages[15..]);
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert_eq!(seen.owned[&unit.id().0].len(), 1);
    assert_eq!(seen.used[&unit.id().0].len(), 8);
    // The freed pages are the first to be allocated.
    assert_eq!(db.allocate_one(&unit, None), pages[8]);
}

#[test]
fn a_page_freed_in_a_group_that_is_given_up_stays_in_use() {
    let db = base(&[fixed(1, 640)]);
    let unit = db.unit(100);
    let page = db.allocate_one(&unit, None);
    let mut mini = Mini::new(&db.store);
    drop(db.space.free_pages(&unit, &mut mini, &[page]).unwrap());
    drop(mini);
    for _ in 0..20 {
        assert_ne!(db.allocate_one(&unit, None), page);
    }
    let seen = audit(&db, std::slice::from_ref(&unit));
    assert_eq!(seen.used[&unit.id().0].len(), 21);
    free(&db, &unit, &[page]);
    let mut mini = Mini::new(&db.store);
    let twice = db.space.free_pages(&unit, &mut mini, &[page]).unwrap_err();
    assert!(matches!(twice, SpaceError::Damaged { .. }), "{twice}");
}

#[test]
fn a_page_in_use_is_never_allocated_again_even_if_memory_forgot_it() {
    let db = base(&[fixed(1, 640)]);
    let unit = db.unit(100);
    let mut held = db.space.reserve(&unit, 1, None).unwrap();
    let page = held.take().unwrap();
    let mut mini = Mini::new(&db.store);
    held.allocate(&mut mini, page, PfsByte::FREE).unwrap();
    mini.commit(&Author::System).unwrap();
    // The caller does not call `done`: the page looks free in memory, but not in PFS.
    drop(held);
    let error = db.allocate(&unit, 1, None).unwrap_err();
    assert!(
        matches!(error, SpaceError::Damaged { page: at, .. } if at == page),
        "{error}"
    );
    assert_eq!(
        audit(&db, std::slice::from_ref(&unit)).used[&unit.id().0].len(),
        1
    );
}

#[test]
fn a_drop_that_was_interrupted_goes_on_where_it_stopped() {
    // At every batch in turn; each time as after a restart, with nothing known.
    for stop_after in 0..40 {
        let db = base(&[fixed(1, 640), fixed(3, 2048), fixed(4, 2048)]);
        let other = db.unit(99);
        let unit = db.unit(100);
        db.allocate(&unit, 30, None).unwrap();
        db.space.preallocate(&unit, 400).unwrap();
        let mut batches = 0;
        let go_on = || {
            batches += 1;
            batches <= stop_after
        };
        let freed = db.space.drop_unit_while(&unit, go_on).unwrap();
        let is_done = batches <= stop_after;
        let again = db.reopened(&unit);
        if !is_done {
            let seen = audit(&db, &[other.clone(), again.clone()]);
            let owned = seen
                .owned
                .get(&unit.id().0)
                .map_or(0, std::collections::BTreeSet::len);
            assert_eq!(owned as u64 + freed, 404);
        }
        let rest = db.space.drop_unit(&again).unwrap();
        assert_eq!(freed + rest, 404);
        assert_eq!(
            db.space.drop_unit(&db.reopened(&unit)).unwrap(),
            0,
            "a third time is no error"
        );
        let seen = audit(&db, std::slice::from_ref(&other));
        db.space.drop_unit(&other).unwrap();
        assert_eq!(audit(&db, &[]).files[&3], (2048, 255, 0));
        drop(seen);
        if is_done {
            assert!(
                stop_after > 6,
                "404 extents and three IAM pages in {stop_after} batches"
            );
            return;
        }
    }
    panic!("a drop of 404 extents took more than 40 batches");
}
