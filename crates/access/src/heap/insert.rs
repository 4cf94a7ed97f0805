//! Finding space for a row, and inserting it.

use super::edit::Edits;
use super::{HINTS, Heap};
use crate::undo::UndoOp;
use crate::{AccessError, By};
use furrow_format::{
    FORWARDING_STUB_SIZE, Fullness, MAX_ROW_SIZE, Page, PageBuf, PageId, RowError, RowId, SLOT_SIZE,
};
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_observe::counters::Counter;
use furrow_pool::{Ex, LatchRank, PageWrite};
use furrow_space::{Reservation, class_with_room};

/// Slots of a page that are offered to the lock before another page is tried.
const MOST_REFUSALS: usize = 4;

impl Heap {
    /// Inserts a row and returns its address. `try_lock` is called with each possible address, under the
    /// page's latch: it takes the row's lock if that is free, never waits, and returns whether it has the
    /// lock.
    pub fn insert(
        &self,
        by: &mut By<'_>,
        row: &[u8],
        try_lock: &mut dyn FnMut(RowId) -> bool,
    ) -> Result<RowId, AccessError> {
        let who = match by {
            By::Txn(txn) => txn.id().0,
            By::Undo { txn, .. } => txn.id.0,
            By::System => 0,
        };
        self.insert_as(who, by, row, try_lock)
    }

    /// The same for a session with this number: its rows go to the page that it used last, so that sessions
    /// that insert side by side do not meet on one.
    pub fn insert_as(
        &self,
        who: u64,
        by: &mut By<'_>,
        row: &[u8],
        try_lock: &mut dyn FnMut(RowId) -> bool,
    ) -> Result<RowId, AccessError> {
        check_size(row)?;
        by.prepare(self.store(), row.len() + 64, 32)?;
        let hint = self.hint(who);
        if let Some(page) = self.hinted(hint)?
            && let Some(rid) = self.insert_here(by, page, row, try_lock)?
        {
            return Ok(rid);
        }
        for id in self.candidates(row.len())? {
            if let Some(page) = self.try_candidate(id, row.len())?
                && let Some(rid) = self.insert_here(by, page, row, try_lock)?
            {
                hint.store(pack(id), Ordering::Relaxed);
                return Ok(rid);
            }
        }
        loop {
            let mut pages = self.reserve_page(unpack(hint.load(Ordering::Relaxed)))?;
            let id = pages.take()?;
            let rid = RowId { page: id, slot: 0 };
            if !try_lock(rid) {
                // Another session has a lock on this address, from an earlier use of the page.
                continue;
            }
            let mut edits = Edits::new(self);
            edits.adopt_fresh(self.store().create(id, LatchRank::Data)?);
            edits.put(rid, row)?;
            let undo = UndoOp::HeapInsert(rid).encode(self.rowset());
            edits.commit(by, &undo, Some(&mut pages))?;
            hint.store(pack(id), Ordering::Relaxed);
            return Ok(rid);
        }
    }

    fn hint(&self, who: u64) -> &AtomicU64 {
        &self.hints[who as usize % HINTS]
    }

    /// The page of a hint, if it is in memory and still this heap's.
    fn hinted(&self, hint: &AtomicU64) -> Result<Option<PageWrite<'_>>, AccessError> {
        let id = unpack(hint.load(Ordering::Relaxed));
        match id {
            Some(id) if self.store().pool().resident(self.store().key(id)) => {
                Ok(Some(self.fetch(id, Ex)?))
            }
            _ => Ok(None),
        }
    }

    /// Pages that have space for a record of this length, according to PFS and what memory has of it.
    pub(super) fn candidates(&self, len: usize) -> Result<Vec<PageId>, AccessError> {
        let Some(class) = class_with_room(len + SLOT_SIZE) else {
            return Ok(Vec::new());
        };
        let found = self.space().find_pages_with_room(self.unit(), class)?;
        Ok(found.into_iter().collect())
    }

    /// The page, if its latch is free and it has space for a record of this length. If the space is missing,
    /// the fullness that is stored for the page is corrected.
    fn try_candidate(&self, id: PageId, len: usize) -> Result<Option<PageWrite<'_>>, AccessError> {
        let store = self.store();
        store.pool().count(Counter::FreeSpacePageFetches, 1);
        let page = store.pool().try_fetch(store.key(id), Ex, LatchRank::Data)?;
        let Some(page) = page.filter(|page| self.is_mine(page)) else {
            return Ok(None);
        };
        if !Page::new(&page).fits(len) {
            let class = Fullness::of_free_bytes(Page::new(&page).free_count());
            self.space().note_room(self.unit(), id, class);
            return Ok(None);
        }
        Ok(Some(page))
    }

    /// A page for this heap, near another one of it. No latch may be held.
    pub(super) fn reserve_page(&self, near: Option<PageId>) -> Result<Reservation, AccessError> {
        Ok(self.space().reserve(self.unit(), 1, near)?)
    }

    /// Inserts on this page if there is space and an address whose lock is free.
    fn insert_here(
        &self,
        by: &mut By<'_>,
        page: PageWrite<'_>,
        row: &[u8],
        try_lock: &mut dyn FnMut(RowId) -> bool,
    ) -> Result<Option<RowId>, AccessError> {
        let id = page.key().page;
        if !self.can_take(by, &page, row.len()) {
            return Ok(None);
        }
        let addresses = free_slots(&page).map(|slot| RowId { page: id, slot });
        let Some(rid) = addresses.take(MOST_REFUSALS).find(|&rid| try_lock(rid)) else {
            return Ok(None);
        };
        debug_assert!(
            Page::new(&page).record(rid.slot).is_none(),
            "a row is put where none is"
        );
        let undo = UndoOp::HeapInsert(rid).encode(self.rowset());
        let mut edits = Edits::new(self);
        edits.adopt(page);
        edits.put(rid, row)?;
        edits.commit(by, &undo, None)?;
        Ok(Some(rid))
    }
}

/// Slots that a record may go to: empty ones, then the one behind the last.
pub(super) fn free_slots(page: &PageBuf) -> impl Iterator<Item = u16> + '_ {
    let view = Page::new(page);
    let count = view.slot_count();
    let empty = (0..count).filter(move |&slot| view.slot_offset(slot) == Some(0));
    empty.chain(std::iter::once(count))
}

pub(super) fn check_size(row: &[u8]) -> Result<(), AccessError> {
    let len = row.len();
    // Shorter ones could not give way to a stub.
    if !(FORWARDING_STUB_SIZE..=MAX_ROW_SIZE).contains(&len) {
        return Err(RowError::RowTooLarge { len }.into());
    }
    Ok(())
}

fn pack(page: PageId) -> u64 {
    let word = u64::from(page.file.0) << 32 | u64::from(page.page.0);
    debug_assert_eq!(unpack(word), Some(page), "0 stands for no page");
    word
}

fn unpack(word: u64) -> Option<PageId> {
    (word != 0).then(|| PageId::new((word >> 32) as u16, word as u32))
}
