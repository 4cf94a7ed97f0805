//! Serializable transactions of many threads: sums that every order of them one after another would keep.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, IndexSpec, Isolation, ScanSpec, Session, Table, TableSpec,
};
use furrow_io::random::{seeded, test_seed};
use furrow_io::thread;
use furrow_types::Value;
use rand::Rng;
use std::ops::Bound;
use std::sync::Arc;
use tables_common::{House, bigint, house, int, n};

fn count(
    session: &mut Session,
    table: &Arc<Table>,
    index: usize,
    group: i32,
) -> Result<i64, EngineError> {
    let spec = ScanSpec {
        low: Bound::Included(vec![Value::Int(group)]),
        high: Bound::Included(vec![Value::Int(group)]),
        index,
        ..ScanSpec::default()
    };
    let mut rows = 0;
    session.scan(table, &spec)?.for_each(|_| {
        rows += 1;
        Ok(())
    })?;
    Ok(rows)
}

/// Reads how many rows a group has, and puts in one more that says so: the numbers of a group are all
/// different when transactions run as if one after another.
fn append(
    session: &mut Session,
    table: &Arc<Table>,
    index: usize,
    group: i32,
    id: i64,
) -> Result<(), EngineError> {
    session.begin()?;
    let done = count(session, table, index, group)
        .and_then(|rows| session.insert(table, &[Value::Int(group), n(id), n(rows)]));
    match done {
        Ok(_) => session.commit(),
        Err(e) => {
            if session.in_transaction() {
                session.rollback()?;
            }
            Err(e)
        }
    }
}

fn check(house: &House, table: &Arc<Table>, index: usize) {
    let mut session = house.session();
    for group in 0..3 {
        let mut seen = Vec::new();
        let spec = ScanSpec::equal(index, vec![Value::Int(group)]);
        session
            .scan(table, &spec)
            .unwrap()
            .for_each(|row| {
                seen.extend(row.i64(2));
                Ok(())
            })
            .unwrap();
        seen.sort_unstable();
        let expected: Vec<i64> = (0..seen.len() as i64).collect();
        assert_eq!(seen, expected, "index {index}, group {group}");
        assert!(seen.len() > 5);
    }
}

#[test]
fn no_serializable_transaction_misses_a_row_that_came_before_it() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    for index in 0..2 {
        let house = house();
        let spec = TableSpec::new("t")
            .column(ColumnSpec::new("grp", int()).not_null())
            .column(ColumnSpec::new("id", bigint()).not_null())
            .column(ColumnSpec::new("seen", bigint()).not_null())
            .index(IndexSpec::new("by_grp", ["grp"]));
        // The range is one of the clustered index, or of the other one.
        let spec = match index {
            0 => spec.primary_key(["grp", "id"]),
            _ => spec.primary_key(["id"]),
        };
        let table = house.session().create_table(&spec).unwrap();
        let victims: u64 = thread::scope(|scope| {
            let (house, table) = (&house, &table);
            let running: Vec<_> = (0..3_u64)
                .map(|who| {
                    scope.spawn(move || {
                        let mut rng = seeded(seed.wrapping_add(who));
                        let mut session = house.session();
                        let mut victims = 0;
                        for at in 0..25 {
                            let level = match rng.random_range(0..4) {
                                0 => Isolation::ReadCommitted,
                                _ => Isolation::Serializable,
                            };
                            session.set_isolation(level);
                            let id = i64::from(rng.random::<u16>()) * 1000 + (at * 4 + who) as i64;
                            if level == Isolation::ReadCommitted {
                                // Rows of nobody's group, between the groups.
                                session
                                    .insert(table, &[Value::Int(9), n(id), n(0)])
                                    .unwrap();
                                continue;
                            }
                            let group = rng.random_range(0..3);
                            while let Err(e) = append(&mut session, table, index, group, id) {
                                assert_eq!(e.number(), 1205, "{e}");
                                victims += 1;
                            }
                        }
                        victims
                    })
                })
                .collect();
            running.into_iter().map(|r| r.join().unwrap()).sum()
        });
        println!("index {index}: {victims} deadlock victims");
        check(&house, &table, index);
    }
}
