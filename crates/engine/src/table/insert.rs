//! Inserting rows.
//!
//! 1. IX on the object; values, defaults and the next identity value are encoded; NULLs are checked (515).
//! 2. X on the clustered key (RangeX-X under SERIALIZABLE, so that what the transaction has read stays guarded).
//! 3. The row goes in; then its entries in the other indexes, unique ones under a lock of their visible key.
//! 4. If somebody has range locks on the table: the next key of each index is asked. Refused, the row comes out again, its
//!    transaction waits for that key, and goes back to step 2.

use super::encode::{duplicate_error, null_error};
use super::locks::neighbour;
use super::meta::{IdentityCounter, Table};
use super::{Index, RowBuffer, lock_hash, next_key};
use crate::session::Session;
use crate::schema::refuse;
use crate::EngineError;
use furrow_access::{AccessError, Bound, By, Direction, Key};
use furrow_format::catalog::Identity;
use furrow_format::types::{Decimal, TypeId, Value, encode_into};
use furrow_txn::lock::{Isolation, LockMode, Resource};
use std::sync::Arc;

/// Identity values that one log record promises to hand out.
const IDENTITY_RANGE: i128 = 1000;

impl Session {
    #[inline]
    pub(super) fn row_resource(&self, table: &Table, key: &Key) -> Resource {
        let base = table.base();
        let hash = lock_hash(base.tree().shape(), key, usize::MAX);
        Resource::key(self.db.id, base.rowset.id(), hash)
    }

    /// The lock that an entry of a unique nonclustered index, or a range of any index, is known by.
    #[inline]
    pub(super) fn entry_resource(&self, index: &Index, key: &Key) -> Resource {
        let hash = lock_hash(index.tree().shape(), key, usize::MAX);
        Resource::key(self.db.id, index.rowset.id(), hash)
    }

    #[inline]
    fn insert_mode(&self) -> LockMode {
        match self.isolation() {
            Isolation::Serializable => LockMode::RangeXX,
            _ => LockMode::X,
        }
    }

    /// Inserts a row; `values` are those of all columns but the identity column, in order. Gives the identity value.
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
        self.lock_table(table, LockMode::IX)?;
        row.clear(table.columns.len());
        let named = (0..table.columns.len()).filter(|&c| !table.columns.get(c).is_some_and(|c| c.identity));
        let mut count = 0;
        for column in named {
            let value = values.get(count).ok_or_else(|| EngineError::refused(213, &[]))?;
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
        self.lock_table(table, LockMode::IX)?;
        row.clear(table.columns.len());
        for (&column, value) in columns.iter().zip(values) {
            refuse_identity(table, column)?;
            row.set(table, column, value)?;
        }
        fill_defaults(table, columns, row)?;
        let identity = self.fill_identity(table, row)?;
        self.insert_row(table, row)?;
        Ok(identity)
    }

    /// Gives the row its identity value.
    fn fill_identity(
        &self,
        table: &Table,
        row: &mut RowBuffer,
    ) -> Result<Option<i64>, EngineError> {
        let Some(counter) = &table.identity else { return Ok(None) };
        let value = self.next_identity(table, counter)?;
        let typed = match counter.data_type.id {
            TypeId::BigInt => {
                row.set_bytes(counter.column, Some(&(value as i64).to_le_bytes()));
                return Ok(Some(value as i64));
            }
            _ => Value::Decimal(Decimal { unscaled: value, scale: 0 }),
        };
        row.set(table, counter.column, &typed)?;
        Ok(i64::try_from(value).ok())
    }

    fn next_identity(&self, table: &Table, counter: &IdentityCounter) -> Result<i128, EngineError> {
        let overflow = || {
            let args = ["IDENTITY".into(), counter.data_type.id.name().into()];
            EngineError::refused(8115, &args)
        };
        let mut state = counter.state.lock();
        let now = state.now;
        let value = now.next().ok_or_else(overflow)?;
        let step = now.increment;
        let ahead = |a: i128, b: i128| if step > 0 { a > b } else { a < b };
        if !state.logged.issued || ahead(value, state.logged.last) {
            let encoded = |last| Identity { last, issued: true, ..now }.encode(&counter.data_type);
            encoded(value).ok_or_else(overflow)?;
            // As far ahead as the type goes.
            let far = value.saturating_add(step.saturating_mul(IDENTITY_RANGE - 1));
            let (last, bytes) = match encoded(far) {
                Some(bytes) => (far, bytes),
                None => (value, encoded(value).ok_or_else(overflow)?),
            };
            self.db.catalog.store_identity(table, counter.colid, Some(bytes))?;
            state.logged = Identity { last, issued: true, ..now };
        }
        state.now = Identity { last: value, issued: true, ..now };
        Ok(value)
    }

    /// Inserts an encoded row. The caller holds IX on the table.
    pub(super) fn insert_row(
        &mut self,
        table: &Arc<Table>,
        row: &mut RowBuffer,
    ) -> Result<(), EngineError> {
        for (at, column) in table.columns.iter().enumerate() {
            if !column.nullable && row.get(at).is_none() {
                return Err(null_error(table, column, "INSERT"));
            }
        }
        if self.isolation() == Isolation::Serializable {
            self.announce_range(table);
        }
        loop {
            let mark = self.inner_mark();
            if table.base().uniquifier {
                self.number_row(table, row)?;
            }
            match self.insert_entries(table, row) {
                Ok(None) => return Ok(()),
                Ok(Some(blocked)) => {
                    self.back_to_mark(mark)?;
                    let locks = &self.db.locks;
                    locks.lock_instant(&self.owner, blocked, LockMode::RangeIN, self.timeout)?;
                }
                // Somebody else took the number.
                Err(EngineError::Access(AccessError::DuplicateKey { index_id: 1 }))
                    if table.base().uniquifier =>
                {
                    self.back_to_mark(mark)?;
                }
                Err(other) => return Err(other),
            }
        }
    }

    /// The number behind those of the rows with the same clustered key.
    fn number_row(&self, table: &Table, row: &mut RowBuffer) -> Result<(), EngineError> {
        let base = table.base();
        row.set_uniquifier(0);
        let whole = row.key(base)?;
        let mut visible = Key::new();
        for at in 0..base.key.len() {
            visible.push(whole.column(at));
        }
        let range = || Bound::Included(visible.clone());
        let last = neighbour(base.tree(), range(), range(), Direction::Backward)?;
        let Some(last) = last else { return Ok(()) };
        let key = base.tree().shape().key_of(&last);
        let bytes = key.as_ref().and_then(|k| k.column(base.key.len())).and_then(|v| v.first_chunk());
        let number = bytes.map_or(0, |c| i32::from_le_bytes(*c));
        let next = number.checked_add(1).ok_or_else(|| {
            let text = format!(
                "The maximum system-generated unique value for a duplicate group was exceeded for table '{}'.",
                table.name
            );
            refuse(666, 16, 2, &text)
        })?;
        row.set_uniquifier(next);
        Ok(())
    }

    /// Puts the row in all indexes. Gives the key that a reader guards, when one does.
    fn insert_entries(
        &mut self,
        table: &Arc<Table>,
        row: &RowBuffer,
    ) -> Result<Option<Resource>, EngineError> {
        let base = table.base();
        let key = row.key(base)?;
        let resource = self.row_resource(table, &key);
        self.lock_row(table, resource, self.insert_mode())?;
        let mut encoded = std::mem::take(&mut self.encoded);
        encoded.clear();
        let result = row
            .encode_row(base, &mut encoded)
            .and_then(|()| self.insert_in(table, base, &key, &encoded));
        self.encoded = encoded;
        result?;
        for index in table.indexes.iter().skip(1) {
            self.insert_entry(table, index, row)?;
        }
        if !table.common.has_range_readers() {
            return Ok(None);
        }
        for index in &table.indexes {
            let key = row.key(index)?;
            if let Some(blocked) = self.guarded(index, &key)? {
                return Ok(Some(blocked));
            }
        }
        Ok(None)
    }

    /// Puts one entry in a nonclustered index.
    pub(super) fn insert_entry(
        &mut self,
        table: &Table,
        index: &Index,
        row: &RowBuffer,
    ) -> Result<(), EngineError> {
        let key = row.key(index)?;
        if index.is_unique() {
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

    /// Puts an encoded row in one tree.
    #[inline]
    pub(super) fn insert_in(
        &mut self,
        table: &Table,
        index: &Index,
        key: &Key,
        encoded: &[u8],
    ) -> Result<(), EngineError> {
        let Some(txn) = &mut self.txn else {
            return Err(EngineError::Damaged("a change without a transaction".to_owned()));
        };
        match index.tree().insert(&mut By::Txn(txn), key, encoded) {
            Ok(()) => {
                index.rowset.count(1);
                self.owner.add_log_used(encoded.len() as u64);
                Ok(())
            }
            Err(AccessError::DuplicateKey { .. }) if !index.uniquifier => {
                Err(duplicate_error(index, table, key))
            }
            Err(e) => Err(e.into()),
        }
    }

    /// The key whose range lock forbids that `key` is in this index, if there is one.
    pub(super) fn guarded(&self, index: &Index, key: &Key) -> Result<Option<Resource>, EngineError> {
        let locks = &self.db.locks;
        let own = self.entry_resource(index, key);
        // In place of a ghost that a reader has locked: the gap below it is not the new row's, the key is.
        if index.id != 1 && !locks.try_instant(&self.owner, own, LockMode::RangeIN) {
            return Ok(Some(own));
        }
        let next = next_key(index.tree(), Bound::Excluded(key.clone()))?;
        let next = match next {
            Some(next) => self.entry_resource(index, &next),
            None => Resource::infinity(self.db.id, index.rowset.id()),
        };
        Ok((!locks.try_instant(&self.owner, next, LockMode::RangeIN)).then_some(next))
    }

    /// Prepares to insert many rows of which these columns are given.
    pub fn inserter<'s>(
        &'s mut self,
        table: &Arc<Table>,
        columns: &[usize],
    ) -> Result<Inserter<'s>, EngineError> {
        for &column in columns {
            if column >= table.columns.len() {
                return Err(EngineError::refused(213, &[]));
            }
            refuse_identity(table, column)?;
        }
        let mut row = RowBuffer::default();
        row.clear(table.columns.len());
        let open = |c: &usize| !columns.contains(c) && table.columns.get(*c).is_some_and(|c| c.default.is_some());
        let defaults = (0..table.columns.len()).any(|c| open(&c));
        Ok(Inserter {
            session: self,
            table: Arc::clone(table),
            columns: columns.to_vec(),
            next: 0,
            row,
            defaults,
        })
    }
}

/// 544.
fn refuse_identity(table: &Table, column: usize) -> Result<(), EngineError> {
    match table.columns.get(column) {
        Some(c) if c.identity => Err(EngineError::refused(544, &[table.name.as_str().into()])),
        _ => Ok(()),
    }
}

fn fill_defaults(table: &Table, named: &[usize], row: &mut RowBuffer) -> Result<(), EngineError> {
    for (at, column) in table.columns.iter().enumerate() {
        if let Some(default) = column.default.as_ref().filter(|_| !named.contains(&at)) {
            row.set(table, at, &default.value())?;
        }
    }
    Ok(())
}

/// Inserts rows one by one: values are pushed in the order of the columns it was made with, straight into the row's bytes.
#[derive(Debug)]
pub struct Inserter<'s> {
    session: &'s mut Session,
    table: Arc<Table>,
    columns: Vec<usize>,
    next: usize,
    row: RowBuffer,
    defaults: bool,
}

impl Inserter<'_> {
    /// The session, between two rows: to commit, say.
    pub fn session(&mut self) -> &mut Session {
        self.session
    }

    #[inline]
    fn column(&mut self) -> Result<usize, EngineError> {
        let column = self.columns.get(self.next).copied();
        self.next += 1;
        column.ok_or_else(|| EngineError::refused(213, &[]))
    }

    fn type_of(&self, column: usize) -> Option<TypeId> {
        self.table.columns.get(column).map(|c| c.data_type.id)
    }

    /// The next column's value.
    pub fn value(&mut self, value: &Value) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        self.row.set(&self.table, column, value)?;
        Ok(self)
    }

    /// An integer for the next column.
    #[inline]
    pub fn i64(&mut self, value: i64) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        match self.type_of(column) {
            Some(TypeId::BigInt) => self.row.set_bytes(column, Some(&value.to_le_bytes())),
            _ => self.row.set(&self.table, column, &Value::BigInt(value))?,
        }
        Ok(self)
    }

    /// Bytes for the next column, which is `binary` or `varbinary`.
    pub fn bytes(&mut self, value: &[u8]) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        match self.table.columns.get(column).map(|c| &c.data_type) {
            Some(t) if t.id == TypeId::VarBinary && value.len() <= t.length.max(0) as usize => {
                self.row.set_bytes(column, Some(value));
            }
            _ => self.row.set(&self.table, column, &Value::Binary(value.to_vec()))?,
        }
        Ok(self)
    }

    /// Text for the next column.
    pub fn str(&mut self, value: &str) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        match self.table.columns.get(column).map(|c| &c.data_type) {
            Some(t)
                if t.id == TypeId::VarChar
                    && value.is_ascii()
                    && value.len() <= t.length.max(0) as usize =>
            {
                self.row.set_bytes(column, Some(value.as_bytes()));
            }
            _ => self.row.set(&self.table, column, &Value::NVarChar(value.to_owned()))?,
        }
        Ok(self)
    }

    /// NULL for the next column.
    pub fn null(&mut self) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        self.row.set_bytes(column, None);
        Ok(self)
    }

    /// The column's own default for the next column.
    pub fn default(&mut self) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        let default = self.table.columns.get(column).and_then(|c| c.default.as_ref());
        let value = default.map_or(Value::Null, crate::schema::DefaultValue::value);
        self.row.set(&self.table, column, &value)?;
        Ok(self)
    }

    /// Inserts the row; gives its identity value. Ready for the next one, also after an error.
    pub fn insert(&mut self) -> Result<Option<i64>, EngineError> {
        let complete = self.next == self.columns.len();
        self.next = 0;
        let Inserter { session, table, columns, row, defaults, .. } = self;
        let result = if complete {
            session.statement(|session| {
                session.lock_table(table, LockMode::IX)?;
                if *defaults {
                    fill_defaults(table, columns, row)?;
                }
                let identity = session.fill_identity(table, row)?;
                session.insert_row(table, row)?;
                Ok(identity)
            })
        } else {
            Err(EngineError::refused(213, &[]))
        };
        row.clear(table.columns.len());
        result
    }
}

/// Encodes the values of a key, in key order, as far as they go.
pub(super) fn key_of_values(table: &Table, index: &Index, values: &[Value]) -> Result<Key, EngineError> {
    let mut key = Key::new();
    let mut bytes = Vec::new();
    for (part, value) in index.key.iter().zip(values) {
        let Some(column) = table.columns.get(part.column) else { continue };
        bytes.clear();
        if value.is_null() {
            key.push(None);
            continue;
        }
        match (column.data_type.id, value) {
            (TypeId::BigInt, Value::BigInt(n)) => key.push(Some(&n.to_le_bytes())),
            _ => {
                encode_into(&column.data_type, value, &mut bytes)
                    .map_err(|e| super::encode::value_error(table, column, &e))?;
                key.push(Some(&bytes));
            }
        }
    }
    Ok(key)
}
