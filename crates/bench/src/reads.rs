//! w3 and w4: reads of the database that w2 has created.

use crate::Outcome;
use crate::loads::Gate;
use crate::meter::{Meter, emit, printed};
use crate::options::Options;
use crate::rows::Random;
use crate::store;
use furrow::{Database, Session, Table};
use furrow_io::thread::{scope, spawn_scoped};
use furrow_io::time::{Duration, Moment};
use serde_json::json;
use std::ops::Range;
use std::sync::Arc;

type Failure = Box<dyn std::error::Error>;

/// Reads the rows with these keys, in one transaction if there are several.
fn read(session: &mut Session, table: &Arc<Table>, keys: &[u64]) -> Result<u64, furrow::Error> {
    if keys.len() > 1 {
        session.begin()?;
    }
    let mut bytes = 0;
    for &key in keys {
        let row = session.get(table, key as i64)?;
        let found = row.and_then(|row| row.bytes(1).map(<[u8]>::len));
        bytes += std::hint::black_box(found.unwrap_or(0)) as u64;
    }
    if keys.len() > 1 {
        session.commit()?;
    }
    Ok(bytes)
}

struct Job<'a> {
    database: &'a Database,
    table: &'a Arc<Table>,
    gate: &'a Gate,
    keys: u64,
    reads_per_transaction: usize,
    warm: Duration,
}

fn read_on(job: &Job<'_>, thread: u64) -> Result<u64, furrow::Error> {
    let mut session = job.database.session()?;
    let mut random = Random(thread * 7919 + 1);
    let mut keys = vec![0; job.reads_per_transaction];
    let mut draw = |keys: &mut Vec<u64>| {
        for key in keys.iter_mut() {
            *key = random.below(job.keys);
        }
    };
    let from = Moment::now();
    while from.elapsed() < job.warm {
        draw(&mut keys);
        read(&mut session, job.table, &keys)?;
    }
    job.gate.wait();
    let mut reads = 0;
    while job.gate.is_open() {
        draw(&mut keys);
        read(&mut session, job.table, &keys)?;
        reads += keys.len() as u64;
    }
    Ok(reads)
}

/// w3: reads of random keys below `--ws`, all in memory.
pub(crate) fn points(options: &Options) -> Outcome {
    let threads = options.number("threads", 1);
    let (database, table, open_ms) = store::open(options, 1024, false)?;
    let mut result = options.head("w3");
    result.insert("open_ms".into(), json!(open_ms));
    let gate = Gate::default();
    let job = Job {
        database: &database,
        table: &table,
        gate: &gate,
        keys: options.number("ws", 1_000_000).max(1),
        reads_per_transaction: usize::try_from(options.number("reads_per_txn", 1).max(1))?,
        warm: Duration::from_millis(options.number("warm_ms", 500)),
    };
    let mut session = database.session()?;
    for key in 0..job.keys {
        if read(&mut session, &table, &[key])? == 0 {
            return Err(
                format!("there is no row {key}: load more by w2, or give a smaller --ws").into(),
            );
        }
    }
    drop(session);
    let (job, gate) = (&job, &gate);
    let measured = scope(|s| -> Result<(f64, u64), Box<dyn std::error::Error>> {
        let handles: Result<Vec<_>, _> = (0..threads)
            .map(|n| spawn_scoped(s, format!("w3 {n}"), move || read_on(job, n)))
            .collect();
        let handles = handles?;
        let died = || {
            handles
                .iter()
                .any(furrow_io::thread::ScopedJoinHandle::is_finished)
        };
        let meter = gate.run(threads, options.number("secs", 5), died);
        let mut reads = 0;
        for handle in handles {
            reads += handle.join().map_err(|_| "a session panicked")??;
        }
        Ok((meter.finish(&mut result), reads))
    });
    let (seconds, reads) = measured?;
    result.insert("reads_s".into(), json!((reads as f64 / seconds).round()));
    store::add_waits(options, &database, &mut result);
    emit(result);
    Ok(())
}

/// Rows and bytes of a scan.
type Seen = (u64, u64);

/// Scans the rows whose keys are in a range, or all rows.
fn scan_range(
    database: &Database,
    table: &Arc<Table>,
    keys: Option<Range<i64>>,
) -> Result<Seen, furrow::Error> {
    let mut session = database.session()?;
    let scan = match keys {
        Some(keys) => session.range(table, keys)?,
        None => session.rows(table)?,
    };
    let (mut rows, mut bytes) = (0, 0);
    scan.for_each(|row| {
        // As for the other engines, each row is passed to the caller, which reads its last byte.
        let payload = row.bytes(1).unwrap_or_default();
        std::hint::black_box(payload.last());
        rows += 1;
        bytes += 8 + payload.len() as u64;
        Ok(())
    })?;
    Ok((rows, bytes))
}

/// The boundaries of the key ranges of `parts` sessions.
fn shares(last: i64, parts: u64) -> Vec<i64> {
    let keys = u128::from(last.unsigned_abs()) + 1;
    (0..=parts)
        .map(|part| i64::try_from(keys * u128::from(part) / u128::from(parts)).unwrap_or(i64::MAX))
        .collect()
}

/// Scans all rows, by `parts` sessions in parallel.
fn scan_all(database: &Database, table: &Arc<Table>, parts: u64) -> Result<Seen, Failure> {
    if parts < 2 {
        return Ok(scan_range(database, table, None)?);
    }
    let mut last = 0;
    let mut session = database.session()?;
    let mut from_the_end = session.range_back::<i64>(table, ..)?;
    if let Some(row) = from_the_end.next()? {
        last = row.get::<i64>("k")?;
    }
    drop(from_the_end);
    let shares = shares(last, parts);
    scope(|s| -> Result<Seen, Failure> {
        let handles: Result<Vec<_>, _> = shares
            .iter()
            .zip(shares.iter().skip(1))
            .map(|(&from, &to)| {
                spawn_scoped(s, format!("w4 {from}"), move || {
                    scan_range(database, table, Some(from..to))
                })
            })
            .collect();
        let mut all = (0, 0);
        for handle in handles? {
            let (rows, bytes) = handle.join().map_err(|_| "a session panicked")??;
            all = (all.0 + rows, all.1 + bytes);
        }
        Ok(all)
    })
}

/// w4: a full scan; with `--cold 1` after dropping the system's caches, which needs root.
pub(crate) fn scan(options: &Options) -> Outcome {
    let cold = options.number("cold", 0) == 1;
    if cold {
        printed("sh", &["-c", "sync; echo 3 > /proc/sys/vm/drop_caches"]);
    }
    let (database, table, open_ms) = store::open(options, 3072, store::prefaults(options))?;
    let parts = options.number("par", 1);
    if !cold {
        scan_all(&database, &table, parts)?;
    }
    let mut result = options.head("w4");
    let meter = Meter::start();
    let (rows, bytes) = scan_all(&database, &table, parts)?;
    let seconds = meter.finish(&mut result);
    let size = store::data_bytes(&database)? as f64;
    store::add_waits(options, &database, &mut result);
    let mut put = |name: &str, value: f64| result.insert(name.into(), json!(value));
    put("open_ms", open_ms);
    put("rows", rows as f64);
    put("rows_s", (rows as f64 / seconds).round());
    put("mb_s", (bytes as f64 / seconds / 1e5).round() / 10.0);
    put("disk_mb_s", (size / seconds / 1e5).round() / 10.0);
    emit(result);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_all_keys_without_overlap() {
        assert_eq!(shares(9, 2), [0, 5, 10]);
        assert_eq!(shares(0, 3), [0, 0, 0, 1]);
        assert_eq!(shares(i64::MAX, 1), [0, i64::MAX]);
    }
}
