//! IAM chains: the catalog names the first page of each, links lead on, places count up.

use super::Matcher;
use crate::facts::IamFact;
use crate::finding::page;
use crate::plan::NO_UNIT;
use furrow_format::PageId;
use std::collections::{HashMap, HashSet};

impl Matcher<'_> {
    pub(super) fn match_chains(&mut self) {
        let (plan, facts) = (self.shared.plan, self.facts);
        let mut linked: HashSet<PageId> = HashSet::new();
        for (at, unit) in plan.units.iter().enumerate() {
            if !unit.first_iam.is_none() && self.shared.judges(at as u32) {
                self.chain(at as u32, unit.first_iam, &mut linked);
            }
        }
        let judged = |iam: &&IamFact| self.shared.judges(plan.unit_of(iam.unit_id));
        let orphans = facts.iams.iter().filter(judged);
        let orphans: Vec<_> = orphans.filter(|iam| !linked.contains(&iam.id)).collect();
        for iam in orphans {
            self.orphan(iam);
        }
    }

    fn iam(&self, id: PageId) -> Option<&'_ IamFact> {
        let at = self
            .facts
            .iams
            .binary_search_by_key(&id, |iam| iam.id)
            .ok()?;
        self.facts.iams.get(at)
    }

    fn chain(&mut self, unit: u32, first: PageId, linked: &mut HashSet<PageId>) {
        let plan = self.shared.plan;
        let id = plan.unit(unit).map_or(0, |unit| unit.id);
        let mut intervals: HashMap<PageId, PageId> = HashMap::new();
        let mut before: Option<(PageId, u32)> = None;
        let mut next = first;
        while !next.is_none() {
            let found = self.iam(next).copied().filter(|iam| iam.unit_id == id);
            let Some(iam) = found else {
                self.broken(unit, next, before.map(|b| b.0));
                return;
            };
            if !linked.insert(iam.id) {
                self.broken(unit, next, before.map(|b| b.0));
                return;
            }
            let (previous, sequence) = before.map_or((PageId::NONE, 0), |b| (b.0, b.1 + 1));
            if iam.prev != previous {
                let means = format!("The IAM chain {}is not linked back.", plan.of(unit));
                let mut args = plan.unit_args(unit).to_vec();
                args.extend([page(previous), page(iam.id), page(iam.id), page(iam.prev)]);
                self.findings
                    .of_page(plan, (8969, unit), iam.id, &args, means);
            }
            if iam.sequence != sequence {
                self.out_of_sequence(unit, before, &iam);
            }
            if let Some(other) = intervals.insert(iam.start, iam.id) {
                let means = format!("Two IAM pages {}speak of the same extents.", plan.of(unit));
                let args = [page(other), page(iam.id)];
                self.of_unit((8947, unit), iam.id, &args, means);
            }
            before = Some((iam.id, sequence));
            next = iam.next;
        }
    }

    fn out_of_sequence(&mut self, unit: u32, before: Option<(PageId, u32)>, iam: &IamFact) {
        let plan = self.shared.plan;
        let means = format!(
            "IAM page {} {}has the wrong place in its chain.",
            iam.id,
            plan.of(unit)
        );
        let (previous, sequence) = before.unwrap_or((PageId::NONE, 0));
        let args = [
            page(previous),
            sequence.into(),
            page(iam.id),
            iam.sequence.into(),
        ];
        self.of_unit((2577, unit), iam.id, &args, means);
    }

    /// The chain leads to a page that is no IAM page of the unit.
    fn broken(&mut self, unit: u32, lost: PageId, from: Option<PageId>) {
        let plan = self.shared.plan;
        self.maimed.insert(unit);
        let means = format!(
            "The list of extents {}breaks at page {lost}: what follows has no owner.",
            plan.of(unit)
        );
        let number = if from.is_some() { 2575 } else { 2576 };
        let mut args = vec![page(lost), page(from.unwrap_or(PageId::NONE))];
        args.extend(plan.unit_args(unit));
        self.findings
            .of_page(plan, (number, unit), lost, &args, means);
    }

    /// An IAM page that no chain leads to.
    fn orphan(&mut self, iam: &IamFact) {
        let plan = self.shared.plan;
        let unit = plan.unit_of(iam.unit_id);
        let of = if unit == NO_UNIT {
            "of a table that the catalog does not know".to_owned()
        } else {
            plan.of(unit).trim_end().to_owned()
        };
        let means = format!(
            "No chain leads to IAM page {} {of}: its extents are lost.",
            iam.id
        );
        let mut args = vec![page(iam.id), page(iam.prev)];
        args.extend(plan.id_args(iam.unit_id));
        self.findings
            .of_page(plan, (2576, unit), iam.id, &args, means);
    }
}
