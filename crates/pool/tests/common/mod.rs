//! What the tests of the pool share: a log that only counts, files that watch the rules, pages with a
//! content.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests are tests"
)]
#![expect(dead_code, unreachable_pub, reason = "each test uses its part")]

use furrow_format::{
    AllocUnitId, DatabaseId, FileId, Lsn, PAGE_SIZE, Page, PageBuf, PageId, PageInit, PageMut,
    PageType, stamp_checksum, verify,
};
use furrow_io::{Access, File, Fill, IoError, MemoryVolume, Open, ReadRun, Volume, WriteRun};
use furrow_observe::Instruments;
use furrow_observe::files::FileStats;
use furrow_pool::{LogFailure, PageKey, PageWrite, Pool, PoolConfig, PoolFile, WriteAhead};
use std::io::IoSlice;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

pub const DB: DatabaseId = DatabaseId(5);

/// A log of which only the numbers exist.
#[derive(Debug, Default)]
pub struct FakeLog {
    pub last: AtomicU64,
    pub durable: AtomicU64,
    pub redo: AtomicU64,
    pub broken: AtomicBool,
    /// Has little space left.
    pub short: AtomicBool,
    /// How often it was made durable.
    pub flushes: AtomicU64,
    /// Reports that it is durable without being so.
    pub lies: AtomicBool,
}

impl FakeLog {
    pub fn append(&self) -> Lsn {
        Lsn(self.last.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

impl WriteAhead for FakeLog {
    fn make_durable(&self, lsn: Lsn) -> Result<(), LogFailure> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(Arc::new(std::io::Error::other("log device gone")));
        }
        assert!(
            lsn.0 <= self.last.load(Ordering::SeqCst),
            "asked for a record never appended"
        );
        if !self.lies.load(Ordering::SeqCst) {
            let before = self.durable.fetch_max(lsn.0, Ordering::SeqCst);
            let flushed = u64::from(before < lsn.0);
            self.flushes.fetch_add(flushed, Ordering::SeqCst);
        }
        Ok(())
    }

    fn durable(&self) -> Lsn {
        Lsn(self.durable.load(Ordering::SeqCst) + 1)
    }

    fn is_short(&self) -> bool {
        self.short.load(Ordering::SeqCst)
    }

    fn tail(&self) -> Lsn {
        Lsn(self.last.load(Ordering::SeqCst) + 1)
    }

    fn redo_point(&self) -> Lsn {
        Lsn(self.redo.load(Ordering::SeqCst))
    }
}

/// A data file that fails the test when a page is written that breaks a rule.
#[derive(Debug)]
pub struct Watched {
    pub inner: Arc<dyn File>,
    pub id: FileId,
    pub log: Arc<FakeLog>,
    pub pages_written: AtomicU64,
    pub writes: AtomicU64,
    pub syncs: AtomicU64,
}

impl Watched {
    fn check(&self, run: &WriteRun<'_, '_>) {
        let bytes: Vec<u8> = run
            .bufs
            .iter()
            .flat_map(|buf| buf.iter().copied())
            .collect();
        let first = u32::try_from(run.offset / PAGE_SIZE as u64).unwrap();
        for (page_no, bytes) in (first..).zip(bytes.chunks_exact(PAGE_SIZE)) {
            let page: &PageBuf = bytes.first_chunk().unwrap();
            verify(page, PageId::new(self.id.0, page_no)).expect("a page leaves memory protected");
            let durable = self.log.durable.load(Ordering::SeqCst);
            assert!(
                Page::new(page).lsn().0 <= durable,
                "page {page_no} overtook the log"
            );
            self.pages_written.fetch_add(1, Ordering::SeqCst);
        }
    }
}

impl File for Watched {
    fn read(&self, runs: &mut [ReadRun<'_, '_>]) -> Result<(), IoError> {
        self.inner.read(runs)
    }
    fn write(&self, runs: &[WriteRun<'_, '_>]) -> Result<(), IoError> {
        runs.iter().for_each(|run| self.check(run));
        self.writes.fetch_add(runs.len() as u64, Ordering::SeqCst);
        self.inner.write(runs)
    }
    fn sync(&self) -> Result<(), IoError> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
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

/// A pool over one database.
pub struct Bench {
    pub pool: Arc<Pool>,
    pub log: Arc<FakeLog>,
    pub files: Vec<Arc<Watched>>,
    pub instruments: Arc<Instruments>,
}

/// What [`bench_on`] makes.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub frames: usize,
    pub files: u16,
    pub file_pages: u32,
    pub double_write: bool,
}

pub fn config(frames: usize) -> PoolConfig {
    PoolConfig {
        pages: frames,
        batch_pages: 8,
        write_run_pages: 4,
        double_write_pages: 24,
        // Longer than a busy machine lets a thread wait.
        buffer_wait: Duration::from_secs(60),
        instruments: Instruments::new(),
        ..PoolConfig::default()
    }
}

pub fn bench(shape: Shape) -> Bench {
    bench_on(&MemoryVolume::new(), shape, config(shape.frames))
}

/// Makes the files, every page formatted and stamped, and a pool over them.
pub fn bench_on(volume: &dyn Volume, shape: Shape, config: PoolConfig) -> Bench {
    volume.create_dir(Path::new("/data")).unwrap();
    for id in 1..=shape.files {
        let file = volume
            .open(Path::new(&name(id)), Open::Create, Access::Data)
            .unwrap();
        file.resize(
            u64::from(shape.file_pages) * PAGE_SIZE as u64,
            Fill::Allocate,
        )
        .unwrap();
        for page_no in 0..shape.file_pages {
            let mut page = [0; PAGE_SIZE];
            format(&mut page, PageId::new(id, page_no));
            set_value(&mut page, 0);
            stamp_checksum(&mut page);
            write_raw(file.as_ref(), page_no, &page);
        }
        file.sync().unwrap();
        if shape.double_write {
            volume
                .open(Path::new(&dw_name(id)), Open::Create, Access::Data)
                .unwrap();
        }
    }
    open_on(volume, shape, config, Arc::new(FakeLog::default()))
}

/// A pool over files that exist.
pub fn open_on(volume: &dyn Volume, shape: Shape, config: PoolConfig, log: Arc<FakeLog>) -> Bench {
    let instruments = Arc::clone(&config.instruments);
    let pool = Pool::new(config).unwrap();
    pool.register_database(DB, log.clone()).unwrap();
    let mut files = Vec::new();
    for id in 1..=shape.files {
        let open = |name: String| volume.open(Path::new(&name), Open::Existing, Access::Data);
        let watched = Arc::new(Watched {
            inner: open(name(id)).unwrap(),
            id: FileId(id),
            log: Arc::clone(&log),
            pages_written: AtomicU64::new(0),
            writes: AtomicU64::new(0),
            syncs: AtomicU64::new(0),
        });
        let file = PoolFile {
            file: watched.clone(),
            stats: Arc::new(FileStats::new(DB.0, id, &name(id))),
            double_write: shape.double_write.then(|| open(dw_name(id)).unwrap()),
        };
        pool.add_file(DB, FileId(id), file).unwrap();
        files.push(watched);
    }
    Bench {
        pool,
        log,
        files,
        instruments,
    }
}

pub fn name(id: u16) -> String {
    format!("/data/f{id}.ndf")
}

pub fn dw_name(id: u16) -> String {
    format!("/data/f{id}.ndf.dw")
}

pub fn key(file: u16, page: u32) -> PageKey {
    PageKey::new(DB, PageId::new(file, page))
}

pub fn format(page: &mut PageBuf, id: PageId) {
    let init = PageInit::new(id, PageType::Data, AllocUnitId(99 << 16), 4);
    PageMut::new(page).format(&init);
}

/// Fills the body so that every sector depends on `value`, and no two sectors cancel.
pub fn set_value(page: &mut PageBuf, value: u64) {
    for (at, word) in page[96..].chunks_exact_mut(8).enumerate() {
        let mixed = (value + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ (at as u64) << 7);
        word.copy_from_slice(&mixed.rotate_left(at as u32 % 61).to_le_bytes());
    }
    page[96..104].copy_from_slice(&value.to_le_bytes());
}

/// The value of a page, every byte of which is checked.
pub fn value(page: &PageBuf) -> u64 {
    let value = u64::from_le_bytes(page[96..104].try_into().unwrap());
    let mut expected = *page;
    set_value(&mut expected, value);
    assert!(
        *page == expected,
        "page of value {value} is not of one piece"
    );
    value
}

/// A logged change of a page, by the rules of the dirty protocol.
pub fn change(log: &FakeLog, page: &mut PageWrite<'_>, value: u64) -> Lsn {
    page.begin_change();
    let lsn = log.append();
    set_value(page, value);
    page.finish_change(lsn, false);
    lsn
}

pub fn write_raw(file: &dyn File, page_no: u32, page: &[u8]) {
    let offset = u64::from(page_no) * PAGE_SIZE as u64;
    file.write(&[WriteRun {
        offset,
        bufs: &[IoSlice::new(page)],
    }])
    .unwrap();
}

pub fn read_raw(file: &dyn File, page_no: u32) -> PageBuf {
    let mut page = [0; PAGE_SIZE];
    let offset = u64::from(page_no) * PAGE_SIZE as u64;
    file.read(&mut [ReadRun {
        offset,
        bufs: &mut [std::io::IoSliceMut::new(&mut page)],
    }])
    .unwrap();
    page
}
