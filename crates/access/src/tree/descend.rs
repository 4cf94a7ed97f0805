//! From the root to a leaf.

use super::copies::{Found, Wanted};
use super::handle::Tree;
use super::ints::Ends;
use super::node::damaged;
use super::side::Side;
use super::word::{pack, unpack};
use crate::{AccessError, Key};
use furrow_format::{Page, PageBuf, PageId};
use furrow_io::sync::atomic::Ordering as Atomic;
use furrow_observe::counters::Counter;
use furrow_pool::{Ex, LatchRank, Mode, PageGuard, PageRead, PageWrite};
use std::cmp::Ordering;

/// Most leaves requested in advance: twice what the pool's threads read at once, so that none of them is ever
/// without a request while the scan works.
pub(super) const READ_AHEAD: usize = 512;

/// Entries of a parent to the right of the one taken that a scan will want next.
pub(crate) type Ahead = Vec<PageId>;

/// A leaf, and the keys between which its keys lie where its parent has them.
pub(super) type Leaf<'p, M> = (PageGuard<'p, M>, Option<Ends>);

/// The same, and the first column of a key that all keys of the leaf come before. Where the parent has no
/// entry behind the leaf's, the pages above it have it, unless it is the last leaf of the tree.
pub(super) type FencedLeaf<'p, M> = (PageGuard<'p, M>, Option<Ends>, Option<i64>);

/// Whether a descent notes the fence of the leaf, which is one more entry of each page to read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fencing {
    With,
    Without,
}

/// Where a descent begins.
enum Top<'p, M: Mode> {
    /// It is at its end.
    Leaf(FencedLeaf<'p, M>),
    /// With this page, of this level, whose keys come before this place.
    Node(PageRead<'p>, u8, Option<i64>),
}

/// A page on the way to a leaf that is to be split or removed.
#[derive(Debug)]
pub(super) struct PathStep<'p> {
    /// The page.
    pub(super) page: PageWrite<'p>,
    /// The slot its child was taken from.
    pub(super) slot: u16,
    /// The right neighbour of a non-leaf page that is not enough by itself.
    pub(super) right: Option<PageWrite<'p>>,
}

impl Tree {
    /// The leaf that holds, or would hold, the row with this whole key.
    pub(super) fn leaf_for<M: Mode>(
        &self,
        key: &Key,
        mode: M,
    ) -> Result<PageGuard<'_, M>, AccessError> {
        Ok(self.leaf_and_ends_for(key, mode)?.0)
    }

    /// The same, and the keys between which its keys lie: for a search on the leaf.
    pub(super) fn leaf_and_ends_for<M: Mode>(
        &self,
        key: &Key,
        mode: M,
    ) -> Result<Leaf<'_, M>, AccessError> {
        let (leaf, ends, _) = self.descend(key, Side::Behind, mode, None, Fencing::Without)?;
        Ok((leaf, ends))
    }

    /// The same, and the place that its keys come before.
    pub(super) fn fenced_leaf_for<M: Mode>(
        &self,
        key: &Key,
        mode: M,
    ) -> Result<FencedLeaf<'_, M>, AccessError> {
        self.descend(key, Side::Behind, mode, None, Fencing::With)
    }

    /// The leaf with the place `side` of `key`; the row itself may be the first of the leaf to the right.
    pub(super) fn leaf_at<M: Mode>(
        &self,
        key: &Key,
        side: Side,
        mode: M,
        ahead: Option<&mut Ahead>,
    ) -> Result<PageGuard<'_, M>, AccessError> {
        let (leaf, ..) = self.descend(key, side, mode, ahead, Fencing::Without)?;
        Ok(leaf)
    }

    fn descend<M: Mode>(
        &self,
        key: &Key,
        side: Side,
        mode: M,
        ahead: Option<&mut Ahead>,
        fencing: Fencing,
    ) -> Result<FencedLeaf<'_, M>, AccessError> {
        self.store().pool().count(Counter::IndexSearches, 1);
        if self.parts.shape.at_rest {
            return Ok((self.resting_leaf(key, side, mode)?.0, None, None));
        }
        // A descent that reads ahead needs the leaf's parent.
        let (mut page, mut level, mut fence) = match self.top(key, side, mode, ahead.is_none())? {
            Top::Leaf(leaf) => return Ok(leaf),
            Top::Node(page, level, fence) => (page, level, fence),
        };
        self.note_descent(&page);
        while level > 1 {
            let slot = self.child_slot(&page, key, side)?;
            let child = self.child_at(&page, slot)?;
            fence = self.fence_behind(&page, slot, fence, fencing);
            let next = self.fetch(child, furrow_pool::Sh)?;
            self.expect_level(&next, level - 1)?;
            page = next;
            level -= 1;
            self.note_descent(&page);
        }
        let slot = self.child_slot(&page, key, side)?;
        let child = self.child_at(&page, slot)?;
        if let Some(ahead) = ahead {
            self.note_ahead(&page, slot, child, ahead)?;
        }
        let ends = self.ints.and_then(|ints| ints.ends(Page::new(&page), slot));
        let fence = self.fence_behind(&page, slot, fence, fencing);
        let leaf = self.fetch(child, mode)?;
        self.expect_level(&leaf, 0)?;
        Ok((leaf, ends, fence))
    }

    /// The place that the keys of a child come before: the parent's next entry, or what its own keys come
    /// before.
    #[inline]
    fn fence_behind(
        &self,
        parent: &PageRead<'_>,
        slot: u16,
        own: Option<i64>,
        fencing: Fencing,
    ) -> Option<i64> {
        if fencing == Fencing::Without {
            return None;
        }
        let (view, next) = (Page::new(parent), slot.checked_add(1)?);
        if next < view.slot_count() {
            self.ints?.low_of(view, next)
        } else {
            own
        }
    }

    fn note_descent(&self, page: &PageRead<'_>) {
        if let Some(ints) = &self.ints {
            self.copies
                .note_descent(self.root(), ints, page, self.store().pool());
        }
    }

    /// Where a descent begins: as far below the root as copies are valid, else at the root.
    #[inline]
    fn top<M: Mode>(
        &self,
        key: &Key,
        side: Side,
        mode: M,
        leaf_will_do: bool,
    ) -> Result<Top<'_, M>, AccessError> {
        if let Some(top) = self.below_copies(key, side, mode, leaf_will_do)? {
            return Ok(top);
        }
        loop {
            if self.root_level.load(Atomic::Relaxed) == 0 {
                let root = self.fetch(self.root(), mode)?;
                let level = Page::new(&root).level();
                if level == 0 {
                    return Ok(Top::Leaf((root, None, None)));
                }
                self.root_level.store(level, Atomic::Relaxed);
            }
            let root = self.fetch(self.root(), furrow_pool::Sh)?;
            let level = Page::new(&root).level();
            if level > 0 {
                return Ok(Top::Node(root, level, None));
            }
            // Cannot happen to a tree that is not truncated: it never gets lower.
            self.root_level.store(0, Atomic::Relaxed);
        }
    }

    /// The page that copies lead to, if they are valid and its latch is free.
    #[inline]
    fn below_copies<M: Mode>(
        &self,
        key: &Key,
        side: Side,
        mode: M,
        leaf_will_do: bool,
    ) -> Result<Option<Top<'_, M>>, AccessError> {
        let Some(rank) = self.ints.and_then(|ints| ints.rank_of(key)) else {
            return Ok(None);
        };
        let whole = self.parts.shape.key.len() == 1;
        let wanted = Wanted { rank, side, whole };
        let (pool, down_to) = (self.store().pool(), u8::from(!leaf_will_do));
        let Some(found) = self.copies.find(self.root(), wanted, down_to, pool) else {
            return Ok(None);
        };
        Ok(if found.level > 0 {
            let node = self.true_child(&found, furrow_pool::Sh)?;
            node.map(|node| Top::Node(node, found.level, found.fence))
        } else if leaf_will_do {
            let leaf = self.true_child(&found, mode)?;
            leaf.map(|leaf| Top::Leaf((leaf, found.ends, found.fence)))
        } else {
            None
        })
    }

    /// The page that copies lead to, latched, if its latch is free and the copies are still valid then.
    #[inline]
    fn true_child<M: Mode>(
        &self,
        found: &Found,
        mode: M,
    ) -> Result<Option<PageGuard<'_, M>>, AccessError> {
        let (pool, child) = (self.store().pool(), self.store().key(found.child));
        let Some(page) = pool.fetch_at_hand(child, mode, LatchRank::Data) else {
            return Ok(None);
        };
        if !found.is_true(pool) {
            return Ok(None);
        }
        // The pages that the copies replace count as looked up.
        pool.count_lookups(1 + found.passed as u64);
        self.expect_level(&page, found.level)?;
        Ok(Some(page))
    }

    fn note_ahead(
        &self,
        page: &PageRead<'_>,
        slot: u16,
        child: PageId,
        ahead: &mut Ahead,
    ) -> Result<(), AccessError> {
        // What was noted at the last descent still holds, from this child on, unless splits make it a worse
        // guess: only what is new is looked up.
        match ahead.iter().position(|&noted| noted == child) {
            Some(at) => drop(ahead.drain(..=at)),
            None => ahead.clear(),
        }
        let known = u16::try_from(ahead.len()).unwrap_or(u16::MAX);
        let first = slot.saturating_add(1).saturating_add(known);
        let most = READ_AHEAD.saturating_sub(ahead.len());
        self.note_children(page, first, most, ahead)?;
        // Behind the parent's last child come those of its neighbour: otherwise no leaf would be requested in
        // advance at the end of each parent. A neighbour that is not in memory is requested before the
        // leaves: behind them it would arrive only when the scan is there.
        let right = Page::new(page).next();
        let more = READ_AHEAD.saturating_sub(ahead.len());
        if more == 0 || right.is_none() {
            return Ok(());
        }
        let (pool, key) = (self.store().pool(), self.store().key(right));
        if !pool.resident(key) {
            return Ok(pool.prefetch_first(key)?);
        }
        // A hint does not wait for a latch.
        let Some(right) = pool.try_fetch(key, furrow_pool::Sh, LatchRank::Data)? else {
            return Ok(());
        };
        self.expect_level(&right, 1)?;
        let noted = first.saturating_sub(Page::new(page).slot_count());
        self.note_children(&right, noted, more, ahead)
    }

    /// At most so many children of a page, from one slot on.
    fn note_children(
        &self,
        page: &PageRead<'_>,
        first: u16,
        most: usize,
        ahead: &mut Ahead,
    ) -> Result<(), AccessError> {
        let most = u16::try_from(most).unwrap_or(u16::MAX);
        let end = Page::new(page).slot_count().min(first.saturating_add(most));
        for slot in first..end {
            ahead.push(self.child_at(page, slot)?);
        }
        Ok(())
    }

    pub(crate) fn fetch<M: Mode>(
        &self,
        page: PageId,
        mode: M,
    ) -> Result<PageGuard<'_, M>, AccessError> {
        let store = self.store();
        Ok(store.pool().fetch(store.key(page), mode, LatchRank::Data)?)
    }

    pub(super) fn expect_level(&self, page: &PageBuf, level: u8) -> Result<(), AccessError> {
        let view = Page::new(page);
        let resting = self.parts.shape.at_rest;
        if (view.level() != level && !resting) || !self.parts.shape.owns(view, self.parts.unit.id())
        {
            return Err(damaged(page, "it is not the child that its parent says"));
        }
        Ok(())
    }

    /// The rightmost leaf, latched EX, when `key` belongs on it; for ascending inserts, those that come a
    /// little late included. A key that belongs elsewhere ends the guessing: inserts in any order would all
    /// latch this one page for nothing, until one of them arrives at the end again.
    pub(super) fn last_leaf_for(&self, key: &Key) -> Result<Option<PageWrite<'_>>, AccessError> {
        let word = self.last_leaf.load(Atomic::Relaxed);
        if word == 0 {
            return Ok(None);
        }
        let hint = unpack(word);
        if !self.store().pool().resident(self.store().key(hint)) {
            return Ok(None);
        }
        let leaf = self.fetch(hint, Ex)?;
        let view = Page::new(&leaf);
        let usable = view.unit() == self.parts.unit.id()
            && view.page_type() == self.parts.shape.leaf_type()
            && view.level() == 0
            && view.next().is_none()
            && view.slot_count() > 0
            && leaf.key().page != self.root();
        if !usable || self.parts.shape.compare_at(&leaf, 0, key)? == Ordering::Greater {
            self.last_leaf.store(0, Atomic::Relaxed);
            return Ok(None);
        }
        Ok(Some(leaf))
    }

    /// Remembers the leaf an insert has come to when it is the rightmost one.
    pub(super) fn note_if_last(&self, leaf: &PageWrite<'_>) {
        let page = leaf.key().page;
        if Page::new(leaf).next().is_none()
            && page != self.root()
            && self.last_leaf.load(Atomic::Relaxed) != pack(page)
        {
            self.note_last_leaf(page);
        }
    }

    pub(super) fn note_last_leaf(&self, page: PageId) {
        self.last_leaf.store(pack(page), Atomic::Relaxed);
    }

    /// The pages that a split of the leaf for `key` may change, all latched EX, the leaf last: from the
    /// lowest page that has space for another entry, or from the root.
    pub(super) fn path_for_split(&self, key: &Key) -> Result<Vec<PathStep<'_>>, AccessError> {
        let room = self.parts.shape.largest_node_row();
        self.path_from(key, &|page| usize::from(page.free_count()) >= room)
    }

    /// The pages that the removal of the leaf for `key` changes, all latched EX, the leaf last: from the
    /// lowest page that has another child, or from the root.
    pub(super) fn path_for_removal(&self, key: &Key) -> Result<Vec<PathStep<'_>>, AccessError> {
        self.path_from(key, &|page| page.slot_count() > 1)
    }

    /// The path to the leaf for `key`, latched EX, from the lowest page that is `enough`: the change that is
    /// to come does not go above it.
    ///
    /// Nearly always the leaf's parent is enough: then SH latches lead down to it. Only when it is not,
    /// everything is latched EX from the root, and ancestors are released as soon as a page below is enough.
    fn path_from(
        &self,
        key: &Key,
        enough: &dyn Fn(Page<'_>) -> bool,
    ) -> Result<Vec<PathStep<'_>>, AccessError> {
        if let Some(path) = self.short_path(key, enough)? {
            return Ok(path);
        }
        let mut path: Vec<PathStep<'_>> = Vec::new();
        let mut page = self.fetch(self.root(), Ex)?;
        loop {
            let view = Page::new(&page);
            let (level, next) = (view.level(), view.next());
            let mut right = None;
            if level == 0 {
                path.push(PathStep {
                    page,
                    slot: 0,
                    right,
                });
                return Ok(path);
            }
            if enough(view) {
                path.clear();
            } else if !next.is_none() {
                // It may change its place among its neighbours: they are latched before anything below.
                right = Some(self.fetch(next, Ex)?);
            }
            let slot = self.child_slot(&page, key, Side::Behind)?;
            let child = self.child_at(&page, slot)?;
            path.push(PathStep { page, slot, right });
            page = self.fetch(child, Ex)?;
            self.expect_level(&page, level - 1)?;
        }
    }

    /// The leaf for `key` and its parent, latched EX, when the parent is enough.
    fn short_path(
        &self,
        key: &Key,
        enough: &dyn Fn(Page<'_>) -> bool,
    ) -> Result<Option<Vec<PathStep<'_>>>, AccessError> {
        if self.root_level.load(Atomic::Relaxed) < 2 {
            return Ok(None);
        }
        let mut page = self.fetch(self.root(), furrow_pool::Sh)?;
        loop {
            let level = Page::new(&page).level();
            if level < 2 {
                return Ok(None);
            }
            let slot = self.child_slot(&page, key, Side::Behind)?;
            let child = self.child_at(&page, slot)?;
            if level > 2 {
                let next = self.fetch(child, furrow_pool::Sh)?;
                self.expect_level(&next, level - 1)?;
                page = next;
                continue;
            }
            let parent = self.fetch(child, Ex)?;
            self.expect_level(&parent, 1)?;
            drop(page);
            if !enough(Page::new(&parent)) {
                return Ok(None);
            }
            let slot = self.child_slot(&parent, key, Side::Behind)?;
            let leaf = self.fetch(self.child_at(&parent, slot)?, Ex)?;
            self.expect_level(&leaf, 0)?;
            let steps = [(parent, slot), (leaf, 0)];
            let steps = steps.map(|(page, slot)| PathStep {
                page,
                slot,
                right: None,
            });
            return Ok(Some(steps.into()));
        }
    }
}
