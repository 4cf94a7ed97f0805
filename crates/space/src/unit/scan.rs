//! Finding the unallocated pages that a unit had when the database was opened.

use super::cache::{Cache, ScanPlace};
use super::chain::IamPage;
use super::state::Unit;
use crate::error::damaged;
use crate::file::{ExtentId, page_bit};
use crate::{Space, SpaceError};
use furrow_format::{
    Bitmap, ExtentNo, PFS_INTERVAL, PageId, PageNo, Pfs, extent_at_bit, extent_bit, pfs_index_of,
    pfs_page_of,
};
use furrow_pool::LatchRank;

/// Where the reading of a unit's maps begins.
const FIRST: ScanPlace = ScanPlace { iam: 0, bit: 0 };

/// An extent of a unit, and which of its pages are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeenExtent {
    pub(crate) extent: ExtentId,
    pub(crate) used: u8,
}

impl Space {
    /// The IAM pages of a unit.
    pub(crate) fn chain_of(&self, unit: &Unit) -> Result<Vec<IamPage>, SpaceError> {
        let mut chain = unit.chain.exclusive();
        chain.read(self, unit.id())?;
        Ok(chain.pages.clone())
    }

    /// Reads one PFS page's worth of the unit's maps into the cache, which the caller has locked.
    pub(crate) fn scan_step(&self, unit: &Unit, cache: &mut Cache) -> Result<(), SpaceError> {
        let Some(mut place) = cache.scan else {
            return Ok(());
        };
        let chain = self.chain_of(unit)?;
        let Some(&iam) = chain.get(place.iam) else {
            cache.scan = None;
            return Ok(());
        };
        // Before the first extents, the pages of mixed ones: only the first IAM page names some.
        let singles = match place == FIRST {
            true => self.singles_of(iam.page)?,
            false => Vec::new(),
        };
        let seen = self.see_extents(iam, &mut place)?;
        {
            // First the maps as they were, with the pages held at that moment left out; then what happened
            // since.
            let mut inbox = unit.inbox.lock();
            for (page, byte) in singles {
                let settled =
                    !inbox.moving.contains(&page) && !cache.leaving_singles.contains(&page);
                if settled && !byte.is_allocated() {
                    cache.add_free(ExtentId::of(page), page_bit(page));
                }
            }
            for SeenExtent { extent, used } in seen {
                if inbox.arriving.contains(&extent) || cache.leaving.contains(&extent) {
                    continue;
                }
                let going = inbox
                    .moving
                    .iter()
                    .filter(|&&page| ExtentId::of(page) == extent);
                let going = going.fold(0, |mask, &page| mask | page_bit(page));
                cache.add_free(extent, extent.usable() & !used & !going);
            }
            cache.read(&mut inbox);
        }
        let is_last = place.iam >= chain.len();
        debug_assert!(
            place.iam <= chain.len(),
            "a step goes to the next IAM page at most"
        );
        cache.scan = (!is_last).then_some(place);
        Ok(())
    }

    /// Extents that an IAM page names, from `place` on that lie under one PFS page. Moves `place` behind
    /// them.
    pub(crate) fn see_extents(
        &self,
        iam: IamPage,
        place: &mut ScanPlace,
    ) -> Result<Vec<SeenExtent>, SpaceError> {
        let file = iam.interval.file;
        let size_pages = self.file(file)?.size_pages();
        let end_bit = furrow_format::interval_extents(iam.interval.page, size_pages);
        let owned: Vec<ExtentNo> = {
            let guard = self.store().read(iam.page, LatchRank::Iam)?;
            let map = Bitmap::new(&guard).ok_or(damaged(iam.page, "no sound IAM page"))?;
            let Some(first) = map.first_set(place.bit, end_bit) else {
                *place = ScanPlace {
                    iam: place.iam + 1,
                    bit: 0,
                };
                return Ok(Vec::new());
            };
            let first = extent_at_bit(iam.interval.page, first);
            let pfs_end = first.first_page().0 / PFS_INTERVAL * PFS_INTERVAL + PFS_INTERVAL;
            let end = extent_bit_end(iam.interval.page, pfs_end).min(end_bit);
            let from = u32::from(extent_bit(first));
            place.bit = end;
            let mut next = from;
            std::iter::from_fn(|| {
                let bit = map.first_set(next, end)?;
                next = bit + 1;
                Some(extent_at_bit(iam.interval.page, bit))
            })
            .collect()
        };
        if place.bit >= end_bit {
            *place = ScanPlace {
                iam: place.iam + 1,
                bit: 0,
            };
        }
        let Some(first) = owned.first() else {
            return Ok(Vec::new());
        };
        let pfs_id = PageId {
            file,
            page: pfs_page_of(first.first_page()),
        };
        let guard = self.store().read(pfs_id, LatchRank::Pfs)?;
        let pfs = Pfs::new(&guard).ok_or(damaged(pfs_id, "no sound PFS page"))?;
        Ok(owned
            .into_iter()
            .map(|no| SeenExtent {
                extent: ExtentId { file, no },
                used: pfs.allocated_in_extent(pfs_index_of(no.first_page())),
            })
            .collect())
    }
}

/// The bit of the extent at `page`, counted from the start of the interval, also beyond its end.
fn extent_bit_end(interval: PageNo, page: u32) -> u32 {
    page.saturating_sub(interval.0) / furrow_format::EXTENT_PAGES
}
