//! Rows of `sysrscols` that are lost: laid out again by the rules, and accepted only if all that are left
//! agree.

use furrow_datafile::declared_type;
use furrow_format::RowsetId;
use furrow_format::catalog::{
    Column, ColumnSpec, IndexColumn, NullBits, Rowset, RowsetColumn, RowsetKind, RowsetLayout,
    column_status, index_column_status, lay_out, layout_status, physical_order,
};
use furrow_types::{Collation, DataType, TypeId};

/// Bytes of a row's address in the rows of an index.
const ADDRESS_BYTES: i16 = 8;

/// A column of a rowset as it would be declared; `None` where its type is not known.
fn spec_of(row: &RowsetColumn) -> Option<ColumnSpec> {
    let uniquifier = row.status & layout_status::UNIQUIFIER != 0;
    Some(ColumnSpec {
        column_id: row.rscolid,
        data_type: DataType::from_ti(row.ti, Collation(row.cid as u32))?,
        nullable: row.status & layout_status::NOT_NULL == 0 && !uniquifier,
        key_ordinal: u16::try_from(row.ordkey).ok()?,
        descending: row.status & layout_status::DESCENDING != 0,
        uniquifier,
    })
}

/// What rows a rowset has.
pub(super) fn kind_of(index_id: i32) -> RowsetKind {
    match index_id {
        0 => RowsetKind::Heap,
        1 => RowsetKind::Clustered,
        _ => RowsetKind::Nonclustered,
    }
}

/// The sizes of a rowset with these columns, as `sysrowsets` has them.
pub(super) fn sizes_of(
    rowset: i64,
    index_id: i32,
    columns: &[RowsetColumn],
) -> Option<RowsetLayout> {
    let specs: Option<Vec<ColumnSpec>> = columns.iter().map(spec_of).collect();
    let id = RowsetId(rowset as u64);
    Some(lay_out(id, kind_of(index_id), NullBits::Always, &specs?))
}

/// Whether no column of a rowset is missing: physical orders count from 1, and each leaf null bit is there.
pub(super) fn is_whole(rowset: &Rowset, columns: &[RowsetColumn]) -> bool {
    let in_order = (1..)
        .zip(columns)
        .all(|(order, column)| column.hbcolid == order);
    let bits = columns.iter().map(|column| column.nullbit as u16).max();
    let bits = bits.unwrap_or(0);
    in_order && !columns.is_empty() && i32::from(bits) >= i32::from(rowset.maxnullbit)
}

/// Whether a layout has all columns that are left.
pub(super) fn agrees(layout: &RowsetLayout, left: &[RowsetColumn]) -> bool {
    let same = |a: &RowsetColumn, b: &RowsetColumn| {
        let place = |c: &RowsetColumn| (c.hbcolid, c.rscolid, c.ti, c.offset, c.nullbit, c.bitpos);
        place(a) == place(b) && a.ordkey == b.ordkey
    };
    left.iter()
        .all(|known| layout.columns.iter().any(|made| same(made, known)))
}

/// The columns of the rows of a table, if they have the sizes of its rowset.
pub(super) fn of_table(
    rowset: &Rowset,
    left: &[RowsetColumn],
    declared: &[Column],
    key: &[&IndexColumn],
    unique: bool,
) -> Option<RowsetLayout> {
    let made = declared_layout((rowset.rowsetid, rowset.idminor), declared, key, unique)?;
    let sizes = (made.minleaf, made.minint, made.maxnullbit);
    let same = sizes == (rowset.minleaf, rowset.minint, rowset.maxnullbit);
    (same && agrees(&made, left)).then_some(made)
}

/// The columns of the rows of a table: from the columns that are declared, and the
/// key of the clustered index. `None` where the order of the key is not wholly known.
pub(super) fn declared_layout(
    (rowset, index_id): (i64, i32),
    declared: &[Column],
    key: &[&IndexColumn],
    unique: bool,
) -> Option<RowsetLayout> {
    let kind = kind_of(index_id);
    let mut ordinals: Vec<u8> = key.iter().map(|member| member.tinyprop1).collect();
    ordinals.sort_unstable();
    let in_order = (1..).zip(&ordinals).all(|(at, ordinal)| *ordinal == at);
    let all_there = key
        .iter()
        .all(|member| declared.iter().any(|c| c.colid == member.intprop));
    if kind == RowsetKind::Clustered && (key.is_empty() || !in_order || !all_there) {
        return None;
    }
    let mut specs = Vec::new();
    for column in declared {
        let member = key.iter().find(|member| member.intprop == column.colid);
        specs.push(ColumnSpec {
            column_id: column.colid,
            data_type: declared_type(column)?,
            nullable: column.status & column_status::NOT_NULL == 0,
            key_ordinal: member.map_or(0, |member| member.tinyprop1.into()),
            descending: member.is_some_and(|m| m.status & index_column_status::DESCENDING != 0),
            uniquifier: false,
        });
    }
    if kind == RowsetKind::Clustered {
        if !unique {
            specs.push(ColumnSpec::uniquifier(0, key.len() as u16 + 1));
        }
        physical_order(&mut specs);
    }
    let id = RowsetId(rowset as u64);
    Some(lay_out(id, kind, NullBits::Always, &specs))
}

/// The columns of the rows of a nonclustered index: its own, then what of the table's key is not among them.
pub(super) fn of_index(
    rowset: &Rowset,
    left: &[RowsetColumn],
    base: &[RowsetColumn],
    members: &[&IndexColumn],
    unique: bool,
) -> Option<RowsetLayout> {
    let of_table = |id: i32| base.iter().find(|column| column.rscolid == id);
    let mut specs: Vec<ColumnSpec> = Vec::new();
    let mut chosen: Vec<i32> = Vec::new();
    for (place, member) in (1..).zip(members) {
        let spec = spec_of(of_table(member.intprop)?)?;
        specs.push(ColumnSpec {
            column_id: place,
            key_ordinal: member.tinyprop1.into(),
            descending: member.status & index_column_status::DESCENDING != 0,
            uniquifier: false,
            ..spec
        });
        chosen.push(member.intprop);
    }
    let keys = members.iter().filter(|member| member.tinyprop1 > 0).count();
    let mut ordinal = keys as u16;
    let mut next = || {
        ordinal += 1;
        if unique { 0 } else { ordinal }
    };
    let mut locator: Vec<&RowsetColumn> = base.iter().filter(|c| c.ordkey > 0).collect();
    locator.sort_by_key(|column| column.ordkey);
    if locator.is_empty() {
        specs.push(ColumnSpec {
            column_id: specs.len() as i32 + 1,
            data_type: DataType::sized(TypeId::Binary, ADDRESS_BYTES),
            nullable: false,
            key_ordinal: next(),
            descending: false,
            uniquifier: false,
        });
    }
    for column in locator {
        let spec = spec_of(column)?;
        if spec.uniquifier {
            let place = specs.len() as i32 + 1;
            specs.push(ColumnSpec::uniquifier(place, next()));
            continue;
        }
        let at = match chosen.iter().position(|id| *id == column.rscolid) {
            Some(at) if at < keys => continue,
            Some(at) => at,
            None => {
                specs.push(ColumnSpec {
                    column_id: specs.len() as i32 + 1,
                    ..spec
                });
                chosen.push(column.rscolid);
                specs.len() - 1
            }
        };
        if let Some(place) = specs.get_mut(at) {
            place.key_ordinal = next();
            place.descending = spec.descending && !unique;
        }
    }
    let id = RowsetId(rowset.rowsetid as u64);
    let made = lay_out(id, RowsetKind::Nonclustered, NullBits::Always, &specs);
    (made.minleaf == rowset.minleaf && agrees(&made, left)).then_some(made)
}
