//! Facts matched: what pages, maps and catalog say of each other.

mod bits;
mod catalog;
mod chains;
mod counts;
mod extents;
mod files;
mod forwarding;
mod indexes;
mod keys;
mod large;
mod pages;
mod trees;

pub(crate) use keys::row_words;

use crate::facts::{ChildFact, Facts};
use crate::finding::page;
use crate::findings::Findings;
use crate::options::{Depth, Scope};
use crate::scan::Shared;
use bits::BitSet;
use furrow_datafile::Pages;
use furrow_format::{EXTENT_PAGES, PageId};
use furrow_messages::Arg;
use std::collections::{HashMap, HashSet};

/// Everything that was seen, to be matched.
pub(crate) struct Matcher<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) library: &'a Pages<'a>,
    pub(crate) facts: &'a Facts,
    pub(crate) findings: Findings,
    /// Whether counts in the catalog must be exact.
    pub(crate) counts: bool,
    /// Pages of mixed extents by the unit that an IAM page gives them to.
    singles: HashMap<PageId, u32>,
    /// IAM pages that were seen.
    iam_pages: HashSet<PageId>,
    /// Pages that a tree was seen to lead to, by their place among the facts of pages.
    reached: BitSet,
    /// Entries that lead to pages that could not be used, once they are needed.
    entries: Option<HashMap<PageId, ChildFact>>,
    /// Counts that are wrong: unit, which of its four, and what was counted.
    wrong_counts: Vec<(u32, usize, i64)>,
    /// Units with pages that could not be used: their counts prove nothing.
    maimed: HashSet<u32>,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        library: &'a Pages<'a>,
        (facts, findings): (&'a Facts, Findings),
        counts: bool,
    ) -> Matcher<'a> {
        Matcher {
            shared,
            library,
            facts,
            findings,
            counts,
            singles: HashMap::new(),
            iam_pages: facts.iams.iter().map(|iam| iam.id).collect(),
            reached: BitSet::new(facts.pages.len()),
            entries: None,
            wrong_counts: Vec::new(),
            maimed: HashSet::new(),
        }
    }

    /// Matches everything: the findings before and now, and counts that are wrong.
    pub(crate) fn run(mut self) -> (Findings, Vec<(u32, usize, i64)>) {
        let always = [
            Self::match_files,
            Self::match_singles,
            Self::match_extents,
            Self::match_bad_pages,
            Self::match_owners,
        ];
        let linked = [
            Self::match_chains,
            Self::match_trees,
            Self::match_forwarding,
        ];
        let logical = [
            Self::match_large,
            Self::match_indexes,
            Self::match_counts,
            Self::match_catalog,
        ];
        let steps = always.into_iter();
        let (readable, depth) = (self.shared.plan.readable, self.shared.depth);
        let steps: Vec<fn(&mut Self)> = match (readable, depth) {
            _ if self.shared.scope == Scope::Catalog && readable => vec![Self::match_catalog],
            (false, _) => steps.chain([Self::match_links as fn(&mut Self)]).collect(),
            (true, Depth::Physical) => steps.chain(linked).collect(),
            (true, _) => steps.chain(linked).chain(logical).collect(),
        };
        for step in steps {
            if !self.go_on() {
                break;
            }
            step(&mut self);
        }
        (self.findings, self.wrong_counts)
    }

    /// Whether the check goes on.
    fn go_on(&self) -> bool {
        self.shared.advance(0)
    }

    /// The unit that the maps give a page to.
    fn owner(&self, id: PageId) -> Option<u32> {
        let file = self.shared.maps.file_index(id.file)?;
        let extent = self.shared.owner(file, id.page.0 / EXTENT_PAGES);
        extent.or_else(|| self.singles.get(&id).copied())
    }

    /// A finding whose message begins with the unit.
    fn of_unit(&mut self, head: (u32, u32), at: PageId, args: &[Arg], means: String) {
        self.findings
            .of_unit(self.shared.plan, head, at, args, means);
    }

    /// A finding whose message begins with a page, then the unit.
    fn page_first(&mut self, head: (u32, u32), at: PageId, args: &[Arg], means: String) {
        let plan = self.shared.plan;
        let mut all = vec![page(at)];
        all.extend(plan.unit_args(head.1));
        all.extend_from_slice(args);
        self.findings.of_page(plan, head, at, &all, means);
    }

    fn database(&self) -> Arg {
        self.shared.plan.database_id.into()
    }
}
