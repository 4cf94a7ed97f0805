//! Reading records through the slot array.

use super::header::{HEADER_SIZE, MAX_SLOTS, SLOT_SIZE};
use crate::bytes::u16_at;
use crate::{PAGE_SIZE, Page, PageFlags, record_len};

impl<'a> Page<'a> {
    /// First byte of the slot array; `None` when the header claims more slots than fit.
    #[inline]
    pub fn slot_array_start(self) -> Option<usize> {
        let count = self.slot_count();
        (count <= MAX_SLOTS).then(|| PAGE_SIZE - SLOT_SIZE * usize::from(count))
    }

    /// The slot's entry: offset of its record, 0 = empty. `None` beyond the slot array.
    #[inline]
    pub fn slot_offset(self, slot: u16) -> Option<u16> {
        if slot >= self.slot_count() || slot >= MAX_SLOTS {
            return None;
        }
        u16_at(
            self.bytes(),
            PAGE_SIZE - SLOT_SIZE * (usize::from(slot) + 1),
        )
    }

    /// The bytes from the start of the slot's record to the slot array: the record and what follows it.
    ///
    /// For searches: fixed columns are found without computing the record's length.
    #[inline]
    pub fn record_start(self, slot: u16) -> Option<&'a [u8]> {
        let offset = usize::from(self.slot_offset(slot)?);
        if offset < HEADER_SIZE {
            return None;
        }
        self.bytes().get(offset..self.slot_array_start()?)
    }

    /// The slot's record; `None` where the slot is empty, does not exist, or names no sound record.
    #[inline]
    pub fn record(self, slot: u16) -> Option<&'a [u8]> {
        let rest = self.record_start(slot)?;
        rest.get(..record_len(self.page_type(), self.pminlen(), rest)?)
    }

    /// The records in slot order, each with its slot; empty slots and unsound records are passed over.
    pub fn records(self) -> Records<'a> {
        Records {
            page: self,
            slot: 0,
        }
    }

    /// Bytes between the last record and the slot array.
    #[inline]
    pub fn contiguous_room(self) -> usize {
        self.slot_array_start()
            .unwrap_or(0)
            .saturating_sub(usize::from(self.free_data()))
    }

    /// Bytes a record of this length takes, without its slot entry.
    #[inline]
    pub fn room_of(self, len: usize) -> usize {
        if self.flags().has(PageFlags::ALIGNED) {
            len.next_multiple_of(4)
        } else {
            len
        }
    }

    /// Whether a record of this length fits with a new slot entry (perhaps after compaction).
    #[inline]
    pub fn fits(self, len: usize) -> bool {
        self.room_of(len) + SLOT_SIZE <= usize::from(self.free_count())
    }

    /// The first slot without a record, for a heap to reuse.
    pub fn first_empty_slot(self) -> Option<u16> {
        (0..self.slot_count().min(MAX_SLOTS)).find(|&slot| self.slot_offset(slot) == Some(0))
    }
}

/// The records of a page, from [`Page::records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    page: Page<'a>,
    slot: u16,
}

impl<'a> Iterator for Records<'a> {
    type Item = (u16, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let count = self.page.slot_count().min(MAX_SLOTS);
        while self.slot < count {
            let slot = self.slot;
            self.slot += 1;
            if let Some(record) = self.page.record(slot) {
                return Some((slot, record));
            }
        }
        None
    }
}
