//! A row as a reader sees it.

use super::{Index, Table};
use crate::error::EngineError;
use furrow_format::{Held, Record};
use furrow_types::{Value, decode};
use std::fmt;

/// A row read from an index: columns are decoded when they are asked for.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    pub(super) table: &'a Table,
    pub(super) index: &'a Index,
    pub(super) record: Record<'a>,
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = (0..self.table.columns.len()).map(|c| self.value(c));
        f.debug_list().entries(values).finish()
    }
}

impl<'a> Row<'a> {
    /// The row at the beginning of `bytes`; what lies behind it does not matter.
    #[inline(always)]
    pub(crate) fn new(
        table: &'a Table,
        index: &'a Index,
        bytes: &'a [u8],
    ) -> Result<Row<'a>, EngineError> {
        let layout = &index.shape().leaf;
        let record = layout.record(bytes, layout.pminlen());
        let record = record.ok_or_else(|| {
            EngineError::Damaged(format!("a row of table '{}' cannot be read", table.name))
        })?;
        Ok(Row {
            table,
            index,
            record,
        })
    }

    /// The table's columns' number.
    pub fn len(&self) -> usize {
        self.table.columns.len()
    }

    /// Whether the table has no columns: never.
    pub fn is_empty(&self) -> bool {
        self.table.columns.is_empty()
    }

    /// The bytes of a column as they are stored; `None` for NULL, for columns that the index read does not
    /// have, and for values that lie outside of the row ([`Row::is_outside`]).
    #[inline(always)]
    pub fn bytes(&self, column: usize) -> Option<&'a [u8]> {
        if self.index.shape().at_rest {
            return self.resting_bytes(column);
        }
        let at = (*self.index.leaf_of.get(column)?)?;
        self.index.shape().leaf.value(self.record, at).ok()?
    }

    #[cold]
    fn resting_bytes(&self, column: usize) -> Option<&'a [u8]> {
        match self.held(column).ok()? {
            Held::Here(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The value of a column.
    pub fn value(&self, column: usize) -> Result<Value, EngineError> {
        if self.index.shape().at_rest {
            return self.resting_value(column);
        }
        let Some(of) = self.table.columns.get(column) else {
            return Err(EngineError::Damaged(format!("no column {column}")));
        };
        let at = self.index.leaf_of.get(column).copied().flatten();
        let at = at.ok_or_else(|| {
            EngineError::Damaged(format!(
                "index '{}' does not have '{}'",
                self.index.name, of.name
            ))
        })?;
        let layout = &self.index.shape().leaf;
        let bytes = layout
            .value(self.record, at)
            .map_err(super::encode::row_error)?;
        match bytes {
            None => Ok(Value::Null),
            Some(bytes) => decode(&of.data_type, bytes)
                .map_err(|e| super::encode::value_error(self.table, of, &e)),
        }
    }

    /// All columns.
    pub fn values(&self) -> Result<Vec<Value>, EngineError> {
        (0..self.len()).map(|column| self.value(column)).collect()
    }

    /// A `bigint` column without making a [`Value`]; `None` for NULL or another type's length.
    #[inline]
    pub fn i64(&self, column: usize) -> Option<i64> {
        Some(i64::from_le_bytes(self.bytes(column)?.try_into().ok()?))
    }

    /// An `int` column without making a [`Value`].
    #[inline]
    pub fn i32(&self, column: usize) -> Option<i32> {
        Some(i32::from_le_bytes(self.bytes(column)?.try_into().ok()?))
    }

    /// Bytes of the whole record.
    #[inline]
    pub fn record(&self) -> Record<'a> {
        self.record
    }
}
