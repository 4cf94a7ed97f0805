//! Inserting rows.
//!
//! 1. IX on the object; values, defaults and the next identity value are encoded; NULLs are checked (515).
//! 2. X on the clustered key. An address in a heap is locked when it is found.
//! 3. The row is inserted; then its entries in the other indexes, unique ones under a lock of their
//!    visible key. An entry is inserted only when no other session guards its gap (see `locks`). Otherwise
//!    the transaction waits for the key above the gap; entries that are already inserted stay.

use super::locks::neighbour;
use super::pages::{Keep, PageAsk};
use crate::error::{EngineError, is_full, refuse};
use crate::session::Session;
use crate::table::{Index, RowBuffer, Table, duplicate_error, lock_hash};
use furrow_access::{AccessError, Bound, By, Direction, Heap, Key};
use furrow_format::RowId;
use furrow_txn::lock::{Granted, LockMode, Resource};
use furrow_types::{TypeId, Value, encode_into};
use std::sync::Arc;

impl Session {
    #[inline]
    pub(super) fn row_resource(&self, table: &Table, key: &Key) -> Resource {
        table.row_resource(self.db.id, key)
    }

    /// The lock that an entry of a unique nonclustered index, or a range of any index, is known by.
    #[inline]
    pub(super) fn entry_resource(&self, index: &Index, key: &Key) -> Resource {
        let hash = lock_hash(index.shape(), key, usize::MAX);
        Resource::key(self.db.id, index.rowset.id(), hash)
    }

    /// Inserts a row; `values` are those of all columns but the identity column, in order. Gives the
    /// identity value.
    pub fn insert(
        &mut self,
        table: &Arc<Table>,
        values: &[Value],
    ) -> Result<Option<i64>, EngineError> {
        self.statement(|session| {
            let mut row = std::mem::take(&mut session.row);
            let result = session.insert_values(table, values, &mut row);
            session.row = row;
            result
        })
    }

    fn insert_values(
        &mut self,
        table: &Arc<Table>,
        values: &[Value],
        row: &mut RowBuffer,
    ) -> Result<Option<i64>, EngineError> {
        self.lock_for_change(table)?;
        row.clear(table);
        let named =
            (0..table.columns.len()).filter(|&c| !table.columns.get(c).is_some_and(|c| c.identity));
        let mut count = 0;
        for column in named {
            let value = values
                .get(count)
                .ok_or_else(|| EngineError::refused(213, &[]))?;
            row.set(table, column, value)?;
            count += 1;
        }
        if count != values.len() {
            return Err(EngineError::refused(213, &[]));
        }
        let identity = self.fill_identity(table, row)?;
        self.insert_row(table, row)?;
        Ok(identity)
    }

    /// Inserts a row of which some columns are given; the others get their defaults.
    pub fn insert_columns(
        &mut self,
        table: &Arc<Table>,
        columns: &[usize],
        values: &[Value],
    ) -> Result<Option<i64>, EngineError> {
        if columns.len() != values.len() {
            return Err(EngineError::refused(213, &[]));
        }
        self.statement(|session| {
            let mut row = std::mem::take(&mut session.row);
            let result = session.insert_some(table, columns, values, &mut row);
            session.row = row;
            result
        })
    }

    fn insert_some(
        &mut self,
        table: &Arc<Table>,
        columns: &[usize],
        values: &[Value],
        row: &mut RowBuffer,
    ) -> Result<Option<i64>, EngineError> {
        self.lock_for_change(table)?;
        row.clear(table);
        for (&column, value) in columns.iter().zip(values) {
            self.allow_identity(table, column)?;
            row.set(table, column, value)?;
        }
        fill_defaults(table, columns, row)?;
        let identity = self.identity_of_row(table, columns, row)?;
        self.insert_row(table, row)?;
        Ok(identity)
    }

    /// Inserts an encoded row. The caller holds IX on the table.
    pub(super) fn insert_row(
        &mut self,
        table: &Arc<Table>,
        row: &mut RowBuffer,
    ) -> Result<(), EngineError> {
        row.check_nulls(table)?;
        if !table.base().uniquifier {
            return self.insert_entries(table, row);
        }
        loop {
            let mark = self.inner_mark();
            self.number_row(table, row)?;
            match self.insert_entries(table, row) {
                // Another transaction has inserted a row with this uniquifier.
                Err(EngineError::Access(AccessError::DuplicateKey { index_id: 1 })) => {
                    self.back_to_mark(mark)?;
                }
                done => return done,
            }
        }
    }

    /// The number behind those of the rows with the same clustered key.
    pub(crate) fn number_row(&self, table: &Table, row: &mut RowBuffer) -> Result<(), EngineError> {
        let base = table.base();
        row.set_uniquifier(0);
        let whole = row.key(base)?;
        let mut visible = Key::new();
        for at in 0..base.key.len() {
            visible.push(whole.column(at));
        }
        let range = || Bound::Included(visible.clone());
        let last = neighbour(base.tree()?, range(), range(), Direction::Backward)?;
        let Some(last) = last else { return Ok(()) };
        let key = base.shape().key_of(&last);
        let bytes = key
            .as_ref()
            .and_then(|k| k.column(base.key.len()))
            .and_then(|v| v.first_chunk());
        let number = bytes.map_or(0, |c| i32::from_le_bytes(*c));
        let next = number.checked_add(1).ok_or_else(|| {
            let text = format!(
                "The maximum system-generated unique value for a duplicate group was exceeded for \
                table '{}'.",
                table.name
            );
            refuse(666, 16, 2, &text)
        })?;
        row.set_uniquifier(next);
        Ok(())
    }

    /// Puts the row in all indexes.
    fn insert_entries(
        &mut self,
        table: &Arc<Table>,
        row: &mut RowBuffer,
    ) -> Result<(), EngineError> {
        let base = table.base();
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        let result = row
            .encode_row(base, &mut encoded)
            .and_then(|()| match base.rowset.heap() {
                Some(heap) => {
                    row.set_rid(self.insert_in_heap(table, heap, &encoded)?);
                    Ok(())
                }
                None => {
                    let key = row.key(base)?;
                    if !self.approach(table, base, &key, LockMode::X)? {
                        let resource = self.row_resource(table, &key);
                        self.lock_row(table, resource, LockMode::X)?;
                    }
                    self.insert_in(table, base, &key, &encoded)
                }
            });
        self.encoded = encoded;
        result?;
        for index in table.indexes.iter().skip(1) {
            self.insert_entry(table, index, row)?;
        }
        Ok(())
    }

    /// After an error that says that a filegroup is full: removes ghosts that no transaction can restore,
    /// and returns whether that freed space.
    pub(super) fn made_room(&self, error: &EngineError) -> Result<bool, EngineError> {
        Ok(is_full(error) && self.db.purge_ghosts()? > 0)
    }

    fn insert_in_heap(
        &mut self,
        table: &Table,
        heap: &Heap,
        encoded: &[u8],
    ) -> Result<RowId, EngineError> {
        loop {
            match self.try_insert_in_heap(table, heap, encoded) {
                Err(error) if self.made_room(&error)? => {}
                done => return done,
            }
        }
    }

    /// Puts an encoded row in a heap. Its address is locked X before the row is there: under the latch of its
    /// page, so that only an address is taken whose lock is free.
    fn try_insert_in_heap(
        &mut self,
        table: &Table,
        heap: &Heap,
        encoded: &[u8],
    ) -> Result<RowId, EngineError> {
        let who = self.id() as u64;
        let Some(mut txn) = self.txn.take() else {
            return Err(EngineError::Damaged(
                "a change without a transaction".to_owned(),
            ));
        };
        let (locks, owner, db) = (&self.db.locks, &self.owner, self.db.id);
        let pages = PageAsk::new(self, table, table.base(), (LockMode::X, Keep::Held)).of_rows();
        let mut try_lock = |rid: RowId| {
            let row = Resource::Rid(db, rid);
            let Ok(Some(granted)) = locks.lock_at_once(owner, table.id, row, LockMode::X) else {
                return false;
            };
            let free = pages.may_at(rid.page);
            if !free && granted == Granted::New {
                locks.unlock(owner, &row);
            }
            free
        };
        let mut by = By::Txn(&mut txn);
        let inserted = heap.insert_as(who, &mut by, encoded, &mut try_lock);
        if inserted.is_ok() {
            table.base().rowset.count(&mut by, 1);
        }
        self.txn = Some(txn);
        let rid = inserted?;
        self.owner.add_log_used(encoded.len() as u64);
        self.count_row_lock(table)?;
        Ok(rid)
    }

    /// Puts one entry in a nonclustered index.
    pub(super) fn insert_entry(
        &mut self,
        table: &Table,
        index: &Index,
        row: &RowBuffer,
    ) -> Result<(), EngineError> {
        let key = row.key(index)?;
        if !self.approach(table, index, &key, LockMode::X)? && index.is_unique() {
            let resource = self.entry_resource(index, &key);
            self.lock_row(table, resource, LockMode::X)?;
        }
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        let result = row
            .encode_row(index, &mut encoded)
            .and_then(|()| self.insert_in(table, index, &key, &encoded));
        self.encoded = encoded;
        result
    }

    /// Puts an encoded row in one tree, when its gap is free.
    #[inline]
    pub(super) fn insert_in(
        &mut self,
        table: &Table,
        index: &Index,
        key: &Key,
        encoded: &[u8],
    ) -> Result<(), EngineError> {
        loop {
            return match self.enter_gap(table, index, key, encoded) {
                Ok(()) => {
                    if let Some(txn) = &mut self.txn {
                        index.rowset.count(&mut By::Txn(txn), 1);
                    }
                    self.owner.add_log_used(encoded.len() as u64);
                    Ok(())
                }
                Err(EngineError::Access(AccessError::DuplicateKey { .. })) if !index.uniquifier => {
                    Err(duplicate_error(index, table, key))
                }
                Err(e) if self.made_room(&e)? => continue,
                Err(e) => Err(e),
            };
        }
    }
}

pub(super) fn fill_defaults(
    table: &Table,
    named: &[usize],
    row: &mut RowBuffer,
) -> Result<(), EngineError> {
    for (at, column) in table.columns.iter().enumerate() {
        if column.default_text.is_some() && !named.contains(&at) {
            row.set(table, at, &column.default_value()?)?;
        }
    }
    Ok(())
}

/// Encodes the values of a key, in key order, as far as they go.
pub(super) fn key_of_values(
    table: &Table,
    index: &Index,
    values: &[Value],
) -> Result<Key, EngineError> {
    let mut key = Key::new();
    let mut bytes = Vec::new();
    for (part, value) in index.key.iter().zip(values) {
        let Some(column) = table.columns.get(part.column) else {
            continue;
        };
        bytes.clear();
        if value.is_null() {
            key.push(None);
            continue;
        }
        match (column.data_type.id, value) {
            (TypeId::BigInt, Value::BigInt(n)) => key.push(Some(&n.to_le_bytes())),
            _ => {
                encode_into(&column.data_type, value, &mut bytes)
                    .map_err(|e| crate::table::value_error(table, column, &e))?;
                key.push(Some(&bytes));
            }
        }
    }
    Ok(key)
}
