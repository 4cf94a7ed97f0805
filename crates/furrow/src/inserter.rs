//! Inserting many rows of the same columns.

#![expect(
    clippy::needless_pass_by_value,
    reason = "rows are written in place, as tuples"
)]

use crate::{Result, ToRow};
use furrow_engine as engine;

/// Rows whose bytes are read before the first of them is inserted.
const ROWS_AHEAD: usize = 16;

/// Inserts rows, and gives their number. Their bytes are read some rows ahead: a processor waits for several
/// lines of memory at a time, but not for those of the next row while it inserts this one.
fn insert_ahead<R: ToRow>(
    rows: impl IntoIterator<Item = R>,
    mut insert: impl FnMut(&[R]) -> Result<()>,
) -> Result<u64> {
    let (mut rows, mut count) = (rows.into_iter(), 0);
    let mut ahead = Vec::with_capacity(ROWS_AHEAD);
    loop {
        ahead.clear();
        ahead.extend(rows.by_ref().take(ROWS_AHEAD));
        if ahead.is_empty() {
            return Ok(count);
        }
        for row in &ahead {
            row.preload();
        }
        insert(&ahead)?;
        count += ahead.len() as u64;
    }
}

/// Loads many rows: [`Session::bulk_inserter`].
#[derive(Debug)]
pub struct BulkInserter<'s> {
    pub(crate) inner: engine::BulkInserter<'s>,
}

/// Passes the values of a row on. After an error the next row may be given.
#[inline]
fn push(row: &impl ToRow, to: &mut impl engine::PushValues) -> Result<()> {
    let pushed = row.push_to(to);
    if pushed.is_err() {
        to.forget_row();
    }
    Ok(pushed?)
}

impl BulkInserter<'_> {
    /// Adds a row: a tuple with one value for each named column. It is inserted together with its batch.
    ///
    /// A row that cannot be encoded is left out of the load, and the next one may be given. If a batch fails,
    /// for example because a key exists, the uncommitted part of the load is undone.
    #[inline]
    pub fn row(&mut self, row: impl ToRow) -> Result<()> {
        push(&row, &mut self.inner)?;
        Ok(self.inner.insert()?)
    }

    /// Adds rows, as [`BulkInserter::row`] does; gives their number.
    ///
    /// The iterator runs 16 rows ahead, and the bytes of these rows are read before the first of them is
    /// added, so that a processor waits for the memory of several rows at a time. `docs/performance.md` (W2)
    /// has the gain where values lie at random places of the memory.
    ///
    /// After an error of a row's own, such as a text that is too long, the rows before it are in the load; up
    /// to 15 rows behind it have been taken from the iterator too, and are not in the load. If a batch fails,
    /// the uncommitted part of the load is undone.
    #[inline]
    pub fn rows<R: ToRow>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<u64> {
        insert_ahead(rows, |rows| {
            rows.iter().try_for_each(|row| {
                push(row, &mut self.inner)?;
                Ok(self.inner.insert()?)
            })
        })
    }

    /// Rows that are committed so far, outside of a transaction.
    pub fn rows_done(&self) -> u64 {
        self.inner.rows_done()
    }

    /// Inserts the last batch and ends the load; returns the number of rows.
    pub fn finish(self) -> Result<u64> {
        Ok(self.inner.finish()?)
    }
}

/// Inserts many rows of the same columns: [`Session::inserter`].
///
/// Within a transaction the rows are part of it. Outside of one each row commits by itself, unless `begin`
/// and `commit` are called between rows as shown. Dropping the inserter ends no transaction.
///
/// ```
/// # use furrow::{ColumnSpec, Database, TableSpec, sql};
/// # fn main() -> Result<(), furrow::Error> {
/// # let db = Database::create("t").file("t.mdf").in_memory().open()?;
/// # let mut session = db.session()?;
/// # let table = session.create_table(
/// #     &TableSpec::new("t")
/// #         .column(ColumnSpec::new("id", sql::BIGINT).not_null())
/// #         .column(ColumnSpec::new("name", sql::varchar(20)))
/// #         .primary_key(["id"]),
/// # )?;
/// let mut insert = session.inserter(&table, &["id", "name"])?;
/// for batch in 0..3_i64 {
///     insert.begin()?;
///     insert.rows((0..100).map(|n| (100 * batch + n, "somebody")))?;
///     insert.commit()?;                         // a hundred rows durable at once
/// }
/// drop(insert);
/// let mut count = 0;
/// session.rows(&table)?.for_each(|_| {
///     count += 1;
///     Ok(())
/// })?;
/// assert_eq!(count, 300);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Inserter<'s> {
    pub(crate) inner: engine::Inserter<'s>,
}

impl Inserter<'_> {
    /// Inserts a row: a tuple with one value for each named column. Returns the identity value.
    pub fn row(&mut self, row: impl ToRow) -> Result<Option<i64>> {
        push(&row, &mut self.inner)?;
        Ok(self.inner.insert()?)
    }

    /// Inserts rows, as [`Inserter::row`] does, and gives their number. Inside a transaction the rows of one
    /// page go in together where the table has no other index than its clustered one.
    ///
    /// The iterator runs ahead as with [`BulkInserter::rows`]. After an error of a row's own the rows before
    /// it are inserted; up to 15 rows behind it have been taken from the iterator, with their identity
    /// values. An error that ends the transaction (1205) undoes all of them.
    #[inline]
    pub fn rows<R: ToRow>(&mut self, rows: impl IntoIterator<Item = R>) -> Result<u64> {
        insert_ahead(rows, |rows| self.insert_group(rows))
    }

    fn insert_group<R: ToRow>(&mut self, rows: &[R]) -> Result<()> {
        let inner = &mut self.inner;
        if !inner.gathers() {
            return rows.iter().try_for_each(|row| {
                push(row, inner)?;
                inner.insert()?;
                Ok(())
            });
        }
        let gathered = rows.iter().try_for_each(|row| {
            push(row, inner)?;
            Ok(inner.gather()?)
        });
        // Those before a row that was refused go in.
        inner.insert_gathered()?;
        gathered
    }

    /// BEGIN TRANSACTION, between two rows.
    pub fn begin(&mut self) -> Result<()> {
        Ok(self.inner.session().begin()?)
    }

    /// COMMIT, between two rows.
    pub fn commit(&mut self) -> Result<()> {
        Ok(self.inner.session().commit()?)
    }

    /// ROLLBACK, between two rows.
    pub fn rollback(&mut self) -> Result<()> {
        Ok(self.inner.session().rollback()?)
    }
}
