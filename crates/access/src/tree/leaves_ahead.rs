//! The leaves that a scan will come to, by the entries of their parents: requested from the disk long before,
//! and brought into the processor's cache a few leaves before.

use super::descend::{Ahead, READ_AHEAD};
use super::handle::Tree;
use crate::AccessError;
use furrow_format::PageId;
use furrow_pool::{FrameHint, LatchRank, Lines, PageKey, PageRead, Sh};

/// Leaves requested in advance at first: a scan may be a short one. Twice as many after each descent.
const FIRST_WINDOW: usize = 128;

/// Leaves requested at once: what the pool reads at once.
const RUN: usize = 64;

/// Leaves that are brought near before the scan is there: as many as a wait for memory takes, and a few.
const DISTANCE: usize = 8;

/// See the module's header.
#[derive(Debug)]
pub(super) struct LeavesAhead {
    /// Of the last descent. Splits since then only make them a worse guess.
    leaves: Ahead,
    asked_up_to: Option<PageId>,
    /// How many to request in advance now.
    window: usize,
    /// Leaves reached by links since the last descent.
    by_link: usize,
    /// Those of `leaves` that the scan has come to.
    passed: usize,
    /// Where the first of them were when they were requested.
    frames: Vec<FrameHint>,
}

impl LeavesAhead {
    pub(super) fn new() -> LeavesAhead {
        LeavesAhead {
            leaves: Ahead::new(),
            asked_up_to: None,
            window: FIRST_WINDOW,
            by_link: 0,
            passed: 0,
            frames: Vec::new(),
        }
    }

    /// What a descent enters the leaves to come in.
    pub(super) fn entries(&mut self) -> &mut Ahead {
        &mut self.leaves
    }

    /// After a descent: requests leaves, as soon as the window has space for a run.
    pub(super) fn descended(&mut self, tree: &Tree) -> Result<(), AccessError> {
        (self.by_link, self.passed) = (0, 0);
        let asked = self
            .asked_up_to
            .and_then(|p| self.leaves.iter().rposition(|&leaf| leaf == p));
        let first = asked.map_or(0, |at| at + 1);
        self.keep_hints(first);
        let store = tree.store();
        self.window = store.pool().read_ahead(self.window);
        let end = self.leaves.len().min(self.window);
        // Less than a run is read only at the end of the entries of the parents.
        let runs = match end < self.window {
            true => end,
            false => first + end.saturating_sub(first) / RUN * RUN,
        };
        let wanted = self.leaves.get(first..runs).unwrap_or_default();
        if wanted.is_empty() {
            return Ok(());
        }
        self.window = (self.window * 2).min(READ_AHEAD);
        let keys: Vec<PageKey> = wanted.iter().map(|&p| store.key(p)).collect();
        store.pool().prefetch_noting(&keys, &mut self.frames)?;
        self.asked_up_to = wanted.last().copied();
        Ok(())
    }

    /// Keeps the hints of so many leaves: those that the scan has passed are no longer among the leaves.
    fn keep_hints(&mut self, leaves: usize) {
        match self.frames.len().checked_sub(leaves) {
            Some(passed) => drop(self.frames.drain(..passed)),
            // Splits have made leaves between them, or the pool noted none: no hint has a known leaf.
            None => {
                self.frames.clear();
                self.frames.resize(leaves, FrameHint::NONE);
            }
        }
        debug_assert_eq!(self.frames.len(), leaves, "a hint for each");
    }

    /// Whether it is time for a descent, which enters more leaves: many are still requested then.
    pub(super) fn is_used_up(&self) -> bool {
        self.by_link + 1 >= RUN.max(self.window / 4)
    }

    /// Brings a leaf near that is some links away.
    #[inline]
    pub(super) fn bring_near(&self, tree: &Tree, lines: Lines) {
        if let Some(&frame) = self.frames.get(self.passed + DISTANCE) {
            tree.store().pool().bring_near(frame, lines);
        }
    }

    /// The page at the end of a link, latched, if it is in memory and its latch is free.
    #[inline]
    pub(super) fn neighbour<'t>(&mut self, tree: &'t Tree, page: PageId) -> Option<PageRead<'t>> {
        let (pool, key) = (tree.store().pool(), tree.store().key(page));
        self.by_link += 1;
        let mut frame = FrameHint::NONE;
        // A leaf that a split has made since is not among them.
        if self.leaves.get(self.passed) == Some(&page) {
            frame = self.frames.get(self.passed).copied().unwrap_or(frame);
            self.passed += 1;
        }
        pool.fetch_near(frame, key, Sh, LatchRank::Data)
            .or_else(|| pool.fetch_at_hand(key, Sh, LatchRank::Data))
    }
}
