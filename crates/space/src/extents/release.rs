//! Extents and pages of mixed extents that become free.

use crate::error::damaged;
use crate::file::{ExtentId, page_bit};
use crate::promise::Promise;
use crate::reserve::pfs_of;
use crate::unit::IamPage;
use crate::{Space, SpaceError};
use furrow_format::{
    Change, EXTENT_PAGES, Iam, PageId, PageNo, Pfs, PfsByte, extent_bit, gam_page_of,
    interval_start_of, pfs_index_of, sgam_page_of,
};
use furrow_io::mutation::{Mutation, mutated};
use furrow_observe::counters::Counter;
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};

/// Log space of a mini-transaction that frees `extents` extents: PFS bytes and bits, or the removal of an IAM
/// page.
pub(super) fn release_log_bytes(extents: usize) -> usize {
    512 + extents * 64
}

impl Space {
    /// Gives extents of one IAM page, all under one PFS page, back to the file: in one mini-transaction their
    /// PFS bytes are cleared, their IAM bits go off and their GAM bits on. No latch may be held.
    pub(crate) fn release_extents(
        &self,
        iam: IamPage,
        extents: &[ExtentId],
    ) -> Result<(), SpaceError> {
        let _promise = Promise::new(self.store(), release_log_bytes(extents.len()))?;
        self.release_promised(iam, extents)
    }

    /// The same for one extent, if the log has space for it now: `false` when not. For callers that must not
    /// wait, such as a rollback.
    pub(crate) fn try_release_extent(
        &self,
        iam: IamPage,
        extent: ExtentId,
    ) -> Result<bool, SpaceError> {
        match Promise::at_once(self.store(), release_log_bytes(1))? {
            Some(_promise) => self.release_promised(iam, &[extent]).map(|()| true),
            None => Ok(false),
        }
    }

    fn release_promised(&self, iam: IamPage, extents: &[ExtentId]) -> Result<(), SpaceError> {
        let Some(first) = extents.iter().min() else {
            return Ok(());
        };
        let file = self.file(first.file)?;
        let interval = file.interval_of(first.no.first_page());
        let interval = interval.ok_or(damaged(iam.page, "an extent beyond the end of its file"))?;
        debug_assert!(
            extents
                .iter()
                .all(|&extent| interval_of(extent) == interval_of(*first)),
            "extents of one interval"
        );
        let mut mini = Mini::new(self.store());
        let pfs_id = pfs_of(first.first_page());
        let pfs = mini.adopt(self.store().update(pfs_id, LatchRank::Pfs)?.upgrade());
        for &extent in extents {
            debug_assert_eq!(pfs_of(extent.first_page()), pfs_id);
            clear_pfs(&mut mini, pfs, extent)?;
        }
        let at = mini.adopt(self.store().write(iam.page, LatchRank::Iam)?);
        prove_owned(&mini, at, extents)?;
        push_bits(&mut mini, at, extents, mutated(Mutation::IamKept));
        let gam = file.page(gam_page_of(first.no.first_page()));
        let at = mini.adopt(self.store().update(gam, LatchRank::Gam)?.upgrade());
        push_bits(&mut mini, at, extents, true);
        let open = |extent: &&ExtentId| interval.is_open(u32::from(extent_bit(extent.no)));
        let open = extents.iter().filter(open).count() as u32;
        mini.commit(&Author::System)?;
        file.add_free(&interval, u32::from(extent_bit(first.no)), open);
        let freed = extents.len() as u64;
        self.store()
            .pool()
            .count(Counter::ExtentDeallocations, freed);
        Ok(())
    }

    /// Takes the last IAM page, which has no extents and names no pages, off its chain and frees it, and its
    /// mixed extent when that is empty then. `prev` is the page before it in the chain, none for the only
    /// one. No latch may be held.
    pub(crate) fn release_iam_page(&self, iam: PageId, prev: PageId) -> Result<(), SpaceError> {
        let _promise = Promise::new(self.store(), release_log_bytes(1))?;
        self.release_page(iam, |mini| {
            if !prev.is_none() {
                let at = mini.adopt(self.store().write(prev, LatchRank::Iam)?);
                mini.push(
                    at,
                    &Change::SetLinks {
                        prev: None,
                        next: Some(PageId::NONE),
                    },
                );
            }
            Ok(())
        })
    }

    /// Frees a page of a mixed extent, and the extent when it is empty then, together with what `unlink`
    /// plans in the IAM page that names it. The log space is reserved.
    pub(super) fn release_page<'p>(
        &'p self,
        page: PageId,
        unlink: impl FnOnce(&mut Mini<'p>) -> Result<(), SpaceError>,
    ) -> Result<(), SpaceError> {
        let extent = ExtentId::of(page);
        let file = self.file(page.file)?;
        let first = extent.no.first_page();
        let mut mini = Mini::new(self.store());
        let pfs_id = pfs_of(page);
        let pfs = mini.adopt(self.store().update(pfs_id, LatchRank::Pfs)?.upgrade());
        let taken = Pfs::new(mini.page(pfs)).ok_or(damaged(pfs_id, "no sound PFS page"))?;
        let taken = taken.taken_in_extent(pfs_index_of(first));
        if taken & page_bit(page) == 0 {
            return Err(damaged(page, "a page of a mixed extent is freed twice"));
        }
        let (index, value) = (pfs_index_of(page.page), PfsByte::FREE);
        mini.push(pfs, &Change::SetPfs { index, value });
        unlink(&mut mini)?;
        let was_full = taken == 0xFF;
        let gets_empty = taken.count_ones() == 1;
        debug_assert!(!(was_full && gets_empty), "one page of eight goes");
        let index = extent_bit(extent.no);
        let mut open = false;
        let interval = file.interval_of(first);
        if gets_empty {
            let gam = file.page(gam_page_of(first));
            let at = mini.adopt(self.store().update(gam, LatchRank::Gam)?.upgrade());
            mini.push(at, &Change::SetBit { index, value: true });
            open = interval.as_ref().is_some_and(|i| i.is_open(index.into()));
        }
        if (gets_empty || was_full) && !mutated(Mutation::SgamForgotten) {
            let sgam = file.page(sgam_page_of(first));
            let at = mini.adopt(self.store().update(sgam, LatchRank::Sgam)?.upgrade());
            mini.push(
                at,
                &Change::SetBit {
                    index,
                    value: was_full,
                },
            );
        }
        mini.commit(&Author::System)?;
        if let Some(interval) = interval {
            interval.add_mixed(i64::from(was_full) - i64::from(gets_empty));
            if open {
                file.add_free(&interval, u32::from(index), 1);
            }
        }
        Ok(())
    }
}

/// Clears the PFS bytes of the pages of an extent, fixed ones aside.
fn clear_pfs(mini: &mut Mini<'_>, pfs: usize, extent: ExtentId) -> Result<(), SpaceError> {
    let map = Pfs::new(mini.page(pfs));
    let map = map.ok_or(damaged(mini.page_id(pfs), "no sound PFS page"))?;
    let usable = extent.usable();
    let mut stale = 0_u8;
    for place in 0..EXTENT_PAGES {
        let byte = map.get(pfs_index_of(extent.page(place).page));
        stale |= u8::from(byte != PfsByte::FREE) << place;
    }
    for place in (0..EXTENT_PAGES).filter(|place| stale & usable & 1 << place != 0) {
        let index = pfs_index_of(extent.page(place).page);
        mini.push(
            pfs,
            &Change::SetPfs {
                index,
                value: PfsByte::FREE,
            },
        );
    }
    Ok(())
}

/// Fails unless the IAM page contains all these extents: an extent that is freed twice would be counted
/// twice.
fn prove_owned(mini: &Mini<'_>, at: usize, extents: &[ExtentId]) -> Result<(), SpaceError> {
    let id = mini.page_id(at);
    let map = Iam::new(mini.page(at)).ok_or(damaged(id, "no sound IAM page"))?;
    let is_owned = |extent: &ExtentId| map.extents().get(u32::from(extent_bit(extent.no)));
    match extents.iter().all(is_owned) {
        true => Ok(()),
        false => Err(damaged(id, "an extent to be freed is not the unit's")),
    }
}

/// Plans the bits of these extents, neighbours in one change.
fn push_bits(mini: &mut Mini<'_>, at: usize, extents: &[ExtentId], value: bool) {
    let mut bits: Vec<u16> = extents.iter().map(|extent| extent_bit(extent.no)).collect();
    bits.sort_unstable();
    debug_assert!(
        bits.is_sorted_by(|a, b| a < b),
        "an extent is given back once"
    );
    for run in bits.chunk_by(|a, b| a + 1 == *b) {
        if let Some(&first) = run.first() {
            let count = run.len() as u16;
            mini.push(
                at,
                &Change::SetBits {
                    first,
                    count,
                    value,
                },
            );
        }
    }
}

/// The interval that an extent lies in, as its IAM page names it.
pub(crate) fn interval_of(extent: ExtentId) -> PageId {
    let start: PageNo = interval_start_of(extent.no.first_page());
    PageId {
        file: extent.file,
        page: start,
    }
}
