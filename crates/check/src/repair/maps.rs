//! Maps as the owners demand them: IAM pages, PFS, GAM, SGAM. Pages that are right stay as they are.

use super::owners::interval_of;
use super::state::{State, extent_of, pages_of};
use furrow_format::{
    BOOT_PAGE, Bitmap, Change, EXTENT_PAGES, FileId, GAM_INTERVAL, Iam, MapInit, MapKind,
    PFS_INTERVAL, PageBuf, PageId, PageMut, PageNo, PageType, Pfs, PfsByte, apply, fixed_page_type,
    fixed_pages, gam_page_of, pfs_index_of, pfs_page_of, sgam_page_of,
};
use std::collections::{BTreeMap, BTreeSet};

fn page_at(file: FileId, page: PageNo) -> PageId {
    PageId { file, page }
}

impl State<'_> {
    /// Writes all maps that differ from what they must say.
    pub(super) fn write_maps(&mut self) {
        self.write_chains();
        let iam_pages: BTreeSet<PageId> = self.iams.values().flatten().map(|iam| iam.id).collect();
        for file in self.shared.files {
            self.write_pfs(file.id, &iam_pages);
            self.write_gam(file.id, &iam_pages);
            self.write_change_maps(file.id);
        }
    }

    fn write_chains(&mut self) {
        for (unit, chain) in self.iams.clone() {
            let Some(about) = self.plan().unit(unit) else {
                continue;
            };
            let unit_id = furrow_format::AllocUnitId(about.id);
            for (at, iam) in chain.iter().enumerate() {
                let mut page: Box<PageBuf> = match self.page(iam.id) {
                    Some(page) => page,
                    None => Box::new([0; furrow_format::PAGE_SIZE]),
                };
                let init = MapInit {
                    page: iam.id,
                    kind: MapKind::Iam {
                        unit: unit_id,
                        sequence: at as u32,
                        interval_start: iam.start,
                    },
                };
                let flags = furrow_format::Page::new(&page).flags();
                if init.format(&mut page).is_err() {
                    continue;
                }
                for (slot, single) in (0..).zip(&iam.singles) {
                    let bytes = single.to_bytes();
                    if let Some(change) = Iam::set_single_page(&page, slot, &bytes) {
                        let _fits = apply(&change, &mut page);
                    }
                }
                let first = iam.start.page.0 / EXTENT_PAGES;
                let end = first.saturating_add(Bitmap::BITS);
                let range = (iam.start.file, first)..(iam.start.file, end);
                for ((_, extent), _) in self.claims.range(range).filter(|c| *c.1 == unit) {
                    set(&mut page, extent - first, true);
                }
                let mut view = PageMut::new(&mut page);
                view.set_flags(flags);
                let neighbour = |at: Option<usize>| {
                    at.and_then(|at| chain.get(at))
                        .map_or(PageId::NONE, |iam| iam.id)
                };
                view.set_prev(neighbour(at.checked_sub(1)));
                view.set_next(neighbour(at.checked_add(1)));
                self.put(iam.id, page);
            }
        }
    }

    /// A map page as it is, or a fresh one.
    fn map(&self, id: PageId) -> Option<Box<PageBuf>> {
        let size = self.size(id.file);
        let init = MapInit::fixed(id, size)?;
        let right = |page: &PageBuf| match init.page_type() {
            PageType::Pfs => Pfs::new(page).is_some(),
            _ => Bitmap::new(page).is_some(),
        };
        let page = self.page(id).filter(|page| {
            let view = furrow_format::Page::new(page);
            view.page_type() == init.page_type()
                && view.unit() == furrow_format::SYSTEM_MAPS_UNIT
                && right(page)
                && !self.has_finding(id)
        });
        if page.is_some() {
            return page;
        }
        let mut fresh = Box::new([0; furrow_format::PAGE_SIZE]);
        init.format(&mut fresh).ok()?;
        Some(fresh)
    }

    /// Whether a finding is about this very page's form.
    fn has_finding(&self, id: PageId) -> bool {
        let form = [8939, 8941, 8942, 8943, 8944, 8946, 8909, 8928, 8966];
        self.findings
            .iter()
            .any(|f| f.page == Some(id) && form.contains(&f.number()))
    }

    /// What PFS must say of a page.
    fn wanted_byte(
        &self,
        id: PageId,
        iam_pages: &BTreeSet<PageId>,
        now: Option<PfsByte>,
    ) -> PfsByte {
        if fixed_page_type(id.page).is_some() {
            let right = |byte: &PfsByte| byte.is_allocated() && !byte.has(PfsByte::IAM);
            return now.filter(right).unwrap_or(PfsByte::FIXED);
        }
        if id == BOOT_PAGE {
            return PfsByte::BOOT;
        }
        let system = (id.page.0 / EXTENT_PAGES).is_multiple_of(GAM_INTERVAL / EXTENT_PAGES);
        if let Some(now) = now.filter(|_| system) {
            return now;
        }
        if iam_pages.contains(&id) {
            return PfsByte::IAM_PAGE;
        }
        let single = self.singles.contains_key(&id);
        match self.used.get(&id) {
            Some(used) if single => used.byte.with(PfsByte::MIXED),
            Some(used) => used.byte,
            None if single => PfsByte::SET_ASIDE,
            None => PfsByte::FREE,
        }
    }

    fn write_pfs(&mut self, file: FileId, iam_pages: &BTreeSet<PageId>) {
        let size = self.size(file);
        for start in (0..size).step_by(PFS_INTERVAL as usize) {
            let id = page_at(file, pfs_page_of(PageNo(start)));
            let Some(mut page) = self.map(id) else {
                continue;
            };
            for number in start..start.saturating_add(PFS_INTERVAL).min(size) {
                let of = page_at(file, PageNo(number));
                let index = pfs_index_of(of.page);
                let now = Pfs::new(&page).map(|pfs| pfs.get(index));
                let value = self.wanted_byte(of, iam_pages, now);
                if now != Some(value) {
                    let _fits = apply(&Change::SetPfs { index, value }, &mut page);
                }
            }
            self.put(id, page);
        }
    }

    /// Extents that are mixed, and whether each has a page to spare.
    fn mixed(&self, file: FileId, iam_pages: &BTreeSet<PageId>) -> BTreeMap<u32, bool> {
        let mut taken: BTreeMap<u32, u32> = BTreeMap::new();
        let of_file = |id: &&PageId| id.file == file;
        let mut pages: BTreeSet<PageId> = self.singles.keys().filter(of_file).copied().collect();
        pages.extend(iam_pages.iter().filter(of_file));
        if file == BOOT_PAGE.file {
            pages.insert(BOOT_PAGE);
        }
        let fixed = fixed_pages(PageNo(0), PageNo(self.size(file)));
        pages.extend(fixed.map(|(page, _)| page_at(file, page)));
        for id in pages {
            *taken.entry(extent_of(id).1).or_default() += 1;
        }
        taken
            .into_iter()
            .map(|(extent, taken)| (extent, taken < EXTENT_PAGES))
            .collect()
    }

    fn write_gam(&mut self, file: FileId, iam_pages: &BTreeSet<PageId>) {
        let mixed = self.mixed(file, iam_pages);
        let size = self.size(file);
        for start in (0..size).step_by(GAM_INTERVAL as usize) {
            let start = page_at(file, PageNo(start));
            let gam_id = page_at(file, gam_page_of(start.page));
            let sgam_id = page_at(file, sgam_page_of(start.page));
            let (Some(mut gam), Some(mut sgam)) = (self.map(gam_id), self.map(sgam_id)) else {
                continue;
            };
            debug_assert_eq!(interval_of(start), start, "an interval begins there");
            for bit in 0..Bitmap::BITS {
                let extent = (start.page.0 / EXTENT_PAGES).saturating_add(bit);
                let behind = extent.saturating_add(1).saturating_mul(EXTENT_PAGES) > size;
                let owned = self.claims.contains_key(&(file, extent));
                let in_mixed = mixed.get(&extent).copied();
                let (free, spare) = match (bit, owned, in_mixed) {
                    (0, ..) | (_, true, _) => (false, false),
                    (_, false, Some(spare)) if !behind => (false, spare),
                    _ => (true, false),
                };
                set(&mut gam, bit, free);
                set(&mut sgam, bit, spare);
            }
            self.put(gam_id, gam);
            self.put(sgam_id, sgam);
        }
    }

    /// Maps of changed extents: one that is damaged says that all have changed, so that the next differential
    /// backup copies all; and what the repair changes has changed.
    fn write_change_maps(&mut self, file: FileId) {
        let size = self.size(file);
        let changed: BTreeSet<u32> = self
            .pages
            .keys()
            .filter(|id| id.file == file)
            .map(|id| extent_of(*id).1)
            .collect();
        for (page, kind) in fixed_pages(PageNo(0), PageNo(size)) {
            let id = page_at(file, page);
            if !matches!(kind, PageType::DiffMap | PageType::MlMap) {
                continue;
            }
            let damaged = self.page(id).is_none() || self.has_finding(id);
            let Some(mut map) = self.map(id) else {
                continue;
            };
            if kind == PageType::DiffMap {
                let first = interval_of(id).page.0 / EXTENT_PAGES;
                for bit in 0..Bitmap::BITS {
                    let extent = first.saturating_add(bit);
                    let inside = extent < size.div_ceil(EXTENT_PAGES);
                    if inside && (damaged || changed.contains(&extent)) {
                        set(&mut map, bit, true);
                    }
                }
            }
            self.put(id, map);
        }
    }
}

fn set(map: &mut PageBuf, bit: u32, value: bool) {
    let now = Bitmap::new(map).map(|map| map.get(bit));
    if now != Some(value) {
        let index = bit as u16;
        let _fits = apply(&Change::SetBit { index, value }, map);
    }
}

/// Pages of a unit's extents and its single pages that it may write, in the order of files.
pub(super) fn room_of(state: &State<'_>, unit: u32) -> Vec<PageId> {
    let extents = state.claims.iter().filter(|claim| *claim.1 == unit);
    let mut pages: Vec<PageId> = extents.flat_map(|(extent, _)| pages_of(*extent)).collect();
    let singles = state.singles.iter().filter(|single| *single.1 == unit);
    pages.extend(singles.map(|(id, _)| *id));
    let ours = |id: &PageId| state.may_write(unit, std::iter::once(*id));
    pages.retain(|id| fixed_page_type(id.page).is_none() && ours(id));
    pages.sort_unstable();
    pages
}
