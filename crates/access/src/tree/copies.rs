//! Copies of a tree's upper pages, for descents that write nothing that other descents read.
//!
//! Every descent begins at the root. If each latched it, all processors would write the word of its latch in
//! turn, and readers that share nothing else would wait for each other's caches. So a tree whose keys begin
//! with an integer copies the entries of the root, the integers and the children, to words of its own. It
//! copies some pages between the root and the leaves too, those that are used most. A descent reads the child
//! from the copy, latches it, and only then tests whether the pages that it has passed by have changed
//! meanwhile. (Optimistic lock coupling, after Leis and others, "The ART of Practical Synchronization", where
//! the version lies in the node itself. Here pages are latched from the child on.)
//!
//! # Why the child is the right one
//! A page covers some of the keys of its level. It loses a key only when it is split or taken out of the
//! tree. A thread that does either holds the page EX. It changes the page that is then the parent, latched
//! EX, before it releases the page. (A root that is split gives its entries to two new pages; the pages below
//! cover the same keys as before.) A copy has a mark of its page (`furrow_pool::PageMark`), taken under the
//! same latch as the copy. The mark becomes invalid when the page changes: a thread that observes the change
//! also sees the mark invalidated.
//!
//! Suppose that a descent goes by copies of the root and of a page P, latches the child C that P's copy
//! names, and finds that both marks are valid.
//! 1. P covered the key when its copy was made. If not, another thread had taken the key from P before, and
//!    had changed P's parent. That parent was the root as copied, or a page to which a split of the root,
//!    which is a change too, had moved P's entry. All that came before P's copy was made, and a thread that
//!    reads that copy observes it: the root's mark would be invalid.
//! 2. C covers the key now. If not, another thread has taken the key from C since P's copy was made, and has
//!    changed C's parent. That parent was P as copied, or a page to which a split of P, which is a change
//!    too, had moved C's entry. All that came before the thread released C, and a thread that latches C later
//!    observes it: P's mark would be invalid. And no thread can take the key from C as long as C is latched.
//!
//! If a mark is invalid, C may be any page: the descent releases it unread, and starts again with the root
//! latched. Until the marks are tested, the child is taken only if it is in memory and its latch is free. So
//! no thread waits for a page that it may not use, or reads a page from the disk that may have been freed, or
//! reports an error about such a page. (What is only requested ahead may be such a page: `leaf_hints`.)
//!
//! # How a copy is read and made
//! One thread at a time makes a copy, with the page latched SH; a thread that finds another one doing so
//! continues without the copy. The copy's number is odd meanwhile, and gets a new even value afterwards. A
//! thread that reads words while the number changes discards them. The words are plain atomics, read and
//! written without order among them: the writer's fence orders them behind the odd number, and the reader's
//! fence orders its second read of the number behind them.
//!
//! A page that changes after every few descents is not worth copying. So a page is copied only after twice as
//! many descents without a valid copy as it has entries: each of them pays for half an entry. Below the root,
//! only descents that find the page's latch shared count: without contention, latching a page is as cheap as
//! reading its copy.

use super::ints::{Ends, IntKey};
use super::side::Side;
use super::word::{pack, unpack};
use furrow_format::{Page, PageId};
use furrow_io::sync::atomic::{AtomicU64, Ordering, fence};
use furrow_pool::{PageMark, PageRead, Pool};
use std::sync::OnceLock;

/// The most entries a page has: a header byte, an `int`, a child and a slot each.
const MOST: usize = furrow_format::BODY_SIZE / 13;
/// Pages below the root that are copied at a time, ten KB each. When descents spread over many more pages,
/// hardly any two of them use the same page at a time.
const OTHERS: usize = 16;
/// Pages that are passed by in one descent at most.
const DEPTH: usize = 3;

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    /// The place of the key's first column in the order of the tree.
    pub(super) rank: i64,
    /// Which way to go among equal keys.
    pub(super) side: Side,
    /// Whether keys have no other column.
    pub(super) whole: bool,
}

/// Where copies lead.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    /// A page.
    pub(super) child: PageId,
    /// Its level.
    pub(super) level: u8,
    /// The keys between which its keys lie.
    pub(super) ends: Option<Ends>,
    /// Keys whose first column comes before this are below the next entry, of the copy or of one above.
    pub(super) fence: Option<i64>,
    /// How many pages were passed by, and their marks.
    pub(super) passed: usize,
    marks: [PageMark; DEPTH],
}

impl Found {
    /// Whether the copies are valid. When the child was latched before this call, `true` means that it is the
    /// right one.
    #[inline]
    pub(super) fn is_true(&self, pool: &Pool) -> bool {
        let mut marks = self.marks.iter().take(self.passed);
        marks.all(|&mark| pool.is_unchanged(mark))
    }
}

/// The copies of a tree.
#[derive(Debug, Default)]
pub(super) struct Copies {
    root: NodeCopy,
    others: OnceLock<Box<[NodeCopy; OTHERS]>>,
}

impl Copies {
    /// How far the copies lead from the root towards a place, and not below level `down_to`. `None` if there
    /// is no valid copy of the root.
    #[inline]
    pub(super) fn find(
        &self,
        root: PageId,
        wanted: Wanted,
        down_to: u8,
        pool: &Pool,
    ) -> Option<Found> {
        let (mut found, _) = self.root.find(root, wanted, pool)?;
        while found.level > down_to && found.passed < DEPTH {
            let others = self.others.get();
            let copy = others.and_then(|others| Self::place_of(found.child, others));
            let Some((next, mark)) = copy.and_then(|copy| copy.find(found.child, wanted, pool))
            else {
                break;
            };
            let passed = found.passed;
            found = Found {
                marks: found.marks,
                passed: passed + 1,
                fence: next.fence.or(found.fence),
                ..next
            };
            if let Some(place) = found.marks.get_mut(passed) {
                *place = mark;
            }
        }
        Some(found)
    }

    fn place_of(page: PageId, others: &[NodeCopy; OTHERS]) -> Option<&NodeCopy> {
        // A load makes such pages at equal distances: multiplied by 2^64 / golden ratio they scatter.
        let mixed = pack(page).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        others.get(mixed as usize % OTHERS)
    }

    /// Counts a descent that has come to a page above the leaves, and latched it.
    pub(super) fn note_descent(
        &self,
        root: PageId,
        ints: &IntKey,
        page: &PageRead<'_>,
        pool: &Pool,
    ) {
        let view = Page::new(page);
        if view.page_id() == root {
            self.root.note_descent(ints, page, pool);
        } else if page.is_shared() {
            let others = self.others.get_or_init(Box::default);
            if let Some(copy) = Self::place_of(view.page_id(), others) {
                copy.note_descent(ints, page, pool);
            }
        }
    }
}

/// A number that many threads write, on another cache line than those that many read.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Apart(AtomicU64);

/// The copy of a page above the leaves.
#[derive(Debug, Default)]
#[repr(align(64))]
struct NodeCopy {
    /// Odd while a thread makes the copy; 0 before the first.
    turn: AtomicU64,
    page: AtomicU64,
    mark: AtomicU64,
    /// The page's level and the number of its entries; 0 for a page that could not be copied.
    size: AtomicU64,
    /// First integers in the order of the tree, then children.
    words: OnceLock<Box<[[AtomicU64; MOST]; 2]>>,
    /// Descents without a valid copy since the last one was made.
    missed: Apart,
}

impl NodeCopy {
    /// Where this copy leads, and its mark, if it is one of this page.
    #[inline]
    fn find(&self, page: PageId, wanted: Wanted, pool: &Pool) -> Option<(Found, PageMark)> {
        let words = self.words.get()?;
        let turn = self.turn.load(Ordering::Acquire);
        let same = self.page.load(Ordering::Relaxed) == pack(page);
        let mark = PageMark::from_word(self.mark.load(Ordering::Relaxed));
        let size = self.size.load(Ordering::Relaxed);
        // Tested before use as well: this finds nearly every old copy before a page is latched.
        if turn % 2 == 1 || !same || !pool.is_unchanged(mark) {
            return None;
        }
        let found = Self::search(words, size, wanted, mark)?;
        fence(Ordering::Acquire);
        (self.turn.load(Ordering::Relaxed) == turn).then_some((found, mark))
    }

    #[inline]
    fn search(
        [ranks, children]: &[[AtomicU64; MOST]; 2],
        size: u64,
        wanted: Wanted,
        mark: PageMark,
    ) -> Option<Found> {
        let rank = |word: &AtomicU64| word.load(Ordering::Relaxed).cast_signed();
        // The first entry is less than every key.
        let ranks = ranks.get(1..size as u16 as usize)?;
        let before = count_before(ranks, wanted.rank);
        let equal = ranks.get(before).map(rank) == Some(wanted.rank);
        if equal && !wanted.whole {
            return None;
        }
        // A whole key of one column occurs once.
        let entry = before + usize::from(equal && wanted.side == Side::Behind);
        let low = entry.checked_sub(1).and_then(|at| ranks.get(at)).map(rank);
        let high = ranks.get(entry).map(rank);
        Some(Found {
            child: unpack(children.get(entry)?.load(Ordering::Relaxed)),
            level: ((size >> 16) as u8).checked_sub(1)?,
            ends: low
                .zip(high)
                .and_then(|(low, high)| Ends::between(low, high)),
            fence: high,
            passed: 1,
            marks: [mark; DEPTH],
        })
    }

    /// Counts a descent that has come to the page without this copy: makes the copy, if it is not valid and
    /// has been missed often enough.
    fn note_descent(&self, ints: &IntKey, page: &PageRead<'_>, pool: &Pool) {
        let turn = self.turn.load(Ordering::Acquire);
        let same = self.page.load(Ordering::Relaxed) == pack(page.key().page);
        let mark = PageMark::from_word(self.mark.load(Ordering::Relaxed));
        if turn > 0 && same && pool.is_unchanged(mark) {
            return;
        }
        let missed = self.missed.0.fetch_add(1, Ordering::Relaxed);
        if missed >= 2 * u64::from(Page::new(page).slot_count()) {
            self.missed.0.store(0, Ordering::Relaxed);
            self.make(ints, page);
        }
    }

    #[cold]
    fn make(&self, ints: &IntKey, page: &PageRead<'_>) {
        let turn = self.turn.load(Ordering::Relaxed);
        // Acquire: behind all that the thread which made the last copy has written.
        let order = (Ordering::Acquire, Ordering::Relaxed);
        let odd = turn | 1;
        if odd == turn
            || self
                .turn
                .compare_exchange(turn, odd, order.0, order.1)
                .is_err()
        {
            return;
        }
        fence(Ordering::Release);
        let [ranks, children] = &**self.words.get_or_init(new_words);
        let view = Page::new(page);
        let mut entries = 0_u64;
        for (slot, (rank, child)) in (0..view.slot_count()).zip(ranks.iter().zip(children)) {
            let Some((at, to)) = ints.entry(view, slot) else {
                break;
            };
            rank.store(at.cast_unsigned(), Ordering::Relaxed);
            child.store(pack(to), Ordering::Relaxed);
            entries += 1;
        }
        let all = entries == u64::from(view.slot_count());
        let size = entries | u64::from(view.level()) << 16;
        self.size
            .store(if all { size } else { 0 }, Ordering::Relaxed);
        self.page.store(pack(page.key().page), Ordering::Relaxed);
        self.mark.store(page.mark().to_word(), Ordering::Relaxed);
        self.turn.store(odd + 1, Ordering::Release);
    }
}

/// How many of these lie before a place. They are near a guess where keys are spread evenly: fewer lines are
/// looked at than by halving.
#[inline]
fn count_before(ranks: &[AtomicU64], wanted: i64) -> usize {
    let rank = |word: &AtomicU64| word.load(Ordering::Relaxed).cast_signed();
    let (mut low, mut high) = (0, ranks.len());
    let (first, last) = (ranks.first().map(rank), ranks.last().map(rank));
    let ends = first
        .zip(last)
        .and_then(|(low, high)| Ends::between(low, high));
    let guess = ends.map_or(0, |ends| ends.guess(wanted, high as u16));
    let (mut probe, mut step, mut way) = (usize::from(guess).min(high.saturating_sub(1)), 1, None);
    while let Some(word) = ranks.get(probe).filter(|_| (low..high).contains(&probe)) {
        let before = rank(word) < wanted;
        (low, high) = if before {
            (probe + 1, high)
        } else {
            (low, probe)
        };
        if *way.get_or_insert(before) != before {
            break;
        }
        probe = if before {
            low - 1 + step
        } else {
            high.saturating_sub(step)
        };
        step *= 2;
    }
    low + ranks
        .get(low..high)
        .map_or(0, |left| left.partition_point(|word| rank(word) < wanted))
}

fn new_words() -> Box<[[AtomicU64; MOST]; 2]> {
    Box::new([const { [const { AtomicU64::new(0) }; MOST] }; 2])
}
