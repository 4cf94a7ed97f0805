//! Every type of page of real files, damaged in turn. All rows come out, or what is lost is an error; and
//! the check and the survey of the file report the page. Files that are absent are skipped.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_check::{MemoryFiles, Options, Pages, Survey, check};
use furrow_format::mdf::Database;
use furrow_format::{FileId, PAGE_SIZE, Page, PageId, PageNo, Pfs, Protection, untear, verify};
use furrow_types::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// What is done to a page.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Damage {
    /// The type of the page becomes 0.
    Type,
    /// One bit at the end of a sector is the other way round.
    Bit,
    /// The page is all zeros.
    Zeros,
}

impl Damage {
    fn of(self, file: &[u8], page: u32) -> Vec<u8> {
        let mut file = file.to_vec();
        let at = page as usize * PAGE_SIZE;
        match self {
            Damage::Type => file[at + 1] = 0,
            Damage::Bit => file[at + 2047] ^= 1,
            Damage::Zeros => file[at..at + PAGE_SIZE].fill(0),
        }
        file
    }

    /// Whether a page with this protection shows the damage.
    fn shows(self, protection: Protection) -> bool {
        self != Damage::Bit || protection != Protection::None
    }
}

fn at(page: u32) -> PageId {
    let (file, page) = (FileId(1), PageNo(page));
    PageId { file, page }
}

/// The first, the middle and the last page in use of each type and protection.
fn victims(file: &[u8]) -> Vec<(u32, Protection)> {
    let (pages, _) = file.as_chunks::<PAGE_SIZE>();
    let mut map = pages[1];
    untear(&mut map);
    let pfs = Pfs::new(&map).unwrap();
    let mut by_kind: BTreeMap<(u8, bool), Vec<(u32, Protection)>> = BTreeMap::new();
    for (number, page) in (0..8088).zip(pages) {
        if pfs.get(number as u16).is_allocated() {
            let protection = verify(page, at(number)).unwrap();
            let kind = (
                Page::new(page).page_type().to_byte(),
                protection == Protection::None,
            );
            by_kind.entry(kind).or_default().push((number, protection));
        }
    }
    assert!(by_kind.len() >= 10, "{by_kind:?}");
    let few =
        |pages: Vec<(u32, Protection)>| [0, pages.len() / 2, pages.len() - 1].map(|at| pages[at]);
    let mut all: Vec<_> = by_kind.into_values().flat_map(few).collect();
    all.dedup_by_key(|page| page.0);
    all
}

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
        for damage in [Damage::Type, Damage::Bit, Damage::Zeros] {
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
        let told = errors + passed.len() > 0;
        assert!(
            told || found == *rows,
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
