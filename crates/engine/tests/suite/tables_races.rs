//! Definitions that come and go beside checkpoints, ghost cleaning and the work of others.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{ColumnSpec, TableSpec};
use furrow_io::thread;
use furrow_types::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use tables_common::{House, bigint, house, int, n};

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()))
        .primary_key(["id"])
}

fn come_and_go(house: &House, who: i64) {
    let mut session = house.session();
    let name = format!("t{who}");
    for round in 0..15 {
        session.begin().unwrap();
        let table = session.create_table(&spec(&name)).unwrap();
        for id in 0..50 {
            session.insert(&table, &[n(id), Value::Int(round)]).unwrap();
        }
        if round % 2 == 0 {
            session.rollback().unwrap();
            continue;
        }
        session.commit().unwrap();
        session.truncate_table(&name).unwrap();
        session.drop_table(&name).unwrap();
    }
}

#[test]
fn tables_come_and_go_beside_checkpoints_and_cleaning_and_leave_no_extent_behind() {
    let house = house();
    let free = house.db.free_extents();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (house, done) = (&house, &done);
        for work in 0..2 {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    if work == 0 {
                        house.db.checkpoint().unwrap();
                    } else {
                        let catalog = house.db.catalog();
                        catalog.purge_ghosts(house.instance.locks(), 100).unwrap();
                    }
                }
            });
        }
        let workers: Vec<_> = (0..3)
            .map(|who| scope.spawn(move || come_and_go(house, who)))
            .collect();
        workers.into_iter().for_each(|w| w.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    assert!(house.db.catalog().tables().is_empty());
    assert!(house.db.catalog().units_to_drop().unwrap().is_empty());
    let (before, after): (u64, u64) = (
        free.iter().map(|f| f.1).sum(),
        house.db.free_extents().iter().map(|f| f.1).sum(),
    );
    // The catalog itself may have grown a little.
    assert!(
        after + 4 >= before,
        "{before} extents were free, {after} are"
    );
    let house = house.restart(true, vec![]);
    assert!(house.db.catalog().tables().is_empty());
}
