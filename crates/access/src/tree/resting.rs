//! Trees in files that no process changes, perhaps written by another engine.
//!
//! Three things differ from trees of our own:
//! - levels: the lowest one above leaves with data is numbered 0 or 1, so that leaves are recognized by the
//!   type of their page, and descents do not use level numbers;
//! - order: text may be sorted by weights that are not exactly ours. A scan therefore follows links and never
//!   finds its place again by a key. Before the first search by key the tree is read once to see whether its
//!   order is ours ([`Tree::is_in_our_order`]). Where it is not, searches read all of it;
//! - rest: pages do not change, so that no latch is held from one page to the next.
//!
//! Links and children of damaged files may run in circles: every walk is bounded.

use super::cursor::{Bound, Direction, RowCheck, Step, TreeScan, Visitor};
use super::descend::{Ahead, READ_AHEAD};
use super::handle::Tree;
use super::links::astray;
use super::node::damaged;
use super::resting_place::Above;
use super::side::Side;
use crate::{AccessError, Key};
use furrow_format::{Page, PageId};
use furrow_pool::{Mode, PageGuard, PageKey, PageRead, Sh};
use furrow_types::Family;
use std::cmp::Ordering;

/// Most levels that a tree can have; more is a circle.
const MOST_LEVELS: usize = 32;
/// If fewer requested leaves than this are left, more are requested.
const FEW_AHEAD: usize = READ_AHEAD / 4;

/// Takes every row that is not a ghost.
#[derive(Debug)]
struct Live;

impl Visitor for Live {
    fn all_committed(&mut self) -> bool {
        true
    }

    fn check(&mut self, _row: &[u8], ghost: bool) -> RowCheck {
        match ghost {
            true => RowCheck::Skip,
            false => RowCheck::Take,
        }
    }
}

impl Tree {
    /// The leaf with the place `side` of `key`, and the next entry of its parent.
    pub(super) fn resting_leaf<M: Mode>(
        &self,
        key: &Key,
        side: Side,
        mode: M,
    ) -> Result<(PageGuard<'_, M>, Option<Above>), AccessError> {
        let (mut id, mut above) = (self.root(), None);
        for _ in 0..MOST_LEVELS {
            let page = self.fetch(id, Sh)?;
            self.expect_level(&page, 0)?;
            if self.shape().is_leaf(Page::new(&page)) {
                drop(page);
                return Ok((self.fetch(id, mode)?, above));
            }
            let slot = self.child_slot(&page, key, side)?;
            above = Some((id, slot + 1));
            id = self.child_at(&page, slot)?;
        }
        let page = self.fetch(id, Sh)?;
        Err(damaged(&page, "the pages of its tree run in a circle"))
    }

    /// Whether keys may be looked for by halving: they are in the order that this engine compares them by.
    /// Only text may be in another one; the first call reads the tree once.
    pub fn is_in_our_order(&self) -> Result<bool, AccessError> {
        let doubtful = |family| matches!(family, Family::Char | Family::NChar | Family::Variant);
        let mut columns = self.shape().key.iter();
        let in_doubt = columns
            .any(|c| doubtful(c.data_type.id.family()) && !c.data_type.collation.is_binary());
        if !self.shape().at_rest || !in_doubt || self.root().is_none() {
            return Ok(true);
        }
        if let Some(&known) = self.in_our_order.get() {
            return Ok(known);
        }
        let mut last = None;
        let found = self.ascends(self.root(), (None, None), MOST_LEVELS, &mut last)?;
        if !found {
            tracing::warn!(
                rowset = self.rowset().0,
                "the text keys of a tree are sorted by other weights: it is searched by reading it"
            );
        }
        Ok(*self.in_our_order.get_or_init(|| found))
    }

    /// Whether all keys under a page ascend, behind `last`, and lie within the entries above it.
    fn ascends(
        &self,
        id: PageId,
        (low, high): (Option<&Key>, Option<&Key>),
        levels: usize,
        last: &mut Option<Key>,
    ) -> Result<bool, AccessError> {
        let page = Box::new(*self.fetch(id, Sh)?);
        self.expect_level(&page, 0)?;
        let levels = levels.checked_sub(1);
        let levels =
            levels.ok_or_else(|| damaged(&page, "the pages of its tree run in a circle"))?;
        let view = Page::new(&page);
        let is_leaf = self.shape().is_leaf(view);
        let before = |a: &Key, b: &Key| self.shape().compare_keys(a, b) == Ordering::Less;
        let mut keys = Vec::new();
        for slot in 0..view.slot_count() {
            let key = self.key_of_row(&page, self.row_at(&page, slot)?)?;
            let counts = is_leaf || slot > 0;
            let after_low = low.is_none_or(|low| !before(&key, low));
            let inside = after_low && high.is_none_or(|high| before(&key, high));
            let ascends = match is_leaf {
                true => last.as_ref().is_none_or(|last| before(last, &key)),
                false => slot < 2 || keys.last().is_none_or(|last| before(last, &key)),
            };
            if counts && !(inside && ascends) {
                return Ok(false);
            }
            if is_leaf {
                *last = Some(key);
            } else {
                keys.push(key);
            }
        }
        for slot in 0..keys.len() {
            let low = if slot == 0 { low } else { keys.get(slot) };
            let high = keys.get(slot + 1).or(high);
            let child = self.child_at(&page, slot as u16)?;
            if !self.ascends(child, (low, high), levels, last)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The live row with this whole key, found by reading all of them.
    pub(super) fn find_in_any_order<T>(
        &self,
        key: &Key,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, AccessError> {
        let cursor = self.scan(Bound::Open, Bound::Open, Direction::Forward);
        let mut cursor = cursor.with_read_ahead();
        while cursor.step(&mut Live)? == Step::Rows {
            while let Some(row) = cursor.next_in_batch() {
                let found = self.shape().key_of(row);
                if found.is_some_and(|k| self.shape().compare_keys(&k, key) == Ordering::Equal) {
                    return Ok(Some(with(row)));
                }
            }
        }
        Ok(None)
    }
}

/// A leaf, and a slot of it.
type Place<'t> = (PageRead<'t>, u16);

impl TreeScan {
    /// Where the scan continues: beside the leaf copied last, or at first where `descend` leads. `None` at
    /// the end. Backward, the slot is the number of rows to be taken.
    pub(super) fn resting_place<'t>(
        &mut self,
        tree: &'t Tree,
        descend: impl FnOnce(&mut Self) -> Result<Option<Place<'t>>, AccessError>,
    ) -> Result<Option<Place<'t>>, AccessError> {
        if !self.resting.started {
            self.resting.started = true;
            return descend(self);
        }
        let Some((mut at, _)) = self.behind.take() else {
            // A scan that had to wait for a row finds its place by the row's key.
            return descend(self);
        };
        loop {
            let leaf = tree.fetch(at, Sh)?;
            let next = match self.direction {
                Direction::Forward => Page::new(&leaf).next(),
                Direction::Backward => Page::new(&leaf).prev(),
            };
            drop(leaf);
            if next.is_none() {
                return Ok(None);
            }
            let leaf = tree.fetch(next, Sh)?;
            tree.expect_level(&leaf, 0)?;
            let view = Page::new(&leaf);
            self.resting.leaves += 1;
            if !tree.shape().is_leaf(view) || self.resting.leaves > tree.parts.space.all_pages() {
                return Err(astray(&leaf));
            }
            self.ask_ahead(tree)?;
            let rows = view.slot_count();
            match self.direction {
                Direction::Forward if rows > 0 => return Ok(Some((leaf, 0))),
                Direction::Backward if rows > 0 => return Ok(Some((leaf, rows))),
                _ => at = next,
            }
        }
    }

    /// Notes where the leaves behind the first one are named, and requests some.
    pub(super) fn begin_ahead(
        &mut self,
        tree: &Tree,
        above: Option<Above>,
    ) -> Result<(), AccessError> {
        self.resting.above = above.filter(|_| self.read_ahead);
        self.resting.asked = 0;
        self.ask_ahead(tree)
    }

    /// Requests leaves to come, by the entries of the pages above, once few requested ones are left.
    fn ask_ahead(&mut self, tree: &Tree) -> Result<(), AccessError> {
        self.resting.asked = self.resting.asked.saturating_sub(1);
        if self.direction == Direction::Backward || self.resting.asked >= FEW_AHEAD {
            return Ok(());
        }
        let mut wanted = Ahead::new();
        while let Some((page, slot)) = self.resting.above {
            let most = tree.store().pool().read_ahead(READ_AHEAD);
            let most = most.saturating_sub(wanted.len());
            if most == 0 {
                break;
            }
            let page = tree.fetch(page, Sh)?;
            tree.expect_level(&page, 0)?;
            let view = Page::new(&page);
            let end = view.slot_count().min(slot.saturating_add(most as u16));
            for slot in slot..end {
                wanted.push(tree.child_at(&page, slot)?);
            }
            self.resting.above = match (end < view.slot_count(), view.next()) {
                (true, _) => Some((view.page_id(), end)),
                (false, next) if next.is_none() || end == 0 => None,
                (false, next) => Some((next, 0)),
            };
        }
        let keys: Vec<PageKey> = wanted.iter().map(|&p| tree.store().key(p)).collect();
        self.resting.asked += keys.len();
        if !keys.is_empty() {
            tree.store().pool().prefetch(&keys)?;
        }
        Ok(())
    }
}
