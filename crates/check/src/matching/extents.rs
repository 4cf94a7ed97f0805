//! Extents and PFS bytes: GAM, SGAM, IAM and PFS must agree on every extent, and each has one owner.

use super::Matcher;
use crate::finding::page;
use crate::maps::page_at;
use furrow_format::{
    BOOT_PAGE, EXTENT_PAGES, ExtentNo, FileId, GAM_INTERVAL, PageId, PageNo, PfsByte,
    fixed_page_type, gam_page_of, pfs_page_of, sgam_page_of,
};
use furrow_messages::Message;

/// Number of this engine's own message: a map of ours says what no map of ours says.
const OWN_MAPS: u32 = 40101;

impl Matcher<'_> {
    /// Single pages of mixed extents: each has exactly one owner.
    pub(super) fn match_singles(&mut self) {
        let (plan, facts) = (self.shared.plan, self.facts);
        for iam in &facts.iams {
            let unit = plan.unit_of(iam.unit_id);
            for &single in iam.singles.iter().filter(|single| !single.is_none()) {
                if single.page.0 >= self.shared.maps.pages(single.file) {
                    let means = format!(
                        "IAM page {} {}owns page {single}, which is not in the files.",
                        iam.id,
                        plan.of(unit)
                    );
                    self.extent_beyond(single, unit, iam.id, means);
                    continue;
                }
                let before = self.singles.insert(single, unit);
                let extent = self.extent_owner(single);
                if let Some(other) = before.or(extent) {
                    self.two_owners(single, other, unit);
                }
                let pfs = self.shared.maps.pfs(single);
                // This engine sets a page aside before it comes into use.
                let right = |pfs: &PfsByte| {
                    pfs.has(PfsByte::ALLOCATED | PfsByte::MIXED)
                        || plan.own && *pfs == PfsByte::SET_ASIDE
                };
                if let Some(pfs) = pfs.filter(|pfs| !right(pfs)) {
                    let expected = pfs.with(PfsByte::ALLOCATED | PfsByte::MIXED);
                    self.wrong_pfs(single, pfs, expected);
                }
            }
        }
        for (first, one, other) in facts.claimed_twice.clone() {
            let means = format!(
                "Extent {first} belongs to two: {} and {} write over each other.",
                plan.table(one),
                plan.table(other)
            );
            let args = [page(first), self.database()];
            self.findings
                .of_page(plan, (8904, one), first, &args, means);
            self.two_owners(first, one, other);
        }
    }

    fn extent_owner(&self, id: PageId) -> Option<u32> {
        let file = self.shared.maps.file_index(id.file)?;
        self.shared.owner(file, id.page.0 / EXTENT_PAGES)
    }

    fn extent_beyond(&mut self, extent: PageId, unit: u32, at: PageId, means: String) {
        let plan = self.shared.plan;
        let mut args = vec![page(extent)];
        args.extend(plan.unit_args(unit));
        self.findings.of_page(plan, (2579, unit), at, &args, means);
    }

    fn two_owners(&mut self, id: PageId, one: u32, other: u32) {
        let plan = self.shared.plan;
        let mut args = vec![page(id), self.database()];
        args.extend(plan.unit_args(one));
        args.extend(plan.unit_args(other));
        let means = format!(
            "Page {id} belongs to {} and to {} at the same time.",
            plan.table(one),
            plan.table(other)
        );
        self.findings.of_page(plan, (8910, one), id, &args, means);
    }

    pub(super) fn wrong_pfs(&mut self, id: PageId, found: PfsByte, expected: PfsByte) {
        let map = PageId {
            page: pfs_page_of(id.page),
            ..id
        };
        let means = format!("PFS page {map} says of page {id}: {found}; it must be: {expected}.");
        let args = [page(id), page(map), found.0.into(), expected.0.into()];
        self.findings.plain(8948, Some(id), &args, means);
    }

    pub(super) fn match_extents(&mut self) {
        for (at, file) in self.shared.files.iter().enumerate() {
            for extent in 0..file.pages / EXTENT_PAGES {
                self.extent((at, file.id), ExtentNo(extent));
            }
            self.behind_the_end(file.id, file.pages);
            self.lost_maps(file.id, file.pages);
        }
    }

    fn extent(&mut self, (file, id): (usize, FileId), extent: ExtentNo) {
        let first = PageId {
            file: id,
            page: extent.first_page(),
        };
        let maps = self.shared.maps;
        let (Some(free), Some(spare)) = (maps.gam(first), maps.sgam(first)) else {
            return;
        };
        let owner = self.shared.owner(file, extent.0);
        match (free, spare, owner) {
            (true, true, _) => self.free_and_mixed(first),
            (true, false, Some(unit)) => self.owned_but_free(first, unit),
            (true, false, None) => self.free_extent(first),
            (false, true, Some(unit)) => self.owned_but_mixed(first, unit),
            (false, false, Some(_)) => self.uniform(first),
            (false, spare, None) => self.mixed(first, spare),
        }
    }

    fn free_and_mixed(&mut self, first: PageId) {
        let (gam, sgam) = map_pages(first);
        let means = format!("Extent {first} is free by one map and in use by the other.");
        let args = [page(first), self.database(), page(gam), page(sgam)];
        self.findings.plain(8903, Some(first), &args, means);
    }

    fn owned_but_free(&mut self, first: PageId, unit: u32) {
        let plan = self.shared.plan;
        let means = format!(
            "Extent {first} is {}'s, but free by the GAM: another table may take it and write over it.",
            plan.table(unit)
        );
        let args = [page(first), self.database()];
        self.findings
            .of_page(plan, (8904, unit), first, &args, means);
    }

    fn owned_but_mixed(&mut self, first: PageId, unit: u32) {
        let plan = self.shared.plan;
        let means = format!(
            "Extent {first} is {}'s alone, but the SGAM offers its pages to every table.",
            plan.table(unit)
        );
        let args = [page(first), self.database()];
        self.findings
            .of_page(plan, (8904, unit), first, &args, means);
    }

    fn free_extent(&mut self, first: PageId) {
        for id in pages_of(first) {
            if let Some(pfs) = self.shared.maps.pfs(id) {
                let fixed = fixed_page_type(id.page).is_some();
                if pfs.is_allocated() && !fixed {
                    self.unowned(id, pfs);
                } else if !fixed {
                    self.clean_byte(id, pfs);
                }
            }
        }
    }

    fn uniform(&mut self, first: PageId) {
        for id in pages_of(first) {
            if let Some(pfs) = self.shared.maps.pfs(id) {
                let is_mixed = pfs.has(PfsByte::ALLOCATED | PfsByte::MIXED)
                    || self.shared.plan.own && pfs.has(PfsByte::MIXED);
                let is_iam = pfs.has(PfsByte::ALLOCATED | PfsByte::IAM);
                if (is_mixed || is_iam) && fixed_page_type(id.page).is_none() {
                    let expected = pfs.without(PfsByte::MIXED).without(PfsByte::IAM);
                    self.wrong_pfs(id, pfs, expected);
                }
            }
        }
    }

    fn mixed(&mut self, first: PageId, spare: bool) {
        // The first extent of an interval holds the maps themselves, and the boot page's extent is mixed.
        if first.page.0.is_multiple_of(GAM_INTERVAL) {
            return;
        }
        let (mut in_use, mut known) = (0, true);
        for id in pages_of(first) {
            let Some(pfs) = self.shared.maps.pfs(id) else {
                known = false;
                continue;
            };
            if fixed_page_type(id.page).is_some() {
                in_use += 1;
            } else if pfs.is_allocated() {
                in_use += 1;
                self.mixed_page(id, pfs);
            } else if pfs == PfsByte::SET_ASIDE && self.singles.contains_key(&id) {
                in_use += 1;
            } else {
                self.clean_byte(id, pfs);
            }
        }
        let full = in_use == EXTENT_PAGES;
        if known && !spare && !full {
            let means = format!("Extent {first} is neither free nor anybody's: its space is lost.");
            let args = [page(first), self.database()];
            self.findings.plain(8905, Some(first), &args, means);
        }
        // SQL Server leaves the bit of a full extent set at times; this engine does not.
        if spare && full && self.shared.plan.own {
            self.own_maps(
                first,
                format!("The SGAM offers pages of extent {first}, which is full."),
            );
        }
    }

    fn mixed_page(&mut self, id: PageId, pfs: PfsByte) {
        let boot = id == BOOT_PAGE;
        if !pfs.has(PfsByte::MIXED) {
            self.wrong_pfs(id, pfs, pfs.with(PfsByte::MIXED));
        }
        let owned = boot || self.iam_pages.contains(&id) || self.singles.contains_key(&id);
        // A damaged IAM page is still one; that it is damaged is said elsewhere.
        let damaged_iam = pfs.has(PfsByte::IAM) && self.facts.is_bad(id);
        if !owned && !damaged_iam {
            self.unowned(id, pfs);
        }
    }

    fn unowned(&mut self, id: PageId, pfs: PfsByte) {
        let (_, sgam) = map_pages(id);
        let map = PageId {
            page: pfs_page_of(id.page),
            ..id
        };
        let means = format!("Page {id} is in use, but no table has it: its space is lost.");
        let word = pfs.to_string();
        let args = [
            page(id),
            self.database(),
            page(sgam),
            page(map),
            word.into(),
        ];
        self.findings.plain(8906, Some(id), &args, means);
    }

    /// PFS bytes of pages without an owner may have any value in files of SQL Server; in ours they are 0.
    fn clean_byte(&mut self, id: PageId, pfs: PfsByte) {
        if self.shared.plan.own && pfs.0 != 0 {
            self.own_maps(
                id,
                format!("PFS says of page {id}, which no object owns: {pfs}."),
            );
        }
    }

    fn own_maps(&mut self, at: PageId, means: String) {
        self.findings.push(crate::finding::Finding {
            message: Message::custom(OWN_MAPS, 16, 1, &means),
            page: Some(at),
            subject: None,
            means,
            errors: 1,
        });
    }

    /// What lies behind the end of a file is free and not mixed.
    fn behind_the_end(&mut self, file: FileId, pages: u32) {
        let interval = pages.saturating_sub(1) / GAM_INTERVAL;
        let start = interval * GAM_INTERVAL;
        let Some((gam, sgam)) = self.shared.maps.bitmaps(file, interval as usize) else {
            return;
        };
        let extents = (pages - start).div_ceil(EXTENT_PAGES);
        let page_of = |bit: u32| page_at(file, start.saturating_add(bit * EXTENT_PAGES));
        let all = furrow_format::Bitmap::BITS;
        let taken = (extents..all).find(|bit| !gam.get(*bit));
        let mixed = sgam.first_set(extents, all);
        if let Some(bit) = taken {
            let first = page_of(bit);
            let means =
                format!("Extent {first} is in use by the GAM, but the file ends before it.");
            let args = [page(first), self.database()];
            self.findings.plain(8905, Some(first), &args, means);
        }
        if let Some(bit) = mixed {
            self.free_and_mixed(page_of(bit));
        }
    }

    /// Maps that cannot be believed leave the pages they speak of unproven.
    fn lost_maps(&mut self, file: FileId, pages: u32) {
        let starts = (0..pages).step_by(furrow_format::PFS_INTERVAL as usize);
        for start in starts {
            let id = page_at(file, start);
            if self.shared.maps.pfs(id).is_none() {
                let end = start.saturating_add(furrow_format::PFS_INTERVAL).min(pages) - 1;
                self.unproven(
                    PageId {
                        page: pfs_page_of(id.page),
                        ..id
                    },
                    (start, end),
                );
            }
        }
        for start in (0..pages).step_by(GAM_INTERVAL as usize) {
            let id = page_at(file, start);
            let end = start.saturating_add(GAM_INTERVAL).min(pages) - 1;
            let (gam, sgam) = map_pages(id);
            let maps = self.shared.maps;
            for (map, lost) in [
                (gam, maps.gam(id).is_none()),
                (sgam, maps.sgam(id).is_none()),
            ] {
                if lost {
                    self.unproven(map, (start, end));
                }
            }
        }
    }

    fn unproven(&mut self, map: PageId, (start, end): (u32, u32)) {
        let (from, to) = (page_at(map.file, start), page_at(map.file, end));
        let means = format!(
            "Allocation page {map} cannot be believed: who has pages {from} to {to} is unproven."
        );
        let args = [self.database(), page(from), page(to)];
        self.findings.plain(8998, Some(map), &args, means);
    }
}

/// The GAM and SGAM page that speak of a page.
fn map_pages(id: PageId) -> (PageId, PageId) {
    let at = |page: PageNo| PageId { page, ..id };
    (at(gam_page_of(id.page)), at(sgam_page_of(id.page)))
}

/// The pages of an extent.
fn pages_of(first: PageId) -> impl Iterator<Item = PageId> {
    (0..EXTENT_PAGES).map(move |n| page_at(first.file, first.page.0 + n))
}
