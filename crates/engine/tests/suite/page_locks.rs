//! Page locks: who waits for whom when some lock rows and others whole pages.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, IndexOptions, IndexSpec, Isolation, LockHints, ReadLock, ScanSpec,
    Session, Table, TableSpec, Timeout,
};
use furrow_txn::lock::{LockMode, LockStatus, Resource};
use furrow_types::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tables_common::{House, bigint, house, i, int, n, s, varchar};

/// Rows of about a kilobyte: seven on a page.
const ROWS: i64 = 70;

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Tree,
    Heap,
}

fn spec(kind: Kind) -> TableSpec {
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .column(ColumnSpec::new("pad", varchar(3000)).not_null())
        .index(IndexSpec::new("by_v", ["v"]));
    match kind {
        Kind::Tree => spec.primary_key(["id"]),
        Kind::Heap => spec.primary_key_nonclustered(["id"]),
    }
}

fn row(id: i64) -> [Value; 3] {
    [n(id), i(id as i32 * 10), s(&"x".repeat(1000))]
}

fn set_up(kind: Kind) -> (House, Arc<Table>) {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&spec(kind)).unwrap();
    for id in 1..=ROWS {
        session.insert(&table, &row(id)).unwrap();
    }
    drop(session);
    (house, table)
}

/// A session in a transaction that does not wait for locks.
fn begun(house: &House) -> Session {
    let mut session = house.session();
    session.set_lock_timeout(Timeout::NoWait);
    session.begin().unwrap();
    session
}

/// Changes `pad`, which is in no nonclustered index, by way of the primary key.
fn set(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<bool, EngineError> {
    let key = session.find_row(table, &[n(id)])?.unwrap();
    session.update(table, &key, &[(2, s(&"y".repeat(1000)))])
}

fn delete(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<bool, EngineError> {
    let key = session.find_row(table, &[n(id)])?.unwrap();
    session.delete(table, &key)
}

/// The same under PAGLOCK, once the row is found.
fn set_page(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<bool, EngineError> {
    let key = session.find_row(table, &[n(id)])?.unwrap();
    session.hinted(LockHints::page(), |session| {
        session.update(table, &key, &[(2, s(&"y".repeat(1000)))])
    })
}

fn get(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<Option<i64>, EngineError> {
    let row = session.get(table, &[n(id)])?;
    Ok(row.map(|row| row.i64(0).unwrap()))
}

fn ids(
    session: &mut Session,
    table: &Arc<Table>,
    spec: &ScanSpec,
) -> Result<Vec<i64>, EngineError> {
    let mut out = Vec::new();
    session.scan(table, spec)?.for_each(|row| {
        out.push(row.i64(0).unwrap_or_default());
        Ok(())
    })?;
    Ok(out)
}

/// What a session holds, counted by kind and mode.
fn held(house: &House, session: &Session) -> BTreeMap<(&'static str, LockMode), usize> {
    let mut counts = BTreeMap::new();
    for lock in house.instance.locks().snapshot() {
        if lock.session_id == session.id() && lock.status == LockStatus::Grant {
            *counts
                .entry((lock.resource.type_name(), lock.mode))
                .or_default() += 1;
        }
    }
    counts
}

fn pages(house: &House, session: &Session) -> usize {
    let held = held(house, session);
    held.iter()
        .filter(|((kind, _), _)| *kind == "PAGE")
        .map(|(_, count)| count)
        .sum()
}

fn number<T>(done: Result<T, EngineError>) -> u32 {
    done.map(|_| ()).unwrap_err().number()
}

fn repeatable(house: &House) -> Session {
    let mut session = begun(house);
    session.set_isolation(Isolation::RepeatableRead);
    session
}

#[test]
fn rows_take_no_locks_of_pages_while_nobody_locks_pages() {
    for kind in [Kind::Tree, Kind::Heap] {
        let (house, table) = set_up(kind);
        let mut writer = begun(&house);
        assert!(set(&mut writer, &table, 1).unwrap());
        writer.insert(&table, &row(1000)).unwrap();
        assert_eq!(pages(&house, &writer), 0);
        let mut reader = repeatable(&house);
        assert_eq!(get(&mut reader, &table, 40).unwrap(), Some(40));
        assert_eq!(pages(&house, &reader), 0);
    }
}

#[test]
fn paglock_locks_the_page_and_none_of_its_rows() {
    let (house, table) = set_up(Kind::Tree);
    let mut writer = begun(&house);
    assert!(set_page(&mut writer, &table, 2).unwrap());
    let mine = held(&house, &writer);
    assert_eq!(mine[&("OBJECT", LockMode::IX)], 1);
    assert_eq!(mine[&("PAGE", LockMode::X)], 1);
    assert!(mine.keys().all(|(kind, _)| *kind != "KEY"), "{mine:?}");
    let mut other = begun(&house);
    // Its neighbour on the page, untouched by anybody.
    assert_eq!(number(get(&mut other, &table, 1)), 1222);
    assert_eq!(number(set(&mut other, &table, 1)), 1222);
    assert_eq!(number(ids(&mut other, &table, &ScanSpec::default())), 1222);
    // Another page.
    assert_eq!(get(&mut other, &table, 60).unwrap(), Some(60));
    assert!(set(&mut other, &table, 60).unwrap());
    writer.commit().unwrap();
    assert!(set(&mut other, &table, 1).unwrap());
    other.commit().unwrap();
}

#[test]
fn rows_locked_before_anybody_locked_pages_are_seen() {
    for kind in [Kind::Tree, Kind::Heap] {
        let (house, table) = set_up(kind);
        let mut writer = begun(&house);
        assert!(set(&mut writer, &table, 1).unwrap());
        assert_eq!(pages(&house, &writer), 0);
        let mut pager = begun(&house);
        assert_eq!(number(set_page(&mut pager, &table, 2)), 1222);
        let shared = ScanSpec {
            hints: LockHints {
                isolation: Some(Isolation::RepeatableRead),
                ..LockHints::page()
            },
            ..ScanSpec::default()
        };
        assert_eq!(number(ids(&mut pager, &table, &shared)), 1222);
        writer.commit().unwrap();
        assert!(set_page(&mut pager, &table, 2).unwrap());
        assert_eq!(number(set(&mut begun(&house), &table, 1)), 1222);
        pager.commit().unwrap();
    }
}

#[test]
fn where_somebody_locks_pages_rows_come_with_intents() {
    for kind in [Kind::Tree, Kind::Heap] {
        let (house, table) = set_up(kind);
        let mut pager = begun(&house);
        assert!(set_page(&mut pager, &table, 2).unwrap());
        let mut writer = begun(&house);
        assert!(set(&mut writer, &table, 60).unwrap());
        let mine = held(&house, &writer);
        assert_eq!(mine[&("PAGE", LockMode::IX)], 1, "{mine:?}");
        let row_kind = if kind == Kind::Heap { "RID" } else { "KEY" };
        assert_eq!(mine[&(row_kind, LockMode::X)], 1, "{mine:?}");
        let mut reader = repeatable(&house);
        assert_eq!(get(&mut reader, &table, 30).unwrap(), Some(30));
        assert_eq!(held(&house, &reader)[&("PAGE", LockMode::IS)], {
            // A heap's row is found through its primary key.
            if kind == Kind::Heap { 2 } else { 1 }
        });
        assert_eq!(number(set_page(&mut pager, &table, 61)), 1222);
        assert_eq!(number(set_page(&mut pager, &table, 31)), 1222);
        drop((writer, reader));
        assert!(set_page(&mut pager, &table, 61).unwrap());
        assert!(set_page(&mut pager, &table, 31).unwrap());
        pager.commit().unwrap();
    }
}

#[test]
fn a_repeatable_reader_of_pages_keeps_them_from_changes() {
    for kind in [Kind::Tree, Kind::Heap] {
        let (house, table) = set_up(kind);
        let mut reader = repeatable(&house);
        let spec = ScanSpec {
            hints: LockHints::page(),
            ..ScanSpec::default()
        };
        let mut all = ids(&mut reader, &table, &spec).unwrap();
        all.sort_unstable();
        assert_eq!(all, (1..=ROWS).collect::<Vec<_>>());
        let mine = held(&house, &reader);
        assert!(mine[&("PAGE", LockMode::S)] >= 10, "{mine:?}");
        assert!(mine.keys().all(|k| k.0 != "KEY" && k.0 != "RID"));
        let mut writer = begun(&house);
        for id in [1, 35, ROWS] {
            assert_eq!(number(set(&mut writer, &table, id)), 1222);
            assert_eq!(get(&mut writer, &table, id).unwrap(), Some(id));
        }
        reader.commit().unwrap();
        assert!(set(&mut writer, &table, 1).unwrap());
        writer.commit().unwrap();
    }
}

#[test]
fn nothing_of_an_open_transaction_without_row_locks_is_seen() {
    let (house, _) = set_up(Kind::Tree);
    let table = without_row_locks(&house);
    let mut writer = begun(&house);
    assert!(delete(&mut writer, &table, 20).unwrap());
    writer.insert(&table, &row(1000)).unwrap();
    let mine = held(&house, &writer);
    assert!(mine.keys().all(|(kind, _)| *kind != "KEY"), "{mine:?}");
    let mut reader = house.session();
    reader.set_lock_timeout(Timeout::NoWait);
    assert_eq!(number(get(&mut reader, &table, 20)), 1222);
    assert_eq!(number(get(&mut reader, &table, 1000)), 1222);
    for index in 0..table.indexes().len() {
        for covered in [false, true] {
            let spec = ScanSpec {
                index,
                covered,
                ..ScanSpec::default()
            };
            assert_eq!(number(ids(&mut reader, &table, &spec)), 1222, "{index}");
        }
    }
    // The same key again is not a duplicate yet: who put it there may roll back.
    assert_eq!(number(reader.insert(&table, &row(1000))), 1222);
    assert_eq!(house.db.purge_ghosts().unwrap(), 0);
    writer.rollback().unwrap();
    assert_eq!(get(&mut reader, &table, 20).unwrap(), Some(20));
    assert_eq!(get(&mut reader, &table, 1000).unwrap(), None);
    reader.insert(&table, &row(1000)).unwrap();
}

#[test]
fn a_row_without_locks_of_its_own_is_not_seen_through_an_index_that_has_them() {
    let (house, _) = set_up(Kind::Tree);
    let mut session = house.session();
    let table = session.table("t").unwrap();
    let base = table.indexes()[0].name().to_owned();
    let table = (session.set_index_options(("dbo", "t"), &base, |o| o.rows = false)).unwrap();
    drop(session);
    let mut writer = begun(&house);
    assert!(delete(&mut writer, &table, 20).unwrap());
    writer.insert(&table, &row(1000)).unwrap();
    let mut reader = house.session();
    reader.set_lock_timeout(Timeout::NoWait);
    for index in 0..table.indexes().len() {
        for covered in [false, true] {
            let spec = ScanSpec {
                index,
                covered,
                ..ScanSpec::default()
            };
            assert_eq!(number(ids(&mut reader, &table, &spec)), 1222, "{index}");
        }
    }
    assert_eq!(number(reader.insert(&table, &row(1000))), 1222);
    writer.rollback().unwrap();
    assert_eq!(get(&mut reader, &table, 20).unwrap(), Some(20));
}

fn without_row_locks(house: &House) -> Arc<Table> {
    let mut session = house.session();
    let names: Vec<String> = {
        let table = session.table("t").unwrap();
        let indexes = table.indexes().iter().filter(|i| i.id() > 0);
        indexes.map(|i| i.name().to_owned()).collect()
    };
    for name in names {
        let table = session.set_index_options(("dbo", "t"), &name, |o| o.rows = false);
        assert!(
            !table
                .unwrap()
                .index_named(&name)
                .unwrap()
                .allows_row_locks()
        );
    }
    session.table("t").unwrap()
}

#[test]
fn rows_that_a_split_moves_stay_locked_through_a_savepoint_too() {
    for mode in [false, true] {
        let (house, _) = set_up(Kind::Tree);
        let table = match mode {
            true => without_row_locks(&house),
            false => house.session().table("t").unwrap(),
        };
        let mut writer = begun(&house);
        let hints = LockHints::page();
        writer.hinted(hints, |writer| {
            assert!(set(writer, &table, 3).unwrap());
            assert!(set(writer, &table, 6).unwrap());
            let save = writer.savepoint().unwrap();
            // Longer rows: the page splits, more than once.
            for id in 1..=7 {
                let key = table.row_key(&[n(id)]).unwrap();
                let long = s(&"z".repeat(2900));
                assert!(writer.update(&table, &key, &[(2, long)]).unwrap());
            }
            writer.rollback_to(save).unwrap();
        });
        let mut other = begun(&house);
        for id in [3, 6] {
            assert_eq!(number(get(&mut other, &table, id)), 1222, "row {id}");
            assert_eq!(number(set(&mut other, &table, id)), 1222, "row {id}");
        }
        drop(other);
        writer.rollback().unwrap();
        let mut reader = house.session();
        assert_eq!(
            ids(&mut reader, &table, &ScanSpec::default()).unwrap(),
            (1..=ROWS).collect::<Vec<_>>()
        );
        for index in table.indexes() {
            index.rowset().audit().unwrap();
        }
    }
}

#[test]
fn hints_against_what_an_index_allows_are_651() {
    let (house, _) = set_up(Kind::Tree);
    inhibited(&house);
    // It is there after a restart.
    let house = house.restart(false, Vec::new());
    let table = house.session().table("t").unwrap();
    let index = table.index_named("by_v").unwrap();
    assert!(!index.allows_row_locks() && !index.allows_page_locks());
    assert!(table.indexes()[0].allows_row_locks() && table.indexes()[0].allows_page_locks());
}

fn inhibited(house: &House) {
    let mut session = house.session();
    let locks = |rows, pages| (rows, pages);
    let alter = |session: &mut Session, to| {
        let changed = session.set_index_options(("dbo", "t"), "by_v", |o| (o.rows, o.pages) = to);
        changed.unwrap()
    };
    let table = alter(&mut session, locks(true, false));
    assert_eq!(number(set_page(&mut session, &table, 1)), 651);
    assert!(set(&mut session, &table, 1).unwrap());
    let table = alter(&mut session, locks(false, true));
    let rows = LockHints {
        granularity: furrow_engine::Granularity::Rows,
        ..LockHints::default()
    };
    let refused = session.hinted(rows, |session| set(session, &table, 1));
    let refused = refused.unwrap_err();
    assert_eq!(
        refused.messages()[0].text,
        "Cannot use the ROW granularity hint on the table \"dbo.t\" because locking at the specified \
         granularity is inhibited."
    );
    // Neither: the table itself is locked.
    let table = alter(&mut session, locks(false, false));
    let mut writer = begun(house);
    assert!(set(&mut writer, &table, 1).unwrap());
    let mine = held(house, &writer);
    assert_eq!(mine.keys().collect::<Vec<_>>(), [&("OBJECT", LockMode::X)]);
}

#[test]
fn an_index_is_made_with_the_locks_it_is_to_have() {
    let house = house();
    let locks = IndexOptions {
        rows: false,
        ..IndexOptions::default()
    };
    let spec = spec(Kind::Tree).index(IndexSpec::new("paged", ["pad"]).options(locks));
    let table = house.session().create_table(&spec).unwrap();
    let index = table.index_named("paged").unwrap();
    assert!(!index.allows_row_locks() && index.allows_page_locks());
}

#[test]
fn readpast_passes_over_pages_that_others_have_locked() {
    let (house, table) = set_up(Kind::Tree);
    let mut pager = begun(&house);
    assert!(set_page(&mut pager, &table, 2).unwrap());
    let page_of_2 = held_pages(&house, &pager).len();
    assert_eq!(page_of_2, 1);
    let spec = ScanSpec {
        hints: LockHints {
            read_past: true,
            ..LockHints::default()
        },
        ..ScanSpec::default()
    };
    let mut reader = house.session();
    let seen = ids(&mut reader, &table, &spec).unwrap();
    assert!(!seen.contains(&1) && !seen.contains(&2), "{seen:?}");
    assert!(seen.len() >= 60 && seen.contains(&ROWS), "{seen:?}");
}

fn held_pages(house: &House, session: &Session) -> Vec<Resource> {
    let locks = house.instance.locks().snapshot().into_iter();
    let mine = locks.filter(|lock| lock.session_id == session.id());
    mine.map(|lock| lock.resource)
        .filter(|resource| resource.type_name() == "PAGE")
        .collect()
}

#[test]
fn five_thousand_page_locks_become_one_of_the_table() {
    let house = house();
    let mut session = house.session();
    let spec = TableSpec::new("wide")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("pad", varchar(5000)).not_null())
        .primary_key(["id"]);
    let table = session.create_table(&spec).unwrap();
    let pad = s(&"x".repeat(4500));
    for from in (1..=5_400_i64).step_by(100) {
        session.begin().unwrap();
        for id in from..from + 100 {
            session.insert(&table, &[n(id), pad.clone()]).unwrap();
        }
        session.commit().unwrap();
    }
    let mut reader = repeatable(&house);
    let read = |reader: &mut Session, rows: i64, lock| {
        let spec = ScanSpec {
            high: std::ops::Bound::Included(vec![n(rows)]),
            hints: LockHints::page(),
            lock,
            ..ScanSpec::default()
        };
        ids(reader, &table, &spec).unwrap().len()
    };
    assert_eq!(read(&mut reader, 4_900, ReadLock::Shared), 4_900);
    assert_eq!(pages(&house, &reader), 4_900);
    reader.commit().unwrap();
    reader.begin().unwrap();
    assert_eq!(read(&mut reader, 5_400, ReadLock::Shared), 5_400);
    let mine = held(&house, &reader);
    assert_eq!(mine.keys().collect::<Vec<_>>(), [&("OBJECT", LockMode::S)]);
    reader.commit().unwrap();
    reader.begin().unwrap();
    assert_eq!(read(&mut reader, 5_400, ReadLock::Update), 5_400);
    let mine = held(&house, &reader);
    assert_eq!(mine.keys().collect::<Vec<_>>(), [&("OBJECT", LockMode::X)]);
}
