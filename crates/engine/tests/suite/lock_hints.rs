//! Table hints and lock time-outs, through sessions.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    EngineError, Isolation, LockHints, ReadLock, ScanSpec, Session, Table, Timeout,
};
use furrow_io::time::Moment;
use furrow_txn::lock::LockMode;
use std::sync::Arc;
use std::time::Duration;
use tables_common::{House, held, i, n, numbered};

/// A session in a transaction that does not wait for locks.
fn begun(house: &House) -> Session {
    let mut session = house.session();
    session.set_lock_timeout(Timeout::NoWait);
    session.begin().unwrap();
    session
}

fn set(session: &mut Session, table: &Arc<Table>, id: i64) -> Result<bool, EngineError> {
    let key = table.row_key(&[n(id)])?;
    session.update(table, &key, &[(1, i(7))])
}

fn ids(
    session: &mut Session,
    table: &Arc<Table>,
    hints: LockHints,
) -> Result<Vec<i64>, EngineError> {
    let mut out = Vec::new();
    let spec = ScanSpec {
        hints,
        ..ScanSpec::default()
    };
    session.scan(table, &spec)?.for_each(|row| {
        out.extend(row.i64(0));
        Ok(())
    })?;
    Ok(out)
}

fn number<T>(done: Result<T, EngineError>) -> u32 {
    done.map(|_| ()).unwrap_err().number()
}

#[test]
fn a_lock_time_out_is_1222_and_costs_the_statement_alone() {
    let (house, table) = numbered(3);
    let mut holder = begun(&house);
    set(&mut holder, &table, 1).unwrap();
    let mut waiter = house.session();
    waiter.begin().unwrap();
    set(&mut waiter, &table, 2).unwrap();
    waiter.set_lock_timeout(Timeout::Millis(80));
    let before = Moment::now();
    let refused = set(&mut waiter, &table, 1).unwrap_err();
    assert!(before.elapsed() >= Duration::from_millis(80));
    let message = &refused.messages()[0];
    assert_eq!(
        (refused.number(), message.level, message.state),
        (1222, 16, 51)
    );
    assert_eq!(message.text, "Lock request time out period exceeded.");
    assert!(
        waiter.in_transaction(),
        "what it did before is still its own"
    );
    assert_eq!(number(set(&mut holder, &table, 2)), 1222);
    waiter.set_lock_timeout(Timeout::NoWait);
    assert_eq!(number(waiter.get(&table, &[n(1)]).map(|_| ())), 1222);
    holder.commit().unwrap();
    assert!(set(&mut waiter, &table, 1).unwrap());
    waiter.commit().unwrap();
}

#[test]
fn tablock_takes_one_lock_and_readers_share_it() {
    let (house, table) = numbered(20);
    let mut first = begun(&house);
    first.set_isolation(Isolation::RepeatableRead);
    assert_eq!(
        ids(&mut first, &table, LockHints::table()).unwrap().len(),
        20
    );
    assert_eq!(held(&house, &first, &table), (Some(LockMode::S), 0));
    let mut second = begun(&house);
    assert_eq!(
        ids(&mut second, &table, LockHints::table()).unwrap().len(),
        20
    );
    assert_eq!(number(set(&mut second, &table, 5)), 1222);
    first.commit().unwrap();
    assert!(set(&mut second, &table, 5).unwrap());
    // At READ COMMITTED the lock of the table went with the statement.
    assert_eq!(held(&house, &second, &table), (Some(LockMode::IX), 1));
    assert!(set(&mut begun(&house), &table, 6).unwrap());
}

#[test]
fn the_end_of_a_scan_under_tablock_leaves_what_others_of_its_session_go_by() {
    let (house, table) = numbered(3);
    let mut session = begun(&house);
    let whole = ScanSpec {
        hints: LockHints::table(),
        ..ScanSpec::default()
    };
    let first = session.open_scan(&table, &whole).unwrap();
    let mut second = session.open_scan(&table, &ScanSpec::default()).unwrap();
    assert_eq!(held(&house, &session, &table), (Some(LockMode::S), 0));
    session.close_scan(first);
    assert_eq!(held(&house, &session, &table), (Some(LockMode::IS), 0));
    while session.step_scan(&mut second).unwrap() {}
    session.close_scan(second);

    let first = session.open_scan(&table, &whole).unwrap();
    session.insert(&table, &[n(50), i(0)]).unwrap();
    session.close_scan(first);
    assert_eq!(held(&house, &session, &table), (Some(LockMode::IX), 1));
    let mut other = begun(&house);
    assert_eq!(number(ids(&mut other, &table, LockHints::default())), 1222);
}

#[test]
fn tablockx_and_changes_under_tablock_keep_everybody_out() {
    let (house, table) = numbered(20);
    for exclusive in [true, false] {
        let mut owner = begun(&house);
        if exclusive {
            ids(&mut owner, &table, LockHints::table_exclusive()).unwrap();
        } else {
            let done = owner.hinted(LockHints::table(), |s| set(s, &table, 3));
            assert!(done.unwrap());
        }
        assert_eq!(held(&house, &owner, &table), (Some(LockMode::X), 0));
        let mut other = begun(&house);
        assert_eq!(number(ids(&mut other, &table, LockHints::default())), 1222);
        assert_eq!(number(set(&mut other, &table, 9)), 1222);
        owner.insert(&table, &[n(100), i(0)]).unwrap();
        assert_eq!(
            held(&house, &owner, &table).1,
            0,
            "no row needs a lock of its own"
        );
        owner.rollback().unwrap();
        assert_eq!(
            ids(&mut other, &table, LockHints::default()).unwrap().len(),
            20
        );
    }
}

#[test]
fn updlock_and_xlock_keep_their_rows_at_any_level() {
    let (house, table) = numbered(5);
    for (lock, reader_passes) in [(ReadLock::Update, true), (ReadLock::Exclusive, false)] {
        let mut owner = begun(&house);
        let hints = LockHints {
            lock,
            ..LockHints::default()
        };
        let found = owner.hinted(hints, |s| s.get(&table, &[n(3)]).map(|row| row.is_some()));
        assert!(found.unwrap());
        let mut other = begun(&house);
        assert_eq!(
            other.get(&table, &[n(3)]).is_ok(),
            reader_passes,
            "{lock:?}"
        );
        let also = other.hinted(LockHints::update(), |s| s.get(&table, &[n(3)]).map(|_| ()));
        assert_eq!(number(also), 1222);
        assert!(other.get(&table, &[n(4)]).unwrap().is_some());
        assert!(set(&mut owner, &table, 3).unwrap());
        owner.rollback().unwrap();
    }
}

#[test]
fn holdlock_guards_what_is_not_there() {
    let (house, table) = numbered(5);
    let mut owner = begun(&house);
    let none = owner.hinted(LockHints::hold(), |s| {
        s.get(&table, &[n(50)]).map(|r| r.is_none())
    });
    assert!(none.unwrap());
    assert_eq!(owner.isolation(), Isolation::ReadCommitted);
    let mut other = begun(&house);
    assert_eq!(number(other.insert(&table, &[n(50), i(0)])), 1222);
    owner.commit().unwrap();
    other.insert(&table, &[n(50), i(0)]).unwrap();
}

#[test]
fn readpast_leaves_out_what_others_have_locked_and_nolock_reads_it() {
    let (house, table) = numbered(6);
    let mut writer = begun(&house);
    set(&mut writer, &table, 2).unwrap();
    writer
        .delete(&table, &table.row_key(&[n(5)]).unwrap())
        .unwrap();
    let past = LockHints {
        read_past: true,
        lock: ReadLock::Update,
        ..LockHints::default()
    };
    let mut worker = begun(&house);
    assert_eq!(ids(&mut worker, &table, past).unwrap(), [1, 3, 4, 6]);
    // A second one finds nothing left: each row is worked at once.
    assert!(ids(&mut begun(&house), &table, past).unwrap().is_empty());
    worker.set_isolation(Isolation::Serializable);
    assert_eq!(number(ids(&mut worker, &table, past)), 650);
    let dirty = LockHints {
        isolation: Some(Isolation::ReadUncommitted),
        ..LockHints::default()
    };
    assert_eq!(
        ids(&mut begun(&house), &table, dirty).unwrap(),
        [1, 2, 3, 4, 6]
    );
    let hasty = LockHints {
        no_wait: true,
        ..LockHints::default()
    };
    let mut patient = house.session();
    assert_eq!(number(ids(&mut patient, &table, hasty)), 1222);
}
