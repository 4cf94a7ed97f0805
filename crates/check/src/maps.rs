//! The allocation maps of all files, in memory: 1/8,000 of the database.

use furrow_datafile::{Pages, SourceFile, map_page, required_type};
use furrow_format::{
    Bitmap, EXTENT_PAGES, FileId, GAM_INTERVAL, PFS_INTERVAL, PageBuf, PageId, PageNo, Pfs,
    PfsByte, gam_page_of, pfs_index_of, pfs_page_of, sgam_page_of,
};

/// Maps of one file; `None` where a page of them cannot be believed.
struct FileMaps {
    id: FileId,
    pages: u32,
    pfs: Vec<Option<Box<PageBuf>>>,
    gam: Vec<Option<Box<PageBuf>>>,
    sgam: Vec<Option<Box<PageBuf>>>,
}

/// Maps of all files.
pub(crate) struct Maps {
    files: Vec<FileMaps>,
}

impl Maps {
    /// Reads them. Pages that fail verification are left out; the scan reports them.
    pub(crate) fn read(library: &Pages<'_>, files: &[SourceFile]) -> Maps {
        let of_file = |file: &SourceFile| {
            let sound = |page: PageNo| {
                let map = map_page(library, page_at(file.id, page.0)).ok()?;
                Some(Box::new(*map))
            };
            let starts = |interval: u32| (0..file.pages).step_by(interval as usize).map(PageNo);
            let bitmaps = |of: fn(PageNo) -> PageNo| {
                starts(GAM_INTERVAL).map(|start| sound(of(start))).collect()
            };
            FileMaps {
                id: file.id,
                pages: file.pages,
                pfs: starts(PFS_INTERVAL)
                    .map(|start| sound(pfs_page_of(start)))
                    .collect(),
                gam: bitmaps(gam_page_of),
                sgam: bitmaps(sgam_page_of),
            }
        };
        Maps {
            files: files.iter().map(of_file).collect(),
        }
    }

    fn file(&self, id: FileId) -> Option<&FileMaps> {
        self.files.iter().find(|file| file.id == id)
    }

    /// The place of a file among the files.
    pub(crate) fn file_index(&self, id: FileId) -> Option<usize> {
        self.files.iter().position(|file| file.id == id)
    }

    /// Pages of a file; 0 for one that is not there.
    pub(crate) fn pages(&self, id: FileId) -> u32 {
        self.file(id).map_or(0, |file| file.pages)
    }

    /// What PFS says of a page; `None` where its PFS page cannot be believed.
    pub(crate) fn pfs(&self, id: PageId) -> Option<PfsByte> {
        let map = self
            .file(id.file)?
            .pfs
            .get((id.page.0 / PFS_INTERVAL) as usize)?;
        Some(Pfs::new(map.as_deref()?)?.get(pfs_index_of(id.page)))
    }

    /// Whether a page counts as allocated: as PFS says. Where its PFS page is damaged, it counts as allocated
    /// unless the GAM says that its extent is free. Pages of dropped tables keep their content.
    pub(crate) fn is_in_use(&self, id: PageId) -> bool {
        match self.pfs(id) {
            Some(byte) => byte.is_allocated(),
            None => self.gam(id) != Some(true),
        }
    }

    /// Whether any page of an extent counts as allocated, or has a fixed place.
    pub(crate) fn is_extent_in_use(&self, id: PageId) -> bool {
        let first = id.page.0 / EXTENT_PAGES * EXTENT_PAGES;
        let mut pages = (0..EXTENT_PAGES).map(|at| page_at(id.file, first.saturating_add(at)));
        pages.any(|page| self.is_in_use(page) || required_type(page).is_some())
    }

    /// The bit of an extent in the GAM.
    pub(crate) fn gam(&self, first: PageId) -> Option<bool> {
        bit(&self.file(first.file)?.gam, first.page)
    }

    /// The bit of an extent in the SGAM.
    pub(crate) fn sgam(&self, first: PageId) -> Option<bool> {
        bit(&self.file(first.file)?.sgam, first.page)
    }

    /// The GAM and SGAM of a GAM interval, by its number.
    pub(crate) fn bitmaps(&self, id: FileId, interval: usize) -> Option<(Bitmap<'_>, Bitmap<'_>)> {
        let file = self.file(id)?;
        let gam = Bitmap::new(file.gam.get(interval)?.as_deref()?)?;
        Some((gam, Bitmap::new(file.sgam.get(interval)?.as_deref()?)?))
    }
}

/// Page `page` of file `file`.
pub(crate) fn page_at(file: FileId, page: u32) -> PageId {
    PageId {
        file,
        page: PageNo(page),
    }
}

fn bit(maps: &[Option<Box<PageBuf>>], page: PageNo) -> Option<bool> {
    let map = maps.get((page.0 / GAM_INTERVAL) as usize)?.as_deref()?;
    Some(Bitmap::new(map)?.get(page.0 % GAM_INTERVAL / EXTENT_PAGES))
}
