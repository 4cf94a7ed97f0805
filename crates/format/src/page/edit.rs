//! Edits of records and slot array.
//!
//! Space is taken behind the last record. When the page has the bytes but not in one piece, it is compacted
//! first: records are written again in slot order, and the bytes behind them become zero.

use super::header::{BODY_SIZE, HEADER_SIZE, MAX_SLOTS, SLOT_SIZE};
use crate::bytes::put;
use crate::{PAGE_SIZE, Page, PageBuf, PageError, PageMut, record_len};

/// Longest patch whose displaced bytes are saved on the stack.
const SMALL_PATCH: usize = 32;

/// Where a sound slot's record lies and how much space it takes.
#[derive(Clone, Copy)]
struct Place {
    offset: usize,
    room: usize,
}

impl Place {
    fn end(self) -> usize {
        self.offset + self.room
    }
}

impl PageMut<'_> {
    /// Inserts a record as slot `slot`; the slots from there on move up by one (index pages).
    pub fn insert(&mut self, slot: u16, record: &[u8]) -> Result<(), PageError> {
        let count = self.as_page().slot_count();
        if slot > count {
            return Err(PageError::NoSuchSlot { slot, count });
        }
        let offset = self.take_room(slot, record, 1)?;
        self.open_slots(slot, 1)?;
        self.set_slot(slot, offset)
    }

    /// Appends a record behind the last slot.
    pub fn append(&mut self, record: &[u8]) -> Result<(), PageError> {
        self.insert(self.as_page().slot_count(), record)
    }

    /// Appends records behind the last slot, all or none.
    pub fn append_all<'r>(
        &mut self,
        records: impl Iterator<Item = &'r [u8]> + Clone,
    ) -> Result<(), PageError> {
        let page = self.as_page();
        let (first, free) = (page.slot_count(), page.free_count());
        let (mut slot, mut room) = (first, 0);
        for record in records.clone() {
            self.check_record(slot, record)?;
            room += page.room_of(record.len());
            slot = slot.saturating_add(1);
        }
        if slot == first {
            return Ok(());
        }
        let slots = SLOT_SIZE * usize::from(slot - first);
        let left = usize::from(free).checked_sub(room + slots);
        let left = left.ok_or(PageError::NoRoom {
            needed: u16::try_from(room + slots).unwrap_or(u16::MAX),
            free,
        })?;
        let mut offset = self.place_for(room, slots, left)?;
        for (slot, record) in (first..).zip(records) {
            if !put(self.bytes_mut(), offset, record) {
                return Err(PageError::BadRecord { slot });
            }
            self.set_slot(slot, offset)?;
            offset += self.as_page().room_of(record.len());
        }
        self.set_free_data(offset as u16);
        self.set_free_count(left as u16);
        self.set_slot_count(slot);
        Ok(())
    }

    /// Removes a record and its slot; the slots behind it move down by one (index pages).
    pub fn remove(&mut self, slot: u16) -> Result<(), PageError> {
        self.remove_range(slot, 1)
    }

    /// Removes `count` records from slot `from` on, with their slots.
    pub fn remove_range(&mut self, from: u16, count: u16) -> Result<(), PageError> {
        let slots = self.as_page().slot_count();
        let damaged = self.as_page().header_error();
        let behind = from
            .checked_add(count)
            .filter(|&behind| behind <= slots && slots <= MAX_SLOTS);
        let behind = behind.ok_or(PageError::NoSuchSlot {
            slot: from,
            count: slots,
        })?;
        let mut freed = SLOT_SIZE * usize::from(count);
        let mut free_data = self.behind_records();
        for slot in (from..behind).rev() {
            match self.place(slot) {
                Ok(place) => {
                    freed += place.room;
                    free_data = if place.end() == free_data {
                        place.offset
                    } else {
                        free_data
                    };
                }
                Err(PageError::SlotEmpty { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let free = usize::from(self.as_page().free_count()) + freed;
        if free > BODY_SIZE {
            return Err(damaged);
        }
        // In bounds: behind <= slots <= MAX_SLOTS, and the entries only move towards the page's end.
        let source = slot_at(slots)..slot_at(behind);
        self.bytes_mut().copy_within(source, slot_at(slots - count));
        self.set_slot_count(slots - count);
        self.set_free_count(free as u16);
        self.set_free_data(if count == slots {
            HEADER_SIZE
        } else {
            free_data
        } as u16);
        Ok(())
    }

    /// Replaces a slot's record: in place where it fits, else moved on the page.
    pub fn replace(&mut self, slot: u16, record: &[u8]) -> Result<(), PageError> {
        let old = self.place(slot)?;
        let page = self.as_page();
        self.check_record(slot, record)?;
        let new_room = page.room_of(record.len());
        let free = usize::from(page.free_count()) + old.room;
        let left = free.checked_sub(new_room).ok_or(PageError::NoRoom {
            needed: new_room as u16,
            free: free.min(PAGE_SIZE) as u16,
        })?;
        let free_data = self.behind_records();
        let array_start = page.slot_array_start().ok_or(page.header_error())?;
        if left > BODY_SIZE || free_data < old.end() || free_data > array_start {
            return Err(page.header_error());
        }
        let is_last = old.end() == free_data;
        let (offset, new_free_data) = if is_last && old.offset + new_room <= array_start {
            (old.offset, old.offset + new_room)
        } else if new_room <= old.room {
            (old.offset, free_data)
        } else if free_data + new_room <= array_start {
            (free_data, free_data + new_room)
        } else {
            let behind = self.compact_without(Some(slot))?;
            if behind + new_room > array_start {
                return Err(self.as_page().header_error());
            }
            (behind, behind + new_room)
        };
        if !put(self.bytes_mut(), offset, record) {
            return Err(PageError::BadRecord { slot });
        }
        self.set_slot(slot, offset)?;
        self.set_free_data(new_free_data as u16);
        self.set_free_count(left as u16);
        Ok(())
    }

    /// Overwrites part of a record without changing its length.
    pub fn patch(&mut self, slot: u16, offset: u16, bytes: &[u8]) -> Result<(), PageError> {
        let page = self.as_page();
        let record = page.record(slot).ok_or(PageError::BadRecord { slot })?;
        let len = record.len();
        let bad = PageError::BadPatch { slot, offset };
        if usize::from(offset) + bytes.len() > len {
            return Err(bad);
        }
        let start = usize::from(page.slot_offset(slot).unwrap_or(0)) + usize::from(offset);
        if bytes.len() > SMALL_PATCH {
            // Too long to save beside: try it on a copy.
            let mut trial = *self.bytes();
            if !put(&mut trial, start, bytes) || record_len_at(&trial, slot) != Some(len) {
                return Err(bad);
            }
            *self.bytes_mut() = trial;
            return Ok(());
        }
        let mut saved = [0; SMALL_PATCH];
        let target = self
            .bytes_mut()
            .get_mut(start..start + bytes.len())
            .ok_or(bad)?;
        let saved = saved.get_mut(..bytes.len()).ok_or(bad)?;
        saved.copy_from_slice(target);
        target.copy_from_slice(bytes);
        if record_len_at(self.bytes(), slot) != Some(len) {
            let _restored = put(self.bytes_mut(), start, saved);
            return Err(bad);
        }
        Ok(())
    }

    /// Puts a record in an empty slot, or in a new one behind the last; no other slot moves (heaps).
    pub fn heap_put(&mut self, slot: u16, record: &[u8]) -> Result<(), PageError> {
        let count = self.as_page().slot_count();
        if slot >= count {
            return self.insert(slot, record);
        }
        if self.as_page().slot_offset(slot) != Some(0) {
            return Err(PageError::SlotInUse { slot });
        }
        let offset = self.take_room(slot, record, 0)?;
        self.set_slot(slot, offset)
    }

    /// Removes a record and leaves its slot empty, so that no row's address changes (heaps).
    pub fn heap_free(&mut self, slot: u16) -> Result<(), PageError> {
        let place = self.place(slot)?;
        let free = usize::from(self.as_page().free_count()) + place.room;
        if free > BODY_SIZE {
            return Err(self.as_page().header_error());
        }
        if place.end() == self.behind_records() {
            self.set_free_data(place.offset as u16);
        }
        self.set_free_count(free as u16);
        self.set_slot(slot, 0)
    }

    /// Writes the records again without gaps, in slot order.
    pub fn compact(&mut self) -> Result<(), PageError> {
        self.compact_without(None).map(|_behind| ())
    }

    /// Compacts; the record of slot `left_out` goes, its slot stays. Gives the first byte behind the records.
    ///
    /// Proves on its way that `m_freeCnt` was true: a damaged page is refused, not repaired by guess.
    fn compact_without(&mut self, left_out: Option<u16>) -> Result<usize, PageError> {
        let page = self.as_page();
        let damaged = page.header_error();
        let array_start = page.slot_array_start().ok_or(damaged)?;
        let mut fresh = [0; PAGE_SIZE];
        let header = page.bytes().get(..HEADER_SIZE).unwrap_or_default();
        if !put(&mut fresh, 0, header) {
            return Err(damaged);
        }
        let (mut behind, mut left_room) = (HEADER_SIZE, 0);
        for slot in 0..page.slot_count() {
            let place = match self.place(slot) {
                Ok(place) => place,
                Err(PageError::SlotEmpty { .. }) => continue,
                Err(error) => return Err(error),
            };
            if left_out == Some(slot) {
                left_room = place.room;
                continue;
            }
            let end = place.end().min(array_start);
            let record = page.bytes().get(place.offset..end).ok_or(damaged)?;
            if behind + place.room > array_start || !put(&mut fresh, behind, record) {
                return Err(damaged);
            }
            if !put(
                &mut fresh,
                slot_at(slot + 1),
                &(behind as u16).to_le_bytes(),
            ) {
                return Err(damaged);
            }
            behind += place.room;
        }
        if behind + usize::from(page.free_count()) + left_room != array_start {
            return Err(damaged);
        }
        *self.bytes_mut() = fresh;
        self.set_free_data(behind as u16);
        self.set_free_count((array_start - behind) as u16);
        Ok(behind)
    }

    /// Writes a record behind the others and accounts for it and for `new_slots` slot entries to come.
    fn take_room(&mut self, slot: u16, record: &[u8], new_slots: u16) -> Result<usize, PageError> {
        self.check_record(slot, record)?;
        let page = self.as_page();
        let room = page.room_of(record.len());
        let needed = room + SLOT_SIZE * usize::from(new_slots);
        let free = page.free_count();
        let left = usize::from(free).checked_sub(needed);
        let left = left.ok_or(PageError::NoRoom {
            needed: needed as u16,
            free,
        })?;
        let offset = self.place_for(room, SLOT_SIZE * usize::from(new_slots), left)?;
        if !put(self.bytes_mut(), offset, record) {
            return Err(PageError::BadRecord { slot });
        }
        self.set_free_data((offset + room) as u16);
        self.set_free_count(left as u16);
        Ok(offset)
    }

    /// Where new records of so many bytes begin, beside so many bytes of new slots; `left` is free behind
    /// that. Moves records together if it must.
    fn place_for(&mut self, room: usize, slots: usize, left: usize) -> Result<usize, PageError> {
        let page = self.as_page();
        let array_start = page.slot_array_start().ok_or(page.header_error())?;
        let limit = array_start.checked_sub(slots).ok_or(page.header_error())?;
        let mut offset = self.behind_records();
        if left > BODY_SIZE || offset < HEADER_SIZE || offset > array_start {
            return Err(page.header_error());
        }
        if offset + room > limit {
            offset = self.compact_without(None)?;
            if offset + room > limit {
                return Err(self.as_page().header_error());
            }
        }
        Ok(offset)
    }

    /// Moves the slot array to make place for `new` slots at `slot`; their space is accounted for already.
    fn open_slots(&mut self, slot: u16, new: u16) -> Result<(), PageError> {
        let count = self.as_page().slot_count();
        let source = slot_at(count)..slot_at(slot);
        let target = source.start.checked_sub(SLOT_SIZE * usize::from(new));
        let target = target.ok_or(self.as_page().header_error())?;
        self.bytes_mut().copy_within(source, target);
        self.set_slot_count(count + new);
        Ok(())
    }

    /// First byte where a new record may start.
    fn behind_records(&self) -> usize {
        let page = self.as_page();
        page.room_of(usize::from(page.free_data()))
    }

    fn set_slot(&mut self, slot: u16, offset: usize) -> Result<(), PageError> {
        let entry = (offset as u16).to_le_bytes();
        if put(self.bytes_mut(), slot_at(slot + 1), &entry) {
            return Ok(());
        }
        Err(PageError::NoSuchSlot {
            slot,
            count: self.as_page().slot_count(),
        })
    }

    fn place(&self, slot: u16) -> Result<Place, PageError> {
        let page = self.as_page();
        let count = page.slot_count();
        match page.slot_offset(slot) {
            None => Err(PageError::NoSuchSlot { slot, count }),
            Some(0) => Err(PageError::SlotEmpty { slot }),
            Some(offset) => {
                let record = page.record(slot).ok_or(PageError::BadRecord { slot })?;
                Ok(Place {
                    offset: usize::from(offset),
                    room: page.room_of(record.len()),
                })
            }
        }
    }

    fn check_record(&self, slot: u16, record: &[u8]) -> Result<(), PageError> {
        let page = self.as_page();
        match record_len(page.page_type(), page.pminlen(), record) {
            Some(len) if len == record.len() && len <= BODY_SIZE => Ok(()),
            _ => Err(PageError::BadRecord { slot }),
        }
    }
}

fn record_len_at(page: &PageBuf, slot: u16) -> Option<usize> {
    Page::new(page).record(slot).map(<[u8]>::len)
}

/// Page offset behind slot entry `slot`, that is of entry `slot - 1`: entries count down from the page's end.
///
/// Saturates for slots no page has, so that a later bounds check refuses them.
#[inline]
fn slot_at(slot: u16) -> usize {
    PAGE_SIZE.saturating_sub(SLOT_SIZE * usize::from(slot))
}
