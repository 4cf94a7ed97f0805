//! A reader at READ COMMITTED among writers that lock its row one after the other.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    EngineError, Isolation, LeafRows, LockHints, ReadLock, ScanSpec, Session, Table, Timeout,
};
use furrow_io::sync::atomic::{AtomicBool, Ordering};
use furrow_io::thread;
use furrow_io::time::{Moment, sleep};
use furrow_txn::lock::{LockRow, LockStatus};
use std::sync::Arc;
use std::time::Duration;
use tables_common::{House, held, n, numbered};

/// Writers that follow each other.
const WRITERS: i32 = 10;
/// Commits that the reader waits for: that of the writer that it finds there, and that of the one which was
/// granted the lock together with the reader's first request.
const BEFORE_READER: i32 = 2;

/// Commits that the reader of a whole page waits for at most: that of the writer which locked its row
/// before, that of the writer which was granted the row then, and that of the one which was granted the
/// intent to lock a row together with the reader's first request for the page. On a busy machine a fourth was
/// seen once; a reader that starves waits for all [`WRITERS`].
const BEFORE_PAGE: i32 = 5;

/// Locks of rows.
fn rows() -> LockHints {
    LockHints::default()
}

/// A scan of all rows by these locks.
fn scanned(
    session: &mut Session,
    table: &Arc<Table>,
    lock: ReadLock,
) -> Result<Vec<i32>, EngineError> {
    let mut out = Vec::new();
    let spec = ScanSpec {
        lock,
        ..ScanSpec::default()
    };
    session.scan(table, &spec)?.for_each(|row| {
        out.extend(row.i32(1));
        Ok(())
    })?;
    Ok(out)
}

fn looked_up(session: &mut Session, table: &Arc<Table>) -> Result<Vec<i32>, EngineError> {
    let row = session.get(table, &[n(1)])?;
    Ok(row.and_then(|row| row.i32(1)).into_iter().collect())
}

/// Waits until a session waits for the row, or `done`.
fn until_waits(house: &House, session: i32, done: impl Fn() -> bool) {
    let began = Moment::now();
    let waits = |row: &LockRow| {
        row.session_id == session && row.status != LockStatus::Grant && row.resource.is_fine()
    };
    while !done() && !house.instance.locks().snapshot().iter().any(waits) {
        assert!(began.elapsed() < Duration::from_secs(30), "{session} waits");
        sleep(Duration::from_millis(1));
    }
}

/// Each writer locks the row X, and commits once the reader and the next writer wait for it. Returns how many
/// commits the reader has waited for.
fn commits_before(
    read: impl Fn(&mut Session, &Arc<Table>) -> Result<Vec<i32>, EngineError> + Sync,
) -> i32 {
    commits_of(rows(), read)
}

/// The same for writers with these hints.
fn commits_of(
    hints: LockHints,
    read: impl Fn(&mut Session, &Arc<Table>) -> Result<Vec<i32>, EngineError> + Sync,
) -> i32 {
    let (house, table) = numbered(1);
    let got = AtomicBool::new(false);
    let mut reader = house.session();
    let reader_id = reader.id();
    let mut writer = locked(house.session(), &table, hints);
    thread::scope(|s| {
        s.spawn(|| {
            assert_eq!(read(&mut reader, &table).unwrap(), [0]);
            got.store(true, Ordering::SeqCst);
        });
        for commits in 0..WRITERS {
            until_waits(&house, reader_id, || got.load(Ordering::SeqCst));
            if got.load(Ordering::SeqCst) {
                return commits;
            }
            writer = followed(writer, &house, &table, hints);
        }
        drop(writer);
        WRITERS
    })
}

/// A session in a transaction that has locked the row, or its page, X.
fn locked(mut session: Session, table: &Arc<Table>, hints: LockHints) -> Session {
    session.begin().unwrap();
    let scan = |session: &mut Session| scanned(session, table, ReadLock::Exclusive);
    let rows = session.hinted(hints, scan).unwrap();
    assert_eq!(rows.len(), 1);
    session
}

/// Commits a writer once the next one waits for its row; the next one.
fn followed(mut writer: Session, house: &House, table: &Arc<Table>, hints: LockHints) -> Session {
    let next = house.session();
    let next_id = next.id();
    thread::scope(|s| {
        let next = s.spawn(|| locked(next, table, hints));
        until_waits(house, next_id, || false);
        writer.commit().unwrap();
        next.join().unwrap()
    })
}

#[test]
fn a_reader_of_a_row_waits_for_a_bounded_number_of_writers() {
    let by_key = commits_before(looked_up);
    assert_eq!(by_key, BEFORE_READER, "by its key");
    let by_scan = commits_before(|session, table| scanned(session, table, ReadLock::Shared));
    assert_eq!(by_scan, BEFORE_READER, "by a scan");
}

#[test]
fn a_reader_that_has_waited_holds_no_lock_of_the_row() {
    let (house, table) = numbered(1);
    let mut reader = house.session();
    let reader_id = reader.id();
    reader.begin().unwrap();
    let mut writer = locked(house.session(), &table, rows());
    let reader = thread::scope(|s| {
        let reading = s.spawn(|| {
            assert_eq!(looked_up(&mut reader, &table).unwrap(), [0]);
            reader
        });
        for _ in 0..BEFORE_READER {
            until_waits(&house, reader_id, || false);
            writer = followed(writer, &house, &table, rows());
        }
        drop(writer);
        reading.join().unwrap()
    });
    assert!(reader.in_transaction());
    assert_eq!(held(&house, &reader, &table).1, 0);
}

#[test]
fn a_scan_that_ends_between_its_wait_and_its_row_holds_no_lock_of_the_row() {
    let (house, table) = numbered(1);
    let mut reader = house.session();
    let reader_id = reader.id();
    reader.begin().unwrap();
    let mut writer = locked(house.session(), &table, rows());
    let held = thread::scope(|s| {
        let reading = s.spawn(|| {
            let mut scan = reader.open_scan(&table, &ScanSpec::default()).unwrap();
            assert!(scan.hands_over());
            let mut rows = 0;
            // The first step waits. The second one finds the row locked again, and the third would lock it.
            for _ in 0..2 {
                let counted = LeafRows::Count(&mut rows);
                assert!(reader.step_leaf(&mut scan, counted).unwrap());
            }
            assert_eq!(rows, 0);
            reader.close_scan(scan);
            let held = held(&house, &reader, &table).1;
            reader.rollback().unwrap();
            held
        });
        until_waits(&house, reader_id, || false);
        writer = followed(writer, &house, &table, rows());
        let held = reading.join().unwrap();
        drop(writer);
        held
    });
    assert_eq!(held, 0);
}

#[test]
fn a_reader_of_a_row_waits_for_a_bounded_number_of_sessions_that_lock_its_page() {
    let by_key = commits_of(LockHints::page(), looked_up);
    assert!(by_key <= BEFORE_READER, "by its key: {by_key}");
    let by_scan = commits_of(LockHints::page(), |session, table| {
        scanned(session, table, ReadLock::Shared)
    });
    assert!(by_scan <= BEFORE_READER, "by a scan: {by_scan}");
}

#[test]
fn a_session_that_locks_a_page_waits_for_a_bounded_number_of_writers_of_its_rows() {
    let pages = LockHints::page();
    let by_key = commits_before(|session, table| {
        session.set_isolation(Isolation::RepeatableRead);
        session.hinted(pages, |session| looked_up(session, table))
    });
    assert!(by_key <= BEFORE_PAGE, "by its key: {by_key}");
    let by_scan = commits_before(|session, table| {
        session.hinted(pages, |session| scanned(session, table, ReadLock::Update))
    });
    assert!(by_scan <= BEFORE_PAGE, "by a scan: {by_scan}");
}

#[test]
fn lock_timeout_limits_the_waits_for_one_lock_together() {
    const FIRST: Duration = Duration::from_secs(2);
    const LIMIT: Duration = Duration::from_secs(3);
    let (house, table) = numbered(1);
    let mut reader = house.session();
    let reader_id = reader.id();
    reader.set_lock_timeout(Timeout::Millis(LIMIT.as_millis() as u32));
    let writer = locked(house.session(), &table, rows());
    let waited = thread::scope(|s| {
        let reading = s.spawn(|| {
            let began = Moment::now();
            let failed = looked_up(&mut reader, &table).unwrap_err();
            (failed.number(), began.elapsed())
        });
        until_waits(&house, reader_id, || false);
        sleep(FIRST);
        let next = followed(writer, &house, &table, rows());
        let (number, waited) = reading.join().unwrap();
        drop(next);
        assert_eq!(number, 1222);
        waited
    });
    // If the limit began again with the second writer, the reader would wait at least so long.
    assert!(waited < FIRST + LIMIT, "{waited:?}");
}
