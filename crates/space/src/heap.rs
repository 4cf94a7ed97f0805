//! Space for rows in heaps: fullness classes in PFS, and a cache of them in memory.
//!
//! PFS is authoritative, but searching it for every row would read one map page per 8,088 pages each time. So
//! a unit caches pages that gained space or were found to have some, and how far PFS has been searched for
//! each class. When the cache drops a page, the search for that page's class starts from the beginning again.

use crate::error::damaged;
use crate::reserve::{latch_maps, pfs_of};
use crate::unit::{CLASSES, Candidates, Room, START, ScanPlace, Unit};
use crate::{Space, SpaceError};
use furrow_format::{Change, EXTENT_PAGES, Fullness, PageId, Pfs, pfs_index_of};
use furrow_observe::counters::Counter;
use furrow_pool::LatchRank;
use furrow_txn::Mini;

/// Pages cached of one step of a search.
const MOST_OF_A_STEP: usize = 64;
/// PFS pages searched by one call.
const SEARCH_STEPS: usize = 4;

/// The fullest class in which a page surely takes `bytes` more, slot included; `None` when only a new page
/// does.
pub fn class_with_room(bytes: usize) -> Option<Fullness> {
    let fits = |class: &Fullness| usize::from(class.least_free_bytes()) >= bytes;
    CLASSES.into_iter().rev().find(fits)
}

impl Space {
    /// Plans, in the caller's group, that a page in use is as full as this; nothing if PFS already has that
    /// class. Latches the PFS page EX unless the group has it: no page of data may be latched after. Not for
    /// a page that the same group allocates: there the class belongs in the allocation.
    pub fn set_fullness(
        &self,
        unit: &Unit,
        mini: &mut Mini<'_>,
        page: PageId,
        class: Fullness,
    ) -> Result<(), SpaceError> {
        latch_maps(mini, std::iter::once(page))?;
        let pfs = pfs_of(page);
        let at = mini.position(pfs).ok_or(damaged(pfs, "not latched"))?;
        let index = pfs_index_of(page.page);
        let map = Pfs::new(mini.page(at)).ok_or(damaged(pfs, "no sound PFS page"))?;
        let before = map.get(index);
        if !before.is_allocated() {
            return Err(damaged(page, "a page that holds rows is not in use"));
        }
        if before.fullness() != class {
            mini.push(
                at,
                &Change::SetPfs {
                    index,
                    value: before.with_fullness(class),
                },
            );
        }
        self.note_room(unit, page, class);
        Ok(())
    }

    /// Caches that a page is about this full: after it was allocated, or when a candidate proved fuller than
    /// the cache had it.
    pub fn note_room(&self, unit: &Unit, page: PageId, class: Fullness) {
        unit.rooms.lock().note(page, class);
    }

    /// Pages of a heap that are at most this full as far as is known, the latest first; none when a new page
    /// is the better choice. Reads a few PFS pages at most. These are hints, which the caller checks. No
    /// latch may be held.
    pub fn find_pages_with_room(
        &self,
        unit: &Unit,
        most: Fullness,
    ) -> Result<Candidates, SpaceError> {
        furrow_pool::assert_no_latches();
        let Some(search) = CLASSES.iter().position(|&class| class == most) else {
            return Ok(Candidates::new());
        };
        for step in 0..SEARCH_STEPS {
            let place = {
                let rooms = unit.rooms.lock();
                let offered = rooms.offer(most);
                match rooms.searches.get(search).copied().flatten() {
                    Some(place) if offered.is_empty() => place,
                    _ => return Ok(offered),
                }
            };
            if step == 0 {
                self.store().pool().count(Counter::FreeSpaceScans, 1);
            }
            let (found, next) = self.search_step(unit, most, place)?;
            let mut rooms = unit.rooms.lock();
            if let Some(mine) = rooms
                .searches
                .get_mut(search)
                .filter(|mine| **mine == Some(place))
            {
                *mine = next;
            }
            found
                .into_iter()
                .for_each(|(page, class)| rooms.note(page, class));
        }
        Ok(unit.rooms.lock().offer(most))
    }

    /// Pages at most this full under one PFS page, and where to continue; at the same place when there were
    /// too many.
    fn search_step(
        &self,
        unit: &Unit,
        most: Fullness,
        from: ScanPlace,
    ) -> Result<(Vec<Room>, Option<ScanPlace>), SpaceError> {
        let chain = self.chain_of(unit)?;
        let Some(&iam) = chain.get(from.iam) else {
            return Ok((Vec::new(), None));
        };
        let mut place = from;
        let singles = match from == START {
            true => self.singles_of(iam.page)?,
            false => Vec::new(),
        };
        let mut found: Vec<Room> = singles
            .into_iter()
            .filter(|(_, byte)| byte.is_allocated() && byte.fullness() <= most)
            .map(|(page, byte)| (page, byte.fullness()))
            .collect();
        let seen = self.see_extents(iam, &mut place)?;
        let next = (place.iam < chain.len()).then_some(place);
        let Some(first) = seen.first() else {
            return Ok((found, next));
        };
        let pfs_id = pfs_of(first.extent.first_page());
        let guard = self.store().read(pfs_id, LatchRank::Pfs)?;
        let pfs = Pfs::new(&guard).ok_or(damaged(pfs_id, "no sound PFS page"))?;
        let pages = seen.iter().flat_map(|seen| {
            (0..EXTENT_PAGES)
                .map(|place| (seen.extent.usable() & 1 << place, seen.extent.page(place)))
        });
        let roomy = pages
            .filter(|&(usable, _)| usable != 0)
            .map(|(_, page)| (page, pfs.get(pfs_index_of(page.page))))
            .filter(|(_, byte)| byte.is_allocated() && byte.fullness() <= most)
            .map(|(page, byte)| (page, byte.fullness()));
        found.extend(roomy.take(MOST_OF_A_STEP + 1));
        if found.len() > MOST_OF_A_STEP {
            found.truncate(MOST_OF_A_STEP);
            return Ok((found, Some(from)));
        }
        Ok((found, next))
    }
}
