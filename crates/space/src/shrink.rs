//! Files that become smaller.
//!
//! # Steps
//! 1. [`Space::set_ceiling`]: no extent of the file is allocated from a page on. A thread that finds the
//!    filegroup full removes the ceiling before a file grows.
//! 2. The engine moves what lies above.
//! 3. [`Space::cut`]: from the end of the file back to the last extent in use, one GAM interval at a time.
//!    One mini-transaction gives the header its new size and takes back what the maps that stay say of the
//!    part that goes: they are as in a file that never was larger.
//! 4. The engine takes a checkpoint: no record of a page behind the end is redone any more.
//! 5. [`Space::release_tail`]: the file itself becomes shorter. The bytes beyond the size in its header
//!    belong to no page, so a crash between 3 and 5 leaves a file that is only longer than necessary, until
//!    the next start. Growth in between leaves the length as it is.
//!
//! # Why the counts stay exact
//! The limit of an interval is read and changed under its GAM page's latch. An extent above it counts as free
//! neither before nor after it is freed. When the limit comes or goes, the extents that are free in GAM at
//! that moment are counted. An extent that is being freed at that moment is counted twice or not at all for
//! an instant, and right once its count has arrived.

use crate::error::damaged;
use crate::file::{FileSpace, Interval};
use crate::grow::MapChanges;
use crate::new_file::mixed_from_the_start;
use crate::promise::Promise;
use crate::unit::Unit;
use crate::{Space, SpaceError};
use furrow_format::{
    Bitmap, Change, EXTENT_PAGES, FileId, PageId, PageNo, PageType, Pfs, PfsByte, extent_at_bit,
    extent_bit, fixed_page_type, fixed_pages, gam_page_of, interval_extents, interval_start_of,
    pfs_index_of, pfs_page_of, sgam_page_of,
};
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};
use std::collections::BTreeMap;

/// Log space of a step, the file header included.
const STEP_LOG_BYTES: usize = 16 * 1024;

/// How often the end of the file is searched again because a thread has allocated an extent there.
const ATTEMPTS: usize = 8;

impl Space {
    /// From now on no extent of the file from page `pages` on is allocated. No latch may be held.
    pub fn set_ceiling(&self, id: FileId, pages: u32) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        let group = self.filegroup(file.filegroup)?;
        let _turn = group.growth.exclusive();
        self.lower_ceiling(&file, pages)
    }

    /// Allows all extents of the file to be allocated again; returns whether there was a ceiling. No latch
    /// may be held.
    pub fn lift_ceiling(&self, id: FileId) -> Result<bool, SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        let group = self.filegroup(file.filegroup)?;
        let _turn = group.growth.exclusive();
        self.lift(&file)
    }

    /// Whether the file still has the ceiling that it was given.
    pub fn has_ceiling(&self, id: FileId) -> Result<bool, SpaceError> {
        Ok(self.file(id)?.has_ceiling())
    }

    /// The end, in pages, of the last extent of a file that is in use: unless extents are moved, it cannot be
    /// made smaller than that. No latch may be held.
    pub fn used_end(&self, id: FileId) -> Result<u32, SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        self.end_of_use(&file)
    }

    /// Whether a unit has an extent or a page of a map in a file at or behind page `from`.
    pub fn reaches(&self, unit: &Unit, file: FileId, from: u32) -> Result<bool, SpaceError> {
        let behind = |page: PageId| page.file == file && page.page.0 >= from;
        for iam in self.chain_of(unit)? {
            let mut singles = self.singles_of(iam.page)?.into_iter();
            if behind(iam.page) || singles.any(|single| behind(single.0)) {
                return Ok(true);
            }
        }
        for (id, mut walk) in self.walks_by_file(unit)? {
            if id != file {
                continue;
            }
            while let Some(extents) = walk.next_owned(self)? {
                if extents.into_iter().any(&behind) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Makes the file end at its last extent in use, or at page `least_pages`; the size that it has then. The
    /// bytes behind it stay on the disk until [`Space::release_tail`]. No latch may be held.
    pub fn cut(&self, id: FileId, least_pages: u32) -> Result<u32, SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        let group = self.filegroup(file.filegroup)?;
        let turn = group.growth.exclusive();
        let before = file.size_pages();
        let cut = self.cut_promised(&file, least_pages);
        let lifted = self.lift(&file);
        drop(turn);
        cut?;
        lifted?;
        let size_pages = file.size_pages();
        debug_assert!(size_pages <= before, "a cut makes no file larger");
        if size_pages != before {
            self.record_sizes(&[(id, size_pages)])?;
        }
        Ok(size_pages)
    }

    /// The caller holds the filegroup's growth latch.
    fn cut_promised(&self, file: &FileSpace, least_pages: u32) -> Result<(), SpaceError> {
        let least = least_pages.next_multiple_of(EXTENT_PAGES);
        let mut end = self.end_of_use(file)?.max(least);
        for _ in 0..ATTEMPTS {
            if end >= file.size_pages() {
                return Ok(());
            }
            self.lower_ceiling(file, end)?;
            // No thread allocates an extent behind it any more, but one may have done so just before.
            let now = self.end_of_use(file)?.max(least);
            if now > end {
                end = now;
                continue;
            }
            while file.size_pages() > end {
                let last = PageNo(file.size_pages() - 1);
                let to = interval_start_of(last).0.max(end);
                self.log_cut(file, to)?;
            }
            return Ok(());
        }
        Ok(())
    }

    /// One step: the file ends at page `to`, which lies in its last interval.
    fn log_cut(&self, file: &FileSpace, to: u32) -> Result<(), SpaceError> {
        let from = file.size_pages();
        debug_assert!(
            to < from && to.is_multiple_of(EXTENT_PAGES),
            "a file becomes shorter by whole extents"
        );
        let _promise = Promise::new(self.store(), STEP_LOG_BYTES)?;
        let mut mini = Mini::new(self.store());
        self.plan_maps(&mut mini, &taken_back(file, to, from))?;
        self.plan_header(&mut mini, file.id, |header| {
            header.size_pages = to;
            header.min_size_pages = header.min_size_pages.min(to);
        })?;
        mini.commit(&Author::System)?;
        let mixed = mixed_from_the_start(to, from).count();
        file.cut(to, mixed as u32);
        Ok(())
    }

    /// Makes the file as short as the size in its header, once no record of what lay behind can be redone. No
    /// latch may be held.
    pub fn release_tail(&self, id: FileId) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(id)?;
        let group = self.filegroup(file.filegroup)?;
        let _turn = group.growth.exclusive();
        let bytes = u64::from(file.size_pages()) * furrow_format::PAGE_SIZE as u64;
        let shorter = match file.file.len_bytes() {
            Ok(now) if now > bytes => {
                let pool = self.store().pool();
                pool.preserve_tail(self.store().db(), id, PageNo(file.size_pages()));
                file.file.resize(bytes, self.options.fill)
            }
            Ok(_) => Ok(()),
            Err(e) => Err(e),
        };
        shorter.map_err(|source| SpaceError::Io { file: id, source })
    }

    /// The smallest size that the header of a file allows.
    pub fn least_size(&self, id: FileId) -> Result<u32, SpaceError> {
        let page = self.file(id)?.page(PageNo(0));
        let guard = self.store().read(page, LatchRank::FileHeader)?;
        let header = furrow_format::FileHeader::decode(&guard);
        let header = header.map_err(|source| SpaceError::Header { file: id, source })?;
        Ok(header.min_size_pages)
    }

    /// Sets the limits of all intervals. The caller holds the filegroup's growth latch.
    fn lower_ceiling(&self, file: &FileSpace, pages: u32) -> Result<(), SpaceError> {
        self.lift(file)?;
        file.set_ceiling(true);
        for interval in file.intervals() {
            let limit = interval_extents(interval.start, pages);
            while !self.limit_interval(file, &interval, limit)? {
                // The threads that have claimed the missing extents find them below the limit, or give them
                // back.
                furrow_io::thread::yield_now();
            }
        }
        debug_assert!(
            file.intervals()
                .iter()
                .all(|interval| interval.limit().is_some()),
            "nothing is handed out above a ceiling"
        );
        Ok(())
    }

    /// `false` when so many free extents have been claimed that those above the limit cannot be taken out.
    fn limit_interval(
        &self,
        file: &FileSpace,
        interval: &Interval,
        limit: u32,
    ) -> Result<bool, SpaceError> {
        let id = file.page(gam_page_of(interval.start));
        let guard = self.store().update(id, LatchRank::Gam)?;
        let above = free_above(&guard, id, limit, interval.end(file))?;
        let taken = file.take_out(interval, above);
        if taken {
            interval.set_limit(limit);
        }
        Ok(taken)
    }

    /// Takes the limits away; whether there were any. The caller holds the filegroup's growth latch.
    pub(crate) fn lift(&self, file: &FileSpace) -> Result<bool, SpaceError> {
        if !file.has_ceiling() {
            return Ok(false);
        }
        for interval in file.intervals() {
            let Some(limit) = interval.limit() else {
                continue;
            };
            let id = file.page(gam_page_of(interval.start));
            let above = {
                let guard = self.store().update(id, LatchRank::Gam)?;
                let above = free_above(&guard, id, limit, interval.end(file))?;
                interval.set_limit(u32::MAX);
                above
            };
            file.add_free(&interval, limit, above);
        }
        debug_assert!(
            file.intervals()
                .iter()
                .all(|interval| interval.limit().is_none()),
            "every interval is open again"
        );
        file.set_ceiling(false);
        Ok(true)
    }

    /// Free extents of a file, those above a ceiling among them.
    pub(crate) fn all_free(&self, file: &FileSpace) -> Result<u64, SpaceError> {
        let mut free = file.free_extents();
        for interval in file.intervals() {
            let Some(limit) = interval.limit() else {
                continue;
            };
            let id = file.page(gam_page_of(interval.start));
            let guard = self.store().read(id, LatchRank::Gam)?;
            free += u64::from(free_above(&guard, id, limit, interval.end(file))?);
        }
        Ok(free)
    }

    fn end_of_use(&self, file: &FileSpace) -> Result<u32, SpaceError> {
        for interval in file.intervals().iter().rev() {
            for extent in self.used_extents(file, interval)? {
                let first = extent.first_page();
                // What an interval begins with, and an extent with a PFS page, are in use by themselves.
                let by_itself = first.0 != 0
                    && fixed_pages(first, PageNo(first.0 + EXTENT_PAGES))
                        .next()
                        .is_some();
                if !by_itself || self.has_pages(file, first)? {
                    return Ok(first.0 + EXTENT_PAGES);
                }
            }
        }
        Ok(EXTENT_PAGES)
    }

    /// The extents of an interval that are in use in GAM, the last first.
    fn used_extents(
        &self,
        file: &FileSpace,
        interval: &Interval,
    ) -> Result<Vec<furrow_format::ExtentNo>, SpaceError> {
        let id = file.page(gam_page_of(interval.start));
        let guard = self.store().read(id, LatchRank::Gam)?;
        let map = Bitmap::new(&guard).ok_or(damaged(id, "no sound GAM page"))?;
        let used = (0..interval.end(file)).rev().filter(|&bit| !map.get(bit));
        Ok(used.map(|bit| extent_at_bit(interval.start, bit)).collect())
    }

    /// Whether an extent has a page in use or set aside that is not at a fixed place.
    fn has_pages(&self, file: &FileSpace, first: PageNo) -> Result<bool, SpaceError> {
        let id = file.page(pfs_page_of(first));
        let guard = self.store().read(id, LatchRank::Pfs)?;
        let pfs = Pfs::new(&guard).ok_or(damaged(id, "no sound PFS page"))?;
        let mut pages = (first.0..first.0 + EXTENT_PAGES).map(PageNo);
        Ok(pages
            .any(|page| fixed_page_type(page).is_none() && pfs.get(pfs_index_of(page)).is_taken()))
    }
}

/// Free extents of an interval from bit `limit` to bit `end`.
fn free_above(
    page: &furrow_format::PageBuf,
    id: PageId,
    limit: u32,
    end: u32,
) -> Result<u32, SpaceError> {
    let map = Bitmap::new(page).ok_or(damaged(id, "no sound GAM page"))?;
    Ok(map.count(end).saturating_sub(map.count(limit.min(end))))
}

/// The changes that remove the pages up to `from` from the maps below page `to`: the reverse of what growth
/// writes.
fn taken_back(file: &FileSpace, to: u32, from: u32) -> Vec<MapChanges> {
    let mut maps: BTreeMap<PageId, MapChanges> = BTreeMap::new();
    let mut at = |page: PageNo, kind: PageType, change| {
        let id = file.page(page);
        if page.0 < to {
            let map = maps
                .entry(id)
                .or_insert_with(|| MapChanges::of(id, kind, None));
            map.changes.push(change);
        }
    };
    for (page, _) in fixed_pages(PageNo(to), PageNo(from)) {
        let (index, value) = (pfs_index_of(page), PfsByte::FREE);
        at(
            pfs_page_of(page),
            PageType::Pfs,
            Change::SetPfs { index, value },
        );
    }
    for extent in mixed_from_the_start(to, from) {
        let (first, index) = (extent.first_page(), extent_bit(extent));
        let bit = |value| Change::SetBit { index, value };
        at(gam_page_of(first), PageType::Gam, bit(true));
        at(sgam_page_of(first), PageType::Sgam, bit(false));
    }
    maps.into_values().collect()
}
