//! Every table of every sample, by every index, both ways, and row by row.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::ground::{FILES, House, attached, bytes, directory, read, sample};
use furrow_datafile::{Database as MdfDatabase, MdfImage};
use furrow_engine::{DatabaseState, IndexKind, ScanSpec, Session, Table};
use furrow_io::{SystemVolume, Volume};
use furrow_types::Value;
use std::ops::Bound;
use std::sync::Arc;

#[test]
fn every_table_of_the_truth_table_has_its_rows() {
    let Some(truth) = bytes("truth.json") else {
        return;
    };
    let truth: serde_json::Value = serde_json::from_slice(&truth).unwrap();
    for name in FILES {
        let house = attached(name).unwrap();
        assert_eq!(house.db.state(), DatabaseState::Online);
        assert!(house.db.is_read_only() && house.db.is_attached_read_only());
        let mut found = serde_json::Map::new();
        for table in house.tables() {
            let rows = house.rows(&table, &ScanSpec::default()).len();
            assert_eq!(
                table.row_count(),
                rows as i64,
                "{name}: {}",
                table.full_name()
            );
            assert_eq!(table.unreadable(), None);
            found.insert(table.full_name(), rows.into());
        }
        assert_eq!(Some(&found), truth[name]["tables"].as_object(), "{name}");
        let files = house.db.file_list().unwrap();
        assert_eq!(files[0].size_pages, truth[name]["pages"].as_u64().unwrap());
        assert_eq!(
            files[0].free_extents,
            truth[name]["free_extents"].as_u64().unwrap()
        );
        assert_eq!(
            (files.len(), files[1].filegroup),
            (2, 0),
            "{name}: the log is listed"
        );
    }
}

#[test]
fn a_view_of_sql_server_has_the_columns_that_its_catalog_stores() {
    let Some(house) = attached("pubs-655.mdf") else {
        return;
    };
    let view = house.session().module("dbo", "titleview").unwrap();
    let columns = view.columns().iter();
    let columns: Vec<_> = columns
        .map(|c| format!("{} {} {}", c.name, c.data_type, c.nullable))
        .collect();
    assert_eq!(
        columns,
        [
            "title varchar(80) false",
            "au_ord tinyint true",
            "au_lname varchar(40) false",
            "price money true",
            "ytd_sales int true",
            "pub_id char(4) true",
        ]
    );
}

/// The two read the same bytes by different means: this one by trees and the pool, the other by links and a
/// copy of the file.
#[test]
fn every_value_is_what_the_other_reader_finds() {
    for name in FILES {
        let Some(bytes) = bytes(name) else { return };
        let image = MdfImage::open(&bytes).unwrap();
        let other = MdfDatabase::open(&image).unwrap();
        let house = attached(name).unwrap();
        let tables = other.tables();
        assert_eq!(tables.len(), house.tables().len());
        for theirs in tables {
            let ours = house
                .session()
                .table_in(&theirs.schema, &theirs.name)
                .unwrap();
            let names = |columns: &[furrow_engine::Column]| -> Vec<_> {
                columns
                    .iter()
                    .map(|c| (c.id, c.name.clone(), c.data_type, c.nullable))
                    .collect()
            };
            let their_names: Vec<_> = theirs
                .columns
                .iter()
                .map(|c| (c.id, c.name.clone(), c.data_type, c.nullable))
                .collect();
            assert_eq!(
                names(ours.columns()),
                their_names,
                "{name}: {}",
                theirs.name
            );
            let expected: Vec<Vec<Value>> =
                other.rows(&theirs).unwrap().map(Result::unwrap).collect();
            let found = house.rows(&ours, &ScanSpec::default());
            assert!(found == expected, "{name}: {}", theirs.name);
        }
    }
}

fn key_of(table: &Table, index: usize, row: &[Value]) -> Vec<Value> {
    let key = table.indexes()[index].key();
    key.iter().map(|k| row[k.column].clone()).collect()
}

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<String> {
    rows.sort_by_key(|row| format!("{row:?}"));
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn every_index_leads_to_every_row_both_ways() {
    let (mut looked_at, mut equal_text) = (0, 0);
    for name in FILES {
        let Some(house) = attached(name) else { return };
        for table in house.tables() {
            let what = format!("{name}: {}", table.full_name());
            let all = house.rows(&table, &ScanSpec::default());
            let expected = sorted(all.clone());
            for (at, index) in table.indexes().iter().enumerate() {
                let what = format!("{what}, index '{}'", index.name());
                let spec = |backward| ScanSpec {
                    index: at,
                    backward,
                    ..ScanSpec::default()
                };
                let forward = house.rows(&table, &spec(false));
                assert_eq!(sorted(forward.clone()), expected, "{what}");
                looked_at += 1;
                if index.kind() == IndexKind::Heap {
                    continue;
                }
                let mut back = house.rows(&table, &spec(true));
                back.reverse();
                assert!(forward == back, "{what}: backward");
                equal_text += seek_all(&house, &table, at, &all, &what);
            }
        }
    }
    assert!(
        looked_at > 60 && equal_text > 3000,
        "{looked_at} {equal_text}"
    );
}

/// Looks for the key of every row in an index: the row is among those found, and all found have that key.
fn seek_all(
    house: &House,
    table: &Arc<Table>,
    at: usize,
    rows: &[Vec<Value>],
    what: &str,
) -> usize {
    let mut session = house.session();
    for row in rows {
        let key = key_of(table, at, row);
        let mut found = Vec::new();
        let scan = session
            .scan(table, &ScanSpec::equal(at, key.clone()))
            .unwrap();
        scan.for_each(|row| {
            found.push(row.values()?);
            Ok(())
        })
        .unwrap();
        assert!(found.contains(row), "{what}: {key:?} not found");
        assert!(
            found.iter().all(|r| key_of(table, at, r) == key),
            "{what}: {key:?}"
        );
        if table.lookup_index() == Some(at) {
            assert_eq!(found.len(), 1, "{what}: {key:?}");
            let got = session.get(table, &key).unwrap();
            assert_eq!(
                got.map(|r| r.values().unwrap()).as_ref(),
                Some(row),
                "{what}"
            );
        }
    }
    rows.len()
}

#[test]
fn ranges_of_keys_are_scanned_from_end_to_end() {
    for name in ["northwnd-655.mdf", "northwnd-611-torn.mdf"] {
        let Some(house) = attached(name) else { return };
        let orders = house.table("Orders");
        let spec = |low: i32, high: i32| ScanSpec {
            low: Bound::Included(vec![Value::Int(low)]),
            high: Bound::Excluded(vec![Value::Int(high)]),
            ..ScanSpec::default()
        };
        assert_eq!(house.rows(&orders, &spec(10_300, 10_400)).len(), 100);
        assert_eq!(house.rows(&orders, &spec(0, 10_250)).len(), 2);
        assert_eq!(house.rows(&orders, &spec(11_078, 20_000)).len(), 0);
        let customers = house.table("Customers");
        let text = |s: &str| vec![Value::NVarChar(s.to_owned())];
        let between = ScanSpec {
            low: Bound::Included(text("B")),
            high: Bound::Excluded(text("C")),
            ..ScanSpec::default()
        };
        let ids: Vec<String> = house
            .rows(&customers, &between)
            .iter()
            .map(|r| r[0].to_string())
            .collect();
        assert_eq!(
            ids,
            [
                "BERGS", "BLAUS", "BLONP", "BOLID", "BONAP", "BOTTM", "BSBEV"
            ]
        );
    }
}

#[test]
fn nothing_is_changed_on_disk_and_nothing_made_beside_the_files() {
    let Some(_) = sample(FILES[0]) else { return };
    let volume = SystemVolume::new();
    let look = || {
        let paths = volume.list(&directory()).unwrap();
        let read = |path: &std::path::PathBuf| (path.clone(), read(&volume, path).unwrap());
        paths.iter().map(read).collect::<Vec<_>>()
    };
    let before = look();
    for name in FILES {
        let house = attached(name).unwrap();
        for table in house.tables() {
            house.rows(&table, &ScanSpec::default());
        }
        assert!(house.db.checkpoint().unwrap_err().has(3906));
        let House { instance, db } = house;
        drop(db);
        instance.shut_down().unwrap();
    }
    assert!(before == look(), "a file was changed or made");
}

#[test]
fn every_change_is_refused() {
    let Some(house) = attached("northwnd-655.mdf") else {
        return;
    };
    let mut session = house.session();
    let shippers = session.table("Shippers").unwrap();
    let row = [Value::Int(9), Value::NVarChar("x".into()), Value::Null];
    let spec = furrow_engine::TableSpec::new("new").column(furrow_engine::ColumnSpec::new(
        "a",
        furrow_types::DataType::simple(furrow_types::TypeId::Int),
    ));
    let key = shippers.row_key(&[Value::Int(1)]).unwrap();
    assert_eq!(session.insert(&shippers, &row).unwrap_err().number(), 3906);
    assert_eq!(session.delete(&shippers, &key).unwrap_err().number(), 3906);
    assert_eq!(session.create_table(&spec).unwrap_err().number(), 3906);
    assert_eq!(session.drop_table("Shippers").unwrap_err().number(), 3906);
    assert_eq!(
        session.truncate_table("Shippers").unwrap_err().number(),
        3906
    );
    session.begin().unwrap();
    assert!(session.get(&shippers, &[Value::Int(1)]).unwrap().is_some());
    assert_eq!(session.insert(&shippers, &row).unwrap_err().number(), 3906);
    session.commit().unwrap();
    drop(session);
    assert!(house.db.set_read_only(false).unwrap_err().has(40515));
    assert!(house.db.add_filegroup("G").unwrap_err().has(3906));
    assert!(Session::new(&house.db).is_ok());
}
