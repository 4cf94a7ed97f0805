//! Compares the base tables with published descriptions, and the bootstrap rows with themselves.

use super::*;
use crate::catalog::{SYSALLOCUNITS, SYSCOLPARS, SYSFILES1, SYSROWSETS, SYSRSCOLS, SYSSCHOBJS};
use crate::catalog::{SYSPRUFILES, SYSSINGLEOBJREFS};
use furrow_types::Collation;

fn offsets(table: &BaseTable) -> Vec<(i16, i16)> {
    let halves = |word: i32| ((word & 0xFFFF) as i16, (word >> 16) as i16);
    base_layout(table)
        .columns
        .iter()
        .map(|column| halves(column.offset))
        .collect()
}

#[test]
fn base_tables_are_laid_out_as_in_real_files() {
    let layout = base_layout(&SYSALLOCUNITS);
    assert_eq!(
        (layout.minleaf, layout.maxleaf, layout.maxint, layout.minint),
        (69, 73, 15, 15)
    );
    assert_eq!(offsets(&SYSALLOCUNITS)[..3], [(4, 1), (12, 0), (13, 0)]);
    let layout = base_layout(&SYSRSCOLS);
    assert_eq!(
        (layout.minleaf, layout.maxleaf, layout.maxint),
        (54, 78, 19)
    );
    assert_eq!(offsets(&SYSRSCOLS)[..3], [(4, 1), (12, 0), (16, 9)]);
    let layout = base_layout(&SYSROWSETS);
    assert_eq!(
        (layout.minleaf, layout.maxleaf, layout.maxnullbit),
        (57, 92, 18)
    );
    assert_eq!(
        (
            base_layout(&SYSSCHOBJS).minleaf,
            base_layout(&SYSCOLPARS).minleaf
        ),
        (48, 45)
    );
    assert_eq!(base_layout(&SYSPRUFILES).maxleaf, 1036);
    let heap = base_layout(&SYSFILES1);
    assert_eq!(
        (heap.minleaf, heap.maxleaf, heap.minint, heap.maxint),
        (786, 789, 0, 0)
    );
    // Key order differs from column order here.
    assert_eq!(offsets(&SYSSINGLEOBJREFS)[..3], [(4, 5), (5, 1), (9, 6)]);
}

#[test]
fn each_base_table_has_one_key_and_its_ids_follow_the_rule() {
    for table in BASE_TABLES {
        let key = table.key().count();
        let marked = table
            .columns
            .iter()
            .filter(|column| column.key_ordinal != 0)
            .count();
        assert_eq!(key, marked, "{}", table.name);
        assert_eq!(table.is_heap(), table.id == 8);
    }
    assert_eq!(SYSROWSETS.rowset_id().0, 327_680);
    assert_eq!(SYSSCHOBJS.rowset_id().0, 0x0001_0000_0022_0000);
    let values = BASE_TABLES
        .iter()
        .filter_map(|table| table.lob_unit_id())
        .collect::<Vec<_>>();
    assert_eq!(values.last().unwrap().0, 0x00FF_0000_003C_0000);
}

fn sample() -> Vec<(&'static BaseTable, Vec<Vec<Value>>)> {
    let places = BASE_TABLES.map(|table| TablePlace {
        table_id: table.id,
        rows: UnitPlace::NONE,
    });
    let file = |file_id, filegroup_id| BootstrapFile {
        file_id,
        filegroup_id,
        size_pages: 640,
        max_pages: None,
        growth: 10,
        growth_is_percent: true,
        logical_name: format!("file{file_id}"),
        physical_name: "x".repeat(300),
        guid: Guid([file_id as u8; 16]),
    };
    bootstrap_rows(&Bootstrap {
        created: DateTime::EPOCH,
        places: &places,
        filegroups: &[(2, "SECOND".to_owned())],
        files: &[file(1, 1), file(2, 0), file(3, 2)],
    })
}

fn typed<R: BaseRow>() -> Vec<R> {
    let tables = sample();
    let rows = &tables
        .iter()
        .find(|(table, _)| table.id == R::TABLE.id)
        .unwrap()
        .1;
    rows.iter()
        .map(|row| R::from_values(row.clone()).unwrap())
        .collect()
}

#[test]
fn a_new_database_describes_itself() {
    let tables = sample();
    let rowsets = typed::<Rowset>();
    let layouts = typed::<crate::catalog::RowsetColumn>();
    let columns = typed::<Column>();
    let units = typed::<AllocUnit>();
    for (table, rows) in &tables {
        let rowset = rowsets
            .iter()
            .find(|rowset| rowset.idmajor == table.id)
            .unwrap();
        assert_eq!(rowset.rcrows as usize, rows.len(), "{}", table.name);
        assert!(
            units
                .iter()
                .any(|unit| unit.ownerid == rowset.rowsetid && unit.kind == 1)
        );
        let mut layout = layouts
            .iter()
            .filter(|column| column.rsid == rowset.rowsetid);
        let mut names = columns.iter().filter(|column| column.id == table.id);
        for column in table.columns {
            let (physical, logical) = (layout.next().unwrap(), names.next().unwrap());
            assert_eq!(logical.name.as_deref(), Some(column.name));
            assert_eq!(physical.rscolid, logical.colid);
            let collation = Collation(physical.cid as u32);
            assert_eq!(
                DataType::from_ti(physical.ti, collation),
                Some(column.data_type)
            );
        }
        assert!(layout.next().is_none() && names.next().is_none());
    }
}

#[test]
fn every_bootstrap_value_fits_its_column_and_comes_back_from_its_bytes() {
    for (table, rows) in sample() {
        for row in &rows {
            assert_eq!(row.len(), table.columns.len());
            for (value, column) in row.iter().zip(table.columns) {
                assert!(
                    column.nullable || !value.is_null(),
                    "{}.{}",
                    table.name,
                    column.name
                );
                if value.is_null() {
                    continue;
                }
                let bytes = furrow_types::encode(&column.data_type, value).unwrap();
                let back = furrow_types::decode(&column.data_type, &bytes).unwrap();
                let (back, value) = (back.to_string(), value.to_string());
                assert_eq!(
                    back.trim_end(),
                    value.trim_end(),
                    "{}.{}",
                    table.name,
                    column.name
                );
            }
        }
        let sorted = rows
            .windows(2)
            .all(|pair| key_order(table, &pair[0], &pair[1]).is_lt());
        assert!(sorted || table.is_heap(), "{}", table.name);
    }
}

#[test]
fn columns_that_an_older_version_lacks_read_as_zero() {
    let mut values = typed::<SchemaObject>()[0].to_values();
    values.pop();
    assert_eq!(
        SchemaObject::from_values(values.clone()).unwrap().status2,
        0
    );
    values[0] = Value::NVarChar("not an id".into());
    assert_eq!(SchemaObject::from_values(values), None);
}

#[test]
fn bits_share_bytes_and_the_key_comes_first_in_new_tables() {
    let spec = |column_id, id, key_ordinal| ColumnSpec {
        column_id,
        data_type: DataType::simple(id),
        nullable: column_id % 2 == 0,
        key_ordinal,
        descending: false,
        uniquifier: false,
    };
    let mut specs = vec![spec(1, TypeId::Bit, 0), spec(2, TypeId::VarChar, 2)];
    specs.extend((3..=10).map(|column_id| spec(column_id, TypeId::Bit, 0)));
    specs.push(spec(11, TypeId::Int, 1));
    specs.push(ColumnSpec::uniquifier(0, 3));
    super::super::physical_order(&mut specs);
    let layout = lay_out(RowsetId(1), RowsetKind::Clustered, NullBits::Always, &specs);
    let ids = layout
        .columns
        .iter()
        .map(|column| column.rscolid)
        .collect::<Vec<_>>();
    assert_eq!(ids, [0, 11, 2, 1, 3, 4, 5, 6, 7, 8, 9, 10]);
    let places = layout
        .columns
        .iter()
        .map(|c| (c.offset as i16, c.bitpos))
        .collect::<Vec<_>>();
    assert_eq!(places[..5], [(-1, 0), (4, 0), (-2, 0), (8, 0), (8, 1)]);
    assert_eq!(places[10..], [(8, 7), (9, 0)]);
    // Non-leaf rows: int at 1, varchar -1, uniquifier -2, child behind.
    let inner = layout
        .columns
        .iter()
        .map(|column| (column.offset >> 16) as i16)
        .collect::<Vec<_>>();
    assert_eq!(inner[..4], [-2, 1, -1, 0]);
    assert_eq!((layout.minleaf, layout.minint), (10, 11));
}

#[test]
fn a_table_too_wide_for_any_row_has_sizes_that_say_so() {
    let wide = (1..=1024).map(|column_id| ColumnSpec {
        column_id,
        data_type: DataType::sized(TypeId::Char, 8000),
        nullable: false,
        key_ordinal: 1,
        descending: false,
        uniquifier: false,
    });
    let wide = wide.collect::<Vec<_>>();
    let layout = lay_out(RowsetId(1), RowsetKind::Clustered, NullBits::Always, &wide);
    assert_eq!(
        (layout.minleaf, layout.minint, layout.maxint),
        (i16::MAX, i16::MAX, i16::MAX)
    );
    assert!(layout.maxleaf > 8060 && layout.leaf(RowsetKind::Clustered).is_err());
}
