//! DBCC CHECKDB from the shell: damage on the disk is named, put in plain words, and repaired.

use super::{err, furrow, out, text};
use furrow_io::{Access, Open, SystemVolume, Volume};
use std::path::Path;
use std::process::Output;

fn sql(directory: &Path, query: &str) -> Output {
    let instance = directory.join("instance");
    furrow()
        .args(["sql", "--pool", "8MB", "--instance", text(&instance)])
        .args(["--csv", "-Q", query])
        .output()
        .unwrap()
}

/// The output of a query that must succeed.
fn told(directory: &Path, query: &str) -> String {
    let output = sql(directory, query);
    assert!(output.status.success(), "{query}: {}", err(&output));
    out(&output)
}

/// A database of one table with an index, and the path of its data file.
fn made(directory: &Path) -> String {
    told(
        directory,
        "CREATE DATABASE hurt; USE hurt; \
         CREATE TABLE t (id int NOT NULL PRIMARY KEY, v int NOT NULL, note char(200) NOT NULL); \
         CREATE INDEX by_v ON t (v) INCLUDE (note); \
         INSERT t SELECT value, value % 97, 'x' FROM GENERATE_SERIES(1, 3000)",
    );
    let paths = told(
        directory,
        "USE hurt; SELECT physical_name FROM sys.database_files WHERE file_id = 1",
    );
    paths.lines().last().unwrap().to_owned()
}

/// The last leaf page of an index, by what DBCC IND lists.
fn leaf_of(directory: &Path, index: u32) -> u64 {
    let listed = told(
        directory,
        &format!("USE hurt; DBCC IND ('hurt', 't', {index}) WITH NO_INFOMSGS"),
    );
    let page = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let is_leaf = fields.get(10) == Some(&"0") && fields.get(9) != Some(&"10");
        is_leaf.then(|| fields.get(1).unwrap().parse().unwrap())
    };
    listed.lines().skip(1).filter_map(page).last().unwrap()
}

fn flip(path: &str, page: u64) {
    let volume = SystemVolume::new();
    let file = volume.open(Path::new(path), Open::Existing, Access::Data);
    let file = file.unwrap();
    let mut bytes = vec![0; 8192];
    file.read_at(page * 8192, &mut bytes).unwrap();
    bytes[3000] ^= 16;
    file.write_at(page * 8192, &bytes).unwrap();
    file.sync().unwrap();
}

#[test]
fn a_damaged_index_is_named_and_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let page = leaf_of(directory.path(), 2);
    let clean = told(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    assert_eq!(clean, "");
    flip(&path, page);
    let found = sql(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    let all = format!("{}{}", out(&found), err(&found));
    for part in [
        "Msg 8928",
        &format!("(1:{page})"),
        "consistency errors in table 't'",
        "repair_rebuild is the minimum repair level",
        "Index by_v of dbo.t cannot be trusted",
        "ALTER INDEX by_v ON dbo.t REBUILD",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let repaired = sql(
        directory.path(),
        "ALTER DATABASE hurt SET SINGLE_USER; USE hurt; DBCC CHECKDB ('hurt', REPAIR_REBUILD)",
    );
    let all = format!("{}{}", out(&repaired), err(&repaired));
    assert!(
        all.contains("The Nonclustered index successfully rebuilt"),
        "{all}"
    );
    assert!(all.contains("CHECKDB fixed 0 allocation errors"), "{all}");
    assert_eq!(
        told(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS"),
        ""
    );
    let rows = told(
        directory.path(),
        "USE hurt; SELECT COUNT(*) AS n FROM t WITH (INDEX(by_v)) WHERE v >= 0",
    );
    assert_eq!(rows.lines().last(), Some("3000"));
}

#[test]
fn a_damaged_table_is_named_with_its_pages_and_repaired_with_the_loss_of_their_rows() {
    let directory = tempfile::tempdir().unwrap();
    let path = made(directory.path());
    let page = leaf_of(directory.path(), 1);
    flip(&path, page);
    let found = sql(
        directory.path(),
        "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS, PHYSICAL_ONLY",
    );
    let all = format!("{}{}", out(&found), err(&found));
    for part in [
        "Msg 8928",
        "repair_allow_data_loss is the minimum repair level",
        "Table dbo.t cannot be trusted as a whole",
        &format!("(1:{page})"),
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let repaired = sql(
        directory.path(),
        "ALTER DATABASE hurt SET SINGLE_USER; USE hurt; DBCC CHECKDB ('hurt', REPAIR_ALLOW_DATA_LOSS)",
    );
    let all = format!("{}{}", out(&repaired), err(&repaired));
    for part in ["Repair of database \"hurt\" loses", "take a full backup"] {
        assert!(all.contains(part), "{part}: {all}");
    }
    let clean = told(directory.path(), "DBCC CHECKDB ('hurt') WITH NO_INFOMSGS");
    assert_eq!(clean, "");
    let rows = told(directory.path(), "USE hurt; SELECT COUNT(*) AS n FROM t");
    let rows: u32 = rows.lines().last().unwrap().parse().unwrap();
    assert!((2_900..3_000).contains(&rows), "{rows}");
}
