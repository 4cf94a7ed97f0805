//! The base tables for the engine: typed rows, in the form of the version that it writes.

use crate::column::{ColumnPlace, StoredColumn};
use crate::{Database, MdfError};
use furrow_format::catalog::{
    BaseRow, Column, RowsetColumn, SYSALLOCUNITS, SYSCOLPARS, SYSPRUFILES, SYSROWSETS, SYSRSCOLS,
    layout_status,
};
use furrow_types::{DataType, MAX_LENGTH, TypeId, Value};

/// The type that a column declares, whatever the version; `None` for a type that is not known.
pub fn declared_type(row: &Column) -> Option<DataType> {
    crate::v611::declared(row.xtype, row.length, row.prec, row.scale, row.collationid)
}

/// The type of a column whose type is not known.
pub const UNKNOWN_TYPE: DataType = DataType::sized(TypeId::VarBinary, MAX_LENGTH);

impl StoredColumn {
    /// The row of `sysrscols` that describes the column, also where the version has other tables for that.
    pub(crate) fn to_layout(self, rowset: i64) -> RowsetColumn {
        let both = |leaf: u16, inner: u16| (u32::from(leaf) | u32::from(inner) << 16) as i32;
        let ColumnPlace {
            offset,
            null_bit,
            bit,
        } = self.leaf;
        let mut status = self.status;
        if self.is_dropped() {
            status |= layout_status::DROPPED;
        }
        if self.is_uniquifier() {
            status |= layout_status::UNIQUIFIER;
        }
        RowsetColumn {
            rsid: rowset,
            rscolid: self.column_id,
            hbcolid: self.order,
            rcmodified: 0,
            ti: self.data_type.to_ti(),
            cid: self.data_type.collation.0 as i32,
            ordkey: self.key_ordinal,
            maxinrowlen: 0,
            status,
            offset: both(offset as u16, self.inner.offset as u16),
            nullbit: both(null_bit, self.inner.null_bit),
            bitpos: i16::from_le_bytes([bit, self.inner.bit]),
            colguid: None,
        }
    }
}

impl Database<'_> {
    /// All rows of a base table, in key order; what the version lacks is NULL, 0 or empty. Rowsets with a
    /// column of an unknown type have no rows in `sysrscols`.
    pub fn base_rows<R: BaseRow>(&self) -> Result<Vec<R>, MdfError> {
        let known: Vec<Vec<Value>> = match R::TABLE.id {
            id if id == SYSALLOCUNITS.id => values(self.alloc_units()),
            id if id == SYSROWSETS.id => values(self.rowsets()),
            id if id == SYSRSCOLS.id => values(&self.layout_rows()),
            id if id == SYSCOLPARS.id => values(&self.column_rows()),
            id if id == SYSPRUFILES.id => values(self.files()),
            id => return self.read_table(R::TABLE, id),
        };
        let rows = known.into_iter().map(R::from_values);
        let rows: Option<Vec<R>> = rows.collect();
        rows.ok_or_else(|| crate::physical::damaged_row(R::TABLE.name))
    }

    fn layout_rows(&self) -> Vec<RowsetColumn> {
        let rowsets = self.rowsets().iter().map(|rowset| rowset.rowsetid);
        let rows = rowsets.flat_map(|id| {
            let columns = self.layout(id).unwrap_or_default().iter();
            columns.map(move |column| column.to_layout(id))
        });
        rows.collect()
    }
}

fn values<R: BaseRow>(rows: &[R]) -> Vec<Vec<Value>> {
    rows.iter().map(BaseRow::to_values).collect()
}
