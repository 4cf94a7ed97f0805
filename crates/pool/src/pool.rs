//! The pool as its callers see it.

use crate::checkpoint::{CheckpointOptions, CheckpointStats};
use crate::config::PoolConfig;
use crate::core::Core;
use crate::descriptors::BufferDescriptor;
use crate::error::PoolError;
use crate::fetch::Suspects;
use crate::files::{FileState, PoolFile, Registry, WriteAhead};
use crate::force::PageRun;
use crate::frame::Frame;
use crate::free_list::FreeList;
use crate::guard::{PageGuard, PageWrite};
use crate::hand::Hand;
use crate::key::PageKey;
use crate::lazy;
use crate::lazy_state::LazyState;
use crate::loan::{FrameLoan, Loans};
use crate::memory::{Lines, Region};
use crate::mode::Mode;
use crate::near::FrameHint;
use crate::prefetch;
use crate::rank::LatchRank;
use crate::read_queue::ReadQueue;
use crate::snapshot::Snapshots;
use crate::table::PageTable;
use crate::watch::{PageMark, Watches};
use furrow_format::{DatabaseId, FileId, Lsn, PAGE_SIZE, PageId, PageVerify};
use furrow_io::IoErrorKind;
use furrow_io::sync::atomic::Ordering;
use furrow_io::sync::{Condvar, Mutex, RwLock};
use furrow_io::thread::{self, JoinHandle};
use furrow_observe::counters::Counter;
use furrow_observe::files::IoKind;
use std::fmt;
use std::sync::Arc;

/// The pages that a scan has requested in advance are at most this part of the pool.
const READ_AHEAD_PART: usize = 4;

/// The buffer pool of an instance. See the crate's header essay.
pub struct Pool {
    core: Arc<Core>,
    threads: Vec<JoinHandle<()>>,
    locked: Locked,
}

/// Whether a pool's memory is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locked {
    /// It was not requested.
    No,
    /// All of it.
    Bytes(u64),
    /// It was requested and refused: so many bytes, and the system's reason.
    Refused(u64, IoErrorKind),
}

impl Locked {
    /// Bytes that are locked.
    pub fn bytes(&self) -> u64 {
        match self {
            Locked::Bytes(bytes) => *bytes,
            Locked::No | Locked::Refused(..) => 0,
        }
    }
}

/// Locks the pool's memory if that is configured.
fn lock(memory: &mut Region, wanted: bool) -> Locked {
    let bytes = memory.len_bytes() as u64;
    match wanted.then(|| memory.lock()) {
        None => Locked::No,
        Some(Ok(())) => Locked::Bytes(bytes),
        Some(Err(reason)) => Locked::Refused(bytes, reason),
    }
}

/// One line: the frames and their pages are not printed.
impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.threads.len())
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// Adds to a performance counter of the pool's instance, for code that works on its pages and has no
    /// reference to the instance.
    #[inline]
    pub fn count(&self, counter: Counter, by: u64) {
        self.core.counters.add(counter, by);
    }

    /// Allocates the memory, and starts the lazy writer and the readers, if there are any.
    pub fn new(config: PoolConfig) -> Result<Arc<Pool>, PoolError> {
        config.check()?;
        debug_assert!(
            config.low_water() < config.high_water(),
            "the lazy writer has something to reach"
        );
        let pages = config.pages;
        let background = config.background;
        let readers = config.readers;
        let counters = Arc::clone(config.instruments.counters.total());
        counters.set(Counter::TargetPages, pages as i64);
        let mut memory = Region::new(pages, config.prefault)?;
        let locked = lock(&mut memory, config.lock_memory);
        let core = Arc::new(Core {
            memory,
            frames: (0..pages).map(|_| Frame::new()).collect(),
            table: PageTable::new(pages),
            watches: Watches::new(),
            free: FreeList::new(pages),
            registry: RwLock::new(Registry::default()),
            hand: Hand::new(),
            lazy: LazyState::default(),
            reads: ReadQueue::default(),
            loans: Loans::new(pages),
            written: (Mutex::new(()), Condvar::new()),
            staging: Mutex::new(Vec::new()),
            snapshots: Snapshots::new(),
            counters,
            config,
        });
        // Built first, so that its drop stops the threads when one of them cannot be started.
        let mut pool = Pool {
            core,
            threads: Vec::new(),
            locked,
        };
        if background {
            pool.start("lazy writer", lazy::run)?;
            for _ in 0..readers {
                pool.start("read-ahead", prefetch::run)?;
            }
        }
        Ok(Arc::new(pool))
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Whether its memory is locked.
    pub fn locked(&self) -> &Locked {
        &self.locked
    }

    fn start(&mut self, name: &'static str, body: fn(&Core)) -> Result<(), PoolError> {
        let core = Arc::clone(&self.core);
        let started = thread::spawn_named(name, move || body(&core));
        let failed = |reason| PoolError::Thread {
            name,
            reason: Arc::new(reason),
        };
        self.threads.push(started.map_err(failed)?);
        Ok(())
    }

    /// Registers a database, with the log that its pages depend on.
    pub fn register_database(
        &self,
        db: DatabaseId,
        log: Arc<dyn WriteAhead>,
    ) -> Result<(), PoolError> {
        self.core.registry.write().add_database(db, log)
    }

    /// How pages of a database are protected when they are written from now on. Pages without a checksum are
    /// all written to the double-write file first: redo could not detect that one of them is torn.
    pub fn set_page_verify(&self, db: DatabaseId, how: PageVerify) -> Result<(), PoolError> {
        self.core.registry.read().database(db)?.set_verify(how);
        Ok(())
    }

    /// The files of a database, by number.
    pub fn files_of(&self, db: DatabaseId) -> Vec<FileId> {
        let files = self.core.registry.read().files_of(db);
        files.iter().map(|file| file.id).collect()
    }

    /// Registers a file of a registered database. The double-write file is sized here; repair it before.
    pub fn add_file(&self, db: DatabaseId, id: FileId, file: PoolFile) -> Result<(), PoolError> {
        let database = self.core.registry.read().database(db)?;
        let most_pages = self.core.config.double_write_pages;
        let file = Arc::new(FileState::new(database, id, file, most_pages)?);
        self.core.registry.write().add_file(Arc::clone(&file))?;
        self.core.bind_source(&file);
        Ok(())
    }

    /// Removes a file from the pool and discards its pages, unwritten ones too. Waits for latches on them.
    pub fn remove_file(&self, db: DatabaseId, id: FileId) -> Result<(), PoolError> {
        let removed = self.core.registry.write().remove_file(db, id);
        removed.ok_or(PoolError::UnknownFile { db, file: id })?;
        self.core.forget_source(db, id);
        self.core.reads.purge(db);
        self.core.discard(|key| key.db == db && key.page.file == id);
        debug_assert!(
            self.files_of(db).iter().all(|file| *file != id),
            "a removed file is not written to"
        );
        Ok(())
    }

    /// Removes a database from the pool and discards its pages, unwritten ones too. Waits for latches on
    /// them. The caller ensures that no other thread uses the database any more.
    pub fn drop_database(&self, db: DatabaseId) -> Result<(), PoolError> {
        let removed = self.core.registry.write().remove_database(db);
        removed.ok_or(PoolError::UnknownDatabase { db })?;
        self.core.reads.purge(db);
        self.core.discard(|key| key.db == db);
        Ok(())
    }

    /// The page, latched; read from its file when it is not in memory. `mode` is [`crate::Sh`], [`crate::Up`]
    /// or [`crate::Ex`], or a [`crate::LatchMode`] chosen while running.
    #[inline]
    pub fn fetch<M: Mode>(
        &self,
        key: PageKey,
        mode: M,
        rank: LatchRank,
    ) -> Result<PageGuard<'_, M>, PoolError> {
        self.core.fetch(key, mode, rank, Suspects::Note)
    }

    /// [`Pool::fetch`] for redo: a page that cannot be read is not noted among the suspect pages, since a
    /// later record may rebuild it.
    pub fn fetch_unnoted<M: Mode>(
        &self,
        key: PageKey,
        mode: M,
        rank: LatchRank,
    ) -> Result<PageGuard<'_, M>, PoolError> {
        self.core.fetch(key, mode, rank, Suspects::Leave)
    }

    /// The page, latched; `None` when its latch is held in an incompatible mode or the page is being read in.
    /// A page that is not in memory is read. Exempt from the latch order.
    #[inline]
    pub fn try_fetch<M: Mode>(
        &self,
        key: PageKey,
        mode: M,
        rank: LatchRank,
    ) -> Result<Option<PageGuard<'_, M>>, PoolError> {
        self.core.try_fetch(key, mode, rank)
    }

    /// The page, latched, if it is in memory and can be latched at once; `None` otherwise. It never reads and
    /// never waits. For callers that do not know yet whether they need the page: it counts as a lookup only
    /// when they call [`Pool::count_lookups`].
    #[inline]
    pub fn fetch_at_hand<M: Mode>(
        &self,
        key: PageKey,
        mode: M,
        rank: LatchRank,
    ) -> Option<PageGuard<'_, M>> {
        self.core.fetch_at_hand(key, mode, rank)
    }

    /// Counts pages that were read by another way than a fetch.
    #[inline]
    pub fn count_lookups(&self, pages: u64) {
        self.core.count_lookups(pages);
    }

    /// Whether a page has neither changed nor left memory since it was marked, as far as the caller can
    /// observe: it observes everything that precedes the release of a latch that it now holds on another
    /// page. The answer may be `false` without a reason.
    #[inline]
    pub fn is_unchanged(&self, mark: PageMark) -> bool {
        self.core.watches.is_now(mark)
    }

    /// A page about to be formatted, latched EX, without reading it. It is all zeros, unless its old content
    /// was still in memory. If it is dropped without a change, it is discarded.
    pub fn create(&self, key: PageKey, rank: LatchRank) -> Result<PageWrite<'_>, PoolError> {
        self.core.create(key, rank)
    }

    /// Waits until so many frames may be latched by one thread that latches many at a time. No latch may be
    /// held, and until the loan is dropped the caller may wait only for latches and the disk. At most half of
    /// the pool is lent.
    pub fn borrow_frames(&self, frames: usize) -> FrameLoan<'_> {
        self.core.loans.lend(frames)
    }

    /// How many of `most` pages a scan may have requested in advance: those of a small pool would be removed
    /// before the scan comes to them.
    pub fn read_ahead(&self, most: usize) -> usize {
        most.min((self.core.frames.len() / READ_AHEAD_PART).max(1))
    }

    /// Requests pages to be read in the background. A hint; a later fetch of the page returns the error, if
    /// any.
    pub fn prefetch(&self, keys: &[PageKey]) -> Result<(), PoolError> {
        self.core.prefetch(keys, &mut |_| ())
    }

    /// [`Pool::prefetch`], and where each page was, in the order of `keys`; for none of them in a pool that
    /// reads nothing in the background.
    pub fn prefetch_noting(
        &self,
        keys: &[PageKey],
        seen: &mut Vec<FrameHint>,
    ) -> Result<(), PoolError> {
        self.core.prefetch(keys, &mut |hint| seen.push(hint))
    }

    /// Brings a page that is about to be read, and its frame, into the processor's cache. A scan calls it for
    /// the pages ahead, and would otherwise wait for memory at each page.
    #[inline]
    pub fn bring_near(&self, hint: FrameHint, lines: Lines) {
        self.core.bring_near(hint, lines);
    }

    /// [`Pool::fetch_at_hand`] of a page whose frame is known, maybe: it is not looked up. `None` also when
    /// it has left its frame.
    #[inline]
    pub fn fetch_near<M: Mode>(
        &self,
        hint: FrameHint,
        key: PageKey,
        mode: M,
        rank: LatchRank,
    ) -> Option<PageGuard<'_, M>> {
        self.core.fetch_near(hint, key, mode, rank)
    }

    /// Requests a page to be read in the background before all earlier requests: one that contains which
    /// pages to request next. A hint as well.
    pub fn prefetch_first(&self, key: PageKey) -> Result<(), PoolError> {
        self.core.prefetch_first(key)
    }

    /// Whether the page is in memory, or being read, at this moment.
    pub fn resident(&self, key: PageKey) -> bool {
        self.core
            .table
            .find_surely(key, &self.core.frames)
            .is_some()
    }

    /// Writes every page of the database that is dirty now, the files side by side, and makes durable all
    /// that was written to them.
    pub fn checkpoint_pages(
        &self,
        db: DatabaseId,
        options: CheckpointOptions,
    ) -> Result<CheckpointStats, PoolError> {
        self.core.checkpoint_pages(db, options)
    }

    /// Ends the images of pages in the double-write files of a database that is about to be closed: makes
    /// durable what was written, after which no page of it can be torn.
    pub fn forget_images(&self, db: DatabaseId) -> Result<(), PoolError> {
        let files = self.core.registry.read().files_of(db);
        let with_images = |file: &Arc<FileState>| match &file.double_write {
            Some(double_write) => double_write.forget(file.as_ref()),
            None => Ok(()),
        };
        files.iter().try_for_each(with_images)
    }

    /// Makes these pages durable as they are now: when it returns, their content at the call survives a power
    /// loss. Returns the number written by this call. No latch may be held.
    pub fn force_pages(&self, db: DatabaseId, runs: &[PageRun]) -> Result<u64, PoolError> {
        self.core.force_pages(db, runs)
    }

    /// Requests pages to be written in the background, because the caller will force them soon. A hint.
    pub fn write_soon(&self, db: DatabaseId, pages: &[PageId]) {
        self.core.write_soon(db, pages);
    }

    /// Reads neighbouring pages from their file, past the frames: what the disk has, each page whole. Waits
    /// for write-back of these pages, and write-back waits for it.
    pub fn read_from_file(
        &self,
        db: DatabaseId,
        first: PageId,
        bytes: &mut [u8],
    ) -> Result<(), PoolError> {
        let file = self.core.registry.read().file_of(PageKey::new(db, first))?;
        let from = first.page.0;
        let pages = (bytes.len() / PAGE_SIZE) as u32;
        debug_assert!(
            bytes.len().is_multiple_of(PAGE_SIZE),
            "files are read by pages"
        );
        let _pass = file.fence.read((from, from.saturating_add(pages)));
        let offset = u64::from(from) * PAGE_SIZE as u64;
        let timer = file.stats.begin(IoKind::Read, offset);
        let read = file.file.read_at(offset, bytes);
        timer.finish(bytes.len() as u64);
        read.map_err(|source| file.io_error(source))
    }

    /// The LSN from which redo would need the log if memory were lost now: the smallest over pages that are
    /// dirty, being written, or written and not yet synced. Read the log's tail *before* this call; `None`
    /// then means that tail.
    pub fn oldest_rec_lsn(&self, db: DatabaseId) -> Option<Lsn> {
        self.core.oldest_rec_lsn(db)
    }

    /// Pages of the database that are dirty now.
    pub fn dirty_count(&self, db: DatabaseId) -> u64 {
        let database = self.core.registry.read().database(db);
        database.map_or(0, |db| {
            u64::try_from(db.dirty.load(Ordering::Relaxed)).unwrap_or(0)
        })
    }

    /// Writes up to `pages` of the database's dirty pages, those with the oldest changes first, without
    /// waiting for latches: for a background writer that keeps recovery short. Returns the number written.
    pub fn write_oldest(&self, db: DatabaseId, pages: usize) -> Result<u64, PoolError> {
        self.core.write_oldest(db, pages)
    }

    /// The pages in memory, as the view of buffer descriptors shows them.
    pub fn descriptors(&self) -> Vec<BufferDescriptor> {
        self.core.descriptors()
    }

    /// Figures of the pool as a whole.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            frames: self.core.frames.len(),
            free: self.core.free.len(),
            free_list_stalls: self.core.lazy.stalls(),
            lazy_writes: self.core.lazy.pages_written(),
        }
    }

    /// Updates the pool's gauges among the performance counters. Called before they are read.
    pub fn publish_gauges(&self) {
        self.core.publish();
    }

    /// Removes every clean page that is not in use from memory; returns their number.
    pub fn drop_clean_buffers(&self) -> usize {
        self.core.drop_clean()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.core.lazy.stop();
        self.core.reads.stop();
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the buffer pool panicked");
            }
        }
    }
}

/// Figures of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolStats {
    /// Frames in all.
    pub frames: usize,
    /// Frames without a page.
    pub free: usize,
    /// Requests that found no free frame.
    pub free_list_stalls: u64,
    /// Pages written to free frames.
    pub lazy_writes: u64,
}
