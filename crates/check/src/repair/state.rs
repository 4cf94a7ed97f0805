//! What a pass of a repair works on: what was seen, who owns what, and the pages as they are to be.

use crate::facts::Facts;
use crate::finding::{Finding, Subject};
use crate::plan::{NO_UNIT, Plan};
use crate::scan::Shared;
use furrow_datafile::{PageSource, Pages, SourceError, SourceFile};
use furrow_format::{
    EXTENT_PAGES, FileId, Lsn, Page, PageBuf, PageId, PageMut, PageNo, PfsByte, stamp_checksum,
};
use furrow_types::Guid;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// An extent: its file and its number there.
pub(super) type Extent = (FileId, u32);

/// Pages to write, and sentences about them.
#[derive(Debug, Default)]
pub(super) struct Mended {
    pub(super) pages: BTreeMap<PageId, Box<PageBuf>>,
    pub(super) notes: Vec<String>,
    pub(super) losses: Vec<Loss>,
    /// Whether the catalog cannot be repaired without loss of tables that may be there: then nothing is.
    pub(super) refused: bool,
    /// Allocation units whose rows are removed: their pages become free.
    pub(super) dropped: BTreeSet<i64>,
}

/// What a repair gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// The table and index.
    pub subject: Subject,
    /// Pages that could not be used, or not wholly.
    pub pages: BTreeSet<PageId>,
    /// Rows that could be read and break a rule, by key or address.
    pub rows: Vec<String>,
    /// How many rows that is: `rows` names the first ones.
    pub row_count: u64,
}

/// What a caller knows of a database beside its files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Its name.
    pub name: Option<String>,
    /// Its number in its instance.
    pub database_id: Option<u16>,
    /// What its files and its log have in common.
    pub binding: Option<Guid>,
    /// Whether its log stays: then a boot page that is computed again does not say that the database was shut
    /// down cleanly, and the check of the result needs [`crate::Options::at_rest`].
    pub has_log: bool,
    /// Of a log that stays and that is to be redone: its last checkpoint, and where redo begins. What is
    /// computed is then as of that point.
    pub redo: Option<(Lsn, Lsn)>,
}

/// Rows that a loss names.
const NAMED_ROWS: usize = 100;

/// A page that is in use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Used {
    pub(super) unit: u32,
    pub(super) byte: PfsByte,
}

/// An IAM page of a unit.
#[derive(Debug, Clone)]
pub(super) struct IamPlan {
    pub(super) id: PageId,
    pub(super) start: PageId,
    pub(super) singles: Vec<PageId>,
}

/// The state of a pass.
pub(super) struct State<'a> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) library: &'a Pages<'a>,
    pub(super) facts: &'a Facts,
    pub(super) findings: Vec<Finding>,
    /// Counts of the catalog that are wrong: unit, which, and what was counted.
    pub(super) counts: Vec<(u32, usize, i64)>,
    /// Extents that a unit has alone.
    pub(super) claims: BTreeMap<Extent, u32>,
    /// Pages of mixed extents that an IAM page names.
    pub(super) singles: BTreeMap<PageId, u32>,
    /// IAM pages by unit, in the order of the chain.
    pub(super) iams: BTreeMap<u32, Vec<IamPlan>>,
    /// Pages in use, IAM pages and fixed ones left out.
    pub(super) used: BTreeMap<PageId, Used>,
    /// Rows and pages that were given up, by unit.
    pub(super) losses: BTreeMap<u32, Loss>,
    /// Indexes that could not be written again.
    pub(super) stuck: BTreeSet<u32>,
    /// Pages as they are to be.
    pub(super) pages: BTreeMap<PageId, Box<PageBuf>>,
}

impl<'a> State<'a> {
    /// A pass without findings.
    pub(super) fn new(
        shared: &'a Shared<'a>,
        library: &'a Pages<'a>,
        facts: &'a Facts,
    ) -> State<'a> {
        State {
            shared,
            library,
            facts,
            findings: Vec::new(),
            counts: Vec::new(),
            claims: BTreeMap::new(),
            singles: BTreeMap::new(),
            iams: BTreeMap::new(),
            used: BTreeMap::new(),
            losses: BTreeMap::new(),
            stuck: BTreeSet::new(),
            pages: BTreeMap::new(),
        }
    }

    pub(super) fn plan(&self) -> &'a Plan {
        self.shared.plan
    }

    /// A page as it is now, if it is whole.
    pub(super) fn page(&self, id: PageId) -> Option<Box<PageBuf>> {
        if let Some(page) = self.pages.get(&id) {
            return Some(page.clone());
        }
        match self.library.get(id) {
            Some((page, Ok(_))) => Some(Box::new(*page)),
            _ => None,
        }
    }

    /// A page is to be like this: stamped with its checksum and an LSN that no later page lacks.
    pub(super) fn put(&mut self, id: PageId, mut page: Box<PageBuf>) {
        if let Some((old, Ok(_))) = self.library.get(id) {
            let lsn = Page::new(&old).lsn();
            if Page::new(&page).lsn() == Lsn(0) {
                PageMut::new(&mut page).set_lsn(lsn);
            }
            let (mut before, mut after) = (*old, *page);
            stamp_checksum(&mut before);
            stamp_checksum(&mut after);
            if before == after && !self.pages.contains_key(&id) {
                return;
            }
        }
        debug_assert_eq!(Page::new(&page).page_id(), id, "a page keeps its number");
        stamp_checksum(&mut page);
        self.pages.insert(id, page);
    }

    /// Pages of a file.
    pub(super) fn size(&self, file: FileId) -> u32 {
        self.shared.maps.pages(file)
    }

    /// Whether a unit may write these pages. A plan of the base tables alone does not know the units of
    /// users: there, a page in use that names another unit is not to be had.
    pub(super) fn may_write(&self, unit: u32, mut pages: impl Iterator<Item = PageId>) -> bool {
        if self.plan().readable {
            return true;
        }
        let unit_id = self.plan().unit(unit).map_or(0, |unit| unit.id);
        pages.all(|id| {
            let pfs = self.shared.maps.pfs(id);
            let page = self.library.get(id).filter(|page| page.1.is_ok());
            pfs.is_some_and(|pfs| !pfs.is_allocated())
                || page.is_none_or(|page| Page::new(&page.0).unit().0 == unit_id)
        })
    }

    /// Notes that a page was given up.
    pub(super) fn lose_page(&mut self, unit: u32, page: PageId) {
        if let Some(loss) = self.loss(unit) {
            loss.pages.insert(page);
        }
    }

    /// Notes that a row was given up.
    pub(super) fn lose_row(&mut self, unit: u32, page: PageId, row: String) {
        if let Some(loss) = self.loss(unit) {
            loss.pages.insert(page);
            loss.row_count += 1;
            if loss.rows.len() < NAMED_ROWS {
                loss.rows.push(row);
            }
        }
    }

    fn loss(&mut self, unit: u32) -> Option<&mut Loss> {
        if unit == NO_UNIT {
            return None;
        }
        let subject = self.shared.plan.subject(unit)?;
        Some(self.losses.entry(unit).or_insert_with(|| Loss {
            subject,
            pages: BTreeSet::new(),
            rows: Vec::new(),
            row_count: 0,
        }))
    }
}

/// The extent of a page.
pub(super) fn extent_of(id: PageId) -> Extent {
    (id.file, id.page.0 / EXTENT_PAGES)
}

/// The pages of an extent.
pub(super) fn pages_of((file, extent): Extent) -> impl Iterator<Item = PageId> {
    let first = extent.saturating_mul(EXTENT_PAGES);
    (first..first.saturating_add(EXTENT_PAGES)).map(move |page| PageId {
        file,
        page: PageNo(page),
    })
}

/// A source of pages with changes over it. Files that were cut off are as long as their headers say.
pub(super) struct Overlay<'s> {
    pub(super) source: &'s dyn PageSource,
    pub(super) pages: HashMap<PageId, Box<PageBuf>>,
    /// Least pages of files.
    pub(super) sizes: BTreeMap<FileId, u32>,
}

impl PageSource for Overlay<'_> {
    fn files(&self) -> Vec<SourceFile> {
        let mut files = self.source.files();
        for file in &mut files {
            let least = self.sizes.get(&file.id).copied().unwrap_or(0);
            file.pages = file.pages.max(least);
        }
        files
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        let files = self.source.files();
        let there = files.iter().find(|f| f.id == file).map_or(0, |f| f.pages);
        let below = there.saturating_sub(first.0) as usize;
        let (real, behind) = into.split_at_mut(below.min(into.len()));
        if !real.is_empty() {
            self.source.read(file, first, real)?;
        }
        behind.iter_mut().for_each(|page| page.fill(0));
        for (number, page) in (first.0..).zip(into) {
            let id = PageId {
                file,
                page: PageNo(number),
            };
            if let Some(changed) = self.pages.get(&id) {
                *page = **changed;
            }
        }
        Ok(())
    }
}
