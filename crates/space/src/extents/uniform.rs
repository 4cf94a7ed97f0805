//! Extents for one allocation unit.

use crate::error::damaged;
use crate::file::{Claim, ExtentId, FileSpace};
use crate::promise::Promise;
use crate::unit::{Chain, Unit};
use crate::{Space, SpaceError};
use furrow_format::{
    AllocUnitId, Bitmap, Change, GAM_INTERVAL_EXTENTS, PageId, extent_at_bit, gam_page_of,
};
use furrow_io::mutation::{Mutation, mutated};
use furrow_observe::counters::Counter;
use furrow_pool::{LatchRank, PageWrite};
use furrow_txn::{Author, Mini};
use std::sync::Arc;

/// Log space of the allocation of an extent.
const EXTENT_LOG_BYTES: usize = 512;

impl Space {
    /// Creates a unit: its first IAM page and its first extent, in the file whose turn it is, or its first
    /// page where these come from mixed extents. No latch may be held.
    ///
    /// Both are in the log for good. A caller that creates a unit within a transaction ensures that undoing
    /// the transaction drops it.
    pub fn create_unit(&self, id: AllocUnitId, filegroup: u16) -> Result<Arc<Unit>, SpaceError> {
        self.new_unit(id, filegroup, self.has_mixed_pages())
    }

    /// As [`Space::create_unit`], for a unit that will have many pages at once: it begins with an extent
    /// whatever the others begin with.
    pub fn create_large_unit(
        &self,
        id: AllocUnitId,
        filegroup: u16,
    ) -> Result<Arc<Unit>, SpaceError> {
        self.new_unit(id, filegroup, false)
    }

    fn new_unit(
        &self,
        id: AllocUnitId,
        filegroup: u16,
        small: bool,
    ) -> Result<Arc<Unit>, SpaceError> {
        let group = self.filegroup(filegroup)?;
        loop {
            let Some(file) = group.fill.pick() else {
                self.make_room(&group, id)?;
                continue;
            };
            let claim = Claim::place(&file);
            let mut chain = Chain::default();
            let interval = file.page(claim.interval.start);
            if self
                .new_iam_page(id, &group, &file, interval, &mut chain)?
                .is_none()
            {
                drop(claim);
                self.force_room(&group, id)?;
                continue;
            }
            debug_assert_eq!(chain.pages.len(), 1, "a unit begins with one IAM page");
            let unit = Arc::new(Unit::fresh(id, group, chain));
            let placed = match small {
                true => {
                    drop(claim);
                    self.allocate_for(&unit, 1)
                }
                false => self.take_extent(&unit, claim, unit.first_iam()),
            };
            if let Err(error) = placed {
                // Best effort: what cannot be freed now is an empty IAM page that nothing refers to.
                let _ = self.drop_unit(&unit);
                return Err(error);
            }
            return Ok(unit);
        }
    }

    /// The unit whose IAM chain begins at `first_iam`. Its maps are not read yet.
    pub fn open_unit(
        &self,
        id: AllocUnitId,
        filegroup: u16,
        first_iam: PageId,
    ) -> Result<Arc<Unit>, SpaceError> {
        Ok(Arc::new(Unit::existing(
            id,
            self.filegroup(filegroup)?,
            first_iam,
        )))
    }

    /// Sets extents aside for a unit, by proportional fill, without using pages of them. No latch may be
    /// held.
    pub fn preallocate(&self, unit: &Unit, extents: u32) -> Result<(), SpaceError> {
        (0..extents).try_for_each(|_| self.allocate_extent(unit))
    }

    /// Gives the unit one more extent, growing files if need be. No latch may be held.
    pub(crate) fn allocate_extent(&self, unit: &Unit) -> Result<(), SpaceError> {
        let group = &unit.filegroup;
        loop {
            let Some(file) = group.fill.pick() else {
                self.make_room(group, unit.id())?;
                continue;
            };
            let claim = Claim::place(&file);
            match self.iam_for(unit, &file, &claim)? {
                Some(iam) => return self.take_extent(unit, claim, iam),
                None => {
                    drop(claim);
                    self.force_room(group, unit.id())?;
                }
            }
        }
    }

    /// The unit's IAM page for an interval, created if need be; `None` when there is no page for one.
    fn iam_for(
        &self,
        unit: &Unit,
        file: &FileSpace,
        claim: &Claim<'_>,
    ) -> Result<Option<PageId>, SpaceError> {
        let interval = file.page(claim.interval.start);
        let mut chain = unit.chain.exclusive();
        chain.read(self, unit.id())?;
        match chain.of_interval(interval) {
            Some(iam) => Ok(Some(iam)),
            None => self.new_iam_page(unit.id(), &unit.filegroup, file, interval, &mut chain),
        }
    }

    /// Marks a free extent of the claimed interval as the unit's.
    fn take_extent(&self, unit: &Unit, claim: Claim<'_>, iam: PageId) -> Result<(), SpaceError> {
        let _promise = Promise::new(self.store(), EXTENT_LOG_BYTES)?;
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(self.store().write(iam, LatchRank::Iam)?);
        let (gam, bit) = self.free_extent(&claim)?;
        debug_assert!(
            bit < GAM_INTERVAL_EXTENTS,
            "an extent of the claimed interval"
        );
        let extent = ExtentId {
            file: claim.file.id,
            no: extent_at_bit(claim.interval.start, bit),
        };
        mini.push(
            at,
            &Change::SetBit {
                index: bit as u16,
                value: !mutated(Mutation::IamForgotten),
            },
        );
        let at = mini.adopt(gam);
        mini.push(
            at,
            &Change::SetBit {
                index: bit as u16,
                value: mutated(Mutation::GamKept),
            },
        );
        unit.inbox.lock().arriving.push(extent);
        let committed = mini.commit(&Author::System);
        unit.inbox.lock().arrived(extent, committed.is_ok());
        unit.note_change();
        committed?;
        claim.used(bit);
        self.store().pool().count(Counter::ExtentsAllocated, 1);
        Ok(())
    }

    /// A free extent of the claimed interval, as a bit of its GAM page, which is latched EX.
    pub(super) fn free_extent(
        &self,
        claim: &Claim<'_>,
    ) -> Result<(PageWrite<'_>, u32), SpaceError> {
        let id = claim.file.page(gam_page_of(claim.interval.start));
        let guard = self.store().update(id, LatchRank::Gam)?;
        let map = Bitmap::new(&guard).ok_or(damaged(id, "no sound GAM page"))?;
        let (hint, end) = claim.interval.search(claim.file);
        let bit = map.first_set_from_hint(hint, end);
        let bit = bit.ok_or(damaged(id, "fewer free extents than were counted"))?;
        debug_assert!(bit < end && map.get(bit), "an extent that is free");
        Ok((guard.upgrade(), bit))
    }
}
