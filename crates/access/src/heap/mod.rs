//! Heaps: rows without order, accessed by their address.
//!
//! # Structure
//! The pages of a heap are those that its allocation unit owns; they are not linked. A row's address (RID:
//! page and slot) never changes. A row that outgrows its page moves, and leaves a forwarding stub of nine
//! bytes behind; the moved record points back at the stub. When it moves again the stub is changed, so there
//! are no chains.
//!
//! A deleted row stays as a ghost while a transaction can still restore it. The ghost of a moved row is the
//! moved record, with a bit set in its status byte B; its stub is removed together with it.
//!
//! # Where rows go
//! 1. On the page into which this session (or one that shares its hint) inserted last, if it has space.
//! 2. On a page that certainly has space according to PFS, or to the copy of PFS in memory.
//! 3. On a new page. The PFS class of a page is updated with its free bytes, in the same mini-transaction.
//!
//! # What a rollback needs
//! The undo of an update puts the old record back on its page: `restore` explains why there is space.
//!
//! # Latching
//! Readers latch one page at a time: they follow a stub without the latch of its page, and verify the back
//! pointer of the record that they find. Writers that need several pages latch them in the order of their
//! ids, and verify the pages after latching; PFS pages come last, in the same order. A new page is latched
//! last: no other thread can reach it.

mod audit;
mod delete;
mod divide;
mod edit;
mod insert;
mod record;
mod restore;
mod scan;
mod update;

pub use audit::HeapAudit;
pub use divide::HeapDivision;
pub use scan::{HeapCursor, HeapScan, HeapStep, HeapVisitor};

use crate::shape::Shape;
use crate::undo::UndoOp;
use crate::{AccessError, By};
use furrow_format::{Page, PageBuf, PageId, PageType, Record, RecordKind, RowId, RowsetId, Status};
use furrow_io::sync::atomic::AtomicU64;
use furrow_observe::counters::Counter;
use furrow_pool::{LatchRank, Mode, PageGuard, Sh};
use furrow_space::{Space, Unit};
use furrow_txn::Store;
use std::sync::Arc;

/// Insert hints: sessions share them by their numbers.
const HINTS: usize = 64;

/// The parts from which a heap is opened.
#[derive(Debug, Clone)]
pub struct HeapParts {
    /// Pool, log and active transactions of its database.
    pub store: Arc<Store>,
    /// Files of its database.
    pub space: Arc<Space>,
    /// The allocation unit its pages belong to.
    pub unit: Arc<Unit>,
    /// Its rowset.
    pub rowset: RowsetId,
    /// Its rows.
    pub shape: Shape,
}

/// A heap. A new one has no pages, so nothing has to be created.
#[derive(Debug)]
pub struct Heap {
    parts: HeapParts,
    hints: [AtomicU64; HINTS],
}

/// Where a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At its address.
    Home,
    /// Moved to this address.
    Away(RowId),
}

impl Place {
    /// The address of the record of the row at `rid`.
    fn of(self, rid: RowId) -> RowId {
        match self {
            Place::Home => rid,
            Place::Away(at) => at,
        }
    }
}

impl Heap {
    /// Opens a heap with an existing allocation unit.
    pub fn open(parts: HeapParts) -> Heap {
        Heap {
            parts,
            hints: [const { AtomicU64::new(0) }; HINTS],
        }
    }

    /// Its rows.
    pub fn shape(&self) -> &Shape {
        &self.parts.shape
    }

    /// Its rowset.
    pub fn rowset(&self) -> RowsetId {
        self.parts.rowset
    }

    /// Its allocation unit.
    pub fn unit(&self) -> &Arc<Unit> {
        &self.parts.unit
    }

    /// The pages of its database.
    pub fn pages(&self) -> &Store {
        &self.parts.store
    }

    fn store(&self) -> &Store {
        &self.parts.store
    }

    fn space(&self) -> &Space {
        &self.parts.space
    }

    /// The page, latched, if it belongs to this heap.
    fn fetch<M: Mode>(&self, id: PageId, mode: M) -> Result<PageGuard<'_, M>, AccessError> {
        let store = self.store();
        let page = store.pool().fetch(store.key(id), mode, LatchRank::Data)?;
        if !self.is_mine(&page) {
            return Err(damaged(id, "it is not a page of its heap"));
        }
        Ok(page)
    }

    fn is_mine(&self, page: &PageBuf) -> bool {
        let view = Page::new(page);
        view.page_type() == PageType::Data && self.shape().owns(view, self.unit().id())
    }

    /// Reads the row with this address in its present state, without checking locks. The closure gets the
    /// record.
    pub fn get<T>(
        &self,
        rid: RowId,
        with: impl FnOnce(&[u8]) -> T,
    ) -> Result<Option<T>, AccessError> {
        let mut with = Some(with);
        let found = self.look(rid, &mut |row, ghost| {
            (!ghost)
                .then(|| with.take().map(|with| with(row)))
                .flatten()
        })?;
        Ok(found.flatten())
    }

    /// Calls `with` with a latched page of this heap.
    pub fn at_page<T>(
        &self,
        id: PageId,
        with: impl FnOnce(Page<'_>) -> T,
    ) -> Result<T, AccessError> {
        let page = self.fetch(id, Sh)?;
        Ok(with(Page::new(&page)))
    }

    /// Calls a closure with the record of the row at this address, live or ghost, under its page's latch.
    /// `None` if there is no such row.
    fn look<T>(
        &self,
        rid: RowId,
        with: &mut dyn FnMut(&[u8], bool) -> T,
    ) -> Result<Option<T>, AccessError> {
        let mut before = None;
        loop {
            let page = self.fetch(rid.page, Sh)?;
            let view = Page::new(&page);
            let Some(record) = view.record(rid.slot) else {
                return Ok(None);
            };
            let target = match record_kind(record) {
                RecordKind::ForwardingStub => target_of(rid.page, record)?,
                RecordKind::Primary => return Ok(Some(with(record, false))),
                // A moved record is reached only through its stub: this is not the row's address.
                RecordKind::Forwarded => return Ok(None),
                _ if record::is_moved_ghost(record) => return Ok(None),
                _ => return Ok(Some(with(record, true))),
            };
            let seen = Some(view.lsn());
            drop(page);
            self.store().pool().count(Counter::ForwardedRecords, 1);
            let page = self.fetch(target.page, Sh)?;
            let moved = Page::new(&page).record(target.slot);
            if let Some(record) = moved.filter(|r| record::home_of(r) == Some(rid)) {
                return Ok(Some(with(record, Status(first(record)).is_ghost())));
            }
            // A row and its stub change together. So if the stub's page has not changed, there is no row
            // behind the stub.
            if self.shape().at_rest || before == seen {
                return Err(damaged(rid.page, "a forwarding stub leads to no row of it"));
            }
            before = seen;
        }
    }

    /// The location of the row with this address, live or ghost.
    fn locate(&self, rid: RowId) -> Result<Place, AccessError> {
        let page = self.fetch(rid.page, Sh)?;
        let record = Page::new(&page)
            .record(rid.slot)
            .ok_or(AccessError::NotFound)?;
        match record_kind(record) {
            RecordKind::ForwardingStub => Ok(Place::Away(target_of(rid.page, record)?)),
            RecordKind::Forwarded => Err(AccessError::NotFound),
            _ if record::is_moved_ghost(record) => Err(AccessError::NotFound),
            _ => Ok(Place::Home),
        }
    }

    /// Undoes an operation on this heap that is described by the undo part of its log record.
    pub fn undo(&self, by: &mut By<'_>, op: &UndoOp) -> Result<(), AccessError> {
        match op {
            UndoOp::HeapInsert(rid) => self.erase(by, *rid),
            UndoOp::HeapDelete(rid) => self.undelete(by, *rid),
            UndoOp::HeapUpdate { rid, was, old } => self.restore(by, *rid, *was, old),
            _ => Err(AccessError::WrongUndo),
        }
    }
}

fn first(record: &[u8]) -> u8 {
    record.first().copied().unwrap_or(0)
}

fn record_kind(record: &[u8]) -> RecordKind {
    Status(first(record)).kind()
}

fn target_of(page: PageId, stub: &[u8]) -> Result<RowId, AccessError> {
    Record::forwarded_to(stub).ok_or(damaged(page, "a forwarding stub leads nowhere"))
}

fn damaged(page: PageId, what: &'static str) -> AccessError {
    AccessError::Damaged { page, what }
}
