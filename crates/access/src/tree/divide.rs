//! Where a range of a tree can be divided, for scans by several threads; and how many leaves it has, about.
//!
//! Both are read from the pages above the leaves. A key that divides a range stays right whatever splits come
//! later: the parts before and behind it have all rows of the range, each row once.

use super::cursor::Bound;
use super::handle::Tree;
use super::node::damaged;
use super::side::Side;
use crate::{AccessError, Key};
use furrow_format::Page;
use furrow_pool::{PageRead, Sh};

/// The end of a range as a place in key order. `first`: the end that a scan forward begins at.
fn place(bound: &Bound, first: bool) -> (Key, Side) {
    match (bound, first) {
        (Bound::Open, true) => (Key::new(), Side::Before),
        (Bound::Open, false) => (Key::new(), Side::Behind),
        (Bound::Included(key), true) | (Bound::Excluded(key), false) => (key.clone(), Side::Before),
        (Bound::Excluded(key), true) | (Bound::Included(key), false) => (key.clone(), Side::Behind),
    }
}

impl Tree {
    /// A key that has about so many leaves between `from` and itself; `None` where fewer follow.
    pub fn key_behind(&self, from: &Bound, leaves: u16) -> Result<Option<Key>, AccessError> {
        debug_assert!(leaves > 0, "a part has leaves");
        if self.root().is_none() {
            return Ok(None);
        }
        let (key, side) = place(from, true);
        let mut page = self.fetch(self.root(), Sh)?;
        loop {
            let level = Page::new(&page).level();
            if level == 0 {
                return Ok(None);
            }
            let slot = self.child_slot(&page, &key, side)?;
            if level == 1 {
                return self.entry_behind(page, slot.saturating_add(leaves.max(1)));
            }
            let child = self.fetch(self.child_at(&page, slot)?, Sh)?;
            self.expect_level(&child, level - 1)?;
            page = child;
        }
    }

    /// The key of the entry so many slots behind the first of a parent of leaves, or of a page to its right.
    fn entry_behind<'t>(
        &'t self,
        mut page: PageRead<'t>,
        mut slots: u16,
    ) -> Result<Option<Key>, AccessError> {
        loop {
            let view = Page::new(&page);
            let (count, next) = (view.slot_count(), view.next());
            // The first entry of a page has no key.
            let slot = slots.max(1);
            if slot < count {
                let key = self.shape().key_of_entry(view, slot);
                return key
                    .map(Some)
                    .ok_or_else(|| damaged(&page, "a key of a non-leaf entry cannot be read"));
            }
            if next.is_none() {
                return Ok(None);
            }
            slots = slots.saturating_sub(count);
            let right = self.fetch(next, Sh)?;
            self.expect_level(&right, 1)?;
            page = right;
        }
    }

    /// About how many leaves a range has, and which share of the tree that is.
    pub fn leaves_between(&self, low: &Bound, high: &Bound) -> Result<(f64, f64), AccessError> {
        let (key, side) = place(low, true);
        let (from, _, leaves) = self.rank(&key, side)?;
        let (key, side) = place(high, false);
        let (_, to, also) = self.rank(&key, side)?;
        let share = (to - from).clamp(0.0, 1.0);
        debug_assert!(leaves >= 0.0 && also >= 0.0, "an estimate of leaves");
        Ok((share * f64::midpoint(leaves, also), share))
    }

    /// Between which parts of all leaves the leaf of a place lies, and how many leaves there are if all pages
    /// on the way there are like the others of their level.
    fn rank(&self, key: &Key, side: Side) -> Result<(f64, f64, f64), AccessError> {
        let (mut before, mut share, mut leaves) = (0.0, 1.0, 1.0);
        if self.root().is_none() {
            return Ok((0.0, 1.0, 0.0));
        }
        let mut page = self.fetch(self.root(), Sh)?;
        loop {
            let level = Page::new(&page).level();
            if level == 0 {
                return Ok((before, before + share, leaves));
            }
            let count = f64::from(Page::new(&page).slot_count().max(1));
            let slot = self.child_slot(&page, key, side)?;
            before += share * f64::from(slot) / count;
            share /= count;
            leaves *= count;
            if level == 1 {
                return Ok((before, before + share, leaves));
            }
            let child = self.fetch(self.child_at(&page, slot)?, Sh)?;
            self.expect_level(&child, level - 1)?;
            page = child;
        }
    }
}
