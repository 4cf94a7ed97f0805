//! From the root to a leaf.

use super::Tree;
use super::node::{Side, damaged};
use crate::{AccessError, Key};
use furrow_format::{Page, PageBuf, PageId};
use furrow_pool::{Ex, LatchRank, Mode, PageGuard, PageRead, PageWrite};
use std::cmp::Ordering;
use std::sync::atomic::Ordering as Atomic;

/// Entries of a parent to the right of the one taken that a scan will want next.
pub(crate) type Ahead = Vec<PageId>;

impl Tree {
    pub(super) fn pack(page: PageId) -> u64 {
        u64::from(page.file.0) << 32 | u64::from(page.page.0)
    }

    fn unpack(word: u64) -> PageId {
        PageId::new((word >> 32) as u16, word as u32)
    }

    /// The leaf that holds, or would hold, the row with this whole key.
    pub(super) fn leaf_for<M: Mode>(
        &self,
        key: &Key,
        mode: M,
    ) -> Result<PageGuard<'_, M>, AccessError> {
        self.leaf_at(key, Side::Behind, mode, None)
    }

    /// The leaf with the place `side` of `key`; the row itself may be the first of the leaf to the right.
    pub(super) fn leaf_at<M: Mode>(
        &self,
        key: &Key,
        side: Side,
        mode: M,
        mut ahead: Option<&mut Ahead>,
    ) -> Result<PageGuard<'_, M>, AccessError> {
        loop {
            if self.root_level.load(Atomic::Relaxed) == 0 {
                let root = self.fetch(self.root(), mode)?;
                let level = Page::new(&root).level();
                if level == 0 {
                    return Ok(root);
                }
                self.root_level.store(level, Atomic::Relaxed);
            }
            let mut page = self.fetch(self.root(), furrow_pool::Sh)?;
            let mut level = Page::new(&page).level();
            if level == 0 {
                // Cannot happen to a tree that is not truncated: it never gets lower.
                self.root_level.store(0, Atomic::Relaxed);
                continue;
            }
            while level > 1 {
                let slot = self.child_slot(&page, key, side)?;
                let child = self.child_at(&page, slot)?;
                let next = self.fetch(child, furrow_pool::Sh)?;
                self.expect_level(&next, level - 1)?;
                page = next;
                level -= 1;
            }
            let slot = self.child_slot(&page, key, side)?;
            let child = self.child_at(&page, slot)?;
            if let Some(ahead) = ahead.as_deref_mut() {
                self.note_ahead(&page, slot, ahead)?;
            }
            let leaf = self.fetch(child, mode)?;
            self.expect_level(&leaf, 0)?;
            return Ok(leaf);
        }
    }

    fn note_ahead(&self, page: &PageRead<'_>, slot: u16, ahead: &mut Ahead) -> Result<(), AccessError> {
        ahead.clear();
        let last = Page::new(page).slot_count().min(slot.saturating_add(1 + super::cursor::READ_AHEAD as u16));
        for next in slot + 1..last {
            ahead.push(self.child_at(page, next)?);
        }
        Ok(())
    }

    pub(super) fn fetch<M: Mode>(
        &self,
        page: PageId,
        mode: M,
    ) -> Result<PageGuard<'_, M>, AccessError> {
        let store = self.store();
        Ok(store.pool().fetch(store.key(page), mode, LatchRank::Data)?)
    }

    fn expect_level(&self, page: &PageBuf, level: u8) -> Result<(), AccessError> {
        let view = Page::new(page);
        if view.level() != level || view.unit() != self.parts.unit.id() {
            return Err(damaged(page, "it is not the child that its parent says"));
        }
        Ok(())
    }

    /// The rightmost leaf, latched EX, when `key` belongs behind its rows; for ascending inserts.
    pub(super) fn last_leaf_for(&self, key: &Key) -> Result<Option<PageWrite<'_>>, AccessError> {
        let word = self.last_leaf.load(Atomic::Relaxed);
        if word == 0 {
            return Ok(None);
        }
        let hint = Self::unpack(word);
        if !self.store().pool().resident(self.store().key(hint)) {
            return Ok(None);
        }
        let leaf = self.fetch(hint, Ex)?;
        let view = Page::new(&leaf);
        let rows = view.slot_count();
        let usable = view.unit() == self.parts.unit.id()
            && view.page_type() == self.parts.shape.leaf_type()
            && view.level() == 0
            && view.next().is_none()
            && rows > 0
            && leaf.key().page != self.root();
        if !usable || self.parts.shape.compare_at(&leaf, rows - 1, key)? != Ordering::Less {
            return Ok(None);
        }
        Ok(Some(leaf))
    }

    pub(super) fn note_last_leaf(&self, page: PageId) {
        self.last_leaf.store(Self::pack(page), Atomic::Relaxed);
    }

    /// From the lowest page that has room for another entry (or the root) down to the leaf for `key`, all
    /// latched EX, each with the slot its child is taken from.
    pub(super) fn path_for_split(&self, key: &Key) -> Result<Vec<(PageWrite<'_>, u16)>, AccessError> {
        let room = self.parts.shape.largest_node_row();
        let mut path: Vec<(PageWrite<'_>, u16)> = Vec::new();
        let mut page = self.fetch(self.root(), Ex)?;
        loop {
            let view = Page::new(&page);
            let level = view.level();
            if level == 0 {
                path.push((page, 0));
                return Ok(path);
            }
            if usize::from(view.free_count()) >= room {
                path.clear();
            }
            let slot = self.child_slot(&page, key, Side::Behind)?;
            let child = self.child_at(&page, slot)?;
            path.push((page, slot));
            page = self.fetch(child, Ex)?;
            self.expect_level(&page, level - 1)?;
        }
    }
}
