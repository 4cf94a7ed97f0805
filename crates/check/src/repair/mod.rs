//! Repair: the pages that make a damaged database consistent again, and what is lost.
//!
//! Purpose: compute new contents of pages from any source of pages. Nothing is written here: the caller
//! writes all pages, or none. Only for Furrow's own databases.
//!
//! # Invariants
//! 1. *The result of a repair was checked*: the pages are laid over the source and the whole check runs over
//!    both; [`Repaired::left`] has the findings that remain. Proof: `repair` itself, and the score of the
//!    soak.
//! 2. *Intact rows stay.* A row is removed only if its page cannot be read, if it breaks a rule by itself, or
//!    if another row has its key. Each removed row is in [`Repaired::losses`]. Proof:
//!    `a_repair_keeps_every_row_that_is_not_on_the_damaged_page`.
//! 3. *An undamaged database is not changed.* Proof: the score of the soak repairs each undamaged database
//!    first.
//!
//! # A pass
//! 1. [`owners`]: the owner of each extent and page.
//! 2. [`rows`]: tables and indexes with findings are rebuilt from their intact rows.
//! 3. [`maps`]: IAM pages, PFS, GAM, SGAM are rebuilt from the owners.
//! 4. [`counts`]: counts of the catalog.
//!
//! Passes are repeated until nothing is found, nothing changes, or there were [`PASSES`].
//!
//! # What can fail
//! If the catalog cannot be read, or the boot page or a file header is damaged, there is no repair (8930,
//! 5250), and [`Repaired::left`] says so. Memory: the rows of a table that is repaired, 40 bytes for each
//! page in use, and the pages that are written again.

mod catalog;
mod counts;
mod heap;
mod maps;
mod owners;
mod rows;
mod state;
mod tree;

pub use catalog::{BASE_PLACES, Foundation, compute_foundation};
pub use state::{Identity, Loss};

use crate::examine::{CheckError, Seen, examine};
use crate::finding::{Finding, Subject};
use crate::options::Options;
use crate::{Listener, Scratch};
use furrow_datafile::PageSource;
use furrow_format::{BOOT_PAGE, FileHeader, FileId, PageBuf, PageId, PageNo, fixed_page_type};
use state::{Overlay, State};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most passes.
const PASSES: usize = 8;

/// Findings of pages that cannot be read, or are not what they should be.
const UNREAD: &[u32] = &[8909, 8928, 8939];

/// The outcome of a repair.
#[derive(Debug, Clone, Default)]
pub struct Repaired {
    /// The findings before the repair.
    pub found: Vec<Finding>,
    /// New contents of pages.
    pub pages: BTreeMap<PageId, Box<PageBuf>>,
    /// Sizes in pages to which files that are cut off must be extended.
    pub sizes: BTreeMap<FileId, u32>,
    /// The rows and pages that the repair loses.
    pub losses: Vec<Loss>,
    /// What the repair of the catalog does, in sentences.
    pub notes: Vec<String>,
    /// Indexes that are rebuilt.
    pub rebuilt: Vec<Subject>,
    /// The findings after the repair.
    pub left: Vec<Finding>,
    /// Whether nothing is repaired because rows of tables that may be there would go: `notes` says why.
    pub refused: bool,
    /// Whether a new log takes the place of one that is lost, as the caller says: what only that had is lost.
    pub new_log: bool,
}

impl Repaired {
    /// Pages that cannot be read and whose table is not known: what only they hold is lost, and no loss
    /// names it.
    pub fn lost_pages(&self) -> BTreeSet<PageId> {
        let unread = |f: &&Finding| UNREAD.contains(&f.number()) && f.subject.is_none();
        let pages = self.found.iter().filter(unread).filter_map(|f| f.page);
        pages
            .filter(|id| fixed_page_type(id.page).is_none() && *id != BOOT_PAGE)
            .collect()
    }

    /// Whether every row that the database had is in it after the repair.
    pub fn loses_nothing(&self) -> bool {
        let named = !self.losses.is_empty() || !self.notes.is_empty();
        !named && !self.new_log && self.lost_pages().is_empty()
    }

    /// Nothing is repaired: the findings are left.
    fn refused(self, notes: Vec<String>) -> Repaired {
        Repaired {
            left: self.found.clone(),
            found: self.found,
            notes,
            refused: true,
            ..Repaired::default()
        }
    }
}

/// Most repairs of the catalog: the foundation, the rows, and once more.
const CATALOG_PASSES: usize = 3;

/// Computes a repair. The listener gets the progress of each check, and can end it. Facts that exceed the
/// memory of the options go to a scratch file.
pub fn repair(
    source: &dyn PageSource,
    options: &Options,
    with: (Option<&Scratch>, Option<Listener<'_>>),
) -> Result<Repaired, CheckError> {
    repair_known(source, options, with, &Identity::default())
}

/// As [`repair`], of a database that the caller knows.
pub fn repair_known(
    source: &dyn PageSource,
    options: &Options,
    with: (Option<&Scratch>, Option<Listener<'_>>),
    identity: &Identity,
) -> Result<Repaired, CheckError> {
    let mut overlay = Overlay {
        source,
        pages: HashMap::new(),
        sizes: sizes(source),
    };
    let mut done = Repaired::default();
    let mut losses: BTreeMap<(i32, i32), Loss> = BTreeMap::new();
    let mut rebuilt: BTreeMap<u64, Subject> = BTreeMap::new();
    let mut of_catalog = 0;
    let mut dropped = BTreeSet::new();
    for pass in 0..=PASSES {
        let (mut left, mut fresh) = (Vec::new(), BTreeMap::new());
        let mut is_of_catalog = false;
        examine(&overlay, options, with, &mut |seen| {
            left = seen.report.findings.clone();
            if pass == PASSES || left.is_empty() {
                return;
            }
            is_of_catalog = of_catalog < CATALOG_PASSES && catalog::concerns(&overlay, &left);
            if !is_of_catalog && seen.shared.plan.own && seen.shared.plan.readable {
                let mut state = State::of(seen);
                rebuilt.extend(state.mend());
                let lost = std::mem::take(&mut state.losses);
                lost.into_values().for_each(|loss| note(&mut losses, loss));
                fresh = std::mem::take(&mut state.pages);
            }
        })?;
        if pass == 0 {
            done.found.clone_from(&left);
        }
        if is_of_catalog {
            let mended = catalog::mend(&overlay, options, with, (identity, &left, &dropped))?;
            if mended.refused {
                return Ok(done.refused(mended.notes));
            }
            dropped.extend(mended.dropped);
            for note in mended.notes {
                if !done.notes.contains(&note) {
                    done.notes.push(note);
                }
            }
            mended
                .losses
                .into_iter()
                .for_each(|loss| note(&mut losses, loss));
            of_catalog = match mended.pages.is_empty() {
                true => CATALOG_PASSES,
                false => of_catalog + 1,
            };
            fresh = mended.pages;
        }
        done.left = left;
        if fresh.is_empty() && !is_of_catalog {
            break;
        }
        overlay.pages.extend(fresh);
    }
    done.sizes = std::mem::take(&mut overlay.sizes);
    done.pages = overlay.pages.into_iter().collect();
    done.losses = losses.into_values().collect();
    done.rebuilt = rebuilt.into_values().collect();
    Ok(done)
}

/// Adds a loss to those of its index.
fn note(losses: &mut BTreeMap<(i32, i32), Loss>, loss: Loss) {
    let key = (loss.subject.object_id, loss.subject.index_id);
    match losses.get_mut(&key) {
        Some(before) => before.add(loss),
        None => drop(losses.insert(key, loss)),
    }
}

/// The sizes in the file headers of files that are shorter than that.
fn sizes(source: &dyn PageSource) -> BTreeMap<FileId, u32> {
    let mut sizes = BTreeMap::new();
    for file in source.files() {
        let mut page = vec![[0; furrow_format::PAGE_SIZE]];
        let read = source.read(file.id, PageNo(0), &mut page);
        let header = page
            .first()
            .filter(|_| read.is_ok())
            .map(FileHeader::decode);
        if let Some(Ok(header)) = header.filter(|h| h.as_ref().is_ok_and(|h| h.file == file.id))
            && header.size_pages > file.pages
        {
            sizes.insert(file.id, header.size_pages);
        }
    }
    sizes
}

impl Loss {
    fn add(&mut self, other: Loss) {
        self.pages.extend(other.pages);
        self.row_count += other.row_count;
        self.rows.extend(other.rows);
    }
}

impl<'a> State<'a> {
    fn of(seen: &Seen<'a>) -> State<'a> {
        State {
            findings: seen.report.findings.clone(),
            counts: seen.counts.clone(),
            ..State::new(seen.shared, seen.library, seen.facts)
        }
    }

    /// Runs one pass; returns the rebuilt indexes by the ids of their units.
    fn mend(&mut self) -> Vec<(u64, Subject)> {
        self.find_owners();
        let plan = self.plan();
        let mut objects: BTreeMap<i32, BTreeSet<u32>> = BTreeMap::new();
        let lost: Vec<u32> = self.losses.keys().copied().collect();
        let named = self.findings.iter().filter(|f| f.concerns_rows());
        let subjects = named.filter_map(|f| f.subject.as_ref());
        let of_index = |unit: u32, object: i32, index: i32| {
            plan.unit(unit).is_some_and(|u| {
                u.object_id == object && u.index_id == index && self.has_rows(unit)
            })
        };
        for subject in subjects {
            for unit in 0..plan.units.len() as u32 {
                if of_index(unit, subject.object_id, subject.index_id) {
                    objects.entry(subject.object_id).or_default().insert(unit);
                }
            }
        }
        for unit in lost {
            if let Some(about) = plan.unit(unit).filter(|_| self.has_rows(unit)) {
                objects.entry(about.object_id).or_default().insert(unit);
            }
        }
        let mut rebuilt = Vec::new();
        for (object, units) in objects {
            let base = units
                .iter()
                .any(|unit| plan.unit(*unit).is_some_and(|u| u.index_id <= 1));
            self.mend_object(object, (!base).then_some(&units));
            let of_object = |unit: &u32| plan.unit(*unit).is_some_and(|u| u.object_id == object);
            let all = (0..plan.units.len() as u32).filter(of_object);
            for unit in
                all.filter(|unit| (base || units.contains(unit)) && !self.stuck.contains(unit))
            {
                if let (Some(about), Some(subject)) = (plan.unit(unit), plan.subject(unit)) {
                    rebuilt.push((about.id, subject));
                }
            }
        }
        self.write_counts();
        // Last, because the maps also mark the extents that the steps before have changed.
        self.write_maps();
        rebuilt
    }
}
