//! Using a copy of a page without holding the page's latch.
//!
//! Almost every access needs the root of its tree, and the root hardly ever changes. If each access latched
//! the root, all processors would write the same word without exchanging any data. So a thread that holds SH
//! may mark the page, copy the part it needs, and use the copy from then on, as long as the mark shows that
//! the page has not changed. Marks are only read, so their cache line stays shared among all processors.
//!
//! # What a mark is
//! There are a few counters, each for many frames. A mark is the counter of the page's frame together with
//! its value. Marking sets a bit of the frame, *watched*. A thread that is about to change the page, or to
//! give its frame to another page, holds EX: it finds the bit, clears it and raises the counter before the
//! first byte changes. Changes to pages without the bit raise no counter, so a page that changes all the time
//! does not invalidate marks of others. Two watched pages may share a counter; then a copy is sometimes
//! refreshed without need.
//!
//! # Why a mark that holds is proof
//! *Claim:* let a thread hold the latch of a page C and then find that its mark of a page P holds. Then its
//! copy of P is current, or at least agrees with P about C as long as C stays latched. This requires that
//! every thread that changes what P stores about C holds C's latch EX meanwhile, and P's latch EX as well.
//!
//! 1. The mark is taken under SH of P: the counter is read and the bit is set before that latch is released.
//!    So a thread that latches P EX after that sees the bit, and it raises the counter above the value that
//!    was read.
//! 2. Let W be the first thread after that which changes what P stores about C. W raises the counter before
//!    it changes P, and releases C's latch after that. W holds C's latch either before the reader or after
//!    it.
//! 3. *W before the reader.* The reader's latch (an acquire) comes after W's release, and so after W's raise.
//!    A relaxed load that comes later in the reader's thread returns the raised value, because a load never
//!    returns an older value than a store that happens before it.
//! 4. *W after the reader.* W has not changed P yet, and C is the right page as long as the reader holds C's
//!    latch.
//!
//! P's removal from memory counts as a change: the counter is raised under EX, before the page table drops
//! the page. P can return, to another frame or to the same one, only through the page table. The mutexes of
//! the page table order what follows behind the raise, and so does the free list. (If the counter were raised
//! later, P could be read into another frame meanwhile and changed there. The old frame's mark would not show
//! that change, and the stale copy would be used.) So when a thread finds the old frame's mark unchanged, no
//! change of P in another frame precedes that. The same holds for C if it moved to another frame meanwhile:
//! the latch of its new frame is taken after that of the old one.
//!
//! The clock hand must not remove a watched page as unused. So it removes the mark first. It removes the page
//! only if no thread has fetched the page again by the next time that the hand passes.

#[cfg(loom)]
use crate::park::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use furrow_io::sync::atomic::{AtomicU64, Ordering};

/// Counters; a power of two. There are about as many watched pages as there are large trees in use.
#[cfg(not(loom))]
const COUNTERS: usize = 256;
#[cfg(loom)]
const COUNTERS: usize = 1;
/// Bits of a mark that hold the number of its counter.
const PLACE_BITS: u32 = 8;
const _: () = assert!(COUNTERS <= 1 << PLACE_BITS, "a mark names its counter");

/// Shows whether a page is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageMark(u64);

impl PageMark {
    /// The mark as a word, to be stored among other words that threads share.
    #[inline]
    pub fn to_word(self) -> u64 {
        self.0
    }

    /// The mark that was stored as this word. A word that did not come from a mark gives a mark that may hold
    /// or not; it has no other effect.
    #[inline]
    pub fn from_word(word: u64) -> PageMark {
        PageMark(word)
    }
}

/// A counter in a cache line of its own.
#[derive(Debug)]
#[repr(align(64))]
struct Counter(AtomicU64);

/// The counters of a pool.
#[derive(Debug)]
pub(crate) struct Watches(Box<[Counter]>);

impl Watches {
    pub(crate) fn new() -> Watches {
        Watches((0..COUNTERS).map(|_| Counter(AtomicU64::new(0))).collect())
    }

    /// The counter of a place. Places beyond the last counter begin again at the first one.
    #[inline]
    fn counter(&self, place: usize) -> &AtomicU64 {
        &self.0[place % COUNTERS].0
    }

    /// The mark of the page in this frame. The caller holds SH and has marked the frame.
    pub(crate) fn mark(&self, index: u32) -> PageMark {
        let place = index as usize % COUNTERS;
        let count = self.counter(place).load(Ordering::Relaxed);
        PageMark(count << PLACE_BITS | place as u64)
    }

    /// Invalidates the marks of the page in this frame. The caller holds EX.
    pub(crate) fn raise(&self, index: u32) {
        self.counter(index as usize).fetch_add(1, Ordering::Relaxed);
    }

    /// Whether a mark holds.
    #[inline]
    pub(crate) fn is_now(&self, mark: PageMark) -> bool {
        let place = mark.0 as usize % (1 << PLACE_BITS);
        let count = self.counter(place).load(Ordering::Relaxed);
        count << PLACE_BITS | place as u64 == mark.0
    }
}
