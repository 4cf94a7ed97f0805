//! Extents that have changed since the database was opened: what its changed-extent maps (DCM) do not have
//! yet.
//!
//! Page 6 of each GAM interval has a bit for each extent that has changed since the last full backup. The
//! bits of the extents that change while the database is open are set here, in memory. Each checkpoint adds
//! the new ones to the pages.
//!
//! # Invariants
//! 1. *A bit may be set too often; it is never missing.* [`Mini::commit`](crate::Mini::commit) sets the bit
//!    of every page that it changes before it appends the record. So a checkpoint that reads the bits after
//!    its own first record sees the bits of all records before it.
//! 2. Redo sets the bits of all records that it reads, also where the page needs nothing. It reads every
//!    record since the last completed checkpoint. The changed-extent pages have the bits of the records
//!    before.
//! 3. The map of an extent is the union of the page's bit and the bit here.
//! 4. A changed-extent page that is formatted again has lost its bits: [`ChangedExtents::rewrite`] makes the
//!    next checkpoint add all of them again.
//! 5. A full backup begins a new base for differential backups ([`ChangedExtents::begin_base`]). Until
//!    the base counts, the bits set before are kept apart and still belong to the map.
//!    [`Mini::commit`](crate::Mini::commit) compares the generation before its first bit and behind its
//!    record: if a base began in between, it sets its bits once more, before it releases its latches.
//!    So bits that are read behind a checkpoint have every record before the checkpoint's redo point:
//!    the checkpoint has latched every page that such a record changed.
//! 6. A page loses bits only when the boot page names the new base, durably
//!    ([`ChangedExtents::restart_page`]): a crash before that leaves too many bits, never too few.
//! 7. A changed-extent page that is damaged has lost its bits: all extents of its interval count as changed
//!    ([`ChangedExtents::lose`]). A reader that finds the page damaged after a restart does the same.
//!
//! # Cost
//! A change tests its bit by a relaxed load. Only the first change of an extent writes to shared memory.
//! An interval of 4 GB takes 24 KB, from its first change on.

use furrow_format::{
    EXTENT_PAGES, FileId, GAM_INTERVAL, GAM_INTERVAL_EXTENTS, PageId, PageNo, dcm_page_of,
};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;

/// Words of 64 bits in a map.
pub(crate) const MAP_WORDS: usize = GAM_INTERVAL_EXTENTS.div_ceil(64) as usize;
/// Places of a block of a [`Sparse`] array.
const BLOCK: usize = 64;
/// File numbers are below this.
const FILES: usize = 1 << 15;
/// GAM intervals of the largest file.
const INTERVALS: usize = (u32::MAX / GAM_INTERVAL) as usize + 1;

const _: () = assert!(MAP_WORDS * 64 >= GAM_INTERVAL_EXTENTS as usize);
const _: () = assert!(INTERVALS as u64 * GAM_INTERVAL as u64 > u32::MAX as u64);

type Block<T> = Box<[OnceLock<Box<T>>]>;

/// An array of which most places are empty; a place that is filled stays so.
#[derive(Debug)]
struct Sparse<T> {
    blocks: Box<[OnceLock<Block<T>>]>,
}

impl<T> Sparse<T> {
    fn new(places: usize) -> Sparse<T> {
        let blocks = places.div_ceil(BLOCK);
        debug_assert!(blocks * BLOCK >= places, "a block for every place");
        Sparse {
            blocks: (0..blocks).map(|_| OnceLock::new()).collect(),
        }
    }

    #[inline]
    fn get(&self, place: usize) -> Option<&T> {
        let block = self.blocks.get(place / BLOCK)?.get()?;
        block.get(place % BLOCK)?.get().map(|found| &**found)
    }

    fn get_or_fill(&self, place: usize, fill: impl FnOnce() -> T) -> Option<&T> {
        let empty = || (0..BLOCK).map(|_| OnceLock::new()).collect();
        let block = self.blocks.get(place / BLOCK)?.get_or_init(empty);
        let found = block.get(place % BLOCK)?;
        Some(found.get_or_init(|| Box::new(fill())))
    }

    fn filled(&self) -> impl Iterator<Item = (usize, &T)> {
        let blocks = self.blocks.iter().enumerate();
        blocks.flat_map(|(number, block)| {
            let places = block.get().into_iter().flat_map(|block| block.iter());
            let places = places.enumerate();
            places.filter_map(move |(at, place)| Some((number * BLOCK + at, &**place.get()?)))
        })
    }
}

/// The bits of an interval, and those of them that its page has.
#[derive(Debug)]
struct Interval {
    bits: [AtomicU64; MAP_WORDS],
    /// Bits set before a base that does not count yet.
    before: [AtomicU64; MAP_WORDS],
    on_page: [AtomicU64; MAP_WORDS],
}

impl Interval {
    fn new() -> Interval {
        Interval {
            bits: [const { AtomicU64::new(0) }; MAP_WORDS],
            before: [const { AtomicU64::new(0) }; MAP_WORDS],
            on_page: [const { AtomicU64::new(0) }; MAP_WORDS],
        }
    }

    /// Index and bits of each word that has bits which the page has not.
    fn fresh(&self) -> impl Iterator<Item = (usize, u64)> {
        self.on_page
            .iter()
            .enumerate()
            .filter_map(|(index, on_page)| {
                let bits = self.word(index);
                (bits & !on_page.load(Ordering::Relaxed) != 0).then_some((index, bits))
            })
    }

    /// The bits of a word.
    fn word(&self, index: usize) -> u64 {
        let load = |words: &[AtomicU64]| words.get(index).map_or(0, |w| w.load(Ordering::Relaxed));
        load(&self.bits) | load(&self.before)
    }
}

/// The changed extents of a database.
#[derive(Debug)]
pub struct ChangedExtents {
    files: Sparse<Sparse<Interval>>,
    /// How many bases have begun.
    generation: AtomicU64,
}

/// Place of a page's bit: interval, word, bit.
#[inline]
fn place_of(page: PageNo) -> (usize, usize, u64) {
    let extent = page.0 / EXTENT_PAGES;
    let (interval, at) = (extent / GAM_INTERVAL_EXTENTS, extent % GAM_INTERVAL_EXTENTS);
    debug_assert!((interval as usize) < INTERVALS, "a place for every page");
    (interval as usize, at as usize / 64, 1 << (at % 64))
}

impl ChangedExtents {
    pub(crate) fn new() -> ChangedExtents {
        ChangedExtents {
            files: Sparse::new(FILES),
            generation: AtomicU64::new(0),
        }
    }

    /// How many bases have begun: see invariant 5.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Begins a new base: changes from here on count for it. The ones before still count until
    /// [`ChangedExtents::restart_page`] drops them; [`ChangedExtents::abandon_base`] takes them back.
    pub fn begin_base(&self) {
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.each_word(|bits, before| {
            before.fetch_or(bits.load(Ordering::SeqCst), Ordering::SeqCst);
            before.fetch_or(bits.swap(0, Ordering::SeqCst), Ordering::SeqCst);
        });
    }

    /// The base that began does not count.
    pub fn abandon_base(&self) {
        debug_assert!(self.generation() > 0, "a base has begun");
        self.each_word(|bits, before| {
            bits.fetch_or(before.load(Ordering::SeqCst), Ordering::SeqCst);
            before.store(0, Ordering::SeqCst);
        });
    }

    fn each_word(&self, work: impl Fn(&AtomicU64, &AtomicU64)) {
        for (_, intervals) in self.files.filled() {
            for (_, interval) in intervals.filled() {
                let words = interval.bits.iter().zip(&interval.before);
                words.for_each(|(bits, before)| work(bits, before));
            }
        }
    }

    /// The new base counts: drops the bits before it and hands out all words of the interval, which become
    /// the page's. The caller holds the page EX.
    pub fn restart_page(&self, page: PageId, mut put: impl FnMut(usize, u64)) {
        let (interval, ..) = place_of(page.page);
        let file = self.files.get(usize::from(page.file.0));
        let Some(interval) = file.and_then(|file| file.get(interval)) else {
            (0..MAP_WORDS).for_each(|index| put(index, 0));
            return;
        };
        for (index, (before, on_page)) in interval.before.iter().zip(&interval.on_page).enumerate()
        {
            before.store(0, Ordering::SeqCst);
            let bits = interval.word(index);
            debug_assert!(index < MAP_WORDS, "a word of the map");
            put(index, bits);
            on_page.store(bits, Ordering::Relaxed);
        }
    }

    /// Sets the bit of a page's extent. To be called before the record of the change is appended, or, by
    /// redo, while it is read.
    #[inline]
    pub fn mark(&self, page: PageId) {
        let (interval, word, bit) = place_of(page.page);
        let file = self.files.get(usize::from(page.file.0));
        let found = file.and_then(|file| file.get(interval));
        let known = found.and_then(|interval| interval.bits.get(word));
        if known.is_none_or(|word| word.load(Ordering::Relaxed) & bit == 0) {
            self.mark_first(page);
        }
    }

    #[cold]
    fn mark_first(&self, page: PageId) {
        if mutated(Mutation::ForgetChangedExtent) {
            return;
        }
        let (interval, word, bit) = place_of(page.page);
        let file = usize::from(page.file.0);
        let file = self.files.get_or_fill(file, || Sparse::new(INTERVALS));
        let found = file.and_then(|file| file.get_or_fill(interval, Interval::new));
        if let Some(word) = found.and_then(|interval| interval.bits.get(word)) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Forgets a file: another file is about to get its number, and none of that file's pages has changed.
    pub fn forget(&self, file: FileId) {
        let file = self.files.get(usize::from(file.0));
        for (_, interval) in file.into_iter().flat_map(Sparse::filled) {
            let words = interval.bits.iter().chain(&interval.before);
            let words = words.chain(&interval.on_page);
            words.for_each(|word| word.store(0, Ordering::Relaxed));
        }
    }

    /// The changed-extent page at `page` cannot be read: which of its extents have changed is unknown. All of
    /// them count as changed from now on. The page takes no bits until it is formatted again.
    pub fn lose(&self, page: PageId) {
        let (interval, ..) = place_of(page.page);
        let file = usize::from(page.file.0);
        let file = self.files.get_or_fill(file, || Sparse::new(INTERVALS));
        let Some(interval) = file.and_then(|file| file.get_or_fill(interval, Interval::new)) else {
            return;
        };
        for (index, (bits, on_page)) in interval.bits.iter().zip(&interval.on_page).enumerate() {
            // The last word has fewer extents than bits.
            let behind = (index as u32 * 64 + 64).saturating_sub(GAM_INTERVAL_EXTENTS);
            let all = u64::MAX >> behind;
            bits.fetch_or(all, Ordering::Relaxed);
            debug_assert!(all != 0, "every word has an extent");
            on_page.store(all, Ordering::Relaxed);
        }
    }

    /// The changed-extent page at `page` was formatted and has no bits any more. The caller holds it EX.
    pub fn rewrite(&self, page: PageId) {
        let (interval, ..) = place_of(page.page);
        let file = self.files.get(usize::from(page.file.0));
        if let Some(interval) = file.and_then(|file| file.get(interval)) {
            let words = interval.on_page.iter();
            words.for_each(|word| word.store(0, Ordering::Relaxed));
        }
    }

    /// The changed-extent pages that lack bits which are set here.
    pub fn behind(&self) -> Vec<PageId> {
        let files = self.files.filled();
        let of_file = |(file, intervals): (usize, _)| {
            debug_assert!(file < FILES, "a file's number");
            let file = FileId(u16::try_from(file).unwrap_or(u16::MAX));
            let intervals: &Sparse<Interval> = intervals;
            let behind = intervals
                .filled()
                .filter(|(_, i)| i.fresh().next().is_some());
            behind.map(move |(interval, _)| {
                let first = PageNo(interval as u32 * GAM_INTERVAL);
                let page = dcm_page_of(first);
                debug_assert_eq!(place_of(page).0, interval, "a page of its interval");
                PageId { file, page }
            })
        };
        files.flat_map(of_file).collect()
    }

    /// Adds to a changed-extent page the bits that it lacks: `add` is called with the index and the bits of a
    /// word. The caller holds the page EX, and no other thread calls this.
    pub fn add_to_page(&self, page: PageId, mut add: impl FnMut(usize, u64)) {
        debug_assert_eq!(
            dcm_page_of(page.page),
            page.page,
            "bits are added to a changed-extent page"
        );
        let (interval, ..) = place_of(page.page);
        let file = self.files.get(usize::from(page.file.0));
        let Some(interval) = file.and_then(|file| file.get(interval)) else {
            return;
        };
        for (index, bits) in interval.fresh() {
            debug_assert!(bits != 0, "a word that the page lacks has bits");
            add(index, bits);
            if let Some(on_page) = interval.on_page.get(index) {
                on_page.store(bits, Ordering::Relaxed);
            }
        }
    }

    /// The bits of the word `index` of an interval that are set here; `page` is any page of the interval.
    pub fn word(&self, page: PageId, index: usize) -> u64 {
        let (interval, ..) = place_of(page.page);
        let file = self.files.get(usize::from(page.file.0));
        let found = file.and_then(|file| file.get(interval));
        found.map_or(0, |interval| interval.word(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added(changed: &ChangedExtents, page: PageId) -> Vec<(usize, u64)> {
        let mut words = Vec::new();
        changed.add_to_page(page, |index, bits| words.push((index, bits)));
        words
    }

    #[test]
    fn each_bit_is_brought_to_its_page_once_and_again_when_the_page_was_formatted() {
        let changed = ChangedExtents::new();
        let dcm = PageId::new(1, 6);
        assert!(changed.behind().is_empty());
        for page in [0, 7, 8, 8 * 64, 8 * 64 + 5] {
            changed.mark(PageId::new(1, page));
        }
        assert_eq!(changed.behind(), [dcm]);
        assert_eq!(added(&changed, dcm), [(0, 3), (1, 1)]);
        assert!(changed.behind().is_empty());
        changed.mark(PageId::new(1, 16));
        assert_eq!(added(&changed, dcm), [(0, 7)]);
        changed.rewrite(dcm);
        assert_eq!(added(&changed, dcm), [(0, 7), (1, 1)]);
        assert_eq!(changed.word(dcm, 0), 7);
    }

    #[test]
    fn a_base_that_counts_drops_the_bits_before_it_and_one_that_does_not_keeps_them() {
        let changed = ChangedExtents::new();
        let dcm = PageId::new(1, 6);
        changed.mark(PageId::new(1, 0));
        assert_eq!(added(&changed, dcm), [(0, 1)]);
        changed.mark(PageId::new(1, 8));
        changed.begin_base();
        assert_eq!(changed.word(dcm, 0), 3, "the old base still counts");
        assert_eq!(
            added(&changed, dcm),
            [(0, 3)],
            "and its bits come to their page"
        );
        changed.mark(PageId::new(1, 8));
        changed.mark(PageId::new(1, 24));
        changed.abandon_base();
        assert_eq!(changed.word(dcm, 0), 11);
        changed.begin_base();
        changed.mark(PageId::new(1, 8));
        let mut words = Vec::new();
        changed.restart_page(dcm, |index, bits| words.push((index, bits)));
        assert_eq!(
            (words.len(), words[0], words[1]),
            (MAP_WORDS, (0, 2), (1, 0))
        );
        assert!(changed.behind().is_empty());
        assert_eq!(changed.word(dcm, 0), 2);
        changed.restart_page(PageId::new(2, 6), |_, bits| assert_eq!(bits, 0));
    }

    #[test]
    fn all_extents_of_a_lost_page_have_changed_and_come_to_it_when_it_was_formatted() {
        let changed = ChangedExtents::new();
        let dcm = PageId::new(1, GAM_INTERVAL + 6);
        changed.mark(PageId::new(1, 9));
        changed.lose(dcm);
        // The page cannot take bits: no checkpoint tries.
        assert_eq!(changed.behind(), [PageId::new(1, 6)]);
        let count = |page| {
            (0..MAP_WORDS)
                .map(|at| changed.word(page, at).count_ones())
                .sum::<u32>()
        };
        assert_eq!(count(dcm), GAM_INTERVAL_EXTENTS);
        assert_eq!(count(PageId::new(1, 6)), 1);
        changed.rewrite(dcm);
        let bits: u32 = added(&changed, dcm)
            .iter()
            .map(|(_, bits)| bits.count_ones())
            .sum();
        assert_eq!(bits, GAM_INTERVAL_EXTENTS);
    }

    #[test]
    fn the_last_extent_of_the_largest_file_has_a_bit_and_a_forgotten_file_has_none() {
        let changed = ChangedExtents::new();
        let last = PageId::new(32_767, furrow_format::MAX_FILE_PAGES - 1);
        changed.mark(last);
        changed.mark(PageId::new(3, GAM_INTERVAL + 9));
        let dcm = PageId::new(3, GAM_INTERVAL + 6);
        let page = dcm_page_of(last.page);
        assert_eq!(changed.behind(), [dcm, PageId { page, ..last }]);
        assert_eq!(changed.word(dcm, 0), 2);
        changed.forget(FileId(3));
        assert_eq!(changed.behind().len(), 1);
        assert_eq!(changed.word(dcm, 0), 0);
    }
}
