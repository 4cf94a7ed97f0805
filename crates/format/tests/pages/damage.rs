//! Each kind of damage is named, and no edit builds on it.

use furrow_format::{
    AllocUnitId, Change, ChangeError, HEADER_SIZE, Lsn, PAGE_SIZE, Page, PageBuf, PageError,
    PageFlags, PageId, PageInit, PageMut, PageType, RowListBuilder, apply,
};

const ROW: [u8; 10] = [0x10, 0, 7, 0, 1, 2, 3, 1, 0, 0];

/// A data page with rows of ten bytes at 96, 106, ...
fn page_of(rows: u16) -> PageBuf {
    let mut page = [0; PAGE_SIZE];
    let init = PageInit::new(PageId::new(1, 50), PageType::Data, AllocUnitId(0), 7);
    apply(&Change::Format(init), &mut page).unwrap();
    for slot in 0..rows {
        apply(&Change::InsertRow { slot, bytes: &ROW }, &mut page).unwrap();
    }
    Page::new(&page).audit().unwrap();
    page
}

fn set_slot(page: &mut PageBuf, slot: usize, offset: u16) {
    let at = PAGE_SIZE - 2 * (slot + 1);
    page[at..at + 2].copy_from_slice(&offset.to_le_bytes());
}

fn set_header(page: &mut PageBuf, at: usize, value: u16) {
    page[at..at + 2].copy_from_slice(&value.to_le_bytes());
}

const SLOT_COUNT: usize = 22;
const FREE_COUNT: usize = 28;
const FREE_DATA: usize = 30;

#[test]
fn a_slot_that_points_into_the_header_names_no_record() {
    for offset in [1, 50, HEADER_SIZE as u16 - 1] {
        let mut page = page_of(3);
        set_slot(&mut page, 1, offset);
        // Bytes that would be a record, were they not the header's.
        assert_eq!(Page::new(&page).record(1), None);
        assert_eq!(Page::new(&page).record_start(1), None);
        let error = PageError::Misplaced { slot: 1, offset };
        assert_eq!(Page::new(&page).audit(), Err(error));
        let before = page;
        let outcome = PageMut::new(&mut page).replace(1, &ROW);
        assert_eq!(outcome, Err(PageError::BadRecord { slot: 1 }));
        assert!(page == before);
    }
}

#[test]
fn rows_that_share_bytes_are_found() {
    let mut page = page_of(3);
    set_slot(&mut page, 2, 106);
    let error = PageError::Misplaced {
        slot: 2,
        offset: 106,
    };
    assert_eq!(Page::new(&page).audit(), Err(error));
}

#[test]
fn rows_beyond_the_record_area_are_found() {
    let mut page = page_of(3);
    set_header(&mut page, FREE_DATA, 120);
    let error = PageError::Misplaced {
        slot: 2,
        offset: 116,
    };
    assert_eq!(Page::new(&page).audit(), Err(error));
    let mut page = page_of(3);
    PageMut::new(&mut page).set_flags(PageFlags::ALIGNED);
    let error = PageError::Misplaced {
        slot: 1,
        offset: 106,
    };
    assert_eq!(Page::new(&page).audit(), Err(error));
}

#[test]
fn a_free_count_that_lies_stops_compaction_and_what_needs_it() {
    for lie in [8096 - 3 * 12 - 1, 8096 - 3 * 12 + 1, 0, u16::MAX] {
        let mut page = page_of(3);
        set_header(&mut page, FREE_COUNT, lie);
        let before = page;
        assert!(matches!(
            Page::new(&page).audit(),
            Err(PageError::Header { .. })
        ));
        let outcome = PageMut::new(&mut page).compact();
        assert!(
            matches!(outcome, Err(PageError::Header { .. })),
            "{outcome:?}"
        );
        assert!(page == before);
    }
    // No contiguous space: an insert must compact, and so detects the wrong header.
    let mut page = page_of(3);
    set_header(&mut page, FREE_DATA, 8180);
    set_header(&mut page, FREE_COUNT, 8000);
    let before = page;
    assert!(PageMut::new(&mut page).insert(0, &ROW).is_err());
    assert!(page == before);
}

#[test]
fn a_slot_count_beyond_the_page_is_refused_by_everything() {
    let mut page = page_of(3);
    set_header(&mut page, SLOT_COUNT, 4049);
    let before = page;
    let view = Page::new(&page);
    assert_eq!((view.record(0), view.slot_array_start()), (None, None));
    assert!(view.audit().is_err());
    let mut edit = PageMut::new(&mut page);
    assert!(edit.insert(0, &ROW).is_err());
    assert!(edit.remove(0).is_err());
    assert!(edit.remove_range(0, 4049).is_err());
    assert!(edit.replace(0, &ROW).is_err());
    assert!(edit.heap_put(0, &ROW).is_err());
    assert!(edit.heap_free(0).is_err());
    assert!(edit.patch(0, 0, &[0]).is_err());
    assert!(edit.compact().is_err());
    assert!(page == before);
}

#[test]
fn a_bad_row_in_a_list_takes_the_whole_list_back() {
    let mut rows = RowListBuilder::new();
    assert!(rows.push(&ROW) && rows.push(&ROW) && rows.push(&ROW[..9]));
    let mut page = page_of(4);
    let error = ChangeError::Page(PageError::BadRecord { slot: 6 });
    assert_eq!(apply(&Change::LoadRows(rows.rows()), &mut page), Err(error));
    assert_eq!(
        (Page::new(&page).slot_count(), Page::new(&page).free_count()),
        (4, 8096 - 48)
    );
    Page::new(&page).audit().unwrap();
}

#[test]
fn an_image_keeps_the_lsn_of_the_page_it_replaces() {
    let lsn = Lsn::new(77, 88, 99).unwrap();
    let mut source = page_of(2);
    PageMut::new(&mut source).set_lsn(Lsn::new(1, 2, 3).unwrap());
    let mut target = [0xFF; PAGE_SIZE];
    PageMut::new(&mut target).set_lsn(lsn);
    apply(&Change::image_of(&source), &mut target).unwrap();
    assert_eq!(Page::new(&target).lsn(), lsn);
    PageMut::new(&mut target).set_lsn(Page::new(&source).lsn());
    assert!(target == source);
    let short = Change::Image {
        head: &source[..95],
        tail: &[],
    };
    let long = Change::Image {
        head: &source,
        tail: &[0],
    };
    for misfit in [short, long] {
        assert!(apply(&misfit, &mut target).is_err());
        assert!(target == source);
    }
}

#[test]
fn an_emptied_page_offers_all_its_room_in_one_piece() {
    let mut page = page_of(5);
    // The last slot's row lies first on the page.
    PageMut::new(&mut page).remove(0).unwrap();
    PageMut::new(&mut page).insert(0, &ROW).unwrap();
    PageMut::new(&mut page).remove_range(0, 5).unwrap();
    assert_eq!(Page::new(&page).contiguous_room(), 8096);
    assert_eq!(Page::new(&page).free_count(), 8096);
}
