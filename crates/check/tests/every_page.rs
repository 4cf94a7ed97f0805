//! Every type of page of real files, damaged in turn. All rows come out, or what is lost is an error; and
//! the check and the survey of the file report the page. Files that are absent are skipped.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support {
    pub(crate) mod page_damage;
}

use furrow_check::{Options, check};
use furrow_datafile::Database;
use furrow_datafile::{MemoryFiles, Pages, Survey};
use furrow_types::Value;
use std::collections::BTreeMap;
use std::path::Path;
use support::page_damage::{ALL, at, victims};

/// The rows of each user table, and how many errors came with them.
type Tables = BTreeMap<String, (Vec<Vec<Value>>, usize)>;

fn tables(database: &Database<'_>) -> Tables {
    let mut all = Tables::new();
    for table in database.tables() {
        let Ok(rows) = database.rows(&table) else {
            all.insert(table.name, (Vec::new(), 1));
            continue;
        };
        let (rows, errors): (Vec<_>, Vec<_>) = rows.partition(Result::is_ok);
        let rows = rows.into_iter().filter_map(Result::ok).collect();
        all.insert(table.name, (rows, errors.len()));
    }
    all
}

fn every_page(name: &str) {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let dir = std::env::var_os("FURROW_SAMPLES").map_or(beside, Into::into);
    let Ok(sound) = furrow_io::read_file(&furrow_io::SystemVolume::new(), &dir.join(name)) else {
        println!("skipped: samples absent ({name})");
        return;
    };
    let mut files = MemoryFiles::new();
    files.add(&sound).unwrap();
    let pages = Pages::new(&files);
    let whole = tables(&Database::open(&pages).unwrap());
    for (number, protection) in victims(&sound) {
        for damage in ALL {
            if damage.shows(protection) {
                let what = format!("{name}: page {number}, {damage:?}");
                let mut files = MemoryFiles::new();
                files.add(&damage.of(&sound, number)).unwrap();
                one(&files, &whole, number, &what);
            }
        }
    }
}

fn one(files: &MemoryFiles, whole: &Tables, number: u32, what: &str) {
    let report = check(files, &Options::default(), None).unwrap();
    let mut findings = report.findings.iter();
    assert!(
        findings.any(|f| f.page == Some(at(number))),
        "{what}: {:?}",
        report.findings
    );
    let pages = Pages::new(files);
    // A catalog that cannot be read at all is an error, too.
    let Ok((database, passed)) = Database::open_damaged(&pages) else {
        return;
    };
    let survey = Survey::of(&pages, &database);
    let (_, summary) = &survey.files[0];
    assert!(
        summary.bad_pages.iter().any(|bad| bad.0 == at(number)),
        "{what}"
    );
    let left = tables(&database);
    for (name, (rows, _)) in whole {
        let (found, errors) = left.get(name).cloned().unwrap_or_default();
        let reported = errors + passed.len() > 0;
        assert!(
            reported || found == *rows,
            "{what}: {name}: {} of {}",
            found.len(),
            rows.len()
        );
    }
}

#[test]
fn no_page_of_a_file_with_checksums_is_damaged_without_an_error() {
    every_page("northwnd-655.mdf");
    every_page("pubs-655.mdf");
}

#[test]
fn no_page_of_a_file_with_torn_bits_is_damaged_without_an_error() {
    every_page("northwnd-611-torn.mdf");
}

#[test]
fn no_page_of_a_later_version_is_damaged_without_an_error() {
    every_page("mvcmusicstore-706.mdf");
}
