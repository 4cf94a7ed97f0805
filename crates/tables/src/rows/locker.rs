//! What a scan does under the latch of each page: it tests or takes the locks of its rows.

use super::lock_waits::Blocked;
use super::pages::PageAsk;
use super::reading::{Reading, mode_of_row};
use crate::session::covers_rows;
use crate::table::{Index, IndexKind, Table, Taker, lock_hash};
use furrow_access::{HeapVisitor, InPlace, PagePass, RowCheck, Visitor};
use furrow_format::{DatabaseId, ObjectId, Page, PageId, RowId};
use furrow_txn::lock::{LockError, LockManager, LockMode, LockOwner, Resource, Watch};

/// Tests and takes locks for a cursor.
pub(super) struct Locker<'v, 'r> {
    pub(super) locks: &'v LockManager,
    pub(super) owner: &'v LockOwner,
    pub(super) db: DatabaseId,
    pub(super) object: ObjectId,
    pub(super) table: &'v Table,
    pub(super) index: &'v Index,
    pub(super) reading: Reading,
    /// Whether others write in the table.
    pub(super) watch: Watch,
    /// Requests the locks of pages.
    pub(super) pages: PageAsk<'v>,
    /// The page that is being read.
    pub(super) page: PageId,
    /// Whether rows that others have locked are passed over.
    pub(super) read_past: bool,
    /// What the row that ends the batch waits for, and in which mode.
    pub(super) blocked: Option<Blocked>,
    pub(super) error: Option<LockError>,
    /// The callback that looks at rows in place.
    pub(super) taker: Option<Taker<'v, 'r>>,
    /// The row whose lock was waited for, until the scan reaches it.
    pub(super) expected: Option<Resource>,
    /// Whether rows may be looked at before they are locked.
    pub(super) looks_first: bool,
    /// Whether any were.
    pub(super) unlocked: bool,
}

impl Locker<'_, '_> {
    fn take(&mut self, resource: Resource, mode: LockMode) -> bool {
        if self.expected == Some(resource) {
            self.expected = None;
        }
        let taken = self
            .locks
            .lock_at_once(self.owner, self.object, resource, mode);
        match taken {
            // A session that locks pages may have announced itself meanwhile.
            Ok(Some(_)) => {
                self.pages.keep(resource);
                self.pages.may_at(self.page) || self.is_kept_out()
            }
            Ok(None) => {
                self.blocked = Some((resource, mode));
                false
            }
            Err(e) => {
                self.error = Some(e);
                false
            }
        }
    }

    /// The lock of the page is what has to be waited for.
    fn is_kept_out(&mut self) -> bool {
        self.blocked = self.pages.blocked.take();
        false
    }

    fn enter(&mut self, page: Page<'_>) -> PagePass {
        self.page = page.page_id();
        let pass = match self.reading {
            Reading::Dirty => PagePass::Each,
            _ => self.pages.enter(page, self.read_past),
        };
        if pass == PagePass::Wait {
            self.is_kept_out();
        }
        pass
    }

    fn test(&mut self, resource: Resource, mode: LockMode) -> bool {
        let free = self.pages.test(resource, mode);
        if !free {
            self.blocked = self.pages.blocked.take();
        }
        free
    }

    fn row_resource(&self, row: &[u8]) -> Option<Resource> {
        let key = self.index.locator_of(row)?;
        Some(self.table.row_resource(self.db, &key))
    }

    fn free_to_take(&mut self, row: &[u8], ghost: bool) -> Option<bool> {
        let resource = self.row_resource(row)?;
        Some(match self.reading {
            Reading::Dirty => true,
            Reading::Committed => self.test(resource, LockMode::S),
            Reading::Kept(mode) if ghost => self.test(resource, mode),
            Reading::Kept(mode) => self.take(resource, mode),
            Reading::Range(mode) => {
                let plain = mode_of_row(mode);
                match self.index.kind {
                    IndexKind::Clustered | IndexKind::Heap => self.take(resource, mode),
                    IndexKind::Nonclustered => {
                        let shape = self.index.shape();
                        let hash = lock_hash(shape, &shape.key_of(row)?, usize::MAX);
                        let entry = Resource::key(self.db, self.index.rowset.id(), hash);
                        self.take(resource, plain) && self.take(entry, mode)
                    }
                }
            }
        })
    }
}

impl Locker<'_, '_> {
    fn free_pass(&mut self) -> bool {
        let whole = Resource::Object(self.db, self.object);
        match self.reading {
            Reading::Dirty => true,
            // A transaction that has changed a row of the table holds IX on the table until it ends.
            Reading::Committed => self.locks.is_unwritten(self.owner, &mut self.watch),
            Reading::Kept(mode) | Reading::Range(mode) => {
                let held = self.owner.held(&whole);
                if held.is_some_and(|held| covers_rows(held, mode)) {
                    return true;
                }
                let free = self.looks_first && self.locks.is_unwritten(self.owner, &mut self.watch);
                self.unlocked |= free;
                free
            }
        }
    }

    fn free_address(&mut self, rid: RowId, ghost: bool) -> bool {
        let resource = Resource::Rid(self.db, rid);
        // A moved row comes after the page of its address.
        if self.page != rid.page {
            self.page = rid.page;
        }
        if self.pages.holds(rid.page) {
            return true;
        }
        match self.reading {
            // A range of a heap is all of it.
            Reading::Dirty | Reading::Range(_) => true,
            Reading::Committed => self.test(resource, LockMode::S),
            Reading::Kept(mode) if ghost => self.test(resource, mode),
            Reading::Kept(mode) => self.take(resource, mode),
        }
    }
}

impl HeapVisitor for Locker<'_, '_> {
    fn in_place(&self) -> InPlace {
        self.taker.as_ref().map_or(InPlace::No, Taker::in_place)
    }

    fn take(&mut self, row: &[u8]) {
        if let Some(taker) = &mut self.taker {
            taker.take(self.table, self.index, row);
        }
    }

    fn count(&mut self, rows: u64) {
        if let Some(taker) = &mut self.taker {
            taker.count(rows);
        }
    }

    fn all_committed(&mut self) -> bool {
        self.free_pass()
    }

    fn enter(&mut self, page: Page<'_>) -> PagePass {
        Locker::enter(self, page)
    }

    fn check(&mut self, rid: RowId, _row: &[u8], ghost: bool) -> RowCheck {
        match self.free_address(rid, ghost) {
            true if ghost => RowCheck::Skip,
            true => RowCheck::Take,
            false if self.read_past && self.error.is_none() => {
                self.blocked = None;
                RowCheck::Skip
            }
            false => RowCheck::Wait,
        }
    }
}

impl Visitor for Locker<'_, '_> {
    fn in_place(&self) -> InPlace {
        self.taker.as_ref().map_or(InPlace::No, Taker::in_place)
    }

    fn take(&mut self, row: &[u8]) {
        if let Some(taker) = &mut self.taker {
            taker.take(self.table, self.index, row);
        }
    }

    fn count(&mut self, rows: u64) {
        if let Some(taker) = &mut self.taker {
            taker.count(rows);
        }
    }

    fn wants_more(&self) -> bool {
        self.taker.as_ref().is_some_and(Taker::wants_more)
    }

    fn all_committed(&mut self) -> bool {
        self.free_pass()
    }

    fn enter(&mut self, leaf: Page<'_>) -> PagePass {
        Locker::enter(self, leaf)
    }

    fn check(&mut self, row: &[u8], ghost: bool) -> RowCheck {
        match self.free_to_take(row, ghost) {
            Some(true) if ghost => RowCheck::Skip,
            Some(true) => RowCheck::Take,
            Some(false) if self.read_past && self.error.is_none() => {
                self.blocked = None;
                RowCheck::Skip
            }
            Some(false) => RowCheck::Wait,
            // The caller that decodes the row reports that it cannot be read.
            None => RowCheck::Take,
        }
    }
}
