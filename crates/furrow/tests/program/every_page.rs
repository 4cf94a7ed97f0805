//! Every type of page, damaged in turn. The promise: all rows come out, or what is lost is reported with exit
//! code 1. Never fewer rows with exit code 0.

use super::inspect::{bytes, samples};
use super::*;
use page_damage::{ALL, victims};

#[path = "../../../check/tests/support/page_damage.rs"]
mod page_damage;

/// Counts of the tables by the engine; `None` where it reported an error.
fn counted(path: &Path, tables: &[&str]) -> (Option<String>, String) {
    let count = |table: &&str| format!("SELECT COUNT(*) FROM {table};");
    let script: String = tables.iter().map(count).collect();
    let output = run(&[
        "sql",
        "--open",
        text(path),
        "-b",
        "-W",
        "-h",
        "-1",
        "-Q",
        &script,
    ]);
    let sound = output.status.success().then(|| out(&output));
    (sound, out(&output) + &err(&output))
}

fn exported(path: &Path, table: &str) -> Output {
    run(&["inspect", "export", text(path), "--table", table, "--csv"])
}

/// Damages pages of every type in a file of one database, and looks at what all readers make of it.
fn every_page(sound: &Path, tables: &[&str]) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join(sound.file_name().unwrap());
    let whole = bytes(sound);
    let rows: Vec<String> = tables
        .iter()
        .map(|table| out(&exported(sound, table)))
        .collect();
    assert!(rows.iter().all(|rows| rows.lines().count() > 1), "{rows:?}");
    let counts = counted(sound, tables).0.unwrap();
    for (number, protection) in victims(&whole) {
        for damage in ALL.into_iter().filter(|damage| damage.shows(protection)) {
            let what = format!("page {number}, {damage:?}");
            replace(&path, &damage.of(&whole, number));
            for words in [
                &["inspect", text(&path)][..],
                &["check", "--quiet", text(&path)],
            ] {
                let output = run(words);
                let reported = out(&output) + &err(&output);
                assert_eq!(
                    output.status.code(),
                    Some(1),
                    "{what}: {words:?}: {reported}"
                );
                let page = format!("1:{number})");
                assert!(
                    reported.contains(&page),
                    "{what}: {words:?} names no {page}: {reported}"
                );
            }
            for (table, rows) in tables.iter().zip(&rows) {
                let output = exported(&path, table);
                match output.status.code() {
                    Some(0) => assert_eq!(&out(&output), rows, "{what}: {table}"),
                    Some(1) => assert!(!err(&output).is_empty(), "{what}: {table}"),
                    code => panic!("{what}: {table}: {code:?}: {}", err(&output)),
                }
            }
            let (counted, reported) = counted(&path, tables);
            if let Some(counted) = counted {
                assert_eq!(counted, counts, "{what}: {reported}");
            }
        }
    }
}

/// Writes a file that may be there already.
fn replace(path: &Path, bytes: &[u8]) {
    let volume = SystemVolume::new();
    if volume.exists(path).unwrap() {
        volume.remove(path).unwrap();
    }
    furrow_io::write_file(&volume, path, bytes).unwrap();
}

#[test]
fn no_page_of_northwind_can_be_damaged_without_a_word() {
    let Some(dir) = samples() else { return };
    let tables = [
        "dbo.Region",
        "dbo.Territories",
        "dbo.Employees",
        "dbo.Orders",
    ];
    every_page(&dir.join("northwnd-655.mdf"), &tables);
}

#[test]
fn no_page_of_pubs_can_be_damaged_without_a_word() {
    let Some(dir) = samples() else { return };
    every_page(
        &dir.join("pubs-655.mdf"),
        &["dbo.discounts", "dbo.roysched", "dbo.pub_info"],
    );
}

#[test]
fn no_page_with_torn_bits_can_be_damaged_without_a_word() {
    let Some(dir) = samples() else { return };
    every_page(
        &dir.join("northwnd-611-torn.mdf"),
        &["dbo.Region", "dbo.Categories", "dbo.Orders"],
    );
}

#[test]
fn no_page_of_a_database_of_ours_can_be_damaged_without_a_word() {
    let scratch = tempfile::tempdir().unwrap();
    let primary = scratch.path().join("own.mdf");
    let (f, instance) = (text(&primary), scratch.path().join("instance"));
    let script = format!(
        "SET NOCOUNT ON; CREATE DATABASE own ON (NAME = own, FILENAME = '{f}') \
         LOG ON (NAME = l, FILENAME = '{}/own.ldf')\nGO\nUSE own\nGO\n\
         CREATE TABLE heap (a int, c char(900)); CREATE TABLE tree (a int PRIMARY KEY, c char(900));\
         CREATE TABLE large (a int PRIMARY KEY, v varchar(8000));\n\
         WITH n AS (SELECT TOP 100 ROW_NUMBER() OVER (ORDER BY object_id) AS a FROM sys.all_objects)\n\
         INSERT heap SELECT a, 'c' FROM n; INSERT tree SELECT a, 'c' FROM heap;\n\
         INSERT large SELECT TOP 10 a, REPLICATE('v', 700 * a) FROM heap;\n\
         CREATE INDEX i ON heap (a)\nGO\nUSE master\nGO\nEXEC sp_detach_db 'own'\nGO\n",
        text(scratch.path())
    );
    let made = run(&[
        "sql",
        "--pool",
        "8MB",
        "--instance",
        text(&instance),
        "-b",
        "-Q",
        &script,
    ]);
    assert!(made.status.success(), "{}{}", out(&made), err(&made));
    every_page(&primary, &["dbo.heap", "dbo.tree", "dbo.large"]);
}
