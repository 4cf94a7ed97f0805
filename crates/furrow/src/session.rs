//! Sessions and transactions.

#![expect(
    clippy::needless_pass_by_value,
    reason = "rows and keys are written in place, as tuples"
)]

use crate::home::Home;
use crate::{
    BulkInserter, BulkOptions, Inserter, Isolation, Result, Row, Rows, Savepoint, ScanSpec, Table,
    TableSpec, Timeout, ToRow, Value, WaitRow,
};
use furrow_engine::{self as engine, EngineError, IndexSpec};
use std::ops::{Bound, Deref, DerefMut, RangeBounds};
use std::sync::Arc;

/// A session: transactions of one user, one statement at a time. Outside of a transaction each statement
/// commits by itself. It may move between threads, and belongs to one at a time.
#[derive(Debug)]
pub struct Session {
    session: engine::Session,
    /// Keeps the database open; dropped after the session.
    _home: Arc<Home>,
}

fn bound<K: ToRow>(bound: Bound<&K>) -> Bound<Vec<Value>> {
    match bound {
        Bound::Unbounded => Bound::Unbounded,
        Bound::Included(key) => Bound::Included(key.values()),
        Bound::Excluded(key) => Bound::Excluded(key.values()),
    }
}

fn places(table: &Table, columns: &[&str]) -> Result<Vec<usize>> {
    let place = |name: &&str| {
        table
            .column(name)
            .ok_or_else(|| EngineError::refused(207, &[(*name).into()]).into())
    };
    columns.iter().map(place).collect()
}

impl Session {
    pub(crate) fn new(home: &Arc<Home>) -> Result<Session> {
        let session = engine::Session::new(&home.database)?;
        Ok(Session {
            session,
            _home: Arc::clone(home),
        })
    }

    /// The engine's session, for operations that this interface does not have.
    pub fn engine(&mut self) -> &mut engine::Session {
        &mut self.session
    }

    /// CREATE TABLE.
    pub fn create_table(&mut self, spec: &TableSpec) -> Result<Arc<Table>> {
        Ok(self.session.create_table(spec)?)
    }

    /// CREATE INDEX: nonclustered, built from the existing rows. Returns the table with the new index.
    pub fn create_index(&mut self, table: &str, spec: &IndexSpec) -> Result<Arc<Table>> {
        Ok(self.session.create_index(table, spec)?)
    }

    /// DROP TABLE.
    pub fn drop_table(&mut self, name: &str) -> Result<()> {
        Ok(self.session.drop_table(name)?)
    }

    /// The table of this name; 208 if there is none.
    pub fn table(&self, name: &str) -> Result<Arc<Table>> {
        Ok(self.session.table(name)?)
    }

    /// Inserts one row: values of all columns but the identity column, in order. Returns the identity value.
    pub fn insert(&mut self, table: &Arc<Table>, row: impl ToRow) -> Result<Option<i64>> {
        Ok(self.session.insert(table, &row.values())?)
    }

    /// Prepares to insert many rows with values for these columns; the other columns get their defaults.
    pub fn inserter(&mut self, table: &Arc<Table>, columns: &[&str]) -> Result<Inserter<'_>> {
        let places = places(table, columns)?;
        Ok(Inserter {
            inner: self.session.inserter(table, &places)?,
        })
    }

    /// Prepares a bulk load: many rows with values for these columns, best in the order of the clustered key.
    /// It locks the table, and writes and logs whole pages at a time.
    ///
    /// Outside of a transaction each `rows_per_batch` rows are committed, and durable, together. Inside one
    /// the load is part of it. Dropping a load before [`BulkInserter::finish`] undoes what of it is not yet
    /// committed.
    ///
    /// ```
    /// # use furrow::{BulkOptions, ColumnSpec, Database, TableSpec, sql};
    /// # fn main() -> Result<(), furrow::Error> {
    /// # let db = Database::create("plant").file("plant.mdf").log("plant.ldf").in_memory().open()?;
    /// # let mut session = db.session()?;
    /// let readings = session.create_table(
    ///     &TableSpec::new("readings")
    ///         .column(ColumnSpec::new("id", sql::BIGINT).not_null())
    ///         .column(ColumnSpec::new("note", sql::varchar(100)))
    ///         .primary_key(["id"]),
    /// )?;
    /// let mut load = session.bulk_inserter(&readings, &["id", "note"], BulkOptions::default())?;
    /// load.rows((0..10_000_i64).map(|id| (id, (id % 10 == 0).then_some("a tenth"))))?;
    /// assert_eq!(load.finish()?, 10_000);
    /// # Ok(())
    /// # }
    /// ```
    pub fn bulk_inserter(
        &mut self,
        table: &Arc<Table>,
        columns: &[&str],
        options: BulkOptions,
    ) -> Result<BulkInserter<'_>> {
        let places = places(table, columns)?;
        Ok(BulkInserter {
            inner: self.session.bulk_inserter(table, &places, options)?,
        })
    }

    /// The row with this clustered key, or with this primary key in a table without a clustered index.
    pub fn get<'a>(
        &'a mut self,
        table: &'a Arc<Table>,
        key: impl ToRow,
    ) -> Result<Option<Row<'a>>> {
        let found = self.session.get(table, &key.values())?;
        Ok(found.map(|row| Row::new(table, row)))
    }

    /// Sets columns of the row with this key (see [`Session::get`]); `false` if there is no such row.
    pub fn update(
        &mut self,
        table: &Arc<Table>,
        key: impl ToRow,
        columns: &[&str],
        values: impl ToRow,
    ) -> Result<bool> {
        let (places, values) = (places(table, columns)?, values.values());
        if places.len() != values.len() {
            return Err(EngineError::refused(213, &[]).into());
        }
        let set: Vec<(usize, Value)> = places.into_iter().zip(values).collect();
        match self.session.find_row(table, &key.values())? {
            Some(key) => Ok(self.session.update(table, &key, &set)?),
            None => Ok(false),
        }
    }

    /// Deletes the row with this key (see [`Session::get`]); `false` if there is no such row.
    pub fn delete(&mut self, table: &Arc<Table>, key: impl ToRow) -> Result<bool> {
        match self.session.find_row(table, &key.values())? {
            Some(key) => Ok(self.session.delete(table, &key)?),
            None => Ok(false),
        }
    }

    /// All rows, in the order of the clustered key.
    pub fn rows<'a>(&'a mut self, table: &'a Arc<Table>) -> Result<Rows<'a>> {
        self.scan(table, &ScanSpec::default())
    }

    /// Rows whose clustered key lies in a range, ascending. A key may be given by its first columns: with the
    /// key (customer, number), `(7, 1)..=(7, 9)` are nine orders of customer 7 and `7..=7` are all of them.
    pub fn range<'a, K: ToRow>(
        &'a mut self,
        table: &'a Arc<Table>,
        keys: impl RangeBounds<K>,
    ) -> Result<Rows<'a>> {
        self.between(table, keys, false)
    }

    /// The rows of [`Session::range`], descending.
    pub fn range_back<'a, K: ToRow>(
        &'a mut self,
        table: &'a Arc<Table>,
        keys: impl RangeBounds<K>,
    ) -> Result<Rows<'a>> {
        self.between(table, keys, true)
    }

    fn between<'a, K: ToRow>(
        &'a mut self,
        table: &'a Arc<Table>,
        keys: impl RangeBounds<K>,
        backward: bool,
    ) -> Result<Rows<'a>> {
        let (low, high) = (bound(keys.start_bound()), bound(keys.end_bound()));
        let spec = ScanSpec {
            low,
            high,
            backward,
            ..ScanSpec::default()
        };
        self.scan(table, &spec)
    }

    /// A scan over any index, in any direction, with any locks.
    pub fn scan<'a>(&'a mut self, table: &'a Arc<Table>, spec: &ScanSpec) -> Result<Rows<'a>> {
        let scan = self.session.scan(table, spec)?;
        Ok(Rows::new(table, scan))
    }

    /// Begins a transaction that ends with the guard: rolled back unless it is committed.
    pub fn transaction(&mut self) -> Result<Transaction<'_>> {
        self.session.begin()?;
        Ok(Transaction {
            session: self,
            open: true,
        })
    }

    /// BEGIN TRANSACTION, without a guard.
    pub fn begin(&mut self) -> Result<()> {
        Ok(self.session.begin()?)
    }

    /// COMMIT: durable when it returns.
    pub fn commit(&mut self) -> Result<()> {
        Ok(self.session.commit()?)
    }

    /// ROLLBACK.
    pub fn rollback(&mut self) -> Result<()> {
        Ok(self.session.rollback()?)
    }

    /// SAVE TRANSACTION: a place to roll back to.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        Ok(self.session.savepoint()?)
    }

    /// Rolls back to a savepoint of the open transaction.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<()> {
        Ok(self.session.rollback_to(savepoint)?)
    }

    /// SET TRANSACTION ISOLATION LEVEL.
    pub fn set_isolation(&mut self, isolation: Isolation) {
        self.session.set_isolation(isolation);
    }

    /// SET LOCK_TIMEOUT: how long a request waits for a lock before it fails with 1222.
    pub fn set_lock_timeout(&mut self, timeout: Timeout) {
        self.session.set_lock_timeout(timeout);
    }

    /// What this session has waited for, the longest first.
    pub fn waits(&self) -> Vec<WaitRow> {
        let snapshot = self.session.task().waits().snapshot();
        snapshot.top(1.0).into_iter().map(|top| top.row).collect()
    }
}

/// A transaction under way: a [`Session`] that ends it when dropped.
///
/// ```
/// # use furrow::{ColumnSpec, Database, TableSpec, sql};
/// # fn main() -> Result<(), furrow::Error> {
/// # let db = Database::create("t").file("t.mdf").in_memory().open()?;
/// # let mut session = db.session()?;
/// # let table = session.create_table(
/// #     &TableSpec::new("t").column(ColumnSpec::new("id", sql::INT).not_null()).primary_key(["id"]),
/// # )?;
/// let mut transaction = session.transaction()?;
/// transaction.insert(&table, 1)?;
/// let place = transaction.savepoint()?;
/// transaction.insert(&table, 2)?;
/// transaction.rollback_to(place)?;
/// transaction.commit()?;                        // durable on return
///
/// let mut transaction = session.transaction()?;
/// transaction.insert(&table, 3)?;
/// drop(transaction);                            // not committed: rolled back
///
/// assert!(session.get(&table, 1)?.is_some());
/// assert!(session.get(&table, 2)?.is_none());
/// assert!(session.get(&table, 3)?.is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Transaction<'s> {
    session: &'s mut Session,
    open: bool,
}

impl Transaction<'_> {
    /// COMMIT: durable when it returns.
    pub fn commit(mut self) -> Result<()> {
        self.open = false;
        self.session.commit()
    }

    /// ROLLBACK. Dropping the guard rolls back, too; this function also reports an error.
    pub fn rollback(mut self) -> Result<()> {
        self.open = false;
        self.session.rollback()
    }
}

impl Deref for Transaction<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session
    }
}

impl DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.session
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // The victim of a deadlock no longer has a transaction.
        if self.open && self.session.session.in_transaction() {
            let _ = self.session.rollback();
        }
    }
}
