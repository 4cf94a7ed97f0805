//! What a row costs: autocommit inserts by many threads, inserts in one transaction, prepared point
//! reads, a scan.
//!
//! Everything lies in memory, so that the figures are the engine's own work, not the device's. Run with
//! `--release`; the first argument is the number of threads.

use furrow_engine::{
    ColumnSpec, Database, DatabaseSpec, FileSpec, Instance, InstanceConfig, ScanSpec, Session,
    Table, TableSpec,
};
use furrow_io::time::Moment;
use furrow_io::{MemoryVolume, Volume, thread};
use furrow_types::{DataType, TypeId, Value};
use std::path::Path;
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn timed(what: &str, rows: u64, body: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    let start = Moment::now();
    body()?;
    let ns = start.elapsed_ns();
    println!(
        "{what:<44} {:>8} rows/s {:>7} ns/row",
        rows * 1_000_000_000 / ns.max(1),
        ns / rows
    );
    Ok(())
}

fn main() -> Outcome<()> {
    let threads: u64 = std::env::args()
        .nth(1)
        .and_then(|a| a.parse().ok())
        .unwrap_or(16);
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("d"))?;
    let config = InstanceConfig {
        pool_pages: 65_536,
        ..InstanceConfig::default()
    };
    let instance = Instance::start(Arc::new(volume), config)?;
    let data = FileSpec::new("data", "d/data.mdf").size_mb(512);
    let spec = DatabaseSpec::new("cost", data).log(FileSpec::new("log", "d/log.ldf").size_mb(512));
    let db = instance.create_database(&spec)?;
    let bigint = DataType::simple(TypeId::BigInt);
    let payload = DataType::sized(TypeId::VarBinary, 100);
    let spec = TableSpec::new("t")
        .column(ColumnSpec::new("id", bigint).not_null())
        .column(ColumnSpec::new("payload", payload).not_null())
        .primary_key(["id"]);
    let table = Session::new(&db)?.create_table(&spec)?;
    let each = 20_000;
    commit_each(&db, &table, threads, each)?;
    one_thread(&db, &table, (threads * each) as i64)
}

/// Many threads, each row a transaction.
fn commit_each(db: &Arc<Database>, table: &Arc<Table>, threads: u64, each: u64) -> Outcome<()> {
    timed(
        &format!("{threads} threads, a commit a row"),
        threads * each,
        || {
            let done: Vec<Result<(), furrow_engine::EngineError>> = thread::scope(|scope| {
                let running: Vec<_> = (0..threads)
                    .map(|who| {
                        scope.spawn(move || {
                            let mut session = Session::new(db)?;
                            let mut inserter = session.inserter(table, &[0, 1])?;
                            for at in 0..each {
                                let id = (at * threads + who) as i64;
                                inserter.i64(id)?.bytes(&[7; 100])?.insert()?;
                            }
                            Ok(())
                        })
                    })
                    .collect();
                running.into_iter().filter_map(|r| r.join().ok()).collect()
            });
            Ok(done.into_iter().collect::<Result<(), _>>()?)
        },
    )
}

/// One thread: rows in batches, point reads, a scan.
fn one_thread(db: &Arc<Database>, table: &Arc<Table>, base: i64) -> Outcome<()> {
    let mut session = Session::new(db)?;
    let rows = 500_000;
    timed("1 thread, 100 rows a commit", rows, || {
        for batch in 0..rows as i64 / 100 {
            session.begin()?;
            {
                let mut inserter = session.inserter(table, &[0, 1])?;
                for at in 0..100 {
                    inserter
                        .i64(base + batch * 100 + at)?
                        .bytes(&[7; 100])?
                        .insert()?;
                }
            }
            session.commit()?;
        }
        Ok(())
    })?;
    let reads = 1_000_000;
    let mut seed = 1_u64;
    timed("1 thread, point reads", reads, || {
        for _ in 0..reads {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let id = ((seed >> 33) % rows) as i64;
            let row = session
                .get(table, &[Value::BigInt(id)])?
                .ok_or("a row is missing")?;
            if row.i64(0) != Some(id) {
                return Err("another row".into());
            }
        }
        Ok(())
    })?;
    let mut sum = 0_i64;
    timed("1 thread, a scan", table.row_count() as u64, || {
        session.scan(table, &ScanSpec::default())?.for_each(|row| {
            sum += row.i64(0).unwrap_or(0);
            Ok(())
        })?;
        Ok(())
    })?;
    println!("rows {} sum {sum}", table.row_count());
    Ok(())
}
