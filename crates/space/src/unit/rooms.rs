//! The cache of a heap's pages with free space.

use super::cache::ScanPlace;
use furrow_format::{Fullness, PageId};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Pages remembered.
const MOST_KNOWN: usize = 256;

/// Pages offered by one call.
const MOST_OFFERED: usize = 8;

/// Classes with enough free space to be searched for.
pub(crate) const CLASSES: [Fullness; 4] = [
    Fullness::Empty,
    Fullness::UpTo50,
    Fullness::UpTo80,
    Fullness::UpTo95,
];

/// Pages that may have free space.
pub type Candidates = SmallVec<[PageId; MOST_OFFERED]>;

/// A page, and how full it is.
pub(crate) type Room = (PageId, Fullness);

/// The known pages with free space.
#[derive(Debug)]
pub(crate) struct Rooms {
    pub(crate) known: VecDeque<Room>,
    /// For each of [`CLASSES`]: how far PFS has been searched for pages at most that full; `None` = to the
    /// end.
    pub(crate) searches: [Option<ScanPlace>; CLASSES.len()],
}

/// Where a search begins.
pub(crate) const START: ScanPlace = ScanPlace { iam: 0, bit: 0 };

impl Rooms {
    /// Of a new unit.
    pub(crate) fn complete() -> Rooms {
        Rooms {
            known: VecDeque::new(),
            searches: [None; CLASSES.len()],
        }
    }

    /// Of a unit whose pages have not been searched yet.
    pub(crate) fn unknown() -> Rooms {
        Rooms {
            searches: [Some(START); CLASSES.len()],
            ..Rooms::complete()
        }
    }

    pub(crate) fn note(&mut self, page: PageId, class: Fullness) {
        self.known.retain(|known| known.0 != page);
        if class == Fullness::UpTo100 {
            return;
        }
        if self.known.len() == MOST_KNOWN
            && let Some((_, lost)) = self.known.pop_front()
        {
            for (search, class) in self.searches.iter_mut().zip(CLASSES) {
                if class >= lost {
                    *search = Some(START);
                }
            }
        }
        self.known.push_back((page, class));
        debug_assert!(self.known.len() <= MOST_KNOWN, "memory is bounded");
    }

    pub(crate) fn offer(&self, most: Fullness) -> Candidates {
        let fitting = self.known.iter().rev().filter(|known| known.1 <= most);
        fitting.take(MOST_OFFERED).map(|known| known.0).collect()
    }
}
