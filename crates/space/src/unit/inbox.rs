//! What happened to a unit's pages, for whoever opens its cache next.

use crate::file::ExtentId;
use furrow_format::PageId;

/// Something that is so, in the log and in the maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The extent belongs to the unit; all its usable pages are unallocated.
    NewExtent(ExtentId),
    /// A held page is allocated.
    Used(PageId),
    /// A held page was not needed.
    Returned(PageId),
    /// An allocated page is unallocated.
    Freed(PageId),
}

/// The inbox of a unit.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) events: Vec<Event>,
    /// Pages that are being freed: the maps may say so already, or not yet.
    pub(crate) freeing: Vec<PageId>,
    /// Extents that are being allocated to the unit: the maps may say so already, or not yet.
    pub(crate) arriving: Vec<ExtentId>,
}

fn remove<T: PartialEq>(list: &mut Vec<T>, item: &T) {
    if let Some(at) = list.iter().position(|other| other == item) {
        list.swap_remove(at);
    }
}

impl Inbox {
    /// An extent on its way has come, or (`false`) will not.
    pub(crate) fn arrived(&mut self, extent: ExtentId, is_here: bool) {
        remove(&mut self.arriving, &extent);
        if is_here {
            self.events.push(Event::NewExtent(extent));
        }
    }

    /// A page on its way out is free, or (`false`) stays.
    pub(crate) fn freed(&mut self, page: PageId, is_free: bool) {
        remove(&mut self.freeing, &page);
        if is_free {
            self.events.push(Event::Freed(page));
        }
    }
}
