//! w1 and w2: inserts.

use crate::Outcome;
use crate::meter::{Meter, disk_bytes, emit, round2};
use crate::options::Options;
use crate::rows::{mix, payload, pool};
use crate::store;
use furrow::{BulkOptions, Database, Table};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, Moment, sleep};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// State that the threads of a timed section share.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    go: AtomicBool,
    stop: AtomicBool,
    ready: AtomicU64,
}

impl Gate {
    /// Called by each thread when it is ready; returns when all threads are.
    pub(crate) fn wait(&self) {
        self.ready.fetch_add(1, Ordering::SeqCst);
        while !self.go.load(Ordering::Acquire) {
            sleep(Duration::from_micros(200));
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    /// Opens the gate when all threads wait at it, and closes it after the time span.
    pub(crate) fn run(&self, threads: u64, secs: u64, died: impl Fn() -> bool) -> Meter {
        while self.ready.load(Ordering::SeqCst) < threads && !died() {
            sleep(Duration::from_millis(1));
        }
        let meter = Meter::start();
        self.go.store(true, Ordering::Release);
        sleep(Duration::from_secs(secs));
        self.stop.store(true, Ordering::Relaxed);
        meter
    }
}

struct Job<'a> {
    database: &'a Database,
    table: &'a Arc<Table>,
    gate: &'a Gate,
    batch: u64,
    payload: usize,
    random_keys: bool,
}

/// One session's commits, in microseconds each.
fn insert_on(job: &Job<'_>, thread: u64) -> Result<Vec<u32>, furrow::Error> {
    let mut session = job.database.session()?;
    let mut insert = session.inserter(job.table, &["k", "v"])?;
    let mut number = (thread + 1) << 40;
    let mut latencies = Vec::with_capacity(1 << 16);
    job.gate.wait();
    while job.gate.is_open() {
        let from = Moment::now();
        if job.batch > 1 {
            insert.begin()?;
        }
        let key = |number| {
            if job.random_keys {
                mix(number) >> 1
            } else {
                number
            }
        };
        let keys = (number..number + job.batch).map(key);
        insert.rows(keys.map(|key| (key as i64, payload(key, job.payload))))?;
        number += job.batch;
        if job.batch > 1 {
            insert.commit()?;
        }
        latencies.push(u32::try_from(from.elapsed_us()).unwrap_or(u32::MAX));
    }
    Ok(latencies)
}

/// Elapsed seconds, and the latencies of each session.
type Measured = Result<(f64, Vec<Vec<u32>>), Box<dyn std::error::Error>>;

/// w1: durable inserts by many sessions, from an empty table.
pub(crate) fn inserts(options: &Options) -> Outcome {
    let threads = options.number("threads", 16);
    let (batch, len) = (
        options.number("batch", 1).max(1),
        options.number("payload", 100),
    );
    pool();
    let (database, table) = store::create(options, 2048, len)?;
    let mut result = options.head("w1");
    let gate = Gate::default();
    let job = Job {
        database: &database,
        table: &table,
        gate: &gate,
        batch,
        payload: usize::try_from(len)?,
        random_keys: options.is("keys", "rand"),
    };
    let (job, gate) = (&job, &gate);
    let measured = scope(|s| -> Measured {
        let handles: Result<Vec<_>, _> = (0..threads)
            .map(|n| spawn_scoped(s, format!("w1 {n}"), move || insert_on(job, n)))
            .collect();
        let handles = handles?;
        let died = || {
            handles
                .iter()
                .any(furrow_io::thread::ScopedJoinHandle::is_finished)
        };
        let meter = gate.run(threads, options.number("secs", 10), died);
        let mut all = Vec::new();
        for handle in handles {
            all.push(handle.join().map_err(|_| "a session panicked")??);
        }
        Ok((meter.finish(&mut result), all))
    });
    let (seconds, sessions) = measured?;
    add_figures(&mut result, seconds, sessions, (batch, len));
    store::add_waits(options, &database, &mut result);
    emit(result);
    if options.number("keep", 0) == 0 {
        drop((table, database));
        store::remove(&options.dir())?;
    }
    Ok(())
}

fn add_figures(
    result: &mut Map<String, Value>,
    seconds: f64,
    sessions: Vec<Vec<u32>>,
    (batch, len): (u64, u64),
) {
    let each: Vec<usize> = sessions.iter().map(Vec::len).collect();
    let mut latencies: Vec<u32> = sessions.into_iter().flatten().collect();
    latencies.sort_unstable();
    let commits = latencies.len() as f64;
    let rows = commits * batch as f64;
    let at = |share: f64| latencies.get(((commits - 1.0).max(0.0) * share) as usize);
    let mut put = |name: &str, value: Value| result.insert(name.into(), value);
    put("commits_s", json!((commits / seconds).round()));
    put("rows_s", json!((rows / seconds).round()));
    put(
        "mb_s",
        json!(round2(rows * (len + 8) as f64 / seconds / 1e6)),
    );
    put("p50_us", json!(at(0.5)));
    put("p99_us", json!(at(0.99)));
    put("max_us", json!(latencies.last()));
    put(
        "conn_min_max",
        json!([each.iter().min(), each.iter().max()]),
    );
}

/// w2: a load in key order that ends with a checkpoint. The database stays.
pub(crate) fn bulk(options: &Options) -> Outcome {
    let (len, mb) = (options.number("payload", 100), options.number("mb", 2000));
    let rows = mb * 1_000_000 / (len + 8);
    let batch = options.number("batch", 500_000).max(1);
    pool();
    let (database, table) = store::create(options, mb * 5 / 4 + 64, len)?;
    let mut result = options.head("w2");
    let width = usize::try_from(len)?;
    let meter = Meter::start();
    let mut session = database.session()?;
    let set = BulkOptions {
        rows_per_batch: usize::try_from(batch)?,
        minimal_logging: options.number("logged", 0) == 0,
    };
    let mut load = session.bulk_inserter(&table, &["k", "v"], set)?;
    load.rows((0..rows).map(|key| (key as i64, payload(key, width))))?;
    load.finish()?;
    let load_s = meter.seconds();
    database.checkpoint()?;
    let seconds = meter.finish(&mut result);
    let data = store::data_bytes(&database)? as f64;
    store::add_waits(options, &database, &mut result);
    drop((session, table));
    database.close()?;
    let size = disk_bytes(&options.dir()) as f64;
    let bytes = rows as f64 * (len + 8) as f64;
    let mut put = |name: &str, value: f64| result.insert(name.into(), json!(value));
    put("secs", seconds);
    put("rows", rows as f64);
    put("rows_s", (rows as f64 / seconds).round());
    put("mb_s", (bytes / seconds / 1e5).round() / 10.0);
    put("load_s", round2(load_s));
    put("checkpoint_s", round2(seconds - load_s));
    // The log file, which is created in its full size, is part of `disk_mb` but not of `data_mb`.
    put("disk_mb", (size / 1e6).round());
    put("data_mb", (data / 1e6).round());
    put("disk_ratio", (size / bytes * 1000.0).round() / 1000.0);
    emit(result);
    Ok(())
}
