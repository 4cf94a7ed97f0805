//! Files become smaller: rows stay, sizes are right, and after a restart too.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{LockStatus, Resource, Session, Shrink};
use furrow_io::{Access, Open};
use furrow_observe::task::{self, Task};
use furrow_types::Value;
use std::path::Path;
use std::time::Duration;
use tables_common::long_rows::{fill, rows, spec};
use tables_common::{House, house, house_of, i, quiet_house, s};

fn size(house: &House, name: &str) -> u64 {
    let files = house.db.file_list().unwrap();
    files.iter().find(|f| f.name == name).unwrap().size_pages
}

fn bytes(house: &House, path: &str) -> u64 {
    let file = house
        .volume
        .open(Path::new(path), Open::ReadOnly, Access::Data)
        .unwrap();
    file.len_bytes().unwrap()
}

/// Two tables behind one that goes: its place is free, and theirs is the end of the file.
fn hollow(house: &House, session: &mut Session) -> Vec<Vec<Vec<Value>>> {
    let first = session.create_table(&spec("first", true)).unwrap();
    fill(session, &first, 6_000);
    let mut expected = Vec::new();
    for (name, clustered) in [("tree", true), ("heap", false)] {
        let table = session.create_table(&spec(name, clustered)).unwrap();
        fill(session, &table, 1_000);
        expected.push(rows(session, &table));
    }
    drop(first);
    session.begin().unwrap();
    session.drop_table("first").unwrap();
    session.commit().unwrap();
    house.db.checkpoint().unwrap();
    expected
}

fn as_expected(session: &mut Session, expected: &[Vec<Vec<Value>>]) {
    for (name, expected) in ["tree", "heap"].iter().zip(expected) {
        let table = session.table(name).unwrap();
        assert_eq!(&rows(session, &table), expected, "{name}");
        for index in table.indexes() {
            assert_eq!(index.rowset().audit().unwrap().rows, 1_000);
        }
    }
}

#[test]
fn what_lies_at_the_end_moves_to_the_front() {
    let house = house();
    let mut session = house.session();
    let expected = hollow(&house, &mut session);
    let before = size(&house, "data");
    // Nothing is moved: the tables hold the end.
    let cut = house.db.shrink_file("data", Shrink::Cut).unwrap();
    assert!(cut.size_pages <= before && cut.size_pages > 2 * cut.used_pages);
    // Moved, the file stays as it is.
    let moved = house.db.shrink_file("data", Shrink::Move(None)).unwrap();
    assert_eq!(moved.size_pages, cut.size_pages);
    as_expected(&mut session, &expected);
    let done = house
        .db
        .shrink_file("DATA", Shrink::Full(Some(512)))
        .unwrap();
    assert_eq!(done.was_pages, cut.size_pages);
    assert!(done.size_pages < cut.size_pages / 2, "{done:?}");
    assert!(done.size_pages >= done.used_pages && done.reported.is_empty());
    assert_eq!(bytes(&house, "d/data.mdf"), done.size_pages * 8192);
    as_expected(&mut session, &expected);
    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    assert_eq!(size(&house, "data"), done.size_pages);
    as_expected(&mut session, &expected);
    // It grows again.
    let more = session.create_table(&spec("more", true)).unwrap();
    fill(&mut session, &more, 2_000);
    assert!(size(&house, "data") > done.size_pages);
    drop(more);
    as_expected(&mut session, &expected);
    let house = house.restart(false, vec![session]);
    as_expected(&mut house.session(), &expected);
}

#[test]
fn a_file_keeps_the_size_that_it_was_made_with_unless_a_target_is_given() {
    let house = house();
    let mut session = house.session();
    let expected = hollow(&house, &mut session);
    let made = 8 * 128;
    let done = house.db.shrink_file("data", Shrink::Full(None)).unwrap();
    assert_eq!(done.least_pages, made);
    assert!(done.size_pages >= made);
    let larger = Shrink::Full(Some(1 << 20));
    let refused = house.db.shrink_file("data", larger).unwrap();
    assert_eq!(refused.size_pages, done.size_pages);
    assert_eq!(refused.reported[0].number, 5241);
    as_expected(&mut session, &expected);
    let missing = house.db.shrink_file("none", Shrink::Cut).unwrap_err();
    assert_eq!(missing.number(), 8985);
}

#[test]
fn others_write_while_a_file_becomes_smaller() {
    let house = house_of(3);
    let mut session = house.session();
    let expected = hollow(&house, &mut session);
    let busy = session.create_table(&spec("busy", true)).unwrap();
    drop(session);
    furrow_io::thread::scope(|scope| {
        scope.spawn(|| {
            let mut session = house.session();
            for at in 0..600 {
                let row = [i(at), s(&format!("{at:05}{}", "y".repeat(700)))];
                // A move of the table's first pages changes its definition.
                let mut done = session.insert(&busy, &row);
                while done.as_ref().is_err_and(|error| error.number() == 2801) {
                    let busy = house.db.catalog().table("dbo", "busy").unwrap();
                    done = session.insert(&busy, &row);
                }
                done.unwrap();
            }
        });
        for target in [2_000, 1_000, 600, 300, 100] {
            house
                .db
                .shrink_file("data", Shrink::Full(Some(target)))
                .unwrap();
        }
    });
    let mut session = house.session();
    as_expected(&mut session, &expected);
    drop(busy);
    let busy = session.table("busy").unwrap();
    assert_eq!(rows(&mut session, &busy).len(), 600);
    drop(busy);
    let house = house.restart(true, vec![session]);
    as_expected(&mut house.session(), &expected);
}

#[test]
fn the_log_becomes_smaller_and_goes_on() {
    let house = quiet_house();
    let mut session = house.session();
    let expected = hollow(&house, &mut session);
    let before = size(&house, "log");
    let done = house
        .db
        .shrink_file("log", Shrink::Full(Some(128)))
        .unwrap();
    assert_eq!(done.was_pages, before);
    assert!(done.size_pages < before, "{done:?}");
    assert_eq!(bytes(&house, "d/log.ldf"), done.size_pages * 8192);
    assert_eq!(house.db.vlfs().len(), 2);
    // There are no fewer than two.
    let again = house
        .db
        .shrink_file("log", Shrink::Full(Some(128)))
        .unwrap();
    assert!(matches!(again.reported[0].number, 9006 | 9008), "{again:?}");
    as_expected(&mut session, &expected);
    let more = session.create_table(&spec("more", true)).unwrap();
    fill(&mut session, &more, 500);
    drop(more);
    let house = house.restart(true, vec![session]);
    assert_eq!(size(&house, "log"), done.size_pages);
    let mut session = house.session();
    as_expected(&mut session, &expected);
    let more = session.table("more").unwrap();
    assert_eq!(rows(&mut session, &more).len(), 500);
}

#[test]
fn the_log_keeps_what_a_transaction_needs() {
    let house = quiet_house();
    let mut session = house.session();
    let table = session.create_table(&spec("t", true)).unwrap();
    session.begin().unwrap();
    for at in 0..5_000 {
        let row = [i(at), s(&format!("{at:05}{}", "x".repeat(700)))];
        session.insert(&table, &row).unwrap();
    }
    let done = house
        .db
        .shrink_file("log", Shrink::Full(Some(128)))
        .unwrap();
    assert_eq!(done.reported.len(), 1, "{done:?}");
    session.rollback().unwrap();
    assert!(rows(&mut session, &table).is_empty());
    drop(table);
    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    let table = session.table("t").unwrap();
    assert!(rows(&mut session, &table).is_empty());
}

#[test]
fn how_much_is_done_is_reported_while_a_file_becomes_smaller() {
    let house = house();
    let mut session = house.session();
    let expected = hollow(&house, &mut session);
    // The heap moves first. Then the tree is waited for.
    let tree = session.table("tree").unwrap();
    session.begin().unwrap();
    let row = [i(5_000), s("one more")];
    session.insert(&tree, &row).unwrap();
    let task = Task::new(house.instance.instruments(), 60, "shrink");
    let wanted = Resource::Object(house.db.id(), tree.id());
    let waits = || {
        let locks = house.instance.locks().snapshot();
        let mut locks = locks.iter();
        locks.any(|lock| lock.resource == wanted && lock.status == LockStatus::Wait)
    };
    let done = furrow_io::thread::scope(|scope| {
        let shrink = scope.spawn(|| {
            let _entered = task::enter(&task);
            house.db.shrink_file("data", Shrink::Full(Some(512)))
        });
        while !waits() && !shrink.is_finished() {
            furrow_io::time::sleep(Duration::from_millis(1));
        }
        let percent = task.progress();
        session.rollback().unwrap();
        assert!((10.0..90.0).contains(&percent), "{percent}");
        shrink.join().unwrap().unwrap()
    });
    assert!(done.size_pages < done.was_pages / 2, "{done:?}");
    assert_eq!(task.progress(), 0.0);
    drop(tree);
    as_expected(&mut session, &expected);
}
