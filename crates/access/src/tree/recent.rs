//! Where rows were inserted last, to recognize an ascending run when a page is split.
//!
//! A hint in memory, one word for each of a few hundred pages, written without order among threads: a wrong
//! one costs a page that is less full than it could be.

use furrow_format::PageId;
use furrow_io::sync::atomic::{AtomicU64, Ordering};

/// Words of the hint; pages share them by their number.
const WORDS: usize = 256;

/// Whether an insert goes right behind the one before it on the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// It goes right behind the row inserted last.
    Ascending,
    /// It does not, or nothing is known.
    None,
}

/// The last insert of each of some pages.
#[derive(Debug)]
pub(super) struct Recent {
    words: Box<[AtomicU64; WORDS]>,
}

impl Recent {
    pub(super) fn new() -> Recent {
        Recent {
            words: Box::new([const { AtomicU64::new(0) }; WORDS]),
        }
    }

    fn word(&self, page: PageId) -> &AtomicU64 {
        // Pages of an extent lie side by side, and files take turns.
        let mixed = page.page.0 as usize ^ usize::from(page.file.0) << 5;
        &self.words[mixed % WORDS]
    }

    fn pack(page: PageId, slot: u16) -> u64 {
        u64::from(page.page.0) << 32 | u64::from(page.file.0) << 16 | u64::from(slot)
    }

    /// A row has been inserted at `slot`.
    #[inline]
    pub(super) fn note(&self, page: PageId, slot: u16) {
        self.word(page)
            .store(Recent::pack(page, slot), Ordering::Relaxed);
    }

    /// Whether an insert at `slot` continues a run.
    pub(super) fn run_at(&self, page: PageId, slot: u16) -> Run {
        let before = slot.checked_sub(1).map(|before| Recent::pack(page, before));
        match before {
            Some(before) if self.word(page).load(Ordering::Relaxed) == before => Run::Ascending,
            _ => Run::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_slot_behind_the_last_insert_of_the_same_page_is_a_run() {
        let recent = Recent::new();
        let page = PageId::new(1, 500);
        assert_eq!(recent.run_at(page, 0), Run::None);
        recent.note(page, 7);
        assert_eq!(recent.run_at(page, 8), Run::Ascending);
        assert_eq!(recent.run_at(page, 7), Run::None);
        assert_eq!(
            recent.run_at(PageId::new(1, 500 + WORDS as u32), 8),
            Run::None
        );
        recent.note(page, 0);
        assert_eq!(recent.run_at(page, 8), Run::None);
        assert_eq!(recent.run_at(page, 1), Run::Ascending);
    }
}
