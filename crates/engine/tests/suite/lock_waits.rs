//! Operations that look again after they have waited for a lock: what they hold while they look, where a look
//! fails, and where a page and a row refuse them in turn.
//!
//! Owners of locks that are no sessions stand in the way: a lock is handed from one to the next, and the
//! operation looks when the test says so.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{
    ColumnSpec, EngineError, InstanceConfig, Isolation, LockHints, ReadLock, ScanSpec, Session,
    Table, TableSpec, Timeout,
};
use furrow_io::sim::{Effect, Fault, OpKind, Ops, SimOptions};
use furrow_io::time::{Moment, sleep};
use furrow_io::{SimVolume, thread};
use furrow_txn::lock::{LockMode, LockOwner, LockRow, LockStatus, Resource};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;
use tables_common::{House, bigint, config, house_on, n, s, varchar};

/// Rows of about a kilobyte: seven on a page.
const ROWS: i64 = 20;
/// A row on the first page, and one on the last.
const FIRST: i64 = 1;
const LAST: i64 = ROWS;
/// Rounds of a page and a row that an operation is refused by.
const ROUNDS: u32 = 6;
/// Rounds that it is refused by at most: once by each without a lock, then the page is kept.
const BEFORE_BOTH: u32 = 2;

/// A table on a simulated disk, and locks of its first page and of its first row.
struct Stage {
    volume: SimVolume,
    house: House,
    table: Arc<Table>,
    page: Resource,
    row: Resource,
}

fn spec(is_heap: bool) -> TableSpec {
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("pad", varchar(1000)).not_null());
    match is_heap {
        true => spec.primary_key_nonclustered(["id"]),
        false => spec.primary_key(["id"]),
    }
}

fn stage(is_heap: bool) -> Stage {
    let volume = SimVolume::new(SimOptions::default());
    let config = InstanceConfig {
        background: false,
        ..config()
    };
    let house = house_on(Arc::new(volume.clone()), 1, config);
    let mut session = house.session();
    let table = session.create_table(&spec(is_heap)).unwrap();
    for id in 1..=ROWS {
        session
            .insert(&table, &[n(id), s(&"x".repeat(1000))])
            .unwrap();
    }
    let row = locked(&house, &table, LockHints::default(), FIRST).1;
    let page = locked(&house, &table, LockHints::page(), FIRST).1;
    Stage {
        volume,
        house,
        table,
        page,
        row,
    }
}

/// A session in a transaction that has locked this row, or its page, and the lock.
fn locked(house: &House, table: &Arc<Table>, hints: LockHints, id: i64) -> (Session, Resource) {
    let mut session = house.session();
    session.begin().unwrap();
    let key = session.find_row(table, &[n(id)]).unwrap().unwrap();
    let lock = LockHints {
        lock: ReadLock::Exclusive,
        ..hints
    };
    let found = session.hinted(lock, |session| {
        session.get_row(table, &key).map(|row| row.is_some())
    });
    assert!(found.unwrap());
    let is_page = |lock: &LockRow| matches!(lock.resource, Resource::Page(..));
    let wants_page = hints == LockHints::page();
    let locks = house.instance.locks().snapshot();
    let mine = |lock: &&LockRow| lock.session_id == session.id() && lock.resource.is_fine();
    let lock = locks
        .iter()
        .find(|lock| mine(lock) && is_page(lock) == wants_page);
    (session, lock.unwrap().resource)
}

impl Stage {
    fn owner(&self, id: i32) -> LockOwner {
        self.house.instance.locks().owner(id)
    }

    /// A session that has locked the last page, so that all sessions request locks of pages.
    fn pager(&self) -> Session {
        locked(&self.house, &self.table, LockHints::page(), LAST).0
    }

    /// Locks a page or a row for a change, if it is free.
    fn try_lock(&self, owner: &LockOwner, resource: Resource) -> bool {
        let table = Resource::Object(self.house.db.id(), self.table.id());
        let both = [(table, LockMode::IX), (resource, LockMode::X)];
        let locks = self.house.instance.locks();
        let mut both = both.into_iter();
        both.all(|(lock, mode)| locks.lock(owner, lock, mode, Timeout::NoWait).is_ok())
    }

    fn release(&self, owner: &LockOwner) {
        self.house.instance.locks().release_all(owner);
    }

    fn locks_of(&self, session: i32, resource: impl Fn(&Resource) -> bool, waits: bool) -> usize {
        let locks = self.house.instance.locks().snapshot();
        let is = |lock: &&LockRow| {
            lock.session_id == session
                && resource(&lock.resource)
                && waits == (lock.status != LockStatus::Grant)
        };
        locks.iter().filter(is).count()
    }

    /// Waits until a session or an owner waits for this lock.
    fn until_waits(&self, session: i32, resource: Resource) {
        let began = Moment::now();
        while self.locks_of(session, |lock| *lock == resource, true) == 0 {
            let limit = Duration::from_secs(30);
            assert!(began.elapsed() < limit, "{session} waits for {resource}");
            sleep(Duration::from_millis(1));
        }
    }
}

type Read = fn(&mut Session, &Arc<Table>) -> Result<(), EngineError>;

fn of_page(session: &mut Session, read: Read, table: &Arc<Table>) -> Result<(), EngineError> {
    session.set_isolation(Isolation::RepeatableRead);
    session.hinted(LockHints::page(), |session| read(session, table))
}

fn look_up(session: &mut Session, table: &Arc<Table>) -> Result<(), EngineError> {
    session
        .get(table, &[n(FIRST)])
        .map(|row| assert!(row.is_some()))
}

fn scan(session: &mut Session, table: &Arc<Table>) -> Result<(), EngineError> {
    let spec = ScanSpec {
        high: Bound::Included(vec![n(FIRST)]),
        ..ScanSpec::default()
    };
    session.scan(table, &spec)?.for_each(|_| Ok(()))
}

/// The locks of pages that a reader holds after its second look at the first page has failed: it waited for
/// the page twice, and the disk does not return it.
fn pages_held_after_a_failed_look(
    is_heap: bool,
    read: impl Fn(&mut Session, &Arc<Table>) -> Result<(), EngineError> + Sync,
) -> usize {
    let stage = stage(is_heap);
    let _pager = stage.pager();
    let (first, second) = (stage.owner(9001), stage.owner(9002));
    let mut reader = stage.house.session();
    let id = reader.id();
    reader.begin().unwrap();
    assert!(stage.try_lock(&first, stage.page));
    thread::scope(|s| {
        let reading = s.spawn(|| {
            let failed = read(&mut reader, &stage.table).unwrap_err();
            (failed, reader)
        });
        stage.until_waits(id, stage.page);
        let (stage, second) = (&stage, &second);
        let next = s.spawn(move || {
            let locks = stage.house.instance.locks();
            locks.lock(second, stage.page, LockMode::X, Timeout::Forever)
        });
        stage.until_waits(second.session_id(), stage.page);
        stage.release(&first);
        assert!(next.join().unwrap().is_ok());
        stage.until_waits(id, stage.page);
        stage.house.db.checkpoint().unwrap();
        stage.house.instance.pool().drop_clean_buffers();
        let reads = Fault::new(Ops::Only(OpKind::Read), Effect::Fail).under("d/data.mdf");
        stage.volume.inject(reads.times(1000));
        stage.release(second);
        let (failed, reader) = reading.join().unwrap();
        assert_eq!(failed.number(), 823, "{failed}");
        assert!(reader.in_transaction());
        stage.locks_of(id, |lock| *lock == stage.page, false)
    })
}

#[test]
fn a_look_that_fails_gives_back_the_page_that_was_waited_for() {
    let by_key = |session: &mut Session, table: &Arc<Table>| of_page(session, look_up, table);
    assert_eq!(pages_held_after_a_failed_look(false, by_key), 0, "a leaf");
    let guarded = |session: &mut Session, table: &Arc<Table>| {
        session.set_isolation(Isolation::Serializable);
        scan(session, table)
    };
    assert_eq!(
        pages_held_after_a_failed_look(false, guarded),
        0,
        "an anchor"
    );
}

#[test]
fn a_look_at_a_heap_that_fails_gives_back_the_page_that_was_waited_for() {
    let by_key = |session: &mut Session, table: &Arc<Table>| of_page(session, look_up, table);
    assert_eq!(pages_held_after_a_failed_look(true, by_key), 0);
}

/// The rounds in which a reader is refused by its page and then by its row, both of which are locked whenever
/// it holds neither.
fn rounds(read: impl Fn(&mut Session, &Arc<Table>) -> Result<(), EngineError> + Sync) -> u32 {
    let stage = stage(false);
    let _pager = stage.pager();
    let (of_page, of_row) = (stage.owner(9001), stage.owner(9002));
    let mut reader = stage.house.session();
    let id = reader.id();
    assert!(stage.try_lock(&of_page, stage.page));
    thread::scope(|s| {
        let reading = s.spawn(|| {
            reader.begin().unwrap();
            read(&mut reader, &stage.table).unwrap();
            reader
        });
        let mut rounds = 1;
        loop {
            stage.until_waits(id, stage.page);
            assert!(stage.try_lock(&of_row, stage.row));
            stage.release(&of_page);
            stage.until_waits(id, stage.row);
            let is_kept_out = !stage.try_lock(&of_page, stage.page);
            let is_last = is_kept_out || rounds == ROUNDS;
            if is_last {
                stage.release(&of_page);
            }
            stage.release(&of_row);
            if is_last {
                let reader = reading.join().unwrap();
                assert!(reader.in_transaction());
                return rounds;
            }
            rounds += 1;
        }
    })
}

#[test]
fn a_reader_that_a_page_and_a_row_refuse_in_turn_waits_for_both() {
    for (what, read) in [("by its key", look_up as Read), ("by a scan", scan)] {
        let committed = rounds(read);
        assert!(committed <= BEFORE_BOTH, "{what}: {committed}");
        let whole = rounds(|session, table| of_page(session, read, table));
        assert!(whole <= BEFORE_BOTH, "{what}, whole pages: {whole}");
    }
}

/// How a scan that locks pages ends, where sessions have locked two rows: one until `each` after the scan has
/// begun to wait, the other one for as long again.
fn ends(rows: [i64; 2], each: Duration, limit: Duration) -> Result<(), EngineError> {
    let stage = stage(false);
    let hold = |id| locked(&stage.house, &stage.table, LockHints::default(), id);
    let [(first, resource), (second, _)] = rows.map(hold);
    let mut scanner = stage.house.session();
    let id = scanner.id();
    scanner.set_lock_timeout(Timeout::Millis(limit.as_millis() as u32));
    thread::scope(|s| {
        let scanning = s.spawn(|| {
            of_page(
                &mut scanner,
                |session, table| {
                    session
                        .scan(table, &ScanSpec::default())?
                        .for_each(|_| Ok(()))
                },
                &stage.table,
            )
        });
        stage.until_waits(id, resource);
        sleep(each);
        drop(first);
        sleep(each);
        drop(second);
        scanning.join().unwrap()
    })
}

#[test]
fn lock_timeout_limits_the_waits_of_a_scan_for_the_rows_of_a_page_together() {
    let (each, limit) = (Duration::from_secs(2), Duration::from_secs(3));
    let done = ends([FIRST, FIRST + 1], each, limit);
    assert_eq!(done.unwrap_err().number(), 1222);
}

#[test]
fn lock_timeout_begins_again_where_a_scan_goes_on_to_the_next_page() {
    let (each, limit) = (Duration::from_secs(3), Duration::from_secs(5));
    ends([FIRST, LAST], each, limit).unwrap();
}

#[test]
fn a_serializable_reader_of_whole_pages_keeps_the_row_that_it_waited_for_twice() {
    let stage = stage(false);
    let [first, second, other] = [9001, 9002, 9003].map(|id| stage.owner(id));
    let (last, later) = locked(&stage.house, &stage.table, LockHints::default(), LAST);
    let mut reader = stage.house.session();
    let id = reader.id();
    assert!(stage.try_lock(&first, stage.row));
    thread::scope(|s| {
        let reading = s.spawn(|| {
            reader.begin().unwrap();
            reader.set_isolation(Isolation::Serializable);
            reader.hinted(LockHints::page(), |session| {
                let rows = session.scan(&stage.table, &ScanSpec::default())?;
                rows.for_each(|_| Ok(()))
            })
        });
        stage.until_waits(id, stage.row);
        let (stage, second) = (&stage, &second);
        let next = s.spawn(move || {
            let locks = stage.house.instance.locks();
            locks.lock(second, stage.row, LockMode::X, Timeout::Forever)
        });
        stage.until_waits(second.session_id(), stage.row);
        stage.release(&first);
        assert!(next.join().unwrap().is_ok());
        stage.until_waits(id, stage.row);
        stage.release(second);
        stage.until_waits(id, later);
        assert!(!stage.try_lock(&other, stage.row), "the reader has read it");
        stage.release(&other);
        drop(last);
        reading.join().unwrap().unwrap();
    });
}
