//! Mixed extents: their pages taken one by one, and the IAM pages that live in them.

use crate::error::damaged;
use crate::file::{Claim, ExtentId, FileSpace};
use crate::filegroup::Filegroup;
use crate::promise::Promise;
use crate::unit::{Chain, IamPage};
use crate::{Space, SpaceError};
use furrow_format::{
    AllocUnitId, Bitmap, Change, MapInit, MapKind, PageId, PageNo, Pfs, PfsByte, extent_at_bit,
    extent_bit, pfs_index_of, pfs_page_of, sgam_page_of,
};
use furrow_observe::counters::Counter;
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};

/// Log space of a new mixed extent, and of a new IAM page.
const MIXED_LOG_BYTES: usize = 512;

/// How often another thread may take the page before the maps themselves count as damaged.
const MOST_ATTEMPTS: usize = 10_000;

/// The result of a search for a page in the mixed extents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// This one is taken.
    Page(PageId),
    /// The file has none to spare, and no free extent.
    NoRoom,
    /// There was one, and `plan` declined it.
    Declined,
}

/// An IAM page to be created.
struct NewIam {
    unit: AllocUnitId,
    /// Place in the chain.
    sequence: u32,
    /// First page of the interval that it will cover.
    interval: PageId,
    /// Last page of the chain so far; none of an empty one.
    tail: PageId,
}

impl Space {
    /// Creates an IAM page and links it to the end of the chain. It lies in `file`, or, if that has no free
    /// page, in another file of the filegroup; `None` when no file has one.
    pub(super) fn new_iam_page(
        &self,
        unit: AllocUnitId,
        group: &Filegroup,
        file: &FileSpace,
        interval: PageId,
        chain: &mut Chain,
    ) -> Result<Option<PageId>, SpaceError> {
        debug_assert!(
            chain.of_interval(interval).is_none(),
            "a chain has one IAM page for an interval"
        );
        let new = NewIam {
            unit,
            sequence: chain.pages.len() as u32,
            interval,
            tail: chain.pages.last().map_or(PageId::NONE, |iam| iam.page),
        };
        let mut made = self.iam_page_in(&new, file)?;
        for other in group.fill.files() {
            if made.is_some() {
                break;
            }
            made = self.iam_page_in(&new, &other)?;
        }
        if let Some(page) = made {
            chain.pages.push(IamPage { page, interval });
        }
        Ok(made)
    }

    fn iam_page_in(&self, new: &NewIam, file: &FileSpace) -> Result<Option<PageId>, SpaceError> {
        let taken = self.page_in(file, |mini, page| {
            self.plan_iam_page(mini, new, page)?;
            Ok(Some(PfsByte::IAM_PAGE))
        })?;
        Ok(match taken {
            Taken::Page(page) => Some(page),
            Taken::NoRoom | Taken::Declined => None,
        })
    }

    /// Takes a page of a mixed extent of `file`, which is created if need be. `plan` plans the use of the
    /// page, in a group in which the page's PFS page is latched already. It returns the page's PFS byte, or
    /// `None` to leave the page.
    pub(super) fn page_in<'p>(
        &'p self,
        file: &FileSpace,
        mut plan: impl FnMut(&mut Mini<'p>, PageId) -> Result<Option<PfsByte>, SpaceError>,
    ) -> Result<Taken, SpaceError> {
        for _ in 0..MOST_ATTEMPTS {
            let extent = match self.find_mixed(file)? {
                Some(extent) => extent,
                None => match Claim::of(file) {
                    Some(claim) => self.take_mixed(claim)?,
                    None => return Ok(Taken::NoRoom),
                },
            };
            // Another thread may have taken its last page meanwhile: look again.
            if let Some(taken) = self.take_page(file, extent, &mut plan)? {
                return Ok(taken);
            }
        }
        Err(damaged(
            file.page(PageNo(1)),
            "PFS and SGAM disagree about mixed extents",
        ))
    }

    /// A mixed extent with a page to spare, at this moment.
    fn find_mixed(&self, file: &FileSpace) -> Result<Option<ExtentId>, SpaceError> {
        for interval in file.intervals() {
            if interval
                .mixed
                .load(furrow_io::sync::atomic::Ordering::Acquire)
                <= 0
            {
                continue;
            }
            let id = file.page(sgam_page_of(interval.start));
            let guard = self.store().update(id, LatchRank::Sgam)?;
            let map = Bitmap::new(&guard).ok_or(damaged(id, "no sound SGAM page"))?;
            let (_, end) = interval.search(file);
            if let Some(bit) = map.first_set(0, end) {
                let no = extent_at_bit(interval.start, bit);
                return Ok(Some(ExtentId { file: file.id, no }));
            }
        }
        Ok(None)
    }

    /// Makes a free extent a mixed one.
    fn take_mixed(&self, claim: Claim<'_>) -> Result<ExtentId, SpaceError> {
        let _promise = Promise::new(self.store(), MIXED_LOG_BYTES)?;
        let mut mini = Mini::new(self.store());
        let (gam, bit) = self.free_extent(&claim)?;
        let at = mini.adopt(gam);
        mini.push(
            at,
            &Change::SetBit {
                index: bit as u16,
                value: false,
            },
        );
        let sgam = claim.file.page(sgam_page_of(claim.interval.start));
        let at = mini.adopt(self.store().write(sgam, LatchRank::Sgam)?);
        mini.push(
            at,
            &Change::SetBit {
                index: bit as u16,
                value: true,
            },
        );
        mini.commit(&Author::System)?;
        claim.interval.add_mixed(1);
        let extent = ExtentId {
            file: claim.file.id,
            no: extent_at_bit(claim.interval.start, bit),
        };
        claim.used(bit);
        Ok(extent)
    }

    /// Takes a page of this extent; `None` when it has none to spare any more, or is no mixed extent.
    fn take_page<'p>(
        &'p self,
        file: &FileSpace,
        extent: ExtentId,
        plan: &mut impl FnMut(&mut Mini<'p>, PageId) -> Result<Option<PfsByte>, SpaceError>,
    ) -> Result<Option<Taken>, SpaceError> {
        let _promise = Promise::new(self.store(), MIXED_LOG_BYTES)?;
        let first = extent.no.first_page();
        let pfs_id = file.page(pfs_page_of(first));
        let pfs = self.store().update(pfs_id, LatchRank::Pfs)?;
        let taken = Pfs::new(&pfs).ok_or(damaged(pfs_id, "no sound PFS page"))?;
        let taken = taken.taken_in_extent(pfs_index_of(first));
        let spare = extent.usable() & !taken;
        if spare == 0 {
            return Ok(None);
        }
        let mut mini = Mini::new(self.store());
        let pfs = mini.adopt(pfs.upgrade());
        // Check that the extent is mixed before latching the page. In an extent that now belongs to a unit,
        // another thread may hold the page latched and wait for PFS.
        if !self.is_mixed(file, extent)? {
            return Ok(None);
        }
        let page = extent.page(spare.trailing_zeros());
        debug_assert_eq!(ExtentId::of(page), extent, "a page of the extent");
        let Some(value) = plan(&mut mini, page)? else {
            return Ok(Some(Taken::Declined));
        };
        let is_last = spare.count_ones() == 1;
        if is_last {
            let sgam = file.page(sgam_page_of(first));
            let at = mini.adopt(self.store().update(sgam, LatchRank::Sgam)?.upgrade());
            let index = extent_bit(extent.no);
            mini.push(
                at,
                &Change::SetBit {
                    index,
                    value: false,
                },
            );
        }
        mini.push(
            pfs,
            &Change::SetPfs {
                index: pfs_index_of(page.page),
                value,
            },
        );
        mini.commit(&Author::System)?;
        self.store().pool().count(Counter::MixedPageAllocations, 1);
        if let Some(interval) = file.interval_of(first).filter(|_| is_last) {
            interval.add_mixed(-1);
        }
        Ok(Some(Taken::Page(page)))
    }

    /// Plans the IAM page itself and its link.
    fn plan_iam_page<'p>(
        &'p self,
        mini: &mut Mini<'p>,
        new: &NewIam,
        page: PageId,
    ) -> Result<(), SpaceError> {
        debug_assert_eq!(
            new.tail.is_none(),
            new.sequence == 0,
            "only the first IAM page has none before it"
        );
        let kind = MapKind::Iam {
            unit: new.unit,
            sequence: new.sequence,
            interval_start: new.interval,
        };
        if !new.tail.is_none() {
            let tail = mini.adopt(self.store().write(new.tail, LatchRank::Iam)?);
            mini.push(
                tail,
                &Change::SetLinks {
                    prev: None,
                    next: Some(page),
                },
            );
        }
        let at = mini.adopt(self.store().create(page, LatchRank::Iam)?);
        mini.push(at, &Change::FormatMap(MapInit { page, kind }));
        mini.push(
            at,
            &Change::SetLinks {
                prev: Some(new.tail),
                next: None,
            },
        );
        Ok(())
    }

    /// Whether SGAM marks the extent as mixed with a page to spare. Once it does, that stays so while the
    /// caller has its PFS page EX. Nothing is taken of an extent above the ceiling of its file.
    fn is_mixed(&self, file: &FileSpace, extent: ExtentId) -> Result<bool, SpaceError> {
        let interval = file.interval_of(extent.no.first_page());
        let bit = u32::from(extent_bit(extent.no));
        if interval.is_none_or(|interval| bit >= interval.search(file).1) {
            return Ok(false);
        }
        let id = file.page(sgam_page_of(extent.no.first_page()));
        let guard = self.store().update(id, LatchRank::Sgam)?;
        let map = Bitmap::new(&guard).ok_or(damaged(id, "no sound SGAM page"))?;
        Ok(map.get(u32::from(extent_bit(extent.no))))
    }
}
