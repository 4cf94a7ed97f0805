//! Undoing the replacement of a row: the old record goes back to the page that it was on.
//!
//! # Why there is space
//! An operation of a transaction changes the free bytes of a page in one of four ways, and its undoing does
//! the exact opposite on the same page:
//!
//! | operation | undone | needs of the page |
//! |---|---|---|
//! | a record gets shorter | it gets longer | nothing; the difference is reserved from now on |
//! | a record gets longer | it gets shorter | that what is reserved for others stays free |
//! | a record leaves | it comes back | nothing; its bytes and a slot entry are reserved |
//! | a record comes | it leaves, but for its slot | the same, and a slot besides all that is reserved |
//!
//! Take a page and any set of operations on it that come last in their transactions. The free bytes, and what
//! undoing these takes off the page, are at least what undoing them puts on it. Each line of the table keeps
//! this true. So do each undoing, the end of a transaction (there are fewer such sets then) and the removal
//! of ghosts. Nothing else changes a row that its transaction has locked, and a transaction undoes its last
//! operation first. So the place that a row left has space for it, in whatever order transactions roll back.
//! This holds after a restart too, when the reservations are lost: only rollbacks run then.

use super::edit::Edits;
use super::insert::free_slots;
use super::update::{Update, find, live_at_home};
use super::{Heap, Place, damaged, record};
use crate::{AccessError, By};
use furrow_format::{Page, PageBuf, PageId, RowId, SLOT_SIZE, forwarding_stub};
use smallvec::SmallVec;

/// How an attempt to put a record back ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// The row is not where it was looked for.
    Moved,
    NoRoom,
}

impl Heap {
    /// Puts back the record that the row with this address had, where it was: the undoing of
    /// [`Heap::update`].
    pub(super) fn restore(
        &self,
        by: &mut By<'_>,
        rid: RowId,
        was: Option<RowId>,
        old: &[u8],
    ) -> Result<(), AccessError> {
        let Some(was) = was else {
            return self.put_anywhere(by, rid, old);
        };
        loop {
            let place = self.locate(rid)?;
            match self.put_back(by, rid, place, was, old)? {
                Outcome::Done => return Ok(()),
                Outcome::Moved => {}
                Outcome::NoRoom => break,
            }
        }
        // The proof above rules this out. Another place for the row is better than a lost row.
        tracing::error!(
            ?rid,
            ?was,
            "a row that is put back finds no room where it was"
        );
        debug_assert!(false, "no room for {rid:?} on the page it was on, {was:?}");
        let unreadable = damaged(was.page, "a record of the log cannot be read");
        let row = record::rebuilt(old, None).ok_or(unreadable)?;
        self.put_anywhere(by, rid, &row)
    }

    /// Puts a row back wherever there is space for it, as earlier builds always did.
    fn put_anywhere(&self, by: &mut By<'_>, rid: RowId, row: &[u8]) -> Result<(), AccessError> {
        let undoable = false;
        self.replace(by, &Update { rid, row, undoable })
    }

    fn put_back(
        &self,
        by: &mut By<'_>,
        rid: RowId,
        place: Place,
        was: RowId,
        old: &[u8],
    ) -> Result<Outcome, AccessError> {
        let at = place.of(rid);
        // The slot may be another one: it was taken while the row was elsewhere.
        let stays = at.page == was.page;
        let mut ids: SmallVec<[PageId; 4]> = SmallVec::from_slice(&[at.page]);
        if !stays {
            ids.extend([rid.page, was.page]);
        }
        let pages = self.latch(&ids)?;
        let current = match (place, stays) {
            (Place::Home, _) => live_at_home(find(&pages, rid.page)?, rid)?,
            (Place::Away(at), true) => super::update::live_away(find(&pages, at.page)?, at, rid)?,
            (Place::Away(at), false) => self.still_away(&pages, rid, at)?,
        };
        let Some(current) = current else {
            return Ok(Outcome::Moved);
        };
        let target = find(&pages, was.page)?;
        let view = Page::new(target);
        let (slot, needed) = if stays {
            (at.slot, old.len().saturating_sub(current.len()))
        } else if was == rid {
            let stub = view.record(rid.slot).map_or(0, <[u8]>::len);
            (rid.slot, old.len().saturating_sub(stub))
        } else {
            let slot = slot_for(target, was.slot);
            let entry = if slot < view.slot_count() {
                0
            } else {
                SLOT_SIZE
            };
            (slot, old.len() + entry)
        };
        if needed > usize::from(view.free_count()) {
            return Ok(Outcome::NoRoom);
        }
        let to = RowId { slot, ..was };
        let mut edits = Edits::new(self);
        pages.into_iter().for_each(|page| edits.adopt(page));
        if stays || was == rid {
            edits.replace(to, old)?;
        } else {
            edits.put(to, old)?;
            edits.replace(rid, &forwarding_stub(to))?;
        }
        if !stays && place != Place::Home {
            edits.free(at)?;
        }
        edits.commit(by, &[], None)?;
        Ok(Outcome::Done)
    }
}

/// A slot for a record that comes back: the one it had, if that is empty.
fn slot_for(page: &PageBuf, had: u16) -> u16 {
    let view = Page::new(page);
    if had < view.slot_count() && view.slot_offset(had) == Some(0) {
        return had;
    }
    free_slots(page).next().unwrap_or(had)
}
