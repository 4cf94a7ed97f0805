//! Replacing a row: where it is if it fits, elsewhere if not.

use super::edit::Edits;
use super::insert::{check_size, free_slots};
use super::{Heap, Place, damaged, record, record_kind, target_of};
use crate::undo::UndoOp;
use crate::{AccessError, By};
use furrow_format::{
    FORWARDING_STUB_SIZE, Page, PageBuf, PageId, RecordKind, RowError, RowId, SLOT_SIZE,
    forwarding_stub,
};
use furrow_io::mutation::{Mutation, linger, mutated, mutated_at_times};
use furrow_pool::{Ex, LatchRank, PageWrite};
use furrow_space::Reservation;
use smallvec::SmallVec;

/// Log space besides the row and the old one: a stub, headers, PFS bytes.
const UPDATE_LOG_BYTES: usize = 256;
/// Log space of the undo part besides the old record.
const UNDO_PART_BYTES: usize = 40;

/// Where a row that does not fit where it is goes.
enum Destination {
    /// A page of the heap that had enough space when it was read.
    Page(PageId),
    /// A new page.
    New,
}

/// An update under way.
pub(super) struct Update<'a> {
    pub(super) rid: RowId,
    pub(super) row: &'a [u8],
    pub(super) undoable: bool,
}

impl Heap {
    /// Replaces the row with this address. The caller holds X on it.
    pub fn update(&self, by: &mut By<'_>, rid: RowId, row: &[u8]) -> Result<(), AccessError> {
        self.replace(
            by,
            &Update {
                rid,
                row,
                undoable: true,
            },
        )
    }

    /// Replaces a row where it is, or where there is space.
    pub(super) fn replace(&self, by: &mut By<'_>, update: &Update<'_>) -> Result<(), AccessError> {
        check_size(update.row)?;
        let old_bytes = self.look(update.rid, &mut |row, _| row.len())?;
        let old_bytes = old_bytes.ok_or(AccessError::NotFound)?;
        by.prepare(
            self.store(),
            update.row.len() + UPDATE_LOG_BYTES,
            old_bytes + UNDO_PART_BYTES,
        )?;
        loop {
            let place = self.locate(update.rid)?;
            if place == Place::Home && self.replace_at_home(by, update)? {
                return Ok(());
            }
            let too_large = RowError::RowTooLarge {
                len: update.row.len(),
            };
            let moved = record::rebuilt(update.row, Some(update.rid)).ok_or(too_large)?;
            let done = match place {
                Place::Home => false,
                Place::Away(at) => {
                    self.replace_away(by, update, at, &moved)? || self.bring_home(by, update, at)?
                }
            };
            if done {
                return Ok(());
            }
            // It does not fit where it is.
            let candidates = self
                .candidates(moved.len())?
                .into_iter()
                .map(Destination::Page);
            for to in candidates.chain([Destination::New]) {
                if self.move_to(by, update, place, &to, &moved)? {
                    return Ok(());
                }
            }
        }
    }

    /// The undo part for a row that is this record, at `at`, now.
    fn undo_part(&self, update: &Update<'_>, at: RowId, old: &[u8]) -> Vec<u8> {
        debug_assert!(!old.is_empty(), "a row that is there");
        if !update.undoable {
            return Vec::new();
        }
        UndoOp::heap_update(self.rowset(), update.rid, at, old)
    }

    /// Replaces a row that is at its address, if the new one fits on the page.
    fn replace_at_home(&self, by: &mut By<'_>, update: &Update<'_>) -> Result<bool, AccessError> {
        let page = self.fetch(update.rid.page, Ex)?;
        let Some(old) = live_at_home(&page, update.rid)? else {
            return Ok(false);
        };
        if !self.has_room(by, &page, old.len(), update.row.len()) {
            return Ok(false);
        }
        let undo = self.undo_part(update, update.rid, old);
        let mut edits = Edits::new(self);
        edits.adopt(page);
        edits.replace(update.rid, update.row)?;
        edits.commit(by, &undo, None)?;
        Ok(true)
    }

    /// Replaces a moved row where it is, if the new one fits there.
    fn replace_away(
        &self,
        by: &mut By<'_>,
        update: &Update<'_>,
        at: RowId,
        moved: &[u8],
    ) -> Result<bool, AccessError> {
        let page = self.fetch(at.page, Ex)?;
        let Some(old) = live_away(&page, at, update.rid)? else {
            return Ok(false);
        };
        if !self.has_room(by, &page, old.len(), moved.len()) {
            return Ok(false);
        }
        let undo = self.undo_part(update, at, old);
        let mut edits = Edits::new(self);
        edits.adopt(page);
        edits.replace(at, moved)?;
        edits.commit(by, &undo, None)?;
        Ok(true)
    }

    /// Puts a moved row back in the place of its stub, if it fits there.
    fn bring_home(
        &self,
        by: &mut By<'_>,
        update: &Update<'_>,
        at: RowId,
    ) -> Result<bool, AccessError> {
        let mut edits = Edits::new(self);
        let pages = self.latch(&[update.rid.page, at.page])?;
        let Some(old) = self.still_away(&pages, update.rid, at)? else {
            return Ok(false);
        };
        let home = find(&pages, update.rid.page)?;
        if !self.has_room(by, home, FORWARDING_STUB_SIZE, update.row.len()) {
            return Ok(false);
        }
        let undo = self.undo_part(update, at, old);
        pages.into_iter().for_each(|page| edits.adopt(page));
        edits.replace(update.rid, update.row)?;
        edits.free(at)?;
        edits.commit(by, &undo, None)?;
        Ok(true)
    }

    /// Moves a row to another page, and makes or changes its stub.
    fn move_to(
        &self,
        by: &mut By<'_>,
        update: &Update<'_>,
        from: Place,
        to: &Destination,
        moved: &[u8],
    ) -> Result<bool, AccessError> {
        let mut ids: SmallVec<[PageId; 4]> = SmallVec::from_slice(&[update.rid.page]);
        if let Place::Away(at) = from {
            ids.push(at.page);
        }
        let mut reserved: Option<Reservation> = None;
        match to {
            Destination::Page(id) if ids.contains(id) => return Ok(false),
            Destination::Page(id) => ids.push(*id),
            Destination::New => reserved = Some(self.reserve_page(Some(update.rid.page))?),
        }
        let mut pages = self.latch(&ids)?;
        let old = match from {
            Place::Home => live_at_home(find(&pages, update.rid.page)?, update.rid)?,
            Place::Away(at) => self.still_away(&pages, update.rid, at)?,
        };
        let Some(old) = old else { return Ok(false) };
        let undo = self.undo_part(update, from.of(update.rid), old);
        let target = match to {
            Destination::Page(id) => {
                let page = find(&pages, *id)?;
                if !self.can_take(by, page, moved.len()) {
                    return Ok(false);
                }
                RowId {
                    page: *id,
                    slot: free_slots(page).next().unwrap_or(0),
                }
            }
            Destination::New => {
                let Some(reserved) = &mut reserved else {
                    return Ok(false);
                };
                RowId {
                    page: reserved.take()?,
                    slot: 0,
                }
            }
        };
        let mut edits = Edits::new(self);
        pages.drain(..).for_each(|page| edits.adopt(page));
        debug_assert_ne!(target.page, update.rid.page, "a row moves to another page");
        if reserved.is_some() {
            edits.adopt_fresh(self.store().create(target.page, LatchRank::Data)?);
        }
        edits.put(target, moved)?;
        edits.replace(update.rid, &forwarding_stub(target))?;
        if let Place::Away(at) = from
            && !mutated(Mutation::LeaveMovedRecord)
        {
            edits.free(at)?;
        }
        edits.commit(by, &undo, reserved.as_mut())?;
        Ok(true)
    }

    /// Whether a record of `new` bytes can take the place of one of `old` bytes, and leave free what others
    /// may need back. It may use what its own transaction may need back: undone, it gives that back first.
    fn has_room(&self, by: &By<'_>, page: &PageBuf, old: usize, new: usize) -> bool {
        let Some(needed) = new.checked_sub(old) else {
            return true;
        };
        let view = Page::new(page);
        let left = self.store().room().others(view.page_id(), by.txn());
        needed + left <= usize::from(view.free_count())
    }

    /// Whether a record of this length can come to the page. Undone, it leaves its slot entry behind. That
    /// entry must not come out of space that is reserved for any transaction, its own included.
    pub(super) fn can_take(&self, by: &By<'_>, page: &PageBuf, len: usize) -> bool {
        let view = Page::new(page);
        let (room, id) = (self.store().room(), view.page_id());
        let free = usize::from(view.free_count());
        len + SLOT_SIZE + room.others(id, by.txn()) <= free
            && SLOT_SIZE + room.others(id, None) <= free
    }

    /// Latches pages EX, each once, in the order of their ids.
    pub(super) fn latch(
        &self,
        ids: &[PageId],
    ) -> Result<SmallVec<[PageWrite<'_>; 4]>, AccessError> {
        let mut ids: SmallVec<[PageId; 4]> = SmallVec::from_slice(ids);
        ids.sort_unstable();
        ids.dedup();
        let swapped = ids.len() > 1 && mutated_at_times(Mutation::SwapHeapLatches);
        if swapped {
            ids.reverse();
        }
        debug_assert!(
            swapped || ids.is_sorted(),
            "pages of a heap are latched in ascending order"
        );
        let latched = ids.iter().map(|&id| {
            linger(swapped);
            self.fetch(id, Ex)
        });
        latched.collect()
    }

    /// The moved record, if the stub still leads to it and it is no ghost.
    pub(super) fn still_away<'a>(
        &self,
        pages: &'a [PageWrite<'_>],
        rid: RowId,
        at: RowId,
    ) -> Result<Option<&'a [u8]>, AccessError> {
        let home = find(pages, rid.page)?;
        let stub = Page::new(home)
            .record(rid.slot)
            .ok_or(AccessError::NotFound)?;
        if record_kind(stub) != RecordKind::ForwardingStub || target_of(rid.page, stub)? != at {
            return Ok(None);
        }
        live_away(find(pages, at.page)?, at, rid)
    }
}

/// One of some latched pages.
pub(super) fn find<'a>(pages: &'a [PageWrite<'_>], id: PageId) -> Result<&'a PageBuf, AccessError> {
    let found = pages.iter().find(|page| page.key().page == id);
    found
        .map(furrow_pool::PageGuard::page)
        .ok_or(damaged(id, "it is not latched"))
}

/// The live row at its address; `None` when it has moved.
pub(super) fn live_at_home(page: &PageBuf, rid: RowId) -> Result<Option<&[u8]>, AccessError> {
    let record = Page::new(page)
        .record(rid.slot)
        .ok_or(AccessError::NotFound)?;
    match record_kind(record) {
        RecordKind::Primary => Ok(Some(record)),
        RecordKind::ForwardingStub => Ok(None),
        _ => Err(AccessError::NotFound),
    }
}

/// The live record of a moved row; `None` when it is not there any more.
pub(super) fn live_away(
    page: &PageBuf,
    at: RowId,
    home: RowId,
) -> Result<Option<&[u8]>, AccessError> {
    let record = Page::new(page).record(at.slot);
    let Some(record) = record.filter(|record| record::home_of(record) == Some(home)) else {
        return Ok(None);
    };
    if record::is_moved_ghost(record) {
        return Err(AccessError::NotFound);
    }
    Ok(Some(record))
}
