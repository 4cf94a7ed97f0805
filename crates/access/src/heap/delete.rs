//! Deleting rows: first as ghosts, later for good.

use super::edit::Edits;
use super::update::find;
use super::{Heap, Place, damaged, first, record, record_kind, target_of};
use crate::tree::Purge;
use crate::undo::UndoOp;
use crate::{AccessError, By};
use furrow_format::{Page, PageBuf, PageId, RecordKind, RowId, Status};
use furrow_pool::{Ex, Sh};
use smallvec::SmallVec;

/// Which form of a row may be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    Any,
    Ghosts,
}

impl Heap {
    /// Marks the row with this address as a ghost. The caller holds X on it.
    pub fn delete(&self, by: &mut By<'_>, rid: RowId) -> Result<(), AccessError> {
        let undo = UndoOp::HeapDelete(rid).encode(self.rowset());
        self.mark(by, rid, &undo, true)
    }

    /// Brings a ghost back: the undoing of [`Heap::delete`].
    pub(super) fn undelete(&self, by: &mut By<'_>, rid: RowId) -> Result<(), AccessError> {
        self.mark(by, rid, &[], false)
    }

    fn mark(
        &self,
        by: &mut By<'_>,
        rid: RowId,
        undo: &[u8],
        ghost: bool,
    ) -> Result<(), AccessError> {
        by.prepare(self.store(), 64, undo.len())?;
        loop {
            let place = self.locate(rid)?;
            let at = place.of(rid);
            let page = self.fetch(at.page, Ex)?;
            let Some(record) = Page::new(&page).record(at.slot) else {
                continue;
            };
            let there = match place {
                Place::Home => record_kind(record) != RecordKind::ForwardingStub,
                Place::Away(_) => record::home_of(record) == Some(rid),
            };
            if !there {
                continue;
            }
            if Status(first(record)).is_ghost() == ghost {
                return Err(AccessError::NotFound);
            }
            let status = match ghost {
                true => record::status_of_ghost(record),
                false => record::status_of_life(record),
            };
            let status = status.ok_or(damaged(at.page, "a record cannot be read"))?;
            let mut edits = Edits::new(self);
            edits.adopt(page);
            edits.set_status(at, status, if ghost { 1 } else { -1 })?;
            return edits.commit(by, undo, None);
        }
    }

    /// Takes the row out, wherever it is: the undoing of an insert.
    pub(super) fn erase(&self, by: &mut By<'_>, rid: RowId) -> Result<(), AccessError> {
        loop {
            let place = self.locate(rid)?;
            if self.take_out(by, rid, place, Only::Any)? {
                return Ok(());
            }
        }
    }

    /// Frees the row's record, and its stub if it has one, unless it is somewhere else by now.
    fn take_out(
        &self,
        by: &mut By<'_>,
        rid: RowId,
        place: Place,
        only: Only,
    ) -> Result<bool, AccessError> {
        let at = place.of(rid);
        let pages = self.latch(&[rid.page, at.page])?;
        let home = Page::new(find(&pages, rid.page)?).record(rid.slot);
        let home = home.ok_or(AccessError::NotFound)?;
        let leads_to = match record_kind(home) {
            RecordKind::ForwardingStub => Place::Away(target_of(rid.page, home)?),
            _ => Place::Home,
        };
        if leads_to != place {
            return Ok(false);
        }
        let record = Page::new(find(&pages, at.page)?).record(at.slot);
        let record = record.ok_or(damaged(at.page, "a forwarding stub leads nowhere"))?;
        let ghost = Status(first(record)).is_ghost();
        if only == Only::Ghosts && !ghost {
            return Ok(false);
        }
        let mut emptied: SmallVec<[PageId; 2]> = SmallVec::new();
        for page in [rid.page, at.page] {
            let mut records = Page::new(find(&pages, page)?).records();
            let goes = |slot| [rid, at].contains(&RowId { page, slot });
            if !emptied.contains(&page) && records.all(|(slot, _)| goes(slot)) {
                emptied.push(page);
            }
        }
        let mut edits = Edits::new(self);
        pages.into_iter().for_each(|page| edits.adopt(page));
        edits.free(rid)?;
        if at != rid {
            debug_assert!(place != Place::Home, "a row at home has one record");
            edits.free(at)?;
        }
        if ghost {
            edits.count_ghosts(at.page, -1)?;
        }
        // With its slots a page is not empty for PFS, and a row of half a page or more would never go there.
        for page in emptied {
            edits.clear(page)?;
        }
        edits.commit(by, &[], None)?;
        Ok(true)
    }

    /// Removes the ghosts of the page where the row with this address lies for which `dead` returns `true`:
    /// no transaction can restore a ghost with this address. `dead` must not block.
    pub fn purge_ghost(
        &self,
        rid: RowId,
        dead: &dyn Fn(RowId) -> bool,
    ) -> Result<Purge, AccessError> {
        let page = match self.locate(rid) {
            Ok(Place::Home) => rid.page,
            Ok(Place::Away(at)) => at.page,
            Err(AccessError::NotFound) => {
                return Ok(Purge {
                    gone: 0,
                    done: true,
                });
            }
            Err(e) => return Err(e),
        };
        let gone = self.purge_ghosts(page, dead)?;
        // The ghost may have been locked when `dead` was called.
        let left = self.look(rid, &mut |_, ghost| ghost)?;
        Ok(Purge {
            gone,
            done: left != Some(true),
        })
    }

    /// The addresses of the ghosts on some pages, from the `from`th in allocation order on, and whether there
    /// are pages behind them.
    pub fn ghosts_on(&self, from: usize, pages: usize) -> Result<(Vec<RowId>, bool), AccessError> {
        let mut ids = self.space().pages(self.unit())?.skip(from);
        let mut found = Vec::new();
        for id in ids.by_ref().take(pages) {
            let id = id?;
            found.extend(self.moved_ghosts(id)?.into_iter().map(|(_, home)| home));
            found.extend(dead_ghosts(&*self.fetch(id, Sh)?, id, &|_| true));
        }
        Ok((found, ids.next().is_some()))
    }

    /// Removes the ghosts of a page for which `dead` returns `true`: no transaction can restore a ghost with
    /// this address. Returns how many were removed. `dead` is called under the page's latch: it must not
    /// block.
    pub fn purge_ghosts(
        &self,
        page: PageId,
        dead: &dyn Fn(RowId) -> bool,
    ) -> Result<usize, AccessError> {
        By::System.prepare(self.store(), 8192, 0)?;
        let moved = self.moved_ghosts(page)?;
        let mut gone = 0;
        for (at, home) in moved {
            if dead(home)
                && self
                    .locate(home)
                    .is_ok_and(|place| place == Place::Away(at))
            {
                gone += usize::from(self.take_out(
                    &mut By::System,
                    home,
                    Place::Away(at),
                    Only::Ghosts,
                )?);
            }
        }
        Ok(gone + self.purge_at_home(page, dead)?)
    }

    /// The ghosts of moved rows on a page, with their addresses.
    fn moved_ghosts(&self, id: PageId) -> Result<Vec<(RowId, RowId)>, AccessError> {
        let page = self.fetch(id, Sh)?;
        let view = Page::new(&page);
        if view.ghost_count() == 0 {
            return Ok(Vec::new());
        }
        let ghosts = view
            .records()
            .filter(|(_, record)| record::is_moved_ghost(record));
        let pairs = ghosts.filter_map(|(slot, record)| {
            Some((RowId { page: id, slot }, record::home_of(record)?))
        });
        Ok(pairs.collect())
    }

    fn purge_at_home(
        &self,
        id: PageId,
        dead: &dyn Fn(RowId) -> bool,
    ) -> Result<usize, AccessError> {
        let page = self.fetch(id, Ex)?;
        let gone = dead_ghosts(&page, id, dead);
        debug_assert!(gone.iter().all(|rid| rid.page == id), "ghosts of the page");
        if gone.is_empty() {
            return Ok(0);
        }
        let all = Page::new(&page).records().count() == gone.len();
        let mut edits = Edits::new(self);
        edits.adopt(page);
        if all {
            edits.clear(id)?;
        } else {
            for &rid in &gone {
                edits.free(rid)?;
            }
            edits.count_ghosts(id, -(gone.len() as i16))?;
        }
        edits.commit(&mut By::System, &[], None)?;
        Ok(gone.len())
    }
}

/// Addresses of ghosts that are not moved rows and that no transaction can restore.
fn dead_ghosts(page: &PageBuf, id: PageId, dead: &dyn Fn(RowId) -> bool) -> Vec<RowId> {
    let view = Page::new(page);
    if view.ghost_count() == 0 {
        return Vec::new();
    }
    let ghosts = view
        .records()
        .filter(|(_, record)| Status(first(record)).is_ghost() && !record::is_moved_ghost(record));
    let addresses = ghosts.map(|(slot, _)| RowId { page: id, slot });
    addresses.filter(|&rid| dead(rid)).collect()
}
