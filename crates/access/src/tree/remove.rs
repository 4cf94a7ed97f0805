//! Taking empty leaves out of a tree.
//!
//! 1. The path from the lowest page with another child down to the leaf is latched EX, right neighbours of
//!    the lone pages between them too. A leaf that is not empty, or is the last one of the tree, stays.
//! 2. Left neighbours are latched last, and only without waiting: latches go from left to right. If one is
//!    not free, the leaf stays as well; a later purge finds it.
//! 3. One mini-transaction takes the entry out of the top page, links the neighbours of each level with each
//!    other, cuts the links of the pages that go, and frees them.
//!
//! The keys that led to the leaf lead to its left neighbour from then on, or to the right one when the entry
//! was its parent's first: the next entry then stands for "less than every key". Readers find the right page,
//! because they hold a page's latch while they go down from it or to the right. A reader that comes from the
//! right without a latch finds the links cut.

use super::descend::PathStep;
use super::handle::Tree;
use super::node::damaged;
use crate::{AccessError, By, Key};
use furrow_format::{Change, Page, PageId};
use furrow_io::mutation::{Mutation, mutated};
use furrow_pool::{Ex, LatchRank, PageWrite};
use furrow_txn::{Author, Mini};

/// Log space of a removal: some links and PFS bytes.
pub(super) const REMOVAL_LOG_BYTES: usize = 1024;

/// The result of the removal of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// It is out of the tree.
    Gone,
    /// It has rows, or is all there is of the tree.
    Stays,
    /// The latch of its left neighbour was not free: it is still there, and empty.
    Busy,
}

/// A page that goes, and its neighbours.
struct Going<'p> {
    page: PageWrite<'p>,
    left: Option<PageWrite<'p>>,
    right: Option<PageWrite<'p>>,
}

impl Tree {
    /// Takes the leaf that `key` leads to out of the tree, with pages above that lead nowhere else, if it is
    /// empty and the latches of its neighbours are free. The author is always the system; `by` is the
    /// operation that needs it, because a rollback has the log space already. No latch may be held.
    pub(super) fn remove_empty_leaf(
        &self,
        by: &mut By<'_>,
        key: &Key,
    ) -> Result<Removal, AccessError> {
        by.prepare(self.store(), REMOVAL_LOG_BYTES, 0)?;
        let mut change = self.uppers.begin();
        let mut path = self.path_for_removal(key)?;
        let empty = path
            .last()
            .is_some_and(|leaf| Page::new(&leaf.page).slot_count() == 0);
        let alone = path
            .first()
            .is_none_or(|top| Page::new(&top.page).slot_count() < 2);
        if !empty || alone || path.len() < 2 {
            return Ok(Removal::Stays);
        }
        let lone = path.split_off(1);
        let Some(top) = path.pop() else {
            return Ok(Removal::Stays);
        };
        let mut going = Vec::with_capacity(lone.len());
        for step in lone {
            match self.with_neighbours(step)? {
                Some(page) => going.push(page),
                None => return Ok(Removal::Busy),
            }
        }
        // All but the leaf itself.
        change.add(1 - going.len() as i64);
        let mut mini = Mini::new(self.store());
        let at = mini.adopt(top.page);
        mini.push(at, &Change::RemoveRow { slot: top.slot });
        let mut pages: Vec<PageId> = going
            .into_iter()
            .map(|g| Self::unlink(&mut mini, g))
            .collect();
        pages.sort_unstable();
        let freed = self
            .parts
            .space
            .free_pages(&self.parts.unit, &mut mini, &pages)?;
        // No space is reserved on pages without rows, whichever object gets the pages next.
        pages
            .iter()
            .for_each(|&page| self.store().room().clear(page));
        mini.commit(&Author::System)?;
        change.done();
        self.parts.space.freed(freed)?;
        Ok(Removal::Gone)
    }

    /// The page with both neighbours latched; `None` when the latch of the left one is not free.
    fn with_neighbours<'p>(&'p self, step: PathStep<'p>) -> Result<Option<Going<'p>>, AccessError> {
        let view = Page::new(&step.page);
        let (here, prev, next) = (step.page.key().page, view.prev(), view.next());
        let right = match step.right {
            None if !next.is_none() => Some(self.fetch(next, Ex)?),
            right => right,
        };
        let mut left = None;
        if !prev.is_none() {
            let store = self.store();
            left = store
                .pool()
                .try_fetch(store.key(prev), Ex, LatchRank::Data)?;
            let Some(left) = &left else { return Ok(None) };
            if Page::new(left).next() != here {
                return Err(damaged(left, "its right link is not the page behind it"));
            }
        }
        Ok(Some(Going {
            page: step.page,
            left,
            right,
        }))
    }

    /// Plans the links around a page that goes, and gives its id.
    fn unlink<'p>(mini: &mut Mini<'p>, going: Going<'p>) -> PageId {
        let view = Page::new(&going.page);
        let (id, prev, next) = (going.page.key().page, view.prev(), view.next());
        if let Some(left) = going.left {
            let at = mini.adopt(left);
            mini.push(
                at,
                &Change::SetLinks {
                    prev: None,
                    next: Some(next),
                },
            );
        }
        if let Some(right) = going.right {
            let at = mini.adopt(right);
            mini.push(
                at,
                &Change::SetLinks {
                    prev: Some(match mutated(Mutation::ForgetUnlink) {
                        true => id,
                        false => prev,
                    }),
                    next: None,
                },
            );
        }
        let at = mini.adopt(going.page);
        let cut = Change::SetLinks {
            prev: Some(PageId::NONE),
            next: Some(PageId::NONE),
        };
        mini.push(at, &cut);
        id
    }
}
