//! Scans of ranges, over any index, in both directions.
//!
//! Rows are copied leaf by leaf under the latch, and given out with none held. Locks are tested or taken
//! while copying; a row whose lock is not free ends the batch, the scan waits, and continues at that row. A
//! scan over a nonclustered index then reads the row itself, unless the index has all the columns wanted.
//!
//! A heap is scanned in the order of its allocation, files in turn, and only as a whole. SERIALIZABLE
//! locks all of it: there are no gaps between addresses that could be locked instead.

use super::RowKey;
use super::candidates::Candidates;
use super::insert::key_of_values;
use super::lock_waits::LockWaits;
use super::locker::Locker;
use super::pages::{PageAsk, asked_of_pages};
use super::reading::{Reading, mode_of_row};
use crate::error::{EngineError, refuse};
use crate::session::{Briefly, LockHints, ScanSpec, Session};
use crate::table::{
    Index, IndexKind, LeafColumn, LeafRows, NumberColumn, Row, Table, Taker, Within, rid_key,
};
use furrow_access::{Direction, Heap, HeapScan, HeapStep, Key, Step, TreeScan};
use furrow_format::PageId;
use furrow_observe::counters::Counter;
use furrow_observe::task::TaskGuard;
use furrow_txn::lock::{Granted, LockMode, Resource, Watch};
use furrow_types::Value;
use std::ops::Bound;
use std::sync::Arc;

/// Where a scan is.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one for each scan, where it stays, and it is on the path of every row"
)]
pub(super) enum Source {
    Tree(TreeScan),
    Heap(HeapScan),
}

impl Source {
    #[inline]
    fn advance(&mut self) -> bool {
        match self {
            Source::Tree(scan) => scan.advance(),
            Source::Heap(scan) => scan.advance(),
        }
    }

    #[inline]
    fn current(&self) -> &[u8] {
        match self {
            Source::Tree(scan) => scan.current(),
            Source::Heap(scan) => scan.current().map_or(&[], |row| row.1),
        }
    }

    fn step(&mut self, index: &Index, locker: &mut Locker<'_, '_>) -> Result<Step, EngineError> {
        match self {
            Source::Tree(scan) => Ok(scan.step(index.tree()?, locker)?),
            Source::Heap(scan) => {
                let missing = || EngineError::Damaged("a heap has become a tree".to_owned());
                let heap = index.rowset.heap().ok_or_else(missing)?;
                Ok(match scan.step(heap, locker)? {
                    HeapStep::Rows => Step::Rows,
                    HeapStep::Wait(rid) => Step::Wait(rid_key(rid)),
                    HeapStep::End => Step::End,
                })
            }
        }
    }
}

/// A scan that borrows nothing: several may be open in one session, which steps them in turn, all within one
/// transaction or [`Session::begin_statement`].
///
/// It is to be given back by [`Session::close_scan`]; one that is merely dropped keeps the lock of its
/// table until the transaction ends.
#[derive(Debug)]
pub struct OpenScan {
    pub(super) table: Arc<Table>,
    /// Place of the index among the table's.
    pub(super) place: usize,
    pub(super) source: Source,
    pub(super) reading: Reading,
    pub(super) look_up: bool,
    /// Its hints: they hold while it is stepped.
    pub(super) hints: LockHints,
    /// What its end gives back.
    pub(super) brief: Option<Briefly>,
    /// The row that the entry points to, when it is looked up; or the row that was read once more.
    pub(super) row: Vec<u8>,
    pub(super) within: Option<Within>,
    /// Its locks, where rows that do not qualify are given back.
    pub(super) candidates: Option<Candidates>,
    /// Whether the row gone to last was read once more: [`Session::claim`].
    pub(super) reread: bool,
    /// Whether others write in the table, once it was looked.
    pub(super) watch: Option<Watch>,
    pub(super) waits: LockWaits,
}

/// A scan under way. Outside of a transaction its locks go with it.
#[derive(Debug)]
pub struct Scan<'a> {
    session: &'a mut Session,
    open: OpenScan,
}

impl Session {
    /// Begins a scan.
    pub fn scan<'a>(
        &'a mut self,
        table: &Arc<Table>,
        spec: &ScanSpec,
    ) -> Result<Scan<'a>, EngineError> {
        self.begin_reading()?;
        let begun = self.begin_scan(table, spec);
        let open = self.end_failed(begun)?;
        Ok(Scan {
            session: self,
            open,
        })
    }

    /// Begins a scan beside others of this session. Only within a transaction or
    /// [`Session::begin_statement`]: what it locks goes with that.
    pub fn open_scan(
        &mut self,
        table: &Arc<Table>,
        spec: &ScanSpec,
    ) -> Result<OpenScan, EngineError> {
        if self.txn.is_none() {
            let text = "a scan without a transaction".to_owned();
            return Err(EngineError::Damaged(text));
        }
        self.begin_reading()?;
        let begun = self.begin_scan(table, spec);
        self.end_failed(begun)
    }

    /// Goes to the next row of a scan: [`OpenScan::row`]. `false` at the end; after an error it is over.
    #[inline]
    pub fn step_scan(&mut self, scan: &mut OpenScan) -> Result<bool, EngineError> {
        // A row of the batch costs nothing that a task is charged for.
        if !scan.look_up && scan.advance() {
            return Ok(true);
        }
        self.step_batch(scan)
    }

    /// Goes on where the batch has no row left.
    #[inline(never)]
    fn step_batch(&mut self, scan: &mut OpenScan) -> Result<bool, EngineError> {
        let _task: TaskGuard = self.enter();
        let before = self.swap_hints(scan.hints);
        let found = scan.find_next(self);
        self.unswap_hints(before);
        match found {
            Ok(found) => self.give(Ok(found)),
            Err(e) => self.end_failed(Err(e)),
        }
    }

    /// Goes on to the next page with rows of a scan that hands them over in place
    /// ([`OpenScan::hands_over`]), and lets them be looked at there. `false` at the end; after an error it is
    /// over. A scan is stepped by rows or by leaves, not by both.
    pub fn step_leaf(
        &mut self,
        scan: &mut OpenScan,
        rows: LeafRows<'_>,
    ) -> Result<bool, EngineError> {
        let _task: TaskGuard = self.enter();
        let before = self.swap_hints(scan.hints);
        let found = scan.step(self, Some(rows));
        self.unswap_hints(before);
        match found {
            Ok(found) => self.give(Ok(found)),
            Err(e) => self.end_failed(Err(e)),
        }
    }

    /// Ends a scan.
    pub fn close_scan(&mut self, mut scan: OpenScan) {
        let _task = self.enter();
        while scan.candidates.is_some() && scan.advance() {
            // The caller has not looked at this row.
            self.pass_over(&mut scan);
        }
        self.give_back(scan.brief.take());
    }

    pub(super) fn end_failed<T>(
        &mut self,
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        match result {
            Ok(value) => Ok(value),
            Err(e) => self.end_reading(Err(e)),
        }
    }

    fn begin_scan(&mut self, table: &Arc<Table>, spec: &ScanSpec) -> Result<OpenScan, EngineError> {
        let hints = self.hints_of(spec.hints);
        let before = self.swap_hints(hints);
        let task = self.enter();
        let begun = self.begin_hinted_scan(table, spec);
        drop(task);
        self.unswap_hints(before);
        begun
    }

    fn begin_hinted_scan(
        &mut self,
        table: &Arc<Table>,
        spec: &ScanSpec,
    ) -> Result<OpenScan, EngineError> {
        let hints = self.hints_of(spec.hints);
        table.check_readable()?;
        self.check_read_past()?;
        let lock = spec.lock.max(self.hinted_lock());
        let reading = self.reading_mode(lock);
        let candidates = self.candidates(lock);
        let index = table.indexes.get(spec.index);
        let missing = || {
            EngineError::Damaged(format!(
                "table '{}' has no index {}",
                table.name, spec.index
            ))
        };
        let index = index.ok_or_else(missing)?;
        if (&spec.low, &spec.high) == (&Bound::Unbounded, &Bound::Unbounded) {
            self.db.store.pool().count(Counter::FullScans, 1);
        }
        let by_pages = self.works_on_pages(index);
        let open = |source, brief, within| OpenScan {
            table: Arc::clone(table),
            place: spec.index,
            source,
            reading,
            look_up: index.kind == IndexKind::Nonclustered && !spec.covered,
            hints,
            brief,
            row: Vec::new(),
            within,
            candidates,
            reread: false,
            watch: None,
            waits: LockWaits::for_scan(by_pages),
        };
        if let Some(heap) = index.rowset.heap() {
            let (scan, brief) = self.begin_heap_scan(table, heap, spec, reading)?;
            return Ok(open(Source::Heap(scan), brief, None));
        }
        let brief = self.lock_for_reading(table, Self::reading_intent(reading))?;
        let bound = |bound: &Bound<Vec<Value>>| -> Result<furrow_access::Bound, EngineError> {
            Ok(match bound {
                Bound::Unbounded => furrow_access::Bound::Open,
                Bound::Included(v) => {
                    furrow_access::Bound::Included(key_of_values(table, index, v)?)
                }
                Bound::Excluded(v) => {
                    furrow_access::Bound::Excluded(key_of_values(table, index, v)?)
                }
            })
        };
        let (low, high) = (bound(&spec.low)?, bound(&spec.high)?);
        if let Reading::Range(mode) = reading {
            self.guard_end(table, index, &high, mode)?;
        }
        let direction = match spec.backward {
            true => Direction::Backward,
            false => Direction::Forward,
        };
        let tree = index.tree()?;
        let (low, high, within) = Within::of(tree, low, high)?;
        let mut scan = tree.scan_state(low, high, direction);
        if spec.read_ahead {
            scan = scan.with_read_ahead();
        }
        Ok(open(Source::Tree(scan), brief, within))
    }

    fn begin_heap_scan(
        &mut self,
        table: &Table,
        heap: &Heap,
        spec: &ScanSpec,
        reading: Reading,
    ) -> Result<(HeapScan, Option<Briefly>), EngineError> {
        let whole = (&spec.low, &spec.high) == (&Bound::Unbounded, &Bound::Unbounded);
        if !whole || spec.backward {
            let text = format!(
                "The rows of '{}' have no order: they are scanned as a whole, or through an index.",
                table.name
            );
            return Err(refuse(40514, 16, 4, &text));
        }
        let brief = match reading {
            Reading::Range(mode) => {
                self.lock_table(table, mode_of_row(mode))?;
                None
            }
            _ => self.lock_for_reading(table, Self::reading_intent(reading))?,
        };
        let scan = heap.scan_state()?;
        let scan = match spec.read_ahead {
            true => scan.with_read_ahead(),
            false => scan,
        };
        Ok((scan, brief))
    }
}

impl OpenScan {
    /// The row gone to last.
    #[inline(always)]
    pub fn row(&self) -> Result<Row<'_>, EngineError> {
        match self.look_up || self.reread {
            true => Row::new(&self.table, self.table.base(), &self.row),
            false => Row::new(&self.table, self.index()?, self.source.current()),
        }
    }

    /// Names the row gone to last.
    pub fn row_key(&self) -> Option<RowKey> {
        self.current_key().map(RowKey)
    }

    /// Its table.
    pub fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Whether its rows can be looked at where they lie: not where they are looked up through an index, and
    /// not in another engine's files, whose large values lie elsewhere.
    pub fn hands_over(&self) -> bool {
        let at_rest = self.index().is_ok_and(|index| index.shape().at_rest);
        !self.look_up && !at_rest
    }

    /// Where its rows have a column of whole numbers: for [`LeafRow::number`](crate::LeafRow::number).
    pub fn number_column(&self, column: usize) -> Option<NumberColumn> {
        NumberColumn::of(self.index().ok()?, column)
    }

    #[inline]
    pub(super) fn index(&self) -> Result<&Index, EngineError> {
        let index = self.table.indexes.get(self.place);
        index.ok_or_else(|| EngineError::Damaged("a scan of no index".to_owned()))
    }

    /// Goes to the next row of the batch that belongs to the range.
    #[inline(always)]
    fn advance(&mut self) -> bool {
        self.reread = false;
        while self.source.advance() {
            let Some(within) = &self.within else {
                return true;
            };
            let index = self.table.indexes.get(self.place);
            if index.is_none_or(|index| within.holds(index, self.source.current())) {
                return true;
            }
        }
        false
    }

    fn find_next(&mut self, session: &mut Session) -> Result<bool, EngineError> {
        loop {
            if self.advance() {
                if !self.look_up || self.fetch_row(session)? {
                    return Ok(true);
                }
                session.pass_over(self);
                continue;
            }
            if !self.step(session, None)? {
                return Ok(false);
            }
        }
    }

    /// Fetches a batch, or hands it over in place; `false` at the end.
    fn step(
        &mut self,
        session: &mut Session,
        rows: Option<LeafRows<'_>>,
    ) -> Result<bool, EngineError> {
        let table = Arc::clone(&self.table);
        let from = self.candidates.as_ref().map(|_| session.lock_mark());
        self.waits.begin_look(session, &table)?;
        let looks_first = rows.is_none() && session.may_look_first(self);
        let (step, blocked, error, left, (unlocked, missed)) = {
            let index = table.indexes.get(self.place);
            let index =
                index.ok_or_else(|| EngineError::Damaged("a scan of no index".to_owned()))?;
            let whole = Resource::Object(session.db.id, table.id);
            let mut locker = Locker {
                locks: &session.db.locks,
                owner: &session.owner,
                db: session.db.id,
                object: table.id,
                table: &table,
                index,
                reading: self.reading,
                watch: self.watch.unwrap_or_else(|| Watch::new(whole)),
                pages: PageAsk::new(session, &table, index, asked_of_pages(self.reading))
                    .of_look(&self.waits),
                page: PageId::NONE,
                read_past: self.hints.read_past,
                blocked: None,
                error: None,
                taker: rows.map(|rows| Taker::new(rows, self.within.as_ref())),
                expected: self.candidates.as_ref().and_then(Candidates::waited_for),
                looks_first,
                unlocked: false,
            };
            let step = self.source.step(index, &mut locker);
            let (unlocked, missed) = (locker.unlocked, locker.expected);
            self.watch = Some(locker.watch);
            let left = locker.pages.left();
            (step, locker.blocked, locker.error, left, (unlocked, missed))
        };
        self.waits.end_look(session, left);
        let step = step?;
        if let (Some(candidates), Some(from)) = (&mut self.candidates, from) {
            let waits = matches!(step, Step::Wait(_));
            candidates.stepped(session, (from, unlocked), missed.map(|_| waits));
        }
        if let Some(error) = error {
            return Err(error.into());
        }
        match step {
            Step::Rows => {
                self.waits.gone_on();
                if matches!(self.reading, Reading::Kept(_) | Reading::Range(_)) {
                    session.maybe_escalate(&table)?;
                }
                Ok(true)
            }
            Step::End => Ok(false),
            Step::Wait(_) => {
                self.wait_for(session, blocked)?;
                Ok(true)
            }
        }
    }

    fn wait_for(
        &mut self,
        session: &mut Session,
        blocked: Option<(Resource, LockMode)>,
    ) -> Result<(), EngineError> {
        let Some((resource, mode)) = blocked else {
            return Ok(());
        };
        let of_page =
            matches!(resource, Resource::Page(..)) || session.works_on_pages(self.index()?);
        if self.reading == Reading::Committed || of_page {
            self.waits.wait_or_defer(session, &self.table, blocked)?;
        } else {
            let granted = session.lock_row(&self.table, resource, mode)?;
            if let Some(candidates) = &mut self.candidates
                && granted == Granted::New
            {
                candidates.waited(resource);
            }
        }
        Ok(())
    }

    /// Reads the row that the entry points to; `false` when it is gone, or is another one by now.
    fn fetch_row(&mut self, session: &mut Session) -> Result<bool, EngineError> {
        let index = self.index()?;
        let key = index.locator_of(self.source.current()).ok_or_else(|| {
            EngineError::Damaged(format!("an entry of index '{}' has no locator", index.name))
        })?;
        let reading = match self.reading {
            // The row's lock was taken with the entry.
            Reading::Range(mode) => Reading::Kept(mode_of_row(mode)),
            other => other,
        };
        let mut row = std::mem::take(&mut self.row);
        let found = session.read_row(&self.table, &key, reading, &mut row);
        self.row = row;
        let index = self.index()?;
        if index.shape().at_rest {
            // Nothing changes between the two: an entry without its row is damage.
            let text = || format!("an entry of index '{}' leads to no row", index.name);
            let lost = || EngineError::Damaged(text());
            return found?.then_some(true).ok_or_else(lost);
        }
        Ok(found? && self.still_matches()?)
    }

    /// Whether the row has the values that led to it.
    fn still_matches(&self) -> Result<bool, EngineError> {
        let index = self.index()?;
        let of_entry = Row::new(&self.table, index, self.source.current());
        let of_row = Row::new(&self.table, self.table.base(), &self.row);
        let (Ok(entry), Ok(row)) = (of_entry, of_row) else {
            return Ok(true);
        };
        Ok(index.leaf.iter().all(|leaf| match leaf {
            LeafColumn::Table(column) => entry.bytes(*column) == row.bytes(*column),
            LeafColumn::Uniquifier | LeafColumn::Rid => true,
        }))
    }

    /// The clustered key, or the address, of the row that was given out last.
    pub(super) fn current_key(&self) -> Option<Key> {
        if let Source::Heap(scan) = &self.source {
            return scan.current().map(|row| rid_key(row.0));
        }
        self.index().ok()?.locator_of(self.source.current())
    }
}

impl Scan<'_> {
    /// Goes to the next row: [`Scan::row`]. `false` at the end; after an error the scan is over.
    #[inline]
    pub fn step(&mut self) -> Result<bool, EngineError> {
        self.session.step_scan(&mut self.open)
    }

    /// The row gone to last.
    #[inline]
    pub fn row(&self) -> Result<Row<'_>, EngineError> {
        self.open.row()
    }

    /// The next row; `None` at the end. After an error the scan is over.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>, EngineError> {
        match self.step()? {
            true => self.row().map(Some),
            false => Ok(None),
        }
    }

    /// Calls `each` for the rows to come.
    pub fn for_each(
        mut self,
        mut each: impl FnMut(Row<'_>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        while self.step()? {
            each(self.row()?)?;
        }
        Ok(())
    }

    /// The clustered key, or the address, of the row that was given out last.
    pub(super) fn current_key(&self) -> Option<Key> {
        self.open.current_key()
    }

    /// The bytes of the row that was looked up last, for the taking.
    pub(super) fn take_row(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.open.row)
    }

    pub(super) fn session_of(&self) -> &Session {
        self.session
    }
}

impl Drop for Scan<'_> {
    fn drop(&mut self) {
        let _task = self.session.enter();
        self.session.give_back(self.open.brief.take());
        // What was given out is durable: only the end of the scan is not reported.
        let _: Result<(), EngineError> = self.session.end_reading(Ok(()));
    }
}
