//! Inserting many rows without making values of them.

use super::insert::fill_defaults;
use super::insert_many::Gathered;
use crate::error::EngineError;
use crate::session::Session;
use crate::table::{Column, RowBuffer, Table};
use furrow_types::{TypeId, Value};
use std::sync::Arc;

impl Session {
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
            self.allow_identity(table, column)?;
        }
        let mut row = RowBuffer::default();
        row.clear(table);
        let open = |c: &usize| {
            !columns.contains(c) && table.columns.get(*c).is_some_and(Column::has_default)
        };
        let defaults = (0..table.columns.len()).any(|c| open(&c));
        let takes = |&column: &usize| table.columns.get(column).map_or(Takes::Values, Takes::of);
        Ok(Inserter {
            session: self,
            table: Arc::clone(table),
            takes: columns.iter().map(takes).collect(),
            columns: columns.to_vec(),
            next: 0,
            row,
            defaults,
            gathered: Gathered::default(),
        })
    }
}

/// Values that a column stores without a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// Integers of 8 bytes.
    Integers,
    /// This many bytes at most.
    Bytes(usize),
    /// This many ASCII characters at most.
    Ascii(usize),
    /// Nothing: values are converted.
    Values,
}

impl Takes {
    fn of(column: &Column) -> Takes {
        let most = usize::try_from(column.data_type.length).unwrap_or(0);
        match column.data_type.id {
            TypeId::BigInt => Takes::Integers,
            TypeId::VarBinary => Takes::Bytes(most),
            TypeId::VarChar => Takes::Ascii(most),
            _ => Takes::Values,
        }
    }
}

/// Inserts rows, one by one or some at a time: values are pushed in the order of the columns it was created
/// with, straight into the row's bytes.
#[derive(Debug)]
pub struct Inserter<'s> {
    session: &'s mut Session,
    table: Arc<Table>,
    columns: Vec<usize>,
    /// By column of these, what it stores without a conversion.
    takes: Vec<Takes>,
    next: usize,
    row: RowBuffer,
    defaults: bool,
    /// Rows that are inserted together.
    gathered: Gathered,
}

impl Inserter<'_> {
    /// The session, between two rows: for example to commit.
    pub fn session(&mut self) -> &mut Session {
        self.session
    }

    pub(super) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Completes the row, which may be the first of some that go in together, and hands it to `with`. Ready
    /// for the next one, also after an error.
    #[inline]
    pub(super) fn with_row<T>(
        &mut self,
        first: bool,
        with: impl FnOnce(&mut Session, &Arc<Table>, &mut RowBuffer) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let complete = self.next == self.columns.len();
        let result = if complete {
            self.complete_and(first, with)
        } else {
            Err(EngineError::refused(213, &[]))
        };
        self.forget_row();
        result
    }

    fn complete_and<T>(
        &mut self,
        first: bool,
        with: impl FnOnce(&mut Session, &Arc<Table>, &mut RowBuffer) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if self.defaults {
            fill_defaults(&self.table, &self.columns, &mut self.row)?;
        }
        if self.table.identity.is_some() {
            if first {
                // Values are reserved in the catalog, which only a session with a lock of the table changes.
                let table = &self.table;
                self.session
                    .statement(|session| session.lock_for_change(table))?;
            }
            self.session
                .identity_of_row(&self.table, &self.columns, &mut self.row)?;
        }
        with(self.session, &self.table, &mut self.row)
    }

    #[inline]
    fn column(&mut self) -> Result<usize, EngineError> {
        let column = self.columns.get(self.next).copied();
        self.next += 1;
        column.ok_or_else(too_many)
    }

    /// The next column, and what it stores without a conversion.
    #[inline]
    fn takes(&mut self) -> Result<(usize, Takes), EngineError> {
        let takes = self.takes.get(self.next).copied();
        Ok((self.column()?, takes.unwrap_or(Takes::Values)))
    }

    /// The next column's value.
    pub fn value(&mut self, value: &Value) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        self.set(column, value)?;
        Ok(self)
    }

    /// An integer for the next column.
    #[inline]
    pub fn i64(&mut self, value: i64) -> Result<&mut Self, EngineError> {
        match self.takes()? {
            (column, Takes::Integers) => self.row.set_bytes(column, Some(&value.to_le_bytes())),
            (column, _) => self.set(column, &Value::BigInt(value))?,
        }
        Ok(self)
    }

    /// Bytes for the next column, which is `binary` or `varbinary`.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) -> Result<&mut Self, EngineError> {
        match self.takes()? {
            (column, Takes::Bytes(most)) if value.len() <= most => {
                self.row.set_bytes(column, Some(value));
            }
            (column, _) => self.set(column, &Value::Binary(value.to_vec()))?,
        }
        Ok(self)
    }

    /// Text for the next column.
    #[inline]
    pub fn str(&mut self, value: &str) -> Result<&mut Self, EngineError> {
        match self.takes()? {
            (column, Takes::Ascii(most)) if value.len() <= most && value.is_ascii() => {
                self.row.set_bytes(column, Some(value.as_bytes()));
            }
            (column, _) => self.set(column, &Value::NVarChar(value.to_owned()))?,
        }
        Ok(self)
    }

    fn set(&mut self, column: usize, value: &Value) -> Result<(), EngineError> {
        self.row.set(&self.table, column, value)
    }

    /// NULL for the next column.
    pub fn null(&mut self) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        self.row.set_bytes(column, None);
        Ok(self)
    }

    /// Forgets the values pushed since the last row: the next value is the first of a row.
    pub fn forget_row(&mut self) {
        self.next = 0;
        self.row.clear(&self.table);
    }

    /// The column's own default for the next column.
    pub fn default(&mut self) -> Result<&mut Self, EngineError> {
        let column = self.column()?;
        let of = self.table.columns.get(column);
        let value = of.map_or(Ok(Value::Null), Column::default_value)?;
        self.row.set(&self.table, column, &value)?;
        Ok(self)
    }

    /// Whether rows may be gathered and inserted together: inside a transaction, where the table is one tree.
    pub fn gathers(&self) -> bool {
        self.session.in_transaction() && Gathered::takes(&self.table)
    }

    /// Ends the row, to be inserted by [`Inserter::insert_gathered`]. Ready for the next one, also after an
    /// error: the row is left out then.
    pub fn gather(&mut self) -> Result<(), EngineError> {
        debug_assert!(
            self.session.in_transaction() || self.table.identity.is_none(),
            "identity values are taken under a lock that is held until the rows are in"
        );
        let mut gathered = std::mem::take(&mut self.gathered);
        let first = gathered.len() == 0;
        let pushed = self.with_row(first, |_, table, row| gathered.push(table, row));
        self.gathered = gathered;
        pushed
    }

    /// Inserts the rows gathered. An error is one of the first row that is not in the table then; those
    /// behind it are not either.
    pub fn insert_gathered(&mut self) -> Result<(), EngineError> {
        let Inserter {
            session,
            table,
            gathered,
            ..
        } = self;
        let mut result = Ok(());
        while result.is_ok() && !gathered.is_done() {
            if !session.in_transaction() {
                gathered.forget_locks();
            }
            result = session.statement(|session| session.insert_gathered(table, gathered));
        }
        if result.is_err() && session.in_transaction() {
            session.give_back_gathered(table, gathered);
        }
        gathered.clear();
        result
    }

    /// Inserts the row; gives its identity value. Ready for the next one, also after an error.
    pub fn insert(&mut self) -> Result<Option<i64>, EngineError> {
        let complete = self.next == self.columns.len();
        self.next = 0;
        let Inserter {
            session,
            table,
            columns,
            row,
            defaults,
            ..
        } = self;
        let result = if complete {
            session.statement(|session| {
                session.lock_for_change(table)?;
                if *defaults {
                    fill_defaults(table, columns, row)?;
                }
                let identity = session.identity_of_row(table, columns, row)?;
                session.insert_row(table, row)?;
                Ok(identity)
            })
        } else {
            Err(EngineError::refused(213, &[]))
        };
        row.clear(table);
        result
    }
}

#[cold]
fn too_many() -> EngineError {
    EngineError::refused(213, &[])
}
