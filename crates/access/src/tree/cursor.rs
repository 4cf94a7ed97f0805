//! Scans in key order, both ways.
//!
//! A cursor copies the rows of one leaf at a time under its SH latch and hands them out with no latch held.
//! For the next leaf it descends again by the last key, so that splits in between do no harm; forward, a leaf
//! with an unchanged LSN leads to its right neighbour without a descent, some leaves in a row. While it
//! copies, it calls the visitor for each row ([`RowCheck`]). A row that must wait for a lock ends the batch
//! before it; the caller waits with no latch held, and the scan continues behind the last row before it.
//!
//! Where all rows of a leaf may be taken and most are wanted, the page is copied as a whole, and its records
//! are looked at afterwards.

use super::handle::Tree;
use super::leaves_ahead::LeavesAhead;
use super::links::{MOST_TRIES, are_too_many, astray, is_right_of};
use super::node::damaged;
use super::resting_place::Resting;
use super::side::Side;
use super::unchecked::{Unchecked, is_plain};
use crate::{AccessError, Key};
use furrow_format::{Lsn, Page, PageId, PageType, Status, record_len};
use furrow_pool::{LatchRank, Lines, PageRead, Sh};
use std::mem::take;

/// With fewer rows than these wanted, a page is not copied as a whole.
const FEW_ROWS: u16 = 8;

/// One end of a range of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bound {
    /// No limit.
    Open,
    /// Rows equal to the key, as far as it goes, belong to the range.
    Included(Key),
    /// They do not.
    Excluded(Key),
}

/// Which way a scan goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Ascending in the order of the tree.
    Forward,
    /// Descending.
    Backward,
}

/// What a visitor returns for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowCheck {
    /// Take it.
    Take,
    /// Pass over it.
    Skip,
    /// Its lock has to be waited for first.
    Wait,
}

/// What a caller does with rows where they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InPlace {
    /// Nothing: they are copied.
    No,
    /// It looks at each under the latch: nothing is copied.
    Rows,
    /// It only counts them.
    Count,
}

/// What a visitor returns for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PagePass {
    /// The visitor is called for each of its rows.
    Each,
    /// All its live rows may be taken.
    All,
    /// It is passed over.
    Skip,
    /// Its lock has to be waited for first.
    Wait,
}

/// What a cursor calls, under the leaf's latch: must not block.
pub trait Visitor {
    /// Whether rows are looked at in place. Then [`Step::Rows`] means that there were some; none is copied.
    fn in_place(&self) -> InPlace {
        InPlace::No
    }
    /// A row that is looked at in place.
    fn take(&mut self, _row: &[u8]) {}
    /// Rows that are counted.
    fn count(&mut self, _rows: u64) {}
    /// Whether the rows of the next leaf may be looked at in the same step.
    fn wants_more(&self) -> bool {
        false
    }
    /// Whether every row of the leaf may be taken without a call of `check`: no other transaction has changed
    /// rows that are not committed.
    fn all_committed(&mut self) -> bool;
    /// What to do with a leaf of which not all rows may be taken, and of which some belong to the range.
    fn enter(&mut self, _leaf: Page<'_>) -> PagePass {
        PagePass::Each
    }
    /// What to do with a live row or a ghost.
    fn check(&mut self, row: &[u8], ghost: bool) -> RowCheck;
}

/// What a step of the cursor came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Rows were copied.
    Rows,
    /// The row with this key has to be waited for.
    Wait(Key),
    /// The range is exhausted.
    End,
}

/// A scan of a range of a tree, and the tree.
#[derive(Debug)]
pub struct Cursor<'t> {
    tree: &'t Tree,
    scan: TreeScan,
}

/// A scan of a range of a tree: where it is and the rows copied last. It borrows nothing; each step is given
/// the tree, which must be the same every time.
#[derive(Debug)]
pub struct TreeScan {
    pub(super) direction: Direction,
    /// Where to continue.
    from: Bound,
    to: Bound,
    done: bool,
    pub(super) read_ahead: bool,
    ahead: LeavesAhead,
    /// The leaf copied last, whole up to its last row, and its LSN then.
    pub(super) behind: Option<(PageId, Lsn)>,
    /// Leaves reached by links since the statistics counted them.
    lookups: u64,
    /// The range ends in one of the next leaves: each is checked.
    near_end: bool,
    /// Of a tree at rest.
    pub(super) resting: Resting,
    /// Whether the last step came to rows that were looked at in place.
    in_place: bool,
    bytes: Vec<u8>,
    /// Where rows begin in `bytes`.
    starts: Vec<u32>,
    /// Where the last one ends, or what lies behind it.
    limit: usize,
    /// Type and `pminlen` of their pages.
    form: (PageType, u16),
    next: usize,
}

impl Tree {
    /// A scan from `low` to `high`, in either direction.
    pub fn scan(&self, low: Bound, high: Bound, direction: Direction) -> Cursor<'_> {
        Cursor {
            tree: self,
            scan: self.scan_state(low, high, direction),
        }
    }

    /// The same, to be stepped by [`TreeScan::step`].
    pub fn scan_state(&self, low: Bound, high: Bound, direction: Direction) -> TreeScan {
        let (from, to) = match direction {
            Direction::Forward => (low, high),
            Direction::Backward => (high, low),
        };
        TreeScan {
            direction,
            from,
            to,
            done: false,
            read_ahead: false,
            ahead: LeavesAhead::new(),
            in_place: false,
            bytes: Vec::new(),
            starts: Vec::new(),
            limit: 0,
            form: (self.shape().leaf_type(), 0),
            behind: None,
            lookups: 0,
            near_end: false,
            resting: Resting::default(),
            next: 0,
        }
    }
}

impl Cursor<'_> {
    /// Requests the leaves to come from the pool, 512 at most; for scans of many leaves.
    #[must_use]
    pub fn with_read_ahead(mut self) -> Self {
        self.scan.read_ahead = true;
        self
    }

    /// The next row of the present batch.
    pub fn next_in_batch(&mut self) -> Option<&[u8]> {
        self.scan.next_in_batch()
    }

    /// Fetches the next batch.
    pub fn step(&mut self, visitor: &mut dyn Visitor) -> Result<Step, AccessError> {
        self.scan.step(self.tree, visitor)
    }
}

impl TreeScan {
    /// Requests the leaves to come from the pool, 512 at most; for scans of many leaves.
    #[must_use]
    pub fn with_read_ahead(mut self) -> Self {
        self.read_ahead = true;
        self
    }

    /// The next row of the present batch.
    pub fn next_in_batch(&mut self) -> Option<&[u8]> {
        self.advance().then(|| {
            let rest = self.current();
            let (kind, pminlen) = self.form;
            // The caller reports a row that cannot be read; it is not passed over.
            record_len(kind, pminlen, rest)
                .and_then(|len| rest.get(..len))
                .unwrap_or(rest)
        })
    }

    /// Goes to the next row of the present batch: [`TreeScan::current`]. `false` at its end.
    #[inline]
    pub fn advance(&mut self) -> bool {
        let more = self.next < self.starts.len();
        self.next += usize::from(more);
        more
    }

    /// The row gone to last, from its first byte on, and maybe what lies behind it: for callers that decode
    /// it. Empty before the first one.
    #[inline]
    pub fn current(&self) -> &[u8] {
        let start = self
            .next
            .checked_sub(1)
            .and_then(|at| self.starts.get(at).copied());
        start
            .and_then(|start| self.bytes.get(start as usize..self.limit))
            .unwrap_or_default()
    }

    /// Fetches the next batch.
    pub fn step(&mut self, tree: &Tree, visitor: &mut dyn Visitor) -> Result<Step, AccessError> {
        loop {
            self.bytes.clear();
            self.starts.clear();
            self.next = 0;
            self.in_place = false;
            // A tree of another engine has no page before its first row.
            if self.done || tree.root().is_none() {
                return Ok(Step::End);
            }
            let waiting = match self.direction {
                Direction::Forward => self.forward(tree, visitor),
                Direction::Backward => self.backward(tree, visitor),
            };
            if self.lookups > 0 {
                tree.store().pool().count_lookups(take(&mut self.lookups));
            }
            let waiting = waiting?;
            if !self.starts.is_empty() || self.in_place {
                return Ok(Step::Rows);
            }
            if let Some(key) = waiting {
                return Ok(Step::Wait(key));
            }
        }
    }

    fn empty_key() -> Key {
        Key::new()
    }

    /// Copies from the first leaf with rows behind `from`. Returns the key of a row to wait for.
    fn forward(
        &mut self,
        tree: &Tree,
        visitor: &mut dyn Visitor,
    ) -> Result<Option<Key>, AccessError> {
        let place = match tree.shape().at_rest {
            true => self.resting_place(tree, |scan| scan.descend(tree))?,
            false => match self.next_by_link(tree)? {
                Some(leaf) => Some((leaf, 0)),
                None => self.descend(tree)?,
            },
        };
        let Some((mut leaf, mut slot)) = place else {
            self.done = true;
            return Ok(None);
        };
        let mut free_pass = visitor.all_committed();
        let mut unchecked = Unchecked::default();
        loop {
            let all = Page::new(&leaf).slot_count();
            let defers = self.counts_unchecked(&leaf, free_pass, visitor);
            let end = if defers {
                all
            } else {
                self.end_in(tree, &leaf)?
            };
            if defers {
                unchecked.add(all - slot);
                self.in_place = true;
            } else {
                if end < all || Page::new(&leaf).next().is_none() {
                    self.done = true;
                }
                let waiting = self.copy(tree, &leaf, slot..end, free_pass, visitor)?;
                if waiting.is_some() {
                    return Ok(waiting);
                }
            }
            let goes_on = self.goes_on(tree, visitor);
            let is_due = !goes_on || unchecked.is_full();
            if is_due && !self.check(tree, &leaf, &mut unchecked, visitor)? {
                return Ok(None);
            }
            if !goes_on {
                self.copied(tree, &leaf, slot..end)?;
                return Ok(None);
            }
            // The scan comes back to here if the range ends in one of the leaves to come.
            if is_due {
                self.copied(tree, &leaf, slot..end)?;
            }
            // Rows that are looked at in place: on to the neighbour, hand over hand.
            let right = self.neighbour(tree, Page::new(&leaf).next(), visitor.in_place())?;
            free_pass = visitor.all_committed();
            // The position of the scan is taken only from the leaf at which it stops: from this one, if the
            // next has a row to wait for, or no row at all. Unchecked leaves may have to be counted again,
            // no other ones.
            let changes = defers != self.counts_unchecked(&right, free_pass, visitor);
            if !free_pass || Page::new(&right).slot_count() == 0 || changes {
                if !self.check(tree, &leaf, &mut unchecked, visitor)? {
                    return Ok(None);
                }
                self.copied(tree, &leaf, slot..end)?;
            }
            (leaf, slot) = (right, 0);
        }
    }

    /// The rows of a leaf that are before the end of the range.
    fn end_in(&self, tree: &Tree, leaf: &PageRead<'_>) -> Result<u16, AccessError> {
        match &self.to {
            Bound::Open => Ok(Page::new(leaf).slot_count()),
            Bound::Included(to) => tree.rows_before(leaf, 0, to, Side::Behind),
            Bound::Excluded(to) => tree.rows_before(leaf, 0, to, Side::Before),
        }
    }

    /// Whether all rows of the leaf are counted before it is known that they belong to the range.
    fn counts_unchecked(
        &self,
        leaf: &PageRead<'_>,
        free_pass: bool,
        visitor: &dyn Visitor,
    ) -> bool {
        let has_end = !matches!(self.to, Bound::Open) && !self.near_end;
        has_end && free_pass && visitor.in_place() == InPlace::Count && is_plain(leaf)
    }

    /// Gives the rows of the unchecked leaves, of which `leaf` is the last, to the visitor. `false` if the
    /// range ends in one of them: they are counted again, one by one, from where the scan was before.
    fn check(
        &mut self,
        tree: &Tree,
        leaf: &PageRead<'_>,
        unchecked: &mut Unchecked,
        visitor: &mut dyn Visitor,
    ) -> Result<bool, AccessError> {
        let Some(rows) = unchecked.settle() else {
            return Ok(true);
        };
        // Keys ascend from leaf to leaf.
        self.near_end = self.end_in(tree, leaf)? < Page::new(leaf).slot_count();
        if !self.near_end {
            visitor.count(rows);
        }
        Ok(!self.near_end)
    }

    /// The leaf at the end of a link, latched. The one some links behind it is brought near.
    fn neighbour<'t>(
        &mut self,
        tree: &'t Tree,
        page: PageId,
        in_place: InPlace,
    ) -> Result<PageRead<'t>, AccessError> {
        let lines = match in_place {
            InPlace::Count => Lines::Header,
            InPlace::No | InPlace::Rows => Lines::Ends,
        };
        self.ahead.bring_near(tree, lines);
        let at_hand = self.ahead.neighbour(tree, page);
        self.lookups += u64::from(at_hand.is_some());
        let leaf = at_hand.map_or_else(|| tree.fetch(page, Sh), Ok)?;
        tree.expect_level(&leaf, 0)?;
        Ok(leaf)
    }

    /// Whether a step forward continues with the next leaf.
    fn goes_on(&self, tree: &Tree, visitor: &dyn Visitor) -> bool {
        let forward = self.direction == Direction::Forward && !tree.shape().at_rest;
        let by_link = !self.ahead.is_used_up();
        forward && self.in_place && !self.done && by_link && visitor.wants_more()
    }

    /// The first row behind `from` and its leaf, latched; `None` at the end.
    fn descend<'t>(&mut self, tree: &'t Tree) -> Result<Option<(PageRead<'t>, u16)>, AccessError> {
        let (key, side) = match &self.from {
            Bound::Open => (Self::empty_key(), Side::Before),
            Bound::Included(key) => (key.clone(), Side::Before),
            Bound::Excluded(key) => (key.clone(), Side::Behind),
        };
        let mut leaf = if tree.shape().at_rest {
            let (leaf, above) = tree.resting_leaf(&key, side, Sh)?;
            self.begin_ahead(tree, above)?;
            leaf
        } else {
            let ahead = self.read_ahead.then(|| self.ahead.entries());
            let leaf = tree.leaf_at(&key, side, Sh, ahead)?;
            self.ahead.descended(tree)?;
            leaf
        };
        let mut slot = tree.rows_before(&leaf, 0, &key, side)?;
        // The place may be behind the last row of this leaf, or leaves may be empty: go right, hand over
        // hand. Links that lead back would never end.
        let mut steps = 0;
        while slot >= Page::new(&leaf).slot_count() {
            let next = Page::new(&leaf).next();
            if next.is_none() {
                return Ok(None);
            }
            let left = leaf;
            leaf = self.neighbour(tree, next, InPlace::No)?;
            slot = tree.rows_before(&leaf, 0, &key, side)?;
            steps += 1;
            if are_too_many(tree, steps) || (slot > 0 && !is_right_of(tree, &left, &leaf)?) {
                return Err(astray(&leaf));
            }
        }
        Ok(Some((leaf, slot)))
    }

    /// The right neighbour of the leaf copied last, latched, when nothing has changed that leaf since: all
    /// its rows come behind `from`. `None` when it has, when it is time to descend, or when the neighbour is
    /// empty.
    fn next_by_link<'t>(&mut self, tree: &'t Tree) -> Result<Option<PageRead<'t>>, AccessError> {
        let Some((page, lsn)) = self.behind.take() else {
            return Ok(None);
        };
        if self.ahead.is_used_up() {
            return Ok(None);
        }
        let leaf = tree.fetch(page, Sh)?;
        let next = Page::new(&leaf).next();
        if Page::new(&leaf).lsn() != lsn || next.is_none() {
            return Ok(None);
        }
        let right = self.neighbour(tree, next, InPlace::No)?;
        drop(leaf);
        Ok((Page::new(&right).slot_count() > 0).then_some(right))
    }

    /// Copies from the last leaf with rows before `from`. Returns the key of a row to wait for.
    fn backward(
        &mut self,
        tree: &Tree,
        visitor: &mut dyn Visitor,
    ) -> Result<Option<Key>, AccessError> {
        let place = match tree.shape().at_rest {
            true => self.resting_place(tree, |scan| scan.descend_back(tree).map(Some))?,
            false => Some(self.descend_back(tree)?),
        };
        let Some((leaf, end)) = place.filter(|place| place.1 > 0) else {
            self.done = true;
            return Ok(None);
        };
        let start = match &self.to {
            Bound::Open => 0,
            Bound::Included(to) => tree.rows_before(&leaf, 0, to, Side::Before)?,
            Bound::Excluded(to) => tree.rows_before(&leaf, 0, to, Side::Behind)?,
        };
        if start > 0 || Page::new(&leaf).prev().is_none() {
            self.done = true;
        }
        let slots = start.min(end)..end;
        let free_pass = visitor.all_committed();
        let waiting = self.copy(tree, &leaf, slots.clone(), free_pass, visitor)?;
        if waiting.is_none() {
            self.copied(tree, &leaf, slots)?;
        }
        Ok(waiting)
    }

    /// The last leaf that has rows before `from`, and how many.
    fn descend_back<'t>(&mut self, tree: &'t Tree) -> Result<(PageRead<'t>, u16), AccessError> {
        let (key, side) = match &self.from {
            Bound::Open => (Self::empty_key(), Side::Behind),
            Bound::Included(key) => (key.clone(), Side::Behind),
            Bound::Excluded(key) => (key.clone(), Side::Before),
        };
        for _ in 0..MOST_TRIES {
            if let Some(found) = self.last_leaf_before(tree, &key, side)? {
                return Ok(found);
            }
        }
        let leaf = tree.leaf_at(&key, side, Sh, None)?;
        Err(astray(&leaf))
    }

    /// The last leaf that has rows before the place, and how many; none at all: the first leaf and 0. `None`
    /// when the way to the left was barred: to be tried again from the root.
    fn last_leaf_before<'t>(
        &self,
        tree: &'t Tree,
        key: &Key,
        side: Side,
    ) -> Result<Option<(PageRead<'t>, u16)>, AccessError> {
        let mut leaf = tree.leaf_at(key, side, Sh, None)?;
        let mut steps = 0;
        while !are_too_many(tree, steps) {
            steps += 1;
            let end = tree.rows_before(&leaf, 0, key, side)?;
            let prev = Page::new(&leaf).prev();
            if end > 0 || prev.is_none() {
                return Ok(Some((leaf, end)));
            }
            match self.step_left(tree, leaf, prev)? {
                Some(left) => leaf = left,
                None => return Ok(None),
            }
        }
        Err(astray(&leaf))
    }

    /// From a leaf to its left neighbour. Latches go from left to right: if the left one is not free at once,
    /// the right one is released first. Then the left page may have been split, or freed and used again:
    /// unless it still is the left neighbour, the caller starts again from the root.
    fn step_left<'t>(
        &self,
        tree: &'t Tree,
        leaf: PageRead<'t>,
        prev: PageId,
    ) -> Result<Option<PageRead<'t>>, AccessError> {
        let store = tree.store();
        let here = leaf.key().page;
        let tried = store
            .pool()
            .try_fetch(store.key(prev), Sh, LatchRank::Data)?;
        let left = match tried {
            Some(left) => left,
            None => {
                drop(leaf);
                tree.fetch(prev, Sh)?
            }
        };
        let view = Page::new(&left);
        let is_neighbour = view.page_type() == tree.shape().leaf_type()
            && tree.shape().is_leaf(view)
            && tree.shape().owns(view, tree.unit().id())
            && view.next() == here;
        Ok(is_neighbour.then_some(left))
    }

    /// Copies the rows in `slots`, in the scan's direction, as far as the visitor allows. Returns the key of
    /// a row to wait for; without one the caller calls [`TreeScan::copied`]. `free_pass`: what the visitor
    /// returned before.
    fn copy(
        &mut self,
        tree: &Tree,
        leaf: &PageRead<'_>,
        slots: std::ops::Range<u16>,
        mut free_pass: bool,
        visitor: &mut dyn Visitor,
    ) -> Result<Option<Key>, AccessError> {
        let count = slots.end.saturating_sub(slots.start);
        let view = Page::new(leaf);
        if !free_pass && count > 0 {
            match visitor.enter(view) {
                PagePass::Each => {}
                PagePass::All => free_pass = true,
                PagePass::Skip => return Ok(None),
                PagePass::Wait => {
                    self.resume_behind(tree, leaf, slots.start, 0)?;
                    return Ok(Some(tree.key_at(leaf, slots.start)?));
                }
            }
        }
        self.form = (view.page_type(), view.pminlen());
        let in_place = visitor.in_place();
        if in_place == InPlace::Count && free_pass && view.ghost_count() == 0 {
            visitor.count(u64::from(count));
            self.in_place |= count > 0;
            return Ok(None);
        }
        if in_place == InPlace::Rows && free_pass {
            self.hand_over(leaf, slots, visitor)?;
            return Ok(None);
        }
        let most = count >= FEW_ROWS && count >= view.slot_count() / 2;
        if in_place == InPlace::No && free_pass && most {
            self.copy_page(leaf, slots)?;
            return Ok(None);
        }
        for i in 0..count {
            let slot = match self.direction {
                Direction::Forward => slots.start + i,
                Direction::Backward => slots.end - 1 - i,
            };
            let row = tree.row_at(leaf, slot)?;
            let ghost = Status(row.first().copied().unwrap_or(0)).is_ghost();
            let check = match (free_pass, ghost) {
                (true, false) => RowCheck::Take,
                (true, true) => RowCheck::Skip,
                (false, ghost) => visitor.check(row, ghost),
            };
            match check {
                RowCheck::Take => self.give(row, in_place, visitor),
                RowCheck::Skip => {}
                RowCheck::Wait => {
                    self.resume_behind(tree, leaf, slot, i)?;
                    return Ok(Some(tree.key_at(leaf, slot)?));
                }
            }
        }
        Ok(None)
    }

    fn give(&mut self, row: &[u8], in_place: InPlace, visitor: &mut dyn Visitor) {
        match in_place {
            InPlace::No => {
                self.starts.push(self.bytes.len() as u32);
                self.bytes.extend_from_slice(row);
                self.limit = self.bytes.len();
            }
            InPlace::Rows => visitor.take(row),
            InPlace::Count => visitor.count(1),
        }
        self.in_place |= in_place != InPlace::No;
    }

    /// Hands all live rows in `slots` to the visitor, which finds where each of them ends.
    fn hand_over(
        &mut self,
        leaf: &PageRead<'_>,
        slots: std::ops::Range<u16>,
        visitor: &mut dyn Visitor,
    ) -> Result<(), AccessError> {
        let view = Page::new(leaf);
        let count = slots.end.saturating_sub(slots.start);
        for i in 0..count {
            let slot = match self.direction {
                Direction::Forward => slots.start + i,
                Direction::Backward => slots.end - 1 - i,
            };
            let start = view
                .record_start(slot)
                .ok_or_else(|| damaged(leaf, "a record cannot be read"))?;
            if !Status(start.first().copied().unwrap_or(0)).is_ghost() {
                visitor.take(start);
                self.in_place = true;
            }
        }
        Ok(())
    }

    /// The row at `slot` has to be waited for, and `before` rows of the leaf are done: the scan continues
    /// behind the last of these. Not at the row itself: while its lock is waited for, rows may be inserted in
    /// between that belong to the scan.
    fn resume_behind(
        &mut self,
        tree: &Tree,
        leaf: &PageRead<'_>,
        slot: u16,
        before: u16,
    ) -> Result<(), AccessError> {
        self.done = false;
        // Leaves before this one may have been dealt with in the same step.
        self.behind = None;
        if before > 0 {
            let last = match self.direction {
                Direction::Forward => slot - 1,
                Direction::Backward => slot + 1,
            };
            self.continue_behind(tree, leaf, last)?;
        }
        Ok(())
    }

    /// The scan continues behind this row. Its place goes one way only, so that links which lead back end it.
    fn continue_behind(
        &mut self,
        tree: &Tree,
        leaf: &PageRead<'_>,
        slot: u16,
    ) -> Result<(), AccessError> {
        let key = tree.key_at(leaf, slot)?;
        // A tree at rest may be ordered by a collation that is not known here.
        if let (Bound::Excluded(before), false) = (&self.from, tree.shape().at_rest) {
            let order = tree.shape().compare_keys(before, &key);
            let is_back = match self.direction {
                Direction::Forward => order.is_gt(),
                Direction::Backward => order.is_lt(),
            };
            if is_back {
                return Err(astray(leaf));
            }
        }
        self.from = Bound::Excluded(key);
        Ok(())
    }

    /// Copies the whole page, and notes the rows in `slots`, ghosts left out.
    fn copy_page(
        &mut self,
        leaf: &PageRead<'_>,
        slots: std::ops::Range<u16>,
    ) -> Result<(), AccessError> {
        let view = Page::new(leaf);
        self.bytes.extend_from_slice(view.bytes());
        self.limit = view.slot_array_start().unwrap_or(0);
        for slot in slots {
            let start = view
                .record_start(slot)
                .ok_or_else(|| damaged(leaf, "a record cannot be read"))?;
            if !Status(start.first().copied().unwrap_or(0)).is_ghost() {
                self.starts.push((self.limit - start.len()) as u32);
            }
        }
        if self.direction == Direction::Backward {
            self.starts.reverse();
        }
        Ok(())
    }

    /// All rows in `slots` are done: notes where to continue.
    fn copied(
        &mut self,
        tree: &Tree,
        leaf: &PageRead<'_>,
        slots: std::ops::Range<u16>,
    ) -> Result<(), AccessError> {
        if self.done || slots.is_empty() {
            return Ok(());
        }
        let last = match self.direction {
            Direction::Forward => slots.end - 1,
            Direction::Backward => slots.start,
        };
        self.continue_behind(tree, leaf, last)?;
        if self.direction == Direction::Forward || tree.shape().at_rest {
            self.behind = Some((leaf.key().page, Page::new(leaf).lsn()));
        }
        Ok(())
    }
}
