//! Loading rows in key order behind the last row of a tree.
//!
//! 1. Take the rows of a [`RowBatch`] that ascend among themselves; the caller inserts those behind them one
//!    by one.
//! 2. Latch the last leaf and its parent EX. The first row must belong behind all rows of the tree.
//! 3. Put what fits on the last leaf, in one log record. When it is full, format and fill up to
//!    [`LEAVES_A_RECORD`] new leaves, link them, and enter them in the parent, in one log record as well.
//! 4. Where the parent has no space, or the root is the leaf, insert one row by a split as usual (see
//!    `split`), and continue the load behind it.
//!
//! # Filling pages past the log
//! [`Tree::fill_batch`] creates up to [`MOST_FILLED`] new leaves by a record, and the log has only the rows
//! of the last of them; the transaction makes the others durable before it logs anything else. `furrow_txn`'s
//! `fills` proves that nothing is lost by that. It requires three things of this module:
//! - A leaf is filled only if it becomes full, or the next row does not fit: nothing is added to it later,
//!   and both its links are in the record that formats it. So until the leaves are durable, no other record
//!   of the load refers to pages filled before: such a record changes the last leaf and the pages above,
//!   which are in the log.
//! - The caller holds X on all of the table: no other session changes their rows.
//! - Undoing rebuilds them: see `unload`.
//!
//! # Undoing
//! Each record stores only the two keys between which its rows lie (of pages filled past the log also the
//! keys that lead to them). Undo takes out all rows between these keys, whatever has happened to the pages
//! since. So no other session may insert rows between them while the transaction lasts: its caller holds X on
//! all of the table.

use super::batch::{RowBatch, Rows, Run};
use super::descend::PathStep;
use super::gate::Open;
use super::handle::IN_USE;
use super::handle::Tree;
use super::remove::REMOVAL_LOG_BYTES;
use super::word::unpack;
use crate::shape::MAX_WHOLE_KEY_BYTES;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, PageBuf, PageId, PageInit, RowError, RowList, SLOT_SIZE};
use furrow_pool::{LatchRank, PageWrite};
use furrow_space::Reservation;
use furrow_txn::Mini;
use std::cmp::Ordering;

/// New leaves that one log record makes: two records then share a log block.
const LEAVES_A_RECORD: usize = 3;
/// The same of leaves that are filled past the log.
const MOST_FILLED: usize = 32;
/// Bytes of a leaf's rows in the log, at most, and of what else a leaf costs there.
const LEAF_LOG_BYTES: usize = 8192 + 512;
/// Bytes in the log of all leaves of a record that are filled past it, about.
const FILL_LOG_BYTES: usize = 24 << 10;
/// Bytes in the log of such a leaf, besides its key in the parent and in the undo part.
const FILLED_LOG_BYTES: usize = 96;
/// The record that empties such a leaf when it is undone.
const EMPTYING_LOG_BYTES: usize = 512;
/// Frames that a record takes besides new leaves: the last leaf, the pages above it, maps.
const FRAMES_BESIDES: usize = 6;
/// Leaves whose pages are reserved at a time: some extents.
const LEAVES_A_RESERVATION: usize = 64;

const _: () = assert!(LEAVES_A_RECORD <= MOST_FILLED && MOST_FILLED <= LEAVES_A_RESERVATION);

/// What one log record may create.
#[derive(Clone, Copy)]
struct Scope {
    /// Whether leaves are filled past the log.
    filling: bool,
    /// New leaves, at most.
    leaves: usize,
}

/// A leaf about to be created.
struct NewLeaf<'a> {
    id: PageId,
    key: Key,
    run: Run<'a>,
}

impl Tree {
    /// Appends the rows of the batch, from its front, as far as each of them is greater than the one before
    /// it and than all rows of the tree, until something fails. Returns their number; the caller inserts the
    /// others one by one. An error means that none was appended.
    ///
    /// The caller holds X on all of the table until the end of the transaction: see the module.
    pub fn append_batch(&self, by: &mut By<'_>, batch: &RowBatch) -> Result<usize, AccessError> {
        self.append_all(by, batch, false)
    }

    /// As [`Tree::append_batch`], but full new pages do not go through the log: the transaction makes them
    /// durable before it logs anything but more of the kind. See the module.
    pub fn fill_batch(&self, by: &mut By<'_>, batch: &RowBatch) -> Result<usize, AccessError> {
        let filling = by.set_filling(true);
        let done = self.append_all(by, batch, filling);
        by.set_filling(false);
        done
    }

    fn append_all(
        &self,
        by: &mut By<'_>,
        batch: &RowBatch,
        filling: bool,
    ) -> Result<usize, AccessError> {
        let mut rest = self.ascending(batch);
        let mut pages = None;
        let mut done = 0;
        let leaves = match filling {
            true => {
                // All of them are latched at a time.
                let frames = self.store().pool().stats().frames / 16;
                let entry = FILLED_LOG_BYTES + 2 * self.parts.shape.largest_node_row();
                let most = frames.min(FILL_LOG_BYTES / entry);
                most.clamp(LEAVES_A_RECORD, MOST_FILLED)
            }
            false => LEAVES_A_RECORD,
        };
        let scope = Scope { filling, leaves };
        while !rest.0.is_empty() {
            match self.append_some(by, scope, &mut rest, &mut pages) {
                Ok(0) => break,
                Ok(rows) => done += rows,
                // Rows that are in the log are undone row by row if they must be, so that they have to be
                // counted. The caller gets this error with the next row, or inserts that row without it.
                Err(_) if done > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// The first rows of the batch, up to one that is not greater than the one before it.
    fn ascending<'a>(&self, batch: &'a RowBatch) -> Rows<'a> {
        let (mut rest, mut taken) = (Rows(&batch.bytes), 0);
        let ints = self.ints.filter(|_| self.parts.shape.key.len() == 1);
        let mut last_int: Option<i64> = None;
        let mut last_key: Option<Key> = None;
        while let Some(row) = rest.next() {
            let greater = match ints.and_then(|ints| ints.rank(row)) {
                Some(rank) => last_int.replace(rank).is_none_or(|last| last < rank),
                None => match self.parts.shape.key_of(row) {
                    Some(key) if key.size_bytes() <= MAX_WHOLE_KEY_BYTES => {
                        let shape = &self.parts.shape;
                        let greater = |last: &Key| shape.compare_keys(last, &key).is_lt();
                        let greater = last_key.as_ref().is_none_or(greater);
                        last_key = Some(key);
                        greater
                    }
                    _ => false,
                },
            };
            if !greater {
                break;
            }
            taken = batch.bytes.len() - rest.0.len();
            debug_assert!(taken <= batch.bytes.len(), "rows of the batch");
        }
        Rows(batch.bytes.get(..taken).unwrap_or_default())
    }

    /// One log record's worth of rows; 0 when the first one does not belong behind all others.
    fn append_some(
        &self,
        by: &mut By<'_>,
        scope: Scope,
        rest: &mut Rows<'_>,
        pages: &mut Option<Reservation>,
    ) -> Result<usize, AccessError> {
        let unreadable = AccessError::Row(RowError::Layout { column_id: 0 });
        let Some(first) = Rows(rest.0).next() else {
            return Ok(0);
        };
        let key = self.parts.shape.key_of(first).ok_or(unreadable)?;
        let (redo_bytes, undo_bytes) = self.log_bytes(scope, rest.0.len(), &key);
        by.prepare(self.store(), redo_bytes, undo_bytes)?;
        if pages.as_ref().is_none_or(|p| p.left() < LEAVES_A_RECORD) {
            *pages = Some(self.reserve_leaves(rest.0.len())?);
        }
        let Some(pages) = pages else { return Ok(0) };
        let loan = self
            .store()
            .pool()
            .borrow_frames(scope.leaves + FRAMES_BESIDES);
        let mut path = self.path_for_split(&key)?;
        let Some(PathStep { page: leaf, .. }) = path.pop() else {
            return Ok(0);
        };
        if !self.belongs_behind(&leaf, &key)? {
            return Ok(0);
        }
        let view = Page::new(&leaf);
        let left = by.must_leave(self.store(), view.page_id());
        let free = usize::from(view.free_count()).saturating_sub(left);
        if let Some(run) = rest.take_run(view, free) {
            drop(path);
            let undo = self.undo_of(run.first, run.last, run.rows)?;
            let mut mini = Mini::new(self.store());
            let at = mini.adopt(leaf);
            mini.push(at, &Change::LoadRows(Self::row_list(&run)?));
            by.commit(mini, &undo)?;
            return Ok(run.rows);
        }
        let room = self.parts.shape.largest_node_row();
        match path.pop() {
            Some(parent) if usize::from(Page::new(&parent.page).free_count()) >= room => {
                drop(path);
                self.append_leaves(by, scope, (parent, leaf), rest, pages)
            }
            parent => {
                let near = leaf.key().page;
                drop((leaf, parent, path, loan));
                self.append_splitting(by, &key, rest, near)
            }
        }
    }

    /// Bytes that a record takes in the log, what its undoing needs besides its undo part included; and its
    /// undo part.
    fn log_bytes(&self, scope: Scope, rest: usize, key: &Key) -> (usize, usize) {
        let entry = self.parts.shape.largest_node_row();
        let logged = match scope.filling {
            true => LEAF_LOG_BYTES + scope.leaves * (FILLED_LOG_BYTES + entry + EMPTYING_LOG_BYTES),
            false => LEAVES_A_RECORD * LEAF_LOG_BYTES,
        };
        let undo = match scope.filling {
            true => 64 + (scope.leaves + 1) * entry,
            false => 64 + 2 * key.size_bytes(),
        };
        let few = rest <= LEAF_LOG_BYTES && scope.filling;
        let logged = if few { 2 * LEAF_LOG_BYTES } else { logged };
        (logged + scope.leaves * REMOVAL_LOG_BYTES + undo, undo)
    }

    /// Whether the leaf is the last one and all its rows come before the key, which has led to it.
    fn belongs_behind(&self, leaf: &PageBuf, key: &Key) -> Result<bool, AccessError> {
        let view = Page::new(leaf);
        if !view.next().is_none() {
            return Ok(false);
        }
        Ok(match view.slot_count().checked_sub(1) {
            Some(last) => self.parts.shape.compare_at(leaf, last, key)? == Ordering::Less,
            None => true,
        })
    }

    fn reserve_leaves(&self, bytes: usize) -> Result<Reservation, AccessError> {
        let leaves = (bytes / 8000 + 1).clamp(LEAVES_A_RECORD, LEAVES_A_RESERVATION);
        let near = unpack(
            self.last_leaf
                .load(furrow_io::sync::atomic::Ordering::Relaxed),
        );
        let near = (near.page.0 != 0).then_some(near);
        let (space, unit) = (&self.parts.space, &self.parts.unit);
        Ok(space.reserve(unit, leaves as u32, near)?)
    }

    fn undo_of(&self, first: &[u8], last: &[u8], rows: usize) -> Result<Vec<u8>, AccessError> {
        let key = |row| self.parts.shape.key_of(row);
        let (Some(first), Some(last)) = (key(first), key(last)) else {
            return Err(AccessError::Row(RowError::Layout { column_id: 0 }));
        };
        let op = UndoOp::TreeLoad {
            first,
            last,
            rows: rows as u32,
        };
        Ok(op.encode(self.parts.rowset))
    }

    fn row_list<'a>(run: &Run<'a>) -> Result<RowList<'a>, AccessError> {
        let list = RowList::parse(run.bytes);
        list.ok_or(AccessError::Row(RowError::Layout { column_id: 0 }))
    }

    /// Fills new leaves behind the last one, which is full; the parent has space for one entry at least.
    fn append_leaves<'p>(
        &'p self,
        by: &mut By<'_>,
        scope: Scope,
        (parent, leaf): (PathStep<'p>, PageWrite<'p>),
        rest: &mut Rows<'_>,
        pages: &mut Reservation,
    ) -> Result<usize, AccessError> {
        let mut leaves = self.next_leaves(scope, &parent.page, &leaf, rest, pages)?;
        let (Some(first), Some(last)) = (leaves.first(), leaves.last()) else {
            return Ok(0);
        };
        let rows: usize = leaves.iter().map(|leaf| leaf.run.rows).sum();
        // The last one is in the log with its rows: what is loaded next may go there.
        let filled = if scope.filling { leaves.len() - 1 } else { 0 };
        let (first, last, new_last) = (first.run.first, last.run.last, last.id);
        let mut mini = Mini::new(self.store());
        let (mut slot, parent) = (parent.slot, mini.adopt(parent.page));
        let view = Page::new(&leaf);
        let (kind, pminlen, unit) = (view.page_type(), view.pminlen(), self.parts.unit.id());
        let (mut prev, leaf) = (leaf.key().page, mini.adopt(leaf));
        let next = Some(leaves.first().map_or(PageId::NONE, |leaf| leaf.id));
        mini.push(leaf, &Change::SetLinks { prev: None, next });
        let mut entry = Vec::new();
        for (n, new) in leaves.iter().enumerate() {
            let next = leaves.get(n + 1).map_or(PageId::NONE, |next| next.id);
            let init = PageInit {
                prev,
                next,
                ..PageInit::new(new.id, kind, unit, pminlen)
            };
            let at = mini.adopt(self.store().create(new.id, LatchRank::Data)?);
            if n < filled {
                mini.fill(at, init, Self::row_list(&new.run)?);
                by.keep_for_undo(EMPTYING_LOG_BYTES);
            } else {
                mini.push(at, &Change::Format(init));
                mini.push(at, &Change::LoadRows(Self::row_list(&new.run)?));
            }
            // Undone, the rows leave an empty page.
            by.keep_for_undo(REMOVAL_LOG_BYTES);
            entry.clear();
            self.parts.shape.node_row(&new.key, new.id, &mut entry)?;
            slot += 1;
            let bytes = &entry;
            mini.push(parent, &Change::InsertRow { slot, bytes });
            prev = new.id;
        }
        let undo = match filled {
            0 => self.undo_of(first, last, rows)?,
            _ => {
                let last = self.parts.shape.key_of(last);
                let op = UndoOp::TreeFill {
                    firsts: leaves.drain(..).map(|leaf| leaf.key).collect(),
                    last: last.ok_or(AccessError::Row(RowError::Layout { column_id: 0 }))?,
                    rows: rows as u32,
                };
                op.encode(self.parts.rowset)
            }
        };
        let parent_id = mini.page_id(parent);
        // PFS pages come after all pages of rows.
        pages.allocate_taken(&mut mini, IN_USE)?;
        by.commit(mini, &undo)?;
        pages.done();
        self.recent.note(parent_id, slot);
        self.note_last_leaf(new_last);
        Ok(rows)
    }

    /// The leaves that a record creates: as many as rows, reserved pages and space in the parent allow.
    fn next_leaves<'a>(
        &self,
        scope: Scope,
        parent: &PageBuf,
        full: &PageBuf,
        rest: &mut Rows<'a>,
        pages: &mut Reservation,
    ) -> Result<Vec<NewLeaf<'a>>, AccessError> {
        let shape = &self.parts.shape;
        let (parent, full) = (Page::new(parent), Page::new(full));
        let mut room = usize::from(parent.free_count());
        let (mut leaves, mut entry) = (Vec::with_capacity(scope.leaves), Vec::new());
        while leaves.len() < scope.leaves.min(leaves.len() + pages.left()) {
            // An empty page's body takes any row.
            let Some(run) = rest.take_run(full, furrow_format::BODY_SIZE) else {
                break;
            };
            let unreadable = AccessError::Row(RowError::Layout { column_id: 0 });
            let key = shape.key_of(run.first).ok_or(unreadable)?;
            let id = pages.take()?;
            entry.clear();
            shape.node_row(&key, id, &mut entry)?;
            room = room.saturating_sub(parent.room_of(entry.len()) + SLOT_SIZE);
            leaves.push(NewLeaf { id, key, run });
            if room < shape.largest_node_row() {
                break;
            }
        }
        debug_assert!(
            leaves.len() <= scope.leaves,
            "as many pages as a record names"
        );
        Ok(leaves)
    }

    /// Puts one row in by splitting what is full above it, the root perhaps.
    fn append_splitting(
        &self,
        by: &mut By<'_>,
        key: &Key,
        rest: &mut Rows<'_>,
        near: PageId,
    ) -> Result<usize, AccessError> {
        let mut ahead = *rest;
        let Some(row) = ahead.next() else {
            return Ok(0);
        };
        let mut pages = self.reserve_for_split(by, near)?;
        let path = self.path_for_split(key)?;
        let Some(step) = path.last() else {
            return Ok(0);
        };
        // The latches were released: the tree may have changed.
        if !self.belongs_behind(&step.page, key)? {
            return Ok(0);
        }
        let undo = self.undo_of(row, row, 1)?;
        debug_assert!(!undo.is_empty(), "a loaded row can be undone");
        let (slot, fits) = {
            let view = Page::new(&step.page);
            let left = by.must_leave(self.store(), view.page_id());
            let needed = view.room_of(row.len()) + SLOT_SIZE + left;
            (view.slot_count(), needed <= usize::from(view.free_count()))
        };
        let mut mini = Mini::new(self.store());
        let mut new_last = None;
        if fits {
            let leaf = path
                .into_iter()
                .next_back()
                .map(|step| mini.adopt(step.page));
            let Some(at) = leaf else { return Ok(0) };
            mini.push(at, &Change::InsertRow { slot, bytes: row });
        } else {
            let new = Some((slot, key, row));
            new_last = self.plan_split(&mut mini, path, &mut pages, new, &Open)?;
            by.keep_for_undo(REMOVAL_LOG_BYTES);
        }
        by.commit(mini, &undo)?;
        pages.done();
        if let Some(page) = new_last {
            self.note_last_leaf(page);
        }
        *rest = ahead;
        Ok(1)
    }
}
