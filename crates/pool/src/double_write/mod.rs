//! Protection against torn pages: images are written to a separate file before pages are written in place.
//!
//! A page is 8,192 bytes, and a device may guarantee 512 or 4,096 at once. Redo cannot start from a page that
//! was half written at a power loss. So every page whose place on the disk holds something recovery needs is
//! first written to the file's double-write file, durably; then in place. After a crash [`repair`] puts
//! images back over torn pages.
//!
//! # Layout
//! The file has two halves, used in turn. A half is filled by batches, each a header page and the images
//! after it. A header names the half's *generation* (grows with every turn), the batch's number in it, and
//! the page number and CRC-32C of each image. What follows the last batch of the generation is left over
//! from earlier turns and fails these checks.
//!
//! # Invariants
//! 1. A batch is durable before its first page is written in place, and before the next batch is written.
//! 2. A half is reused only when all in-place writes of its last turn have returned and the data file has
//!    been synced after that. Thus an image is there as long as its page may be torn.
//! 3. Of several images of a page the newest counts: by generation, then batch.
//! 4. *No page is newer than its newest image.* One that the log rebuilds is written without an image, but
//!    only while there is none of it ([`DoubleWrite::has_image`]); else it gets one as well.
//!
//! A torn double-write file is no harm: the batch it was torn in had no page in place yet.
//!
//! # Size
//! A file begins with halves of [`FIRST_HALF_PAGES`] and grows by need, up to what the pool allows: when a
//! batch does not fit a half, and when reusing a half would need a sync of the data file that is not due
//! otherwise. Growing ends the images of both halves, in this order: all in-place writes have returned, the
//! data file is synced, both first headers are overwritten, and then the length changes. The length
//! determines where the second half begins, so a crash finds no image while the length is in doubt. If the
//! disk is full, the file stays as it is: batches are smaller then, and turns more frequent. Each opening
//! makes the file small again. A file of any length can be read: the position of its halves follows from its
//! length.
//!
//! # Rot
//! A page that cannot be read may be torn, or it may have rotted since; the two cannot be distinguished. In
//! both cases its newest image is put back. By the fourth invariant that is the last version written in
//! place, and redo can start from it wherever it begins.
//!
//! The fourth invariant is necessary. Take a page that is created again after its image was taken, and is
//! whole and durable before the last checkpoint. If it rots, the older page would be put back, and redo,
//! which begins behind the creation, would not notice. A page without an image is read as it is: damage is
//! reported (824), unless redo rebuilds the page.
//!
//! # Turns
//! Before a half is reused its first header is overwritten, durably. Otherwise a power loss in the midst of
//! the first batch could leave the old header, an old image of a page, and no newer image of the same page
//! that lay behind it. For a page without a checksum, its image is the only evidence of its contents.
//!
//! For the same reason, when the images of both halves end, the older half's first header is overwritten
//! first, durably, and the newer half's after it. A power loss between the two leaves the newest images.

mod header;
mod repair;

pub use repair::{RepairStats, TornPages, repair, reset};

use crate::error::PoolError;
use furrow_format::{FileId, PAGE_SIZE, PageNo};
use furrow_io::mutation::{Mutation, mutated};
use furrow_io::sync::{Condvar, Mutex, MutexGuard};
use furrow_io::{AlignedBuf, File, Fill, IoError, WriteRun};
use header::{BatchHeader, MAX_IMAGES};
use std::collections::HashSet;
use std::io::IoSlice;
use std::sync::Arc;
use std::time::Duration;

/// Largest number of images in one batch.
pub(crate) const MAX_BATCH_PAGES: u32 = MAX_IMAGES as u32;
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// Pages in a half of a file that has not grown yet.
const FIRST_HALF_PAGES: u32 = 16;
/// How much larger a half becomes at once.
const GROWTH: u32 = 4;
/// Most buffers in one write; systems refuse more than 1,024.
const MAX_SLICES: usize = 512;

/// The double-write file of one data file.
#[derive(Debug)]
pub(crate) struct DoubleWrite {
    file: Arc<dyn File>,
    owner: FileId,
    /// Pages that a half may grow to.
    most_pages: u32,
    area: Mutex<Area>,
    /// Pages with an image in each half.
    imaged: Mutex<[HashSet<PageNo>; 2]>,
    drained: Condvar,
}

/// Where the next batch goes.
#[derive(Debug)]
struct Area {
    /// Pages of a half.
    half_pages: u32,
    half: usize,
    generation: u64,
    batch: u32,
    /// First free page of the half.
    next: u32,
    /// Batches of each half whose in-place writes are under way.
    under_way: [u32; 2],
    header: AlignedBuf,
}

/// The data file that a double-write file protects.
pub(crate) trait Protected {
    /// An error once the file has failed.
    fn check(&self) -> Result<(), PoolError>;
    /// Makes its pages durable.
    fn sync(&self) -> Result<(), PoolError>;
    /// Whether pages were written since it was last made durable.
    fn has_unsynced(&self) -> bool;
    /// Its pages can no longer be protected: nothing more may be written to it.
    fn fail(&self, source: IoError) -> PoolError;
}

/// Size of a double-write file that has not grown yet, in a pool that lets its halves grow to `most_pages`.
pub fn first_bytes(most_pages: u32) -> u64 {
    file_bytes(FIRST_HALF_PAGES.min(most_pages))
}

/// Size of a double-write file whose halves take so many pages.
fn file_bytes(half_pages: u32) -> u64 {
    2 * u64::from(half_pages) * PAGE_SIZE as u64
}

impl DoubleWrite {
    /// Takes the file over and gives it the size that it begins with; images it held are void. Its halves may
    /// grow to `most_pages`.
    pub(crate) fn open(
        file: Arc<dyn File>,
        owner: FileId,
        most_pages: u32,
    ) -> Result<DoubleWrite, IoError> {
        let half_pages = FIRST_HALF_PAGES.min(most_pages);
        let bytes = file_bytes(half_pages);
        let newest = repair::newest_generation(file.as_ref())?;
        if file.len_bytes()? != bytes {
            file.resize(bytes, Fill::Allocate)?;
        }
        // A generation that no leftover of an earlier use of the file can have.
        let generation = newest + 1 + (furrow_io::random::random_seed() >> 32);
        // The first batch finds its half full and turns to the other one: the first half.
        let area = Area {
            half_pages,
            half: 1,
            generation,
            batch: 0,
            next: half_pages,
            under_way: [0; 2],
            header: AlignedBuf::new(PAGE_SIZE),
        };
        Ok(DoubleWrite {
            file,
            owner,
            most_pages,
            area: Mutex::new(area),
            imaged: Mutex::default(),
            drained: Condvar::new(),
        })
    }

    /// Whether there may be an image of the page, older than what is to be written. The caller has claimed
    /// the page for writing, so no other thread adds an image meanwhile.
    pub(crate) fn has_image(&self, page: PageNo) -> bool {
        let left_behind = mutated(Mutation::ImageLeftBehind);
        let imaged = self.imaged.lock();
        !left_behind && imaged.iter().any(|half| half.contains(&page))
    }

    /// How many of `wanted` images one call of [`DoubleWrite::protect`] takes: all of them, unless the file
    /// cannot grow.
    pub(crate) fn capacity(&self, data: &dyn Protected, wanted: usize) -> Result<usize, PoolError> {
        let mut area = self.area.lock();
        let pages = wanted as u32 + 1;
        if pages > area.half_pages {
            self.grow(&mut area, data, pages)?;
        }
        Ok(wanted.min(area.half_pages as usize - 1))
    }

    /// Writes the images durably. The in-place writes may begin when this returns; the caller reports their
    /// end to [`DoubleWrite::done`] with the half returned here. At most [`DoubleWrite::capacity`] images at
    /// once.
    pub(crate) fn protect(
        &self,
        data: &dyn Protected,
        images: &[(PageNo, &[u8])],
    ) -> Result<usize, PoolError> {
        let pages = images.len() as u32 + 1;
        let mut area = self.area.lock();
        debug_assert!(pages <= area.half_pages && images.len() <= MAX_IMAGES);
        let mut may_grow = true;
        while area.next + pages > area.half_pages {
            let other = 1 - area.half;
            if may_grow && self.has_images(other) && data.has_unsynced() {
                may_grow = false;
                self.grow(&mut area, data, pages)?;
                continue;
            }
            if area.under_way[other] > 0 {
                // The wait has a limit: a writer that failed may never report its end.
                data.check()?;
                self.drained.wait_for(&mut area, LOOK_AGAIN);
                continue;
            }
            if !mutated(Mutation::EarlyHalfTurn) {
                data.sync()?;
            }
            let half_pages = area.half_pages;
            self.void(other, half_pages)
                .map_err(|source| data.fail(source))?;
            area.half = other;
            area.generation += 1;
            debug_assert!(
                mutated(Mutation::EarlyHalfTurn) || !self.has_images(other),
                "a half is used again when its images are void"
            );
            area.batch = 0;
            area.next = 0;
        }
        let (generation, batch) = (area.generation, area.batch);
        let header = BatchHeader::of(self.owner, area.half_pages, generation, batch, images);
        debug_assert!(
            area.next + pages <= area.half_pages,
            "a batch stays within its half"
        );
        header.encode(&mut area.header);
        let first = area.half as u64 * u64::from(area.half_pages) + u64::from(area.next);
        let written = self.write(&area.header, images, first * PAGE_SIZE as u64);
        // A failed write poisons the data file: its pages can no longer be protected.
        written.map_err(|source| data.fail(source))?;
        let half = area.half;
        if let Some(pages) = self.imaged.lock().get_mut(half) {
            pages.extend(images.iter().map(|image| image.0));
        }
        area.batch += 1;
        area.next += 1 + images.len() as u32;
        area.under_way[half] += 1;
        debug_assert!(
            area.next <= area.half_pages,
            "the next batch begins within the half"
        );
        Ok(half)
    }

    /// Makes the halves larger, by [`GROWTH`] or to `least` pages; not at all where that is not allowed or
    /// the disk is full. Images are void then, as they are where the file stays as it is.
    fn grow(
        &self,
        area: &mut MutexGuard<'_, Area>,
        data: &dyn Protected,
        least: u32,
    ) -> Result<(), PoolError> {
        while area.under_way != [0; 2] {
            data.check()?;
            self.drained.wait_for(area, LOOK_AGAIN);
        }
        // Another writer may have made it larger meanwhile.
        let before = area.half_pages;
        let wanted = before
            .saturating_mul(GROWTH)
            .max(least)
            .min(self.most_pages);
        if wanted <= before {
            return Ok(());
        }
        data.sync()?;
        self.end_both(area).map_err(|source| data.fail(source))?;
        if let Err(error) = self.file.resize(file_bytes(wanted), Fill::Allocate) {
            tracing::warn!(%error, "a double-write file stays small");
            // Where the second half begins follows from the length.
            let back = self.file.resize(file_bytes(before), Fill::Allocate);
            return back.map_err(|source| data.fail(source));
        }
        area.half_pages = wanted;
        area.next = wanted;
        debug_assert!(
            wanted >= least.min(self.most_pages) && area.under_way == [0; 2],
            "a half grows while nothing is under way"
        );
        Ok(())
    }

    /// Ends all images of a half, durably. No thread adds to them meanwhile: the caller holds the area. A
    /// thread that calls `has_image` during the write still sees them, and writes an unnecessary image.
    fn void(&self, half: usize, half_pages: u32) -> Result<(), IoError> {
        match self.has_images(half) {
            true => self.end(half, half_pages),
            false => Ok(()),
        }
    }

    fn has_images(&self, half: usize) -> bool {
        let imaged = self.imaged.lock();
        imaged.get(half).is_some_and(|pages| !pages.is_empty())
    }

    /// Overwrites the first header of a half, also if it is left over from an earlier use of the file.
    fn end(&self, half: usize, half_pages: u32) -> Result<(), IoError> {
        let nothing = AlignedBuf::new(PAGE_SIZE);
        let first = half as u64 * u64::from(half_pages);
        self.file.write_durable(&[WriteRun {
            offset: first * PAGE_SIZE as u64,
            bufs: &[IoSlice::new(&nothing)],
        }])?;
        if let Some(pages) = self.imaged.lock().get_mut(half) {
            pages.clear();
        }
        Ok(())
    }

    /// Overwrites the first headers of both halves, the older half's first: see "Turns". The next batch
    /// begins a half.
    fn end_both(&self, area: &mut Area) -> Result<(), IoError> {
        area.next = area.half_pages;
        let (older, newer) = (1 - area.half, area.half);
        debug_assert_eq!(area.under_way, [0; 2], "no image is in use");
        [older, newer]
            .into_iter()
            .try_for_each(|half| self.end(half, area.half_pages))
    }

    fn write(
        &self,
        header: &[u8],
        images: &[(PageNo, &[u8])],
        mut offset: u64,
    ) -> Result<(), IoError> {
        let pages: Vec<&[u8]> = std::iter::once(header)
            .chain(images.iter().map(|image| image.1))
            .collect();
        let slices: Vec<IoSlice<'_>> = pages.into_iter().map(IoSlice::new).collect();
        let run = |bufs| {
            let run = WriteRun { offset, bufs };
            offset += (bufs.len() * PAGE_SIZE) as u64;
            run
        };
        let runs: Vec<WriteRun<'_, '_>> = slices.chunks(MAX_SLICES).map(run).collect();
        if mutated(Mutation::UnsyncedDoubleWrite) {
            return self.file.write(&runs);
        }
        self.file.write_durable(&runs)
    }

    /// Ends the images once all pages that were written in place are durable, so that no page is torn. The
    /// files may be replaced while they are closed (by a copy, say), and no image may be put over such a
    /// file.
    pub(crate) fn forget(&self, data: &dyn Protected) -> Result<(), PoolError> {
        let mut area = self.area.lock();
        while area.under_way != [0; 2] {
            data.check()?;
            self.drained.wait_for(&mut area, LOOK_AGAIN);
        }
        data.sync()?;
        self.end_both(&mut area).map_err(|source| data.fail(source))
    }

    /// The in-place writes of a batch of `half` have returned.
    pub(crate) fn done(&self, half: usize) {
        let mut area = self.area.lock();
        debug_assert!(area.under_way[half] > 0, "a batch ends once");
        area.under_way[half] -= 1;
        drop(area);
        self.drained.notify_all();
    }
}
