//! The extents of a unit that have unallocated pages.

use super::inbox::{Event, Inbox};
use crate::file::{ExtentId, page_bit};
use furrow_format::{EXTENT_PAGES, PageId};
use smallvec::SmallVec;
use std::collections::{BTreeMap, HashMap};

/// Pages set aside for one caller.
pub(crate) type Pages = SmallVec<[PageId; 8]>;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    /// Unallocated, and held by no reservation.
    free: u8,
    /// Unallocated as far as is known, held by a reservation.
    held: u8,
    /// Place in the order of arrival.
    arrival: u64,
}

/// How far the maps have been read for the pages that the unit had when the database was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScanPlace {
    /// Which IAM page.
    pub(crate) iam: usize,
    /// Which of its extents next.
    pub(crate) bit: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Cache {
    entries: HashMap<ExtentId, Entry>,
    /// Entries with a free page, oldest first: extents fill one after the other.
    order: BTreeMap<u64, ExtentId>,
    free_pages: u32,
    arrivals: u64,
    /// Extents in which a page was freed and none is allocated now.
    emptied: Vec<ExtentId>,
    /// Extents that are being given back.
    pub(crate) leaving: Vec<ExtentId>,
    /// Pages of mixed extents that were freed.
    emptied_singles: Vec<PageId>,
    /// Pages of mixed extents that are being given back.
    pub(crate) leaving_singles: Vec<PageId>,
    /// `None`: all that the unit owns has been seen.
    pub(crate) scan: Option<ScanPlace>,
}

impl Cache {
    /// Of a new unit.
    pub(crate) fn complete() -> Cache {
        Cache {
            entries: HashMap::new(),
            order: BTreeMap::new(),
            free_pages: 0,
            arrivals: 0,
            emptied: Vec::new(),
            leaving: Vec::new(),
            emptied_singles: Vec::new(),
            leaving_singles: Vec::new(),
            scan: None,
        }
    }

    /// Of a unit whose extents have not been read yet.
    pub(crate) fn unknown() -> Cache {
        Cache {
            scan: Some(ScanPlace { iam: 0, bit: 0 }),
            ..Cache::complete()
        }
    }

    /// Pages that can be reserved at once.
    pub(crate) fn free_pages(&self) -> u32 {
        self.free_pages
    }

    /// Applies all events of the inbox.
    pub(crate) fn read(&mut self, inbox: &mut Inbox) {
        for event in inbox.events.drain(..) {
            match event {
                Event::NewExtent(extent) => self.add_free(extent, extent.usable()),
                Event::NewPage(page) => self.add_free(ExtentId::of(page), page_bit(page)),
                Event::Used(page) => self.edit(ExtentId::of(page), |e| e.held &= !page_bit(page)),
                Event::Returned(page) => self.edit(ExtentId::of(page), |e| {
                    e.held &= !page_bit(page);
                    e.free |= page_bit(page);
                }),
                Event::Freed(page) => {
                    let extent = ExtentId::of(page);
                    self.add_free(extent, page_bit(page));
                    if self.is_empty(extent) {
                        self.emptied.push(extent);
                    }
                }
                Event::FreedSingle(page) => {
                    self.add_free(ExtentId::of(page), page_bit(page));
                    self.emptied_singles.push(page);
                }
            }
        }
    }

    /// Adds pages that are unallocated; those that are held stay so.
    pub(crate) fn add_free(&mut self, extent: ExtentId, mask: u8) {
        if mask != 0 {
            self.edit(extent, |entry| entry.free |= mask & !entry.held);
        }
    }

    /// Sets aside up to `pages` pages: behind `near` in its extent, then elsewhere in it, then in the extents
    /// that have waited longest.
    pub(crate) fn take(&mut self, pages: usize, near: Option<PageId>, into: &mut Pages) {
        debug_assert!(into.len() <= pages, "no more than asked for");
        if let Some(near) = near {
            let (extent, behind) = (ExtentId::of(near), !(page_bit(near) | (page_bit(near) - 1)));
            self.take_in(extent, behind, pages, into);
            self.take_in(extent, 0xFF, pages, into);
        }
        while into.len() < pages {
            let Some(extent) = self.order.first_key_value().map(|(_, &extent)| extent) else {
                return;
            };
            self.take_in(extent, 0xFF, pages, into);
        }
    }

    fn take_in(&mut self, extent: ExtentId, allowed: u8, pages: usize, into: &mut Pages) {
        let Some(entry) = self.entries.get(&extent) else {
            return;
        };
        let mut taken = 0;
        for place in 0..EXTENT_PAGES {
            if into.len() < pages && entry.free & allowed & 1 << place != 0 {
                taken |= 1 << place;
                debug_assert!(entry.held & 1 << place == 0, "a page is handed out once");
                into.push(extent.page(place));
            }
        }
        if taken != 0 {
            self.edit(extent, |entry| {
                entry.free &= !taken;
                entry.held |= taken;
            });
        }
    }

    /// The next extent without an allocated page that may be given back; it is out of the cache then, and
    /// among `leaving` until the maps are changed.
    pub(crate) fn take_emptied(&mut self) -> Option<ExtentId> {
        while let Some(extent) = self.emptied.pop() {
            if self.is_empty(extent) {
                self.edit(extent, |entry| entry.free = 0);
                self.leaving.push(extent);
                return Some(extent);
            }
        }
        None
    }

    /// An extent that was to be given back is gone, or (`false`) stays.
    pub(crate) fn left(&mut self, extent: ExtentId, is_gone: bool) {
        debug_assert!(
            self.leaving.contains(&extent),
            "an extent leaves before it has left"
        );
        self.leaving.retain(|&other| other != extent);
        if !is_gone {
            self.add_free(extent, extent.usable());
        }
    }

    /// The next page of a mixed extent that was freed and is held by no reservation; as
    /// [`Cache::take_emptied`].
    pub(crate) fn take_emptied_single(&mut self) -> Option<PageId> {
        while let Some(page) = self.emptied_singles.pop() {
            let (extent, bit) = (ExtentId::of(page), page_bit(page));
            let entry = self.entries.get(&extent);
            if entry.is_some_and(|entry| entry.free & bit != 0) {
                self.edit(extent, |entry| entry.free &= !bit);
                self.leaving_singles.push(page);
                return Some(page);
            }
        }
        None
    }

    /// A page of a mixed extent that was to be given back is gone, or (`false`) stays.
    pub(crate) fn left_single(&mut self, page: PageId, is_gone: bool) {
        debug_assert!(
            self.leaving_singles.contains(&page),
            "a page leaves before it has left"
        );
        self.leaving_singles.retain(|&other| other != page);
        if !is_gone {
            self.add_free(ExtentId::of(page), page_bit(page));
        }
    }

    fn is_empty(&self, extent: ExtentId) -> bool {
        let entry = self.entries.get(&extent);
        entry.is_some_and(|entry| entry.free == extent.usable() && entry.held == 0)
    }

    /// Changes an entry, and keeps order, count and table in step.
    fn edit(&mut self, extent: ExtentId, change: impl FnOnce(&mut Entry)) {
        let entry = self.entries.entry(extent).or_insert_with(|| {
            self.arrivals += 1;
            Entry {
                arrival: self.arrivals,
                ..Entry::default()
            }
        });
        let before = *entry;
        change(entry);
        let after = *entry;
        debug_assert_eq!(
            after.free & after.held,
            0,
            "a page is free, or held, or used"
        );
        self.free_pages = self.free_pages - before.free.count_ones() + after.free.count_ones();
        if before.free == 0 && after.free != 0 {
            self.order.insert(after.arrival, extent);
        } else if before.free != 0 && after.free == 0 {
            self.order.remove(&after.arrival);
        }
        if after.free == 0 && after.held == 0 {
            self.entries.remove(&extent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use furrow_format::{ExtentNo, FileId};

    fn extent(no: u32) -> ExtentId {
        ExtentId {
            file: FileId(1),
            no: ExtentNo(no),
        }
    }

    fn feed(cache: &mut Cache, events: &[Event]) {
        cache.read(&mut Inbox {
            events: events.to_vec(),
            ..Inbox::default()
        });
    }

    fn take(cache: &mut Cache, pages: usize, near: Option<PageId>) -> Vec<u32> {
        let mut taken = Pages::new();
        cache.take(pages, near, &mut taken);
        taken.iter().map(|page| page.page.0).collect()
    }

    #[test]
    fn extents_fill_page_after_page_in_the_order_they_came() {
        let mut cache = Cache::complete();
        feed(
            &mut cache,
            &[Event::NewExtent(extent(20)), Event::NewExtent(extent(10))],
        );
        assert_eq!(cache.free_pages(), 16);
        assert_eq!(take(&mut cache, 3, None), [160, 161, 162]);
        assert_eq!(
            take(&mut cache, 7, Some(PageId::new(1, 162))),
            [163, 164, 165, 166, 167, 80, 81]
        );
        assert_eq!(take(&mut cache, 9, None), [82, 83, 84, 85, 86, 87]);
        assert_eq!(cache.free_pages(), 0);
    }

    #[test]
    fn pages_behind_the_hint_come_before_those_in_front_of_it() {
        let mut cache = Cache::complete();
        feed(
            &mut cache,
            &[Event::NewExtent(extent(5)), Event::NewExtent(extent(6))],
        );
        assert_eq!(take(&mut cache, 3, Some(PageId::new(1, 52))), [53, 54, 55]);
        assert_eq!(take(&mut cache, 2, Some(PageId::new(1, 52))), [48, 49]);
    }

    #[test]
    fn what_is_returned_can_be_had_again_and_what_is_used_cannot() {
        let mut cache = Cache::complete();
        feed(&mut cache, &[Event::NewExtent(extent(2))]);
        assert_eq!(take(&mut cache, 8, None).len(), 8);
        feed(
            &mut cache,
            &[
                Event::Used(PageId::new(1, 16)),
                Event::Returned(PageId::new(1, 17)),
            ],
        );
        assert_eq!(take(&mut cache, 8, None), [17]);
        feed(&mut cache, &[Event::Freed(PageId::new(1, 16))]);
        assert_eq!(take(&mut cache, 8, None), [16]);
    }

    #[test]
    fn an_extent_is_given_back_only_when_its_last_page_was_freed_and_none_is_held() {
        let mut cache = Cache::complete();
        feed(&mut cache, &[Event::NewExtent(extent(2))]);
        assert_eq!(cache.take_emptied(), None, "new extents stay");
        assert_eq!(take(&mut cache, 2, None), [16, 17]);
        feed(
            &mut cache,
            &[
                Event::Used(PageId::new(1, 16)),
                Event::Used(PageId::new(1, 17)),
            ],
        );
        feed(&mut cache, &[Event::Freed(PageId::new(1, 16))]);
        assert_eq!(cache.take_emptied(), None);
        feed(&mut cache, &[Event::Freed(PageId::new(1, 17))]);
        assert_eq!(take(&mut cache, 1, None), [16]);
        assert_eq!(cache.take_emptied(), None, "a page of it is held");
        feed(
            &mut cache,
            &[
                Event::Used(PageId::new(1, 16)),
                Event::Freed(PageId::new(1, 16)),
            ],
        );
        assert_eq!(cache.take_emptied(), Some(extent(2)));
        assert_eq!((cache.free_pages(), take(&mut cache, 1, None)), (0, vec![]));
        cache.left(extent(2), false);
        assert_eq!(cache.free_pages(), 8);
    }
}
