//! Rows of rowsets that `sysrscols` describes: their layouts, and the bytes of base table rows.

use super::layout::RowsetLayout;
use super::{BaseTable, RowsetColumn, RowsetKind, base_layout, layout_status};
use crate::{ColumnLayout, Place, Record, RowError, RowForm, RowLayout};
use furrow_types::{Collation, DataType, TypeError, Value};

/// Why a row of a base table cannot be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum CatalogRowError {
    /// A value doesn't fit its column.
    #[error("{table}: {error}")]
    Value {
        /// The table.
        table: &'static str,
        /// What is wrong.
        error: TypeError,
    },
    /// The columns don't fit a row.
    #[error("{table}: {error}")]
    Row {
        /// The table.
        table: &'static str,
        /// What is wrong.
        error: RowError,
    },
}

impl RowsetLayout {
    /// The layout of leaf rows; columns in physical order, dropped ones left out.
    pub fn leaf(&self, kind: RowsetKind) -> Result<RowLayout, RowError> {
        let form = match kind {
            RowsetKind::Heap => RowForm::Heap,
            RowsetKind::Clustered => RowForm::ClusteredLeaf,
            RowsetKind::Nonclustered => RowForm::IndexLeaf,
        };
        row_layout(form, &self.columns, self.minleaf as u16)
    }

    /// The layout of non-leaf rows; columns in key order.
    pub fn node(&self) -> Result<RowLayout, RowError> {
        row_layout(RowForm::IndexNode, &self.columns, self.minint as u16)
    }
}

/// The layout that rows of `sysrscols` describe, for one form of rows.
///
/// Leaf columns come in the order given (physical order), those of nodes in key order. `pminlen` is
/// `minleaf` or `minint` of the rowset, and the `pminlen` of its pages.
pub fn row_layout(
    form: RowForm,
    columns: &[RowsetColumn],
    pminlen: u16,
) -> Result<RowLayout, RowError> {
    let is_node = form == RowForm::IndexNode;
    let mut chosen = columns
        .iter()
        .filter(|row| row.status & layout_status::DROPPED == 0)
        .filter(|row| !is_node || row.offset >> 16 != 0)
        .collect::<Vec<_>>();
    if is_node {
        chosen.sort_by_key(|row| row.ordkey);
    }
    let columns = chosen.into_iter().map(|row| column_layout(row, is_node));
    RowLayout::from_columns(form, columns.collect::<Result<_, _>>()?, pminlen)
}

fn column_layout(row: &RowsetColumn, is_node: bool) -> Result<ColumnLayout, RowError> {
    let column_id = row.rscolid as u32;
    let bad = RowError::Layout { column_id };
    let data_type = DataType::from_ti(row.ti, Collation(row.cid as u32)).ok_or(bad)?;
    let shift = if is_node { 16 } else { 0 };
    let offset = (row.offset >> shift) as i16;
    let null_bit = (row.nullbit >> shift) as u16;
    let [leaf_bit, node_bit] = row.bitpos.to_le_bytes();
    let max_len = match data_type.fixed_len() {
        Some(length) => length,
        None if data_type.is_max() => 0,
        None => data_type.max_in_row_len(),
    };
    Ok(ColumnLayout {
        column_id,
        kind: data_type.id,
        max_len,
        place: match offset {
            1.. => Place::Fixed(offset.unsigned_abs()),
            0 => return Err(bad),
            _ => Place::Var(offset.unsigned_abs() - 1),
        },
        null_bit: null_bit.checked_sub(1),
        bit_pos: if is_node { node_bit } else { leaf_bit },
        // A row without the uniquifier has number 0.
        nullable: row.status & (layout_status::NOT_NULL | layout_status::UNIQUIFIER) == 0,
    })
}

impl BaseTable {
    /// The layout of the table's leaf rows, columns as in [`BaseTable::columns`].
    pub fn row_layout(&self) -> Result<RowLayout, RowError> {
        let kind = if self.is_heap() {
            RowsetKind::Heap
        } else {
            RowsetKind::Clustered
        };
        let mut layout = base_layout(self);
        // Two columns of sysrowsets are NOT NULL by their layout and NULL in every row.
        for (row, column) in layout.columns.iter_mut().zip(self.columns) {
            if column.nullable {
                row.status &= !layout_status::NOT_NULL;
            }
        }
        layout.leaf(kind)
    }

    /// Appends a row of these values (as [`BaseRow::to_values`](super::BaseRow::to_values) gives them).
    pub fn encode_row(
        &self,
        layout: &RowLayout,
        values: &[Value],
        out: &mut Vec<u8>,
    ) -> Result<usize, CatalogRowError> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (value, column) in values.iter().zip(self.columns) {
            furrow_types::encode_into(&column.data_type, value, &mut bytes).map_err(|error| {
                CatalogRowError::Value {
                    table: self.name,
                    error,
                }
            })?;
            ends.push(bytes.len());
        }
        let mut start = 0;
        let mut pieces = Vec::with_capacity(values.len());
        for (value, end) in values.iter().zip(ends) {
            let piece = bytes.get(start..end).unwrap_or_default();
            pieces.push((!value.is_null()).then_some(piece));
            start = end;
        }
        let row = layout.encode(&pieces, out);
        row.map_err(|error| CatalogRowError::Row {
            table: self.name,
            error,
        })
    }

    /// The values of a row, for [`BaseRow::from_values`](super::BaseRow::from_values); `None` when the
    /// record is damaged.
    pub fn decode_row(&self, layout: &RowLayout, record: Record<'_>) -> Option<Vec<Value>> {
        let value = |(index, column): (usize, &super::BaseColumn)| match layout
            .value(record, index)
            .ok()?
        {
            Some(bytes) => furrow_types::decode(&column.data_type, bytes).ok(),
            None => Some(Value::Null),
        };
        self.columns.iter().enumerate().map(value).collect()
    }
}
