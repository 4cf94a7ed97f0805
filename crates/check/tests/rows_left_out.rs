//! A row that breaks a rule by itself is no partner of an index row. Files that are absent are skipped.

use furrow_check::{Options, Report, check};
use furrow_datafile::MemoryFiles;
use furrow_format::{
    FileId, PAGE_SIZE, Page, PageBuf, PageId, PageNo, PageType, stamp_checksum, untear, verify,
};
use std::path::Path;

fn sample(name: &str) -> Option<Vec<u8>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    let dir = std::env::var_os("FURROW_SAMPLES").map_or(beside, Into::into);
    let read = furrow_io::read_file(&furrow_io::SystemVolume::new(), &dir.join(name));
    if read.is_err() {
        println!("skipped: samples absent ({name})");
    }
    read.ok()
}

/// The page after the status of the record in a slot got a bit that none may have.
fn with_foreign_bit(page: &PageBuf, slot: u16) -> Option<PageBuf> {
    let mut page = *page;
    untear(&mut page);
    let offset = Page::new(&page).slot_offset(slot)?;
    *page.get_mut(usize::from(offset))? ^= 0x80;
    stamp_checksum(&mut page);
    Some(page)
}

fn count(report: &Report, number: u32) -> usize {
    let of_number = report.findings.iter().filter(|f| f.number() == number);
    of_number.count()
}

#[test]
fn index_rows_of_a_row_that_is_damaged_have_no_partner() {
    let Some(sound) = sample("northwnd-655.mdf") else {
        return;
    };
    let (pages, _) = sound.as_chunks::<PAGE_SIZE>();
    let (mut seen, mut with_indexes) = (0, 0);
    for (number, page) in (200..).zip(pages.iter().skip(200)) {
        let id = PageId {
            file: FileId(1),
            page: PageNo(number),
        };
        let view = Page::new(page);
        let is_data = view.page_type() == PageType::Data && view.slot_count() > 4;
        if !is_data || verify(page, id).is_err() || seen == 40 {
            continue;
        }
        let found = [0, 2, 4].map(|slot| {
            let mut files = MemoryFiles::new();
            files.add(&sound).unwrap();
            let damaged = with_foreign_bit(page, slot).unwrap();
            files.pages_mut(FileId(1)).unwrap()[number as usize] = damaged;
            let report = check(&files, &Options::default(), None).unwrap();
            (
                count(&report, 8944),
                count(&report, 8951),
                count(&report, 8952),
            )
        });
        let [first, ..] = found;
        assert!(found.iter().all(|found| *found == first), "{id}: {found:?}");
        // A page that is in use says which row is damaged.
        if first.0 == 1 {
            assert_eq!(first.1, 0, "{id}: the table's row is no row");
            (seen, with_indexes) = (seen + 1, with_indexes + usize::from(first.2 > 0));
        }
    }
    assert!(with_indexes > 5, "{with_indexes} of {seen} pages");
}
