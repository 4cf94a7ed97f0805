//! Going by what a page says without holding its latch.
//!
//! The root of a tree is wanted by everybody and changes hardly ever. Latched by each who passes, it is a
//! word that all processors write, though none has anything to tell the others. So who holds SH may mark the
//! page, copy what he needs of it, and go by the copy from then on, as long as the mark says that the page
//! has not changed: marks are only read, and their line stays in everybody's cache.
//!
//! # What a mark is
//! There are a few counters, each for many frames. A mark is the counter of the page's frame and what it
//! stood at. Marking sets a bit of the frame, *watched*. Whoever is about to change the page, or to give its
//! frame to another, holds EX; he finds the bit, takes it away and raises the counter, before the first byte
//! changes. Pages that nobody has marked raise nothing, so that a counter stands still while the pages
//! that are changed all the time are changed. That two watched pages may share a counter costs a copy that is
//! made anew for no reason.
//!
//! # Why a mark that holds can be believed
//! *Claim:* a thread that holds the latch of a page C and then finds that the mark of a page P holds has
//! a true copy of P, or at least one that says of C what P says as long as C stays latched, if everybody
//! who changes what P says of C holds C's latch EX meanwhile, and P's latch EX as well.
//!
//! 1. The mark is taken under SH of P: the counter is read and the bit is set before that latch is left. So
//!    whoever then latches P EX sees the bit, and what he adds to the counter comes behind what was read.
//! 2. Let W be the first who changes what P says of C after that. He raises the counter before he changes P,
//!    and leaves C's latch (a release) after that. He had C's latch before the reader, or has it after him.
//! 3. Before: the reader's latch (an acquire) comes behind W's release, and W's raise with it. A relaxed
//!    load that comes behind in the reader's thread finds it, because a word never shows anybody an older
//!    value than one that he knows to be overwritten.
//! 4. After: C is the right page as long as the reader holds it.
//!
//! That P leaves memory is no more than a change: the counter is raised under EX, before the page table
//! forgets the page. P may come back to another frame, or to the same one, only through the page table,
//! whose mutexes order what comes behind the raise; so does the free list. (Were it raised after that, P
//! could be read into another frame meanwhile and changed there, where no mark tells of it, and the copy
//! would be believed.) Who finds the old frame's mark unchanged therefore knows of no change elsewhere. The
//! same holds for C, if it moved to another frame meanwhile: the latch of its new frame comes behind that
//! of the old one.
//!
//! The clock hand must not take a watched page for one that nobody uses: it takes the mark away, and the page
//! goes only if nobody has looked at it again when the hand comes by the next time.

#[cfg(loom)]
use crate::park::atomic::{AtomicU64, Ordering};
#[cfg(not(loom))]
use furrow_io::sync::atomic::{AtomicU64, Ordering};

/// Counters; a power of two. There are about as many watched pages as there are large trees in use.
#[cfg(not(loom))]
const COUNTERS: usize = 256;
#[cfg(loom)]
const COUNTERS: usize = 1;
/// Bits of a mark that say which counter it is of.
const PLACE_BITS: u32 = 8;
const _: () = assert!(COUNTERS <= 1 << PLACE_BITS, "a mark names its counter");

/// What tells whether a page is as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageMark(u64);

impl PageMark {
    /// The mark in a word, to be kept among other words that threads share.
    #[inline]
    pub fn to_word(self) -> u64 {
        self.0
    }

    /// The mark that gave this word. One that was made up holds or does not hold; nothing else comes of it.
    #[inline]
    pub fn from_word(word: u64) -> PageMark {
        PageMark(word)
    }
}

/// A counter in a line of its own.
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

    /// The counter in a place; any place will do.
    #[inline]
    fn counter(&self, place: usize) -> &AtomicU64 {
        &self.0[place % COUNTERS].0
    }

    /// What a mark of the page in this frame is. The caller holds SH and has marked the frame.
    pub(crate) fn mark(&self, index: u32) -> PageMark {
        let place = index as usize % COUNTERS;
        let count = self.counter(place).load(Ordering::Relaxed);
        PageMark(count << PLACE_BITS | place as u64)
    }

    /// The marks of the page in this frame hold no longer. The caller holds EX.
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
