//! Read-ahead: a few threads of the pool read pages before a thread waits for them.
//!
//! A request is a hint. It is dropped when the queue is full, cut short when no frame can be had without
//! waiting, and forgotten when the read fails: the next fetch of the page reads it and returns the error. In
//! a pool without reading threads there is no read-ahead.
//!
//! A thread that needs a page of a request that no reading thread has begun takes the request over. Otherwise
//! a scan that is faster than the reading threads would read page by page what lies ahead of it, and leave
//! only pieces to them.

#![expect(
    unsafe_code,
    reason = "the thread that reads pages in holds their frames EX"
)]

use crate::bytes::check_read;
use crate::core::{Core, PageWait};
use crate::error::PoolError;
use crate::files::FileState;
use crate::key::PageKey;
use crate::mode::LatchMode;
use crate::near::FrameHint;
use crate::read_queue::Request;
use furrow_format::{PAGE_SIZE, PageId, PageNo};
use furrow_io::ReadRun;
use furrow_observe::counters::Counter;
use furrow_observe::files::IoKind;
use furrow_observe::task::count_reads;
use std::io::IoSliceMut;

/// Pages in one read.
const RUN_PAGES: u32 = 64;

/// The body of a reading thread.
pub(crate) fn run(core: &Core) {
    while let Some(request) = core.reads.next() {
        core.serve_taken(request);
    }
}

impl Core {
    /// Requests pages that are not in memory, neighbours together. `seen` is given where each page was.
    pub(crate) fn prefetch(
        &self,
        keys: &[PageKey],
        seen: &mut dyn FnMut(FrameHint),
    ) -> Result<(), PoolError> {
        if !self.config.background || self.config.readers == 0 {
            return Ok(());
        }
        let mut wanted: Vec<PageKey> = Vec::new();
        // Frames of a large pool are far from the processor: all are on their way before one is looked at.
        for &key in keys {
            self.table.bring_near(key, &self.frames);
        }
        for &key in keys {
            let frame = self.table.find(key, &self.frames);
            if frame.is_none() {
                wanted.push(key);
            }
            seen(FrameHint::new(frame));
        }
        // Pages that a small pool would have to remove before they are used are not read.
        wanted.truncate((self.frames.len() / 2).max(1));
        wanted.sort_unstable();
        wanted.dedup();
        let next_to = |a: &PageKey, b: &PageKey| {
            let same_file = a.db == b.db && a.page.file == b.page.file;
            same_file && a.page.page.0.checked_add(1) == Some(b.page.page.0)
        };
        for stretch in wanted.chunk_by(next_to) {
            for run in stretch.chunks(RUN_PAGES as usize) {
                let Some(first) = run.first() else { continue };
                let file = self.file_of(*first)?;
                let (first, pages) = (first.page.page, run.len() as u32);
                debug_assert!(pages > 0 && pages <= RUN_PAGES, "a run of one read");
                crate::fetch::count_ahead(u64::from(pages));
                self.reads.push(Request { file, first, pages });
            }
        }
        Ok(())
    }

    /// Requests a page before all earlier requests.
    pub(crate) fn prefetch_first(&self, key: PageKey) -> Result<(), PoolError> {
        let threads = self.config.background && self.config.readers > 0;
        if threads && self.table.find(key, &self.frames).is_none() {
            let (file, first) = (self.file_of(key)?, key.page.page);
            let request = Request {
                file,
                first,
                pages: 1,
            };
            crate::fetch::count_ahead(1);
            self.reads.push_first(request, key);
        }
        Ok(())
    }

    /// Does the work of the request for this page, if one waits for a thread; returns whether there was one.
    pub(crate) fn take_over(&self, key: PageKey, mode: LatchMode) -> bool {
        let Some(request) = self.reads.take(key) else {
            return false;
        };
        let _wait = PageWait::for_io(key, mode);
        self.serve_taken(request);
        true
    }

    fn serve_taken(&self, request: Request) {
        let db = request.file.db.id;
        self.serve(&request);
        drop(request);
        self.reads.served(db);
    }

    fn serve(&self, request: &Request) {
        let mut entered: Vec<(PageKey, u32)> = Vec::new();
        for page in (request.first.0..).take(request.pages as usize) {
            let id = PageId {
                file: request.file.id,
                page: PageNo(page),
            };
            let key = PageKey::new(request.file.db.id, id);
            // A hint is enough: `enter` checks it.
            if self.table.find(key, &self.frames).is_some() {
                self.read_run(&request.file, &mut entered);
                continue;
            }
            let Some(index) = self.take_spare_frame() else {
                break;
            };
            match self.enter(index, key) {
                Ok(()) => entered.push((key, index)),
                Err(()) => self.read_run(&request.file, &mut entered),
            }
        }
        self.read_run(&request.file, &mut entered);
    }

    /// Reads neighbours whose frames are entered and held EX, and then releases the frames.
    fn read_run(&self, file: &FileState, entered: &mut Vec<(PageKey, u32)>) {
        let Some(&(first, _)) = entered.first() else {
            return;
        };
        debug_assert!(
            entered
                .windows(2)
                .all(|two| two[0].0.page.page.0 + 1 == two[1].0.page.page.0),
            "a run is read from one place of the file"
        );
        let mut slices: Vec<IoSliceMut<'_>> = entered
            .iter()
            .map(|&(_, index)| {
                // SAFETY: each frame is entered once, and its latch held EX since it was taken.
                IoSliceMut::new(unsafe { self.memory.page_mut(index as usize) })
            })
            .collect();
        let offset = u64::from(first.page.page.0) * PAGE_SIZE as u64;
        let bytes = (slices.len() * PAGE_SIZE) as u64;
        let timer = file.stats.begin(IoKind::Read, offset);
        let result = file.file.read(&mut [ReadRun {
            offset,
            bufs: &mut slices,
        }]);
        match result {
            Ok(()) => {
                timer.finish(bytes);
                self.counters.add(Counter::PageReads, entered.len() as u64);
                count_reads(entered.len() as u64);
                self.counters
                    .add(Counter::ReadaheadPages, entered.len() as u64);
                entered
                    .drain(..)
                    .for_each(|(key, index)| self.admit(file, key, index));
            }
            Err(error) => {
                drop(timer);
                tracing::debug!(%error, "read-ahead failed");
                entered.drain(..).for_each(|(_, index)| self.give_up(index));
            }
        }
    }

    fn admit(&self, file: &FileState, key: PageKey, index: u32) {
        // SAFETY: as in `read_run`.
        let page = unsafe { self.memory.page_mut(index as usize) };
        match check_read(page, key.page) {
            Ok(()) => {
                let latch = &self.frame(index).latch;
                latch.set_reference();
                latch.release_loaded(false);
            }
            Err(fault) => {
                let path = file.file.path().into();
                let error = PoolError::BadPage { key, path, fault };
                error.note_suspect(key);
                self.frame(index).set_failure(key, error);
                self.give_up(index);
            }
        }
    }
}
