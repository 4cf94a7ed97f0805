//! Files that grow.
//!
//! One thread at a time grows a file of a filegroup. The others wait for FGCB_ADD_REMOVE and then use the
//! extents that it added. The order of the steps makes a crash at any moment harmless:
//!
//! 1. The file is made longer, durably. The bytes beyond the size in its header belong to no page yet. A
//!    file that was cut and whose tail is not released yet may be long enough: it never becomes shorter here,
//!    since snapshots may need its tail, and a redo its pages. What lies in the tail is older than any record
//!    that follows, and a page is formatted before it is read, as one that was freed and is used again.
//! 2. The maps of the new part are formatted, in batches; no thread reads them yet.
//! 3. With the last batch, in one mini-transaction, the header gets the new size, and pages at fixed places
//!    whose PFS page was there before are marked in it.
//! 4. The counts in memory are raised, and `FileCatalog::resized` is called.
//!
//! Step 1 is one operation of the system, which cannot be cancelled: a session that gets a cancel request
//! during it stops after it. So message 5144 (a growth was cancelled) is never raised here.

use crate::file::{FileSpace, IntervalCount};
use crate::filegroup::{Filegroup, GrowthTurn};
use crate::new_file::mixed_from_the_start;
use crate::promise::Promise;
use crate::{Space, SpaceError};
use furrow_format::{
    AllocUnitId, Change, EXTENT_PAGES, ExtentNo, FileGrowth, FileId, GAM_INTERVAL, MAX_FILE_PAGES,
    MapInit, PAGE_SIZE, PageId, PageNo, PageType, PfsByte, extent_bit, fixed_pages, gam_page_of,
    interval_extents, interval_start_of, pfs_index_of, pfs_page_of, sgam_page_of,
};
use furrow_io::IoError;
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::atomic::Ordering;
use furrow_io::time::Moment;
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use furrow_pool::LatchRank;
use furrow_txn::{Author, Mini};
use std::collections::BTreeMap;

/// Map pages changed by one mini-transaction: a small pool has to hold them latched.
const BATCH_MAPS: usize = 24;
/// Log space of a batch, the file header included.
const BATCH_LOG_BYTES: usize = 12 * 1024;

/// A file that has grown, and to what size in pages.
type Grown = (FileId, u32);

impl Space {
    /// Returns when a search for a free extent may succeed again. No latch may be held.
    pub(crate) fn make_room(&self, group: &Filegroup, unit: AllocUnitId) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let mut turn = group.growth.exclusive();
        // The thread that held the latch before may have added space.
        if group.fill.files().iter().any(|file| file.has_free()) {
            return Ok(());
        }
        // A file that is being shrunk does not grow: its ceiling is removed, and the extents above it are
        // used again.
        for file in group.fill.files() {
            if self.lift(&file)? && file.has_free() {
                return Ok(());
            }
        }
        let grown = self.grow_next(group, &mut turn, unit)?;
        drop(turn);
        self.record_sizes(&grown)
    }

    /// Makes the filegroup larger although it has a free extent, which is too little. No latch may be held.
    pub(crate) fn force_room(
        &self,
        group: &Filegroup,
        unit: AllocUnitId,
    ) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let mut turn = group.growth.exclusive();
        let free: u64 = group
            .fill
            .files()
            .iter()
            .map(|file| file.free_extents())
            .sum();
        if free > 1 {
            return Ok(());
        }
        let grown = self.grow_next(group, &mut turn, unit)?;
        drop(turn);
        self.record_sizes(&grown)
    }

    /// Reports files that have grown to the catalog. Its rows may need an extent: the growth latch is not
    /// held.
    pub(crate) fn record_sizes(&self, grown: &[Grown]) -> Result<(), SpaceError> {
        let Some(catalog) = &self.catalog else {
            return Ok(());
        };
        grown
            .iter()
            .try_for_each(|&(file, size_pages)| catalog.resized(file, size_pages))
    }

    /// Lets the next file in turn grow, or all files; returns which have.
    fn grow_next(
        &self,
        group: &Filegroup,
        turn: &mut GrowthTurn,
        unit: AllocUnitId,
    ) -> Result<Vec<Grown>, SpaceError> {
        let files = group.fill.files();
        let all = group.autogrow_all.load(Ordering::Relaxed);
        let mut cause: Option<IoError> = None;
        let mut grown = Vec::new();
        for _ in 0..files.len() {
            let at = turn.next % files.len();
            turn.next = at + 1;
            let Some(file) = files.get(at) else { break };
            let Some(size_pages) = next_size(file) else {
                continue;
            };
            let begun = Moment::now();
            match self.grow_file(file, size_pages) {
                Ok(()) => {
                    if let Some(catalog) = &self.catalog {
                        catalog.grew(file.id, begun.elapsed_us() / 1000);
                    }
                    grown.push((file.id, size_pages));
                }
                Err(SpaceError::Expand { source, .. }) => {
                    if let Some(catalog) = &self.catalog {
                        catalog.not_expanded(file.id, &source);
                    }
                    cause = Some(source);
                }
                Err(other) => return Err(other),
            }
            if !all && !grown.is_empty() {
                break;
            }
        }
        if !grown.is_empty() {
            return Ok(grown);
        }
        Err(SpaceError::FilegroupFull {
            filegroup: group.name(),
            object: unit,
            cause,
        })
    }

    /// Makes a file `size_pages` large, rounded up to whole extents (MODIFY FILE). No latch may be held.
    pub fn grow_to(&self, file: FileId, size_pages: u32) -> Result<(), SpaceError> {
        furrow_pool::assert_no_latches();
        let file = self.file(file)?;
        let group = self.filegroup(file.filegroup)?;
        let turn = group.growth.exclusive();
        let old = file.size_pages();
        let bad = |what| SpaceError::BadSize {
            file: file.id,
            size_pages: old,
            asked_pages: size_pages,
            what,
        };
        let rounded = size_pages.checked_next_multiple_of(EXTENT_PAGES);
        let rounded = rounded.filter(|&pages| pages <= MAX_FILE_PAGES);
        let rounded = rounded.ok_or(bad("no file is that large"))?;
        if rounded <= old {
            return Err(bad("it is that large already"));
        }
        if file
            .limits
            .lock()
            .max_pages
            .is_some_and(|max| rounded > max)
        {
            return Err(bad("its largest size is below that"));
        }
        self.grow_file(&file, rounded)?;
        drop(turn);
        self.record_sizes(&[(file.id, rounded)])
    }

    /// The steps of the header essay. The caller holds the filegroup's growth latch.
    fn grow_file(&self, file: &FileSpace, size_pages: u32) -> Result<(), SpaceError> {
        self.lift(file)?;
        let old = file.size_pages();
        debug_assert!(
            size_pages > old && size_pages.is_multiple_of(EXTENT_PAGES),
            "a file grows by whole extents"
        );
        debug_assert!(
            size_pages <= MAX_FILE_PAGES,
            "a size that a page number reaches"
        );
        let bytes = u64::from(size_pages) * PAGE_SIZE as u64;
        let db = self.store().db().0;
        let resource = Resource::File {
            db,
            file: file.id.0,
        };
        let wait = task::wait(WaitType::PreemptiveOsWriteFileGather, resource);
        let fill = self.catalog.as_ref().and_then(|catalog| catalog.fill());
        let longer = match file.file.len_bytes() {
            Ok(now) if now >= bytes => Ok(()),
            Ok(_) => file.file.resize(bytes, fill.unwrap_or(self.options.fill)),
            Err(error) => Err(error),
        };
        wait.finish();
        longer.map_err(|source| SpaceError::Expand {
            file: file.id,
            source,
        })?;
        self.log_growth(file.id, old, size_pages)?;
        file.grown(size_pages, &new_extents(old, size_pages));
        Ok(())
    }

    fn log_growth(&self, file: FileId, old: u32, new: u32) -> Result<(), SpaceError> {
        let changes = map_changes(file, old, new);
        let batches: Vec<_> = changes.chunks(BATCH_MAPS).collect();
        let (last, earlier) = match batches.split_last() {
            Some((last, earlier)) => (*last, earlier),
            None => (&[][..], &[][..]),
        };
        for batch in earlier {
            let _promise = Promise::new(self.store(), BATCH_LOG_BYTES)?;
            let mut mini = Mini::new(self.store());
            self.plan_maps(&mut mini, batch)?;
            mini.commit(&Author::System)?;
        }
        let _promise = Promise::new(self.store(), BATCH_LOG_BYTES)?;
        let mut mini = Mini::new(self.store());
        self.plan_maps(&mut mini, last)?;
        let size = match mutated(Mutation::LoseGrowth) {
            true => old,
            false => new,
        };
        self.plan_header(&mut mini, file, |header| header.size_pages = size)?;
        mini.commit(&Author::System)?;
        Ok(())
    }

    pub(crate) fn plan_maps<'p>(
        &'p self,
        mini: &mut Mini<'p>,
        maps: &[MapChanges],
    ) -> Result<(), SpaceError> {
        let mut latched = Vec::with_capacity(maps.len());
        let mut by_rank: Vec<&MapChanges> = maps.iter().collect();
        by_rank.sort_by_key(|map| (map.rank, map.page));
        for map in by_rank {
            let guard = match map.fresh {
                Some(_) => self.store().create(map.page, map.rank)?,
                None => self.store().write(map.page, map.rank)?,
            };
            latched.push((mini.adopt(guard), map));
        }
        for (at, map) in latched {
            if let Some(init) = map.fresh {
                mini.push(at, &Change::FormatMap(init));
            }
            map.changes.iter().for_each(|change| mini.push(at, change));
        }
        Ok(())
    }
}

/// The size a file grows to by itself; `None` when it does not.
fn next_size(file: &FileSpace) -> Option<u32> {
    let limits = *file.limits.lock();
    let old = file.size_pages();
    let by = match limits.growth {
        FileGrowth::None => return None,
        FileGrowth::Pages(pages) => u64::from(pages),
        FileGrowth::Percent(percent) => u64::from(old) * u64::from(percent) / 100,
    };
    let extent = u64::from(EXTENT_PAGES);
    let whole = u64::from(old) + by.next_multiple_of(extent).max(extent);
    let most = limits
        .max_pages
        .unwrap_or(MAX_FILE_PAGES)
        .min(MAX_FILE_PAGES);
    let most = u64::from(most / EXTENT_PAGES * EXTENT_PAGES);
    debug_assert!(
        whole.is_multiple_of(extent) || !old.is_multiple_of(EXTENT_PAGES),
        "a file grows by whole extents"
    );
    // A last increment that does not fit whole is cut to the largest allowed size.
    u32::try_from(whole.min(most))
        .ok()
        .filter(|&size| size > old)
}

/// What happens to one map page when a file grows.
#[derive(Debug)]
pub(crate) struct MapChanges {
    page: PageId,
    rank: LatchRank,
    /// The page is new.
    fresh: Option<MapInit>,
    pub(crate) changes: Vec<Change<'static>>,
}

impl MapChanges {
    pub(crate) fn of(page: PageId, kind: PageType, fresh: Option<MapInit>) -> MapChanges {
        MapChanges {
            page,
            rank: rank_of(kind),
            fresh,
            changes: Vec::new(),
        }
    }
}

fn rank_of(kind: PageType) -> LatchRank {
    match kind {
        PageType::Pfs => LatchRank::Pfs,
        PageType::Gam => LatchRank::Gam,
        PageType::Sgam => LatchRank::Sgam,
        _ => LatchRank::ChangeMap,
    }
}

/// The map pages that a file of `old` pages gets or changes on its way to `new` pages, those of the old part
/// last, so that they change together with the header. Fresh PFS pages contain the fixed pages of their own
/// interval.
fn map_changes(file: FileId, old: u32, new: u32) -> Vec<MapChanges> {
    let mut maps: BTreeMap<(bool, PageId), MapChanges> = BTreeMap::new();
    fn at(
        maps: &mut BTreeMap<(bool, PageId), MapChanges>,
        old: u32,
        page: PageId,
        kind: PageType,
    ) -> &mut MapChanges {
        maps.entry((page.page.0 < old, page))
            .or_insert_with(|| MapChanges::of(page, kind, None))
    }
    for (page, kind) in fixed_pages(PageNo(old), PageNo(new)) {
        let id = PageId { file, page };
        at(&mut maps, old, id, kind).fresh = MapInit::fixed(id, new);
        let pfs = PageId {
            file,
            page: pfs_page_of(page),
        };
        if pfs.page.0 < old {
            let change = Change::SetPfs {
                index: pfs_index_of(page),
                value: PfsByte::FIXED,
            };
            at(&mut maps, old, pfs, PageType::Pfs).changes.push(change);
        }
    }
    for extent in mixed_from_the_start(old, new) {
        let (first, index) = (extent.first_page(), extent_bit(extent));
        let gam = PageId {
            file,
            page: gam_page_of(first),
        };
        let sgam = PageId {
            file,
            page: sgam_page_of(first),
        };
        let bit = |value| Change::SetBit { index, value };
        at(&mut maps, old, gam, PageType::Gam)
            .changes
            .push(bit(false));
        at(&mut maps, old, sgam, PageType::Sgam)
            .changes
            .push(bit(true));
    }
    maps.into_values().collect()
}

/// The free and mixed extents that a file of `old` pages gains, by interval.
pub(crate) fn new_extents(old: u32, new: u32) -> Vec<(PageNo, IntervalCount)> {
    let mixed: Vec<ExtentNo> = mixed_from_the_start(old, new).collect();
    let first = interval_start_of(PageNo(old)).0;
    (first..new)
        .step_by(GAM_INTERVAL as usize)
        .map(PageNo)
        .map(|start| {
            let is_here = |extent: &&ExtentNo| interval_start_of(extent.first_page()) == start;
            let mixed = mixed.iter().filter(is_here).count() as u32;
            let before = interval_extents(start, old);
            let gained = interval_extents(start, new) - before;
            // The first extent of an interval holds its maps.
            let maps = u32::from(before == 0 && gained > 0);
            debug_assert!(
                gained >= maps + mixed,
                "the extents of maps are among those that came"
            );
            (
                start,
                IntervalCount {
                    free: gained - maps - mixed,
                    mixed,
                },
            )
        })
        .collect()
}
