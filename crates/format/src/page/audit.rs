//! Proof that a page is sound.

use super::header::{BODY_SIZE, HEADER_SIZE, SLOT_SIZE};
use crate::{Page, PageError, PageFlags};

impl Page<'_> {
    /// Checks the invariants of the header essay in `page/mod.rs`; the first one broken is the error.
    ///
    /// For consistency checks and tests. It allocates, unlike everything else of a page.
    pub fn audit(self) -> Result<(), PageError> {
        let header = self.header_error();
        let array_start = self.slot_array_start().ok_or(header)?;
        let free_data = usize::from(self.free_data());
        if free_data < HEADER_SIZE || free_data > array_start {
            return Err(header);
        }
        let mut places = Vec::with_capacity(usize::from(self.slot_count()));
        for slot in 0..self.slot_count() {
            let offset = self.slot_offset(slot).ok_or(header)?;
            if offset == 0 {
                continue;
            }
            let misplaced = PageError::Misplaced { slot, offset };
            if usize::from(offset) < HEADER_SIZE {
                return Err(misplaced);
            }
            if self.flags().has(PageFlags::ALIGNED) && offset % 4 != 0 {
                return Err(misplaced);
            }
            let record = self.record(slot).ok_or(PageError::BadRecord { slot })?;
            if usize::from(offset) + record.len() > free_data {
                return Err(misplaced);
            }
            places.push((usize::from(offset), record.len(), slot));
        }
        places.sort_unstable();
        let mut end = HEADER_SIZE;
        let mut room = 0;
        for (offset, len, slot) in places {
            if offset < end {
                return Err(PageError::Misplaced {
                    slot,
                    offset: offset as u16,
                });
            }
            end = offset + len;
            room += self.room_of(len);
        }
        let taken = room + SLOT_SIZE * usize::from(self.slot_count());
        if BODY_SIZE.checked_sub(taken) != Some(usize::from(self.free_count())) {
            return Err(header);
        }
        Ok(())
    }

    pub(super) fn header_error(self) -> PageError {
        PageError::Header {
            slots: self.slot_count(),
            free_data: self.free_data(),
            free_count: self.free_count(),
        }
    }
}
