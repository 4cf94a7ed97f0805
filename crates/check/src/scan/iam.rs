//! An IAM page: which extents and single pages it gives to its unit.

use super::worker::{Worker, owner_of_word};
use crate::facts::IamFact;
use crate::finding::page;
use furrow_format::{
    Bitmap, EXTENT_PAGES, GAM_INTERVAL, Iam, Page, PageBuf, PageId, PageNo, SINGLE_PAGE_SLOTS,
};
use std::sync::atomic::Ordering;

impl Worker<'_> {
    pub(super) fn iam_page(&mut self, id: PageId, unit: u32, bytes: &PageBuf) {
        let view = Page::new(bytes);
        let Some(iam) = Iam::new(bytes) else {
            let means =
                format!("IAM page {id} cannot be understood: what it owned has no owner now.");
            let args = [page(id), "IAM".into(), view.page_type().to_byte().into()];
            self.findings.plain(8946, Some(id), &args, means);
            return;
        };
        self.frame(id, unit, view);
        let start = iam.interval_start();
        let mut fact = IamFact {
            id,
            unit_id: view.unit().0,
            sequence: iam.sequence(),
            start,
            prev: view.prev(),
            next: view.next(),
            singles: [PageId::NONE; SINGLE_PAGE_SLOTS as usize],
            extents: 0,
        };
        for (place, single) in fact.singles.iter_mut().zip(iam.single_pages()) {
            *place = single;
        }
        let known = self.shared.maps.pages(start.file) > start.page.0;
        if !known || !start.page.0.is_multiple_of(GAM_INTERVAL) {
            self.beyond(id, unit, start);
        } else {
            fact.extents = self.claim(id, unit, start, iam.extents());
        }
        self.facts.iams.push(fact);
    }

    /// Takes the extents for the unit.
    fn claim(&mut self, id: PageId, unit: u32, start: PageId, map: Bitmap<'_>) -> u32 {
        let shared = self.shared;
        let Some(file) = shared.maps.file_index(start.file) else {
            return 0;
        };
        let mut taken = 0;
        for bit in map.iter_set(Bitmap::BITS) {
            let first = PageId {
                page: PageNo(start.page.0.saturating_add(bit * EXTENT_PAGES)),
                ..start
            };
            let extent = (first.page.0 / EXTENT_PAGES) as usize;
            let Some(owner) = shared
                .owners
                .get(file)
                .and_then(|owners| owners.get(extent))
            else {
                self.beyond(id, unit, first);
                continue;
            };
            taken += 1;
            // A unit that the catalog does not know owns its extents all the same.
            let mine = unit.saturating_add(1);
            let before = owner.swap(mine, Ordering::Relaxed);
            if let Some(before) = owner_of_word(before) {
                self.facts.claimed_twice.push((first, before, unit));
            }
        }
        taken
    }

    fn beyond(&mut self, id: PageId, unit: u32, extent: PageId) {
        let plan = self.shared.plan;
        let means = format!(
            "IAM page {id} {}owns extent {extent}, which is not in the files.",
            plan.of(unit)
        );
        let mut args = vec![page(extent)];
        args.extend(plan.unit_args(unit));
        self.findings.of_page(plan, (2579, unit), id, &args, means);
    }
}
