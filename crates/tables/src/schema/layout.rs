//! Where columns lie: in the rows of a table and in the rows of its nonclustered indexes.

use super::ColumnSpec;
use furrow_format::RowsetId;
use furrow_format::catalog::{self, NullBits, RowsetKind, RowsetLayout, lay_out, physical_order};
use furrow_types::{DataType, TypeId};

/// Key columns: places of the columns in the table from 0, and whether each is descending.
pub(crate) type KeyColumns = [(usize, bool)];

/// What rows of nonclustered indexes point with.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Locator<'a> {
    /// A clustered key.
    Key {
        /// The key.
        key: &'a KeyColumns,
        /// Whether it is unique; otherwise a uniquifier goes with it.
        unique: bool,
    },
    /// The eight bytes of a row's address in a heap.
    Rid,
}

/// Bytes of a row's address in the rows of an index.
pub(crate) const RID_BYTES: i16 = 8;

/// Lays out the rows of a table: its columns with their numbers.
pub(crate) fn table_layout(
    rowset: RowsetId,
    (columns, ids): (&[ColumnSpec], &[i32]),
    base: Locator<'_>,
) -> RowsetLayout {
    let mut specs: Vec<catalog::ColumnSpec> = ids
        .iter()
        .zip(columns)
        .map(|(&column_id, column)| catalog::ColumnSpec {
            column_id,
            data_type: column.data_type,
            nullable: column.nullable,
            key_ordinal: 0,
            descending: false,
            uniquifier: false,
        })
        .collect();
    let Locator::Key { key, unique } = base else {
        return lay_out(rowset, RowsetKind::Heap, NullBits::Always, &specs);
    };
    for (ordinal, &(column, descending)) in (1..).zip(key) {
        if let Some(spec) = specs.get_mut(column) {
            (spec.key_ordinal, spec.descending) = (ordinal, descending);
        }
    }
    if !unique {
        let ordinal = key.len() as u16 + 1;
        specs.push(catalog::ColumnSpec::uniquifier(0, ordinal));
    }
    physical_order(&mut specs);
    lay_out(rowset, RowsetKind::Clustered, NullBits::Always, &specs)
}

/// A column of a table as the column at a place in an index, outside of its key.
fn entry_spec(columns: &[ColumnSpec], place: usize, column: usize) -> catalog::ColumnSpec {
    let of = columns.get(column);
    catalog::ColumnSpec {
        column_id: place as i32 + 1,
        data_type: of.map_or(DataType::simple(TypeId::Int), |c| c.data_type),
        nullable: of.is_none_or(|c| c.nullable),
        key_ordinal: 0,
        descending: false,
        uniquifier: false,
    }
}

/// Lays out the rows of a nonclustered index: its key, its included columns, then what of the locator
/// is not among them. Column ids are places in the index.
pub(crate) fn index_layout(
    rowset: RowsetId,
    columns: &[ColumnSpec],
    key: &KeyColumns,
    included: &[usize],
    unique: bool,
    base: Locator<'_>,
) -> RowsetLayout {
    let mut chosen: Vec<usize> = Vec::new();
    let mut specs: Vec<catalog::ColumnSpec> = Vec::new();
    let spec = |place, column| entry_spec(columns, place, column);
    for (ordinal, &(column, descending)) in (1..).zip(key) {
        let spec = spec(specs.len(), column);
        specs.push(catalog::ColumnSpec {
            key_ordinal: ordinal,
            descending,
            ..spec
        });
        chosen.push(column);
    }
    for &column in included {
        specs.push(spec(specs.len(), column));
        chosen.push(column);
    }
    let mut ordinal = key.len() as u16;
    let mut next_ordinal = || {
        ordinal += 1;
        if unique { 0 } else { ordinal }
    };
    let (base_key, base_unique) = match base {
        Locator::Key { key, unique } => (key, unique),
        Locator::Rid => {
            let spec = catalog::ColumnSpec {
                data_type: DataType::sized(TypeId::Binary, RID_BYTES),
                nullable: false,
                key_ordinal: next_ordinal(),
                ..spec(specs.len(), usize::MAX)
            };
            specs.push(spec);
            (&[][..], true)
        }
    };
    for &(column, descending) in base_key {
        let at = match chosen.iter().position(|&c| c == column) {
            Some(at) if at < key.len() => continue,
            Some(at) => at,
            None => {
                specs.push(spec(specs.len(), column));
                chosen.push(column);
                specs.len() - 1
            }
        };
        if let Some(spec) = specs.get_mut(at) {
            spec.key_ordinal = next_ordinal();
            spec.descending = descending && !unique;
        }
    }
    if !base_unique {
        let place = specs.len() as i32 + 1;
        specs.push(catalog::ColumnSpec::uniquifier(place, next_ordinal()));
    }
    lay_out(rowset, RowsetKind::Nonclustered, NullBits::Always, &specs)
}
