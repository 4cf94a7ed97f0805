//! What happened to a unit's pages. The thread that opens the unit's cache next applies it.

use crate::file::ExtentId;
use furrow_format::PageId;

/// An event that is in the log and in the maps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// The extent belongs to the unit; all its usable pages are unallocated.
    NewExtent(ExtentId),
    /// The page, of a mixed extent, belongs to the unit; it is unallocated.
    NewPage(PageId),
    /// A held page is allocated.
    Used(PageId),
    /// A held page was not needed.
    Returned(PageId),
    /// An allocated page is unallocated.
    Freed(PageId),
    /// The same of a page of a mixed extent.
    FreedSingle(PageId),
}

/// The inbox of a unit.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    pub(crate) events: Vec<Event>,
    /// Pages that are being freed, and pages of mixed extents that are being given to the unit: the maps may
    /// say so already, or not yet.
    pub(crate) moving: Vec<PageId>,
    /// Extents that are being allocated to the unit: the maps may show it already, or not yet.
    pub(crate) arriving: Vec<ExtentId>,
}

fn remove<T: PartialEq>(list: &mut Vec<T>, item: &T) {
    let at = list.iter().position(|other| other == item);
    debug_assert!(at.is_some(), "what moves is announced before");
    if let Some(at) = at {
        list.swap_remove(at);
    }
}

impl Inbox {
    /// An extent that was being allocated is the unit's, or (`false`) is not.
    pub(crate) fn arrived(&mut self, extent: ExtentId, is_here: bool) {
        remove(&mut self.arriving, &extent);
        if is_here {
            self.events.push(Event::NewExtent(extent));
        }
    }

    /// A page of a mixed extent that was being allocated is the unit's, or (`false`) is not.
    pub(crate) fn page_came(&mut self, page: PageId, is_here: bool) {
        remove(&mut self.moving, &page);
        if is_here {
            self.events.push(Event::NewPage(page));
        }
    }

    /// A page that was being freed is free, or (`false`) stays. `single`: it lies in a mixed extent.
    pub(crate) fn freed(&mut self, page: PageId, single: bool, is_free: bool) {
        remove(&mut self.moving, &page);
        if is_free {
            self.events.push(match single {
                true => Event::FreedSingle(page),
                false => Event::Freed(page),
            });
        }
    }
}
