//! Counts of the catalog against what was counted: rows, pages used, leaf pages, pages set aside.

use super::Matcher;
use furrow_format::catalog::unit_kind;
use furrow_format::{EXTENT_PAGES, PageType};
use std::collections::HashMap;
use std::sync::atomic::Ordering;

/// The counts, as messages name them.
const NAMES: [&str; 4] = ["ROWCOUNT", "USED page", "DATA page", "RSVD page"];

/// What was counted of a unit.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    iams: i64,
    pages: i64,
    leaves: i64,
    extents: i64,
    singles: i64,
}

impl Matcher<'_> {
    pub(super) fn match_counts(&mut self) {
        if !self.counts {
            return;
        }
        self.rows_counted();
        // Databases that came from SQL Server 2000 keep counters of its time.
        if self.shared.plan.native {
            self.pages_counted();
        }
    }

    fn wrong(&mut self, unit: u32, what: &str, (stated, found): (i64, i64)) {
        let plan = self.shared.plan;
        let which = NAMES.iter().position(|name| *name == what).unwrap_or(0);
        self.wrong_counts.push((unit, which, found));
        let table = plan.table(unit).to_owned();
        let means = format!(
            "The catalog counts {stated} for {what} {}; there are {found}.",
            plan.of(unit)
        );
        let mut args = vec![what.into(), table.into()];
        args.extend(plan.unit_args(unit).into_iter().skip(1));
        let at = plan
            .unit(unit)
            .map_or_else(Default::default, |unit| unit.first_iam);
        self.findings.of_page(plan, (2508, unit), at, &args, means);
    }

    fn rows_counted(&mut self) {
        let shared = self.shared;
        for unit in 0..shared.plan.units.len() as u32 {
            let (Some(rows), Some(about)) = (shared.plan.rows_of(unit), shared.plan.unit(unit))
            else {
                continue;
            };
            let judged = about.kind == unit_kind::IN_ROW && shared.judges(unit);
            if !judged || self.maimed.contains(&unit) {
                continue;
            }
            let found = shared
                .rows
                .get(unit as usize)
                .map_or(0, |rows| rows.load(Ordering::Relaxed));
            if rows.rows != found as i64 {
                self.wrong(unit, "ROWCOUNT", (rows.rows, found as i64));
            }
        }
    }

    fn pages_counted(&mut self) {
        let (shared, facts) = (self.shared, self.facts);
        let mut counted: HashMap<u32, Counted> = HashMap::new();
        for iam in &facts.iams {
            let of = counted.entry(shared.plan.unit_of(iam.unit_id)).or_default();
            of.iams += 1;
            of.extents += i64::from(iam.extents);
            of.singles += iam.singles.iter().filter(|page| !page.is_none()).count() as i64;
        }
        for fact in facts.pages.iter() {
            let of = counted.entry(fact.unit).or_default();
            of.pages += 1;
            let kind = PageType::from_byte(fact.kind);
            let over_data = shared
                .plan
                .rows_of(fact.unit)
                .is_some_and(|rows| rows.leaf_type == PageType::Data);
            let leaf =
                kind == PageType::Data || kind == PageType::Index && fact.level == 0 && !over_data;
            of.leaves += i64::from(leaf);
        }
        for (at, unit) in shared.plan.units.iter().enumerate() {
            let at = at as u32;
            let judged = !unit.first_iam.is_none() && shared.judges(at);
            if !judged || self.maimed.contains(&at) {
                continue;
            }
            let of = counted.get(&at).copied().unwrap_or_default();
            let found = [
                of.pages + of.iams,
                of.leaves,
                of.extents * i64::from(EXTENT_PAGES) + of.singles + of.iams,
            ];
            let names = NAMES.into_iter().skip(1);
            for ((name, stated), found) in names.zip(unit.counts).zip(found) {
                if stated != found {
                    self.wrong(at, name, (stated, found));
                }
            }
        }
    }
}
