//! Nothing leaks: locks, sessions, extents, log space.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

#[expect(dead_code, reason = "this program uses a part")]
#[path = "suite/tables_common/mod.rs"]
mod tables_common;

use furrow_engine::{
    ColumnSpec, DatabaseSpec, FileSpec, Instance, Isolation, LockHints, ScanSpec, Session, Table,
    TableSpec,
};
use furrow_io::random::{Rng, seeded, test_seed};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{MemoryVolume, Volume, thread};
use std::path::Path;
use std::sync::Arc;
use tables_common::{House, bigint, config, house, i, int, n, s, varchar};

fn spec(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", int()).not_null())
        .column(ColumnSpec::new("pad", varchar(900)).not_null())
        .primary_key(["id"])
}

fn free(house: &House) -> u64 {
    house.db.free_extents().iter().map(|f| f.1).sum()
}

/// No lock is held or waited for by anybody but the engine's own sessions, once they are at rest.
fn no_locks(house: &House) {
    let until = Moment::now().after(Duration::from_secs(10));
    loop {
        let stats = house.instance.locks().stats();
        if stats.locks == 0 && stats.resources == 0 {
            return;
        }
        let left = house.instance.locks().snapshot();
        assert!(Moment::now() < until, "{stats:?} {left:?}");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn two_thousand_sessions_come_and_go_and_leave_nothing() {
    let house = house();
    let table = house.session().create_table(&spec("t")).unwrap();
    let tasks = || house.instance.instruments().tasks.tasks().len();
    let before = tasks();
    for round in 0..4 {
        let mut open: Vec<Session> = (0..500).map(|_| house.session()).collect();
        assert!(tasks() >= before + 500);
        for (at, session) in open.iter_mut().enumerate() {
            session.begin().unwrap();
            let id = i64::from(round) * 500 + at as i64;
            session.insert(&table, &[n(id), i(0), s("x")]).unwrap();
            if at % 3 == 0 {
                session.commit().unwrap();
            }
        }
        // Two of three end in the middle of a transaction: it is rolled back.
        drop(open);
        assert_eq!(tasks(), before);
        no_locks(&house);
    }
    let rows = table.indexes()[0].rowset().audit().unwrap().rows;
    assert_eq!(rows, 4 * 167);
}

fn work(house: &House, who: i64, seed: u64) {
    let rng = &mut seeded(seed ^ who as u64);
    let mut session = house.session();
    let name = format!("t{who}");
    for _ in 0..6 {
        let table = session.create_table(&spec(&name)).unwrap();
        for turn in 0..80 {
            if rng.random_ratio(1, 2) {
                session.begin().unwrap();
            }
            for _ in 0..rng.random_range(1..12) {
                let id = rng.random_range(0..200);
                let pad = s(&"p".repeat(rng.random_range(0..900)));
                let hints = match rng.random_ratio(1, 3) {
                    true => LockHints::page(),
                    false => LockHints::default(),
                };
                session.hinted(hints, |session| {
                    let key = table.row_key(&[n(id)]).unwrap();
                    let set = [(1, i(turn)), (2, pad.clone())];
                    if !session.update(&table, &key, &set).unwrap() {
                        session.insert(&table, &[n(id), i(0), pad]).unwrap();
                    } else if id % 3 == 0 {
                        assert!(session.delete(&table, &key).unwrap());
                    }
                });
            }
            if session.in_transaction() {
                match rng.random_ratio(1, 2) {
                    true => session.commit().unwrap(),
                    false => session.rollback().unwrap(),
                }
            }
        }
        session.drop_table(&name).unwrap();
    }
}

#[test]
fn many_transactions_leave_no_lock_and_no_extent_behind() {
    let house = house();
    let seed = test_seed();
    println!("FURROW_SEED={seed}");
    let before = free(&house);
    thread::scope(|scope| {
        for who in 0..3 {
            let house = &house;
            scope.spawn(move || work(house, who, seed));
        }
    });
    no_locks(&house);
    assert!(house.db.catalog().tables().is_empty());
    assert!(house.db.catalog().units_to_drop().unwrap().is_empty());
    // What files have grown by is free as well; the catalog itself may have grown a little.
    let after = free(&house);
    assert!(
        after + 4 >= before,
        "{before} extents were free, {after} are"
    );
    assert_eq!(house.db.log_view().usage.promised_bytes, 0);
}

fn small_log() -> (Arc<Instance>, Arc<Table>) {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d")).unwrap();
    let volume: Arc<dyn Volume> = Arc::new(volume);
    let instance = Instance::start(volume, config()).unwrap();
    let log = FileSpec::new("log", "d/log.ldf").size_mb(2).no_growth();
    let data = FileSpec::new("data", "d/data.mdf").size_mb(8);
    let db = instance
        .create_database(&DatabaseSpec::new("small", data).log(log))
        .unwrap();
    let table = Session::new(&db).unwrap().create_table(&spec("t")).unwrap();
    (instance, table)
}

#[test]
fn a_reader_that_stays_does_not_keep_the_log_from_being_used_again() {
    let (instance, table) = small_log();
    let db = instance.database("small").unwrap();
    let mut writer = Session::new(&db).unwrap();
    let pad = s(&"p".repeat(900));
    for id in 0..50 {
        writer.insert(&table, &[n(id), i(0), pad.clone()]).unwrap();
    }
    let mut reader = Session::new(&db).unwrap();
    reader.set_isolation(Isolation::RepeatableRead);
    reader.begin().unwrap();
    assert!(reader.get(&table, &[n(1)]).unwrap().is_some());
    let mut scanner = Session::new(&db).unwrap();
    let dirty = ScanSpec {
        hints: LockHints {
            isolation: Some(Isolation::ReadUncommitted),
            ..LockHints::default()
        },
        ..ScanSpec::default()
    };
    let mut scan = scanner.scan(&table, &dirty).unwrap();
    assert!(scan.next_row().unwrap().is_some());
    let first = db.vlfs().iter().map(|vlf| vlf.sequence).max();
    // Three times the log, and more.
    let key = table.row_key(&[n(40)]).unwrap();
    for turn in 0..4_000 {
        let set = [(1, i(turn)), (2, s(&"q".repeat(500 + turn as usize % 400)))];
        assert!(writer.update(&table, &key, &set).unwrap());
    }
    let last = db.vlfs().iter().map(|vlf| vlf.sequence).max();
    assert!(last >= first.map(|seq| seq + 8), "{first:?} {last:?}");
    assert!(reader.get(&table, &[n(1)]).unwrap().is_some());
    reader.commit().unwrap();
    assert!(scan.next_row().unwrap().is_some());
}
