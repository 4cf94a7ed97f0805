//! How many pages a tree has above its leaves: the maps do not distinguish them.
//!
//! They are counted at the first call, by walking the levels above the leaves; from then on every split and
//! removal updates the count. A walk while one of these is under way may have seen its pages or not: its
//! result is returned as an estimate, and the next call walks again.

use furrow_io::sync::Mutex;
use furrow_space::Reservation;
use std::ops::{Deref, DerefMut};

#[derive(Debug, Default)]
pub(super) struct State {
    /// Changes that may be about to add or remove such pages.
    pub(super) under_way: u32,
    /// How many changes did.
    pub(super) done: u64,
    /// The count, updated by each change; `None` before the first walk.
    pub(super) count: Option<i64>,
}

/// The count of a tree.
#[derive(Debug, Default)]
pub(super) struct Uppers(pub(super) Mutex<State>);

/// A change of the tree's structure, from before its first latch until it is logged and applied, or given up.
#[derive(Debug)]
pub(super) struct UpperChange<'t> {
    uppers: &'t Uppers,
    added: i64,
}

impl Uppers {
    /// A change begins. No latch may be held.
    pub(super) fn begin(&self) -> UpperChange<'_> {
        self.0.lock().under_way += 1;
        UpperChange {
            uppers: self,
            added: 0,
        }
    }

    /// Number of changes so far, while none is under way.
    pub(super) fn at_rest(&self) -> Option<u64> {
        let state = self.0.lock();
        (state.under_way == 0).then_some(state.done)
    }
}

impl UpperChange<'_> {
    /// The change makes so many pages above the leaves, or takes them out.
    pub(super) fn add(&mut self, pages: i64) {
        self.added += pages;
    }

    /// It is logged and applied.
    pub(super) fn done(&mut self) {
        let added = std::mem::take(&mut self.added);
        if added != 0 {
            let mut state = self.uppers.0.lock();
            state.done += 1;
            state.count = state.count.map(|count| count + added);
        }
    }
}

impl Drop for UpperChange<'_> {
    fn drop(&mut self) {
        self.uppers.0.lock().under_way -= 1;
    }
}

/// Pages set aside for a split, and what it does to the count.
#[derive(Debug)]
pub(super) struct SplitPages<'t> {
    pages: Reservation,
    change: UpperChange<'t>,
}

impl<'t> SplitPages<'t> {
    pub(super) fn new(pages: Reservation, change: UpperChange<'t>) -> SplitPages<'t> {
        SplitPages { pages, change }
    }

    /// As [`UpperChange::add`].
    pub(super) fn add_uppers(&mut self, pages: i64) {
        self.change.add(pages);
    }

    /// The split is logged and applied.
    pub(super) fn done(&mut self) {
        self.pages.done();
        self.change.done();
    }
}

impl Deref for SplitPages<'_> {
    type Target = Reservation;

    fn deref(&self) -> &Reservation {
        &self.pages
    }
}

impl DerefMut for SplitPages<'_> {
    fn deref_mut(&mut self) -> &mut Reservation {
        &mut self.pages
    }
}
