//! The pages in memory as a list, and throwing pages out.

#![expect(
    unsafe_code,
    reason = "the latch stands for the borrow of the page's bytes"
)]

use crate::core::Core;
use crate::error::PoolError;
use crate::free::Look;
use crate::key::PageKey;
use crate::mode::LatchMode;
use crate::write::Busy;
use furrow_format::{AllocUnitId, DatabaseId, Page, PageType};
use furrow_io::sync::atomic::Ordering;
use furrow_observe::counters::Counter;

/// A page in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferDescriptor {
    /// Which page.
    pub key: PageKey,
    /// Whether it was changed and not yet copied for writing.
    pub is_modified: bool,
    /// The part of its header; `None` when a thread held the page EX at that moment.
    pub header: Option<BufferHeader>,
}

/// The part of a page's header that the view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferHeader {
    /// Its type.
    pub page_type: PageType,
    /// Its level in a tree; 0 for leaves.
    pub level: u8,
    /// The allocation unit that it belongs to.
    pub allocation_unit: AllocUnitId,
    /// Slots in use.
    pub row_count: u16,
    /// Free bytes.
    pub free_bytes: u16,
}

impl Core {
    pub(crate) fn descriptors(&self) -> Vec<BufferDescriptor> {
        (0..self.frames.len() as u32)
            .filter_map(|index| self.descriptor(index))
            .collect()
    }

    fn descriptor(&self, index: u32) -> Option<BufferDescriptor> {
        let frame = self.frame(index);
        let key = frame.key()?;
        let is_modified = frame.is_dirty();
        if !frame.latch.try_share_quietly() {
            return Some(BufferDescriptor {
                key,
                is_modified,
                header: None,
            });
        }
        let same = frame.holds(key);
        // SAFETY: the latch is held SH.
        let page = Page::new(unsafe { self.memory.page(index as usize) });
        let header = BufferHeader {
            page_type: page.page_type(),
            level: page.level(),
            allocation_unit: page.unit(),
            row_count: page.slot_count(),
            free_bytes: page.free_count(),
        };
        frame.latch.release(LatchMode::Sh);
        same.then_some(BufferDescriptor {
            key,
            is_modified,
            header: Some(header),
        })
    }

    /// Discards every page for which `gone` is true, changed or not, and waits for threads that hold one.
    pub(crate) fn discard(&self, gone: impl Fn(PageKey) -> bool) {
        loop {
            let found = self.frames_where(|key, _| gone(key));
            if found.is_empty() {
                return;
            }
            for index in found {
                if let Some(key) = self.frame(index).key().filter(|&key| gone(key)) {
                    self.discard_frame(index, key);
                }
            }
        }
    }

    fn discard_frame(&self, index: u32, key: PageKey) {
        let frame = self.frame(index);
        self.latch(index, key, LatchMode::Ex);
        if !frame.holds(key) {
            frame.latch.release(LatchMode::Ex);
        } else if frame.is_writing() {
            frame.latch.release(LatchMode::Ex);
            self.wait_written(index, key);
        } else {
            if frame.is_dirty()
                && let Ok(database) = self.registry.read().database(key.db)
            {
                database.dirty.fetch_sub(1, Ordering::Relaxed);
            }
            self.end_watch(index);
            frame.reset();
            debug_assert!(frame.is_clean(), "what is discarded is not written");
            self.give_up(index);
        }
    }

    pub(crate) fn drop_clean(&self) -> usize {
        let taken = |&index: &u32| self.look(index, false) == Look::Taken;
        (0..self.frames.len() as u32)
            .filter(taken)
            .map(|index| {
                self.frame(index).latch.release_loaded(true);
                self.free.push(index);
            })
            .count()
    }

    pub(crate) fn write_oldest(&self, db: DatabaseId, pages: usize) -> Result<u64, PoolError> {
        let dirty = self.frames_where(|key, frame| key.db == db && frame.is_dirty());
        let mut by_age: Vec<_> = dirty
            .into_iter()
            .filter_map(|i| Some((self.frame(i).oldest_lsn()?, i)))
            .collect();
        by_age.sort_unstable();
        let oldest: Vec<u32> = by_age
            .into_iter()
            .take(pages)
            .map(|(_, index)| index)
            .collect();
        let outcome = self.write_pages(&oldest, Busy::Skip, None);
        debug_assert!(
            outcome.totals.pages <= pages as u64,
            "no more than asked for"
        );
        self.counters
            .add(Counter::BackgroundWriterPages, outcome.totals.pages);
        outcome.error.map_or(Ok(outcome.totals.pages), Err)
    }
}
