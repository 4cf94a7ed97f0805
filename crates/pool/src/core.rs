//! The state that the pool's callers and its own threads share.

#![expect(
    unsafe_code,
    reason = "a page is classified under the latch that was waited for"
)]

use crate::config::PoolConfig;
use crate::error::PoolError;
use crate::files::{Database, FileState, Registry};
use crate::frame::Frame;
use crate::free_list::FreeList;
use crate::hand::Hand;
use crate::key::PageKey;
use crate::latch::Sleeps;
use crate::lazy_state::LazyState;
use crate::loan::Loans;
use crate::memory::Region;
use crate::mode::LatchMode;
use crate::read_queue::ReadQueue;
use crate::snapshot::Snapshots;
use crate::table::PageTable;
use crate::watch::{PageMark, Watches};
use furrow_format::{Lsn, Page, PageType};
use furrow_io::AlignedBuf;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use furrow_io::sync::{Condvar, Mutex, RwLock};
use furrow_io::time::Moment;
use furrow_observe::counters::CounterSet;
use furrow_observe::latches::{LatchClass, PageKind, PageLatchKey};
use furrow_observe::task::{self, Resource, Wait};
use furrow_observe::waits::WaitType;
use std::sync::Arc;

/// The pool without its threads.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: PoolConfig,
    pub(crate) counters: Arc<CounterSet>,
    pub(crate) memory: Region,
    pub(crate) frames: Box<[Frame]>,
    pub(crate) table: PageTable,
    /// The counters behind the marks of watched pages.
    pub(crate) watches: Watches,
    pub(crate) free: FreeList,
    pub(crate) registry: RwLock<Registry>,
    /// The clock hand: next frame to look at for replacement.
    pub(crate) hand: Hand,
    pub(crate) lazy: LazyState,
    pub(crate) reads: ReadQueue,
    /// Frames lent to threads that latch many pages.
    pub(crate) loans: Loans,
    /// Notified whenever pages have been written.
    pub(crate) written: (Mutex<()>, Condvar),
    /// Buffers that pages are copied to on their way out, for use again.
    pub(crate) staging: Mutex<Vec<AlignedBuf>>,
    pub(crate) snapshots: Snapshots,
}

/// The index part of the allocation unit of the first user table; those of system tables are below.
const FIRST_USER_INDEX: u64 = 256;

/// The wait for one page latch, from the first sleep on.
pub(crate) struct PageWait {
    key: PageKey,
    mode: LatchMode,
    wait: Option<Wait>,
    /// Whether the page was being read in.
    is_io: bool,
    signalled: Moment,
}

impl PageWait {
    pub(crate) fn new(key: PageKey, mode: LatchMode) -> PageWait {
        PageWait {
            key,
            mode,
            wait: None,
            is_io: false,
            signalled: Moment::default(),
        }
    }

    /// A wait for the disk.
    pub(crate) fn for_io(key: PageKey, mode: LatchMode) -> Wait {
        task::wait(io_wait(mode), resource(key))
    }
}

impl Sleeps for PageWait {
    fn begin(&mut self, loading: bool) {
        if self.wait.is_none() {
            let kind = if loading {
                io_wait(self.mode)
            } else {
                memory_wait(self.mode)
            };
            self.wait = Some(task::wait(kind, resource(self.key)));
            self.is_io = loading;
        }
    }

    fn end(&mut self, signalled_ns: u64) {
        self.signalled = Moment::from_ns(signalled_ns);
    }
}

impl PageWait {
    /// Ends the wait, if there was one; `kind` is asked for what the page is.
    #[inline]
    fn finish(self, kind: impl FnOnce() -> PageKind) {
        if self.wait.is_some() {
            self.charge(kind());
        }
    }

    #[cold]
    fn charge(mut self, kind: PageKind) {
        let Some(wait) = self.wait.take() else { return };
        let us = if self.signalled > Moment::default() {
            wait.finish_signalled(self.signalled)
        } else {
            wait.finish()
        };
        let task = task::current();
        let instruments = task.instruments();
        instruments.charge_latch(LatchClass::Buffer, us);
        if self.is_io {
            return;
        }
        let page = (self.key.page.file.0, self.key.page.page.0);
        debug_assert!(
            !kind.is_allocation_map() || page.1 > 0,
            "page 0 is the header of its file"
        );
        let row = PageLatchKey {
            db: self.key.db.0,
            kind,
            mode: self.mode.name(),
            page: kind.is_allocation_map().then_some(page),
        };
        instruments.latches.pages.charge(row, us);
    }
}

fn resource(key: PageKey) -> Resource {
    Resource::Page {
        db: key.db.0,
        file: key.page.file.0,
        page: key.page.page.0,
    }
}

fn memory_wait(mode: LatchMode) -> WaitType {
    match mode {
        LatchMode::Sh => WaitType::PageLatchSh,
        LatchMode::Up => WaitType::PageLatchUp,
        LatchMode::Ex => WaitType::PageLatchEx,
    }
}

fn io_wait(mode: LatchMode) -> WaitType {
    match mode {
        LatchMode::Sh => WaitType::PageIoLatchSh,
        LatchMode::Up => WaitType::PageIoLatchUp,
        LatchMode::Ex => WaitType::PageIoLatchEx,
    }
}

impl Core {
    #[inline]
    pub(crate) fn frame(&self, index: u32) -> &Frame {
        &self.frames[index as usize]
    }

    pub(crate) fn file_of(&self, key: PageKey) -> Result<Arc<FileState>, PoolError> {
        self.registry.read().file_of(key)
    }

    fn database_of(&self, index: u32) -> Option<Arc<Database>> {
        let key = self.frame(index).key()?;
        self.registry.read().database(key.db).ok()
    }

    /// Sleeps until `index` is latched in `mode`.
    pub(crate) fn latch(&self, index: u32, key: PageKey, mode: LatchMode) {
        let mut wait = PageWait::new(key, mode);
        self.frame(index).latch.acquire(mode, &mut wait);
        wait.finish(|| self.kind_of(index, key));
    }

    /// What the page in a frame is for; the caller holds its latch.
    fn kind_of(&self, index: u32, key: PageKey) -> PageKind {
        debug_assert!(
            self.frame(index).latch.is_busy(),
            "a page is classified under its latch"
        );
        if !self.frame(index).holds(key) {
            return PageKind::Other;
        }
        // SAFETY: the caller holds the latch in some mode, so that no thread writes the page meanwhile.
        let page = Page::new(unsafe { self.memory.page(index as usize) });
        // Units of system tables have index parts below that of the first user table.
        let is_system = page.unit().0 >> 48 < FIRST_USER_INDEX;
        match page.page_type() {
            PageType::Pfs => PageKind::Pfs,
            PageType::Gam => PageKind::Gam,
            PageType::Sgam => PageKind::Sgam,
            PageType::Iam => PageKind::Iam,
            PageType::Data | PageType::Index if is_system => PageKind::Catalog,
            PageType::Index => PageKind::Index,
            PageType::Data => PageKind::Data,
            _ => PageKind::Other,
        }
    }

    pub(crate) fn upgrade(&self, index: u32) {
        let frame = self.frame(index);
        let key = PageKey::unpack(frame.key_word());
        debug_assert!(frame.key().is_some(), "a latched frame holds a page");
        let mut wait = PageWait::new(key, LatchMode::Ex);
        frame.latch.upgrade(&mut wait);
        wait.finish(|| self.kind_of(index, key));
    }

    #[inline]
    pub(crate) fn begin_change(&self, index: u32) {
        if !self.frame(index).is_open_to_change() {
            self.begin_first_change(index);
        }
    }

    #[cold]
    fn begin_first_change(&self, index: u32) {
        self.end_watch(index);
        let database = self.database_of(index);
        // A page whose database is gone is never written; zero would hold nothing back.
        let tail = || database.as_ref().map_or(Lsn::ZERO, |db| db.log.tail());
        if self.frame(index).make_dirty(tail)
            && let Some(database) = &database
        {
            database.dirty.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn begin_change_at(&self, index: u32, rec_lsn: Lsn) {
        self.end_watch(index);
        if self.frame(index).make_dirty(|| rec_lsn)
            && let Some(database) = self.database_of(index)
        {
            database.dirty.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Marks the page in a frame that the caller holds SH.
    pub(crate) fn watch(&self, index: u32) -> PageMark {
        self.frame(index).watch();
        self.watches.mark(index)
    }

    /// Invalidates the marks of a page that is about to change. The caller holds EX.
    pub(crate) fn end_watch(&self, index: u32) {
        if self.frame(index).take_watch() && !mutated(Mutation::KeepMarks) {
            self.watches.raise(index);
        }
        debug_assert!(
            !self.frame(index).is_watched(),
            "a page that is about to change is not watched"
        );
    }

    /// Takes a page out of a frame whose latch the caller holds EX. The page's mark is invalidated before the
    /// page table drops the page: after that another thread may load the page into another frame and change
    /// it there.
    pub(crate) fn leave(&self, index: u32, key: PageKey) {
        self.end_watch(index);
        self.table.remove(key, index, &self.frames);
        debug_assert!(
            self.frame(index).holds(key),
            "a page leaves the frame that it is in"
        );
        self.frame(index).set_key(None);
    }

    /// Removes the mark of a page that the clock hand passes, if it has one and its latch is free; returns
    /// whether it had one.
    pub(crate) fn unwatch_idle(&self, index: u32) -> bool {
        let frame = self.frame(index);
        if !frame.is_watched() || !frame.latch.claim() {
            return false;
        }
        let watched = frame.is_watched();
        self.end_watch(index);
        frame.latch.release_loaded(false);
        watched
    }

    /// The numbers of all frames that now hold a page for which `wanted` is true. A hint: no latch is held.
    pub(crate) fn frames_where(&self, wanted: impl Fn(PageKey, &Frame) -> bool) -> Vec<u32> {
        let held = |(index, frame): (usize, &Frame)| {
            let key = frame.key()?;
            wanted(key, frame).then_some(index as u32)
        };
        self.frames.iter().enumerate().filter_map(held).collect()
    }
}
