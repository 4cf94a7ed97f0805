//! Heaps: intact rows keep their addresses. Unreadable pages and records that break a rule are removed.

use super::state::{State, Used};
use crate::scan::home_of;
use furrow_format::{
    PAGE_SIZE, Page, PageBuf, PageId, PageInit, PageMut, PageType, PfsByte, Record, RecordKind,
    RowId, Status,
};
use std::collections::{BTreeMap, BTreeSet};

/// A row of a heap that is not a stub.
#[derive(Debug, Clone)]
pub(super) struct HeapRow {
    pub(super) at: RowId,
    /// Address of its stub, or its own address.
    pub(super) home: RowId,
    pub(super) bytes: Vec<u8>,
}

/// Records of a page that stay, by slot.
type Kept = BTreeMap<u16, Vec<u8>>;

impl State<'_> {
    /// Repairs a heap, and returns its rows. With `mend` false nothing changes.
    pub(super) fn mend_heap(&mut self, unit: u32, mend: bool) -> Vec<HeapRow> {
        let mut pages: BTreeMap<PageId, Kept> = BTreeMap::new();
        let ids: Vec<PageId> = self.pages_in_use(unit);
        for id in ids {
            let Some((page, Ok(_))) = self.library.get(id) else {
                continue;
            };
            if Page::new(&page).page_type() != PageType::Data {
                if mend {
                    self.used.remove(&id);
                    self.lose_page(unit, id);
                }
                continue;
            }
            let (mut kept, mut bad) = (Kept::new(), Vec::new());
            self.judged(id, unit, &page, |judged| {
                for row in judged {
                    if row.sound {
                        kept.insert(row.slot, row.bytes.to_vec());
                    } else if !row.ghost {
                        bad.push(row.slot);
                    }
                }
            });
            for slot in bad.iter().filter(|_| mend) {
                let at = RowId {
                    page: id,
                    slot: *slot,
                };
                self.lose_row(unit, id, format!("RID = {at}"));
            }
            pages.insert(id, kept);
        }
        if mend {
            self.note_bad_pages(unit);
            self.match_stubs(unit, &mut pages);
            self.write_heap(unit, &pages);
        }
        let mut rows = Vec::new();
        for (id, kept) in pages {
            for (slot, bytes) in kept {
                let status = Status(bytes.first().copied().unwrap_or(0));
                if status.is_ghost() || status.kind() == RecordKind::ForwardingStub {
                    continue;
                }
                let at = RowId { page: id, slot };
                let home = Record::data(&bytes).and_then(|record| home_of(&record));
                rows.push(HeapRow {
                    at,
                    home: home.unwrap_or(at),
                    bytes,
                });
            }
        }
        rows
    }

    fn pages_in_use(&self, unit: u32) -> Vec<PageId> {
        let of_unit = self.used.iter().filter(|(_, used)| used.unit == unit);
        of_unit.map(|(id, _)| *id).collect()
    }

    /// Keeps pairs of a stub and a moved row that point at each other. Other stubs and moved rows are
    /// removed.
    fn match_stubs(&mut self, unit: u32, pages: &mut BTreeMap<PageId, Kept>) {
        let mut stubs: BTreeMap<RowId, RowId> = BTreeMap::new();
        let mut moved: BTreeMap<RowId, RowId> = BTreeMap::new();
        for (id, kept) in pages.iter() {
            for (slot, bytes) in kept {
                let at = RowId {
                    page: *id,
                    slot: *slot,
                };
                let status = Status(bytes.first().copied().unwrap_or(0));
                if status.kind() == RecordKind::ForwardingStub {
                    stubs.insert(at, Record::forwarded_to(bytes).unwrap_or_default());
                } else if let Some(home) = Record::data(bytes).and_then(|r| home_of(&r)) {
                    moved.insert(at, home);
                }
            }
        }
        let lost_stubs = stubs.iter().filter(|(at, to)| moved.get(*to) != Some(*at));
        let lost_rows = moved
            .iter()
            .filter(|(at, home)| stubs.get(*home) != Some(*at));
        let lost: Vec<RowId> = lost_stubs
            .map(|(at, _)| *at)
            .chain(lost_rows.map(|(at, _)| *at))
            .collect();
        for at in lost {
            if let Some(kept) = pages.get_mut(&at.page) {
                kept.remove(&at.slot);
            }
            self.lose_row(unit, at.page, format!("RID = {at}"));
        }
    }

    fn write_heap(&mut self, unit: u32, pages: &BTreeMap<PageId, Kept>) {
        for (id, kept) in pages {
            if let Some((before, Ok(_))) = self.library.get(*id) {
                let after = self.heap_page(unit, *id, &before, kept);
                self.put_heap_page(unit, *id, after);
            }
        }
    }

    fn put_heap_page(&mut self, unit: u32, id: PageId, page: Box<PageBuf>) {
        let full = super::owners::fullness_of(self.shared, unit, Page::new(&page));
        let byte = PfsByte(PfsByte::ALLOCATED).with_fullness(full);
        self.used.insert(id, Used { unit, byte });
        self.put(id, page);
    }

    /// The page with these records alone, or the page as it was if nothing is wrong with it.
    fn heap_page(&self, unit: u32, id: PageId, before: &PageBuf, kept: &Kept) -> Box<PageBuf> {
        let view = Page::new(before);
        let whole = kept.len() == view.records().count()
            && !self.findings.iter().any(|f| f.page == Some(id));
        if whole {
            return Box::new(*before);
        }
        let plan = self.plan();
        let fixed_end = plan.rows_of(unit).map_or(0, |rows| rows.leaf.fixed_end);
        let unit_id = furrow_format::AllocUnitId(plan.unit(unit).map_or(0, |u| u.id));
        let mut page: Box<PageBuf> = Box::new([0; PAGE_SIZE]);
        let mut fresh = PageMut::new(&mut page);
        fresh.format(&PageInit::new(id, PageType::Data, unit_id, fixed_end));
        let last = kept
            .iter()
            .filter(|(_, bytes)| !Status(bytes.first().copied().unwrap_or(0)).is_ghost())
            .map(|(slot, _)| *slot)
            .next_back();
        let Some(last) = last else {
            return page;
        };
        // Slots are created in order; those without a record are emptied again.
        let filler: &[u8] = kept.get(&last).map_or(&[], Vec::as_slice);
        let mut empty = Vec::new();
        for slot in 0..=last {
            let live = kept
                .get(&slot)
                .filter(|b| !Status(b.first().copied().unwrap_or(0)).is_ghost());
            match live {
                Some(bytes) => {
                    let _fits = fresh.heap_put(slot, bytes);
                }
                None => {
                    let _fits = fresh.heap_put(slot, filler);
                    empty.push(slot);
                    let _freed = fresh.heap_free(slot);
                    let _compact = fresh.compact();
                }
            }
        }
        debug_assert!(
            empty
                .iter()
                .all(|slot| Page::new(&page).slot_offset(*slot) == Some(0)),
            "slots without a record are empty"
        );
        page
    }

    /// Removes rows from a heap.
    pub(super) fn free_heap_rows(&mut self, unit: u32, lost: &BTreeSet<RowId>) {
        for at in lost {
            if let Some(mut page) = self.page(at.page)
                && PageMut::new(&mut page).heap_free(at.slot).is_ok()
            {
                self.put_heap_page(unit, at.page, page);
            }
        }
    }
}
