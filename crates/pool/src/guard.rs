//! A latched page: what a thread may do with it follows from the guard's type.

#![expect(
    unsafe_code,
    reason = "the latch stands for the borrow of the page's bytes"
)]

use crate::core::Core;
use crate::frame::Frame;
use crate::key::PageKey;
use crate::mode::{Ex, LatchMode, Mode, Sh, Up};
use crate::rank::{self, LatchRank};
use crate::watch::PageMark;
use furrow_format::{Lsn, PageBuf};
use furrow_io::time::Moment;
use furrow_observe::latches::PageLatchKey;
use furrow_observe::task;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A page in memory, latched and pinned there until the guard is dropped.
///
/// The mode is a type: [`PageRead`] and [`PageUpdate`] read, [`PageUpdate`] can become a [`PageWrite`],
/// [`PageWrite`] changes the page. With `M = `[`LatchMode`] the mode was chosen while running.
pub struct PageGuard<'p, M: Mode> {
    core: &'p Core,
    index: u32,
    mode: M,
    rank: LatchRank,
    held: Held,
    /// Latches belong to threads: their order is asserted per thread.
    not_send: PhantomData<*const ()>,
}

/// Since when the latch of an allocation page is held UP or EX.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// The mode that was asked for.
    mode: LatchMode,
    /// Zero where holds are not timed.
    since: Moment,
}

impl Held {
    const UNTIMED: Held = Held {
        mode: LatchMode::Sh,
        since: Moment::from_ns(0),
    };

    #[inline]
    fn begin(mode: LatchMode, rank: LatchRank) -> Held {
        if rank.allocation_map().is_none() || mode == LatchMode::Sh {
            return Held::UNTIMED;
        }
        Held {
            mode,
            since: Moment::now(),
        }
    }

    /// How long it was, in nanoseconds; `None` where it is not timed.
    #[inline]
    fn elapsed_ns(self) -> Option<u64> {
        let is_timed = self.since > Held::UNTIMED.since;
        is_timed.then(|| self.since.elapsed_ns())
    }
}

/// Charges a hold that has ended.
#[cold]
fn charge_hold(key: PageKey, rank: LatchRank, mode: LatchMode, hold_ns: u64) {
    let Some(kind) = rank.allocation_map() else {
        return;
    };
    let row = PageLatchKey {
        db: key.db.0,
        kind,
        mode: mode.name(),
        page: Some((key.page.file.0, key.page.page.0)),
    };
    let task = task::current();
    let pages = &task.instruments().latches.pages;
    pages.charge_hold(row, hold_ns);
}

/// A page latched SH.
pub type PageRead<'p> = PageGuard<'p, Sh>;
/// A page latched UP.
pub type PageUpdate<'p> = PageGuard<'p, Up>;
/// A page latched EX.
pub type PageWrite<'p> = PageGuard<'p, Ex>;

impl<'p, M: Mode> PageGuard<'p, M> {
    /// A guard over frame `index`, whose latch the caller has just taken in `mode`.
    #[inline]
    pub(crate) fn new(core: &'p Core, index: u32, mode: M, rank: LatchRank) -> PageGuard<'p, M> {
        debug_assert!(
            core.frame(index).key().is_some(),
            "a latched frame holds a page"
        );
        rank::taken(rank);
        PageGuard {
            core,
            index,
            mode,
            rank,
            held: Held::begin(mode.latch_mode(), rank),
            not_send: PhantomData,
        }
    }

    /// The page.
    #[inline]
    pub fn page(&self) -> &PageBuf {
        // SAFETY: the latch is held in some mode, so no thread writes the page while this guard lives; in EX
        // mode the holder's own `&mut` needs `&mut self`.
        unsafe { self.core.memory.page(self.index as usize) }
    }

    /// Which page it is.
    #[inline]
    pub fn key(&self) -> PageKey {
        PageKey::unpack(self.core.frames[self.index as usize].key_word())
    }

    /// How it is latched.
    #[inline]
    pub fn mode(&self) -> LatchMode {
        self.mode.latch_mode()
    }

    /// Its place in the latch order.
    #[inline]
    pub fn rank(&self) -> LatchRank {
        self.rank
    }

    /// Whether memory holds changes that are not on their way to the disk.
    pub fn is_dirty(&self) -> bool {
        self.core.frames[self.index as usize].is_dirty()
    }

    /// Releases the latch by `release`, and charges its hold.
    #[inline]
    fn end_hold(&mut self, release: impl FnOnce(&Frame)) {
        let (held, frame) = (self.held, &self.core.frames[self.index as usize]);
        self.held = Held::UNTIMED;
        match held.elapsed_ns() {
            None => release(frame),
            Some(hold_ns) => {
                let key = PageKey::unpack(frame.key_word());
                release(frame);
                charge_hold(key, self.rank, held.mode, hold_ns);
            }
        }
    }

    /// The same latch under another type.
    fn retype<N: Mode>(self, mode: N) -> PageGuard<'p, N> {
        let old = ManuallyDrop::new(self);
        PageGuard {
            core: old.core,
            index: old.index,
            mode,
            rank: old.rank,
            held: old.held,
            not_send: PhantomData,
        }
    }
}

impl<'p> PageGuard<'p, LatchMode> {
    /// As a typed guard when the mode is SH; the guard itself otherwise.
    pub fn into_read(self) -> Result<PageRead<'p>, Self> {
        if self.mode == LatchMode::Sh {
            Ok(self.retype(Sh))
        } else {
            Err(self)
        }
    }

    /// As a typed guard when the mode is UP; the guard itself otherwise.
    pub fn into_update(self) -> Result<PageUpdate<'p>, Self> {
        if self.mode == LatchMode::Up {
            Ok(self.retype(Up))
        } else {
            Err(self)
        }
    }

    /// As a typed guard when the mode is EX; the guard itself otherwise.
    pub fn into_write(self) -> Result<PageWrite<'p>, Self> {
        if self.mode == LatchMode::Ex {
            Ok(self.retype(Ex))
        } else {
            Err(self)
        }
    }
}

impl PageRead<'_> {
    /// A mark that shows from now on, without a latch, whether the page is still as it is now: see
    /// [`Pool::is_unchanged`](crate::Pool::is_unchanged).
    pub fn mark(&self) -> PageMark {
        self.core.watch(self.index)
    }

    /// Whether others read the page at this moment: a sign that many threads need it.
    pub fn is_shared(&self) -> bool {
        self.core.frames[self.index as usize].latch.is_shared()
    }
}

impl<'p> PageUpdate<'p> {
    /// Becomes exclusive, waiting for the readers of the page to leave. The page cannot change meanwhile.
    pub fn upgrade(self) -> PageWrite<'p> {
        self.core.upgrade(self.index);
        self.retype(Ex)
    }

    /// Lets another updater in.
    pub fn downgrade(mut self) -> PageRead<'p> {
        self.end_hold(|frame| frame.latch.downgrade_update());
        self.retype(Sh)
    }
}

impl<'p> PageWrite<'p> {
    /// Announces a change, *before* its log record is appended: the page is dirty from now on, and redo will
    /// start no later than at the log's present tail until the page is written.
    #[inline]
    pub fn begin_change(&mut self) {
        self.core.begin_change(self.index);
    }

    /// Announces the change of a record that is in the log already: for redo.
    pub fn begin_change_at(&mut self, rec_lsn: Lsn) {
        self.core.begin_change_at(self.index, rec_lsn);
    }

    /// Stamps the page with the LSN of the record that holds the change; `formatted` when that record
    /// rebuilds the page whatever its bytes were before.
    #[inline]
    pub fn finish_change(&mut self, lsn: Lsn, formatted: bool) {
        debug_assert!(lsn > Lsn::ZERO, "each change is in the log");
        crate::bytes::set_lsn(self, lsn);
        if formatted {
            self.core.frames[self.index as usize].set_base(lsn);
        }
    }

    /// Lets readers in; other updaters stay out, and the guard can become exclusive again.
    pub fn downgrade_to_update(self) -> PageUpdate<'p> {
        self.core.frames[self.index as usize]
            .latch
            .downgrade(LatchMode::Up);
        self.retype(Up)
    }

    /// Lets readers in. A page that was created and never changed may be dropped only as a [`PageWrite`].
    pub fn downgrade(mut self) -> PageRead<'p> {
        debug_assert!(
            !self.core.frames[self.index as usize].is_fresh(),
            "not formatted yet"
        );
        self.end_hold(|frame| frame.latch.downgrade(LatchMode::Sh));
        self.retype(Sh)
    }
}

impl<M: Mode> Deref for PageGuard<'_, M> {
    type Target = PageBuf;

    #[inline]
    fn deref(&self) -> &PageBuf {
        self.page()
    }
}

impl DerefMut for PageWrite<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut PageBuf {
        debug_assert!(
            self.core.frames[self.index as usize].is_open_to_change(),
            "page {} changed without begin_change",
            self.key()
        );
        // SAFETY: the latch is held EX by this guard, which is borrowed exclusively.
        unsafe { self.core.memory.page_mut(self.index as usize) }
    }
}

impl<M: Mode> Drop for PageGuard<'_, M> {
    #[inline]
    fn drop(&mut self) {
        rank::left(self.rank);
        let mode = self.mode.latch_mode();
        let (core, index) = (self.core, self.index);
        self.end_hold(|frame| {
            if mode == LatchMode::Ex && frame.is_fresh() {
                core.give_up(index);
            } else {
                frame.latch.release(mode);
            }
        });
    }
}

impl<M: Mode> fmt::Debug for PageGuard<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageGuard")
            .field("key", &self.key())
            .field("mode", &self.mode())
            .finish()
    }
}
