//! Decoding rows.

use super::{ColumnLayout, Place, RowError, RowLayout};
use crate::{Record, Status};
use furrow_types::TypeId;

const BITS: [&[u8]; 2] = [&[0], &[1]];

/// The content of a column in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held<'a> {
    /// NULL.
    Null,
    /// Nothing: the row is older than the column.
    Missing,
    /// The value's bytes.
    Here(&'a [u8]),
    /// A pointer to the value.
    Elsewhere(&'a [u8]),
}

impl RowLayout {
    /// The record at the start of `bytes`, on a page with this `pminlen`, in this layout's form.
    #[inline(always)]
    pub fn record<'a>(&self, bytes: &'a [u8], pminlen: u16) -> Option<Record<'a>> {
        if self.form().is_data() {
            Record::data(bytes)
        } else {
            Record::index(bytes, pminlen)
        }
    }

    /// The bytes of column `index`, `None` for NULL.
    ///
    /// A column that the row was written without (it was added later) is NULL.
    #[inline]
    pub fn value<'a>(
        &self,
        record: Record<'a>,
        index: usize,
    ) -> Result<Option<&'a [u8]>, RowError> {
        let column = self
            .columns()
            .get(index)
            .ok_or(RowError::NoSuchColumn { index })?;
        column.value(record)
    }

    /// The content of column `index`: like [`RowLayout::value`], but values that lie elsewhere, and columns
    /// that are newer than the row, are distinguished.
    #[inline]
    pub fn held<'a>(&self, record: Record<'a>, index: usize) -> Result<Held<'a>, RowError> {
        let column = self
            .columns()
            .get(index)
            .ok_or(RowError::NoSuchColumn { index })?;
        if let Some(bit) = column.null_bit
            && record.status().has(Status::NULL_BITMAP)
            && record.null_bit(bit).is_none()
        {
            return Ok(Held::Missing);
        }
        let Some(bytes) = column.value(record)? else {
            return Ok(Held::Null);
        };
        Ok(match self.is_off_row(record, index) {
            true => Held::Elsewhere(bytes),
            false => Held::Here(bytes),
        })
    }

    /// Whether the bytes of column `index` are a pointer to data elsewhere.
    #[inline]
    pub fn is_off_row(&self, record: Record<'_>, index: usize) -> bool {
        match self.columns().get(index).map(|column| column.place) {
            Some(Place::Var(number)) => record.var(number).is_some_and(|(_, complex)| complex),
            _ => false,
        }
    }

    /// The bytes of a fixed column that takes no NULL, straight from the record's first byte on: for
    /// searches, with [`Page::record_start`](crate::Page::record_start). `None` where the column is
    /// not of that kind.
    #[inline]
    pub fn fixed_value<'a>(&self, start: &'a [u8], index: usize) -> Option<&'a [u8]> {
        let column = self.columns().get(index)?;
        match column.place {
            Place::Fixed(offset) if !column.nullable && column.kind != TypeId::Bit => {
                let offset = usize::from(offset);
                start.get(offset..offset + usize::from(column.max_len))
            }
            _ => None,
        }
    }
}

impl ColumnLayout {
    /// The column's bytes in a record, `None` for NULL.
    #[inline]
    pub fn value<'a>(&self, record: Record<'a>) -> Result<Option<&'a [u8]>, RowError> {
        if self.is_null(record) {
            return Ok(None);
        }
        let damaged = RowError::Damaged {
            column_id: self.column_id,
        };
        match self.place {
            Place::Fixed(offset) if self.kind == TypeId::Bit => {
                let byte = record
                    .fixed_at(offset, 1)
                    .and_then(<[u8]>::first)
                    .ok_or(damaged)?;
                let [zero, one] = BITS;
                Ok(Some(if byte & (1 << (self.bit_pos & 7)) == 0 {
                    zero
                } else {
                    one
                }))
            }
            Place::Fixed(offset) => record
                .fixed_at(offset, self.max_len)
                .map(Some)
                .ok_or(damaged),
            Place::Var(number) => match record.var(number) {
                Some((bytes, _complex)) => Ok(Some(bytes)),
                None if number >= record.var_count() => Ok(Some(&[])),
                None => Err(damaged),
            },
        }
    }

    /// Whether the column is NULL in a record.
    #[inline]
    fn is_null(&self, record: Record<'_>) -> bool {
        match self.null_bit {
            Some(bit) if record.status().has(Status::NULL_BITMAP) => {
                record.null_bit(bit).unwrap_or(true)
            }
            _ => false,
        }
    }
}
