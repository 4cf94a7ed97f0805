//! A stored column, and its bytes in a record.

use furrow_format::catalog::{RowsetColumn, layout_status};
use furrow_format::{Record, Status};
use furrow_types::{Collation, DataType, TypeId};

/// Where a column lies on one level of a rowset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ColumnPlace {
    /// Above 0 the offset of a fixed column, below 0 the ordinal of a variable one, 0 not on this level.
    pub offset: i16,
    /// Number of the null bit, from 1; 0 = none.
    pub null_bit: u16,
    /// Bit of a `bit` column.
    pub bit: u8,
}

/// A column as the rows of a rowset hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredColumn {
    /// Column id of the table, or place in a nonclustered index; 0 = uniquifier.
    pub column_id: i32,
    /// Physical order.
    pub order: i32,
    /// The type.
    pub data_type: DataType,
    /// Bits of [`layout_status`].
    pub status: i32,
    /// Place in the key, from 1; 0 = none.
    pub key_ordinal: i16,
    /// In leaf rows.
    pub leaf: ColumnPlace,
    /// In non-leaf rows.
    pub inner: ColumnPlace,
}

impl StoredColumn {
    /// From a row of `sysrscols`; `None` where its type isn't known.
    pub fn from_layout(row: &RowsetColumn) -> Option<StoredColumn> {
        let halves = |word: i32| (word as u16, (word as u32 >> 16) as u16);
        let (leaf_offset, inner_offset) = halves(row.offset);
        let (leaf_null, inner_null) = halves(row.nullbit);
        let [leaf_bit, inner_bit] = row.bitpos.to_le_bytes();
        let place = |offset: u16, null_bit: u16, bit: u8| ColumnPlace {
            offset: offset as i16,
            null_bit,
            bit,
        };
        Some(StoredColumn {
            column_id: row.rscolid,
            order: row.hbcolid,
            data_type: DataType::from_ti(row.ti, Collation(row.cid as u32))?,
            status: row.status,
            key_ordinal: row.ordkey,
            leaf: place(leaf_offset, leaf_null, leaf_bit),
            inner: place(inner_offset, inner_null, inner_bit),
        })
    }

    /// Whether the column was dropped: its place remains, and may be used again by another.
    pub const fn is_dropped(&self) -> bool {
        self.status & layout_status::DROPPED != 0 || self.column_id >= 0x0400_0000
    }

    /// Whether this is the uniquifier: the only column that is an `int` among variable columns.
    pub fn is_uniquifier(&self) -> bool {
        self.data_type.id == TypeId::Int && (self.leaf.offset < 0 || self.inner.offset < 0)
    }
}

/// The content of a column in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored<'a> {
    /// NULL.
    Null,
    /// The row is older than the column.
    NotStored,
    /// The value's bytes.
    Bytes(&'a [u8]),
    /// A `bit`.
    Bit(bool),
    /// A pointer to a value elsewhere.
    Pointer(&'a [u8]),
}

/// Finds a column in a record; `None` when the record is too short for it.
pub fn find_column<'a>(
    record: &Record<'a>,
    column: &StoredColumn,
    place: ColumnPlace,
) -> Option<Stored<'a>> {
    if place.null_bit > 0 && record.status().has(Status::NULL_BITMAP) {
        match record.null_bit(place.null_bit - 1) {
            Some(false) => {}
            Some(true) => return Some(Stored::Null),
            None => return Some(Stored::NotStored),
        }
    }
    if place.offset > 0 {
        let offset = place.offset.unsigned_abs();
        if column.data_type.id == TypeId::Bit {
            let &[byte] = record.fixed_at(offset, 1)? else {
                return None;
            };
            return Some(Stored::Bit(byte >> place.bit.min(7) & 1 != 0));
        }
        return record
            .fixed_at(offset, column.data_type.fixed_len()?)
            .map(Stored::Bytes);
    }
    match record.var(place.offset.unsigned_abs().checked_sub(1)?) {
        Some((bytes, true)) => Some(Stored::Pointer(bytes)),
        // The first row of a key has no uniquifier, which counts as 0.
        None | Some((&[], false)) if column.is_uniquifier() => Some(Stored::Bytes(&[0; 4])),
        Some((bytes, false)) => Some(Stored::Bytes(bytes)),
        // Trailing columns that are empty aren't stored.
        None => Some(Stored::Bytes(&[])),
    }
}
