//! What the workers of a scan share, and what each has of its own.

use crate::buckets::Buckets;
use crate::facts::Gathered;
use crate::finding::Findings;
use crate::maps::Maps;
use crate::options::{Depth, Options, Scope};
use crate::plan::{NO_UNIT, Plan};
use furrow_datafile::{PageSource, SourceFile};
use furrow_format::{EXTENT_PAGES, FileId};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Pages a worker takes at a time: 512 KB.
pub(super) const RUN_PAGES: u32 = 64;

/// How far the check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pages passed, in use or not.
    pub pages_done: u64,
    /// Pages there are.
    pub pages_total: u64,
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
        maps: &'s Maps,
    ) -> Shared<'s> {
        let (depth, scope) = (options.depth, options.scope);
        let left_out = |base: u32| match depth {
            Depth::Full => false,
            Depth::NoIndexes => plan.is_users(base),
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
                    (!left_out(m.base_unit)).then(|| Buckets::new(rows, sums))
                })
                .collect(),
            depth,
            scope,
            memory_bytes: options.memory_bytes,
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
        };
        if self.listener.is_some_and(|listener| !listener(progress)) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.is_stopped()
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

/// The unit in a word of `owners`; a unit that the catalog does not know is the largest word.
pub(crate) fn owner_of_word(word: u32) -> Option<u32> {
    match word {
        0 => None,
        NO_UNIT => Some(NO_UNIT),
        known => Some(known - 1),
    }
}

/// A worker.
pub(crate) struct Worker<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) facts: Gathered,
    pub(crate) findings: Findings,
    pub(crate) slots: Vec<SlotPlace>,
    pub(crate) by_offset: Vec<SlotPlace>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>) -> Worker<'a> {
        Worker {
            shared,
            facts: Gathered::default(),
            findings: Findings::default(),
            slots: Vec::new(),
            by_offset: Vec::new(),
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
