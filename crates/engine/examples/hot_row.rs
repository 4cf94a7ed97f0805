//! What a hot row costs: many threads that update one and the same row, each update a transaction.
//!
//! The first argument is a directory on the disk to measure, the second the number of threads, the third the
//! seconds of each measurement. With locks of rows, an update goes on while the commit before it waits for
//! the disk; locks of pages are held until the commit is durable.

use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, EngineError, FileSpec, Granularity, Instance,
    InstanceConfig, LockHints, Session, Table, TableSpec,
};
use furrow_io::time::{Duration, Moment};
use furrow_io::{SystemVolume, Volume, thread};
use furrow_types::{DataType, TypeId, Value};
use std::path::Path;
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().unwrap_or_else(|| "hot_row".to_owned());
    let mut number = |default| arguments.next().map_or(Ok(default), |a| a.parse::<u64>());
    let (threads, seconds) = (number(16)?, number(5)?);
    let volume = SystemVolume::new();
    volume.create_dir(Path::new(&directory))?;
    let instance = Instance::start(Arc::new(volume), InstanceConfig::default())?;
    let path = |name| Path::new(&directory).join(name);
    let data = FileSpec::new("data", path("hot.mdf")).size_mb(16);
    let log = FileSpec::new("log", path("hot.ldf")).size_mb(256);
    let db = instance.create_database(&DatabaseSpec::new("hot", data).log(log))?;
    let bigint = || DataType::simple(TypeId::BigInt);
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint()).not_null())
        .column(ColumnSpec::new("v", bigint()).not_null())
        .primary_key(["id"]);
    let mut session = Session::new(&db)?;
    let table = session.create_table(&spec)?;
    session.insert(&table, &[Value::BigInt(1), Value::BigInt(0)])?;
    for (what, hints) in [
        ("row locks", LockHints::default()),
        (
            "page locks",
            LockHints {
                granularity: Granularity::Page,
                ..LockHints::default()
            },
        ),
    ] {
        let updates = measure(&db, &table, hints, (threads, seconds))?;
        let rate = updates / seconds.max(1);
        println!("{threads} threads, {what:<12} {rate:>8} updates/s");
    }
    Ok(())
}

/// Updates of the row by all threads.
fn measure(
    db: &Arc<Database>,
    table: &Arc<Table>,
    hints: LockHints,
    (threads, seconds): (u64, u64),
) -> Outcome<u64> {
    let began = Moment::now();
    let work = |who: u64| -> Result<u64, EngineError> {
        let mut session = Session::new(db)?;
        let key = table.row_key(&[Value::BigInt(1)])?;
        let mut updates = 0;
        while began.elapsed() < Duration::from_secs(seconds) {
            let set = [(1, Value::BigInt((who << 32 | updates) as i64))];
            session.hinted(hints, |session| session.update(table, &key, &set))?;
            updates += 1;
        }
        Ok(updates)
    };
    let done: Vec<Result<u64, EngineError>> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads)
            .map(|who| scope.spawn(move || work(who)))
            .collect();
        running.into_iter().filter_map(|r| r.join().ok()).collect()
    });
    Ok(done.into_iter().sum::<Result<u64, EngineError>>()?)
}
