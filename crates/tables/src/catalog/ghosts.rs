//! Removal of ghosts.
//!
//! Deleting a row marks it as a ghost and queues its key with its rowset (`table/ghosts.rs` proves that no
//! ghost is forgotten). The cleanup removes ghosts later, one leaf at a time:
//! 1. It takes an IX lock on the table, so that no session can drop the table meanwhile.
//! 2. Under the latch of the leaf it tests for each ghost whether another session has a lock that covers
//!    it. Such a lock belongs to the transaction that deleted the row and may roll back, or to a reader
//!    that guards a range. A ghost with such a lock stays.
//! 3. An entry of a nonclustered index is tested by its own lock and by the lock of the row that it points
//!    to.
//!
//! Rows of base tables have no locks. Their ghosts are removed when the last change of the leaf is older
//! than every active transaction.
//!
//! The queue is lost when the database is closed. So after an open a sweep over each rowset finds the
//! ghosts, some leaves in each turn.

use super::Catalog;
use super::bases::Base;
use crate::error::EngineError;
use crate::table::{Body, GhostQueue, Index, Sweep, Table, lock_hash, rid_key, rid_of};
use furrow_access::{
    AccessError, Bound, Direction, Gate, Heap, Key, Purge, RowCheck, Shape, Step, Tree, Visitor,
};
use furrow_format::{Page, PageId};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use furrow_txn::Store;
use furrow_txn::lock::{LockManager, LockMode, LockOwner, Resource, Timeout};
use std::cell::RefCell;
use std::collections::HashSet;

/// Session number that SQL Server's ghost cleanup runs as.
const CLEANUP_SESSION: i32 = 6;

/// Dropping so many units leaves ghosts on some dozen leaves of base tables.
const UNITS_A_PURGE: u64 = 256;

/// The owner that requests the locks, and the table that it cleans.
struct Cleaner<'a> {
    locks: &'a LockManager,
    owner: &'a LockOwner,
    table: &'a Table,
    db: furrow_format::DatabaseId,
}

/// Allows a page to be cleaned if no session has locked it as a whole.
struct FreePages<'a>(&'a Cleaner<'a>, &'a Index);

impl Gate for FreePages<'_> {
    fn guards_gaps(&self) -> bool {
        false
    }

    fn may_enter(&self, _next: Option<&Key>) -> bool {
        true
    }

    fn may_change(&self, leaf: Page<'_>) -> bool {
        self.0.is_page_free(self.1, leaf.page_id())
    }
}

impl Cleaner<'_> {
    fn free(&self, resource: Resource) -> bool {
        let wanted = mutated(Mutation::PurgeWanted);
        wanted || self.locks.try_instant(self.owner, resource, LockMode::X)
    }

    /// Whether no session has locked a ghost: neither the entry nor the row it points to. `false` if the
    /// entry cannot be read, so that it stays.
    fn dead(&self, index: &Index, key: &Key, row: &[u8]) -> bool {
        let entry = lock_hash(index.shape(), key, usize::MAX);
        let Some(row) = index.locator_of(row) else {
            return false;
        };
        let row = self.table.row_resource(self.db, &row);
        self.free(Resource::key(self.db, index.rowset.id(), entry)) && self.free(row)
    }

    /// Whether no session has locked this page as a whole. A session that has may have deleted rows on it.
    fn is_page_free(&self, index: &Index, page: PageId) -> bool {
        !self.table.common.has_page_lockers()
            || self.free(Resource::Page(self.db, index.rowset.id(), page))
    }

    fn purge(&self, index: &Index, key: &Key) -> Result<Purge, AccessError> {
        match (index.rowset.body(), rid_of(key)) {
            (Body::Tree(tree), _) => {
                let dead = |key: &Key, row: &[u8]| self.dead(index, key, row);
                tree.purge_ghosts_gated(key, &FreePages(self, index), &dead)
            }
            (Body::Heap(heap), Some(rid)) => heap.purge_ghost(rid, &|rid| {
                self.free(Resource::Rid(self.db, rid)) && self.is_page_free(index, rid.page)
            }),
            (Body::Heap(_), None) => Ok(Purge {
                gone: 0,
                done: true,
            }),
        }
    }

    /// Removes the ghosts of up to `leaves` leaves of an index. Returns how many rows went.
    fn clean(&self, index: &Index, leaves: &mut usize) -> Result<usize, EngineError> {
        let ghosts = index.rowset.ghosts();
        match index.rowset.body() {
            Body::Tree(tree) => sweep_tree(tree, ghosts, *leaves)?,
            Body::Heap(heap) => sweep_heap(heap, ghosts, *leaves)?,
        }
        clean_queue(ghosts, (leaves, usize::MAX), |key| self.purge(index, key))
    }
}

/// Allows a leaf of a base table to be cleaned if no active transaction has changed it. Its rows are not
/// locked, and a transaction that has marked a ghost may still roll back.
struct Ended<'a>(&'a Store);

impl Gate for Ended<'_> {
    fn guards_gaps(&self) -> bool {
        false
    }

    fn may_enter(&self, _next: Option<&Key>) -> bool {
        true
    }

    // Called under the leaf's latch: a transaction that begins later has not changed the leaf.
    fn may_change(&self, leaf: Page<'_>) -> bool {
        let oldest = self.0.active.oldest();
        oldest.is_none_or(|oldest| leaf.lsn() < oldest)
    }
}

impl Base {
    /// As `Cleaner::clean`, for a base table.
    fn clean(&self, store: &Store, leaves: &mut usize) -> Result<usize, EngineError> {
        sweep_tree(&self.tree, &self.ghosts, *leaves)?;
        let gate = Ended(store);
        // The ghosts of a leaf go together. A key that went with another needs no way through the tree.
        let removed = RefCell::new(HashSet::new());
        let note = |key: &Key, _: &[u8]| {
            removed.borrow_mut().insert(key.clone());
            true
        };
        let purge = |key: &Key| {
            if removed.borrow().contains(key) {
                return Ok(Purge {
                    gone: 0,
                    done: true,
                });
            }
            self.tree.purge_ghosts_gated(key, &gate, &note)
        };
        clean_queue(&self.ghosts, (leaves, MOST_KEPT), purge)
    }
}

/// Ghosts of a base table that could not be removed, after which a turn ends: an old transaction keeps most
/// of them, and each costs a way through the tree.
const MOST_KEPT: usize = 64;

/// Removes queued ghosts of up to `leaves` leaves, until `most_kept` could not be removed yet: those go to
/// the end of the queue. Returns the number of rows removed.
fn clean_queue(
    ghosts: &GhostQueue,
    (leaves, most_kept): (&mut usize, usize),
    purge: impl Fn(&Key) -> Result<Purge, AccessError>,
) -> Result<usize, EngineError> {
    let (mut left, mut kept, mut gone, mut failed) = (Vec::new(), Vec::new(), 0, None);
    for key in ghosts.take() {
        if *leaves == 0 || kept.len() >= most_kept || failed.is_some() {
            left.push(key);
            continue;
        }
        match purge(&key) {
            Ok(purge) => {
                gone += purge.gone;
                *leaves -= usize::from(purge.gone > 0);
                if !purge.done {
                    kept.push(key);
                }
            }
            Err(e) => {
                left.push(key);
                failed = Some(e);
            }
        }
    }
    left.append(&mut kept);
    ghosts.put_back(left);
    match failed {
        Some(e) => Err(e.into()),
        None => Ok(gone),
    }
}

/// Continues the sweep of a heap for ghosts that are not in the queue, if one is under way.
fn sweep_heap(heap: &Heap, ghosts: &GhostQueue, leaves: usize) -> Result<(), EngineError> {
    let Some((Sweep::Page(from), _)) = ghosts.to_sweep() else {
        return Ok(());
    };
    let pages = leaves.saturating_mul(SWEPT_PAGES);
    let (found, more) = heap.ghosts_on(from, pages)?;
    let next = match more {
        true => Sweep::Page(from.saturating_add(pages)),
        false => Sweep::Done,
    };
    ghosts.swept(found.into_iter().map(rid_key).collect(), next);
    Ok(())
}

/// As `sweep_heap`, for a tree.
fn sweep_tree(tree: &Tree, ghosts: &GhostQueue, leaves: usize) -> Result<(), EngineError> {
    let Some((Sweep::Key(from), room)) = ghosts.to_sweep() else {
        return Ok(());
    };
    let mut finder = Finder {
        shape: tree.shape(),
        found: Vec::new(),
        room,
        rows: leaves.saturating_mul(SWEPT_ROWS),
    };
    let from = from.map_or(Bound::Open, Bound::Included);
    let mut cursor = tree.scan(from, Bound::Open, Direction::Forward);
    let next = match cursor.step(&mut finder)? {
        Step::Wait(key) => Sweep::Key(Some(key)),
        _ => Sweep::Done,
    };
    ghosts.swept(finder.found, next);
    Ok(())
}

/// Rows that a sweep looks at for each leaf that may be cleaned in a turn.
const SWEPT_ROWS: usize = 256;
/// The same for the pages of a heap.
const SWEPT_PAGES: usize = 4;

/// Collects the keys of ghosts and takes no row; stops the cursor when it has enough.
struct Finder<'a> {
    shape: &'a Shape,
    found: Vec<Key>,
    room: usize,
    rows: usize,
}

impl Visitor for Finder<'_> {
    fn all_committed(&mut self) -> bool {
        false
    }

    fn check(&mut self, row: &[u8], ghost: bool) -> RowCheck {
        if self.rows == 0 || self.found.len() == self.room {
            return RowCheck::Wait;
        }
        self.rows -= 1;
        if ghost {
            self.found.extend(self.shape.key_of(row));
        }
        RowCheck::Skip
    }
}

impl Catalog {
    /// Removes ghosts of up to `limit` leaves whose keys no session has locked. Returns the number of rows
    /// removed.
    pub fn purge_ghosts(&self, locks: &LockManager, limit: usize) -> Result<usize, EngineError> {
        let _alone = self.cleaning.lock();
        let owner = locks.owner(CLEANUP_SESSION);
        let db = self.store.db();
        let (mut leaves, mut gone) = (limit, 0);
        for table in self.tables() {
            let object = Resource::Object(db, table.id);
            if leaves == 0 {
                break;
            }
            if locks
                .lock(&owner, object, LockMode::IX, Timeout::NoWait)
                .is_err()
            {
                continue;
            }
            let cleaner = Cleaner {
                locks,
                owner: &owner,
                table: &table,
                db,
            };
            let mut done = Ok(0);
            if !table.is_superseded() {
                let online = |i: &&Index| !i.is_offline();
                for index in table.indexes.iter().filter(online) {
                    done = cleaner.clean(index, &mut leaves);
                    gone += done.as_ref().map_or(0, |n| *n);
                    if done.is_err() {
                        break;
                    }
                }
            }
            locks.release_all(&owner);
            done?;
        }
        Ok(gone + self.purge_bases(leaves)?)
    }

    /// Ghosts of base tables alone.
    fn purge_bases(&self, mut leaves: usize) -> Result<usize, EngineError> {
        let mut gone = 0;
        for base in self.bases.iter() {
            gone += base.clean(&self.store, &mut leaves)?;
        }
        Ok(gone)
    }

    /// Counts units that were dropped. The session that drops the last of [`UNITS_A_PURGE`] removes ghosts of
    /// the catalog's rows, unless another thread does so now: sessions that create and drop tables in turn
    /// leave them behind faster than a thread that sleeps in between removes them.
    pub(crate) fn purge_after_drop(&self, units: u64, leaves: usize) -> Result<(), EngineError> {
        let before = self.dropped.fetch_add(units, Ordering::Relaxed);
        if before / UNITS_A_PURGE != (before + units) / UNITS_A_PURGE
            && let Some(_alone) = self.cleaning.try_lock()
        {
            self.purge_bases(leaves)?;
        }
        Ok(())
    }
}
