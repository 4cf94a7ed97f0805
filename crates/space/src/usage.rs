//! How much of each file is in use.

use crate::error::damaged;
use crate::file::FileSpace;
use crate::{Space, SpaceError};
use furrow_format::{
    Bitmap, EXTENT_PAGES, ExtentNo, FileId, PFS_INTERVAL, PageNo, Pfs, PfsByte, extent_bit,
    pfs_index_of, pfs_page_of, sgam_page_of,
};
use furrow_pool::LatchRank;

/// What a data file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUsage {
    /// The file.
    pub file: FileId,
    /// Its filegroup.
    pub filegroup: u16,
    /// Its logical name.
    pub name: String,
    /// Its size.
    pub size_pages: u32,
    /// Extents free in GAM.
    pub free_extents: u64,
    /// Extents that are not free.
    pub allocated_extents: u64,
    /// Of these, mixed ones.
    pub mixed_extents: u64,
}

impl Space {
    /// Free extents of each file, as counted in memory. Skip targets are calculated from these counts.
    pub fn free_extents(&self) -> Vec<(FileId, u64)> {
        self.files
            .read()
            .iter()
            .map(|(&id, file)| (id, file.free_extents()))
            .collect()
    }

    /// What each file holds. Mixed extents are counted by reading PFS and SGAM, one page in 8,088.
    pub fn usage(&self) -> Result<Vec<FileUsage>, SpaceError> {
        let files: Vec<_> = self
            .files
            .read()
            .values()
            .map(std::sync::Arc::clone)
            .collect();
        files.iter().map(|file| self.usage_of(file)).collect()
    }

    fn usage_of(&self, file: &FileSpace) -> Result<FileUsage, SpaceError> {
        let size_pages = file.size_pages();
        let free_extents = self.all_free(file)?;
        let mut mixed_extents = 0;
        for start in (0..size_pages).step_by(PFS_INTERVAL as usize) {
            let end = start.saturating_add(PFS_INTERVAL).min(size_pages);
            mixed_extents += self.mixed_between(file, start, end)?;
        }
        Ok(FileUsage {
            file: file.id,
            filegroup: file.filegroup,
            name: file.name.clone(),
            size_pages,
            free_extents,
            allocated_extents: u64::from(size_pages / EXTENT_PAGES).saturating_sub(free_extents),
            mixed_extents,
        })
    }

    /// Mixed extents under one PFS page: those with a page that is marked so, and those that SGAM names.
    fn mixed_between(&self, file: &FileSpace, start: u32, end: u32) -> Result<u64, SpaceError> {
        let id = file.page(pfs_page_of(PageNo(start)));
        let guard = self.store().read(id, LatchRank::Pfs)?;
        let pfs = Pfs::new(&guard).ok_or(damaged(id, "no sound PFS page"))?;
        let mut mixed = 0;
        let mut sgam = None;
        for first in (start..end).step_by(EXTENT_PAGES as usize).map(PageNo) {
            let index = pfs_index_of(first);
            let says = (index..index + EXTENT_PAGES as u16).any(|i| pfs.get(i).has(PfsByte::MIXED));
            let id = file.page(sgam_page_of(first));
            let guard = match sgam.take() {
                Some((of, guard)) if of == id => guard,
                _ => self.store().read(id, LatchRank::Sgam)?,
            };
            let map = Bitmap::new(&guard).ok_or(damaged(id, "no sound SGAM page"))?;
            let extent = ExtentNo(first.0 / EXTENT_PAGES);
            let names = map.get(u32::from(extent_bit(extent)));
            mixed += u64::from(says || names);
            sgam = Some((id, guard));
        }
        Ok(mixed)
    }
}
