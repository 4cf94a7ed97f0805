//! Leaves that are looked for ahead of the rows that go there.
//!
//! Rows in no order go to leaves all over the tree. An insert would wait for the memory of each leaf, or for
//! the disk, one after the other. So the leaves of several keys are looked for first, and requested all at
//! the same time. They are not latched for that.
//!
//! # Why a row does not go to a wrong leaf
//! What was found is a hint: the leaf may be split or freed before the row is inserted. The hint is used only
//! if the page, latched EX, is a leaf of this tree by its header, and the row's place is between two rows of
//! it, ghosts included.
//! 1. A page that says so and has rows is in the tree. A leaf is taken out only without rows; and truncating,
//!    dropping and rebuilding a table need a lock that conflicts with the IX lock of who has hints.
//! 2. A key between two keys of a leaf belongs on that leaf.
//!
//! Proof: the tests `a_hint_that_is_out_of_date_leads_no_row_to_a_wrong_leaf` and
//! `a_hint_to_a_leaf_of_another_tree_leads_no_row_there`, and the model tests of trees.

use super::copies::Wanted;
use super::gate::Spot;
use super::handle::Tree;
use super::ints::Ends;
use super::side::Side;
use crate::{AccessError, Key};
use furrow_format::{Page, PageId};
use furrow_io::sync::atomic::Ordering;
use furrow_observe::counters::Counter;
use furrow_pool::{Ex, FrameHint, LatchRank, Lines, PageKey, PageRead, PageWrite, Sh};

/// Keys that are looked for at the same time.
const MOST_KEYS: usize = 64;

/// The leaves of some keys, as they were found.
#[derive(Debug, Default)]
pub struct LeafHints(Vec<Option<LeafHint>>);

/// Where the leaf for a key was.
#[derive(Debug, Clone, Copy)]
pub struct LeafHint {
    leaf: PageId,
    ends: Option<Ends>,
    frame: FrameHint,
}

impl LeafHints {
    /// For the key of this number.
    #[inline]
    pub fn get(&self, key: usize) -> Option<LeafHint> {
        self.0.get(key).copied().flatten()
    }
}

impl Tree {
    /// Looks for the leaves of keys, the first 64 at most, and brings them into the processor's cache, or
    /// requests them to be read. Only for trees whose keys begin with an integer. It reports no error.
    pub fn look_ahead(&self, keys: &[Key]) -> LeafHints {
        let pool = self.store().pool();
        let keys = keys.get(..MOST_KEYS).unwrap_or(keys);
        let mut hints: Vec<_> = keys.iter().map(|key| self.probable_leaf(key)).collect();
        let found = hints.iter().flatten();
        let leaves: Vec<PageKey> = found.map(|hint| self.store().key(hint.leaf)).collect();
        let mut frames: Vec<FrameHint> = Vec::with_capacity(leaves.len());
        let _requested = pool.prefetch_noting(&leaves, &mut frames);
        for (hint, frame) in hints.iter_mut().flatten().zip(frames) {
            hint.frame = frame;
            pool.bring_near(frame, Lines::Ends);
        }
        LeafHints(hints)
    }

    /// The leaf for a key, as copies of upper pages have it, or the pages that they lead to if these are in
    /// memory and no thread changes them.
    fn probable_leaf(&self, key: &Key) -> Option<LeafHint> {
        let rank = self.ints.and_then(|ints| ints.rank_of(key))?;
        let (side, whole) = (Side::Behind, self.parts.shape.key.len() == 1);
        let (pool, wanted) = (self.store().pool(), Wanted { rank, side, whole });
        let found = self.copies.find(self.root(), wanted, 0, pool)?;
        let (mut leaf, mut ends) = (found.child, found.ends);
        let mut above = None::<PageRead<'_>>;
        for level in (1..=found.level).rev() {
            let node = pool.fetch_at_hand(self.store().key(leaf), Sh, LatchRank::Data)?;
            // The copies lead to the first of them, and latches from there.
            if above.is_none() && !found.is_true(pool) {
                return None;
            }
            self.expect_level(&node, level).ok()?;
            let slot = self.child_slot(&node, key, side).ok()?;
            leaf = self.child_at(&node, slot).ok()?;
            ends = self.ints.and_then(|ints| ints.ends(Page::new(&node), slot));
            above = Some(node);
        }
        let frame = FrameHint::NONE;
        Some(LeafHint { leaf, ends, frame })
    }

    /// The hinted leaf, latched EX, and the slot between two of its rows where the key's row goes. `None` if
    /// it does not go there, or a thread holds the page.
    pub(super) fn place_by_hint(
        &self,
        hint: LeafHint,
        key: &Key,
    ) -> Result<Option<(PageWrite<'_>, u16)>, AccessError> {
        let (pool, page) = (self.store().pool(), self.store().key(hint.leaf));
        let near = pool.fetch_near(hint.frame, page, Ex, LatchRank::Data);
        let Some(leaf) = near.or_else(|| pool.fetch_at_hand(page, Ex, LatchRank::Data)) else {
            return Ok(None);
        };
        let view = Page::new(&leaf);
        let is_leaf = view.level() == 0 && view.page_type() == self.parts.shape.leaf_type();
        if !is_leaf || view.unit() != self.parts.unit.id() {
            return Ok(None);
        }
        let Spot::Free(slot) = self.spot(&leaf, key, hint.ends)? else {
            return Ok(None);
        };
        if slot == 0 || slot >= view.slot_count() {
            return Ok(None);
        }
        // As a descent counts.
        pool.count(Counter::IndexSearches, 1);
        pool.count_lookups(1 + u64::from(self.root_level.load(Ordering::Relaxed)));
        Ok(Some((leaf, slot)))
    }
}
