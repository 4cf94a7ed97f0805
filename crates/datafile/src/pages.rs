//! Verified pages of a source, a bounded number in memory.
//!
//! Runs of pages are read with one call, because a reader of a page mostly reads the next ones as well. A
//! clock hand removes runs that were not read again. Memory is bounded whatever the size of the files. A page
//! that is held by a [`PageRef`] stays as it was when its run is removed.

use crate::source::{PageSource, SourceError, SourceFile, prepare};
use furrow_format::{FileId, Lsn, PAGE_SIZE, Page, PageBuf, PageFault, PageId, PageNo, Protection};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;

/// Pages read with one call.
const RUN_PAGES: u32 = 32;
/// Pages in memory: 32 MB.
const KEPT_PAGES: usize = 4096;

/// What verification found, or why the page cannot be read.
type Outcome = Result<Result<Protection, PageFault>, String>;

/// Pages that were read with one call.
#[derive(Debug)]
struct Run {
    pages: Box<[PageBuf]>,
    outcomes: Vec<Outcome>,
}

/// A page of a [`Pages`].
#[derive(Debug, Clone)]
pub struct PageRef {
    run: Arc<Run>,
    at: usize,
}

/// The page behind a reference to a page that does not exist: no such reference is created.
static NO_PAGE: PageBuf = [0; PAGE_SIZE];

impl Deref for PageRef {
    type Target = PageBuf;

    fn deref(&self) -> &PageBuf {
        debug_assert!(self.at < self.run.pages.len(), "a page of its run");
        self.run.pages.get(self.at).unwrap_or(&NO_PAGE)
    }
}

/// Reads the pages of a [`PageSource`]: verified, torn bits put back, a bounded number in memory.
pub struct Pages<'s> {
    source: Box<dyn PageSource + 's>,
    files: Vec<SourceFile>,
    run_pages: u32,
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
    /// Runs, and whether a page of them was read again since the hand passed.
    runs: HashMap<(FileId, u32), (Arc<Run>, bool)>,
    /// The order in which the hand passes.
    clock: VecDeque<(FileId, u32)>,
    /// The largest LSN of a whole page that was requested.
    newest: Lsn,
    /// The first failure of the source.
    failure: Option<SourceError>,
}

impl<'s> Pages<'s> {
    /// Over a source.
    pub fn new(source: impl PageSource + 's) -> Pages<'s> {
        Pages::with_runs(source, RUN_PAGES)
    }

    /// Over a source where a page costs as much alone as in a run, such as one in memory.
    pub fn one_by_one(source: impl PageSource + 's) -> Pages<'s> {
        Pages::with_runs(source, 1)
    }

    fn with_runs(source: impl PageSource + 's, run_pages: u32) -> Pages<'s> {
        Pages {
            files: source.files(),
            source: Box::new(source),
            run_pages,
            kept: Mutex::new(Kept::default()),
        }
    }

    /// The page, ready for use; `None` when it cannot be had.
    pub fn page(&self, id: PageId) -> Option<PageRef> {
        self.get(id).map(|found| found.0)
    }

    /// The page, ready for use, and how it is protected or what is wrong with it.
    pub fn get(&self, id: PageId) -> Option<(PageRef, Result<Protection, PageFault>)> {
        let (page, outcome) = self.find(id)?;
        outcome.ok().map(|whole| (page, whole))
    }

    /// How the page is protected, or what is wrong with it, as found before torn bits were put back.
    pub fn protection(&self, id: PageId) -> Option<Result<Protection, PageFault>> {
        self.find(id)?.1.ok()
    }

    /// Why the page cannot be read, if the source reported it.
    pub fn problem(&self, id: PageId) -> Option<String> {
        self.find(id)?.1.err()
    }

    /// Numbers of the data files.
    pub fn files(&self) -> Vec<FileId> {
        self.files.iter().map(|file| file.id).collect()
    }

    /// Pages of a file; 0 for one that is not there.
    pub fn size_pages(&self, file: FileId) -> u32 {
        let found = self.files.iter().find(|known| known.id == file);
        found.map_or(0, |known| known.pages)
    }

    /// The largest LSN of the whole pages that were requested.
    pub fn newest(&self) -> Lsn {
        self.kept.lock().newest
    }

    /// The first failure of the source, once.
    pub fn take_failure(&self) -> Option<SourceError> {
        self.kept.lock().failure.take()
    }

    fn find(&self, id: PageId) -> Option<(PageRef, Outcome)> {
        let file = self.files.iter().find(|file| file.id == id.file)?;
        if id.page.0 >= file.pages {
            return None;
        }
        let key = (id.file, id.page.0 / self.run_pages);
        let mut kept = self.kept.lock();
        let run = match kept.runs.get_mut(&key) {
            Some((run, again)) => {
                *again = true;
                Arc::clone(run)
            }
            None => {
                let (run, failure) = self.fetch(file, key.1 * self.run_pages);
                if kept.failure.is_none() {
                    kept.failure = failure;
                }
                let run = Arc::new(run);
                kept.take(key, Arc::clone(&run), KEPT_PAGES / self.run_pages as usize);
                run
            }
        };
        let at = (id.page.0 % self.run_pages) as usize;
        let outcome = run.outcomes.get(at)?.clone();
        let page = PageRef { run, at };
        if matches!(outcome, Ok(Ok(_))) {
            kept.newest = kept.newest.max(Page::new(&page).lsn());
        }
        Some((page, outcome))
    }

    /// Reads a run; page by page where it cannot be read as a whole.
    fn fetch(&self, file: &SourceFile, first: u32) -> (Run, Option<SourceError>) {
        let count = self.run_pages.min(file.pages.saturating_sub(first));
        let mut pages = vec![[0; PAGE_SIZE]; count as usize].into_boxed_slice();
        let together = self.source.read(file.id, PageNo(first), &mut pages).is_ok();
        let form = self.source.form();
        let mut failure = None;
        let mut outcomes = Vec::with_capacity(pages.len());
        for (number, page) in (first..).zip(&mut pages) {
            let id = PageId {
                file: file.id,
                page: PageNo(number),
            };
            let read = match together {
                true => Ok(()),
                false => self
                    .source
                    .read(file.id, id.page, std::slice::from_mut(page)),
            };
            outcomes.push(match read {
                Ok(()) => Ok(prepare(form, page, id)),
                Err(error) => {
                    let reason = error.to_string();
                    failure.get_or_insert(error);
                    Err(reason)
                }
            });
        }
        (Run { pages, outcomes }, failure)
    }
}

impl Kept {
    fn take(&mut self, key: (FileId, u32), run: Arc<Run>, most: usize) {
        while self.runs.len() >= most.max(1) {
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
        debug_assert_eq!(
            self.runs.len(),
            self.clock.len(),
            "each run once on the clock"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryFiles;
    use furrow_format::FileHeader;
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
            assert!(pages.kept.lock().runs.len() <= KEPT_PAGES / RUN_PAGES as usize);
        }
        assert!(pages.page(PageId::new(1, 10_000)).is_none());
        assert!(pages.page(PageId::new(2, 1)).is_none());
    }

    #[test]
    fn a_page_that_is_held_stays_what_it_was() {
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
