//! The first pages of a unit, taken one by one from mixed extents: MIXED_PAGE_ALLOCATION ON.
//!
//! The first IAM page of a unit has eight slots for such pages. The mini-transaction that names a page in a
//! slot also sets the page aside in PFS. From then on the page belongs to the unit, as the pages of its
//! extents do, and a change of its PFS byte alone allocates it. So a crash leaves no page without an owner,
//! and an allocation does not depend on where its page lies.
//!
//! A unit that has its eight pages, or an extent, gets extents from then on. So does a unit that requests
//! eight pages at a time, because it will be large.

use super::mixed::Taken;
use super::release::release_log_bytes;
use crate::error::damaged;
use crate::file::{Claim, FileSpace};
use crate::promise::Promise;
use crate::unit::{IamPage, Unit};
use crate::{Space, SpaceError};
use furrow_format::{Bitmap, Iam, Page, PageId, Pfs, PfsByte, SINGLE_PAGE_SLOTS, pfs_index_of};
use furrow_io::sync::atomic::Ordering;
use furrow_pool::LatchRank;
use furrow_txn::Mini;
use std::sync::Arc;

impl Space {
    /// Sets whether the first pages of units come from mixed extents (MIXED_PAGE_ALLOCATION). Existing units
    /// keep their pages.
    pub fn set_mixed_pages(&self, on: bool) {
        self.mixed_pages.store(on, Ordering::Release);
    }

    /// Whether the first pages of units come from mixed extents.
    pub fn has_mixed_pages(&self) -> bool {
        self.mixed_pages.load(Ordering::Acquire)
    }

    /// Gives the unit a page, or an extent; the unit needs `pages` pages at once. Files grow if need be. No
    /// latch may be held.
    pub(crate) fn allocate_for(&self, unit: &Unit, pages: u32) -> Result<(), SpaceError> {
        let small = pages < u32::from(SINGLE_PAGE_SLOTS) && self.has_mixed_pages();
        if small && self.begins_small(unit)? && self.allocate_single(unit)? {
            return Ok(());
        }
        self.allocate_extent(unit)
    }

    /// Whether the unit has no extent yet, and a slot for a page. Once this is false, the maps are not read
    /// again.
    fn begins_small(&self, unit: &Unit) -> Result<bool, SpaceError> {
        if unit.grown.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let id = unit.first_iam();
        let guard = self.store().read(id, LatchRank::Iam)?;
        let iam = Iam::new(&guard).ok_or(damaged(id, "no sound IAM page"))?;
        let has_extents = iam.extents().first_set(0, Bitmap::BITS).is_some();
        let small = !has_extents && Page::new(&guard).next().is_none() && empty_slot(iam).is_some();
        if !small {
            unit.grown.store(true, Ordering::Relaxed);
        }
        Ok(small)
    }

    /// Gives the unit one page of a mixed extent; `false` when it has eight already.
    fn allocate_single(&self, unit: &Unit) -> Result<bool, SpaceError> {
        let group = &unit.filegroup;
        loop {
            let picked = group.fill.pick();
            if let Some(file) = &picked {
                // The unit needs a page, not an extent.
                drop(Claim::place(file));
                match self.single_in(unit, file)? {
                    Taken::Page(_) => return Ok(true),
                    Taken::Declined => return Ok(false),
                    Taken::NoRoom => {}
                }
            }
            // Where no file has an extent, one may have a page.
            for file in group.fill.files() {
                match self.single_in(unit, &file)? {
                    Taken::Page(_) => return Ok(true),
                    Taken::Declined => return Ok(false),
                    Taken::NoRoom => {}
                }
            }
            self.make_room(group, unit.id())?;
        }
    }

    fn single_in(&self, unit: &Unit, file: &Arc<FileSpace>) -> Result<Taken, SpaceError> {
        let mut chosen = None;
        let iam = unit.first_iam();
        let taken = self.page_in(file, |mini, page| {
            let at = mini.adopt(self.store().write(iam, LatchRank::Iam)?);
            let map = Iam::new(mini.page(at)).ok_or(damaged(iam, "no sound IAM page"))?;
            let Some(slot) = empty_slot(map) else {
                return Ok(None);
            };
            name_page(mini, at, slot, page)?;
            // Recorded before the maps change: a scan of the maps then leaves the page out.
            unit.inbox.lock().moving.push(page);
            chosen = Some(page);
            Ok(Some(PfsByte::SET_ASIDE))
        });
        debug_assert!(
            chosen.is_some() || !matches!(taken, Ok(Taken::Page(_))),
            "a page that is taken is named by the IAM page"
        );
        if let Some(page) = chosen {
            unit.inbox
                .lock()
                .page_came(page, matches!(taken, Ok(Taken::Page(_))));
            unit.note_change();
        }
        taken
    }

    /// The pages of mixed extents that an IAM page names, and their PFS bytes.
    pub(crate) fn singles_of(&self, iam: PageId) -> Result<Vec<(PageId, PfsByte)>, SpaceError> {
        let named: Vec<PageId> = {
            let guard = self.store().read(iam, LatchRank::Iam)?;
            let map = Iam::new(&guard).ok_or(damaged(iam, "no sound IAM page"))?;
            map.single_pages().filter(|page| !page.is_none()).collect()
        };
        let mut singles = Vec::with_capacity(named.len());
        for page in named {
            let id = crate::reserve::pfs_of(page);
            let guard = self.store().read(id, LatchRank::Pfs)?;
            let pfs = Pfs::new(&guard).ok_or(damaged(id, "no sound PFS page"))?;
            singles.push((page, pfs.get(pfs_index_of(page.page))));
        }
        Ok(singles)
    }

    /// Gives a page that an IAM page names back to its mixed extent. No latch may be held.
    pub(crate) fn release_single(&self, iam: PageId, page: PageId) -> Result<(), SpaceError> {
        let _promise = Promise::new(self.store(), release_log_bytes(1))?;
        self.forget_single(iam, page)
    }

    /// The same if the log has space for it now: `false` when not. For callers that must not wait, such as a
    /// rollback.
    pub(crate) fn try_release_single(&self, iam: PageId, page: PageId) -> Result<bool, SpaceError> {
        match Promise::at_once(self.store(), release_log_bytes(1))? {
            Some(_promise) => self.forget_single(iam, page).map(|()| true),
            None => Ok(false),
        }
    }

    fn forget_single(&self, iam: PageId, page: PageId) -> Result<(), SpaceError> {
        self.release_page(page, |mini| {
            let at = mini.adopt(self.store().write(iam, LatchRank::Iam)?);
            let map = Iam::new(mini.page(at)).ok_or(damaged(iam, "no sound IAM page"))?;
            let slot = (0..SINGLE_PAGE_SLOTS).find(|&slot| map.single_page(slot) == page);
            let slot = slot.ok_or(damaged(iam, "a page to be freed is not the unit's"))?;
            name_page(mini, at, slot, PageId::NONE)
        })
    }

    /// Gives back all pages of mixed extents that the unit has; `false` if `go_on` ends it before that. No
    /// other thread may use the unit.
    pub(crate) fn drop_singles(
        &self,
        chain: &[IamPage],
        go_on: &mut impl FnMut() -> bool,
    ) -> Result<bool, SpaceError> {
        let Some(first) = chain.first() else {
            return Ok(true);
        };
        for (page, _) in self.singles_of(first.page)? {
            if !go_on() {
                return Ok(false);
            }
            self.release_single(first.page, page)?;
        }
        Ok(true)
    }
}

fn empty_slot(iam: Iam<'_>) -> Option<u8> {
    (0..SINGLE_PAGE_SLOTS).find(|&slot| iam.single_page(slot).is_none())
}

/// Plans that a slot of an IAM page names this page.
fn name_page(mini: &mut Mini<'_>, at: usize, slot: u8, page: PageId) -> Result<(), SpaceError> {
    let bytes = page.to_bytes();
    debug_assert!(slot < SINGLE_PAGE_SLOTS, "an IAM page names eight pages");
    let change = Iam::set_single_page(mini.page(at), slot, &bytes);
    let change = change.ok_or(damaged(mini.page_id(at), "no such slot in an IAM page"))?;
    mini.push(at, &change);
    Ok(())
}
