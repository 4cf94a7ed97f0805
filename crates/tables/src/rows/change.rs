//! Updating and deleting rows.
//!
//! A row is found by its whole clustered key. Its key is locked X, the row is read, and in each index the
//! entry of the old row is left alone, replaced, or deleted and inserted.

use super::Scan;
use super::insert::key_of_values;
use super::lock_waits::LockWaits;
use super::pages::{Keep, PageAsk};
use crate::error::{EngineError, refuse};
use crate::session::Session;
use crate::table::{Index, RowBuffer, Table, null_error, rid_of};
use furrow_access::{AccessError, By, Gate, Key};
use furrow_io::mutation::{Mutation, mutated};
use furrow_txn::lock::{Granted, Isolation, LockMode};
use furrow_types::Value;
use std::sync::Arc;

/// Names a row: its whole clustered key, or its address in a heap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowKey(pub(super) Key);

impl RowKey {
    /// The name as bytes, to be carried along with other values of a row.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.size_bytes() + 3 * self.0.len());
        for at in 0..self.0.len() {
            let column = self.0.column(at);
            let value = column.unwrap_or_default();
            bytes.push(u8::from(column.is_some()));
            bytes.extend_from_slice(&(value.len() as u16).to_le_bytes());
            bytes.extend_from_slice(value);
        }
        bytes
    }

    /// The name that [`RowKey::to_bytes`] gave these bytes for.
    pub fn from_bytes(mut bytes: &[u8]) -> Option<RowKey> {
        let mut key = Key::new();
        while let [known, low, high, rest @ ..] = bytes {
            let length = usize::from(u16::from_le_bytes([*low, *high]));
            let value = rest.get(..length)?;
            key.push((*known != 0).then_some(value));
            bytes = rest.get(length..)?;
        }
        bytes.is_empty().then_some(RowKey(key))
    }
}

impl Table {
    /// The name of the row with these values of a unique clustered key.
    pub fn row_key(&self, values: &[Value]) -> Result<RowKey, EngineError> {
        let base = self.base();
        if base.uniquifier || self.is_heap() || values.len() != base.key.len() {
            let text = format!(
                "A row of '{}' is named by its whole unique clustered key.",
                self.name
            );
            return Err(refuse(40514, 16, 3, &text));
        }
        key_of_values(self, base, values).map(RowKey)
    }
}

impl Scan<'_> {
    /// Names the row that was given out last.
    pub fn row_key(&self) -> Option<RowKey> {
        self.current_key().map(RowKey)
    }

    /// The session, to look at.
    pub fn session(&self) -> &Session {
        self.session_of()
    }
}

/// A row with columns set.
pub(super) fn changed(
    table: &Table,
    old: &RowBuffer,
    set: &[(usize, Value)],
) -> Result<RowBuffer, EngineError> {
    let mut new = RowBuffer::default();
    new.copy_from(old);
    for (column, value) in set {
        let Some(of) = table.columns.get(*column) else {
            return Err(EngineError::refused(213, &[]));
        };
        if of.identity {
            let text = format!("Cannot update identity column '{}'.", of.name);
            return Err(refuse(8102, 16, 1, &text));
        }
        if value.is_null() && !of.nullable {
            return Err(null_error(table, of, "UPDATE"));
        }
        new.set(table, *column, value)?;
    }
    Ok(new)
}

/// Whether a change takes a row to another place in an index.
pub(super) fn moves(index: &Index, old: &RowBuffer, new: &RowBuffer) -> Result<bool, EngineError> {
    if new.has_same_key(old, index) {
        return Ok(false);
    }
    let (before, after) = (old.key(index)?, new.key(index)?);
    Ok(before != after && index.shape().compare_keys(&before, &after).is_ne())
}

impl Session {
    /// Deletes a row; `false` when there is none.
    pub fn delete(&mut self, table: &Arc<Table>, key: &RowKey) -> Result<bool, EngineError> {
        self.statement(|session| {
            session.lock_for_change(table)?;
            let mut old = std::mem::take(&mut session.row);
            let result = session.delete_row(table, &key.0, &mut old);
            session.row = old;
            result
        })
    }

    /// Sets columns of a row; `false` when there is none.
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        key: &RowKey,
        set: &[(usize, Value)],
    ) -> Result<bool, EngineError> {
        self.statement(|session| {
            session.lock_for_change(table)?;
            let mut old = std::mem::take(&mut session.row);
            let result = session.update_row(table, &key.0, set, &mut old);
            session.row = old;
            result
        })
    }

    /// Locks a row X and loads it; `false` when there is none.
    pub(super) fn own_row(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        row: &mut RowBuffer,
    ) -> Result<bool, EngineError> {
        if self.lock_and_load(table, key, row)? {
            return Ok(true);
        }
        if self.level() != Isolation::Serializable || table.is_heap() {
            return Ok(false);
        }
        // The absence must be repeatable. The key is not locked meanwhile: a session that guards the same gap
        // may insert it.
        self.guard_absence(table, table.base(), key, LockMode::RangeSU)?;
        let mut bytes = std::mem::take(&mut self.read);
        let found = self.copy_locked(table, key, LockMode::X, &mut bytes);
        self.read = bytes;
        // Then it was inserted before the gap was guarded, and is guarded itself.
        Ok(found? && self.lock_and_load(table, key, row)?)
    }

    /// The same at one look; a row that is not there is not locked after it.
    fn lock_and_load(
        &mut self,
        table: &Table,
        key: &Key,
        row: &mut RowBuffer,
    ) -> Result<bool, EngineError> {
        let resource = self.row_resource(table, key);
        let base = table.base();
        let granted = match self.approach(table, base, key, LockMode::X)? {
            true => Granted::Held,
            false => self.lock_row(table, resource, LockMode::X)?,
        };
        let mut bytes = std::mem::take(&mut self.read);
        let found = self.copy_locked(table, key, LockMode::X, &mut bytes);
        let loaded = found.and_then(|found| {
            if found {
                row.load(table, base, &bytes, rid_of(key))?;
            }
            Ok(found)
        });
        self.read = bytes;
        let found = loaded?;
        if !found && granted == Granted::New {
            self.db.locks.unlock(&self.owner, &resource);
        }
        Ok(found)
    }

    fn delete_row(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        old: &mut RowBuffer,
    ) -> Result<bool, EngineError> {
        if !self.own_row(table, key, old)? {
            return Ok(false);
        }
        let all = table.indexes.len();
        let left = usize::from(all > 1 && mutated(Mutation::LeaveIndexEntry));
        for index in table.indexes.iter().take(all - left) {
            let key = old.key(index)?;
            self.delete_entry(table, index, &key)?;
        }
        Ok(true)
    }

    /// Changes rows of an index once their page is locked, or has the intent that goes with the locks of
    /// rows. Tries again if the filegroup was full and has space now.
    fn change_gated(
        &mut self,
        table: &Table,
        index: &Index,
        mut change: impl FnMut(&mut By<'_>, &dyn Gate) -> Result<(), AccessError>,
    ) -> Result<(), EngineError> {
        let mut waits = LockWaits::default();
        loop {
            let Some(mut txn) = self.txn.take() else {
                return Err(EngineError::Damaged(
                    "a change without a transaction".to_owned(),
                ));
            };
            let pages = PageAsk::new(self, table, index, (LockMode::X, Keep::Held));
            let pages = pages.of_look(&waits);
            let done = change(&mut By::Txn(&mut txn), &pages);
            let (blocked, left) = (pages.blocked.take(), pages.left());
            self.txn = Some(txn);
            waits.end_look(self, left);
            match done {
                Err(AccessError::Barred) => waits.wait(self, table, blocked)?,
                Err(error) => {
                    let error = EngineError::from(error);
                    if !self.made_room(&error)? {
                        return Err(error);
                    }
                }
                Ok(()) => return Ok(()),
            }
        }
    }

    pub(super) fn delete_entry(
        &mut self,
        table: &Table,
        index: &Index,
        key: &Key,
    ) -> Result<(), EngineError> {
        if !self.approach(table, index, key, LockMode::X)? && !index.is_base() && index.is_unique()
        {
            let resource = self.entry_resource(index, key);
            self.lock_row(table, resource, LockMode::X)?;
        }
        self.change_gated(table, index, |by, gate| {
            index.rowset.delete(by, key, gate)?;
            index.rowset.count(by, -1);
            Ok(())
        })?;
        index.rowset.ghosts().note(key);
        self.owner.add_log_used(64);
        Ok(())
    }

    fn update_row(
        &mut self,
        table: &Arc<Table>,
        key: &Key,
        set: &[(usize, Value)],
        old: &mut RowBuffer,
    ) -> Result<bool, EngineError> {
        if !self.own_row(table, key, old)? {
            return Ok(false);
        }
        let mut new = changed(table, old, set)?;
        if moves(table.base(), old, &new)? {
            self.move_row(table, old, &mut new)?;
            return Ok(true);
        }
        for index in &table.indexes {
            self.update_entry(table, index, old, &new)?;
        }
        Ok(true)
    }

    /// A changed clustered key: the row goes from one place to another in every index.
    fn move_row(
        &mut self,
        table: &Arc<Table>,
        old: &RowBuffer,
        new: &mut RowBuffer,
    ) -> Result<(), EngineError> {
        for index in &table.indexes {
            let key = old.key(index)?;
            self.delete_entry(table, index, &key)?;
        }
        self.insert_row(table, new)
    }

    pub(super) fn update_entry(
        &mut self,
        table: &Table,
        index: &Index,
        old: &RowBuffer,
        new: &RowBuffer,
    ) -> Result<(), EngineError> {
        if new.has_same_entry(old, index) {
            return Ok(());
        }
        let before = old.key(index)?;
        if moves(index, old, new)? {
            self.delete_entry(table, index, &before)?;
            return self.insert_entry(table, index, new);
        }
        let mut is = Vec::new();
        new.encode_row(index, &mut is)?;
        self.approach(table, index, &before, LockMode::X)?;
        self.change_gated(table, index, |by, gate| {
            index.rowset.update(by, &before, &is, gate)
        })?;
        self.owner.add_log_used(2 * is.len() as u64);
        Ok(())
    }
}
