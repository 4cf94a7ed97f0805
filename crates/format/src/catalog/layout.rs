//! Where columns lie in the rows of a rowset: the rules by which `sysrscols` is filled.
//!
//! Physical order of a new table: the uniquifier, the clustered key in key order, the other columns in column
//! order ([`physical_order`]). In that order
//! - fixed columns follow one another behind the record header (4 bytes in data rows, 1 in index rows); `bit`
//!   columns share bytes, eight to one, which lies where the first of them falls;
//! - variable columns take ordinals -1, -2, ...;
//! - null bits count from 1.
//!
//! Non-leaf rows hold the key columns alone, in key order from byte 1, and the child page behind them. The
//! uniquifier has a null bit in leaf rows and none in non-leaf rows.

use super::{RowsetColumn, layout_status};
use crate::RowsetId;
use furrow_types::{DataType, TypeId};

/// Least `maxint` that SQL Server records for an index.
const MAXINT_FLOOR: u32 = 15;
const CHILD_SIZE: u16 = 6;
/// Least fixed end of a heap row: nine bytes with its null bitmap, so that a forwarding stub can replace it.
const HEAP_FIXED_END: u16 = 6;

/// A column of a rowset to be laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Column id of the table, place in a nonclustered index, or 0 for the uniquifier.
    pub column_id: i32,
    /// The type.
    pub data_type: DataType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Place in the key of the tree, from 1; 0 = not in it.
    pub key_ordinal: u16,
    /// Descending key.
    pub descending: bool,
    /// Whether this is the uniquifier, in a clustered index or in the locator of a nonclustered one.
    pub uniquifier: bool,
}

impl ColumnSpec {
    /// The uniquifier of a clustered index that isn't unique: an `int` that variable columns hold, so that
    /// the first row of a key does without it. Column id 0 in the clustered index; in the locator of a
    /// nonclustered one its place there.
    pub const fn uniquifier(column_id: i32, key_ordinal: u16) -> ColumnSpec {
        ColumnSpec {
            column_id,
            data_type: DataType::simple(TypeId::Int),
            nullable: false,
            key_ordinal,
            descending: false,
            uniquifier: true,
        }
    }
}

/// What rows a rowset has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsetKind {
    /// A heap.
    Heap,
    /// A clustered index: data rows on the leaf level.
    Clustered,
    /// A nonclustered index: index rows on all levels. Columns with a key ordinal also stand in non-leaf
    /// rows.
    Nonclustered,
}

/// Which rows have a null bitmap where the format leaves a choice (data rows always have one).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NullBits {
    /// Index rows of levels with a nullable column: base tables, and indexes created before 2012.
    WhereNullable,
    /// All index rows: indexes created by 2012 and later.
    Always,
}

/// A rowset laid out: rows for `sysrscols` and the sizes that `sysrowsets` records.
#[derive(Debug, Clone, PartialEq)]
pub struct RowsetLayout {
    /// Rows for `sysrscols`, in physical order.
    pub columns: Vec<RowsetColumn>,
    /// pminlen of leaf pages.
    pub minleaf: i16,
    /// pminlen of non-leaf pages; 0 for a heap.
    pub minint: i16,
    /// Highest null bit of leaf rows.
    pub maxnullbit: i16,
    /// Largest leaf row there can be.
    pub maxleaf: i32,
    /// Largest non-leaf row; 0 for a heap.
    pub maxint: i16,
}

/// Sorts the columns of a new table into physical order.
pub fn physical_order(columns: &mut [ColumnSpec]) {
    columns.sort_by_key(|column| match (column.uniquifier, column.key_ordinal) {
        (true, _) => (0, 0),
        (_, 0) => (2, column.column_id),
        (_, ordinal) => (1, i32::from(ordinal)),
    });
}

/// Lays out a rowset whose columns come in physical order.
///
/// A rowset whose rows cannot fit gets sizes that show it (`minleaf` and `maxleaf` beyond 8,060). The caller
/// that declares a table checks them, and raises the messages.
pub fn lay_out(
    rowset: RowsetId,
    kind: RowsetKind,
    null_bits: NullBits,
    columns: &[ColumnSpec],
) -> RowsetLayout {
    let is_data = kind != RowsetKind::Nonclustered;
    let bitmap_for = |any_nullable: bool| null_bits == NullBits::Always || any_nullable;
    let leaf_bitmap = is_data || bitmap_for(columns.iter().any(|column| column.nullable));
    let mut leaf = Level::new(if is_data { 4 } else { 1 }, leaf_bitmap, false);
    let places = columns
        .iter()
        .map(|column| leaf.place(column))
        .collect::<Vec<_>>();

    let mut key = (0..columns.len())
        .filter(|&at| {
            columns
                .get(at)
                .is_some_and(|column| column.key_ordinal != 0)
        })
        .collect::<Vec<_>>();
    key.sort_by_key(|&at| columns.get(at).map(|column| column.key_ordinal));
    let key_nullable = key
        .iter()
        .any(|&at| columns.get(at).is_some_and(|column| column.nullable));
    let mut inner = Level::new(1, bitmap_for(key_nullable), true);
    let mut inner_places = vec![Place::default(); columns.len()];
    for at in key {
        if let (Some(place), Some(column)) = (inner_places.get_mut(at), columns.get(at)) {
            *place = inner.place(column);
        }
    }
    inner.fixed_end = inner.fixed_end.saturating_add(CHILD_SIZE);
    let heap = kind == RowsetKind::Heap;
    if heap {
        leaf.fixed_end = leaf.fixed_end.max(HEAP_FIXED_END);
    }
    RowsetLayout {
        columns: (1..)
            .zip(columns)
            .zip(places.iter().zip(&inner_places))
            .map(|((order, column), (leaf, inner))| row(rowset, order, column, *leaf, *inner))
            .collect(),
        minleaf: i16::try_from(leaf.fixed_end).unwrap_or(i16::MAX),
        minint: if heap {
            0
        } else {
            i16::try_from(inner.fixed_end).unwrap_or(i16::MAX)
        },
        maxnullbit: leaf.null_bits as i16,
        maxleaf: leaf.largest_row() as i32,
        maxint: if heap {
            0
        } else {
            i16::try_from(inner.largest_row().max(MAXINT_FLOOR)).unwrap_or(i16::MAX)
        },
    }
}

/// Where one column lies on one level; all zeros where it doesn't.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    offset: i16,
    null_bit: u16,
    bit: u8,
}

/// A level as it fills up.
struct Level {
    has_bitmap: bool,
    is_node: bool,
    fixed_end: u16,
    variables: u16,
    variable_bytes: u32,
    null_bits: u16,
    /// Byte and next bit of the `bit` columns.
    bits: Option<(u16, u8)>,
}

impl Level {
    fn new(header: u16, has_bitmap: bool, is_node: bool) -> Level {
        Level {
            has_bitmap,
            is_node,
            fixed_end: header,
            variables: 0,
            variable_bytes: 0,
            null_bits: 0,
            bits: None,
        }
    }

    fn place(&mut self, column: &ColumnSpec) -> Place {
        let null_bit = if self.has_bitmap && !(column.uniquifier && self.is_node) {
            self.null_bits = self.null_bits.saturating_add(1);
            self.null_bits
        } else {
            0
        };
        let (offset, bit) = match column.data_type.fixed_len() {
            _ if column.data_type.id == TypeId::Bit => self.place_bit(),
            Some(length) if !column.uniquifier => {
                let offset = self.fixed_end;
                self.fixed_end = self.fixed_end.saturating_add(length);
                (offset as i16, 0)
            }
            _ => {
                self.variables = self.variables.saturating_add(1);
                self.variable_bytes += u32::from(column.data_type.max_in_row_len());
                (-(self.variables as i16), 0)
            }
        };
        Place {
            offset,
            null_bit,
            bit,
        }
    }

    fn place_bit(&mut self) -> (i16, u8) {
        let (byte, bit) = match self.bits {
            Some((byte, bit)) if bit < 8 => (byte, bit),
            _ => {
                let byte = self.fixed_end;
                self.fixed_end = self.fixed_end.saturating_add(1);
                (byte, 0)
            }
        };
        self.bits = Some((byte, bit + 1));
        (byte as i16, bit)
    }

    fn largest_row(&self) -> u32 {
        let bitmap = if self.has_bitmap {
            2 + u32::from(self.null_bits.div_ceil(8))
        } else {
            0
        };
        let variable = match self.variables {
            0 => 0,
            count => 2 + 2 * u32::from(count) + self.variable_bytes,
        };
        u32::from(self.fixed_end) + bitmap + variable
    }
}

/// Combines the sizes of both levels, leaf in the low half.
fn both(leaf: u16, inner: u16) -> i32 {
    (u32::from(leaf) | u32::from(inner) << 16) as i32
}

fn row(
    rowset: RowsetId,
    order: i32,
    column: &ColumnSpec,
    leaf: Place,
    inner: Place,
) -> RowsetColumn {
    let mut status = 0;
    for (set, bit) in [
        (!column.nullable, layout_status::NOT_NULL),
        (column.descending, layout_status::DESCENDING),
        (column.uniquifier, layout_status::UNIQUIFIER),
    ] {
        if set {
            status |= bit;
        }
    }
    // The entry of a type that may leave the row contains how much of it may stay.
    let may_leave = column.data_type.is_max();
    RowsetColumn {
        rsid: rowset.0 as i64,
        rscolid: column.column_id,
        hbcolid: order,
        rcmodified: 0,
        ti: column.data_type.to_ti(),
        cid: column.data_type.collation.0 as i32,
        ordkey: column.key_ordinal as i16,
        maxinrowlen: if may_leave {
            column.data_type.max_in_row_len() as i16
        } else {
            0
        },
        status,
        offset: both(leaf.offset as u16, inner.offset as u16),
        nullbit: both(leaf.null_bit, inner.null_bit),
        bitpos: i16::from_le_bytes([leaf.bit, inner.bit]),
        colguid: None,
    }
}
