//! The scan: every page in use once, each file front to back, by several workers.
//!
//! Files are cut into runs of pages. A worker takes the next run of its file and, when that file is done, of
//! another: so every file is read in order, and files on several volumes at the same time. What a page says
//! of itself is judged at once; what it says of others becomes facts.

mod frame;
mod iam;
mod page;
mod rows;
mod text;
mod value;

pub(crate) use rows::{home_of, index_hash, row_hash, values_of};
pub(crate) use text::ANY_LENGTH;

use crate::buckets::Buckets;
use crate::facts::{BadPage, Facts, Why};
use crate::finding::Findings;
use crate::library::page_at;
use crate::maps::Maps;
use crate::plan::{NO_UNIT, Plan};
use crate::source::{PageSource, SourceFile};
use frame::SlotPlace;
use furrow_format::{EXTENT_PAGES, FileId, PAGE_SIZE, PageBuf};
use furrow_io::AlignedBuf;
use furrow_io::thread::{scope, spawn_scoped};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Pages a worker takes at a time: 512 KB.
const RUN_PAGES: u32 = 64;

/// How far the check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Pages passed, in use or not.
    pub pages_done: u64,
    /// Pages there are.
    pub pages_total: u64,
}

/// What is told of progress; called from several threads.
pub type Listener<'l> = &'l (dyn Fn(Progress) + Sync);

/// What all workers share.
pub(crate) struct Shared<'s> {
    pub(crate) source: &'s dyn PageSource,
    pub(crate) plan: &'s Plan,
    pub(crate) maps: &'s Maps,
    pub(crate) files: &'s [SourceFile],
    /// By file and extent: the unit that an IAM page gives it to, plus one.
    pub(crate) owners: Vec<Vec<AtomicU32>>,
    pub(crate) buckets: Vec<Buckets>,
    /// Live rows by unit.
    pub(crate) rows: Vec<AtomicU64>,
    next: Vec<AtomicU32>,
    done: AtomicU64,
    stopped: AtomicBool,
}

impl<'s> Shared<'s> {
    pub(crate) fn new(
        source: &'s dyn PageSource,
        files: &'s [SourceFile],
        plan: &'s Plan,
        maps: &'s Maps,
    ) -> Shared<'s> {
        let extents = |file: &SourceFile| {
            let count = file.pages.div_ceil(EXTENT_PAGES);
            (0..count).map(|_| AtomicU32::new(0)).collect()
        };
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
                .map(|m| Buckets::new(rows_of(m.base_unit)))
                .collect(),
            rows: plan.units.iter().map(|_| AtomicU64::new(0)).collect(),
            next: files.iter().map(|_| AtomicU32::new(0)).collect(),
            done: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
        }
    }

    /// The next run of a file.
    fn take(&self, file: usize) -> Option<(FileId, u32, u32)> {
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
    pub(crate) facts: Facts,
    pub(crate) findings: Findings,
    pub(crate) slots: Vec<SlotPlace>,
    pub(crate) by_offset: Vec<SlotPlace>,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared<'a>) -> Worker<'a> {
        Worker {
            shared,
            facts: Facts::default(),
            findings: Findings::default(),
            slots: Vec::new(),
            by_offset: Vec::new(),
        }
    }

    fn work(&mut self, number: usize, listener: Option<Listener<'_>>) {
        let files = self.shared.files.len();
        let mut buffer = AlignedBuf::new(RUN_PAGES as usize * PAGE_SIZE);
        for turn in 0..files {
            while let Some((file, first, count)) = self.shared.take((number + turn) % files) {
                if self.shared.stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (pages, _) = buffer.as_chunks_mut::<PAGE_SIZE>();
                self.run(
                    file,
                    first,
                    pages.get_mut(..count as usize).unwrap_or_default(),
                );
                let done = self.shared.done.fetch_add(count.into(), Ordering::Relaxed);
                if let Some(listener) = listener {
                    listener(Progress {
                        pages_done: done + u64::from(count),
                        pages_total: self.shared.files.iter().map(|f| u64::from(f.pages)).sum(),
                    });
                }
            }
        }
    }

    fn run(&mut self, file: FileId, first: u32, pages: &mut [PageBuf]) {
        let whole = self
            .shared
            .source
            .read(file, page_at(file, first).page, pages);
        let together = whole.is_ok();
        for (number, page) in (first..).zip(pages) {
            let id = page_at(file, number);
            if !together {
                // One bad sector must not hide its neighbours.
                let one = std::slice::from_mut(page);
                if let Err(error) = self.shared.source.read(file, id.page, one) {
                    self.unread(id, error.to_string());
                    continue;
                }
            }
            self.page(id, page);
        }
    }

    fn unread(&mut self, id: furrow_format::PageId, error: String) {
        let in_use = self
            .shared
            .maps
            .pfs(id)
            .is_none_or(furrow_format::PfsByte::is_allocated);
        if in_use || furrow_format::fixed_page_type(id.page).is_some() {
            let why = Why::Unread(error);
            self.facts.bad.push(BadPage { id, why });
        }
    }
}

/// Scans all files with so many workers.
pub(crate) fn scan(
    shared: &Shared<'_>,
    workers: usize,
    listener: Option<Listener<'_>>,
) -> (Facts, Findings) {
    let all = Mutex::new((Facts::default(), Findings::default()));
    let one = |number: usize| {
        let mut worker = Worker::new(shared);
        worker.work(number, listener);
        let mut all = all.lock();
        all.0.append(worker.facts);
        all.1.list.append(&mut worker.findings.list);
    };
    scope(|scope| {
        for number in 1..workers.max(1) {
            // Without a thread to spare, those there are do the work.
            let _started = spawn_scoped(scope, "check", move || one(number));
        }
        one(0);
    });
    let (mut facts, findings) = all.into_inner();
    facts.sort();
    (facts, findings)
}
