//! Dropping allocation units, in batches.
//!
//! First its pages of mixed extents go back one by one. Then a unit's extents go back to their files a few
//! dozen at a time, each batch one mini-transaction. Then its IAM pages go back, the first one last, because
//! the catalog stores it. After a crash at any moment a unit with fewer extents is left, and the same call
//! continues.

use crate::file::ExtentId;
use crate::reserve::pfs_of;
use crate::unit::{IamPage, ScanPlace, Unit};
use crate::{Space, SpaceError};
use furrow_format::{
    AllocUnitId, FileId, Iam, PFS_INTERVAL, Page, PageId, PageNo, Pfs, PfsByte, pfs_index_of,
};
use furrow_pool::LatchRank;

/// Extents freed by one mini-transaction: its log record stays far below a log block.
const BATCH_EXTENTS: usize = 64;

impl Space {
    /// Gives back everything that the unit owns; afterwards the unit must not be used. Returns the number of
    /// extents freed. It is no error if the unit was dropped before. No other thread may use the unit, and
    /// the caller must hold no latch.
    pub fn drop_unit(&self, unit: &Unit) -> Result<u64, SpaceError> {
        self.drop_unit_while(unit, || true)
    }

    /// As [`Space::drop_unit`], but calls `go_on` before each batch and stops when it returns `false`; the
    /// next call continues.
    pub fn drop_unit_while(
        &self,
        unit: &Unit,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<u64, SpaceError> {
        furrow_pool::assert_no_latches();
        let mut freed = 0;
        if !self.is_there(unit)? {
            return Ok(freed);
        }
        let chain = self.chain_of(unit)?;
        if !self.drop_singles(&chain, &mut go_on)? {
            return Ok(freed);
        }
        for &iam in &chain {
            let mut place = ScanPlace { iam: 0, bit: 0 };
            while place.iam == 0 {
                let seen = self.see_extents(iam, &mut place)?;
                let extents: Vec<ExtentId> = seen.into_iter().map(|seen| seen.extent).collect();
                for batch in extents.chunks(BATCH_EXTENTS) {
                    if !go_on() {
                        return Ok(freed);
                    }
                    self.release_extents(iam, batch)?;
                    freed += batch.len() as u64;
                }
            }
        }
        let Some((first, later)) = chain.split_first() else {
            return Ok(freed);
        };
        // From the end, so that sequence numbers stay those of the places.
        for (at, iam) in later.iter().enumerate().rev() {
            if !go_on() {
                return Ok(freed);
            }
            let prev: &IamPage = chain.get(at).unwrap_or(first);
            self.release_iam_page(iam.page, prev.page)?;
            unit.chain.exclusive().pages.pop();
            debug_assert_eq!(
                unit.chain.exclusive().pages.len(),
                at + 1,
                "the chain ends with the IAM page before"
            );
        }
        if go_on() {
            self.release_iam_page(first.page, PageId::NONE)?;
        }
        Ok(freed)
    }

    /// The first IAM page of a unit that no row names, because a crash came after the page was allocated and
    /// before its number was stored. Reads all PFS pages, and each page that they mark as an IAM page.
    pub fn find_unit(&self, id: AllocUnitId) -> Result<Option<PageId>, SpaceError> {
        for usage in self.usage()? {
            let starts = (0..usage.size_pages).step_by(PFS_INTERVAL as usize);
            for start in starts.map(PageNo) {
                let pages = PFS_INTERVAL.min(usage.size_pages - start.0);
                for page in self.iam_pages_under(usage.file, start, pages)? {
                    if self.begins_unit(page, id)? {
                        return Ok(Some(page));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The pages that one PFS page marks as IAM pages.
    fn iam_pages_under(
        &self,
        file: FileId,
        start: PageNo,
        pages: u32,
    ) -> Result<Vec<PageId>, SpaceError> {
        let id = |page| PageId { file, page };
        let pfs = self.store().read(pfs_of(id(start)), LatchRank::Pfs)?;
        let Some(map) = Pfs::new(&pfs) else {
            return Ok(Vec::new());
        };
        let all = (start.0..start.0 + pages).map(PageNo);
        let iam = all.filter(|&page| map.get(pfs_index_of(page)).has(PfsByte::IAM));
        Ok(iam.map(id).collect())
    }

    /// Whether the unit's first IAM page is still there and its own.
    fn is_there(&self, unit: &Unit) -> Result<bool, SpaceError> {
        let first = unit.first_iam();
        {
            let pfs = self.store().read(pfs_of(first), LatchRank::Pfs)?;
            let byte =
                Pfs::new(&pfs).map_or(PfsByte::FREE, |map| map.get(pfs_index_of(first.page)));
            if !byte.has(PfsByte::ALLOCATED | PfsByte::IAM) {
                return Ok(false);
            }
        }
        self.begins_unit(first, unit.id())
    }

    fn begins_unit(&self, iam: PageId, id: AllocUnitId) -> Result<bool, SpaceError> {
        let page = self.store().read(iam, LatchRank::Iam)?;
        let sequence = Iam::new(&page).map(Iam::sequence);
        Ok(Page::new(&page).unit() == id && sequence == Some(0))
    }
}
