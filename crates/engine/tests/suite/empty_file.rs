//! A file is emptied into the others of its filegroup, and removed; databases take other names.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

use crate::tables_common;

use furrow_engine::{Session, TableSpec};
use tables_common::long_rows::{fill, rows, spec};
use tables_common::{House, house_of};

fn free(house: &House, name: &str) -> (u64, u64) {
    let files = house.db.file_list().unwrap();
    let file = files.iter().find(|f| f.name == name).unwrap();
    (file.free_extents, file.size_pages)
}

#[test]
fn a_file_is_emptied_into_the_others_and_goes() {
    let house = house_of(5);
    let mut session = house.session();
    let mut expected = Vec::new();
    for (name, clustered) in [("tree", true), ("heap", false)] {
        let table = session.create_table(&spec(name, clustered)).unwrap();
        fill(&mut session, &table, 1500);
        expected.push(rows(&mut session, &table));
    }
    let before = free(&house, "f2");
    assert_eq!(house.db.remove_file("f2").unwrap_err().number(), 5042);
    house.db.empty_file("f2").unwrap();
    let after = free(&house, "f2");
    assert!(after.0 > before.0, "{before:?} {after:?}");
    // It stays empty.
    let more = session.create_table(&spec("more", true)).unwrap();
    fill(&mut session, &more, 500);
    assert_eq!(free(&house, "f2"), after);
    house.db.remove_file("f2").unwrap();
    for (name, expected) in ["tree", "heap"].iter().zip(&expected) {
        let table = session.table(name).unwrap();
        assert_eq!(&rows(&mut session, &table), expected, "{name}");
        for index in table.indexes() {
            assert_eq!(index.rowset().audit().unwrap().rows, 1500);
        }
    }
    drop(more);
    let house = house.restart(true, vec![session]);
    let mut session = house.session();
    for (name, expected) in ["tree", "heap"].iter().zip(&expected) {
        let table = session.table(name).unwrap();
        assert_eq!(&rows(&mut session, &table), expected, "{name}");
    }
    assert_eq!(house.db.empty_file("f2").unwrap_err().number(), 8985);
    assert_eq!(house.db.empty_file("data").unwrap_err().number(), 2555);
}

#[test]
fn a_file_that_cannot_be_emptied_is_used_again() {
    let house = house_of(4);
    let mut session = house.session();
    // f1 and f3 are alone in their filegroup: what one holds does not fit in the other.
    let spec = spec("big", true).on("OTHER");
    let table = session.create_table(&spec).unwrap();
    for file in ["f1", "f3"] {
        let change = furrow_engine::FileChange {
            growth: Some(furrow_engine::FileGrowth::None),
            ..Default::default()
        };
        house.db.modify_file(file, &change).unwrap();
    }
    fill(&mut session, &table, 3000);
    let expected = rows(&mut session, &table);
    let refused = house.db.empty_file("f3").unwrap_err();
    assert!(matches!(refused.number(), 1101 | 1105), "{refused}");
    let table = session.table("big").unwrap();
    assert_eq!(rows(&mut session, &table), expected);
    let before = free(&house, "f3");
    let second = TableSpec {
        name: "second".into(),
        ..spec.clone()
    };
    let second = session.create_table(&second).unwrap();
    fill(&mut session, &second, 300);
    assert!(free(&house, "f3").0 < before.0, "it takes rows again");
}

#[test]
fn a_database_takes_another_name() {
    let House {
        instance,
        db,
        volume,
        ..
    } = house_of(2);
    let mut session = Session::new(&db).unwrap();
    let table = session.create_table(&spec("t", true)).unwrap();
    fill(&mut session, &table, 10);
    let used = instance.rename_database("test", "other").unwrap_err();
    assert_eq!(used.number(), 5030);
    drop((session, table, db));
    assert_eq!(
        instance.rename_database("none", "x").unwrap_err().number(),
        911
    );
    let db = instance.rename_database("TEST", "Other").unwrap();
    assert_eq!(db.name(), "Other");
    assert_eq!(instance.database("test").unwrap_err().number(), 911);
    drop(db);
    instance.shut_down().unwrap();
    drop(instance);
    let instance = furrow_engine::Instance::start(volume, tables_common::config()).unwrap();
    let db = instance.database("other").unwrap();
    assert_eq!(db.name(), "Other");
    let mut session = Session::new(&db).unwrap();
    let table = session.table("t").unwrap();
    assert_eq!(rows(&mut session, &table).len(), 10);
}
