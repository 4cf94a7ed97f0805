//! Gaps between keys, and how SERIALIZABLE readers guard them.
//!
//! A *key* is a row of a tree, ghost or not, of whatever transaction. The gap of a key lies between it and
//! the key before; the gap of infinity lies behind the last key. A range lock on a key (RangeS-S and its
//! kin) guards the key and its gap. Keys of the clustered index are locked as rows; an entry of a
//! nonclustered index has a lock of its own for its gap, and its row's lock says whether it is committed.
//!
//! # Which lock is taken when
//! - **Reader of a range.** (1) It announces itself with the table. (2) It locks the *anchor*, the first key
//!   behind the range or infinity. (3) It goes through the range and locks each key that it meets, ghosts
//!   too: for an entry S (or U) on its row first, then the range lock on the entry. All but infinity is
//!   locked under the latch of its leaf, only when that needs no waiting. If it does, the reader releases
//!   the latch, waits for the lock, and looks again: for the anchor from the end of the range, within
//!   the range from behind the last key that it has locked. Infinity is locked without a latch; after
//!   that the reader checks again that there is no key behind the range. An entry becomes an anchor only
//!   while its row could be locked S: never while the transaction that inserted it may still roll back.
//! - **Reader of one key.** S on the key; when it is not there, the first key at or behind it is locked as
//!   an anchor is, and the key is looked up once more.
//! - **Inserter.** (1) X on the row (a unique index: on the entry as well); of rows that are inserted
//!   together, on those behind it too, as far as they are free. (2) Under the EX latch of the
//!   leaf that the key goes to, and of the leaf of the next key if that is another one, when readers
//!   have announced themselves: RangeI-N on the next key must be free. If it is not, nothing has been
//!   inserted; the inserter releases the latch, waits *for the lock itself*, holds it while it tries once
//!   more, and then gives it back. Readers that come meanwhile queue behind it. (3) Under the same
//!   latch: when the inserter guards the gap itself, the new key cuts it in two, so that the new key is
//!   locked RangeX-X before it is there. A key that takes the place of its ghost changes no gap: (1) is
//!   enough, because a reader that guards the ghost holds its lock.
//! - **Deleter.** X on the row (a unique index: on the entry). The key becomes a ghost; no gap changes.
//! - **Updater.** X on the row. An index whose key changes: as delete and insert.
//! - **Ghost cleanup.** Takes a ghost out only under the EX latch of its leaf while X on the key, and on
//!   the row of an entry, is free, waiters counted. Two gaps become one.
//! - **Rollback.** Takes new keys out, and brings ghosts back, while the transaction still holds its locks.
//!
//! # Why there are no phantoms
//! 1. *A guarded key stays in its tree.* The cleanup tests its lock. A rollback takes out only keys of
//!    its own transaction, and no other session has a range lock on these: it would have had to lock the
//!    row S, and X was in the way.
//! 2. *A guarded gap stays empty.* An inserter tests the lock of the next key. By (1) the next key is the
//!    one that was locked when the gap was read, or one that was inserted since. Only the guarding session
//!    can have inserted it, and it has RangeX-X by (3) of the inserter: other inserters were refused.
//! 3. *Readers and inserters see each other.* Both act under the latch of the leaf that the key belongs to.
//!    If the inserter is first, the reader finds the key there, and waits for its row. If the reader is
//!    first, it has locked the key above the gap by the time it releases the last leaf where a key of the
//!    gap could go: of the anchor before it began, of keys of the leaf under the same latch, of the
//!    first key of the next leaf with that one latched, which the inserter latches EX for its test.
//! 4. *The announcement is not missed.* The inserter reads it with its leaf latched. An inserter that
//!    does not see it has latched the leaf before the reader, so that the reader finds the key.

use super::lock_waits::{Blocked, LockWaits};
use super::pages::{Keep, PageAsk};
use crate::error::EngineError;
use crate::session::Session;
use crate::table::{Index, IndexKind, Table, lock_hash};
use furrow_access::{
    AccessError, Bound, By, Direction, Gate, Key, LeafHint, PagePass, RowCheck, Tree, Visitor,
};
use furrow_format::{DatabaseId, Page, PageId};
use furrow_io::mutation::{Mutation, mutated};
use furrow_txn::lock::{LockManager, LockMode, LockOwner, Resource};
use std::cell::Cell;
use std::sync::Arc;

/// Whether a lock in this mode forbids keys in the gap below.
fn guards_gap(mode: LockMode) -> bool {
    use LockMode::{RangeSS, RangeSU, RangeXS, RangeXU, RangeXX};
    matches!(mode, RangeSS | RangeSU | RangeXS | RangeXU | RangeXX)
}

/// Locks of one index, taken or tested under latches.
struct Latched<'a> {
    locks: &'a LockManager,
    owner: &'a LockOwner,
    db: DatabaseId,
    table: &'a Table,
    index: &'a Index,
    blocked: Cell<Option<Blocked>>,
}

impl<'a> Latched<'a> {
    fn new(session: &'a Session, table: &'a Table, index: &'a Index) -> Latched<'a> {
        Latched {
            locks: &session.db.locks,
            owner: &session.owner,
            db: session.db.id,
            table,
            index,
            blocked: Cell::new(None),
        }
    }

    fn key(&self, key: &Key) -> Resource {
        let hash = lock_hash(self.index.shape(), key, usize::MAX);
        Resource::key(self.db, self.index.rowset.id(), hash)
    }

    fn infinity(&self) -> Resource {
        Resource::infinity(self.db, self.index.rowset.id())
    }

    fn test(&self, resource: Resource, mode: LockMode) -> bool {
        let free = self.locks.try_instant(self.owner, resource, mode);
        if !free {
            self.blocked.set(Some((resource, mode)));
        }
        free
    }

    fn take(&self, resource: Resource, mode: LockMode) -> bool {
        let (owner, table) = (self.owner, self.table.id);
        let taken = self.locks.lock_at_once(owner, table, resource, mode);
        let taken = matches!(taken, Ok(Some(_)));
        if !taken {
            self.blocked.set(Some((resource, mode)));
        }
        taken
    }

    /// Locks the key of a row as an anchor.
    fn anchor(&self, row: &[u8], mode: LockMode) -> Option<bool> {
        if self.index.kind == IndexKind::Nonclustered {
            let row = self
                .table
                .row_resource(self.db, &self.index.locator_of(row)?);
            if !self.test(row, LockMode::S) {
                return Some(false);
            }
        }
        let key = self.index.shape().key_of(row)?;
        Some(self.take(self.key(&key), mode))
    }
}

/// An inserter's gate.
struct Inserting<'a> {
    locks: Latched<'a>,
    pages: PageAsk<'a>,
    /// The key that is to come in.
    key: &'a Key,
}

impl Gate for Inserting<'_> {
    fn may_change(&self, leaf: Page<'_>) -> bool {
        self.pages.may_change(leaf)
    }

    fn may_move(&self, from: PageId, to: PageId) -> bool {
        self.pages.may_move(from, to)
    }

    #[inline]
    fn guards_gaps(&self) -> bool {
        self.locks.table.common.has_range_readers()
    }

    fn may_enter(&self, next: Option<&Key>) -> bool {
        let locks = &self.locks;
        let next = next.map_or_else(|| locks.infinity(), |next| locks.key(next));
        if !locks.test(next, LockMode::RangeIN) && !mutated(Mutation::SkipGapLock) {
            return false;
        }
        let mine = locks.owner.held(&next).is_some_and(guards_gap);
        if mine {
            self.pages.keep(locks.key(self.key));
        }
        !mine || locks.take(locks.key(self.key), LockMode::RangeXX)
    }
}

/// Locks the first row it is shown, ghost or not, as an anchor, and passes over all others.
struct Anchoring<'a> {
    locks: Latched<'a>,
    pages: PageAsk<'a>,
    mode: LockMode,
    /// Whether a row was shown that can be read.
    met: bool,
    locked: Option<Resource>,
}

impl Visitor for Anchoring<'_> {
    fn all_committed(&mut self) -> bool {
        false
    }

    fn enter(&mut self, leaf: Page<'_>) -> PagePass {
        match self.met {
            true => PagePass::Wait,
            false => self.pages.enter(leaf, false),
        }
    }

    fn check(&mut self, row: &[u8], _ghost: bool) -> RowCheck {
        if self.met {
            return RowCheck::Wait;
        }
        self.met = true;
        let key = self.locks.index.shape().key_of(row);
        if self.locks.anchor(row, self.mode) == Some(true) {
            self.locked = key.map(|key| self.locks.key(&key));
        }
        RowCheck::Take
    }
}

/// The result of an attempt to insert rows in a tree, and the locks that barred it.
struct Look<T> {
    done: T,
    by_key: Option<Blocked>,
    by_page: Option<Blocked>,
}

/// A lock held while the key comes in: what the owner held before.
#[derive(Clone, Copy)]
struct Passage {
    resource: Resource,
    before: Option<LockMode>,
}

impl Session {
    /// Puts a row in a tree once no other session guards the gap that it goes to.
    pub(super) fn enter_gap(
        &mut self,
        table: &Table,
        index: &Index,
        key: &Key,
        row: &[u8],
    ) -> Result<(), EngineError> {
        let tree = index.tree()?;
        let mut passage = None;
        let mut waits = LockWaits::default();
        loop {
            let look = self.try_enter((table, index, key), &mut waits, |by, gate| {
                tree.insert_gated(by, key, row, gate)
            })?;
            self.leave(passage.take());
            match (look.done, look.by_key) {
                (Err(AccessError::Barred), _) if look.by_page.is_some() => {
                    waits.wait(self, table, look.by_page)?;
                }
                (Err(AccessError::Barred), Some((resource, LockMode::RangeIN))) => {
                    passage = Some(self.wait_for_passage(resource)?);
                }
                (Err(AccessError::Barred), Some((resource, mode))) => {
                    self.lock_row(table, resource, mode)?;
                }
                (done, _) => return Ok(done?),
            }
        }
    }

    /// Puts rows in a tree by `insert` behind the gate of this key.
    fn try_enter<T>(
        &mut self,
        (table, index, key): (&Table, &Index, &Key),
        waits: &mut LockWaits,
        insert: impl FnOnce(&mut By<'_>, &dyn Gate) -> T,
    ) -> Result<Look<T>, EngineError> {
        let Some(mut txn) = self.txn.take() else {
            return Err(EngineError::Damaged(
                "a change without a transaction".to_owned(),
            ));
        };
        let gate = Inserting {
            locks: Latched::new(self, table, index),
            pages: PageAsk::new(self, table, index, (LockMode::X, Keep::Held)).of_look(waits),
            key,
        };
        let done = insert(&mut By::Txn(&mut txn), &gate);
        let look = Look {
            done,
            by_key: gate.locks.blocked.get(),
            by_page: gate.pages.blocked.take(),
        };
        let left = gate.pages.left();
        self.txn = Some(txn);
        waits.end_look(self, left);
        Ok(look)
    }

    /// Puts the first of these rows in a tree together, where no session guards gaps of it; gives their
    /// number.
    pub(super) fn enter_many<'r>(
        &mut self,
        (table, index): (&Table, &Index),
        (keys, hint): (&[Key], Option<LeafHint>),
        rows: impl Iterator<Item = &'r [u8]> + Clone,
    ) -> Result<usize, EngineError> {
        let (tree, Some(first)) = (index.tree()?, keys.first()) else {
            return Ok(0);
        };
        // What bars these rows is waited for by the first of them alone.
        let mut waits = LockWaits::default();
        let look = self.try_enter((table, index, first), &mut waits, |by, gate| {
            tree.insert_many(by, (keys, hint), rows, gate)
        })?;
        Ok(look.done?)
    }

    fn wait_for_passage(&self, resource: Resource) -> Result<Passage, EngineError> {
        let before = self.owner.held(&resource);
        let (locks, owner) = (&self.db.locks, &self.owner);
        locks.lock(owner, resource, LockMode::RangeIN, self.timeout)?;
        Ok(Passage { resource, before })
    }

    fn leave(&self, passage: Option<Passage>) {
        let Some(Passage { resource, before }) = passage else {
            return;
        };
        let locks = &self.db.locks;
        match before {
            Some(before) => locks.downgrade(&self.owner, &resource, before),
            None => locks.unlock(&self.owner, &resource),
        };
    }

    /// Keeps other sessions from inserting a key at the end of a range. Called before any key of the range is
    /// read.
    pub(super) fn guard_end(
        &mut self,
        table: &Arc<Table>,
        index: &Index,
        high: &Bound,
        mode: LockMode,
    ) -> Result<(), EngineError> {
        if self.covers_rows(table, mode) {
            return Ok(());
        }
        self.announce_range(table);
        let behind = match high {
            Bound::Open => {
                let end = Resource::infinity(self.db.id, index.rowset.id());
                self.lock_row(table, end, mode)?;
                return Ok(());
            }
            Bound::Included(key) => Bound::Excluded(key.clone()),
            Bound::Excluded(key) => Bound::Included(key.clone()),
        };
        self.lock_anchor(table, index, &behind, mode).map(|_| ())
    }

    /// Keeps other sessions from inserting a key that is absent. Returns the lock that guards it. The caller
    /// has to look the key up again after this, unless the key itself is locked.
    pub(super) fn guard_absence(
        &mut self,
        table: &Arc<Table>,
        index: &Index,
        key: &Key,
        mode: LockMode,
    ) -> Result<Resource, EngineError> {
        if self.covers_rows(table, mode) {
            return Ok(self.object(table));
        }
        self.announce_range(table);
        self.lock_anchor(table, index, &Bound::Included(key.clone()), mode)
    }

    /// Locks the first key behind a place, or infinity.
    fn lock_anchor(
        &mut self,
        table: &Table,
        index: &Index,
        behind: &Bound,
        mode: LockMode,
    ) -> Result<Resource, EngineError> {
        let end = Resource::infinity(self.db.id, index.rowset.id());
        let tree = index.tree()?;
        let mut end_locked = false;
        let mut waits = LockWaits::default();
        loop {
            let (stepped, met, locked, blocked, by_page) = {
                let mut anchoring = Anchoring {
                    locks: Latched::new(self, table, index),
                    pages: PageAsk::new(self, table, index, (mode, Keep::Held)).of_look(&waits),
                    mode,
                    met: false,
                    locked: None,
                };
                let mut cursor = tree.scan(behind.clone(), Bound::Open, Direction::Forward);
                let stepped = cursor.step(&mut anchoring);
                let blocked = anchoring.locks.blocked.get();
                let by_page = anchoring.pages.blocked.take();
                waits.end_look(self, anchoring.pages.left());
                (stepped, anchoring.met, anchoring.locked, blocked, by_page)
            };
            stepped?;
            if by_page.is_some() {
                waits.wait(self, table, by_page)?;
                continue;
            }
            match (met, locked, blocked) {
                (_, Some(locked), _) => return Ok(locked),
                (true, None, Some((_, LockMode::S))) => waits.wait(self, table, blocked)?,
                (true, None, Some((resource, mode))) => {
                    self.lock_row(table, resource, mode)?;
                }
                (true, None, None) => {
                    let text = format!("a key of index '{}' cannot be read", index.name);
                    return Err(EngineError::Damaged(text));
                }
                (false, None, _) if end_locked => return Ok(end),
                (false, None, _) => {
                    self.lock_row(table, end, mode)?;
                    end_locked = true;
                }
            }
        }
    }
}

/// Takes the first row it is shown, ghost or not, and no other.
#[derive(Default)]
struct First {
    row: Option<Vec<u8>>,
}

impl Visitor for First {
    fn all_committed(&mut self) -> bool {
        false
    }

    fn check(&mut self, row: &[u8], _ghost: bool) -> RowCheck {
        if self.row.is_some() {
            return RowCheck::Wait;
        }
        self.row = Some(row.to_vec());
        RowCheck::Take
    }
}

/// The row next to a place of a tree, ghosts included; `None` when there is none in that direction.
pub(super) fn neighbour(
    tree: &Tree,
    low: Bound,
    high: Bound,
    direction: Direction,
) -> Result<Option<Vec<u8>>, AccessError> {
    let mut first = First::default();
    tree.scan(low, high, direction).step(&mut first)?;
    Ok(first.row)
}
