//! The pages of a unit in allocation order.

use crate::unit::{IamPage, ScanPlace, Unit};
use crate::{Space, SpaceError};
use furrow_format::{EXTENT_PAGES, FileId, PageId};
use std::collections::VecDeque;

/// A walk over a unit's pages in the order of its IAM pages, and of the extents in each. No latch is held
/// between batches: pages that come or go meanwhile may be seen or not.
///
/// Pages of mixed extents, which IAM pages name one by one, come first of each.
#[derive(Debug)]
pub struct PageWalk {
    chain: VecDeque<IamPage>,
    place: ScanPlace,
    /// Whether the single pages of the first of `chain` have been given out.
    singles_done: bool,
}

/// Pages of a unit, as the views of space count them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageCounts {
    /// In use, IAM pages included.
    pub used: u64,
    /// In use, IAM pages left out; pages above the leaves of a tree are among them.
    pub data: u64,
    /// All pages of its extents, those of mixed extents that are its own, and its IAM pages.
    pub reserved: u64,
}

impl PageWalk {
    /// A walk over no pages.
    pub fn empty() -> PageWalk {
        PageWalk {
            chain: VecDeque::new(),
            place: ScanPlace { iam: 0, bit: 0 },
            singles_done: false,
        }
    }

    /// The next pages in use: those under one PFS page, at most. `None` at the end.
    pub fn next_batch(&mut self, space: &Space) -> Result<Option<Vec<PageId>>, SpaceError> {
        if let Some(singles) = self.next_singles(space)? {
            return Ok(Some(singles));
        }
        while let Some(seen) = self.next_extents(space)? {
            let pages: Vec<PageId> = seen
                .into_iter()
                .flat_map(|seen| {
                    let used = seen.used & seen.extent.usable();
                    (0..EXTENT_PAGES)
                        .filter(move |place| used & 1 << place != 0)
                        .map(move |place| seen.extent.page(place))
                })
                .collect();
            if !pages.is_empty() {
                return Ok(Some(pages));
            }
            if let Some(singles) = self.next_singles(space)? {
                return Ok(Some(singles));
            }
        }
        Ok(None)
    }

    /// The pages in use that the IAM page at hand names one by one; once for each IAM page, and `None` where
    /// there are none.
    fn next_singles(&mut self, space: &Space) -> Result<Option<Vec<PageId>>, SpaceError> {
        let Some(&iam) = self.chain.front().filter(|_| !self.singles_done) else {
            return Ok(None);
        };
        self.singles_done = true;
        let singles = space.singles_of(iam.page)?.into_iter();
        let used = singles.filter(|(_, byte)| byte.is_allocated());
        let pages: Vec<PageId> = used.map(|(page, _)| page).collect();
        Ok((!pages.is_empty()).then_some(pages))
    }

    /// The first pages of the next extents, whether pages of them are in use or not; `None` at the end.
    pub(crate) fn next_owned(&mut self, space: &Space) -> Result<Option<Vec<PageId>>, SpaceError> {
        let seen = self.next_extents(space)?;
        Ok(seen.map(|seen| seen.into_iter().map(|s| s.extent.first_page()).collect()))
    }

    fn next_extents(
        &mut self,
        space: &Space,
    ) -> Result<Option<Vec<crate::unit::SeenExtent>>, SpaceError> {
        let Some(&iam) = self.chain.front() else {
            return Ok(None);
        };
        let seen = space.see_extents(iam, &mut self.place)?;
        if self.place.iam != 0 {
            self.chain.pop_front();
            self.place = ScanPlace { iam: 0, bit: 0 };
            self.singles_done = false;
        }
        Ok(Some(seen))
    }
}

impl Space {
    /// A walk over all pages of the unit.
    pub fn walk(&self, unit: &Unit) -> Result<PageWalk, SpaceError> {
        let chain = self.chain_of(unit)?.into();
        Ok(PageWalk {
            chain,
            place: ScanPlace { iam: 0, bit: 0 },
            singles_done: false,
        })
    }

    /// A walk for each file that the unit has extents in, so that a scan can read the files side by side.
    pub fn walks_by_file(&self, unit: &Unit) -> Result<Vec<(FileId, PageWalk)>, SpaceError> {
        let mut walks: Vec<(FileId, PageWalk)> = Vec::new();
        for iam in self.chain_of(unit)? {
            let file = iam.interval.file;
            match walks.iter_mut().find(|walk| walk.0 == file) {
                Some((_, walk)) => walk.chain.push_back(iam),
                None => {
                    let place = ScanPlace { iam: 0, bit: 0 };
                    walks.push((
                        file,
                        PageWalk {
                            chain: [iam].into(),
                            place,
                            singles_done: false,
                        },
                    ));
                }
            }
        }
        Ok(walks)
    }

    /// The pages of the unit in use, in allocation order.
    pub fn pages<'a>(
        &'a self,
        unit: &Unit,
    ) -> Result<impl Iterator<Item = Result<PageId, SpaceError>> + 'a, SpaceError> {
        let mut walk = self.walk(unit)?;
        let mut batch = Vec::new().into_iter();
        Ok(std::iter::from_fn(move || {
            loop {
                if let Some(page) = batch.next() {
                    return Some(Ok(page));
                }
                match walk.next_batch(self) {
                    Ok(Some(pages)) => batch = pages.into_iter(),
                    Ok(None) => return None,
                    Err(error) => return Some(Err(error)),
                }
            }
        }))
    }

    /// Counts the unit's pages by reading its maps.
    pub fn page_counts(&self, unit: &Unit) -> Result<PageCounts, SpaceError> {
        let mut walk = self.walk(unit)?;
        let iam_pages = walk.chain.len() as u64;
        let (mut data, mut extents, mut singles) = (0, 0, 0);
        for iam in self.chain_of(unit)? {
            let named = self.singles_of(iam.page)?;
            singles += named.len() as u64;
            data += named.iter().filter(|(_, byte)| byte.is_allocated()).count() as u64;
        }
        while let Some(seen) = walk.next_extents(self)? {
            extents += seen.len() as u64;
            let used =
                |seen: &crate::unit::SeenExtent| (seen.used & seen.extent.usable()).count_ones();
            data += seen.iter().map(|seen| u64::from(used(seen))).sum::<u64>();
        }
        Ok(PageCounts {
            used: data + iam_pages,
            data,
            reserved: extents * u64::from(EXTENT_PAGES) + singles + iam_pages,
        })
    }
}
