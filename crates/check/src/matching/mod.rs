//! Facts matched: what pages, maps and catalog say of each other.

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

use crate::facts::Facts;
use crate::finding::{Findings, page};
use crate::library::Library;
use crate::scan::Shared;
use furrow_format::{EXTENT_PAGES, PageId};
use furrow_messages::Arg;
use std::collections::{HashMap, HashSet};

/// Everything that was seen, to be matched.
pub(crate) struct Matcher<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) library: &'a Library<'a>,
    pub(crate) facts: &'a Facts,
    pub(crate) findings: Findings,
    /// Whether counts in the catalog must be exact.
    pub(crate) counts: bool,
    /// Pages of mixed extents by the unit that an IAM page gives them to.
    singles: HashMap<PageId, u32>,
    /// IAM pages that were seen.
    iam_pages: HashSet<PageId>,
    /// Pages that a tree was seen to lead to: in step with the facts of pages.
    reached: Vec<bool>,
    /// Units with pages that could not be used: their counts prove nothing.
    maimed: HashSet<u32>,
}

impl<'a> Matcher<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        library: &'a Library<'a>,
        facts: &'a Facts,
        counts: bool,
    ) -> Matcher<'a> {
        Matcher {
            shared,
            library,
            facts,
            findings: Findings::default(),
            counts,
            singles: HashMap::new(),
            iam_pages: facts.iams.iter().map(|iam| iam.id).collect(),
            reached: vec![false; facts.pages.len()],
            maimed: HashSet::new(),
        }
    }

    /// Matches everything.
    pub(crate) fn run(mut self) -> Findings {
        self.match_files();
        self.match_singles();
        self.match_extents();
        self.match_bad_pages();
        self.match_owners();
        if self.shared.plan.readable {
            self.match_chains();
            self.match_trees();
            self.match_forwarding();
            self.match_large();
            self.match_indexes();
            self.match_counts();
            self.match_catalog();
        } else {
            self.match_links();
        }
        self.findings
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
