//! Searching within one page.

use super::handle::Tree;
use super::ints::{Ends, Narrowed};
use super::side::Side;
use crate::{AccessError, Key};
use furrow_format::{Page, PageBuf, PageId};
use std::cmp::Ordering;

/// From so many slots on, guessing where a key is saves time.
const MANY_SLOTS: u16 = 12;

impl Tree {
    /// How many rows from slot `from` on lie before `key` (and, `Behind`, equal it).
    pub(super) fn rows_before(
        &self,
        page: &PageBuf,
        from: u16,
        key: &Key,
        side: Side,
    ) -> Result<u16, AccessError> {
        self.rows_before_within(page, from, key, side, None)
    }

    /// The same on a page of which the parent has the keys between which its keys lie.
    pub(super) fn rows_before_within(
        &self,
        page: &PageBuf,
        from: u16,
        key: &Key,
        side: Side,
        ends: Option<Ends>,
    ) -> Result<u16, AccessError> {
        let view = Page::new(page);
        let ints = self.ints.and_then(|ints| Some((ints, ints.wanted(key)?)));
        let ints =
            ints.map(|(ints, wanted)| (ints, wanted, ints.offset(self.parts.shape.is_leaf(view))));
        let (mut low, mut high) = (from, view.slot_count());
        // A whole key of one column occurs once.
        if let Some((ints, wanted, offset)) = ints
            && self.parts.shape.key.len() == 1
            && high.saturating_sub(low) >= MANY_SLOTS
        {
            match ints.narrow(view, (low, high), offset, wanted, ends) {
                Some(Narrowed::At(slot)) => return Ok(slot + u16::from(side == Side::Behind)),
                Some(Narrowed::Between(from, to)) => (low, high) = (from, to),
                None => {}
            }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            let first =
                ints.and_then(|(ints, wanted, offset)| ints.compare(view, middle, offset, wanted));
            let order = match first {
                Some(Ordering::Equal) if key.len() == 1 => Ordering::Equal,
                Some(order @ (Ordering::Less | Ordering::Greater)) => order,
                _ => self.parts.shape.compare_at(page, middle, key)?,
            };
            if order == Ordering::Less || (order == Ordering::Equal && side == Side::Behind) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// The slot of a non-leaf page whose child holds the place `side` of `key`.
    pub(super) fn child_slot(
        &self,
        page: &PageBuf,
        key: &Key,
        side: Side,
    ) -> Result<u16, AccessError> {
        if Page::new(page).slot_count() == 0 {
            return Err(damaged(page, "a non-leaf page is empty"));
        }
        // Slot 0 is less than every key.
        Ok(self.rows_before(page, 1, key, side)? - 1)
    }

    /// The child that a slot of a non-leaf page points to.
    pub(crate) fn child_at(&self, page: &PageBuf, slot: u16) -> Result<PageId, AccessError> {
        let view = Page::new(page);
        let fixed = view
            .record_start(slot)
            .and_then(|record| record.get(..usize::from(view.pminlen())));
        // Its last bytes: the rest of the record need not be looked at.
        let child = fixed.and_then(|fixed| fixed.last_chunk());
        let child = child.map(|&bytes| PageId::from_bytes(bytes));
        let child = child.filter(|child| !child.is_none());
        child.ok_or_else(|| damaged(page, "a non-leaf entry has no child"))
    }

    /// The slot of the row with exactly this (whole) key.
    pub(super) fn find_exact(
        &self,
        page: &PageBuf,
        key: &Key,
        ends: Option<Ends>,
    ) -> Result<Option<u16>, AccessError> {
        let slot = self.rows_before_within(page, 0, key, Side::Before, ends)?;
        if slot == Page::new(page).slot_count() {
            return Ok(None);
        }
        let order = self.parts.shape.compare_at(page, slot, key)?;
        Ok((order == Ordering::Equal).then_some(slot))
    }

    /// The record in `slot`.
    pub(crate) fn row_at<'a>(&self, page: &'a PageBuf, slot: u16) -> Result<&'a [u8], AccessError> {
        Page::new(page)
            .record(slot)
            .ok_or_else(|| damaged(page, "a record cannot be read"))
    }

    /// The key of the leaf row in `slot`.
    pub(super) fn key_at(&self, page: &PageBuf, slot: u16) -> Result<Key, AccessError> {
        let row = self.row_at(page, slot)?;
        self.parts
            .shape
            .key_of(row)
            .ok_or_else(|| damaged(page, "a key cannot be read"))
    }
}

pub(crate) fn damaged(page: &PageBuf, what: &'static str) -> AccessError {
    AccessError::Damaged {
        page: Page::new(page).page_id(),
        what,
    }
}
