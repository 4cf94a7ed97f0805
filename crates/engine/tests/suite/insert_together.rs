//! Rows inserted some at a time: what single inserts give, under the same locks.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{ColumnSpec, TableSpec};
use furrow_engine::{EngineError, IndexSpec, Isolation, ScanSpec, Session, Table, Timeout};
use furrow_txn::lock::LockMode;
use furrow_types::Value;
use std::sync::Arc;
use tables_common::{bigint, held, house, i, int, n, numbered};

fn ids(session: &mut Session, table: &Arc<Table>) -> Vec<i64> {
    let mut ids = Vec::new();
    let scan = session.scan(table, &ScanSpec::default()).unwrap();
    scan.for_each(|row| {
        ids.push(row.i64(0).unwrap());
        Ok(())
    })
    .unwrap();
    ids
}

/// Inserts rows with these keys together.
fn insert(session: &mut Session, table: &Arc<Table>, ids: &[i64]) -> Result<(), EngineError> {
    let mut inserter = session.inserter(table, &[0, 1])?;
    for &id in ids {
        inserter.i64(id)?.i64(7)?.gather()?;
    }
    inserter.insert_gathered()
}

#[test]
fn a_transaction_holds_a_lock_of_each_row_and_few_log_records() {
    let (house, table) = numbered(5);
    let mut session = house.session();
    session.begin().unwrap();
    insert(&mut session, &table, &(10..26).collect::<Vec<_>>()).unwrap();
    assert_eq!(held(&house, &session, &table), (Some(LockMode::IX), 16));
    let mut other = house.session();
    other.set_lock_timeout(Timeout::Millis(30));
    let error = other.insert(&table, &[n(12), i(0)]).unwrap_err();
    assert_eq!(error.number(), 1222);
    assert_eq!(table.indexes()[0].rowset().row_count(), 21);
    session.rollback().unwrap();
    assert_eq!(ids(&mut session, &table), [1, 2, 3, 4, 5]);
    assert_eq!(table.indexes()[0].rowset().row_count(), 5);
}

#[test]
fn rows_before_a_duplicate_go_in_and_those_behind_it_do_not() {
    let (house, table) = numbered(5);
    let mut session = house.session();
    session.begin().unwrap();
    for rows in [[10, 11, 3, 12], [20, 21, 21, 22]] {
        let error = insert(&mut session, &table, &rows).unwrap_err();
        assert_eq!(error.number(), 2627, "{error}");
    }
    // The rows that went in, and no others, are locked.
    assert_eq!(held(&house, &session, &table), (Some(LockMode::IX), 4));
    let mut other = house.session();
    other.set_lock_timeout(Timeout::Millis(30));
    for absent in [12, 22] {
        other.insert(&table, &[n(absent), i(0)]).unwrap();
    }
    assert_eq!(
        other.insert(&table, &[n(21), i(0)]).unwrap_err().number(),
        1222
    );
    session.commit().unwrap();
    let expected = [1, 2, 3, 4, 5, 10, 11, 12, 20, 21, 22];
    assert_eq!(ids(&mut session, &table), expected);
    assert_eq!(table.indexes()[0].rowset().row_count(), 11);
}

#[test]
fn a_row_that_another_session_has_locked_is_waited_for_when_its_turn_comes() {
    let (house, table) = numbered(5);
    let mut other = house.session();
    other.begin().unwrap();
    other.insert(&table, &[n(12), i(0)]).unwrap();
    let mut session = house.session();
    session.set_lock_timeout(Timeout::Millis(30));
    session.begin().unwrap();
    let error = insert(&mut session, &table, &[10, 11, 12, 13]).unwrap_err();
    assert_eq!(error.number(), 1222);
    other.rollback().unwrap();
    insert(&mut session, &table, &[12, 13]).unwrap();
    session.commit().unwrap();
    assert_eq!(ids(&mut session, &table), [1, 2, 3, 4, 5, 10, 11, 12, 13]);
}

#[test]
fn rows_do_not_come_into_a_range_that_a_serializable_reader_has_read() {
    let (house, table) = numbered(5);
    let mut reader = house.session();
    reader.set_isolation(Isolation::Serializable);
    reader.begin().unwrap();
    assert_eq!(ids(&mut reader, &table).len(), 5);
    let mut session = house.session();
    session.set_lock_timeout(Timeout::Millis(30));
    session.begin().unwrap();
    let error = insert(&mut session, &table, &[10, 11, 12]).unwrap_err();
    assert_eq!(error.number(), 1222);
    assert_eq!(ids(&mut reader, &table).len(), 5);
    reader.commit().unwrap();
    insert(&mut session, &table, &[10, 11, 12]).unwrap();
    session.commit().unwrap();
    assert_eq!(ids(&mut session, &table).len(), 8);
}

#[test]
fn outside_of_a_transaction_each_step_commits_by_itself() {
    let (house, table) = numbered(5);
    let mut session = house.session();
    let mut inserter = session.inserter(&table, &[0, 1]).unwrap();
    assert!(!inserter.gathers());
    for id in [10, 11, 3, 12] {
        inserter.i64(id).unwrap().i64(7).unwrap().gather().unwrap();
    }
    assert_eq!(inserter.insert_gathered().unwrap_err().number(), 2627);
    drop(inserter);
    assert!(!session.in_transaction());
    assert_eq!(ids(&mut session, &table), [1, 2, 3, 4, 5, 10, 11]);
    drop(table);
    let house = house.restart(true, vec![session]);
    let table = house.db.catalog().table("dbo", "t").unwrap();
    assert_eq!(ids(&mut house.session(), &table), [1, 2, 3, 4, 5, 10, 11]);
}

#[test]
fn after_a_crash_the_rows_of_a_transaction_that_ended_are_there_and_no_others() {
    let (house, table) = numbered(5);
    let mut session = house.session();
    session.begin().unwrap();
    for from in (100..2000).step_by(16) {
        insert(&mut session, &table, &(from..from + 16).collect::<Vec<_>>()).unwrap();
    }
    session.commit().unwrap();
    let expected = ids(&mut session, &table);
    let mut open = house.session();
    open.begin().unwrap();
    for from in (5000..7000).step_by(16) {
        insert(&mut open, &table, &(from..from + 16).collect::<Vec<_>>()).unwrap();
    }
    // Its records become durable with another commit.
    session.insert(&table, &[n(50), i(0)]).unwrap();
    drop(table);
    let house = house.restart(true, vec![session, open]);
    let table = house.db.catalog().table("dbo", "t").unwrap();
    let mut expected = expected;
    expected.insert(5, 50);
    let mut session = house.session();
    assert_eq!(ids(&mut session, &table), expected);
    let rows = expected.len() as i64;
    assert_eq!(table.indexes()[0].rowset().row_count(), rows);
}

#[test]
fn tables_with_other_indexes_take_rows_one_by_one() {
    let house = house();
    let mut session = house.session();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()))
        .primary_key(["id"])
        .index(IndexSpec::new("by_v", ["v"]));
    let table = session.create_table(&spec).unwrap();
    session.begin().unwrap();
    let inserter = session.inserter(&table, &[0, 1]).unwrap();
    assert!(!inserter.gathers());
    drop(inserter);
    session.commit().unwrap();
}

#[test]
fn a_row_that_cannot_be_gathered_is_left_out_alone() {
    let (house, table) = numbered(5);
    let mut session = house.session();
    session.begin().unwrap();
    let mut inserter = session.inserter(&table, &[0, 1]).unwrap();
    inserter.i64(10).unwrap().i64(1).unwrap().gather().unwrap();
    inserter.i64(11).unwrap().null().unwrap();
    assert_eq!(inserter.gather().unwrap_err().number(), 515);
    // Neither a value too few nor one that its column does not take is in the way of the next row.
    inserter.i64(12).unwrap();
    assert_eq!(inserter.gather().unwrap_err().number(), 213);
    let wrong = Value::VarChar("many".to_owned());
    assert!(inserter.i64(13).unwrap().value(&wrong).is_err());
    inserter.forget_row();
    inserter.i64(14).unwrap().i64(1).unwrap().gather().unwrap();
    inserter.insert_gathered().unwrap();
    drop(inserter);
    session.commit().unwrap();
    assert_eq!(ids(&mut session, &table), [1, 2, 3, 4, 5, 10, 14]);
}

fn numbered_by_identity(session: &mut Session) -> Arc<Table> {
    let spec = TableSpec::new("counted")
        .column(ColumnSpec::new("id", bigint()).identity(1, 1))
        .column(ColumnSpec::new("v", int()))
        .primary_key(["id"]);
    session.create_table(&spec).unwrap()
}

#[test]
fn a_database_that_is_read_only_gives_no_identity_values() {
    let house = house();
    let mut session = house.session();
    let table = numbered_by_identity(&mut session);
    drop(session);
    house.db.set_read_only(true).unwrap();
    let mut session = house.session();
    session.begin().unwrap();
    let mut inserter = session.inserter(&table, &[1]).unwrap();
    let error = inserter.i64(7).unwrap().gather().unwrap_err();
    assert_eq!(error.number(), 3906, "{error}");
    drop(inserter);
    session.rollback().unwrap();
    drop(session);
    house.db.set_read_only(false).unwrap();
    let mut session = house.session();
    session.begin().unwrap();
    let mut inserter = session.inserter(&table, &[1]).unwrap();
    for _ in 0..3 {
        inserter.i64(7).unwrap().gather().unwrap();
    }
    inserter.insert_gathered().unwrap();
    drop(inserter);
    session.commit().unwrap();
    assert_eq!(ids(&mut session, &table), [1, 2, 3]);
}
