//! A share of the consistency check's score: no error in sound databases, damage found and named.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use furrow_check::{Options, repair};
use furrow_datafile::{Database, MemoryFiles, PageSource, Pages};
use furrow_format::catalog::{DatabaseFile, Rowset, SYSPRUFILES};
use furrow_format::{FileId, Page, PageBuf, PageId, PageNo, PageType, stamp_checksum};
use furrow_io::random::test_seed;
use furrow_io::{Access, Open, SystemVolume, Volume};
use furrow_soak::check::databases::{Made, make};
use furrow_soak::check::{Score, report_on, run, score};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All that a checksum shows is named, and of the rest so many in ten: the score over thousands is above 95
/// in 100, of these few it scatters.
fn judge(total: &Score, least: u64) {
    println!("{total}");
    for missed in total.missed.iter().take(40) {
        println!("missed: {missed}");
    }
    let ((tried, named), (others, found)) = (total.total(true), total.total(false));
    for left in total.unrepaired.iter().take(40) {
        println!("not repaired: {left}");
    }
    let left = total.unrepaired.len();
    assert_eq!(left, 0, "damage was not repaired");
    assert_eq!(tried, named, "damage that a checksum shows was not named");
    assert!(found * 10 >= others * least, "{found} of {others} named");
}

#[test]
fn damage_done_on_purpose_to_random_databases_is_found_and_named() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut total = Score::default();
    for at in 0..4 {
        total.add(&run(seed.wrapping_add(at), 25).unwrap());
    }
    judge(&total, 9);
}

/// A bit of the status makes a row a record of another kind, which ends before its variable columns: nothing
/// that is left of it is a row.
#[test]
fn a_row_that_became_a_record_of_another_kind_is_named_and_its_index_rows_go_with_it() {
    let made = make(9_060_177_100_301_092_605).unwrap();
    let mut tried = 0;
    for file in made.files.files() {
        for (number, page) in (0..).zip(made.files.pages(file.id)) {
            let (id, view) = (
                PageId {
                    file: file.id,
                    page: PageNo(number),
                },
                Page::new(page),
            );
            let row = view.record(1).filter(|row| row.first() == Some(&0x30));
            let of_user = view.index_part() == 256 && view.page_type() == PageType::Data;
            let (true, Some(_), 0) = (of_user, row, tried % 7) else {
                tried += usize::from(of_user);
                continue;
            };
            tried += 1;
            let mut files = made.files.clone();
            let page = files
                .pages_mut(id.file)
                .unwrap()
                .get_mut(number as usize)
                .unwrap();
            let start = usize::from(Page::new(page).slot_offset(1).unwrap());
            page[start] ^= 0x08;
            stamp_checksum(page);
            let report = report_on(&files).unwrap();
            assert!(
                report
                    .findings
                    .iter()
                    .any(|f| f.number() == 8944 || f.names(id)),
                "{id}"
            );
            let repaired = repair(&files, &Options::default(), (None, None)).unwrap();
            assert!(repaired.left.is_empty(), "{id}: {:?}", repaired.left);
            let rows: u64 = repaired.losses.iter().map(|loss| loss.row_count).sum();
            assert_eq!(rows, 1, "{id}: the row that was changed");
        }
    }
    assert!(tried > 7, "{tried} pages");
}

/// The page that the catalog names as the last one of a heap was freed and found again in turn.
#[test]
fn a_page_of_a_heap_with_a_type_of_no_table_is_given_up_once_and_for_all() {
    let mut tried = 0;
    for seed in 1..9 {
        let made = make(seed).unwrap();
        for file in made.files.files() {
            for (number, page) in (0..).zip(made.files.pages(file.id)) {
                let view = Page::new(page);
                let of_heap = view.page_type() == PageType::Data && view.index_part() == 256;
                if !of_heap || view.next() != PageId::NONE || view.prev() != PageId::NONE {
                    continue;
                }
                let mut files = made.files.clone();
                let pages = files.pages_mut(file.id).unwrap();
                let page = pages.get_mut(number).unwrap();
                // From a data page to SGAM.
                page[1] ^= 0x08;
                stamp_checksum(page);
                let repaired = repair(&files, &Options::default(), (None, None)).unwrap();
                let left = repaired.left.first().map(ToString::to_string);
                assert_eq!(left, None, "seed {seed}, page {}:{number}", file.id.0);
                tried += 1;
            }
        }
    }
    assert!(tried > 7, "{tried} pages");
}

/// A row of sysprufiles whose bit for variable columns is lost has no path: no file could be opened by it.
#[test]
fn a_file_whose_row_lost_its_names_gets_them_from_its_header() {
    let unit = SYSPRUFILES.unit_id();
    let mut tried = 0;
    for seed in 1..5 {
        let made = make(seed).unwrap();
        let pages = (0..).zip(made.files.pages(FileId(1)));
        let of_rows = |page: &PageBuf| {
            let view = Page::new(page);
            view.unit() == unit && view.page_type() == PageType::Data
        };
        for (number, page) in pages.filter(|(_, page)| of_rows(page)) {
            for slot in 0..Page::new(page).slot_count() {
                let mut files = made.files.clone();
                let pages = files.pages_mut(FileId(1)).unwrap();
                let page: &mut PageBuf = pages.get_mut(number).unwrap();
                let start = usize::from(Page::new(page).slot_offset(slot).unwrap());
                page[start] ^= 0x20;
                stamp_checksum(page);
                let repaired = repair(&files, &Options::default(), (None, None)).unwrap();
                let left = repaired.left.first().map(ToString::to_string);
                assert_eq!(left, None, "seed {seed}, row {slot}");
                for (id, page) in &repaired.pages {
                    let pages = files.pages_mut(id.file).unwrap();
                    *pages.get_mut(id.page.0 as usize).unwrap() = **page;
                }
                let pages = Pages::new(&files);
                let database = Database::open(&pages).unwrap();
                let named = |f: &DatabaseFile| !f.lname.is_empty() && !f.pname.is_empty();
                assert!(
                    database.files().iter().all(named),
                    "seed {seed}, row {slot}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 7, "{tried} rows");
}

/// All rows of `sysallocunits` are on one page: without it, pages and tables are matched by what they show.
#[test]
fn tables_without_units_get_them_by_their_counts() {
    let owners = |files: &MemoryFiles| -> BTreeMap<i64, i64> {
        let pages = Pages::new(files);
        let database = Database::open(&pages).unwrap();
        let of_users = |r: &&Rowset| r.idmajor > 100 && r.idminor <= 1 && r.rcrows > 0;
        let bases = database.rowsets().iter().filter(of_users);
        let bases: Vec<i64> = bases.map(|rowset| rowset.rowsetid).collect();
        let units = database.alloc_units().iter();
        let of_bases = units.filter(|unit| bases.contains(&unit.ownerid));
        of_bases.map(|unit| (unit.auid, unit.ownerid)).collect()
    };
    let (mut repaired_to_clean, mut of_many) = (0, 0);
    for seed in 1..13 {
        let made = make(seed).unwrap();
        let mut files = made.files.clone();
        let pages = files.pages_mut(FileId(1)).unwrap();
        pages[40].fill(0);
        let repaired = repair(&files, &Options::default(), (None, None)).unwrap();
        if repaired.refused {
            println!("seed {seed}: {}", repaired.notes.join(" "));
            continue;
        }
        let left = repaired.left.first().map(ToString::to_string);
        assert_eq!(left, None, "seed {seed}");
        for (id, page) in &repaired.pages {
            files.pages_mut(id.file).unwrap()[id.page.0 as usize] = **page;
        }
        let (before, after) = (owners(&made.files), owners(&files));
        assert_eq!(before, after, "seed {seed}: each table has its rows");
        repaired_to_clean += 1;
        of_many += u32::from(before.len() > 1);
    }
    assert!(repaired_to_clean > 9, "{repaired_to_clean} of 12");
    assert!(of_many > 2, "{of_many} with more than one table");
}

fn samples() -> Vec<PathBuf> {
    let Some(dir) = std::env::var_os("FURROW_SAMPLES") else {
        println!("skipped: FURROW_SAMPLES names no directory of real files");
        return Vec::new();
    };
    let mut files = SystemVolume::new().list(&PathBuf::from(dir)).unwrap();
    files.retain(|path| path.extension().is_some_and(|e| e == "mdf"));
    files
}

#[test]
fn damage_done_on_purpose_to_real_files_is_found_and_named() {
    let seed = test_seed();
    println!("seed {seed}");
    let mut total = Score::default();
    for path in samples() {
        let file = SystemVolume::new()
            .open(&path, Open::ReadOnly, Access::Data)
            .unwrap();
        let mut bytes = vec![0; file.len_bytes().unwrap() as usize];
        file.read_at(0, &mut bytes).unwrap();
        let mut files = MemoryFiles::new();
        files.add(&bytes).unwrap();
        let made = Made {
            files,
            earlier: None,
        };
        total.add(&score(seed, &made, 25).unwrap());
    }
    // SQL Server does not keep all bits of PFS and SGAM pages exact, so that some changes are none.
    judge(&total, 8);
}
