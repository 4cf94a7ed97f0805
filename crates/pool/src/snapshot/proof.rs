//! What a revert needs: pages without an image are proven to be those of the split, and space is set aside.

use super::pages::PageSnapshot;
use furrow_format::{FileId, PAGE_SIZE, Page, PageId, PageNo};
use furrow_io::{AlignedBuf, Fill, IoError, IoErrorKind};

impl PageSnapshot {
    /// Whether each of `count` pages that has no image, and was in an extent in use, is in the data file as
    /// of the split: its LSN lies before it, and a page that `is_used` names has its own number. Fails a
    /// whole snapshot that misses an image, as a read of the page does.
    pub fn prove(
        &self,
        file: FileId,
        (first, count): (PageNo, u32),
        is_used: &dyn Fn(PageNo) -> bool,
    ) -> Result<bool, IoError> {
        self.check()?;
        let Some(source) = self.source(file) else {
            return Ok(false);
        };
        let open = |page: u32| {
            let id = PageId {
                file,
                page: PageNo(page),
            };
            !self.sealed().is_some_and(|sparse| sparse.has(id)) && source.covers(id.page)
        };
        let pages: Vec<u32> = (first.0..first.0.saturating_add(count))
            .filter(|&page| open(page))
            .collect();
        for run in pages.chunk_by(|a, b| a + 1 == *b) {
            let Some(&from) = run.first() else { continue };
            let mut bytes = AlignedBuf::new(run.len() * PAGE_SIZE);
            match source.read_into(PageNo(from), &mut bytes) {
                Ok(()) => {}
                Err(error) if error.kind == IoErrorKind::PastEnd => return Ok(false),
                Err(error) => return Err(error),
            }
            for (&number, bytes) in run.iter().zip(bytes.as_chunks::<PAGE_SIZE>().0) {
                // An image is durable before its page is overwritten.
                if !open(number) {
                    continue;
                }
                let page = PageId {
                    file,
                    page: PageNo(number),
                };
                if Page::new(bytes).page_id() != page && is_used(page.page) {
                    return Ok(false);
                }
                self.prove_old(page, bytes)?;
            }
        }
        self.check()?;
        Ok(true)
    }

    /// Makes sure, of a whole snapshot, that a revert needs no more space on the disk: pages that the revert
    /// itself changes get images, and the data file is no shorter than it was. An error does not fail the
    /// snapshot.
    pub fn prepare_revert(
        &self,
        file: FileId,
        fixed: &[PageNo],
        fill: Fill,
    ) -> Result<(), IoError> {
        self.check()?;
        let known = self.source(file).zip(self.sealed());
        let known = known.and_then(|(source, sparse)| Some((source.state.get()?, source, sparse)));
        let Some((state, source, sparse)) = known else {
            return Ok(());
        };
        // Nothing passes the gate meanwhile: each page gets one image.
        let turn = self.passing.write();
        for &page in fixed {
            if sparse.has(PageId { file, page }) {
                continue;
            }
            let mut bytes = AlignedBuf::new(PAGE_SIZE);
            source.read_into(page, &mut bytes)?;
            sparse.put(file, &[page], &bytes)?;
            self.images.stored(1);
        }
        drop(turn);
        let bytes = u64::from(source.pages) * PAGE_SIZE as u64;
        match state.file.len_bytes()? < bytes {
            true => state.file.resize(bytes, fill),
            false => Ok(()),
        }
    }
}
