//! The images of a snapshot's pages: in memory, in the spill files, or still in the data file.

use crate::bytes::{how, stamp};
use furrow_format::{FileId, PAGE_SIZE, Page, PageBuf, PageId, PageVerify};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::{AlignedBuf, File, IoError};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Parts of the table, so that writers rarely meet.
const SHARDS: usize = 64;
/// Images spilled at once.
const SPILL_PAGES: usize = 256;

/// Where the image of a page is.
#[derive(Debug)]
pub(crate) enum Image {
    /// In the data file: the page is new in memory, and has not been written since.
    OnDisk,
    Memory(Arc<PageBuf>),
    Spilled,
}

type SpillFile = Arc<dyn File>;

/// All images.
#[derive(Debug)]
pub(crate) struct Images {
    shards: Box<[Mutex<HashMap<PageId, Image>>]>,
    /// Images in memory, oldest first.
    queue: Mutex<VecDeque<PageId>>,
    memory_bytes: AtomicU64,
    count: AtomicU64,
    /// The spill files, opened at the first image of their data file. Locked by the one that spills.
    files: Mutex<BTreeMap<FileId, SpillFile>>,
    /// One thread spills at a time. Whether the snapshot has ended: nothing is spilled then.
    spilling: Mutex<bool>,
}

impl Images {
    pub(crate) fn new() -> Images {
        Images {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            queue: Mutex::default(),
            memory_bytes: AtomicU64::new(0),
            count: AtomicU64::new(0),
            files: Mutex::default(),
            spilling: Mutex::new(false),
        }
    }

    /// Pages that have an image of their own.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes.load(Ordering::Relaxed)
    }

    fn shard(&self, page: PageId) -> &Mutex<HashMap<PageId, Image>> {
        let mixed = (u64::from(page.page.0) ^ u64::from(page.file.0) << 32)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(mixed >> 58) as usize % SHARDS]
    }

    /// Takes the image of a page that changes, unless there is one.
    pub(crate) fn keep(&self, page: PageId, bytes: &PageBuf) {
        let is_page = Page::new(bytes).page_id() == page;
        let mut shard = self.shard(page).lock();
        let Entry::Vacant(place) = shard.entry(page) else {
            return;
        };
        if !is_page {
            place.insert(Image::OnDisk);
            return;
        }
        place.insert(Image::Memory(Arc::new(*bytes)));
        drop(shard);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.queued(page);
    }

    fn queued(&self, page: PageId) {
        self.memory_bytes
            .fetch_add(PAGE_SIZE as u64, Ordering::Relaxed);
        self.queue.lock().push_back(page);
    }

    /// Whether the image is in the data file.
    pub(crate) fn is_on_disk(&self, page: PageId) -> bool {
        matches!(self.shard(page).lock().get(&page), Some(Image::OnDisk))
    }

    /// Notes that the image of a page is in the data file, unless there is one elsewhere; whether it is.
    pub(crate) fn note_on_disk(&self, page: PageId) -> bool {
        let mut shard = self.shard(page).lock();
        matches!(*shard.entry(page).or_insert(Image::OnDisk), Image::OnDisk)
    }

    /// The image of a page that was noted as on the disk, as read from there.
    pub(crate) fn fill(&self, page: PageId, bytes: &PageBuf) {
        let mut shard = self.shard(page).lock();
        let Some(place @ Image::OnDisk) = shard.get_mut(&page) else {
            return;
        };
        *place = Image::Memory(Arc::new(*bytes));
        drop(shard);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.queued(page);
    }

    /// An image that takes the place of any other: the snapshot's own recovery has changed the page.
    pub(crate) fn replace(&self, page: PageId, bytes: &PageBuf) {
        let image = Image::Memory(Arc::new(*bytes));
        let before = self.shard(page).lock().insert(page, image);
        match before {
            // It is in the queue, and counted, already.
            Some(Image::Memory(_)) => return,
            Some(Image::Spilled) => {}
            None | Some(Image::OnDisk) => {
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.queued(page);
    }

    /// Reads the image of a page into `into`; `false` when the data file has it, and `into` stays as it is.
    pub(crate) fn read(
        &self,
        page: PageId,
        into: &mut PageBuf,
        verify: PageVerify,
    ) -> Result<bool, IoError> {
        let in_memory = match self.shard(page).lock().get(&page) {
            None | Some(Image::OnDisk) => return Ok(false),
            Some(Image::Memory(image)) => Some(Arc::clone(image)),
            Some(Image::Spilled) => None,
        };
        if let Some(image) = in_memory {
            *into = *image;
            // A page in memory has the checksum of its last write.
            stamp(into, how(page.page, verify));
            return Ok(true);
        }
        let file = self.files.lock().get(&page.file).cloned();
        debug_assert!(file.is_some(), "a spilled image has a file");
        if let Some(file) = file {
            file.read_at(u64::from(page.page.0) * PAGE_SIZE as u64, into)?;
        }
        Ok(true)
    }

    /// Waits for a thread that spills, and lets none begin: the files are about to be removed.
    pub(crate) fn end_spilling(&self) {
        *self.spilling.lock() = true;
    }

    /// Spills images until no more than `goal` bytes of them are in memory.
    pub(crate) fn spill(
        &self,
        goal: u64,
        open: &dyn Fn(FileId) -> Result<SpillFile, IoError>,
        verify: &dyn Fn(FileId) -> PageVerify,
    ) -> Result<(), IoError> {
        let Some(ended) = self.spilling.try_lock() else {
            return Ok(());
        };
        if *ended {
            return Ok(());
        }
        let mut staging = AlignedBuf::new(SPILL_PAGES * PAGE_SIZE);
        while self.memory_bytes() > goal {
            let batch = self.next_batch();
            if batch.is_empty() {
                return Ok(());
            }
            self.spill_batch(&batch, &mut staging, open, verify)?;
        }
        Ok(())
    }

    /// The oldest images in memory, in the order of their pages.
    fn next_batch(&self) -> Vec<(PageId, Arc<PageBuf>)> {
        let mut pages: Vec<PageId> = {
            let mut queue = self.queue.lock();
            let count = queue.len().min(SPILL_PAGES);
            queue.drain(..count).collect()
        };
        pages.sort_unstable();
        debug_assert!(pages.len() <= SPILL_PAGES, "a batch has its limit");
        let in_memory = |page: PageId| match self.shard(page).lock().get(&page) {
            Some(Image::Memory(image)) => Some((page, Arc::clone(image))),
            _ => None,
        };
        pages.into_iter().filter_map(in_memory).collect()
    }

    fn spill_batch(
        &self,
        batch: &[(PageId, Arc<PageBuf>)],
        staging: &mut AlignedBuf,
        open: &dyn Fn(FileId) -> Result<SpillFile, IoError>,
        verify: &dyn Fn(FileId) -> PageVerify,
    ) -> Result<(), IoError> {
        let neighbours =
            |a: &(PageId, _), b: &(PageId, _)| a.0.file == b.0.file && a.0.page.0 + 1 == b.0.page.0;
        for run in batch.chunk_by(neighbours) {
            let Some(&(first, _)) = run.first() else {
                continue;
            };
            let file = {
                let mut files = self.files.lock();
                match files.get(&first.file) {
                    Some(file) => Arc::clone(file),
                    None => Arc::clone(files.entry(first.file).or_insert(open(first.file)?)),
                }
            };
            let verify = verify(first.file);
            for ((page, image), place) in run.iter().zip(staging.chunks_exact_mut(PAGE_SIZE)) {
                place.copy_from_slice(&image[..]);
                stamp(place, how(page.page, verify));
            }
            let bytes = &staging[..run.len() * PAGE_SIZE];
            debug_assert!(
                run.iter().all(|(page, _)| page.file == first.file),
                "a run is of one file"
            );
            file.write_at(u64::from(first.page.0) * PAGE_SIZE as u64, bytes)?;
            for (page, written) in run {
                self.spilled(*page, written);
            }
        }
        Ok(())
    }

    /// An image is in its file, unless another has taken its place meanwhile; that one is queued again.
    fn spilled(&self, page: PageId, written: &Arc<PageBuf>) {
        let mut shard = self.shard(page).lock();
        let same = match shard.get(&page) {
            Some(Image::Memory(image)) => Arc::ptr_eq(image, written),
            _ => false,
        };
        if same {
            shard.insert(page, Image::Spilled);
            let before = self
                .memory_bytes
                .fetch_sub(PAGE_SIZE as u64, Ordering::Relaxed);
            debug_assert!(before >= PAGE_SIZE as u64, "an image is counted once");
        } else {
            drop(shard);
            self.queue.lock().push_back(page);
        }
    }
}
