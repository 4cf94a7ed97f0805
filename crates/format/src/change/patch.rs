//! Changes of a few bytes: a field at its fixed place, a single-page slot of an IAM page.

use super::kinds::Change;
use crate::bytes::Field;
use crate::bytes::PageBuf;
use crate::maps::{Iam, SINGLE_PAGE_SLOTS};

impl<const AT: usize, const N: usize> Field<AT, N> {
    /// The change that replaces the bytes when applied.
    pub fn change(self, bytes: &[u8; N]) -> Change<'_> {
        const { Self::INSIDE }
        Change::PatchBytes {
            offset: AT as u16,
            bytes,
        }
    }
}

impl Iam<'_> {
    /// The change that fills or empties a single-page slot: `value` is a page id's six bytes. `None`
    /// when the page is no sound IAM page or has no such slot.
    pub fn set_single_page<'v>(
        bytes: &PageBuf,
        index: u8,
        value: &'v [u8; 6],
    ) -> Option<Change<'v>> {
        let offset = Iam::single_page_offset(bytes, index)?;
        (index < SINGLE_PAGE_SLOTS).then_some(Change::PatchBytes {
            offset: offset as u16,
            bytes: value,
        })
    }
}
