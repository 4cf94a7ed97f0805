//! The scan: every page in use once, each file front to back, by several workers.
//!
//! Files are cut into runs of pages. A worker takes the next run of its file and, when that file is done, of
//! another: so every file is read in order, and files on several volumes at the same time. What a page says
//! of itself is judged at once; what it says of others becomes facts.

mod frame;
mod iam;
mod index_rows;
mod page;
mod rows;
mod salvage;
mod text;
mod value;
mod wanted;
mod worker;

pub(crate) use index_rows::{index_hash, row_hash};
pub(crate) use rows::{bytes_of, home_of, values_of};
pub(crate) use salvage::Judged;
pub(crate) use text::ANY_LENGTH;
pub(crate) use wanted::Wanted;
pub use worker::{Listener, Progress};
pub(crate) use worker::{Shared, Worker};

use crate::facts::{BadPage, Facts, Gatherer, Watch, Why};
use crate::finding::Findings;
use crate::maps::page_at;
use furrow_format::{EXTENT_PAGES, FileId, PAGE_SIZE, PageBuf};
use furrow_io::AlignedBuf;
use furrow_io::IoError;
use furrow_io::thread::{scope, spawn_scoped};
use parking_lot::Mutex;
use worker::RUN_PAGES;

impl Worker<'_> {
    fn work(&mut self, number: usize, gatherer: &Gatherer) {
        let files = self.shared.files.len();
        let mut buffer = AlignedBuf::new(RUN_PAGES as usize * PAGE_SIZE);
        for turn in 0..files {
            while let Some((file, first, count)) = self.shared.take((number + turn) % files) {
                let (pages, _) = buffer.as_chunks_mut::<PAGE_SIZE>();
                let read = self.parts(file, (first, count), pages);
                if !self.shared.keep_pace(read)
                    || !gatherer.relieve(&mut self.facts)
                    || !self.shared.advance(count)
                {
                    return;
                }
            }
        }
    }

    /// Reads of a run the extents that are wanted, neighbours with one call; how many pages these were.
    fn parts(&mut self, file: FileId, (first, count): (u32, u32), pages: &mut [PageBuf]) -> u32 {
        let end = first.saturating_add(count);
        let (mut at, mut read) = (first, 0);
        while at < end {
            let wanted = self.shared.is_wanted(page_at(file, at));
            let mut next = (at / EXTENT_PAGES + 1).saturating_mul(EXTENT_PAGES);
            while next < end && self.shared.is_wanted(page_at(file, next)) == wanted {
                next = next.saturating_add(EXTENT_PAGES);
            }
            let next = next.min(end);
            if wanted {
                let part = pages.get_mut(..(next - at) as usize).unwrap_or_default();
                self.run(file, at, part);
                read += next - at;
            }
            at = next;
        }
        read
    }

    fn run(&mut self, file: FileId, first: u32, pages: &mut [PageBuf]) {
        let whole = self
            .shared
            .source
            .read(file, page_at(file, first).page, pages);
        let together = whole.is_ok();
        for (number, page) in (first..).zip(pages) {
            let id = page_at(file, number);
            if !together {
                // One bad sector must not hide its neighbours.
                let one = std::slice::from_mut(page);
                if let Err(error) = self.shared.source.read(file, id.page, one) {
                    self.unread(id, error.to_string());
                    continue;
                }
            }
            self.page(id, page);
        }
    }

    fn unread(&mut self, id: furrow_format::PageId, error: String) {
        let in_use = self
            .shared
            .maps
            .pfs(id)
            .is_none_or(furrow_format::PfsByte::is_allocated);
        if in_use || furrow_format::fixed_page_type(id.page).is_some() {
            let why = Why::Unread(error);
            self.facts.bad.push(BadPage { id, why });
        }
    }
}

/// Scans all files with so many workers.
pub(crate) fn scan(
    shared: &Shared<'_>,
    workers: usize,
    gatherer: Gatherer,
) -> Result<(Facts, Watch, Findings), IoError> {
    let all = Mutex::new(Findings::default());
    let taker = &gatherer;
    let one = |number: usize| {
        let mut worker = Worker::new(shared);
        worker.work(number, taker);
        taker.give(worker.facts);
        all.lock().list.append(&mut worker.findings.list);
    };
    scope(|scope| {
        for number in 1..workers.max(1) {
            // Without a thread to spare, those there are do the work.
            let _started = spawn_scoped(scope, "check", move || one(number));
        }
        one(0);
    });
    let (facts, watch) = gatherer.finish(&|| shared.advance(0))?;
    Ok((facts, watch, all.into_inner()))
}
