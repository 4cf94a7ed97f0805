//! Anomalies by name, at each isolation level: what may happen and what must not.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, IndexSpec, Isolation, ReadLock, ScanSpec, Session, Table, TableSpec,
    Timeout,
};
use furrow_io::thread;
use furrow_types::Value;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;
use tables_common::{House, bigint, house, int, n};

const LEVELS: [Isolation; 4] = [
    Isolation::ReadUncommitted,
    Isolation::ReadCommitted,
    Isolation::RepeatableRead,
    Isolation::Serializable,
];

/// Rows 10, 20, ..., 100 with the value 0.
fn set_up() -> (House, Arc<Table>) {
    let house = house();
    let mut session = house.session();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_v", ["v"]));
    let table = session.create_table(&spec).unwrap();
    for id in 1..=10 {
        session
            .insert(&table, &[n(id * 10), Value::Int(0)])
            .unwrap();
    }
    drop(session);
    (house, table)
}

fn reader(house: &House, level: Isolation) -> Session {
    let mut session = house.session();
    session.set_isolation(level);
    session.set_lock_timeout(Timeout::Millis(100));
    session
}

fn value(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<Option<i32>, EngineError> {
    Ok(session.get(table, &[n(id)])?.and_then(|row| row.i32(1)))
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
    Ok(out)
}

fn set(session: &mut Session, table: &Arc<Table>, id: i64, v: i32) -> Result<bool, EngineError> {
    let key = table.row_key(&[n(id)])?;
    session.update(table, &key, &[(1, Value::Int(v))])
}

fn range(index: usize, low: Value, high: Value) -> ScanSpec {
    let (low, high) = (Bound::Included(vec![low]), Bound::Included(vec![high]));
    ScanSpec {
        index,
        low,
        high,
        ..ScanSpec::default()
    }
}

#[test]
fn dirty_read_happens_only_at_read_uncommitted() {
    for level in LEVELS {
        let (house, table) = set_up();
        let mut writer = house.session();
        writer.begin().unwrap();
        set(&mut writer, &table, 50, 7).unwrap();
        writer.insert(&table, &[n(55), Value::Int(7)]).unwrap();
        let gone = table.row_key(&[n(60)]).unwrap();
        assert!(writer.delete(&table, &gone).unwrap());
        let mut reader = reader(&house, level);
        if level == Isolation::ReadUncommitted {
            assert_eq!(value(&mut reader, &table, 50).unwrap(), Some(7));
            assert_eq!(value(&mut reader, &table, 60).unwrap(), None);
            assert_eq!(
                ids(&mut reader, &table, &ScanSpec::default())
                    .unwrap()
                    .len(),
                10
            );
        } else {
            for id in [50, 55, 60] {
                assert_eq!(
                    value(&mut reader, &table, id).unwrap_err().number(),
                    1222,
                    "{level} {id}"
                );
            }
            assert_eq!(
                value(&mut reader, &table, 70).unwrap(),
                Some(0),
                "{level}: no one's row"
            );
            for index in 0..2 {
                let all = ScanSpec {
                    index,
                    ..ScanSpec::default()
                };
                let back = ScanSpec {
                    backward: true,
                    ..all.clone()
                };
                assert_eq!(
                    ids(&mut reader, &table, &all).unwrap_err().number(),
                    1222,
                    "{level}"
                );
                assert_eq!(
                    ids(&mut reader, &table, &back).unwrap_err().number(),
                    1222,
                    "{level}"
                );
            }
            let before = range(0, n(0), n(40));
            assert_eq!(
                ids(&mut reader, &table, &before).is_ok(),
                level != Isolation::Serializable,
                "{level}"
            );
        }
        writer.rollback().unwrap();
        assert_eq!(value(&mut reader, &table, 50).unwrap(), Some(0));
        assert_eq!(
            ids(&mut reader, &table, &ScanSpec::default())
                .unwrap()
                .len(),
            10
        );
    }
}

#[test]
fn a_row_read_twice_is_the_same_from_repeatable_read_on() {
    for level in LEVELS {
        let (house, table) = set_up();
        let mut first = reader(&house, level);
        first.begin().unwrap();
        assert_eq!(value(&mut first, &table, 50).unwrap(), Some(0));
        let mut writer = reader(&house, Isolation::ReadCommitted);
        let changed = set(&mut writer, &table, 50, 1);
        if matches!(level, Isolation::RepeatableRead | Isolation::Serializable) {
            assert_eq!(changed.unwrap_err().number(), 1222, "{level}");
            assert_eq!(value(&mut first, &table, 50).unwrap(), Some(0));
        } else {
            assert!(changed.unwrap());
            assert_eq!(value(&mut first, &table, 50).unwrap(), Some(1), "{level}");
        }
        first.commit().unwrap();
        assert!(set(&mut writer, &table, 50, 2).unwrap());
    }
}

#[test]
fn phantoms_appear_below_serializable_and_never_at_it() {
    for level in LEVELS {
        for (index, spec) in [
            (0, range(0, n(25), n(65))),
            (
                0,
                ScanSpec {
                    backward: true,
                    ..range(0, n(25), n(65))
                },
            ),
            (1, range(1, Value::Int(-5), Value::Int(5))),
        ] {
            let (house, table) = set_up();
            let mut first = reader(&house, level);
            first.begin().unwrap();
            let seen = ids(&mut first, &table, &spec).unwrap();
            let mut writer = reader(&house, Isolation::ReadCommitted);
            let into = [26, 31, 45, 65].map(|id| writer.insert(&table, &[n(id), Value::Int(1)]));
            let again = ids(&mut first, &table, &spec).unwrap();
            if level == Isolation::Serializable {
                for done in into {
                    assert_eq!(done.unwrap_err().number(), 1222, "index {index}");
                }
                assert_eq!(again, seen);
                let apart = writer.insert(&table, &[n(5), Value::Int(100)]);
                assert_eq!(
                    apart.is_ok(),
                    index == 0,
                    "outside of the range, index {index}"
                );
            } else {
                assert!(into.into_iter().all(|done| done.is_ok()), "{level}");
                assert_eq!(again.len(), seen.len() + 4, "{level}");
            }
            first.commit().unwrap();
            writer.insert(&table, &[n(47), Value::Int(1)]).unwrap();
        }
    }
}

#[test]
fn what_is_not_there_stays_away_from_a_serializable_reader() {
    let (house, table) = set_up();
    let mut first = reader(&house, Isolation::Serializable);
    first.begin().unwrap();
    assert_eq!(value(&mut first, &table, 55).unwrap(), None);
    let mut writer = reader(&house, Isolation::ReadCommitted);
    assert_eq!(
        writer
            .insert(&table, &[n(55), Value::Int(1)])
            .unwrap_err()
            .number(),
        1222
    );
    assert_eq!(value(&mut first, &table, 55).unwrap(), None);
    // Its own insert there is no gap for others either.
    first.insert(&table, &[n(57), Value::Int(1)]).unwrap();
    assert_eq!(
        writer
            .insert(&table, &[n(56), Value::Int(1)])
            .unwrap_err()
            .number(),
        1222
    );
    first.commit().unwrap();
    writer.insert(&table, &[n(55), Value::Int(1)]).unwrap();
    assert_eq!(table.row_count(), 12);
}

#[test]
fn an_update_is_not_lost_when_rows_are_read_for_update() {
    let (house, table) = set_up();
    let rounds = 50;
    thread::scope(|scope| {
        for _ in 0..4 {
            let (house, table) = (&house, &table);
            scope.spawn(move || {
                let mut session = house.session();
                for _ in 0..rounds {
                    session.begin().unwrap();
                    let spec = ScanSpec {
                        lock: ReadLock::Update,
                        ..ScanSpec::equal(0, vec![n(50)])
                    };
                    let old = {
                        let mut scan = session.scan(table, &spec).unwrap();
                        scan.next_row().unwrap().unwrap().i32(1).unwrap()
                    };
                    set(&mut session, table, 50, old + 1).unwrap();
                    session.commit().unwrap();
                }
            });
        }
    });
    let mut session = house.session();
    assert_eq!(value(&mut session, &table, 50).unwrap(), Some(4 * rounds));
}

#[test]
fn at_repeatable_read_a_lost_update_becomes_a_deadlock_with_one_victim() {
    let (house, table) = set_up();
    let mut sessions: Vec<Session> = (0..2)
        .map(|_| {
            let mut session = house.session();
            session.set_isolation(Isolation::RepeatableRead);
            session.begin().unwrap();
            assert_eq!(value(&mut session, &table, 50).unwrap(), Some(0));
            session
        })
        .collect();
    let results: Vec<_> = thread::scope(|scope| {
        let table = &table;
        let running: Vec<_> = sessions
            .iter_mut()
            .map(|session| {
                scope.spawn(move || {
                    let done = set(session, table, 50, 1);
                    if done.is_ok() {
                        session.commit().unwrap();
                    }
                    (done, session.in_transaction())
                })
            })
            .collect();
        running.into_iter().map(|r| r.join().unwrap()).collect()
    });
    let victims: Vec<_> = results
        .iter()
        .filter_map(|(done, _)| done.as_ref().err())
        .collect();
    assert_eq!(victims.len(), 1);
    assert_eq!(victims[0].number(), 1205);
    assert!(
        results.iter().all(|(_, open)| !open),
        "the victim's transaction is rolled back"
    );
    assert_eq!(value(&mut sessions[0], &table, 50).unwrap(), Some(1));
}

#[test]
fn a_reader_waits_for_a_commit_and_then_sees_it() {
    let (house, table) = set_up();
    let mut writer = house.session();
    writer.begin().unwrap();
    set(&mut writer, &table, 50, 9).unwrap();
    writer.insert(&table, &[n(51), Value::Int(0)]).unwrap();
    thread::scope(|scope| {
        let (reported, hear) = mpsc::channel();
        let (house, table) = (&house, &table);
        scope.spawn(move || {
            let mut session = house.session();
            reported.send(None).unwrap();
            let found = ids(&mut session, table, &ScanSpec::default()).unwrap();
            reported
                .send(Some((found.len(), value(&mut session, table, 50).unwrap())))
                .unwrap();
        });
        assert_eq!(hear.recv().unwrap(), None);
        assert!(
            hear.recv_timeout(Duration::from_millis(100)).is_err(),
            "it waits"
        );
        writer.commit().unwrap();
        assert_eq!(hear.recv().unwrap(), Some((11, Some(9))));
    });
}

#[test]
fn an_uncommitted_key_makes_a_second_insert_wait_and_fail_or_succeed_with_the_first() {
    for commit in [true, false] {
        let (house, table) = set_up();
        let mut first = house.session();
        first.begin().unwrap();
        first.insert(&table, &[n(55), Value::Int(1)]).unwrap();
        let second = thread::scope(|scope| {
            let (house, table) = (&house, &table);
            let waiting =
                scope.spawn(move || house.session().insert(table, &[n(55), Value::Int(2)]));
            furrow_io::time::sleep(Duration::from_millis(50));
            if commit {
                first.commit().unwrap();
            } else {
                first.rollback().unwrap();
            }
            waiting.join().unwrap()
        });
        match commit {
            true => assert_eq!(second.unwrap_err().number(), 2627),
            false => assert_eq!(second.unwrap(), None),
        }
        let mut session = house.session();
        assert_eq!(
            value(&mut session, &table, 55).unwrap(),
            Some(if commit { 1 } else { 2 })
        );
    }
}
