//! Damaged files: found where they are damaged, and never a panic or a hang.

use furrow_datafile::{
    Database, MdfError, MdfImage, MemoryFiles, PageForm, PageSource, Pages, SourceError,
    SourceFile, Table, prepare, sniff, summarize,
};
use furrow_format::{FileId, PAGE_SIZE, PageBuf, PageFault, PageId, PageNo, Protection};
use furrow_types::Value;

use crate::files::{FILES, bytes};

/// A generator with a printed seed: `FURROW_SEED` replays it.
struct Random(u64);

impl Random {
    fn new() -> Random {
        let seed = std::env::var("FURROW_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(0x5EED_F00D);
        println!("FURROW_SEED={seed}");
        Random(seed | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }
}

/// A source whose pages all pass verification, so that damage gets as far as the decoders.
struct Trusting(MemoryFiles);

impl PageSource for Trusting {
    fn files(&self) -> Vec<SourceFile> {
        self.0.files()
    }

    fn read(&self, file: FileId, first: PageNo, into: &mut [PageBuf]) -> Result<(), SourceError> {
        self.0.read(file, first, into)?;
        for (number, page) in (first.0..).zip(into) {
            let id = PageId {
                file,
                page: PageNo(number),
            };
            let _fault = prepare(PageForm::Stored, page, id);
        }
        Ok(())
    }

    fn form(&self) -> PageForm {
        PageForm::Ready
    }
}

#[test]
fn one_flipped_bit_is_found_on_its_page_and_nowhere_else() {
    let mut random = Random::new();
    for name in FILES {
        let Some(sound) = bytes(name) else { return };
        let image = MdfImage::open(&sound).unwrap();
        let protected = |page: &usize| {
            let id = PageId::new(1, *page as u32);
            matches!(image.protection(id), Some(Ok(Protection::Checksum)))
        };
        let pages = (0..sound.len() / PAGE_SIZE)
            .filter(protected)
            .collect::<Vec<_>>();
        for _ in 0..20.min(pages.len()) {
            let page = pages[random.below(pages.len())];
            let mut damaged = sound.clone();
            // Bytes 0 and 1 of pages 0 and 9 are read by the sniff test; the flags decide what to verify.
            let at = 64 + random.below(PAGE_SIZE - 64);
            damaged[page * PAGE_SIZE + at] ^= 1 << random.below(8);
            let Ok(image) = MdfImage::open(&damaged) else {
                continue;
            };
            let id = PageId::new(1, page as u32);
            assert!(matches!(
                image.protection(id),
                Some(Err(PageFault::Checksum { .. }))
            ));
            let summary = summarize(&image, FileId(1));
            assert!(
                summary.bad_pages.iter().all(|(bad, _)| *bad == id),
                "{name} {id}"
            );
        }
    }
}

#[test]
fn a_truncated_file_is_refused_or_names_the_missing_page() {
    let Some(sound) = bytes("pubs-655.mdf") else {
        return;
    };
    assert!(MdfImage::open(&sound[..sound.len() - 1]).is_err());
    let image = MdfImage::open(&sound[..100 * PAGE_SIZE]).unwrap();
    let missing = Database::open(&image).unwrap_err();
    assert!(
        matches!(missing, MdfError::MissingPage { page, .. } if page.page.0 >= 100),
        "{missing}"
    );
}

/// Everything that can be read is read; errors are fine, panics and endless loops are not.
#[test]
fn hostile_bytes_never_stop_the_reader() {
    let mut random = Random::new();
    let (mut opened, mut errors) = (0, 0);
    for name in FILES {
        let Some(sound) = bytes(name) else { return };
        for round in 0..60 {
            let mut damaged = sound.clone();
            for _ in 0..1 << (round % 10) {
                let at = if round % 2 == 0 {
                    random.below(damaged.len())
                } else {
                    // Headers and the ends of pages: links, counts, slots.
                    let page = random.below(damaged.len() / PAGE_SIZE) * PAGE_SIZE;
                    page + [random.below(96), PAGE_SIZE - 1 - random.below(96)][random.below(2)]
                };
                damaged[at] = random.below(256) as u8;
            }
            if sniff(&damaged).is_err() {
                continue;
            }
            let mut files = MemoryFiles::new();
            files.add(&damaged).unwrap();
            let source = Pages::new(Trusting(files));
            errors += summarize(&source, FileId(1)).lost_maps.len();
            match Database::open(&source) {
                Ok(database) => {
                    opened += 1;
                    errors += read_everything(&database);
                }
                Err(_) => errors += 1,
            }
        }
    }
    println!("{opened} opened, {errors} errors");
    assert!(
        opened > 20 && errors > 20,
        "damage must neither always nor never be seen"
    );
}

fn read_everything(database: &Database<'_>) -> usize {
    let mut errors = 0;
    for table in database.tables() {
        match database.rows(&table) {
            Ok(rows) => errors += rows.filter(Result::is_err).count(),
            Err(_) => errors += 1,
        }
        let _indexes = database.indexes(table.id);
    }
    for rowset in database.rowsets() {
        match database.rowset_rows_by_allocation(rowset) {
            Ok(rows) => errors += rows.filter(Result::is_err).count(),
            Err(_) => errors += 1,
        }
    }
    errors
}

/// Each page of each table damaged in turn: the rows on it are lost and one error is returned, everything
/// else is read.
#[test]
fn a_damaged_page_costs_its_own_rows_and_no_others() {
    let (mut leaves, mut others) = (0, 0);
    for name in ["northwnd-655.mdf", "pubs-655.mdf"] {
        let Some(sound) = bytes(name) else { return };
        let image = MdfImage::open(&sound).unwrap();
        let database = Database::open(&image).unwrap();
        for table in database.tables() {
            let rowset = &table.rowsets[0];
            let unit = database
                .alloc_units()
                .iter()
                .find(|unit| unit.ownerid == rowset.rowsetid && unit.kind == 1)
                .unwrap();
            let owned = database.owned_pages(unit).unwrap();
            let all: Vec<_> = database.rows(&table).unwrap().map(Result::unwrap).collect();
            for page in owned.pages.into_iter().chain(owned.iam_pages) {
                let header = image.page(page).unwrap();
                let header = furrow_format::Page::new(&header);
                let is_leaf = header.page_type() == furrow_format::PageType::Data;
                let lost = if is_leaf {
                    usize::from(header.slot_count())
                } else {
                    0
                };
                let mut damaged = sound.clone();
                damaged[page.page.0 as usize * PAGE_SIZE + 4000] ^= 0x40;
                let damaged = MdfImage::open(&damaged).unwrap();
                let database = Database::open(&damaged).unwrap();
                let (rows, errors): (Vec<_>, Vec<_>) =
                    database.rows(&table).unwrap().partition(Result::is_ok);
                let rows: Vec<_> = rows.into_iter().map(Result::unwrap).collect();
                let what = format!("{name} {} {page}", table.name);
                assert_eq!(rows.len(), all.len() - lost, "{what}");
                assert!(rows.iter().all(|row| all.contains(row)), "{what}");
                let reported = errors.iter().filter_map(|e| e.as_ref().err()?.page());
                assert!(
                    reported.eq(std::iter::repeat_n(page, errors.len())),
                    "{what}"
                );
                assert!(errors.len() == 1 || !is_leaf && errors.is_empty(), "{what}");
                // Still in key order, because the root lists the next leaves.
                let mut left = all.iter().filter(|row| rows.contains(row));
                assert!(
                    !is_leaf || rows.iter().all(|row| left.next() == Some(row)),
                    "{what}"
                );
                *(if is_leaf { &mut leaves } else { &mut others }) += 1;
            }
        }
    }
    assert!(
        leaves > 40 && others > 20,
        "{leaves} leaves, {others} others"
    );
}

#[test]
fn a_damaged_pfs_page_costs_no_rows_and_is_reported_where_it_is_relied_on() {
    for name in ["northwnd-655.mdf", "pubs-655.mdf"] {
        let Some(sound) = bytes(name) else { return };
        let image = MdfImage::open(&sound).unwrap();
        let database = Database::open(&image).unwrap();
        let pfs = PAGE_SIZE..2 * PAGE_SIZE;
        let damages: [fn(&mut [u8]); 3] = [
            |page| page[1] = 0,
            |page| page[4000] ^= 0x40,
            |page| page.fill(0),
        ];
        for (damage, apply) in damages.iter().enumerate() {
            let mut damaged = sound.clone();
            apply(&mut damaged[pfs.clone()]);
            let damaged = MdfImage::open(&damaged).unwrap();
            let hurt = Database::open(&damaged).unwrap();
            let mut heaps = 0;
            for table in database.tables() {
                let what = format!("{name} {} {damage}", table.name);
                let all: Vec<_> = database.rows(&table).unwrap().map(Result::unwrap).collect();
                let (rows, errors): (Vec<_>, Vec<_>) =
                    hurt.rows(&table).unwrap().partition(Result::is_ok);
                let rows: Vec<_> = rows.into_iter().map(Result::unwrap).collect();
                assert_eq!(rows, all, "{what}");
                let reported = errors.iter().filter_map(|e| e.as_ref().err()?.page());
                let heap = usize::from(table.is_heap && !all.is_empty());
                assert!(
                    reported.eq(std::iter::repeat_n(PageId::new(1, 1), heap)),
                    "{what}"
                );
                heaps += heap;
            }
            assert!(heaps > 0, "{name}");
        }
    }
}

#[test]
fn a_catalog_with_a_damaged_page_opens_when_damage_is_tolerated() {
    let Some(sound) = bytes("northwnd-655.mdf") else {
        return;
    };
    let image = MdfImage::open(&sound).unwrap();
    let database = Database::open(&image).unwrap();
    let objects = database.table(Some("sys"), "syscolpars").unwrap();
    let (rowset, before) = (&objects.rowsets[0], database.tables().len());
    let unit = database.alloc_units().iter();
    let unit = unit
        .clone()
        .find(|unit| unit.ownerid == rowset.rowsetid)
        .unwrap();
    let pages = database.owned_pages(unit).unwrap().pages;
    for page in pages {
        let mut damaged = sound.clone();
        damaged[page.page.0 as usize * PAGE_SIZE + 3000] ^= 1;
        let image = MdfImage::open(&damaged).unwrap();
        assert_eq!(Database::open(&image).unwrap_err().page(), Some(page));
        let (database, passed) = Database::open_damaged(&image).unwrap();
        assert!(passed.iter().all(|error| error.page() == Some(page)) && !passed.is_empty());
        assert_eq!(database.tables().len(), before);
    }
}

/// All rows of a table, or what keeps them from being read.
fn rows_of(database: &Database<'_>, table: &Table) -> Result<Vec<Vec<Value>>, MdfError> {
    database.rows(table)?.collect()
}

#[test]
fn a_table_whose_columns_lost_their_places_is_refused_and_not_read_as_null() {
    let Some(sound) = bytes("northwnd-655.mdf") else {
        return;
    };
    let image = MdfImage::open(&sound).unwrap();
    let whole = Database::open(&image).unwrap();
    let layouts = whole.table(Some("sys"), "sysrscols").unwrap();
    let mut units = whole.alloc_units().iter();
    let unit = units.find(|unit| unit.ownerid == layouts.rowsets[0].rowsetid);
    let (mut refused, mut read) = (0, 0);
    for page in whole.owned_pages(unit.unwrap()).unwrap().pages {
        let mut damaged = sound.clone();
        let at = page.page.0 as usize * PAGE_SIZE;
        damaged[at..at + PAGE_SIZE].fill(0);
        let image = MdfImage::open(&damaged).unwrap();
        let Ok((database, passed)) = Database::open_damaged(&image) else {
            continue;
        };
        assert!(!passed.is_empty(), "{page}");
        for table in whole.tables() {
            // A table whose name is lost with the page is not found, and so not read wrongly.
            let Some(left) = database.table(Some(&table.schema), &table.name) else {
                continue;
            };
            let all = rows_of(&whole, &table).unwrap();
            match rows_of(&database, &left) {
                Ok(rows) => {
                    assert_eq!(rows, all, "{page}: {}", table.name);
                    read += 1;
                }
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains(&table.name), "{page}: {text}");
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 5 && read > 20, "{refused} refused, {read} read");
}

#[test]
fn every_stored_column_of_a_sound_file_has_its_place_in_system_tables_too() {
    let mut tables = 0;
    for name in FILES {
        let Some(bytes) = bytes(name) else { return };
        let image = MdfImage::open(&bytes).unwrap();
        let Ok(database) = Database::open(&image) else {
            continue;
        };
        for object in database.objects() {
            let Some(table) = database.table(None, &object.name) else {
                continue;
            };
            if let Err(MdfError::Catalog { what }) = database.rows(&table) {
                panic!("{name}: {what}");
            }
            tables += 1;
        }
    }
    assert!(tables > 200, "{tables}");
}
