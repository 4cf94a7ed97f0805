//! `furrow inspect` on real files, and on a file of ours: the reader knows nothing of the engine.

use super::*;
use furrow::{ColumnSpec, DataFile, Database, TableSpec, sql};

pub(crate) fn sample(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let dir = std::env::var_os("FURROW_SAMPLES").map_or(beside, PathBuf::from);
    let path = dir.join(name);
    if SystemVolume::new().exists(&path).unwrap_or(false) {
        return Some(path);
    }
    println!("skipped: samples absent ({name})");
    None
}

#[test]
fn a_real_file_shows_its_version_tables_and_rows() {
    let Some(path) = sample("northwnd-655.mdf") else {
        return;
    };
    let output = run(&["inspect", text(&path), "--verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let shown = out(&output);
    assert!(shown.contains("version 655 (SQL Server 2008"), "{shown}");
    assert!(
        shown.contains("dbo.Customers") && shown.contains(" 0 damaged"),
        "{shown}"
    );
    let rows = run(&["inspect", text(&path), "--table", "dbo.Shippers"]);
    let shown = out(&rows);
    assert!(
        shown.starts_with("ShipperID\tCompanyName\tPhone\n"),
        "{shown}"
    );
    assert!(
        shown.contains("Speedy Express") && shown.lines().count() == 4,
        "{shown}"
    );
    let none = run(&["inspect", text(&path), "--table", "Nothing"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(err(&none).contains("there is no table Nothing"));
}

#[test]
fn a_database_of_ours_is_read_without_the_engine() {
    let dir = tempfile::tempdir().unwrap();
    let (primary, second) = (dir.path().join("shop.mdf"), dir.path().join("shop2.ndf"));
    let db = Database::create("shop")
        .file(DataFile::new(&primary).size_mb(8))
        .file(DataFile::new(&second).size_mb(8))
        .open()
        .unwrap();
    let mut session = db.session().unwrap();
    let spec = TableSpec::new("fruit")
        .column(ColumnSpec::new("id", sql::INT).not_null())
        .column(ColumnSpec::new("name", sql::nvarchar(20)))
        .primary_key(["id"]);
    let table = session.create_table(&spec).unwrap();
    for (id, name) in [(3, Some("pear")), (1, Some("apple")), (2, None)] {
        session.insert(&table, (id, name)).unwrap();
    }
    let heap = TableSpec::new("basket")
        .column(ColumnSpec::new("id", sql::INT).not_null())
        .column(ColumnSpec::new("note", sql::varchar(4000)))
        .primary_key_nonclustered(["id"]);
    let heap = session.create_table(&heap).unwrap();
    for id in 1..=300 {
        session.insert(&heap, (id, "short")).unwrap();
    }
    // It moves, and leaves a stub that leads to it.
    let long = "long".repeat(900);
    assert!(session.update(&heap, 7, &["note"], long.as_str()).unwrap());
    assert!(session.delete(&heap, 8).unwrap());
    drop((session, table, heap));
    db.close().unwrap();

    let output = run(&["inspect", text(&primary), text(&second), "--verify"]);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    let shown = out(&output);
    assert!(shown.contains("version 706 (SQL Server 2012)"), "{shown}");
    assert!(
        shown.contains("clustered  dbo.fruit (2 columns)") && shown.contains("  3 rows "),
        "{shown}"
    );
    assert_eq!(shown.matches(" 0 damaged").count(), 2, "{shown}");
    let rows = run(&["inspect", text(&primary), text(&second), "--table", "fruit"]);
    assert_eq!(out(&rows), "id\tname\n1\tapple\n2\tNULL\n3\tpear\n");
    assert!(shown.contains("299 rows  "), "{shown}");
    let rows = run(&[
        "inspect",
        text(&primary),
        text(&second),
        "--table",
        "basket",
        "--rows",
        "1000",
    ]);
    let mut shown: Vec<String> = out(&rows).lines().skip(1).map(str::to_owned).collect();
    shown.sort();
    let mut expected: Vec<String> = (1..=300)
        .filter(|id| *id != 8)
        .map(|id| format!("{id}\t{}", if id == 7 { &long } else { "short" }))
        .collect();
    expected.sort();
    assert_eq!(shown, expected);
}
