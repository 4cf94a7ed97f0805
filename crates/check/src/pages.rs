//! Pages of a database read and forgotten again: the way of a reader that may want all of them.
//!
//! Runs of pages are fetched at once, since whoever reads a page mostly reads the next ones as well, and the
//! runs that nobody came back to make room for new ones. Memory is bounded whatever the size of the files.

use crate::source::{PageSource, SourceFile};
use furrow_format::mdf::{self, PageRef};
use furrow_format::{
    FileId, PAGE_SIZE, Page, PageBuf, PageFault, PageFlags, PageId, PageNo, Protection, untear,
    verify,
};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// Pages fetched at once.
const RUN_PAGES: u32 = 32;
/// Runs kept: 32 MB of pages.
const KEPT_RUNS: usize = 128;

/// A page that was fetched, and whether it was whole.
type Fetched = Result<(Arc<PageBuf>, Result<Protection, PageFault>), String>;

/// Reads the pages of a [`PageSource`] for [`mdf::Database`] and its like: verified, torn bits put back, a
/// bounded number in memory.
pub struct Pages<'s> {
    source: &'s dyn PageSource,
    files: Vec<SourceFile>,
    kept: Mutex<Kept>,
}

impl std::fmt::Debug for Pages<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pages")
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Kept {
    /// Pages of a run, and whether somebody came back since the hand passed.
    runs: HashMap<(FileId, u32), (Vec<Fetched>, bool)>,
    /// The order in which the hand looks at them.
    clock: std::collections::VecDeque<(FileId, u32)>,
}

impl<'s> Pages<'s> {
    /// Over a source.
    pub fn new(source: &'s dyn PageSource) -> Pages<'s> {
        Pages {
            source,
            files: source.files(),
            kept: Mutex::new(Kept::default()),
        }
    }

    fn with<T>(&self, id: PageId, look: impl FnOnce(&Fetched) -> T) -> Option<T> {
        let file = self.files.iter().find(|file| file.id == id.file)?;
        if id.page.0 >= file.pages {
            return None;
        }
        let key = (id.file, id.page.0 / RUN_PAGES);
        let mut kept = self.kept.lock();
        if !kept.runs.contains_key(&key) {
            let run = self.fetch(file, key.1 * RUN_PAGES);
            kept.take(key, run);
        }
        let (run, again) = kept.runs.get_mut(&key)?;
        *again = true;
        run.get((id.page.0 % RUN_PAGES) as usize).map(look)
    }

    /// Reads a run; page by page where the run as a whole cannot be had.
    fn fetch(&self, file: &SourceFile, first: u32) -> Vec<Fetched> {
        let count = RUN_PAGES.min(file.pages - first);
        let mut pages = vec![[0; PAGE_SIZE]; count as usize];
        if self.source.read(file.id, PageNo(first), &mut pages).is_ok() {
            return (first..)
                .zip(pages)
                .map(|(number, page)| Ok(prepare(file.id, number, page)))
                .collect();
        }
        (first..first + count)
            .map(|number| {
                let mut page = vec![[0; PAGE_SIZE]];
                let done = self.source.read(file.id, PageNo(number), &mut page);
                done.map_err(|error| error.to_string())?;
                let page = page.pop().ok_or_else(String::new)?;
                Ok(prepare(file.id, number, page))
            })
            .collect()
    }
}

/// Verifies a page and makes it ready for use. Garbage that happens to carry the torn-bits flag stays as it
/// is.
fn prepare(
    file: FileId,
    number: u32,
    mut page: PageBuf,
) -> (Arc<PageBuf>, Result<Protection, PageFault>) {
    let page_no = PageNo(number);
    let id = PageId {
        file,
        page: page_no,
    };
    let protection = verify(&page, id);
    let view = Page::new(&page);
    if view.page_id() == id && view.flags().has(PageFlags::TORN_BITS) {
        untear(&mut page);
    }
    (Arc::new(page), protection)
}

impl Kept {
    fn take(&mut self, key: (FileId, u32), run: Vec<Fetched>) {
        while self.runs.len() >= KEPT_RUNS {
            let Some(candidate) = self.clock.pop_front() else {
                break;
            };
            match self.runs.get_mut(&candidate) {
                Some((_, again)) if *again => {
                    *again = false;
                    self.clock.push_back(candidate);
                }
                _ => {
                    self.runs.remove(&candidate);
                }
            }
        }
        self.runs.insert(key, (run, false));
        self.clock.push_back(key);
    }
}

impl mdf::PageSource for Pages<'_> {
    fn page(&self, page: PageId) -> Option<PageRef<'_>> {
        let found = self.with(page, |fetched| {
            fetched.as_ref().ok().map(|page| Arc::clone(&page.0))
        });
        found.flatten().map(PageRef::Shared)
    }

    fn files(&self) -> Vec<FileId> {
        self.files.iter().map(|file| file.id).collect()
    }

    fn size_pages(&self, file: FileId) -> u32 {
        let found = self.files.iter().find(|known| known.id == file);
        found.map_or(0, |known| known.pages)
    }

    fn protection(&self, page: PageId) -> Option<Result<Protection, PageFault>> {
        self.with(page, |fetched| fetched.as_ref().ok().map(|page| page.1))
            .flatten()
    }

    fn problem(&self, page: PageId) -> Option<String> {
        self.with(page, |fetched| fetched.as_ref().err().cloned())
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemoryFiles, SourceError};
    use furrow_format::FileHeader;
    use furrow_format::mdf::PageSource as _;
    use furrow_types::Guid;

    /// A file of 10,000 pages, each with its number in its body; one cannot be read.
    struct Disk(MemoryFiles);

    const UNREADABLE: u32 = 77;

    impl PageSource for Disk {
        fn files(&self) -> Vec<SourceFile> {
            self.0.files()
        }

        fn read(
            &self,
            file: FileId,
            first: PageNo,
            into: &mut [PageBuf],
        ) -> Result<(), SourceError> {
            let run = first.0..first.0 + into.len() as u32;
            if run.contains(&UNREADABLE) {
                return Err(SourceError::PastEnd { file, page: first });
            }
            self.0.read(file, first, into)
        }
    }

    fn disk(pages: u32) -> Disk {
        let mut bytes = vec![[0_u8; PAGE_SIZE]; pages as usize];
        let mut header = FileHeader::new(Guid([1; 16]), FileId(1), 1, pages);
        header.name = "disk".to_owned();
        header.format(&mut bytes[0]).unwrap();
        for (number, page) in (0..).zip(&mut bytes).skip(1) {
            page[100..104].copy_from_slice(&u32::to_le_bytes(number));
        }
        let mut files = MemoryFiles::new();
        files.add(bytes.as_flattened()).unwrap();
        Disk(files)
    }

    #[test]
    fn every_page_is_itself_however_they_come_and_memory_stays_bounded() {
        let disk = disk(10_000);
        let pages = Pages::new(&disk);
        let order = (0..30_000_u32).map(|step| 1 + step.wrapping_mul(7919) % 9_999);
        for number in (1..10_000).chain(order) {
            let page = pages.page(PageId::new(1, number));
            if number == UNREADABLE {
                assert!(page.is_none());
                assert!(pages.problem(PageId::new(1, number)).is_some());
                continue;
            }
            assert_eq!(page.unwrap()[100..104], number.to_le_bytes(), "{number}");
            assert!(pages.kept.lock().runs.len() <= KEPT_RUNS);
        }
        assert!(pages.page(PageId::new(1, 10_000)).is_none());
        assert!(pages.page(PageId::new(2, 1)).is_none());
    }

    #[test]
    fn a_page_that_somebody_holds_stays_what_it_was() {
        let disk = disk(10_000);
        let pages = Pages::new(&disk);
        let held = pages.page(PageId::new(1, 5)).unwrap();
        for number in 100..10_000 {
            let _passed = pages.page(PageId::new(1, number));
        }
        assert!(!pages.kept.lock().runs.contains_key(&(FileId(1), 0)));
        assert_eq!(held[100..104], 5_u32.to_le_bytes());
    }
}
