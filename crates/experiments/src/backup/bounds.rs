//! What the machine can do without an engine: read the data files, compress their bytes, write stripes.
//!
//! Measured before the first run of each block, with the runs: a bound that changes while the experiment
//! lasts is seen. A bound is the most that was seen.

use super::options::{Devices, Options};
use crate::workloads::place::RunPlace;
use furrow_backup::media::{Codec, Packer};
use furrow_io::time::{Duration, Moment};
use furrow_io::{Access, AlignedBuf, Fill, IoError, Open, Volume, thread};
use furrow_lab::experiment::{RunContext, StepError};
use furrow_lab::journal::{CeilingProbe, History, Kind};
use furrow_lab::results::{Ceiling, Run};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of one read or write.
const STEP: usize = 1 << 20;
/// Bytes that each writer goes over.
const WRITE_FILE_BYTES: u64 = 32 << 20;
/// Bytes of the database that are compressed again and again.
const SAMPLE_BYTES: usize = 16 << 20;
const PAGE_BYTES: usize = 8192;
const SPAN: Duration = Duration::from_millis(300);
const MIB: f64 = 1024.0 * 1024.0;

/// Names of the bounds. The codec's name stands behind the second.
pub(super) const READING: &str = "reading the data files";
const COMPRESSING: &str = "compressing";
pub(super) const WRITING_ONE: &str = "writing to one backup volume";
pub(super) const WRITING_SEVERAL: &str = "writing to several backup volumes";

/// The name of a codec's bound.
pub(super) fn compressing(codec: Codec) -> String {
    match codec {
        Codec::Zstd(level) => format!("{COMPRESSING} with ZSTD {level}"),
        other => format!("{COMPRESSING} with {}", other.name()),
    }
}

/// Does something in so many threads until the span is over; bytes a second.
fn rate(
    threads: usize,
    body: &(dyn Fn(usize) -> Result<u64, IoError> + Sync),
) -> Result<f64, IoError> {
    let done = AtomicU64::new(0);
    let begun = Moment::now();
    let end = begun.after(SPAN);
    let work = |place: usize| -> Result<(), IoError> {
        while Moment::now() < end {
            done.fetch_add(body(place)?, Ordering::Relaxed);
        }
        Ok(())
    };
    let work = &work;
    let result = thread::scope(|scope| {
        let spawn =
            |n: usize| thread::spawn_scoped(scope, format!("bound {n}"), move || work(n)).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut result = work(0);
        for other in others {
            if let Ok(found) = other.join() {
                result = result.and(found);
            }
        }
        result
    });
    result?;
    Ok(done.load(Ordering::Relaxed) as f64 / (begun.elapsed_us().max(1) as f64 / 1e6))
}

/// One reader for each data file, front to back.
fn reading(volume: &dyn Volume, files: &[PathBuf]) -> Result<f64, IoError> {
    let mut readers = Vec::new();
    for path in files {
        let file = volume.open(path, Open::ReadOnly, Access::Data)?;
        let bytes = file.len_bytes()? / STEP as u64 * STEP as u64;
        readers.push((file, bytes, AtomicU64::new(0)));
    }
    rate(files.len(), &|place| {
        let Some((file, bytes, next)) = readers.get(place) else {
            return Ok(0);
        };
        let mut buf = AlignedBuf::new(STEP);
        let at = next.fetch_add(STEP as u64, Ordering::Relaxed) % (*bytes).max(STEP as u64);
        file.read_at(at, &mut buf)?;
        Ok(STEP as u64)
    })
}

/// Pages of the first data file that hold anything, from its beginning.
fn sample(volume: &dyn Volume, files: &[PathBuf]) -> Result<Vec<u8>, IoError> {
    let Some(path) = files.first() else {
        return Ok(Vec::new());
    };
    let file = volume.open(path, Open::ReadOnly, Access::Data)?;
    let bytes = file.len_bytes()? / STEP as u64 * STEP as u64;
    let mut sample: Vec<u8> = Vec::new();
    let mut buf = AlignedBuf::new(STEP);
    for at in (0..bytes).step_by(STEP) {
        file.read_at(at, &mut buf)?;
        let used = buf
            .chunks(PAGE_BYTES)
            .filter(|page| page.iter().any(|byte| *byte != 0));
        used.for_each(|page| sample.extend_from_slice(page));
        if sample.len() >= SAMPLE_BYTES {
            break;
        }
    }
    Ok(sample)
}

fn packing(codec: Codec, sample: &[u8]) -> Result<f64, StepError> {
    let failed = |e: furrow_backup::media::MediaError| StepError::Failed(e.to_string());
    let threads = thread::available_cpus();
    let mut packers = Vec::new();
    for _ in 0..threads {
        let packer = Packer::new(codec).map_err(failed)?;
        packers.push(parking_lot::Mutex::new((packer, vec![0; 2 * STEP])));
    }
    let next = AtomicU64::new(0);
    let chunks: Vec<&[u8]> = sample.chunks(STEP).collect();
    let rate = rate(threads, &|place| {
        let at = next.fetch_add(1, Ordering::Relaxed) as usize;
        let (Some(packer), Some(chunk)) =
            (packers.get(place), chunks.get(at % chunks.len().max(1)))
        else {
            return Ok(0);
        };
        let (packer, to) = &mut *packer.lock();
        let _packed = packer.pack(chunk, to);
        Ok(chunk.len() as u64)
    });
    Ok(rate?)
}

/// One writer for each file, synced at the end.
fn writing(volume: &dyn Volume, paths: &[PathBuf]) -> Result<f64, IoError> {
    let mut files = Vec::new();
    for path in paths {
        let file = volume.open(path, Open::Create, Access::Data)?;
        file.resize(WRITE_FILE_BYTES, Fill::Allocate)?;
        files.push((file, AtomicU64::new(0)));
    }
    let mut block = AlignedBuf::new(STEP);
    block.fill(0xA5);
    let block = &block;
    rate(files.len(), &|place| {
        let Some((file, next)) = files.get(place) else {
            return Ok(0);
        };
        let at = next.fetch_add(STEP as u64, Ordering::Relaxed) % WRITE_FILE_BYTES;
        file.write_durable_at(at, block)?;
        Ok(STEP as u64)
    })
}

/// Measures all bounds, once a block.
pub(super) fn measure(
    options: &Options,
    place: &RunPlace,
    context: &mut RunContext<'_>,
) -> Result<(), StepError> {
    let (id, position) = context.run().map_or((0, 1), |run| (run.id, run.position));
    let known = &context.history().ceilings;
    if known.iter().any(|(before, _)| *before == id) || (position > 1 && !known.is_empty()) {
        return Ok(());
    }
    let volume = context.volume().clone();
    let probe = |name: String, writers: usize, bytes_per_s: f64| CeilingProbe {
        name,
        write_bytes: STEP as u64,
        writers: writers as u32,
        bytes_per_s,
    };
    let read = reading(volume.as_ref(), &place.data)?;
    context.ceiling(probe(READING.to_owned(), place.data.len(), read))?;
    let sample = sample(volume.as_ref(), &place.data)?;
    for (_, codec) in options
        .codecs
        .iter()
        .filter(|(_, codec)| *codec != Codec::None)
    {
        let packed = packing(*codec, &sample)?;
        context.ceiling(probe(compressing(*codec), thread::available_cpus(), packed))?;
    }
    for devices in [Devices::One, Devices::Several] {
        if !options.devices.contains(&devices) {
            continue;
        }
        let out_dir = context.out_dir().to_path_buf();
        let volumes = options.stripe_volumes(devices, &out_dir);
        let name = format!("bound_{}.tmp", context.tag());
        let paths: Vec<PathBuf> = volumes.iter().map(|volume| volume.join(&name)).collect();
        for path in &paths {
            context.claim_file(path)?;
        }
        let written = writing(volume.as_ref(), &paths)?;
        for path in &paths {
            context.remove(Kind::File, path)?;
        }
        let name = match devices {
            Devices::Several => WRITING_SEVERAL,
            _ => WRITING_ONE,
        };
        context.ceiling(probe(name.to_owned(), paths.len(), written))?;
    }
    Ok(())
}

/// The rate of a run that runs into a bound, MB/s.
fn used(name: &str, run: &Run) -> Option<f64> {
    let figure = |wanted: &str| {
        let found = run.figures.iter().find(|figure| figure.name == wanted);
        found.map(|figure| figure.value)
    };
    let is = |wanted: &str| run.extra.get(wanted).and_then(|value| value.as_str()) == Some(name);
    match name {
        READING => figure(super::RATE),
        WRITING_ONE | WRITING_SEVERAL => figure(super::WRITTEN).filter(|_| is(super::WRITES_TO)),
        _ => figure(super::RATE).filter(|_| is(super::COMPRESSES_BY)),
    }
}

/// Every bound with the run that came closest to it.
pub(super) fn ceilings(history: &History) -> Vec<Ceiling> {
    let mut names: Vec<&str> = Vec::new();
    for (_, probe) in &history.ceilings {
        if !names.contains(&probe.name.as_str()) {
            names.push(&probe.name);
        }
    }
    let runs = || history.runs.values().filter_map(|run| run.record.as_ref());
    let ceiling = |name: &&str| {
        let probes = history
            .ceilings
            .iter()
            .filter(|(_, probe)| probe.name == *name);
        let best = probes
            .clone()
            .map(|(_, probe)| probe.bytes_per_s)
            .fold(0.0, f64::max);
        let rates = runs().filter_map(|run| Some((used(name, run)?, run.level.clone())));
        let closest = rates.max_by(|a, b| a.0.total_cmp(&b.0));
        let writers = probes
            .clone()
            .map(|(_, probe)| probe.writers)
            .max()
            .unwrap_or(1);
        Ceiling {
            name: (*name).to_owned(),
            unit: "MB/s".to_owned(),
            limit: (best > 0.0).then_some(best / MIB),
            used: closest.as_ref().map(|(rate, _)| *rate),
            level: closest.map(|(_, level)| level).unwrap_or_default(),
            note: format!(
                "{writers} threads, 1 MB at a time, without an engine; the best of {} measurements",
                probes.count()
            ),
        }
    };
    names.iter().map(ceiling).collect()
}
