//! The state of one page in memory, and its transitions between clean and dirty.
//!
//! A page is *dirty* from `begin_change` until a writer has copied it, and *being written* from that copy
//! until the write ended. It can be both. Each state has the LSN from which redo would have to start if the
//! page were lost now: `rec_lsn` for the changes not yet copied, `writing_lsn` for those being written.
//!
//! `begin_change` needs the page latch EX, copying needs it SH. So the dirty bit never changes under an EX
//! holder, and never appears under a copier. A thread that holds SH may mark the page as *watched* (see
//! `watch`); only an EX holder removes the mark.

use crate::error::PoolError;
use crate::key::PageKey;
use crate::latch::Latch;
use furrow_format::Lsn;
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const DIRTY: u32 = 1;
const WRITING: u32 = 2;
/// Created by `create` and not changed since: the bytes are not a page yet.
const FRESH: u32 = 4;
/// A thread uses a copy of the page without holding its latch.
const WATCHED: u32 = 8;

/// No frame: the end of a chain.
pub(crate) const NIL: u32 = u32::MAX;

/// The descriptor of one frame.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Frame {
    pub(crate) latch: Latch,
    key: AtomicU64,
    /// Next frame in the chain of its bucket.
    pub(crate) next: AtomicU32,
    state: AtomicU32,
    rec_lsn: AtomicU64,
    writing_lsn: AtomicU64,
    base_lsn: AtomicU64,
    /// Why the last attempt to read a page into this frame failed, for the threads that waited for it.
    failure: Mutex<Option<Box<(PageKey, PoolError)>>>,
}

#[cfg(not(loom))]
const _: () = assert!(
    size_of::<Frame>() == 64 || furrow_io::weave::ENABLED,
    "a descriptor is one cache line"
);

/// The state that a writer took over from a page, to be given back if the write fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimed {
    pub(crate) rec_lsn: Lsn,
    pub(crate) base_lsn: Lsn,
}

impl Frame {
    pub(crate) fn new() -> Frame {
        Frame {
            latch: Latch::new(),
            key: AtomicU64::new(0),
            next: AtomicU32::new(NIL),
            state: AtomicU32::new(0),
            rec_lsn: AtomicU64::new(Lsn::MAX.0),
            writing_lsn: AtomicU64::new(Lsn::MAX.0),
            base_lsn: AtomicU64::new(0),
            failure: Mutex::new(None),
        }
    }

    /// The packed key of the page it holds; 0 for none. Stable while the latch is held or the page is dirty.
    #[inline]
    pub(crate) fn key_word(&self) -> u64 {
        self.key.load(Ordering::Acquire)
    }

    #[inline]
    pub(crate) fn holds(&self, key: PageKey) -> bool {
        self.key_word() == key.pack()
    }

    /// The page it holds.
    pub(crate) fn key(&self) -> Option<PageKey> {
        let word = self.key_word();
        (word != 0).then(|| PageKey::unpack(word))
    }

    /// Names the page; the caller holds the latch EX.
    pub(crate) fn set_key(&self, key: Option<PageKey>) {
        debug_assert!(!self.is_watched(), "a watched page gave up its frame");
        self.key
            .store(key.map_or(0, PageKey::pack), Ordering::Release);
    }

    /// Clears the state of the last page; the caller holds the latch EX.
    pub(crate) fn reset(&self) {
        debug_assert!(!self.is_watched(), "a watched page gave up its frame");
        self.state.store(0, Ordering::Relaxed);
        self.rec_lsn.store(Lsn::MAX.0, Ordering::Relaxed);
        self.writing_lsn.store(Lsn::MAX.0, Ordering::Relaxed);
        self.base_lsn.store(0, Ordering::Relaxed);
        *self.failure.lock() = None;
    }

    pub(crate) fn set_fresh(&self) {
        self.state.fetch_or(FRESH, Ordering::Relaxed);
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.state.load(Ordering::Relaxed) & FRESH != 0
    }

    /// Marks the page as watched. Holder of SH.
    pub(crate) fn watch(&self) {
        self.state.fetch_or(WATCHED, Ordering::Relaxed);
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.state.load(Ordering::Relaxed) & WATCHED != 0
    }

    /// Clears the mark; returns whether there was one. Holder of EX.
    pub(crate) fn take_watch(&self) -> bool {
        self.is_watched() && self.state.fetch_and(!WATCHED, Ordering::Relaxed) & WATCHED != 0
    }

    /// Whether the page may be changed without further steps: it is dirty, and not watched.
    #[inline]
    pub(crate) fn is_open_to_change(&self) -> bool {
        self.state.load(Ordering::Acquire) & (DIRTY | WATCHED) == DIRTY
    }

    pub(crate) fn is_dirty(&self) -> bool {
        self.state.load(Ordering::Acquire) & DIRTY != 0
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.state.load(Ordering::Acquire) & WRITING != 0
    }

    /// Neither dirty nor being written.
    pub(crate) fn is_clean(&self) -> bool {
        self.state.load(Ordering::Acquire) & (DIRTY | WRITING) == 0
    }

    /// Marks the page dirty, with the LSN that `tail` gives if it was not; whether it was clean. Holder of
    /// EX.
    pub(crate) fn make_dirty(&self, tail: impl FnOnce() -> Lsn) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        if state & DIRTY != 0 {
            return false;
        }
        // Store the LSN first: a thread that sees the bit must find it.
        self.rec_lsn.store(tail().0, Ordering::Release);
        debug_assert!(
            self.rec_lsn.load(Ordering::Relaxed) != Lsn::MAX.0,
            "a dirty page holds the redo point back"
        );
        self.state.fetch_or(DIRTY, Ordering::Release);
        self.state.fetch_and(!FRESH, Ordering::Relaxed);
        true
    }

    /// The page is rebuilt from nothing by the log record at `lsn`. Holder of EX.
    pub(crate) fn set_base(&self, lsn: Lsn) {
        self.base_lsn.store(lsn.0, Ordering::Relaxed);
    }

    /// Takes a dirty page over for writing; `None` when it is clean or another writer has it. Holder of SH.
    ///
    /// The base is given up: once an image of the page is on its way to the disk, later writes may tear it.
    pub(crate) fn claim_write(&self) -> Option<Claimed> {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        // Other holders of SH may mark the page as watched meanwhile.
        let claim = |state: u32| (state & (DIRTY | WRITING) == DIRTY).then_some(state | WRITING);
        self.state.fetch_update(order.0, order.1, claim).ok()?;
        let rec_lsn = self.rec_lsn.load(Ordering::Relaxed);
        self.writing_lsn.store(rec_lsn, Ordering::Release);
        debug_assert!(
            rec_lsn != Lsn::MAX.0,
            "a page that is being written holds the redo point back"
        );
        self.state.fetch_and(!DIRTY, Ordering::Release);
        let base_lsn = self.base_lsn.swap(0, Ordering::Relaxed);
        Some(Claimed {
            rec_lsn: Lsn(rec_lsn),
            base_lsn: Lsn(base_lsn),
        })
    }

    /// The write is done, and the file stores its `rec_lsn` until that is synced.
    pub(crate) fn finish_write(&self) {
        debug_assert!(self.is_writing(), "a write ends once");
        self.writing_lsn.store(Lsn::MAX.0, Ordering::Release);
        self.state.fetch_and(!WRITING, Ordering::Release);
    }

    /// The write failed: the page is dirty as before, with what changed since. Holder of SH. Whether the
    /// dirty bit had to be set again.
    pub(crate) fn abandon_write(&self, claimed: Claimed) -> bool {
        debug_assert!(self.is_writing(), "a write ends once");
        let state = self.state.load(Ordering::Relaxed);
        let newer = if state & DIRTY != 0 {
            self.rec_lsn.load(Ordering::Relaxed)
        } else {
            u64::MAX
        };
        self.rec_lsn
            .store(newer.min(claimed.rec_lsn.0), Ordering::Release);
        let order = (Ordering::Relaxed, Ordering::Relaxed);
        // A base set meanwhile is newer and stays.
        let _ = self
            .base_lsn
            .compare_exchange(0, claimed.base_lsn.0, order.0, order.1);
        self.state.fetch_or(DIRTY, Ordering::Release);
        self.finish_write();
        state & DIRTY == 0
    }

    /// The LSN from which redo needs this page, if its newest bytes are not all written.
    pub(crate) fn oldest_lsn(&self) -> Option<Lsn> {
        loop {
            let before = self.state.load(Ordering::Acquire);
            if before & (DIRTY | WRITING) == 0 {
                return None;
            }
            // In this order: what leaves `rec_lsn` goes to `writing_lsn`, and from there to the file.
            let rec = self.rec_lsn.load(Ordering::Acquire);
            let writing = self.writing_lsn.load(Ordering::Acquire);
            if self.state.load(Ordering::Acquire) == before {
                let rec = if before & DIRTY != 0 { rec } else { u64::MAX };
                return Some(Lsn(rec.min(writing)));
            }
        }
    }

    pub(crate) fn set_failure(&self, key: PageKey, error: PoolError) {
        *self.failure.lock() = Some(Box::new((key, error)));
    }

    pub(crate) fn failure_of(&self, key: PageKey) -> Option<PoolError> {
        let failure = self.failure.lock();
        failure.as_ref().filter(|f| f.0 == key).map(|f| f.1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_changed_while_being_written_keeps_both_lsns_until_each_is_settled() {
        let frame = Frame::new();
        assert_eq!(frame.oldest_lsn(), None);
        assert!(frame.make_dirty(|| Lsn(10)));
        assert!(!frame.make_dirty(|| Lsn(11)), "the first change decides");
        assert_eq!(frame.oldest_lsn(), Some(Lsn(10)));
        let claimed = frame.claim_write().unwrap();
        assert_eq!(claimed.rec_lsn, Lsn(10));
        assert!(frame.claim_write().is_none(), "one writer at a time");
        assert_eq!(frame.oldest_lsn(), Some(Lsn(10)));
        assert!(frame.make_dirty(|| Lsn(20)));
        assert!(frame.claim_write().is_none());
        assert_eq!(frame.oldest_lsn(), Some(Lsn(10)));
        frame.finish_write();
        assert_eq!(frame.oldest_lsn(), Some(Lsn(20)));
        assert!(!frame.is_clean());
        frame.claim_write().unwrap();
        frame.finish_write();
        assert!(frame.is_clean());
        assert_eq!(frame.oldest_lsn(), None);
    }

    #[test]
    fn a_failed_write_leaves_the_page_dirty_from_where_it_was() {
        let frame = Frame::new();
        frame.make_dirty(|| Lsn(10));
        frame.set_base(Lsn(12));
        let claimed = frame.claim_write().unwrap();
        assert_eq!(claimed.base_lsn, Lsn(12));
        frame.make_dirty(|| Lsn(20));
        assert!(!frame.abandon_write(claimed));
        assert_eq!(frame.oldest_lsn(), Some(Lsn(10)));
        assert!(!frame.is_writing());
        let again = frame.claim_write().unwrap();
        assert_eq!(again.base_lsn, Lsn(12));
        assert!(frame.abandon_write(again));
        assert!(frame.is_dirty());
    }

    #[test]
    fn the_second_write_of_a_formatted_page_has_no_base() {
        let frame = Frame::new();
        frame.make_dirty(|| Lsn(10));
        frame.set_base(Lsn(12));
        frame.claim_write().unwrap();
        frame.finish_write();
        frame.make_dirty(|| Lsn(30));
        assert_eq!(frame.claim_write().unwrap().base_lsn, Lsn::ZERO);
    }
}
