//! Encoding rows.

use super::layout::MAX_COLUMNS;
use super::{ColumnLayout, Place, RowError, RowForm, RowLayout};
use crate::bytes::put;
use crate::record::{Tail, put_header};
use crate::{MAX_ROW_SIZE, PageId, RecordKind, RowId, VERSION_TAG_SIZE, VarColumn};
use furrow_types::TypeId;

/// What a row carries beside its columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowExtras<'a> {
    /// For non-leaf rows: the child.
    pub child: Option<PageId>,
    /// For a heap row that moved: where its stub is.
    pub forwarded_from: Option<RowId>,
    /// The version tag.
    pub version_tag: Option<[u8; VERSION_TAG_SIZE]>,
    /// Columns (by number, from 0) whose bytes are a pointer to data elsewhere.
    pub off_row: &'a [usize],
}

impl RowLayout {
    /// Appends a row of these column values to `out` and gives its length; `out` is unchanged on an error.
    ///
    /// One value for each of [`RowLayout::columns`], `None` = NULL.
    pub fn encode(&self, values: &[Option<&[u8]>], out: &mut Vec<u8>) -> Result<usize, RowError> {
        self.encode_with(values, RowExtras::default(), out)
    }

    /// [`RowLayout::encode`] for a non-leaf row.
    pub fn encode_node(
        &self,
        values: &[Option<&[u8]>],
        child: PageId,
        out: &mut Vec<u8>,
    ) -> Result<usize, RowError> {
        self.encode_with(
            values,
            RowExtras {
                child: Some(child),
                ..RowExtras::default()
            },
            out,
        )
    }

    /// [`RowLayout::encode`] with what else a row may carry.
    pub fn encode_with(
        &self,
        values: &[Option<&[u8]>],
        extras: RowExtras<'_>,
        out: &mut Vec<u8>,
    ) -> Result<usize, RowError> {
        let (expected, actual) = (self.columns().len(), values.len());
        if expected != actual {
            return Err(RowError::ValueCount { expected, actual });
        }
        if extras.child.is_some() != (self.form() == RowForm::IndexNode) {
            return Err(RowError::Child);
        }
        let start = out.len();
        let fixed_end = usize::from(self.pminlen());
        let mut encoded = self.put_row(values, extras, (start, fixed_end), out);
        let padding = match encoded {
            Err(RowError::RowTooLarge { .. }) => self.padding(),
            _ => 0,
        };
        if padding > 0 {
            out.truncate(start);
            encoded = self.put_row(values, extras, (start, fixed_end - padding), out);
        }
        if encoded.is_err() {
            out.truncate(start);
        }
        encoded
    }

    fn put_row(
        &self,
        values: &[Option<&[u8]>],
        extras: RowExtras<'_>,
        (start, fixed_end): (usize, usize),
        out: &mut Vec<u8>,
    ) -> Result<usize, RowError> {
        let kind = match extras.forwarded_from {
            Some(_) => RecordKind::Forwarded,
            None => self.form().record_kind(),
        };
        put_header(kind, fixed_end - self.form().header_size(), out);
        out.resize(start + fixed_end, 0);
        let mut nulls = [0_u8; MAX_COLUMNS / 8];
        let row = out.get_mut(start..).unwrap_or_default();
        for (index, (column, value)) in self.columns().iter().zip(values).enumerate() {
            match value {
                Some(value) => put_value(column, value, extras.off_row.contains(&index), row)?,
                None => put_null(self.form(), column, &mut nulls)?,
            }
        }
        if let Some(child) = extras.child {
            let _inside = put(row, fixed_end - 6, &child.to_bytes());
        }
        let vars = self.vars().iter().map(|&column| {
            let column = usize::from(column);
            let bytes = values.get(column).copied().flatten().unwrap_or_default();
            VarColumn {
                bytes,
                complex: extras.off_row.contains(&column),
            }
        });
        let tail = Tail {
            columns: self.null_columns(),
            null_bitmap: &nulls,
            vars,
            forwarded_from: extras.forwarded_from,
            version_tag: extras.version_tag,
        };
        match tail.put(start, out) {
            Some(len) if len <= MAX_ROW_SIZE => Ok(len),
            Some(len) => Err(RowError::RowTooLarge { len }),
            None => Err(RowError::RowTooLarge {
                len: usize::from(u16::MAX),
            }),
        }
    }
}

/// Sets the null bit of a column without a value.
fn put_null(form: RowForm, column: &ColumnLayout, nulls: &mut [u8]) -> Result<(), RowError> {
    // The first row of a non-leaf level means "less than every key": its keys may be NULL even if the column
    // is not nullable.
    if !column.nullable && form != RowForm::IndexNode {
        return Err(RowError::NotNullable {
            column_id: column.column_id,
        });
    }
    if let Some(bit) = column.null_bit.map(usize::from) {
        let byte = nulls.get_mut(bit / 8);
        let byte = byte.ok_or(RowError::Layout {
            column_id: column.column_id,
        })?;
        *byte |= 1 << (bit % 8);
    }
    Ok(())
}

/// Checks a value, and places it if its column is fixed.
#[inline]
fn put_value(
    column: &ColumnLayout,
    value: &[u8],
    off_row: bool,
    row: &mut [u8],
) -> Result<(), RowError> {
    let ColumnLayout {
        column_id, max_len, ..
    } = *column;
    let wrong = || RowError::ValueLength {
        column_id,
        max_len,
        actual: value.len(),
    };
    let placed = match column.place {
        Place::Var(_) => off_row || max_len == 0 || value.len() <= usize::from(max_len),
        Place::Fixed(_) if value.len() != column.fixed_len() => false,
        Place::Fixed(offset) if column.kind == TypeId::Bit => {
            let set = u8::from(value.first().is_some_and(|&byte| byte != 0));
            let byte = row.get_mut(usize::from(offset)).ok_or_else(wrong)?;
            *byte |= set << column.bit_pos;
            true
        }
        Place::Fixed(offset) => put(row, usize::from(offset), value),
    };
    if placed { Ok(()) } else { Err(wrong()) }
}
