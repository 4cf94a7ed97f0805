//! How many durable commits a second the log alone makes: N threads, one record and one flush each.
//!
//! `cargo run --release -p furrow-log --example group_commit -- [threads] [bytes] [seconds] [in
//! flight] [directory]`

use furrow_format::{Lsn, TxnId};
use furrow_io::time::{Duration, Moment};
use furrow_io::{Access, Open, SystemVolume, Volume, thread};
use furrow_log::{Log, LogConfig, Record, RecordKind};
use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |at: usize, default: u64| args.get(at).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (threads, bytes, seconds) = (number(0, 16), number(1, 168), number(2, 4));
    let dir = PathBuf::from(args.get(4).map_or("/tmp/furrow-group", |a| a));
    let volume = SystemVolume::new();
    volume.create_dir(&dir)?;
    let path = dir.join("group.ldf");
    if volume.exists(&path)? {
        volume.remove(&path)?;
    }
    let file = volume.open(&path, Open::Create, Access::Log)?;
    let config = LogConfig {
        writes_in_flight: number(3, 2) as u32,
        ..LogConfig::default()
    };
    let log = Log::create(file, 256 << 20, [7; 16], config)?;
    let commits = AtomicU64::new(0);
    let body = vec![9; bytes as usize];
    let start = Moment::now();
    let cpu = furrow_io::process::cpu_times();
    thread::scope(|s| {
        for t in 0..threads {
            let (log, commits, body) = (&log, &commits, &body);
            s.spawn(move || {
                let record = Record {
                    kind: RecordKind::Change,
                    txn: TxnId(t + 1),
                    prev: Lsn::ZERO,
                    undo: &[],
                    redo: body,
                };
                let mut n = 0;
                while start.elapsed() < Duration::from_secs(seconds) {
                    let Ok(lsn) = log.append(&record) else { break };
                    if log.flush_to(lsn).is_err() {
                        break;
                    }
                    n += 1;
                    if n % 64 == 0 {
                        log.truncate_before(lsn);
                    }
                }
                commits.fetch_add(n, Ordering::Relaxed);
            });
        }
    });
    let elapsed = start.elapsed().as_secs_f64();
    let n = commits.into_inner();
    let flushes = log.counters.flushes.load(Ordering::Relaxed);
    let used = furrow_io::process::cpu_times().total_ns - cpu.total_ns;
    println!(
        "{:.0} commits/s, {:.0} flushes/s, {:.1} commits a flush, cpu {:.0}%",
        n as f64 / elapsed,
        flushes as f64 / elapsed,
        n as f64 / flushes.max(1) as f64,
        used as f64 / 1e7 / elapsed
    );
    drop(log);
    volume.remove(&path)?;
    Ok(())
}
