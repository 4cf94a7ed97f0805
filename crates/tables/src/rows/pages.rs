//! Page locks, and how rows and pages see each other.
//!
//! The hierarchy is SQL Server's: object, page, row. A statement works on *rows* (the usual) or on *pages*
//! (PAGLOCK, or an index with ALLOW_ROW_LOCKS = OFF). In the second case one S, U or X lock of a page
//! replaces the locks of all rows on it, and escalation goes from pages to the table as it goes from rows.
//!
//! # What a row costs
//! An intent lock on the page of every row would cost each row one more lock. Only sessions that lock
//! whole pages need the intents, and these are rare. So such a session announces itself with the table for
//! the length of its transaction, and intents are taken only on tables with an announcement. Without one,
//! a row costs one load of a counter that no session writes.
//!
//! # Which lock is taken when
//! - **Work on pages.** The session (1) announces itself; (2) under the latch of the page, takes S, U or X
//!   on the page when that needs no waiting *and* each row that lies there, ghosts too, could be locked in
//!   that mode: the row itself, and of a nonclustered index its entry as well. Otherwise it releases the
//!   latch, waits until the lock that was in the way is free, holding nothing new, and looks again. It
//!   locks no rows, with one exception: it locks rows of a table of which another index is worked on by
//!   rows, because a session that comes from that index asks only for the row's lock.
//! - **Work on rows**, where a session has announced itself: the session (1) takes IS, IU or IX on the
//!   page before it locks a row of it; (2) checks this lock under the latch under which it reads or
//!   changes the row, because the row may have moved. If the page's lock is not free, it waits with no
//!   latch held.
//! - **Reads of committed rows** hold no locks. Under the latch the reader tests that the page could be
//!   locked IS (S with PAGLOCK), and the row S.
//! - **Page splits.** A session that has locked the page as a whole locks the new page in the same mode,
//!   under the same latch. For other splits no other session may hold a lock on the new page (left from an
//!   earlier use of that page number).
//! - **Cleanup of ghosts.** The cleanup tests that X on the page is free. Then no session that has deleted
//!   rows on it is still active.
//!
//! # Why it is enough
//! 1. *Rows locked before the announcement* have no intent on their page. A session that locks the page
//!    tests the row locks themselves, and so sees them. The same holds for rows that came from another
//!    page by a split: row locks are binding for pages, intents alone never are.
//! 2. *Sessions that lock rows and have not seen the announcement* have read the counter after they had
//!    their row's lock, or with the page latched. A session that locks pages has announced itself before
//!    it tests that row lock, or latches that page. So either it finds the row lock, or the other session
//!    finds the announcement.
//! 3. *A page locked as a whole keeps its rows.* A row is inserted, removed or moved only with IX on the
//!    page. The page has no uncommitted rows of others: the lock was granted only with all of them free.
//! 4. *Ranges* are ranges of keys with PAGLOCK too: SERIALIZABLE readers lock keys and their gaps, with
//!    intents on pages; where rows may not be locked, they lock the table.
//!
//! Rows of a heap do not change their page: what is locked of a moved row is the page of its address.

use super::lock_waits::{Blocked, LockWaits, Taken};
use super::reading::{Reading, mode_of_row};
use crate::error::{EngineError, refuse};
use crate::session::{Granularity, Session};
use crate::table::{Body, Index, IndexKind, Table, lock_hash, rid_of};
use furrow_access::{AccessError, Gate, Key, PagePass};
use furrow_format::{DatabaseId, Page, PageId, RowId};
use furrow_txn::lock::{LockManager, LockMode, LockOwner, Resource, Timeout};
use std::cell::Cell;

/// The lock of a page that goes with a lock of a row.
pub(super) fn intent_of(row: LockMode) -> LockMode {
    match mode_of_row(row) {
        LockMode::S => LockMode::IS,
        LockMode::U => LockMode::IU,
        _ => LockMode::IX,
    }
}

/// Whether a requested lock of a page is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// It is held until the transaction ends.
    Held,
    /// It must be free, and is not taken.
    Tested,
}

/// The lock that a reader requests of each page.
pub(super) fn asked_of_pages(reading: Reading) -> (LockMode, Keep) {
    match reading {
        Reading::Kept(mode) | Reading::Range(mode) => (mode, Keep::Held),
        Reading::Dirty | Reading::Committed => (LockMode::S, Keep::Tested),
    }
}

/// Requests locks of the pages of one index, under their latches.
pub(super) struct PageAsk<'a> {
    locks: &'a LockManager,
    owner: &'a LockOwner,
    db: DatabaseId,
    table: &'a Table,
    index: &'a Index,
    /// What rows are locked in, or would be.
    mode: LockMode,
    keep: Keep,
    /// Whether the page is locked as a whole.
    pub(super) whole: bool,
    /// Whether pages of this index are never locked: it has no page locks, or the table's lock covers
    /// them.
    idle: bool,
    /// The lock that was not free.
    pub(super) blocked: Cell<Option<Blocked>>,
    /// What waits have taken for this look. The page counts as held once it is requested here.
    pending: Cell<Taken>,
}

impl<'a> PageAsk<'a> {
    pub(super) fn new(
        session: &'a Session,
        table: &'a Table,
        index: &'a Index,
        (mode, keep): (LockMode, Keep),
    ) -> PageAsk<'a> {
        PageAsk {
            locks: &session.db.locks,
            owner: &session.owner,
            db: session.db.id,
            table,
            index,
            mode: mode_of_row(mode),
            keep,
            whole: mode == mode_of_row(mode) && session.works_on_pages(index),
            idle: !index.allows_page_locks() || session.covers_rows(table, mode),
            blocked: Cell::new(None),
            pending: Cell::new(Taken::default()),
        }
    }

    /// The same for a look after waits.
    pub(super) fn of_look(self, waits: &LockWaits) -> PageAsk<'a> {
        self.pending.set(waits.held());
        self
    }

    /// What a wait has taken for this look and the look has not requested: it is to be given back.
    pub(super) fn left(&self) -> Taken {
        self.pending.get()
    }

    /// The lock of a row is held to the end of the transaction, also if a wait has taken it for this look.
    pub(super) fn keep(&self, resource: Resource) {
        let Taken { page, row } = self.pending.get();
        let row = row.filter(|row| *row != resource);
        self.pending.set(Taken { page, row });
    }

    /// The same for a session that has locked rows, whatever the statement locks: intents only.
    pub(super) fn of_rows(mut self) -> PageAsk<'a> {
        self.whole = false;
        self
    }

    /// Whether any session may lock pages of the table as a whole.
    #[inline]
    pub(super) fn is_wanted(&self) -> bool {
        self.table.common.has_page_lockers() && !self.idle
    }

    fn resource(&self, page: PageId) -> Resource {
        Resource::Page(self.db, self.index.rowset.id(), page)
    }

    fn wanted(&self) -> LockMode {
        match self.whole {
            true => self.mode,
            false => intent_of(self.mode),
        }
    }

    /// Whether a wait has taken this lock for this look.
    #[inline]
    fn is_pending(&self, resource: Resource) -> bool {
        let taken = self.pending.get();
        taken.page == Some(resource) || taken.row == Some(resource)
    }

    /// Whether a lock is free.
    pub(super) fn test(&self, resource: Resource, mode: LockMode) -> bool {
        let free = self.is_pending(resource) || self.locks.try_instant(self.owner, resource, mode);
        if !free {
            self.blocked.set(Some((resource, mode)));
        }
        free
    }

    /// Whether the rows of this latched page may be used: the page's lock is held, or free.
    #[inline]
    pub(super) fn may(&self, page: Page<'_>) -> bool {
        !self.is_wanted() || self.ask(page.page_id(), &|| self.rows_are_free(page))
    }

    /// The same for a caller that tests the rows itself, or holds their locks.
    #[inline]
    pub(super) fn may_at(&self, page: PageId) -> bool {
        !self.is_wanted() || self.ask(page, &|| true)
    }

    #[cold]
    fn ask(&self, page: PageId, rows_are_free: &dyn Fn() -> bool) -> bool {
        let (resource, wanted) = (self.resource(page), self.wanted());
        let held = self.owner.held(&resource);
        let is_pending = self.is_pending(resource);
        if held.is_some_and(|held| held.covers(wanted)) && !is_pending {
            return true;
        }
        if !self.test(resource, wanted) {
            return false;
        }
        if self.keep == Keep::Tested {
            return true;
        }
        if self.whole && !rows_are_free() {
            return false;
        }
        self.take(resource, wanted)
    }

    fn take(&self, resource: Resource, mode: LockMode) -> bool {
        let (owner, object, now) = (self.owner, self.table.id, Timeout::NoWait);
        let taken = self.locks.lock_within(owner, object, resource, mode, now);
        if taken.is_err() {
            self.blocked.set(Some((resource, mode)));
        } else if self.is_pending(resource) {
            let row = self.pending.get().row;
            self.pending.set(Taken { page: None, row });
        }
        taken.is_ok()
    }

    /// Whether no other session holds a conflicting lock on a row of this page.
    fn rows_are_free(&self, page: Page<'_>) -> bool {
        page.records()
            .all(|(slot, row)| self.row_is_free(page.page_id(), slot, row))
    }

    fn row_is_free(&self, page: PageId, slot: u16, row: &[u8]) -> bool {
        if self.index.kind == IndexKind::Heap {
            return self.test(Resource::Rid(self.db, RowId { page, slot }), self.mode);
        }
        // The caller that decodes the row reports that it cannot be read.
        let Some(base) = self.index.locator_of(row) else {
            return true;
        };
        if !self.test(self.table.row_resource(self.db, &base), self.mode) {
            return false;
        }
        if self.index.kind == IndexKind::Clustered {
            return true;
        }
        let shape = self.index.shape();
        let Some(key) = shape.key_of(row) else {
            return true;
        };
        let hash = lock_hash(shape, &key, usize::MAX);
        self.test(
            Resource::key(self.db, self.index.rowset.id(), hash),
            self.mode,
        )
    }

    /// Whether this transaction has locked the page as a whole, in the mode that this statement needs.
    pub(super) fn holds(&self, page: PageId) -> bool {
        self.is_wanted()
            && self.whole
            && self.keep == Keep::Held
            && !self.is_pending(self.resource(page))
            && (self.owner.held(&self.resource(page))).is_some_and(|held| held.covers(self.mode))
    }

    /// What a scan makes of a page; with `read_past` pages that others have locked are passed over.
    pub(super) fn enter(&self, page: Page<'_>, read_past: bool) -> PagePass {
        if !self.is_wanted() {
            return PagePass::Each;
        }
        match (self.may(page), self.keep) {
            (true, Keep::Held) if self.whole => PagePass::All,
            (true, _) => PagePass::Each,
            (false, _) if read_past => {
                self.blocked.set(None);
                PagePass::Skip
            }
            (false, _) => PagePass::Wait,
        }
    }

    /// Whether rows may go from one page to a new one.
    fn may_go(&self, from: PageId, to: PageId) -> bool {
        if !self.is_wanted() {
            return true;
        }
        let (from, to) = (self.resource(from), self.resource(to));
        let held = self.owner.held(&from);
        match held.filter(|held| held.covers(LockMode::S)) {
            // The locks it held on rows that move are held on the new page too, back to any savepoint.
            Some(held) => self.test(to, held) && self.locks.lock_like(self.owner, &from, to),
            None => self.test(to, LockMode::IX),
        }
    }
}

impl Gate for PageAsk<'_> {
    fn guards_gaps(&self) -> bool {
        false
    }

    fn may_enter(&self, _next: Option<&Key>) -> bool {
        true
    }

    fn may_change(&self, leaf: Page<'_>) -> bool {
        self.may(leaf)
    }

    fn may_move(&self, from: PageId, to: PageId) -> bool {
        self.may_go(from, to)
    }
}

impl Session {
    /// Whether this statement locks pages of an index, not rows.
    #[inline]
    pub(crate) fn works_on_pages(&self, index: &Index) -> bool {
        !index.allows_row_locks() || self.granularity() == Granularity::Page
    }

    /// 651 where a hint demands a granularity that an index does not allow.
    pub(crate) fn check_granularity(&self, table: &Table) -> Result<(), EngineError> {
        let (hint, barred): (_, fn(&Index) -> bool) = match self.granularity() {
            Granularity::Page => ("PAGE", |i| !i.allows_page_locks()),
            Granularity::Rows => ("ROW", |i| !i.allows_row_locks()),
            Granularity::Row | Granularity::Table => return Ok(()),
        };
        if !table.indexes.iter().any(barred) {
            return Ok(());
        }
        let text = format!(
            "Cannot use the {hint} granularity hint on the table \"{}\" because locking at the specified \
            granularity is inhibited.",
            table.full_name()
        );
        Err(refuse(651, 16, 1, &text))
    }

    /// Locks the page where a row is, or would be, before the row itself is locked: with an intent, or as
    /// a whole. Returns whether this lock replaces the row's lock.
    #[inline]
    pub(super) fn approach(
        &mut self,
        table: &Table,
        index: &Index,
        key: &Key,
        mode: LockMode,
    ) -> Result<bool, EngineError> {
        if !table.common.has_page_lockers() {
            return Ok(false);
        }
        self.approach_page(table, index, key, mode)
    }

    #[cold]
    fn approach_page(
        &mut self,
        table: &Table,
        index: &Index,
        key: &Key,
        mode: LockMode,
    ) -> Result<bool, EngineError> {
        let mut waits = LockWaits::for_page();
        loop {
            let ask = PageAsk::new(self, table, index, (mode, Keep::Held)).of_look(&waits);
            if ask.idle {
                return Ok(false);
            }
            let free = match index.rowset.body() {
                Body::Tree(tree) => tree.at_leaf(key, |leaf| ask.may(leaf)),
                Body::Heap(heap) => rid_of(key)
                    .ok_or(AccessError::NotFound)
                    .and_then(|rid| heap.at_page(rid.page, |page| ask.may(page))),
            };
            let (whole, blocked, left) = (ask.whole, ask.blocked.take(), ask.left());
            waits.end_look(self, left);
            if free? {
                self.count_row_lock(table)?;
                return Ok(whole && (!index.is_base() || self.needs_no_row_locks(table)));
            }
            waits.wait(self, table, blocked)?;
        }
    }

    /// Whether every session that reaches a row of the table requests the lock of a page. A session that
    /// comes from an index whose pages this statement has not locked as a whole requests the lock of the row.
    fn needs_no_row_locks(&self, table: &Table) -> bool {
        let mut indexes = table.indexes.iter();
        indexes.all(|index| self.works_on_pages(index) && index.allows_page_locks())
    }
}
