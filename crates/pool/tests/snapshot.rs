//! Page snapshots: transfers between pages keep their sum, so a snapshot that is a cut of the log has it too.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Bench, DB, Shape, bench_on, config, format, key, read_raw, set_value, value};
use furrow_format::{FileId, Lsn, PAGE_SIZE, PageId, PageNo};
use furrow_io::random::{Rng, SeededRng, seeded};
use furrow_io::sync::Mutex;
use furrow_io::weave::{explore, together};
use furrow_io::{Access, File, IoError, MemoryVolume, Open, Volume};
use furrow_pool::{CheckpointOptions, Ex, LatchRank, PageGuard, PageSnapshot, PoolConfig};
use furrow_pool::{FailureSink, SnapshotFile, SnapshotFiles, SnapshotOptions, SpillFiles};
use furrow_pool::{SparseFile, SparseFiles, SparseHeader, SparseState};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

const SCHEDULES: u64 = 400;
const PAGES: u32 = 40;
const START: u64 = 1_000;

/// Spill files on a volume; `None` where each attempt fails.
#[derive(Debug)]
struct Spill {
    volume: MemoryVolume,
    open: Mutex<Vec<PathBuf>>,
    full: bool,
}

impl SpillFiles for Spill {
    fn open(&self, file: FileId) -> Result<Arc<dyn File>, IoError> {
        let path = PathBuf::from(format!("/spill{file}"));
        if self.full {
            let kind = furrow_io::IoErrorKind::NoSpace;
            return Err(IoError::new(furrow_io::IoOp::Create, &path, 0, kind));
        }
        let opened = self.volume.open(&path, Open::Create, Access::Data)?;
        self.open.lock().push(path);
        Ok(opened)
    }

    fn remove(&self) {
        for path in self.open.lock().drain(..) {
            self.volume.remove(&path).unwrap();
        }
    }
}

fn options(volume: &MemoryVolume, memory_pages: u64, full: bool) -> SnapshotOptions {
    SnapshotOptions {
        memory_bytes: memory_pages * PAGE_SIZE as u64,
        files: SnapshotFiles::Spill(Box::new(Spill {
            volume: volume.clone(),
            open: Mutex::default(),
            full,
        })),
    }
}

fn bench(frames: usize, double_write: bool) -> Bench {
    let shape = Shape {
        frames,
        files: 1,
        file_pages: PAGES,
        double_write,
    };
    let patient = PoolConfig {
        buffer_wait: Duration::from_secs(1000),
        ..config(frames)
    };
    let bench = bench_on(&MemoryVolume::new(), shape, patient);
    for at in 0..PAGES {
        let mut page = bench.pool.fetch(key(1, at), Ex, LatchRank::Data).unwrap();
        page.begin_change();
        let lsn = bench.log.append();
        set_value(&mut page, START);
        page.finish_change(lsn, false);
    }
    bench
}

/// A mini-transaction that moves `by` from one page to another. Sometimes the second page is created again.
fn transfer(bench: &Bench, rng: &mut SeededRng) {
    let (a, b) = (rng.random_range(0..PAGES), rng.random_range(0..PAGES));
    let by = rng.random_range(1..5);
    if a == b {
        return;
    }
    bench.pool.spill_snapshots(DB);
    let (first, second) = (a.min(b), a.max(b));
    let fetch = |at| bench.pool.fetch(key(1, at), Ex, LatchRank::Data).unwrap();
    let mut pages = [fetch(first), fetch(second)];
    let values = [value(&pages[0]), value(&pages[1])];
    if values[0] < by {
        return;
    }
    pages.iter_mut().for_each(PageGuard::begin_change);
    let lsn = bench.log.append();
    bench.pool.preserve(&pages, lsn);
    let remade = rng.random_range(0..4) == 0;
    if remade {
        format(&mut pages[1], PageId::new(1, second));
    }
    set_value(&mut pages[0], values[0] - by);
    set_value(&mut pages[1], values[1] + by);
    pages[0].finish_change(lsn, false);
    pages[1].finish_change(lsn, remade);
}

fn sum_of(snapshot: &PageSnapshot) -> u64 {
    // Two runs and single pages: the ways in which readers come.
    let half = PAGES as usize / 2;
    let mut pages = vec![[0; PAGE_SIZE]; PAGES as usize];
    let (front, back) = pages.split_at_mut(half);
    snapshot.read(FileId(1), PageNo(0), front).unwrap();
    for (at, page) in (half as u32..).zip(back) {
        let one = std::slice::from_mut(page);
        snapshot.read(FileId(1), PageNo(at), one).unwrap();
    }
    for (at, page) in (0..).zip(&pages) {
        furrow_format::verify(page, PageId::new(1, at)).unwrap();
    }
    pages.iter().map(value).sum()
}

fn transfers_beside_snapshots(seed: u64, frames: usize, double_write: bool) {
    let bench = Arc::new(bench(frames, double_write));
    let volume = MemoryVolume::new();
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 0..3_u64 {
        let bench = Arc::clone(&bench);
        let mut rng = seeded(seed ^ thread << 40);
        bodies.push(Box::new(move || {
            for _ in 0..20 {
                transfer(&bench, &mut rng);
            }
        }));
    }
    let (other, spilled) = (Arc::clone(&bench), volume.clone());
    bodies.push(Box::new(move || {
        for _ in 0..2 {
            let guard = other
                .pool
                .snapshot(DB, options(&spilled, 2, false))
                .unwrap();
            let sums = [0; 3].map(|_| sum_of(guard.snapshot()));
            assert_eq!(sums, [START * u64::from(PAGES); 3], "seed {seed}");
        }
    }));
    let third = Arc::clone(&bench);
    bodies.push(Box::new(move || {
        let done = third
            .pool
            .checkpoint_pages(DB, CheckpointOptions::default());
        done.unwrap();
    }));
    together(bodies);
    assert_eq!(volume.list("/".as_ref()).unwrap(), [] as [PathBuf; 0]);
}

#[test]
fn woven_a_snapshot_is_a_cut_of_the_log_beside_writers_and_eviction() {
    explore("snapshot", SCHEDULES, |seed| {
        transfers_beside_snapshots(seed, 16, false);
    });
}

#[test]
fn woven_a_snapshot_is_a_cut_of_the_log_through_the_double_write_area() {
    explore("snapshot, double write", SCHEDULES / 2, |seed| {
        transfers_beside_snapshots(seed, 16, true);
    });
}

/// A failure of a snapshot is a failure of the test.
#[derive(Debug)]
struct NoFailure;

impl FailureSink for NoFailure {
    fn failed(&self, error: &IoError) {
        panic!("the snapshot failed: {error}");
    }
}

const NUMBER: [u8; 16] = [3; 16];

fn sparse(volume: &MemoryVolume) -> SnapshotOptions {
    let file = volume.open("/sparse".as_ref(), Open::Create, Access::Data);
    let header = SparseHeader {
        snapshot: NUMBER,
        source: [4; 16],
        file: FileId(1),
        state: SparseState::Creating,
        pages: 0,
        split: Lsn::ZERO,
    };
    let file = SparseFile::create(file.unwrap(), header).unwrap();
    SnapshotOptions {
        memory_bytes: 3 * PAGE_SIZE as u64,
        files: SnapshotFiles::Sparse(SparseFiles::new(vec![file], Box::new(NoFailure))),
    }
}

/// The sum by the files alone, as another process finds them.
fn sum_of_files(volume: &MemoryVolume, data: &dyn File) -> u64 {
    let file = volume.open("/sparse".as_ref(), Open::Existing, Access::Data);
    let sparse = SparseFile::open(file.unwrap(), (NUMBER, FileId(1))).unwrap();
    let value_of = |at: u32| {
        let mut page = [0; PAGE_SIZE];
        match sparse.has(PageNo(at)) {
            true => sparse.read(PageNo(at), &mut page).unwrap(),
            false => page = read_raw(data, at),
        }
        furrow_format::verify(&page, PageId::new(1, at)).unwrap();
        value(&page)
    };
    (0..PAGES).map(value_of).sum()
}

fn transfers_beside_a_sealed_snapshot(seed: u64, double_write: bool) {
    let bench = Arc::new(bench(16, double_write));
    let volume = MemoryVolume::new();
    let mut bodies: Vec<Box<dyn FnOnce() + Send>> = Vec::new();
    for thread in 0..3_u64 {
        let bench = Arc::clone(&bench);
        let mut rng = seeded(seed ^ thread << 40);
        bodies.push(Box::new(move || {
            for _ in 0..20 {
                transfer(&bench, &mut rng);
            }
        }));
    }
    let kept = Arc::new(Mutex::new(None));
    let (other, files, keep) = (Arc::clone(&bench), volume.clone(), Arc::clone(&kept));
    bodies.push(Box::new(move || {
        let guard = other.pool.snapshot(DB, sparse(&files)).unwrap();
        guard.seal().unwrap();
        let sums = [0; 2].map(|_| sum_of(guard.snapshot()));
        assert_eq!(sums, [START * u64::from(PAGES); 2], "seed {seed}");
        *keep.lock() = Some(guard);
    }));
    for _ in 0..2 {
        let other = Arc::clone(&bench);
        bodies.push(Box::new(move || {
            let options = CheckpointOptions::default();
            other.pool.checkpoint_pages(DB, options).unwrap();
        }));
    }
    together(bodies);
    let options = CheckpointOptions::default();
    bench.pool.checkpoint_pages(DB, options).unwrap();
    let guard = kept.lock().take().unwrap();
    assert_eq!(
        sum_of(guard.snapshot()),
        START * u64::from(PAGES),
        "seed {seed}"
    );
    drop(guard);
    let sum = sum_of_files(&volume, bench.files[0].as_ref());
    assert_eq!(sum, START * u64::from(PAGES), "seed {seed}: files alone");
}

#[test]
fn woven_a_snapshot_that_is_sealed_beside_writers_loses_no_image() {
    explore("sealed snapshot", SCHEDULES, |seed| {
        transfers_beside_a_sealed_snapshot(seed, seed % 3 == 0);
    });
}

#[test]
fn a_page_made_anew_is_copied_from_the_file_before_it_is_overwritten_there() {
    let bench = bench(64, false);
    let options = options(&MemoryVolume::new(), 100, false);
    let guard = bench.pool.snapshot(DB, options).unwrap();
    let made = key(1, 7);
    assert!(bench.pool.drop_clean_buffers() > 0);
    {
        let mut page = bench.pool.create(made, LatchRank::Data).unwrap();
        page.begin_change();
        let lsn = bench.log.append();
        bench.pool.preserve(std::slice::from_ref(&page), lsn);
        format(&mut page, made.page);
        set_value(&mut page, 5);
        page.finish_change(lsn, true);
    }
    let read = || {
        let mut page = [[0; PAGE_SIZE]];
        let snapshot = guard.snapshot();
        snapshot.read(FileId(1), PageNo(7), &mut page).unwrap();
        value(&page[0])
    };
    assert_eq!((read(), guard.snapshot().images()), (START, 0));
    let written = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default());
    written.unwrap();
    assert_eq!(value(&read_raw(bench.files[0].as_ref(), 7)), 5);
    assert_eq!((read(), guard.snapshot().images()), (START, 1));
}

#[test]
fn a_snapshot_that_cannot_spill_fails_alone() {
    let bench = bench(64, false);
    let guard = bench
        .pool
        .snapshot(DB, options(&MemoryVolume::new(), 2, true))
        .unwrap();
    let mut rng = seeded(11);
    (0..200).for_each(|_| transfer(&bench, &mut rng));
    let mut page = [[0; PAGE_SIZE]];
    let snapshot = guard.snapshot();
    assert!(snapshot.read(FileId(1), PageNo(3), &mut page).is_err());
    assert!(snapshot.failure().is_some());
    let after = bench
        .pool
        .checkpoint_pages(DB, CheckpointOptions::default());
    assert!(after.is_ok(), "the database goes on");
}

#[test]
fn pages_of_a_file_that_becomes_shorter_go_to_the_snapshot_first() {
    let bench = bench(64, false);
    let volume = MemoryVolume::new();
    let guard = bench.pool.snapshot(DB, options(&volume, 4, false)).unwrap();
    bench.pool.preserve_tail(DB, FileId(1), PageNo(10));
    let bytes = 10 * PAGE_SIZE as u64;
    let file = &bench.files[0];
    file.resize(bytes, furrow_io::Fill::Allocate).unwrap();
    assert_eq!(sum_of(guard.snapshot()), START * u64::from(PAGES));
}

#[test]
fn what_the_snapshots_own_recovery_writes_stays_in_the_snapshot() {
    let bench = bench(64, false);
    let volume = MemoryVolume::new();
    let guard = bench.pool.snapshot(DB, options(&volume, 1, false)).unwrap();
    let file = SnapshotFile::new(guard.snapshot(), FileId(1)).unwrap();
    for at in [3_u32, 4, 5] {
        let mut page = [0; PAGE_SIZE];
        format(&mut page, PageId::new(1, at));
        set_value(&mut page, 77);
        let offset = u64::from(at) * PAGE_SIZE as u64;
        file.write_at(offset, &page).unwrap();
    }
    let mut rng = seeded(5);
    (0..100).for_each(|_| transfer(&bench, &mut rng));
    let expected = START * u64::from(PAGES - 3) + 3 * 77;
    assert_eq!(sum_of(guard.snapshot()), expected);
    let tail = Lsn(bench.log.last.load(Ordering::SeqCst) + 1);
    assert!(guard.snapshot().split() < tail);
    let past = file.read_at(u64::from(PAGES) * PAGE_SIZE as u64, &mut [0; PAGE_SIZE]);
    assert!(past.is_err());
}
