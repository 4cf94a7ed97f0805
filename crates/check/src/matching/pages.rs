//! Pages and their owners: what could not be used, and what is of another unit than the maps say.

use super::Matcher;
use crate::facts::{BadPage, ChildFact, PageFact, Why};
use crate::finding::page;
use crate::findings::LISTED;
use crate::plan::NO_UNIT;
use furrow_format::{BOOT_PAGE, PageId, fixed_page_type};
use std::collections::HashMap;

/// Pages that could not be used of which the rows are named, the first ones: more are not listed.
const NAMED_ROWS: usize = LISTED;

impl Matcher<'_> {
    /// Pages that are not whole, now that it is known whose they are.
    pub(super) fn match_bad_pages(&mut self) {
        let facts = self.facts;
        for bad in facts.bad.iter() {
            let unit = self.owner(bad.id).unwrap_or(NO_UNIT);
            self.maimed.insert(unit);
            match fixed_page_type(bad.id.page) {
                Some(_) => self.bad_map(&bad),
                None if bad.id == BOOT_PAGE => self.bad_map(&bad),
                None => self.bad_page(&bad, unit),
            }
        }
    }

    fn bad_map(&mut self, bad: &BadPage) {
        let id = bad.id;
        let kind = fixed_page_type(id.page).map_or("BOOT_PAGE".to_owned(), |kind| kind.to_string());
        let means = format!("{kind} {id} of file {} {}.", id.file, why(&bad.why));
        let args = [page(id), kind.into(), 0.into()];
        self.findings.plain(8946, Some(id), &args, means);
        self.cause(bad, NO_UNIT);
    }

    fn bad_page(&mut self, bad: &BadPage, unit: u32) {
        let (plan, id) = (self.shared.plan, bad.id);
        let rows = self.rows_on(id, unit);
        let means = format!("Page {id} {}{}{rows}.", plan.of(unit), why(&bad.why));
        self.of_unit((8928, unit), id, &[page(id)], means);
        self.cause(bad, unit);
    }

    /// The second message: what it is that makes the page useless.
    fn cause(&mut self, bad: &BadPage, unit: u32) {
        let id = bad.id;
        match &bad.why {
            Why::NotWhole(fault) => {
                let fault = self.facts.keys.text(*fault);
                let means = format!(
                    "Page {id} was changed after it was written, or half written: {fault}."
                );
                let test = "IS_OFF (BUF_IOERR, pBUF->bstat)";
                let args = [page(id), test.into(), 0.into(), (-4).into()];
                self.of_unit((8939, unit), id, &args, means);
            }
            Why::OtherPage(actual) => {
                let means = if actual.is_none() {
                    format!("There is no page at {id}: its bytes are not a page's.")
                } else {
                    format!("Page {actual} lies where page {id} must be.")
                };
                let args = [page(id), page(*actual)];
                self.of_unit((8909, unit), id, &args, means);
            }
            Why::Unread(error) => {
                let error = self.facts.keys.text(*error);
                let means = format!("The device does not give page {id}: {error}.");
                let args = [page(id), "SH".into(), error.as_str().into()];
                self.findings
                    .of_page(self.shared.plan, (8966, unit), id, &args, means);
            }
        }
    }

    /// What is known of the rows on a page that cannot be used: from the entry above it and the one behind.
    fn rows_on(&mut self, id: PageId, unit: u32) -> String {
        let Some(rows) = self.shared.plan.rows_of(unit).filter(|rows| !rows.is_heap) else {
            return String::new();
        };
        let Some(entry) = self.entry_of_bad(id) else {
            return String::new();
        };
        let siblings = self.facts.children_of(entry.parent);
        let next = siblings.iter().find(|c| c.slot > entry.slot);
        let words = |key| self.key_words(&rows.node, &rows.leaf, key);
        match (words(entry.key), next.and_then(|next| words(next.key))) {
            (Some(low), Some(high)) => format!(": the rows from {low} up to {high} are on it"),
            (Some(low), None) => format!(": rows from {low} on are on it"),
            (None, Some(high)) => format!(": rows up to {high} are on it"),
            (None, None) => String::new(),
        }
    }

    /// The first entry that leads to a page that could not be used.
    fn entry_of_bad(&mut self, id: PageId) -> Option<ChildFact> {
        let facts = self.facts;
        let entries = self.entries.get_or_insert_with(|| {
            let mut entries = HashMap::new();
            let end = facts.bad.at(NAMED_ROWS).map(|bad| bad.id);
            let named = |child: &ChildFact| end.is_none_or(|end| child.child < end);
            let children = facts.children.iter().filter(named);
            for child in children.filter(|child| facts.is_bad(child.child)) {
                entries.entry(child.child).or_insert(child);
            }
            entries
        });
        entries.get(&id).copied()
    }

    /// Each page of rows or large values is of the unit that the maps give it to.
    pub(super) fn match_owners(&mut self) {
        let (facts, plan) = (self.facts, self.shared.plan);
        for fact in facts.pages.iter() {
            // A page that no map gives to anybody was reported with its extent.
            let Some(owner) = self.owner(fact.id) else {
                self.unproven_page(&fact);
                continue;
            };
            // Of a unit that the catalog does not list, the IAM pages are reported.
            if fact.unit == owner {
                continue;
            }
            self.maimed.insert(owner);
            let means = format!(
                "Page {} is {}'s by its header, but the maps give it to {}.",
                fact.id,
                plan.table(fact.unit),
                plan.table(owner)
            );
            self.page_first((2534, fact.unit), fact.id, &[], means.clone());
            self.page_first((2533, owner), fact.id, &[], means);
        }
    }

    /// In a part of a file whose maps are lost, a page is only what it says it is.
    fn unproven_page(&mut self, fact: &PageFact) {
        self.maimed.insert(fact.unit);
    }
}

fn why(why: &Why) -> &'static str {
    match why {
        Why::NotWhole(_) => "is damaged and cannot be read",
        Why::OtherPage(_) => "is missing, another one lies in its place",
        Why::Unread(_) => "cannot be had from the device",
    }
}
