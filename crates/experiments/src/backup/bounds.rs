//! What the machine can do without an engine: read the data files, compress their bytes, write stripes.
//!
//! Measured before the first run of each block, with the runs: a bound that changes while the experiment
//! lasts is seen. Reading is measured before the first run on each number of data files, with one reader for
//! each file, and a level is held against the reading of as many files. A bound is the most that was seen.

use super::options::{Devices, Options};
use crate::workloads::place::RunPlace;
use furrow_backup::media::{Codec, Packer};
use furrow_io::time::{Duration, Moment};
use furrow_io::{Access, AlignedBuf, Fill, IoError, Open, Volume, thread};
use furrow_lab::experiment::{RunContext, StepError};
use furrow_lab::journal::{CeilingProbe, History, Kind};
use furrow_lab::plan::PlannedRun;
use furrow_lab::results::Ceiling;
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

/// The factor whose levels are numbers of data files.
pub(super) const FILES: &str = "files";
/// Names of the bounds. The codec's name stands behind the second.
const READING: &str = "reading the data files";
const COMPRESSING: &str = "compressing";
pub(super) const WRITING_ONE: &str = "writing to one backup volume";
pub(super) const WRITING_SEVERAL: &str = "writing to several backup volumes";

/// The name of the bound of reading so many data files; `None` where all runs read the same number.
pub(super) fn reading_of(files: Option<u64>) -> String {
    match files {
        None => READING.to_owned(),
        Some(1) => "reading 1 data file".to_owned(),
        Some(files) => format!("reading {files} data files"),
    }
}

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

/// Whether a bound was measured in the block of a run: of reading, that of as many files.
fn is_measured(name: &str, run: &PlannedRun, history: &History) -> bool {
    let planned = history.plan.runs();
    let mut probes = history
        .ceilings
        .iter()
        .filter(|(_, probe)| probe.name == name);
    probes.any(|(id, _)| {
        let mut before = planned.iter().filter(|before| before.id == *id);
        before.any(|before| {
            let is_alike = name != READING || before.cell.count(FILES) == run.cell.count(FILES);
            before.block == run.block && is_alike
        })
    })
}

/// Measures the bounds that were not measured in this block.
pub(super) fn measure(
    options: &Options,
    place: &RunPlace,
    context: &mut RunContext<'_>,
) -> Result<(), StepError> {
    let Some(run) = context.run().cloned() else {
        return Ok(());
    };
    let volume = context.volume().clone();
    let probe = |name: String, writers: usize, bytes_per_s: f64| CeilingProbe {
        name,
        write_bytes: STEP as u64,
        writers: writers as u32,
        bytes_per_s,
    };
    if !is_measured(READING, &run, context.history()) {
        let read = reading(volume.as_ref(), &place.data)?;
        context.ceiling(probe(READING.to_owned(), place.data.len(), read))?;
    }
    let of_codecs = options.codecs.iter().map(|(_, codec)| *codec);
    let unmeasured: Vec<Codec> = of_codecs
        .filter(|codec| *codec != Codec::None)
        .filter(|codec| !is_measured(&compressing(*codec), &run, context.history()))
        .collect();
    let sample = match unmeasured.is_empty() {
        true => Vec::new(),
        false => sample(volume.as_ref(), &place.data)?,
    };
    for codec in unmeasured {
        let packed = packing(codec, &sample)?;
        context.ceiling(probe(compressing(codec), thread::available_cpus(), packed))?;
    }
    for devices in [Devices::One, Devices::Several] {
        let bound = match devices {
            Devices::Several => WRITING_SEVERAL,
            _ => WRITING_ONE,
        };
        if !options.devices.contains(&devices) || is_measured(bound, &run, context.history()) {
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
        context.ceiling(probe(bound.to_owned(), paths.len(), written))?;
    }
    Ok(())
}

/// Every bound as it was measured, without its use.
pub(super) fn measured(history: &History) -> Vec<Ceiling> {
    let planned = history.plan.runs();
    let files_of = |id: u32| {
        let run = planned.iter().find(|run| run.id == id)?;
        run.cell.count(FILES)
    };
    let bound = |&(id, ref probe): &(u32, CeilingProbe)| match probe.name.as_str() {
        READING => (probe.name.clone(), files_of(id)),
        _ => (probe.name.clone(), None),
    };
    let mut bounds: Vec<(String, Option<u64>)> = Vec::new();
    for found in history.ceilings.iter().map(bound) {
        if !bounds.contains(&found) {
            bounds.push(found);
        }
    }
    // In the order of their sizes, whichever came first in a block.
    bounds.sort_by_key(|(name, files)| (name != READING, *files));
    let ceiling = |of: &(String, Option<u64>)| {
        let probes = history.ceilings.iter().filter(|found| bound(found) == *of);
        let probes: Vec<&CeilingProbe> = probes.map(|(_, probe)| probe).collect();
        let rates = probes.iter().map(|probe| probe.bytes_per_s);
        let best = rates.fold(0.0, f64::max);
        let threads = match probes.iter().map(|probe| probe.writers).max() {
            None | Some(0 | 1) => "1 thread".to_owned(),
            Some(writers) => format!("{writers} threads"),
        };
        let often = match probes.len() {
            1 => "measured once".to_owned(),
            n => format!("the best of {n} measurements"),
        };
        Ceiling {
            name: match of.0.as_str() {
                READING => reading_of(of.1),
                name => name.to_owned(),
            },
            unit: "MB/s".to_owned(),
            limit: (best > 0.0).then_some(best / MIB),
            note: format!("{threads}, 1 MB at a time, without an engine; {often}"),
            ..Ceiling::default()
        }
    };
    bounds.iter().map(ceiling).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::ceilings::tests::history_of;
    use furrow_lab::design::Factor;
    use furrow_lab::journal::Event;
    use furrow_lab::plan::Plan;

    #[test]
    fn reading_each_number_of_files_is_measured_once_in_a_block() {
        let plan = Plan::new("t", "t?", vec![Factor::counts(FILES, &[1, 8])], 1);
        let planned = plan.runs();
        let of = |block: u32, files: u64| {
            let mut mine = planned.iter().filter(|run| run.block == block);
            let found = mine.find(|run| run.cell.count(FILES) == Some(files));
            found.unwrap()
        };
        let mut history = history_of(plan.clone());
        for files in [1, 8] {
            let probe = CeilingProbe {
                name: READING.to_owned(),
                write_bytes: STEP as u64,
                writers: files as u32,
                bytes_per_s: MIB,
            };
            let run = of(1, files).id;
            history.take(1, &Event::Ceiling { run, probe });
        }
        let is_measured = |block, files| is_measured(READING, of(block, files), &history);
        assert!(is_measured(1, 1) && is_measured(1, 8));
        assert!(!is_measured(2, 1) && !is_measured(2, 8));
        let notes: Vec<String> = measured(&history).into_iter().map(|c| c.note).collect();
        assert_eq!(
            notes,
            [
                "1 thread, 1 MB at a time, without an engine; measured once",
                "8 threads, 1 MB at a time, without an engine; measured once"
            ]
        );
    }
}
