//! Random sequences of changes against a model: rows as a plain list.
//!
//! After each change: the page holds the model's rows, every page invariant holds, `m_lsn` is
//! untouched, and the change read back from its bytes does the same to a copy of the page.

use crate::support::{OnFailure, Rng, record, seeds};
use furrow_format::{
    AllocUnitId, BODY_SIZE, Change, ChangeError, ChangeReader, ChangeWriter, Lsn, PAGE_SIZE, Page,
    PageBuf, PageError, PageFlags, PageId, PageInit, PageMut, PageType, RowListBuilder, apply,
};

const ID: PageId = PageId::new(3, 4711);

/// What a page should hold. `None`: an empty slot of a heap.
struct Model {
    rows: Vec<Option<Vec<u8>>>,
    kind: PageType,
    pminlen: u16,
    heap: bool,
    aligned: bool,
}

impl Model {
    fn new(rng: &mut Rng) -> Model {
        let index = rng.chance(40);
        Model {
            rows: Vec::new(),
            kind: if index {
                PageType::Index
            } else {
                PageType::Data
            },
            pminlen: (if index { 1 } else { 4 } + rng.below(20)) as u16,
            heap: !index && rng.chance(50),
            aligned: rng.chance(20),
        }
    }

    fn room(&self, len: usize) -> usize {
        if self.aligned {
            len.next_multiple_of(4)
        } else {
            len
        }
    }

    fn free(&self) -> usize {
        let rows = self.rows.iter().flatten();
        BODY_SIZE - 2 * self.rows.len() - rows.map(|row| self.room(row.len())).sum::<usize>()
    }

    fn used_slot(&self, rng: &mut Rng) -> Option<usize> {
        let used: Vec<_> = (0..self.rows.len())
            .filter(|&slot| self.rows[slot].is_some())
            .collect();
        used.get(rng.below(used.len())).copied()
    }

    fn row(&self, rng: &mut Rng) -> Vec<u8> {
        record(rng, self.kind == PageType::Index, self.pminlen)
    }

    /// The page's rows are the model's, and the page is sound.
    fn check(&self, bytes: &PageBuf) {
        let page = Page::new(bytes);
        page.audit().unwrap();
        assert_eq!(usize::from(page.free_count()), self.free());
        assert_eq!(usize::from(page.slot_count()), self.rows.len());
        for (slot, row) in self.rows.iter().enumerate() {
            assert_eq!(page.record(slot as u16), row.as_deref(), "slot {slot}");
        }
    }
}

/// Applies `change` both ways; an error must leave the page's rows alone.
fn do_and_redo(change: &Change<'_>, bytes: &mut PageBuf) -> Result<(), ChangeError> {
    let mut log = Vec::new();
    let mut writer = ChangeWriter::new(&mut log);
    writer.push(ID, change);
    writer.push(ID, &Change::SetLevel { level: 9 });
    let read: Result<Vec<_>, _> = ChangeReader::new(&log).collect();
    assert_eq!(
        read.as_deref().unwrap(),
        [(ID, *change), (ID, Change::SetLevel { level: 9 })]
    );

    // Redo starts from an image on disk: same rows, other stale bytes.
    let mut redone = [0xEE; PAGE_SIZE];
    PageMut::new(&mut redone).set_lsn(Page::new(bytes).lsn());
    apply(&Change::image_of(bytes), &mut redone).unwrap();
    let (before, mut copy) = (*bytes, *bytes);
    let outcome = apply(change, bytes);
    let (_, decoded) = ChangeReader::new(&log).next().unwrap().unwrap();
    assert_eq!(apply(&decoded, &mut copy), outcome);
    assert!(copy == *bytes, "a decoded change does something else");
    assert_eq!(apply(&decoded, &mut redone), outcome);
    let page = Page::new(bytes);
    assert_eq!(Page::new(&redone).bytes()[..96], page.bytes()[..96]);
    assert!(Page::new(&redone).records().eq(page.records()));
    assert_eq!(page.lsn(), Page::new(&before).lsn());
    if outcome.is_err() {
        assert!(page.records().eq(Page::new(&before).records()));
        assert_eq!(page.free_count(), Page::new(&before).free_count());
    }
    outcome
}

/// The outcome must be success where the space suffices, else "no room".
fn expect(outcome: Result<(), ChangeError>, needed: usize, free: usize) -> bool {
    match outcome {
        Ok(()) => assert!(needed <= free, "took {needed} of {free}"),
        Err(ChangeError::Page(PageError::NoRoom { .. })) => {
            assert!(needed > free, "{needed} of {free} refused");
        }
        Err(error) => panic!("{error}"),
    }
    outcome.is_ok()
}

fn add(rng: &mut Rng, model: &mut Model, page: &mut PageBuf) {
    let (row, free) = (model.row(rng), model.free());
    let bytes = &row[..];
    let empty = Page::new(page).first_empty_slot();
    assert_eq!(
        empty.map(usize::from),
        model.rows.iter().position(Option::is_none)
    );
    if model.heap {
        let slot = empty.unwrap_or(model.rows.len() as u16);
        let entry = if empty.is_some() { 0 } else { 2 };
        let outcome = do_and_redo(&Change::HeapPut { slot, bytes }, page);
        if expect(outcome, model.room(row.len()) + entry, free) {
            match model.rows.get_mut(usize::from(slot)) {
                Some(place) => *place = Some(row),
                None => model.rows.push(Some(row)),
            }
        }
    } else {
        let slot = rng.below(model.rows.len() + 1);
        assert_eq!(
            Page::new(page).fits(row.len()),
            model.room(row.len()) + 2 <= free
        );
        let outcome = do_and_redo(
            &Change::InsertRow {
                slot: slot as u16,
                bytes,
            },
            page,
        );
        if expect(outcome, model.room(row.len()) + 2, free) {
            model.rows.insert(slot, Some(row));
        }
    }
}

fn load(rng: &mut Rng, model: &mut Model, page: &mut PageBuf) {
    let rows: Vec<_> = (0..rng.below(12)).map(|_| model.row(rng)).collect();
    let mut list = RowListBuilder::new();
    assert!(rows.iter().all(|row| list.push(row)));
    let needed = rows.iter().map(|row| model.room(row.len()) + 2).sum();
    let outcome = do_and_redo(&Change::LoadRows(list.rows()), page);
    if expect(outcome, needed, model.free()) {
        model.rows.extend(rows.into_iter().map(Some));
    }
}

fn remove(rng: &mut Rng, model: &mut Model, page: &mut PageBuf) {
    if model.heap {
        if let Some(slot) = model.used_slot(rng) {
            do_and_redo(&Change::HeapFree { slot: slot as u16 }, page).unwrap();
            model.rows[slot] = None;
        }
    } else if rng.chance(85) {
        if let Some(slot) = model.used_slot(rng) {
            do_and_redo(&Change::RemoveRow { slot: slot as u16 }, page).unwrap();
            model.rows.remove(slot);
        }
    } else {
        let from = rng.below(model.rows.len());
        let count = rng.below(model.rows.len() - from + 1).min(8);
        let change = Change::RemoveRows {
            from: from as u16,
            count: count as u16,
        };
        do_and_redo(&change, page).unwrap();
        model.rows.drain(from..from + count);
    }
}

fn change_row(rng: &mut Rng, model: &mut Model, page: &mut PageBuf) {
    let Some(slot) = model.used_slot(rng) else {
        return;
    };
    let old = model.rows[slot].clone().unwrap();
    if rng.chance(60) {
        let row = model.row(rng);
        let change = Change::ReplaceRow {
            slot: slot as u16,
            bytes: &row,
        };
        let outcome = do_and_redo(&change, page);
        if expect(
            outcome,
            model.room(row.len()),
            model.free() + model.room(old.len()),
        ) {
            model.rows[slot] = Some(row);
        }
        return;
    }
    let offset = rng.below(old.len());
    let len = rng.below(old.len() - offset + 1);
    let bytes = rng.bytes(len);
    let change = Change::PatchRow {
        slot: slot as u16,
        offset: offset as u16,
        bytes: &bytes,
    };
    // A patch of the frame is refused where it changes the length, and harmless where it does not.
    if do_and_redo(&change, page).is_ok() {
        let row = model.rows[slot].as_mut().unwrap();
        row[offset..offset + len].copy_from_slice(&bytes);
    }
}

fn change_header(rng: &mut Rng, page: &mut PageBuf) {
    let (prev, next) = (
        PageId::new(1, rng.next() as u32),
        PageId::new(2, rng.next() as u32),
    );
    let before = (Page::new(page).prev(), Page::new(page).next());
    let (prev, next) = (
        rng.chance(50).then_some(prev),
        rng.chance(50).then_some(next),
    );
    do_and_redo(&Change::SetLinks { prev, next }, page).unwrap();
    let after = (Page::new(page).prev(), Page::new(page).next());
    assert_eq!(after, (prev.unwrap_or(before.0), next.unwrap_or(before.1)));
    let ghosts = Page::new(page).ghost_count();
    do_and_redo(&Change::SetGhosts { delta: 3 }, page).unwrap();
    do_and_redo(&Change::SetGhosts { delta: -2 }, page).unwrap();
    assert_eq!(Page::new(page).ghost_count(), ghosts + 1);
    assert!(
        do_and_redo(
            &Change::SetGhosts {
                delta: -2 - ghosts as i16
            },
            page
        )
        .is_err()
    );
}

#[test]
fn random_changes_keep_page_and_model_equal() {
    for seed in seeds(150) {
        let _named = OnFailure(seed);
        let mut rng = Rng::new(seed);
        let mut model = Model::new(&mut rng);
        let mut page = [rng.next() as u8; PAGE_SIZE];
        PageMut::new(&mut page).set_lsn(Lsn::new(7, 8, 9).unwrap());
        let unit = AllocUnitId::from_parts(256, 99);
        let init = PageInit::new(ID, model.kind, unit, model.pminlen);
        apply(&Change::Format(init), &mut page).unwrap();
        if model.aligned {
            PageMut::new(&mut page).set_flags(PageFlags::ALIGNED);
        }
        for step in 0..400 {
            // Fill and drain in turns, so that pages get full and fragmented.
            match rng.below(if step / 50 % 2 == 0 { 10 } else { 14 }) {
                0..=4 => add(&mut rng, &mut model, &mut page),
                5 => load(&mut rng, &mut model, &mut page),
                6..=7 => change_row(&mut rng, &mut model, &mut page),
                8 => change_header(&mut rng, &mut page),
                9 => {
                    PageMut::new(&mut page).compact().unwrap();
                    assert_eq!(Page::new(&page).contiguous_room(), model.free());
                }
                _ => remove(&mut rng, &mut model, &mut page),
            }
            model.check(&page);
        }
        assert_eq!(Page::new(&page).lsn(), Lsn::new(7, 8, 9).unwrap());
        assert_eq!(
            (Page::new(&page).page_id(), Page::new(&page).unit()),
            (ID, unit)
        );
    }
}

#[test]
fn a_page_fills_to_its_last_byte() {
    let mut page = [0; PAGE_SIZE];
    let init = PageInit::new(ID, PageType::Index, AllocUnitId(0), 11);
    apply(&Change::Format(init), &mut page).unwrap();
    let row = [0x16, 2, 2, 0, 0, 0x2b, 0x8f, 0, 0, 6, 0, 3, 0, 0];
    for slot in 0..506 {
        apply(&Change::InsertRow { slot, bytes: &row }, &mut page).unwrap();
    }
    // The figures of the published page with 506 rows of 14 bytes.
    let view = Page::new(&page);
    assert_eq!(
        (view.free_data(), view.free_count(), view.slot_count()),
        (7180, 0, 506)
    );
    view.audit().unwrap();
    let full = PageError::NoRoom {
        needed: 16,
        free: 0,
    };
    let outcome = apply(
        &Change::InsertRow {
            slot: 0,
            bytes: &row,
        },
        &mut page,
    );
    assert_eq!(outcome, Err(ChangeError::Page(full)));
}

#[test]
fn the_largest_row_fits_an_empty_page() {
    let mut page = [0; PAGE_SIZE];
    let init = PageInit::new(ID, PageType::Data, AllocUnitId(0), 8057);
    apply(&Change::Format(init), &mut page).unwrap();
    let mut row = vec![0x10, 0, 0, 0];
    row.resize(8057, b'a');
    row.extend([1, 0, 0]);
    row[2..4].copy_from_slice(&8057_u16.to_le_bytes());
    apply(
        &Change::HeapPut {
            slot: 0,
            bytes: &row,
        },
        &mut page,
    )
    .unwrap();
    assert_eq!(Page::new(&page).record(0), Some(&row[..]));
    assert_eq!(Page::new(&page).free_count(), 8096 - 8060 - 2);
}
