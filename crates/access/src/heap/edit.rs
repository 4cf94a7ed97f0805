//! Changes of a few pages of a heap, and the changes of PFS that follow from them.

use super::{Heap, damaged};
use crate::{AccessError, By};
use furrow_format::{
    BODY_SIZE, Change, Fullness, Page, PageId, PageInit, PageType, PfsByte, RowId, SLOT_SIZE,
};
use furrow_pool::PageWrite;
use furrow_space::Reservation;
use furrow_txn::Mini;
use smallvec::SmallVec;

/// A page of the group.
struct Touched {
    page: PageId,
    at: usize,
    before: Fullness,
    /// Free bytes after the changes.
    free: usize,
    slots: u16,
    fresh: bool,
}

/// A mini-transaction on a heap's pages that keeps account of their free bytes.
pub(super) struct Edits<'p> {
    heap: &'p Heap,
    mini: Mini<'p>,
    touched: SmallVec<[Touched; 4]>,
    /// Records that come, go or get another length: the page, bytes before and after.
    resized: SmallVec<[(PageId, usize, usize); 4]>,
}

impl<'p> Edits<'p> {
    pub(super) fn new(heap: &'p Heap) -> Edits<'p> {
        Edits {
            heap,
            mini: Mini::new(heap.store()),
            touched: SmallVec::new(),
            resized: SmallVec::new(),
        }
    }

    /// Takes over a latched page.
    pub(super) fn adopt(&mut self, page: PageWrite<'p>) {
        let view = Page::new(&page);
        let (id, free, slots) = (page.key().page, view.free_count(), view.slot_count());
        self.touched.push(Touched {
            page: id,
            at: self.mini.adopt(page),
            before: Fullness::of_free_bytes(free),
            free: usize::from(free),
            slots,
            fresh: false,
        });
    }

    /// Takes over a page that is about to be formatted.
    pub(super) fn adopt_fresh(&mut self, page: PageWrite<'p>) {
        let id = page.key().page;
        let at = self.mini.adopt(page);
        self.touched.push(Touched {
            page: id,
            at,
            before: Fullness::Empty,
            free: BODY_SIZE,
            slots: 0,
            fresh: true,
        });
        self.format(at, id);
    }

    fn format(&mut self, at: usize, id: PageId) {
        let unit = self.heap.unit().id();
        let pminlen = self.heap.shape().leaf.pminlen();
        let init = PageInit::new(id, PageType::Data, unit, pminlen);
        self.mini.push(at, &Change::Format(init));
    }

    fn find(&mut self, page: PageId) -> Result<(&mut Touched, &mut Mini<'p>), AccessError> {
        let found = self.touched.iter_mut().find(|t| t.page == page);
        let touched = found.ok_or(damaged(page, "it is not latched"))?;
        Ok((touched, &mut self.mini))
    }

    fn len_at(&self, rid: RowId) -> Result<usize, AccessError> {
        let at = self.mini.position(rid.page);
        let record = at.and_then(|at| Page::new(self.mini.page(at)).record(rid.slot));
        Ok(record
            .ok_or(damaged(rid.page, "a record cannot be read"))?
            .len())
    }

    /// Plans a record in an empty slot, or in the one behind the last.
    pub(super) fn put(&mut self, rid: RowId, bytes: &[u8]) -> Result<(), AccessError> {
        let (touched, mini) = self.find(rid.page)?;
        let new_slot = if rid.slot >= touched.slots {
            SLOT_SIZE
        } else {
            0
        };
        debug_assert!(
            touched.free >= bytes.len() + new_slot,
            "a row is put where it fits"
        );
        touched.free = touched.free.saturating_sub(bytes.len() + new_slot);
        let resized = (rid.page, 0, bytes.len() + SLOT_SIZE);
        mini.push(
            touched.at,
            &Change::HeapPut {
                slot: rid.slot,
                bytes,
            },
        );
        self.resized.push(resized);
        Ok(())
    }

    /// Plans that a record is removed. If it comes back, another record may have taken its slot.
    pub(super) fn free(&mut self, rid: RowId) -> Result<(), AccessError> {
        let len = self.len_at(rid)?;
        let (touched, mini) = self.find(rid.page)?;
        touched.free += len;
        mini.push(touched.at, &Change::HeapFree { slot: rid.slot });
        self.resized.push((rid.page, len + SLOT_SIZE, 0));
        Ok(())
    }

    /// Plans another record in place of one.
    pub(super) fn replace(&mut self, rid: RowId, bytes: &[u8]) -> Result<(), AccessError> {
        let len = self.len_at(rid)?;
        let (touched, mini) = self.find(rid.page)?;
        debug_assert!(
            touched.free + len >= bytes.len(),
            "a row is replaced where it fits"
        );
        touched.free = (touched.free + len).saturating_sub(bytes.len());
        let resized = (rid.page, len, bytes.len());
        mini.push(
            touched.at,
            &Change::ReplaceRow {
                slot: rid.slot,
                bytes,
            },
        );
        self.resized.push(resized);
        Ok(())
    }

    /// Plans new status bytes of a record, and what they do to the count of ghosts.
    pub(super) fn set_status(
        &mut self,
        rid: RowId,
        status: [u8; 2],
        ghosts: i16,
    ) -> Result<(), AccessError> {
        let (touched, mini) = self.find(rid.page)?;
        let patch = Change::PatchRow {
            slot: rid.slot,
            offset: 0,
            bytes: &status,
        };
        mini.push(touched.at, &patch);
        mini.push(touched.at, &Change::SetGhosts { delta: ghosts });
        Ok(())
    }

    /// Plans a change of the count of ghosts.
    pub(super) fn count_ghosts(&mut self, page: PageId, delta: i16) -> Result<(), AccessError> {
        let (touched, mini) = self.find(page)?;
        mini.push(touched.at, &Change::SetGhosts { delta });
        Ok(())
    }

    /// Plans that the page has nothing any more, not even slots.
    pub(super) fn clear(&mut self, page: PageId) -> Result<(), AccessError> {
        let (touched, _) = self.find(page)?;
        let at = touched.at;
        touched.free = BODY_SIZE;
        self.format(at, page);
        Ok(())
    }

    /// Plans the changes of PFS, then logs and applies everything.
    pub(super) fn commit(
        mut self,
        by: &mut By<'_>,
        undo: &[u8],
        mut pages: Option<&mut Reservation>,
    ) -> Result<(), AccessError> {
        let (space, unit) = (self.heap.space(), self.heap.unit());
        for &(page, before, after) in &self.resized {
            by.resizes(self.heap.store(), page, before, after);
        }
        // In the order of the pages, which is also that of their PFS pages.
        self.touched.sort_unstable_by_key(|touched| touched.page);
        for touched in &self.touched {
            let class = Fullness::of_free_bytes(touched.free as u16);
            match &mut pages {
                Some(pages) if touched.fresh => {
                    let value = PfsByte::FREE.with(PfsByte::ALLOCATED).with_fullness(class);
                    pages.allocate_taken(&mut self.mini, value)?;
                }
                _ if class != touched.before => {
                    space.set_fullness(unit, &mut self.mini, touched.page, class)?;
                }
                _ => {}
            }
        }
        debug_assert!(
            self.touched.is_sorted_by(|a, b| a.page < b.page),
            "a page is changed once"
        );
        by.commit(self.mini, undo)?;
        if let Some(pages) = pages {
            pages.done();
        }
        for touched in self.touched.iter().filter(|touched| touched.fresh) {
            let class = Fullness::of_free_bytes(touched.free as u16);
            space.note_room(unit, touched.page, class);
        }
        Ok(())
    }
}
