//! Findings as they come up, in bounded memory.
//!
//! # Invariants
//! 1. *At most [`LISTED`] findings are listed, and a quarter more are in memory.* Of each table that has more
//!    findings than its share, the first ones in the order of the report are listed. Proof: an assertion
//!    in `bound`, and `a_listing_stays_within_its_bound_and_counts_the_rest`.
//! 2. *What is listed does not depend on the order in which findings come up.* The share of a table only
//!    falls while findings come up. So a finding that exceeds the share now exceeds it at the end, too.
//!    Proof: `the_listing_is_the_same_in_any_order`.
//! 3. *Each error is counted once*, as one of allocation or of consistency. Of those that are not listed,
//!    each report is counted: a repeat could be found only by remembering all of them. The entry with their
//!    count names its table and says so. Proof:
//!    `what_is_not_listed_is_counted_by_its_reports_and_names_its_table`.

use crate::finding::{Finding, REST, REST_OF_ALLOCATION};
use crate::options::Scope;
use furrow_format::PageId;
use furrow_messages::{Arg, Message};
use std::collections::{BTreeMap, BTreeSet};

/// Most findings that are listed, of one table or of all. (SQL Server lists all, with and without
/// ALL_ERRORMSGS.)
pub(crate) const LISTED: usize = 100_000;

/// The message of a file that is shorter than its header says.
const CUT_OFF: u32 = 5125;

/// The message of rows of the catalog that contradict each other.
const CATALOG: u32 = 8992;

/// Which findings the caller of a check wants.
#[derive(Debug)]
enum Wanted {
    All,
    OfObject(i32),
    OfFiles(BTreeSet<u16>),
    OfCatalog,
}

impl Wanted {
    fn has(&self, finding: &Finding) -> bool {
        match self {
            Wanted::All => true,
            Wanted::OfObject(id) => finding.object_id() == Some(*id),
            Wanted::OfFiles(files) => finding.page.is_some_and(|at| files.contains(&at.file.0)),
            Wanted::OfCatalog => finding.number() == CATALOG,
        }
    }
}

/// Findings of a table that are not listed.
#[derive(Debug)]
struct LeftOut {
    /// The first one in the order of the report.
    first: Finding,
    findings: u64,
    errors: u64,
}

impl LeftOut {
    /// The entry of a listing of `most` findings that has the count.
    fn entry(self, is_allocation: bool, most: usize) -> Finding {
        let (number, kind) = match is_allocation {
            true => (REST_OF_ALLOCATION, "allocation "),
            false => (REST, ""),
        };
        let table = self.first.subject.as_ref();
        let place = match table {
            Some(subject) => format!("in table {}", subject.table),
            None => "of no known table".to_owned(),
        };
        let means = format!(
            "{} more reports of {kind}errors {place} are counted, but not listed: a check lists {most} \
             findings at most. An error that was reported twice counts twice.",
            self.errors
        );
        Finding {
            message: Message::custom(number, 16, 1, &means),
            means,
            errors: self.errors,
            ..self.first
        }
    }
}

/// Findings as they come up.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) list: Vec<Finding>,
    wanted: Wanted,
    most: usize,
    /// By table, and whether they are of allocation.
    left_out: BTreeMap<(Option<i32>, bool), LeftOut>,
}

impl Default for Findings {
    fn default() -> Findings {
        Findings::bound_to(LISTED)
    }
}

impl Findings {
    fn bound_to(most: usize) -> Findings {
        Findings {
            list: Vec::new(),
            wanted: Wanted::All,
            most,
            left_out: BTreeMap::new(),
        }
    }

    /// Keeps findings of this scope only; of a filegroup, those of its files.
    pub(crate) fn keep_scope(&mut self, scope: Scope, files_of: impl Fn(u16) -> BTreeSet<u16>) {
        self.wanted = match scope {
            Scope::Database => Wanted::All,
            Scope::Object(id) => Wanted::OfObject(id),
            Scope::Filegroup(group) => Wanted::OfFiles(files_of(group)),
            Scope::Catalog => Wanted::OfCatalog,
        };
    }

    /// Adds a finding.
    pub(crate) fn push(&mut self, finding: Finding) {
        self.list.push(finding);
        if self.list.len() > self.most + self.most / 4 {
            self.bound();
        }
    }

    /// A finding that no table is known for.
    pub(crate) fn plain(&mut self, number: u32, at: Option<PageId>, args: &[Arg], means: String) {
        self.push(Finding {
            message: Message::new(number, args),
            page: at,
            subject: None,
            means,
            errors: 1,
        });
    }

    /// Takes in the findings of another.
    pub(crate) fn take(&mut self, other: &mut Findings) {
        other.list.drain(..).for_each(|finding| self.push(finding));
        for left_out in std::mem::take(&mut other.left_out).into_values() {
            self.leave_out(left_out);
        }
    }

    /// Puts the list in order, and moves what exceeds the share of its table to the counts. Files that are
    /// cut off come first: they are why everything else is missing.
    fn bound(&mut self) {
        self.list.retain(|finding| self.wanted.has(finding));
        self.list.sort_by_key(order);
        self.list.dedup();
        let mut counts: BTreeMap<Option<i32>, u64> = BTreeMap::new();
        for ((object, _), left_out) in &self.left_out {
            *counts.entry(*object).or_default() += left_out.findings;
        }
        for finding in &self.list {
            *counts.entry(finding.object_id()).or_default() += 1;
        }
        let share = share_of(self.most as u64, &counts);
        counts.clear();
        for finding in std::mem::take(&mut self.list) {
            let count = counts.entry(finding.object_id()).or_default();
            *count += 1;
            if *count <= share {
                self.list.push(finding);
            } else {
                self.leave_out(LeftOut {
                    errors: finding.errors,
                    first: finding,
                    findings: 1,
                });
            }
        }
        debug_assert!(self.list.len() <= self.most.max(counts.len()));
    }

    fn leave_out(&mut self, more: LeftOut) {
        let table = (more.first.object_id(), more.first.is_allocation());
        let Some(known) = self.left_out.get_mut(&table) else {
            self.left_out.insert(table, more);
            return;
        };
        known.findings += more.findings;
        known.errors += more.errors;
        if order(&more.first) < order(&known.first) {
            known.first = more.first;
        }
    }

    /// The listing, in order of tables and pages, each finding once; then the counts of what is not listed.
    pub(crate) fn listing(mut self) -> Vec<Finding> {
        self.bound();
        let mut list = self.list;
        for ((_, is_allocation), left_out) in self.left_out {
            // Second messages about rows that are listed.
            if left_out.errors == 0 {
                continue;
            }
            list.push(left_out.entry(is_allocation, self.most));
        }
        list
    }
}

/// The place of a finding in the report.
fn order(finding: &Finding) -> (bool, Option<(i32, i32)>, Option<PageId>, u32) {
    let index = finding.subject.as_ref().map(|s| (s.object_id, s.index_id));
    let number = finding.number();
    (number != CUT_OFF, index, finding.page, number)
}

/// The number of findings that each table may list, so that all list `most` at most; one at least.
fn share_of(most: u64, counts: &BTreeMap<Option<i32>, u64>) -> u64 {
    let listed = |share: u64| counts.values().map(|count| share.min(*count)).sum::<u64>();
    let (mut share, mut too_much) = (1, most + 1);
    while share + 1 < too_much {
        let middle = u64::midpoint(share, too_much);
        if listed(middle) <= most {
            share = middle;
        } else {
            too_much = middle;
        }
    }
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Subject;
    use furrow_format::{FileId, PageNo};

    /// A finding of allocation or of consistency about a page of a table.
    fn finding(object_id: i32, page: u32, is_allocation: bool) -> Finding {
        let number = if is_allocation { 8904 } else { 8928 };
        Finding {
            message: Message::custom(number, 16, 1, "wrong"),
            page: Some(PageId {
                file: FileId(1),
                page: PageNo(page),
            }),
            subject: Some(Subject {
                object_id,
                table: format!("t{object_id}"),
                index_id: 1,
                index: None,
            }),
            means: String::new(),
            errors: 1,
        }
    }

    /// Three tables of 1000, 30 and 5 findings; each third is of allocation.
    fn many() -> Vec<Finding> {
        let counts = [(1, 1000), (2, 30), (3, 5)].into_iter();
        let each = counts.flat_map(|(id, count)| (0..count).map(move |page| (id, page)));
        each.map(|(id, page)| finding(id, page, page % 3 == 0))
            .collect()
    }

    fn listed(all: impl Iterator<Item = Finding>, most: usize) -> Vec<Finding> {
        let mut findings = Findings::bound_to(most);
        all.for_each(|finding| {
            findings.push(finding);
            assert!(findings.list.len() <= most + most / 4);
        });
        findings.listing()
    }

    #[test]
    fn a_listing_stays_within_its_bound_and_counts_the_rest() {
        let listing = listed(many().into_iter(), 60);
        let of_table = |id: i32| {
            let own = listing.iter().filter(move |f| f.object_id() == Some(id));
            let listed = own.clone().filter(|f| !f.is_rest()).count();
            let errors = own.clone().map(|f| f.errors).sum::<u64>();
            (listed, errors)
        };
        // 60 findings: 5 of the smallest table, and 27 of each other one.
        assert_eq!([1, 2, 3].map(of_table), [(27, 1000), (27, 30), (5, 5)]);
        let allocation = listing.iter().filter(|f| f.is_allocation());
        assert_eq!(allocation.map(|f| f.errors).sum::<u64>(), 334 + 10 + 2);
        let rest = listing.iter().filter(|f| f.is_rest());
        let pages: Vec<u32> = rest.filter_map(|f| f.page).map(|id| id.page.0).collect();
        assert_eq!(pages, [28, 27, 28, 27], "the first that is left out");
    }

    #[test]
    fn what_is_not_listed_is_counted_by_its_reports_and_names_its_table() {
        let listing = listed(many().into_iter(), 60);
        let rest: Vec<&Finding> = listing.iter().filter(|f| f.is_rest()).collect();
        assert_eq!(rest.len(), 4);
        for entry in rest {
            let subject = entry.subject.as_ref().unwrap();
            let start = format!("{} more reports of ", entry.errors);
            assert!(entry.means.starts_with(&start), "{}", entry.means);
            let table = format!(" in table {} are counted", subject.table);
            assert!(entry.means.contains(&table), "{}", entry.means);
            assert_eq!(entry.message.text, entry.means);
        }
    }

    #[test]
    fn the_listing_is_the_same_in_any_order() {
        let (forth, back) = (many(), many().into_iter().rev());
        let listing = listed(forth.iter().cloned(), 60);
        assert_eq!(listing, listed(back, 60));
        let (even, odd) = (forth.iter().step_by(2), forth.iter().skip(1).step_by(2));
        assert_eq!(listing, listed(odd.chain(even).cloned(), 60));
    }

    #[test]
    fn what_fits_is_listed_whole_and_each_finding_once() {
        let listing = listed(many().into_iter().chain(many()), 10_000);
        assert_eq!(listing.len(), 1035);
        assert!(listing.iter().all(|f| !f.is_rest()));
    }
}
