//! Splitting pages.
//!
//! A full page gives part of its rows to a new right neighbour, and its parent gets an entry for it. Where:
//! - a row that goes behind the last one of the level, or continues an ascending run (the row before it is
//!   the one that was inserted last: see `recent`) at the end of its page, starts the new page alone:
//!   ascending loads leave full pages, also when many of them interleave;
//! - a run that ascends in the middle of a page, before the rows of another, is split off from these;
//! - a row before the first one of the whole level keeps the old page alone, for descending loads;
//! - otherwise where both halves have about the same bytes.
//!
//! The path from the lowest ancestor with enough space is latched EX; the new pages were reserved before.
//! Everything is planned in one mini-transaction, bottom up: an entry that does not fit its page splits that
//! page in turn. The root keeps its number: its rows move to two new pages below it.

use super::descend::PathStep;
use super::gate::Gate;
use super::handle::{IN_USE, Tree};
use super::node::damaged;
use super::recent::Run;
use super::uppers::SplitPages;
use crate::{AccessError, By, Key};
use furrow_format::{
    BODY_SIZE, Change, Page, PageBuf, PageId, PageInit, PageType, RowError, RowListBuilder,
    SLOT_SIZE,
};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering as Atomic;
use furrow_observe::counters::Counter;
use furrow_pool::{Ex, LatchRank};
use furrow_txn::{Author, Mini};

/// Log space for a split: at most a page's rows, which move, links and the entry above. A split of the page
/// above in turn is rare; the part of the log that is never promised covers it.
const SPLIT_LOG_BYTES: usize = 9 * 1024;

/// The new row fits on neither half: see [`Tree::new_row_fits_a_half`].
const NO_ROOM: AccessError = AccessError::Row(RowError::RowTooLarge { len: BODY_SIZE });

/// A page of the path, as the mini-transaction numbers it.
struct Level {
    slot: u16,
    page: usize,
    right: Option<usize>,
}

/// A row to be put on a page that is being split: slot, key, bytes.
type NewRow<'a> = (u16, &'a Key, &'a [u8]);

/// The same stored for the page above.
type NewEntry = (u16, Key, Vec<u8>);

/// The rows of a page as they will be, the new one among them.
struct Rows<'a> {
    rows: Vec<&'a [u8]>,
    /// Where the new one is, if there is one.
    new_at: Option<usize>,
}

impl<'a> Rows<'a> {
    fn of(page: &'a PageBuf, new: Option<(u16, &'a [u8])>) -> Result<Rows<'a>, AccessError> {
        let view = Page::new(page);
        let mut rows = Vec::with_capacity(usize::from(view.slot_count()) + 1);
        for slot in 0..view.slot_count() {
            rows.push(
                view.record(slot)
                    .ok_or_else(|| damaged(page, "a record cannot be read"))?,
            );
        }
        let new_at = new.map(|(slot, row)| {
            let at = usize::from(slot).min(rows.len());
            rows.insert(at, row);
            at
        });
        debug_assert_eq!(
            rows.len(),
            usize::from(view.slot_count()) + usize::from(new_at.is_some()),
            "the rows of the page and the new one"
        );
        Ok(Rows { rows, new_at })
    }

    fn size(rows: &[&[u8]]) -> usize {
        rows.iter().map(|r| r.len() + SLOT_SIZE).sum()
    }

    /// How many of the rows stay on the left page; `None` when the new row fits on neither half.
    /// On a page with the new row among others, `kept` bytes stay free; a page with old rows alone has as
    /// much free as it needs.
    fn split_point(&self, page: Page<'_>, run: Run, kept: usize) -> Option<usize> {
        let n = self.rows.len();
        let total = Self::size(&self.rows);
        let size_to = |end: usize| Self::size(self.rows.get(..end).unwrap_or_default());
        let owed = |from: usize, to: usize| match self.new_at {
            Some(at) if (from..to).contains(&at) && to - from > 1 => kept,
            _ => 0,
        };
        let both_fit = |keep: usize, left: usize| {
            left + owed(0, keep) <= BODY_SIZE && total - left + owed(keep, n) <= BODY_SIZE
        };
        let fits = |keep: usize| both_fit(keep, size_to(keep));
        let ascends = run == Run::Ascending;
        let special = match self.new_at {
            _ if n < 2 => return None,
            Some(at) if at == n - 1 => (ascends || page.next().is_none()).then_some(n - 1),
            Some(0) => page.prev().is_none().then_some(1),
            // Between two runs: the new row stays with its own, or begins a page.
            Some(at) if ascends => [at + 1, at].into_iter().find(|&keep| fits(keep)),
            _ => None,
        };
        if special.is_some() {
            return special;
        }
        let mut left = 0;
        let mut best: Option<(usize, usize)> = None;
        for (i, row) in self.rows.iter().enumerate().take(n - 1) {
            left += row.len() + SLOT_SIZE;
            let right = total - left;
            let skew = left.abs_diff(right);
            if both_fit(i + 1, left) && best.is_none_or(|(_, least)| skew < least) {
                best = Some((i + 1, skew));
            }
        }
        best.map(|(keep, _)| keep)
    }
}

impl Tree {
    /// Reserves pages for a split of every level, and its log space. No latch may be held.
    pub(super) fn reserve_for_split(
        &self,
        by: &mut By<'_>,
        near: PageId,
    ) -> Result<SplitPages<'_>, AccessError> {
        by.prepare(self.store(), SPLIT_LOG_BYTES, 0)?;
        let levels = self.root_level.load(Atomic::Relaxed);
        let near = (!near.is_none()).then_some(near);
        let (space, unit) = (&self.parts.space, &self.parts.unit);
        let pages = space.reserve(unit, u32::from(levels) + 4, near)?;
        Ok(SplitPages::new(pages, self.uppers.begin()))
    }

    /// Splits the leaf at the end of `path` as a step of its own, to free space on it.
    pub(super) fn split_only(
        &self,
        path: Vec<PathStep<'_>>,
        pages: &mut SplitPages<'_>,
        gate: &dyn Gate,
    ) -> Result<(), AccessError> {
        let mut mini = Mini::new(self.store());
        self.plan_split(&mut mini, path, pages, None, gate)?;
        mini.commit(&Author::System).map_err(AccessError::from)?;
        pages.done();
        Ok(())
    }

    /// Whether the leaf can be split so that the new row fits on one half. A long row between two long ones
    /// may need a page of its own: then the leaf is split first, without it.
    pub(super) fn new_row_fits_a_half(
        &self,
        page: &PageBuf,
        slot: u16,
        row: &[u8],
    ) -> Result<bool, AccessError> {
        let rows = Rows::of(page, Some((slot, row)))?;
        let view = Page::new(page);
        Ok(rows
            .split_point(
                view,
                self.recent.run_at(view.page_id(), slot),
                self.kept_on(view),
            )
            .is_some())
    }

    /// Bytes of a page that rollbacks may need back.
    fn kept_on(&self, page: Page<'_>) -> usize {
        match page.level() {
            0 => self.store().room().others(page.page_id(), None),
            _ => 0,
        }
    }

    /// Plans the split of the leaf at the end of `path`, with the new row if there is one. Returns the new
    /// last leaf of the tree, when the new page is that.
    pub(super) fn plan_split<'p>(
        &'p self,
        mini: &mut Mini<'p>,
        path: Vec<PathStep<'p>>,
        pages: &mut SplitPages<'_>,
        new: Option<NewRow<'_>>,
        gate: &dyn Gate,
    ) -> Result<Option<PageId>, AccessError> {
        let last_leaf = self.plan_levels(mini, path, pages, (new, gate))?;
        // PFS pages come after all pages of rows.
        pages.allocate_taken(mini, IN_USE)?;
        Ok(last_leaf)
    }

    fn plan_levels<'p>(
        &'p self,
        mini: &mut Mini<'p>,
        path: Vec<PathStep<'p>>,
        pages: &mut SplitPages<'_>,
        (new, gate): (Option<NewRow<'_>>, &dyn Gate),
    ) -> Result<Option<PageId>, AccessError> {
        let adopt = |step: PathStep<'p>| Level {
            slot: step.slot,
            page: mini.adopt(step.page),
            right: step.right.map(|right| mini.adopt(right)),
        };
        let levels: Vec<Level> = path.into_iter().map(adopt).collect();
        debug_assert!(!levels.is_empty(), "a split has a page");
        let mut row = new.map(|(slot, key, bytes)| (slot, key.clone(), bytes.to_vec()));
        let mut last_leaf = None;
        for (depth, &Level { page, right, .. }) in levels.iter().enumerate().rev() {
            let is_leaf = Page::new(mini.page(page)).level() == 0;
            let room = row
                .as_ref()
                .is_some_and(|(_, _, r)| Page::new(mini.page(page)).fits(r.len()));
            if room && !is_leaf {
                if let Some((slot, _, bytes)) = &row {
                    mini.push(page, &Change::InsertRow { slot: *slot, bytes });
                    self.recent.note(mini.page_id(page), *slot);
                }
                return Ok(last_leaf);
            }
            self.store().pool().count(Counter::PageSplits, 1);
            if mini.page_id(page) == self.root() {
                self.split_root(mini, page, pages, (row.as_ref(), gate))?;
                return Ok(last_leaf);
            }
            let (separator, new_id, is_last) =
                self.split_page(mini, (page, right), pages, (row.as_ref(), gate))?;
            if is_leaf && is_last {
                last_leaf = Some(new_id);
            }
            let mut entry = Vec::new();
            self.parts.shape.node_row(&separator, new_id, &mut entry)?;
            let above = depth.checked_sub(1).and_then(|d| levels.get(d));
            row = Some((above.map_or(0, |level| level.slot) + 1, separator, entry));
        }
        // The path starts at the root or at a page with enough space, so that the loop returns.
        Err(damaged(mini.page(0), "a split ran out of ancestors"))
    }

    pub(crate) fn key_of_row(&self, page: &PageBuf, row: &[u8]) -> Result<Key, AccessError> {
        let shape = &self.parts.shape;
        let view = Page::new(page);
        let key = if shape.is_leaf(view) {
            shape.key_of(row)
        } else {
            self.node_key(row, view.pminlen())
        };
        key.ok_or_else(|| damaged(page, "a key cannot be read"))
    }

    fn node_key(&self, row: &[u8], pminlen: u16) -> Option<Key> {
        let node = self.parts.shape.node.as_ref()?;
        let record = node.record(row, pminlen)?;
        let mut key = Key::new();
        for column in &self.parts.shape.key {
            key.push(node.value(record, column.node).ok()?);
        }
        Some(key)
    }

    /// Plans the split of a page that is not the root: separator, new page, whether it has no right
    /// neighbour.
    fn split_page<'p>(
        &'p self,
        mini: &mut Mini<'p>,
        (page, neighbour): (usize, Option<usize>),
        pages: &mut SplitPages<'_>,
        (new, gate): (Option<&NewEntry>, &dyn Gate),
    ) -> Result<(Key, PageId, bool), AccessError> {
        let (left_id, next) = (mini.page_id(page), Page::new(mini.page(page)).next());
        let copy = Box::new(*mini.page(page));
        let view = Page::new(&copy);
        let rows = Rows::of(&copy, new.map(|(slot, _, bytes)| (*slot, &bytes[..])))?;
        let run = new.map_or(Run::None, |(slot, ..)| self.recent.run_at(left_id, *slot));
        let keep = rows
            .split_point(view, run, self.kept_on(view))
            .ok_or(NO_ROOM)?;
        debug_assert!(0 < keep && keep < rows.rows.len(), "both halves have rows");
        let moved = &rows.rows[keep..];
        let second = usize::from(mutated(Mutation::WrongSeparator) && moved.len() > 1);
        let separator = match (rows.new_at, new) {
            (Some(at), Some((_, key, _))) if at == keep => key.clone(),
            _ => self.key_of_row(&copy, moved.get(second).copied().unwrap_or_default())?,
        };
        let right_id = Self::take_page(pages, view, gate)?;
        pages.add_uppers(i64::from(view.level() > 0));
        debug_assert_ne!(right_id, left_id, "a new page");
        self.store().room().split(left_id, right_id);
        let init = PageInit {
            level: view.level(),
            prev: left_id,
            next,
            ..PageInit::new(
                right_id,
                view.page_type(),
                self.parts.unit.id(),
                view.pminlen(),
            )
        };
        let right = mini.adopt(self.store().create(right_id, LatchRank::Data)?);
        mini.push(right, &Change::Format(init));
        Self::push_rows(mini, right, moved);
        match rows.new_at {
            Some(at) if at < keep => self.recent.note(left_id, at as u16),
            Some(at) => self.recent.note(right_id, (at - keep) as u16),
            None => {}
        }
        let stays = Self::shrink(mini, page, (view.slot_count(), keep), new, rows.new_at);
        let links = Change::SetLinks {
            prev: None,
            next: Some(right_id),
        };
        mini.push(page, &links);
        self.count_ghosts(mini, (page, right), &copy, stays);
        if !next.is_none() && !mutated(Mutation::ForgetNeighbour) {
            let neighbour = match neighbour {
                Some(neighbour) => neighbour,
                // Only of a leaf: nothing lies below it.
                None => mini.adopt(self.fetch(next, Ex)?),
            };
            let links = Change::SetLinks {
                prev: Some(right_id),
                next: None,
            };
            mini.push(neighbour, &links);
        }
        Ok((separator, right_id, next.is_none()))
    }

    /// A page for rows of `from`, if the gate allows them to go there: it is called for leaves only.
    fn take_page(
        pages: &mut SplitPages<'_>,
        from: Page<'_>,
        gate: &dyn Gate,
    ) -> Result<PageId, AccessError> {
        let to = pages.take()?;
        if from.level() > 0 || gate.may_move(from.page_id(), to) {
            Ok(to)
        } else {
            Err(AccessError::Barred)
        }
    }

    /// Plans that a page keeps its first rows, `keep` of them with the new one if that is among them. Returns
    /// how many old ones stay.
    fn shrink(
        mini: &mut Mini<'_>,
        page: usize,
        (slots, keep): (u16, usize),
        new: Option<&(u16, Key, Vec<u8>)>,
        new_at: Option<usize>,
    ) -> usize {
        let new_here = new_at.filter(|&at| at < keep);
        let stays = keep - usize::from(new_here.is_some());
        debug_assert!(
            stays <= usize::from(slots),
            "no more rows stay than there were"
        );
        let (from, count) = (stays as u16, slots - stays as u16);
        if count > 0 {
            mini.push(page, &Change::RemoveRows { from, count });
        }
        if let (Some(at), Some((_, _, bytes))) = (new_here, new) {
            let slot = at as u16;
            mini.push(page, &Change::InsertRow { slot, bytes });
        }
        stays
    }

    /// Moves the count of ghosts along with the rows from slot `stays` on.
    fn count_ghosts(
        &self,
        mini: &mut Mini<'_>,
        at: (usize, usize),
        before: &PageBuf,
        stays: usize,
    ) {
        let view = Page::new(before);
        if view.ghost_count() == 0 {
            return;
        }
        let ghosts = view.records().filter(|(slot, row)| {
            usize::from(*slot) >= stays
                && furrow_format::Status(row.first().copied().unwrap_or(0)).is_ghost()
        });
        let moved = ghosts.count() as i16;
        if moved > 0 {
            mini.push(at.0, &Change::SetGhosts { delta: -moved });
            mini.push(at.1, &Change::SetGhosts { delta: moved });
        }
    }

    fn push_rows(mini: &mut Mini<'_>, at: usize, rows: &[&[u8]]) {
        let mut list = RowListBuilder::new();
        for row in rows {
            // Rows of a page are never longer than one.
            let _fits = list.push(row);
        }
        mini.push(at, &Change::LoadRows(list.rows()));
    }

    /// Plans the split of the root: its rows go to two new pages, it becomes their parent.
    fn split_root<'p>(
        &'p self,
        mini: &mut Mini<'p>,
        root: usize,
        pages: &mut SplitPages<'_>,
        (new, gate): (Option<&NewEntry>, &dyn Gate),
    ) -> Result<(), AccessError> {
        let copy = Box::new(*mini.page(root));
        let view = Page::new(&copy);
        let rows = Rows::of(&copy, new.map(|(slot, _, bytes)| (*slot, &bytes[..])))?;
        let run = new.map_or(Run::None, |(slot, ..)| {
            self.recent.run_at(self.root(), *slot)
        });
        let keep = rows
            .split_point(view, run, self.kept_on(view))
            .ok_or(NO_ROOM)?;
        debug_assert!(0 < keep && keep < rows.rows.len(), "both halves have rows");
        let (stay, moved) = rows.rows.split_at(keep);
        let separator = match (rows.new_at, new) {
            (Some(at), Some((_, key, _))) if at == keep => key.clone(),
            _ => self.key_of_row(&copy, moved.first().copied().unwrap_or_default())?,
        };
        let left_id = Self::take_page(pages, view, gate)?;
        let right_id = Self::take_page(pages, view, gate)?;
        // The root of leaves becomes a page above them itself.
        pages.add_uppers(if view.level() > 0 { 2 } else { 1 });
        for half in [left_id, right_id] {
            self.store().room().split(self.root(), half);
        }
        let unit = self.parts.unit.id();
        let init = |page, prev, next| PageInit {
            level: view.level(),
            prev,
            next,
            ..PageInit::new(page, view.page_type(), unit, view.pminlen())
        };
        for (id, prev, next, rows) in [
            (left_id, PageId::NONE, right_id, stay),
            (right_id, left_id, PageId::NONE, moved),
        ] {
            let page = mini.adopt(self.store().create(id, LatchRank::Data)?);
            mini.push(page, &Change::Format(init(id, prev, next)));
            Self::push_rows(mini, page, rows);
            let ghost =
                |r: &&&[u8]| furrow_format::Status(r.first().copied().unwrap_or(0)).is_ghost();
            let ghosts = rows.iter().filter(ghost).count() as i16;
            if ghosts > 0 && view.level() == 0 {
                mini.push(page, &Change::SetGhosts { delta: ghosts });
            }
        }
        let node_min = self
            .parts
            .shape
            .node
            .as_ref()
            .map_or(0, furrow_format::RowLayout::pminlen);
        let root_init = PageInit {
            level: view.level() + 1,
            ..PageInit::new(self.root(), PageType::Index, unit, node_min)
        };
        mini.push(root, &Change::Format(root_init));
        let lowest = self.lowest_entry(&separator, left_id)?;
        let mut entry = Vec::new();
        self.parts
            .shape
            .node_row(&separator, right_id, &mut entry)?;
        Self::push_rows(mini, root, &[&lowest, &entry]);
        self.root_level.store(view.level() + 1, Atomic::Relaxed);
        Ok(())
    }

    /// The first entry of a level: its key stands for "less than every key" and is NULL where it can be.
    fn lowest_entry(&self, like: &Key, child: PageId) -> Result<Vec<u8>, AccessError> {
        let shape = &self.parts.shape;
        let mut key = Key::new();
        let zeros = [0_u8; 64];
        for (at, column) in shape.key.iter().enumerate() {
            let width = like.column(at).map_or(0, <[u8]>::len).min(zeros.len());
            let fixed = column.data_type.fixed_len().is_some() && !column.uniquifier;
            let value = if fixed {
                zeros.get(..width)
            } else {
                Some(&zeros[..0])
            };
            // A fixed column wider than the zeros repeats the separator's value; no search reads it.
            let value = match like.column(at) {
                Some(mine) if fixed && mine.len() > zeros.len() => Some(mine),
                None if fixed => None,
                _ => value,
            };
            key.push(value);
        }
        let mut row = Vec::new();
        shape.node_row(&key, child, &mut row)?;
        Ok(row)
    }
}
