//! Layouts of SQL Server 2005: two tables where later versions have `sysrscols`.

use std::collections::HashMap;

use crate::column::{ColumnPlace, StoredColumn};
use furrow_format::catalog::{HobtColumn, RowsetColumn611, layout_status};
use furrow_types::{Collation, DataType, MAX_LENGTH, TypeId};

const NOT_NULL_611: i32 = 0x20;

/// Joins the two tables on rowset and physical column.
pub(crate) fn join(
    columns: &[RowsetColumn611],
    hobts: &[HobtColumn],
) -> Vec<(i64, Option<StoredColumn>)> {
    let by_id = columns
        .iter()
        .map(|column| ((column.rowsetid, column.hobtcolid), column.rowsetcolid))
        .collect::<HashMap<_, _>>();
    hobts
        .iter()
        .filter_map(|hobt| {
            let column_id = *by_id.get(&(hobt.hobtid, hobt.hobtcolumnid))?;
            Some((hobt.hobtid, stored(column_id, hobt)))
        })
        .collect()
}

fn stored(column_id: i32, hobt: &HobtColumn) -> Option<StoredColumn> {
    let place = |offset, null_bit: i16, bit| ColumnPlace {
        offset,
        null_bit: null_bit as u16,
        bit,
    };
    let not_null = if hobt.status & NOT_NULL_611 != 0 {
        layout_status::NOT_NULL
    } else {
        0
    };
    let uniquifier = if column_id == 0 {
        layout_status::UNIQUIFIER
    } else {
        0
    };
    Some(StoredColumn {
        column_id,
        order: hobt.hobtcolumnid,
        data_type: declared(
            hobt.xtype,
            hobt.length,
            hobt.prec,
            hobt.scale,
            hobt.collationid,
        )?,
        status: not_null | uniquifier,
        key_ordinal: hobt.ordkey,
        leaf: place(hobt.offsetleaf, hobt.nullbitleaf, hobt.bitposleaf),
        inner: place(hobt.offsetint, hobt.nullbitint, hobt.bitposint),
    })
}

/// The type that the catalog's separate columns declare; `None` for an unknown id or impossible digits.
pub(crate) fn declared(
    xtype: u8,
    length: i16,
    precision: u8,
    scale: u8,
    collation: i32,
) -> Option<DataType> {
    let id = TypeId::from_u8(xtype)?;
    let data_type = match id {
        TypeId::Decimal | TypeId::Numeric => DataType::decimal(id, precision, scale).ok()?,
        TypeId::Time | TypeId::DateTime2 | TypeId::DateTimeOffset => {
            DataType::scaled(id, scale).ok()?
        }
        _ if id.implied_len().is_some() => DataType::simple(id),
        _ => DataType::sized(id, length.max(MAX_LENGTH)),
    };
    Some(data_type.with_collation(Collation(collation as u32)))
}
