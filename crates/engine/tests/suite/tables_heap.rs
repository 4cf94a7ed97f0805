//! Tables without a clustered index: rows by address, indexes that point with it, locks on it.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, IndexKind, IndexSpec, Isolation, ReadLock, RowKey, ScanSpec, Session,
    Table, TableSpec, Timeout,
};
use furrow_io::thread;
use furrow_types::Value;
use std::ops::Bound;
use std::sync::Arc;
use tables_common::{House, bigint, house_of, i, int, n, quiet_house, s, varchar};

fn spec() -> TableSpec {
    TableSpec::new("h")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()))
        .column(ColumnSpec::new("text", varchar(3000)))
        .primary_key_nonclustered(["id"])
        .index(IndexSpec::new("by_v", ["v"]))
}

fn set_up(house: &House, rows: i64) -> Arc<Table> {
    let mut session = house.session();
    let table = session.create_table(&spec()).unwrap();
    for id in 0..rows {
        session.insert(&table, &row(id, 10)).unwrap();
    }
    table
}

fn row(id: i64, text: usize) -> [Value; 3] {
    [n(id), i(id as i32 % 5), s(&"t".repeat(text))]
}

fn ids(
    session: &mut Session,
    table: &Arc<Table>,
    spec: &ScanSpec,
) -> Result<Vec<i64>, EngineError> {
    let mut out = Vec::new();
    session.scan(table, spec)?.for_each(|row| {
        out.extend(row.i64(0));
        Ok(())
    })?;
    out.sort_unstable();
    Ok(out)
}

fn all(session: &mut Session, table: &Arc<Table>) -> Vec<i64> {
    ids(session, table, &ScanSpec::default()).unwrap()
}

fn address(session: &mut Session, table: &Arc<Table>, id: i64) -> RowKey {
    session.find_row(table, &[n(id)]).unwrap().unwrap()
}

fn text_of(session: &mut Session, table: &Arc<Table>, key: &RowKey) -> Option<usize> {
    let row = session.get_row(table, key).unwrap();
    row.map(|row| row.bytes(2).map_or(0, <[u8]>::len))
}

/// Every index has the rows of the heap, and the structures are sound.
fn prove(session: &mut Session, table: &Arc<Table>, expected: &[i64]) {
    assert_eq!(all(session, table), expected);
    for index in 0..table.indexes().len() {
        let spec = ScanSpec {
            index,
            ..ScanSpec::default()
        };
        assert_eq!(ids(session, table, &spec).unwrap(), expected, "{index}");
        let rowset = table.indexes()[index].rowset();
        assert_eq!(rowset.audit().unwrap().rows, expected.len() as u64);
        assert_eq!(rowset.row_count(), expected.len() as i64);
    }
}

#[test]
fn a_row_keeps_its_address_while_it_outgrows_its_page_and_comes_back() {
    let house = quiet_house();
    let table = set_up(&house, 300);
    assert_eq!(table.indexes()[0].kind(), IndexKind::Heap);
    assert_eq!(table.indexes()[0].id(), 0);
    let mut session = house.session();
    let before = address(&mut session, &table, 7);
    let heap = table.indexes()[0].rowset().heap().unwrap();
    for (len, moved) in [(3000, 1), (2900, 1), (5, 1), (2000, 1)] {
        let set = [(2, s(&"u".repeat(len)))];
        assert!(session.update(&table, &before, &set).unwrap());
        assert_eq!(address(&mut session, &table, 7), before);
        assert_eq!(text_of(&mut session, &table, &before), Some(len));
        assert_eq!(heap.audit().unwrap().moved, moved);
    }
    session.update(&table, &before, &[(1, i(77))]).unwrap();
    let by_v = ScanSpec::equal(2, vec![i(77)]);
    assert_eq!(ids(&mut session, &table, &by_v).unwrap(), [7]);
    prove(&mut session, &table, &(0..300).collect::<Vec<_>>());
    assert!(session.delete(&table, &before).unwrap());
    assert!(!session.delete(&table, &before).unwrap());
    assert_eq!(text_of(&mut session, &table, &before), None);
    assert!(session.get(&table, &[n(7)]).unwrap().is_none());
    assert_eq!(
        session.get(&table, &[n(8)]).unwrap().unwrap().i64(0),
        Some(8)
    );
    let left: Vec<i64> = (0..300).filter(|id| *id != 7).collect();
    prove(&mut session, &table, &left);
    let purge = || house.db.purge_ghosts().unwrap();
    assert!(purge() > 0);
    assert_eq!(
        heap.audit().unwrap().moved,
        0,
        "stub and record go together"
    );
    assert_eq!(purge(), 0);
    prove(&mut session, &table, &left);
}

#[test]
fn rollbacks_savepoints_and_refused_rows_leave_no_trace() {
    let house = quiet_house();
    let table = set_up(&house, 100);
    let mut session = house.session();
    let expected: Vec<i64> = (0..100).collect();
    assert_eq!(
        session.insert(&table, &row(5, 3)).unwrap_err().number(),
        2627
    );
    prove(&mut session, &table, &expected);
    session.begin().unwrap();
    session.insert(&table, &row(500, 2500)).unwrap();
    let save = session.savepoint().unwrap();
    for id in 0..50 {
        let key = address(&mut session, &table, id);
        session
            .update(&table, &key, &[(2, s(&"w".repeat(2000)))])
            .unwrap();
        if id % 2 == 0 {
            session.delete(&table, &key).unwrap();
        }
    }
    session.rollback_to(save).unwrap();
    assert_eq!(all(&mut session, &table).len(), 101);
    session.rollback().unwrap();
    prove(&mut session, &table, &expected);
    let key = address(&mut session, &table, 3);
    assert_eq!(text_of(&mut session, &table, &key), Some(10));
}

#[test]
fn rows_are_locked_by_their_address() {
    let house = quiet_house();
    let table = set_up(&house, 10);
    let mut writer = house.session();
    let key = address(&mut writer, &table, 4);
    writer.begin().unwrap();
    writer.update(&table, &key, &[(1, i(9))]).unwrap();
    let held = house.instance.locks().snapshot();
    let printed: Vec<String> = held.iter().map(|l| l.resource.to_string()).collect();
    assert!(
        printed
            .iter()
            .any(|l| l.starts_with("RID: ") && l.contains(":1:")),
        "{printed:?}"
    );
    let mut reader = house.session();
    reader.set_lock_timeout(Timeout::Millis(50));
    let blocked = |result: Result<Vec<i64>, EngineError>| {
        assert_eq!(result.unwrap_err().number(), 1222);
    };
    for level in [
        Isolation::ReadCommitted,
        Isolation::RepeatableRead,
        Isolation::Serializable,
    ] {
        reader.set_isolation(level);
        blocked(ids(&mut reader, &table, &ScanSpec::default()));
        assert_eq!(reader.get_row(&table, &key).unwrap_err().number(), 1222);
    }
    reader.set_isolation(Isolation::ReadUncommitted);
    assert_eq!(all(&mut reader, &table).len(), 10);
    reader.set_isolation(Isolation::ReadCommitted);
    let other = address(&mut reader, &table, 5);
    assert!(reader.update(&table, &other, &[(1, i(1))]).unwrap());
    writer.commit().unwrap();
    assert_eq!(
        reader.get_row(&table, &key).unwrap().unwrap().i32(1),
        Some(9)
    );
}

#[test]
fn repeatable_reads_keep_rows_and_serializable_ones_the_whole_heap() {
    let house = quiet_house();
    let table = set_up(&house, 10);
    let (mut reader, mut writer) = (house.session(), house.session());
    writer.set_lock_timeout(Timeout::Millis(50));
    let key = address(&mut reader, &table, 4);
    let number = |result: Result<Option<i64>, EngineError>| result.err().map(|e| e.number());
    for (level, lock) in [
        (Isolation::RepeatableRead, ReadLock::Shared),
        (Isolation::Serializable, ReadLock::Shared),
        (Isolation::Serializable, ReadLock::Update),
    ] {
        reader.set_isolation(level);
        reader.begin().unwrap();
        let whole = ScanSpec {
            lock,
            ..ScanSpec::default()
        };
        assert_eq!(ids(&mut reader, &table, &whole).unwrap().len(), 10);
        let changed = writer.update(&table, &key, &[(1, i(1))]);
        assert_eq!(changed.unwrap_err().number(), 1222);
        let inserted = number(writer.insert(&table, &row(50, 1)));
        let serializable = level == Isolation::Serializable;
        assert_eq!(inserted, serializable.then_some(1222), "{level:?} {lock:?}");
        reader.commit().unwrap();
        if !serializable {
            let key = address(&mut writer, &table, 50);
            writer.delete(&table, &key).unwrap();
        }
    }
    // Through an index a range is locked, not the table.
    reader.begin().unwrap();
    let range = ScanSpec {
        index: 1,
        low: Bound::Included(vec![n(2)]),
        high: Bound::Included(vec![n(4)]),
        ..ScanSpec::default()
    };
    assert_eq!(ids(&mut reader, &table, &range).unwrap(), [2, 3, 4]);
    assert_eq!(number(writer.insert(&table, &row(60, 1))), None);
    let key = address(&mut writer, &table, 9);
    writer.update(&table, &key, &[(0, n(3))]).unwrap_err();
    reader.commit().unwrap();
    prove(
        &mut writer,
        &table,
        &(0..10).chain([60]).collect::<Vec<_>>(),
    );
}

#[test]
fn indexes_are_made_on_a_heap_with_moved_rows_and_definitions_survive_crashes() {
    let house = house_of(1);
    let table = set_up(&house, 500);
    let mut session = house.session();
    for id in (0..500).step_by(3) {
        let key = address(&mut session, &table, id);
        session
            .update(&table, &key, &[(2, s(&"m".repeat(1500)))])
            .unwrap();
    }
    let twice = IndexSpec::new("u", ["v"]).unique();
    assert_eq!(
        session.create_index("h", &twice).unwrap_err().number(),
        1505
    );
    let wide = IndexSpec::new("wide", ["v", "id"])
        .unique()
        .include(&["text"]);
    drop(table);
    let table = session.create_index("h", &wide).unwrap();
    let expected: Vec<i64> = (0..500).collect();
    prove(&mut session, &table, &expected);
    session.begin().unwrap();
    session.insert(&table, &row(900, 5)).unwrap();
    house.db.checkpoint().unwrap();
    drop(table);
    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    let table = session.table("h").unwrap();
    assert_eq!(table.indexes().len(), 4);
    prove(&mut session, &table, &expected);
    session.insert(&table, &row(900, 5)).unwrap();
    drop(table);
    let table = session.drop_index("h", "by_v").unwrap();
    assert_eq!(all(&mut session, &table).len(), 501);
    drop((table, session));
    let house = house.restart(false, Vec::new());
    let mut session = house.session();
    session.truncate_table("h").unwrap();
    let table = session.table("h").unwrap();
    assert!(table.is_heap());
    prove(&mut session, &table, &[]);
    session.insert(&table, &row(1, 5)).unwrap();
    prove(&mut session, &table, &[1]);
    session.drop_table("h").unwrap();
    assert!(house.db.catalog().units_to_drop().unwrap().is_empty());
}

#[test]
fn sessions_that_insert_side_by_side_fill_the_files_evenly_and_lose_nothing() {
    let house = house_of(7);
    let mut session = house.session();
    let spec = TableSpec::new("h")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("text", varchar(3000)))
        .on("OTHER");
    let table = session.create_table(&spec).unwrap();
    thread::scope(|scope| {
        for who in 0..16_i64 {
            let (house, table) = (&house, &table);
            scope.spawn(move || {
                let mut session = house.session();
                for at in 0..100 {
                    session
                        .insert(table, &[n(who * 1000 + at), s(&"x".repeat(1900))])
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(all(&mut session, &table).len(), 1600);
    let audit = table.indexes()[0].rowset().audit().unwrap();
    assert_eq!(audit.rows, 1600);
    let least = 1600_usize.div_ceil(4);
    assert!(
        audit.pages.len() <= least + 32,
        "{} pages for {least} pages of rows",
        audit.pages.len()
    );
    let mut files = std::collections::BTreeMap::new();
    for page in &audit.pages {
        *files.entry(page.file).or_insert(0_usize) += 1;
    }
    let (fewest, most) = (files.values().min().unwrap(), files.values().max().unwrap());
    assert_eq!(files.len(), 3);
    assert!(most - fewest <= 24, "{files:?}");
}
