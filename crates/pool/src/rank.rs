//! The order in which a thread may take page latches, asserted in debug builds.
//!
//! A thread that waits for a latch while it holds another could be part of a deadlock. Ranks prevent that
//! between kinds of pages: a *blocking* request must not be of a lower rank than any latch the thread holds.
//! Within a rank the caller follows an order of its own (parent before child, left before right). Requests
//! that never block are exempt.

use furrow_observe::latches::PageKind;

/// Place of a page's kind in the latch order, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LatchRank {
    /// Rows: heaps, index pages of every level.
    Data,
    /// Page free space.
    Pfs,
    /// Index allocation maps.
    Iam,
    /// Global allocation maps.
    Gam,
    /// Shared global allocation maps.
    Sgam,
    /// Differential and bulk-changed maps.
    ChangeMap,
    /// File headers.
    FileHeader,
    /// The boot page.
    Boot,
}

impl LatchRank {
    /// The kind of page, where the rank is that of PFS, GAM or SGAM pages.
    #[inline]
    pub(crate) fn allocation_map(self) -> Option<PageKind> {
        match self {
            LatchRank::Pfs => Some(PageKind::Pfs),
            LatchRank::Gam => Some(PageKind::Gam),
            LatchRank::Sgam => Some(PageKind::Sgam),
            _ => None,
        }
    }
}

/// The ranks in their order: name, and the pages of that rank.
pub const LATCH_RANKS: [(LatchRank, &str, &str); 8] = [
    (
        LatchRank::Data,
        "data",
        "rows: heaps, index pages of every level",
    ),
    (LatchRank::Pfs, "PFS", "page free space"),
    (LatchRank::Iam, "IAM", "index allocation maps"),
    (LatchRank::Gam, "GAM", "global allocation maps"),
    (LatchRank::Sgam, "SGAM", "shared global allocation maps"),
    (
        LatchRank::ChangeMap,
        "change map",
        "differential and bulk-changed maps (DCM, BCM)",
    ),
    (LatchRank::FileHeader, "file header", "page 0 of each file"),
    (LatchRank::Boot, "boot page", "page 9 of the primary file"),
];

const _: () = {
    let mut at = 0;
    while at < LATCH_RANKS.len() {
        assert!(LATCH_RANKS[at].0 as usize == at, "every rank, in order");
        at += 1;
    }
};

#[cfg(debug_assertions)]
mod held {
    use super::LatchRank;
    use std::cell::RefCell;

    thread_local! {
        static HELD: RefCell<Vec<LatchRank>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn before_block(rank: LatchRank) {
        let highest = HELD.with_borrow(|held| held.iter().copied().max());
        assert!(
            highest.is_none_or(|held| held <= rank),
            "latch order: would wait for a {rank:?} page while holding a {highest:?} page"
        );
    }

    pub(crate) fn taken(rank: LatchRank) {
        HELD.with_borrow_mut(|held| held.push(rank));
    }

    pub(crate) fn left(rank: LatchRank) {
        // Thread-local storage may be gone when a guard dies with its thread.
        let _ = HELD.try_with(|held| {
            let mut held = held.borrow_mut();
            if let Some(at) = held.iter().rposition(|&r| r == rank) {
                held.remove(at);
            }
        });
    }

    pub(crate) fn assert_none() {
        let held = HELD.with_borrow(Clone::clone);
        assert!(
            held.is_empty(),
            "would wait while holding page latches: {held:?}"
        );
    }
}

#[cfg(not(debug_assertions))]
mod held {
    use super::LatchRank;

    #[inline]
    pub(crate) fn before_block(_: LatchRank) {}
    #[inline]
    pub(crate) fn taken(_: LatchRank) {}
    #[inline]
    pub(crate) fn left(_: LatchRank) {}
    #[inline]
    pub(crate) fn assert_none() {}
}

pub(crate) use held::{before_block, left, taken};

/// Asserts, in debug builds, that the calling thread holds no page latch.
///
/// Called by every function that is about to wait for a lock, for the log or for a file to grow.
#[inline]
pub fn assert_no_latches() {
    held::assert_none();
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn latches_may_be_taken_upwards_and_left_in_any_order() {
        before_block(LatchRank::Data);
        taken(LatchRank::Data);
        before_block(LatchRank::Data);
        taken(LatchRank::Data);
        before_block(LatchRank::Pfs);
        taken(LatchRank::Pfs);
        left(LatchRank::Data);
        left(LatchRank::Pfs);
        before_block(LatchRank::Data);
        left(LatchRank::Data);
        assert_no_latches();
    }

    #[test]
    #[should_panic(expected = "would wait for a Data page while holding a Some(Gam) page")]
    fn a_blocking_latch_below_a_held_one_is_caught() {
        taken(LatchRank::Gam);
        before_block(LatchRank::Data);
    }

    #[test]
    #[should_panic(expected = "would wait while holding page latches: [Pfs]")]
    fn waiting_under_a_latch_is_caught() {
        taken(LatchRank::Pfs);
        assert_no_latches();
    }
}
