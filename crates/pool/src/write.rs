//! From dirty pages in memory to bytes in the file.
//!
//! # Steps, for each file
//! 1. Sort the pages. Latch each SH, take it over ([`crate::frame::Frame::claim_write`]), copy it, let it go.
//! 2. Checksum the copies.
//! 3. Make the log durable up to the highest LSN among them.
//! 4. Write those to the double-write file whose place on the disk may hold an image that recovery needs,
//!    and make that durable.
//! 5. Write all of them in place: one batch, a run for each stretch of neighbours.
//! 6. Store the smallest `rec_lsn` with the file until it is synced; mark the pages written.
//!
//! A thread that has copied pages and not yet written them waits only for the log and the disk. Before it
//! waits for a latch or for another writer, it writes them: the holder of that latch may wait for a frame.

use crate::bytes::{how, page_lsn, stamp};
use crate::core::Core;
use crate::error::PoolError;
use crate::files::FileState;
use crate::frame::Claimed;
use crate::key::PageKey;
use crate::mode::LatchMode;
use crate::pace::Pace;
use furrow_format::{Lsn, PAGE_SIZE, PageId, PageNo, PageVerify};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use furrow_io::time::Moment;
use furrow_io::{AlignedBuf, IoError, IoErrorKind, IoOp, WriteRun, thread};
use furrow_observe::counters::Counter;
use furrow_observe::files::IoKind;
use furrow_observe::task::count_writes;
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::ops::{AddAssign, Range};
use std::sync::Arc;

/// What to do with a page that a thread holds EX or is writing, or that waits for a log short of space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    /// Leave it out.
    Skip,
    /// Wait for it; make the log durable in any case.
    Wait,
}

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Totals {
    pub(crate) pages: u64,
    pub(crate) runs: u64,
    pub(crate) double_written: u64,
}

impl AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.pages += other.pages;
        self.runs += other.runs;
        self.double_written += other.double_written;
    }
}

/// What was written, and the first error.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) totals: Totals,
    pub(crate) error: Option<PoolError>,
}

impl Outcome {
    pub(crate) fn merge(&mut self, other: Outcome) {
        self.totals += other.totals;
        if self.error.is_none() {
            self.error = other.error;
        }
    }
}

/// Frames of one file with their pages, in the order of the file.
pub(crate) type FilePages = Vec<(PageNo, u32)>;

/// A page that was copied and is to be written.
#[derive(Debug)]
struct Copied {
    index: u32,
    page: PageNo,
    lsn: Lsn,
    claimed: Claimed,
}

impl Core {
    /// The frames by file, sorted; those whose page has gone meanwhile are left out. Each frame's key is read
    /// once: without its latch it may hold another page a moment later.
    pub(crate) fn by_file(&self, indexes: &[u32]) -> Vec<(Arc<FileState>, FilePages)> {
        let mut groups: BTreeMap<_, FilePages> = BTreeMap::new();
        for &index in indexes {
            if let Some(key) = self.frame(index).key() {
                let pages = groups.entry((key.db, key.page.file)).or_default();
                pages.push((key.page.page, index));
            }
        }
        let registry = self.registry.read();
        let with_file = |((db, file), mut pages): (_, FilePages)| {
            pages.sort_unstable();
            let first = PageId {
                file,
                page: pages.first()?.0,
            };
            Some((registry.file_of(PageKey::new(db, first)).ok()?, pages))
        };
        groups.into_iter().filter_map(with_file).collect()
    }

    /// Writes the dirty pages among the frames, the files side by side.
    pub(crate) fn write_pages(&self, indexes: &[u32], busy: Busy, pace: Option<&Pace>) -> Outcome {
        let groups = self.by_file(indexes);
        self.side_by_side(groups, |file, pages| {
            self.write_file(file, pages, busy, pace)
        })
    }

    /// Runs `work` for every file, each in its own thread when there are several and the pool has threads.
    pub(crate) fn side_by_side(
        &self,
        groups: Vec<(Arc<FileState>, FilePages)>,
        work: impl Fn(&FileState, &FilePages) -> Outcome + Sync,
    ) -> Outcome {
        let work = &work;
        let mut total = Outcome::default();
        if !self.config.background {
            for (file, pages) in groups {
                total.merge(work(&file, &pages));
            }
            return total;
        }
        thread::scope(|scope| {
            let mut groups = groups.into_iter();
            let own = groups.next_back();
            let mut helpers = Vec::new();
            for (file, pages) in groups {
                let shared = Arc::new((file, pages));
                let given = Arc::clone(&shared);
                let name = format!("writer {}", shared.0.id);
                match thread::spawn_scoped(scope, name, move || work(&given.0, &given.1)) {
                    Ok(helper) => helpers.push(helper),
                    // No thread can be started: one after the other, then.
                    Err(_) => total.merge(work(&shared.0, &shared.1)),
                }
            }
            if let Some((file, pages)) = own {
                total.merge(work(&file, &pages));
            }
            for helper in helpers {
                match helper.join() {
                    Ok(outcome) => total.merge(outcome),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        total
    }

    /// Writes the dirty pages among these of one file.
    pub(crate) fn write_file(
        &self,
        file: &FileState,
        pages: &FilePages,
        busy: Busy,
        pace: Option<&Pace>,
    ) -> Outcome {
        let mut batch = Batch::new(self, file, pace);
        let error = pages
            .iter()
            .try_for_each(|&(page, index)| batch.add(index, page, busy))
            .and_then(|()| batch.flush())
            .err();
        Outcome {
            totals: batch.totals,
            error,
        }
    }

    /// Waits until no thread writes the page.
    pub(crate) fn wait_written(&self, index: u32, key: PageKey) {
        let frame = self.frame(index);
        let mut lock = self.written.0.lock();
        while frame.holds(key) && frame.is_writing() {
            self.written.1.wait(&mut lock);
        }
    }

    fn announce_written(&self) {
        // Lock and unlock: a thread that checked before this is asleep by now, a thread that checks later
        // sees the new state.
        drop(self.written.0.lock());
        self.written.1.notify_all();
    }
}

/// Copies of pages of one file, gathered until there are enough for a write.
struct Batch<'c> {
    core: &'c Core,
    file: &'c FileState,
    pace: Option<&'c Pace>,
    staging: AlignedBuf,
    copies: Vec<Copied>,
    totals: Totals,
}

impl<'c> Batch<'c> {
    fn new(core: &'c Core, file: &'c FileState, pace: Option<&'c Pace>) -> Batch<'c> {
        let size = core.config.batch_pages as usize * PAGE_SIZE;
        let staging = core
            .staging
            .lock()
            .pop()
            .unwrap_or_else(|| AlignedBuf::new(size));
        Batch {
            core,
            file,
            pace,
            staging,
            copies: Vec::new(),
            totals: Totals::default(),
        }
    }

    fn key(&self, page: PageNo) -> PageKey {
        let page = PageId {
            file: self.file.id,
            page,
        };
        PageKey::new(self.file.db.id, page)
    }

    fn add(&mut self, index: u32, page: PageNo, busy: Busy) -> Result<(), PoolError> {
        let key = self.key(page);
        let frame = self.core.frame(index);
        loop {
            if !frame.latch.try_share_quietly() {
                if busy == Busy::Skip {
                    return Ok(());
                }
                self.flush()?;
                self.core.latch(index, key, LatchMode::Sh);
            }
            let held_back = busy == Busy::Skip && self.is_held_back(index);
            let claimed = if frame.holds(key) && !held_back {
                frame.claim_write()
            } else {
                None
            };
            debug_assert!(
                claimed.is_none() || frame.is_writing(),
                "a claimed page is being written"
            );
            if let Some(claimed) = claimed {
                self.copy(index, page, claimed);
            }
            frame.latch.release(LatchMode::Sh);
            if claimed.is_some() {
                let full = self.copies.len() >= self.core.config.batch_pages as usize;
                return if full { self.flush() } else { Ok(()) };
            }
            if busy == Busy::Skip || !frame.holds(key) || frame.is_clean() {
                return Ok(());
            }
            self.flush()?;
            self.core.wait_written(index, key);
        }
    }

    #[expect(unsafe_code, reason = "the latch stands for the borrow")]
    fn is_held_back(&self, index: u32) -> bool {
        // SAFETY: `add` holds the page's latch SH.
        let page = unsafe { self.core.memory.page(index as usize) };
        self.file.db.holds_back(page_lsn(page))
    }

    #[expect(unsafe_code, reason = "the latch stands for the borrow")]
    fn copy(&mut self, index: u32, page: PageNo, claimed: Claimed) {
        // SAFETY: `add` holds the page's latch SH.
        let source = unsafe { self.core.memory.page(index as usize) };
        debug_assert!(
            self.copies.last().is_none_or(|last| last.page < page),
            "pages are written in the order of the file, each once"
        );
        let start = self.copies.len() * PAGE_SIZE;
        debug_assert!(
            start + PAGE_SIZE <= self.staging.len(),
            "a batch has space for its pages"
        );
        self.staging[start..start + PAGE_SIZE].copy_from_slice(source);
        self.file.db.dirty.fetch_sub(1, Ordering::Relaxed);
        self.copies.push(Copied {
            index,
            page,
            lsn: page_lsn(source),
            claimed,
        });
    }

    /// Writes what has been copied.
    fn flush(&mut self) -> Result<(), PoolError> {
        if self.copies.is_empty() {
            return Ok(());
        }
        let result = self.write();
        let copies = std::mem::take(&mut self.copies);
        match &result {
            Ok(()) => {
                copies
                    .iter()
                    .for_each(|copy| self.core.frame(copy.index).finish_write());
            }
            Err(error) => self.abandon(&copies, error),
        }
        self.core.announce_written();
        if let Some(pace) = self.pace {
            pace.keep(copies.len() as u64);
        }
        result
    }

    /// Gives pages back that could not be written: they stay dirty, and in memory.
    fn abandon(&self, copies: &[Copied], error: &PoolError) {
        // First of all: an EX holder may wait for a frame, and gives up when it sees this.
        self.core.lazy.note_failure(error);
        for copy in copies {
            let frame = self.core.frame(copy.index);
            self.core
                .latch(copy.index, self.key(copy.page), LatchMode::Sh);
            if frame.abandon_write(copy.claimed) {
                self.file.db.dirty.fetch_add(1, Ordering::Relaxed);
            }
            frame.latch.release(LatchMode::Sh);
        }
    }

    fn write(&mut self) -> Result<(), PoolError> {
        let (file, log) = (self.file, &self.file.db.log);
        file.check()?;
        let verify = file.db.verify();
        let pages = self.staging.chunks_exact_mut(PAGE_SIZE);
        for (copy, page) in self.copies.iter().zip(pages) {
            stamp(page, how(copy.page, verify));
        }
        let lsn = self
            .copies
            .iter()
            .map(|copy| copy.lsn)
            .max()
            .unwrap_or(Lsn::ZERO);
        let durable = match mutated(Mutation::DropLogFirst) {
            true => Ok(()),
            false => log.make_durable(lsn),
        };
        durable.map_err(|reason| PoolError::Log {
            db: file.db.id,
            lsn,
            reason,
        })?;
        debug_assert!(
            mutated(Mutation::DropLogFirst) || lsn == Lsn::ZERO || lsn < log.durable(),
            "a page is written when the log is durable up to its LSN"
        );
        self.core
            .rescue(file, &self.copies.iter().map(|copy| copy.page));
        let mut from = 0;
        while from < self.copies.len() {
            let count = self.fitting(from, verify)?;
            debug_assert!(
                count > 0 && from + count <= self.copies.len(),
                "each turn writes pages"
            );
            self.write_some(from..from + count, verify)?;
            from += count;
        }
        Ok(())
    }

    /// Writes some of the copies: to the double-write file those that need it, then all of them in place.
    fn write_some(&mut self, some: Range<usize>, verify: PageVerify) -> Result<(), PoolError> {
        let file = self.file;
        debug_assert!(
            some.end <= self.copies.len() && !some.is_empty(),
            "pages that were copied"
        );
        let protected = self.protect(some.clone(), verify)?;
        let result = self.write_in_place(some.clone());
        if result.is_ok() {
            let written = &self.copies[some];
            let oldest = written.iter().map(|copy| copy.claimed.rec_lsn).min();
            file.note_written(oldest.unwrap_or(Lsn::MAX));
            let pages = written.len() as u64;
            self.totals.pages += pages;
            self.core.counters.add(Counter::PageWrites, pages);
            count_writes(pages);
        }
        if let (Some(half), Some(area)) = (protected, &file.double_write) {
            area.done(half);
        }
        result
    }

    /// How many of the copies from `from` on can be written together: all of them, unless the double-write
    /// file is too small for their images and cannot grow.
    fn fitting(&self, from: usize, verify: PageVerify) -> Result<usize, PoolError> {
        let left = self.copies.len() - from;
        let Some(area) = &self.file.double_write else {
            return Ok(left);
        };
        let images = self.needy(from..self.copies.len(), verify).count();
        debug_assert!(from < self.copies.len(), "pages are left");
        let fits = area.capacity(self.file, images)?;
        Ok(if fits == images { left } else { fits })
    }

    /// Those of the copies that need an image: index and copy.
    fn needy(
        &self,
        some: Range<usize>,
        verify: PageVerify,
    ) -> impl Iterator<Item = (usize, &Copied)> {
        let redo_point = self.file.db.log.redo_point();
        let reported = verify == PageVerify::Checksum;
        let rebuilt = move |base: Lsn| reported && base != Lsn::ZERO && base >= redo_point;
        let area = self.file.double_write.as_ref();
        let copies = self.copies.iter().enumerate();
        copies
            .skip(some.start)
            .take(some.len())
            .filter(move |(_, copy)| {
                !rebuilt(copy.claimed.base_lsn)
                    || area.is_some_and(|area| area.has_image(copy.page))
            })
    }

    /// Writes images of the pages that need it to the double-write file; returns the half of it that was
    /// used. A page that redo will rebuild needs no image as long as there is no older one and it has a
    /// checksum, by which redo detects that it is torn.
    fn protect(
        &mut self,
        some: Range<usize>,
        verify: PageVerify,
    ) -> Result<Option<usize>, PoolError> {
        let Some(area) = &self.file.double_write else {
            return Ok(None);
        };
        if mutated(Mutation::SkipDoubleWrite) {
            return Ok(None);
        }
        let image = |(at, copy): (usize, &Copied)| {
            let bytes = &self.staging[at * PAGE_SIZE..(at + 1) * PAGE_SIZE];
            (copy.page, bytes)
        };
        let images: Vec<_> = self.needy(some, verify).map(image).collect();
        if images.is_empty() {
            return Ok(None);
        }
        let half = area.protect(self.file, &images)?;
        debug_assert!(
            mutated(Mutation::ImageLeftBehind)
                || images.iter().all(|image| area.has_image(image.0)),
            "an image is durable before its page is written in place"
        );
        self.totals.double_written += images.len() as u64;
        Ok(Some(half))
    }

    fn write_in_place(&mut self, some: Range<usize>) -> Result<(), PoolError> {
        let stretches = self.stretches(some);
        let slices: Vec<[IoSlice<'_>; 1]> = stretches
            .iter()
            .map(|s| {
                [IoSlice::new(
                    &self.staging[s.start * PAGE_SIZE..s.end * PAGE_SIZE],
                )]
            })
            .collect();
        let runs: Vec<WriteRun<'_, '_>> = stretches
            .iter()
            .zip(&slices)
            .map(|(s, bufs)| {
                let page = u64::from(self.copies[s.start].page.0);
                WriteRun {
                    offset: page * PAGE_SIZE as u64,
                    bufs,
                }
            })
            .collect();
        let span = |s: &Range<usize>| {
            let first = self.copies[s.start].page.0;
            (first, first + s.len() as u32)
        };
        let pass = self.file.fence.write(stretches.iter().map(span).collect());
        debug_assert!(
            runs.is_sorted_by(|a, b| a.offset < b.offset),
            "runs are written in the order of the file"
        );
        let start = Moment::now();
        let result = self.file.file.write(&runs);
        drop(pass);
        let us = start.elapsed_us();
        for stretch in &stretches {
            let offset = u64::from(self.copies[stretch.start].page.0) * PAGE_SIZE as u64;
            let bytes = (stretch.len() * PAGE_SIZE) as u64;
            self.file.stats.record(IoKind::Write, offset, bytes, us, 0);
        }
        self.totals.runs += stretches.len() as u64;
        if mutated(Mutation::IgnoreWriteFailure) {
            return Ok(());
        }
        result.map_err(|source| self.file.fail(source))
    }

    /// Neighbours in the file, as ranges of copies, none longer than a write may be.
    fn stretches(&self, some: Range<usize>) -> Vec<Range<usize>> {
        let longest = self.core.config.write_run_pages as usize;
        let mut stretches: Vec<Range<usize>> = Vec::new();
        for (at, copy) in self
            .copies
            .iter()
            .enumerate()
            .take(some.end)
            .skip(some.start)
        {
            let neighbour = at > some.start && self.copies[at - 1].page.0 + 1 == copy.page.0;
            match stretches.last_mut() {
                Some(last) if neighbour && last.len() < longest => last.end = at + 1,
                _ => stretches.push(at..at + 1),
            }
        }
        debug_assert_eq!(
            stretches.iter().map(Range::len).sum::<usize>(),
            some.len(),
            "every page is in one stretch"
        );
        stretches
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if !self.copies.is_empty() {
            // Only a panic leaves copies behind. How far the write came is unknown, so the file has failed.
            let (path, why) = (self.file.file.path(), "the writing thread panicked");
            let kind = IoErrorKind::Os(0, why.to_owned());
            let error = self.file.fail(IoError::new(IoOp::Write, path, 0, kind));
            let copies = std::mem::take(&mut self.copies);
            self.abandon(&copies, &error);
            self.core.announce_written();
        }
        let mut kept = self.core.staging.lock();
        if kept.len() < 8 {
            kept.push(std::mem::replace(&mut self.staging, AlignedBuf::new(0)));
        }
    }
}
