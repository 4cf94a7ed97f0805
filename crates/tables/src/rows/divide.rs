//! A scan that several threads do together: each takes the next part of the range when it is done with one.
//!
//! Parts of a tree are ranges of keys, between entries of the pages above the leaves. Parts of a heap are
//! pages in the order of its allocation. Rows that come or go meanwhile are seen or not, as in any scan.

use super::insert::key_of_values;
use super::lock_waits::LockWaits;
use super::reading::Reading;
use super::scan::{OpenScan, Source};
use crate::error::EngineError;
use crate::session::{Granularity, LockHints, ReadLock, ScanSpec, Session};
use crate::table::{Index, IndexKind, Table};
use furrow_access::{Bound, Direction, HeapDivision};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicBool, Ordering};
use furrow_txn::lock::{LockMode, Resource};
use furrow_types::Value;
use std::ops::Bound as End;
use std::sync::Arc;

/// Pages of a part: some more than read-ahead requests at once.
pub const PART_PAGES: u16 = 128;

/// What is left of a range.
#[derive(Debug)]
enum Rest {
    /// From here on, up to `high`; `None` when all parts have been given out.
    Tree { from: Option<Bound>, high: Bound },
    /// The pages of a heap; `None` until the first part, which is taken under the lock of the table: pages
    /// that are allocated before that lock is granted belong to the scan.
    Heap(Option<HeapDivision>),
}

/// A scan that is divided among threads.
#[derive(Debug)]
pub struct Division {
    spec: ScanSpec,
    reading: Reading,
    rest: Mutex<Rest>,
    ended: AtomicBool,
    /// About how many pages the range has.
    pub pages: f64,
    /// About which share of the table's rows it has.
    pub share: f64,
}

impl Division {
    /// Gives out no further part; those who read parts end soon.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Whether those who read parts have to end.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// A part of a scan.
enum Part {
    Tree(Bound, Bound),
    Heap(Vec<furrow_format::PageId>),
}

fn bound(table: &Table, index: &Index, end: &End<Vec<Value>>) -> Result<Bound, EngineError> {
    Ok(match end {
        End::Unbounded => Bound::Open,
        End::Included(values) => Bound::Included(key_of_values(table, index, values)?),
        End::Excluded(values) => Bound::Excluded(key_of_values(table, index, values)?),
    })
}

impl Session {
    /// A scan to be divided among readers of this session; `None` where only the session itself can do it:
    /// - rows that are locked and stay locked (REPEATABLE READ, SERIALIZABLE, UPDLOCK and the like);
    /// - pages locked as a whole;
    /// - a table of which this transaction has changed or locked rows, or that it has locked for a change;
    /// - rows that are looked up through an index, rows in descending order, files of another engine.
    pub fn division(
        &mut self,
        table: &Arc<Table>,
        spec: &ScanSpec,
    ) -> Result<Option<Division>, EngineError> {
        let before = self.swap_hints(self.hints_of(spec.hints));
        let divided = self.hinted_division(table, spec);
        self.unswap_hints(before);
        divided
    }

    fn hinted_division(
        &mut self,
        table: &Arc<Table>,
        spec: &ScanSpec,
    ) -> Result<Option<Division>, EngineError> {
        let _task = self.enter();
        self.db.check()?;
        table.check_readable()?;
        let reading = self.reading_mode(spec.lock.max(self.hinted_lock()));
        let held = self.owner.held(&self.object(table));
        let is_free = held.is_none_or(|held| held.compatible(LockMode::S));
        let by_pages = self.granularity() == Granularity::Page || table.is_locked_by_pages();
        let Some(index) = table.indexes.get(spec.index) else {
            return Ok(None);
        };
        let looks_up = index.kind == IndexKind::Nonclustered && !spec.covered;
        if !matches!(reading, Reading::Dirty | Reading::Committed)
            || spec.lock > ReadLock::Shared
            || !is_free
            || self.holds_parts(table)
            || by_pages
            || looks_up
            || spec.backward
            || index.shape().at_rest
        {
            return Ok(None);
        }
        let (rest, pages, share) = match index.rowset.heap() {
            Some(heap) => {
                let pages = heap.page_count()? as f64;
                (Rest::Heap(None), pages, 1.0)
            }
            None => {
                let low = bound(table, index, &spec.low)?;
                let high = bound(table, index, &spec.high)?;
                let (pages, share) = index.tree()?.leaves_between(&low, &high)?;
                let from = Some(low);
                (Rest::Tree { from, high }, pages, share)
            }
        };
        Ok(Some(Division {
            spec: spec.clone(),
            reading,
            rest: Mutex::new(rest),
            ended: AtomicBool::new(false),
            pages,
            share,
        }))
    }

    /// Whether this session holds locks on rows or pages of a table; on a row of any heap, if it is a heap. A
    /// reader's tests would take them, and requests that wait behind them, for those of another session.
    fn holds_parts(&self, table: &Table) -> bool {
        let is_heap = table.indexes.iter().any(|i| i.kind == IndexKind::Heap);
        self.owner.holds_any(|resource| match resource {
            Resource::Rid(..) => is_heap,
            Resource::Key(_, rowset, _) | Resource::Page(_, rowset, _) => {
                table.indexes.iter().any(|i| i.rowset.id() == *rowset)
            }
            _ => false,
        })
    }

    /// Begins a scan of the next part, in a reader ([`Session::reader`]); `None` when there are no more.
    pub fn open_part(
        &mut self,
        table: &Arc<Table>,
        division: &Division,
    ) -> Result<Option<OpenScan>, EngineError> {
        debug_assert!(self.waiter.is_some(), "only readers scan parts");
        self.begin_reading()?;
        let _task = self.enter();
        let index = table.indexes.get(division.spec.index);
        let index = index.ok_or_else(|| EngineError::Damaged("a scan of no index".to_owned()))?;
        let part = match division.has_ended() {
            true => None,
            false => next_part(index, &mut division.rest.lock())?,
        };
        let source = match part {
            None => return Ok(None),
            Some(Part::Tree(low, high)) => {
                let scan = index.tree()?.scan_state(low, high, Direction::Forward);
                Source::Tree(scan.with_read_ahead())
            }
            Some(Part::Heap(pages)) => {
                let missing = || EngineError::Damaged("a heap has become a tree".to_owned());
                let heap = index.rowset.heap().ok_or_else(missing)?;
                Source::Heap(heap.scan_pages(pages).with_read_ahead())
            }
        };
        Ok(Some(OpenScan::of_part(
            table,
            (division.spec.index, source),
            division.reading,
            division.spec.hints,
        )))
    }
}

impl OpenScan {
    /// A scan of a part of a range; the lock of the table is another session's.
    fn of_part(
        table: &Arc<Table>,
        (place, source): (usize, Source),
        reading: Reading,
        hints: LockHints,
    ) -> OpenScan {
        OpenScan {
            table: Arc::clone(table),
            place,
            source,
            reading,
            look_up: false,
            hints,
            brief: None,
            row: Vec::new(),
            within: None,
            candidates: None,
            reread: false,
            watch: None,
            waits: LockWaits::default(),
        }
    }
}

fn next_part(index: &Index, rest: &mut Rest) -> Result<Option<Part>, EngineError> {
    let (from, high) = match rest {
        Rest::Heap(pages) => {
            let missing = || EngineError::Damaged("a heap has become a tree".to_owned());
            let heap = index.rowset.heap().ok_or_else(missing)?;
            let pages = match pages {
                Some(pages) => pages,
                None => pages.insert(heap.division()?),
            };
            let pages = pages.next(heap, usize::from(PART_PAGES))?;
            return Ok(pages.map(Part::Heap));
        }
        Rest::Tree { from, high } => (from, high),
    };
    let Some(low) = from.take() else {
        return Ok(None);
    };
    let tree = index.tree()?;
    let end = tree.key_behind(&low, PART_PAGES)?.filter(|key| {
        let shape = index.shape();
        let behind = match &low {
            Bound::Open => true,
            Bound::Included(low) | Bound::Excluded(low) => shape.compare_keys(key, low).is_gt(),
        };
        let before = match &*high {
            Bound::Open => true,
            Bound::Included(high) | Bound::Excluded(high) => shape.compare_keys(key, high).is_lt(),
        };
        behind && before
    });
    Ok(Some(match end {
        Some(key) => {
            *from = Some(Bound::Included(key.clone()));
            Part::Tree(low, Bound::Excluded(key))
        }
        None => Part::Tree(low, high.clone()),
    }))
}
