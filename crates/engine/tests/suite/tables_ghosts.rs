//! Ghosts go when nobody can want them back, and not before.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, FileChange, FileGrowth, IndexSpec, Isolation, RowKey, ScanSpec, Session, Table,
    TableSpec,
};
use furrow_io::random::{seeded, test_seed};
use furrow_io::thread;
use furrow_types::Value;
use rand::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tables_common::{House, bigint, int, n, quiet_house, s, varchar};

fn set_up() -> (House, Arc<Table>) {
    let house = quiet_house();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_v", ["v"]))
        .index(IndexSpec::new("u", ["v", "id"]).unique());
    let table = house.session().create_table(&spec).unwrap();
    (house, table)
}

fn purge(house: &House) -> usize {
    house
        .db
        .catalog()
        .purge_ghosts(house.instance.locks(), 10_000)
        .unwrap()
}

fn ghosts(table: &Table) -> u64 {
    table
        .indexes()
        .iter()
        .map(|i| i.rowset().audit().unwrap().ghosts)
        .sum()
}

fn delete(session: &mut Session, table: &Arc<Table>, id: i64) {
    let key = table.row_key(&[n(id)]).unwrap();
    assert!(session.delete(table, &key).unwrap());
}

#[test]
fn ghosts_wait_for_the_end_of_their_transaction_and_for_readers_that_guard_them() {
    let (house, table) = set_up();
    let mut session = house.session();
    for id in 0..100 {
        session
            .insert(&table, &[n(id), Value::Int(id as i32 % 7)])
            .unwrap();
    }
    session.begin().unwrap();
    (10..20).for_each(|id| delete(&mut session, &table, id));
    assert_eq!(purge(&house), 0, "not committed");
    session.rollback().unwrap();
    assert_eq!(ghosts(&table), 0);
    (30..40).for_each(|id| delete(&mut session, &table, id));
    assert_eq!(ghosts(&table), 30);
    let mut reader = house.session();
    reader.set_isolation(Isolation::Serializable);
    reader.begin().unwrap();
    let range = ScanSpec {
        low: std::ops::Bound::Included(vec![n(35)]),
        high: std::ops::Bound::Included(vec![n(60)]),
        ..ScanSpec::default()
    };
    reader
        .scan(&table, &range)
        .unwrap()
        .for_each(|_| Ok(()))
        .unwrap();
    purge(&house);
    assert_eq!(ghosts(&table), 15, "five rows of three indexes are guarded");
    reader.commit().unwrap();
    purge(&house);
    assert_eq!(ghosts(&table), 0);
    let all = |session: &mut Session| {
        let mut count = 0;
        let scan = session.scan(&table, &ScanSpec::default()).unwrap();
        scan.for_each(|_| {
            count += 1;
            Ok(())
        })
        .unwrap();
        count
    };
    assert_eq!(all(&mut session), 90);
    assert_eq!(table.row_count(), 90);
}

#[test]
fn a_ghost_is_not_forgotten_when_a_purge_finds_it_locked_beside_another_that_goes() {
    let (house, table) = set_up();
    let mut session = house.session();
    for id in 0..20 {
        session.insert(&table, &[n(id), Value::Int(1)]).unwrap();
    }
    let mut other = house.session();
    other.begin().unwrap();
    delete(&mut other, &table, 3);
    delete(&mut session, &table, 4);
    assert_eq!(purge(&house), 3, "row 4, of three indexes");
    assert_eq!(ghosts(&table), 3, "row 3 may come back");
    other.commit().unwrap();
    assert_eq!(purge(&house), 3);
    assert_eq!(ghosts(&table), 0);
}

#[test]
fn a_ghost_that_a_rollback_brings_back_is_cleaned_although_a_purge_saw_a_live_row_in_its_place() {
    let (house, table) = set_up();
    let mut session = house.session();
    session.insert(&table, &[n(3), Value::Int(1)]).unwrap();
    session.insert(&table, &[n(4), Value::Int(1)]).unwrap();
    delete(&mut session, &table, 3);
    session.begin().unwrap();
    session.insert(&table, &[n(3), Value::Int(1)]).unwrap();
    assert_eq!(purge(&house), 0, "the row is alive now");
    session.rollback().unwrap();
    assert_eq!(ghosts(&table), 3);
    assert_eq!(purge(&house), 3);
    assert_eq!(ghosts(&table), 0);
}

#[test]
fn ghosts_that_an_earlier_life_left_are_found_again() {
    let house = quiet_house();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_v", ["v"]));
    let table = house.session().create_table(&spec).unwrap();
    let mut session = house.session();
    for id in 0..3000 {
        session.insert(&table, &[n(id), Value::Int(1)]).unwrap();
    }
    (0..3000)
        .step_by(7)
        .for_each(|id| delete(&mut session, &table, id));
    drop((session, table));
    let house = house.restart(false, Vec::new());
    let table = house.session().table("t").unwrap();
    assert_eq!(ghosts(&table), 858);
    let once = house
        .db
        .catalog()
        .purge_ghosts(house.instance.locks(), 1)
        .unwrap();
    assert!(0 < once && once < 400, "one leaf in a turn: {once}");
    assert_eq!(once + purge(&house), 858);
    assert_eq!(ghosts(&table), 0);
    assert_eq!(table.row_count(), 3000 - 429);
}

#[test]
fn cleaning_beside_deletes_inserts_and_rollbacks_loses_nothing() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let (house, table) = set_up();
    let done = AtomicBool::new(false);
    let purged = thread::scope(|scope| {
        let (house, table, done) = (&house, &table, &done);
        let cleaner = scope.spawn(move || {
            let mut purged = 0;
            loop {
                // Once more after the end: a busy machine may start it late.
                let last = done.load(Ordering::Relaxed);
                purged += purge(house);
                if last {
                    break purged;
                }
            }
        });
        let workers: Vec<_> = (0..4_i64)
            .map(|who| {
                scope.spawn(move || {
                    let mut rng = seeded(seed.wrapping_add(who as u64));
                    let mut session = house.session();
                    let mut mine = [false; 50];
                    for _ in 0..400 {
                        let before = mine;
                        session.begin().unwrap();
                        for _ in 0..rng.random_range(1..8) {
                            let at = rng.random_range(0..mine.len());
                            let id = at as i64 * 4 + who;
                            if mine[at] {
                                delete(&mut session, table, id);
                            } else {
                                session
                                    .insert(table, &[n(id), Value::Int(at as i32 % 5)])
                                    .unwrap();
                            }
                            mine[at] = !mine[at];
                        }
                        if rng.random_bool(0.6) {
                            session.commit().unwrap();
                        } else {
                            session.rollback().unwrap();
                            mine = before;
                        }
                    }
                    mine.iter().filter(|&&there| there).count() as i64
                })
            })
            .collect();
        let rows: i64 = workers.into_iter().map(|w| w.join().unwrap()).sum();
        done.store(true, Ordering::Relaxed);
        assert_eq!(table.row_count(), rows);
        cleaner.join().unwrap()
    });
    assert!(purged > 0);
    purge(&house);
    assert_eq!(ghosts(&table), 0);
    for index in table.indexes() {
        assert_eq!(
            index.rowset().audit().unwrap().rows as i64,
            table.row_count()
        );
    }
}

/// Fills the file, which does not grow, with rows of a table; the rows' names, in their order.
fn filled(house: &House, table: &Arc<Table>) -> Vec<RowKey> {
    let change = FileChange {
        growth: Some(FileGrowth::None),
        ..FileChange::default()
    };
    house.db.modify_file("data", &change).unwrap();
    let mut session = house.session();
    let text = "x".repeat(1600);
    let full = (0..).find_map(|id| session.insert(table, &[n(id), s(&text)]).err());
    assert!(full.as_ref().unwrap().has(1105), "{full:?}");
    let mut scan = session.scan(table, &ScanSpec::default()).unwrap();
    let mut keys = Vec::new();
    while scan.next_row().unwrap().is_some() {
        keys.push(scan.row_key().unwrap());
    }
    keys
}

fn rows_grow_in_a_full_file(spec: &TableSpec) {
    let house = quiet_house();
    let mut session = house.session();
    let table = session.create_table(spec).unwrap();
    let keys = filled(&house, &table);
    let (first, others) = keys.split_at(keys.len() / 2);
    for key in others {
        assert!(session.delete(&table, key).unwrap());
    }
    let long = s(&"y".repeat(5000));
    for key in &first[..100] {
        assert!(session.update(&table, key, &[(1, long.clone())]).unwrap());
    }
    let scan = session.scan(&table, &ScanSpec::default()).unwrap();
    let mut found = 0;
    scan.for_each(|row| {
        found += usize::from(row.values()?[1] == long);
        Ok(())
    })
    .unwrap();
    assert_eq!(found, 100);
}

#[test]
fn rows_grow_in_a_full_file_where_ghosts_hold_room() {
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("text", varchar(5000)));
    rows_grow_in_a_full_file(&spec.clone().primary_key(["id"]));
    rows_grow_in_a_full_file(&spec);
}

/// Sixteen sessions filled a tempdb of 32 MB within a second, by ghosts of the catalog alone.
#[test]
fn tables_that_are_created_and_dropped_in_turn_need_no_more_room_for_the_catalog() {
    let house = quiet_house();
    let mut session = house.session();
    let mut create_and_drop = |n: usize| {
        let spec = TableSpec::new("t").column(ColumnSpec::new("id", bigint()));
        for _ in 0..n {
            session.create_table(&spec).unwrap();
            session.drop_table("t").unwrap();
        }
    };
    let used = || {
        let files = house.db.file_list().unwrap();
        let data = files.iter().filter(|file| file.filegroup != 0);
        data.map(|file| file.size_pages - file.free_extents * 8)
            .sum::<u64>()
    };
    create_and_drop(300);
    let before = used();
    create_and_drop(3000);
    assert!(used() <= before + 16, "{before} pages, then {}", used());
}
