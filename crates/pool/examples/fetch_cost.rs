//! What the pool's ways cost, in nanoseconds. `cargo run --release -p furrow-pool --example fetch_cost`

use furrow_format::{
    AllocUnitId, DatabaseId, FileId, Lsn, PAGE_SIZE, PageId, PageInit, PageMut, PageType,
};
use furrow_io::thread;
use furrow_io::time::Moment;
use furrow_io::{Access, File, Fill, MemoryVolume, Open, Volume};
use furrow_observe::files::FileStats;
use furrow_pool::{
    CheckpointOptions, Ex, LatchRank, LogFailure, PageKey, Pool, PoolConfig, PoolFile, Sh,
    WriteAhead,
};
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DB: DatabaseId = DatabaseId(5);
const PAGES: u32 = 16_384;

#[derive(Debug, Default)]
struct Log(AtomicU64);

impl WriteAhead for Log {
    fn make_durable(&self, _: Lsn) -> Result<(), LogFailure> {
        Ok(())
    }
    fn durable(&self) -> Lsn {
        Lsn::MAX
    }

    fn is_short(&self) -> bool {
        false
    }

    fn tail(&self) -> Lsn {
        Lsn(self.0.load(Ordering::Relaxed) + 1)
    }
    fn redo_point(&self) -> Lsn {
        Lsn(1)
    }
}

fn key(page: u32) -> PageKey {
    PageKey::new(DB, PageId::new(1, page))
}

/// Runs `turn` `turns` times in each of `threads` threads and prints nanoseconds a turn.
fn measure(what: &str, threads: u32, turns: u32, turn: impl Fn(u32, u32) + Sync) {
    let mut best = u64::MAX;
    for _ in 0..5 {
        let start = Moment::now();
        thread::scope(|scope| {
            for thread in 0..threads {
                let turn = &turn;
                scope.spawn(move || (0..turns).for_each(|n| turn(thread, n)));
            }
        });
        best = best.min(start.elapsed_ns());
    }
    let each = best as f64 / f64::from(turns);
    println!("{what:<52} {threads} threads {each:>9.1} ns a turn and thread");
}

/// A pool of `frames` frames over the file.
fn pool_over(
    file: &Arc<dyn File>,
    log: &Arc<Log>,
    frames: usize,
) -> Result<Arc<Pool>, Box<dyn Error>> {
    let pool = Pool::new(PoolConfig {
        pages: frames,
        ..PoolConfig::default()
    })?;
    pool.register_database(DB, log.clone())?;
    let stats = Arc::new(FileStats::new(DB.0, 1, "/d/f"));
    let file = PoolFile {
        file: Arc::clone(file),
        stats,
        double_write: None,
    };
    pool.add_file(DB, FileId(1), file)?;
    Ok(pool)
}

fn fill(pool: &Pool, log: &Log) -> Result<(), Box<dyn Error>> {
    let start = Moment::now();
    for page_no in 0..PAGES {
        let mut page = pool.create(key(page_no), LatchRank::Data)?;
        page.begin_change();
        let lsn = Lsn(log.0.fetch_add(1, Ordering::Relaxed) + 1);
        let init = PageInit::new(page.key().page, PageType::Data, AllocUnitId(99 << 16), 4);
        PageMut::new(&mut page).format(&init);
        page.finish_change(lsn, true);
    }
    let each = start.elapsed_ns() as f64 / f64::from(PAGES);
    println!("create and format: {each:.0} ns a page");
    let stats = pool.checkpoint_pages(DB, CheckpointOptions::default())?;
    println!(
        "checkpoint: {} pages, {} runs, {} us",
        stats.pages, stats.runs, stats.elapsed_us
    );
    Ok(())
}

/// Some page, far from the one before.
fn scattered(thread: u32, turn: u32) -> u32 {
    (turn + thread * 77).wrapping_mul(2_654_435_761) % PAGES
}

fn measure_resident(pool: &Pool, threads: u32) {
    let turns = 2_000_000;
    let sh = |page: u32| drop(black_box(pool.fetch(key(page), Sh, LatchRank::Data)));
    let ex = |page: u32| drop(black_box(pool.fetch(key(page), Ex, LatchRank::Data)));
    measure("fetch SH, one hot page", threads, turns, |_, _| sh(7));
    measure("fetch SH, 64 pages", threads, turns, |_, n| sh(n % 64));
    measure(
        "fetch SH, 16,384 pages in disorder",
        threads,
        turns,
        |t, n| sh(scattered(t, n)),
    );
    measure("fetch EX, own page", threads, turns, |t, _| ex(t + 100));
    measure("fetch EX, one page for all", threads, turns / 4, |_, _| {
        ex(9);
    });
    measure(
        "fetch EX and change a dirty page",
        threads,
        turns,
        |t, n| {
            if let Ok(mut page) = pool.fetch(key(t + 200), Ex, LatchRank::Data) {
                page.begin_change();
                page[100] = n as u8;
                page.finish_change(Lsn(u64::from(n) + 1), false);
            }
        },
    );
}

fn main() -> Result<(), Box<dyn Error>> {
    let volume = MemoryVolume::new();
    volume.create_dir(Path::new("/d"))?;
    let file = volume.open(Path::new("/d/f"), Open::Create, Access::Data)?;
    file.resize(u64::from(PAGES) * PAGE_SIZE as u64, Fill::Allocate)?;
    let log = Arc::new(Log::default());
    let pool = pool_over(&file, &log, PAGES as usize + 2048)?;
    fill(&pool, &log)?;
    for threads in [1, 2] {
        measure_resident(&pool, threads);
    }
    for threads in [1, 2] {
        let small = pool_over(&file, &log, 2048)?;
        measure("miss: read, verify, evict", threads, 20_000, |t, n| {
            drop(black_box(small.fetch(
                key(scattered(t, n)),
                Sh,
                LatchRank::Data,
            )));
        });
    }
    Ok(())
}
