//! Read-ahead that no reading thread has begun: a thread that needs such a page takes its request over.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod common;

use common::{Bench, DB, Shape, bench_on, config, key, name};
use furrow_format::{FileId, PAGE_SIZE};
use furrow_io::sim::{OpKind, SimOptions};
use furrow_io::sync::Mutex;
use furrow_io::time::{Duration, Moment, sleep};
use furrow_io::{Access, File, Fill, IoError, Open, ReadRun, SimVolume, Volume, WriteRun};
use furrow_observe::files::FileStats;
use furrow_pool::{Ex, FrameHint, LatchRank, Lines, PageKey, PoolConfig, PoolFile, Sh};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const SHAPE: Shape = Shape {
    frames: 256,
    files: 2,
    file_pages: 160,
    double_write: false,
};

/// A file whose reads wait until `let_go` is set.
#[derive(Debug)]
struct Slow {
    inner: Arc<dyn File>,
    /// Pages whose reads have begun, in order.
    begun: Mutex<Vec<u64>>,
    let_go: AtomicBool,
}

impl File for Slow {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        let pages = runs.iter().map(|run| run.offset / PAGE_SIZE as u64);
        self.begun.lock().extend(pages);
        wait_for(|| self.let_go.load(Ordering::SeqCst));
        self.inner.read(runs)
    }
    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        self.inner.write(runs)
    }
    fn sync(&self) -> Result<(), IoError> {
        self.inner.sync()
    }
    fn resize(&self, bytes: u64, fill: Fill) -> Result<(), IoError> {
        self.inner.resize(bytes, fill)
    }
    fn len_bytes(&self) -> Result<u64, IoError> {
        self.inner.len_bytes()
    }
    fn path(&self) -> &Path {
        self.inner.path()
    }
}

fn wait_for(done: impl Fn() -> bool) {
    let start = Moment::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(30));
        sleep(Duration::from_millis(1));
    }
}

fn pages(first: u32, count: u32) -> Vec<PageKey> {
    (first..first + count).map(|page| key(1, page)).collect()
}

/// A pool with one thread for read-ahead, which reads page 0 of file 3 until `let_go` is set.
fn with_a_busy_thread(volume: &SimVolume) -> (Bench, Arc<Slow>) {
    let config = PoolConfig {
        readers: 1,
        ..config(SHAPE.frames)
    };
    let bench = bench_on(volume, SHAPE, config);
    let inner = volume.open(Path::new("/data/slow.ndf"), Open::Create, Access::Data);
    let inner = inner.unwrap();
    inner.resize(10 * PAGE_SIZE as u64, Fill::Allocate).unwrap();
    let slow = Arc::new(Slow {
        inner,
        begun: Mutex::default(),
        let_go: AtomicBool::new(false),
    });
    let file = PoolFile {
        file: Arc::clone(&slow) as _,
        stats: Arc::new(FileStats::new(DB.0, 3, &name(3))),
        double_write: None,
    };
    bench.pool.add_file(DB, FileId(3), file).unwrap();
    bench.pool.prefetch(&[key(3, 0)]).unwrap();
    wait_for(|| slow.begun.lock().len() == 1);
    (bench, slow)
}

#[test]
fn whoever_wants_a_page_that_no_thread_has_begun_with_reads_all_that_was_asked_for_with_it() {
    let volume = SimVolume::new(SimOptions::default());
    let (bench, slow) = with_a_busy_thread(&volume);
    let pool = &bench.pool;
    let reads = || volume.counts().of(OpKind::Read);
    let fetch = |page| drop(pool.fetch(key(1, page), Sh, LatchRank::Data).unwrap());
    let resident = |mut pages: std::ops::Range<u32>| pages.all(|p| pool.resident(key(1, p)));
    let before = reads();
    pool.prefetch(&pages(0, 70)).unwrap();
    (0..64).rev().for_each(fetch);
    assert_eq!(reads() - before, 1);
    assert!(!pool.resident(key(1, 64)), "another request");
    let held = pool.try_fetch(key(1, 66), Ex, LatchRank::Data).unwrap();
    assert_eq!(held.unwrap().key(), key(1, 66));
    assert!(resident(64..70));
    assert_eq!(reads() - before, 2);

    // A page that is requested already is not requested again; the page that goes first is a request of its
    // own.
    pool.prefetch(&pages(80, 20)).unwrap();
    pool.prefetch_first(key(1, 90)).unwrap();
    fetch(90);
    assert!(resident(80..100));
    pool.prefetch(&pages(110, 20)).unwrap();
    pool.prefetch_first(key(1, 105)).unwrap();
    fetch(105);
    assert!(!pool.resident(key(1, 110)));
    fetch(110);
    assert!(resident(110..130));
    let before = reads();
    fetch(71);
    assert!(!pool.resident(key(1, 72)), "it was not requested");
    assert_eq!(reads() - before, 1);
    slow.let_go.store(true, Ordering::SeqCst);
}

#[test]
fn a_page_that_tells_what_to_ask_for_next_is_read_before_what_was_asked_for() {
    let volume = SimVolume::new(SimOptions::default());
    let (bench, slow) = with_a_busy_thread(&volume);
    for page in [2, 4, 6] {
        bench.pool.prefetch(&[key(3, page)]).unwrap();
    }
    bench.pool.prefetch_first(key(3, 8)).unwrap();
    bench.pool.prefetch_first(key(3, 4)).unwrap();
    slow.let_go.store(true, Ordering::SeqCst);
    wait_for(|| slow.begun.lock().len() == 5);
    assert_eq!(*slow.begun.lock(), [0, 8, 2, 4, 6]);
}

#[test]
fn a_page_is_fetched_by_the_frame_it_was_seen_in_while_it_is_there_and_free() {
    let volume = SimVolume::new(SimOptions::default());
    let bench = bench_on(&volume, SHAPE, config(SHAPE.frames));
    let pool = &bench.pool;
    drop(pool.fetch(key(1, 5), Sh, LatchRank::Data).unwrap());
    let mut seen = Vec::new();
    pool.prefetch_noting(&[key(1, 9), key(1, 5)], &mut seen)
        .unwrap();
    let [absent, there] = seen[..] else {
        panic!("a hint for each page, not {seen:?}");
    };
    assert_eq!(absent, FrameHint::NONE);
    let near = |hint, page| {
        pool.bring_near(hint, Lines::Ends);
        pool.fetch_near(hint, key(1, page), Sh, LatchRank::Data)
    };
    assert_eq!(near(there, 5).unwrap().key(), key(1, 5));
    assert!(near(there, 6).is_none(), "another page is there");
    assert!(near(absent, 5).is_none(), "no frame is known");
    let held = pool.fetch(key(1, 5), Ex, LatchRank::Data).unwrap();
    assert!(near(there, 5).is_none(), "another guard holds it");
    drop(held);
    wait_for(|| pool.resident(key(1, 9)));
    pool.drop_clean_buffers();
    assert!(near(there, 5).is_none(), "it has left its frame");
}
