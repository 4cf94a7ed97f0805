//! The gate in front of a data file: before a page is overwritten or cut off, a snapshot that outlives the
//! process has its image.

use super::pages::{PageSnapshot, SourceFile};
use super::sparse::SparseFiles;
use furrow_format::{FileId, PAGE_SIZE, PageId, PageNo};
use furrow_io::sync::atomic::Ordering;
use furrow_io::{AlignedBuf, IoError};
use furrow_observe::task::{self, Resource};
use furrow_observe::waits::WaitType;

/// Pages that are copied at once.
const COPY_PAGES: usize = 256;

impl PageSnapshot {
    /// Copies pages of a data file that have no image yet to the sparse file, durably. The data file still
    /// holds them as of the split. `pages` ascend.
    pub(crate) fn pass(
        &self,
        sparse: &SparseFiles,
        (id, source): (FileId, &SourceFile),
        pages: impl Iterator<Item = PageNo>,
    ) {
        let Some(file) = sparse.file(id) else {
            return;
        };
        debug_assert!(
            source.state.get().is_some(),
            "a page passes the gate of a file in the pool"
        );
        let has = |page| {
            let id = PageId { file: id, page };
            // An image in memory becomes durable before the snapshot is whole.
            file.has(page) || self.images.is_in_memory(id)
        };
        let mut missing = pages.filter(|page| source.covers(*page) && !has(*page));
        loop {
            let some: Vec<PageNo> = missing.by_ref().take(COPY_PAGES).collect();
            if some.is_empty() || self.failure.get().is_some() {
                return;
            }
            let mut buffer = AlignedBuf::new(some.len() * PAGE_SIZE);
            let _wait = task::wait(WaitType::ReplicaWrites, Resource::None);
            let copied = copy(source, &some, &mut buffer)
                .and_then(|()| sparse.put(id, &some, &buffer))
                .inspect(|()| self.images.stored(some.len() as u64));
            if let Err(error) = copied {
                self.fail(&error);
            }
        }
    }

    /// Makes every image durable, and the snapshot whole. `wait_for_writers` returns when no call that began
    /// before it takes an image in memory any more.
    pub(crate) fn seal(&self, wait_for_writers: impl FnOnce()) -> Result<(), IoError> {
        self.check()?;
        let Some(sparse) = self.store.sparse() else {
            return Ok(());
        };
        self.settle_maps();
        self.spill_to(0, true)?;
        // From here on pages are copied at the gate; what is in memory was taken before.
        self.sealed.store(true, Ordering::SeqCst);
        wait_for_writers();
        drop(self.passing.write());
        self.spill_to(0, true)?;
        self.images.clear();
        self.check()?;
        sparse.seal()?;
        self.check()
    }
}

/// Reads pages from the data file, one behind the other.
fn copy(source: &SourceFile, pages: &[PageNo], into: &mut [u8]) -> Result<(), IoError> {
    debug_assert_eq!(pages.len() * PAGE_SIZE, into.len(), "space for each page");
    let mut rest = into;
    for run in pages.chunk_by(|a, b| a.0 + 1 == b.0) {
        let Some(first) = run.first() else { continue };
        let (into, after) = rest.split_at_mut(run.len() * PAGE_SIZE);
        source.read_into(*first, into)?;
        rest = after;
    }
    Ok(())
}
