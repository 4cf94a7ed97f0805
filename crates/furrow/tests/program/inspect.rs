//! `furrow inspect` on real files: what it prints is what is there, and the files stay as they are.

use super::*;
use furrow::{ColumnSpec, DataFile, Database, TableSpec, sql};
use serde_json::Value;
use std::collections::BTreeMap;

/// The directory of real files; absent ones are reported.
pub(super) fn samples() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let dir = std::env::var_os("FURROW_SAMPLES").map_or(beside, PathBuf::from);
    if SystemVolume::new()
        .exists(&dir.join("truth.json"))
        .unwrap_or(false)
    {
        return Some(dir);
    }
    eprintln!("skipped: samples absent ({})", dir.display());
    None
}

/// The real files, and what is known of each.
pub(super) fn truth() -> Vec<(PathBuf, Value)> {
    let Some(dir) = samples() else {
        return Vec::new();
    };
    let truth: Value = serde_json::from_str(&content(&dir.join("truth.json"))).unwrap();
    let files = truth.as_object().unwrap().iter();
    let files: Vec<_> = files
        .filter(|(name, _)| name.ends_with(".mdf"))
        .map(|(name, known)| (dir.join(name), known.clone()))
        .collect();
    assert!(!files.is_empty());
    files
}

pub(super) fn bytes(path: &Path) -> Vec<u8> {
    read_file(&SystemVolume::new(), path).unwrap()
}

pub(super) fn json(words: &[&str]) -> Value {
    let output = run(words);
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    serde_json::from_str(&out(&output)).unwrap()
}

#[test]
fn what_is_reported_of_every_real_file_is_the_truth_and_its_bytes_stay() {
    for (path, known) in truth() {
        let before = bytes(&path);
        let reported = json(&["inspect", text(&path), "--json"]);
        let keys: Vec<&String> = reported.as_object().unwrap().keys().collect();
        let mut expected = vec![
            "file",
            "version",
            "created_version",
            "pages",
            "extents",
            "free_extents",
            "allocated_pages",
            "page_types",
            "bad_pages",
            "tables",
        ];
        expected.sort_unstable();
        let mut sorted = keys.clone();
        sorted.sort();
        assert_eq!(sorted, expected);
        assert_eq!(reported["file"], text(&path));
        for (ours, theirs) in [
            ("version", "version"),
            ("created_version", "create_version"),
            ("pages", "pages"),
            ("extents", "extents"),
            ("free_extents", "free_extents"),
            ("allocated_pages", "allocated_pages"),
            ("page_types", "page_type_histogram"),
            ("bad_pages", "bad_pages"),
        ] {
            assert_eq!(reported[ours], known[theirs], "{} {ours}", path.display());
        }
        let tables: BTreeMap<String, Value> = reported["tables"]
            .as_array()
            .unwrap()
            .iter()
            .map(|table| {
                let word = |key: &str| table[key].as_str().unwrap().to_owned();
                (
                    format!("{}.{}", word("schema"), word("name")),
                    table["rows"].clone(),
                )
            })
            .collect();
        let expected = known["tables"].as_object().unwrap().clone();
        assert_eq!(tables, expected.into_iter().collect(), "{}", path.display());
        assert!(bytes(&path) == before, "{} has changed", path.display());
    }
}

/// File id, free extents, skip target and share of each file.
fn figures(reported: &Value) -> Vec<(u64, u64, u64, f64)> {
    let files = reported["files"].as_array().unwrap().iter();
    let number = |file: &Value, key: &str| file[key].as_u64().unwrap();
    files
        .map(|file| {
            (
                number(file, "file_id"),
                number(file, "free_extents"),
                number(file, "skip_target"),
                file["share"].as_f64().unwrap(),
            )
        })
        .collect()
}

/// A row a page.
fn page_sized_rows() -> TableSpec {
    TableSpec::new("t")
        .column(ColumnSpec::new("id", sql::INT).not_null())
        .column(ColumnSpec::new("filler", sql::char(8000)).not_null())
        .primary_key(["id"])
}

/// What is foreseen of files of ours comes true: as many extents go into each file as were predicted.
#[test]
fn what_fill_foresees_is_what_an_insert_load_then_does() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let db = Database::create("company")
        .file(DataFile::new(path("company.mdf")).size_mb(8))
        .file(DataFile::new(path("second.ndf")).size_mb(5))
        .file(DataFile::new(path("third.ndf")).size_mb(64))
        .open()
        .unwrap();
    db.session()
        .unwrap()
        .create_table(&page_sized_rows())
        .unwrap();
    db.close().unwrap();
    // In any order, and by the directory: the same.
    let files = [path("third.ndf"), path("company.mdf"), path("second.ndf")];
    let words: Vec<&str> = ["inspect", "fill", "--json", "--extents", "400"]
        .into_iter()
        .chain(files.iter().map(|path| text(path)))
        .collect();
    let before = json(&words);
    let by_directory = [
        "inspect",
        "fill",
        "--json",
        "--extents",
        "400",
        text(dir.path()),
    ];
    assert_eq!(before, json(&by_directory));
    let reported = figures(&before);
    let most = reported.iter().map(|file| file.1).max().unwrap();
    for (id, free, target, _) in &reported {
        assert_eq!(*target, (most / free).max(1), "file {id}");
    }
    assert!((reported.iter().map(|file| file.3).sum::<f64>() - 1.0).abs() < 1e-9);

    let db = Database::open(path("company.mdf")).unwrap();
    let mut session = db.session().unwrap();
    let table = session.table("t").unwrap();
    let mut transaction = session.transaction().unwrap();
    for id in 0..3200 {
        transaction.insert(&table, (id, "x")).unwrap();
    }
    transaction.commit().unwrap();
    drop((session, table));
    db.close().unwrap();
    for (before, after) in reported.iter().zip(&figures(&json(&words))) {
        let (taken, predicted) = ((before.1 - after.1) as f64, before.3 * 400.0);
        assert!(
            (taken - predicted).abs() <= 8.0,
            "file {}: {taken} of {predicted}",
            before.0
        );
    }
}

#[test]
fn one_file_that_takes_nearly_all_is_warned_of() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    let db = Database::create("company")
        .file(DataFile::new(path("company.mdf")).size_mb(5))
        .file(DataFile::new(path("third.ndf")).size_mb(250))
        .open()
        .unwrap();
    db.close().unwrap();
    let output = run(&["inspect", "fill", text(dir.path())]);
    assert_eq!(output.status.code(), Some(0));
    assert!(err(&output).contains("warning: file"), "{}", err(&output));
    assert!(
        out(&output).contains("filegroup 1, its files in filling order"),
        "{}",
        out(&output)
    );
    let equal = tempfile::tempdir().unwrap();
    let db = Database::create("even")
        .file(DataFile::new(equal.path().join("a.mdf")).size_mb(16))
        .file(DataFile::new(equal.path().join("b.ndf")).size_mb(16))
        .open()
        .unwrap();
    db.close().unwrap();
    assert_eq!(err(&run(&["inspect", "fill", text(equal.path())])), "");
    // A real file, alone: it gets everything, and there is nothing to warn of.
    if let Some(dir) = samples() {
        let reported = json(&[
            "inspect",
            "fill",
            "--json",
            text(&dir.join("mvcmusicstore-706.mdf")),
        ]);
        assert_eq!(reported["files"][0]["free_extents"], 14);
        assert_eq!(reported["files"][0]["skip_target"], 1);
        assert_eq!(reported["files"][0]["share"], 1.0);
    }
    let wrong = run(&[
        "inspect",
        "fill",
        text(Path::new(env!("CARGO_MANIFEST_DIR"))),
    ]);
    assert_eq!(wrong.status.code(), Some(2), "{}", err(&wrong));
}
