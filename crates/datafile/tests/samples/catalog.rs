//! Our base tables against those of a real database of version 706.

use std::collections::HashMap;

use furrow_datafile::{Database, MdfImage};
use furrow_format::catalog::{
    BASE_TABLES, BaseRow, Bootstrap, Column, ColumnSpec, IndexColumn, IndexStat, NullBits, Rowset,
    RowsetColumn, RowsetKind, RowsetLayout, SYSCOLPARS, SYSIDXSTATS, SYSISCOLS, SYSROWSETS,
    SYSRSCOLS, SYSSCALARTYPES, SYSSCHOBJS, ScalarType, SchemaObject, base_layout, bootstrap_rows,
    lay_out, layout_status, rowset_status,
};
use furrow_format::{Page, Record, RowsetId};
use furrow_types::{Collation, DataType, DateTime, TypeId, Value};

use crate::files::image;

fn music_store() -> Option<MdfImage> {
    image("mvcmusicstore-706.mdf")
}

/// Rows of ours for a new database.
fn ours<R: BaseRow>() -> Vec<R> {
    let bootstrap = Bootstrap {
        created: DateTime::EPOCH,
        places: &[],
        filegroups: &[],
        files: &[],
    };
    let tables = bootstrap_rows(&bootstrap);
    let rows = tables
        .into_iter()
        .find(|(table, _)| table.id == R::TABLE.id)
        .unwrap()
        .1;
    rows.into_iter()
        .map(|row| R::from_values(row).unwrap())
        .collect()
}

fn theirs<R: BaseRow>(database: &Database<'_>) -> Vec<R> {
    database.read_table(R::TABLE, R::TABLE.id).unwrap()
}

fn is_ours(id: i32) -> bool {
    BASE_TABLES.iter().any(|table| table.id == id)
}

#[test]
fn our_base_tables_are_laid_out_like_real_ones_of_706() {
    let Some(image) = music_store() else { return };
    let database = Database::open(&image).unwrap();
    let rows: Vec<RowsetColumn> = theirs(&database);
    assert_eq!(rows.len(), 888);
    for table in BASE_TABLES {
        let rowset = table.rowset_id().0 as i64;
        let real = rows.iter().filter(|row| row.rsid == rowset).cloned();
        let real = real
            .map(|row| RowsetColumn {
                rcmodified: 0,
                ..row
            })
            .collect::<Vec<_>>();
        let expected = base_layout(table).columns;
        for (real, expected) in real.iter().zip(&expected) {
            assert_eq!(real, expected, "{}", table.name);
        }
        assert_eq!(real.len(), expected.len(), "{}", table.name);
    }
}

#[test]
fn our_bootstrap_rows_are_those_of_a_real_database() {
    let Some(image) = music_store() else { return };
    let database = Database::open(&image).unwrap();
    let columns = theirs::<Column>(&database)
        .into_iter()
        .filter(|row| is_ours(row.id));
    assert_eq!(columns.collect::<Vec<_>>(), ours::<Column>());
    let keys = theirs::<IndexColumn>(&database).into_iter();
    let keys = keys.filter(|row| is_ours(row.idmajor) && row.idminor == 1);
    assert_eq!(keys.collect::<Vec<_>>(), ours::<IndexColumn>());
    let stats = theirs::<IndexStat>(&database).into_iter();
    let stats = stats
        .filter(|row| is_ours(row.id) && row.indid <= 1)
        .map(|mut row| {
            // Three of them are called "clust".
            row.name = row.name.map(|_| "clst".to_owned());
            row
        });
    assert_eq!(stats.collect::<Vec<_>>(), ours::<IndexStat>());
    let objects = theirs::<SchemaObject>(&database)
        .into_iter()
        .filter(|row| is_ours(row.id));
    let undated = |row: SchemaObject| SchemaObject {
        created: DateTime::EPOCH,
        modified: DateTime::EPOCH,
        ..row
    };
    assert_eq!(
        objects.map(undated).collect::<Vec<_>>(),
        ours::<SchemaObject>()
    );
    let undated = |row: ScalarType| ScalarType {
        created: DateTime::EPOCH,
        modified: DateTime::EPOCH,
        ..row
    };
    let types = theirs::<ScalarType>(&database).into_iter();
    let types = types
        .filter(|row| row.xtype != 240)
        .map(undated)
        .collect::<Vec<_>>();
    assert_eq!(types, ours::<ScalarType>());
}

#[test]
fn the_tables_named_here_are_the_real_ones() {
    let Some(image) = music_store() else { return };
    let database = Database::open(&image).unwrap();
    for table in BASE_TABLES {
        let real = database.table(Some("sys"), table.name).unwrap();
        assert_eq!((real.id, real.is_heap), (table.id, table.is_heap()));
        let names = real.columns.iter().map(|column| column.name.as_str());
        assert!(
            names.eq(table.columns.iter().map(|column| column.name)),
            "{}",
            table.name
        );
    }
    for table in [&SYSRSCOLS, &SYSROWSETS, &SYSSCHOBJS, &SYSCOLPARS] {
        assert!(database.table(None, &table.name.to_uppercase()).is_some());
    }
    for table in [&SYSIDXSTATS, &SYSISCOLS, &SYSSCALARTYPES] {
        let real = database.table(None, table.name).unwrap();
        assert_eq!(database.rows(&real).unwrap().count() as i64, real.row_count);
    }
}

/// Each row of each base table, read, decoded, encoded again: the same bytes, but for what NULL leaves
/// behind.
#[test]
fn real_catalog_rows_are_encoded_to_the_bytes_they_were_read_from() {
    let Some(image) = music_store() else { return };
    let database = Database::open(&image).unwrap();
    let (mut rows, mut exact) = (0, 0);
    for table in BASE_TABLES {
        let layout = table.row_layout().unwrap();
        let rowset = table.rowset_id().0 as i64;
        let rowset = database
            .rowsets()
            .iter()
            .find(|row| row.rowsetid == rowset)
            .unwrap();
        for row in database.rowset_rows(rowset).unwrap() {
            let row = row.unwrap();
            let bytes = image.page(row.at.page).unwrap();
            let page = Page::new(&bytes);
            let real = page.record(row.at.slot).unwrap();
            let record = Record::data(real).unwrap();
            if (0..record.var_count()).any(|var| record.var(var).unwrap().1) {
                continue;
            }
            assert_eq!(
                table.decode_row(&layout, record).unwrap(),
                row.values,
                "{}",
                row.at
            );
            let mut bytes = Vec::new();
            table.encode_row(&layout, &row.values, &mut bytes).unwrap();
            let back = Record::data(&bytes).unwrap();
            assert_eq!(
                table.decode_row(&layout, back).unwrap(),
                row.values,
                "{}",
                row.at
            );
            let same = bytes == without_spare_null_bits(real);
            assert!(
                same || row.values.contains(&Value::Null),
                "{} {}",
                table.name,
                row.at
            );
            rows += 1;
            exact += usize::from(same);
        }
    }
    println!("{exact} of {rows} rows byte for byte");
    assert!(rows > 4000 && exact * 10 > rows * 9, "{exact} of {rows}");
}

/// Bits of the null bitmap beyond the last column hold anything in real rows.
fn without_spare_null_bits(real: &[u8]) -> Vec<u8> {
    let mut bytes = real.to_vec();
    let count_at = usize::from(u16::from_le_bytes([real[2], real[3]]));
    let columns = u16::from_le_bytes([real[count_at], real[count_at + 1]]);
    let last = count_at + 1 + usize::from(columns.div_ceil(8));
    if !columns.is_multiple_of(8) {
        bytes[last] &= (1 << (columns % 8)) - 1;
    }
    bytes
}

/// The rules that lay out new tables, run on the columns of real ones, give the real layouts.
#[test]
fn the_layout_rules_give_the_layouts_of_real_rowsets() {
    let (mut laid_out, mut exceptions) = (0, 0);
    for (name, always_from) in [
        ("mvcmusicstore-706.mdf", 706),
        ("northwnd-655.mdf", u16::MAX),
        ("pubs-655.mdf", u16::MAX),
    ] {
        let Some(image) = image(name) else { return };
        let database = Database::open(&image).unwrap();
        let mut by_rowset = HashMap::<i64, Vec<RowsetColumn>>::new();
        for row in theirs::<RowsetColumn>(&database) {
            by_rowset.entry(row.rsid).or_default().push(row);
        }
        for rowset in database.rowsets() {
            let columns = &by_rowset[&rowset.rowsetid];
            let is_plain = |row: &&RowsetColumn| row.status & layout_status::DROPPED == 0;
            assert!(
                columns.iter().all(|row| is_plain(&row)),
                "{name} {rowset:?}"
            );
            let null_bits = if rowset.status & rowset_status::NULLABLE_KEYS != 0
                && database.version() >= always_from
            {
                NullBits::Always
            } else {
                NullBits::WhereNullable
            };
            let same = check_layout(rowset, null_bits, columns);
            // Indexes that 2012 added to base tables have null bits on the leaf level only.
            let other_rule = rowset.idmajor < 100 && rowset.idminor > 1 && rowset.status == 0x8006;
            assert!(same || other_rule, "{name} {rowset:?}");
            if same {
                laid_out += 1;
            } else {
                exceptions += 1;
            }
        }
    }
    assert_eq!((laid_out, exceptions), (363, 11));
}

fn check_layout(rowset: &Rowset, null_bits: NullBits, columns: &[RowsetColumn]) -> bool {
    let specs = columns.iter().map(spec).collect::<Vec<_>>();
    let kind = match rowset.idminor {
        0 => RowsetKind::Heap,
        1 => RowsetKind::Clustered,
        _ => RowsetKind::Nonclustered,
    };
    let layout = lay_out(RowsetId(rowset.rowsetid as u64), kind, null_bits, &specs);
    let place = |row: &RowsetColumn| (row.ti, row.offset, row.nullbit, row.bitpos);
    let same = layout
        .columns
        .iter()
        .map(place)
        .eq(columns.iter().map(place));
    if same {
        check_sizes(rowset, &layout);
    }
    same
}

fn check_sizes(rowset: &Rowset, layout: &RowsetLayout) {
    assert_eq!(rowset.minleaf, layout.minleaf, "{rowset:?}");
    assert_eq!(rowset.maxnullbit, layout.maxnullbit, "{rowset:?}");
    // Rowsets as old as 2005 state 0.
    assert!(
        rowset.minint == layout.minint || rowset.minint == 0,
        "{rowset:?} {layout:?}"
    );
}

fn spec(row: &RowsetColumn) -> ColumnSpec {
    let data_type = DataType::from_ti(row.ti, Collation(row.cid as u32)).unwrap();
    ColumnSpec {
        column_id: row.rscolid,
        data_type,
        nullable: row.status & layout_status::NOT_NULL == 0,
        key_ordinal: row.ordkey as u16,
        descending: row.status & layout_status::DESCENDING != 0,
        // In nonclustered indexes only its place distinguishes it from other columns.
        uniquifier: data_type.id == TypeId::Int && (row.offset as i16) < 0,
    }
}
