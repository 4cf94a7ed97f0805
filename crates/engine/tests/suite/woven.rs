//! Sessions under drawn schedules (`furrow_io::weave`): rows that all change, rows of their own that come and
//! go, locks that are waited for, rollbacks, checkpoints and the cleaner beside them.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common::{bigint, n, s, varchar};
use furrow_engine::{
    AttachOptions, ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, IndexSpec, Instance,
    InstanceConfig, LockHints, ScanSpec, Session, Table, TableSpec,
};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::sim::{Crash, SimOptions};
use furrow_io::sync::Mutex;
use furrow_io::weave::{explore, together};
use furrow_io::{SimVolume, Volume};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const SCHEDULES: u64 = 100;
const SESSIONS: i64 = 3;
const TXNS: usize = 4;
/// Rows that everybody adds to.
const SHARED: i64 = 4;
const DATA: &str = "d/data.mdf";

/// What is in the table, as far as one session knows: what it added to the shared rows, and rows of its own.
type Known = BTreeMap<i64, i64>;

fn start(volume: &SimVolume, background: bool) -> Arc<Instance> {
    let config = InstanceConfig {
        pool_pages: 128,
        readers: 1,
        double_write_pages: 16,
        background,
        ..InstanceConfig::default()
    };
    Instance::start(Arc::new(volume.clone()), config).unwrap()
}

fn attach(instance: &Arc<Instance>) -> Arc<Database> {
    let options = AttachOptions::default();
    instance.attach_database(Path::new(DATA), &options).unwrap()
}

/// A database with the shared rows, closed.
fn ground() -> SimVolume {
    let volume = SimVolume::new(SimOptions::default());
    volume.create_dir(Path::new("d")).unwrap();
    let instance = start(&volume, false);
    let data = FileSpec::new("data", DATA).size_mb(3);
    let log = FileSpec::new("log", "d/log.ldf").size_mb(1);
    let spec = DatabaseSpec::new("woven", data).log(log);
    let db = instance.create_database(&spec).unwrap();
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("sum", bigint()).not_null())
        .column(ColumnSpec::new("note", varchar(2_000)).not_null())
        .primary_key(["id"])
        .index(IndexSpec::new("by_sum", ["sum"]));
    let mut session = Session::new(&db).unwrap();
    let table = session.create_table(&spec).unwrap();
    for id in 0..SHARED {
        session.insert(&table, &[n(id), n(0), s("")]).unwrap();
    }
    drop((session, table, db));
    instance.shut_down().unwrap();
    volume
}

/// One statement, and what is known after it.
fn step(
    session: &mut Session,
    table: &Arc<Table>,
    rng: &mut SeededRng,
    who: i64,
    known: &mut Known,
) -> Result<(), EngineError> {
    // Rows of any length: pages split.
    let note = s(&"n".repeat(rng.random_range(0..2_000)));
    let own = 1_000 * (who + 1) + rng.random_range(0..4);
    match rng.random_range(0..3) {
        0 if known.contains_key(&own) => {
            let key = table.row_key(&[n(own)])?;
            assert!(session.delete(table, &key)?, "row {own} was there");
            known.remove(&own);
        }
        0 => {
            session.insert(table, &[n(own), n(who), note])?;
            known.insert(own, who);
        }
        _ => {
            let id = rng.random_range(0..SHARED);
            let sum = session.hinted(LockHints::update(), |session| {
                let row = session.get(table, &[n(id)])?.unwrap();
                Ok::<_, EngineError>(row.i64(1).unwrap())
            })?;
            let key = table.row_key(&[n(id)])?;
            assert!(session.update(table, &key, &[(1, n(sum + 1)), (2, note)])?);
            *known.entry(id).or_default() += 1;
        }
    }
    Ok(())
}

/// Some transactions; what those that committed left.
fn work(db: &Arc<Database>, who: i64, seed: u64) -> Known {
    let mut rng = seeded(seed ^ (who as u64 + 1) << 40);
    let mut session = Session::new(db).unwrap();
    let table = session.table("t").unwrap();
    let mut known = Known::new();
    for _ in 0..TXNS {
        let mut next = known.clone();
        session.begin().unwrap();
        let steps = rng.random_range(1..=3);
        let mut steps = (0..steps).map(|_| step(&mut session, &table, &mut rng, who, &mut next));
        let done = steps.find(Result::is_err).unwrap_or(Ok(()));
        drop(steps);
        match done {
            Ok(()) if rng.random_ratio(4, 5) => {
                session.commit().unwrap();
                known = next;
            }
            Ok(()) => session.rollback().unwrap(),
            Err(error) => {
                assert_eq!(error.number(), 1205, "{error}");
                if session.in_transaction() {
                    session.rollback().unwrap();
                }
            }
        }
    }
    known
}

/// The table through each of its indexes is what all sessions together know.
fn compare(db: &Arc<Database>, expected: &Known) {
    let mut session = Session::new(db).unwrap();
    let table = session.table("t").unwrap();
    for index in 0..table.indexes().len() {
        let spec = ScanSpec {
            index,
            ..ScanSpec::default()
        };
        let mut seen = Known::new();
        let scan = session.scan(&table, &spec).unwrap();
        let read = scan.for_each(|row| {
            let twice = seen.insert(row.i64(0).unwrap(), row.i64(1).unwrap());
            assert_eq!(twice, None, "a row twice");
            Ok(())
        });
        read.unwrap();
        assert_eq!(&seen, expected, "index {index}");
        let audit = table.indexes()[index].rowset().audit().unwrap();
        assert_eq!(audit.rows, expected.len() as u64);
    }
}

fn weave(ground: &SimVolume, seed: u64, background: bool) {
    let volume = ground.fork();
    let instance = start(&volume, background);
    let db = attach(&instance);
    let all: Arc<Mutex<Known>> = Arc::default();
    all.lock().extend((0..SHARED).map(|id| (id, 0)));
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for who in 0..SESSIONS {
        let (db, all) = (Arc::clone(&db), Arc::clone(&all));
        bodies.push(Box::new(move || {
            let known = work(&db, who, seed);
            let mut all = all.lock();
            for (id, sum) in known {
                *all.entry(id).or_default() += sum;
            }
        }));
    }
    let keeper = Arc::clone(&db);
    bodies.push(Box::new(move || {
        for _ in 0..3 {
            keeper.checkpoint().unwrap();
            keeper.purge_ghosts().unwrap();
        }
    }));
    together(bodies);
    let expected = all.lock().clone();
    compare(&db, &expected);
    let left = instance.locks().snapshot();
    let fine: Vec<_> = left.iter().filter(|l| l.resource.is_fine()).collect();
    assert!(fine.is_empty(), "{fine:?}");
    instance.abandon();
    drop((db, instance));
    // Nothing that was not synced is left.
    let volume = volume.crash(&Crash::DropAll);
    let instance = start(&volume, false);
    let db = attach(&instance);
    compare(&db, &expected);
    drop(db);
    instance.shut_down().unwrap();
}

#[test]
fn woven_sessions_without_threads_behind_them() {
    let ground = ground();
    explore("sessions", SCHEDULES, move |seed| {
        weave(&ground, seed, false);
    });
}

#[test]
fn woven_sessions_beside_the_engines_own_threads() {
    let ground = ground();
    explore("sessions and keepers", SCHEDULES / 2, move |seed| {
        weave(&ground, seed, true);
    });
}
