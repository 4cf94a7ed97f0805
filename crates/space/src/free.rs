//! Pages given back.

use crate::error::damaged;
use crate::extents::interval_of;
use crate::reserve::{latch_maps, pfs_of};
use crate::unit::{IamPage, Unit};
use crate::{Space, SpaceError};
use furrow_format::{Change, PageId, Pfs, PfsByte, pfs_index_of};
use furrow_io::mutation::{Mutation, mutated};
use furrow_txn::Mini;
use smallvec::SmallVec;
use std::sync::Arc;

/// Pages whose freeing a mini-transaction has planned. Pass it to [`Space::freed`] once that is in the log;
/// if it is dropped before, the pages count as never freed.
#[derive(Debug)]
#[must_use = "the pages can be had again only after Space::freed"]
pub struct FreedPages {
    unit: Arc<Unit>,
    /// Each with whether it lies in a mixed extent.
    pages: SmallVec<[(PageId, bool); 4]>,
}

impl Space {
    /// Plans, in the caller's group, that pages of the unit are in use no more. Latches their PFS pages EX,
    /// in ascending order, unless the group has them: no page of data may be latched after.
    pub fn free_pages(
        &self,
        unit: &Arc<Unit>,
        mini: &mut Mini<'_>,
        pages: &[PageId],
    ) -> Result<FreedPages, SpaceError> {
        // Recorded before the maps change: a scan of the maps then leaves these pages out.
        debug_assert!(
            pages
                .iter()
                .all(|page| !unit.inbox.lock().moving.contains(page)),
            "a page is freed once at a time"
        );
        unit.inbox.lock().moving.extend_from_slice(pages);
        let mut freed = FreedPages {
            unit: Arc::clone(unit),
            pages: pages.iter().map(|&page| (page, false)).collect(),
        };
        latch_maps(mini, pages.iter().copied())?;
        for (page, single) in &mut freed.pages {
            let page = *page;
            let pfs = pfs_of(page);
            let at = mini.position(pfs).ok_or(damaged(pfs, "not latched"))?;
            let index = pfs_index_of(page.page);
            let map = Pfs::new(mini.page(at)).ok_or(damaged(pfs, "no sound PFS page"))?;
            let before = map.get(index);
            if !before.is_allocated() {
                return Err(damaged(page, "a page to be freed is not in use"));
            }
            // A page of a mixed extent stays the unit's until it is given back.
            *single = before.has(PfsByte::MIXED);
            let value = PfsByte(before.0 & PfsByte::MIXED);
            if mutated(Mutation::PfsKept) {
                continue;
            }
            mini.push(at, &Change::SetPfs { index, value });
        }
        Ok(freed)
    }

    /// The mini-transaction that frees these pages is in the log: they can be had again, and extents that
    /// have no page in use any more go back to their file. No latch may be held.
    pub fn freed(&self, freed: FreedPages) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let unit = Arc::clone(&freed.unit);
        freed.settle(true);
        self.give_back(&unit)
    }

    /// Gives the unit's empty extents back to their files, and its freed pages of mixed extents. Those for
    /// which the log has no space now stay with the unit, to be used again.
    fn give_back(&self, unit: &Unit) -> Result<(), SpaceError> {
        loop {
            let freed = unit.open_cache().take_emptied_single();
            let Some(page) = freed else { break };
            let released = self.try_release_single(unit.first_iam(), page);
            unit.open_cache()
                .left_single(page, matches!(released, Ok(true)));
            unit.note_change();
            released?;
        }
        loop {
            let Some(extent) = unit.open_cache().take_emptied() else {
                return Ok(());
            };
            let interval = interval_of(extent);
            let released = self.chain_of(unit).and_then(|chain| {
                let iam = chain.iter().find(|iam| iam.interval == interval);
                let iam: IamPage = *iam.ok_or(damaged(interval, "no IAM page speaks of it"))?;
                self.try_release_extent(iam, extent)
            });
            unit.open_cache().left(extent, matches!(released, Ok(true)));
            unit.note_change();
            released?;
        }
    }
}

impl FreedPages {
    fn settle(mut self, is_free: bool) {
        let mut inbox = self.unit.inbox.lock();
        for (page, single) in self.pages.drain(..) {
            inbox.freed(page, single, is_free);
        }
        self.unit.note_change();
    }
}

impl Drop for FreedPages {
    fn drop(&mut self) {
        if !self.pages.is_empty() {
            let mut inbox = self.unit.inbox.lock();
            for (page, single) in self.pages.drain(..) {
                inbox.freed(page, single, false);
            }
        }
    }
}
