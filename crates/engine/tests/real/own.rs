//! Databases of our own, attached READ_ONLY: of several files and filegroups, found beside the primary file
//! or named.

#![expect(clippy::unwrap_used, reason = "a failed step is a failed test")]

use crate::ground::{House, memory, read};
use furrow_engine::{
    ColumnSpec, DatabaseSpec, FileSpec, FilegroupSpec, IndexSpec, ScanSpec, Session, TableSpec,
};
use furrow_io::{Access, Fill, Open, Volume};
use furrow_types::{DataType, TypeId, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: i64 = 3000;

fn row(id: i64) -> Vec<Value> {
    let text = "x".repeat((id % 90) as usize);
    vec![
        Value::BigInt(id),
        Value::Int(id as i32 % 100),
        Value::VarChar(text),
    ]
}

fn table(name: &str) -> TableSpec {
    TableSpec::new(name)
        .column(ColumnSpec::new("id", DataType::simple(TypeId::BigInt)).not_null())
        .column(ColumnSpec::new("n", DataType::simple(TypeId::Int)))
        .column(ColumnSpec::new(
            "text",
            DataType::sized(TypeId::VarChar, 100),
        ))
}

/// A volume with a database of four files, a heap and a tree in it, shut down cleanly or not.
fn volume(clean: bool) -> Arc<dyn Volume> {
    let volume = memory(&[]);
    let instance = House::over(&volume);
    let spec = DatabaseSpec::new("Own", FileSpec::new("P", "d/p.mdf").size_mb(3))
        .file(FileSpec::new("S", "d/s.ndf").size_mb(1))
        .filegroup(FilegroupSpec::new(
            "FG",
            vec![FileSpec::new("T", "d/t.ndf"), FileSpec::new("U", "d/u.ndf")],
        ))
        .log(FileSpec::new("L", "d/l.ldf").size_mb(1));
    let db = instance.create_database(&spec).unwrap();
    let mut session = Session::new(&db).unwrap();
    let tree = table("tree")
        .primary_key(["id"])
        .index(IndexSpec::new("by_n", ["n"]));
    for spec in [tree, table("heap")] {
        let made = session.create_table(&spec).unwrap();
        session.begin().unwrap();
        for id in 0..ROWS {
            session.insert(&made, &row(id)).unwrap();
        }
        session.commit().unwrap();
    }
    drop(session);
    drop(db);
    match clean {
        true => instance.shut_down().unwrap(),
        false => instance.abandon(),
    }
    volume
}

fn files(volume: &Arc<dyn Volume>) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = volume.list(Path::new("d")).unwrap().into_iter();
    paths
        .map(|path| (path.clone(), read(&**volume, &path).unwrap()))
        .collect()
}

fn read_all(house: &House) {
    for name in ["tree", "heap"] {
        let table = house.table(name);
        let mut rows = house.rows(&table, &ScanSpec::default());
        rows.sort_by_key(|row| row[0].as_i64());
        assert!(rows == (0..ROWS).map(row).collect::<Vec<_>>(), "{name}");
        assert_eq!(table.row_count(), ROWS);
    }
    let tree = house.table("tree");
    let mut spec = ScanSpec::equal(1, vec![Value::Int(42)]);
    assert_eq!(house.rows(&tree, &spec).len(), 30);
    spec.backward = true;
    assert_eq!(house.rows(&tree, &spec).len(), 30);
    let groups: Vec<String> = house.db.filegroups().into_iter().map(|g| g.name).collect();
    assert_eq!(groups, ["PRIMARY", "FG"]);
    assert_eq!(house.db.file_list().unwrap().len(), 5);
}

#[test]
fn one_that_was_shut_down_cleanly_is_read_from_all_its_files_and_not_touched() {
    let volume = volume(true);
    let before = files(&volume);
    for _ in 0..2 {
        let instance = House::over(&volume);
        let db = instance
            .attach_read_only(None, &["d/p.mdf".into()])
            .unwrap();
        assert_eq!(db.name(), "Own");
        let house = House { instance, db };
        read_all(&house);
        house.instance.abandon();
    }
    assert!(before == files(&volume), "a file was changed or made");
}

#[test]
fn one_that_was_not_is_left_to_recovery() {
    let volume = volume(false);
    let before = files(&volume);
    let instance = House::over(&volume);
    let error = instance
        .attach_read_only(None, &["d/p.mdf".into()])
        .unwrap_err();
    assert!(error.number() == 40517, "{error}");
    assert!(before == files(&volume));
}

#[test]
fn files_that_were_moved_are_found_beside_the_primary_file_or_where_they_are_named() {
    let volume = volume(true);
    let copy = |from: &str, to: &str| {
        let bytes = read(&*volume, Path::new(from)).unwrap();
        let file = volume
            .open(Path::new(to), Open::Create, Access::Data)
            .unwrap();
        file.resize(bytes.len() as u64, Fill::Allocate).unwrap();
        file.write_at(0, &bytes).unwrap();
        volume.remove(Path::new(from)).unwrap();
    };
    for dir in ["e", "f"] {
        volume.create_dir(Path::new(dir)).unwrap();
    }
    copy("d/p.mdf", "e/first.mdf");
    copy("d/s.ndf", "e/second.ndf");
    copy("d/t.ndf", "e/third.NDF");
    copy("d/u.ndf", "f/fourth");
    let attach = |files: &[&str]| {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let instance = House::over(&volume);
        let db = instance.attach_read_only(Some("Other"), &files)?;
        Ok::<House, furrow_engine::EngineError>(House { instance, db })
    };
    let missing = attach(&["e/first.mdf"]).err().unwrap();
    assert!(
        missing.number() == 5120 && missing.to_string().contains("u.ndf"),
        "{missing}"
    );
    let house = attach(&["e/first.mdf", "f/fourth"]).unwrap();
    assert_eq!(house.db.name(), "Other");
    read_all(&house);
    // Not the primary one first.
    assert_eq!(attach(&["e/second.ndf"]).err().unwrap().number(), 5171);
}
