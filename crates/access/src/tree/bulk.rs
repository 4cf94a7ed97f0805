//! Loading rows in key order behind the last row of a tree.
//!
//! 1. The rows of a [`RowBatch`] that ascend among themselves are looked for; what follows is the caller's to
//!    insert one by one.
//! 2. The last leaf and its parent are latched EX. The first row must belong behind all rows of the tree.
//! 3. What fits goes on the last leaf, in one log record. When it is full, up to [`LEAVES_A_RECORD`] new
//!    leaves are formatted and filled, linked, and entered in the parent, in one log record as well.
//! 4. Where the parent has no room, or the root is the leaf, one row goes in by a split as usual
//!    (see `split`), and the load goes on behind it.
//!
//! # Undoing
//! Each record says between which keys its rows lie, and no more: whatever has happened to the pages since,
//! the rows between these keys are taken out again. So nobody else may put rows between them while the
//! transaction lasts: its caller holds X on all of the table.
//!
//! The rows may lie on several pages by then. Each page's rows are taken out by a record of the system, which
//! may be repeated, and only after the last one a compensation says that it is done: a crash between them
//! begins the undoing anew, with what is left.

use super::Tree;
use super::descend::PathStep;
use super::node::Side;
use super::remove::REMOVAL_LOG_BYTES;
use super::split::IN_USE;
use crate::shape::MAX_WHOLE_KEY_BYTES;
use crate::undo::UndoOp;
use crate::{AccessError, By, Key};
use furrow_format::{
    Change, MAX_ROW_SIZE, Page, PageBuf, PageId, PageInit, RowError, RowList, SLOT_SIZE, Status,
};
use furrow_pool::{Ex, LatchRank};
use furrow_space::Reservation;
use furrow_txn::{Author, Mini};
use std::cmp::Ordering;

/// New leaves that one log record makes: two records then share a log block.
const LEAVES_A_RECORD: usize = 3;
/// Bytes of a leaf's rows in the log, at most, and of what else a leaf costs there.
const LEAF_LOG_BYTES: usize = 8192 + 512;
/// Leaves whose pages are reserved at a time: some extents.
const LEAVES_A_RESERVATION: usize = 64;

/// Encoded rows one behind the other, to be loaded; used again and again.
#[derive(Debug, Clone, Default)]
pub struct RowBatch {
    /// Each row behind its length, as the log has them.
    bytes: Vec<u8>,
    rows: usize,
}

impl RowBatch {
    /// An empty one.
    pub fn new() -> RowBatch {
        RowBatch::default()
    }

    /// Adds a row that `encode` appends to the bytes it is given. On an error nothing is added.
    #[inline]
    pub fn push_with<E: From<AccessError>>(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 2]);
        let encoded = encode(&mut self.bytes);
        let len = self.bytes.len().saturating_sub(start + 2);
        let checked = match encoded {
            Ok(()) if len > MAX_ROW_SIZE => {
                Err(AccessError::Row(RowError::RowTooLarge { len }).into())
            }
            other => other,
        };
        match self
            .bytes
            .get_mut(start..)
            .and_then(|b| b.first_chunk_mut())
        {
            Some(prefix) if checked.is_ok() => *prefix = (len as u16).to_le_bytes(),
            _ => {
                self.bytes.truncate(start);
                return checked;
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Adds an encoded row.
    pub fn push(&mut self, row: &[u8]) -> Result<(), AccessError> {
        self.push_with(|out| {
            out.extend_from_slice(row);
            Ok(())
        })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of all rows and their lengths.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets the rows and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows = 0;
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        Rows(&self.bytes)
    }
}

/// Rows behind their lengths.
#[derive(Clone, Copy)]
struct Rows<'a>(&'a [u8]);

impl<'a> Iterator for Rows<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (len, rest) = self.0.split_first_chunk()?;
        let (row, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
        self.0 = rest;
        Some(row)
    }
}

/// The first rows of a batch: those that one leaf takes.
struct Run<'a> {
    rows: usize,
    bytes: &'a [u8],
    first: &'a [u8],
    last: &'a [u8],
}

impl<'a> Rows<'a> {
    /// As many rows as fit in `free` bytes of a page, taken off the front; `None` for none.
    fn take_run(&mut self, view: Page<'_>, free: usize) -> Option<Run<'a>> {
        let (all, mut left) = (self.0, free);
        let mut run: Option<Run<'a>> = None;
        loop {
            let mut ahead = *self;
            let Some(row) = ahead.next() else { break };
            let Some(after) = left.checked_sub(view.room_of(row.len()) + SLOT_SIZE) else {
                break;
            };
            left = after;
            *self = ahead;
            match &mut run {
                Some(run) => (run.rows, run.last) = (run.rows + 1, row),
                None => {
                    run = Some(Run {
                        rows: 1,
                        bytes: &[],
                        first: row,
                        last: row,
                    });
                }
            }
        }
        let taken = all.len() - self.0.len();
        run.map(|run| Run {
            bytes: all.get(..taken).unwrap_or_default(),
            ..run
        })
    }
}

impl Tree {
    /// Appends the rows of the batch, from its front, as far as each of them is greater than the one before
    /// it and than all that the tree has. Gives their number; the others are the caller's to insert one by
    /// one.
    ///
    /// The caller holds X on all of the table until the end of the transaction: see the module.
    pub fn append_batch(&self, by: &mut By<'_>, batch: &RowBatch) -> Result<usize, AccessError> {
        let mut rest = self.ascending(batch);
        let mut pages = None;
        let mut done = 0;
        while !rest.0.is_empty() {
            match self.append_some(by, &mut rest, &mut pages)? {
                0 => break,
                rows => done += rows,
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
        }
        Rows(batch.bytes.get(..taken).unwrap_or_default())
    }

    /// One log record's worth of rows; 0 when the first one does not belong behind all others.
    fn append_some(
        &self,
        by: &mut By<'_>,
        rest: &mut Rows<'_>,
        pages: &mut Option<Reservation>,
    ) -> Result<usize, AccessError> {
        let unreadable = AccessError::Row(RowError::Layout { column_id: 0 });
        let Some(first) = Rows(rest.0).next() else {
            return Ok(0);
        };
        let key = self.parts.shape.key_of(first).ok_or(unreadable)?;
        let log_bytes = rest.0.len().min(LEAVES_A_RECORD * LEAF_LOG_BYTES);
        let undo_bytes = 64 + 2 * key.size_bytes();
        let redo_bytes = log_bytes + LEAVES_A_RECORD * REMOVAL_LOG_BYTES + undo_bytes;
        by.prepare(self.store(), redo_bytes, undo_bytes)?;
        if pages.as_ref().is_none_or(|p| p.left() < LEAVES_A_RECORD) {
            *pages = Some(self.reserve_leaves(rest.0.len())?);
        }
        let Some(pages) = pages else { return Ok(0) };
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
            Self::push_run(&mut mini, at, &run)?;
            by.commit(mini, &undo)?;
            return Ok(run.rows);
        }
        let room = self.parts.shape.largest_node_row();
        match path.pop() {
            Some(parent) if usize::from(Page::new(&parent.page).free_count()) >= room => {
                drop(path);
                self.append_leaves(by, (parent, leaf), rest, pages)
            }
            parent => {
                let near = leaf.key().page;
                drop((leaf, parent, path));
                self.append_splitting(by, &key, rest, near)
            }
        }
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
        let near = Self::unpack(self.last_leaf.load(std::sync::atomic::Ordering::Relaxed));
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

    fn push_run(mini: &mut Mini<'_>, at: usize, run: &Run<'_>) -> Result<(), AccessError> {
        let list = RowList::parse(run.bytes);
        let list = list.ok_or(AccessError::Row(RowError::Layout { column_id: 0 }))?;
        mini.push(at, &Change::LoadRows(list));
        Ok(())
    }

    /// Fills new leaves behind the last one, which is full; the parent has room for one entry at least.
    fn append_leaves<'p>(
        &'p self,
        by: &mut By<'_>,
        (parent, leaf): (PathStep<'p>, furrow_pool::PageWrite<'p>),
        rest: &mut Rows<'_>,
        pages: &mut Reservation,
    ) -> Result<usize, AccessError> {
        let shape = &self.parts.shape;
        let mut mini = Mini::new(self.store());
        let mut room = usize::from(Page::new(&parent.page).free_count());
        let (mut slot, parent) = (parent.slot, mini.adopt(parent.page));
        let full = mini.adopt(leaf);
        let mut left = full;
        let unit = self.parts.unit.id();
        let (mut first, mut last, mut rows, mut entry) = (None, &[][..], 0, Vec::new());
        for _ in 0..LEAVES_A_RECORD {
            // An empty page's body takes any row. The new pages are not formatted yet: the full one is asked.
            let view = Page::new(mini.page(full));
            let (kind, pminlen) = (view.page_type(), view.pminlen());
            let before = *rest;
            let Some(run) = rest.take_run(view, furrow_format::BODY_SIZE) else {
                break;
            };
            let unreadable = AccessError::Row(RowError::Layout { column_id: 0 });
            let key = shape.key_of(run.first).ok_or(unreadable)?;
            let id = pages.take()?;
            entry.clear();
            shape.node_row(&key, id, &mut entry)?;
            let needed = Page::new(mini.page(parent)).room_of(entry.len()) + SLOT_SIZE;
            room = room.saturating_sub(needed);
            slot += 1;
            let (left_id, level) = (mini.page_id(left), 0);
            let init = PageInit {
                level,
                prev: left_id,
                ..PageInit::new(id, kind, unit, pminlen)
            };
            let links = Change::SetLinks {
                prev: None,
                next: Some(id),
            };
            let right = mini.adopt(self.store().create(id, LatchRank::Data)?);
            mini.push(left, &links);
            mini.push(right, &Change::Format(init));
            Self::push_run(&mut mini, right, &run)?;
            let bytes = &entry;
            mini.push(parent, &Change::InsertRow { slot, bytes });
            debug_assert!(before.0.len() > rest.0.len(), "a row of any length fits");
            (first, last, rows) = (first.or(Some(run.first)), run.last, rows + run.rows);
            left = right;
            // Undone, the rows leave an empty page.
            by.keep_for_undo(REMOVAL_LOG_BYTES);
            if room < shape.largest_node_row() {
                break;
            }
        }
        let (parent_id, new_last) = (mini.page_id(parent), mini.page_id(left));
        let undo = self.undo_of(first.unwrap_or_default(), last, rows)?;
        // PFS pages come after all pages of rows.
        pages.allocate_taken(&mut mini, IN_USE)?;
        by.commit(mini, &undo)?;
        pages.done();
        self.recent.note(parent_id, slot);
        self.note_last_leaf(new_last);
        Ok(rows)
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
        // Latches were let go: it may be otherwise now.
        if !self.belongs_behind(&step.page, key)? {
            return Ok(0);
        }
        let undo = self.undo_of(row, row, 1)?;
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
            new_last = self.plan_split(&mut mini, path, &mut pages, Some((slot, key, row)))?;
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

    /// Takes out all rows from one key to another: the undoing of a load.
    pub(crate) fn remove_loaded(
        &self,
        by: &mut By<'_>,
        first: &Key,
        last: &Key,
    ) -> Result<(), AccessError> {
        while let Some(emptied) = self.remove_some(first, last)? {
            if let Some(key) = emptied {
                // A rollback must not fail for want of what only tidies up.
                let _tidied = self.remove_empty_leaf(by, &key);
            }
        }
        // Now, and not before, it is done.
        by.commit(Mini::new(self.store()), &[])?;
        Ok(())
    }

    /// Takes out the rows of one page between two keys. `None` when there are none; else the key that leads
    /// to the page, if that is empty now.
    fn remove_some(&self, first: &Key, last: &Key) -> Result<Option<Option<Key>>, AccessError> {
        let mut leaf = self.leaf_at(first, Side::Before, Ex, None)?;
        let mut from = self.rows_before(&leaf, 0, first, Side::Before)?;
        while from >= Page::new(&leaf).slot_count() {
            let next = Page::new(&leaf).next();
            if next.is_none() {
                return Ok(None);
            }
            leaf = self.fetch(next, Ex)?;
            from = self.rows_before(&leaf, 0, first, Side::Before)?;
        }
        let to = self.rows_before(&leaf, 0, last, Side::Behind)?;
        let Some(count) = to.checked_sub(from).filter(|&count| count > 0) else {
            return Ok(None);
        };
        let emptied = match count == Page::new(&leaf).slot_count() {
            true => Some(self.key_at(&leaf, from)?),
            false => None,
        };
        let mut ghosts = 0;
        for slot in from..to {
            let status = self.row_at(&leaf, slot)?.first().copied();
            ghosts += i16::from(Status(status.unwrap_or(0)).is_ghost());
        }
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(leaf);
        mini.push(at, &Change::RemoveRows { from, count });
        if ghosts > 0 {
            mini.push(at, &Change::SetGhosts { delta: -ghosts });
        }
        mini.commit(&Author::System)?;
        Ok(Some(emptied))
    }
}
