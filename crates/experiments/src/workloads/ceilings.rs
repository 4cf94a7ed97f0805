//! The limits of the volumes without an engine, with which the runs are compared.
//!
//! The measurement writes as the engine does: durable log writes two at a time, in the sizes that group
//! commit makes; data in batches of eight runs of 32 pages, by one writer and by several. It is repeated
//! in each block, before the first run on each layout of volumes, because the limits change during an
//! experiment, and stored in the journal, so that the same journal gives the same report. A limit is the
//! highest rate that was measured on the layout of volumes of a level.
//!
//! The limit of the log depends on the size of a write: ten times the bytes take much less than ten times as
//! long. So each run is compared with the rate at its own mean size, from the curve of measured sizes.

use super::place::RunPlace;
use furrow_io::time::{Duration, Moment};
use furrow_io::{Access, AlignedBuf, Fill, IoError, Open, Volume, WriteRun, thread};
use furrow_lab::design::Cell;
use furrow_lab::journal::{CeilingProbe, History};
use furrow_lab::plan::PlannedRun;
use furrow_lab::results::{Ceiling, FileRole, Run};
use furrow_stats::mean;
use std::io::IoSlice;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

const KIB: usize = 1024;
const MIB: f64 = 1024.0 * 1024.0;
/// From a single commit to the largest number of blocks in one write of the log.
const LOG_WRITE_BYTES: [usize; 5] = [4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1020 * KIB];
/// Writes of the log that run at the same time.
const LOG_WRITERS: u32 = 2;
/// A run of neighbouring pages in a batch of write-back.
const RUN_BYTES: usize = 256 * KIB;
const BATCH_RUNS: usize = 8;
/// The factor whose levels are layouts of volumes.
pub(crate) const VOLUMES: &str = "volumes";
/// Writers on each volume.
const DATA_WRITERS: [u32; 2] = [1, 4];

/// Which bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bound {
    Log,
    Data,
}

impl Bound {
    pub(crate) const ALL: [Bound; 2] = [Bound::Log, Bound::Data];

    fn name(self) -> &'static str {
        match self {
            Bound::Log => "durable log writes",
            Bound::Data => "writes to the data volumes",
        }
    }

    /// The limit that a category of waits depends on.
    pub(crate) fn of_category(category: &str) -> Option<Bound> {
        match category {
            "Tran Log IO" => Some(Bound::Log),
            "Buffer IO" => Some(Bound::Data),
            _ => None,
        }
    }

    /// Files for the measurement: in the log's directory, or in each directory of data files.
    pub(crate) fn files(self, place: &RunPlace) -> Vec<PathBuf> {
        let mut directories: Vec<PathBuf> = Vec::new();
        let (of, each) = match self {
            Bound::Log => (std::slice::from_ref(&place.log), 1),
            Bound::Data => (place.data.as_slice(), DATA_WRITERS[DATA_WRITERS.len() - 1]),
        };
        for directory in of.iter().filter_map(|file| file.parent()) {
            if !directories.iter().any(|known| known == directory) {
                directories.push(directory.to_path_buf());
            }
        }
        let file = |n: u32| move |dir: &PathBuf| dir.join(format!("ceiling{n}.tmp"));
        (1..=each)
            .flat_map(|n| directories.iter().map(file(n)))
            .collect()
    }
}

/// Duration and size of the measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Time for each measurement.
    pub(crate) span: Duration,
    /// Bytes of each file, a multiple of the largest batch.
    pub(crate) file_bytes: u64,
}

impl Effort {
    /// An effort suitable for runs that insert this much: a small part of the time and the space that they
    /// take.
    pub(crate) fn for_runs_of(total_bytes: u64) -> Effort {
        const BATCH: u64 = (RUN_BYTES * BATCH_RUNS) as u64;
        let span_ms = (total_bytes >> 20).clamp(40, 400);
        let file_bytes = (total_bytes / 16).clamp(2 * BATCH, 16 * BATCH) / BATCH * BATCH;
        Effort {
            span: Duration::from_millis(span_ms),
            file_bytes,
        }
    }
}

/// Measures a limit in files that do not exist yet: those of [`Bound::files`], which stay.
pub(crate) fn measure(
    bound: Bound,
    volume: &dyn Volume,
    paths: &[PathBuf],
    effort: Effort,
) -> Result<Vec<CeilingProbe>, IoError> {
    let probe = |write_bytes: usize, writers: u32, bytes_per_s: f64| CeilingProbe {
        name: bound.name().to_string(),
        write_bytes: write_bytes as u64,
        writers,
        bytes_per_s,
    };
    let (access, fill) = match bound {
        Bound::Log => (Access::Log, Fill::Zero),
        Bound::Data => (Access::Data, Fill::Allocate),
    };
    let mut files = Vec::new();
    for path in paths {
        let file = volume.open(path, Open::Create, access)?;
        file.resize(effort.file_bytes, fill)?;
        files.push(file);
    }
    let mut probes = Vec::new();
    match (bound, files.first()) {
        (_, None) => {}
        (Bound::Log, Some(file)) => {
            for bytes in LOG_WRITE_BYTES {
                let rate = log_rate(file.as_ref(), bytes, effort)?;
                probes.push(probe(bytes, LOG_WRITERS, rate));
            }
        }
        (Bound::Data, Some(_)) => {
            let most = DATA_WRITERS[DATA_WRITERS.len() - 1];
            let volumes = files.len() / most as usize;
            for writers in DATA_WRITERS {
                // The first file of each volume, then the second of each.
                let used = &files[..volumes * writers as usize];
                let rate = data_rate(used, effort)?;
                probes.push(probe(RUN_BYTES, used.len() as u32, rate));
            }
        }
    }
    Ok(probes)
}

/// Rate of durable writes of `bytes` bytes to this file, in bytes a second.
fn log_rate(file: &dyn furrow_io::File, bytes: usize, effort: Effort) -> Result<f64, IoError> {
    let places = (effort.file_bytes / bytes as u64).max(1);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut block = AlignedBuf::new(bytes);
    block.fill(0x5A);
    let start = Moment::now();
    let end = start.after(effort.span);
    let writer = |_: usize| -> Result<(), IoError> {
        while Moment::now() < end {
            let place = next.fetch_add(1, Ordering::Relaxed) % places;
            file.write_durable_at(place * bytes as u64, &block)?;
            done.fetch_add(bytes as u64, Ordering::Relaxed);
        }
        Ok(())
    };
    side_by_side(LOG_WRITERS as usize, &writer)?;
    Ok(rate(&done, start))
}

/// Rate of all these files together, each with a writer of its own, in bytes a second.
fn data_rate(
    files: &[std::sync::Arc<dyn furrow_io::File>],
    effort: Effort,
) -> Result<f64, IoError> {
    let mut run = AlignedBuf::new(RUN_BYTES);
    run.fill(0xA5);
    let done = AtomicU64::new(0);
    let start = Moment::now();
    let end = start.after(effort.span);
    let writer = |place: usize| -> Result<(), IoError> {
        let Some(file) = files.get(place) else {
            return Ok(());
        };
        let mut offset = 0;
        while Moment::now() < end {
            let bufs = [IoSlice::new(&run)];
            let at = |n: usize| WriteRun {
                offset: offset + (n * RUN_BYTES) as u64,
                bufs: &bufs,
            };
            let batch: [WriteRun<'_, '_>; BATCH_RUNS] = std::array::from_fn(at);
            file.write(&batch)?;
            let bytes = (BATCH_RUNS * RUN_BYTES) as u64;
            done.fetch_add(bytes, Ordering::Relaxed);
            offset = (offset + bytes) % effort.file_bytes.max(bytes);
        }
        file.sync()
    };
    side_by_side(files.len(), &writer)?;
    Ok(rate(&done, start))
}

fn rate(done: &AtomicU64, start: Moment) -> f64 {
    done.load(Ordering::Relaxed) as f64 / (start.elapsed_us().max(1) as f64 / 1e6)
}

/// Runs `body` in several threads, each with its number; returns the first error.
fn side_by_side(
    threads: usize,
    body: &(dyn Fn(usize) -> Result<(), IoError> + Sync),
) -> Result<(), IoError> {
    thread::scope(|scope| {
        let spawn =
            |n: usize| thread::spawn_scoped(scope, format!("ceiling {n}"), move || body(n)).ok();
        let others: Vec<_> = (1..threads).filter_map(spawn).collect();
        let mut result = body(0);
        for other in others {
            if let Ok(found) = other.join() {
                result = result.and(found);
            }
        }
        result
    })
}

/// The layout of volumes of a cell; `None` where all cells have the same volumes.
fn layout_of(cell: &Cell) -> Option<&str> {
    cell.level(VOLUMES).map(|level| level.key.as_str())
}

/// Whether the volumes of a run were measured in its block.
pub(crate) fn are_measured(run: &PlannedRun, history: &History) -> bool {
    let planned = history.plan.runs();
    let with_probes = planned
        .iter()
        .filter(|before| history.ceilings.iter().any(|(id, _)| *id == before.id));
    let mut alike = with_probes.filter(|before| layout_of(&before.cell) == layout_of(&run.cell));
    alike.any(|before| before.block == run.block)
}

/// The measurements on a layout of volumes, each with its run.
fn probes_of<'a>(layout: Option<&str>, history: &'a History) -> Vec<(u32, &'a CeilingProbe)> {
    let planned = history.plan.runs();
    let is_mine = |id: u32| {
        let run = planned.iter().find(|run| run.id == id);
        run.and_then(|run| layout_of(&run.cell)) == layout
    };
    let all = history.ceilings.iter().map(|(id, probe)| (*id, probe));
    all.filter(|(id, _)| is_mine(*id)).collect()
}

/// The best rate of each probed size (of each number of writers for data), by size.
fn best_by_size(bound: Bound, layout: Option<&str>, history: &History) -> Vec<(f64, f64)> {
    let mut best: Vec<(u64, f64)> = Vec::new();
    let probes = probes_of(layout, history)
        .into_iter()
        .map(|(_, probe)| probe);
    for probe in probes.filter(|probe| probe.name == bound.name()) {
        match best.iter_mut().find(|entry| entry.0 == probe.write_bytes) {
            Some(entry) => entry.1 = entry.1.max(probe.bytes_per_s),
            None => best.push((probe.write_bytes, probe.bytes_per_s)),
        }
    }
    best.retain(|entry| entry.1 > 0.0);
    best.sort_by_key(|entry| entry.0);
    let best: Vec<(f64, f64)> = best
        .into_iter()
        .map(|(bytes, rate)| (bytes as f64, rate))
        .collect();
    envelope(&best)
}

/// The least rate of each size that follows from the other sizes: a smaller write takes no longer than a
/// larger one, and a larger one has no lower rate than a smaller one. This corrects a size that was measured
/// while another process used the device.
fn envelope(measured: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let at_least = |bytes: f64| {
        let by = |&(other, rate): &(f64, f64)| rate * (bytes / other).min(1.0);
        measured.iter().map(by).fold(0.0, f64::max)
    };
    measured
        .iter()
        .map(|&(bytes, _)| (bytes, at_least(bytes)))
        .collect()
}

/// The rate at a size, interpolated between measured sizes on a logarithmic scale; the nearest one outside.
fn at_size(curve: &[(f64, f64)], bytes: f64) -> Option<f64> {
    let after = curve.iter().position(|point| point.0 >= bytes);
    match after {
        None => curve.last().map(|point| point.1),
        Some(0) => curve.first().map(|point| point.1),
        Some(n) => {
            let ((x0, y0), (x1, y1)) = (curve[n - 1], curve[n]);
            let part = (bytes / x0).ln() / (x1 / x0).ln();
            Some((y0.ln() + part * (y1 / y0).ln()).exp())
        }
    }
}

/// The use of a limit in a run: bytes a second, and the mean size of its writes.
fn used(run: &Run, bound: Bound) -> Option<(f64, f64)> {
    let of = |role: FileRole| match bound {
        Bound::Log => role == FileRole::Log,
        // The double-write files lie on the same volumes.
        Bound::Data => role != FileRole::Log,
    };
    let files = run.files.iter().filter(|file| of(file.role));
    let (bytes, writes) = files.fold((0, 0), |sum: (u64, u64), file| {
        (sum.0 + file.bytes_written, sum.1 + file.writes)
    });
    let rate = bytes as f64 / run.seconds.filter(|&s| s > 0.0)?;
    (writes > 0).then(|| (rate, bytes as f64 / writes as f64))
}

/// The use of a limit at a level: means over its runs.
struct Use {
    level: String,
    /// Its layout of volumes.
    layout: Option<String>,
    rate: f64,
    write_bytes: f64,
    limit: Option<f64>,
}

/// The use of each level of the limit of its volumes; warm-ups and failed runs do not count.
fn uses(bound: Bound, history: &History) -> Vec<Use> {
    let planned = history.plan.runs();
    let runs: Vec<&Run> = planned
        .iter()
        .filter(|run| run.block > 0)
        .filter_map(|run| history.runs.get(&run.id))
        .filter(|run| run.status().is_good())
        .filter_map(|run| run.record.as_ref())
        .collect();
    let factors = &history.plan.factors;
    let use_of = |cell: &Cell| {
        let level = cell.key(factors);
        let runs = runs.iter().filter(|run| run.level == level);
        let figures: Vec<(f64, f64)> = runs.filter_map(|run| used(run, bound)).collect();
        if figures.is_empty() {
            return None;
        }
        let rate = mean(&figures.iter().map(|f| f.0).collect::<Vec<_>>());
        let write_bytes = mean(&figures.iter().map(|f| f.1).collect::<Vec<_>>());
        let layout = layout_of(cell);
        Some(Use {
            level,
            layout: layout.map(str::to_owned),
            rate,
            write_bytes,
            limit: at_size(&best_by_size(bound, layout, history), write_bytes),
        })
    };
    let cells = history.plan.cells();
    cells.iter().filter_map(use_of).collect()
}

/// A limit and the level that came closest to it.
pub(crate) fn ceiling(bound: Bound, history: &History) -> Ceiling {
    // A level whose volumes were not measured is the closest only where none was.
    let share = |used: &Use| used.limit.map_or(used.rate, |limit| used.rate / limit);
    let closest = uses(bound, history).into_iter().max_by(|a, b| {
        let is_known = |used: &Use| used.limit.is_some();
        let by_known = is_known(a).cmp(&is_known(b));
        by_known.then(share(a).total_cmp(&share(b)))
    });
    with_use(bound, closest, history)
}

/// A limit and the use that one level made of it.
pub(crate) fn ceiling_at(bound: Bound, level: &str, history: &History) -> Ceiling {
    let of_level = uses(bound, history)
        .into_iter()
        .find(|used| used.level == level);
    with_use(bound, of_level, history)
}

fn with_use(bound: Bound, of: Option<Use>, history: &History) -> Ceiling {
    let limit = match &of {
        Some(used) => used.limit,
        // Without a level there is a limit only where all have the same volumes.
        None => best_by_size(bound, None, history).last().map(|p| p.1),
    };
    Ceiling {
        name: bound.name().to_string(),
        unit: "MB/s".to_string(),
        limit: limit.map(|rate| rate / MIB),
        used: of.as_ref().map(|used| used.rate / MIB),
        note: how(bound, of.as_ref(), history),
        level: of.map(|used| used.level).unwrap_or_default(),
    }
}

/// How a limit was measured.
fn how(bound: Bound, closest: Option<&Use>, history: &History) -> String {
    let layout = closest.and_then(|used| used.layout.as_deref());
    let probes = probes_of(layout, history);
    let mut rounds: Vec<u32> = probes.iter().map(|(run, _)| *run).collect();
    rounds.dedup();
    let often = match rounds.len() {
        0 => return "not measured".to_string(),
        1 => "measured once".to_string(),
        n => format!("the best of {n} measurements between the runs"),
    };
    let what = match (bound, closest) {
        (Bound::Log, Some(used)) => format!(
            "durable writes of {:.0} KB, the mean size of these runs, {LOG_WRITERS} under way at once",
            used.write_bytes / KIB as f64
        ),
        (Bound::Log, None) => format!("durable writes, {LOG_WRITERS} under way at once"),
        (Bound::Data, _) => format!(
            "batches of {BATCH_RUNS} runs of {} KB, {} or {} writers a volume, synced at the end",
            RUN_BYTES / KIB,
            DATA_WRITERS[0],
            DATA_WRITERS[1]
        ),
    };
    format!("{what}, without an engine; {often}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use furrow_io::MemoryVolume;
    use furrow_lab::design::Factor;
    use furrow_lab::journal::{Event, Line, Outcome};
    use furrow_lab::plan::Plan;
    use furrow_lab::results::FileIo;
    use std::path::Path;

    #[test]
    fn rates_are_measured_on_any_volume_and_failures_are_reported() {
        let volume = MemoryVolume::new();
        let volumes = [PathBuf::from("/v"), PathBuf::from("/w")];
        let place = RunPlace::new(&volumes, None, 2, "t");
        for directory in &place.directories {
            volume.create_dir(directory).unwrap();
        }
        let effort = Effort::for_runs_of(1 << 20);
        let log = Bound::Log.files(&place);
        assert_eq!(log, [PathBuf::from("/v/lab_t/ceiling1.tmp")]);
        let probes = measure(Bound::Log, &volume, &log, effort).unwrap();
        assert_eq!(probes.len(), 5);
        assert!(probes.iter().all(|probe| probe.bytes_per_s > 0.0));
        let again = measure(Bound::Log, &volume, &log, effort);
        assert!(again.is_err(), "the file is there");
        volume.remove(Path::new("/v/lab_t/ceiling1.tmp")).unwrap();
        let data = Bound::Data.files(&place);
        assert_eq!(data.len(), 8);
        let probes = measure(Bound::Data, &volume, &data, effort).unwrap();
        let writers: Vec<u32> = probes.iter().map(|probe| probe.writers).collect();
        assert_eq!(writers, [2, 8], "one and four on each of two volumes");
    }

    #[test]
    fn measuring_takes_a_small_part_of_the_space_of_a_run() {
        for total in [1 << 20, 64 << 20, 1 << 30, 1 << 40_u64] {
            let effort = Effort::for_runs_of(total);
            assert_eq!(effort.file_bytes % (2 << 20), 0);
            assert!(
                4 * effort.file_bytes <= (total / 4).max(16 << 20),
                "{total}"
            );
        }
    }

    #[test]
    fn a_size_between_measured_ones_lies_between_their_rates() {
        let curve = [(4096.0, 1e6), (16384.0, 4e6), (65536.0, 8e6)];
        assert_eq!(at_size(&curve, 1000.0), Some(1e6));
        assert_eq!(at_size(&curve, 1e9), Some(8e6));
        assert!((at_size(&curve, 8192.0).unwrap() - 2e6).abs() < 1.0);
        assert_eq!(at_size(&[], 8192.0), None);
    }

    #[test]
    fn a_size_that_had_bad_luck_is_mended_by_its_neighbours() {
        let measured = [(4.0, 40.0), (16.0, 10.0), (64.0, 200.0), (256.0, 150.0)];
        let mended = envelope(&measured);
        assert_eq!(
            mended,
            [(4.0, 40.0), (16.0, 50.0), (64.0, 200.0), (256.0, 200.0)]
        );
        assert_eq!(envelope(&mended), mended);
    }

    fn history() -> History {
        history_of(Plan::new(
            "t",
            "t?",
            vec![Factor::counts("files", &[1, 2])],
            1,
        ))
    }

    /// The history of a plan of which nothing was run.
    pub(crate) fn history_of(plan: Plan) -> History {
        let event = Event::Plan {
            hash: plan.hash(),
            plan: Box::new(plan),
            program: String::new(),
            checks: Vec::new(),
        };
        let line = Line {
            seq: 1,
            at_us: 0,
            event,
        };
        History::of(Path::new("/j"), &[line]).unwrap()
    }

    /// Takes a run that ended well.
    fn measured(history: &mut History, run: u32, level: &str, (writes, kib): (u64, u64)) {
        history.take(2, &metric(run, level, writes, kib));
        let end = Event::RunEnd {
            run,
            attempt: 1,
            outcome: Outcome::Done,
            reason: String::new(),
        };
        history.take(3, &end);
    }

    /// A run of two seconds whose log took so many writes of so many KiB.
    fn metric(run: u32, level: &str, writes: u64, kib: u64) -> Event {
        let log = FileIo {
            role: FileRole::Log,
            writes,
            bytes_written: writes * kib * 1024,
            ..FileIo::default()
        };
        let record = Run {
            id: run,
            level: level.to_string(),
            seconds: Some(2.0),
            files: vec![log],
            ..Run::default()
        };
        Event::Metric {
            run,
            attempt: 1,
            record: Box::new(record),
        }
    }

    #[test]
    fn a_run_is_held_against_the_best_rate_at_the_size_of_its_own_writes() {
        let mut history = history();
        let probe = |kib: u64, mb_per_s: f64| CeilingProbe {
            name: Bound::Log.name().to_string(),
            write_bytes: kib * 1024,
            writers: 2,
            bytes_per_s: mb_per_s * MIB,
        };
        for (run, kib, rate) in [(1, 16, 30.0), (1, 64, 80.0), (7, 16, 40.0), (7, 64, 60.0)] {
            let probe = probe(kib, rate);
            history.take(1, &Event::Ceiling { run, probe });
        }
        // 16 MB/s in writes of 16 KB, of the 40 that such writes can make; 28 of 80 at 64 KB.
        measured(&mut history, 1, "1", (2000, 16));
        measured(&mut history, 2, "2", (900, 64));
        let found = ceiling(Bound::Log, &history);
        assert_eq!(found.level, "1");
        assert!((found.limit.unwrap() - 40.0).abs() < 1e-9);
        assert!((found.used.unwrap() - 15.625).abs() < 1e-9);
        assert!(found.note.contains("16 KB") && found.note.contains("the best of 2"));
        let data = ceiling(Bound::Data, &history);
        assert_eq!((data.limit, data.used), (None, None));
    }

    #[test]
    fn the_use_of_a_limit_is_that_of_the_level_and_of_runs_that_count() {
        let mut plan = Plan::new("t", "t?", vec![Factor::counts("files", &[1, 8])], 1);
        plan.warm_up_runs = 1;
        let mut history = history_of(plan);
        let probe = CeilingProbe {
            name: Bound::Log.name().to_string(),
            write_bytes: 16 * 1024,
            writers: 2,
            bytes_per_s: 100.0 * MIB,
        };
        history.take(1, &Event::Ceiling { run: 1, probe });
        // The warm-up used 99 of 100 MB/s, level 1 uses 40, level 8 uses 90.
        let writes = |mb_per_s: u64| mb_per_s * 2 * 64;
        measured(&mut history, 1, "1", (writes(99), 16));
        measured(&mut history, 2, "1", (writes(40), 16));
        measured(&mut history, 3, "8", (writes(90), 16));
        // One that did not end.
        history.take(4, &metric(4, "1", writes(99), 16));
        let used = |ceiling: Ceiling| (ceiling.level, ceiling.used.unwrap().round());
        assert_eq!(used(ceiling(Bound::Log, &history)), ("8".to_string(), 90.0));
        let of_one = ceiling_at(Bound::Log, "1", &history);
        assert_eq!(used(of_one), ("1".to_string(), 40.0));
        let none = ceiling_at(Bound::Log, "4", &history);
        assert_eq!((none.used, none.level.as_str()), (None, ""));
    }

    #[test]
    fn a_level_is_held_against_the_limit_of_its_own_volumes() {
        let plan = Plan::new(
            "t",
            "t?",
            vec![Factor::words("volumes", &["a", "b", "c"])],
            1,
        );
        let runs = plan.runs();
        let of = |key: &str| {
            let mut mine = runs.iter().filter(|run| run.block == 1);
            mine.find(|run| run.cell.level("volumes").unwrap().key == key)
                .unwrap()
                .id
        };
        let mut history = history_of(plan.clone());
        for (key, mb_per_s) in [("a", 400.0), ("b", 10.0)] {
            let probe = CeilingProbe {
                name: Bound::Log.name().to_string(),
                write_bytes: 16 * 1024,
                writers: 2,
                bytes_per_s: mb_per_s * MIB,
            };
            history.take(
                1,
                &Event::Ceiling {
                    run: of(key),
                    probe,
                },
            );
        }
        // 40 of 400 MB/s, 9.7 of 10, and one whose volumes were not measured.
        for (key, mb_per_s) in [("a", 40.0), ("b", 9.7), ("c", 5.0)] {
            measured(
                &mut history,
                of(key),
                key,
                ((mb_per_s * 128.0_f64) as u64, 16),
            );
        }
        let rounded = |ceiling: Ceiling| {
            let limit = ceiling.limit.map(f64::round);
            (ceiling.level, limit, ceiling.used.map(f64::round))
        };
        let slow = ceiling_at(Bound::Log, "b", &history);
        assert_eq!(rounded(slow), ("b".to_string(), Some(10.0), Some(10.0)));
        let fast = ceiling_at(Bound::Log, "a", &history);
        assert_eq!(rounded(fast), ("a".to_string(), Some(400.0), Some(40.0)));
        let unknown = ceiling_at(Bound::Log, "c", &history);
        assert_eq!(rounded(unknown), ("c".to_string(), None, Some(5.0)));
        // Each layout is measured once in a block.
        let is_measured = |block: u32, key: &str| {
            let mut mine = runs.iter().filter(|run| run.block == block);
            let run = mine.find(|run| layout_of(&run.cell) == Some(key)).unwrap();
            are_measured(run, &history)
        };
        assert!(is_measured(1, "a") && is_measured(1, "b"));
        assert!(!is_measured(1, "c") && !is_measured(2, "a"));
        // The closest to its own limit is b.
        let closest = ceiling(Bound::Log, &history);
        assert_eq!(rounded(closest), ("b".to_string(), Some(10.0), Some(10.0)));
    }
}
