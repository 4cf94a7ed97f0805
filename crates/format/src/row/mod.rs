//! Rows: columns of known types in records.
//!
//! A [`RowLayout`] contains the place of each column of a rowset in its records, for one form: data rows
//! (heap or clustered leaf), rows of a nonclustered leaf, rows of non-leaf pages. New layouts are laid out by
//! the rules below; layouts of existing rowsets come from the catalog, column by column
//! ([`RowLayout::from_columns`]).
//!
//! The rules for new layouts, in column order:
//! 1. fixed columns first, from byte 4 (data) or 1 (index); a `bit` column takes a byte where the
//!    first one of eight falls, the next seven share it;
//! 2. non-leaf rows end their fixed part with the child's page id;
//! 3. variable columns are numbered; of a row, empty ones at the end are not stored;
//! 4. data rows have a null bit for every column; index rows have one for every column if any is
//!    nullable, else no null bitmap at all;
//! 5. a heap row is at least nine bytes long, so that a forwarding stub can take its place on a full page: a
//!    heap's fixed part is at least two bytes.
//!
//! Values are column bytes in their on-disk encoding; a `bit` is one byte, 0 or 1. Encoding appends to the
//! caller's buffer; decoding borrows from the record. Neither allocates.
//!
//! What can fail: [`RowError`].

mod decode;
mod draft;
mod encode;
mod layout;
#[cfg(test)]
mod tests;

use furrow_types::TypeId;

pub use decode::Held;
pub use draft::{Extent, RowDraft, RowTemplate};
pub use encode::RowExtras;
pub use layout::{ColumnSpec, RowForm, RowLayout};

/// Where a column lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Among the fixed columns, at this offset from the record's start.
    Fixed(u16),
    /// Among the variable columns, with this number from 0.
    Var(u16),
}

/// A column of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnLayout {
    /// Its id in the table; 0 = uniquifier.
    pub column_id: u32,
    /// Type.
    pub kind: TypeId,
    /// Bytes: exactly for fixed columns, at most for variable ones; 0 = `(max)`.
    pub max_len: u16,
    /// Where it lies.
    pub place: Place,
    /// Its bit in the null bitmap, from 0.
    pub null_bit: Option<u16>,
    /// For `bit`: its bit in the byte.
    pub bit_pos: u8,
    /// Whether it may be NULL. Decoding uses the null bitmap alone.
    pub nullable: bool,
}

/// Why a row cannot be laid out, encoded or decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// More columns, or more fixed bytes, than a row can have; or a column's place makes no sense.
    #[error("column {column_id} does not fit the row layout")]
    Layout {
        /// The column.
        column_id: u32,
    },
    /// Not one value for each column.
    #[error("{actual} values for {expected} columns")]
    ValueCount {
        /// Columns.
        expected: usize,
        /// Values.
        actual: usize,
    },
    /// A value is longer than its column, or not of its fixed length.
    #[error("column {column_id}: {actual} bytes where {max_len} are due")]
    ValueLength {
        /// The column.
        column_id: u32,
        /// Its length.
        max_len: u16,
        /// The value's.
        actual: usize,
    },
    /// NULL for a column that takes none.
    #[error("column {column_id} takes no NULL")]
    NotNullable {
        /// The column.
        column_id: u32,
    },
    /// The row has more bytes than a page takes (message 511).
    #[error("row of {len} bytes, where 8060 is the most")]
    RowTooLarge {
        /// Its length.
        len: usize,
    },
    /// A non-leaf row without a child, or a child for a row that has none.
    #[error("child pointer and row form do not agree")]
    Child,
    /// The record does not contain the column at the place in the layout.
    #[error("column {column_id} is not in the record")]
    Damaged {
        /// The column.
        column_id: u32,
    },
    /// The row has no such column.
    #[error("no column {index}")]
    NoSuchColumn {
        /// Its number, from 0.
        index: usize,
    },
}
