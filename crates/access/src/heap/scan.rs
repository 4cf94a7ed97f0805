//! Scans of all rows, in the order of the allocation maps, alternating between the files.
//!
//! A cursor copies the rows of one page at a time under its SH latch and returns them with no latch held. A
//! moved row is found at its address: the scan records its stub, and follows it after the latch is released.
//! It skips the moved records themselves. So a row that moves during the scan is neither missed nor seen
//! twice.

use super::{Heap, first, record, record_kind};
use crate::AccessError;
use crate::tree::{InPlace, PagePass, RowCheck};
use furrow_format::{FileId, Page, PageId, RecordKind, RowId, Status};
use furrow_pool::{PageKey, Sh};
use furrow_space::PageWalk;
use std::collections::VecDeque;

/// Pages requested in advance, of all files together: twice what the pool's threads read at once, so that
/// each of them always has a request while the scan works.
const READ_AHEAD: usize = 512;

/// Pages of a file requested at once: what the pool reads at once.
const RUN: usize = 64;

/// Pages of a file that are requested in advance at least, in a small pool.
const LEAST_WINDOW: usize = 16;

const _: () = assert!(LEAST_WINDOW >= 2);

/// Callbacks of a cursor, under the page's latch: they must not block.
pub trait HeapVisitor {
    /// Whether rows are read in place. Then [`HeapStep::Rows`] means that such rows were found, and no row is
    /// copied.
    fn in_place(&self) -> InPlace {
        InPlace::No
    }
    /// Receives a row that is read in place.
    fn take(&mut self, _row: &[u8]) {}
    /// Receives the number of rows on a page of which only the count is needed.
    fn count(&mut self, _rows: u64) {}
    /// Whether every live row may be returned without a call of `check`: no other transaction has uncommitted
    /// changes of rows.
    fn all_committed(&mut self) -> bool;
    /// Decides about a page on which some rows may not be returned.
    fn enter(&mut self, _page: Page<'_>) -> PagePass {
        PagePass::Each
    }
    /// Decides about a live row or a ghost.
    fn check(&mut self, rid: RowId, row: &[u8], ghost: bool) -> RowCheck;
}

/// The result of a step of the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeapStep {
    /// Rows were copied.
    Rows,
    /// The row with this address has to be waited for.
    Wait(RowId),
    /// There are no more.
    End,
}

/// The remaining pages of one file.
#[derive(Debug)]
struct Lane {
    walk: PageWalk,
    queue: VecDeque<PageId>,
    /// How many pages of the queue have been requested.
    asked: usize,
}

/// A scan of a heap, and the heap.
#[derive(Debug)]
pub struct HeapCursor<'h> {
    heap: &'h Heap,
    scan: HeapScan,
}

/// The state of a heap scan: its position and the rows copied last. It borrows nothing; each step gets the
/// heap as an argument, which must be the same every time.
#[derive(Debug)]
pub struct HeapScan {
    lanes: Vec<Lane>,
    turn: usize,
    read_ahead: bool,
    /// The page being copied, and the slot to continue with.
    current: Option<(PageId, u16)>,
    /// Moved rows of the page, last first.
    moved: Vec<RowId>,
    /// Whether the last step found rows that were read in place.
    in_place: bool,
    bytes: Vec<u8>,
    rows: Vec<(RowId, u32)>,
    next: usize,
}

impl Heap {
    /// A scan of all rows: a page of each file in turn.
    pub fn scan(&self) -> Result<HeapCursor<'_>, AccessError> {
        let walks = self.space().walks_by_file(self.unit())?;
        Ok(self.cursor(walks.into_iter().map(|(_, walk)| walk)))
    }

    /// As [`Heap::scan`], for [`HeapScan::step`].
    pub fn scan_state(&self) -> Result<HeapScan, AccessError> {
        Ok(self.scan()?.scan)
    }

    /// A scan for each file, so that they can run in parallel.
    pub fn scans_by_file(&self) -> Result<Vec<(FileId, HeapCursor<'_>)>, AccessError> {
        let walks = self.space().walks_by_file(self.unit())?;
        let scans = walks
            .into_iter()
            .map(|(file, walk)| (file, self.cursor([walk])));
        Ok(scans.collect())
    }

    fn cursor(&self, walks: impl IntoIterator<Item = PageWalk>) -> HeapCursor<'_> {
        let lane = |walk| Lane {
            walk,
            queue: VecDeque::new(),
            asked: 0,
        };
        HeapCursor {
            heap: self,
            scan: HeapScan::of_lanes(walks.into_iter().map(lane).collect()),
        }
    }
}

impl HeapScan {
    /// A scan of these pages alone.
    pub(super) fn of_pages(pages: Vec<PageId>) -> HeapScan {
        HeapScan::of_lanes(vec![Lane {
            walk: PageWalk::empty(),
            queue: pages.into(),
            asked: 0,
        }])
    }

    fn of_lanes(lanes: Vec<Lane>) -> HeapScan {
        HeapScan {
            lanes,
            turn: 0,
            read_ahead: false,
            current: None,
            moved: Vec::new(),
            in_place: false,
            bytes: Vec::new(),
            rows: Vec::new(),
            next: 0,
        }
    }
}

impl HeapCursor<'_> {
    /// Requests the next pages from the pool, 64 of a file at a time and 512 at most, or 128 of each file.
    #[must_use]
    pub fn with_read_ahead(mut self) -> Self {
        self.scan.read_ahead = true;
        self
    }

    /// The next row of the present batch, and its address.
    pub fn next_in_batch(&mut self) -> Option<(RowId, &[u8])> {
        self.scan.next_in_batch()
    }

    /// Fetches the next batch.
    pub fn step(&mut self, visitor: &mut dyn HeapVisitor) -> Result<HeapStep, AccessError> {
        self.scan.step(self.heap, visitor)
    }
}

impl HeapScan {
    /// Requests the next pages from the pool, 64 of a file at a time and 512 at most, or 128 of each file.
    #[must_use]
    pub fn with_read_ahead(mut self) -> Self {
        self.read_ahead = true;
        self
    }

    /// The next row of the present batch, and its address.
    pub fn next_in_batch(&mut self) -> Option<(RowId, &[u8])> {
        self.advance().then(|| self.current()).flatten()
    }

    /// Moves to the next row of the present batch: [`HeapScan::current`]. `false` at its end.
    #[inline]
    pub fn advance(&mut self) -> bool {
        let more = self.next < self.rows.len();
        self.next += usize::from(more);
        more
    }

    /// The current row and its address; `None` before the first one.
    #[inline]
    pub fn current(&self) -> Option<(RowId, &[u8])> {
        let at = self.next.checked_sub(1)?;
        let &(rid, end) = self.rows.get(at)?;
        let before = at.checked_sub(1).and_then(|before| self.rows.get(before));
        let start = before.map_or(0, |row| row.1);
        Some((rid, self.bytes.get(start as usize..end as usize)?))
    }

    /// Fetches the next batch.
    pub fn step(
        &mut self,
        heap: &Heap,
        visitor: &mut dyn HeapVisitor,
    ) -> Result<HeapStep, AccessError> {
        self.bytes.clear();
        self.rows.clear();
        self.next = 0;
        self.in_place = false;
        loop {
            let mut waiting = self.follow(heap, visitor)?;
            if waiting.is_none() && self.rows.is_empty() && !self.in_place {
                if self.current.is_none() {
                    self.current = self.next_page(heap)?.map(|page| (page, 0));
                }
                let Some((page, slot)) = self.current else {
                    return Ok(HeapStep::End);
                };
                waiting = self.copy(heap, page, slot, visitor)?;
            }
            if !self.rows.is_empty() || self.in_place {
                return Ok(HeapStep::Rows);
            }
            if let Some(rid) = waiting {
                return Ok(HeapStep::Wait(rid));
            }
        }
    }

    fn take(&mut self, rid: RowId, row: &[u8], visitor: &mut dyn HeapVisitor) {
        match visitor.in_place() {
            InPlace::No => {
                self.bytes.extend_from_slice(row);
                self.rows.push((rid, self.bytes.len() as u32));
                return;
            }
            InPlace::Rows => visitor.take(row),
            InPlace::Count => visitor.count(1),
        }
        self.in_place = true;
    }

    /// Copies the moved rows whose stubs were found. Returns a row to wait for.
    fn follow(
        &mut self,
        heap: &Heap,
        visitor: &mut dyn HeapVisitor,
    ) -> Result<Option<RowId>, AccessError> {
        while let Some(&rid) = self.moved.last() {
            let check = heap.look(rid, &mut |row, ghost| {
                let check = judge(visitor, rid, row, ghost);
                if check == RowCheck::Take {
                    self.take(rid, row, visitor);
                }
                check
            })?;
            if check == Some(RowCheck::Wait) {
                return Ok(Some(rid));
            }
            self.moved.pop();
        }
        Ok(None)
    }

    /// Copies the rows of a page from a slot on, until the visitor stops it. Returns the row to wait for.
    fn copy(
        &mut self,
        heap: &Heap,
        id: PageId,
        from: u16,
        visitor: &mut dyn HeapVisitor,
    ) -> Result<Option<RowId>, AccessError> {
        let page = heap.fetch(id, Sh)?;
        let view = Page::new(&page);
        let mut free_pass = visitor.all_committed();
        self.current = None;
        if !free_pass && from < view.slot_count() {
            match visitor.enter(view) {
                PagePass::Each => {}
                PagePass::All => free_pass = true,
                PagePass::Skip => return Ok(None),
                PagePass::Wait => {
                    self.current = Some((id, from));
                    return Ok(Some(RowId {
                        page: id,
                        slot: from,
                    }));
                }
            }
        }
        for slot in from..view.slot_count() {
            // Empty slots have no record; a consistency check reports one that cannot be read.
            let Some(row) = view.record(slot) else {
                continue;
            };
            let rid = RowId { page: id, slot };
            let check = match record_kind(row) {
                RecordKind::ForwardingStub => {
                    self.moved.push(rid);
                    continue;
                }
                RecordKind::Forwarded => continue,
                _ if record::is_moved_ghost(row) => continue,
                RecordKind::Primary if free_pass => RowCheck::Take,
                _ if free_pass => RowCheck::Skip,
                _ => visitor.check(rid, row, Status(first(row)).is_ghost()),
            };
            match check {
                RowCheck::Take => self.take(rid, row, visitor),
                RowCheck::Skip => {}
                RowCheck::Wait => {
                    self.current = Some((id, slot));
                    break;
                }
            }
        }
        self.moved.reverse();
        Ok(self.current.map(|(page, slot)| RowId { page, slot }))
    }

    /// The next page of the next file in turn.
    fn next_page(&mut self, heap: &Heap) -> Result<Option<PageId>, AccessError> {
        while !self.lanes.is_empty() {
            self.turn %= self.lanes.len();
            let lanes = self.lanes.len();
            let all = lanes * (READ_AHEAD / lanes).max(2 * RUN);
            let window = (heap.store().pool().read_ahead(all) / lanes).max(LEAST_WINDOW);
            let Some(lane) = self.lanes.get_mut(self.turn) else {
                continue;
            };
            if lane.queue.is_empty() {
                match lane.walk.next_batch(heap.space())? {
                    Some(pages) => lane.queue.extend(pages),
                    None => {
                        self.lanes.remove(self.turn);
                        continue;
                    }
                }
            }
            if self.read_ahead {
                lane.prefetch(heap, window)?;
            }
            self.turn += 1;
            lane.asked = lane.asked.saturating_sub(1);
            if let Some(page) = lane.queue.pop_front() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }
}

impl Lane {
    /// Requests the next pages as soon as the window has space for a run.
    fn prefetch(&mut self, heap: &Heap, window: usize) -> Result<(), AccessError> {
        let run = RUN.min(window / 2);
        if self.asked + run > window {
            return Ok(());
        }
        if self.queue.len() < window
            && let Some(pages) = self.walk.next_batch(heap.space())?
        {
            self.queue.extend(pages);
        }
        if self.asked >= self.queue.len() {
            return Ok(());
        }
        let room = (window - self.asked) / run * run;
        let store = heap.store();
        let wanted = self.queue.iter().skip(self.asked).take(room);
        let keys: Vec<PageKey> = wanted.map(|&page| store.key(page)).collect();
        store.pool().prefetch(&keys)?;
        self.asked += keys.len();
        Ok(())
    }
}

fn judge(visitor: &mut dyn HeapVisitor, rid: RowId, row: &[u8], ghost: bool) -> RowCheck {
    match (visitor.all_committed(), ghost) {
        (true, false) => RowCheck::Take,
        (true, true) => RowCheck::Skip,
        (false, ghost) => visitor.check(rid, row, ghost),
    }
}
