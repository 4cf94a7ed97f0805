//! The chain of a unit's IAM pages, as it is known in memory.

use crate::error::damaged;
use crate::{Space, SpaceError};
use furrow_format::{AllocUnitId, Iam, Page, PageId};
use furrow_pool::LatchRank;

/// An IAM page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IamPage {
    /// Where it is.
    pub(crate) page: PageId,
    /// First page of the interval that it covers.
    pub(crate) interval: PageId,
}

/// The IAM pages of a unit, in the order of their links.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chain {
    pub(crate) pages: Vec<IamPage>,
    /// The first page of a chain that has not been read.
    unread: Option<PageId>,
}

impl Chain {
    /// One that begins at `first`.
    pub(crate) fn unread(first: PageId) -> Chain {
        Chain {
            pages: Vec::new(),
            unread: Some(first),
        }
    }

    /// Its first page; none of an empty chain.
    pub(crate) fn first(&self) -> PageId {
        self.unread
            .or(self.pages.first().map(|iam| iam.page))
            .unwrap_or(PageId::NONE)
    }

    /// Reads the chain if need be. No latch may be held.
    pub(crate) fn read(&mut self, space: &Space, unit: AllocUnitId) -> Result<(), SpaceError> {
        let Some(first) = self.unread else {
            return Ok(());
        };
        let mut pages: Vec<IamPage> = Vec::new();
        let mut next = first;
        while !next.is_none() {
            let guard = space.store().read(next, LatchRank::Iam)?;
            let iam = Iam::new(&guard).filter(|_| Page::new(&guard).unit() == unit);
            let iam = iam.ok_or(damaged(next, "not an IAM page of its unit"))?;
            if iam.sequence() as usize != pages.len() {
                return Err(damaged(next, "the IAM chain is out of sequence"));
            }
            pages.push(IamPage {
                page: next,
                interval: iam.interval_start(),
            });
            next = Page::new(&guard).next();
        }
        *self = Chain {
            pages,
            unread: None,
        };
        Ok(())
    }

    /// The IAM page that covers the interval beginning at `interval`.
    pub(crate) fn of_interval(&self, interval: PageId) -> Option<PageId> {
        self.pages
            .iter()
            .find(|iam| iam.interval == interval)
            .map(|iam| iam.page)
    }
}
