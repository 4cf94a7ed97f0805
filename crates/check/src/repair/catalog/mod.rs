//! The repair of what everything else rests on: boot page, file headers, and the rows of the catalog.
//!
//! # Steps
//! 1. [`survey`]: what the headers of all pages in use show, whatever the catalog says.
//! 2. [`foundation`]: boot page and file headers that cannot be used.
//! 3. The rows of the base tables are gathered from their sound pages, by the layouts that are the same in
//!    every database ([`base_plan`]).
//! 4. [`reconcile`]: the rows against each other. What others prove is made again, the rest goes, and
//!    each is said ([`Mended::notes`]).
//! 5. Base tables whose rows or pages have changed are written again as trees, in their own pages.
//!
//! # Invariants
//! 1. *Rows of users are not touched here*: only pages of base tables, the boot page and headers are written.
//!    A table that is dropped loses its pages in the next pass, by the rules for pages without owner.
//! 2. *A catalog without a contradiction does not change.* Proof: only what is missing is put in, and the
//!    score of the soak repairs undamaged databases.
//!
//! # What can fail
//! A base table whose root no page and no row names cannot be written, and units that fit several tables are
//! given to none: then nothing is repaired, and all findings stay ([`Mended::refused`]).

mod drop;
mod files1;
mod foundation;
mod layouts;
mod names;
mod reconcile;
mod stats;
mod store;
mod survey;
mod units;

pub use survey::BASE_PLACES;

use super::state::{Identity, Mended, Overlay, State};
use crate::base_rows::FILES1_PAGE;
use crate::examine::{CheckError, examine_base};
use crate::finding::Finding;
use crate::options::Options;
use crate::plan::Plan;
use crate::{Listener, Progress, Scratch};
use furrow_datafile::{PageSource, Pages};
use furrow_format::boot::field;
use furrow_format::catalog::{
    AllocUnit, BASE_TABLES, BaseTable, IndexStat, Rowset, SYSALLOCUNITS, SYSFILES1, SYSIDXSTATS,
    SYSROWSETS, SYSSCHOBJS, SchemaObject,
};
use furrow_format::{BOOT_PAGE, Boot, Lsn, Page, PageBuf, PageId, PageType};
use reconcile::{Work, is_base};
use std::collections::{BTreeMap, BTreeSet};
use store::{Store, trees};
use survey::Survey;

/// Findings that the catalog causes.
const OF_CATALOG: [u32; 2] = [8930, 8992];

/// Most pages of system tables of other engines in a database of this one: damage may let a page name one.
const MOST_FOREIGN: u32 = 2;

/// What a database rests on, as far as it is damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Foundation {
    /// New contents of the boot page and of file headers.
    pub pages: BTreeMap<PageId, Box<PageBuf>>,
    /// What was computed, in sentences; or why nothing was.
    pub notes: Vec<String>,
    /// Whether it cannot be computed.
    pub refused: bool,
    /// The greatest LSN of a page in use; zero where nothing had to be computed.
    pub newest: Lsn,
}

/// Computes the boot page and the file headers that cannot be used from the other pages of these files. For a
/// database that is to be read as it is: nothing of it is checked.
pub fn compute_foundation(
    source: &dyn PageSource,
    identity: &Identity,
    listener: Option<Listener<'_>>,
) -> Result<Foundation, CheckError> {
    let (files, library) = (source.files(), Pages::new(source));
    if foundation::is_sound(&library, &files) {
        return Ok(Foundation::default());
    }
    let seen = survey::survey(&library, &files, listener)?;
    let mended = foundation::mend(&library, &files, &seen, identity);
    Ok(Foundation {
        pages: mended.pages,
        notes: mended.notes,
        refused: mended.refused,
        newest: seen.newest,
    })
}

/// Whether findings are of what this module repairs.
pub(super) fn concerns(source: &Overlay<'_>, findings: &[Finding]) -> bool {
    let library = Pages::new(source);
    let of_base = |f: &Finding| f.subject.as_ref().is_some_and(|s| is_base(s.object_id));
    !foundation::is_sound(&library, &source.files())
        || findings
            .iter()
            .any(|f| OF_CATALOG.contains(&f.number()) || of_base(f))
}

/// Repairs the foundation, or else the catalog; `dropped` are the units that earlier passes dropped. Nothing
/// for a database of another engine.
pub(super) fn mend(
    source: &Overlay<'_>,
    options: &Options,
    with: (Option<&Scratch>, Option<Listener<'_>>),
    (identity, findings, dropped): (&Identity, &[Finding], &BTreeSet<i64>),
) -> Result<Mended, CheckError> {
    let files = source.files();
    let library = Pages::new(source);
    let seen = survey::survey(&library, &files, with.1)?;
    if !foundation::is_sound(&library, &files) {
        // Without the boot page, the system tables show which engine it is.
        if seen.foreign > MOST_FOREIGN {
            return Ok(Mended::default());
        }
        return Ok(foundation::mend(&library, &files, &seen, identity));
    }
    let boot = library.page(BOOT_PAGE);
    let own = boot.is_some_and(|boot| field::MAGIC.get(&boot).starts_with(b"FURROW"));
    if !own {
        return Ok(Mended::default());
    }
    let damaged = damaged_tables(findings);
    let headers = names::headers(&library, &files);
    let plan = base_plan(&library, &seen);
    let mut mended = Mended::default();
    // All pages are done.
    let pages = files.iter().map(|file| u64::from(file.pages)).sum();
    let progress = Progress {
        pages_done: pages,
        pages_total: pages,
        pages_wanted: pages,
    };
    let goes_on = || with.1.is_none_or(|listener| listener(progress));
    let mut cancelled = false;
    examine_base(
        source,
        options,
        with,
        &plan,
        &mut |shared, library, facts| {
            let mut state = State::new(shared, library, facts);
            let found = gather(&mut state);
            let counts = counts_of(source, &found);
            let mut work = Work {
                store: found.clone(),
                survey: &seen,
                files: &files,
                headers: &headers,
                damaged: damaged.clone(),
                has_all_tables: has_all_tables(&counts, &found),
                counts,
                dropped,
                notes: Vec::new(),
                refusals: Vec::new(),
            };
            if !work.reconcile(&goes_on) {
                cancelled = true;
                return;
            }
            mended = written(&mut state, &found, work);
        },
    )?;
    match cancelled {
        true => Err(CheckError::Cancelled),
        false => Ok(mended),
    }
}

/// The rows that rowsets count, where that is exact: of a database that was shut down cleanly. A boot page
/// that a repair made does not say how it was shut down.
fn counts_of(source: &Overlay<'_>, found: &Store) -> BTreeMap<i64, u64> {
    let boot = Pages::new(source).page(BOOT_PAGE);
    let boot = boot.filter(|_| !source.pages.contains_key(&BOOT_PAGE));
    let boot = boot.and_then(|boot| Boot::decode(&boot).ok());
    if boot.is_none_or(|boot| !boot.own.clean_shutdown) {
        return BTreeMap::new();
    }
    let rowsets: Vec<Rowset> = found.all();
    let counts = rowsets.iter().filter_map(|rowset| {
        let rows = u64::try_from(rowset.rcrows).ok()?;
        Some((rowset.rowsetid, rows))
    });
    counts.collect()
}

/// Whether every table and index that there was is still in the catalog, by the exact counts of its rows.
fn has_all_tables(counts: &BTreeMap<i64, u64>, found: &Store) -> bool {
    let rows = [
        (&SYSROWSETS, found.all::<Rowset>().len()),
        (&SYSIDXSTATS, found.all::<IndexStat>().len()),
        (&SYSSCHOBJS, found.all::<SchemaObject>().len()),
    ];
    let counted = |table: &BaseTable| counts.get(&table.rowset_id().0.cast_signed());
    let is_whole = |(table, rows): &(&BaseTable, usize)| counted(table) == Some(&(*rows as u64));
    rows.iter().all(is_whole)
}

/// Base tables whose rows may be incomplete.
fn damaged_tables(findings: &[Finding]) -> BTreeSet<i32> {
    if findings.iter().any(|f| f.number() == 8930) {
        return BASE_TABLES.iter().map(|table| table.id).collect();
    }
    let subjects = findings.iter().filter_map(|f| f.subject.as_ref());
    let ids = subjects.map(|subject| subject.object_id);
    ids.filter(|id| is_base(*id)).collect()
}

/// The pages of a catalog that was reconciled, or why there are none.
fn written(state: &mut State<'_>, found: &Store, mut work: Work<'_>) -> Mended {
    if work.refusals.is_empty()
        && let Some(table) = write(state, (found, &work.store), &work.damaged)
    {
        work.refusals.push(format!(
            "The system table sys.{table} cannot be written again: nothing is repaired. Restore the database \
             from a backup."
        ));
    }
    if !work.refusals.is_empty() {
        return Mended {
            refused: true,
            notes: work.refusals,
            ..Mended::default()
        };
    }
    let units = |store: &Store| -> BTreeSet<i64> {
        let units: Vec<AllocUnit> = store.all();
        units.iter().map(|unit| unit.auid).collect()
    };
    Mended {
        dropped: &units(found) - &units(&work.store),
        notes: work.notes,
        losses: std::mem::take(&mut state.losses).into_values().collect(),
        pages: std::mem::take(&mut state.pages),
        refused: false,
    }
}

/// A plan of the base tables alone, by layouts that are the same in every database.
fn base_plan(library: &Pages<'_>, seen: &Survey) -> Plan {
    let mut plan = Plan::default();
    if let Some((boot, Ok(_))) = library.get(BOOT_PAGE) {
        plan.take_boot(&boot);
        for table in BASE_TABLES {
            let (root, first_iam) = seen.place_of(table.unit_id().0);
            plan.add_base(table, root, first_iam);
        }
    }
    plan
}

/// The sound rows of all base tables, each key once.
fn gather(state: &mut State<'_>) -> Store {
    state.find_owners();
    let mut found = Store::default();
    for table in trees() {
        let unit = state.plan().unit_of(table.unit_id().0);
        let rows = state.gather_tree(unit, true);
        found.take(table, &rows);
    }
    found
}

/// Lets the boot page lead to the first leaf of `sysallocunits`, if that was written again.
fn lead_in(state: &mut State<'_>) {
    let unit = SYSALLOCUNITS.unit_id();
    let is_first = |page: &PageBuf| {
        let page = Page::new(page);
        page.unit() == unit && page.page_type() == PageType::Data && page.prev().is_none()
    };
    let mut written = state.pages.iter();
    let first = written.find(|(_, page)| is_first(page)).map(|(id, _)| *id);
    if let (Some(first), Some(mut boot)) = (first, state.page(BOOT_PAGE)) {
        debug_assert!(!first.is_none(), "a tree has a first leaf");
        field::CATALOG_PAGE.set_page(&mut boot, first);
        state.put(BOOT_PAGE, boot);
    }
}

/// Writes the trees of base tables that have other rows than were found, or that are damaged, and the page of
/// `sysfiles1`. The first that cannot be written, if any: then none may be.
fn write(
    state: &mut State<'_>,
    (found, wanted): (&Store, &Store),
    damaged: &BTreeSet<i32>,
) -> Option<&'static str> {
    for table in trees() {
        if !damaged.contains(&table.id) && found.is_same(wanted, table.id) {
            continue;
        }
        let unit = state.plan().unit_of(table.unit_id().0);
        let Some(rows) = wanted.tree_rows(state, unit, table) else {
            return Some(table.name);
        };
        debug_assert_eq!(rows.len(), wanted.len(table.id), "all rows are written");
        if state.write_tree(unit, &rows).is_err() {
            return Some(table.name);
        }
    }
    lead_in(state);
    if !files1::is_right(state) {
        match files1::page_of(wanted) {
            Some(page) => state.put(FILES1_PAGE, page),
            None => return Some(SYSFILES1.name),
        }
    }
    None
}
