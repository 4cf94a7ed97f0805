//! Inserting many rows without making values of them.

use super::insert::fill_defaults;
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
        row.clear(table.columns.len());
        let open = |c: &usize| {
            !columns.contains(c) && table.columns.get(*c).is_some_and(Column::has_default)
        };
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

/// Inserts rows one by one: values are pushed in the order of the columns it was created with, straight into
/// the row's bytes.
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
    /// The session, between two rows: for example to commit.
    pub fn session(&mut self) -> &mut Session {
        self.session
    }

    pub(super) fn table(&self) -> &Arc<Table> {
        &self.table
    }

    /// Completes the row and hands it to `with`. Ready for the next one, also after an error.
    #[inline]
    pub(super) fn with_row<T>(
        &mut self,
        with: impl FnOnce(&mut Session, &Arc<Table>, &mut RowBuffer) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let complete = self.next == self.columns.len();
        self.next = 0;
        let result = if complete {
            self.complete_and(with)
        } else {
            Err(EngineError::refused(213, &[]))
        };
        self.row.clear(self.table.columns.len());
        result
    }

    fn complete_and<T>(
        &mut self,
        with: impl FnOnce(&mut Session, &Arc<Table>, &mut RowBuffer) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        if self.defaults {
            fill_defaults(&self.table, &self.columns, &mut self.row)?;
        }
        if self.table.identity.is_some() {
            self.session
                .identity_of_row(&self.table, &self.columns, &mut self.row)?;
        }
        with(self.session, &self.table, &mut self.row)
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
            _ => self
                .row
                .set(&self.table, column, &Value::Binary(value.to_vec()))?,
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
            _ => self
                .row
                .set(&self.table, column, &Value::NVarChar(value.to_owned()))?,
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
        let of = self.table.columns.get(column);
        let value = of.map_or(Ok(Value::Null), Column::default_value)?;
        self.row.set(&self.table, column, &value)?;
        Ok(self)
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
        row.clear(table.columns.len());
        result
    }
}
