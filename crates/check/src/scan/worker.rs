//! What the workers of a scan share, and what each has of its own.

use crate::buckets::Buckets;
use crate::facts::Gathered;
use crate::findings::Findings;
use crate::maps::Maps;
use crate::options::{Depth, Options, Scope};
use crate::plan::{IndexMatch, NO_UNIT, Plan, UnitPlan};
use crate::scan::wanted::Wanted;
use furrow_datafile::{PageSource, SourceFile};
use furrow_format::{EXTENT_PAGES, FileId, PAGE_SIZE, PageId};
use furrow_io::time::{Duration, Moment, sleep};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Pages a worker takes at a time: 512 KB.
pub(super) const RUN_PAGES: u32 = 64;

/// A worker that waits for its turn looks so often whether the check is to end.
const NAP: Duration = Duration::from_millis(50);

/// How far the check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pages passed, in use or not.
    pub pages_done: u64,
    /// Pages there are.
    pub pages_total: u64,
    /// Of these, pages that are read.
    pub pages_wanted: u64,
}

/// Receives progress, from several threads, and returns whether to go on. It is also called while facts are
/// matched, when all pages are done.
pub type Listener<'l> = &'l (dyn Fn(Progress) -> bool + Sync);

/// What all workers share.
pub(crate) struct Shared<'s> {
    pub(crate) source: &'s dyn PageSource,
    pub(crate) plan: &'s Plan,
    pub(crate) maps: &'s Maps,
    pub(crate) files: &'s [SourceFile],
    /// By file and extent: the unit that an IAM page gives it to, plus one.
    pub(crate) owners: Vec<Vec<AtomicU32>>,
    /// By match; `None` for one that this check leaves out.
    pub(crate) buckets: Vec<Option<Buckets>>,
    pub(crate) depth: Depth,
    pub(crate) scope: Scope,
    pub(crate) memory_bytes: u64,
    wanted: &'s Wanted,
    bytes_per_s: u64,
    begun: Moment,
    /// Pages read.
    read: AtomicU64,
    listener: Option<Listener<'s>>,
    /// Live rows by unit.
    pub(crate) rows: Vec<AtomicU64>,
    next: Vec<AtomicU32>,
    done: AtomicU64,
    stopped: AtomicBool,
}

impl<'s> Shared<'s> {
    pub(crate) fn new(
        (source, listener): (&'s dyn PageSource, Option<Listener<'s>>),
        files: &'s [SourceFile],
        (plan, options): (&'s Plan, &Options),
        (maps, wanted): (&'s Maps, &'s Wanted),
    ) -> Shared<'s> {
        let (depth, scope) = (options.depth, options.scope);
        let judged = |unit: u32| {
            let unit = plan.unit(unit);
            unit.is_some_and(|unit| judges(scope, unit))
        };
        let left_out = |m: &IndexMatch| match depth {
            Depth::Full => !judged(m.base_unit) || !judged(m.index_unit),
            Depth::NoIndexes => plan.is_users(m.base_unit) || !judged(m.base_unit),
            Depth::Physical => true,
        };
        let extents = |file: &SourceFile| {
            let count = file.pages.div_ceil(EXTENT_PAGES);
            (0..count).map(|_| AtomicU32::new(0)).collect()
        };
        // Sums of eight bytes, in a quarter of the memory.
        let sums = options.memory_bytes / 32 / plan.matches.len().max(1) as u64;
        let rows_of = |unit: u32| plan.rows_of(unit).map_or(0, |rows| rows.rows);
        Shared {
            source,
            plan,
            maps,
            files,
            owners: files.iter().map(extents).collect(),
            buckets: plan
                .matches
                .iter()
                .map(|m| {
                    let rows = rows_of(m.base_unit);
                    (!left_out(m)).then(|| Buckets::new(rows, sums))
                })
                .collect(),
            depth,
            scope,
            memory_bytes: options.memory_bytes,
            wanted,
            bytes_per_s: options.bytes_per_s,
            begun: Moment::now(),
            read: AtomicU64::new(0),
            listener,
            rows: plan.units.iter().map(|_| AtomicU64::new(0)).collect(),
            next: files.iter().map(|_| AtomicU32::new(0)).collect(),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// Whether the listener has ended the check.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Notes that so many more pages are done, and returns whether to go on.
    pub(crate) fn advance(&self, pages: u32) -> bool {
        let done = self.done.fetch_add(pages.into(), Ordering::Relaxed);
        let progress = Progress {
            pages_done: done + u64::from(pages),
            pages_total: self.files.iter().map(|f| u64::from(f.pages)).sum(),
            pages_wanted: self.wanted.pages(self.files),
        };
        if self.listener.is_some_and(|listener| !listener(progress)) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.is_stopped()
    }

    /// Whether the extent of a page is to be read: no page of a free one is judged.
    pub(super) fn is_wanted(&self, id: PageId) -> bool {
        let (file, extent) = (self.maps.file_index(id.file), id.page.0 / EXTENT_PAGES);
        file.is_none_or(|file| self.wanted.has(file, extent)) && self.maps.is_extent_in_use(id)
    }

    /// Whether findings about a unit are wanted.
    pub(crate) fn judges(&self, unit: u32) -> bool {
        let unit = self.plan.unit(unit);
        let there = |unit: &UnitPlan| !self.plan.is_absent(unit.filegroup);
        unit.is_none_or(|unit| judges(self.scope, unit) && there(unit))
    }

    /// Notes that so many pages were read, and waits as long as the limit demands; whether to go on.
    pub(super) fn keep_pace(&self, pages: u32) -> bool {
        let before = self.read.fetch_add(pages.into(), Ordering::Relaxed);
        if self.bytes_per_s == 0 {
            return true;
        }
        let bytes = (before + u64::from(pages)).saturating_mul(PAGE_SIZE as u64);
        let due = Duration::from_secs_f64(bytes as f64 / self.bytes_per_s as f64);
        loop {
            let left = due.saturating_sub(self.begun.elapsed());
            if left.is_zero() {
                return true;
            }
            sleep(left.min(NAP));
            if !self.advance(0) {
                return false;
            }
        }
    }

    /// The next run of a file.
    pub(super) fn take(&self, file: usize) -> Option<(FileId, u32, u32)> {
        let (about, next) = (self.files.get(file)?, self.next.get(file)?);
        let first = next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |at| {
                (at < about.pages).then(|| at.saturating_add(RUN_PAGES))
            })
            .ok()?;
        Some((about.id, first, RUN_PAGES.min(about.pages - first)))
    }

    /// The unit that an IAM page gives an extent to.
    pub(crate) fn owner(&self, file: usize, extent: u32) -> Option<u32> {
        let owner = self.owners.get(file)?.get(extent as usize)?;
        owner_of_word(owner.load(Ordering::Relaxed))
    }
}

/// Whether a scope is about a unit.
fn judges(scope: Scope, unit: &UnitPlan) -> bool {
    match scope {
        Scope::Database | Scope::Catalog => true,
        Scope::Object(id) => unit.object_id == id,
        Scope::Filegroup(group) => unit.filegroup == group,
    }
}

/// The unit in a word of `owners`; a unit that the catalog does not know is the largest word.
pub(crate) fn owner_of_word(word: u32) -> Option<u32> {
    match word {
        0 => None,
        NO_UNIT => Some(NO_UNIT),
        known => Some(known - 1),
    }
}

/// The hashes of a page's rows for one index.
pub(super) struct Hashes<'a> {
    pub(super) index: &'a IndexMatch,
    pub(super) sums: &'a Buckets,
    /// Whether the rows are those of the index, not of its table.
    pub(super) is_index: bool,
    pub(super) hashes: Vec<u64>,
}

/// A worker.
pub(crate) struct Worker<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) facts: Gathered,
    pub(crate) findings: Findings,
    pub(crate) slots: Vec<SlotPlace>,
    pub(crate) by_offset: Vec<SlotPlace>,
    /// Hashes of the rows of a page: for each index that the table has, then for the index that it is.
    pub(super) hashes: Vec<Hashes<'a>>,
    /// The unit that the hashes are for.
    pub(super) hashes_of: Option<u32>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>) -> Worker<'a> {
        Worker {
            shared,
            facts: Gathered::default(),
            findings: Findings::default(),
            slots: Vec::new(),
            by_offset: Vec::new(),
            hashes: Vec::new(),
            hashes_of: None,
        }
    }
}

/// Where a slot's record lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SlotPlace {
    pub(crate) offset: u16,
    pub(crate) len: u16,
    pub(crate) slot: u16,
}
