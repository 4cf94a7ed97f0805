//! From an allocation unit to its pages.

use std::collections::BTreeMap;

use crate::fixed::{is_allocated, sound_page};
use crate::{MdfError, PageRef, Pages};
use furrow_format::catalog::AllocUnit;
use furrow_format::{
    AllocUnitId, EXTENT_PAGES, FileId, GAM_INTERVAL_EXTENTS, Iam, Page, PageId, PageNo, PageType,
    Record,
};

/// Deepest tree that is followed: SQL Server's own limit is lower.
const MAX_DEPTH: usize = 32;

/// Pages by the maps: what an allocation unit owns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OwnedPages {
    /// The IAM pages, in chain order.
    pub iam_pages: Vec<PageId>,
    /// Allocated pages, single ones first, then by extent.
    pub pages: Vec<PageId>,
    /// Uniform extents.
    pub extents: u32,
    /// Pages named one by one.
    pub single_pages: u32,
    /// What could not be used on the way, each once: PFS pages, and files that were not given.
    pub faults: Vec<MdfError>,
}

/// Pages seen, at a bit each.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageSet {
    files: BTreeMap<FileId, Vec<u64>>,
}

impl PageSet {
    fn place(id: PageId) -> (usize, u64) {
        (id.page.0 as usize / 64, 1 << (id.page.0 % 64))
    }

    pub(crate) fn contains(&self, id: PageId) -> bool {
        let (word, bit) = PageSet::place(id);
        let words = self.files.get(&id.file);
        words
            .and_then(|words| words.get(word))
            .is_some_and(|word| word & bit != 0)
    }

    /// Adds a page that exists: its number bounds the memory taken. Whether it is new.
    pub(crate) fn insert(&mut self, id: PageId) -> bool {
        let (word, bit) = PageSet::place(id);
        let words = self.files.entry(id.file).or_default();
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        let Some(word) = words.get_mut(word) else {
            return false;
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

pub(crate) fn describe(unit: &AllocUnit) -> String {
    format!(
        "allocation unit {:#x} of rowset {:#x}",
        unit.auid, unit.ownerid
    )
}

/// A page that must be there, must have passed verification, and must belong to the unit.
pub(crate) fn unit_page<'s>(
    source: &'s Pages<'s>,
    unit: &AllocUnit,
    id: PageId,
) -> Result<PageRef, MdfError> {
    let bytes = sound_page(source, id, || describe(unit))?;
    let page = Page::new(&bytes);
    if !belongs_to(page, unit) {
        let found = format!("it belongs to {:#x}", page.unit().0);
        return Err(MdfError::WrongPage {
            page: id,
            wanted_by: describe(unit),
            found,
        });
    }
    Ok(bytes)
}

fn belongs_to(page: Page<'_>, unit: &AllocUnit) -> bool {
    let expected = AllocUnitId(unit.auid as u64);
    // Clustered leaves of databases from SQL Server 2000 carry index 0.
    let from_2000 = page.page_type() == PageType::Data
        && page.index_part() == 0
        && page.object_part() == expected.object_part();
    page.unit() == expected || from_2000
}

impl OwnedPages {
    /// Takes a page that an IAM page names, if it is in use. Where the PFS can't be used, the page's own
    /// header decides, and the PFS page is a fault.
    fn take(&mut self, source: &Pages<'_>, unit: &AllocUnit, page: PageId) {
        let taken = match is_allocated(source, page) {
            // Of a file that is cut off, one page is reported for all that are missing.
            Ok(true) if page.page.0 >= source.size_pages(page.file) => {
                let in_file = |fault: &MdfError| fault.page().is_some_and(|p| p.file == page.file);
                if !self.faults.iter().any(in_file) {
                    let wanted_by = describe(unit);
                    self.faults.push(MdfError::MissingPage { page, wanted_by });
                }
                false
            }
            Ok(in_use) => in_use,
            Err(fault) => {
                if !self.faults.contains(&fault) {
                    self.faults.push(fault);
                }
                unit_page(source, unit, page).is_ok()
            }
        };
        if taken {
            self.pages.push(page);
        }
    }

    /// Takes the pages of the extents that an IAM page owns.
    fn take_extents(&mut self, source: &Pages<'_>, unit: &AllocUnit, iam: Iam<'_>) {
        let start = iam.interval_start();
        let all = iam.extents().iter_set(GAM_INTERVAL_EXTENTS);
        if source.size_pages(start.file) == 0 {
            if all.count() > 0 {
                let (file, wanted_by) = (start.file, describe(unit));
                self.faults.push(MdfError::MissingFile { file, wanted_by });
            }
            return;
        }
        for bit in all {
            self.extents += 1;
            let first = furrow_format::extent_at_bit(start.page, bit).first_page().0;
            for number in first..first.saturating_add(EXTENT_PAGES) {
                let (file, page) = (start.file, PageNo(number));
                self.take(source, unit, PageId { file, page });
            }
        }
    }
}

/// The pages that the unit's IAM chain names.
pub(crate) fn owned_pages(source: &Pages<'_>, unit: &AllocUnit) -> Result<OwnedPages, MdfError> {
    let mut owned = OwnedPages::default();
    let mut seen = PageSet::default();
    let mut next = unit.pgfirstiam;
    while !next.is_none() {
        let wanted_by = || format!("the IAM chain of {}", describe(unit));
        let bytes = unit_page(source, unit, next)?;
        if !seen.insert(next) {
            return Err(MdfError::Circle {
                page: next,
                wanted_by: wanted_by(),
            });
        }
        let iam = Iam::new(&bytes).ok_or_else(|| MdfError::WrongPage {
            page: next,
            wanted_by: wanted_by(),
            found: format!("a {}", Page::new(&bytes).page_type()),
        })?;
        owned.iam_pages.push(next);
        for page in iam.single_pages().filter(|page| !page.is_none()) {
            owned.single_pages += 1;
            owned.take(source, unit, page);
        }
        owned.take_extents(source, unit, iam);
        next = Page::new(&bytes).next();
    }
    Ok(owned)
}

/// The first leaf page of a tree: slot 0 of every level. Stops on the type of page, where leaves hold data,
/// and on level 0 elsewhere.
pub(crate) fn leftmost_leaf(
    source: &Pages<'_>,
    unit: &AllocUnit,
    leaf_type: PageType,
) -> Result<PageId, MdfError> {
    let mut id = unit.pgroot;
    for _ in 0..MAX_DEPTH {
        let bytes = unit_page(source, unit, id)?;
        let page = Page::new(&bytes);
        let wrong = |found: String| MdfError::WrongPage {
            page: id,
            wanted_by: describe(unit),
            found,
        };
        if page.page_type() == leaf_type && (leaf_type == PageType::Data || page.level() == 0) {
            return Ok(id);
        }
        if page.page_type() != PageType::Index {
            return Err(wrong(format!("a {}", page.page_type())));
        }
        let child = page
            .record(0)
            .and_then(|record| Record::index(record, page.pminlen()))
            .and_then(Record::child);
        id = child.ok_or_else(|| wrong("no child in its first slot".to_owned()))?;
    }
    Err(MdfError::Circle {
        page: id,
        wanted_by: describe(unit),
    })
}

/// Whether a page is a leaf; `None` when it can't be read.
pub(crate) fn is_leaf(source: &Pages<'_>, id: PageId, leaf_type: PageType) -> Option<bool> {
    let bytes = sound_page(source, id, String::new).ok()?;
    let page = Page::new(&bytes);
    Some(page.page_type() == leaf_type && (leaf_type == PageType::Data || page.level() == 0))
}

/// Whether a page that a unit owns is no leaf of it and need not be one: a page of an upper level, or one
/// that was set aside. A page that can't be read, or is of a type that no unit has, may have been a leaf.
pub(crate) fn is_beside_leaves(source: &Pages<'_>, id: PageId, leaf_type: PageType) -> bool {
    let Ok(bytes) = sound_page(source, id, String::new) else {
        return false;
    };
    let page = Page::new(&bytes);
    match page.page_type() {
        PageType::Index => leaf_type != PageType::Index || page.level() > 0,
        PageType::Sort
        | PageType::RepairDeallocated
        | PageType::RebuildTemporary
        | PageType::BulkPreallocated => true,
        _ => false,
    }
}

/// All leaves of a tree in key order, by the levels above: for trees whose leaves do not link up.
pub(crate) fn leaves_by_parents(
    source: &Pages<'_>,
    unit: &AllocUnit,
    leaf_type: PageType,
) -> Result<Vec<PageId>, MdfError> {
    let mut level = vec![unit.pgroot];
    let mut seen = PageSet::default();
    for _ in 0..MAX_DEPTH {
        // A level has leaves only, or none: its first sound page decides.
        let Some(leaf) = level.iter().find_map(|&id| is_leaf(source, id, leaf_type)) else {
            break;
        };
        if leaf {
            return Ok(level);
        }
        let mut below = Vec::new();
        for id in level {
            let bytes = unit_page(source, unit, id)?;
            let page = Page::new(&bytes);
            let lost = |found: &str| MdfError::WrongPage {
                page: id,
                wanted_by: describe(unit),
                found: found.to_owned(),
            };
            if page.page_type() != PageType::Index || !seen.insert(id) {
                return Err(lost("no page of a level above the leaves"));
            }
            for (_, record) in page.records() {
                let child = Record::index(record, page.pminlen()).and_then(Record::child);
                below.push(child.ok_or_else(|| lost("a row without a child"))?);
            }
        }
        level = below;
    }
    Err(MdfError::Circle {
        page: unit.pgroot,
        wanted_by: describe(unit),
    })
}

/// Pages in use whose own headers name the unit: for units whose IAM chain is damaged.
pub(crate) fn pages_by_header(source: &Pages<'_>, unit: &AllocUnit) -> Vec<PageId> {
    let mut pages = Vec::new();
    for file in source.files() {
        for number in 0..source.size_pages(file) {
            let id = PageId {
                file,
                page: PageNo(number),
            };
            let ours = sound_page(source, id, String::new)
                .is_ok_and(|bytes| belongs_to(Page::new(&bytes), unit));
            if ours && is_allocated(source, id) != Ok(false) {
                pages.push(id);
            }
        }
    }
    pages
}
