//! Many row locks of one statement become one of the table.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{EngineError, Isolation, ScanSpec, Session, Table, Timeout};
use furrow_observe::traceflags::TraceFlag;
use furrow_txn::lock::LockMode;
use std::ops::Bound;
use std::sync::Arc;
use tables_common::{House, held, i, n, numbered};

const ROWS: i64 = 8_000;

fn reader(house: &House) -> Session {
    let mut session = house.session();
    session.set_isolation(Isolation::RepeatableRead);
    session.set_lock_timeout(Timeout::NoWait);
    session.begin().unwrap();
    session
}

/// Reads the first rows; `at` is called with the number of each.
fn read(
    session: &mut Session,
    table: &Arc<Table>,
    rows: i64,
    mut at: impl FnMut(i64),
) -> Result<(), EngineError> {
    let first = ScanSpec {
        high: Bound::Included(vec![n(rows)]),
        ..ScanSpec::default()
    };
    session.scan(table, &first)?.for_each(|row| {
        at(row.i64(0).unwrap());
        Ok(())
    })
}

fn set(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<bool, EngineError> {
    let key = table.row_key(&[n(id)])?;
    session.update(table, &key, &[(1, i(7))])
}

#[test]
fn a_statement_that_reads_5000_rows_locks_the_table_and_one_that_reads_less_does_not() {
    let (house, table) = numbered(ROWS);
    let mut session = reader(&house);
    read(&mut session, &table, 4_900, |_| {}).unwrap();
    assert_eq!(held(&house, &session, &table), (Some(LockMode::IS), 4_900));
    // The next statement counts from its own beginning.
    let rest = ScanSpec {
        low: Bound::Included(vec![n(5_001)]),
        high: Bound::Included(vec![n(7_000)]),
        ..ScanSpec::default()
    };
    let scan = session.scan(&table, &rest).unwrap();
    scan.for_each(|_| Ok(())).unwrap();
    assert_eq!(held(&house, &session, &table), (Some(LockMode::IS), 6_900));
    let mut other = house.session();
    assert!(set(&mut other, &table, 7_500).unwrap());
    session.commit().unwrap();
    session.begin().unwrap();
    read(&mut session, &table, 7_000, |_| {}).unwrap();
    assert_eq!(held(&house, &session, &table), (Some(LockMode::S), 0));
    other.set_lock_timeout(Timeout::NoWait);
    assert_eq!(set(&mut other, &table, 7_500).unwrap_err().number(), 1222);
    session.commit().unwrap();
    assert!(set(&mut other, &table, 7_500).unwrap());
}

#[test]
fn where_somebody_is_in_the_way_it_is_tried_again_1250_locks_later() {
    let (house, table) = numbered(ROWS);
    let mut writer = house.session();
    writer.begin().unwrap();
    assert!(set(&mut writer, &table, ROWS).unwrap());
    let mut session = reader(&house);
    let mut seen = Vec::new();
    let mut writer = Some(writer);
    let instance = &house.instance;
    read(&mut session, &table, 7_900, |id| {
        if id == 5_600 {
            writer.take().unwrap().commit().unwrap();
        }
        if id % 100 == 0 {
            seen.push((id, instance.locks().stats().locks));
        }
    })
    .unwrap();
    let most = seen.iter().map(|(_, locks)| *locks).max().unwrap();
    // Locks are taken a leaf at a time, up to 400 rows; the last leaf's are not seen any more.
    assert!((5_800..6_700).contains(&most), "{most}");
    assert_eq!(held(&house, &session, &table), (Some(LockMode::S), 0));
}

#[test]
fn changes_escalate_to_exclusive_within_one_statement_and_not_over_many() {
    let (house, table) = numbered(ROWS);
    let mut session = house.session();
    session.begin().unwrap();
    for id in 1..=5_500 {
        assert!(set(&mut session, &table, id).unwrap());
    }
    assert_eq!(held(&house, &session, &table), (Some(LockMode::IX), 5_500));
    session.rollback().unwrap();
    session.begin().unwrap();
    session
        .one_statement(|session| {
            for id in 1..=5_500 {
                assert!(set(session, &table, id)?);
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(held(&house, &session, &table), (Some(LockMode::X), 0));
    session.rollback().unwrap();
    let mut session = reader(&house);
    read(&mut session, &table, 10, |_| {}).unwrap();
}

#[test]
fn trace_flags_1211_and_1224_keep_row_locks() {
    for flag in [TraceFlag::NO_ESCALATION, TraceFlag::NO_ESCALATION_BY_COUNT] {
        let (house, table) = numbered(ROWS);
        house.instance.instruments().trace_flags.set_at_start(flag);
        let mut session = reader(&house);
        read(&mut session, &table, 6_500, |_| {}).unwrap();
        assert_eq!(held(&house, &session, &table), (Some(LockMode::IS), 6_500));
    }
}
