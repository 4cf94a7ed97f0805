//! Pages of all kinds, and the changes that redo makes to them.

use super::Target;
use super::havoc::{Dice, damage, damage_any};
use super::records::look_at;
use furrow_datafile::PageSource;
use furrow_format::{
    Bitmap, Boot, Change, ChangeReader, ChangeWriter, FileHeader, Iam, PAGE_SIZE, Page, PageBuf,
    PageId, PageInit, PageMut, PageType, Pfs, Record, RowListBuilder, TxnId, admit, apply,
    page_checksum, stamp_checksum, verify,
};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Range;

/// Pages of a kind in the corpus.
const OF_A_KIND: usize = 8;
/// More slots than a page can have.
const ENOUGH_SLOTS: u16 = 4_100;

/// Sound pages of databases created by the engine, some of each kind.
pub(super) fn corpus() -> Result<Vec<PageBuf>, String> {
    let mut kinds: BTreeMap<(u8, u8), Vec<PageBuf>> = BTreeMap::new();
    for number in 0..super::DATABASES {
        let files = super::database(number)?;
        for file in files.files() {
            for page in files.pages(file.id) {
                let view = Page::new(page);
                let kind = (page[1], view.level().min(2));
                let of = kinds.entry(kind).or_default();
                if of.len() < OF_A_KIND && page.iter().any(|byte| *byte != 0) {
                    of.push(*page);
                }
            }
        }
    }
    let pages: Vec<PageBuf> = kinds.into_values().flatten().collect();
    match pages.len() {
        0 => Err("no page".to_owned()),
        _ => Ok(pages),
    }
}

/// The header, the slot array, and the first bytes of the first records.
fn hot(page: &PageBuf) -> [Range<usize>; 4] {
    let view = Page::new(page);
    let slots = usize::from(view.slot_count()).clamp(1, 200);
    let first = view.slot_offset(0).map_or(96, usize::from);
    let records = first.min(PAGE_SIZE - 8)..(first + 40).min(PAGE_SIZE);
    [0..60, PAGE_SIZE - 2 * slots..PAGE_SIZE, records, 96..110]
}

fn says(what: &str) -> impl Fn(&dyn std::fmt::Debug) -> String + '_ {
    move |error| format!("{what}: {error:?}")
}

/// Looks at a page in every way there is.
fn look(page: &PageBuf) -> Result<(), String> {
    let view = Page::new(page);
    black_box((view.unit(), view.prev(), view.next(), view.ghost_count()));
    black_box((view.lsn(), view.torn_bits(), view.contiguous_room()));
    black_box((view.first_empty_slot(), view.fits(100), view.flags()));
    let records = view.records().count();
    if records > usize::from(ENOUGH_SLOTS) {
        return Err(format!("{records} records on a page"));
    }
    for slot in 0..view.slot_count().min(ENOUGH_SLOTS) {
        let Some(bytes) = view.record(slot) else {
            continue;
        };
        if let Some(record) = Record::of_page(view.page_type(), view.pminlen(), bytes) {
            look_at(record)?;
        }
        black_box(Record::forwarded_to(bytes));
    }
    if let Some(pfs) = Pfs::new(page) {
        black_box(pfs.iter().filter(|byte| byte.is_allocated()).count());
        black_box(pfs.allocated_in_extent(0));
    }
    if let Some(map) = Bitmap::new(page) {
        let set = map.iter_set(Bitmap::BITS).count();
        let runs: usize = map
            .runs(Bitmap::BITS)
            .filter(|run| run.1)
            .map(|run| (run.0.end - run.0.start) as usize)
            .sum();
        let counted = map.count(Bitmap::BITS) as usize;
        if set != runs || set != counted {
            return Err(format!(
                "a bitmap of {counted} bits gives {set}, in runs {runs}"
            ));
        }
    }
    if let Some(iam) = Iam::new(page) {
        black_box((
            iam.sequence(),
            iam.interval_start(),
            iam.single_pages().count(),
        ));
        black_box(iam.extents().first_set(0, Bitmap::BITS));
    }
    black_box((FileHeader::decode(page).is_ok(), Boot::decode(page).is_ok()));
    Ok(())
}

/// The way to the disk and back: a stamped page is accepted, and none of its bits may change.
fn guard(page: &PageBuf, dice: &mut Dice) -> Result<(), String> {
    let mut copy = *page;
    let id = Page::new(&copy).page_id();
    black_box(verify(&copy, id).is_ok());
    stamp_checksum(&mut copy);
    black_box(page_checksum(&copy));
    admit(&mut copy.clone(), id).map_err(|e| says("a stamped page is refused")(&e))?;
    let (at, bit) = (dice.below(PAGE_SIZE), dice.below(8));
    if let Some(byte) = copy.get_mut(at) {
        *byte ^= 1 << bit;
    }
    // The flag of the page's protection is the one bit that a checksum cannot guard.
    let protected = Page::new(&copy).flags() == Page::new(page).flags() || !(4..6).contains(&at);
    let stamped = Page::new(&copy)
        .flags()
        .has(furrow_format::PageFlags::CHECKSUM);
    if protected && stamped && verify(&copy, Page::new(&copy).page_id()).is_ok() {
        return Err(format!(
            "byte {at} bit {bit} of a stamped page changed unnoticed"
        ));
    }
    Ok(())
}

fn live(page: &PageBuf) -> Vec<Option<Vec<u8>>> {
    let view = Page::new(page);
    let slots = 0..view.slot_count();
    slots
        .map(|slot| view.record(slot).map(<[u8]>::to_vec))
        .collect()
}

/// An edit of a sound page leaves it sound; one that is refused leaves its records alone.
fn edit(page: &PageBuf, dice: &mut Dice) -> Result<(), String> {
    let view = Page::new(page);
    let rows = matches!(view.page_type(), PageType::Data | PageType::Index);
    if !rows || view.slot_count() == 0 || view.audit().is_err() {
        return Ok(());
    }
    let slots = usize::from(view.slot_count());
    let slot = dice.below(slots + 2) as u16;
    let other = view.record(dice.below(slots) as u16);
    let record = other.unwrap_or_default().to_vec();
    if record.is_empty() {
        return Ok(());
    }
    let before = live(page);
    let mut copy = *page;
    let mut edited = PageMut::new(&mut copy);
    let sort = dice.below(8);
    let done = match sort {
        0 => edited.insert(slot, &record),
        1 => edited.remove(slot),
        2 => edited.remove_range(slot, dice.below(slots + 2) as u16),
        3 => edited.replace(slot, &record),
        4 => edited.heap_put(slot, &record),
        5 => edited.heap_free(slot),
        6 => edited.append(&record),
        _ => edited.compact(),
    };
    Page::new(&copy)
        .audit()
        .map_err(|e| format!("edit {sort} of slot {slot} gives {done:?} and leaves {e:?}"))?;
    if (done.is_err() || sort == 7) && live(&copy) != before {
        return Err(format!(
            "edit {sort} of slot {slot} gives {done:?} and changed records"
        ));
    }
    Ok(())
}

struct Pages {
    corpus: Vec<PageBuf>,
}

/// Pages.
pub(super) fn make() -> Result<Box<dyn Target>, String> {
    Ok(Box::new(Pages { corpus: corpus()? }))
}

fn drawn(corpus: &[PageBuf], dice: &mut Dice) -> PageBuf {
    let page = dice.pick(corpus);
    page.copied().unwrap_or([0; PAGE_SIZE])
}

impl Target for Pages {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let mut page = drawn(&self.corpus, dice);
        let hot = hot(&page);
        damage(&mut page, &hot, dice);
        look(&page)?;
        edit(&page, dice)?;
        match dice.one_in(8) {
            true => guard(&page, dice),
            false => Ok(()),
        }
    }
}

struct Changes {
    corpus: Vec<PageBuf>,
    bytes: Vec<u8>,
}

/// Changes.
pub(super) fn make_changes() -> Result<Box<dyn Target>, String> {
    Ok(Box::new(Changes {
        corpus: corpus()?,
        bytes: Vec::new(),
    }))
}

/// A group of sensible changes of a page, with what they have to do with its records.
fn group(page: &PageBuf, dice: &mut Dice, out: &mut Vec<u8>) {
    let view = Page::new(page);
    let slots = usize::from(view.slot_count());
    let record = view
        .record(dice.below(slots.max(1)) as u16)
        .unwrap_or(&[0x10, 0, 4, 0]);
    let slot = dice.below(slots + 1) as u16;
    let mut rows = RowListBuilder::new();
    let _fits = rows.push(record);
    let id = view.page_id();
    let init = PageInit::new(id, view.page_type(), view.unit(), view.pminlen());
    let mut group = ChangeWriter::new(out);
    for _ in 0..1 + dice.below(3) {
        let change = match dice.below(14) {
            0 => Change::Format(init),
            1 => Change::InsertRow {
                slot,
                bytes: record,
            },
            2 => Change::RemoveRow { slot },
            3 => Change::RemoveRows {
                from: slot,
                count: dice.below(4) as u16,
            },
            4 => Change::LoadRows(rows.rows()),
            5 => Change::ReplaceRow {
                slot,
                bytes: record,
            },
            6 => Change::PatchRow {
                slot,
                offset: dice.below(20) as u16,
                bytes: &[1, 2],
            },
            7 => Change::HeapPut {
                slot,
                bytes: record,
            },
            8 => Change::HeapFree { slot },
            9 => Change::SetLinks {
                prev: Some(id),
                next: None,
            },
            10 => Change::SetGhosts {
                delta: dice.below(5) as i16 - 2,
            },
            11 => Change::SetReserved {
                reserved: 9,
                xact_reserved: 3,
                xdes: TxnId(7),
            },
            12 => Change::SetBits {
                first: slot,
                count: 9,
                value: true,
            },
            _ => Change::image_of(page),
        };
        let other = PageId {
            page: furrow_format::PageNo(id.page.0 ^ 1),
            ..id
        };
        group.push(if dice.one_in(4) { other } else { id }, &change);
    }
}

/// Whether a change that a page takes leaves a sound page sound.
fn keeps_sound(change: &Change<'_>) -> bool {
    // A patch or an image is as sound as its bytes are.
    !matches!(
        change,
        Change::PatchBytes { .. } | Change::PatchRow { .. } | Change::Image { .. }
    )
}

impl Target for Changes {
    fn read_one(&mut self, dice: &mut Dice) -> Result<(), String> {
        let mut page = drawn(&self.corpus, dice);
        self.bytes.clear();
        group(&page, dice, &mut self.bytes);
        damage_any(&mut self.bytes, dice);
        for entry in ChangeReader::new(&self.bytes) {
            let Ok((id, change)) = entry else { break };
            let mut again = Vec::new();
            ChangeWriter::new(&mut again).push(id, &change);
            if ChangeReader::new(&again).next() != Some(Ok((id, change))) {
                return Err(format!("{change:?} is not read as it is written"));
            }
            let sound = Page::new(&page).audit().is_ok();
            let before = page;
            let done = apply(&change, &mut page);
            let is_sound = Page::new(&page).audit();
            if sound && is_sound.is_err() && keeps_sound(&change) {
                let text = format!("{change:?} gives {done:?}, and a sound page is {is_sound:?}");
                return Err(text.chars().take(400).collect());
            }
            if done.is_err() && sound && live(&before) != live(&page) {
                return Err(format!(
                    "{:.300} is refused and changed records",
                    format!("{change:?}")
                ));
            }
        }
        Ok(())
    }
}
