//! Laying out rows.

use super::{ColumnLayout, Place, RowError};
use crate::{DATA_HEADER_SIZE, INDEX_HEADER_SIZE, MAX_ROW_SIZE, RecordKind};
use furrow_types::TypeId;

/// Least fixed end of a heap row: with column count and one byte of null bitmap, nine bytes. A row that would
/// be too long goes without the padding.
const HEAP_FIXED_END: usize = 6;
const CHILD_SIZE: usize = 6;
/// Most columns a layout may have: 1,024 and as many dropped ones.
pub(super) const MAX_COLUMNS: usize = 2048;
/// A variable column number that no column of the layout has.
pub(super) const NO_COLUMN: u16 = u16::MAX;

/// Which records the rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowForm {
    /// Rows of a heap.
    Heap,
    /// Rows of a clustered index's leaf level.
    ClusteredLeaf,
    /// Rows of a nonclustered index's leaf level.
    IndexLeaf,
    /// Rows of non-leaf levels, each with a child page.
    IndexNode,
}

impl RowForm {
    /// Kind of a fresh record.
    pub const fn record_kind(self) -> RecordKind {
        match self {
            RowForm::Heap | RowForm::ClusteredLeaf => RecordKind::Primary,
            RowForm::IndexLeaf | RowForm::IndexNode => RecordKind::Index,
        }
    }

    /// Whether the rows are data records.
    pub const fn is_data(self) -> bool {
        matches!(self, RowForm::Heap | RowForm::ClusteredLeaf)
    }

    pub(super) const fn header_size(self) -> usize {
        if self.is_data() {
            DATA_HEADER_SIZE
        } else {
            INDEX_HEADER_SIZE
        }
    }
}

/// A column to be laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Its id in the table.
    pub column_id: u32,
    /// Type.
    pub kind: TypeId,
    /// Bytes: exactly for fixed columns, at most for variable ones; 0 = `(max)`.
    pub max_len: u16,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Whether it lies among the variable columns.
    pub variable: bool,
}

impl ColumnSpec {
    /// A column whose place follows from its type.
    pub const fn new(column_id: u32, kind: TypeId, max_len: u16, nullable: bool) -> ColumnSpec {
        ColumnSpec {
            column_id,
            kind,
            max_len,
            nullable,
            variable: kind.is_variable(),
        }
    }

    /// The hidden number that distinguishes equal keys of a clustered index: the first variable column; a row
    /// without it has number 0.
    pub const fn uniquifier() -> ColumnSpec {
        let kind = TypeId::Int;
        ColumnSpec {
            column_id: 0,
            kind,
            max_len: 4,
            nullable: false,
            variable: true,
        }
    }
}

/// Where the columns of a rowset's rows lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowLayout {
    form: RowForm,
    columns: Vec<ColumnLayout>,
    /// Columns by their variable number.
    vars: Vec<u16>,
    fixed_end: u16,
    null_columns: u16,
}

impl RowLayout {
    /// Lays out new rows by the rules of the header essay in `row/mod.rs`.
    pub fn new(form: RowForm, specs: &[ColumnSpec]) -> Result<RowLayout, RowError> {
        let has_nulls = form.is_data() || specs.iter().any(|spec| spec.nullable);
        let mut columns = Vec::with_capacity(specs.len());
        let mut fixed_end = form.header_size();
        let mut next_var = 0;
        let (mut bit_byte, mut next_bit) = (0, 8_u8);
        for (index, spec) in specs.iter().enumerate() {
            let too_much = RowError::Layout {
                column_id: spec.column_id,
            };
            let mut bit_pos = 0;
            let place = if spec.variable {
                next_var += 1;
                Place::Var(next_var - 1)
            } else if spec.kind == TypeId::Bit {
                if next_bit == 8 {
                    (bit_byte, next_bit) = (fixed_end, 0);
                    fixed_end += 1;
                }
                bit_pos = next_bit;
                next_bit += 1;
                Place::Fixed(bit_byte as u16)
            } else {
                fixed_end += usize::from(spec.max_len);
                Place::Fixed((fixed_end - usize::from(spec.max_len)) as u16)
            };
            if fixed_end > MAX_ROW_SIZE || index >= MAX_COLUMNS {
                return Err(too_much);
            }
            columns.push(ColumnLayout {
                column_id: spec.column_id,
                kind: spec.kind,
                max_len: spec.max_len,
                place,
                null_bit: has_nulls.then_some(index as u16),
                bit_pos,
                nullable: spec.nullable,
            });
        }
        match form {
            RowForm::Heap => fixed_end = fixed_end.max(HEAP_FIXED_END),
            RowForm::IndexNode => fixed_end += CHILD_SIZE,
            RowForm::ClusteredLeaf | RowForm::IndexLeaf => {}
        }
        RowLayout::from_columns(form, columns, fixed_end as u16)
    }

    /// The layout that a catalog describes. `fixed_end` is the `pminlen` of its pages: records' headers, and
    /// in nodes the child pointers, included. Gaps are fine: dropped columns leave them.
    pub fn from_columns(
        form: RowForm,
        columns: Vec<ColumnLayout>,
        fixed_end: u16,
    ) -> Result<RowLayout, RowError> {
        let child = if form == RowForm::IndexNode {
            CHILD_SIZE
        } else {
            0
        };
        let fixed_limit = usize::from(fixed_end).checked_sub(child);
        let fixed_limit = fixed_limit.filter(|&limit| limit >= form.header_size());
        let fixed_limit = fixed_limit.ok_or(RowError::Layout { column_id: 0 })?;
        let (mut null_columns, mut vars) = (0, Vec::new());
        for (index, column) in columns.iter().enumerate() {
            let bad = RowError::Layout {
                column_id: column.column_id,
            };
            null_columns = null_columns.max(column.null_bit.map_or(0, |bit| bit.saturating_add(1)));
            let sound = match column.place {
                Place::Fixed(offset) => {
                    let end = usize::from(offset) + column.fixed_len();
                    usize::from(offset) >= form.header_size() && end <= fixed_limit
                }
                Place::Var(number) if usize::from(number) < MAX_COLUMNS => {
                    let number = usize::from(number);
                    vars.resize(vars.len().max(number + 1), NO_COLUMN);
                    match vars.get_mut(number) {
                        Some(free) if *free == NO_COLUMN => {
                            *free = index as u16;
                            true
                        }
                        _ => false,
                    }
                }
                Place::Var(_) => false,
            };
            let counts = index < MAX_COLUMNS && usize::from(null_columns) <= MAX_COLUMNS;
            if !sound || !counts || column.bit_pos > 7 {
                return Err(bad);
            }
        }
        Ok(RowLayout {
            form,
            columns,
            vars,
            fixed_end,
            null_columns,
        })
    }

    /// Which records the rows are.
    pub fn form(&self) -> RowForm {
        self.form
    }

    /// The columns, in the order of the values that encode and decode speak of.
    pub fn columns(&self) -> &[ColumnLayout] {
        &self.columns
    }

    /// `pminlen` of the pages that hold such rows.
    pub fn pminlen(&self) -> u16 {
        self.fixed_end
    }

    /// Bytes between the fixed columns and the least fixed end of a heap row.
    pub(super) fn padding(&self) -> usize {
        if self.form != RowForm::Heap || usize::from(self.fixed_end) != HEAP_FIXED_END {
            return 0;
        }
        let end = |column: &ColumnLayout| match (column.place, column.kind) {
            (Place::Fixed(at), TypeId::Bit) => usize::from(at) + 1,
            (Place::Fixed(at), _) => usize::from(at) + usize::from(column.max_len),
            _ => 0,
        };
        let ends = self.columns.iter().map(end);
        let end = ends.fold(DATA_HEADER_SIZE, usize::max);
        HEAP_FIXED_END.saturating_sub(end)
    }

    /// Column count beside the null bitmap; 0 = rows have none.
    pub(crate) fn null_columns(&self) -> u16 {
        self.null_columns
    }

    /// How many variable columns there are.
    pub fn var_count(&self) -> usize {
        self.vars.len()
    }

    /// Length of the longest row, `(max)` columns counted as 24-byte pointers; what must not exceed
    /// 8,060 unless columns may move off the row.
    #[cfg(test)]
    pub(crate) fn max_row_size(&self) -> usize {
        let nulls = match self.null_columns {
            0 => 0,
            columns => 2 + usize::from(columns).div_ceil(8),
        };
        let vars = self
            .columns
            .iter()
            .filter(|column| matches!(column.place, Place::Var(_)));
        let data = vars.map(|column| {
            if column.max_len == 0 {
                24
            } else {
                usize::from(column.max_len)
            }
        });
        let ends = if self.vars.is_empty() {
            0
        } else {
            2 + 2 * self.vars.len()
        };
        usize::from(self.fixed_end) + nulls + ends + data.sum::<usize>()
    }

    pub(super) fn vars(&self) -> &[u16] {
        &self.vars
    }
}

impl ColumnLayout {
    /// Bytes a fixed column takes in the row.
    pub fn fixed_len(&self) -> usize {
        if self.kind == TypeId::Bit {
            1
        } else {
            usize::from(self.max_len)
        }
    }
}
