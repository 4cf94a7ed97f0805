//! A data file in memory: its size, and how many extents are free where.

use crate::config::{DataFile, FileState};
use furrow_format::{
    EXTENT_PAGES, FileGrowth, FileId, GAM_INTERVAL, PageId, PageNo, interval_extents,
};
use furrow_io::File;
use furrow_io::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use furrow_io::sync::{Mutex, RwLock};
use std::sync::Arc;

/// How far and by what a file grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) max_pages: Option<u32>,
    pub(crate) growth: FileGrowth,
}

/// The state of a GAM interval of a file in memory.
#[derive(Debug)]
pub(crate) struct Interval {
    /// Its first page.
    pub(crate) start: PageNo,
    /// Extents that are free in GAM and not claimed.
    free: AtomicU64,
    /// Where a search for a free extent begins.
    hint: AtomicU32,
    /// Mixed extents with pages to spare: bits of SGAM. A hint.
    pub(crate) mixed: AtomicI64,
    /// Extents from this bit on are no longer allocated (see `shrink`); changes under the latch of the GAM
    /// page.
    limit: AtomicU32,
}

/// A data file of an open database.
///
/// Free extents are counted exactly: `free_extents` is what GAM has inside the file's size, less what threads
/// have claimed and not yet marked. So a thread that has claimed an extent finds one. Extents above a ceiling
/// do not count.
#[derive(Debug)]
pub(crate) struct FileSpace {
    pub(crate) id: FileId,
    pub(crate) filegroup: u16,
    pub(crate) name: String,
    pub(crate) file: Arc<dyn File>,
    pub(crate) limits: Mutex<Limits>,
    /// Gets no extents and does not grow.
    pub(crate) closed: AtomicBool,
    /// Whether intervals have limits, or are being given some.
    ceiling: AtomicBool,
    size_pages: AtomicU32,
    free: AtomicU64,
    intervals: RwLock<Vec<Arc<Interval>>>,
}

/// The extents in the maps of one interval when the database is opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IntervalCount {
    pub(crate) free: u32,
    pub(crate) mixed: u32,
}

fn take_one(count: &AtomicU64) -> bool {
    let less = |n: u64| n.checked_sub(1);
    count
        .fetch_update(Ordering::AcqRel, Ordering::Acquire, less)
        .is_ok()
}

impl FileSpace {
    pub(crate) fn new(file: &DataFile, size_pages: u32, counts: &[IntervalCount]) -> FileSpace {
        let interval = |(start, count): (u32, &IntervalCount)| {
            Arc::new(Interval {
                start: PageNo(start),
                free: AtomicU64::new(u64::from(count.free)),
                hint: AtomicU32::new(0),
                mixed: AtomicI64::new(i64::from(count.mixed)),
                limit: AtomicU32::new(u32::MAX),
            })
        };
        let starts = (0..).step_by(GAM_INTERVAL as usize);
        debug_assert_eq!(
            counts.len(),
            size_pages.div_ceil(GAM_INTERVAL) as usize,
            "every interval was counted"
        );
        FileSpace {
            id: file.file_id,
            filegroup: file.filegroup,
            name: file.name.clone(),
            file: Arc::clone(&file.file),
            limits: Mutex::new(Limits {
                max_pages: file.max_pages,
                growth: file.growth,
            }),
            closed: AtomicBool::new(file.state == FileState::Closed),
            ceiling: AtomicBool::new(false),
            size_pages: AtomicU32::new(size_pages),
            free: AtomicU64::new(counts.iter().map(|count| u64::from(count.free)).sum()),
            intervals: RwLock::new(starts.zip(counts).map(interval).collect()),
        }
    }

    pub(crate) fn size_pages(&self) -> u32 {
        self.size_pages.load(Ordering::Acquire)
    }

    /// Free extents that no thread has claimed.
    pub(crate) fn free_extents(&self) -> u64 {
        self.free.load(Ordering::Acquire)
    }

    pub(crate) fn has_free(&self) -> bool {
        self.free_extents() > 0
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Claims a free extent; [`Claim::place`] decides in which interval.
    pub(crate) fn claim(&self) -> bool {
        take_one(&self.free)
    }

    pub(crate) fn intervals(&self) -> Vec<Arc<Interval>> {
        self.intervals.read().clone()
    }

    /// The interval that a page lies in.
    pub(crate) fn interval_of(&self, page: PageNo) -> Option<Arc<Interval>> {
        let at = (page.0 / GAM_INTERVAL) as usize;
        self.intervals.read().get(at).map(Arc::clone)
    }

    /// Counts extents of an interval that have become free, once that is in the log.
    pub(crate) fn add_free(&self, interval: &Interval, first_bit: u32, extents: u32) {
        interval.hint.fetch_min(first_bit, Ordering::Relaxed);
        let before = interval
            .free
            .fetch_add(u64::from(extents), Ordering::AcqRel);
        debug_assert!(
            before + u64::from(extents) <= u64::from(GAM_INTERVAL / EXTENT_PAGES),
            "an interval has no more free extents than extents"
        );
        self.free.fetch_add(u64::from(extents), Ordering::AcqRel);
    }

    /// The file has become larger: the new extents of each interval, of which mixed.
    pub(crate) fn grown(&self, size_pages: u32, new: &[(PageNo, IntervalCount)]) {
        debug_assert!(size_pages >= self.size_pages(), "a file grows");
        self.size_pages.store(size_pages, Ordering::Release);
        let mut all = 0;
        let mut intervals = self.intervals.write();
        for &(start, count) in new {
            let known = intervals
                .iter()
                .find(|interval| interval.start == start)
                .map(Arc::clone);
            let interval = known.unwrap_or_else(|| {
                let fresh = Arc::new(Interval {
                    start,
                    free: AtomicU64::new(0),
                    hint: AtomicU32::new(0),
                    mixed: AtomicI64::new(0),
                    limit: AtomicU32::new(u32::MAX),
                });
                intervals.push(Arc::clone(&fresh));
                fresh
            });
            interval
                .free
                .fetch_add(u64::from(count.free), Ordering::AcqRel);
            interval
                .mixed
                .fetch_add(i64::from(count.mixed), Ordering::AcqRel);
            all += u64::from(count.free);
        }
        debug_assert!(
            intervals.is_sorted_by(|a, b| a.start < b.start),
            "an interval is found by its place"
        );
        drop(intervals);
        self.free.fetch_add(all, Ordering::AcqRel);
    }

    /// The file has become smaller, within its last interval or by the whole of it; so many of the extents
    /// that are gone were mixed from the start. What was free there has been taken out before.
    pub(crate) fn cut(&self, size_pages: u32, mixed: u32) {
        debug_assert!(
            size_pages < self.size_pages(),
            "a file that is cut is shorter"
        );
        let mut intervals = self.intervals.write();
        if let Some(last) = intervals.last() {
            last.add_mixed(-i64::from(mixed));
        }
        intervals.retain(|interval| interval.start.0 < size_pages);
        debug_assert_eq!(
            intervals.len(),
            size_pages.div_ceil(GAM_INTERVAL) as usize,
            "intervals go with their pages"
        );
        self.size_pages.store(size_pages, Ordering::Release);
    }

    /// Takes free extents of an interval out of the counts; `false` when too many are claimed.
    pub(crate) fn take_out(&self, interval: &Interval, extents: u32) -> bool {
        let less = |n: u64| n.checked_sub(u64::from(extents));
        let take = |count: &AtomicU64| {
            count
                .fetch_update(Ordering::AcqRel, Ordering::Acquire, less)
                .is_ok()
        };
        // In the order of claims: first of the file, then of the interval.
        if !take(&self.free) {
            return false;
        }
        let taken = take(&interval.free);
        if !taken {
            self.free.fetch_add(u64::from(extents), Ordering::AcqRel);
        }
        taken
    }

    pub(crate) fn has_ceiling(&self) -> bool {
        self.ceiling.load(Ordering::Acquire)
    }

    pub(crate) fn set_ceiling(&self, on: bool) {
        self.ceiling.store(on, Ordering::Release);
    }

    pub(crate) fn page(&self, page: PageNo) -> PageId {
        PageId {
            file: self.id,
            page,
        }
    }
}

impl Interval {
    /// Where to look for a free extent: from this bit on, below this one.
    pub(crate) fn search(&self, file: &FileSpace) -> (u32, u32) {
        let end = self.end(file).min(self.limit.load(Ordering::Acquire));
        (self.hint.load(Ordering::Relaxed), end)
    }

    /// How many extents of it the file has.
    pub(crate) fn end(&self, file: &FileSpace) -> u32 {
        interval_extents(self.start, file.size_pages())
    }

    /// The bit from which on nothing is allocated, if there is one.
    pub(crate) fn limit(&self) -> Option<u32> {
        Some(self.limit.load(Ordering::Acquire)).filter(|&limit| limit != u32::MAX)
    }

    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.store(limit, Ordering::Release);
    }

    /// Whether the extent with this bit may be allocated. The answer holds while the caller holds the latch
    /// of the GAM page.
    pub(crate) fn is_open(&self, bit: u32) -> bool {
        bit < self.limit.load(Ordering::Acquire)
    }

    /// The extent with this bit was taken: look behind it next time.
    pub(crate) fn taken(&self, bit: u32) {
        self.hint.store(bit + 1, Ordering::Relaxed);
    }

    pub(crate) fn add_mixed(&self, delta: i64) {
        self.mixed.fetch_add(delta, Ordering::AcqRel);
    }
}

/// A claimed extent that is not marked in the maps yet; dropped, it is free for others again.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    pub(crate) file: &'a FileSpace,
    pub(crate) interval: Arc<Interval>,
    used: bool,
}

impl<'a> Claim<'a> {
    /// The interval in which the extent claimed from `file` will be found.
    pub(crate) fn place(file: &'a FileSpace) -> Claim<'a> {
        loop {
            // There are never fewer free extents in all intervals than claims without a place.
            let found = {
                let intervals = file.intervals.read();
                intervals
                    .iter()
                    .find(|interval| take_one(&interval.free))
                    .map(Arc::clone)
            };
            if let Some(interval) = found {
                return Claim {
                    file,
                    interval,
                    used: false,
                };
            }
            furrow_io::thread::yield_now();
        }
    }

    /// Claims an extent of this very file.
    pub(crate) fn of(file: &'a FileSpace) -> Option<Claim<'a>> {
        file.claim().then(|| Claim::place(file))
    }

    /// The extent with this bit is marked in the maps.
    pub(crate) fn used(mut self, bit: u32) {
        debug_assert!(
            bit < self.interval.end(self.file),
            "an extent of the claimed interval"
        );
        self.used = true;
        self.interval.taken(bit);
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        if !self.used {
            self.interval.free.fetch_add(1, Ordering::AcqRel);
            self.file.free.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// An extent of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ExtentId {
    pub(crate) file: FileId,
    pub(crate) no: furrow_format::ExtentNo,
}

impl ExtentId {
    pub(crate) fn of(page: PageId) -> ExtentId {
        ExtentId {
            file: page.file,
            no: page.extent(),
        }
    }

    pub(crate) fn first_page(self) -> PageId {
        PageId {
            file: self.file,
            page: self.no.first_page(),
        }
    }

    /// The page with this place (0 to 7) in the extent.
    pub(crate) fn page(self, place: u32) -> PageId {
        debug_assert!(place < EXTENT_PAGES, "a page of the extent");
        PageId {
            file: self.file,
            page: PageNo(self.no.first_page().0 + place),
        }
    }

    /// The pages that are not set aside for maps, one bit each.
    pub(crate) fn usable(self) -> u8 {
        (0..EXTENT_PAGES).fold(0, |mask, place| {
            let fixed = furrow_format::fixed_page_type(self.page(place).page).is_some();
            mask | u8::from(!fixed) << place
        })
    }
}

/// The bit of a page in the masks of its extent.
pub(crate) fn page_bit(page: PageId) -> u8 {
    1 << (page.page.0 % EXTENT_PAGES)
}
