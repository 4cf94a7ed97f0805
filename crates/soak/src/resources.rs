//! Nothing leaks: many transactions on real files, thousands of sessions, and a reader that stays during all
//! of it.
//!
//! # A run
//! 1. Some work first, which fills what is allocated for good: caches, threads, the catalog's pages.
//! 2. A count of everything: free extents, locks, frames, tasks, open files, memory.
//! 3. Threads work in turns, each with a table of its own that it creates and drops: rows come, change and
//!    go, transactions commit, roll back, go back to savepoints. The log may not grow: it is reused again and
//!    again, although a reader has a transaction and a scan open all the time.
//! 4. Sessions come and go, most of them in the middle of a transaction.
//! 5. The count again, once the background threads are idle: nothing may be missing.

use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, Instance, InstanceConfig, Isolation,
    LockHints, ScanSpec, Session, Table, TableSpec,
};
use furrow_io::process;
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{SystemVolume, Volume};
use furrow_types::{DataType, TypeId, Value};
use parking_lot::Mutex;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The work to do.
#[derive(Debug, Clone)]
pub struct Order {
    /// An empty directory.
    pub home: PathBuf,
    /// Transactions in all.
    pub txns: u64,
    /// Sessions that come and go.
    pub sessions: u64,
    /// Threads.
    pub threads: u64,
    /// The seed of all random choices.
    pub seed: u64,
}

/// A count of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Count {
    /// Extents that are free.
    pub free_extents: u64,
    /// Pages in all files.
    pub pages: u64,
    /// Locks, and the resources that are locked.
    pub locks: (u64, u64),
    /// Frames of the pool that are in use although all clean pages were removed.
    pub used_frames: u64,
    /// Tasks.
    pub tasks: u64,
    /// Bytes of the log that are reserved for transactions.
    pub promised: u64,
    /// Growths of the log.
    pub log_growths: u64,
    /// Open files.
    pub files: Vec<String>,
    /// Bytes of memory.
    pub memory: u64,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} extents free of {} pages, {:?} locks, {} frames in use, {} tasks, {} bytes of log promised, \
             {} open files, {} MB",
            self.free_extents,
            self.pages,
            self.locks,
            self.used_frames,
            self.tasks,
            self.promised,
            self.files.len(),
            self.memory >> 20
        )
    }
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figures {
    /// Before.
    pub before: Count,
    /// After.
    pub after: Count,
    /// Virtual log files that were begun.
    pub vlfs: u64,
}

/// Memory that may be held at the end and not at the beginning: allocators keep some.
const MEMORY_SLACK: u64 = 32 << 20;
/// Extents by which the catalog's own tables may have grown.
const CATALOG_SLACK: u64 = 4;
/// Rings of the kernel through which writes are submitted: created when more threads write at a time than
/// ever before.
const RINGS: usize = 8;
/// The background threads have cleaned up by then.
const TO_REST: Duration = Duration::from_secs(60);
/// Transactions on a table before it is dropped and created again.
const ON_A_TABLE: u64 = 1_000;
/// Sessions that are open together.
const TOGETHER: u64 = 500;

struct House {
    instance: Arc<Instance>,
    db: Arc<Database>,
}

fn house(order: &Order) -> Result<House, EngineError> {
    let volume = SystemVolume::new();
    volume.create_dir(&order.home)?;
    let config = InstanceConfig {
        pool_pages: 2048,
        double_write_pages: 64,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::new(volume), config)?;
    let at = |name: &str| order.home.join(name);
    let primary = FileSpec::new("data", at("data.mdf")).size_mb(8);
    let mut spec = DatabaseSpec::new("rest", primary);
    for number in 1..3 {
        let name = format!("data{number}");
        spec = spec.file(FileSpec::new(&name, at(&format!("{name}.ndf"))).size_mb(4));
    }
    let log = FileSpec::new("log", at("log.ldf")).size_mb(16).no_growth();
    let db = instance.create_database(&spec.log(log))?;
    Ok(House { instance, db })
}

/// The open files, without the directory that lists them.
fn open_files() -> Vec<String> {
    let mut open = process::open_files().unwrap_or_default();
    open.retain(|path| !path.starts_with("/proc/"));
    open
}

fn spec(name: &str) -> TableSpec {
    let simple = DataType::simple;
    TableSpec::new(name)
        .column(ColumnSpec::new("id", simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("v", simple(TypeId::Int)).not_null())
        .column(ColumnSpec::new("pad", DataType::sized(TypeId::VarBinary, 900)).not_null())
        .primary_key(["id"])
        .index(furrow_engine::IndexSpec::new("values", ["v"]))
}

impl House {
    fn count(&self) -> Result<Count, EngineError> {
        let db = &self.db;
        db.checkpoint()?;
        let pool = self.instance.pool();
        pool.drop_clean_buffers();
        let (frames, locks) = (pool.stats(), self.instance.locks().stats());
        let log = db.log_view();
        Ok(Count {
            free_extents: db.free_extents().iter().map(|file| file.1).sum(),
            pages: db.file_list()?.iter().map(|file| file.size_pages).sum(),
            locks: (locks.locks, locks.resources),
            used_frames: (frames.frames - frames.free) as u64,
            tasks: self.instance.instruments().tasks.tasks().len() as u64,
            promised: log.usage.promised_bytes,
            log_growths: log.growths,
            files: open_files(),
            memory: process::memory().unwrap_or_default(),
        })
    }

    /// The count once nothing is in use any more, or the count that is still there after a long time.
    fn at_rest(&self, as_before: Option<&Count>) -> Result<Count, EngineError> {
        let since = Moment::now();
        loop {
            let count = self.count()?;
            let same_tasks = as_before.is_none_or(|before| before.tasks == count.tasks);
            let at_rest = count.locks == (0, 0) && count.promised == 0 && count.used_frames == 0;
            if at_rest && same_tasks || since.elapsed() > TO_REST {
                return Ok(count);
            }
            sleep(Duration::from_millis(20));
        }
    }

    /// So many transactions, by threads with a table each.
    fn work(
        &self,
        order: &Order,
        txns: u64,
        report: &(dyn Fn(&str) + Sync),
    ) -> Result<(), EngineError> {
        let failed = Mutex::new(None);
        scope(|all| {
            for number in 0..order.threads {
                let share = txns / order.threads;
                let failed = &failed;
                let body = move || {
                    let mut rng = seeded(order.seed.wrapping_add(number));
                    let mut left = share;
                    while left > 0 && failed.lock().is_none() {
                        let now = left.min(ON_A_TABLE);
                        if let Err(error) = on_a_table(&self.db, number, now, &mut rng) {
                            failed.lock().get_or_insert(error);
                        }
                        left -= now;
                        if number == 0 && (share - left).is_multiple_of(50 * ON_A_TABLE) {
                            report(&format!(
                                "{} of {txns} transactions",
                                (share - left) * order.threads
                            ));
                        }
                    }
                };
                if let Err(error) = spawn_scoped(all, format!("worker {number}"), body) {
                    let error = EngineError::Damaged(error.to_string());
                    failed.lock().get_or_insert(error);
                }
            }
        });
        failed.into_inner().map_or(Ok(()), Err)
    }

    /// Sessions that come and go; two of three end in the middle of a transaction.
    fn sessions(&self, sessions: u64) -> Result<(), EngineError> {
        let table = Session::new(&self.db)?.create_table(&spec("passing"))?;
        let mut next = 0;
        while next < sessions {
            let mut open = Vec::new();
            for _ in 0..TOGETHER.min(sessions - next) {
                let mut session = Session::new(&self.db)?;
                session.begin()?;
                session.insert(&table, &row(next as i64, 0, 10))?;
                if next.is_multiple_of(3) {
                    session.commit()?;
                }
                open.push(session);
                next += 1;
            }
        }
        drop(table);
        Session::new(&self.db)?.drop_table("passing").map(|_| ())
    }
}

fn row(id: i64, value: i32, pad: usize) -> [Value; 3] {
    [
        Value::BigInt(id),
        Value::Int(value),
        Value::Binary(vec![7; pad]),
    ]
}

/// So many transactions on a table that is created before and dropped after them.
fn on_a_table(
    db: &Arc<Database>,
    number: u64,
    txns: u64,
    rng: &mut SeededRng,
) -> Result<(), EngineError> {
    let mut session = Session::new(db)?;
    let name = format!("t{number}");
    let table = session.create_table(&spec(&name))?;
    for turn in 0..txns {
        session.begin()?;
        for step in 0..rng.random_range(1..4) {
            let saved = (step == 1 && rng.random_ratio(1, 8)).then(|| session.savepoint());
            change(&mut session, &table, turn as i32, rng)?;
            if let Some(saved) = saved {
                session.rollback_to(saved?)?;
            }
        }
        match rng.random_ratio(1, 6) {
            true => session.rollback()?,
            false => session.commit()?,
        }
    }
    drop(table);
    session.drop_table(&name).map(|_| ())
}

fn change(
    session: &mut Session,
    table: &Arc<Table>,
    turn: i32,
    rng: &mut SeededRng,
) -> Result<(), EngineError> {
    let id = rng.random_range(0..300);
    let pad = Value::Binary(vec![turn as u8; rng.random_range(0..900)]);
    let key = table.row_key(&[Value::BigInt(id)])?;
    let set = [(1, Value::Int(turn % 50)), (2, pad)];
    if !session.update(table, &key, &set)? {
        session.insert(table, &row(id, turn % 50, 20))?;
    } else if id % 3 == 0 {
        session.delete(table, &key)?;
    }
    Ok(())
}

/// Works, and counts before and after; returns what is missing.
pub fn run(order: &Order, report: &(dyn Fn(&str) + Sync)) -> Result<Figures, String> {
    let outside = named(&open_files());
    let as_text = |error: EngineError| error.to_string();
    let house = house(order).map_err(as_text)?;
    let figures = in_house(&house, order, report).map_err(as_text)?;
    let House { instance, db } = house;
    drop(db);
    instance.shut_down().map_err(as_text)?;
    drop(instance);
    judge(&figures)?;
    let left = open_files();
    match named(&left) <= outside {
        true => Ok(figures),
        false => Err(format!(
            "{outside} files were open before it began, now {left:?}"
        )),
    }
}

fn in_house(
    house: &House,
    order: &Order,
    report: &(dyn Fn(&str) + Sync),
) -> Result<Figures, EngineError> {
    house.work(order, order.txns / 10, &|_| {})?;
    house.sessions(order.sessions.min(TOGETHER))?;
    let before = house.at_rest(None)?;
    report(&format!("before: {before}"));
    let mut reader = Session::new(&house.db)?;
    let kept = reader.create_table(&spec("kept"))?;
    for id in 0..50 {
        reader.insert(&kept, &row(id, 0, 900))?;
    }
    reader.set_isolation(Isolation::RepeatableRead);
    reader.begin()?;
    let seen = reader.get(&kept, &[Value::BigInt(1)])?.is_some();
    let mut scanner = Session::new(&house.db)?;
    let dirty = ScanSpec {
        hints: LockHints {
            isolation: Some(Isolation::ReadUncommitted),
            ..LockHints::default()
        },
        ..ScanSpec::default()
    };
    let newest = |db: &Database| db.vlfs().iter().map(|vlf| u64::from(vlf.sequence)).max();
    let first = newest(&house.db).unwrap_or_default();
    let mut scan = scanner.scan(&kept, &dirty)?;
    let scanned = scan.next_row()?.is_some();
    house.work(order, order.txns, report)?;
    house.sessions(order.sessions)?;
    let vlfs = newest(&house.db).unwrap_or_default() - first;
    let still = reader.get(&kept, &[Value::BigInt(1)])?.is_some() && scan.next_row()?.is_some();
    drop(scan);
    drop(scanner);
    reader.commit()?;
    drop(kept);
    reader.drop_table("kept")?;
    drop(reader);
    if !(seen && scanned && still) {
        return Err(EngineError::Damaged("the reader lost its rows".to_owned()));
    }
    let after = house.at_rest(Some(&before))?;
    report(&format!("after: {after}"));
    Ok(Figures {
        before,
        after,
        vlfs,
    })
}

/// Open files with a name.
fn named(files: &[String]) -> usize {
    files.iter().filter(|path| path.starts_with('/')).count()
}

fn judge(figures: &Figures) -> Result<(), String> {
    let (before, after) = (&figures.before, &figures.after);
    let grown = (after.pages - before.pages.min(after.pages)) / 8;
    let faults = [
        (after.locks != (0, 0), "locks"),
        (after.promised != 0, "promises of log space"),
        (after.log_growths != before.log_growths, "space of the log"),
        (
            after.used_frames > before.used_frames,
            "frames: a latch or a pin is held",
        ),
        (after.tasks > before.tasks, "tasks"),
        (named(&after.files) > named(&before.files), "open files"),
        (after.files.len() > before.files.len() + RINGS, "handles"),
        (after.memory > before.memory + MEMORY_SLACK, "memory"),
        (
            after.free_extents + CATALOG_SLACK < before.free_extents + grown,
            "extents",
        ),
    ];
    let leaks: Vec<&str> = faults.iter().filter(|f| f.0).map(|f| f.1).collect();
    match leaks.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "leaks {}\nbefore: {before}\nafter:  {after}\n{:?}",
            leaks.join(", "),
            after.files
        )),
    }
}
