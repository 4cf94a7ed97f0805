//! The allocation maps of data files, proven from their bytes alone.
//!
//! Everything is read from the volume, past the engine's pool, and judged by the format's rules:
//! - a page in use carries a right checksum and its own name;
//! - an extent is free, mixed, or in exactly one chain of IAM pages, and GAM, SGAM and PFS say the same of
//!   it;
//! - a page in use in an extent of a unit is of that unit, and nobody else's.

use furrow_format::{
    Bitmap, EXTENT_PAGES, FileId, GAM_INTERVAL, Iam, PAGE_SIZE, Page, PageBuf, PageId, PageNo,
    PageType, Pfs, PfsByte, fixed_page_type, gam_page_of, pfs_index_of, pfs_page_of, sgam_page_of,
    verify,
};
use furrow_io::{Access, Open, Volume};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

/// A data file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFile {
    /// Its number.
    pub id: u16,
    /// Where it is.
    pub path: PathBuf,
    /// Its size; what a crash has left behind it is nobody's.
    pub pages: usize,
}

/// Who owns what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owned {
    /// First pages of extents, by unit.
    pub extents: BTreeMap<u64, BTreeSet<PageId>>,
    /// Pages in use in them, by unit.
    pub used: BTreeMap<u64, BTreeSet<PageId>>,
    /// IAM pages, by unit.
    pub iam_pages: BTreeMap<u64, BTreeSet<PageId>>,
    /// Free extents, by file.
    pub free: BTreeMap<u16, u64>,
}

impl Owned {
    /// The units that own something.
    pub fn units(&self) -> impl Iterator<Item = u64> + '_ {
        let all: BTreeSet<u64> = self
            .iam_pages
            .keys()
            .chain(self.extents.keys())
            .copied()
            .collect();
        all.into_iter()
    }
}

/// The pages of the files, and those that were proven already.
struct Pages {
    files: BTreeMap<u16, Vec<u8>>,
    proven: RefCell<HashSet<PageId>>,
}

impl Pages {
    fn read(volume: &dyn Volume, files: &[DataFile]) -> Result<Pages, String> {
        let read = |path: &Path, pages: usize| {
            let file = volume.open(path, Open::ReadOnly, Access::Data)?;
            let mut bytes = vec![0; pages * PAGE_SIZE];
            file.read_at(0, &mut bytes)?;
            Ok(bytes)
        };
        let mut all = BTreeMap::new();
        for file in files {
            let bytes = read(&file.path, file.pages);
            all.insert(
                file.id,
                bytes.map_err(|e: furrow_io::IoError| e.to_string())?,
            );
        }
        Ok(Pages {
            files: all,
            proven: RefCell::default(),
        })
    }

    fn get(&self, id: PageId) -> Result<&PageBuf, String> {
        let bytes = self.files.get(&id.file.0).map_or(&[][..], Vec::as_slice);
        let at = id.page.0 as usize * PAGE_SIZE;
        let page = bytes
            .get(at..at + PAGE_SIZE)
            .and_then(|b| <&PageBuf>::try_from(b).ok());
        let page = page.ok_or_else(|| format!("page {id} is past the end"))?;
        if !self.proven.borrow().contains(&id) {
            verify(page, id).map_err(|fault| format!("page {id}: {fault}"))?;
            self.proven.borrow_mut().insert(id);
        }
        Ok(page)
    }

    fn len(&self, file: u16) -> u32 {
        self.files
            .get(&file)
            .map_or(0, |bytes| (bytes.len() / PAGE_SIZE) as u32)
    }

    fn pfs(&self, id: PageId) -> Result<PfsByte, String> {
        let map = self.get(PageId {
            page: pfs_page_of(id.page),
            ..id
        })?;
        let map = Pfs::new(map).ok_or_else(|| format!("no PFS page for {id}"))?;
        Ok(map.get(pfs_index_of(id.page)))
    }

    fn bit(&self, map: PageId, extent: PageNo) -> Result<bool, String> {
        let page = self.get(map)?;
        let map = Bitmap::new(page).ok_or_else(|| format!("page {map} is no bitmap"))?;
        Ok(map.get(extent.0 % GAM_INTERVAL / EXTENT_PAGES))
    }
}

/// Proves the maps of these files, which must be as the last checkpoint left them.
pub fn audit_files(volume: &dyn Volume, files: &[DataFile]) -> Result<Owned, String> {
    let pages = Pages::read(volume, files)?;
    let mut owned = Owned::default();
    let mut owners = BTreeMap::new();
    for file in files {
        find_iam_pages(&pages, file.id, &mut owned)?;
    }
    for (unit, chain) in &owned.iam_pages {
        let extents = walk_chain(&pages, *unit, chain)?;
        for extent in &extents {
            if let Some(other) = owners.insert(*extent, *unit) {
                return Err(format!(
                    "extent {extent} is unit {unit:x}'s and unit {other:x}'s"
                ));
            }
        }
        owned.extents.insert(*unit, extents);
    }
    for file in files {
        for first in (0..pages.len(file.id) / EXTENT_PAGES).map(|n| PageNo(n * EXTENT_PAGES)) {
            let first = PageId {
                file: FileId(file.id),
                page: first,
            };
            judge_extent(&pages, first, owners.get(&first).copied(), &mut owned)?;
        }
    }
    if let Some(extent) = owners.keys().find(|e| e.page.0 >= pages.len(e.file.0)) {
        return Err(format!("extent {extent} is owned and past the end"));
    }
    Ok(owned)
}

/// IAM pages are those that PFS says are.
fn find_iam_pages(pages: &Pages, file: u16, owned: &mut Owned) -> Result<(), String> {
    for page in (0..pages.len(file)).map(PageNo) {
        let id = PageId {
            file: FileId(file),
            page,
        };
        if !pages.pfs(id)?.has(PfsByte::IAM) {
            continue;
        }
        let bytes = pages.get(id)?;
        if Iam::new(bytes).is_none() {
            return Err(format!(
                "page {id} is an IAM page by PFS, but not by itself"
            ));
        }
        let unit = Page::new(bytes).unit().0;
        owned.iam_pages.entry(unit).or_default().insert(id);
    }
    Ok(())
}

/// The extents of a unit, whose IAM pages are one chain.
fn walk_chain(
    pages: &Pages,
    unit: u64,
    chain: &BTreeSet<PageId>,
) -> Result<BTreeSet<PageId>, String> {
    let mut by_sequence = BTreeMap::new();
    for id in chain {
        let iam = Iam::new(pages.get(*id)?).ok_or_else(|| format!("no IAM page {id}"))?;
        if by_sequence.insert(iam.sequence(), *id).is_some() {
            return Err(format!(
                "unit {unit:x} has two IAM pages {}",
                iam.sequence()
            ));
        }
    }
    let mut extents = BTreeSet::new();
    let order: Vec<PageId> = by_sequence.into_values().collect();
    for (place, id) in order.iter().enumerate() {
        let bytes = pages.get(*id)?;
        let iam = Iam::new(bytes).ok_or_else(|| format!("no IAM page {id}"))?;
        let before = place.checked_sub(1).map_or(PageId::NONE, |n| order[n]);
        let after = order.get(place + 1).copied().unwrap_or(PageId::NONE);
        let view = Page::new(bytes);
        if iam.sequence() as usize != place || view.prev() != before || view.next() != after {
            return Err(format!(
                "unit {unit:x}: IAM page {id} is not {place} of its chain"
            ));
        }
        let start = iam.interval_start();
        let first = |bit| PageNo(start.page.0 + bit * EXTENT_PAGES);
        let of_page = iam.extents().iter_set(Bitmap::BITS);
        extents.extend(of_page.map(|bit| PageId {
            page: first(bit),
            ..start
        }));
    }
    Ok(extents)
}

fn judge_extent(
    pages: &Pages,
    first: PageId,
    owner: Option<u64>,
    owned: &mut Owned,
) -> Result<(), String> {
    let free = pages.bit(
        PageId {
            page: gam_page_of(first.page),
            ..first
        },
        first.page,
    )?;
    let mixed_spare = pages.bit(
        PageId {
            page: sgam_page_of(first.page),
            ..first
        },
        first.page,
    )?;
    let members = (0..EXTENT_PAGES).map(|n| PageId {
        page: PageNo(first.page.0 + n),
        ..first
    });
    let mut in_use = Vec::new();
    for id in members {
        let byte = pages.pfs(id)?;
        if let Some(kind) = fixed_page_type(id.page) {
            // A PFS page may lie in anybody's extent; what it is, is fixed.
            let page = pages.get(id)?;
            if !byte.is_allocated() || Page::new(page).page_type() != kind {
                return Err(format!(
                    "page {id} must be a {kind:?} page, its PFS byte is {byte}"
                ));
            }
        } else if byte.is_allocated() {
            pages.get(id)?;
            in_use.push((id, byte));
        } else if byte.0 != 0 && owner.is_none() {
            return Err(format!("page {id} is not in use, its PFS byte is {byte}"));
        }
    }
    let says =
        format!("extent {first}: free {free}, mixed and spare {mixed_spare}, owner {owner:x?}");
    match (free, mixed_spare, owner) {
        (true, false, None) if in_use.is_empty() => {
            *owned.free.entry(first.file.0).or_default() += 1;
            Ok(())
        }
        (false, false, Some(unit)) => judge_members(pages, unit, &in_use, owned),
        (false, false, None) if first.page.0.is_multiple_of(GAM_INTERVAL) => Ok(()),
        (false, spare, None) => {
            let all = in_use.iter().all(|(_, byte)| byte.has(PfsByte::MIXED));
            let full = in_use.len() == EXTENT_PAGES as usize;
            if all && full != spare {
                Ok(())
            } else {
                Err(format!("{says}, {in_use:?}"))
            }
        }
        _ => Err(format!("{says}, in use {in_use:?}")),
    }
}

/// Pages in use in an extent of a unit.
fn judge_members(
    pages: &Pages,
    unit: u64,
    in_use: &[(PageId, PfsByte)],
    owned: &mut Owned,
) -> Result<(), String> {
    for (id, byte) in in_use {
        let page = Page::new(pages.get(*id)?);
        let kind = page.page_type();
        let wrong = byte.has(PfsByte::MIXED) || byte.has(PfsByte::IAM);
        if wrong || page.unit().0 != unit || kind == PageType::Iam {
            let of = page.unit().0;
            return Err(format!(
                "page {id} in unit {unit:x}: {kind:?} of {of:x}, PFS {byte}"
            ));
        }
        owned.used.entry(unit).or_default().insert(*id);
    }
    Ok(())
}
