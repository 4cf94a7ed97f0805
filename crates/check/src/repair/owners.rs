//! Who owns which extent and page: what IAM pages claim, held against what pages say of themselves.
//!
//! # Rules
//! 1. A sound IAM page of a unit that the catalog lists owns what its map says, except extents with maps,
//!    lie behind the file's end, or are free by the GAM and have no page of the unit.
//! 2. An extent that two claim is the one's that has more pages on it.
//! 3. A page in use without a claim is the unit's that its header names: alone, where PFS has it in a
//!    mixed extent, else with its extent.
//! 4. Where only the base tables are known, an extent or a page that pages in use of other units lie on is
//!    not claimed by an IAM page, and such pages are never written ([`State::may_write`]).
//! 5. An IAM page that cannot be used is written again in its place: the catalog names the first of a chain,
//!    the one before it names each other one. If that page is unknown too, an unreadable page that PFS marks
//!    as an IAM page and that is in no chain is used: first for rows that nothing else has. The interval
//!    with the extent of the root is assigned first.

use super::state::{Extent, IamPlan, State, Used, extent_of};
use crate::plan::NO_UNIT;
use crate::scan::{Shared, Worker};
use furrow_format::catalog::unit_kind;
use furrow_format::{
    Bitmap, EXTENT_PAGES, Fullness, GAM_INTERVAL, Iam, Page, PageBuf, PageId, PageNo, PageType,
    PfsByte, SINGLE_PAGE_SLOTS, fixed_page_type,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The first page of the GAM interval of a page.
pub(super) fn interval_of(id: PageId) -> PageId {
    PageId {
        page: PageNo(id.page.0 / GAM_INTERVAL * GAM_INTERVAL),
        ..id
    }
}

/// How full PFS has a page of a unit.
pub(super) fn fullness_of(shared: &Shared<'_>, unit: u32, view: Page<'_>) -> Fullness {
    let heap = shared.plan.unit(unit).is_some_and(|u| u.index_id == 0);
    match view.page_type() {
        PageType::Data if heap => Fullness::of_free_bytes(view.free_count()),
        PageType::TextMix => Fullness::of_free_bytes(view.free_count()),
        PageType::TextTree => Fullness::UpTo100,
        _ => Fullness::Empty,
    }
}

/// Whether units of a kind have pages of this type, apart from IAM pages.
fn is_of_kind(kind: u8, page: PageType) -> bool {
    match page {
        PageType::Data | PageType::Index => kind == unit_kind::IN_ROW,
        PageType::TextMix | PageType::TextTree => kind != unit_kind::IN_ROW,
        _ => false,
    }
}

impl State<'_> {
    /// Finds all owners.
    pub(super) fn find_owners(&mut self) {
        self.gather_pages();
        self.claim();
        self.rescue_pages();
        self.rescue_roots();
        self.keep_owned();
        self.plan_chains();
    }

    fn byte_of(&self, unit: u32, view: Page<'_>, id: PageId) -> PfsByte {
        let known = self.shared.maps.pfs(id).unwrap_or(PfsByte::FREE);
        let ghosts = known.0 & PfsByte::GHOSTS;
        let full = fullness_of(self.shared, unit, view);
        PfsByte(PfsByte::ALLOCATED | ghosts).with_fullness(full)
    }

    /// Sound pages in use, by what their headers say. A page that an entry of its tree leads to is in use
    /// whatever PFS says.
    fn gather_pages(&mut self) {
        let (facts, plan) = (self.facts, self.plan());
        let mut known: BTreeSet<PageId> = BTreeSet::new();
        for fact in facts.pages.iter() {
            known.insert(fact.id);
            self.gather_page(fact.id, fact.unit);
        }
        let mut led_to: Vec<(PageId, u32)> = Vec::new();
        for child in facts.children.iter() {
            let lost = !known.contains(&child.child) && !facts.is_bad(child.child);
            if let Some(parent) = facts.page(child.parent).filter(|_| lost) {
                led_to.push((child.child, parent.unit));
            }
        }
        for unit in 0..plan.units.len() as u32 {
            let root = plan.unit(unit).map_or(PageId::NONE, |u| u.root);
            if !root.is_none() && !known.contains(&root) && !facts.is_bad(root) {
                led_to.push((root, unit));
            }
        }
        for (id, unit) in led_to {
            let Some(about) = plan.unit(unit) else {
                continue;
            };
            let page = self.library.get(id).filter(|page| page.1.is_ok());
            // A page of a type that the unit has none of was given up before.
            let is_of = |page: Page<'_>| {
                page.unit().0 == about.id && is_of_kind(about.kind, page.page_type())
            };
            if page.is_some_and(|page| is_of(Page::new(&page.0))) {
                self.gather_page(id, unit);
            }
        }
    }

    fn gather_page(&mut self, id: PageId, unit: u32) {
        if unit == NO_UNIT || fixed_page_type(id.page).is_some() || id.page.0 >= self.size(id.file)
        {
            return;
        }
        if let Some((page, Ok(_))) = self.library.get(id) {
            let byte = self.byte_of(unit, Page::new(&page), id);
            self.used.insert(id, Used { unit, byte });
        }
    }

    /// What IAM pages claim.
    fn claim(&mut self) {
        let (facts, plan, maps) = (self.facts, self.plan(), self.shared.maps);
        let mut claims: BTreeMap<Extent, Vec<u32>> = BTreeMap::new();
        for iam in &facts.iams {
            let unit = plan.unit_of(iam.unit_id);
            let start = iam.start;
            let sound =
                start.page.0.is_multiple_of(GAM_INTERVAL) && start.page.0 < self.size(start.file);
            if unit == NO_UNIT || !sound {
                continue;
            }
            let Some(page) = self.page(iam.id) else {
                continue;
            };
            let Some(map) = Iam::new(&page).map(Iam::extents) else {
                continue;
            };
            let first = start.page.0 / EXTENT_PAGES;
            let end = self.size(start.file) / EXTENT_PAGES;
            for bit in map.iter_set(Bitmap::BITS).filter(|bit| *bit > 0) {
                let extent = (start.file, first.saturating_add(bit));
                if extent.1 < end {
                    let of = claims.entry(extent).or_default();
                    if !of.contains(&unit) {
                        of.push(unit);
                    }
                }
            }
            for single in iam.singles.iter().filter(|single| !single.is_none()) {
                if single.page.0 < self.size(single.file) && fixed_page_type(single.page).is_none()
                {
                    self.singles.entry(*single).or_insert(unit);
                }
            }
        }
        let mut on: HashMap<(Extent, u32), u32> = HashMap::new();
        for (id, used) in &self.used {
            *on.entry((extent_of(*id), used.unit)).or_default() += 1;
        }
        for (extent, units) in claims {
            let pages = |unit: u32| on.get(&(extent, unit)).copied().unwrap_or(0);
            let first = super::state::pages_of(extent).next().unwrap_or_default();
            let free = maps.gam(first) == Some(true) || maps.sgam(first) == Some(true);
            let best = units
                .iter()
                .copied()
                .max_by_key(|unit| (pages(*unit), u32::MAX - unit));
            let alone = |unit: u32| {
                !free && units.len() == 1 && self.may_write(unit, super::state::pages_of(extent))
            };
            if let Some(unit) = best.filter(|unit| pages(*unit) > 0 || alone(*unit)) {
                self.claims.insert(extent, unit);
            }
        }
        let mut singles = std::mem::take(&mut self.singles);
        singles.retain(|single, unit| self.may_write(*unit, std::iter::once(*single)));
        self.singles = singles;
        let claims = &self.claims;
        self.singles
            .retain(|single, _| !claims.contains_key(&extent_of(*single)));
    }

    /// Pages in use that no IAM page claims.
    fn rescue_pages(&mut self) {
        let mut votes: BTreeMap<Extent, BTreeMap<u32, u32>> = BTreeMap::new();
        let mut mixed: Vec<(PageId, u32)> = Vec::new();
        for (id, used) in &self.used {
            let extent = extent_of(*id);
            if self.claims.contains_key(&extent) || self.singles.contains_key(id) {
                continue;
            }
            let pfs = self.shared.maps.pfs(*id);
            let neighbours = self
                .singles
                .keys()
                .any(|single| extent_of(*single) == extent)
                || self
                    .facts
                    .iams
                    .iter()
                    .any(|iam| extent_of(iam.id) == extent)
                || extent.1.is_multiple_of(GAM_INTERVAL / EXTENT_PAGES)
                || extent == extent_of(furrow_format::BOOT_PAGE);
            if pfs.is_some_and(|pfs| pfs.has(PfsByte::MIXED)) || neighbours {
                mixed.push((*id, used.unit));
            } else {
                *votes
                    .entry(extent)
                    .or_default()
                    .entry(used.unit)
                    .or_default() += 1;
            }
        }
        self.singles.extend(mixed);
        for (extent, units) in votes {
            let best = units
                .into_iter()
                .max_by_key(|(unit, pages)| (*pages, u32::MAX - unit));
            if let Some((unit, _)) = best {
                self.claims.insert(extent, unit);
            }
        }
    }

    /// Roots that the catalog names, and no IAM page claims any more: with their extents, or alone where PFS
    /// has them in mixed ones. A root never moves, so a tree cannot be written without it.
    fn rescue_roots(&mut self) {
        let plan = self.plan();
        for unit in 0..plan.units.len() as u32 {
            let root = plan.unit(unit).map_or(PageId::NONE, |unit| unit.root);
            let extent = extent_of(root);
            let inside = root.page.0 < self.size(root.file) && fixed_page_type(root.page).is_none();
            let taken = self.claims.contains_key(&extent) || self.singles.contains_key(&root);
            let ours = self.may_write(unit, std::iter::once(root));
            if root.is_none() || !inside || taken || !ours || !self.has_rows(unit) {
                continue;
            }
            let in_mixed = self
                .shared
                .maps
                .pfs(root)
                .is_some_and(|pfs| pfs.has(PfsByte::MIXED));
            let others = super::state::pages_of(extent).any(|id| {
                self.singles.contains_key(&id)
                    || self.facts.iams.iter().any(|iam| iam.id == id)
                    || self.used.get(&id).is_some_and(|used| used.unit != unit)
            });
            let others = others || !self.may_write(unit, super::state::pages_of(extent));
            if in_mixed || others {
                self.singles.insert(root, unit);
            } else {
                self.claims.insert(extent, unit);
            }
        }
    }

    /// Pages that lie in another unit's extents are no longer in use.
    fn keep_owned(&mut self) {
        let mut foreign = Vec::new();
        for (id, used) in &self.used {
            let owner = self
                .claims
                .get(&extent_of(*id))
                .or_else(|| self.singles.get(id));
            if owner != Some(&used.unit) {
                foreign.push((*id, used.unit));
            }
        }
        for (id, unit) in foreign {
            self.used.remove(&id);
            self.lose_page(unit, id);
        }
    }

    /// The IAM pages of each unit: those that are sound, and those that are to be written again.
    fn plan_chains(&mut self) {
        let (facts, plan) = (self.facts, self.plan());
        let mut taken: BTreeSet<PageId> = facts.iams.iter().map(|iam| iam.id).collect();
        for unit in 0..plan.units.len() as u32 {
            let Some(about) = plan.unit(unit).filter(|unit| !unit.first_iam.is_none()) else {
                continue;
            };
            let sound = |start: PageId| {
                start.page.0.is_multiple_of(GAM_INTERVAL) && start.page.0 < self.size(start.file)
            };
            let mut own: Vec<_> = facts
                .iams
                .iter()
                .filter(|iam| iam.unit_id == about.id)
                .collect();
            own.sort_by_key(|iam| (iam.id != about.first_iam, iam.sequence, iam.id));
            let mut chain: Vec<IamPlan> = Vec::new();
            for iam in own.iter().filter(|iam| sound(iam.start)) {
                if chain.iter().all(|other| other.start != iam.start) {
                    chain.push(IamPlan {
                        id: iam.id,
                        start: iam.start,
                        singles: Vec::new(),
                    });
                }
            }
            let mut spare: Vec<PageId> = vec![about.first_iam];
            spare.extend(own.iter().filter(|iam| !sound(iam.start)).map(|iam| iam.id));
            spare.extend(
                own.iter()
                    .map(|iam| iam.next)
                    .filter(|next| !next.is_none()),
            );
            spare.retain(|id| {
                let mine = own.iter().any(|iam| iam.id == *id);
                let inside = fixed_page_type(id.page).is_none() && id.page.0 < self.size(id.file);
                inside
                    && chain.iter().all(|iam| iam.id != *id)
                    && (mine || !taken.contains(id) && !self.used.contains_key(id))
            });
            self.cover(unit, &mut chain, spare);
            chain.sort_by_key(|iam| iam.id != about.first_iam);
            if chain.first().is_none_or(|iam| iam.id != about.first_iam) {
                continue;
            }
            taken.extend(chain.iter().map(|iam| iam.id));
            self.iams.insert(unit, chain);
        }
        self.extend_chains(&mut taken);
        self.name_singles();
        self.drop_unnamed();
    }

    /// Gives chains that lack an IAM page those that cannot be read and that nothing leads to.
    fn extend_chains(&mut self, taken: &mut BTreeSet<PageId>) {
        let is_iam = |id: PageId| {
            let pfs = self.shared.maps.pfs(id);
            pfs.is_some_and(|pfs| pfs.is_allocated() && pfs.has(PfsByte::IAM))
        };
        let is_taken = |id: PageId| {
            let inside = fixed_page_type(id.page).is_none() && id.page.0 < self.size(id.file);
            let owned = self.singles.contains_key(&id) || self.claims.contains_key(&extent_of(id));
            !inside || owned || taken.contains(&id)
        };
        let bad = self.facts.bad.iter().map(|bad| bad.id);
        let lost = bad.filter(|id| self.plan().readable && is_iam(*id) && !is_taken(*id));
        let lost: Vec<PageId> = lost.collect();
        let mut chains: Vec<_> = std::mem::take(&mut self.iams).into_iter().collect();
        // An index can be built again from its table.
        chains.sort_by_key(|(unit, _)| {
            let about = self.plan().unit(*unit);
            about.is_some_and(|u| u.index_id > 1 && u.kind == unit_kind::IN_ROW)
        });
        for (unit, mut chain) in chains {
            let spare = lost.iter().copied().filter(|id| !taken.contains(id));
            self.cover(unit, &mut chain, spare.collect());
            taken.extend(chain.iter().map(|iam| iam.id));
            self.iams.insert(unit, chain);
        }
    }

    /// Gives each interval that the unit has extents in an IAM page, as far as there are spare ones; the
    /// first page of the chain has an interval in any case.
    fn cover(&self, unit: u32, chain: &mut Vec<IamPlan>, spare: Vec<PageId>) {
        let mut wanted: BTreeMap<PageId, u32> = BTreeMap::new();
        for ((file, extent), _) in self.claims.iter().filter(|claim| *claim.1 == unit) {
            let page = PageNo(extent.saturating_mul(EXTENT_PAGES));
            *wanted
                .entry(interval_of(PageId { file: *file, page }))
                .or_default() += 1;
        }
        wanted.retain(|start, _| chain.iter().all(|iam| iam.start != *start));
        let mut wanted: Vec<(PageId, u32)> = wanted.into_iter().collect();
        let about = self.plan().unit(unit);
        let (first, root) = about.map_or((PageId::NONE, PageId::NONE), |u| (u.first_iam, u.root));
        let of_root = self.claims.get(&extent_of(root)) == Some(&unit);
        let is_of_root = |start: PageId| of_root && start == interval_of(root);
        wanted.sort_by_key(|(start, extents)| (is_of_root(*start), *extents, *start));
        for id in spare {
            let start = match wanted.pop() {
                Some((start, _)) => start,
                None if id == first => interval_of(id),
                None => break,
            };
            // An interval of another page of the chain is that page's.
            if chain.iter().any(|iam| iam.start == start || iam.id == id) {
                chain.retain(|iam| iam.start != start || iam.id == id);
            }
            chain.push(IamPlan {
                id,
                start,
                singles: Vec::new(),
            });
        }
    }

    /// Single pages go to the slots of the first IAM page, then of the others.
    fn name_singles(&mut self) {
        let singles: Vec<(PageId, u32)> =
            self.singles.iter().map(|(id, unit)| (*id, *unit)).collect();
        let iam_pages: BTreeSet<PageId> = self.iams.values().flatten().map(|iam| iam.id).collect();
        self.singles.clear();
        for (id, unit) in singles {
            let room = usize::from(SINGLE_PAGE_SLOTS);
            let chain = self.iams.get_mut(&unit);
            let place = chain.and_then(|c| c.iter_mut().find(|iam| iam.singles.len() < room));
            match place.filter(|_| !iam_pages.contains(&id)) {
                Some(iam) => {
                    iam.singles.push(id);
                    self.singles.insert(id, unit);
                }
                None => {
                    if self.used.remove(&id).is_some() {
                        self.lose_page(unit, id);
                    }
                }
            }
        }
    }

    /// Extents without an IAM page that could name them, and their pages, are given up.
    fn drop_unnamed(&mut self) {
        let mut gone = BTreeSet::new();
        for (extent, unit) in &self.claims {
            let page = PageNo(extent.1.saturating_mul(EXTENT_PAGES));
            let start = interval_of(PageId {
                file: extent.0,
                page,
            });
            let named = self.iams.get(unit);
            if !named.is_some_and(|chain| chain.iter().any(|iam| iam.start == start)) {
                gone.insert(*extent);
            }
        }
        self.claims.retain(|extent, _| !gone.contains(extent));
        let lost: Vec<(PageId, u32)> = self
            .used
            .iter()
            .filter(|(id, _)| gone.contains(&extent_of(**id)))
            .map(|(id, used)| (*id, used.unit))
            .collect();
        for (id, unit) in lost {
            self.used.remove(&id);
            self.lose_page(unit, id);
        }
    }

    /// The rows of a page with what a scan would say of each.
    pub(super) fn judged<R>(
        &self,
        id: PageId,
        unit: u32,
        bytes: &PageBuf,
        each: impl FnOnce(Vec<crate::scan::Judged<'_>>) -> R,
    ) -> R {
        let mut worker = Worker::new(self.shared);
        each(worker.judged(id, unit, bytes))
    }

    /// Whether a unit is one of rows that the plan can read.
    pub(super) fn has_rows(&self, unit: u32) -> bool {
        let about = self.plan().unit(unit);
        about.is_some_and(|about| about.kind == unit_kind::IN_ROW)
            && self.plan().rows_of(unit).is_some()
    }
}
