//! Loads in bulk: the same rows as by single inserts, whole or not at all, and theirs after a crash.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    BulkOptions, ColumnSpec, DatabaseSpec, EngineError, FileSpec, IndexSpec, ScanSpec, Session,
    Table, TableSpec,
};
use furrow_format::RecoveryModel;
use furrow_io::random::{Rng, SliceRandom, seeded, test_seed};
use furrow_observe::files::FileSnapshot;
use furrow_types::{DataType, TypeId, Value};
use std::sync::Arc;
use tables_common::house;

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("v", DataType::sized(TypeId::VarChar, 8000)))
        .primary_key(["id"])
}

fn rows(session: &mut Session, table: &Arc<Table>) -> Vec<(i64, Option<Vec<u8>>)> {
    let mut rows = Vec::new();
    let scan = session.scan(table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        rows.push((row.i64(0).unwrap(), row.bytes(1).map(<[u8]>::to_vec)));
        Ok(())
    })
    .unwrap();
    rows
}

fn number(error: &EngineError) -> u32 {
    error.number()
}

fn per_batch(rows_per_batch: usize) -> BulkOptions {
    BulkOptions {
        rows_per_batch,
        ..BulkOptions::default()
    }
}

#[test]
fn a_load_gives_what_single_inserts_give() {
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let mut rng = seeded(seed);
    let house = house();
    let mut session = house.session();
    for (at, order) in ["ascending", "some before", "random"].iter().enumerate() {
        let table = session.create_table(&spec(&format!("t{at}"))).unwrap();
        let mut expected: Vec<(i64, Option<Vec<u8>>)> = (0..4000)
            .map(|id| {
                let len = [10, 100, 100, 8000][rng.random_range(0..4)].min(if id % 50 == 0 {
                    8000
                } else {
                    100
                });
                (
                    id,
                    rng.random_bool(0.9)
                        .then(|| vec![b'a' + (id % 26) as u8; len]),
                )
            })
            .collect();
        let mut input = expected.clone();
        match *order {
            "some before" => input.chunks_mut(700).for_each(|c| c.rotate_left(1)),
            "random" => input.shuffle(&mut rng),
            _ => {}
        }
        let mut load = session
            .bulk_inserter(&table, &[0, 1], per_batch(900))
            .unwrap();
        for (id, value) in &input {
            load.i64(*id).unwrap();
            match value {
                Some(text) => load.str(std::str::from_utf8(text).unwrap()).unwrap(),
                None => load.null().unwrap(),
            };
            load.insert().unwrap();
        }
        assert_eq!(load.rows_done(), 3600);
        assert_eq!(load.finish().unwrap(), 4000);
        expected.sort();
        assert!(rows(&mut session, &table) == expected, "{order}");
        assert_eq!(table.indexes()[0].rowset().row_count(), 4000);
    }
}

#[test]
fn a_duplicate_costs_its_batch_and_no_more() {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&spec("t")).unwrap();
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(10))
        .unwrap();
    for id in 0..15 {
        load.i64(id).unwrap().str("v").unwrap().insert().unwrap();
    }
    // Found when the batch goes in.
    load.i64(7).unwrap().str("v").unwrap().insert().unwrap();
    let error = load.finish().unwrap_err();
    assert_eq!(number(&error), 2627, "{error}");
    assert!(!session.in_transaction());
    assert_eq!(rows(&mut session, &table).len(), 10);
    assert_eq!(table.indexes()[0].rowset().row_count(), 10);
    // Within the batch as well.
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(0))
        .unwrap();
    for id in [20, 21, 21] {
        load.i64(id).unwrap().null().unwrap().insert().unwrap();
    }
    assert_eq!(number(&load.finish().unwrap_err()), 2627);
    assert_eq!(rows(&mut session, &table).len(), 10);
}

#[test]
fn a_row_that_cannot_be_made_is_left_out_alone() {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&spec("t")).unwrap();
    let mut load = session
        .bulk_inserter(&table, &[0, 1], BulkOptions::default())
        .unwrap();
    load.i64(1).unwrap().str("one").unwrap().insert().unwrap();
    load.null().unwrap().str("none").unwrap();
    assert_eq!(number(&load.insert().unwrap_err()), 515);
    load.i64(2).unwrap();
    assert_eq!(number(&load.insert().unwrap_err()), 213);
    load.i64(3).unwrap().str("three").unwrap().insert().unwrap();
    assert_eq!(load.finish().unwrap(), 2);
    let ids: Vec<i64> = rows(&mut session, &table).iter().map(|r| r.0).collect();
    assert_eq!(ids, [1, 3]);
}

#[test]
fn a_load_in_a_transaction_is_one_statement_of_it() {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&spec("t")).unwrap();
    session.begin().unwrap();
    session
        .insert(&table, &[Value::BigInt(-1), Value::Null])
        .unwrap();
    let long = "x".repeat(3000);
    // Dropped: undone, whatever went in.
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(10))
        .unwrap();
    for id in 0..500 {
        load.i64(id).unwrap().str(&long).unwrap().insert().unwrap();
    }
    drop(load);
    assert_eq!(rows(&mut session, &table).len(), 1);
    // Failed: undone as well, and the transaction goes on.
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(10))
        .unwrap();
    for id in (0..500).chain([3]) {
        load.i64(id).unwrap().str(&long).unwrap().insert().unwrap();
    }
    assert_eq!(number(&load.finish().unwrap_err()), 2627);
    assert!(session.in_transaction());
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(10))
        .unwrap();
    for id in 0..300 {
        load.i64(id).unwrap().str(&long).unwrap().insert().unwrap();
    }
    assert_eq!(load.finish().unwrap(), 300);
    assert_eq!(rows(&mut session, &table).len(), 301);
    session.rollback().unwrap();
    assert_eq!(rows(&mut session, &table).len(), 0);
    assert_eq!(table.indexes()[0].rowset().row_count(), 0);
}

#[test]
fn a_load_locks_the_table_against_everybody() {
    let house = house();
    let (mut session, mut other) = (house.session(), house.session());
    let table = session.create_table(&spec("t")).unwrap();
    session.begin().unwrap();
    let mut load = session
        .bulk_inserter(&table, &[0, 1], BulkOptions::default())
        .unwrap();
    load.i64(10).unwrap().null().unwrap().insert().unwrap();
    load.i64(20).unwrap().null().unwrap().insert().unwrap();
    load.finish().unwrap();
    other.set_lock_timeout(furrow_engine::Timeout::NoWait);
    // Between two loaded rows: the rollback takes out all that lies there.
    let refused = other.insert(&table, &[Value::BigInt(15), Value::Null]);
    assert_eq!(number(&refused.unwrap_err()), 1222);
    session.rollback().unwrap();
    other
        .insert(&table, &[Value::BigInt(15), Value::Null])
        .unwrap();
    assert_eq!(rows(&mut other, &table).len(), 1);
}

#[test]
fn tables_with_other_indexes_take_a_load_row_by_row() {
    let house = house();
    let mut session = house.session();
    let table = session
        .create_table(&spec("t").index(IndexSpec::new("by_v", ["v"]).unique()))
        .unwrap();
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(100))
        .unwrap();
    for id in 0..250 {
        load.i64(id)
            .unwrap()
            .str(&format!("v{id}"))
            .unwrap()
            .insert()
            .unwrap();
    }
    // That row alone is refused.
    load.i64(999).unwrap().str("v7").unwrap();
    assert_eq!(number(&load.insert().unwrap_err()), 2601);
    load.i64(250)
        .unwrap()
        .str("v250")
        .unwrap()
        .insert()
        .unwrap();
    assert_eq!(load.finish().unwrap(), 251);
    assert_eq!(rows(&mut session, &table).len(), 251);
    for index in table.indexes() {
        assert_eq!(index.rowset().row_count(), 251);
    }
}

#[test]
fn batches_that_were_committed_outlive_a_crash_and_others_do_not() {
    let house = house();
    let mut session = house.session();
    let table = session.create_table(&spec("t")).unwrap();
    let text = "x".repeat(1000);
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(500))
        .unwrap();
    for id in 0..2000 {
        load.i64(id).unwrap().str(&text).unwrap().insert().unwrap();
    }
    assert_eq!(load.finish().unwrap(), 2000);
    session.begin().unwrap();
    let mut load = session
        .bulk_inserter(&table, &[0, 1], per_batch(500))
        .unwrap();
    for id in 2000..4000 {
        load.i64(id).unwrap().str(&text).unwrap().insert().unwrap();
    }
    load.finish().unwrap();
    // Another one's commit takes the records of the load that is not committed to the medium.
    let mut other = house.session();
    other.create_table(&spec("other")).unwrap();
    drop((table, other));
    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    let table = session.table("t").unwrap();
    let ids: Vec<i64> = rows(&mut session, &table).iter().map(|r| r.0).collect();
    assert!(ids.into_iter().eq(0..2000));
}

#[test]
fn a_load_that_runs_out_of_room_in_a_transaction_leaves_the_count_of_rows_right() {
    for minimal_logging in [false, true] {
        let house = house();
        let file = |name: &str| FileSpec::new(name, format!("d/{name}"));
        let data = file("small.mdf").size_mb(4).no_growth();
        let database = DatabaseSpec::new("small", data).log(file("small.ldf").size_mb(16));
        let db = house.instance.create_database(&database).unwrap();
        let mut session = Session::new(&db).unwrap();
        let table = session.create_table(&spec("t")).unwrap();
        session.begin().unwrap();
        let row = [Value::BigInt(-1), Value::Null];
        session.insert(&table, &row).unwrap();
        let options = BulkOptions {
            rows_per_batch: 0,
            minimal_logging,
        };
        let mut load = session.bulk_inserter(&table, &[0, 1], options).unwrap();
        let text = "x".repeat(1000);
        let put = (0..100_000).try_for_each(|id| load.i64(id)?.str(&text)?.insert());
        let failed = put.and_then(|()| load.finish().map(|_| ())).unwrap_err();
        assert_eq!(number(&failed), 1105);
        session.commit().unwrap();
        assert_eq!(rows(&mut session, &table).len(), 1);
        assert_eq!(table.indexes()[0].rowset().row_count(), 1);
    }
}

/// Bytes written to the log by a load of 4,000 rows of 500 bytes.
fn logged_bytes(model: RecoveryModel, minimal_logging: bool) -> u64 {
    let house = house();
    let file = |name: &str| FileSpec::new(name, format!("d/{name}")).size_mb(16);
    let mut database = DatabaseSpec::new("loaded", file("loaded.mdf")).log(file("loaded.ldf"));
    database.options.recovery_model = model;
    let db = house.instance.create_database(&database).unwrap();
    let mut session = Session::new(&db).unwrap();
    let table = session.create_table(&spec("t")).unwrap();
    let text = "x".repeat(500);
    let log = house.instance.instruments().files.get(db.id().0, 2);
    let log = log.unwrap();
    let before = log.snapshot();
    let options = BulkOptions {
        rows_per_batch: 0,
        minimal_logging,
    };
    let mut load = session.bulk_inserter(&table, &[0, 1], options).unwrap();
    for id in 0..4000 {
        load.i64(id).unwrap().str(&text).unwrap().insert().unwrap();
    }
    assert_eq!(load.finish().unwrap(), 4000);
    let written = FileSnapshot::delta(&before, &log.snapshot()).writes.bytes;
    assert_eq!(rows(&mut session, &table).len(), 4000);
    written
}

#[test]
fn a_load_logs_little_in_the_simple_recovery_model_and_all_in_others() {
    let simple = logged_bytes(RecoveryModel::Simple, true);
    assert!(simple < 300_000, "{simple} bytes");
    for (model, minimal) in [
        (RecoveryModel::Simple, false),
        (RecoveryModel::Full, true),
        (RecoveryModel::BulkLogged, true),
    ] {
        let all = logged_bytes(model, minimal);
        assert!(all > 2_000_000, "{model:?}: {all} bytes");
    }
}
