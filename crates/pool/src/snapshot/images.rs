//! The images of a snapshot's pages: in memory, in the snapshot's files, or still in the data file.

use super::store::ImageStore;
use crate::bytes::{how, stamp};
use furrow_format::{FileId, PAGE_SIZE, Page, PageBuf, PageId, PageNo, PageVerify};
use furrow_io::sync::Mutex;
use furrow_io::sync::atomic::{AtomicU64, Ordering};
use furrow_io::{AlignedBuf, IoError};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Shards of the table, so that writers rarely contend.
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

/// All images.
#[derive(Debug)]
pub(crate) struct Images {
    shards: Box<[Mutex<HashMap<PageId, Image>>]>,
    /// Images in memory, oldest first.
    queue: Mutex<VecDeque<PageId>>,
    memory_bytes: AtomicU64,
    count: AtomicU64,
    /// Locked by the thread that spills. The value is whether the snapshot has ended: nothing is spilled
    /// then.
    spilling: Mutex<bool>,
}

impl Images {
    pub(crate) fn new() -> Images {
        Images {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            queue: Mutex::default(),
            memory_bytes: AtomicU64::new(0),
            count: AtomicU64::new(0),
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

    /// Stores the image of a page before the page changes, unless there is one.
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

    /// Whether the page has an image outside of the data file.
    pub(crate) fn has(&self, page: PageId) -> bool {
        matches!(
            self.shard(page).lock().get(&page),
            Some(Image::Memory(_) | Image::Spilled)
        )
    }

    /// Whether the image is in memory.
    pub(crate) fn is_in_memory(&self, page: PageId) -> bool {
        matches!(self.shard(page).lock().get(&page), Some(Image::Memory(_)))
    }

    /// Records that the image of a page is in the data file, unless there is another one; returns whether it
    /// is recorded.
    pub(crate) fn note_on_disk(&self, page: PageId) -> bool {
        let mut shard = self.shard(page).lock();
        matches!(*shard.entry(page).or_insert(Image::OnDisk), Image::OnDisk)
    }

    /// Stores the image, read from the data file, of a page that was recorded as on disk.
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

    /// Stores an image in place of any other: the snapshot's own recovery has changed the page.
    pub(crate) fn replace(&self, page: PageId, bytes: &PageBuf) {
        let image = Image::Memory(Arc::new(*bytes));
        let before = self.shard(page).lock().insert(page, image);
        match before {
            // It is already in the queue, and counted.
            Some(Image::Memory(_)) => return,
            Some(Image::Spilled) => {}
            None | Some(Image::OnDisk) => {
                self.count.fetch_add(1, Ordering::Relaxed);
            }
        }
        self.queued(page);
    }

    /// Reads the image of a page into `into`; `false`, with `into` unchanged, if the data file has it.
    pub(crate) fn read(
        &self,
        page: PageId,
        into: &mut PageBuf,
        (verify, store): (PageVerify, &dyn ImageStore),
    ) -> Result<bool, IoError> {
        let in_memory = match self.shard(page).lock().get(&page) {
            None | Some(Image::OnDisk) => return Ok(false),
            Some(Image::Memory(image)) => Some(Arc::clone(image)),
            Some(Image::Spilled) => None,
        };
        if let Some(image) = in_memory {
            *into = *image;
            // The checksum of a page in memory is that of its last write.
            stamp(into, how(page.page, verify));
            return Ok(true);
        }
        store.read(page, into)?;
        Ok(true)
    }

    /// Removes all locations of images: from now on all images are in the snapshot's files.
    pub(crate) fn clear(&self) {
        debug_assert_eq!(self.memory_bytes(), 0, "an image in memory would be lost");
        for shard in &self.shards {
            shard.lock().clear();
        }
    }

    /// One image more in the snapshot's files.
    pub(crate) fn stored(&self, images: u64) {
        self.count.fetch_add(images, Ordering::Relaxed);
    }

    /// Waits for a thread that spills, and prevents further spills: the files are about to be removed.
    pub(crate) fn end_spilling(&self) {
        *self.spilling.lock() = true;
    }

    /// Spills images until no more than `goal` bytes of them are in memory.
    pub(crate) fn spill(
        &self,
        goal: u64,
        (store, wait): (&dyn ImageStore, bool),
        verify: &dyn Fn(FileId) -> PageVerify,
    ) -> Result<(), IoError> {
        let turn = match wait {
            true => Some(self.spilling.lock()),
            false => self.spilling.try_lock(),
        };
        let Some(ended) = turn else {
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
            self.spill_batch(&batch, &mut staging, store, verify)?;
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
        store: &dyn ImageStore,
        verify: &dyn Fn(FileId) -> PageVerify,
    ) -> Result<(), IoError> {
        for run in batch.chunk_by(|a, b| a.0.file == b.0.file) {
            let Some(&(PageId { file, .. }, _)) = run.first() else {
                continue;
            };
            let verify = verify(file);
            for ((page, image), place) in run.iter().zip(staging.chunks_exact_mut(PAGE_SIZE)) {
                place.copy_from_slice(&image[..]);
                stamp(place, how(page.page, verify));
            }
            let pages: Vec<PageNo> = run.iter().map(|(page, _)| page.page).collect();
            let bytes = &staging[..run.len() * PAGE_SIZE];
            debug_assert!(pages.is_sorted(), "a batch is in the order of its pages");
            let wait = task::wait(WaitType::ReplicaWrites, Resource::None);
            store.write(file, &pages, bytes)?;
            wait.finish();
            for (page, written) in run {
                self.spilled(*page, written);
            }
        }
        Ok(())
    }

    /// An image was written to its file. If another has replaced it meanwhile, that one is queued again.
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
