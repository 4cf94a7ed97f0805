//! Scenes of latches: many threads take several pages at a time, and each gets through.
//!
//! A thread waits for a latch without a limit. So the threads are joined only after they have reported their
//! end, and a scene in which nothing moves any more is left with its threads blocked.

use crate::engine::Engine;
use crate::rows::Row;
use crate::subject::{Failure, FullBackups, Layout, Session as _, Store, Subject};
use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, Instance, InstanceConfig, Session,
    TableSpec,
};
use furrow_io::random::{IndexedRandom, Rng, SliceRandom, seeded};
use furrow_io::sim::SimOptions;
use furrow_io::thread::{JoinHandle, spawn_named};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{MemoryVolume, SimVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// No thread that makes progress needs so long for a step, on any machine.
const STANDS_STILL: Duration = Duration::from_secs(30);
const THREADS: u64 = 6;

const LAYOUT: Layout = Layout {
    files: 1,
    pool_pages: 512,
    log_kb: 2048,
    log_grows: true,
    file_kb: 512,
    growth_kb: 512,
    grow_all: false,
    mixed_pages: false,
    double_write_pages: 64,
    waits_for_locks: true,
    full_backups: FullBackups::Never,
    background: false,
};

/// A heap, of the slot's kind.
const HEAP: u16 = 3;
const MOVES: u64 = 1_000;
const ROWS_EACH: u64 = 3;

type Steps = Arc<AtomicU64>;

/// Waits until all threads are done, or none has taken a step for long.
fn watch(threads: Vec<JoinHandle<Result<(), Failure>>>, steps: &Steps) -> Result<(), String> {
    let (mut seen, mut since) = (0, Moment::now());
    while threads.iter().any(|thread| !thread.is_finished()) {
        sleep(Duration::from_millis(2));
        let now = steps.load(Ordering::Relaxed);
        if now != seen {
            (seen, since) = (now, Moment::now());
        } else if since.elapsed() > STANDS_STILL {
            return Err(format!("threads stand still after {now} steps"));
        }
    }
    for thread in threads {
        match thread.join() {
            Ok(done) => done.map_err(|e| e.to_string())?,
            Err(_) => return Err("a thread panicked".to_owned()),
        }
    }
    Ok(())
}

/// Lets threads work on a store, each with its number, and proves the store when they are done.
fn play<W>(layout: &Layout, tables: &[u16], work: W) -> Result<(), String>
where
    W: Fn(&mut <<Engine as Subject>::Store as Store>::Session, u64, &Steps) -> Result<(), Failure>
        + Send
        + Clone
        + 'static,
{
    let volume = SimVolume::new(SimOptions::default());
    let as_text = |e: Failure| e.to_string();
    let store = Engine::default()
        .create(Arc::new(volume), layout)
        .map_err(as_text)?;
    let mut session = store.session().map_err(as_text)?;
    session.begin().map_err(as_text)?;
    for table in tables {
        session.create_table(*table, 1).map_err(as_text)?;
    }
    session.commit().map_err(as_text)?;
    drop(session);
    let steps = Steps::default();
    let mut threads = Vec::new();
    for number in 0..THREADS {
        let (work, steps) = (work.clone(), Arc::clone(&steps));
        let mut session = store.session().map_err(as_text)?;
        let thread = spawn_named(format!("mover {number}"), move || {
            work(&mut session, number, &steps)
        });
        threads.push(thread.map_err(|e| e.to_string())?);
    }
    if let Err(what) = watch(threads, &steps) {
        // Dropping it would wait for the blocked threads.
        std::mem::forget(store);
        return Err(what);
    }
    store.read_all().map_err(as_text)?;
    store.audit().map_err(as_text)?;
    store.close().map_err(as_text)
}

/// Versions of rows of so many bytes.
fn versions(bytes: std::ops::Range<usize>) -> Vec<u64> {
    let len = |version: u64| Row::new(0, version).text.map_or(0, |text| text.len());
    (1..4_000)
        .filter(|v| bytes.contains(&len(*v)))
        .take(64)
        .collect()
}

/// Each thread changes rows of its own, which lie on the same pages as those of the others, grow out of
/// them, move from page to page and come back.
pub(super) fn moving_rows(seed: u64) -> Result<(), String> {
    let sizes = [
        versions(400..700),
        versions(1_000..1_400),
        versions(1_500..2_200),
    ];
    play(&LAYOUT, &[HEAP], move |session, number, steps| {
        let mut rng = seeded(seed ^ number);
        let key = |n: u64| (n * THREADS + number) as i64;
        let first = sizes[0].first().copied().unwrap_or(1);
        for n in 0..ROWS_EACH {
            session.insert(HEAP, key(n), first)?;
        }
        for _ in 0..MOVES {
            let key = key(rng.random_range(0..ROWS_EACH));
            // Out of its page, out of the next, and gone from there.
            for of_size in &sizes[1..] {
                let version = of_size.choose(&mut rng).copied().unwrap_or(1);
                session.update(HEAP, key, version)?;
            }
            session.delete(HEAP, key)?;
            let version = sizes[0].choose(&mut rng).copied().unwrap_or(1);
            session.insert(HEAP, key, version)?;
            steps.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    })
}

const FILES: u16 = 2;
const FILLS: u64 = 4;
const FILLED: i64 = 350;
/// Wide keys make deep trees: one split or one leaf that goes touches pages of several extents.
const WIDE: i16 = 880;

fn wide(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", DataType::sized(TypeId::Char, WIDE)).not_null())
        .primary_key(["id"])
}

/// Each thread fills and empties a table of its own, the pages of which lie in two files.
pub(super) fn many_files(seed: u64) -> Result<(), String> {
    let volume = MemoryVolume::new();
    let as_text = |e: EngineError| e.to_string();
    volume
        .create_dir(Path::new("d"))
        .map_err(|e| e.to_string())?;
    let instance = Instance::start(Arc::new(volume), InstanceConfig::default()).map_err(as_text)?;
    let data = FileSpec::new("data", "d/data.mdf").size_mb(4);
    let mut spec = DatabaseSpec::new("wide", data);
    for number in 1..FILES {
        let path = format!("d/data{number}.ndf");
        spec = spec.file(FileSpec::new(format!("data{number}"), path).size_mb(4));
    }
    let log = FileSpec::new("log", "d/log.ldf").size_mb(32);
    let db = instance.create_database(&spec.log(log)).map_err(as_text)?;
    let (steps, mut threads) = (Steps::default(), Vec::new());
    for number in 0..THREADS {
        let (db, steps) = (Arc::clone(&db), Arc::clone(&steps));
        let body = move || {
            let done = fill_and_empty(&db, (seed, number), &steps);
            done.map_err(|e| Failure::Wrong(e.to_string()))
        };
        let thread = spawn_named(format!("filler {number}"), body);
        threads.push(thread.map_err(|e| e.to_string())?);
    }
    if let Err(what) = watch(threads, &steps) {
        std::mem::forget((instance, db));
        return Err(what);
    }
    // Only after all threads are done: the cleaner goes through the tables of all of them.
    let session = Session::new(&db).map_err(as_text)?;
    for number in 0..THREADS {
        let table = session.table(&format!("t{number}")).map_err(as_text)?;
        let audit = table.indexes()[0].rowset().audit();
        let rows = audit.map_err(|e| e.to_string())?.rows;
        if rows != 0 {
            return Err(format!("{rows} rows are left in table {number}"));
        }
    }
    drop((session, db));
    instance.shut_down().map_err(as_text)
}

fn fill_and_empty(
    db: &Arc<Database>,
    (seed, number): (u64, u64),
    steps: &Steps,
) -> Result<(), EngineError> {
    let mut rng = seeded(seed ^ number);
    let mut session = Session::new(db)?;
    let table = session.create_table(&wide(&format!("t{number}")))?;
    let row = |key: i64| [Value::VarChar(format!("{key:0880}"))];
    for _ in 0..FILLS {
        let mut keys: Vec<i64> = (0..FILLED).collect();
        keys.shuffle(&mut rng);
        for key in &keys {
            session.insert(&table, &row(*key))?;
            steps.fetch_add(1, Ordering::Relaxed);
        }
        for key in &keys {
            session.delete(&table, &table.row_key(&row(*key))?)?;
            steps.fetch_add(1, Ordering::Relaxed);
        }
        // Empty pages are removed, with the entries that led to them.
        db.purge_ghosts()?;
    }
    Ok(())
}
