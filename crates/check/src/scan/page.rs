//! A page: is it in use, is it whole, is it the one that its place demands?

use super::worker::Worker;
use crate::facts::{BadPage, PageFact, Why};
use crate::finding::page;
use crate::options::Scope;
use crate::plan::NO_UNIT;
use furrow_datafile::{PageForm, kind_fault, prepare, required_type};
use furrow_format::{
    AllocUnitId, Fullness, Page, PageBuf, PageFault, PageId, PageType, PfsByte, Protection,
    SYSTEM_MAPS_UNIT,
};

impl Worker<'_> {
    /// Judges a page as it was read.
    pub(super) fn page(&mut self, id: PageId, bytes: &mut PageBuf) {
        let pfs = self.shared.maps.pfs(id);
        let fixed = required_type(id);
        let in_use = fixed.is_some() || self.shared.maps.is_in_use(id);
        if !in_use {
            return;
        }
        // Where the map that speaks of the page cannot be believed, a page that is not whole may be free.
        let in_doubt = fixed.is_none() && pfs.is_none();
        match prepare(self.shared.source.form(), bytes, id) {
            Err(_) if in_doubt => return,
            Err(fault) => {
                self.facts.pages_checked += 1;
                let why = match fault {
                    PageFault::PageId { actual, .. } => Why::OtherPage(actual),
                    other => Why::NotWhole(self.facts.keys.keep_text(&other.to_string())),
                };
                self.facts.bad.push(BadPage { id, why });
                return;
            }
            Ok(Protection::TornBits | Protection::Checksum) => {}
            Ok(Protection::None) => self.unprotected(id, bytes),
        }
        let view = Page::new(bytes);
        match fixed {
            Some(kind) => {
                self.facts.pages_checked += 1;
                self.fixed_page(id, kind, bytes);
            }
            None => {
                let unit = self.unit_of(view);
                if in_doubt && unit == NO_UNIT && view.page_type() != PageType::Iam {
                    return;
                }
                self.facts.pages_checked += 1;
                self.ordinary_page(id, unit, pfs, bytes);
            }
        }
    }

    /// A page that is protected by nothing has nothing where its checksum would be.
    fn unprotected(&mut self, id: PageId, bytes: &PageBuf) {
        let view = Page::new(bytes);
        // Of a page in memory the field is what the last write left there.
        if self.shared.source.form() == PageForm::Stored && view.torn_bits() != 0 {
            let unit = self.unit_of(view);
            let values = (view.flags().0.into(), view.torn_bits().into());
            let test = "m_flagBits says how the page is protected";
            self.findings
                .page_test(self.shared.plan, unit, id, (test, values));
        }
    }

    /// The unit that the page says it is of.
    pub(super) fn unit_of(&self, view: Page<'_>) -> u32 {
        let plan = self.shared.plan;
        let stated = plan.unit_of(view.unit().0);
        // Clustered leaves of databases that were made by SQL Server 2000 carry index 0.
        if stated == NO_UNIT && view.page_type() == PageType::Data && view.index_part() == 0 {
            return plan.unit_of(AllocUnitId::from_parts(1, view.object_part()).0);
        }
        stated
    }

    /// File header, maps, boot page.
    fn fixed_page(&mut self, id: PageId, kind: PageType, bytes: &PageBuf) {
        let view = Page::new(bytes);
        let in_place = kind == PageType::Boot || view.unit() == SYSTEM_MAPS_UNIT;
        let sound = in_place && kind_fault(kind, bytes).is_none();
        if kind == PageType::Boot && !sound {
            let means = format!("The boot page {id} does not say what database this is.");
            let name = "";
            let args = [
                "Boot".into(),
                page(id),
                name.into(),
                self.shared.plan.database_id.into(),
            ];
            self.findings.plain(5250, Some(id), &args, means);
            return;
        }
        if !sound {
            let means =
                format!("Page {id} must be a {kind}, and is not: what it maps is not known.");
            let word = kind.to_string();
            let args = [
                page(id),
                word.as_str().into(),
                view.page_type().to_byte().into(),
            ];
            self.findings.plain(8946, Some(id), &args, means);
            return;
        }
        // The record of a file header is rewritten behind itself: its page keeps no account.
        if kind != PageType::FileHeader {
            self.frame(id, NO_UNIT, view);
        }
        if let Some(pfs) = self.shared.maps.pfs(id) {
            let expected = if kind == PageType::Boot {
                PfsByte::BOOT
            } else {
                PfsByte::FIXED
            };
            if !pfs.is_allocated() || pfs.has(PfsByte::IAM) {
                self.wrong_pfs(id, pfs, expected);
            }
        }
    }

    /// PFS says something else of a page than what it is.
    pub(super) fn wrong_pfs(&mut self, id: PageId, found: PfsByte, expected: PfsByte) {
        let map = PageId {
            page: furrow_format::pfs_page_of(id.page),
            ..id
        };
        let means = format!("PFS page {map} says of page {id}: {found}; it is: {expected}.");
        let args = [page(id), page(map), found.0.into(), expected.0.into()];
        self.findings.plain(8948, Some(id), &args, means);
    }

    fn ordinary_page(&mut self, id: PageId, unit: u32, pfs: Option<PfsByte>, bytes: &PageBuf) {
        let view = Page::new(bytes);
        let kind = view.page_type();
        let is_iam = kind == PageType::Iam;
        if let Some(pfs) = pfs.filter(|pfs| pfs.has(PfsByte::IAM) != is_iam) {
            let expected = if is_iam {
                pfs.with(PfsByte::IAM)
            } else {
                pfs.without(PfsByte::IAM)
            };
            self.wrong_pfs(id, pfs, expected);
        }
        let judged = match self.shared.scope {
            Scope::Database => true,
            Scope::Object(id) => self
                .shared
                .plan
                .unit(unit)
                .is_some_and(|u| u.object_id == id),
            Scope::Filegroup(_) => true,
            Scope::Catalog => false,
        };
        if !judged && !is_iam {
            self.seen(id, unit, view, Default::default());
            return;
        }
        match kind {
            PageType::Data | PageType::Index => {
                let (low, high) = self.row_page(id, unit, bytes);
                self.seen(id, unit, view, (low, high));
                self.fullness(id, unit, pfs, view);
            }
            PageType::TextMix | PageType::TextTree => {
                self.text_page(id, unit, bytes);
                self.seen(id, unit, view, Default::default());
                self.fullness(id, unit, pfs, view);
            }
            PageType::Iam => {
                self.iam_page(id, unit, bytes);
                self.iam_fullness(id, pfs);
            }
            PageType::Configuration => {}
            other => {
                let plan = self.shared.plan;
                let means = format!("Page {id} {}is a {other}.", plan.of(unit));
                let mut args = vec![page(id)];
                args.extend(plan.unit_args(unit));
                args.push(other.to_byte().into());
                self.findings.of_page(plan, (8938, unit), id, &args, means);
                self.seen(id, unit, view, Default::default());
            }
        }
    }

    /// SQL Server says of an IAM page at times that it is full; this engine never does.
    fn iam_fullness(&mut self, id: PageId, pfs: Option<PfsByte>) {
        let odd = pfs.filter(|pfs| pfs.fullness() != Fullness::Empty);
        if let Some(pfs) = odd.filter(|_| self.shared.plan.own) {
            self.wrong_pfs(id, pfs, pfs.with_fullness(Fullness::Empty));
        }
    }

    fn seen(
        &mut self,
        id: PageId,
        unit: u32,
        view: Page<'_>,
        (low, high): (crate::facts::KeyRef, crate::facts::KeyRef),
    ) {
        self.facts.pages.push(PageFact {
            id,
            unit,
            unit_id: view.unit().0,
            kind: view.page_type().to_byte(),
            level: view.level(),
            prev: view.prev(),
            next: view.next(),
            low,
            high,
        });
    }

    /// PFS keeps how full pages of heaps and of large values are; pages of indexes stay at 0.
    fn fullness(&mut self, id: PageId, unit: u32, pfs: Option<PfsByte>, view: Page<'_>) {
        let plan = self.shared.plan;
        let (Some(pfs), Some(about)) = (pfs, plan.unit(unit)) else {
            return;
        };
        let kept = match view.page_type() {
            PageType::Data => about.index_id == 0,
            PageType::TextMix => true,
            // Pages of the trees above pieces count as full, whatever is on them.
            PageType::TextTree => return,
            _ => false,
        };
        let expected = if kept {
            Fullness::of_free_bytes(view.free_count())
        } else {
            Fullness::Empty
        };
        if pfs.fullness() == expected {
            return;
        }
        let right = pfs.with_fullness(expected);
        let means = format!(
            "PFS misjudges how full page {id} {}is: an insert may look in the wrong place.",
            plan.of(unit)
        );
        let mut args = vec![page(id)];
        args.extend(plan.unit_args(unit));
        args.extend([right.to_string().into(), pfs.to_string().into()]);
        self.findings.of_page(plan, (8914, unit), id, &args, means);
    }
}
