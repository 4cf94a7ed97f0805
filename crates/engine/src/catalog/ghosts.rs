//! Ghosts removed for good.
//!
//! Deleting a row marks it and notes its key with its rowset. The cleanup comes by later: under an IX
//! lock of the table, so that nobody drops it meanwhile, and leaf by leaf, asking under the latch for
//! each ghost whether somebody still has a lock that covers it: who deleted it and may roll back, or a
//! reader who guards a range. Entries of nonclustered indexes are locked by the row that they point to.
//!
//! Ghosts that an earlier life of the database left are not searched for: they go when their leaf is
//! cleaned for another one, or when a row with their key comes.

use super::Catalog;
use crate::EngineError;
use crate::table::{Ghosts, Index, IndexKind, Table, lock_hash};
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

    /// Whether nobody has locked an entry, nor the row it points to.
    fn dead(&self, index: &Index, key: &Key, row: Option<&Key>) -> bool {
        let base = self.table.base();
        let entry = lock_hash(index.tree().shape(), key, usize::MAX);
        let row = row.map(|row| lock_hash(base.tree().shape(), row, usize::MAX));
        self.free(index.rowset.id(), entry) && row.is_none_or(|h| self.free(base.rowset.id(), h))
    }

    /// Removes the ghosts of up to `leaves` leaves of an index. Returns how many rows went.
    fn clean(&self, index: &Index, leaves: &mut usize) -> Result<usize, EngineError> {
        let mut ghosts = index.rowset.take_ghosts();
        if ghosts.more && ghosts.keys.len() < *leaves {
            ghosts = search(index, *leaves)?;
        }
        let mut left = Ghosts {
            keys: Vec::new(),
            more: ghosts.more,
        };
        let (mut gone, mut failed) = (0, None);
        for (key, row) in ghosts.keys {
            if *leaves == 0 || failed.is_some() {
                left.keys.push((key, row));
                continue;
            }
            let removed = match index.kind {
                IndexKind::Clustered => index
                    .tree()
                    .purge_ghosts(&key, &|k: &Key| self.dead(index, k, None)),
                // Only of this entry it is known which row it points to.
                IndexKind::Nonclustered => index.tree().purge_ghosts(&key, &|k: &Key| {
                    index.tree().shape().compare_keys(k, &key).is_eq()
                        && self.dead(index, k, Some(&row))
                }),
            };
            match removed {
                Ok(0) if !self.dead(index, &key, Some(&row)) => left.keys.push((key, row)),
                Ok(0) => {}
                Ok(removed) => {
                    gone += removed;
                    *leaves -= 1;
                }
                Err(e) => failed = Some(e),
            }
        }
        index.rowset.keep_ghosts(left);
        match failed {
            Some(e) => Err(e.into()),
            None => Ok(gone),
        }
    }
}

/// Notes ghosts, and takes no row.
struct Finder<'a> {
    index: &'a Index,
    found: Ghosts,
    limit: usize,
}

impl Visitor for Finder<'_> {
    fn all_committed(&mut self) -> bool {
        false
    }

    fn check(&mut self, row: &[u8], ghost: bool) -> RowCheck {
        if ghost && self.found.keys.len() < self.limit {
            let key = self.index.tree().shape().key_of(row);
            self.found.keys.extend(key.zip(self.index.locator_of(row)));
        } else if ghost {
            self.found.more = true;
        }
        RowCheck::Skip
    }
}

fn search(index: &Index, limit: usize) -> Result<Ghosts, EngineError> {
    let mut finder = Finder {
        index,
        found: Ghosts::default(),
        limit,
    };
    let mut cursor = index
        .tree()
        .scan(Bound::Open, Bound::Open, Direction::Forward);
    while cursor.step(&mut finder)? == Step::Rows {}
    Ok(finder.found)
}

impl Catalog {
    /// Removes ghosts of up to `limit` leaves whose keys nobody has locked. Returns how many rows went.
    pub fn purge_ghosts(&self, locks: &LockManager, limit: usize) -> Result<usize, EngineError> {
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
