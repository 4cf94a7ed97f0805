//! Pages without an image are proven to be those of the split.

use super::pages::PageSnapshot;
use furrow_format::{FileId, PAGE_SIZE, Page, PageId, PageNo};
use furrow_io::{AlignedBuf, IoError, IoErrorKind};

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
}
