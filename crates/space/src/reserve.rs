//! Pages set aside for a caller before it takes its first latch.

use crate::error::damaged;
use crate::unit::{Cache, Event, Unit};
use crate::{Space, SpaceError};
use furrow_format::{AllocUnitId, Change, PageId, Pfs, PfsByte, pfs_index_of, pfs_page_of};
use furrow_io::mutation::{Mutation, linger, mutated, mutated_at_times};
use furrow_observe::counters::Counter;
use furrow_pool::LatchRank;
use furrow_txn::Mini;
use smallvec::SmallVec;
use std::sync::Arc;

/// PFS pages that a reservation looks at, at most, before it prefers a new extent.
const SCAN_STEPS: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The caller has not taken it.
    Held,
    /// The caller works on it.
    Taken,
    /// A mini-transaction of the caller allocates it.
    Planned,
}

/// Pages of a unit that no other caller gets. A page that is not allocated when the reservation is dropped
/// goes back.
///
/// 1. [`Reservation::take`] a page, and format it in a mini-transaction.
/// 2. In the same mini-transaction, after the last latch on a page of data, [`Reservation::allocate_taken`]
///    marks all pages taken as allocated; [`Reservation::allocate`] does it page by page.
/// 3. Commit the mini-transaction; then [`Reservation::done`]. On an error just drop the reservation.
#[derive(Debug)]
pub struct Reservation {
    unit: Arc<Unit>,
    pages: SmallVec<[(PageId, State); 8]>,
}

impl Space {
    /// Sets `pages` unallocated pages of the unit's extents aside, allocating extents and growing files if
    /// need be. Near `near`, if there are any: behind it in its extent, else where the last extents left off,
    /// so that an ascending load fills extents page after page. No latch may be held.
    pub fn reserve(
        &self,
        unit: &Arc<Unit>,
        pages: u32,
        near: Option<PageId>,
    ) -> Result<Reservation, SpaceError> {
        furrow_pool::assert_no_latches();
        loop {
            let mut cache = unit.open_cache();
            self.look_further(unit, &mut cache, pages, SCAN_STEPS)?;
            if cache.free_pages() >= pages {
                let mut taken = SmallVec::new();
                cache.take(pages as usize, near, &mut taken);
                debug_assert_eq!(taken.len(), pages as usize, "as many pages as were counted");
                let pages = taken.into_iter().map(|page| (page, State::Held)).collect();
                return Ok(Reservation {
                    unit: Arc::clone(unit),
                    pages,
                });
            }
            drop(cache);
            let full = match self.allocate_for(unit, pages) {
                Ok(()) => continue,
                Err(full @ SpaceError::FilegroupFull { .. }) => full,
                Err(other) => return Err(other),
            };
            // Before the error is returned, the rest of the unit's maps is read.
            let mut cache = unit.open_cache();
            self.look_further(unit, &mut cache, pages, usize::MAX)?;
            if cache.free_pages() < pages {
                return Err(full);
            }
        }
    }

    fn look_further(
        &self,
        unit: &Unit,
        cache: &mut Cache,
        pages: u32,
        steps: usize,
    ) -> Result<(), SpaceError> {
        for _ in 0..steps {
            if cache.free_pages() >= pages || cache.scan.is_none() {
                break;
            }
            self.scan_step(unit, cache)?;
        }
        Ok(())
    }
}

impl Reservation {
    /// The unit that owns the pages.
    pub fn unit(&self) -> AllocUnitId {
        self.unit.id()
    }

    /// Pages that can still be taken.
    pub fn left(&self) -> usize {
        self.pages
            .iter()
            .filter(|page| page.1 == State::Held)
            .count()
    }

    /// The next page, for the caller to format. An error when all have been taken: nothing is harmed.
    pub fn take(&mut self) -> Result<PageId, SpaceError> {
        let next = self.pages.iter_mut().find(|page| page.1 == State::Held);
        let (page, state) = next.ok_or(SpaceError::NothingReserved(self.unit.id()))?;
        *state = State::Taken;
        Ok(*page)
    }

    /// Plans the allocation of a page of this reservation, as `value`. Latches its PFS page EX unless the
    /// group has it: no page of a lower rank may be latched after. When pages of several PFS pages are
    /// reserved, all of these are latched, in order, so that groups with pages in both cannot wait in a
    /// circle: [`Reservation::allocate_taken`] latches only what it needs.
    pub fn allocate(
        &mut self,
        mini: &mut Mini<'_>,
        page: PageId,
        value: PfsByte,
    ) -> Result<(), SpaceError> {
        let mine = self
            .pages
            .iter()
            .any(|mine| mine.0 == page && mine.1 == State::Taken);
        if !mine {
            return Err(SpaceError::NothingReserved(self.unit.id()));
        }
        if mini.position(pfs_of(page)).is_none() {
            latch_maps(mini, self.pages.iter().map(|page| page.0))?;
        }
        self.plan(mini, page, value)
    }

    /// Plans the allocation of all pages taken so far, as `value`; to be called after the group's last latch
    /// of a page of data. Latches their PFS pages EX, in order.
    pub fn allocate_taken(
        &mut self,
        mini: &mut Mini<'_>,
        value: PfsByte,
    ) -> Result<(), SpaceError> {
        let taken: SmallVec<[PageId; 8]> = self
            .pages
            .iter()
            .filter(|page| page.1 == State::Taken)
            .map(|page| page.0)
            .collect();
        latch_maps(mini, taken.iter().copied())?;
        taken
            .into_iter()
            .try_for_each(|page| self.plan(mini, page, value))
    }

    fn plan(
        &mut self,
        mini: &mut Mini<'_>,
        page: PageId,
        value: PfsByte,
    ) -> Result<(), SpaceError> {
        let pfs = pfs_of(page);
        let at = mini.position(pfs).ok_or(damaged(pfs, "not latched"))?;
        let index = pfs_index_of(page.page);
        debug_assert!(
            self.pages.iter().any(|mine| mine.0 == page),
            "only pages of the reservation are allocated"
        );
        let before = Pfs::new(mini.page(at))
            .ok_or(damaged(pfs, "no sound PFS page"))?
            .get(index);
        if before.is_allocated() {
            return Err(damaged(page, "a page set aside for a new owner is in use"));
        }
        // A page of a mixed extent stays one.
        let value = PfsByte(value.0 | before.0 & PfsByte::MIXED);
        mini.push(
            at,
            &Change::SetPfs {
                index: index + u16::from(mutated(Mutation::PfsNeighbour)),
                value: value.with(PfsByte::ALLOCATED),
            },
        );
        mini.store().pool().count(Counter::PagesAllocated, 1);
        for mine in self.pages.iter_mut().filter(|mine| mine.0 == page) {
            mine.1 = State::Planned;
        }
        Ok(())
    }

    /// The mini-transaction that allocates pages of this reservation is in the log. The others stay reserved.
    pub fn done(&mut self) {
        let mut inbox = self.unit.inbox.lock();
        self.pages.retain(|&mut (page, state)| {
            if state == State::Planned {
                inbox.events.push(Event::Used(page));
            }
            state != State::Planned
        });
        self.unit.note_change();
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.pages.is_empty() {
            let mut inbox = self.unit.inbox.lock();
            inbox
                .events
                .extend(self.pages.iter().map(|page| Event::Returned(page.0)));
        }
    }
}

/// The PFS page that covers a page.
pub(crate) fn pfs_of(page: PageId) -> PageId {
    PageId {
        file: page.file,
        page: pfs_page_of(page.page),
    }
}

/// Latches the PFS pages of these pages EX, each once, in ascending order, unless the group has them.
pub(crate) fn latch_maps(
    mini: &mut Mini<'_>,
    pages: impl Iterator<Item = PageId>,
) -> Result<(), SpaceError> {
    let mut maps: SmallVec<[PageId; 8]> = pages.map(pfs_of).collect();
    maps.sort_unstable();
    maps.dedup();
    let swapped = maps.len() > 1 && mutated_at_times(Mutation::SwapMapLatches);
    if swapped {
        maps.reverse();
    }
    debug_assert!(
        swapped || maps.is_sorted(),
        "PFS pages are latched in ascending order"
    );
    for map in maps {
        if mini.position(map).is_none() {
            mini.adopt(mini.store().write(map, LatchRank::Pfs)?);
            linger(swapped);
        }
    }
    Ok(())
}
