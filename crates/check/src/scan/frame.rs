//! A page's frame: header arithmetic, slot array, records inside the page and beside each other.

use super::worker::{SlotPlace, Worker};
use crate::finding::page;
use furrow_format::{BODY_SIZE, HEADER_SIZE, PAGE_SIZE, Page, PageFlags, PageId, SLOT_SIZE};

/// Unused bytes of the header.
const UNUSED: std::ops::Range<usize> = 64..96;

impl Worker<'_> {
    /// Checks the frame and collects the records of the page. `false`: the records cannot be separated.
    pub(super) fn frame(&mut self, id: PageId, unit: u32, view: Page<'_>) -> bool {
        self.slots.clear();
        let plan = self.shared.plan;
        let Some(array_start) = view.slot_array_start() else {
            let values = (
                i64::from(view.slot_count()),
                i64::from(furrow_format::MAX_SLOTS),
            );
            let test = "m_slotCnt <= MAX_SLOTS";
            self.findings.page_test(plan, unit, id, (test, values));
            return false;
        };
        let free_data = usize::from(view.free_data());
        if free_data < HEADER_SIZE || free_data > array_start {
            let values = (free_data as i64, array_start as i64);
            let test = "m_freeData <= PAGESIZE - m_slotCnt * sizeof (Slot)";
            self.findings.page_test(plan, unit, id, (test, values));
        }
        let mut sound = true;
        for slot in 0..view.slot_count() {
            sound &= self.gather(id, unit, view, slot);
        }
        sound &= self.no_overlap(id, unit);
        if sound {
            self.arithmetic(id, unit, view);
        }
        self.leftovers(id, unit, view);
        sound
    }

    /// One slot; an empty one is fine where heaps and large values are concerned, which the caller knows.
    fn gather(&mut self, id: PageId, unit: u32, view: Page<'_>, slot: u16) -> bool {
        let plan = self.shared.plan;
        let offset = view.slot_offset(slot).unwrap_or(0);
        if offset == 0 {
            return true;
        }
        let aligned = !view.flags().has(PageFlags::ALIGNED) || offset.is_multiple_of(4);
        let inside = usize::from(offset) >= HEADER_SIZE
            && usize::from(offset) < view.slot_array_start().unwrap_or(0);
        if !inside || !aligned {
            let means = format!("Slot {slot} of page {id} {}points nowhere.", plan.of(unit));
            let test = "sorted [i].offset >= PAGEHEADSIZE";
            let args = [page(id), test.into(), slot.into(), offset.into()];
            self.findings.of_unit(plan, (8941, unit), id, &args, means);
            return false;
        }
        let Some(len) = view.record(slot).map(<[u8]>::len) else {
            let values = (i64::from(slot), i64::from(offset));
            let test = "sorted[i].offset + recordLength <= PAGESIZE";
            self.findings
                .row_test(plan, unit, (id, slot), (test, values));
            return false;
        };
        if usize::from(offset) + len > usize::from(view.free_data()) {
            let means = format!(
                "The row in slot {slot} of page {id} {}reaches into free space.",
                plan.of(unit)
            );
            let test = "max <= m_freeData";
            let args = [page(id), test.into(), slot.into(), offset.into()];
            self.findings.of_unit(plan, (8943, unit), id, &args, means);
            return false;
        }
        self.slots.push(SlotPlace {
            offset,
            len: len as u16,
            slot,
        });
        true
    }

    fn no_overlap(&mut self, id: PageId, unit: u32) -> bool {
        if self.are_apart() {
            return true;
        }
        self.by_offset.clear();
        self.by_offset.extend_from_slice(&self.slots);
        if !self.by_offset.is_sorted() {
            self.by_offset.sort_unstable();
        }
        let mut end = 0;
        let mut overlapping = None;
        for place in &self.by_offset {
            if usize::from(place.offset) < end {
                overlapping = Some(*place);
            }
            end = end.max(usize::from(place.offset) + usize::from(place.len));
        }
        let Some(place) = overlapping else {
            return true;
        };
        let plan = self.shared.plan;
        let means = format!(
            "Rows of page {id} {}overlap at slot {}.",
            plan.of(unit),
            place.slot
        );
        let test = "sorted[i].offset >= max";
        let args = [
            page(id),
            test.into(),
            place.slot.into(),
            place.offset.into(),
        ];
        self.findings.of_unit(plan, (8942, unit), id, &args, means);
        false
    }

    /// Whether no two records have a byte in common: each marks its bytes, which is cheaper than to sort.
    pub(super) fn are_apart(&self) -> bool {
        const WORDS: usize = PAGE_SIZE / 64;
        let mut taken = [0_u64; WORDS];
        self.slots.iter().all(|place| {
            let (start, len) = (usize::from(place.offset), usize::from(place.len));
            let Some(last) = (start + len).checked_sub(1).filter(|_| len > 0) else {
                return true;
            };
            let Some(words) = taken.get_mut(start / 64..=last / 64) else {
                return false;
            };
            let mut mask = u64::MAX << (start % 64);
            let (mut is_free, mut left) = (true, words.len());
            for word in words {
                left -= 1;
                if left == 0 {
                    mask &= u64::MAX >> (63 - last % 64);
                }
                is_free &= *word & mask == 0;
                *word |= mask;
                mask = u64::MAX;
            }
            is_free
        })
    }

    fn arithmetic(&mut self, id: PageId, unit: u32, view: Page<'_>) {
        let room: usize = self
            .slots
            .iter()
            .map(|place| view.room_of(place.len.into()))
            .sum();
        let taken = room + SLOT_SIZE * usize::from(view.slot_count());
        let free = BODY_SIZE as i64 - taken as i64;
        if free != i64::from(view.free_count()) {
            let values = (free, i64::from(view.free_count()));
            let test = "m_freeCnt == freeCnt";
            self.findings
                .page_test(self.shared.plan, unit, id, (test, values));
        }
    }

    /// Fields that no sound page has set.
    pub(super) fn leftovers(&mut self, id: PageId, unit: u32, view: Page<'_>) {
        let plan = self.shared.plan;
        let bytes = view.bytes().get(UNUSED).unwrap_or_default();
        let mut broken = |test: &str, value: i64| {
            self.findings.page_test(plan, unit, id, (test, (value, 0)));
        };
        if view.header_version() != 1 {
            broken("m_headerVersion == 1", view.header_version().into());
        }
        if bytes.iter().any(|&byte| byte != 0) {
            broken("m_reserved == 0", 1);
        }
        if view.xact_reserved() > view.reserved_count() {
            broken(
                "m_xactReserved <= m_reservedCnt",
                view.xact_reserved().into(),
            );
        }
        if view.reserved_count() > view.free_count() {
            broken("m_reservedCnt <= m_freeCnt", view.reserved_count().into());
        }
        if view.type_flags() & !0x7 != 0 {
            broken("m_typeFlagBits", view.type_flags().into());
        }
    }
}
