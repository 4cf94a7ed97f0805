//! Gaps between keys under SERIALIZABLE: each way in which a phantom could slip in, one by one.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, IndexSpec, Isolation, ScanSpec, Session, Table, TableSpec, Timeout,
};
use furrow_io::random::{seeded, test_seed};
use furrow_io::{thread, time};
use furrow_txn::lock::LockStatus;
use furrow_types::Value;
use rand::Rng;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use tables_common::{House, bigint, house, i, int, n, s, varchar};

/// Rows (group, id); index 0 is the clustered one, by (group, id), or index 1 a nonclustered one by group.
fn set_up(index: usize, rows: &[(i32, i64)]) -> (House, Arc<Table>) {
    let house = house();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("grp", int()).not_null())
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .index(IndexSpec::new("by_grp", ["grp"]));
    let spec = match index {
        0 => spec.primary_key(["grp", "id"]),
        _ => spec.primary_key(["id"]),
    };
    let table = house.session().create_table(&spec).unwrap();
    let mut session = house.session();
    for &(group, id) in rows {
        add(&mut session, &table, group, id).unwrap();
    }
    drop(session);
    (house, table)
}

fn add(session: &mut Session, table: &Arc<Table>, group: i32, id: i64) -> Result<(), EngineError> {
    session.insert(table, &[i(group), n(id), i(0)]).map(|_| ())
}

fn count(
    session: &mut Session,
    table: &Arc<Table>,
    index: usize,
    group: i32,
) -> Result<usize, EngineError> {
    let mut rows = 0;
    let spec = ScanSpec::equal(index, vec![i(group)]);
    session.scan(table, &spec)?.for_each(|_| {
        rows += 1;
        Ok(())
    })?;
    Ok(rows)
}

fn key(table: &Table, index: usize, group: i32, id: i64) -> furrow_engine::RowKey {
    match index {
        0 => table.row_key(&[i(group), n(id)]).unwrap(),
        _ => table.row_key(&[n(id)]).unwrap(),
    }
}

fn serializable(house: &House) -> Session {
    let mut session = house.session();
    session.set_isolation(Isolation::Serializable);
    session
}

/// One that gives up soon.
fn hasty(house: &House) -> Session {
    let mut session = house.session();
    session.set_lock_timeout(Timeout::Millis(60));
    session
}

fn assert_barred(done: Result<(), EngineError>, what: &str) {
    match done {
        Ok(()) => panic!("{what}: a phantom came in"),
        Err(e) => assert_eq!(e.number(), 1222, "{what}: {e}"),
    }
}

fn wait_until_somebody_waits(house: &House) {
    let before = time::Moment::now();
    while before.elapsed_us() < 300_000 {
        let locks = house.instance.locks().snapshot();
        if locks.iter().any(|row| row.status != LockStatus::Grant) {
            return;
        }
        time::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_gap_stays_guarded_when_its_guard_puts_a_key_in_it() {
    for index in 0..2 {
        let (house, table) = set_up(index, &[(1, 10), (2, 90)]);
        let mut guard = serializable(&house);
        guard.begin().unwrap();
        assert_eq!(count(&mut guard, &table, index, 1).unwrap(), 1);
        add(&mut guard, &table, 1, 50).unwrap();
        add(&mut guard, &table, 1, 30).unwrap();
        let mut other = hasty(&house);
        for id in [20, 40, 60] {
            assert_barred(
                add(&mut other, &table, 1, id),
                &format!("index {index}, {id}"),
            );
        }
        assert_eq!(count(&mut guard, &table, index, 1).unwrap(), 3);
        guard.commit().unwrap();
        add(&mut other, &table, 1, 20).unwrap();
    }
}

#[test]
fn a_key_that_is_rolled_back_is_nobodys_anchor() {
    for index in 0..2 {
        let (house, table) = set_up(index, &[(1, 10), (3, 90)]);
        let mut fickle = house.session();
        fickle.begin().unwrap();
        add(&mut fickle, &table, 2, 50).unwrap();
        thread::scope(|scope| {
            let (house, table) = (&house, &table);
            let reading = scope.spawn(move || {
                let mut guard = serializable(house);
                guard.begin().unwrap();
                let seen = count(&mut guard, table, index, 1).unwrap();
                (guard, seen)
            });
            wait_until_somebody_waits(house);
            fickle.rollback().unwrap();
            let (mut guard, seen) = reading.join().unwrap();
            assert_eq!(seen, 1);
            let mut other = hasty(house);
            for id in [5, 20, 70] {
                assert_barred(
                    add(&mut other, table, 1, id),
                    &format!("index {index}, {id}"),
                );
            }
            assert_eq!(count(&mut guard, table, index, 1).unwrap(), 1);
        });
    }
}

#[test]
fn a_key_that_comes_in_while_a_scan_waits_is_not_passed_over() {
    for index in 0..2 {
        let (house, table) = set_up(index, &[(1, 10), (1, 30), (2, 90)]);
        let mut writer = house.session();
        writer.begin().unwrap();
        let changed = key(&table, index, 1, 30);
        assert!(writer.update(&table, &changed, &[(2, i(1))]).unwrap());
        thread::scope(|scope| {
            let (house, table) = (&house, &table);
            let reading = scope.spawn(move || {
                let mut guard = serializable(house);
                guard.begin().unwrap();
                let seen = count(&mut guard, table, index, 1).unwrap();
                (guard, seen)
            });
            wait_until_somebody_waits(house);
            // In the gap below the key that the scan waits for.
            let came = add(&mut hasty(house), table, 1, 20).is_ok();
            writer.commit().unwrap();
            let (mut guard, seen) = reading.join().unwrap();
            assert_eq!(seen, 2 + usize::from(came), "index {index}");
            assert_eq!(count(&mut guard, table, index, 1).unwrap(), seen);
            assert_barred(add(&mut hasty(house), table, 1, 15), "afterwards");
        });
    }
}

#[test]
fn who_finds_nothing_to_delete_finds_nothing_the_next_time_either() {
    let (house, table) = set_up(1, &[(1, 10), (1, 55), (1, 90)]);
    let gone = key(&table, 1, 1, 55);
    // Its ghost is there, or is not there any more.
    assert!(house.session().delete(&table, &gone).unwrap());
    let mut guard = serializable(&house);
    guard.begin().unwrap();
    assert!(!guard.delete(&table, &gone).unwrap());
    assert!(!guard.update(&table, &gone, &[(2, i(1))]).unwrap());
    let mut other = hasty(&house);
    assert_barred(add(&mut other, &table, 1, 55), "the key itself");
    assert_barred(
        add(&mut other, &table, 1, 54),
        "the gap that it would be in",
    );
    assert!(!guard.delete(&table, &gone).unwrap());
    guard.commit().unwrap();
    add(&mut other, &table, 1, 55).unwrap();
}

#[test]
fn an_inserter_that_waits_goes_before_readers_that_come_later() {
    let (house, table) = set_up(1, &[(1, 10), (2, 90)]);
    let mut first = serializable(&house);
    first.begin().unwrap();
    assert_eq!(count(&mut first, &table, 1, 1).unwrap(), 1);
    thread::scope(|scope| {
        let (house, table) = (&house, &table);
        let inserting = scope.spawn(move || add(&mut house.session(), table, 1, 50));
        wait_until_somebody_waits(house);
        // A third one is kept out of the same gap, and who comes to read it queues.
        assert_barred(
            add(&mut hasty(house), table, 1, 40),
            "beside one that waits",
        );
        let mut late = hasty(house);
        late.set_isolation(Isolation::Serializable);
        late.begin().unwrap();
        assert_eq!(count(&mut late, table, 1, 1).unwrap_err().number(), 1222);
        late.rollback().unwrap();
        first.commit().unwrap();
        inserting.join().unwrap().unwrap();
        assert_eq!(count(&mut late, table, 1, 1).unwrap(), 2);
    });
}

#[test]
fn each_gap_of_a_range_is_guarded_and_no_other_over_many_leaves() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let house = house();
    let spec = TableSpec::new("wide")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("pad", varchar(1500)).not_null())
        .primary_key(["id"]);
    let table = house.session().create_table(&spec).unwrap();
    let mut session = house.session();
    let pad = s(&"x".repeat(1400));
    for id in 1..=60 {
        session.insert(&table, &[n(id * 10), pad.clone()]).unwrap();
    }
    let mut other = house.session();
    other.set_lock_timeout(Timeout::NoWait);
    for round in 0..12 {
        let (a, b) = (rng.random_range(0..620_i64), rng.random_range(0..620_i64));
        let (low, high) = (a.min(b), a.max(b));
        let mut guard = serializable(&house);
        guard.begin().unwrap();
        let range = ScanSpec {
            low: Bound::Included(vec![n(low)]),
            high: Bound::Included(vec![n(high)]),
            backward: round % 2 == 1,
            ..ScanSpec::default()
        };
        guard
            .scan(&table, &range)
            .unwrap()
            .for_each(|_| Ok(()))
            .unwrap();
        // The gaps that the range's ends lie in are guarded whole.
        let from = low.div_euclid(10) * 10 - i64::from(low % 10 == 0) * 10;
        let to = if high >= 600 {
            i64::MAX
        } else {
            (high.div_euclid(10) + 1) * 10
        };
        for gap in 0..61 {
            let id = gap * 10 + 5;
            other.begin().unwrap();
            let done = other.insert(&table, &[n(id), Value::VarChar("y".into())]);
            let barred = done.is_err();
            other.rollback().unwrap();
            let guarded = from < id && id < to;
            assert_eq!(barred, guarded, "{low}..={high}: {id}");
        }
    }
}
