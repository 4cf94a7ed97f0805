//! From a page's key to a latched page in memory.

#![expect(
    unsafe_code,
    reason = "the thread that reads a page in holds its frame EX"
)]

use crate::bytes::check_read;
use crate::core::{Core, PageWait};
use crate::error::PoolError;
use crate::files::FileState;
use crate::guard::{PageGuard, PageWrite};
use crate::key::PageKey;
use crate::memory::Lines;
use crate::mode::{Ex, LatchMode, Mode};
use crate::rank::{self, LatchRank};
use furrow_format::PAGE_SIZE;
use furrow_io::ReadRun;
use furrow_observe::counters::Counter;
use furrow_observe::files::IoKind;
use furrow_observe::task::{count_logical_reads, count_reads};
use std::cell::Cell;
use std::io::IoSliceMut;

/// Whether to sleep for a latch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Wait,
    Never,
}

/// What becomes of a page that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suspects {
    /// It is noted among the suspect pages.
    Note,
    /// It is not: redo may rebuild it.
    Leave,
}

/// The result of an attempt to latch a frame that seemed right.
enum Attempt {
    Latched,
    /// The frame no longer holds the page.
    Moved,
    /// A thread holds it in an incompatible mode.
    Held,
}

thread_local! {
    static AHEAD: Cell<u64> = const { Cell::new(0) };
}

/// Counts pages that this thread has requested ahead.
pub(crate) fn count_ahead(pages: u64) {
    // A thread that is ending does not count any more.
    let _ = AHEAD.try_with(|ahead| ahead.set(ahead.get().wrapping_add(pages)));
}

/// Pages that this thread has requested to be read ahead so far: those that were not in memory. The figure of
/// a statement is the difference of two values.
pub fn thread_read_ahead() -> u64 {
    AHEAD.try_with(Cell::get).unwrap_or(0)
}

impl Core {
    #[inline]
    pub(crate) fn fetch<M: Mode>(
        &self,
        key: PageKey,
        mode: M,
        order: LatchRank,
        suspects: Suspects,
    ) -> Result<PageGuard<'_, M>, PoolError> {
        rank::before_block(order);
        self.counters.add(Counter::PageLookups, 1);
        count_logical_reads(1);
        if let Some(index) = self.latch_resident(key, mode.latch_mode()) {
            return Ok(PageGuard::new(self, index, mode, order));
        }
        let found = self.fetch_slow(key, mode.latch_mode(), Patience::Wait, suspects)?;
        // With patience there is always a page or an error.
        let index = found.ok_or(PoolError::UnknownFile {
            db: key.db,
            file: key.page.file,
        })?;
        Ok(PageGuard::new(self, index, mode, order))
    }

    #[inline]
    pub(crate) fn try_fetch<M: Mode>(
        &self,
        key: PageKey,
        mode: M,
        order: LatchRank,
    ) -> Result<Option<PageGuard<'_, M>>, PoolError> {
        self.counters.add(Counter::PageLookups, 1);
        count_logical_reads(1);
        let found = match self.latch_resident(key, mode.latch_mode()) {
            Some(index) => Some(index),
            None => self.fetch_slow(key, mode.latch_mode(), Patience::Never, Suspects::Note)?,
        };
        Ok(found.map(|index| PageGuard::new(self, index, mode, order)))
    }

    #[inline]
    pub(crate) fn fetch_at_hand<M: Mode>(
        &self,
        key: PageKey,
        mode: M,
        order: LatchRank,
    ) -> Option<PageGuard<'_, M>> {
        let index = self.latch_resident(key, mode.latch_mode())?;
        Some(PageGuard::new(self, index, mode, order))
    }

    #[inline]
    pub(crate) fn count_lookups(&self, pages: u64) {
        self.counters.add(Counter::PageLookups, pages);
        count_logical_reads(pages);
    }

    /// The fast path: the page is there and its latch is free. Two loads, one compare-and-swap, one load.
    #[inline]
    fn latch_resident(&self, key: PageKey, mode: LatchMode) -> Option<u32> {
        let index = self.table.find(key, &self.frames)?;
        self.memory.ask_for(index as usize, Lines::Ends);
        self.latch_if_held(index, key, mode)
    }

    /// The frame, latched, if its latch is free and it holds the page.
    #[inline]
    pub(crate) fn latch_if_held(&self, index: u32, key: PageKey, mode: LatchMode) -> Option<u32> {
        let frame = self.frame(index);
        if !frame.latch.try_acquire(mode) {
            return None;
        }
        if frame.holds(key) {
            return Some(index);
        }
        frame.latch.release(mode);
        None
    }

    #[cold]
    fn fetch_slow(
        &self,
        key: PageKey,
        mode: LatchMode,
        patience: Patience,
        suspects: Suspects,
    ) -> Result<Option<u32>, PoolError> {
        let mut file = None;
        loop {
            if let Some(index) = self.table.find_surely(key, &self.frames) {
                match self.latch_found(index, key, mode, patience)? {
                    Attempt::Latched => return Ok(Some(index)),
                    Attempt::Held => return Ok(None),
                    Attempt::Moved => continue,
                }
            }
            if self.take_over(key, mode) {
                continue;
            }
            let file = match &file {
                Some(file) => file,
                None => file.insert(self.file_of(key)?),
            };
            let index = self.take_frame()?;
            if self.enter(index, key).is_ok() {
                let read = self.read_in(index, key, mode, file);
                read.inspect_err(|error| {
                    if suspects == Suspects::Note {
                        error.note_suspect(key);
                    }
                })?;
                debug_assert!(
                    self.frame(index).holds(key),
                    "a frame keeps the page that was read into it while it is latched"
                );
                return Ok(Some(index));
            }
        }
    }

    fn latch_found(
        &self,
        index: u32,
        key: PageKey,
        mode: LatchMode,
        patience: Patience,
    ) -> Result<Attempt, PoolError> {
        let frame = self.frame(index);
        if patience == Patience::Never {
            return Ok(if !frame.latch.try_acquire(mode) {
                Attempt::Held
            } else if frame.holds(key) {
                Attempt::Latched
            } else {
                frame.latch.release(mode);
                Attempt::Moved
            });
        }
        // The pin prevents reuse of the frame, so that the reason of a failed read stays readable.
        frame.latch.pin();
        let mut outcome = Ok(Attempt::Moved);
        if frame.holds(key) {
            self.latch(index, key, mode);
            if frame.holds(key) {
                outcome = Ok(Attempt::Latched);
            } else {
                if let Some(error) = frame.failure_of(key) {
                    outcome = Err(error);
                }
                frame.latch.release(mode);
            }
        }
        frame.latch.unpin();
        outcome
    }

    /// Names a frame taken from the free ones (its latch held EX) and enters it into the page table; gives it
    /// back when the page has come in meanwhile.
    pub(crate) fn enter(&self, index: u32, key: PageKey) -> Result<(), ()> {
        let frame = self.frame(index);
        frame.latch.set_loading();
        debug_assert!(
            frame.key().is_none() && frame.is_clean(),
            "a page enters an empty frame"
        );
        frame.set_key(Some(key));
        self.table.insert(key, index, &self.frames).map_err(|_| {
            frame.set_key(None);
            frame.latch.release_loaded(true);
            self.free.push(index);
        })
    }

    /// Reads the page into its frame and leaves it latched in `mode`.
    fn read_in(
        &self,
        index: u32,
        key: PageKey,
        mode: LatchMode,
        file: &FileState,
    ) -> Result<(), PoolError> {
        let _wait = PageWait::for_io(key, mode);
        // SAFETY: the frame's latch has been held EX since the frame was taken; no other thread reaches the
        // bytes.
        let page = unsafe { self.memory.page_mut(index as usize) };
        let offset = u64::from(key.page.page.0) * PAGE_SIZE as u64;
        let timer = file.stats.begin(IoKind::Read, offset);
        let result = file.file.read(&mut [ReadRun {
            offset,
            bufs: &mut [IoSliceMut::new(page)],
        }]);
        if result.is_ok() {
            timer.finish(PAGE_SIZE as u64);
            self.counters.add(Counter::PageReads, 1);
            count_reads(1);
        }
        let checked = result
            .map_err(|source| file.io_error(source))
            .and_then(|()| {
                let bad = |fault| PoolError::BadPage {
                    key,
                    path: file.file.path().into(),
                    fault,
                };
                check_read(page, key.page).map_err(bad)
            });
        match checked {
            Ok(()) => {
                self.frame(index).latch.downgrade(mode);
                Ok(())
            }
            Err(error) => {
                self.frame(index).set_failure(key, error.clone());
                self.give_up(index);
                Err(error)
            }
        }
    }

    /// Frees a frame whose page could not be read; the caller holds its latch EX, and this call releases it.
    pub(crate) fn give_up(&self, index: u32) {
        let frame = self.frame(index);
        debug_assert!(frame.is_clean(), "nothing dirty is lost");
        if let Some(key) = frame.key() {
            self.leave(index, key);
        }
        frame.latch.release_loaded(true);
        self.free.push(index);
    }

    pub(crate) fn create(
        &self,
        key: PageKey,
        order: LatchRank,
    ) -> Result<PageWrite<'_>, PoolError> {
        rank::before_block(order);
        self.file_of(key)?;
        loop {
            if let Some(index) = self.table.find_surely(key, &self.frames) {
                match self.latch_found(index, key, LatchMode::Ex, Patience::Wait) {
                    Ok(Attempt::Latched) => return Ok(PageGuard::new(self, index, Ex, order)),
                    // If its old bytes cannot be read, that does not matter: the caller replaces them.
                    Ok(_) | Err(_) => continue,
                }
            }
            let index = self.take_frame()?;
            if self.enter(index, key).is_ok() {
                // SAFETY: the frame's latch is held EX since it was taken.
                unsafe { self.memory.page_mut(index as usize) }.fill(0);
                self.frame(index).set_fresh();
                debug_assert!(
                    !self.frame(index).is_dirty(),
                    "a fresh page is not to be written"
                );
                self.frame(index).latch.downgrade(LatchMode::Ex);
                return Ok(PageGuard::new(self, index, Ex, order));
            }
        }
    }
}
