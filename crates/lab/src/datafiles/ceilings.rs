//! What the volumes can do without an engine: the bounds that the runs are held against.
//!
//! Measured once, before the first run, and written into the journal as notes, so that the same journal gives
//! the same report.

use crate::journal::History;
use crate::results::{Ceiling, FileRole, Run};
use furrow_io::time::{Duration, Moment};
use furrow_io::{Access, AlignedBuf, Fill, IoError, Open, Volume, WriteRun, thread};
use std::io::IoSlice;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A log block as large as they come, and how many writes of the log are under way at once.
const BLOCK_BYTES: usize = 60 * 1024;
const IN_FLIGHT: u64 = 2;
/// A run of neighbouring pages as write-back makes them.
const RUN_BYTES: usize = 256 * 1024;
const FILE_BYTES: u64 = 32 << 20;

/// The word that notes of measured bounds begin with.
const NOTE: &str = "measured ceiling";

/// Which bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bound {
    Log,
    Data,
}

impl Bound {
    pub(super) const ALL: [Bound; 2] = [Bound::Log, Bound::Data];

    fn name(self) -> &'static str {
        match self {
            Bound::Log => "durable log writes",
            Bound::Data => "writes to the data volumes",
        }
    }

    fn how(self) -> &'static str {
        match self {
            Bound::Log => "blocks of 60 KiB, each durable, two under way at once, no engine",
            Bound::Data => {
                "runs of 256 KiB in order, synced at the end, one writer a volume, no engine"
            }
        }
    }

    /// The category of waits that runs into it.
    pub(super) fn of_category(category: &str) -> Option<Bound> {
        match category {
            "Tran Log IO" => Some(Bound::Log),
            "Buffer IO" => Some(Bound::Data),
            _ => None,
        }
    }
}

/// The sentence for the journal.
pub(super) fn note(bound: Bound, mb_per_s: f64) -> String {
    format!("{NOTE}, {}: {mb_per_s:.1} MB/s", bound.name())
}

/// The bound that a journal's notes tell, the last one of its kind.
pub(super) fn told(history: &History, bound: Bound) -> Option<f64> {
    let head = format!("{NOTE}, {}: ", bound.name());
    let texts = history
        .deviations
        .iter()
        .rev()
        .map(|deviation| deviation.text.as_str());
    texts
        .filter_map(|text| {
            text.strip_prefix(&head)?
                .strip_suffix(" MB/s")?
                .parse()
                .ok()
        })
        .next()
}

/// Bytes a second that this file takes in durable blocks.
pub(super) fn log_rate(volume: &dyn Volume, path: &Path, span: Duration) -> Result<f64, IoError> {
    let file = volume.open(path, Open::Create, Access::Log)?;
    file.resize(FILE_BYTES, Fill::Zero)?;
    let blocks = FILE_BYTES / BLOCK_BYTES as u64;
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut block = AlignedBuf::new(BLOCK_BYTES);
    block.fill(0x5A);
    let start = Moment::now();
    let end = start.after(span);
    let writer = || -> Result<(), IoError> {
        while Moment::now() < end {
            let place = next.fetch_add(1, Ordering::Relaxed) % blocks;
            file.write_durable_at(place * BLOCK_BYTES as u64, &block)?;
            done.fetch_add(BLOCK_BYTES as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    side_by_side(IN_FLIGHT, &writer)?;
    Ok(done.load(Ordering::Relaxed) as f64 / (start.elapsed_us().max(1) as f64 / 1e6))
}

/// Bytes a second that these files, one a volume, take together.
pub(super) fn data_rate(
    volume: &dyn Volume,
    paths: &[std::path::PathBuf],
    span: Duration,
) -> Result<f64, IoError> {
    let mut files = Vec::new();
    for path in paths {
        let file = volume.open(path, Open::Create, Access::Data)?;
        file.resize(FILE_BYTES, Fill::Allocate)?;
        files.push(file);
    }
    let mut run = AlignedBuf::new(RUN_BYTES);
    run.fill(0xA5);
    let turn = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let start = Moment::now();
    let end = start.after(span);
    let writer = || -> Result<(), IoError> {
        let place = turn.fetch_add(1, Ordering::Relaxed) as usize;
        let Some(file) = files.get(place) else {
            return Ok(());
        };
        let mut offset = 0;
        while Moment::now() < end {
            let bufs = [IoSlice::new(&run)];
            file.write(&[WriteRun {
                offset,
                bufs: &bufs,
            }])?;
            done.fetch_add(RUN_BYTES as u64, Ordering::Relaxed);
            offset = (offset + RUN_BYTES as u64) % FILE_BYTES;
        }
        file.sync()
    };
    side_by_side(files.len() as u64, &writer)?;
    Ok(done.load(Ordering::Relaxed) as f64 / (start.elapsed_us().max(1) as f64 / 1e6))
}

/// Runs `body` in so many threads; the first error counts.
fn side_by_side(
    threads: u64,
    body: &(dyn Fn() -> Result<(), IoError> + Sync),
) -> Result<(), IoError> {
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .filter_map(|n| thread::spawn_scoped(scope, format!("ceiling {n}"), body).ok())
            .collect();
        let mut result = body();
        for other in others {
            if let Ok(found) = other.join() {
                result = result.and(found);
            }
        }
        result
    })
}

fn used(run: &Run, bound: Bound) -> Option<f64> {
    let role = if bound == Bound::Log {
        FileRole::Log
    } else {
        FileRole::Data
    };
    let bytes: u64 = run
        .files
        .iter()
        .filter(|f| f.role == role)
        .map(|f| f.bytes_written)
        .sum();
    Some(bytes as f64 / 1e6 / run.seconds.filter(|&s| s > 0.0)?)
}

/// A bound and the most that any level made of it: the mean of the level's runs.
pub(super) fn ceiling(bound: Bound, limit: Option<f64>, history: &History) -> Ceiling {
    let factors = &history.plan.factors;
    let cells = history.plan.cells();
    let mean_of = |key: &str| {
        let runs = history.runs.values().filter_map(|run| run.record.as_ref());
        let rates: Vec<f64> = runs
            .filter(|r| r.level == key)
            .filter_map(|r| used(r, bound))
            .collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    };
    let best = cells
        .iter()
        .filter_map(|cell| {
            let key = cell.key(factors);
            mean_of(&key).map(|rate| (key, rate))
        })
        .max_by(|a, b| a.1.total_cmp(&b.1));
    Ceiling {
        name: bound.name().to_string(),
        unit: "MB/s".to_string(),
        limit,
        used: best.as_ref().map(|(_, rate)| *rate),
        level: best.map(|(key, _)| key).unwrap_or_default(),
        note: bound.how().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_io::MemoryVolume;
    use std::path::PathBuf;

    #[test]
    fn rates_are_measured_on_any_volume_and_failures_are_told() {
        let volume = MemoryVolume::new();
        volume.create_dir(Path::new("/v")).unwrap();
        let span = Duration::from_millis(20);
        assert!(log_rate(&volume, Path::new("/v/log"), span).unwrap() > 0.0);
        let paths = [PathBuf::from("/v/a"), PathBuf::from("/v/b")];
        assert!(data_rate(&volume, &paths, span).unwrap() > 0.0);
        assert!(
            log_rate(&volume, Path::new("/v/log"), span).is_err(),
            "the file is there"
        );
    }
}
