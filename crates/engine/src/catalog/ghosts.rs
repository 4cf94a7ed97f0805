//! Ghosts removed for good.
//!
//! Deleting a row marks it and queues its key with its rowset (`table/ghosts.rs` says why no ghost is ever
//! forgotten). The cleanup comes by later: under an IX
//! lock of the table, so that nobody drops it meanwhile, and leaf by leaf, asking under the latch for
//! each ghost whether somebody still has a lock that covers it: who deleted it and may roll back, or a
//! reader who guards a range. Entries of nonclustered indexes are locked by the row that they point to.
//!
//! Ghosts that an earlier life of the database left are found by a sweep over each rowset, some leaves in
//! each turn.

use super::Catalog;
use crate::EngineError;
use crate::table::{Index, IndexKind, Sweep, Table, lock_hash};
use furrow_access::{Bound, Direction, Key, RowCheck, Step, Visitor};
use furrow_format::RowsetId;
use furrow_txn::lock::{LockManager, LockMode, LockOwner, Resource, Timeout};

/// Session number that the product's ghost cleanup runs as.
const CLEANUP_SESSION: i32 = 6;

/// Who asks for locks, and where.
struct Cleaner<'a> {
    locks: &'a LockManager,
    owner: &'a LockOwner,
    table: &'a Table,
    db: furrow_format::DatabaseId,
}

impl Cleaner<'_> {
    fn free(&self, rowset: RowsetId, hash: u64) -> bool {
        let key = Resource::key(self.db, rowset, hash);
        self.locks.try_instant(self.owner, key, LockMode::X)
    }

    /// Whether nobody has locked a ghost: neither the entry nor the row it points to. What cannot be read
    /// stays.
    fn dead(&self, index: &Index, key: &Key, row: &[u8]) -> bool {
        let base = self.table.base();
        let entry = lock_hash(index.tree().shape(), key, usize::MAX);
        let Some(row) = index.locator_of(row) else {
            return false;
        };
        self.free(index.rowset.id(), entry)
            && (index.kind == IndexKind::Clustered
                || self.free(
                    base.rowset.id(),
                    lock_hash(base.tree().shape(), &row, usize::MAX),
                ))
    }

    /// Removes the ghosts of up to `leaves` leaves of an index. Returns how many rows went.
    fn clean(&self, index: &Index, leaves: &mut usize) -> Result<usize, EngineError> {
        let rowset = &index.rowset;
        self.sweep(index, *leaves)?;
        let (mut left, mut gone, mut failed) = (Vec::new(), 0, None);
        for key in rowset.ghosts().take() {
            if *leaves == 0 || failed.is_some() {
                left.push(key);
                continue;
            }
            let dead = |key: &Key, row: &[u8]| self.dead(index, key, row);
            match index.tree().purge_ghosts(&key, &dead) {
                Ok(purge) => {
                    gone += purge.gone;
                    *leaves -= usize::from(purge.gone > 0);
                    if !purge.done {
                        left.push(key);
                    }
                }
                Err(e) => {
                    left.push(key);
                    failed = Some(e);
                }
            }
        }
        rowset.ghosts().put_back(left);
        match failed {
            Some(e) => Err(e.into()),
            None => Ok(gone),
        }
    }

    /// Goes on with the search for ghosts that nobody has noted, if there is one to go on with.
    fn sweep(&self, index: &Index, leaves: usize) -> Result<(), EngineError> {
        let Some((Sweep::Key(from), room)) = index.rowset.ghosts().to_sweep() else {
            return Ok(());
        };
        let mut finder = Finder {
            index,
            found: Vec::new(),
            room,
            rows: leaves.saturating_mul(SWEPT_ROWS),
        };
        let from = from.map_or(Bound::Open, Bound::Included);
        let mut cursor = index.tree().scan(from, Bound::Open, Direction::Forward);
        let next = match cursor.step(&mut finder)? {
            Step::Wait(key) => Sweep::Key(Some(key)),
            _ => Sweep::Done,
        };
        index.rowset.ghosts().swept(finder.found, next);
        Ok(())
    }
}

/// Rows that a sweep looks at for each leaf that may be cleaned in a turn.
const SWEPT_ROWS: usize = 256;

/// Notes ghosts, and takes no row; has the cursor wait when it has seen enough.
struct Finder<'a> {
    index: &'a Index,
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
            self.found.extend(self.index.tree().shape().key_of(row));
        }
        RowCheck::Skip
    }
}

impl Catalog {
    /// Removes ghosts of up to `limit` leaves whose keys nobody has locked. Returns how many rows went.
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
                for index in &table.indexes {
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
        Ok(gone)
    }
}
